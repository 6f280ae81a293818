"""Private evaluation of a model on rows: check public arguments, charge the budget, release a noisy histogram."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any, Self

import numpy as np

from hedgerow.boundary.arguments import RandomState, check_integer
from hedgerow.boundary.arrays import Integers, Whole
from hedgerow.errors import (
    ArgumentError,
    ArgumentTypeError,
    DomainError,
    SchemaError,
    UnitWarning,
    WeakGuaranteeWarning,
)
from hedgerow.evaluation.evaluation import ALL, Evaluation, check_groups
from hedgerow.evaluation.measures import ErrorBins
from hedgerow.learn.inputs import check_labels
from hedgerow.learn.private_base import unit_notes
from hedgerow.models.decisions import ClassWeight, Costs, CostTable, cost_matrix, cost_table
from hedgerow.models.files import rebuilt
from hedgerow.models.model import Model
from hedgerow.models.released import released_model
from hedgerow.models.score_bands import ScoreBands
from hedgerow.privacy.amounts import Amount, guarantee_warning, positive, total
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
_ERROR_BINS = ((4, 1.1, 16), (Fraction(1, 2), 1.25, 12), (0, 1.5, 8))  # smallest ε, growth of bins, number of bands
_SHARE_OF_NUMBERS = Fraction(1, 3)  # share of ε for the histogram of true numbers, which gives constants and R²
_BANDS = ((2, 16), (Fraction(1, 2), 10), (0, 6))  # smallest ε of a row, number of score bands; see docs/models.md


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
    """Release noisy estimates of a model's accuracy, costs, AUROC, log-loss and calibration on private rows.

    All measures are computed from a noisy histogram. Groups do not increase ε, since each row belongs to exactly one
    group. Each measure is compared with the best constant prediction.

    **Privacy.** Neighbouring tables differ by one row, or by all rows of one unit. A row is in one cell of the
    histogram: its group, true class and score band, or for numbers its group and error bin. The sensitivity is
    therefore 1, or `max_rows` for a unit. Each count gets discrete Laplace noise of scale 1/ε or ``max_rows``/ε, which
    gives ε-differential privacy without δ.

    The loss of the model itself is not included. For persons in both the training set and the evaluated rows, both
    losses add up. Persons in only one of the two tables are protected by the larger loss alone.

    Parameters
    ----------
    model : Model or estimator
        A rule list, tree or scorecard, or a fitted estimator, with or without a guarantee. Models of other software are
        read by `read_model`.
    X : pandas, polars or pyarrow frame, array of shape (n_rows, n_attributes), or Tally
        The private rows. For a table in DuckDB, PostgreSQL or Spark, pass `Tally.from_table`.
    y : series or array of shape (n_rows,), optional
        The labels or numbers. Default: the column of `X` that the schema declares as the label.
    epsilon : float, Fraction, Decimal or str
        The ε to spend.
    budget : Budget, optional
        The budget to charge. Default: a separate budget.
    by : str or mapping of str to sequence, optional
        The groups: an attribute of the schema, whose bins are the groups; or another column with its public values,
        ``{"ward": ["north", "south"]}``. All other values form one more group, and missing values another.
    schema : Schema, optional
        A schema with more attributes than the model's, or another unit. Default: the model's schema.
    costs : mapping of class to mapping of class to float, optional
        ``costs[actual][predicted]``, to estimate the mean cost of the predictions. Correct predictions may be omitted
        and then cost 0. Default: the costs that the fit minimised, if the model has any.
    class_weight : mapping of class to float, optional
        A shorthand for `costs`: the cost of any error for a row of the class, > 0; 1 for classes that are omitted.
    bands : int, optional
        The number of score bands of a model with probabilities, from 1 to 100, and at least one for each predicted
        class. With more bands, AUROC is less rounded, but all sums have more noise. Default: 6 if ε of a row is below
        1/2, 10 if it is below 2, otherwise 16. Bands depend on the model only, not on the rows.
    random_state : NoiseSource, int, RandomState, Generator or None
        None: OpenDP's noise. Other values are for tests only and are **not private**.

    Returns
    -------
    Evaluation
        The noisy confusion matrix (or error histogram), with estimates and a privacy card.

    Warns
    -----
    UnitWarning
        If the name of a column suggests that it identifies persons, but the schema declares no unit. Nothing has been
        charged at this point.
    WeakGuaranteeWarning
        If `epsilon` is above 10. Nothing has been charged at this point.

    Raises
    ------
    TypeError
        If `model` is not a model of hedgerow, or `X` is not a table.
    ValueError
        If an argument is out of range, a column is missing, or the schema has other bins than the model (nothing is
        charged). `BudgetExceededError` if the budget is too small (nothing is charged). `DomainError` if a value does
        not fit the schema (the charge stays).

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> X, y = data.frame[:300], data.labels[:300]
    >>> tree = hr.PrivateTreeClassifier(epsilon=1, schema=data.schema, max_depth=2).fit(X, y)
    >>> evaluation = hr.evaluate(tree, data.frame[300:], data.labels[300:], epsilon=1)
    >>> evaluation.matrix.shape, len(evaluation.estimates), float(evaluation.privacy.epsilon)
    ((2, 2), 6, 1.0)
    """
    histogram = Histogram.of(
        model,
        epsilon,
        budget=budget,
        by=by,
        schema=schema,
        options=MeasureOptions(costs, class_weight, bands),
        random_state=random_state,
    )
    if too_weak := histogram.guarantee_warning:
        warnings.warn(too_weak, WeakGuaranteeWarning, stacklevel=2)
    if isinstance(X, Tally):
        return histogram.fit_tally(X)
    return histogram.fit(X, y)


@dataclass(frozen=True)
class MeasureOptions:
    """Costs of errors and number of score bands that an analyst chose; None for the model's defaults."""

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
        """Return the score bands, by default more for a larger ε of a row; None for a regressor."""
        if self.bands is not None and check_integer("bands", self.bands, 1) > _MOST_BANDS:
            raise ArgumentError(f"bands must be at most {_MOST_BANDS}, got {self.bands}.")
        if model.schema.target.as_number is not None:
            return None
        return model.score_bands(self.bands or next(number for least, number in _BANDS if epsilon >= least))

    def errors_of(self, model: Model, epsilon: Fraction) -> ErrorBins | None:
        """Return the bins of a regressor's errors, finer for a larger ε of a row; None for a classifier."""
        number = model.schema.target.as_number
        if number is None:
            return None
        growth, bands = next((growth, bands) for least, growth, bands in _ERROR_BINS if epsilon >= least)
        return ErrorBins(number, model.outcomes, growth, bands)


