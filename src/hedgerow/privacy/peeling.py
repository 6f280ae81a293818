"""A choice of several candidates by Gumbel noise, as an answer of a series with Gaussian noise."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Integers
from hedgerow.privacy import opendp as dp
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gdp import PER_DRAW
from hedgerow.privacy.noise import GaussianCounts


@dataclass(frozen=True)
class GumbelPeeling(GaussianCounts):
    """A choice of the `draws` candidates with the largest noisy scores, as answer `number` of a Gaussian series.

    The input is a vector of int64 scores. A row changes each score by at most the square root of `changes`, up or down.
    Gumbel noise of scale b on every score, drawn once, makes the same choice as `draws` consecutive exponential
    mechanisms (Durfee and Rogers, *Practical Differentially Private Top-k Selection with Pay-what-you-get Composition*,
    2019, Lemma 4.2). With the sensitivity Δ, the log-ratios of each of these mechanisms have a range of 2Δ/b. Each
    mechanism costs at most Δ²/(2b²) in ρ, and its μ² in Gaussian differential privacy is at most πΔ²/(2b²)
    (docs/mathematics.md, facts 6 and 12).
    """

    draws: int = 1  # the number of candidates to choose

    @property
    def sensitivity(self) -> int:
        """The ℓ∞ sensitivity to a row, times the rows of a unit."""
        return self.rows * (math.isqrt(self.changes - 1) + 1)

    @property
    def scale(self) -> float:
        """The scale b of the Gumbel noise at which all draws together use at most `information`."""
        allowed = self.information / 2 if self.mu is None else self.information / (2 * PER_DRAW)
        return _peeling_scale(allowed, self.sensitivity, self.draws)

    def distance(self, first: Integers, second: Integers) -> float:
        """Return max |first - second|; infinite if the numbers of scores differ."""
        return float(np.max(np.abs(second - first), initial=0)) if len(first) == len(second) else math.inf

    def build(self) -> Callable[[Integers], Any]:
        return _top(self.scale, self.draws)

    def simulate(self, values: Integers, rng: np.random.Generator) -> list[int]:
        """Draw the Gumbel noise with `rng` and return the indices of the largest noisy scores."""
        noisy = values + self.scale * rng.gumbel(size=len(values))
        return np.argsort(-noisy, kind="stable")[: self.draws].tolist()

    @property
    def record(self) -> Fact:
        series = {"answers": self.answers, "number": self.number, "parts": self.parts, "draws": self.draws}
        changed = {"changes": self.changes, "rows": self.rows}
        return Fact("gumbel_peeling", **series, **changed, scale=self.scale, mu=self.mu)


@lru_cache(maxsize=1024)
def _peeling_scale(rho: Fraction, sensitivity: int, draws: int) -> float:
    """Return the smallest scale at which `draws` draws cost at most ρ: ``sensitivity·√(draws/2ρ)``."""
    scale = sensitivity * math.sqrt(draws / (2 * float(rho)))
    while Fraction(_top(scale, draws).map(sensitivity)) > rho:
        scale = math.nextafter(scale, math.inf)
    return scale


def _top(scale: float, draws: int) -> dp.Measurement:
    """Return OpenDP's noisy top k with Gumbel noise, whose privacy map returns the ρ of an ℓ∞ distance."""
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=False)
    return dp.m.make_noisy_top_k(*space, dp.zero_concentrated_divergence(), k=draws, scale=scale)
