"""Reconstruction of a whole table from the counts that a forest, or several models, store in their leaves."""

from lab.forests.guess import GuessedTable, reconstruct

__all__ = ["GuessedTable", "reconstruct"]
