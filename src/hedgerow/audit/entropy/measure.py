"""Residual entropy by possible rows: of the rows given a model, and of a row given its total on a scorecard."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import chain
from math import isnan, log2, nan
from operator import and_
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from hedgerow.audit.counting.bin_values import Resolution, bin_weights
from hedgerow.audit.counting.regions import Region, count_rows_each
from hedgerow.audit.entropy.domain import AttributeMarginals, Domain, RowPrior, normalised
from hedgerow.audit.entropy.result import Reconstruction, count_text
from hedgerow.audit.inference.count_comparison import CountComparison, compare_counts
from hedgerow.audit.readers.columns import Features
from hedgerow.audit.readers.ensembles import final_model, members, trees_of
from hedgerow.audit.readers.paths import HasRegions, Paths
from hedgerow.audit.readers.read import paths_of
from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.released import released_model, released_scorecard
from hedgerow.models.scorecard import Scorecard
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally


def reconstruction(
    model: Any,
    schema: Schema | None = None,
    *,
    supports: Sequence[int] | None = None,
    data: Any = None,
    independent_bits: bool = False,
    resolution: Resolution | None = None,
    prior: AttributeMarginals | None = None,
    features: Features | None = None,
) -> Reconstruction:
    """Measure how much a model discloses about its training rows, by counting the possible rows of its regions.

    A row in region j is one of the region's ``R_j`` possible rows, all equally likely; the rows of a table are
    independent. The residual entropy of the table, given n and which row is in which region, is then ``H = Σ_j C_j ·
    log2 R_j`` (PDR eq. 11 for trees, 16 for rule lists), and its uncertainty ``Dist_G = H / (n · log2 R)``, where the
    domain has R possible rows. `Reconstruction.unplaced_bits` is the entropy where the places are unknown, too.

    Without `data` no row is read: the result follows from what was released. **With data it is private**: an exact
    function of the rows.

    Parameters
    ----------
    model : RuleList, Tree, fitted estimator, or anything with ``regions()`` and ``supports``
        The model: hedgerow's, a decision tree of scikit-learn, or one of the others that `TypeError` lists.
    schema : Schema, optional
        The values that each attribute can have. Default: the model's own, if it is hedgerow's. Numbers that the model
        compares with need not be among its cut points.
    supports : sequence of int, optional
        Rows in each region, in the model's order. Default: the leaf counts that the model stores. Released noisy
        counts are used as they are, but negative ones are 0, and so are those of regions without a possible row: the
        view of a reader of the model. Those of a tree that counts copies as rows are named weighted.
    data : frame, array or Tally, optional
        The rows of the table, or a tally of them on the schema: supports are counted from them (the curator's view),
        and results by row are available.
    independent_bits : bool, default=False
        Take each category and each cut point for a column of 0 and 1 of its own, all combinations possible, as PDR
        does. A category of 7 values then has ``2**7`` possible values and not 7.
    resolution : mapping of str to float, optional
        For real attributes, the step to which they are recorded. Without one, a real attribute has one value a bin.
    prior : mapping, optional
        For some attributes, the public probability of each bin, in order or by name. The possible rows of a region
        are then not equally likely, and the entropy replaces the logarithm of their number.
    features : sequence of str or Literal, or fitted transformer, optional
        For models on arrays: the meaning of each column. Default: the names that the model was fitted with, or the
        schema's attributes in order. A `Literal` is a column that is 1 where it holds and else 0. A fitted transformer
        of scikit-learn defines the columns that it outputs; with a fitted ``Pipeline`` as the model, its own steps do.

    Raises
    ------
    TypeError, SchemaError, DomainError
        If the model is none of those supported, the schema lacks what it uses, or the data hold values beyond it.
    ValueError
        If there are no supports, or they are not one whole number of at least 0 a region that sum to the number of
        rows; or if a model stores exact leaf counts with the same sum as the data, and the data have other counts.

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
    Without the model, ...
    """
    paths, schema = paths_of(model, schema, features)
    domain = Domain.of(schema, paths.literals, independent_bits=independent_bits, resolution=resolution)
    refined = normalised(paths, domain.schema)
    steps = are_steps_read(model, features)
    return reconstruction_of(
        refined, schema, domain, supports=supports, data=data, prior=prior, steps=steps, compared=model
    )


def reconstruction_of(
    paths: Paths,
    schema: Schema,
    domain: Domain,
    *,
    supports: Sequence[int] | None = None,
    data: Any = None,
    prior: AttributeMarginals | None = None,
    steps: bool | None,
    compared: Any = None,
) -> Reconstruction:
    """Measure as `reconstruction` does, of paths in a domain; `steps` is as `are_steps_read` says of their model.

    A note says if the rows are not those whose counts a `compared` model stores.
    """
    regions = domain.regions(paths)
    possible, bits, prior_bits = _entropies(regions, schema, domain, prior)
    if sum(possible) != domain.possible_rows:
        binary = domain.independent_bits
        advice = "set `independent_bits=False`" if binary else "the last region must hold all remaining rows"
        raise ArgumentError(f"expected regions that partition the domain, got others; {advice}.")
    places = None if data is None else paths.apply(data, domain.schema)
    counts = data.rows() if isinstance(data, Tally) else None
    if places is not None:
        _check_counts(paths, places, counts, steps)
    found, view = _supports(paths, supports, places, counts, bits)
    note = ""
    if places is not None and view == "data" and compared is not None:
        note = _mismatch(compare_counts(compared, paths, places, data))
    words, given = paths.conditions(domain.schema), (places, data, counts)
    return Reconstruction(schema, domain, words, regions, possible, bits, found, view, prior_bits, *given, note=note)


def joint_reconstruction(
    models: Sequence[Any],
    data: Any,
    schema: Schema | None = None,
    *,
    independent_bits: bool = False,
    resolution: Resolution | None = None,
    prior: AttributeMarginals | None = None,
) -> Reconstruction:
    """Measure how much several models of the same table disclose together, if their rows are linked across models.

    A row in region i of one model and in region j of another lies in the intersection of both. Linking the rows is the
    most that a reader of all models could achieve (PDR, Section VI, leaves it open). **The result is private**: an
    exact function of the rows.

    Parameters
    ----------
    models : sequence of models
        One or more, each as for `reconstruction`, on one schema; ValueError if there is none or schemas differ. An
        ensemble of scikit-learn stands for all of its trees.
    data, schema, independent_bits, resolution, prior
        As for `reconstruction`, which has the other errors, too.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> learners = [hr.OptimalTreeClassifier(schema=data.schema, max_depth=depth) for depth in (1, 2)]
    >>> models = [learner.fit(data.frame, data.labels) for learner in learners]
    >>> both = hr.audit.joint_reconstruction(models, data.frame)
    >>> both.uncertainty <= min(hr.audit.reconstruction(model).uncertainty for model in models)
    True
    """
    several = guarded(lambda: list(models), ArgumentTypeError("expected a sequence of models, got no sequence."))
    read = [(*own, are_steps_read(model)) for model in several for own in _each_paths(model, schema)]
    if not read or any(own != read[0][2] for _, _, own, _ in read):
        raise ArgumentError("expected one or more models on one schema; pass `schema` if their own schemas differ.")
    schema = read[0][2]
    literals = chain.from_iterable(paths.literals for _, paths, _, _ in read)
    domain = Domain.of(schema, literals, independent_bits=independent_bits, resolution=resolution)
    comparable = [normalised(paths, domain.schema) for _, paths, _, _ in read]
    leaves = np.column_stack([paths.apply(data, domain.schema) for paths in comparable])
    rows = data.rows() if isinstance(data, Tally) else None
    note = ""
    for (model, _, _, steps), paths, places in zip(read, comparable, leaves.T, strict=True):
        _check_counts(paths, places, rows, steps)
        note = note or _mismatch(compare_counts(model, paths, places, data))
    met, places = np.unique(leaves, axis=0, return_inverse=True)
    places = places.reshape(-1)
    found = tuple(map(int, np.bincount(places, rows)))
    own = [domain.regions(paths) for paths in comparable]
    regions = tuple(_intersection([one[j] for one, j in zip(own, leaf, strict=True)]) for leaf in met.tolist())
    each = [paths.conditions(domain.schema) for paths in comparable]
    words = tuple("; ".join(one[j] for one, j in zip(each, leaf, strict=True)) for leaf in met.tolist())
    possible, bits, prior_bits = _entropies(regions, schema, domain, prior)
    given = places, data, rows
    return Reconstruction(schema, domain, words, regions, possible, bits, found, "data", prior_bits, *given, note=note)


def _mismatch(compared: CountComparison) -> str:
    return compared.sentence if compared.is_mismatch else ""


def _each_paths(model: Any, schema: Schema | None) -> Iterator[tuple[Any, Paths, Schema]]:
    """Yield a model, or each tree of an ensemble, with its decision paths and its schema."""
    if schema is None or not members(final_model(model)[1]):
        yield model, *paths_of(model, schema)
        return
    for tree, features in trees_of(model, schema):
        yield tree, *paths_of(tree, schema, features)


def _intersection(regions: Sequence[Region]) -> Region:
    box = tuple(reduce(and_, masks) for masks in zip(*(region.box for region in regions), strict=True))
    return Region(box, tuple(chain.from_iterable(region.earlier for region in regions)))


def _entropies(
    regions: Sequence[Region], schema: Schema, domain: Domain, prior: AttributeMarginals | None
) -> tuple[tuple[int, ...], tuple[float, ...], float | None]:
    """Return the possible rows of each region, the entropy of a row there, and under the prior alone, if any."""
    possible = count_rows_each(regions, domain.weights)
    if prior is None:
        return possible, tuple(log2(count) if count else nan for count in possible), None
    known = RowPrior.of(prior, schema, domain)
    return possible, tuple(map(known.entropy_bits, regions)), known.bits


def _supports(
    paths: Paths, given: Sequence[int] | None, places: Index | None, counts: Integers | None, bits: Sequence[float]
) -> tuple[tuple[int, ...], str]:
    counted, stored = None if places is None else _counted(paths, places, counts), paths.complete_supports
    if given is not None:
        checked = _whole(given, len(paths))
        known = sum(counted) if counted is not None else sum(stored) if stored and paths.exact else None
        if known is not None and sum(checked) != known:
            raise ArgumentError(f"expected supports that sum to {known}, the number of rows, got {sum(checked)}.")
        return checked, "given"
    if counted is not None:
        return counted, "data"
    if stored is None:
        got = "one without" if paths.supports is None else f"counts of {_known(paths)} of {len(paths)} leaves"
        raise ArgumentError(f"expected a model with counts of every leaf, got {got}; pass `supports=` or `data=`.")
    if paths.exact:
        return _whole(stored, len(paths)), "exact"
    return tuple(0 if isnan(left) else max(n, 0) for n, left in zip(stored, bits, strict=True)), paths.view


def _known(paths: Paths) -> int:
    return sum(rows is not None for rows in paths.supports or ())


def _counted(paths: Paths, places: Index, counts: Integers | None) -> tuple[int, ...]:
    return tuple(map(int, np.bincount(places, counts, minlength=len(paths))))


def are_steps_read(model: Any, features: Features | None = None) -> bool | None:
    """Return whether fitted steps define the columns of a model; None for one on attributes, such as hedgerow's."""
    if released_model(model) is not None or isinstance(model, HasRegions):
        return None
    return isinstance(model, Pipeline) or isinstance(features, BaseEstimator)


def _check_counts(paths: Paths, places: Index, counts: Integers | None, steps: bool | None) -> None:
    """Refuse rows as many as a model stores exact leaf counts of, but with other counts."""
    stored, counted = paths.complete_supports if paths.exact else None, _counted(paths, places, counts)
    if stored is not None and sum(stored) == sum(counted) and tuple(stored) != counted:
        cause = (
            "the steps were fitted on other values, such as float32; fit on float64, like the rows"
            if steps
            else "its file was edited, or its counts have noise that it does not name"
            if steps is None
            else "its columns are not what their names say: an encoder or a scaler that keeps names computed them from "
            "the attributes; pass the whole Pipeline, or the fitted transformer as `features=`"
        )
        problem = "expected the training rows, got as many rows, but with other leaf counts than the model stores"
        advice = "If they are other rows, pass their leaf counts as `supports=` and leave out `data`."
        raise ArgumentError(f"{problem}. If the rows are right, {cause}. {advice}")


def _whole(supports: Sequence[int], expected: int) -> tuple[int, ...]:
    problem = ArgumentTypeError("expected a sequence of whole numbers as supports, one for each region.")
    values = guarded(lambda: list(supports), problem)
    if len(values) != expected:
        raise ArgumentError(f"expected one support for each of {expected} regions, got {len(values)}.")
    if not all(
        isinstance(n, (int, np.integer, float, np.floating)) and n >= 0 and float(n).is_integer() for n in values
    ):
        raise ArgumentError("expected whole numbers of at least 0 as supports, got others.")
    return tuple(map(int, values))


MOST_TOTALS = 2**20  # the most different totals that are counted
PointTotal = tuple[int, ...]


@dataclass(frozen=True, repr=False)
class TotalEntropy:
    """The residual entropy of a row, given its total on a scorecard. It follows from the scorecard alone.

    `rows_by_total` is how many rows of the domain have each total: one number for two classes, else one for each.

    Examples
    --------
    >>> from hedgerow.models import AttributePoints
    >>> from hedgerow.privacy.card import PrivacyCard
    >>> from hedgerow.schema import Boolean, Label, Schema
    >>> schema = Schema({"smoker": Boolean(), "diabetic": Boolean()}, Label("ill", ("no", "yes")))
    >>> parts = tuple(AttributePoints(name, ((0,), (2,))) for name in schema)
    >>> found = totals(Scorecard(schema, (-3,), parts, 0.5, None, PrivacyCard.none("example", software="hedgerow")))
    >>> found.rows_by_total
    {(-3,): 1, (-1,): 2, (1,): 1}
    >>> print(found)
    a row of the domain: 2.00 bits; given its total: 0.50 bits on average
    fewest rows: 1 of 4 with the total -3, which leaves 0.00 bits
    """

    scorecard: Scorecard
    rows_by_total: Mapping[PointTotal, int]

    @cached_property
    def possible_rows(self) -> int:
        """The number of different rows of the domain."""
        return sum(self.rows_by_total.values())

    @property
    def bits(self) -> float:
        """The entropy of a row, in bits, all rows of the domain being equally likely."""
        return log2(self.possible_rows)

    @cached_property
    def residual_bits(self) -> float:
        """The residual entropy of a row given its total, in bits, on average over the rows of the domain."""
        rows = self.possible_rows
        return float(sum(float(Fraction(count, rows)) * log2(count) for count in self.rows_by_total.values()))

    def bits_of(self, X: Any) -> Floats:
        """Return the residual entropy of each row given its total, in bits, shape ``(n_rows,)``. **Private**."""
        found = self.scorecard.totals(X)
        keys = map(tuple, found.reshape(len(found), -1).tolist())
        return np.array([log2(self.rows_by_total[key]) for key in keys], dtype=np.float64)

    def __str__(self) -> str:
        total, rows = min(self.rows_by_total.items(), key=lambda item: (item[1], item[0]))
        shown = f"total {total[0]}" if len(total) == 1 else f"totals {', '.join(map(str, total))}"
        fewest = f"{count_text(rows)} of {count_text(self.possible_rows)}"
        return (
            f"a row of the domain: {self.bits:.2f} bits; given its total: {self.residual_bits:.2f} bits on average\n"
            f"fewest rows: {fewest} with the {shown}, which leaves {log2(rows):.2f} bits"
        )

    def __repr__(self) -> str:
        return f"<TotalEntropy: {self.residual_bits:.2f} of {self.bits:.2f} bits given the total>"


def totals(scorecard: Any, *, resolution: Resolution | None = None) -> TotalEntropy:
    """Count the possible rows of each total of a scorecard, attribute by attribute.

    Points add up, so the number of rows with a total is a convolution over attributes, in whole numbers. A scorecard
    that is published discloses of its training rows what its card bounds; **a total that is published with a person**
    discloses that the person's row is one of the rows with that total, all equally likely here; no row is read.

    Parameters
    ----------
    scorecard : Scorecard or fitted PrivateScorecardClassifier
        The scorecard; TypeError for another model, ValueError for one of more than a million different totals.
    resolution : mapping of str to float, optional
        As for `reconstruction`.
    """
    card = released_scorecard(scorecard)
    points = {part.attribute: part.points for part in card.parts}
    counts: dict[PointTotal, int] = {tuple(card.base): 1}
    for name, weights in zip(card.schema.names, bin_weights(card.schema, resolution=resolution), strict=True):
        by_points = Counter[PointTotal]()
        for row, weight in zip(points.get(name, [(0,) * len(card.base)] * len(weights)), weights, strict=True):
            by_points[row] += weight
        counts = _convolved(counts, by_points)
    return TotalEntropy(card, {total: counts[total] for total in sorted(counts)})


def _convolved(counts: Mapping[PointTotal, int], by_points: Mapping[PointTotal, int]) -> dict[PointTotal, int]:
    found = Counter[PointTotal]()
    for points, weight in by_points.items():
        if not weight:
            continue  # a bin without values
        for total, rows in counts.items():
            found[tuple(one + other for one, other in zip(total, points, strict=True))] += rows * weight
        if len(found) > MOST_TOTALS:
            raise ArgumentError(f"expected at most {MOST_TOTALS:,} different totals, got more; use fewer points.")
    return dict(found)
