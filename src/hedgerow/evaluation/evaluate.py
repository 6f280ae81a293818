"""Private evaluation of a model on rows: what is public is checked, the budget charged, one histogram released."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any, Self

import numpy as np

from hedgerow.boundary.arguments import RandomState, check_integer
from hedgerow.boundary.arrays import Integers, Whole
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError, SchemaError, UnitWarning
from hedgerow.evaluation.evaluation import ALL, Evaluation, check_groups
from hedgerow.evaluation.measures import ErrorBins
from hedgerow.learn.inputs import check_labels
from hedgerow.learn.private_base import unit_notes
from hedgerow.models.decisions import ClassWeight, Costs, CostTable, cost_matrix, cost_table
from hedgerow.models.files import rebuilt
from hedgerow.models.model import Model
from hedgerow.models.released import released_model
from hedgerow.models.score_bands import ScoreBands
from hedgerow.privacy.amounts import Amount, exact, total
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.card import SOFTWARE, PrivacyCard
from hedgerow.privacy.charge import Charge, check_total, reasons
from hedgerow.privacy.facts import Fact, fact
from hedgerow.privacy.gate import Gate, spend_share
from hedgerow.privacy.noise import DiscreteLaplace, NoiseSource, noise_source
from hedgerow.privacy.unit import Unit, rows_of
from hedgerow.schema import Attribute, Categorical, Schema
from hedgerow.schema.contributions import unit_advice
from hedgerow.tables.frames import Labels, Table
from hedgerow.tally import Tally
from hedgerow.text.messages import shown
from hedgerow.text.values import listed, shown_text

Groups = str | Mapping[str, Sequence[Any]]
_MOST_CELLS, _MOST_BANDS = 100_000, 100
_ERROR_BINS = ((4, 1.1, 16), (Fraction(1, 2), 1.25, 12), (0, 1.5, 8))  # growth, and bands of numbers, by the least ε
_SHARE_OF_NUMBERS = Fraction(1, 3)  # of ε, for the true numbers, by which constants and R² are known
_BANDS = ((2, 16), (Fraction(1, 2), 10), (0, 6))  # score bands by the least ε of a row: docs/models.md, evaluation


def evaluate(  # noqa: PLR0913 -- all but two are optional
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: Amount,
    budget: Budget | None = None,
    by: Groups | None = None,
    schema: Schema | None = None,
    costs: Costs | None = None,
    class_weight: ClassWeight | None = None,
    bands: int | None = None,
    random_state: NoiseSource | RandomState = None,
) -> Evaluation:
    """Release the accuracy, expected cost, AUROC, log-loss and calibration of a model on private rows, with noise.

    All measures follow from one noisy histogram, by group at no further ε. Next to each is the measure of the best
    constant prediction. Neighbouring tables differ by one row, or by all rows of one unit. A row is in one cell (its
    group, its true class and the band of its score; of a number, its group and a bin of the error), so that the
    sensitivity is 1, or `max_rows` of a unit. Each count gets discrete Laplace noise of scale 1/ε, or ``max_rows``/ε:
    ε-differential privacy, without δ.

    The model is taken as given. Of persons whose rows it was learned from as well, both losses add up: only those who
    are in one of the two tables are protected by the larger alone.

    Parameters
    ----------
    model : Model or estimator
        A rule list, tree or scorecard, or a fitted estimator, with or without a guarantee; of others by `read_model`.
    X : pandas, polars or pyarrow frame, array of shape (n_rows, n_attributes), or Tally
        The private rows. A table in DuckDB, PostgreSQL or Spark: `Tally.from_table`.
    y : series or array of shape (n_rows,), optional
        The labels, or numbers. Default: the column of `X` that the schema calls so.
    epsilon : float, Fraction, Decimal or str
        What to spend.
    budget : Budget, optional
        Where to charge it. Default: a budget of its own.
    by : str or mapping of str to sequence, optional
        The groups: an attribute of the schema, whose bins are groups; or a column with its public values,
        ``{"ward": ["north", "south"]}``, where all other values are one more group, and missing ones another.
    schema : Schema, optional
        One with more attributes than the model's, or another unit. Default: the model's.
    costs : mapping of class to mapping of class to float, optional
        ``costs[actual][predicted]``, to estimate the mean cost of the predictions; 0 for correct predictions that are
        left out. Default: the costs that the fit minimised, from the model file, or no estimate if it has none.
    class_weight : mapping of class to float, optional
        A shorthand for `costs`: the cost of any error about a row of the class, > 0; 1 for classes that are left out.
    bands : int, optional
        The number of score bands of a model with probabilities, from 1 to 100, and at least one for each predicted
        class. More bands lose less of AUROC; all sums then have more noise. Default: 6 if ε of a row is below 1/2, 10
        if it is below 2, otherwise 16. Bands follow from the model, never from the rows.
    random_state : NoiseSource, int, RandomState, Generator or None
        None: OpenDP's noise. Anything else is for tests: **not private**.

    Returns
    -------
    Evaluation
        Print it, or read its matrix, estimates and card.

    Warns
    -----
    UnitWarning
        If a column has the name of one that says whose row each is, and the schema declares no unit; not charged yet.

    Raises
    ------
    TypeError
        If `model` is no model of hedgerow's, or `X` no table.
    ValueError
        If an argument is out of range, a column is missing, or the schema has other bins than the model: nothing is
        charged. As `BudgetExceededError`, if the budget has too little left; as `DomainError`, if a value does not fit
        the schema: charged.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> X, y = data.frame[:300], data.labels[:300]
    >>> tree = hr.PrivateTreeClassifier(epsilon=1, schema=data.schema, max_depth=2).fit(X, y)
    >>> found = hr.evaluate(tree, data.frame[300:], data.labels[300:], epsilon=1)
    >>> found.matrix.shape, len(found.estimates), float(found.privacy.epsilon)
    ((2, 2), 6, 1.0)
    """
    asked = Histogram.of(
        model,
        epsilon,
        budget=budget,
        by=by,
        schema=schema,
        options=MeasureOptions(costs, class_weight, bands),
        random_state=random_state,
    )
    if isinstance(X, Tally):
        return asked.fit_tally(X)
    return asked.fit(X, y)


@dataclass(frozen=True)
class MeasureOptions:
    """The costs of errors and the number of score bands that an analyst chose; None for what follows from the model."""

    costs: Costs | None = None
    class_weight: ClassWeight | None = None
    bands: int | None = None

    def costs_of(self, model: Model) -> CostTable | None:
        """Return the chosen costs, or the costs that the model's fit minimised; None if there are none."""
        if self.costs is None and self.class_weight is None:
            return model.costs
        matrix = cost_matrix(model.schema.classes, class_weight=self.class_weight, costs=self.costs)
        return cost_table(matrix, model.schema.target)

    def scores_of(self, model: Model, epsilon: Fraction) -> ScoreBands | None:
        """Return the score bands, by default more if ε of a row is larger; None for a model of a number."""
        if self.bands is not None and check_integer("bands", self.bands, 1) > _MOST_BANDS:
            raise ArgumentError(f"bands must be a whole number <= {_MOST_BANDS}, got {self.bands}.")
        if model.schema.target.as_number is not None:
            return None
        return model.score_bands(self.bands or next(number for least, number in _BANDS if epsilon >= least))

    def errors_of(self, model: Model, epsilon: Fraction) -> ErrorBins | None:
        """Return the bins of the error of a number, finer if ε of a row is larger; None for a model of classes."""
        number = model.schema.target.as_number
        if number is None:
            return None
        growth, bands = next((growth, bands) for least, growth, bands in _ERROR_BINS if epsilon >= least)
        return ErrorBins(number, model.outcomes, growth, bands)


