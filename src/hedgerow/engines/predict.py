"""What a model predicts for every row, as an expression that an engine evaluates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import and_, or_
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


def predicted_class(model: Model, bins: Mapping[str, Expression], classes: Sequence[Any]) -> Expression:
    """Return the number of the class that a model predicts, `FAILS` where `predict` would raise an error.

    Parameters
    ----------
    model : RuleList or Tree
        The model.
    bins : mapping of str to expression
        For each attribute that it looks at, the settled bin, below 0 for a value that its policies do not allow.
    classes : sequence
        The classes to number; all that it predicts are among them.
    """
    numbers = [classes.index(label) for label in model.predictions]
    *branches, (_, last) = zip(model.paths, numbers, strict=True)
    cases = [(bins[name] < 0, FAILS) for name in used_attributes(model)]
    cases += [(_all_hold(path, model.schema, bins), number) for path, number in branches]
    return ibis.cases(*cases, else_=last) if cases else ibis.literal(last)


def _all_hold(path: Sequence[Step], schema: Schema, bins: Mapping[str, Expression]) -> Expression:
    steps: list[Expression] = []
    for literal, holds in path:
        truth = schema[literal.attribute].truth(literal) == holds
        inside = [bins[literal.attribute].between(first, last) for first, last in _runs(truth.tolist())]
        steps.append(reduce(or_, inside))
    return reduce(and_, steps)


def _runs(truth: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the first and last place of each run of what is true: a literal is true on few, however many the bins."""
    edges = [i for i, (one, other) in enumerate(pairwise([False, *truth, False])) if one != other]
    return [(first, end - 1) for first, end in zip(edges[::2], edges[1::2], strict=True)]
