"""Experiments beside the package: forests give their tables away, and private sets of trees."""