_DEFAULT = MeasureOptions()


@dataclass(frozen=True, eq=False, repr=False)
class Histogram:
    """Histogram to release, with checked public arguments: by group, and by true class and score band or by error."""

    model: Model
    declared: Schema  # the declared columns of the table
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
        """Return the histogram after a check of all arguments, before rows are touched."""
        released = released_model(model)
        checked = None if released is None else rebuilt(released)
        if checked is None:
            got = type(model).__name__
            raise ArgumentTypeError(f"model must be a model or fitted estimator of hedgerow, got {got}.")
        if not (schema is None or isinstance(schema, Schema)):
            raise ArgumentTypeError(f"schema must be a Schema or None, got {type(schema).__name__}.")
        if not (budget is None or isinstance(budget, Budget)):
            raise ArgumentTypeError(f"budget must be a Budget or None, got {type(budget).__name__}.")
        amount = positive(epsilon, "epsilon")
        declared = _checked(checked, checked.schema if schema is None else schema)
        name, attribute = _groups(declared, by)
        used = {x: own for x, own in declared.attributes if x in checked.used_attributes or x == name}
        used |= {} if name is None or attribute is None else {name: attribute}
        used = used or dict(declared.attributes[:1])  # a schema has at least one attribute
        charges, why = _paid_for_bins(declared, checked, name if attribute is None else None)
        check_total([*charges, Charge(Fact("planned"), amount, unit=declared.unit)])
        counted = Schema(used, declared.label, charges, why, declared.unit)
        of_row = amount / rows_of(declared.unit)
        scores, errors = options.scores_of(checked, of_row), options.errors_of(checked, of_row)
        table, noise = options.costs_of(checked), noise_source(random_state)
        histogram = cls(checked, declared, counted, name, amount, budget, noise, random_state, errors, scores, table)
        histogram.check_public()
        return histogram

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
        """The noise on the histogram of true numbers."""
        return DiscreteLaplace(self.epsilon * _SHARE_OF_NUMBERS / rows_of(self.schema.unit))

    @property
    def guarantee_warning(self) -> str | None:
        """A warning if ε is so large that the guarantee protects little; None for noise without a guarantee."""
        return None if self.noise.no_guarantee_reason else guarantee_warning(self.epsilon)

    @property
    def has_reliability(self) -> bool:
        """Whether the evaluation has a reliability diagram, which needs probabilities of two classes."""
        is_binary = self.scores is not None and self.schema.target.n_levels == 2
        return is_binary and self.scores is not None and self.scores.bands[0].probabilities is not None

    def check_public(self) -> None:
        if np.prod(self._shape) > _MOST_CELLS:
            problem = f"the histogram would have {np.prod(self._shape):,} counts, and the limit is {_MOST_CELLS:,}"
            raise ArgumentError(f"{problem}; use fewer groups or bands.")
        check_groups(self.by, self._groups)
        for band in () if self.scores is None else self.scores.bands:
            band.check(self.schema.target.n_levels)  # here, since the same check in Evaluation follows the charge
        self.noise.prepare(self._mechanism)
        if self.errors is not None:
            self.noise.prepare(self._mechanism_of_numbers)

    def check_budget(self, schema: Schema) -> None:
        if self.budget is not None:
            self.budget.check(self.epsilon, unit=schema.unit)

    def fit(self, X: Any, y: Any) -> Evaluation:
        """Release the histogram of rows, which are counted after the charge."""
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
        if self.schema.unit is None and (advice := unit_advice(table.names or ())):
            warnings.warn(advice, UnitWarning, stacklevel=3)
        return self._release(lambda: Tally.of(table, labels, self.schema, random_state=self.random_state))

    def fit_tally(self, tally: Tally) -> Evaluation:
        """Release the histogram of a tally, which must have been counted on the same bins."""
        counted = tally.schema
        for name, attribute in self.schema.attributes:
            if name not in counted or counted[name] != attribute:
                raise SchemaError("the tally must have the same bins as the schema.", attribute=name)
        if (counted.label, counted.unit, counted.weight) != (self.schema.label, self.schema.unit, None):
            raise SchemaError("the tally must have the label and unit of the schema, and no weights.")
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
        """Return the exact number of rows in each cell. Private: adding a row adds 1 to one of them."""
        _, counts = tally.bins_and_counts()
        bins, patterns = tally.bins(self.model.used_attributes), len(counts)
        groups = self._groups_of(tally, patterns)
        levels, cells = np.arange(counts.shape[1]), np.zeros(self._shape, dtype=np.int64)
        if self.scores is not None:
            places = groups[:, np.newaxis], levels, self.scores.places(bins, patterns)[:, np.newaxis]
        else:
            assert self.errors is not None  # a regressor has no scores
            outcomes = self.model.outcomes_of(bins, patterns)
            places = groups[:, np.newaxis], self.errors.of(levels, outcomes[:, np.newaxis])
        np.add.at(cells, places, counts)
        return cells

    def _numbers(self, count: Callable[[], Tally], errors: ErrorBins) -> Integers:
        """Return the exact number of rows by group and band of the number. Private: a row adds 1 to one of them."""
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
    """Return a schema after a check that the model has the same bins and predictions with it."""
    for name in model.used_attributes:
        if name not in declared or declared[name] != model.schema[name]:
            raise SchemaError("schema must declare the attribute as the model's schema does.", attribute=name)
    if declared.weight is not None:
        raise SchemaError("weights are not supported; pass a schema without a weight.", key="weight")
    if declared.label != model.schema.label:
        problem = "schema must declare the label as the model's schema does."
        raise SchemaError(problem, attribute=model.schema.target.name)
    return declared


