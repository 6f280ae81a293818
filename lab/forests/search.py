"""The most likely table: the rows of each cell and class, as an integer program solved by CP-SAT.

A cell is a set of possible rows that no model of a set distinguishes. Rows are not variables, numbers of rows are: so
orderings of the same table are one solution, and the count of a leaf is a sum. Each count has a log-likelihood that is
concave in this sum, which chords between whole numbers describe.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import chain, pairwise
from math import lgamma, log, prod
from time import perf_counter
from typing import Any, Self

import numpy as np

from hedgerow.audit.counting.outside import PerBin
from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.readers.paths import Paths
from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.errors import ArgumentError, MissingPackageError, SearchTooLargeError
from hedgerow.models.conditions import first_that_holds
from hedgerow.schema import Attribute, Literal, Schema

_UNIT = 1000  # steps of the objective in one unit of log-likelihood, or in that of one row where noise is larger
_OFF = 0.01  # by how much a log-likelihood may be too low
MOST_CELLS = 200_000  # the most cells, times classes, that a table is searched over
MOST_STEPS = 500_000_000  # the most pairs of a cell and a leaf


@dataclass(frozen=True, eq=False)
class Evidence:
    """The numbers of one model's leaves."""

    paths: Paths  # the decision paths to its leaves
    numbers: Integers  # rows of each class of `classes` in each leaf; of all classes where these are None
    classes: tuple[Any, ...] | None  # the classes
    scale: float | None = None  # the scale of the Laplace noise in each number; None where there is none
    # For a bootstrap sample, whose draws the numbers count: how many different rows were drawn
    distinct: Integers | None = None

    @property
    def is_exact(self) -> bool:
        return self.scale is None and self.distinct is None


@dataclass(frozen=True, eq=False)
class Cells:
    """The product of groups of bins, one group an attribute, that all literals of some models treat alike."""

    schema: Schema  # the schema, with the cut points of the models
    bins: Index  # A pattern of bins of each cell: the most probable value, or the median of numbers
    log_chances: Floats  # the logarithm of each cell's chance, as its share of what the bins weigh

    @classmethod
    def of(cls, domain: Domain, models: Sequence[Paths], masses: PerBin, n_classes: int) -> Self:
        """Return the cells of a domain, by the weight of each of its bins; those of weight 0 are left out."""
        literals = {x for paths in models for x in normalised(paths, domain.schema).literals}
        groups = [
            _groups(attribute, [x for x in literals if x.attribute == name], weights)
            for (name, attribute), weights in zip(domain.schema.attributes, masses, strict=True)
        ]
        n_cells, n_leaves = prod(len(bins) for bins, _ in groups), sum(map(len, models))
        if n_cells * n_classes > MOST_CELLS or n_cells * n_leaves > MOST_STEPS:
            raise SearchTooLargeError(
                f"the models distinguish {n_cells:,} patterns of {n_classes} classes, in {n_leaves:,} leaves; at most "
                f"{MOST_CELLS:,} patterns times classes, and {MOST_STEPS:,} patterns times leaves are searched. Pass "
                "fewer models, or shallower ones.",
                states=n_cells * n_classes,
                evaluations=n_cells * n_leaves,
            )
        bins = np.stack(np.meshgrid(*(bins for bins, _ in groups), indexing="ij"), axis=-1)
        chances = np.zeros((1,))
        for _, shares in groups:
            chances = (chances[:, None] + np.log(shares)).reshape(-1)
        return cls(domain.schema, bins.reshape(-1, len(groups)), chances)

    def __len__(self) -> int:
        return len(self.bins)

    def leaves(self, paths: Paths) -> Index:
        """Return the leaf of each cell in a model, shape ``(n_cells,)``; -1 where it is in none."""
        bins = dict(zip(self.schema.names, self.bins.T, strict=True))
        return first_that_holds(normalised(paths, self.schema).paths, self.schema, bins, len(self))


