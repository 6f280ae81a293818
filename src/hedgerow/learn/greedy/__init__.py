"""Greedy learners: rule by rule, or level by level."""
