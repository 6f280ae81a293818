"""Global, local and smooth sensitivity of the Gini impurity G of SSRL, which is between 0 and 1/2.

Sections and theorems are those of Ly et al., *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule
Lists*, 2024.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

GINI_SENSITIVITY = 0.5
"""By how much one row can change G for two classes: exactly that from one row to two, and at most 4/9 elsewhere."""


def gini_scores(caught: NDArray[np.integer], total: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the Gini impurity G of every candidate, and last that of adding no rule; smaller is better (Section 3.2).

    ``G(r) = (f(caught) + f(left))/n``, with ``n`` the rows that remain and ``f(p, q) = 2pq/(p + q)``; 0 without rows.
    Unlike U, G is not monotone: adding a row can raise it for one candidate and lower it for another. Adding or
    removing a row changes it by at most `GINI_SENSITIVITY`, tables without rows included.
    """
    left = np.maximum(total - caught, 0)
    rows = np.maximum((caught + left).sum(axis=1), 1)
    return np.append((_impurity(caught) + _impurity(left)) / rows, _impurity(total) / max(total.sum(), 1))


def _impurity(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    return 2.0 * counts[..., 0] * counts[..., 1] / np.maximum(counts.sum(axis=-1), 1)


def local_sensitivity(n: ArrayLike) -> NDArray[np.float64]:
    """Return by how much one row added to `n` rows can change G at most: ``g(n) = 2n/(n+1)²`` (Section 4.1).

    It is reached where a row of one class joins `n` of the other. SSRL calls it the local sensitivity; *removing* a row
    from `n` can change G by ``g(n − 1)``, which is more from two rows on.
    """
    n = np.asarray(n, dtype=np.float64)
    return 2 * n / (n + 1) ** 2


def smooth_sensitivity(n: ArrayLike, *, min_support: int, beta: float) -> NDArray[np.float64]:
    """Return the β-smooth sensitivity S* of G where `n` rows remain, of which there are taken to be `min_support`.

    ``S* = max over k of ξ(k) = exp(−βk)·g(max(Λ, n − k))``. ξ rises only between the roots of its derivative, so its
    maximum over whole k is at one end of [0, n − Λ] or beside the larger root ``t = n − y``, with ``y`` the smaller
    solution of ``βy² − (1 − β)y + 1 = 0``. From ``β = 3 − 2√2`` on, ξ does not rise there (Theorem 4.1, with t brought
    into [0, n − Λ]).
    """
    n = np.asarray(n, dtype=np.float64)
    last = np.maximum(n - min_support, 0)
    discriminant = (1 - beta) ** 2 - 4 * beta
    root = 2 / (1 - beta + math.sqrt(discriminant)) if discriminant >= 0 and beta < 1 else np.inf
    t = np.clip(n - root, 0, last)
    steps = np.stack([np.zeros_like(n), np.floor(t), np.ceil(t), last])
    return (np.exp(-beta * steps) * local_sensitivity(np.maximum(min_support, n - steps))).max(axis=0)
