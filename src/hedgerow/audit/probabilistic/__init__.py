"""Probabilistic datasets: distributions over tables, row by row."""
