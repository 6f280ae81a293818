"""Attributes chosen first, where they are many: by how strongly each is associated with the target, for a share of ε.

docs/mathematics.md, fact 5. A scorecard, a tree or a list is then learned on these alone.
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

# benchmarks/wide.py says how these were chosen.
_BY_DEFAULT = 2.2  # the cube root of rows times ε, for each attribute that is chosen
LEAST = 2
_KEEP_ALL, _KEEP_ALL_OF_A_NUMBER = 7, 4  # times as many as would be chosen, if the noise on a count grows with them
_ENOUGH = 15  # rows over the noise of a count if all are used; in pure ε of Laplace noise, rows times ε for each
_PERMUTE_AND_FLIP = 0.5  # of the scale of Gumbel noise that errs no more than permute-and-flip
_EACH_BIT, _MOST = 35, 500  # parts of a thousand, by digits of the number


@dataclass(frozen=True)
class AttributeChoice:
    """How many of all attributes a model is made of, and how their choice and what follows are paid for.

    It follows from public numbers and the released number of rows.
    """

    all: int  # attributes of the schema
    number: int  # how many are used
    spending: Spending  # of the choice and all later releases
    parts: Fraction = Fraction(0)  # of a thousand of the budget; 0 where all are used

    @classmethod
    def of(
        cls, ways: Sequence[Spending], schema: Schema, rows: float, most: int | None, *, refined_from: float
    ) -> "AttributeChoice":
        """Return the choice of `most` attributes, or of as many as this number of rows and the noise allow.

        `ways` are the ways in which the rest of the budget may be spent: in pure ε, with δ, or either. The one with the
        least noise is taken. `rows` were released, or are those of a plan. `refined_from` is the number of rows times ε
        from which values are refined by residuals.
        """
        n, first = len(schema), ways[0]
        refines = rows * sqrt(2 / variance_of(first.counts(Fraction(PARTS), 1))) >= refined_from
        whole = least_noise(ways, schema, n, refines=refines)
        k, fewer = (_number(first, way, schema, rows, most) for way in (whole, first))
        # More attributes with more noise each were worse than the fewer of a fit without δ.
        if fewer < k and _noise_with(whole, schema, k) > _noise_with(first, schema, fewer):
            k = fewer
        if k >= n:
            return cls(n, n, whole)
        few = least_noise(ways, schema, k, refines=refines)
        if len(ways) > 1 and _draw_scale(few, n, k) > _PERMUTE_AND_FLIP * _draw_scale(first, n, k):
            few = first
        return cls(n, k, few, default_parts(n))

    def draw(self, ask: Callable[[], Integers], moved: int, runner: ReleaseRunner) -> Sequence[int]:
        """Draw the attributes by what `ask` returns: associations, each moved by an added row by at most `moved`."""
        if self.spending.is_pure:
            return draw_attributes(ask, self.all, self.number, moved, runner)
        peeling = replace(runner.mechanism("attribute_choices"), changes=moved**2)
        query = Fact("attribute_choices", of=self.number, series=peeling.number == 1 or None)
        return sorted(runner.release(ask, query, peeling))


def draw_attributes(
    ask: Callable[[], Integers], n: int, number: int, moved: int, runner: ReleaseRunner
) -> Sequence[int]:
    """Draw a number of n attributes one after the other, by what `ask` returns.

    These are associations, one an attribute, of which an added row moves each by `moved` at most, up or down.
    """
    scores, places, chosen = cache(lambda: -np.asarray(ask())), list(range(n)), list[int]()
    for place_of in range(1, number + 1):
        query = Fact("attribute_choice", number=place_of, of=number)
        mechanism = replace(runner.mechanism(query.code), sensitivity=moved)
        place = runner.release(lambda: scores()[places], query, mechanism)
        chosen.append(places.pop(int(place)))
    return sorted(chosen)


def _number(first: Spending, whole: Spending, schema: Schema, rows: float, most: int | None) -> int:
    """Return how many attributes are used, given the way to spend the budget if all are."""
    n, whole_budget = len(schema), Fraction(PARTS)
    of_one, laplace = (variance_of(first.counts(whole_budget, changes)) for changes in (1, n))
    of_all = _histogram_variance(whole, schema, n, whole_budget)
    k = max(LEAST, round(cbrt(rows * sqrt(2 / of_one)) / _BY_DEFAULT))
    if rows * sqrt(2 / of_all) < _ENOUGH:
        k = min(max(k, round(2 * sqrt(rows * sqrt(2 / laplace)))), most or n)
    elif most or n * of_all <= of_one * (_keep_all(schema) * k) ** 3:  # of Laplace noise, n is at most so many k
        k = most or n
    return min(k, n)


def _noise_with(way: Spending, schema: Schema, number: int) -> float:
    """Return the variance of a count if this number of attributes is used, after their choice."""
    n = len(schema)
    return _histogram_variance(way, schema, number, Fraction(PARTS) - (default_parts(n) if number < n else 0))


def least_noise(ways: Sequence[Spending], schema: Schema, number: int, *, refines: bool) -> Spending:
    """Return the way to spend a budget with the least noise on what is released of this number of attributes.

    If values are refined, most of the budget is for residuals, which share no noise.
    """
    parts = Fraction(PARTS) * (FIRST_SHARE if refines else 1)

    def information(way: Spending) -> float:
        found = 1 / _histogram_variance(way, schema, number, parts)
        return found + (1 / variance_of(way.counts((PARTS - parts) / number, 1)) if refines else 0)

    return max(ways, key=information)


def _histogram_variance(way: Spending, schema: Schema, number: int, parts: Fraction) -> float:
    """Return the variance of a count of histograms of this number of attributes, for these parts."""
    sizes = [attribute.n_bins for _, attribute in schema.attributes]
    return way.histogram_variance(parts, typical_sizes(sizes, number))


def _draw_scale(way: Spending, n: int, number: int) -> float:
    """Return the scale of the noise by which each of a number of n attributes is drawn, in sensitivities."""
    parts = default_parts(n)
    return float(2 * number / (way.epsilon * parts / way.of)) if way.is_pure else way.peeling(parts, number, 1).scale


def _keep_all(schema: Schema) -> int:
    return _KEEP_ALL if schema.target.as_number is None else _KEEP_ALL_OF_A_NUMBER


def default_parts(n: int) -> Fraction:
    """Return the share of a choice from n attributes: the noise that the best must outdo grows as their logarithm."""
    return Fraction(min(_EACH_BIT * n.bit_length(), _MOST))


def association_sensitivity(shares: Integers) -> int:
    """Return by how much a row can move an association with these class shares in steps, at most."""
    return 2 * (STEPS - int(shares.min()))


MOST_CHOSEN = 12  # attributes of a tree or list: as many as are searched to five levels within the limits
FEWEST_CHOSEN = 3  # by the rule of `number_chosen`
WIDE = 3 * MOST_CHOSEN  # attributes of which trees and lists choose
_ENOUGH_TO_CHOOSE = 400  # rows outside the most frequent class, times ε
_COUNTED = Fraction(1, 25)  # the share of ε of the rows of each class


@dataclass(frozen=True, kw_only=True)
class ChosenAttributesPlan(Plan):
    """A tree or list of a few of many attributes; of all where the noisy count of rows is too small to choose by."""

    schema: Schema
    learner: Callable[[Schema, Fraction], Plan]  # from attributes, and what is left of ε
    choice: type[TwoSidedPermuteAndFlip]  # the mechanism of a choice
    size: int  # how many rules, or levels, there are at most
    model: str  # pyright: ignore[reportIncompatibleVariableOverride] -- as the learner's

    @property
    def releases(self) -> PlannedReleases:
        numbers, worst = (0, *range(FEWEST_CHOSEN, MOST_CHOSEN + 1)), (0, FEWEST_CHOSEN, MOST_CHOSEN)
        return PlannedRelease(self._query.code, self._total), Branch(numbers, self._releases_with, worst)

    def _releases_with(self, number: int) -> PlannedReleases:
        """Return the releases after the first, if this number of attributes is chosen; 0 for none, if all are used."""
        if not number:
            whole = self.learner(self.schema, self._left(0))
            return (Nested(pure_rho(whole.epsilon) if whole.rho is None else whole.rho, whole.releases),)
        few = self.learner(widest(self.schema), self._left(number))
        # More depends on which attributes are chosen, but a draw costs no more than one of the largest size at once.
        most = few.max_rho(self.size) if isinstance(few, DrawPlan) else pure_rho(few.epsilon)
        chooser = self.choice(self._for_choice / number, 2 * STEPS * self._row)
        return PlannedRelease("attribute_choice", chooser, times=number), Nested(most, self._of_chosen)

    @cached_property
    def _of_chosen(self) -> PlannedReleases:
        """The releases about the widest and the narrowest attributes that may be chosen."""
        left = self._left(MOST_CHOSEN)
        return tuple(release for few in ends(self.schema) for release in self.learner(few, left).releases)

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        by_class = cache(lambda: tally if self._row == 1 else between_ends(tally))
        counts = np.array(runner.release(lambda: by_class().total(), self._query), dtype=np.float64)
        counts = np.maximum(counts, 1)
        rows, others = counts.sum() / self._row, (counts.sum() - counts.max()) / self._row
        number = number_chosen(rows, others, float(self.epsilon))
        runner.decide(number)
        chosen = tally
        if number:
            names, shares = with_options(self.schema), in_steps(counts / counts.sum())
            places = [self.schema.names.index(name) for name in names]
            ask = cache(lambda: associations(by_class(), shares)[places])
            drawn = draw_attributes(ask, len(names), number, association_sensitivity(shares) * self._row, runner)
            chosen = tally.only([names[place] for place in drawn])
        plan = self.learner(chosen.schema, self._left(number))
        runner.nest(plan.releases)
        return plan.run(chosen, runner, progress)

    def _left(self, number: int) -> Fraction:
        return self.epsilon * (1 - _COUNTED) - (self._for_choice if number else 0)

    @property
    def _row(self) -> int:
        """How much a row counts: a number's level is in part the lowest and in part the highest."""
        return 1 if self.schema.target.as_number is None else self.schema.target.n_levels - 1

    @property
    def _query(self) -> Fact:
        """The query of the first release."""
        return Fact("class_totals" if self._row == 1 else "number_totals")

    @property
    def _total(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.epsilon * _COUNTED, self._row)

    @property
    def _for_choice(self) -> Fraction:
        return self.epsilon * default_parts(len(with_options(self.schema))) / PARTS


