"""The exponential mechanism over whole models, with a bound on the rounding errors of the draw."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any, Protocol

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.errors import ArgumentError, StateError
from hedgerow.privacy import opendp as dp
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.privacy.zcdp import drawn_rho

MOST_ROWS = 2**32  # below it float64 holds the logarithms of weights closely enough: the bound on rounding
MOST_WHOLE = 2**42  # the same where losses are kept beside logarithms, as whole numbers
WEIGHT_DIGITS = 20
"""Binary digits of the weight of a loss of whole rows: times a number below 2³² it is exact in float64."""
UNIT = Fraction(1, 2**53)  # relative rounding error of one operation in float64
ULPS = 4  # the most by which NumPy's exp and log may be off, in units in the last place: the bounds on rounding
_ERRORS = Fact("errors")
_LANES = 9  # starts, so that a point is computed at each place of a vector, and in the rest that fills none
_LENGTH = 263  # of arrays that hold all points again and again: longer than any unrolled loop
_EXPONENTS = -np.geomspace(2**-10, 700, 53)  # what is less than e⁻⁴⁰ is lost in the 1 that it is added to
_SUMS = np.concatenate(
    [np.geomspace(2**-10, 2**30, 39), np.geomspace(0.7, 1.5, 14), 1 + 2.0 ** -np.arange(4, 53, 8), [1 - 2.0**-30]]
)
_LARGEST_WEIGHT = 2**40  # beyond it one error less decides anyway, and log-weights could overflow


class Choose(Protocol):
    """Draw an index with probability proportional to the exponentials of log-weights, given in parts of 1."""

    # Float64, or whole numbers of 64 bits; `parts` is a power of two.
    def __call__(self, log_weights: Floats | Integers, parts: float = 1.0, /) -> int: ...


class Sampler(Protocol):
    """All models of a kind over one private table, from which one can be drawn."""

    def sample(self, weight: float, choose: Choose) -> Any:
        """Draw a model with probability proportional to ``prior·exp(−weight·loss)``, every choice by `choose`."""

    def distance(self, other: Any) -> float:
        """Return by how many rows the tables differ; infinite if rows were both added and removed."""
        ...


def gumbel_choice() -> Choose:
    """Return a draw by OpenDP's Gumbel noise of scale 1 on log-weights, which is the exponential mechanism."""

    # `make_noisy_max` draws Gumbel noise if asked for zero-concentrated divergence. Its privacy map is not used: it
    # holds for that divergence, and for scores of bounded sensitivity, which the log-weights of a whole draw are not.
    def gumbel(kind: str, scale: float) -> Any:
        atoms = dp.atom_domain(T=kind, nan=False) if kind == "f64" else dp.atom_domain(T=kind)
        space = dp.vector_domain(atoms), dp.linf_distance(T=kind)
        return dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)

    of_floats = gumbel("f64", 1.0)
    return lambda log_weights, parts=1.0, /: int(
        (gumbel("i64", parts) if log_weights.dtype == np.int64 else of_floats)(log_weights)
    )


def seeded_choice(rng: np.random.Generator) -> Choose:
    return lambda log_weights, parts=1.0, /: int(np.argmax(log_weights / parts + rng.gumbel(size=len(log_weights))))


@dataclass(frozen=True)
class Rounding:
    """Public size of a search, which bounds the rounding errors of a draw."""

    depth: int  # options that can be taken one after the other
    leaves: int  # leaves that a model can have
    options: int  # options at the first position
    values: int  # values that a leaf can have: the classes, or a grid of probabilities
    prior: StopPrior  # the prior probability of stopping at a position
    steps: int = 1  # steps in a loss of 1, a power of two; losses are whole numbers of them
    siblings: int = 1  # tables of different rows that are drawn from for one charge

    def weight(self, epsilon: Fraction) -> Fraction:
        """Return the largest weight of a loss of 1 with which a draw costs no more than `epsilon`, rounding included.

        The draw is the exponential mechanism with score −loss, which adding a row never raises and lowers by at most
        one: with weight ``w`` and exact arithmetic the privacy loss is ``w``. docs/mathematics.md proves that rounding
        adds at most ``4u·(d + 1)·((5d + 1)·w·n + s·l·c)``, with ``u = 2⁻⁵³``, ``n`` rows, ``d`` the depth, ``l`` the
        leaves, ``s`` the siblings, and ``c`` the `constant`.
        """
        each = 4 * UNIT * (self.depth + 1)
        relative, absolute = each * (5 * self.depth + 1) * MOST_ROWS, each * self.siblings * self.leaves * self.constant
        return largest_weight(epsilon, loss=1 + relative, absolute=absolute, digits=weight_digits(self.steps))

    def max_rows(self, weight: float) -> int:
        """Return as of how many rows together a draw of this weight is refused: public."""
        # docs/mathematics.md: what is kept for 2³² rows then covers what does not grow with the rows
        constant = 4 * self.siblings * self.leaves * self.constant
        return MOST_WHOLE if constant <= MOST_ROWS * min(weight, 2**-10) else MOST_ROWS

    @property
    def constant(self) -> int:
        """Rounding of one state that does not grow with its rows, in units of 2⁻⁵³: ``c`` of docs/mathematics.md."""
        prior = math.log(max(self.options, 1)) + self.prior.cost(self.depth)
        return math.ceil(24 * prior + 8 * math.log(self.values)) + self.options + self.values + 50


