"""Tallies: a private table after one GROUP BY, with the counts that learners query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
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

_BLOCK = 2**15  # patterns per block, for which the one-hot block and its product stay in cache
_WIDE = 256  # from this number of attributes on, several share a key of the GROUP BY, which is faster


class Tally:
    """The distinct patterns of schema bins in a table with their class counts. Learners see nothing else of a table.

    All counts are exact and **private**: they may only be released with noise and a charge to a `Budget`. The `repr`
    shows only the schema, and a tally cannot be pickled.

    Parameters
    ----------
    schema : Schema
        The public schema, with a label.
    bins : ndarray of int, shape (n_patterns, n_attributes)
        The patterns.
    counts : ndarray of int, shape (n_patterns, n_classes)
        The number of rows of each class. If the schema has a unit, at most `max_rows` rows of every unit, which is not
        checked here. If the schema has a weight, the sum of the weights in steps: a row counts as many times as its
        weight has steps.

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
        """Return the tally of a table in memory.

        Parameters
        ----------
        data : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            The rows. The columns of a frame are selected by name, the columns of an array by position. If the schema
            has a unit, the frame needs its column, and at most `max_rows` rows of every unit, drawn at random, are
            counted.
        labels : str, series or array of shape (n_rows,)
            The labels, or the name of their column in the frame.
        schema : Schema, optional
            The public schema. Without a schema, all columns and the label must be boolean or 0/1, whose domain is
            public.

        Raises
        ------
        DomainError
            If a value does not fit the schema. The message names the column, never the value.
        """
        _check_schema(schema)
        table = Table.of(data)
        if isinstance(labels, str):
            if table.names is None:
                problem = "labels must be a series or array, since an array of rows has no column names"
                raise ArgumentTypeError(f"{problem}; got {labels!r}.")
            table.require([labels])
            name, values = labels, Labels.of(table.series(labels))
        else:
            values = Labels.of(labels, data)
            in_schema = None if schema is None or schema.label is None else schema.label.name
            name = in_schema or values.name
        if schema is None:
            boolean = boolean_schema(table.column_names, values, name)
            return cls.of(table, values, boolean, name=name, is_declared=False)
        return cls.of(table, values, schema, name=name)

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
        """Return the tally of a table with its labels and a schema; SchemaError if the schema has no label.

        Errors refer to the labels by `name`, by default the name in the schema. They explain how to declare a schema
        unless `is_declared`. `random_state` repeats the draw of the rows of a unit in tests.
        """
        target = schema.target
        problem: DomainError | None = None
        try:
            codes = target.encode(labels.column(name or target.name))
            if len(codes) != len(table):
                raise DomainError("labels must have the same length as the data.")
            bins, steps = schema.encode(table), None if schema.weight is None else schema.weight.encode(table)
            if schema.unit is not None:
                schema.check_unit(table)
                is_counted = counted(table, schema.unit, draw_key(random_state))
                bins, codes = {key: values[is_counted] for key, values in bins.items()}, codes[is_counted]
                steps = None if steps is None else steps[is_counted]
            return cls._group(schema, bins, codes, steps)
        except DomainError as error:
            problem = error if is_declared or error.column is None else advise(error)
        raise problem

    @classmethod
    def from_table(cls, table: Any, schema: Schema | None = None, *, label: str | None = None) -> Self:
        """Return the tally of a table in DuckDB, PostgreSQL, Spark or another engine that Ibis supports.

        The engine groups the rows by pattern and class in a query with one scan, and returns only the groups. If the
        schema has a unit, a window function selects the first `max_rows` rows of every unit in the order of a keyed
        hash. If the schema has a weight, rows are also grouped by its steps. The query needs only the right to SELECT
        and writes nothing. The tally equals the tally of the same rows in memory, except for the draw of the rows of
        units.

        Parameters
        ----------
        table : Ibis table
            The rows; `hedgerow.engines.sources.open_table` opens files and databases. Columns are selected by name.
        schema : Schema, optional
            The public schema; see `count`.
        label : str, optional
            The column with the labels, by default the label of the schema. ValueError if neither is given.

        Raises
        ------
        DomainError
            If a column or a value does not fit the schema. The message names the column, never the value.
        TooManyPatternsError
            If there are more than 5 million patterns. Whether this error occurs is itself a fact about the rows.
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
        """Return a tally from files written by `save` or `hedgerow tally --sql`. Tallies of disjoint rows are merged.

        Parameters
        ----------
        source : str or Ibis table
            An address for `open_table`, such as ``"days/*.parquet"``, or a table that it opened.
        schema : Schema
            The schema with which the rows were counted, without unit and weight. ValueError if another schema was used.

        Raises
        ------
        DomainError
            If a column is missing, or has codes or numbers that are not allowed. The message quotes none of them.

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
        """Return the tally of a table from the tallies of disjoint parts; ValueError if their schemas differ."""
        from hedgerow.engines.tallies import check_mergeable, check_total  # Ibis takes long to import

        if not tallies or not all(isinstance(tally, Tally) and tally.schema == tallies[0].schema for tally in tallies):
            raise ArgumentError("tallies must be one or more tallies with the same schema.")
        check_mergeable(schema := tallies[0].schema)
        bins, levels, rows = map(np.concatenate, zip(*(tally._groups() for tally in tallies), strict=True))
        check_total(rows)
        return cls._group(schema, dict(zip(schema.names, bins.T, strict=True)), levels, rows)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tally to a Parquet file that only its owner can read. The file is as **private** as the rows.

        The file has a row for each pattern and class, with the codes ``a0``, ``a1``, … of the bins, the ``class``, the
        number of ``rows`` in 64 bits, and the digest of the ``schema``. ValueError if the schema has a unit or a
        weight.
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
        """Return the tally of encoded rows, or of groups with these numbers of rows: the GROUP BY in memory."""
        codes, widths = list(bins.values()), [(attribute.n_bins - 1).bit_length() for _, attribute in schema.attributes]
        parts = _key_parts(widths)
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
        is_present = counts.any(axis=1)  # rows of weight 0 do not count
        return cls(schema, *((patterns, counts) if is_present.all() else (patterns[is_present], counts[is_present])))

    def bins(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return the exact, private bins of attributes by pattern, arrays of shape ``(n_patterns,)``."""
        return {name: self._bins[:, self.schema.names.index(name)] for name in names}

    def rows(self) -> Integers:
        """Return the exact, private number of rows of each pattern, shape ``(n_patterns,)``."""
        if self.schema.weight is not None:
            raise ArgumentError(
                "a tally of weights has no numbers of rows; count the table by a schema without weight."
            )
        return self._counts.sum(axis=1)

    def total(self) -> Integers:
        """Return the exact, private number of rows of each class, shape ``(n_classes,)``."""
        return self._counts.sum(axis=0)

    @np.errstate(invalid="ignore")  # matrix products may raise the flag for lanes that they do not use
    def class_counts(self, candidates: Candidates) -> Integers:
        """Return the exact, private class counts of the rows that satisfy each candidate.

        The shape is ``(n_candidates, n_classes)``. Adding a row adds 1 to one class of every candidate that it
        satisfies. A product ``Rᵀ diag(w) R`` of the one-hot pattern matrix R for each class yields all conjunctions of
        two literals, after a public linear map from bins to literals. The same product on the patterns that satisfy the
        first literals yields longer conjunctions. Single literals are sums over their bins. Sums are exact, because
        they are integers below 2⁵³ in float64.
        """
        if len(candidates.members) == 1:
            _check_candidates(candidates, self.schema)
            ends = np.cumsum([attribute.n_bins for _, attribute in self.schema.attributes])
            of_bins = np.split(self._bin_counts(), ends[:-1])
            parts = zip(candidates.truth_by_attribute, of_bins, strict=True)
            return np.concatenate([truth.astype(np.float64) @ counts for truth, counts in parts]).astype(np.int64)
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
        """Return the candidates that each pattern satisfies, and its class counts, both exact and private.

        The shapes are ``(n_patterns, n_candidates)`` and ``(n_patterns, n_classes)``.
        """
        _check_candidates(candidates, self.schema)
        satisfied, start = np.empty((len(candidates), len(self._bins)), dtype=bool), 0
        for bins, truth in zip(self._bins.T, candidates.truth_by_attribute, strict=True):
            stop = start + len(truth)
            truth.take(bins.astype(np.intp), axis=1, out=satisfied[start:stop], mode="clip")
            start = stop
        literals, longer = np.split(satisfied, [start])
        for row, members in zip(longer, chain.from_iterable(candidates.members[1:]), strict=True):
            np.logical_and.reduce(literals[members], out=row)
        return satisfied.T, self._counts

    def _bin_counts(self) -> Floats:
        """Return the class counts of each bin of all attributes in order, shape ``(n_bins, n_classes)``."""
        ends = np.cumsum([attribute.n_bins for _, attribute in self.schema.attributes])
        bins, counts = self._bins + np.append(0, ends[:-1]), np.empty((ends[-1], self._counts.shape[1]))
        for column, weights in zip(counts.T, self._counts.T, strict=True):
            column[:] = np.bincount(bins.ravel(), np.repeat(weights, bins.shape[1]), minlength=len(column))
        return counts

    def bins_and_counts(self) -> tuple[Whole, Integers]:
        """Return the exact, private patterns and class counts, with the shapes of `Tally`'s parameters."""
        return self._bins, self._counts

    def only(self, names: Sequence[str]) -> Tally:
        """Return the tally of the same rows for some attributes."""
        indices = {name: self.schema.names.index(name) for name in names}
        pattern, level = self._counts.nonzero()
        bins: dict[str, Any] = {name: self._bins[:, index][pattern] for name, index in indices.items()}
        some = replace(self.schema, attributes=tuple((name, self.schema[name]) for name in names))
        return Tally._group(some, bins, level.astype(np.uint32), self._counts[pattern, level])

    def without(self, antecedent: Antecedent) -> Tally:
        """Return the tally of the rows that do not satisfy an antecedent."""
        is_left = ~self._satisfies(antecedent)
        return Tally(self.schema, self._bins[is_left], self._counts[is_left])

    def within(self, antecedent: Antecedent) -> Tally:
        """Return the tally of the rows that satisfy an antecedent."""
        is_caught = self._satisfies(antecedent)
        return Tally(self.schema, self._bins[is_caught], self._counts[is_caught])

    def distance(self, other: Tally) -> float:
        """Return the exact, private number of rows added or removed; infinite if rows were added and removed."""
        changes = Counter[tuple[int, ...]]()
        for tally, sign in ((self, 1), (other, -1)):
            for bins, counts in zip(tally._bins.tolist(), tally._counts.tolist(), strict=True):
                for label, count in enumerate(counts):
                    changes[(*bins, label)] += sign * count
        added, removed = (sum(max(sign * change, 0) for change in changes.values()) for sign in (1, -1))
        return math.inf if added and removed else float(added + removed)

    def leaf_counts(self, antecedents: Sequence[Antecedent]) -> Integers:
        """Return the exact, private class counts of the rows that each rule of a list catches, the default rule last.

        The shape is ``(len(antecedents) + 1, n_classes)``. The rules of a list partition the rows, so adding a row
        changes one entry by 1: the ℓ1 sensitivity of all counts together is 1 (docs/mathematics.md, fact 2).
        """
        remaining, counts = self, []
        for antecedent in antecedents:
            left = remaining.without(antecedent)
            counts.append(remaining.total() - left.total())
            remaining = left
        return np.array([*counts, remaining.total()])

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
        raise NotPicklableError("A Tally has private counts and cannot be pickled or copied; count the table again.")


def _key_parts(widths: Sequence[int]) -> list[slice]:
    """Return slices of attributes that share a key of the GROUP BY, of at most 63 bits, by the bits of their codes."""
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
    """Return a column of ones and, for every attribute, an indicator for each of its bins except the first."""
    sizes = [len(attribute.bins) for _, attribute in schema.attributes]
    attribute = np.repeat(np.arange(len(sizes)), [size - 1 for size in sizes])
    bin = np.concatenate([np.arange(1, size) for size in sizes])
    onehot = np.ones((len(bins), 1 + len(bin)))
    np.equal(bins[:, attribute], bin, out=onehot[:, 1:], casting="unsafe")
    return onehot


def _check_candidates(candidates: Candidates, schema: Schema) -> None:
    if candidates.schema != schema:
        raise ArgumentError("candidates and tally must have the same schema.")


def _literal_basis(candidates: Candidates, schema: Schema) -> Floats:
    """Return each literal as a linear combination of the columns of `_onehot`, shape ``(n_literals, n_columns)``."""
    _check_candidates(candidates, schema)
    truth = candidates.truth.astype(np.float64)
    firsts = np.cumsum([0, *(len(attribute.bins) for _, attribute in schema.attributes)])[:-1]
    first = firsts[candidates.attribute_of]
    constant = truth[np.arange(len(first)), first]
    same_attribute = np.searchsorted(firsts, np.arange(truth.shape[1]), side="right") - 1
    contrast = truth - np.where(firsts[same_attribute] == first[:, None], constant[:, None], 0.0)
    return np.column_stack([constant, np.delete(contrast, firsts, axis=1)])


def _conjunctions(
    onehot: Floats, weights: Floats, basis: Floats, satisfied: Floats, members: NDArray[np.int32]
) -> Floats:
    """Return the weights for the conjunctions `members`, of the same length and in lexicographic order."""
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
