"""Nodes and rules of PMML: their predicates in three-valued logic, and the rows of leaves by class."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.models.readers.attribute_tests import AttributeTest
from hedgerow.models.readers.documents import Element

PREDICATES = ("True", "False", "SimplePredicate", "SimpleSetPredicate", "CompoundPredicate")
_OPERATORS = {"equal": "=", "notEqual": "!=", "lessThan": "<", "lessOrEqual": "<=", "greaterThan": ">"}
_OPERATORS |= {"greaterOrEqual": ">=", "isMissing": "missing", "isNotMissing": "known"}
_QUOTED = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))(?=\s|$)')
_WHOLE_TO = Fraction(1, 10**6)  # the largest rounding error of a number of rows that is computed from a share
_MOST = 10**18


def predicate_of(element: Element) -> Element:
    predicates = element.all(*PREDICATES)
    if len(predicates) != 1:
        element.refuse(f"{element.path} must have exactly one predicate, got {len(predicates)}")
    return predicates[0]


def is_surrogate(predicate: Element) -> bool:
    return predicate.tag == "CompoundPredicate" and predicate.given.get("booleanOperator") == "surrogate"


def _parts(compound: Element) -> list[Element]:
    """Return the parts of a compound predicate; for surrogates only the first, which the other parts can replace."""
    compound.need("booleanOperator")
    parts = compound.all(*PREDICATES)
    if not parts:
        compound.refuse("a CompoundPredicate must contain predicates")
    return parts[:1] if is_surrogate(compound) else parts


def tests_of(predicate: Element) -> Iterator[AttributeTest]:
    """Yield the tests of a predicate; for surrogates only the test that is used."""
    if predicate.tag == "CompoundPredicate":
        for part in _parts(predicate):
            yield from tests_of(part)
    elif predicate.tag not in ("True", "False"):
        yield test_of(predicate)


def test_of(simple: Element) -> AttributeTest:
    name = simple.need("field")
    if simple.tag == "SimplePredicate":
        operator = _OPERATORS[simple.need("operator")]
        if operator not in ("missing", "known"):
            return AttributeTest(name, operator, (simple.need("value"),), simple.line)
        if "value" in simple.given:
            simple.refuse(f"{simple.path} with the operator {simple.given['operator']} must not have a value")
        return AttributeTest(name, operator, (), simple.line)
    operator = {"isIn": "in", "isNotIn": "not in"}[simple.need("booleanOperator")]
    array = simple.first("Array") or simple.refuse("a SimpleSetPredicate must have an Array")
    return AttributeTest(name, operator, _values(array), simple.line)


def _values(array: Element) -> tuple[str, ...]:
    """Return the values of an array, which are separated by spaces; values with spaces are in quotation marks."""
    values, at, text = list[str](), 0, array.text.rstrip()
    while at < len(text):
        value = _QUOTED.match(text, at)
        if value is None:
            array.refuse(f"the text of {array.path} has an unpaired quotation mark")
        quoted, plain = value.groups()
        values.append(re.sub(r"\\(.)", r"\1", quoted) if plain is None else plain)
        at = value.end()
    if not values:
        array.refuse("an Array must have values")
    if int(array.given.get("n", len(values))) != len(values):
        array.refuse(f"the attribute n of the Array states {array.given['n']} values, but it has {len(values)}")
    return tuple(values)


def field_of(predicate: Element) -> str:
    names = {test.attribute for test in tests_of(predicate)}
    if len(names) != 1:
        predicate.refuse(f"a predicate must test exactly one field, got {len(names)}; split it into nested Nodes")
    return names.pop()


def conjuncts(predicate: Element) -> Iterator[Element]:
    """Yield the simple predicates of a conjunction."""
    operator = predicate.given.get("booleanOperator", "")
    if predicate.tag == "CompoundPredicate" and operator == "and":
        for part in _parts(predicate):
            yield from conjuncts(part)
    elif predicate.tag in ("SimplePredicate", "SimpleSetPredicate"):
        yield predicate
    elif predicate.tag != "True":
        predicate.refuse(f"{predicate.tag} {operator[:20]} in a rule is not supported; use `and` only")


def answers(answer: Callable[[AttributeTest], tuple[Mask, Mask]], predicate: Element) -> tuple[Mask, Mask]:
    """Return for each bin whether a predicate on a single field is true, and whether it is unknown."""
    if predicate.tag in ("True", "False"):
        predicate.refuse(f"{predicate.path} is not supported here; delete it")
    if predicate.tag != "CompoundPredicate":
        return answer(test_of(predicate))
    operator, parts = predicate.given["booleanOperator"], [answers(answer, part) for part in _parts(predicate)]
    return reduce(lambda a, b: _joined(operator, a, b), parts)


def _joined(operator: str, left: tuple[Mask, Mask], right: tuple[Mask, Mask]) -> tuple[Mask, Mask]:
    """Return the conjunction, disjunction or exclusive disjunction of two answers in PMML's three-valued logic."""
    (a, a_unknown), (b, b_unknown) = left, right
    if operator == "xor":
        unknown = a_unknown | b_unknown
        return np.logical_and(a ^ b, ~unknown), unknown
    if operator == "and":
        false = (~a & ~a_unknown) | (~b & ~b_unknown)
        return a & b, ~(a & b) & ~false
    return a | b, ~(a | b) & (a_unknown | b_unknown)


