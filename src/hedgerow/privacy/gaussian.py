"""Discrete Gaussian noise on vectors of counts, under zero-concentrated differential privacy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf, nextafter, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.privacy.zcdp import gaussian, largest_rho

Integers = NDArray[np.int64]
_TABULATED = 1000.0


@dataclass(frozen=True)
class GaussianCounts:
    """Add discrete Gaussian noise to every count, as answer number `number` of at most `answers` of its kind.

    Input: a vector of int64 counts of which one row changes at most `changes`, each by 1: the ℓ2 sensitivity is their
    square root. Each answer is ρ-zero-concentrated differentially private with ``ρ = changes / (2σ²)`` (Canonne, Kamath
    and Steinke, *The Discrete Gaussian for Differential Privacy*, 2020, Theorem 4), and all `answers` together are (ε,
    δ)-differentially private for the total ε and δ, which is charged with the first of them (Feldman and Zrnic,
    *Individual Privacy Accounting via a Rényi Filter*, 2021; interleaved questions: Lyu, *Composition Theorems for
    Interactive Differential Privacy*, 2022).

    It cannot be charged answer by answer. That the first k answers are (ε_k, δ)-differentially private does not let one
    stop after any k, by what was answered, and spend ε − ε_k on something else: each way to stop would need a δ of its
    own (Rogers, Roth, Ullman and Vadhan, *Privacy Odometers and Filters*, 2016). A hundred answers at (1, 10⁻⁶) so
    charged had a δ of 1.95·10⁻⁶.
    """

    total: Fraction  # ε of all answers together
    total_delta: Fraction  # δ of all answers together
    answers: int  # how many answers there are to be
    number: int  # which one this is, from 1
    changes: int  # how many counts one row changes; of changes that are not 1, the sum of their squares
    parts: Fraction = Fraction(1)  # of `answers` equal parts of ρ, how many this answer takes
    rows: int = 1  # how many rows the protected unit has at most

    @property
    def sensitivity(self) -> float:
        """The ℓ2 sensitivity: one row's, times the rows of a unit."""
        return self.rows * sqrt(self.changes)

    @property
    def epsilon(self) -> Fraction:
        """All of ε with the first answer, nothing more with the others."""
        return self.total if self.number == 1 else Fraction(0)

    @property
    def delta(self) -> Fraction:
        """All of δ with the first answer, nothing more with the others."""
        return self.total_delta if self.number == 1 else Fraction(0)

    @property
    def rho(self) -> Fraction:
        """All of ρ, which is what (ε, δ) allows, with the first answer, nothing more with the others."""
        return largest_rho(self.total, self.total_delta) if self.number == 1 else Fraction(0)

    @property
    def scale(self) -> float:
        """σ: that for one changed count, times the square root of their number, so that ρ does not depend on it."""
        return _scale(
            largest_rho(self.total, self.total_delta) * self.parts / self.answers, self.changes * self.rows**2
        )

    def distance(self, one: Integers, other: Integers) -> float:
        """Return the ℓ2 distance."""
        return float(np.linalg.norm(other - one))

    def build(self) -> Callable[[Integers], Any]:
        """Return OpenDP's discrete Gaussian mechanism."""
        return gaussian(self.scale)

    def simulate(self, values: Integers, rng: np.random.Generator) -> list[int]:
        """Draw from the exact probabilities; for scales above 1,000 round a Gaussian, which is within 1e-7 of them."""
        if self.scale > _TABULATED:
            return (values + np.rint(rng.normal(scale=self.scale, size=len(values))).astype(np.int64)).tolist()
        most = int(np.ceil(40 * self.scale))
        support = np.arange(-most, most + 1)
        weights = np.exp(-(support**2) / (2 * self.scale**2))
        return (values + rng.choice(support, size=len(values), p=weights / weights.sum())).tolist()

    def __str__(self) -> str:
        which = f"answer {self.number}" if self.parts == 1 else f"{float(self.parts):.4g} parts"
        return f"discrete Gaussian, {which} of {self.answers}, sigma {self.scale:.4g}"


@cache
def _scale(rho: Fraction, changes: int) -> float:
    """Return the smallest σ at which so many changed counts cost no more than ρ."""
    scale = sqrt(changes / (2 * float(rho)))
    while Fraction(gaussian(scale).map(sqrt(changes))) > rho:
        scale = nextafter(scale, inf)
    return scale