_DEFAULT = MeasureOptions()


@dataclass(frozen=True, eq=False, repr=False)
class Histogram:
    """A histogram to release, checked on what is public: of groups, and true class by score band, or errors."""

    model: Model
    declared: Schema  # all that a table of rows may have
    schema: Schema  # the attributes that are counted
    by: str | None
    epsilon: Fraction
    budget: Budget | None
    noise: NoiseSource
    random_state: Any = None
    errors: ErrorBins | None = None
    scores: ScoreBands | None = None
    costs: CostTable | None = None

    @classmethod
    def of(
        cls,
        model: Any,
        epsilon: Amount,
        *,
        budget: Budget | None,
        by: Groups | None,
        schema: Schema | None,
        options: MeasureOptions = _DEFAULT,
        random_state: Any = None,
    ) -> Self:
        """Check arguments; no row is touched."""
        released = released_model(model)
        given = None if released is None else rebuilt(released)
        if given is None:
            raise ArgumentTypeError(f"expected a model or fitted estimator of hedgerow, got {type(model).__name__}.")
        if not (schema is None or isinstance(schema, Schema)):
            raise ArgumentTypeError(f"schema must be a Schema or None, got {type(schema).__name__}.")
        if not (budget is None or isinstance(budget, Budget)):
            raise ArgumentTypeError(f"budget must be a Budget or None, got {type(budget).__name__}.")
        amount = exact(epsilon, "epsilon")
        if not amount:
            raise ArgumentError("epsilon must be a number > 0, got 0.")
        declared = _checked(given, given.schema if schema is None else schema)
        name, attribute = _groups(declared, by)
        used = {one: declared[one] for one in declared.names if one in given.used_attributes or one == name}
        used |= {} if name is None or attribute is None else {name: attribute}
        used = used or dict(declared.attributes[:1])  # a schema has one at least
        charges, why = _paid_for_bins(declared, given, name if attribute is None else None)
        check_total([*charges, Charge(Fact("planned"), amount, unit=declared.unit)])
        counted = Schema(used, declared.label, charges, why, declared.unit)
        of_row = amount / rows_of(declared.unit)
        scores, errors = options.scores_of(given, of_row), options.errors_of(given, of_row)
        table, noise = options.costs_of(given), noise_source(random_state)
        asked = cls(given, declared, counted, name, amount, budget, noise, random_state, errors, scores, table)
        asked.check_public()
        return asked

    @property
    def _shape(self) -> tuple[int, ...]:
        groups = 1 if self.by is None else self.schema[self.by].n_bins
        if self.scores is None:
            return (groups, 0 if self.errors is None else len(self.errors))
        return (groups, self.schema.target.n_levels, len(self.scores.bands))

    @property
    def _groups(self) -> tuple[str, ...]:
        return (ALL,) if self.by is None else tuple(map(shown_text, self.schema[self.by].bins))

    @property
    def _mechanism(self) -> DiscreteLaplace:
        """The noise on the histogram of the predictions."""
        share = 1 if self.errors is None else 1 - _SHARE_OF_NUMBERS
        return DiscreteLaplace(self.epsilon * share / rows_of(self.schema.unit))

    @property
    def _mechanism_of_numbers(self) -> DiscreteLaplace:
        """The noise on the histogram of a true number."""
        return DiscreteLaplace(self.epsilon * _SHARE_OF_NUMBERS / rows_of(self.schema.unit))

    @property
    def has_reliability(self) -> bool:
        """True if the evaluation has the reliability of two classes' probabilities."""
        two = self.scores is not None and self.schema.target.n_levels == 2
        return two and self.scores is not None and self.scores.bands[0].probabilities is not None

    def check_public(self) -> None:
        if np.prod(self._shape) > _MOST_CELLS:
            counts = f"{_MOST_CELLS:,} counts, got {np.prod(self._shape):,}"
            raise ArgumentError(f"expected a histogram of at most {counts}; use fewer groups.")
        check_groups(self.by, self._groups)
        for band in () if self.scores is None else self.scores.bands:
            band.check(self.schema.target.n_levels)  # an evaluation refuses others, after the charge
        self.noise.prepare(self._mechanism)
        if self.errors is not None:
            self.noise.prepare(self._mechanism_of_numbers)

    def check_budget(self, schema: Schema) -> None:
        if self.budget is not None:
            self.budget.check(self.epsilon, unit=schema.unit)

    def fit(self, X: Any, y: Any) -> Evaluation:
        """Release the histogram of rows; they are counted after the charge."""
        table, target = Table.of(X), self.schema.target
        if y is None and table.names is not None:
            table.require([target.name])
            y = table.series(target.name)
        labels = Labels.of(y, X)
        check_labels(table, labels, target)
        if table.names is None:
            self.declared.check_columns(table)
            if self.by is not None and self.by not in self.declared:
                raise DomainError.absent(self.by, self.declared.names)
            self.schema.check_unit(table)
            table = Table.of(table.data[:, [self.declared.names.index(name) for name in self.schema.names]])
        self.schema.check_types(table)
        self.schema.check_unit(table)
        if self.schema.unit is None and (whose := unit_advice(table.names or ())):
            warnings.warn(whose, UnitWarning, stacklevel=3)
        return self._release(lambda: Tally.of(table, labels, self.schema, random_state=self.random_state))

    def fit_tally(self, tally: Tally) -> Evaluation:
        """Release the histogram of rows that were counted elsewhere, by a schema with the same bins."""
        found = tally.schema
        for name, attribute in self.schema.attributes:
            if name not in found or found[name] != attribute:
                raise SchemaError("expected a tally with the same bins, got one with others.", attribute=name)
        if (found.label, found.unit, found.weight) != (self.schema.label, self.schema.unit, None):
            raise SchemaError("expected a tally of rows with the label and the unit of the schema, got another.")
        return self._release(lambda: tally)

    def _release(self, count: Callable[[], Tally]) -> Evaluation:
        digest, unit = self.model.to_dict()["digest"], self.schema.unit
        of = "classes" if self.errors is None else "errors"
        query = Fact("evaluation", model=self.model.kind, digest=digest[:12], of=of)
        why = reasons(self.schema.no_guarantee, self.noise.no_guarantee_reason)
        notes = (*unit_notes(unit), _taken_as_given(self.model.privacy, self.epsilon, unit))

        def released(gate: Gate) -> Evaluation:
            tallies = cache(count)
            noisy = gate.release(self._mechanism, lambda: self._cells(tallies()).ravel(), query=query)
            numbers: Any = ()
            if self.errors is not None:
                of_numbers = Fact("evaluation", model=self.model.kind, digest=digest[:12], of="numbers")
                count_numbers = partial(self._numbers, tallies, self.errors)
                numbers = gate.release(self._mechanism_of_numbers, count_numbers, query=of_numbers)
            charges, noise = (
                (*self.schema.charges, *gate.budget.charges),
                fact(self.noise.description, "noise", "description"),
            )
            return Evaluation(
                self.model.kind,
                digest,
                self.schema.target,
                _by_group(noisy, self._shape[0]),
                PrivacyCard(charges, noise=noise, software=SOFTWARE, no_guarantee=why, notes=notes),
                () if self.errors is None else self.errors.ends,
                self.by,
                self._groups,
                () if self.scores is None else self.scores.bands,
                self.costs,
                _by_group(numbers, self._shape[0]),
                () if self.errors is None else self.errors.band_ends,
            )

        charge = Charge(query, self.epsilon, no_guarantee=why, unit=unit)
        return spend_share(self.budget, charge, self.noise, released)

    def _cells(self, tally: Tally) -> Integers:
        """Return the exact rows of each cell. Private: adding a row adds 1 to one of them."""
        _, counts = tally.bins_and_counts()
        bins, patterns = tally.bins(self.model.used_attributes), len(counts)
        groups = self._groups_of(tally, patterns)
        levels, cells = np.arange(counts.shape[1]), np.zeros(self._shape, dtype=np.int64)
        if self.scores is not None:
            places = groups[:, np.newaxis], levels, self.scores.places(bins, patterns)[:, np.newaxis]
        else:
            assert self.errors is not None  # of a number
            outcomes = self.model.outcomes_of(bins, patterns)
            places = groups[:, np.newaxis], self.errors.of(levels, outcomes[:, np.newaxis])
        np.add.at(cells, places, counts)
        return cells

    def _numbers(self, count: Callable[[], Tally], errors: ErrorBins) -> Integers:
        """Return the exact rows of each group and band of the number. Private: adding a row adds 1 to one of them."""
        tally = count()
        _, counts = tally.bins_and_counts()
        cells = np.zeros((self._shape[0], len(errors.band_ends)), dtype=np.int64)
        np.add.at(cells, (self._groups_of(tally, len(counts))[:, np.newaxis], errors.bands), counts)
        return cells.ravel()

    def _groups_of(self, tally: Tally, patterns: int) -> Whole:
        return np.zeros(patterns, dtype=np.int64) if self.by is None else tally.bins([self.by])[self.by]


