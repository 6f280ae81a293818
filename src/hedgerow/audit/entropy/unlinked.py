"""Residual entropy given several models of one table whose rows are not linked across models, by maximum entropy."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf, log
from textwrap import fill
from typing import Any

import numpy as np
from scipy import optimize, sparse

from hedgerow.audit.counting.bin_values import Resolution
from hedgerow.audit.counting.outside import PerBin
from hedgerow.audit.counting.regions import Region, count_rows_each
from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.entropy.measure import listed_models, paths_of_several, reconstruction_of
from hedgerow.audit.entropy.result import Reconstruction
from hedgerow.audit.readers.ensembles import final_model, is_bootstrapped, members
from hedgerow.audit.readers.paths import Paths
from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.errors import ArgumentError
from hedgerow.models.released import released_model
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import aligned

MOST_CELLS = 100_000  # largest number of intersections of regions
_MOST_ROWS = 10**15  # linear programming in double precision needs fewer rows
_MOST_SWEEPS = 20_000
_MOST_UPDATES = 100_000_000  # of cells and classes, over all sweeps
_LEAST_PROGRESS = 1e-10  # nats per row; a sweep with less progress is the last


@dataclass(frozen=True, repr=False, eq=False)
class UnlinkedReconstruction:
    """Residual entropy of the training rows of several models, if rows are not linked across models.

    Attributes
    ----------
    alone : tuple of Reconstruction
        The result for each model without the other models, on the common domain.
    cells : tuple of tuple of int
        The intersections of regions that have a possible row: the index of the region in each model.
    possible_rows : tuple of int
        The number of possible rows in each cell.
    classes : tuple, optional
        The classes whose counts were used; None if only the number of rows in each region was used.
    expected_rows : ndarray, shape (n_cells, n_classes)
        The number of rows in each cell in the distribution of maximum entropy, which is not a whole number. A row of
        class y in region i of model m lies in a cell with probability ``expected_rows[cell, y] / C_m[i, y]``, and
        there it is uniform.
    entropy_bits : tuple of float
        For each model, the residual entropy of the table in bits, given the region **in this model** of each row, the
        class of each row, and the counts of all models.
    unplaced_bits : float
        The residual entropy of the ordered table in bits if no region of a row is known. If class counts were used, the
        class of each row is known.
    """

    alone: tuple[Reconstruction, ...]
    cells: tuple[tuple[int, ...], ...]
    possible_rows: tuple[int, ...]
    classes: tuple[Any, ...] | None
    expected_rows: Floats
    entropy_bits: tuple[float, ...]
    unplaced_bits: float

    @property
    def domain(self) -> Domain:
        """The possible rows without any model."""
        return self.alone[0].domain

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.alone[0].n_rows

    @property
    def uncertainties(self) -> tuple[float, ...]:
        """Dist_G for each model: `entropy_bits` divided by the entropy without any model."""
        return tuple(bits / (self.n_rows * self.domain.bits) for bits in self.entropy_bits)

    @property
    def gains(self) -> tuple[float, ...]:
        """The bits per row that the other models add to each model."""
        both = zip(self.alone, self.entropy_bits, strict=True)
        return tuple((alone.entropy_bits - bits) / self.n_rows for alone, bits in both)

    def __str__(self) -> str:
        lines = [["model", "regions", "Dist_G alone", "Dist_G with all models", "gain (bits per row)"]]
        for place, alone in enumerate(self.alone):
            numbers = f"{alone.uncertainty:.3f}", f"{self.uncertainties[place]:.3f}", f"{self.gains[place]:.3f}"
            lines.append([str(place + 1), str(len(alone.regions)), *numbers])
        knowledge = "The region of each row is known in one model, and rows are not linked across models."
        used = "" if self.classes is None else " The class of each row is known."
        return "\n".join([*aligned(lines, left=1), "", fill(knowledge + used, 110)])

    def __repr__(self) -> str:
        lowest = min(self.uncertainties)
        return f"<UnlinkedReconstruction: Dist_G = {lowest:.3f} of {self.n_rows} rows, {len(self.alone)} models>"


def unlinked_reconstruction(
    models: Sequence[Any],
    schema: Schema | None = None,
    *,
    independent_bits: bool = False,
    resolution: Resolution | None = None,
) -> UnlinkedReconstruction:
    """Measure how much several models of the same table disclose together, if their rows are not linked.

    The reader of the models knows their regions and exact leaf counts, but not which row in a leaf of one model is
    which row in a leaf of another. The result is computed from the models alone and is as public as they are.
    `joint_reconstruction` measures the stronger attacker who can link the rows, and needs them.

    Among all distributions with the counts of all models, the distribution of maximum entropy is chosen by iterative
    proportional fitting. It excludes no table that has these counts, and each of these tables has the same probability
    (Csiszár, 1975). Therefore the entropy is the logarithmic loss of the true table, whatever the true table is, and it
    is never larger than the entropy given one of the models. It exceeds the logarithm of the number of possible tables
    by a number of bits that grows only with the logarithm of the number of rows.

    The fit converges slowly if the counts imply that possible intersections are empty, and stops after a limited number
    of steps. The entropy remains an upper bound of the logarithm of the number of possible tables, and `expected_rows`
    has the counts approximately.

    Class counts by leaf are used if all models store them for the same classes. If the models predict different labels
    of the same rows, only the number of rows in each leaf is used. Labels are different if their columns have different
    names, or if their classes have different numbers of rows. Models of other libraries have no names of labels.

    Parameters
    ----------
    models : sequence of models
        Models as for `reconstruction`, on the same schema, that store exact leaf counts of the same rows. An ensemble
        of scikit-learn stands for all of its trees, which must be fitted on all rows (``bootstrap=False``).
    schema, independent_bits, resolution
        As for `reconstruction`, with the same errors.

    Raises
    ------
    ValueError
        If trees of an ensemble were fitted on samples of the rows, if a model does not store exact counts of all
        leaves, if the numbers of rows differ or exceed 10^15, if no distribution of rows has the counts of all models,
        or if the regions have more than 100,000 intersections. Noisy counts of several models have no common table.

    References
    ----------
    Ferry, Aïvodji, Gambs, Huguet and Siala (PDR), *Probabilistic Dataset Reconstruction from Interpretable Models*,
    2024, Section VI. Csiszár, *I-divergence geometry of probability distributions and minimization problems*, 1975.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> learners = [hr.OptimalTreeClassifier(schema=data.schema, max_depth=depth) for depth in (1, 2)]
    >>> models = [learner.fit(data.frame, data.labels) for learner in learners]
    >>> print(hr.audit.unlinked_reconstruction(models))
    model  regions  Dist_G alone  Dist_G with all models  gain (bits per row)
    ...
    """
    several = listed_models(models)
    _check_samples(several)
    sources, all_paths, schema = paths_of_several(several, schema)
    literals = chain.from_iterable(paths.literals for paths in all_paths)
    domain = Domain.of(schema, literals, independent_bits=independent_bits, resolution=resolution)
    refined = [normalised(paths, domain.schema) for paths in all_paths]
    alone = tuple(reconstruction_of(paths, schema, domain, steps=None) for paths in refined)
    counts, classes = _counts(refined, alone, labels={_label(model) for model, _ in sources} - {None})
    cells, possible = _intersections([model.regions for model in alone], domain.weights)
    leaves = np.array(cells, dtype=np.intp).T
    _check_common_table(leaves, counts)
    expected, nats = _fitted(leaves, [log(rows) - log(domain.possible_rows) for rows in possible], counts)
    rest = alone[0].n_rows * domain.bits - nats / log(2)
    both = zip(alone, counts, strict=True)
    entropies = tuple(min(rest + _sum_of_logs(own), model.entropy_bits) for model, own in both)
    unplaced = rest + _sum_of_logs(counts[0].sum(axis=0))
    return UnlinkedReconstruction(alone, cells, possible, classes, expected, entropies, unplaced)


def _label(model: Any) -> str | None:
    """Return the name of the column that a released model predicts; None if it is unknown."""
    released = released_model(model)
    return None if released is None or released.schema.label is None else released.schema.label.name


def _check_samples(models: Sequence[Any]) -> None:
    """Raise ArgumentError for an ensemble whose trees have different samples of the rows."""
    for model in models:
        ensemble = final_model(model)[1]
        if members(ensemble) and is_bootstrapped(ensemble):
            problem = (
                "the models must be learned from the same rows, but the trees of this ensemble have samples of them"
            )
            raise ArgumentError(f"{problem}; fit the {type(ensemble).__name__} without bootstrap and on all rows.")


def _counts(
    models: Sequence[Paths], alone: Sequence[Reconstruction], labels: Collection[str | None]
) -> tuple[tuple[Integers, ...], tuple[Any, ...] | None]:
    """Return the rows of each class in each region, or all rows, by model; the totals of all models are equal."""
    rows = [model.n_rows for model in alone]
    for place, model in enumerate(alone, start=1):
        if model.view != "exact":
            problem = f"the models must store exact leaf counts, but the counts of model {place} are {model.view}"
            raise ArgumentError(f"{problem}; no table has noisy or weighted counts of several models.")
        if rows[place - 1] != rows[0]:
            problem = "the models must be learned from the same rows, but have different numbers of rows"
            advice = (
                "If the models are editions of nearly the same table, compare their counts: hedgerow report OLD NEW."
            )
            numbers = f"{rows[0]} in model 1, and {rows[place - 1]} in model {place}"
            raise ArgumentError(f"{problem}: {numbers}. {advice}")
    if rows[0] > _MOST_ROWS:
        raise ArgumentError("models of more than 10^15 rows are not supported; pass models of fewer rows.")
    classes = models[0].classes
    by_class = [np.array(model.counts) for model in models if model.counts and None not in model.counts]
    is_complete = len(by_class) == len(models) and classes is not None and all(m.classes == classes for m in models)
    if is_complete and len(labels) < 2 and all((own.sum(axis=0) == by_class[0].sum(axis=0)).all() for own in by_class):
        return tuple(by_class), classes
    return tuple(np.array(model.supports)[:, None] for model in alone), None


def _intersections(
    regions: Sequence[Sequence[Region]], weights: PerBin
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Return the combinations of regions, one of each model, that have a possible row, and their possible rows."""
    combined: list[tuple[tuple[int, ...], Region | None]] = [((), None)]
    possible: tuple[int, ...] = ()
    for own in regions:
        if len(combined) * len(own) > MOST_CELLS:
            raise ArgumentError(
                f"the regions have more than {MOST_CELLS:,} intersections; pass fewer or smaller models."
            )
        product = [
            ((*cell, place), region if whole is None else whole & region)
            for cell, whole in combined
            for place, region in enumerate(own)
        ]
        rows = count_rows_each([region for _, region in product], weights)
        combined = [item for item, count in zip(product, rows, strict=True) if count]
        possible = tuple(filter(None, rows))
    return tuple(cell for cell, _ in combined), possible


