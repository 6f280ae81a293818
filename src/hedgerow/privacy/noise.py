"""Noise mechanisms, which are frozen values with their sensitivity, and the noise sources that run them.

`SecureNoise` runs a mechanism through OpenDP, with OpenSSL's cryptographic generator. K-norm noise has an exact sampler
of its own, with the operating system's generator. `SeededNoise` draws from the same distributions with a seeded NumPy
generator, for research and tests; its releases have no guarantee.
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

_LARGEST_SCALE = 2**40  # the largest scale of noise, in units of the sensitivity; the smallest scale is its inverse
_SEEDED, _SEEDED_SOURCE = Fact("seeded"), Fact("seeded_generator")
_TABULATED = 1000.0  # the largest σ for which simulations tabulate the probabilities
_LARGEST_ON_GRID = 2**60  # the largest number in grid steps, which leaves room for noise in 64 bits


class Mechanism(Protocol):
    """A randomised answer to a query on private counts.

    Neighbouring inputs come from tables that differ by one row. `distance` is the distance of two inputs in the metric
    of `sensitivity`. It is infinite if the inputs cannot come from neighbouring tables.
    """

    @property
    def epsilon(self) -> Fraction:
        """The loss ε of the release: at least the result of OpenDP's privacy map at `sensitivity`."""
        ...

    @property
    def delta(self) -> Fraction:
        """The loss δ of the release; 0 for most mechanisms."""
        ...

    @property
    def rho(self) -> Fraction | None:
        """The loss ρ of the release (zCDP), if it is less than the ρ that follows from ε, or δ > 0; otherwise None."""

    @property
    def sensitivity(self) -> float:
        """The declared bound on `distance` between the inputs of neighbouring tables."""
        ...

    @property
    def record(self) -> Fact:
        """The fact that charges store: the kind of mechanism, its sensitivity, and its scale or weight."""
        ...

    def build(self) -> Callable[[Any], Any]:
        """Return a function that runs the mechanism: an OpenDP measurement with a loss of at most `epsilon`.

        `hedgerow.privacy.exponential_mechanism.ModelDraw` and `hedgerow.privacy.joint_quantiles.JointQuantiles` combine
        many draws from OpenDP, with a proof of their own. `hedgerow.privacy.shared_histograms.SharedHistograms` has its
        own sampler, with the operating system's cryptographic generator.
        """
        ...

    def distance(self, first: Any, second: Any) -> float:
        """Return the distance of two inputs in the metric of the mechanism."""
        ...

    def simulate(self, values: Any, rng: np.random.Generator) -> Any:
        """Draw from the mechanism's distribution with `rng`."""


@runtime_checkable
class NoiseSource(Protocol):
    """A source of randomness that runs mechanisms."""

    @property
    def description(self) -> Fact | str:
        """Description of the source on the privacy card, as text or as a fact."""
        ...

    @property
    def no_guarantee_reason(self) -> Fact | str | None:
        """The reason why releases with this source lack a guarantee, as text or a fact; None if they have it."""

    def prepare(self, mechanism: Any) -> Callable[[Any], Any]:
        """Before the charge, return a function that runs `mechanism` on the true answer, or raise an error."""
        ...


@dataclass(frozen=True)
class SecureNoise:
    """OpenDP's samplers with OpenSSL's cryptographic generator, which the operating system seeds.

    K-norm noise and the Cauchy noise of SSRL are drawn with the operating system's own generator. Cards state the
    source of such noise.
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
    """A seeded NumPy generator instead of secure noise. Releases are reproducible and have no guarantee."""

    rng: np.random.Generator
    no_guarantee_reason: Fact | None = _SEEDED
    description: Fact = _SEEDED_SOURCE

    def prepare(self, mechanism: Mechanism) -> Callable[[Any], Any]:
        """Return a function that draws from the mechanism's distribution with the seeded generator."""
        return lambda values: mechanism.simulate(values, self.rng)


@dataclass(frozen=True)
class OtherNoise:
    """A noise source of the caller, for research and tests. Releases have no guarantee."""

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
    """Return the noise source for a `random_state`: secure noise unless a seed or another source is given."""
    if random_state is None:
        return SecureNoise()
    if type(random_state) is SecureNoise:
        return SecureNoise()
    if isinstance(random_state, NoiseSource):
        return OtherNoise(random_state)
    return SeededNoise(generator(random_state))