def number_chosen(rows: float, others: float, epsilon: float) -> int:
    """Return how many attributes a tree or list of a wide table chooses; 0 for none, where all are used.

    `others` are the rows outside the most frequent class.
    """
    return min(round(cbrt(rows * epsilon) / _BY_DEFAULT), MOST_CHOSEN) if others * epsilon >= _ENOUGH_TO_CHOOSE else 0


def with_options(schema: Schema) -> list[str]:
    """Return the attributes that a rule or test can be about."""
    tests = {form: like.count_literals(negations=False) for form, like in literal_shapes(schema).items()}
    return [name for name, one in schema.attributes if tests[one.form]]


def widest(schema: Schema) -> Schema:
    """Return as many attributes as are chosen at most, those with the most literals."""
    return _first(schema, MOST_CHOSEN, -1)


def ends(schema: Schema) -> Iterator[Schema]:
    """Yield the widest and the narrowest attributes of each number that may be chosen.

    Fewer options take less time, and so may be searched to a larger size, which takes more.
    """
    for sign in (-1, 1):
        most = _first(schema, MOST_CHOSEN, sign)
        yield from (_first(most, number, sign) for number in range(FEWEST_CHOSEN, len(most) + 1))


def _first(schema: Schema, number: int, sign: int) -> Schema:
    literals = {form: like.attribute.count_literals(negations=True) for form, like in literal_shapes(schema).items()}
    names = sorted(with_options(schema), key=lambda name: sign * literals[schema[name].form])[:number]
    return replace(schema, attributes=tuple((name, one) for name, one in schema.attributes if name in names))