def _check_common_table(leaves: Index, counts: Sequence[Integers]) -> None:
    """Raise ArgumentError if no distribution of rows over the cells has the counts of all models."""
    n_cells = leaves.shape[1]
    sums = [
        sparse.csr_matrix((np.ones(n_cells), (own, np.arange(n_cells))), (len(rows), n_cells))
        for own, rows in zip(leaves, counts, strict=True)
    ]
    for limits in np.concatenate(counts).T:
        solution = optimize.linprog(np.zeros(n_cells), A_eq=sparse.vstack(sums), b_eq=limits, method="highs")
        if not solution.success:
            raise ArgumentError("no table has the leaf counts of all models; pass models of the same rows.")


def _fitted(leaves: Index, log_masses: Sequence[float], counts: Sequence[Integers]) -> tuple[Floats, float]:
    """Return the expected rows of each cell and class by iterative proportional fitting.

    Expected rows are ``mass · Π_m exp(potential of the region of model m)``. The second result is the sum of all
    potentials, each weighted by its count.
    """
    with np.errstate(divide="ignore"):
        targets = [np.log(own) for own in counts]
    orders = [np.argsort(own, kind="stable") for own in leaves]
    ends = [np.unique(own[order], return_index=True) for own, order in zip(leaves, orders, strict=True)]
    models = list(zip(leaves, orders, ends, counts, targets, strict=True))
    logs = np.repeat(np.array(log_masses)[:, None], counts[0].shape[1], axis=1)
    total, least = 0.0, _LEAST_PROGRESS * counts[0].sum()
    for _ in range(min(_MOST_SWEEPS, max(_MOST_UPDATES // (logs.size * len(models)), 1))):
        before = total
        for own, order, (occupied, starts), rows, target in models:
            sums = np.logaddexp.reduceat(logs[order], starts, axis=0)
            empty = np.isneginf(target[occupied])
            step = np.zeros(rows.shape)
            step[occupied] = np.where(empty, -inf, target[occupied] - np.where(empty, 0.0, sums))
            logs += step[own]
            total += _weighted(rows, step)
        if total - before <= least:
            break
    return np.exp(logs), total


def _weighted(counts: Integers, values: Floats) -> float:
    used = counts > 0
    return float((counts[used] * values[used]).sum())


def _sum_of_logs(counts: Integers) -> float:
    """Return ``Σ count · log2 count``."""
    return _weighted(counts, np.log2(np.maximum(counts, 1)))