def _groups(attribute: Attribute, literals: list[Literal], weights: Sequence[int]) -> tuple[Index, Floats]:
    """Return one bin for each group of bins that some literals treat alike, and the group's share of weight."""
    mass = np.array([weight / sum(weights) for weight in weights])
    truths = np.array([attribute.truth(x) for x in literals], dtype=np.int8).reshape(len(literals), len(mass))
    _, own = np.unique(truths.T, axis=0, return_inverse=True)
    own = own.reshape(-1)
    shares = np.bincount(own, mass).astype(np.float64)
    likely = [_likely(attribute, np.flatnonzero(own == group), mass) for group in range(len(shares))]
    return np.array(likely, dtype=np.intp)[shares > 0], shares[shares > 0]


def _likely(attribute: Attribute, bins: Index, mass: Floats) -> int:
    """Return the bin to guess in a group: that of the median of numbers, the most probable one of other values."""
    below = np.cumsum(mass[bins])
    if bins[-1] < attribute.n_ordered:
        return int(bins[np.searchsorted(below, below[-1] / 2)])
    return int(bins[np.argmax(mass[bins])])


@dataclass(frozen=True, eq=False)
class SolverResult:
    """The most likely table that the solver has found."""

    rows: Integers  # rows of each class in each cell
    is_optimal: bool  # whether no table is more likely
    gap: float  # by how much the log-likelihood of another table can be larger, at most
    seconds: float  # how long it took


@dataclass(frozen=True)
class SolverSettings:
    """Limits of the solver: `seconds` at most, in `n_jobs` threads (0: all processors), from the seed `seed`."""

    seconds: float
    n_jobs: int
    seed: int


def most_likely(
    cells: Cells,
    evidence: Sequence[Evidence],
    classes: tuple[Any, ...] | None,
    rows: tuple[int, int],
    settings: SolverSettings,
    *,
    has_prior: bool,
) -> SolverResult:
    """Return the likeliest table of so many rows; a prior weights it by ``n! Π_j p_j^{n_j} / n_j!``."""
    if find_spec("ortools") is None:
        raise MissingPackageError("Reconstruction by CP-SAT needs OR-Tools: pip install -r lab/requirements.txt.")
    from ortools.sat.python import cp_model

    start = perf_counter()
    program = Program(cp_model.CpModel(), rows, max([1.0, *(item.scale for item in evidence if item.scale)]))
    names = (None,) if classes is None else classes
    variables = [[program.number(0) for _ in names] for _ in range(len(cells))]
    low, high = rows
    program.model.add_linear_constraint(program.total(list(chain.from_iterable(variables))), low, high)
    for item in evidence:
        _add_evidence(program, item, names, variables, cells.leaves(item.paths))
    if has_prior:
        relative = cells.log_chances - cells.log_chances.max()  # the number of rows is known, so this adds a constant
        for own, chance in zip(variables, relative.tolist(), strict=True):
            for number in own:
                program.add_loss(number, 0, partial(_surprisal, chance))
    if program.losses:
        program.model.minimize(program.total(program.losses))
    return _solved(cp_model, program, variables, settings, start)


class Program:
    """A program of CP-SAT over numbers of rows, with a sum of convex losses to minimise."""

    def __init__(self, model: Any, rows: tuple[int, int], largest_scale: float) -> None:
        self.model, self.rows, self.unit = model, rows, _UNIT * largest_scale
        self.losses: list[Any] = []

    def number(self, low: int) -> Any:
        return self.model.new_int_var(low, self.rows[1], "")

    @staticmethod
    def total(numbers: Sequence[Any]) -> Any:
        from ortools.sat.python import cp_model

        return cp_model.LinearExpr.sum(list(numbers))

    def add_loss(self, number: Any, low: int, loss: Callable[[int], float], *, corner: int | None = None) -> None:
        """Add a convex loss of a number that is at least `low`; it is linear on either side of `corner`, if given."""
        high = self.rows[1]
        ends = _whole_numbers(low, high, loss) if corner is None else sorted({low, min(max(corner, low), high), high})
        values = [round(self.unit * loss(n)) for n in ends]
        bound = self.model.new_int_var(min(values), max(values), "")
        for (n, value), (after, value_after) in pairwise(zip(ends, values, strict=True)):
            width, rise = after - n, value_after - value
            self.model.add(width * bound >= rise * number + width * value - rise * n)
        self.losses.append(bound)


