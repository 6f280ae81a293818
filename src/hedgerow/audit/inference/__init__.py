"""Membership inference and overfitting, by splits of the rows."""
