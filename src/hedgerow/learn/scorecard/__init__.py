"""Scorecards: the counts that are released, and the points made of them."""
