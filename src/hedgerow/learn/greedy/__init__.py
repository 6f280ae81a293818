"""Greedy algorithms: rule lists rule by rule, trees level by level."""
