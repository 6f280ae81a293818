"""Reconstruction of a whole table from the counts that a forest, or several models, store in their leaves."""
