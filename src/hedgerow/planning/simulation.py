"""Fits of default models to rows of a public table, scored on held-out rows, at several ε."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic
from typing import Any, Self

import narwhals as nw
import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Index
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.auto import PrivateAutoClassification
from hedgerow.learn.learners import learners_of
from hedgerow.learn.private_base import PrivateSpecification
from hedgerow.learn.search.cost import TYPICAL_PATTERNS
from hedgerow.models.decisions import Costs, cost_matrix
from hedgerow.models.model import Model
from hedgerow.planning.curve import AUTOMATIC, CONSTANT, Curve, LeftOut, Metric, Trial
from hedgerow.privacy.unit import Unit
from hedgerow.schema.contributions import check_unit, unit_column
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table, check_same_index, column_of
from hedgerow.text.messages import describe_argument, remove_charge_notes
from hedgerow.text.progress import tracked

FACTORS = tuple(map(Fraction, ("1/20", "1/5", "1/2", "1", "2", "8")))  # the ε of a curve, times the ε of the plan
DEFAULT_RUNS = 9
_SEED = 20261123
_FEWEST = 10  # rows, or units, of a public table
_MOST_SECONDS = 150.0  # of all fits of one kind of model, if `runs` is not given
_LEAST_ANNOUNCED = 10.0  # seconds; a shorter remaining time is not shown
_KINDS = {"tree": "tree", "rule list": "rule-list", "scorecard": "scorecard"}


@dataclass(frozen=True, eq=False)
class PublicTable:
    """Public table with its labels and, if the schema has a unit, the rows of each unit."""

    data: Any
    labels: Array
    unit: Unit | None
    rows_of: tuple[Index, ...]  # the rows of each unit; empty without a unit

    @classmethod
    def of(cls, schema: Schema, public: Any) -> Self:
        """Return the table of a pair of data and labels, after checking it."""
        if not (isinstance(public, tuple) and len(public) == 2):
            raise ArgumentTypeError(f"public must be a tuple of data and labels, got {describe_argument(public)}.")
        check_same_index(*public)
        data, unit = public[0], schema.unit
        if schema.target.as_number is None:
            labels = schema.class_label.typed(column_of(public[1], schema.target.name))
            if len(labels) and (labels == labels[0]).all():
                raise ArgumentError(
                    f"public labels must have at least two classes, got only {describe_argument(labels.tolist()[0])}."
                )
        else:
            problem = ArgumentError("public labels must be finite numbers that are not all equal.")
            labels = guarded(lambda: np.asarray(public[1], dtype=np.float64), problem)
            if len(labels) and not (np.isfinite(labels).all() and labels.var()):
                raise problem
        if len(labels) < _FEWEST:
            raise ArgumentError(f"the public table must have at least {_FEWEST} rows, got {len(labels)}.")
        rows_of: tuple[Index, ...] = ()
        if unit is not None:
            check_unit(unit, Table.of(data))
            column = unit_column(unit, Table.of(data))
            owners = np.unique(column.words() if column.is_text else column.values, return_inverse=True)[1]
            rows_of = tuple(np.split(np.argsort(owners, kind="stable"), np.cumsum(np.bincount(owners))[:-1]))
            if len(rows_of) < _FEWEST:
                raise ArgumentError(f"the public table must have at least {_FEWEST} units, got {len(rows_of)}.")
        return cls(data, labels, unit, rows_of)

    def split(self, number: int, rng: np.random.Generator) -> tuple[Any, Index, Index]:
        """Return `number` rows drawn from one half, their indices, and the indices of the other half.

        Rows are drawn with replacement. With a unit, units are drawn with all of their rows, and a unit that is drawn
        twice counts as two units.
        """
        order = rng.permutation(len(self.rows_of) or len(self.labels))
        half = len(order) // 2
        drawn, held_out = rng.choice(order[:half], number), order[half:]
        if self.unit is None:
            return _rows(self.data, drawn), drawn, held_out
        parts = [self.rows_of[unit] for unit in drawn]
        held_out = np.concatenate([self.rows_of[unit] for unit in held_out])
        indices, owners = np.concatenate(parts), np.repeat(np.arange(number), list(map(len, parts)))
        train = nw.from_native(_rows(self.data, indices), eager_only=True)
        column = nw.new_series(self.unit.column, owners, backend=train.implementation)
        return train.with_columns(column).to_native(), indices, held_out


@dataclass(frozen=True)
class Score:
    """Score of a fit."""

    value: float
    size: Any  # of the model; None for the constant prediction
    is_constant: bool
    auroc: float | None = None
    error: float | None = None


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Default models at several ε, fitted to rows that are drawn from a public table.

    Attributes
    ----------
    schema : Schema
        The schema.
    number : int
        The number of rows that are drawn for a fit; of units, if the schema has a unit.
    rows : int
        The number of rows that a fit uses.
    epsilon, delta : Fraction
        The budget of a model at the middle of the curve.
    costs : mapping, optional
        The costs of errors.
    runs : int, optional
        The number of fits of each model at each ε. None for 9, without the kinds of models that would take more than
        two and a half minutes in total by their estimated run time.
    """

    schema: Schema
    number: int
    rows: int
    epsilon: Fraction
    delta: Fraction
    costs: Costs | None = None
    runs: int | None = None

    def run(self, table: PublicTable, *, verbose: bool) -> Curve:
        """Fit and score all models; in a run, all models at all ε have the same rows."""
        try:
            return self._run(table, verbose=verbose)
        except BaseException as error:
            remove_charge_notes(error)  # fits add them, but fits to public rows charge no budget
            raise

    def _run(self, table: PublicTable, *, verbose: bool) -> Curve:
        runs = DEFAULT_RUNS if self.runs is None else self.runs
        epsilons = tuple(self.epsilon * factor for factor in FACTORS)
        left_out = self.left_out()
        kinds = [kind for kind in self.learners(self.epsilon, 0) if kind not in {left.model for left in left_out}]
        choices = {epsilon: self._choice(epsilon, kinds) for epsilon in epsilons}
        automatic = () if None in choices.values() else (AUTOMATIC,)
        scores = {(kind, epsilon): list[Score]() for kind in (CONSTANT, *kinds, *automatic) for epsilon in epsilons}
        fits, start = runs * len(epsilons), monotonic()
        for number in tracked(range(fits), "fitting models to public rows", fits, verbose=verbose):
            run, epsilon = number // len(epsilons), epsilons[number % len(epsilons)]
            if verbose and number == len(epsilons):  # the first run is complete
                _print_remaining((monotonic() - start) * (runs - 1))
            train, drawn, held_out = table.split(self.number, np.random.default_rng([_SEED, run]))
            test, truth = _rows(table.data, held_out), table.labels[held_out]
            scores[CONSTANT, epsilon].append(self._score(truth, self._constant(table.labels[drawn], len(held_out))))
            for kind in kinds:
                model = self.learners(epsilon, run)[kind].fit(train, table.labels[drawn])
                scores[kind, epsilon].append(self._score(truth, self._predictions(model, test), model, test))
            if automatic and choices[epsilon] in kinds:
                scores[AUTOMATIC, epsilon].append(scores[str(choices[epsilon]), epsilon][-1])  # the same fit
            elif automatic:
                model = self._automatic(epsilon, run).fit(train, table.labels[drawn])
                scores[AUTOMATIC, epsilon].append(self._score(truth, self._predictions(model, test), model, test))
        trials = tuple(_trial(kind, epsilon, runs_of_kind) for (kind, epsilon), runs_of_kind in scores.items())
        return Curve(self.metric, runs, epsilons, trials, left_out)

    @property
    def metric(self) -> Metric:
        """The measure by which models are compared."""
        if self.schema.target.as_number is not None:
            return "r2"
        return "accuracy" if self.costs is None else "cost"

    def left_out(self) -> tuple[LeftOut, ...]:
        """Return the kinds of models whose estimated run time is too long; none if `runs` was given."""
        if self.runs is not None:
            return ()
        times = dict[str, float]()
        for kind, learner in self.learners(self.epsilon, 0).items():
            cost = learner.plan(self.schema).cost
            seconds = 0.0 if cost is None else cost.seconds(min(self.number, TYPICAL_PATTERNS))
            times[kind] = DEFAULT_RUNS * len(FACTORS) * seconds
        return tuple(LeftOut(kind, seconds) for kind, seconds in times.items() if seconds > _MOST_SECONDS)

    def learners(self, epsilon: Fraction, seed: int) -> dict[str, PrivateSpecification]:
        """Return default learners that support the schema; their noise is seeded, since the rows are public."""
        makers = learners_of(self.schema.target)
        learners = dict[str, PrivateSpecification]()
        for kind, name in _KINDS.items():
            parameters: dict[str, Any] = {"delta": self.delta or None} if kind == "scorecard" else {}
            parameters |= {"costs": self.costs} if self.costs is not None and kind != "scorecard" else {}
            learner = makers[name](epsilon, schema=self.schema, random_state=seed, **parameters)
            if learner.keeps_monotone or not self.schema.monotone:
                learners[kind] = learner
        return learners

    def _choice(self, epsilon: Fraction, kinds: Sequence[str]) -> str | None:
        """Return the automatic choice at an ε, or None if it needs other kinds of models than these."""
        if self.metric == "r2":
            return None
        model = self._automatic(epsilon, 0).choice(self.schema, self.rows)
        assert model is not None  # the number of rows is given
        needed = ("tree", "scorecard") if model["model"] == "either" else (model["model"],)
        return str(model["model"]) if set(needed) <= set(kinds) else None

    def _automatic(self, epsilon: Fraction, seed: int) -> PrivateAutoClassification:
        return PrivateAutoClassification(
            epsilon, n_rows=self.rows, costs=self.costs, schema=self.schema, random_state=seed
        )

    @property
    def _costs_of(self) -> Floats:
        return cost_matrix(self.schema.classes, None, self.costs)

    def _constant(self, labels: Array, rows: int) -> Array:
        """Return the constant prediction that is best on the training rows."""
        if self.metric == "r2":
            return np.full(rows, labels.mean())
        values, counts = np.unique(labels, return_counts=True)
        if self.metric == "accuracy":
            return np.full(rows, values[counts.argmax()])
        classes = self.schema.classes
        by_class = np.array([int(counts[values == value].sum()) for value in classes])
        return np.full(rows, np.array(classes)[int((by_class @ self._costs_of).argmin())])

    def _predictions(self, model: Model, test: Any) -> Array:
        if self.metric == "cost" and model.has_points:  # a scorecard decides by its probabilities
            return model.decide(test, costs=self.costs)
        return model.predict(test)

    def _score(self, truth: Array, predicted: Array, model: Model | None = None, test: Any = None) -> Score:
        size = None if model is None else model.size
        is_constant = bool((predicted == predicted[0]).all())
        if self.metric == "r2":
            errors = predicted - truth
            value = float(1 - np.mean(errors**2) / truth.var())
            return Score(value, size, is_constant=is_constant, error=float(np.abs(errors).mean()))
        value = float(np.mean(predicted == truth))
        if self.metric == "cost":
            index = {value: number for number, value in enumerate(self.schema.classes)}
            pairs = [
                (index[actual], index[guess]) for actual, guess in zip(truth.tolist(), predicted.tolist(), strict=True)
            ]
            value = float(self._costs_of[tuple(np.array(pairs).T)].mean())
        return Score(value, size, is_constant=is_constant, auroc=self._auroc(truth, predicted, model, test))

    def _auroc(self, truth: Array, predicted: Array, model: Model | None, test: Any) -> float | None:
        """Return the AUROC for two classes; of the predicted labels, if a model has no probabilities."""
        from scipy.stats import rankdata  # slow to import, and not needed by a fit

        classes = self.schema.classes
        positive = truth == classes[-1]
        if model is None or len(classes) != 2 or positive.all() or not positive.any():
            return None
        ranked = model.predict_proba(test)[:, 1] if model.has_shares else (predicted == classes[-1])
        ranks, n = rankdata(ranked), int(positive.sum())
        return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(truth) - n)))


def _trial(kind: str, epsilon: Fraction, scores: Sequence[Score]) -> Trial:
    def present(values: Iterator[float | None]) -> tuple[float, ...]:
        everything = tuple(values)
        return () if None in everything else tuple(value for value in everything if value is not None)

    return Trial(
        kind,
        epsilon,
        tuple(score.value for score in scores),
        auroc=present(score.auroc for score in scores),
        errors=present(score.error for score in scores),
        constant=sum(score.is_constant for score in scores),
        sizes=tuple(score.size for score in scores if score.size is not None),
    )


def _print_remaining(seconds: float) -> None:
    if seconds >= _LEAST_ANNOUNCED:
        time = f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
        sys.stderr.write(f"the first run is complete; about {time} remain\n")


def _rows(data: Any, indices: Index) -> Any:
    if isinstance(data, np.ndarray):
        return data[indices]
    return nw.from_native(data, eager_only=True)[indices.tolist()].to_native()
