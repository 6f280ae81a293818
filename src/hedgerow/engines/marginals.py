"""Aggregate queries for an oracle: rows of each bin by class, or by the correctness of a hypothesis."""

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import and_, or_
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Integers
from hedgerow.engines.bins import final_bin, is_infinite, level_code
from hedgerow.engines.columns import EngineColumn
from hedgerow.engines.count import check_read
from hedgerow.engines.engine import Expression
from hedgerow.engines.lookups import Lookups
from hedgerow.engines.packages import ibis
from hedgerow.engines.sources import ask, require_table
from hedgerow.errors import DomainError
from hedgerow.models.model import Model
from hedgerow.schema import Literal, Schema
from hedgerow.schema.targets import Target
from hedgerow.tables.columns import FOUND_INFINITY

Inputs = Mapping[str, EngineColumn]
FAILS = -9  # code for a row for which `predict` fails; not the code of a class


def columns_of(table: Any, label: str) -> tuple[EngineColumn, dict[str, EngineColumn]]:
    """Return the column of the labels, and the other columns with supported types."""
    require_table(table)
    columns: dict[str, EngineColumn] = {}
    for name in table.columns:
        if name != label:
            try:
                columns[name] = EngineColumn.of(table, name)
            except DomainError:
                continue
    return EngineColumn.of(table, label), columns


def check_rows(table: Expression, label: Target, inputs: Inputs) -> None:
    """Read every value once when the oracle is created, so that no value causes an error in a later question."""
    columns, lookups = list(inputs.values()), Lookups(table, [label.name, *inputs])
    checked = {"code": level_code(label, EngineColumn.of(table, label.name), lookups)}
    checked |= {f"n{i}": column.numbers for i, column in enumerate(columns)}
    checked |= {f"t{i}": column.text for i, column in enumerate(columns) if column.kind == "text"}
    floats = {f"i{i}": column for i, column in enumerate(columns) if column.kind == "float"}
    checked |= {key: is_infinite(column).cast("int32") for key, column in floats.items()}
    rows = lookups.rows().select(**checked)
    sums = {key: rows[key].max() if key in floats else rows[key].count() for key in checked if key != "code"}
    answer = ask(rows.group_by("code").agg(**sums, n=rows.count()))
    codes = answer["code"].to_numpy()
    check_read(label.name, codes)
    label.checked(codes)
    for key, column in floats.items():
        if 1 in answer[key].to_pylist():
            raise DomainError(FOUND_INFINITY, column=column.name)


def count_all(table: Expression) -> int:
    """Return the number of rows. Exact, private."""
    return int(ask(table.aggregate(n=table.count()))["n"][0].as_py())


def count_right(table: Expression, label: Target, inputs: Inputs, bins: Schema, hypothesis: Model | int) -> Integers:
    """Return the rows of each bin by the number of steps that a hypothesis predicts correctly. Exact, private.

    The hypothesis is a model, or the number of a class for all rows. The shape is ``(n_bins, steps + 1)``; for classes,
    the columns count wrong (or failed) and correct predictions. A row is in one bin of every attribute, or is not
    counted at all. It therefore changes one number for each attribute by 1.
    """
    model = None if isinstance(hypothesis, int) else hypothesis
    coded = _coded(table, label, inputs, bins, model)
    predicted: Any = hypothesis
    if model is not None:
        of_model = {name: coded[f"m{i}"] for i, name in enumerate(model.used_attributes)}
        predicted = predicted_class(model, of_model, label.hypothesis_classes)
    return _by_bin(coded.mutate(kind=_right_steps(label, coded.kind, predicted)), bins, label.steps + 1)


def _right_steps(label: Target, level: Expression, predicted: Any) -> Expression:
    """Return `Target.right_steps` as an expression; the codes of rows without a level are clipped."""
    if label.as_number is None:
        return ibis.cases((level == predicted, 1), else_=0)
    inside, high = level.clip(0, label.steps), ibis.literal(predicted) if isinstance(predicted, int) else predicted
    return ibis.cases((high == 1, inside), (high == 0, label.steps - inside), else_=0)


def count_classes(table: Expression, label: Target, inputs: Inputs, bins: Schema) -> Integers:
    """Return the rows of each class in each bin, shape ``(n_bins, n_classes)``. Exact, private.

    A row is in one bin of every attribute, or is not counted at all. It therefore changes one number for each
    attribute by 1.
    """
    return _by_bin(_coded(table, label, inputs, bins), bins, label.n_levels)


def _coded(table: Expression, label: Target, inputs: Inputs, bins: Schema, model: Model | None = None) -> Expression:
    """Return the bins of each row as ``b0``, …, a model's bins as ``m0``, …, and the class as ``kind``."""
    used = () if model is None else [(name, model.schema[name]) for name in model.used_attributes]
    lookups = Lookups(table, [label.name, *bins.names, *(name for name, _ in used)])
    codes = {f"b{i}": final_bin(kind, inputs[name], lookups) for i, (name, kind) in enumerate(bins.attributes)}
    codes["kind"] = level_code(label, EngineColumn.of(table, label.name), lookups)
    codes |= {f"m{i}": final_bin(kind, inputs[name], lookups) for i, (name, kind) in enumerate(used)}
    return lookups.rows().select(**codes)


def _by_bin(coded: Expression, bins: Schema, n_kinds: int) -> Integers:
    """Return the rows of each kind in each bin, shape ``(n_bins, n_kinds)``.

    A row without a level, or without a bin of some attribute, is not counted for any attribute. The reason is that the
    histograms of `SharedHistograms` must count the same rows.
    """
    sizes = [len(attribute.bins) for _, attribute in bins.attributes]
    firsts = [sum(sizes[:i]) for i in range(len(sizes))]
    counted = coded.filter([coded.kind >= 0, *(coded[f"b{i}"] >= 0 for i in range(len(sizes)))])
    places = [n_kinds * (counted[f"b{i}"] + first) + counted.kind for i, first in enumerate(firsts)]
    answer = ask(counted.select(place=ibis.array(places).unnest()).group_by("place").agg(n=ibis._.count()))
    rows = np.zeros((sum(sizes), n_kinds), dtype=np.int64)
    for place, n in zip(answer["place"].to_pylist(), answer["n"].to_pylist(), strict=True):
        rows[divmod(place, n_kinds)] = n
    return rows


def predicted_class(model: Model, bins: Mapping[str, Expression], classes: Sequence[Any]) -> Expression:
    """Return the number of the class that a model predicts, or `FAILS` if `predict` would raise an error."""
    numbers = [classes.index(label) for label in model.outcomes]
    *branches, (_, last) = zip(model.paths, numbers, strict=True)
    cases = [(bins[name] < 0, FAILS) for name in model.used_attributes]
    cases += [(_all_hold(path, model.schema, bins), number) for path, number in branches]
    return ibis.cases(*cases, else_=last) if cases else ibis.literal(last)


def _all_hold(path: Sequence[tuple[Literal, bool]], schema: Schema, bins: Mapping[str, Expression]) -> Expression:
    steps: list[Expression] = []
    for literal, holds in path:
        truth = schema[literal.attribute].truth(literal) == holds
        inside = [bins[literal.attribute].between(first, last) for first, last in _runs(truth.tolist())]
        steps.append(reduce(or_, inside))
    return reduce(and_, steps)


def _runs(truth: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the first and last index of each run of true values; there are few runs even if there are many bins."""
    edges = [i for i, (before, after) in enumerate(pairwise([False, *truth, False])) if before != after]
    return [(first, end - 1) for first, end in zip(edges[::2], edges[1::2], strict=True)]
