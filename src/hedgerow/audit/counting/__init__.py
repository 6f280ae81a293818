"""Exact counting of the rows of a region."""
