"""Probabilistic datasets: distributions over the rows of a table."""
