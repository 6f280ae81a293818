"""Totals of points as SQL expressions and Python source: whole numbers, so that all of them agree exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hedgerow.models import python_source, sql
from hedgerow.models.conditions import Pieces
from hedgerow.models.dialects import Dialect
from hedgerow.models.points import PointBin, Points
from hedgerow.schema.attributes import Boolean, Categorical
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.values import printable

Bins = Sequence[Sequence[PointBin]]
"""The bins of each attribute that is used."""
_MOST_TERMS = 100


def total_sql(bins: Bins, base: Points, schema: Schema, dialect: Dialect, comment: str) -> str:
    """Return the total for two classes: the base plus a CASE for each attribute, NULL for a value without a bin."""
    return sql.expression(_sum(bins, 0, base, sql.conditions(schema, dialect)), dialect, comment)


def prediction_sql(bins: Bins, base: Points, schema: Schema, dialect: Dialect, comment: str) -> str:
    """Return the predicted class; NULL for a row with a value without a bin."""
    classes = [sql.constant(value, dialect) for value in schema.classes]
    written = sql.conditions(schema, dialect)
    if len(base) == 1:
        total = _indented(_sum(bins, 0, base, written))
        lines = ["CASE (", *total, ") > 0", f"  WHEN TRUE THEN {classes[1]}", f"  WHEN FALSE THEN {classes[0]}", "END"]
        return sql.expression(lines, dialect, comment)
    lines = ["CASE GREATEST("]
    for k in range(len(base)):
        total = _indented(_sum(bins, k, base, written))
        lines += [*total[:-1], total[-1] + ("," if k < len(base) - 1 else "")]
    lines += [")"]
    for k, value in enumerate(classes):
        lines += ["  WHEN", *_indented(_sum(bins, k, base, written)), f"  THEN {value}"]
    return sql.expression([*lines, "END"], dialect, comment)


def _sum(bins: Bins, column: int, base: Points, written: Pieces[tuple[Literal, bool]]) -> list[str]:
    terms = [[str(base[column])]]
    for ones in bins:
        cases = [f"  WHEN {written((_literal(one), True))} THEN {one.points[column]}" for one in _ordered(ones)]
        terms.append(["CASE", *cases, "END"])
    return _added(terms)


def _added(terms: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a sum, in groups if it has many terms: engines limit how deep an expression is."""
    if len(terms) > _MOST_TERMS:
        groups = [terms[first : first + _MOST_TERMS] for first in range(0, len(terms), _MOST_TERMS)]
        return _added([["(", *_indented(_added(group)), ")"] for group in groups])
    (first, *others) = terms
    return [*first, *(line for head, *rest in others for line in (f"+ {head}", *rest))]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _ordered(bins: Sequence[PointBin]) -> list[PointBin]:
    """Return the bins with those of missing and outside values first, so that one literal distinguishes each."""
    return sorted(bins, key=lambda one: one.is_known)


def _literal(one: PointBin) -> Literal:
    """Return a literal that holds of the values of a bin, if the literals of the bins before it do not."""
    name, declared = one.attribute, one.declared
    if not one.is_known:
        return Literal(name, one.name)
    if isinstance(declared, Boolean):
        return Literal(name, ("false", "true")[one.start])
    if isinstance(declared, Categorical):
        return Literal(name, "=", (declared.values[one.start],))
    assert isinstance(declared, (Integer, Real))
    if one.stop < declared.n_known:
        return Literal(name, "<=", (declared.cuts[one.stop - 1],))
    return Literal(name, ">", (declared.cuts[one.start - 1],)) if one.start else Literal(name, "known")


def python_functions(bins: Bins, base: Points, classes: Sequence[Any], schema: Schema, comment: str) -> str:
    """Return the source of ``total(row)`` and ``predict(row)``."""
    written, functions = python_source.conditions(schema), list[str]()
    for number, ones in enumerate(bins, 1):
        functions += [f"def _points_{number}(row):", f"    # {printable(ones[0].attribute)}"]
        for one in _ordered(ones):
            functions += [f"    if {written(_literal(one))}:", f"        return {_value(one.points)}"]
        functions += [f"    raise ValueError({_problem(ones[0].attribute)!r})", "", ""]
    calls = [f"_points_{number}(row)" for number in range(1, len(bins) + 1)]
    if len(base) == 1:
        total = [f"points = {base[0]}", *(f"points += {call}" for call in calls), "return points"]
        chosen = [f"return {classes[1]!r} if total(row) > 0 else {classes[0]!r}"]
    else:
        total = [f"points = [{base!r}]", *(f"points.append({call})" for call in calls)]
        total.append("return tuple(map(sum, zip(*points)))")
        chosen = ["totals = total(row)", f"return {tuple(classes)!r}[totals.index(max(totals))]"]
    predict = ["", "", "def predict(row):", *(f"    {line}" for line in chosen)]
    return python_source.source(total, comment, schema, written, name="total", before=functions, after=predict)


def _value(points: Points) -> str:
    return repr(points[0] if len(points) == 1 else points)


def _problem(name: str) -> str:
    return f"expected a value of the declared domain for {printable(name)}"
