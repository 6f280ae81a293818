"""Exact audits of models drawn as a whole: risks are computed and not estimated."""
