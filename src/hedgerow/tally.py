"""Tallies: a private table after one GROUP BY, and the counts that learners query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain, groupby
from os import PathLike
from typing import Any, NoReturn, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Floats, Integers, Mask, Whole
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError, NotPicklableError
from hedgerow.schema.attributes import BinCodes
from hedgerow.schema.booleans import advise, boolean_schema
from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.schema.contributions import counted, draw_key
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Labels, Table
from hedgerow.text.messages import number_of

_BLOCK = 2**15  # patterns counted at a time: the one-hot block and its product stay in cache
_WIDE = 256  # attributes from which on several are grouped by one number: fewer are as quick each by itself


class Tally:
    """Distinct patterns of schema bins with the number of rows of each class: all that learners see of a table.

    Everything it counts is exact and **private**: nothing of it may be shown before it has passed a `Budget`. Its
    `repr` shows the schema only, and it cannot be pickled.

    Parameters
    ----------
    schema : Schema
        The public schema, with a label.
    bins : ndarray of int, shape (n_patterns, n_attributes)
        The patterns.
    counts : ndarray of int, shape (n_patterns, n_classes)
        Rows of each class. Where the schema has a unit, at most `max_rows` of each, which is not checked here. Where it
        has a weight, the sum of their weights in steps: a row is as many rows as its weight has steps.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0, 1], [0, 1], [1, 1]]), np.array([0, 1, 1])
    >>> Tally.count(X, y)
    <Tally of 2 attributes and 2 classes; its counts are private>
    """

    __slots__ = ("_bins", "_counts", "schema")

    def __init__(self, schema: Schema, bins: Whole, counts: Whole) -> None:
        if bins.shape != (len(bins), len(schema)) or counts.shape != (len(bins), schema.target.n_levels):
            problem = "bins and counts must have the shapes"
            raise ArgumentError(f"{problem} (n_patterns, n_attributes) and (n_patterns, n_classes).")
        self.schema, self._bins, self._counts = schema, bins, counts.astype(np.int64)

    @classmethod
    def count(cls, data: Any, labels: Any, schema: Schema | None = None) -> Self:
        """Count a table.

        Parameters
        ----------
        data : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            The rows. Columns are selected by name in a frame, others ignored; by position in an array. Where the schema
            has a unit, at most `max_rows` rows of each are counted, drawn at random: a frame with its column.
        labels : str, series or array of shape (n_rows,)
            The labels, or the name of the frame's column that holds them.
        schema : Schema, optional
            The public schema. None: every column and the label are booleans or 0/1, whose domain is public.

        Raises
        ------
        DomainError
            If a value does not fit the schema; names the column, never the value.
        """
        _check_schema(schema)
        table = Table.of(data)
        if isinstance(labels, str):
            if table.names is None:
                problem = "Expected the labels themselves, since an array has no column names"
                raise ArgumentTypeError(f"{problem}, got {labels!r}.")
            table.require([labels])
            name, given = labels, Labels.of(table.series(labels))
        else:
            given = Labels.of(labels, data)
            in_schema = None if schema is None or schema.label is None else schema.label.name
            name = in_schema or given.name
        if schema is None:
            return cls.of(table, given, boolean_schema(table.column_names, given, name), name=name, is_declared=False)
        return cls.of(table, given, schema, name=name)

    @classmethod
    def of(
        cls,
        table: Table,
        labels: Labels,
        schema: Schema,
        *,
        name: str | None = None,
        is_declared: bool = True,
        random_state: Any = None,
    ) -> Self:
        """Count a table whose labels and schema are known, as `count` does; SchemaError if the schema has no label.

        Errors call the labels by `name`, or else as the schema does, and say how to declare a schema if it is not
        declared. Only a test passes `random_state`, which repeats the draw of the rows of a unit.
        """
        target = schema.target
        problem: DomainError | None = None
        try:
            codes = target.encode(labels.column(name or target.name))
            if len(codes) != len(table):
                raise DomainError("expected as many labels as rows.")
            bins, steps = schema.encode(table), None if schema.weight is None else schema.weight.encode(table)
            if schema.unit is not None:
                schema.check_unit(table)
                kept = counted(table, schema.unit, draw_key(random_state))
                bins, codes = {key: values[kept] for key, values in bins.items()}, codes[kept]
                steps = None if steps is None else steps[kept]
            return cls._group(schema, bins, codes, steps)
        except DomainError as error:
            problem = error if is_declared or error.column is None else advise(error)
        raise problem

    @classmethod
    def from_table(cls, table: Any, schema: Schema | None = None, *, label: str | None = None) -> Self:
        """Count a table where it is: in DuckDB, PostgreSQL, Spark, or any other engine that Ibis knows.

        A query with one scan groups the rows by pattern and class; the groups are all that leaves the engine. Where the
        schema has a unit, at most `max_rows` rows of each are counted: the first in the order of a keyed hash, by a
        window function. Where it has a weight, the groups are by its steps too. Nothing is written there: the right to
        SELECT is enough. The tally is the same as of a frame.

        Parameters
        ----------
        table : Ibis table
            The rows; `hedgerow.engines.sources.open_table` opens files and databases. Columns are selected by name.
        schema : Schema, optional
            The public schema, as in `count`.
        label : str, optional
            The column with the labels. Default: the schema's; ValueError if it has none.

        Raises
        ------
        DomainError
            If a column or a value does not fit the schema; names the column, never the value.
        TooManyPatternsError
            If there are more patterns than are worth fetching (5 million). Whether there are is a fact about the rows.
        EngineError
            If the engine fails.

        Examples
        --------
        >>> import ibis
        >>> table = ibis.duckdb.connect().sql("SELECT i % 2 AS smoker, i % 3 = 0 AS ill FROM range(100) AS t(i)")
        >>> Tally.from_table(table, label="ill")
        <Tally of 1 attribute and 2 classes; its counts are private>
        """
        from hedgerow.engines.count import count_rows, declared_or_boolean  # Ibis takes long to import

        _check_schema(schema)
        declared, name = declared_or_boolean(table, schema, label)
        problem: DomainError | None = None
        try:
            bins, labels, rows = count_rows(table, declared, name)
            return cls._group(declared, bins, labels, rows)
        except DomainError as error:
            problem = error if schema is not None or error.column is None else advise(error)
        raise problem

    @classmethod
    def load(cls, source: Any, schema: Schema) -> Self:
        """Load a tally that was saved, or made by `hedgerow tally --sql`; those of disjoint parts are merged.

        Parameters
        ----------
        source : str or Ibis table
            An address as `open_table` takes it, such as ``"days/*.parquet"``, or a table that it opened.
        schema : Schema
            The schema that the rows were counted by, without unit and weight; ValueError if it was another.

        Raises
        ------
        DomainError
            If a column is absent, or holds other codes or numbers; quotes none of them.

        Examples
        --------
        >>> import tempfile
        >>> tally = Tally.count(np.array([[0, 1], [1, 1]]), np.array([0, 1]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tally.save(f"{folder}/monday.parquet")
        ...     tally.save(f"{folder}/tuesday.parquet")
        ...     both = Tally.load(f"{folder}/*.parquet", tally.schema)
        >>> both.distance(Tally.merge([tally, tally]))
        0.0
        """
        from hedgerow.engines.sources import open_table  # Ibis takes long to import
        from hedgerow.engines.tallies import check_mergeable, read_groups

        _check_schema(schema)
        check_mergeable(schema)
        with open_table(source) if isinstance(source, str) else nullcontext(source) as table:
            return cls._group(schema, *read_groups(table, schema))

    @classmethod
    def merge(cls, tallies: Sequence[Tally]) -> Self:
        """Return the tally of disjoint parts of a table from theirs; ValueError where they have not one schema."""
        from hedgerow.engines.tallies import check_mergeable, check_total  # Ibis takes long to import

        if not tallies or not all(isinstance(one, Tally) and one.schema == tallies[0].schema for one in tallies):
            raise ArgumentError("expected one tally or more, all on the same schema.")
        check_mergeable(schema := tallies[0].schema)
        bins, levels, rows = map(np.concatenate, zip(*(one._groups() for one in tallies), strict=True))
        check_total(rows)
        return cls._group(schema, dict(zip(schema.names, bins.T, strict=True)), levels, rows)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tally to a Parquet file that its owner alone may read: it is **private**, as the rows are.

        A row for each pattern and level: the codes ``a0``, ``a1``, … of the attributes' bins, ``class``, the number of
        ``rows`` in 64 bits, and the digest of the ``schema``. ValueError where that has a unit or a weight.
        """
        from hedgerow.engines.tallies import write_groups  # Ibis takes long to import

        write_groups(path, self.schema, *self._groups())

    def _groups(self) -> tuple[Whole, Whole, Integers]:
        pattern, level = self._counts.nonzero()
        return self._bins[pattern], level, self._counts[pattern, level]

    @classmethod
    def _group(
        cls, schema: Schema, bins: Mapping[str, BinCodes], labels: BinCodes, rows: Integers | None = None
    ) -> Self:
        """Group encoded rows, or groups of so many rows, by pattern; in memory this is the GROUP BY."""
        codes, widths = list(bins.values()), [(one.n_bins - 1).bit_length() for _, one in schema.attributes]
        parts = _sharing(widths)
        keys, classes = [f"a{i}" for i in range(len(parts))], [f"c{k}" for k in range(schema.target.n_levels)]
        columns: dict[str, Any] = {
            key: _packed(codes[part], widths[part]) for key, part in zip(keys, parts, strict=True)
        }
        for k, name in enumerate(classes):
            columns[name] = (labels == k).astype(np.uint8) if rows is None else np.where(labels == k, rows, 0)
        grouped = pa.table(columns).group_by(keys, use_threads=False).aggregate([(name, "sum") for name in classes])
        counts = np.column_stack([grouped[f"{name}_sum"].to_numpy() for name in classes])
        patterns = np.empty((len(counts), len(codes)), dtype=np.result_type(*codes))
        for key, part in zip(keys, parts, strict=True):
            _unpack(grouped[key].to_numpy(), widths[part], patterns[:, part])
        there = counts.any(axis=1)  # rows of weight 0 are as if they were not
        return cls(schema, *((patterns, counts) if there.all() else (patterns[there], counts[there])))

    def bins(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return the bin of these attributes in each pattern, arrays of shape ``(n_patterns,)``. Exact, private."""
        return {name: self._bins[:, self.schema.names.index(name)] for name in names}

    def rows(self) -> Integers:
        """Return the rows of each pattern, of all classes, shape ``(n_patterns,)``. Exact, private."""
        if self.schema.weight is not None:
            raise ArgumentError("expected a tally of rows, got one of weights; count it by a schema without `weight`.")
        return self._counts.sum(axis=1)

    def total(self) -> Integers:
        """Return the rows of each class, shape ``(n_classes,)``. Exact, private."""
        return self._counts.sum(axis=0)

    @np.errstate(invalid="ignore")  # matrix products may raise the flag for lanes they do not use
    def class_counts(self, candidates: Candidates) -> Integers:
        """Return the rows of each class that every candidate catches, shape ``(n_candidates, n_classes)``.

        Exact, private. Adding one row adds 1 to one class of every candidate that catches it. All conjunctions of two
        literals come from one product ``Rᵀ diag(w) R`` of the one-hot pattern matrix R for each class, carried from
        bins to literals by a public linear map; longer ones from the same product on the patterns that satisfy their
        first literals. Sums are of integers below 2⁵³ in float64, hence exact.
        """
        basis = _literal_basis(candidates, self.schema)
        counts = np.zeros((len(candidates), self._counts.shape[1]))
        for first in range(0, len(self._bins), _BLOCK):
            bins, weights = self._bins[first : first + _BLOCK], self._counts[first : first + _BLOCK].astype(np.float64)
            onehot = _onehot(self.schema, bins)
            satisfied = onehot @ basis.T if len(candidates.members) > 2 else np.empty((len(bins), 0))
            start = 0
            for members in candidates.members:
                stop = start + len(members)
                counts[start:stop] += _conjunctions(onehot, weights, basis, satisfied, members)
                start = stop
        return counts.astype(np.int64)

    def patterns(self, candidates: Candidates) -> tuple[Mask, Integers]:
        """Return which candidates each pattern satisfies, and its rows of each class. Exact, private.

        Shapes ``(n_patterns, n_candidates)`` and ``(n_patterns, n_classes)``.
        """
        _check_candidates(candidates, self.schema)
        firsts, places = candidates.own_bins.argmax(axis=1), {name: i for i, name in enumerate(self.schema)}
        columns = [places[literal.attribute] for literal in candidates.literals]
        literals = np.empty((len(columns), len(self._bins)), dtype=bool)
        for column, own in groupby(range(len(columns)), columns.__getitem__):
            bins = self._bins[:, column].astype(np.intp)
            for i in own:
                candidates.truth[i, firsts[i] :].take(bins, out=literals[i], mode="clip")
        satisfied = np.empty((len(candidates), len(self._bins)), dtype=bool)
        for row, members in zip(satisfied, chain.from_iterable(candidates.members), strict=True):
            np.logical_and.reduce(literals[members], out=row)
        return satisfied.T, self._counts

    def bins_and_counts(self) -> tuple[Whole, Integers]:
        """Return the bin of each pattern in each attribute, and its rows of each class, as `Tally` has them."""
        return self._bins, self._counts

    def only(self, names: Sequence[str]) -> Tally:
        """Return the tally of some attributes, by the patterns of these."""
        places = {name: self.schema.names.index(name) for name in names}
        pattern, level = self._counts.nonzero()
        bins: dict[str, Any] = {name: self._bins[:, place][pattern] for name, place in places.items()}
        some = replace(self.schema, attributes=tuple((name, self.schema[name]) for name in names))
        return Tally._group(some, bins, level.astype(np.uint32), self._counts[pattern, level])

    def without(self, antecedent: Antecedent) -> Tally:
        """Return the tally of the rows that do not satisfy the antecedent."""
        left = ~self._satisfies(antecedent)
        return Tally(self.schema, self._bins[left], self._counts[left])

    def within(self, antecedent: Antecedent) -> Tally:
        """Return the tally of the rows that satisfy the antecedent."""
        caught = self._satisfies(antecedent)
        return Tally(self.schema, self._bins[caught], self._counts[caught])

    def distance(self, other: Tally) -> float:
        """Return how many rows to add to one table for the other, infinite if to remove some too. Exact, private."""
        changes = Counter[tuple[int, ...]]()
        for tally, sign in ((self, 1), (other, -1)):
            for bins, counts in zip(tally._bins.tolist(), tally._counts.tolist(), strict=True):
                for label, count in enumerate(counts):
                    changes[(*bins, label)] += sign * count
        added, removed = (sum(max(sign * change, 0) for change in changes.values()) for sign in (1, -1))
        return math.inf if added and removed else float(added + removed)

    def leaf_counts(self, antecedents: Sequence[Antecedent]) -> Integers:
        """Return the rows of each class that each rule of a list catches, the default rule last. Exact, private.

        Shape ``(len(antecedents) + 1, n_classes)``. The rules of a list partition the rows, so adding one row changes
        one entry by one: sensitivity 1 in ℓ1 for the whole table of counts (docs/mathematics.md, fact 2).
        """
        remaining, rows = self, []
        for antecedent in antecedents:
            left = remaining.without(antecedent)
            rows.append(remaining.total() - left.total())
            remaining = left
        return np.array([*rows, remaining.total()])

    def _satisfies(self, antecedent: Antecedent) -> Mask:
        true = np.ones(len(self._bins), dtype=bool)
        for literal in antecedent:
            bins = self._bins[:, self.schema.names.index(literal.attribute)]
            true &= self.schema[literal.attribute].truth(literal)[bins]
        return true

    def __repr__(self) -> str:
        attributes = number_of(len(self.schema), "attribute")
        return f"<Tally of {attributes} and {self.schema.target.n_levels} classes; its counts are private>"

    def __reduce__(self) -> NoReturn:
        raise NotPicklableError("A Tally holds private counts and cannot be pickled or copied; count the table again.")


def _sharing(widths: Sequence[int]) -> list[slice]:
    """Return which attributes, of codes of so many bits, are grouped by one number: of thousands, what 63 bits hold."""
    parts, start, used = list[slice](), 0, 0
    for place, width in enumerate(widths):
        if place > start and (len(widths) < _WIDE or used + width > 63):
            parts.append(slice(start, place))
            start, used = place, 0
        used += width
    return [*parts, slice(start, len(widths))]


def _packed(codes: Sequence[BinCodes], widths: Sequence[int]) -> Whole:
    if len(codes) == 1:
        return codes[0]
    key = np.zeros(len(codes[0]), dtype=np.int64)
    for column, width in zip(codes, widths, strict=True):
        key <<= width
        key |= column.astype(np.int64, copy=False)
    return key


def _unpack(key: Whole, widths: Sequence[int], into: Whole) -> None:
    for place in reversed(range(1, len(widths))):
        into[:, place] = key & ((1 << widths[place]) - 1)
        key = key >> widths[place]
    into[:, 0] = key


def _check_schema(schema: object) -> None:
    if not (schema is None or isinstance(schema, Schema)):
        raise ArgumentTypeError(f"schema must be a Schema or None, got {type(schema).__name__}.")


def _onehot(schema: Schema, bins: Whole) -> Floats:
    """Return a column of ones and, for every attribute, one column for each of its bins but the first."""
    sizes = [len(attribute.bins) for _, attribute in schema.attributes]
    attribute = np.repeat(np.arange(len(sizes)), [size - 1 for size in sizes])
    bin = np.concatenate([np.arange(1, size) for size in sizes])
    onehot = np.ones((len(bins), 1 + len(bin)))
    np.equal(bins[:, attribute], bin, out=onehot[:, 1:], casting="unsafe")
    return onehot


def _check_candidates(candidates: Candidates, schema: Schema) -> None:
    if candidates.schema != schema:
        raise ArgumentError("Expected candidates of the tally's schema, got those of another one.")


def _literal_basis(candidates: Candidates, schema: Schema) -> Floats:
    """Return each literal as a combination of `_onehot`'s columns, shape ``(n_literals, n_columns)``."""
    _check_candidates(candidates, schema)
    truth = candidates.truth.astype(np.float64)
    firsts = np.cumsum([0, *(len(attribute.bins) for _, attribute in schema.attributes)])[:-1]
    own = np.array([firsts[schema.names.index(literal.attribute)] for literal in candidates.literals])
    constant = truth[np.arange(len(own)), own]
    same_attribute = np.searchsorted(firsts, np.arange(truth.shape[1]), side="right") - 1
    contrast = truth - np.where(firsts[same_attribute] == own[:, None], constant[:, None], 0.0)
    return np.column_stack([constant, np.delete(contrast, firsts, axis=1)])


def _conjunctions(
    onehot: Floats, weights: Floats, basis: Floats, satisfied: Floats, members: NDArray[np.int32]
) -> Floats:
    """Return the weights caught by each conjunction of `members`, all of one length, in lexicographic order."""
    if members.shape[1] == 1:
        return (basis @ (onehot.T @ weights))[members[:, 0]]
    if members.shape[1] == 2:
        grams = [basis @ ((onehot * column[:, None]).T @ onehot) @ basis.T for column in weights.T]
        return np.column_stack([gram[members[:, 0], members[:, 1]] for gram in grams])
    counts = np.zeros((len(members), weights.shape[1]))
    firsts, starts = np.unique(members[:, 0], return_index=True)
    for first, start, stop in zip(firsts, starts, [*starts[1:], len(members)], strict=True):
        true = satisfied[:, first] > 0
        counts[start:stop] = _conjunctions(onehot[true], weights[true], basis, satisfied[true], members[start:stop, 1:])
    return counts
