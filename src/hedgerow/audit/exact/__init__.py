"""Exact audit: the disclosure about each row by an exact draw, computed and not estimated."""