def _by_group(counts: Any, groups: int) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, np.array(counts, dtype=np.int64).reshape(groups, -1).tolist())) if len(counts) else ()


def _checked(model: Model, declared: Schema) -> Schema:
    """Return a schema, after a check that a model reads the same bins and predicts the same by it."""
    for name in model.used_attributes:
        if name not in declared or declared[name] != model.schema[name]:
            raise SchemaError("expected the attribute as the model's schema has it, got another.", attribute=name)
    if declared.weight is not None:
        raise SchemaError("expected rows that count as one each, got weights; give a schema without it.", key="weight")
    if declared.label != model.schema.label:
        raise SchemaError("expected the label of the model's schema, got another.", attribute=model.schema.target.name)
    return declared


def _paid_for_bins(declared: Schema, model: Model, by: str | None) -> tuple[tuple[Charge, ...], tuple[Fact, ...]]:
    """Return what the bins cost, and why they have no guarantee, besides what the model's own card says of them."""
    why, card = model.schema.no_guarantee, model.privacy
    if by is not None and (by not in model.schema or model.schema[by] != declared[by]):
        return declared.charges, declared.no_guarantee  # equal charges are of other bins, then
    is_said = by is None or {*why} <= {*card.no_guarantee}
    return tuple(charge for charge in declared.charges if charge not in card.charges), () if is_said else why


