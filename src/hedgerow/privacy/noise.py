"""Noise mechanisms, each a frozen value with its sensitivity, and the noise sources that run them.

`SecureNoise` runs a mechanism through OpenDP, on OpenSSL's cryptographic generator, or, for K-norm noise, by exact
samplers of our own on the operating system's. `SeededNoise` draws from the same distribution with a seeded NumPy
generator, for research and tests; its releases carry no guarantee.
"""

import importlib.metadata
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from hedgerow.boundary.arguments import RandomState, generator
from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.errors import ArgumentError
from hedgerow.privacy import opendp as dp
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gdp import gdp_noise, largest_mu
from hedgerow.privacy.process import read_only
from hedgerow.privacy.zcdp import drawn_rho, gaussian, largest_rho, pure_rho

_LARGEST_SCALE = 2**40  # in sensitivities; the smallest is its inverse
_SEEDED, _SEEDED_SOURCE = Fact("seeded"), Fact("seeded_generator")
_TABULATED = 1000.0  # the largest σ whose probabilities are tabulated to simulate
_LARGEST_ON_GRID = 2**60  # the largest number in steps: what is left of 64 bits is for noise


class Mechanism(Protocol):
    """A randomised answer to one query on private counts.

    Neighbouring inputs are those of tables that differ by one row; `distance` measures how far two inputs are in the
    metric in which `sensitivity` is declared, and is infinite where the inputs cannot come from neighbouring tables.
    """

    @property
    def epsilon(self) -> Fraction:
        """The loss ε of the release: at least what OpenDP's privacy map returns at `sensitivity`."""
        ...

    @property
    def delta(self) -> Fraction:
        """The loss δ of the release; 0 for most mechanisms."""
        ...

    @property
    def rho(self) -> Fraction | None:
        """The loss ρ of the release (zCDP), where it is less than what follows from ε, or δ is not 0; else None."""

    @property
    def sensitivity(self) -> float:
        """The declared bound on `distance` between the inputs of neighbouring tables."""
        ...

    @property
    def record(self) -> Fact:
        """The mechanism as a fact of charges: its kind, its sensitivity and its scale or weight."""
        ...

    def build(self) -> Callable[[Any], Any]:
        """Return what runs it: an OpenDP measurement, whose privacy map at `sensitivity` is at most `epsilon`.

        `hedgerow.privacy.exponential_mechanism.ModelDraw` and `hedgerow.privacy.joint_quantiles.JointQuantiles` take
        many draws from OpenDP and account for them themselves. `hedgerow.privacy.shared_histograms.SharedHistograms`
        has a sampler of its own, on the operating system's cryptographic generator.
        """
        ...

    def distance(self, one: Any, other: Any) -> float:
        """Return how far two inputs are in the mechanism's metric."""
        ...

    def simulate(self, values: Any, rng: np.random.Generator) -> Any:
        """Draw from the mechanism's distribution with `rng`."""


@runtime_checkable
class NoiseSource(Protocol):
    """A source of randomness that runs mechanisms."""

    @property
    def description(self) -> Fact | str:
        """Description of the source on the privacy card, in your own words; a fact for sources of hedgerow's."""
        ...

    @property
    def no_guarantee_reason(self) -> Fact | str | None:
        """Why releases with this source carry no guarantee, in your own words or as a fact; or None."""

    def prepare(self, mechanism: Any) -> Callable[[Any], Any]:
        """Return a function that runs `mechanism` on the true answer. Called before the charge; raises if it cannot."""
        ...


@dataclass(frozen=True)
class SecureNoise:
    """OpenDP's samplers, on OpenSSL's cryptographic generator, which the operating system seeds.

    K-norm noise, and the Cauchy noise of SSRL, are drawn from the operating system's own generator; cards with such
    noise state it.
    """

    no_guarantee_reason: Fact | None = None

    @property
    def description(self) -> Fact:
        """OpenDP, its version, and its source of randomness."""
        return Fact("opendp", version=_opendp_version())

    def prepare(self, mechanism: Mechanism) -> Callable[[Any], Any]:
        """Return a function that runs the mechanism with secure noise."""
        return mechanism.build()


@dataclass(frozen=True)
class SeededNoise:
    """A seeded NumPy generator in place of secure noise: reproducible, and void of any guarantee."""

    rng: np.random.Generator
    no_guarantee_reason: Fact | None = _SEEDED
    description: Fact = _SEEDED_SOURCE

    def prepare(self, mechanism: Mechanism) -> Callable[[Any], Any]:
        """Return a function that draws from the mechanism's distribution with the seeded generator."""
        return lambda values: mechanism.simulate(values, self.rng)


