"""Reproduction of EXPRIL: its Table 2 and Figure 1."""
