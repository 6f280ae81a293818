"""EXPRIL reproduced."""
