"""The exponential mechanism over whole models, with a bound on the rounding errors of a draw."""

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

MOST_ROWS = 2**32  # the bound on rounding holds below this number of rows
MOST_WHOLE = 2**42  # the same if losses are stored as whole numbers next to logarithms
WEIGHT_DIGITS = 20
"""Binary digits of the weight of a loss of whole rows. Its product with a number below 2³² is exact in float64."""
UNIT = Fraction(1, 2**53)  # relative rounding error of one operation in float64
ULPS = 4  # the largest error of NumPy's exp and log that the bounds on rounding allow, in units in the last place
_ERRORS = Fact("errors")
_LANES = 9  # start offsets, so that every point is computed in each lane of a vector and in the remainder of a loop
_LENGTH = 263  # the length of the arrays that repeat all points; it exceeds any unrolled loop
NEAR = 64.0  # the largest exponent of an exponential above 1 that a search computes
# Terms below e⁻⁴⁰ vanish when they are added to 1.
_EXPONENTS = np.concatenate([-np.geomspace(2**-10, 700, 53), np.geomspace(2**-10, NEAR, 29)])
_SUMS = np.concatenate(
    [np.geomspace(2**-10, 2**30, 39), np.geomspace(0.7, 1.5, 14), 1 + 2.0 ** -np.arange(4, 53, 8), [1 - 2.0**-30]]
)
_LARGEST_WEIGHT = 2**40  # with larger weights, a single error would decide and log-weights could overflow


class Choose(Protocol):
    """Draw an index with probability proportional to the exponential of its log-weight, in units of 1/`parts`."""

    # Log-weights are float64 or int64; `parts` is a power of two.
    def __call__(self, log_weights: Floats | Integers, parts: float = 1.0, /) -> int: ...


class Sampler(Protocol):
    """The models of a kind on a private table, for a draw."""

    def sample(self, weight: float, choose: Choose) -> Any:
        """Draw a model with probability proportional to ``prior·exp(−weight·loss)``; `choose` makes every choice."""

    def distance(self, other: Any) -> float:
        """Return the number of rows added or removed between the tables; infinite if rows were added and removed."""
        ...


def gumbel_choice() -> Choose:
    """Return the exponential mechanism: a draw by OpenDP's Gumbel noise of scale 1 on log-weights."""

    # `make_noisy_max` draws Gumbel noise for zero-concentrated divergence. Its privacy map is not used: it holds for
    # scores of bounded sensitivity, and the log-weights of a whole draw have none.
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
    """The public size of a search, from which the bound on the rounding errors of a draw follows."""

    depth: int  # the maximum number of options on a path
    leaves: int  # the maximum number of leaves of a model
    options: int  # the number of options at the first position
    values: int  # possible values of a leaf: the classes, or a grid of probabilities
    prior: StopPrior  # the prior probability of stopping at a position
    steps: int = 1  # steps in a loss of 1, a power of two; losses are whole numbers of steps
    siblings: int = 1  # tables with disjoint rows whose draws share a charge

    def weight(self, epsilon: Fraction) -> Fraction:
        """Return the largest weight of a loss of 1 at which a draw, with rounding, costs at most `epsilon`.

        The draw is the exponential mechanism with score −loss. Adding a row never raises the score and lowers it by at
        most 1. With weight ``w`` and exact arithmetic, the privacy loss is therefore ``w``. docs/mathematics.md proves
        that rounding adds at most ``4u·(d + 1)·((5d + 1)·w·n + s·l·c)``, with ``u = 2⁻⁵³``, ``n`` rows, depth ``d``,
        ``l`` leaves, ``s`` siblings, and the `constant` ``c``.
        """
        factor = 4 * UNIT * (self.depth + 1)
        relative = factor * (5 * self.depth + 1) * MOST_ROWS
        absolute = factor * self.siblings * self.leaves * self.constant
        return largest_weight(epsilon, loss=1 + relative, absolute=absolute, digits=weight_digits(self.steps))

    def max_rows(self, weight: float) -> int:
        """Return the public row limit of a draw with this weight: the table must have fewer rows."""
        # docs/mathematics.md: the allowance for 2³² rows then also covers the part that does not grow with the rows.
        constant = 4 * self.siblings * self.leaves * self.constant
        return MOST_WHOLE if constant <= MOST_ROWS * min(weight, 2**-10) else MOST_ROWS

    @property
    def constant(self) -> int:
        """The rounding error of a state that is independent of its rows, in units of 2⁻⁵³: ``c`` in the proof."""
        prior = math.log(max(self.options, 1)) + self.prior.cost(self.depth)
        return math.ceil(24 * prior + 8 * math.log(self.values)) + self.options + self.values + 50


