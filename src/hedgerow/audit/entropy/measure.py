"""How much a released model tells of its training rows, by counting the tables that are still possible."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from math import isnan, log2, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from hedgerow.audit.counting.bin_sizes import Resolution
from hedgerow.audit.counting.regions import Region, worlds_of
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.entropy.prior import Marginals, Prior
from hedgerow.audit.entropy.result import Reconstruction
from hedgerow.audit.inference.leaves import released_model
from hedgerow.audit.readers.paths import HasRegions, Paths
from hedgerow.audit.readers.read import Features, paths_of
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.guard import guarded
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

_Index = NDArray[np.intp]


def reconstruction(
    model: Any,
    schema: Schema | None = None,
    *,
    supports: Sequence[int] | None = None,
    data: Any = None,
    independent_bits: bool = False,
    resolution: Resolution | None = None,
    prior: Marginals | None = None,
    features: Features | None = None,
) -> Reconstruction:
    """Measure how much a model tells of its training rows, by counting the rows that each of its regions can hold.

    A row that is known to lie in region j can be any of its ``worlds_j`` rows, all equally likely; the rows of a table
    are independent. The table's entropy is then ``H = Σ_j C_j · log2 worlds_j`` (PDR eq. 11 for trees, 16 for rule
    lists), and its uncertainty, ``Dist_G = H / (n · log2 worlds of the domain)``, the share of entropy that is left.

    Without `data` nothing here looks at a row: the result follows from what was released. **With data it is
    private**: an exact function of the rows.

    Parameters
    ----------
    model : RuleList, Tree, fitted estimator, or anything with ``regions()`` and ``supports``
        The model: hedgerow's, a decision tree of scikit-learn, or one of the others that `TypeError` lists.
    schema : Schema, optional
        What values each attribute can have. Default: the model's own, if it is hedgerow's. Numbers that the model
        compares with need not be among its cut points.
    supports : sequence of int, optional
        Rows in each region, in the model's order. Default: those that the model tells, released ones as they are, but
        not below 0, nor where no row can be: the view of whoever reads the model. Those of a tree that takes copies
        for rows are named weighted.
    data : frame, array or Tally, optional
        The rows of the table, with the schema's columns: supports are counted from them (the curator's view), and
        each row's exposure can be asked for. A tally of them, counted on the schema wherever they are, will do.
    independent_bits : bool, default=False
        Take each category and each cut point for a column of 0 and 1 of its own, all combinations possible, as PDR
        does. A category of 7 values is then ``2**7`` worlds and not 7.
    resolution : mapping of str to float, optional
        For real attributes, the step in which they are recorded. Without one, a real attribute has one value a bin.
    prior : mapping, optional
        For some attributes, the public probability of each bin, in order or under its name. A row is then not any
        row of its region alike, and its entropy takes the place of the logarithm of the number of worlds.
    features : sequence of str or Literal, or fitted transformer, optional
        For models on arrays: what each column is. Default: the names that the model was fitted with, or the schema's
        attributes in order. A `Literal` is a column that is 1 where it holds and else 0. A fitted transformer of
        scikit-learn says what it makes of the attributes; a fitted ``Pipeline`` as the model says so itself.

    Returns
    -------
    Reconstruction
        The uncertainty, entropies, and each region's worlds, bits and support; `plot()` draws the exposure of rows.

    Raises
    ------
    TypeError
        If the model is none of those supported.
    SchemaError
        If the schema lacks an attribute that the model uses, or the model compares with a number outside its bounds.
    DomainError
        If the data hold values that the schema does not allow.
    ValueError
        If there are no supports, or they are not one whole number from 0 on a region that sum to the rows there are; or
        if another library's model tells exactly how many rows came to each region, as many in all as the data have, and
        they are not there.

    References
    ----------
    Ferry, Aïvodji, Gambs, Huguet and Siala (PDR), *Probabilistic Dataset Reconstruction from Interpretable Models*,
    2024: Definitions 2 and 4, eq. 2 to 16.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> clf = hr.OptimalTreeClassifier(schema=data.schema, max_depth=2).fit(data.frame, data.labels)
    >>> found = hr.audit.reconstruction(clf)
    >>> print(found.summary)
    Before the model is read, ...
    """
    paths, schema = paths_of(model, schema, features)
    domain = Domain.of(schema, paths.literals, independent_bits=independent_bits, resolution=resolution)
    paths = domain.settled(paths)
    regions = domain.regions(paths)
    weighed = _weighed(regions, schema, domain, prior)
    if sum(weighed[0]) != domain.worlds:
        advice = "count attributes, not independent bits" if independent_bits else "its last one must hold all others"
        raise ArgumentError(f"the model's regions do not share out the rows of the domain; {advice}.")
    places = None if data is None else paths.sort(data, domain.schema)
    counts = data.rows() if isinstance(data, Tally) else None
    if places is not None and _is_of_others(model):
        _check_told(
            paths, places, counts, are_steps_read=isinstance(model, Pipeline) or isinstance(features, BaseEstimator)
        )
    counted, view = _supports(paths, supports, places, counts, weighed[1])
    conditions = paths.conditions(domain.schema)
    return Reconstruction(
        schema, domain, conditions, regions, weighed[0], weighed[1], counted, view, weighed[2], places, data, counts
    )


def joint_reconstruction(
    models: Sequence[Any],
    data: Any,
    schema: Schema | None = None,
    *,
    independent_bits: bool = False,
    resolution: Resolution | None = None,
    prior: Marginals | None = None,
) -> Reconstruction:
    """Measure how much several models of the same table tell together, to someone who knows which row is which in each.

    A row that lies in region i of one model and in region j of another lies in both: its worlds are those that the two
    have in common. Knowing which row is which is the most that a reader of all models could know (PDR, Section VI,
    leaves finding it out open). **The result is private**: an exact function of the rows.

    Parameters
    ----------
    models : sequence of models
        Two or more, each as for `reconstruction`.
    data : frame, array or Tally
        The rows, with the schema's columns, or a tally of them on the schema.
    schema, independent_bits, resolution, prior
        As for `reconstruction`. Models of hedgerow must have one schema, or `schema` must be given.

    Raises
    ------
    TypeError, SchemaError, DomainError, ValueError
        As `reconstruction` does; ValueError also if there is no model, or they have different schemas.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> models = [
    ...     hr.OptimalTreeClassifier(schema=data.schema, max_depth=depth).fit(data.frame, data.labels)
    ...     for depth in (1, 2)
    ... ]
    >>> both = hr.audit.joint_reconstruction(models, data.frame)
    >>> both.uncertainty <= min(hr.audit.reconstruction(model).uncertainty for model in models)
    True
    """
    several = guarded(lambda: list(models), ArgumentTypeError("expected models to be a sequence of models."))
    read = [paths_of(model, schema) for model in several]
    if not read or any(own != read[0][1] for _, own in read):
        raise ArgumentError("expected one model or more, on one schema; give `schema` where they have different ones.")
    schema = read[0][1]
    literals = chain.from_iterable(paths.literals for paths, _ in read)
    domain = Domain.of(schema, literals, independent_bits=independent_bits, resolution=resolution)
    settled = [domain.settled(paths) for paths, _ in read]
    leaves = np.column_stack([paths.sort(data, domain.schema) for paths in settled])
    rows = data.rows() if isinstance(data, Tally) else None
    for model, paths, places in zip(several, settled, leaves.T, strict=True):
        if _is_of_others(model):
            _check_told(paths, places, rows, are_steps_read=isinstance(model, Pipeline))
    met, places = np.unique(leaves, axis=0, return_inverse=True)
    counts = np.bincount(places.reshape(-1), rows)
    own = [domain.regions(paths) for paths in settled]
    regions = tuple(_common([one[j] for one, j in zip(own, leaf, strict=True)]) for leaf in met.tolist())
    words = [paths.conditions(domain.schema) for paths in settled]
    conditions = tuple("; ".join(w[j] for w, j in zip(words, leaf, strict=True)) for leaf in met.tolist())
    worlds, bits, prior_bits = _weighed(regions, schema, domain, prior)
    supports = tuple(map(int, counts))
    return Reconstruction(
        schema, domain, conditions, regions, worlds, bits, supports, "data", prior_bits, places.reshape(-1), data, rows
    )


def _common(regions: Sequence[Region]) -> Region:
    """Return the rows that lie in all of some regions."""
    return reduce(
        lambda one, other: Region(
            tuple(a & b for a, b in zip(one.box, other.box, strict=True)), (*one.earlier, *other.earlier)
        ),
        regions,
    )


def _weighed(
    regions: Sequence[Region], schema: Schema, domain: Domain, prior: Marginals | None
) -> tuple[tuple[int, ...], tuple[float, ...], float | None]:
    """Return the worlds of each region, the entropy of a row there, and that of a row before, if there is a prior."""
    worlds = worlds_of(regions, domain.weights)
    if prior is None:
        return worlds, tuple(log2(count) if count else nan for count in worlds), None
    known = Prior.of(prior, schema, domain)
    return worlds, tuple(map(known.entropy_bits, regions)), known.bits


def _supports(
    paths: Paths,
    given: Sequence[int] | None,
    places: _Index | None,
    counts: NDArray[np.int64] | None,
    bits: Sequence[float],
) -> tuple[tuple[int, ...], str]:
    """Return the rows of each region, and where they are from."""
    counted = None if places is None else _counted(paths, places, counts)
    if given is not None:
        checked = _whole(given, len(paths))
        known = sum(counted) if counted is not None else sum(paths.supports) if paths.supports and paths.exact else None
        if known is not None and sum(checked) != known:
            raise ArgumentError(f"expected supports that sum to the {known} rows there are, got {sum(checked)}.")
        return checked, "given"
    if counted is not None:
        return counted, "data"
    if paths.supports is None:
        raise ArgumentError("the model tells no supports; give them (supports=...), or the rows (data=...).")
    if paths.exact:
        return _whole(paths.supports, len(paths)), "exact"
    return tuple(0 if isnan(left) else max(n, 0) for n, left in zip(paths.supports, bits, strict=True)), paths.view


def _counted(paths: Paths, places: _Index, counts: NDArray[np.int64] | None) -> tuple[int, ...]:
    return tuple(map(int, np.bincount(places, counts, minlength=len(paths))))


def _is_of_others(model: Any) -> bool:
    """Return whether a model speaks of columns, and not of the schema's attributes."""
    return released_model(model) is None and not isinstance(model, HasRegions)