@dataclass(frozen=True)
class PermuteAndFlip:
    """A choice of the index of the smallest score by permute-and-flip, that is, by noisy max with exponential noise.

    The input is a vector of int64 scores, one per candidate. Adding a row must not lower any score, and may raise each
    by at most `sensitivity` (a *monotone* score). Noise of scale ``sensitivity/epsilon`` then gives ε-differential
    privacy (McKenna and Sheldon, *Permute-and-Flip*, NeurIPS 2020, Theorem 1; Ding et al., *The Permute-and-Flip
    Mechanism is Identical to Report-Noisy-Max with Exponential Noise*, 2021).
    """

    epsilon: Fraction
    sensitivity: int
    delta = Fraction(0)
    rho = None
    _directions = 1  # the number of directions in which a row may change scores
    _code = "permute_and_flip"

    def distance(self, first: Integers, second: Integers) -> float:
        """Return max |first - second|; infinite if scores change in both directions, or their numbers differ."""
        if len(first) != len(second):
            return math.inf
        change = second - first
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
        """Draw by noisy max: the argmax of −score plus noise of this scale."""
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
    """A choice of the index of the smallest score if an added row may raise some scores and lower other scores."""

    # A score changes by at most `sensitivity`: noise of scale ``2·sensitivity/epsilon`` gives ε-differential privacy.
    _directions = 2

    def distance(self, first: Integers, second: Integers) -> float:
        """Return max |first - second|; infinite if the numbers of scores differ."""
        return float(np.max(np.abs(second - first), initial=0)) if len(first) == len(second) else math.inf


