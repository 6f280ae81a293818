"""Oracles: private rows that are queried for noisy marginals."""