def _paid_for_bins(declared: Schema, model: Model, by: str | None) -> tuple[tuple[Charge, ...], tuple[Fact, ...]]:
    """Return the charges for the bins, and reasons for no guarantee, that the model's card does not state."""
    why, card = model.schema.no_guarantee, model.privacy
    if by is not None and (by not in model.schema or model.schema[by] != declared[by]):
        return declared.charges, declared.no_guarantee  # equal charges would refer to different bins
    is_stated = by is None or {*why} <= {*card.no_guarantee}
    return tuple(charge for charge in declared.charges if charge not in card.charges), () if is_stated else why


def _groups(declared: Schema, by: Groups | None) -> tuple[str | None, Attribute | None]:
    """Return the group column, and its declaration if the schema does not declare it."""
    if isinstance(by, Mapping):
        if len(by) != 1:
            raise ArgumentError(f"by={{column: values}} must have exactly one column, got {len(by)}.")
        ((name, values),) = by.items()
        if name in declared:
            raise ArgumentError(f"the schema declares the values of {shown(name)}; pass by={shown(name)} instead.")
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ArgumentTypeError(f"by={{column: values}} needs a list of values, got {shown(values)}.")
        return name, Categorical(tuple(values), missing="bin", outside="bin")
    if by is not None and (not isinstance(by, str) or by not in declared):
        problem = f"by must be an attribute of the schema ({listed(declared.names)})"
        raise ArgumentError(f"{problem}, or another column with its public values; got {shown(by)}.")
    return by, None


def _taken_as_given(card: PrivacyCard, epsilon: Fraction, unit: Unit | None) -> Fact:
    """Return the note that the card does not cover the disclosure by the model itself."""
    if card.epsilon is None or not card.is_private:
        return Fact("model_is_public", because="no_guarantee")
    if card.unit != unit:
        return Fact("model_is_public", because="other_unit")
    return Fact("model_is_public", because="sum", epsilon=total((card.epsilon, epsilon)))