def leaf_counts(nodes: Sequence[Element], spelled: Callable[[str, Element], str]) -> Mapping[Element, dict[str, int]]:
    """Return the rows by class of the leaves that state them; empty if the numbers of the document are not rows.

    By the specification, ``ScoreDistribution@recordCount`` is the number of rows. Nyoka writes shares there and the
    number of rows in ``Node@recordCount``; sklearn2pmml writes shares there and 1 in ``Node@recordCount``.
    """
    given = {node: _distribution(node, spelled) for node in nodes}
    leaves = {node: rows for node, rows in given.items() if rows and not node.all("Node")}
    if any(count < 0 or count > _MOST for rows in given.values() for count in rows.values()):
        return {}
    has_shares = any(count.denominator != 1 for rows in given.values() for count in rows.values())
    has_shares = has_shares or any(_size(node) not in (None, sum(rows.values())) for node, rows in leaves.items())
    sizes = {node: _size(node) if has_shares else Fraction(1) for node in leaves}
    sized = {node: size for node, size in sizes.items() if size is not None}  # other leaves have only shares
    whole = {node: _as_rows(leaves[node], size) for node, size in sized.items()}
    read = {node: rows for node, rows in whole.items() if rows is not None}
    if len(read) < len(sized) or _may_be_shares(read) or not _is_consistent(nodes, read):
        return {}
    return read


def _may_be_shares(leaves: Mapping[Element, Mapping[str, int]]) -> bool:
    """Return whether the numbers can be shares: each leaf sums to 1, or to 100 without a number of rows."""
    sums = {sum(rows.values()) for rows in leaves.values()}
    return sums <= {1} or (sums == {100} and not any("recordCount" in node.given for node in leaves))


def _is_consistent(nodes: Sequence[Element], leaves: Mapping[Element, Mapping[str, int]]) -> bool:
    """Return whether the leaves below each node add up to the number of rows that the node states, if any."""
    sums = {node: sum(rows.values()) for node, rows in leaves.items()}
    for node in reversed(nodes):  # children come after their parents
        children = node.all("Node")
        if children and all(child in sums for child in children):
            sums[node] = sum(sums[child] for child in children)
            if _size(node) not in (None, sums[node]):
                return False
    return True


def _distribution(node: Element, spelled: Callable[[str, Element], str]) -> dict[str, Fraction]:
    counts = dict[str, Fraction]()
    if not all("recordCount" in element.given for element in node.all("ScoreDistribution")):
        return counts  # only shares
    for element in node.all("ScoreDistribution"):
        value = spelled(element.need("value"), element)
        if value in counts:
            element.refuse("a Node must have at most one ScoreDistribution for each class; this is the second")
        counts[value] = Fraction(element.need("recordCount"))
    return counts


def _size(node: Element) -> Fraction | None:
    return Fraction(node.given["recordCount"]) if "recordCount" in node.given else None


def _as_rows(counts: Mapping[str, Fraction], times: Fraction) -> dict[str, int] | None:
    """Return counts times a number as whole numbers; None if they are not whole, or not shares of the number."""
    rows = {value: count * times for value, count in counts.items()}
    is_sum = times == 1 or (times > 0 and abs(sum(counts.values()) - 1) <= _WHOLE_TO)
    whole = {value: round(count) for value, count in rows.items()}
    is_whole = all(abs(rows[value] - count) <= _WHOLE_TO for value, count in whole.items())
    return whole if is_whole and is_sum else None