def weight_digits(steps: int) -> int:
    """Return the number of binary digits of the weight if a loss of 1 has `steps` steps, a power of two."""
    return WEIGHT_DIGITS - (steps.bit_length() - 1)


def largest_weight(epsilon: Fraction, *, loss: Fraction, absolute: Fraction, digits: int = WEIGHT_DIGITS) -> Fraction:
    """Return the largest weight with `digits` binary digits for which ``weight*loss + absolute <= epsilon``."""
    check_functions()
    if epsilon <= 2 * absolute:
        problem = f"epsilon for one draw must be > {float(2 * absolute):.3g}, got {float(epsilon):.3g}"
        raise ArgumentError(f"{problem}: rounding errors could use half of it or more. Use a larger epsilon.")
    return _rounded_down((min(epsilon, _LARGEST_WEIGHT) - absolute) / loss, digits)


@cache
def check_functions() -> None:
    """Check once, at some points, that NumPy's exp and log are within `ULPS` units in the last place."""
    context = Context(prec=24)
    for function, reference, arguments in ((np.exp, context.exp, _EXPONENTS), (np.log, context.ln, _SUMS)):
        values = [reference(Decimal(x)) for x in arguments.tolist()]
        remainders = [context.subtract(value, Decimal(float(value))) for value in values]
        points, near, rest = (
            np.resize(np.array(numbers, dtype=np.float64), _LENGTH) for numbers in (arguments, values, remainders)
        )
        for part in (*(slice(start, None) for start in range(_LANES)), slice(None, None, -1)):
            error = np.abs(function(points[part]) - near[part] - rest[part])
            if not (error <= ULPS * np.spacing(np.abs(near[part]))).all():
                raise StateError(
                    f"NumPy's exp and log are not within {ULPS} units in the last place on this machine, so the "
                    "rounding errors of an exact draw have no proven bound. Use another build of NumPy, or "
                    "search='greedy'."
                )


def _rounded_down(value: Fraction, digits: int) -> Fraction:
    """Return the largest fraction with `digits` binary digits that is at most `value`."""
    scale = Fraction(2) ** (digits - math.frexp(float(value))[1])
    return Fraction(math.floor(value * scale)) / scale


@dataclass(frozen=True)
class ModelDraw:
    """A draw of a model with probability proportional to ``prior·exp(−weight·loss)``.

    The input is a `Sampler`. Neighbouring tables differ by one row. Adding it raises the loss of every model by 0 to 1
    (a monotone score; the number of errors is such a loss). ``weight``-differential privacy follows without the factor
    of two for general scores. `epsilon` is `weight` plus the bound on the rounding errors. With a `handicap`, a model
    that was released before competes with all models of the sampler. Its prior is ``exp(-handicap)`` times the sum of
    their priors.

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
        """The loss ρ: the log-ratios of all models on neighbouring tables have a range of `weight`."""
        return drawn_rho(self.epsilon, self.weight)

    def distance(self, first: Sampler, second: Sampler) -> float:
        return first.distance(second)

    def build(self) -> Callable[[Sampler], Any]:
        choose = gumbel_choice()
        return lambda sampler: sampler.sample(float(self.weight), choose)

    def simulate(self, values: Sampler, rng: np.random.Generator) -> Any:
        return values.sample(float(self.weight), seeded_choice(rng))

    @property
    def record(self) -> Fact:
        kept = self.epsilon - self.weight
        return Fact("model_draw", weight=self.weight, loss=self.loss, kept=kept, handicap=self.handicap)
