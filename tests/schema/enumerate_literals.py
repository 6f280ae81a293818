"""Literals and their truth on every bin by enumeration: references too simple to be wrong, and far too slow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.schema import Boolean, Categorical, Date, Integer, Literal, Ordered, Real
from hedgerow.schema.attributes import Attribute


def truth(literal: Literal, attribute: Attribute) -> NDArray[np.bool_]:
    known, has_missing, has_outside = (
        len(attribute.known_bins),
        attribute.missing == "bin",
        attribute.outside == "bin",
    )
    bins = [*range(known), *["missing"] * has_missing, *["outside"] * has_outside]
    return np.array([_holds(literal, attribute, bin) for bin in bins])


def _holds(literal: Literal, attribute: Attribute, bin: int | str) -> bool:
    if bin == "missing":
        return literal.operator == "missing"
    if bin == "outside":
        return literal.operator in ("outside", "!=", "known")
    match literal.operator:
        case "missing" | "outside":
            return False
        case "known":
            return True
        case "true" | "false":
            return attribute.known_bins[bin] == literal.operator
        case "=" | "!=":
            return (attribute.known_bins[bin] == str(literal.operands[0])) == (literal.operator == "=")
    cuts = [*map(str, attribute.values)] if isinstance(attribute, Ordered) else [*map(str, attribute.cuts)]
    above = [cuts.index(str(operand)) for operand in literal.operands]  # a bin begins after its cut point
    match literal.operator:
        case "<=":
            return bin <= above[0]
        case ">":
            return bin > above[0]
    return above[0] < bin <= above[1]


def literals(name: str, attribute: Attribute, *, negations: bool) -> tuple[Literal, ...]:
    """All literals of an attribute, but for those true on no bin, on all, or on the same bins as an earlier one."""
    result: dict[bytes, Literal] = {}
    for literal in _proposed(name, attribute):
        true = truth(literal, attribute)
        if true.any() and not true.all() and (negations or literal.operator not in ("false", "!=", "known")):
            result.setdefault(true.tobytes(), literal)
    return tuple(result.values())


def _proposed(name: str, attribute: Attribute) -> list[Literal]:
    own = {
        Boolean: lambda: [("true",), ("false",)],
        Categorical: lambda: [(sign, value) for sign in ("=", "!=") for value in attribute.values],
        Date: lambda: _comparisons(attribute.cuts),
        Integer: lambda: _comparisons(attribute.cuts),
        Ordered: lambda: _along(attribute.values),
        Real: lambda: _comparisons(attribute.cuts),
    }[type(attribute)]()
    policies = [("missing",), ("known",)] * (attribute.missing == "bin") + [("outside",)] * (attribute.outside == "bin")
    return [Literal(name, operator, operands) for operator, *operands in [*own, *policies]]


def _comparisons(cuts: tuple[float, ...]) -> list[tuple]:
    single = [(sign, cut) for sign in ("<=", ">") for cut in cuts]
    pairs = [("between", low, high) for i, low in enumerate(cuts) for high in cuts[i + 1 :]]
    return single + (pairs if len(cuts) <= 10 else [])


def _along(values: tuple[str | int, ...]) -> list[tuple]:
    """Comparisons with all values but the last, and each value by itself before intervals."""
    own = _comparisons(values[:-1])
    single = [item for item in own if item[0] != "between"]
    return [*single, *(("=", value) for value in values), *(item for item in own if item[0] == "between")]


def complement(literal: Literal, attribute: Attribute) -> Literal | None:
    wanted = ~truth(literal, attribute)
    others = literals(literal.attribute, attribute, negations=True)
    return next((other for other in others if np.array_equal(truth(other, attribute), wanted)), None)