def _groups(declared: Schema, by: Groups | None) -> tuple[str | None, Attribute | None]:
    """Return the column of the groups, and what it is declared as where the schema does not have it."""
    if isinstance(by, Mapping):
        if len(by) != 1:
            raise ArgumentError(f"expected by={{column: values}} with one column, got {len(by)}.")
        ((name, values),) = by.items()
        if name in declared:
            raise ArgumentError(f"expected by={shown(name)} alone, since the schema declares it; got a list, too.")
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ArgumentTypeError(f"expected by={{column: values}} with a list of values, got {shown(values)}.")
        return name, Categorical(tuple(values), missing="bin", outside="bin")
    if by is not None and (not isinstance(by, str) or by not in declared):
        problem = f"by must be an attribute of the schema ({listed(declared.names)})"
        raise ArgumentError(f"{problem}, or name a column together with its public values; got {shown(by)}.")
    return by, None


def _taken_as_given(card: PrivacyCard, epsilon: Fraction, unit: Unit | None) -> Fact:
    """Return the note on what the card does not cover: what the model discloses itself."""
    if card.epsilon is None or not card.is_private:
        return Fact("model_is_public", because="no_guarantee")
    if card.unit != unit:
        return Fact("model_is_public", because="other_unit")
    return Fact("model_is_public", because="sum", epsilon=total((card.epsilon, epsilon)))
