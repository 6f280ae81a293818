"""Smooth sensitivity for rule lists (SSRL) as published: mechanisms and greedy growth whose proofs have gaps."""
