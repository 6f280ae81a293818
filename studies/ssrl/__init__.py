"""Reproduction of SSRL: its Figures 1, 2, 3, 4 and 6, and its Table 1."""
