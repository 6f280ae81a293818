"""The oracle: private rows behind noisy marginals."""
