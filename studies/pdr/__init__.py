"""Reproduction of PDR: its Figures 2 to 6, and its claims."""
