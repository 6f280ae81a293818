"""Predictions of a model as an Ibis expression that an engine evaluates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import and_, or_
from typing import Any

import ibis

from hedgerow.engines.columns import Expression
from hedgerow.models.leaf_model import LeafModel
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema

FAILS = -9
"""Code for a row that a model refuses; not the code of a class."""


def predicted_class(model: LeafModel, bins: Mapping[str, Expression], classes: Sequence[Any]) -> Expression:
    """Return the number of the class that a model predicts, `FAILS` where `predict` would raise an error."""
    numbers = [classes.index(label) for label in model.predictions]
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
    """Return the first and last index of each run of true values: few, even if there are many bins."""
    edges = [i for i, (one, other) in enumerate(pairwise([False, *truth, False])) if one != other]
    return [(first, end - 1) for first, end in zip(edges[::2], edges[1::2], strict=True)]
