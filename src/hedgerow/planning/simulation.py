"""Fits of default models to rows of a public table: accuracy or R² on others of its rows, at an ε and a size."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from textwrap import fill
from typing import Any, Self

import narwhals as nw
import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Index
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.learners import learners_of
from hedgerow.learn.private_base import PrivateSpecification
from hedgerow.models.plot import axes_of, colour
from hedgerow.models.size import ModelSize
from hedgerow.privacy.unit import Unit
from hedgerow.schema.contributions import check_unit, whose
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table, check_same_index, column_of
from hedgerow.text.axes import Axes
from hedgerow.text.progress import tracked

_SEED = 20261123


@dataclass(frozen=True)
class Simulated:
    """Accuracies of a default model on rows that it was not fitted to.

    Attributes
    ----------
    name : str
        The model, or "most frequent" for the most frequent class of the rows, or "mean" for the mean of a number.
    accuracies : tuple of float
        The share of rows that get their own class, by run; R² of a number.
    errors : tuple of float
        The mean absolute error of a number, in its units, by run; empty of classes.
    constant : int
        In how many runs one class, or one number, was predicted for every row.
    sizes : tuple of ModelSize
        The size of the model, by run; empty for "most frequent" and "mean".
    """

    name: str
    accuracies: tuple[float, ...]
    errors: tuple[float, ...] = ()
    constant: int = 0
    sizes: tuple[ModelSize, ...] = ()

    @property
    def mean(self) -> float:
        """The mean accuracy, or R²."""
        return float(np.mean(self.accuracies))

    def text(self) -> str:
        """Return the mean with the range of nine in ten runs: in rows of a hundred; of a number, R² and the error.

        The size of the models follows, in leaves, rules or bins.
        """
        found, what = _ranged([100 * share for share in self.accuracies], ".1f"), "class"
        if self.errors:
            found, what = f"{_ranged(self.accuracies, '.3f')}   {_ranged(self.errors, '.4g')}", "number"
        always = f"   one {what} for every row in {self.constant} of {len(self.accuracies)} runs"
        return found + self._parts + (always if self.constant and self.name not in _CONSTANTS else "")

    @property
    def _parts(self) -> str:
        if not self.sizes:
            return ""
        counts = [one.n_parts for one in self.sizes]
        return f"   {np.mean(counts):.1f} {self.sizes[0].parts} ({min(counts)} to {max(counts)})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        found = {"model": self.name, "mean": self.mean, "accuracies": list(self.accuracies), "constant": self.constant}
        errors = {"errors": list(self.errors)} if self.errors else {}
        return found | errors | {"sizes": [size.to_dict() for size in self.sizes]}


_CONSTANTS = ("most frequent", "mean")
_OTHERS = tuple(map(Fraction, ("1/20", "1/5", "1/2", "2", "8")))  # times the ε of the forecast
_FEWEST = 10  # rows, or units, of a public table
_LEAST_R2 = -0.5  # of a picture
ByEpsilon = tuple[tuple[Fraction, tuple[Simulated, ...]], ...]  # what default models got right, by ε in rising order


def _ranged(values: Sequence[float], form: str) -> str:
    low, high = np.percentile(values, [5, 95])
    return f"{np.mean(values):{form}}  ({low:{form}} to {high:{form}})"


@dataclass(frozen=True, eq=False)
class PublicTable:
    """A public table with its labels as classes or numbers, and with the rows of each unit if the schema has one."""

    data: Any
    labels: Array
    unit: Unit | None
    rows_of: tuple[Index, ...]  # of each unit; empty without one

    @classmethod
    def of(cls, schema: Schema, public: Any) -> Self:
        """Check a pair of a public table and its labels."""
        if not (isinstance(public, tuple) and len(public) == 2):
            raise ArgumentTypeError("public must be a pair of data and labels of a public table.")
        check_same_index(*public)
        data, unit = public[0], schema.unit
        if schema.target.as_number is None:
            labels = schema.class_label.typed(column_of(public[1], schema.target.name))
        else:
            problem = ArgumentError("expected public rows with different finite numbers to predict, got others.")
            labels = guarded(lambda: np.asarray(public[1], dtype=np.float64), problem)
            if len(labels) and not (np.isfinite(labels).all() and labels.var()):
                raise problem
        if len(labels) < _FEWEST:
            raise ArgumentError(f"expected a public table of at least ten rows, got {len(labels)}.")
        rows_of: tuple[Index, ...] = ()
        if unit is not None:
            check_unit(unit, Table.of(data))
            column = whose(unit, Table.of(data))
            owners = np.unique(column.words() if column.is_text else column.values, return_inverse=True)[1]
            rows_of = tuple(np.split(np.argsort(owners, kind="stable"), np.cumsum(np.bincount(owners))[:-1]))
            if len(rows_of) < _FEWEST:
                raise ArgumentError(f"expected a public table of at least ten units, got {len(rows_of)}.")
        return cls(data, labels, unit, rows_of)

    def split(self, number: int, rng: np.random.Generator) -> tuple[Any, Index, Index]:
        """Return rows that are drawn from one half, their places, and the places of the other half.

        So many rows are drawn with replacement or, with a unit, so many units with all of their rows. A unit that is
        drawn twice counts as two.
        """
        order = rng.permutation(len(self.rows_of) or len(self.labels))
        half = len(order) // 2
        drawn, others = rng.choice(order[:half], number), order[half:]
        if self.unit is None:
            return _rows(self.data, drawn), drawn, others
        parts, others = [self.rows_of[one] for one in drawn], np.concatenate([self.rows_of[one] for one in others])
        places, owners = np.concatenate(parts), np.repeat(np.arange(number), list(map(len, parts)))
        train = nw.from_native(_rows(self.data, places), eager_only=True)
        column = nw.new_series(self.unit.column, owners, backend=train.implementation)
        return train.with_columns(column).to_native(), places, others


def simulate(
    schema: Schema,
    rows: int,
    epsilon: Fraction,
    delta: Fraction,
    public: tuple[Any, Any],
    runs: int,
    *,
    verbose: bool = False,
) -> tuple[Simulated, ...]:
    """Fit each default model to rows drawn from half of a public table, and try it on the other half.

    If the schema has a unit, `rows` units are drawn with all of their rows, and those of the other half are tried.
    """
    table, is_number = PublicTable.of(schema, public), schema.target.as_number is not None
    labels, baseline = table.labels, _CONSTANTS[is_number]
    found: dict[str, list[Array]] = {name: [] for name in (baseline, *_learners(schema, epsilon, delta, 0))}
    tried, sizes = list[Index](), defaultdict[str, list[ModelSize]](list)
    for run in tracked(range(runs), "fitting to public rows", runs, verbose=verbose):
        train, drawn, others = table.split(rows, np.random.default_rng([_SEED, run]))
        tried.append(others)
        test = _rows(table.data, others)
        values, counts = np.unique(labels[drawn], return_counts=True)
        constant = labels[drawn].mean() if is_number else values[counts.argmax()]
        found[baseline].append(np.full(len(others), constant))
        for name, learner in _learners(schema, epsilon, delta, run).items():
            model = learner.fit(train, labels[drawn])
            found[name].append(model.predict(test))
            sizes[name].append(model.size)
    truths = [labels[rows] for rows in tried]
    scored = (_scored(name, truths, said, is_number=is_number) for name, said in found.items())
    return tuple(replace(one, sizes=tuple(sizes[one.name])) for one in scored)


def simulate_others(
    schema: Schema, rows: int, epsilon: Fraction, delta: Fraction, public: tuple[Any, Any], runs: int, *, verbose: bool
) -> ByEpsilon:
    """Simulate at five other ε, from a twentieth to eight times the given one."""
    others = tracked(_OTHERS, "fitting at other epsilons", len(_OTHERS), verbose=verbose)
    return tuple((each * epsilon, simulate(schema, rows, each * epsilon, delta, public, runs)) for each in others)


def _scores(by_epsilon: ByEpsilon) -> dict[str, Floats]:
    """Return accuracies by ε and run, of the runs that there are at each ε: a run has the same rows at all of them."""
    common = min(len(found[0].accuracies) for _, found in by_epsilon)
    names = [one.name for one in by_epsilon[0][1]]
    return {n: np.array([found[k].accuracies[:common] for _, found in by_epsilon]) for k, n in enumerate(names)}


def _first_above(low: Floats, constant: Floats) -> int | None:
    """Return the place from which on all of `low` is above the constant; None if the last one is not."""
    below = np.flatnonzero(low <= constant)
    first = 0 if not below.size else int(below[-1]) + 1
    return first if first < len(low) else None


def draw_accuracies(by_epsilon: ByEpsilon, rows: int, ax: Axes | None) -> Axes:
    """Draw the mean accuracy, or R², by ε, with its band and a ring from where on a model beats the constant."""
    ax = axes_of(ax, 8, 5)
    grid = [float(epsilon) for epsilon, _ in by_epsilon]
    is_number = bool(by_epsilon[0][1][0].errors)
    scale, what = (1, "the mean for every row") if is_number else (100, "the most frequent class for every row")
    (_, baseline), *models = ((name, scale * scores) for name, scores in _scores(by_epsilon).items())
    constant = baseline.mean(axis=1)
    ax.plot(grid, constant, color="0.3", linestyle="--", label=what)
    for k, (name, scores) in enumerate(models):
        means, (low, high) = scores.mean(axis=1), np.percentile(scores, [5, 95], axis=1)
        start = _first_above(low, constant)
        said = "does not beat it" if start is None else f"beats it from epsilon = {grid[start]:g} on"
        ax.plot(grid, means, color=colour(k), marker=".", label=f"{name}: {said}")
        ax.fill_between(grid, low, high, color=colour(k), alpha=0.15, linewidth=0)
        if start is not None:
            ax.plot(grid[start], means[start], color=colour(k), marker="o", markersize=9 + 4 * k, fillstyle="none")
    ax.set_xscale("log")
    ax.set_xticks(grid, [f"{each:g}" for each in grid])
    ax.minorticks_off()
    if is_number:
        ax.set_ylim(bottom=max(_LEAST_R2, ax.get_ylim()[0]))
    ax.set_xlabel("epsilon")
    ax.set_ylabel("R² on other public rows" if is_number else "right on other public rows (%)")
    times = "1 run" if baseline.shape[1] == 1 else f"{baseline.shape[1]} runs"
    told = (
        f"default models fitted to {rows:,} rows drawn from a public table, {times} for each epsilon",
        "line: mean; band: 5th to 95th percentile; ring: from here on the band is above the dashed line",
    )
    figure = ax.get_figure(root=True)
    wide = 16 * ax.get_position().width * (8 if figure is None else figure.get_figwidth())  # letters of this size
    ax.set_title("\n".join(fill(line, max(int(wide), 20)) for line in told), loc="left", fontsize="small")
    ax.legend(edgecolor="none", fontsize="small")
    return ax


def _scored(name: str, truths: Sequence[Array], said: Sequence[Array], *, is_number: bool) -> Simulated:
    constant = sum(bool((each == each[0]).all()) for each in said)  # models that predicted the same for every row
    if not is_number:
        shares = (float(np.mean(ours == truth)) for ours, truth in zip(said, truths, strict=True))
        return Simulated(name, tuple(shares), constant=constant)
    off = [ours - truth for ours, truth in zip(said, truths, strict=True)]
    scores = tuple(float(1 - np.mean(each**2) / truth.var()) for each, truth in zip(off, truths, strict=True))
    return Simulated(name, scores, tuple(float(np.abs(each).mean()) for each in off), constant)


def _learners(schema: Schema, epsilon: Fraction, delta: Fraction, seed: int) -> dict[str, PrivateSpecification]:
    """Return default learners that take the schema, and whose noise is seeded: their rows are public."""
    common: Any = {"schema": schema, "random_state": seed}
    makers = learners_of(schema.target)
    found = {
        "rule list": makers["rule-list"](epsilon, **common),
        "tree": makers["tree"](epsilon, **common),
        "scorecard": makers["scorecard"](epsilon, delta=delta or None, **common),
    }
    return {name: learner for name, learner in found.items() if learner.keeps_monotone or not schema.monotone}


def _rows(data: Any, places: Index) -> Any:
    if isinstance(data, np.ndarray):
        return data[places]
    return nw.from_native(data, eager_only=True)[places.tolist()].to_native()
