"""Membership inference and distributional overfitting, measured on train/test splits."""