def _check_told(paths: Paths, places: _Index, counts: NDArray[np.int64] | None, *, are_steps_read: bool) -> None:
    """Raise ValueError if another library's model tells of as many rows, but of others in some region, than there are.

    Models of hedgerow, and those with regions of literals, speak of attributes, and can be asked about other rows.
    """
    told, counted = paths.supports if paths.exact else None, _counted(paths, places, counts)
    if told is not None and sum(told) == sum(counted) and tuple(told) != counted:
        cause = (
            "the steps were fitted on other values of them, such as float32; fit on float64, as the rows are"
            if are_steps_read
            else "its columns are not what they are called: an encoder or a scaler that keeps names made them of the "
            "attributes; give the whole Pipeline, or the fitted transformer (features=...)"
        )
        raise ArgumentError(
            "expected the rows that the model was fitted on, got as many, but the model tells other numbers of them in "
            f"its regions. If the rows are right, {cause}. If they are other rows, tell how many of them lie in each "
            "region (supports=...) and leave out the data."
        )


def _whole(supports: Sequence[int], expected: int) -> tuple[int, ...]:
    problem = ArgumentTypeError("expected supports to be a sequence of whole numbers, one for each region.")
    values = guarded(lambda: list(supports), problem)
    if len(values) != expected:
        raise ArgumentError(f"expected one support for each of {expected} regions, got {len(values)}.")
    if not all(
        isinstance(n, (int, np.integer, float, np.floating)) and n >= 0 and float(n).is_integer() for n in values
    ):
        raise ArgumentError("expected whole numbers of rows from 0 on.")
    return tuple(map(int, values))
