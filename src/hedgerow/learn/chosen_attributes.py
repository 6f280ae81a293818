"""Private selection of attributes by their association with the target, before a model is learned on these attributes.

docs/mathematics.md, fact 5.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from math import cbrt, sqrt

import numpy as np

from hedgerow.boundary.arrays import Integers
from hedgerow.learn.blocks import DrawPlan
from hedgerow.learn.learned import BuildModel
from hedgerow.learn.plans import Plan
from hedgerow.learn.releases import Branch, Nested, PlannedRelease, PlannedReleases, ReleaseRunner
from hedgerow.learn.scorecard.counts import STEPS, associations, between_ends, in_steps
from hedgerow.learn.scorecard.spending import FIRST_SHARE, PARTS, Spending, typical_sizes, variance_of
from hedgerow.learn.search.sampler import Progress
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace, TwoSidedPermuteAndFlip
from hedgerow.privacy.zcdp import pure_rho
from hedgerow.schema.candidates import literal_shapes
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

# benchmarks/wide.py explains these constants.
_BY_DEFAULT = 2.2  # the cube root of rows times ε, for each chosen attribute
LEAST = 2
_KEEP_ALL, _KEEP_ALL_OF_A_NUMBER = 7, 4  # all attributes are used up to this multiple of the number to choose
_ENOUGH = 15  # rows divided by the noise of a count if all are used; with Laplace noise, rows times ε for each
_PERMUTE_AND_FLIP = 0.5  # the scale of Gumbel noise as accurate as permute-and-flip, relative to its scale
_EACH_BIT, _MOST = 35, 500  # thousandths of the budget: for each binary digit of the number, and at most


@dataclass(frozen=True)
class AttributeChoice:
    """Number of attributes that a model uses, and the noise of their choice and of later releases.

    It depends on public numbers and the released number of rows.
    """

    all: int  # attributes of the schema
    number: int  # attributes that are used
    spending: Spending  # of the choice and all later releases
    parts: Fraction = Fraction(0)  # thousandths of the budget for the choice; 0 if all attributes are used

    @classmethod
    def of(
        cls, options: Sequence[Spending], schema: Schema, rows: float, most: int | None, *, refined_from: float
    ) -> "AttributeChoice":
        """Return the choice of `most` attributes, or of the number that the rows and the noise allow.

        `options` are the possible kinds of noise for the remaining budget (pure ε, with δ, or both); the smallest noise
        is used. `rows` is a released number, or the number that a plan assumes. `refined_from` is the number of
        rows times ε from which on values are refined by residuals.
        """
        n, first = len(schema), options[0]
        refines = rows * sqrt(2 / variance_of(first.counts(Fraction(PARTS), 1))) >= refined_from
        whole = least_noise(options, schema, n, refines=refines)
        k, fewer = (_number(first, option, schema, rows, most) for option in (whole, first))
        # Using δ must not add attributes if that makes the noise of each attribute larger than without δ.
        if fewer < k and _noise_with(whole, schema, k) > _noise_with(first, schema, fewer):
            k = fewer
        if k >= n:
            return cls(n, n, whole)
        few = least_noise(options, schema, k, refines=refines)
        if len(options) > 1 and _draw_scale(few, n, k) > _PERMUTE_AND_FLIP * _draw_scale(first, n, k):
            few = first
        return cls(n, k, few, default_parts(n))

    def draw(self, associations_of: Callable[[], Integers], sensitivity: int, runner: ReleaseRunner) -> Sequence[int]:
        """Draw the attributes by their associations, which an added row changes by at most `sensitivity` each."""
        if self.spending.is_pure:
            return draw_attributes(associations_of, self.all, self.number, sensitivity, runner)
        peeling = replace(runner.mechanism("attribute_choices"), changes=sensitivity**2)
        query = Fact("attribute_choices", of=self.number, series=peeling.number == 1 or None)
        return sorted(runner.release(associations_of, query, peeling))


def draw_attributes(
    associations_of: Callable[[], Integers], n: int, number: int, sensitivity: int, runner: ReleaseRunner
) -> Sequence[int]:
    """Draw `number` of n attributes by their associations, if an added row changes each by at most `sensitivity`."""
    scores, places, chosen = cache(lambda: -np.asarray(associations_of())), list(range(n)), list[int]()
    for position in range(1, number + 1):
        query = Fact("attribute_choice", number=position, of=number)
        mechanism = replace(runner.mechanism(query.code), sensitivity=sensitivity)
        place = runner.release(lambda: scores()[places], query, mechanism)
        chosen.append(places.pop(int(place)))
    return sorted(chosen)


def _number(first: Spending, whole: Spending, schema: Schema, rows: float, most: int | None) -> int:
    """Return the number of attributes to use, given the noise if all are used."""
    n, whole_budget = len(schema), Fraction(PARTS)
    of_one, laplace = (variance_of(first.counts(whole_budget, changes)) for changes in (1, n))
    of_all = _histogram_variance(whole, schema, n, whole_budget)
    k = max(LEAST, round(cbrt(rows * sqrt(2 / of_one)) / _BY_DEFAULT))
    if rows * sqrt(2 / of_all) < _ENOUGH:
        k = min(max(k, round(2 * sqrt(rows * sqrt(2 / laplace)))), most or n)
    elif most or n * of_all <= of_one * (_keep_all(schema) * k) ** 3:  # with Laplace noise: n <= _keep_all · k
        k = most or n
    return min(k, n)


def _noise_with(way: Spending, schema: Schema, number: int) -> float:
    """Return the variance of a count if this number of attributes is used, after their choice."""
    n = len(schema)
    return _histogram_variance(way, schema, number, Fraction(PARTS) - (default_parts(n) if number < n else 0))


def least_noise(options: Sequence[Spending], schema: Schema, number: int, *, refines: bool) -> Spending:
    """Return the kind of noise with the smallest variance of the releases about this number of attributes."""
    # If values are refined, most of the budget is for residuals, which share no noise.
    parts = Fraction(PARTS) * (FIRST_SHARE if refines else 1)

    def information(option: Spending) -> float:
        precision = 1 / _histogram_variance(option, schema, number, parts)
        return precision + (1 / variance_of(option.counts((PARTS - parts) / number, 1)) if refines else 0)

    return max(options, key=information)


def _histogram_variance(way: Spending, schema: Schema, number: int, parts: Fraction) -> float:
    """Return the variance of a count in the histograms of this number of attributes."""
    sizes = [attribute.n_bins for _, attribute in schema.attributes]
    return way.histogram_variance(parts, typical_sizes(sizes, number))


def _draw_scale(way: Spending, n: int, number: int) -> float:
    """Return the scale of the noise of the choice of `number` from n attributes, in sensitivities."""
    parts = default_parts(n)
    return float(2 * number / (way.epsilon * parts / way.of)) if way.is_pure else way.peeling(parts, number, 1).scale


def _keep_all(schema: Schema) -> int:
    return _KEEP_ALL if schema.target.as_number is None else _KEEP_ALL_OF_A_NUMBER


def default_parts(n: int) -> Fraction:
    """Return the thousandths of the budget for a choice from n attributes; the noise grows as log n."""
    return Fraction(min(_EACH_BIT * n.bit_length(), _MOST))


def association_sensitivity(shares: Integers) -> int:
    """Return the sensitivity of an association, given the class shares in steps."""
    return 2 * (STEPS - int(shares.min()))


MOST_CHOSEN = 12  # attributes of a tree or list: five levels of them can be searched within the limits
FEWEST_CHOSEN = 3  # by the rule of `number_chosen`
WIDE = 3 * MOST_CHOSEN  # the number of attributes from which on trees and lists choose first
_ENOUGH_TO_CHOOSE = 400  # rows outside the majority class, times ε
_COUNTED = Fraction(1, 25)  # the share of ε for the class counts


@dataclass(frozen=True, kw_only=True)
class ChosenAttributesPlan(Plan):
    """Plan of a tree or list on chosen attributes, or on all if the noisy count of rows is too small to choose."""

    schema: Schema
    learner: Callable[[Schema, Fraction], Plan]  # from attributes, and the remaining ε
    choice: type[TwoSidedPermuteAndFlip]  # the mechanism of a choice
    size: int  # the maximum number of rules or levels
    model: str  # pyright: ignore[reportIncompatibleVariableOverride] -- as the learner's

    @property
    def releases(self) -> PlannedReleases:
        numbers, worst = (0, *range(FEWEST_CHOSEN, MOST_CHOSEN + 1)), (0, FEWEST_CHOSEN, MOST_CHOSEN)
        return PlannedRelease(self._query.code, self._total), Branch(numbers, self._releases_with, worst)

    def _releases_with(self, number: int) -> PlannedReleases:
        """Return the releases after the first, by the number of chosen attributes; 0 if all are used."""
        if not number:
            whole = self.learner(self.schema, self._left(0))
            return (Nested(pure_rho(whole.epsilon) if whole.rho is None else whole.rho, whole.releases),)
        few = self.learner(widest(self.schema), self._left(number))
        # The releases depend on the chosen attributes, but no draw costs more than a joint draw of the largest size.
        bound = few.max_rho(self.size) if isinstance(few, DrawPlan) else pure_rho(few.epsilon)
        mechanism = self.choice(self._choice_epsilon / number, 2 * STEPS * self._row)
        return PlannedRelease("attribute_choice", mechanism, times=number), Nested(bound, self._extreme_releases)

    @cached_property
    def _extreme_releases(self) -> PlannedReleases:
        """The releases about the attributes with the most and the fewest literals."""
        left = self._left(MOST_CHOSEN)
        return tuple(release for few in ends(self.schema) for release in self.learner(few, left).releases)

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        by_class = cache(lambda: tally if self._row == 1 else between_ends(tally))
        counts = np.array(runner.release(lambda: by_class().total(), self._query), dtype=np.float64)
        counts = np.maximum(counts, 1)
        rows, minority = counts.sum() / self._row, (counts.sum() - counts.max()) / self._row
        number = number_chosen(rows, minority, float(self.epsilon))
        runner.decide(number)
        chosen = tally
        if number:
            names, shares = with_options(self.schema), in_steps(counts / counts.sum())
            places = [self.schema.names.index(name) for name in names]
            associations_of = cache(lambda: associations(by_class(), shares)[places])
            sensitivity = association_sensitivity(shares) * self._row
            drawn = draw_attributes(associations_of, len(names), number, sensitivity, runner)
            chosen = tally.only([names[place] for place in drawn])
        plan = self.learner(chosen.schema, self._left(number))
        runner.nest(plan.releases)
        return plan.run(chosen, runner, progress)

    def _left(self, number: int) -> Fraction:
        return self.epsilon * (1 - _COUNTED) - (self._choice_epsilon if number else 0)

    @property
    def _row(self) -> int:
        """The weight of a row: a level of a number counts partly as the lowest, partly as the highest level."""
        return 1 if self.schema.target.as_number is None else self.schema.target.n_levels - 1

    @property
    def _query(self) -> Fact:
        """The query of the first release."""
        return Fact("class_totals" if self._row == 1 else "number_totals")

    @property
    def _total(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.epsilon * _COUNTED, self._row)

    @property
    def _choice_epsilon(self) -> Fraction:
        return self.epsilon * default_parts(len(with_options(self.schema))) / PARTS


def number_chosen(rows: float, minority: float, epsilon: float) -> int:
    """Return the number of attributes that a tree or list of a wide table chooses; 0 if it uses all.

    `minority` are the rows outside the majority class.
    """
    is_enough = minority * epsilon >= _ENOUGH_TO_CHOOSE
    return min(round(cbrt(rows * epsilon) / _BY_DEFAULT), MOST_CHOSEN) if is_enough else 0


def with_options(schema: Schema) -> list[str]:
    """Return the attributes that rules or tests can use."""
    tests = {form: shape.count_literals(negations=False) for form, shape in literal_shapes(schema).items()}
    return [name for name, attribute in schema.attributes if tests[attribute.form]]


def widest(schema: Schema) -> Schema:
    """Return the `MOST_CHOSEN` attributes with the most literals."""
    return _first(schema, MOST_CHOSEN, -1)


def ends(schema: Schema) -> Iterator[Schema]:
    """Yield the attributes with the most and the fewest literals, for each number that may be chosen."""
    # Fewer literals take less time, and so may be searched to a larger size, which takes more time.
    for sign in (-1, 1):
        most = _first(schema, MOST_CHOSEN, sign)
        yield from (_first(most, number, sign) for number in range(FEWEST_CHOSEN, len(most) + 1))


def _first(schema: Schema, number: int, sign: int) -> Schema:
    literals = {form: shape.attribute.count_literals(negations=True) for form, shape in literal_shapes(schema).items()}
    names = sorted(with_options(schema), key=lambda name: sign * literals[schema[name].form])[:number]
    return replace(schema, attributes=tuple(item for item in schema.attributes if item[0] in names))
