"""What an attacker has, of rows of bits."""

import numpy as np

from hedgerow.audit import Attempt
from hedgerow.audit.inference.labelled import LabelledRows


def noisy_bits(n=600, width=12, noise=0.3, seed=0):
    """Return bits, and labels that are the first of them in all but a share `noise` of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, width))
    return X, X[:, 0] ^ (rng.random(n) < noise)


def attempt(predict, X, y, *, known=0.7, schema=None, seed=0):
    """Return what an attacker has whose members are the first half of the rows."""
    half, split = len(X) // 2, int(len(X) // 2 * known)
    order = np.arange(len(X))
    members, others = order[:half], order[half:]
    return Attempt(
        LabelledRows.of(X, y),
        predict,
        predict(X),
        members[:split],
        others[:split],
        np.concatenate([members[split:], others[split:]]),
        schema,
        np.random.default_rng(seed),
    )