@dataclass(frozen=True)
class OtherNoise:
    """A noise source passed by the caller, for research and tests: its releases carry no guarantee."""

    source: NoiseSource

    @property
    def no_guarantee_reason(self) -> Fact | str:
        return self.source.no_guarantee_reason or Fact("other_noise")

    @property
    def description(self) -> Fact | str:
        return self.source.description

    def prepare(self, mechanism: Any) -> Callable[[Any], Any]:
        return self.source.prepare(mechanism)


def noise_source(random_state: NoiseSource | RandomState) -> NoiseSource:
    """Return the noise source for a `random_state`: secure unless a seed or another source is given."""
    if random_state is None:
        return SecureNoise()
    if type(random_state) is SecureNoise:
        return SecureNoise()
    if isinstance(random_state, NoiseSource):
        return OtherNoise(random_state)
    return SeededNoise(generator(random_state))


@dataclass(frozen=True)
class PermuteAndFlip:
    """Choose the index of the smallest score by permute-and-flip, that is noisy max with exponential noise.

    Input: int64 scores, one a candidate. Adding a row must lower no score and raise each by at most `sensitivity` (a
    *monotone* score), so that noise of scale ``sensitivity/epsilon`` gives ε-differential privacy (McKenna and Sheldon,
    *Permute-and-Flip*, NeurIPS 2020, Theorem 1; Ding et al., *The Permute-and-Flip Mechanism is Identical to
    Report-Noisy-Max with Exponential Noise*, 2021).
    """

    epsilon: Fraction
    sensitivity: int
    delta = Fraction(0)
    rho = None
    _directions = 1  # in which one row may move scores
    _code = "permute_and_flip"

    def distance(self, one: Integers, other: Integers) -> float:
        """Return max |one - other|, infinite where some scores rise and others fall, or are not as many."""
        if len(one) != len(other):
            return math.inf
        change = other - one
        if np.any(change > 0) and np.any(change < 0):
            return math.inf
        return float(np.max(np.abs(change), initial=0))

    def build(self) -> dp.Measurement:
        return self.of_scale(_scale(self))

    def of_scale(self, scale: float) -> dp.Measurement:
        return self._noisy_min(scale, dp.max_divergence())

    def _noisy_min(self, scale: float, measure: Any) -> dp.Measurement:
        metric = dp.linf_distance(T="i64", monotonic=self._directions == 1)
        space = dp.vector_domain(dp.atom_domain(T="i64")), metric
        return dp.m.make_noisy_max(*space, measure, scale=scale, negate=True)

    def simulate(self, values: Integers, rng: np.random.Generator) -> int:
        """Draw by the noisy-max form: argmax of −score + noise of this scale."""
        scale = self._directions * float(self.sensitivity / self.epsilon)
        return int(np.argmax(scale * self._noise(rng, len(values)) - values))

    def _noise(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.standard_exponential(size)

    @property
    def record(self) -> Fact:
        scale = self._directions / self.epsilon
        return Fact(self._code, directions=self._directions, sensitivity=self.sensitivity, scale=scale)


@dataclass(frozen=True)
class TwoSidedPermuteAndFlip(PermuteAndFlip):
    """Choose the index of the smallest score where an added row may raise some scores and lower others."""

    # Each changes by at most `sensitivity`: noise of scale ``2·sensitivity/epsilon`` gives ε-differential privacy.
    _directions = 2

    def distance(self, one: Integers, other: Integers) -> float:
        """Return max |one - other|, infinite where there are not as many scores."""
        return float(np.max(np.abs(other - one), initial=0)) if len(one) == len(other) else math.inf


class GumbelChoice(PermuteAndFlip):
    """Choose by the exponential mechanism, that is noisy max with Gumbel noise: where a budget adds up ρ.

    At the scale of permute-and-flip it is ε-differentially private, too, and its log-ratios have a range of ε: it costs
    a quarter of the ρ or little more (docs/mathematics.md, fact 6). It errs more, so that permute-and-flip chooses
    where ε alone is added up.
    """

    _code = "gumbel_choice"

    @property
    def rho(self) -> Fraction:
        """The loss ρ of a range of ε."""
        return drawn_rho(self.epsilon, self.epsilon)

    def build(self) -> dp.Measurement:
        return self._noisy_min(_scale(self), dp.zero_concentrated_divergence())  # at its scale, ε is the range here

    def _noise(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.gumbel(size=size)


class TwoSidedGumbelChoice(GumbelChoice, TwoSidedPermuteAndFlip):
    """`GumbelChoice` where an added row may raise some scores and lower others."""


@dataclass(frozen=True)
class Siblings:
    """Run one mechanism on several inputs, counted from disjoint rows, for one charge (parallel composition).

    Neighbouring tables differ by one row, which is among the rows of one input at most; so the loss of all runs
    together is that of one (McSherry, *Privacy Integrated Queries*, SIGMOD 2009, Theorem 4).
    """

    each: Mechanism
    delta = Fraction(0)

    epsilon = read_only("each.epsilon", "The loss ε of all runs together.")
    rho = read_only("each.rho", "The loss ρ of all runs together.")
    sensitivity = read_only("each.sensitivity", "The sensitivity of each.")

    def distance(self, one: Sequence[Any], other: Sequence[Any]) -> float:
        """Return the distance of the one pair of inputs that differ, infinite where more do."""
        if len(one) != len(other):
            return math.inf
        moved = [distance for pair in zip(one, other, strict=True) if (distance := self.each.distance(*pair))]
        return math.inf if len(moved) > 1 else sum(moved)

    def build(self) -> Callable[[Sequence[Any]], list[Any]]:
        run = self.each.build()
        return lambda inputs: [run(values) for values in inputs]

    def simulate(self, values: Sequence[Any], rng: np.random.Generator) -> list[Any]:
        return [self.each.simulate(one, rng) for one in values]

    @property
    def record(self) -> Fact:
        return self.each.record.having(disjoint=True)


@dataclass(frozen=True)
class DiscreteLaplace:
    """Add discrete Laplace noise of scale ``sensitivity/epsilon`` to every count of a histogram.

    ε-differential privacy, where the ℓ1 sensitivity of all int64 counts together to one row is `sensitivity` (Ghosh,
    Roughgarden and Sundararajan, *Universally Utility-Maximizing Privacy Mechanisms*, 2009, Section 2). Where a row
    changes no count by more than `each`, the noise on it costs a share of ε, and ρ adds up over the counts
    (docs/mathematics.md, fact 6).
    """

    epsilon: Fraction
    sensitivity: int = 1
    each: int | None = None  # the most by which one row changes one count; None: by `sensitivity`
    delta = Fraction(0)

    @property
    def rho(self) -> Fraction | None:
        """The loss ρ of all counts together, where it is less than what follows from ε."""
        return None if self.each is None else pure_rho(self.epsilon, self.epsilon * self.each / self.sensitivity)

    def distance(self, one: Integers, other: Integers) -> float:
        """Return the ℓ1 distance, or the largest change of one count in units of its share of the sensitivity."""
        changes = np.abs(other - one)
        most = 0.0 if self.each is None else float(changes.max(initial=0)) * self.sensitivity / self.each
        return max(float(changes.sum()), most)

    def build(self) -> dp.Measurement:
        return self.of_scale(_scale(self))

    def of_scale(self, scale: float) -> dp.Measurement:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        return dp.m.make_laplace(*space, scale=scale)

    def simulate(self, values: Integers, rng: np.random.Generator) -> list[int]:
        """Draw by the difference of two geometric variables."""
        stop = -math.expm1(-float(self.epsilon / self.sensitivity))
        return (values + rng.geometric(stop, len(values)) - rng.geometric(stop, len(values))).tolist()

    @property
    def record(self) -> Fact:
        scale = self.sensitivity / self.epsilon
        return Fact("discrete_laplace", sensitivity=self.sensitivity, scale=scale, each=self.each)


def check_epsilon(epsilon: Fraction) -> None:
    """Raise ArgumentError if the ε of one release is below the supported minimum."""
    if epsilon * _LARGEST_SCALE < 1:
        problem = f"epsilon for one release must be >= {1 / _LARGEST_SCALE:.3g}, got {float(epsilon):.3g}."
        raise ArgumentError(f"{problem} Use a larger epsilon, or ask for less at once.")


@lru_cache(maxsize=1024)
def _scale(mechanism: PermuteAndFlip | DiscreteLaplace) -> float:
    """Return a scale just large enough that the privacy map at the sensitivity is at most `epsilon`."""
    epsilon = mechanism.epsilon
    check_epsilon(epsilon)

    def loss(scale: float) -> Fraction:
        return Fraction(cast(float, mechanism.of_scale(scale).map(mechanism.sensitivity)))

    scale = float(loss(1.0) / min(epsilon, Fraction(_LARGEST_SCALE)))
    while loss(scale) > epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


@cache
def _opendp_version() -> str:
    return importlib.metadata.version("opendp")


@dataclass(frozen=True)
class GaussianCounts:
    """Add discrete Gaussian noise to every count, as answer number `number` of at most `answers` of its kind.

    Input: a vector of int64 counts of which one row changes at most `changes`, each by 1: the ℓ2 sensitivity is their
    square root. All `answers` together are (ε, δ)-differentially private for the total ε and δ, which is charged with
    the first of them, however their questions depend on earlier answers or are interleaved with others. They compose
    in Gaussian differential privacy (docs/mathematics.md, fact 12); or, if the budget adds up ρ, in zero-concentrated
    differential privacy: each answer then costs ``ρ = changes / (2σ²)`` (Canonne, Kamath and Steinke, *The Discrete
    Gaussian for Differential Privacy*, 2020, Theorem 4; Feldman and Zrnic, *Individual Privacy Accounting via a Rényi
    Filter*, 2021), and σ is 5 to 10 % larger for an ε from 0.1 to 10 and usual δ. (Interleaved series: Lyu,
    *Composition Theorems for Interactive Differential Privacy*, 2022.) Where the noise is small, it is added in steps
    finer than 1, and the sum is rounded.

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
    parts: Fraction = Fraction(1)  # of `answers` equal parts of `information`, how many this answer takes
    rows: int = 1  # how many rows the protected unit has at most
    adds_up_rho: bool = False  # whether the budget adds up ρ, by which all answers then compose

    @property
    def sensitivity(self) -> float:
        """The ℓ2 sensitivity: one row's, times the rows of a unit."""
        return self.rows * math.sqrt(self.changes)

    @property
    def epsilon(self) -> Fraction:
        """All of ε with the first answer, nothing more with the others."""
        return self.total if self.number == 1 else Fraction(0)

    @property
    def delta(self) -> Fraction:
        """All of δ with the first answer, nothing more with the others."""
        return self.total_delta if self.number == 1 else Fraction(0)

    @property
    def mu(self) -> Fraction | None:
        """The μ that (ε, δ) allows all answers together in Gaussian differential privacy; None if ρ is added up."""
        return None if self.adds_up_rho else largest_mu(self.total, self.total_delta)

    @property
    def _total_rho(self) -> Fraction:
        return largest_rho(self.total, self.total_delta) if self.mu is None else self.mu**2 / 2

    @property
    def rho(self) -> Fraction:
        """All of ρ with the first answer, nothing more with the others: μ²/2, or what (ε, δ) allows in ρ."""
        return self._total_rho if self.number == 1 else Fraction(0)

    @property
    def information(self) -> Fraction:
        """The most that this answer may use up of 2ρ, or μ²: the squared ℓ2 sensitivity over the variance."""
        return 2 * self._total_rho * self.parts / self.answers

    @property
    def scale(self) -> float:
        """The standard deviation of the noise on a count, in proportion to the ℓ2 sensitivity or hardly more."""
        sigma, grid = self._noise
        return math.hypot(sigma, math.sqrt((grid**2 - 1) / 12)) / grid

    @property
    def _noise(self) -> tuple[float, int]:
        """σ in steps of a grid, and how many of these make 1."""
        changes = self.changes * self.rows**2
        if self.mu is None:
            return _gaussian_scale(self.information / 2, changes), 1
        return gdp_noise(changes / self.information)

    def distance(self, one: Integers, other: Integers) -> float:
        return float(np.linalg.norm(other - one))

    def build(self) -> Callable[[Integers], Any]:
        sigma, grid = self._noise
        return _in_steps(gaussian(sigma), grid)

    def simulate(self, values: Integers, rng: np.random.Generator) -> list[int]:
        sigma, grid = self._noise
        return _in_steps(lambda steps: _simulated_gaussian(steps, sigma, rng), grid)(values)

    @property
    def record(self) -> Fact:
        series = {"answers": self.answers, "number": self.number, "parts": self.parts}
        changed = {"changes": self.changes, "rows": self.rows}
        return Fact("discrete_gaussian", **series, **changed, scale=self.scale, mu=self.mu)


@cache
def _gaussian_scale(rho: Fraction, changes: int) -> float:
    """Return the smallest σ at which so many changed counts cost no more than ρ."""
    scale = math.sqrt(changes / (2 * float(rho)))
    while Fraction(gaussian(scale).map(math.sqrt(changes))) > rho:
        scale = math.nextafter(scale, math.inf)
    return scale


def _in_steps(run: Callable[[Integers], Any], grid: int) -> Callable[[Integers], Any]:
    """Return what runs a mechanism on whole numbers in steps of a grid, and rounds its answers to whole numbers."""
    if grid == 1:
        return run
    most = _LARGEST_ON_GRID // grid  # cutting numbers off moves none of two tables further apart
    return lambda values: [(2 * steps + grid) // (2 * grid) for steps in run(np.clip(values, -most, most) * grid)]


def _simulated_gaussian(values: Integers, scale: float, rng: np.random.Generator) -> list[int]:
    """Draw from the exact probabilities; for scales above 1,000 round a Gaussian, which is within 1e-7 of them."""
    if scale > _TABULATED:
        return (values + np.rint(rng.normal(scale=scale, size=len(values))).astype(np.int64)).tolist()
    most = int(np.ceil(40 * scale))
    support = np.arange(-most, most + 1)
    weights = np.exp(-(support**2) / (2 * scale**2))
    return (values + rng.choice(support, size=len(values), p=weights / weights.sum())).tolist()
