"""Bins of a learner's public source: of the columns that tell something, the others being left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow.columns import Column
from hedgerow.errors import DomainError
from hedgerow.frames import Table
from hedgerow.marginals.binning import bins_or_chosen, is_constant
from hedgerow.schema.attributes import Attribute, Boolean, Categorical
from hedgerow.schema.numbers import Real
from hedgerow.schema.schema import Schema


def source_bins(bins: Any, source: Any, noise_scale: Callable[[int], float]) -> tuple[Schema, tuple[str, ...]]:
    """Return the bins of the one question of a learner, and the columns of the source that are left out.

    Columns with fewer than two values in the source are left out: they tell nothing and would cost privacy. Columns of
    an array have no names, so that each keeps an attribute, there of a single bin.
    """
    table = Table.of(source)
    names = table.column_names
    columns = [table.column(name, place) for place, name in enumerate(names)]
    constant = () if isinstance(bins, Schema) else tuple(column.name for column in columns if is_constant(column))
    if constant == names:
        raise DomainError("expected a column with two or more values in the source, found none.")
    kept = [place for place, name in enumerate(names) if name not in constant]
    if table.names is None:
        chosen = bins_or_chosen(bins, table.data[:, kept], len(table), noise_scale(len(names)))
        if not constant:
            return chosen, ()
        of_kept = iter(attribute for _, attribute in chosen.attributes)
        attributes = [
            (column.name, _single(column) if column.name in constant else next(of_kept)) for column in columns
        ]
        return Schema(tuple(attributes)), constant
    data = table.data.select([names[place] for place in kept])
    return bins_or_chosen(bins, data, len(table), noise_scale(len(kept))), constant


def _single(column: Column) -> Attribute:
    """Return an attribute for a column that has one value, or none."""
    values = column.present()
    if column.is_text:
        return Categorical((str(values[0]) if len(values) else "none",), missing="bin", outside="bin")
    if values.dtype.kind == "b":
        return Boolean(missing="bin")
    low = float(values[0]) if len(values) else 0.0
    return Real(low, float(np.nextafter(low, np.inf)), (), missing="bin", outside="clip")
