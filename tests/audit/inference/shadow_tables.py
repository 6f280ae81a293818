"""Confidences of shadow fits, made up."""

import numpy as np

from hedgerow.audit import Shadows


def made_up(inside, outside, seed=0):
    """Return shadows with these confidences, and random halves."""
    inside, outside = np.asarray(inside, dtype=float), np.asarray(outside, dtype=float)
    rng = np.random.default_rng(seed)
    first = np.array([rng.permutation(inside.shape[1]) < inside.shape[1] // 2 for _ in inside])
    return Shadows(inside, outside, first)


def ignoring(n_splits, n_rows, *, kind, seed):
    """Return shadows of a learner that ignores which rows it is given; rows of a leaf have one confidence in a fit."""
    rng = np.random.default_rng(seed)
    leaf, limits = rng.integers(5, size=n_rows), rng.normal(size=5)
    noise = rng.normal(size=(2, n_splits, 5))
    said = {
        "labels": (noise > limits).astype(float),
        "probabilities": 1 / (1 + np.exp(-noise)).round(6),
        "both": np.where(rng.random(noise.shape) < 0.5, 1.0, 1 / (1 + np.exp(-noise))),
        "constant": np.ones_like(noise),
    }[kind][:, :, leaf]
    first = np.array([rng.permutation(n_rows) < n_rows // 2 for _ in range(n_splits)])
    return Shadows(np.where(first, *said), np.where(first, *said[::-1]), first)


def leaky(n_splits, n_rows, *, strength, seed=0):
    """Return shadows of hard labels that are right more often with the row, by `strength`."""
    rng = np.random.default_rng(seed)
    right = rng.uniform(0.2, 0.9 - strength, size=n_rows)
    inside, outside = (rng.random((n_splits, n_rows)) < chance for chance in (right + strength, right))
    return made_up(inside, outside, seed)


def overfit(n_splits, n_rows, *, strength, seed=0):
    """Return shadows of probabilities whose logit is larger with the row, by `strength` standard deviations."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(2, n_splits, n_rows)) + 2 * rng.normal(size=n_rows)
    logits[0] += strength
    return made_up(*1 / (1 + np.exp(-logits)), seed)
