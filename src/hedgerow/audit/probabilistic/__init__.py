"""Probabilistic datasets: what is known of a table, row by row."""
