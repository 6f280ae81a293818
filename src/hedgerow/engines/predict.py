"""What a model predicts for every row, as an expression that an engine evaluates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import ibis

from hedgerow.engines.columns import Expression
from hedgerow.models.model import Model
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema

FAILS = -9
"""In place of a class, where a model refuses the row. No code of a label is this."""

Step = tuple[Literal, bool]


def used_attributes(model: Model) -> tuple[str, ...]:
    """Return the attributes that a model looks at, in its schema's order."""
    looked_at = {literal.attribute for path in model.paths for literal, _ in path}
    return tuple(name for name in model.schema.names if name in looked_at)


def predicted_class(model: Model, cells: Mapping[str, Expression], classes: Sequence[Any]) -> Expression:
    """Return the number of the class that a model predicts, `FAILS` where `predict` would raise an error.

    Parameters
    ----------
    model : RuleList or Tree
        The model.
    cells : mapping of str to expression
        For each attribute that it looks at, the settled cell, below 0 for a value that its policies do not allow.
    classes : sequence
        The classes to number; all that it predicts are among them.
    """
    numbers = [classes.index(label) for label in model.predictions]
    *branches, (_, last) = zip(model.paths, numbers, strict=True)
    cases = [(cells[name] < 0, FAILS) for name in used_attributes(model)]
    cases += [(_all_hold(path, model.schema, cells), number) for path, number in branches]
    return ibis.cases(*cases, else_=last) if cases else ibis.literal(last)


def _all_hold(path: Sequence[Step], schema: Schema, cells: Mapping[str, Expression]) -> Expression:
    steps = []
    for literal, holds in path:
        truth = schema[literal.attribute].truth(literal)
        steps.append(cells[literal.attribute].isin([i for i, true in enumerate(truth) if bool(true) == holds]))
    return reduce(lambda one, other: one & other, steps)
