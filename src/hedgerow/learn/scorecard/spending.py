"""Division of a scorecard's budget: shares of ε, or of what (ε, δ) allows under zero-concentrated privacy.

Where attributes are many for the noise, a part is spent on the choice of some (docs/mathematics.md, fact 5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import cbrt, sqrt

import numpy as np

from hedgerow.learn.scorecard.counts import STEPS, Whole
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts, Integers, NoiseSource, TwoSidedPermuteAndFlip
from hedgerow.schema.schema import Schema

PARTS = 1000  # equal parts of the budget; a share is some of them
_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True)
class Spending:
    """Noise for each share of a budget."""

    epsilon: Fraction  # of the whole budget
    delta: Fraction  # of the whole budget
    rows: int = 1  # with δ: how many rows the protected unit has at most

    @property
    def is_pure(self) -> bool:
        return not self.delta

    def counts(self, parts: Fraction, changes: int, steps: int = 1, *, first: bool = False) -> Noise:
        """Return the noise for counts of which one row changes `changes`, by up to `steps` each or in all."""
        # The ℓ1 sensitivity is ``changes·steps``, ℓ2² is ``changes·steps²``.
        if self.is_pure:
            return Noise(DiscreteLaplace(self.epsilon * parts / PARTS, changes * steps))
        number = 1 if first else 2
        return Noise(GaussianCounts(self.epsilon, self.delta, PARTS, number, changes * steps**2, parts, self.rows))


@dataclass(frozen=True)
class Noise:
    """A mechanism that adds noise to counts, and the variance of that noise."""

    mechanism: DiscreteLaplace | GaussianCounts  # the mechanism

    @property
    def variance(self) -> float:
        """About the variance of the noise of one count; never 0, however large ε is."""
        if isinstance(self.mechanism, GaussianCounts):
            return self.mechanism.scale**2
        return max(2 * float(self.mechanism.sensitivity / self.mechanism.epsilon) ** 2, _LEAST_VARIANCE)


# docs/models.md says how these were chosen.
_BY_DEFAULT = 2.2  # the cube root of rows times ε, for each attribute that is chosen
_LEAST = 2
_KEEP_ALL, _KEEP_ALL_OF_A_NUMBER, _KEEP_ALL_WITH_DELTA = 7, 4, 25  # of as many attributes for each that would be chosen
_ENOUGH = 15  # rows times ε for an attribute
_EACH_BIT, _MOST = 35, 500  # parts of a thousand, by digits of the number


@dataclass(frozen=True)
class Choice:
    """How many of all attributes a model is made of, and for how much they are chosen: from public numbers."""

    all: int  # attributes of the schema
    number: int  # how many are used
    parts: Fraction = Fraction(0)  # of a thousand of the budget; 0 where all are used

    @classmethod
    def of(cls, spending: Spending, schema: Schema, rows: float, most: int | None) -> Choice:
        """Return the choice of `most` attributes, or of as many as this number of rows and the noise allow.

        `rows` were released, or are those of a plan.
        """
        n, keep_all = len(schema), _KEEP_ALL if schema.target.as_number is None else _KEEP_ALL_OF_A_NUMBER
        keep_all = keep_all if spending.is_pure else _KEEP_ALL_WITH_DELTA
        per_noise, strength = (rows * sqrt(2 / spending.counts(Fraction(PARTS), k).variance) for k in (n, 1))
        is_enough, few = per_noise >= _ENOUGH, max(_LEAST, round(2 * sqrt(per_noise)))
        k = max(_LEAST, round(cbrt(strength) / _BY_DEFAULT))
        if not is_enough:
            k = min(max(k, few), most or n)
        elif most or n <= keep_all * k:
            k = most or n
        return cls(n, n) if k >= n else cls(n, k, default_parts(n))

    def draw(self, ask: Callable[[], Integers], moved: int, gate: Gate, epsilon: Fraction) -> Sequence[int]:
        """Draw the attributes one after the other, each for an equal share of `epsilon`, by what `ask` returns.

        These are associations, one an attribute, of which an added row moves each by `moved` at most, up or down.
        """
        scores, places, chosen = cache(lambda: -np.asarray(ask())), list(range(self.all)), list[int]()
        mechanism = TwoSidedPermuteAndFlip(epsilon / self.number, moved)
        for number in range(1, self.number + 1):
            purpose = f"choice of attribute {number} of {self.number}"
            place = gate.release(mechanism, lambda: scores()[places], purpose=purpose)
            chosen.append(places.pop(int(place)))
        return sorted(chosen)


def default_parts(n: int) -> Fraction:
    """Return the share of a choice from n attributes: the noise that the best must outdo grows as their logarithm."""
    return Fraction(min(_EACH_BIT * n.bit_length(), _MOST))


def most_moved(shares: Whole) -> int:
    """Return by how much a row can move an association with these class shares in steps, at most."""
    return 2 * (STEPS - int(shares.min()))


def prepare_choice(noise: NoiseSource, spending: Spending, n: int, row: int) -> Fraction:
    """Raise ValueError where ε is too small for a choice from n attributes; return the parts that one takes."""
    parts = default_parts(n)
    if spending.is_pure:
        noise.prepare(TwoSidedPermuteAndFlip(spending.epsilon * parts / PARTS / n, 2 * STEPS * row))
    return parts
