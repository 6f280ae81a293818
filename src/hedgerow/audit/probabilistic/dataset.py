"""Probabilistic datasets: a distribution over the values of each row of a table, and its alignment with a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from math import fsum
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import optimize, sparse

from hedgerow.audit.counting.bin_values import Resolution
from hedgerow.audit.entropy.domain import AttributeMarginals, RowPrior
from hedgerow.audit.entropy.measure import reconstruction
from hedgerow.audit.entropy.result import Reconstruction
from hedgerow.audit.entropy.values import Values
from hedgerow.audit.inference.labelled import label_values
from hedgerow.audit.probabilistic.row import RowDistribution, factors_of, known_of, text_of, texts_of
from hedgerow.audit.readers.columns import Features
from hedgerow.audit.readers.paths import Paths
from hedgerow.audit.readers.read import paths_of
from hedgerow.boundary.arguments import RandomState, generator
from hedgerow.boundary.arrays import Array, Floats, Index
from hedgerow.errors import ArgumentError, DomainError, StateError
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table
from hedgerow.text.markup import element
from hedgerow.text.messages import aligned
from hedgerow.text.values import printable, quoted_text


@dataclass(frozen=True, repr=False, eq=False, init=False)
class ProbabilisticDataset:
    """Independent distributions over the rows of a table (Ferry et al. 2024, Definition 1, and 3 for independent rows).

    Attributes
    ----------
    domains : tuple of Values
        The possible values of each attribute; passed as a mapping of str to sequence.
    rows : tuple of RowDistribution
        The distribution of each row; passed as a mapping for each row. It maps attributes to a value, to a set (or
        list, or range) of equally likely values, or to a mapping of values to their probabilities. Dependent attributes
        are named together: ``{("a1", "a2"): {(0, 0), (0, 1), (1, 0)}}``. An attribute that is not mentioned is uniform
        on its domain. Rows are independent of each other.
    labels, label : tuple, optional, and str, default="label"
        The label of each row, if known, and the name of the label column.

    Raises
    ------
    SchemaError, ValueError
        If a domain is empty or has duplicates or NaN. If an attribute of a row is not declared, occurs twice, or has
        values outside its domain. If probabilities do not sum to 1, if there are no rows, or if the number of labels
        differs from the number of rows.

    Examples
    --------
    PDR's Table IV, of Rule List 1:

    >>> either = {(0, 0), (0, 1), (1, 0)}
    >>> both, third, rest = {"a1": 1, "a2": 1}, {("a1", "a2"): either, "a3": 1}, {("a1", "a2"): either, "a3": 0}
    >>> known = ProbabilisticDataset(
    ...     {"a1": (0, 1), "a2": (0, 1), "a3": (0, 1)}, [both, both, third, third, rest], labels=(1, 1, 0, 0, 1)
    ... )
    >>> print(known)
    row  a1                                   a2      a3      label
    x1   1                                    1       {0, 1}  1
    x2   1                                    1       {0, 1}  1
    x3   (a1, a2) ∈ {(0, 0), (0, 1), (1, 0)}  see a1  1       0
    x4   (a1, a2) ∈ {(0, 0), (0, 1), (1, 0)}  see a1  1       0
    x5   (a1, a2) ∈ {(0, 0), (0, 1), (1, 0)}  see a1  0       1
    """

    domains: tuple[Values, ...]
    rows: tuple[RowDistribution, ...]
    labels: tuple[Any, ...] | None
    label: str

    def __init__(
        self,
        domains: Mapping[str, Sequence[Any]] | Sequence[Values],
        rows: Sequence[Mapping[Any, Any] | RowDistribution],
        labels: Sequence[Any] | None = None,
        *,
        label: str = "label",
    ) -> None:
        if isinstance(domains, Mapping):
            domains = tuple(Values.listed(name, values) for name, values in domains.items())
        if not domains:
            raise ArgumentError("domains must contain at least one attribute.")
        checked = tuple(domains)
        known = tuple(row if isinstance(row, RowDistribution) else RowDistribution.of(row, checked) for row in rows)
        if not known:
            raise ArgumentError("rows must contain at least one row.")
        if labels is not None and len(labels) != len(known):
            raise ArgumentError(f"labels must have one label for each of {len(known)} rows, got {len(labels)}.")
        if labels is not None and label in (values.name for values in checked):
            raise ArgumentError(f"label must differ from the names of the attributes, got {quoted_text(label)}.")
        labels = None if labels is None else tuple(labels)
        self.__dict__.update(domains=checked, rows=known, labels=labels, label=label)

    @classmethod
    def of(
        cls,
        model: Any,
        schema: Schema | None = None,
        *,
        supports: Sequence[int] | None = None,
        resolution: Resolution | None = None,
        prior: AttributeMarginals | None = None,
        features: Features | None = None,
    ) -> Self:
        """Return the probabilistic dataset that a model discloses (PDR, Sections II-B and III-A).

        Each training row is uniform on the possible rows of its region. Attributes that earlier rules restrict together
        are dependent; all other attributes are independent. Rows are sorted by region, and by class within a region.

        Parameters and errors are the same as for `reconstruction`. A result of `reconstruction` without a prior may be
        passed instead of the model. With a prior, rows are not uniform on their regions. ValueError for independent
        bits, which are not columns of a table.

        Examples
        --------
        >>> import hedgerow as hr
        >>> data = hr.datasets.load("breast_cancer")
        >>> clf = hr.OptimalTreeClassifier(schema=data.schema, max_depth=2).fit(data.frame, data.labels)
        >>> known = ProbabilisticDataset.of(clf)
        >>> len(known.sample(random_state=0)) == len(data.frame)
        True
        """
        if isinstance(model, Reconstruction):
            if not (schema is supports is resolution is prior is features is None) or model.prior_bits is not None:
                problem = "a reconstruction must have no prior, and no other arguments are allowed with it"
                raise ArgumentError(f"{problem}; pass the model instead.")
            measured, paths = model, None
        else:
            paths = paths_of(model, schema, features)[0]
            measured = reconstruction(
                model, schema, supports=supports, resolution=resolution, prior=prior, features=features
            )
        if measured.known != "regions":
            raise ArgumentError(
                "the rows of a scorecard's totals or bins are not independent boxes, so they have no probabilistic "
                "dataset; use the result of `reconstruction`."
            )
        if measured.domain.independent_bits:
            raise ArgumentError("independent bits are not columns of a table; set `independent_bits=False`.")
        refined, weights = measured.domain.schema, measured.domain.weights
        masses = weights if prior is None else RowPrior.of(prior, measured.schema, measured.domain).masses
        domains = tuple(Values.of(name, a, (resolution or {}).get(name)) for name, a in refined.attributes)
        known = [
            RowDistribution(factors_of(region, weights, masses)) if support else None
            for region, support in zip(measured.regions, measured.supports, strict=True)
        ]
        rows = [row for row, support in zip(known, measured.supports, strict=True) for _ in range(support) if row]
        name = "label" if refined.label is None else refined.label.name
        is_number = refined.label is not None and refined.target.as_number is not None
        labels = None if paths is None or is_number else _labels(paths, measured.supports)  # a level is not a number
        return cls(domains, rows, labels, label=name)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @cached_property
    def groups(self) -> tuple[tuple[RowDistribution, Index], ...]:
        """The distinct distributions among the rows, each with the indices of its rows."""
        places: dict[int, list[int]] = {}
        for place, row in enumerate(self.rows):
            places.setdefault(id(row), []).append(place)
        return tuple((self.rows[indices[0]], np.array(indices, dtype=np.intp)) for indices in places.values())

    @cached_property
    def entropy_bits(self) -> float:
        """The joint entropy of the table in bits: the sum over rows, and over the independent factors of each row."""
        return fsum(len(indices) * row.entropy_bits for row, indices in self.groups)

    @property
    def uncertainty(self) -> float:
        """Dist_G (Definition 4, eq. 3): entropy divided by domain entropy, from 0 (deterministic) to 1 (uniform)."""
        return self.entropy_bits / self._domain_bits

    @property
    def _domain_bits(self) -> float:
        """The entropy, in bits, of a table that is uniform on its domain (PDR eq. 4)."""
        bits = self.n_rows * fsum(values.bits for values in self.domains)
        if not bits:
            raise ArgumentError("the domains allow only one possible row, so its uncertainty is not defined.")
        return bits

    def dist(self) -> float:
        """Return Dist (Definition 2): the mean, over attributes, of the entropy divided by the domain's entropy.

        Attributes with a single possible value are ignored. ValueError if attributes of a row are dependent.
        """
        _ = self._domain_bits
        if any(len(factor.attributes) > 1 for row, _ in self.groups for factor in row.factors):
            raise ArgumentError("Dist is not defined, since attributes are dependent in a row; use `uncertainty`.")
        full = [values.bits for values in self.domains]
        total = fsum(
            len(indices) * factor.entropy_bits / full[factor.attributes[0]]
            for row, indices in self.groups
            for factor in row.factors
            if full[factor.attributes[0]]
        )
        return total / (self.n_rows * sum(1 for bits in full if bits))

    def is_compatible(self, data: Any) -> bool:
        """Return whether each row of a table, with its label if any, is possible under its distribution."""
        _, codes, labels = _read(self, data)
        is_possible = all(row.allows(codes[indices]).all() for row, indices in self.groups)
        return is_possible and (labels is None or self.labels is None or bool((labels == np.array(self.labels)).all()))

    def sample(self, random_state: RandomState = None) -> pd.DataFrame:
        """Draw a table from the distribution, with labels if they are known.

        Missing values are None, values outside the domain are represented by marks, and real numbers without a
        resolution are represented by intervals.
        """
        rng = generator(random_state)
        bins = np.empty((self.n_rows, len(self.domains)), dtype=np.intp)
        for row, indices in self.groups:
            for factor in row.factors:
                bins[indices[:, None], list(factor.attributes)] = factor.draw(len(indices), rng)
        columns = {values.name: values.drawn(bins[:, k], rng) for k, values in enumerate(self.domains)}
        return pd.DataFrame(columns if self.labels is None else columns | {self.label: list(self.labels)})

    def __str__(self) -> str:
        lines, notes = _page(self)
        return "\n".join(map(printable, [*aligned(lines, len(lines[0]), _LONGEST), *notes]))

    def _repr_html_(self) -> str:
        (head, *lines), notes = _page(self)
        body = [element("tr", *(element("td", printable(entry)) for entry in line)) for line in lines]
        top = element("tr", *(element("th", printable(entry)) for entry in head))
        table = element("table", element("thead", top), element("tbody", *body))
        return table + "".join(element("p", printable(note)) for note in notes)

    def __repr__(self) -> str:
        names = printable(", ".join(values.name for values in islice(self.domains, 4)))
        more = ", …" if len(self.domains) > 4 else ""
        return f"<ProbabilisticDataset: {self.n_rows} rows of {names}{more}; {self.entropy_bits:.1f} bits>"


def _labels(paths: Paths, supports: Sequence[int]) -> tuple[Any, ...] | None:
    """Return the label of each row, class by class in each region; None unless class counts sum to the supports."""
    if paths.counts is None or paths.classes is None:
        return None
    occupied = [counts or () for counts, n in zip(paths.counts, supports, strict=True) if n]
    sums = [n for n in supports if n]
    if any(min(counts, default=-1) < 0 for counts in occupied) or list(map(sum, occupied)) != sums:
        return None
    return tuple(
        label for counts in occupied for label, count in zip(paths.classes, counts, strict=True) for _ in range(count)
    )


def _read(known: ProbabilisticDataset, data: Any) -> tuple[Table, Index, Array | None]:
    """Return a table, the bin of each value, ``(n_rows, n_attributes)``, and its labels, if any."""
    table = Table.of(data)
    if len(table) != known.n_rows:
        raise ArgumentError(f"data must have {known.n_rows} rows, got {len(table)}.")
    if table.names is None and table.width != len(known.domains):
        raise DomainError(f"data must have {len(known.domains)} columns, got {table.width}.")
    codes = np.column_stack([values.codes(table, k) for k, values in enumerate(known.domains)])
    has_labels = table.names is not None and known.label in table.names
    return table, codes, label_values(table.data.get_column(known.label)) if has_labels else None


_APART = 20  # largest number of rows with a line each; if there are more, equal adjacent rows share a line
_LINES = 200  # largest number of lines
_WIDTH = 120  # largest length of a line with unconstrained attributes
_LONGEST = 10_000  # larger than any entry, so that all entries are aligned

_DatasetLine = list[str]


def _page(dataset: ProbabilisticDataset) -> tuple[list[_DatasetLine], list[str]]:
    domains, labels = dataset.domains, dataset.labels
    names = [values.name for values in domains]
    entries = {id(row): texts_of(row, domains) for row, _ in dataset.groups}
    known = {place for row, _ in dataset.groups for place in known_of(row, domains)}
    notes: list[str] = []
    shown = list(range(len(domains)))
    while True:
        head = ["row", *(names[k] for k in shown), *([] if labels is None else [dataset.label])]
        written = [tuple(entries[id(row)][k] for k in shown) for row in dataset.rows]
        if labels is not None:
            written = [(*line, text_of(value)) for line, value in zip(written, labels, strict=True)]
        lines = list(islice(_numbered(written), _LINES + 1))
        if len(known) == len(shown) or max(map(len, aligned([head, *lines], len(head), _LONGEST))) <= _WIDTH:
            break
        notes = [f"Unconstrained: {', '.join(name for k, name in enumerate(names) if k not in known)}."]
        shown = sorted(known)
    if len(lines) > _LINES:
        lines, notes = lines[:_LINES], ["… and further rows.", *notes]
    return [head, *lines], notes


def _numbered(written: Sequence[tuple[str, ...]]) -> Iterator[_DatasetLine]:
    """Yield a line for each row, or for each run of equal rows if there are many."""
    apart = len(written) <= _APART
    for _, same in groupby(enumerate(written, start=1), key=lambda item: item[0] if apart else item[1]):
        members = list(same)
        first, last = members[0][0], members[-1][0]
        name = f"x{first}" if first == last else f"x{first} to x{last} ({len(members):,} rows)"
        yield [name, *members[0][1]]


# Largest number of variables of a linear program: distinct row distributions times distinct columns of costs
_LARGEST = 2_000_000


def align(known: ProbabilisticDataset, data: Any) -> Index:
    """Match the rows of a probabilistic dataset with the rows of a table at minimum cost (assignment problem).

    The matching has the smallest number of pairs in which the row or its label is impossible under the distribution.
    Among these matchings, it has the smallest sum of distances. The distance of a pair is the sum over attributes of
    the expected distance between the row's value and the distribution. The distance of numbers is their difference as a
    share of the domain's length; the distance of other values is 0 or 1. Equal distributions, and rows with equal
    costs, are matched together by a transportation problem, which has the same minimum as the assignment problem (Kuhn,
    1955).

    Parameters
    ----------
    known : ProbabilisticDataset
        The distribution of each row.
    data : frame or array
        A table with the same number of rows (ValueError otherwise) and the attributes as columns (DomainError
        otherwise). Labels are compared if the table has the label column.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        The index in `data` of the row matched with each row of `known`, so that ``data.iloc[order]`` is aligned.

    Examples
    --------
    >>> import pandas as pd
    >>> known = ProbabilisticDataset({"a": range(10)}, [{"a": {7, 8, 9}}, {"a": {0, 1, 2, 3, 7}}])
    >>> align(known, pd.DataFrame({"a": [7, 9]}))
    array([1, 0])
    """
    costs, kinds = _costs(known, *_read(known, data))
    different, places, counts = np.unique(costs.T, axis=0, return_inverse=True, return_counts=True)
    if different.size > _LARGEST:
        return optimize.linear_sum_assignment(costs[kinds])[1].astype(np.intp)
    moved = _transported(different.T, np.bincount(kinds), counts)
    partner = np.empty(known.n_rows, dtype=np.intp)  # the kind of known row that each row is matched with
    partner[np.argsort(places.reshape(-1), kind="stable")] = np.repeat(
        np.tile(np.arange(len(costs)), len(counts)), moved.T.ravel()
    )
    order = np.empty_like(partner)
    order[np.argsort(kinds, kind="stable")] = np.argsort(partner, kind="stable")
    return order


def _transported(costs: Floats, supply: Index, demand: Index) -> Index:
    """Return the solution of a transportation problem, ``(n_sources, n_sinks)``; a vertex has whole numbers."""
    n_from, n_to = costs.shape
    out = sparse.kron(sparse.eye(n_from), np.ones((1, n_to)))
    into = sparse.kron(np.ones((1, n_from)), sparse.eye(n_to))
    limits = np.concatenate([supply, demand])
    solution = optimize.linprog(
        costs.ravel() / costs.max(initial=1.0), A_eq=sparse.vstack([out, into]).tocsr(), b_eq=limits, method="highs-ds"
    )
    if not solution.success:
        raise StateError(f"SciPy found no matching: {solution.message}")
    return np.rint(solution.x).astype(np.intp).reshape(costs.shape)


def _costs(known: ProbabilisticDataset, table: Table, codes: Index, labels: Any) -> tuple[Floats, Index]:
    """Return the cost of each table row for each distinct distribution and label, and the kind of each known row."""
    distances = [values.distances(table, k) for k, values in enumerate(known.domains)]
    kinds = np.empty(known.n_rows, dtype=np.intp)
    known_labels = np.array(known.labels, dtype=object) if known.labels is not None and labels is not None else None
    rows: list[Floats] = []
    for row, indices in known.groups:
        cost = np.sum([distances[k] @ np.array(chances, dtype=np.float64) for k, chances in row.marginals()], axis=0)
        possible = row.allows(codes)
        for label in [None] if known_labels is None else dict.fromkeys(known_labels[indices].tolist()):
            own = indices if known_labels is None else indices[known_labels[indices] == label]
            fits = possible if labels is None or known_labels is None else possible & (labels == label)
            # The penalty exceeds the sum of all distances, so that impossible pairs are minimised first.
            rows.append(cost + ~fits * (len(table) * len(known.domains) + 1.0))
            kinds[own] = len(rows) - 1
    return np.array(rows), kinds
