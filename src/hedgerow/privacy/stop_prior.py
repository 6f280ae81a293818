"""The public prior of exact draws: the probability of stopping at a position by its depth, with the defaults."""

from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import log, log1p
from typing import Self

MOST_LOG_ODDS = 1_000.0
"""The cap on log-odds of stopping, which keeps log-weights small in float64 for every ε."""


@dataclass(frozen=True)
class StopPrior:
    """The prior probability of stopping at a position of a model, by its depth.

    The log-odds of stopping at depth d are ``start + slope·d + curve·d(d + 1)/2``, and at most 1,000. The root of the
    model has depth 0.

    Attributes
    ----------
    start : float
        The log-odds of stopping at the root of the model.
    slope : float
        The constant part of the increase of the log-odds from one depth to the next.
    curve : float
        The part of the increase that grows with the depth: from depth d − 1 to depth d it is ``curve·d``.
    offset : int
        The depth of the root of the search, which is a subtree if a tree is drawn in blocks.

    Examples
    --------
    >>> prior = StopPrior(start=-2.0, slope=0.5, curve=1.0)
    >>> [prior.log_odds(depth) for depth in range(4)], round(prior.log_go(0), 3)
    ([-2.0, -0.5, 2.0, 5.5], -0.127)
    >>> StopPrior.constant(0.1).is_constant
    True
    """

    start: float
    slope: float = 0.0
    curve: float = 0.0
    offset: int = 0

    @classmethod
    def constant(cls, probability: float) -> Self:
        """Return the prior that stops with the same probability at every depth."""
        return cls(log(probability) - log1p(-probability))

    @property
    def is_constant(self) -> bool:
        """True if the probability does not depend on the depth."""
        return not self.slope and not self.curve

    def below(self, levels: int) -> Self:
        """Return the prior of a search whose root is `levels` levels below the root of this search."""
        return replace(self, offset=self.offset + levels)

    def log_odds(self, depth: int) -> float:
        """Return the log-odds of stopping at a depth below the root of the search."""
        level = self.offset + depth
        return min(self.start + self.slope * level + self.curve * (level * (level + 1) // 2), MOST_LOG_ODDS)

    def log_stop(self, depth: int) -> float:
        """Return the logarithm of the probability of stopping at a depth below the root of the search."""
        return -_softplus(-self.log_odds(depth))

    def log_go(self, depth: int) -> float:
        """Return the logarithm of the probability of going on at a depth below the root of the search."""
        return -_softplus(self.log_odds(depth))

    def cost(self, levels: int) -> float:
        """Return the largest ``−ln P(stop)`` plus the largest ``−ln P(go on)`` over `levels` levels, at least 1."""
        depths = range(max(levels, 1))
        return max(-self.log_stop(depth) for depth in depths) + max(-self.log_go(depth) for depth in depths)


@dataclass(frozen=True)
class StopRule:
    """A rule for the prior of a draw as a function of its ε, which is public.

    The log-odds of stopping at depth d are ``start + step·d + rows·ε·d(d + 1)/2``. To be as likely as a leaf, a test at
    depth 1 has to avoid about ``rows`` misclassified rows. A test at depth 2 has to avoid three times as many, and a
    test at depth 3 six times as many. These numbers are larger if ε is small.

    Attributes
    ----------
    start : float
        The log-odds of stopping at the root.
    step : float
        The part of the increase from one depth to the next that does not depend on ε.
    rows : float
        The part that depends on ε: the increase from the root to depth 1 per unit of ε.

    Examples
    --------
    >>> StopRule(-2.0, 0.5, 1.0).prior(Fraction(1, 2))
    StopPrior(start=-2.0, slope=0.5, curve=0.5, offset=0)
    """

    start: float
    step: float = 0.0
    rows: float = 0.0

    @classmethod
    def constant(cls, probability: float) -> Self:
        """Return the rule for a probability of stopping that depends neither on the depth nor on ε."""
        return cls(StopPrior.constant(probability).start)

    def prior(self, epsilon: Fraction) -> StopPrior:
        """Return the prior of a draw that costs `epsilon`."""
        return StopPrior(self.start, self.step, self.rows * float(min(epsilon, Fraction(MOST_LOG_ODDS))))


STOP_RULE = StopRule(-2.0, 0.5, 1.0)
"""The default of trees if the loss is the number of errors; docs/benchmarks/prior.md explains the choice."""
STOP_RULE_OF_SHARES = StopRule(-2.0, 0.5, 0.5)
"""The default of trees if the loss of a row can be any number from 0 to 1."""
STOP_PROBABILITY = 0.1
"""The default of rule lists: the probability of stopping, the same at every position."""


@lru_cache(maxsize=1024)
def _softplus(x: float) -> float:
    """Return ``ln(1 + e^x)``, rounded to float64 once."""
    digits = Context(prec=40)
    return float(digits.ln(digits.add(1, digits.exp(Decimal(x)))))
