"""The questions of an oracle as aggregates: how many rows of each bin a model gets wrong, and how many right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from hedgerow.columns import found_infinity
from hedgerow.engines.cells import class_code, is_infinite, settled_cell
from hedgerow.engines.columns import EngineColumn, Expression, require_table
from hedgerow.engines.faults import answered
from hedgerow.engines.predict import predicted_class, used_attributes
from hedgerow.errors import DomainError
from hedgerow.models.model import Model
from hedgerow.schema.label import Label
from hedgerow.schema.schema import Schema

Inputs = Mapping[str, EngineColumn]
Counts = NDArray[np.int64]


def columns_of(table: Any, label: str) -> tuple[EngineColumn, dict[str, EngineColumn]]:
    """Return the column of the labels, and those that can have bins; of other types, such as times, are left alone.

    Raises
    ------
    DomainError
        If there is no column of that name.
    TypeError
        If this is not an Ibis table.
    """
    require_table(table)
    found: dict[str, EngineColumn] = {}
    for name in table.columns:
        if name != label:
            try:
                found[name] = EngineColumn.of(table, name)
            except DomainError:
                continue
    return EngineColumn.of(table, label), found


def check_rows(table: Expression, label: Label, inputs: Inputs) -> None:
    """Look at every value once, for the curator's eyes: what fails now does not fail when a question is asked.

    Raises
    ------
    DomainError
        If labels are missing or none of the classes, or a number is infinite.
    EngineError
        If the engine fails, as a view does that cannot cast a value.
    """
    columns = list(inputs.values())
    sums = {f"n{i}": column.numbers.count() for i, column in enumerate(columns)}
    sums |= {f"t{i}": column.text.count() for i, column in enumerate(columns) if column.kind == "text"}
    floats = {i: column for i, column in enumerate(columns) if column.kind == "float"}
    sums |= {f"i{i}": is_infinite(column).sum() for i, column in floats.items()}
    found = _ask(
        table.group_by(code=class_code(label, EngineColumn.of(table, label.name))).agg(**sums, n=ibis._.count())
    )
    label.settle(found["code"].to_numpy())
    for i, column in floats.items():
        if any(found[f"i{i}"].to_pylist()):
            raise found_infinity(column.name)


def count_all(table: Expression) -> int:
    """Return the number of rows. Exact, private."""
    return int(_ask(table.aggregate(n=table.count()))["n"][0].as_py())


def count_errors(
    table: Expression, label: Label, inputs: Inputs, bins: Schema, asked: Model | int
) -> tuple[Counts, Counts]:
    """Return the rows of each bin that a model, or one class for all, gets wrong and right. Exact, private.

    A row is in at most one bin of each attribute, and there it is wrong or right: it changes as many numbers by one as
    there are attributes. A row that the model refuses is wrong.

    Parameters
    ----------
    table : Ibis table
        The private rows.
    label : Label
        The classes, under the name of their column.
    inputs : mapping of str to EngineColumn
        The columns that bins and model look at.
    bins : Schema
        The bins.
    asked : RuleList, Tree or int
        The model, or the number of a class.

    Returns
    -------
    wrong, right : ndarrays of shape (n_bins,)
    """
    cells = {f"b{i}": settled_cell(attribute, inputs[name]) for i, (name, attribute) in enumerate(bins.attributes)}
    cells["class"] = class_code(label, EngineColumn.of(table, label.name))
    keys = {} if isinstance(asked, int) else {name: f"m{i}" for i, name in enumerate(used_attributes(asked))}
    if not isinstance(asked, int):
        cells |= {key: settled_cell(asked.schema[name], inputs[name]) for name, key in keys.items()}
    coded = table.select(**cells)
    by_name = {name: coded[key] for name, key in keys.items()}
    predicted = asked if isinstance(asked, int) else predicted_class(asked, by_name, label.classes)
    held = coded.mutate(right=coded["class"] == predicted)
    places = [(i, cell) for i, (_, attribute) in enumerate(bins.attributes) for cell in range(len(attribute.cells))]
    inside = {(i, cell): held[f"b{i}"] == cell for i, cell in places}
    sums = {f"wrong{i}_{cell}": held.count(where=inside[i, cell] & ~held.right) for i, cell in places}
    sums |= {f"right{i}_{cell}": held.count(where=inside[i, cell] & held.right) for i, cell in places}
    found = _ask(held.aggregate(**sums))
    numbers = np.array([found[name][0].as_py() for name in sums], dtype=np.int64)
    return numbers[: len(places)], numbers[len(places) :]


def _ask(query: Expression) -> Any:
    return answered(query.get_backend().name, lambda: query.to_pyarrow())