class GumbelChoice(PermuteAndFlip):
    """A choice by the exponential mechanism (noisy max with Gumbel noise), for budgets that add up ρ.

    At the scale of permute-and-flip it is also ε-differentially private. Its log-ratios have a range of ε, so it costs
    a quarter of the ρ of permute-and-flip, or slightly more (docs/mathematics.md, fact 6). Permute-and-flip makes fewer
    errors and is used if only ε is added up.
    """

    _code = "gumbel_choice"

    @property
    def rho(self) -> Fraction:
        """The loss ρ of log-ratios with a range of ε."""
        return drawn_rho(self.epsilon, self.epsilon)

    def build(self) -> dp.Measurement:
        return self._noisy_min(_scale(self), dp.zero_concentrated_divergence())  # with this scale the range is ε

    def _noise(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.gumbel(size=size)


class TwoSidedGumbelChoice(GumbelChoice, TwoSidedPermuteAndFlip):
    """`GumbelChoice` if an added row may raise some scores and lower other scores."""


@dataclass(frozen=True)
class Siblings:
    """A mechanism that runs on several inputs with disjoint rows for a single charge (parallel composition).

    Neighbouring tables differ by one row, which belongs to at most one input. All runs together therefore have the loss
    of a single run (McSherry, *Privacy Integrated Queries*, SIGMOD 2009, Theorem 4).
    """

    each: Mechanism
    delta = Fraction(0)

    epsilon = read_only("each.epsilon", "The loss ε of all runs together.")
    rho = read_only("each.rho", "The loss ρ of all runs together.")
    sensitivity = read_only("each.sensitivity", "The sensitivity of a run.")

    def distance(self, first: Sequence[Any], second: Sequence[Any]) -> float:
        """Return the distance of the only inputs that differ; infinite if more than one pair differs."""
        if len(first) != len(second):
            return math.inf
        distances = [distance for pair in zip(first, second, strict=True) if (distance := self.each.distance(*pair))]
        return math.inf if len(distances) > 1 else sum(distances)

    def build(self) -> Callable[[Sequence[Any]], list[Any]]:
        run = self.each.build()
        return lambda inputs: [run(values) for values in inputs]

    def simulate(self, values: Sequence[Any], rng: np.random.Generator) -> list[Any]:
        return [self.each.simulate(value, rng) for value in values]

    @property
    def record(self) -> Fact:
        return self.each.record.having(disjoint=True)


@dataclass(frozen=True)
class DiscreteLaplace:
    """Discrete Laplace noise of scale ``sensitivity/epsilon`` on every count of a histogram.

    The release is ε-differentially private if the ℓ1 sensitivity of all int64 counts together to one row is
    `sensitivity` (Ghosh, Roughgarden and Sundararajan, *Universally Utility-Maximizing Privacy Mechanisms*, 2009,
    Section 2). If a row changes every count by at most `each`, the noise on a count costs a share of ε. ρ then adds up
    over the counts (docs/mathematics.md, fact 6).
    """

    epsilon: Fraction
    sensitivity: int = 1
    each: int | None = None  # the largest change of a count by a row; None means `sensitivity`
    delta = Fraction(0)

    @property
    def rho(self) -> Fraction | None:
        """The loss ρ of all counts together, if it is less than the ρ that follows from ε; otherwise None."""
        return None if self.each is None else pure_rho(self.epsilon, self.epsilon * self.each / self.sensitivity)

    def distance(self, first: Integers, second: Integers) -> float:
        """Return the ℓ1 distance or, if larger, the largest change of a count times `sensitivity` over `each`."""
        changes = np.abs(second - first)
        most = 0.0 if self.each is None else float(changes.max(initial=0)) * self.sensitivity / self.each
        return max(float(changes.sum()), most)

    def build(self) -> dp.Measurement:
        return self.of_scale(_scale(self))

    def of_scale(self, scale: float) -> dp.Measurement:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        return dp.m.make_laplace(*space, scale=scale)

    def simulate(self, values: Integers, rng: np.random.Generator) -> list[int]:
        """Draw the noise as the difference of two geometric variables."""
        stop = -math.expm1(-float(self.epsilon / self.sensitivity))
        return (values + rng.geometric(stop, len(values)) - rng.geometric(stop, len(values))).tolist()

    @property
    def record(self) -> Fact:
        scale = self.sensitivity / self.epsilon
        return Fact("discrete_laplace", sensitivity=self.sensitivity, scale=scale, each=self.each)


def check_epsilon(epsilon: Fraction) -> None:
    """Raise ArgumentError if the ε of a release is below the supported minimum."""
    if epsilon * _LARGEST_SCALE < 1:
        problem = f"epsilon for one release must be >= {1 / _LARGEST_SCALE:.3g}, got {float(epsilon):.3g}."
        raise ArgumentError(f"{problem} Use a larger epsilon, or request fewer releases.")


@lru_cache(maxsize=1024)
def _scale(mechanism: PermuteAndFlip | DiscreteLaplace) -> float:
    """Return about the smallest scale at which the privacy map at the sensitivity is at most `epsilon`."""
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
    """Discrete Gaussian noise on every count, for answer `number` of a series of at most `answers` answers.

    The input is a vector of int64 counts. A row changes at most `changes` counts, each by 1, so that the ℓ2 sensitivity
    is the square root of `changes`. All answers together are (ε, δ)-differentially private for the total ε and δ, which
    are charged with the first answer. Questions may depend on earlier answers and may be interleaved with other series.
    The answers compose in Gaussian differential privacy (docs/mathematics.md, fact 12). If the budget adds up ρ, they
    compose in zero-concentrated differential privacy. Each answer then costs ``ρ = changes / (2σ²)`` (Canonne, Kamath
    and Steinke, *The Discrete Gaussian for Differential Privacy*, 2020, Theorem 4; Feldman and Zrnic, *Individual
    Privacy Accounting via a Rényi Filter*, 2021). σ is then 5 to 10 % larger for ε from 0.1 to 10 and usual δ.
    (Interleaved series: Lyu, *Composition Theorems for Interactive Differential Privacy*, 2022.) Small noise is added
    on a grid finer than the whole numbers, and the sum is rounded.

    The answers cannot be charged separately, even if the first k answers are (ε_k, δ)-differentially private for every
    k. If k depends on the answers, ε − ε_k must not be spent otherwise after the first k answers. Every way to stop
    would need its own δ (Rogers, Roth, Ullman and Vadhan, *Privacy Odometers and Filters*, 2016). A hundred answers at
    (1, 10⁻⁶) that were charged separately had a δ of 1.95·10⁻⁶.
    """

    total: Fraction  # ε of all answers together
    total_delta: Fraction  # δ of all answers together
    answers: int  # the planned number of answers
    number: int  # the number of this answer, from 1
    changes: int  # the number of counts that a row changes by 1; for other changes, the sum of the squared changes
    parts: Fraction = Fraction(1)  # the number of the `answers` equal parts of `information` that this answer uses
    rows: int = 1  # the maximum number of rows of a unit of privacy
    adds_up_rho: bool = False  # whether the budget, and therefore the series, adds up ρ

    @property
    def sensitivity(self) -> float:
        """The ℓ2 sensitivity to a row, times the rows of a unit."""
        return self.rows * math.sqrt(self.changes)

    @property
    def epsilon(self) -> Fraction:
        """The total ε for the first answer, 0 for later answers."""
        return self.total if self.number == 1 else Fraction(0)

    @property
    def delta(self) -> Fraction:
        """The total δ for the first answer, 0 for later answers."""
        return self.total_delta if self.number == 1 else Fraction(0)

    @property
    def mu(self) -> Fraction | None:
        """The μ of all answers together that (ε, δ) allows in Gaussian differential privacy; None if ρ is added up."""
        return None if self.adds_up_rho else largest_mu(self.total, self.total_delta)

    @property
    def _total_rho(self) -> Fraction:
        return largest_rho(self.total, self.total_delta) if self.mu is None else self.mu**2 / 2

    @property
    def rho(self) -> Fraction:
        """The total ρ for the first answer, which is μ²/2 or the ρ that (ε, δ) allows; 0 for later answers."""
        return self._total_rho if self.number == 1 else Fraction(0)

    @property
    def information(self) -> Fraction:
        """The part of μ², or 2ρ, that this answer may use: the squared ℓ2 sensitivity over the variance."""
        return 2 * self._total_rho * self.parts / self.answers

    @property
    def scale(self) -> float:
        """The standard deviation of the noise on a count, about proportional to the ℓ2 sensitivity."""
        sigma, grid = self._noise
        return math.hypot(sigma, math.sqrt((grid**2 - 1) / 12)) / grid

    @property
    def _noise(self) -> tuple[float, int]:
        """σ in steps of a grid, and the number of steps per unit."""
        changes = self.changes * self.rows**2
        if self.mu is None:
            return _gaussian_scale(self.information / 2, changes), 1
        return gdp_noise(changes / self.information)

    def distance(self, first: Integers, second: Integers) -> float:
        return float(np.linalg.norm(second - first))

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
    """Return the smallest σ at which a change of `changes` counts costs at most ρ."""
    # OpenDP's privacy map takes the ℓ2 sensitivity as a float, to which its square root may have been rounded down.
    scale = math.sqrt(changes / (2 * float(rho)))
    while max(Fraction(gaussian(scale).map(math.sqrt(changes))), changes / (2 * Fraction(scale) ** 2)) > rho:
        scale = math.nextafter(scale, math.inf)
    return scale


def _in_steps(run: Callable[[Integers], Any], grid: int) -> Callable[[Integers], Any]:
    """Return a function that runs a mechanism on a grid with `grid` steps per unit, and rounds to whole numbers."""
    if grid == 1:
        return run
    most = _LARGEST_ON_GRID // grid  # clipping increases no distance between two tables
    return lambda values: [(2 * steps + grid) // (2 * grid) for steps in run(np.clip(values, -most, most) * grid)]


def _simulated_gaussian(values: Integers, scale: float, rng: np.random.Generator) -> list[int]:
    """Draw from the exact probabilities or, for scales above 1,000, from a rounded Gaussian within 1e-7 of them."""
    if scale > _TABULATED:
        return (values + np.rint(rng.normal(scale=scale, size=len(values))).astype(np.int64)).tolist()
    most = int(np.ceil(40 * scale))
    support = np.arange(-most, most + 1)
    weights = np.exp(-(support**2) / (2 * scale**2))
    return (values + rng.choice(support, size=len(values), p=weights / weights.sum())).tolist()
