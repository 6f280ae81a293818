"""SSRL reproduced."""
