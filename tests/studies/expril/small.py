"""Small problems and short training for the study of EXPRIL, so that a run takes half a second."""

import numpy as np

from studies.expril.problems import PROBLEMS, Problem, Setting


def shifted(n, rng):
    """Two columns, a source that is shifted, labels that are their sum's sign."""
    source = rng.normal(size=(n, 2)).astype(np.float32)
    target = rng.normal(0.3, size=(2 * n, 2)).astype(np.float32)
    labels = (target.sum(axis=1) > 0.3).astype(np.int64)
    return Problem(source, target[:n], labels[:n], target[n:], labels[n:])


def make_small(monkeypatch):
    """Put small problems in the place of all: reweighted ones, but for A."""
    monkeypatch.setattr("hedgerow.marginals.expril._STEPS", (40, 40))
    for name in PROBLEMS:
        monkeypatch.setitem(PROBLEMS, name, Setting(400, name != "A", (6,), shifted))
