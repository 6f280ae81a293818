"""Exact search over all rule lists or trees of a size, by dynamic programming."""
