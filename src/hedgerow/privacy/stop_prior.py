"""The public prior of an exact draw: how likely a model is to end at a position, by the depth of the position."""

from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import log, log1p
from typing import Self

MOST_LOG_ODDS = 1_000.0
"""The cap on log-odds of stopping: an ε of any size then keeps all logarithms of weights small in float64."""


@dataclass(frozen=True)
class StopPrior:
    """Prior probability of stopping at a position of a model, by its depth.

    The log-odds of stopping at depth d are ``start + slope·d``, and at most `MOST_LOG_ODDS`. The root of the model has
    depth 0, the root of the search the depth `offset`.
    """

    start: float
    slope: float = 0.0
    offset: int = 0

    @classmethod
    def constant(cls, probability: float) -> Self:
        """Return the prior that stops with the same probability at every depth."""
        return cls(log(probability) - log1p(-probability))

    @property
    def is_constant(self) -> bool:
        """True if the depth of a position does not matter."""
        return not self.slope

    def below(self, levels: int) -> Self:
        """Return the prior of a search whose root is that many levels below the root of this search."""
        return replace(self, offset=self.offset + levels)

    def log_odds(self, depth: int) -> float:
        """Return the log-odds of stopping at a depth below the root of the search."""
        return min(self.start + self.slope * (self.offset + depth), MOST_LOG_ODDS)

    def log_stop(self, depth: int) -> float:
        """Return the logarithm of the probability of stopping at a depth below the root of the search."""
        return -_softplus(-self.log_odds(depth))

    def log_go(self, depth: int) -> float:
        """Return the logarithm of the probability of going on at a depth below the root of the search."""
        return -_softplus(self.log_odds(depth))

    def cost(self, levels: int) -> float:
        """Return the largest ``−ln P(stop) − ln P(go on)`` of the given number of levels, or of the first level."""
        return max(-self.log_stop(depth) - self.log_go(depth) for depth in range(max(levels, 1)))


@dataclass(frozen=True)
class StopRule:
    """Rule that makes the prior of a draw from its public ε.

    A test at depth d has to save about ``rows·d`` misclassified rows to be as likely as a leaf, and a little more if ε
    is small.
    """

    start: float  # the log-odds of stopping at the root
    step: float = 0.0  # how much the log-odds rise with each level, whatever ε
    rows: float = 0.0  # and how much they rise with each level for ε = 1

    @classmethod
    def constant(cls, probability: float) -> Self:
        """Return the rule for the same probability of stopping, whatever the depth and ε."""
        return cls(StopPrior.constant(probability).start)

    def prior(self, epsilon: Fraction) -> StopPrior:
        """Return the prior of a draw that costs `epsilon`: log-odds ``start + d·(step + rows·epsilon)``."""
        return StopPrior(self.start, self.step + self.rows * float(min(epsilon, Fraction(MOST_LOG_ODDS))))


@lru_cache(maxsize=1024)
def _softplus(x: float) -> float:
    """Return ``ln(1 + e^x)``, rounded to float64 once."""
    digits = Context(prec=40)
    return float(digits.ln(digits.add(1, digits.exp(Decimal(x)))))