def _whole_numbers(low: int, high: int, loss: Callable[[int], float]) -> list[int]:
    """Return whole numbers between which chords, half their width times the slopes' difference off, err by `_OFF`."""
    result = [low]
    while result[-1] < high:
        start, width = result[-1], 1
        slope = loss(start + 1) - loss(start)
        while start + 2 * width < high:
            end = start + 2 * width
            if width * (loss(end) - loss(end - 1) - slope) / 2 > _OFF:
                break
            width *= 2
        result.append(start + width)
    return result


def _add_evidence(
    program: Program, one: Evidence, names: tuple[Any, ...], variables: list[list[Any]], leaves: Index
) -> None:
    own = (None,) if one.classes is None else one.classes
    places = [range(len(names)) if name is None else [names.index(name)] for name in own]
    absent = [k for k in range(len(names)) if not any(k in place for place in places)]
    for leaf, counts in enumerate(one.numbers.tolist()):
        members = np.flatnonzero(leaves == leaf)
        sums = [program.total([variables[j][k] for j in members for k in place]) for place in places]
        if one.is_exact:
            for number, count in zip(sums, counts, strict=True):
                program.model.add(number == count)
        elif one.scale is not None:
            for number, count in zip(sums, counts, strict=True):
                _add_noisy(program, number, count, one.scale)
        elif one.distinct is not None:
            _add_drawn(program, sums, counts, int(one.distinct[leaf]))
    if one.is_exact and absent:
        program.model.add(program.total([own[k] for own in variables for k in absent]) == 0)


def _add_noisy(program: Program, total: Any, count: int, scale: float) -> None:
    """Add a count with Laplace noise: minus its log-likelihood is ``|noise| / scale``, up to a constant."""
    number = program.number(0)
    program.model.add(number == total)
    program.add_loss(number, 0, lambda n: abs(n - count) / scale, corner=count)


def _add_drawn(program: Program, totals: Sequence[Any], draws: Sequence[int], distinct: int) -> None:
    """Add a leaf of a bootstrap: k draws of n rows have likelihood n^k, of d of one class ``n! / (n - d)!``."""
    numbers: list[Any] = []
    for total, k in zip(totals, draws, strict=True):
        if k == 0:
            continue
        low = max(1, distinct - sum(draws) + k)
        if low > program.rows[1]:
            raise ArgumentError("expected a table of as many rows as were drawn at least, got fewer `rows`.")
        number = program.number(low)
        program.model.add(number == total)
        is_pure = k == sum(draws)
        program.add_loss(number, low, partial(_pure if is_pure else _mixed, distinct if is_pure else k))
        numbers.append(number)
    if len(numbers) > 1:
        program.model.add(program.total(numbers) >= distinct)


def _pure(distinct: int, n: int) -> float:
    return lgamma(n - distinct + 1) - lgamma(n + 1)


def _mixed(draws: int, n: int) -> float:
    return -draws * log(n)


def _surprisal(log_chance: float, n: int) -> float:
    return lgamma(n + 1) - n * log_chance


def _solved(
    cp_model: Any, program: Program, variables: list[list[Any]], settings: SolverSettings, start: float
) -> SolverResult:
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = settings.seconds
    solver.parameters.num_workers = settings.n_jobs
    solver.parameters.random_seed = settings.seed
    status = solver.solve(program.model)
    if status == cp_model.INFEASIBLE:
        problem = "no table of the schema has the counts of these models; check the schema, the columns (`features=`)"
        raise ArgumentError(f"{problem}, the number of rows, and that all models are of one table.")
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        problem = f"expected to find a table within {settings.seconds:g} s, found none"
        raise ArgumentError(f"{problem}; allow more `seconds`, or pass fewer models.")
    rows = np.array([[solver.value(variable) for variable in own] for own in variables], dtype=np.int64)
    gap = max(solver.objective_value - solver.best_objective_bound, 0.0) / program.unit
    return SolverResult(rows, status == cp_model.OPTIMAL, gap, perf_counter() - start)
