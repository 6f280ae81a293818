"""Residual entropy of the training rows given a model."""
