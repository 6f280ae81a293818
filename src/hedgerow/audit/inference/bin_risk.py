"""Rows and classes of each bin of a scorecard, counted from a table. **Private**."""

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from hedgerow.audit.inference.labelled import LabelledRows, distinct
from hedgerow.audit.inference.leaf_risk import LeafRisk, counted_risk
from hedgerow.boundary.arrays import Index
from hedgerow.models.point_lines import PointLine
from hedgerow.models.scorecard import Scorecard
from hedgerow.tables.frames import Table, column_of


def bin_risk(model: Scorecard, train: tuple[Any, Any], threshold: int, unit: str | None = None) -> LeafRisk:
    """Return the rows and classes of the bins of all attributes; bins that share a printed line are counted together.

    A line's points depend on the rows of all its bins together. The model has points for at least one attribute.
    `leaf_risk` describes the other arguments.
    """
    rows, schema = LabelledRows.of_pair("train", train), model.schema
    bins = schema.encode(Table.of(train[0]), [part.attribute for part in model.parts])
    by, risks = _levels(model, rows), list[LeafRisk]()
    for part in model.parts:
        lines = [line for line in model.lines if line.attribute == part.attribute]
        places = _line_of_bin(lines, len(part.points))[bins[part.attribute]]
        names = tuple(f"{line.attribute} = {line.label()}" for line in lines)
        risks.append(counted_risk(names, places, by, train[0], schema, threshold, unit))
    return replace(
        risks[0],
        leaves=tuple(chain.from_iterable(risk.leaves for risk in risks)),
        rows=tuple(chain.from_iterable(risk.rows for risk in risks)),
        counts=tuple(chain.from_iterable(risk.counts or () for risk in risks)),
    )


def _levels(model: Scorecard, rows: LabelledRows) -> tuple[Any, Index]:
    """Return the classes, or the levels of a number, and the index of each row's class among them."""
    target = model.schema.target
    levels = target.encode(column_of(rows.labels, target.name)).astype(np.intp)
    return (target.values, levels) if target.as_number is not None else distinct(np.array(target.values)[levels])


def _line_of_bin(lines: list[PointLine], n_bins: int) -> Index:
    """Return the index of the line that has each bin of an attribute."""
    places = np.zeros(n_bins, dtype=np.intp)
    for place, line in enumerate(lines):
        for run in line.bins:
            places[run.start : run.stop] = place
    return places