def weight_digits(steps: int) -> int:
    """Return the binary digits of the weight of a loss of so many steps, a power of two."""
    return WEIGHT_DIGITS - (steps.bit_length() - 1)


def largest_weight(epsilon: Fraction, *, loss: Fraction, absolute: Fraction, digits: int = WEIGHT_DIGITS) -> Fraction:
    """Return the largest weight of so many binary digits for which ``weight*loss + absolute`` is at most `epsilon`."""
    check_functions()
    if epsilon <= 2 * absolute:
        problem = f"epsilon for one draw must be > {float(2 * absolute):.3g}, got {float(epsilon):.3g}"
        raise ArgumentError(f"{problem}: rounding errors could cost half of it or more. Use a larger epsilon.")
    return _rounded_down((min(epsilon, _LARGEST_WEIGHT) - absolute) / loss, digits)


@cache
def check_functions() -> None:
    """Check once, at some points, that NumPy's exp and log are within `ULPS` units in the last place here."""
    digits = Context(prec=24)
    for function, exactly, some in ((np.exp, digits.exp, _EXPONENTS), (np.log, digits.ln, _SUMS)):
        right = [exactly(Decimal(x)) for x in some.tolist()]
        rests = [digits.subtract(one, Decimal(float(one))) for one in right]
        points, near, rest = (np.resize(np.array(each, dtype=np.float64), _LENGTH) for each in (some, right, rests))
        for part in (*(slice(start, None) for start in range(_LANES)), slice(None, None, -1)):
            off = np.abs(function(points[part]) - near[part] - rest[part])
            if not (off <= ULPS * np.spacing(np.abs(near[part]))).all():
                raise StateError(
                    f"Expected exp and log of NumPy to be within {ULPS} units in the last place, got others on this "
                    "machine, so that what rounding adds to a draw is not bounded. Use another build of NumPy, or "
                    "search='greedy'."
                )


def _rounded_down(value: Fraction, digits: int) -> Fraction:
    """Return the largest fraction of so many binary digits that is no larger."""
    scale = Fraction(2) ** (digits - math.frexp(float(value))[1])
    return Fraction(math.floor(value * scale)) / scale


@dataclass(frozen=True)
class ModelDraw:
    """Draw one model of all, with probability proportional to ``prior·exp(−weight·loss)``.

    Input: a `Sampler`. Neighbouring tables differ by one row, which changes the loss of every model by 0 to 1 in one
    direction (a monotone score; errors are such a loss), so that ``weight``-differential privacy follows without the
    factor of two of general scores. `epsilon` is `weight` plus the bound on what rounding adds to the loss.
    With a `handicap`, one model that was released before competes with all models of the sampler. Its prior is
    ``exp(-handicap)`` times the sum of theirs.

    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007, Theorem 6; Dwork and Roth, *The
    Algorithmic Foundations of Differential Privacy*, 2014, Section 3.4; Ilvento, *Implementing the Exponential
    Mechanism with Base-2 Differential Privacy*, CCS 2020 (rounding).
    """

    epsilon: Fraction
    weight: Fraction
    loss: Fact = _ERRORS
    sensitivity: int = 1
    handicap: int | None = None
    delta = Fraction(0)

    @property
    def rho(self) -> Fraction:
        """ρ: the log-ratios of all models on neighbouring tables have a range of `weight`."""
        return drawn_rho(self.epsilon, self.weight)

    def distance(self, one: Sampler, other: Sampler) -> float:
        return one.distance(other)

    def build(self) -> Callable[[Sampler], Any]:
        choose = gumbel_choice()
        return lambda sampler: sampler.sample(float(self.weight), choose)

    def simulate(self, values: Sampler, rng: np.random.Generator) -> Any:
        return values.sample(float(self.weight), seeded_choice(rng))

    @property
    def record(self) -> Fact:
        kept = self.epsilon - self.weight
        return Fact("model_draw", weight=self.weight, loss=self.loss, kept=kept, handicap=self.handicap)
