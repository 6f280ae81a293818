"""Nodes and rules of PMML: their predicates with a three-valued logic, and the rows by class of leaves."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.models.readers.documents import Element
from hedgerow.models.readers.questions import AttributeTest

PREDICATES = ("True", "False", "SimplePredicate", "SimpleSetPredicate", "CompoundPredicate")
_OPERATORS = {"equal": "=", "notEqual": "!=", "lessThan": "<", "lessOrEqual": "<=", "greaterThan": ">"}
_OPERATORS |= {"greaterOrEqual": ">=", "isMissing": "missing", "isNotMissing": "known"}
_QUOTED = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))(?=\s|$)')
_WHOLE_TO = Fraction(1, 10**6)  # by which a number of rows that a share gives may be off a whole number
_MOST = 10**18


def predicate_of(one: Element) -> Element:
    found = one.all(*PREDICATES)
    if len(found) != 1:
        one.refuse(f"expected {one.path} with one predicate, got {len(found)}")
    return found[0]


def is_surrogate(one: Element) -> bool:
    return one.tag == "CompoundPredicate" and one.given.get("booleanOperator") == "surrogate"


def _parts(one: Element) -> list[Element]:
    """Return the parts of a compound predicate; of surrogates the first, which the others stand in for."""
    one.need("booleanOperator")
    found = one.all(*PREDICATES)
    if not found:
        one.refuse("expected a CompoundPredicate with predicates, got none")
    return found[:1] if is_surrogate(one) else found


def questions_of(one: Element) -> Iterator[AttributeTest]:
    """Yield the questions of a predicate; of surrogates those that are used."""
    if one.tag == "CompoundPredicate":
        for part in _parts(one):
            yield from questions_of(part)
    elif one.tag not in ("True", "False"):
        yield question_of(one)


def question_of(one: Element) -> AttributeTest:
    name = one.need("field")
    if one.tag == "SimplePredicate":
        operator = _OPERATORS[one.need("operator")]
        if operator not in ("missing", "known"):
            return AttributeTest(name, operator, (one.need("value"),), one.line)
        if "value" in one.given:
            one.refuse(f"expected {one.path} with the operator {one.given['operator']} and without a value")
        return AttributeTest(name, operator, (), one.line)
    operator = {"isIn": "in", "isNotIn": "not in"}[one.need("booleanOperator")]
    array = one.first("Array") or one.refuse("expected a SimpleSetPredicate with an Array, got none")
    return AttributeTest(name, operator, _values(array), one.line)


def _values(array: Element) -> tuple[str, ...]:
    """Return the values of an array, which are separated by spaces; a value with spaces is in quotation marks."""
    found, at, text = list[str](), 0, array.text.rstrip()
    while at < len(text):
        value = _QUOTED.match(text, at)
        if value is None:
            array.refuse(f"expected values separated by spaces in {array.path}, got an unpaired quotation mark")
        quoted, plain = value.groups()
        found.append(re.sub(r"\\(.)", r"\1", quoted) if plain is None else plain)
        at = value.end()
    if int(array.given.get("n", len(found))) != len(found) or not found:
        array.refuse(f"expected an Array with as many values as its attribute n says, got {len(found)}")
    return tuple(found)


def field_of(one: Element) -> str:
    names = {each.attribute for each in questions_of(one)}
    if len(names) != 1:
        one.refuse(f"expected a predicate about one field, got {len(names)}; split the Node, or export another model")
    return names.pop()


def conjuncts(one: Element) -> Iterator[Element]:
    """Yield the simple predicates of a conjunction, such as a rule has."""
    if one.tag == "CompoundPredicate" and one.given.get("booleanOperator") == "and":
        for part in _parts(one):
            yield from conjuncts(part)
    elif one.tag in ("SimplePredicate", "SimpleSetPredicate"):
        yield one
    elif one.tag != "True":
        one.refuse(f"{one.tag} {one.given.get('booleanOperator', '')[:20]} in a rule is not supported; use `and` alone")


def answers(told: Callable[[AttributeTest], tuple[Mask, Mask]], one: Element) -> tuple[Mask, Mask]:
    """Return for each bin whether a predicate about one field is true, and whether it is unknown."""
    if one.tag in ("True", "False"):
        one.refuse(f"{one.path} is not supported here; delete it")
    if one.tag != "CompoundPredicate":
        return told(question_of(one))
    operator, parts = one.given["booleanOperator"], [answers(told, part) for part in _parts(one)]
    return reduce(lambda a, b: _joined(operator, a, b), parts)


def _joined(operator: str, one: tuple[Mask, Mask], other: tuple[Mask, Mask]) -> tuple[Mask, Mask]:
    """Join two answers by the three-valued logic of PMML."""
    (a, a_unknown), (b, b_unknown) = one, other
    if operator == "xor":
        unknown = a_unknown | b_unknown
        return np.logical_and(a ^ b, ~unknown), unknown
    if operator == "and":
        false = (~a & ~a_unknown) | (~b & ~b_unknown)
        return a & b, ~(a & b) & ~false
    return a | b, ~(a | b) & (a_unknown | b_unknown)


def leaf_counts(nodes: Sequence[Element], spelled: Callable[[str, Element], str]) -> Mapping[Element, dict[str, int]]:
    """Return the rows of each class in each leaf that has them; empty if the numbers of the document are not rows.

    ``ScoreDistribution@recordCount`` is the number of rows by the specification. Nyoka writes shares there, with the
    rows in ``Node@recordCount``; sklearn2pmml writes shares, with 1 in ``Node@recordCount``.
    """
    given = {node: _distribution(node, spelled) for node in nodes}
    leaves = {node: rows for node, rows in given.items() if rows and not node.all("Node")}
    if any(count < 0 or count > _MOST for rows in given.values() for count in rows.values()):
        return {}
    has_shares = any(count.denominator != 1 for rows in given.values() for count in rows.values())
    has_shares = has_shares or any(_size(node) not in (None, sum(rows.values())) for node, rows in leaves.items())
    sizes = {node: _size(node) if has_shares else Fraction(1) for node in leaves}
    sized = {node: size for node, size in sizes.items() if size is not None}  # other leaves have shares alone
    found = {node: _as_rows(leaves[node], size) for node, size in sized.items()}
    read = {node: rows for node, rows in found.items() if rows is not None}
    if len(read) < len(sized) or _may_be_shares(read) or not _is_consistent(nodes, read):
        return {}
    return read


def _may_be_shares(leaves: Mapping[Element, Mapping[str, int]]) -> bool:
    """Return whether all leaves have 1, which can be one row or all rows, or all have 100, without a number of rows."""
    sums = {sum(rows.values()) for rows in leaves.values()}
    return sums <= {1} or (sums == {100} and not any("recordCount" in node.given for node in leaves))


def _is_consistent(nodes: Sequence[Element], leaves: Mapping[Element, Mapping[str, int]]) -> bool:
    """Return whether the leaves below each node have as many rows as the node, if it states a number."""
    sums = {node: sum(rows.values()) for node, rows in leaves.items()}
    for node in reversed(nodes):  # children come after their parents
        children = node.all("Node")
        if children and all(child in sums for child in children):
            sums[node] = sum(sums[child] for child in children)
            if _size(node) not in (None, sums[node]):
                return False
    return True


def _distribution(node: Element, spelled: Callable[[str, Element], str]) -> dict[str, Fraction]:
    found = dict[str, Fraction]()
    if not all("recordCount" in one.given for one in node.all("ScoreDistribution")):
        return found  # shares alone
    for one in node.all("ScoreDistribution"):
        value = spelled(one.need("value"), one)
        if value in found:
            one.refuse("expected one ScoreDistribution for each class, got a second")
        found[value] = Fraction(one.need("recordCount"))
    return found


def _size(node: Element) -> Fraction | None:
    return Fraction(node.given["recordCount"]) if "recordCount" in node.given else None


def _as_rows(counts: Mapping[str, Fraction], times: Fraction) -> dict[str, int] | None:
    """Return counts times a number as whole numbers; None if they are not whole, or are no shares of the number."""
    rows = {value: count * times for value, count in counts.items()}
    is_sum = times == 1 or (times > 0 and abs(sum(counts.values()) - 1) <= _WHOLE_TO)
    whole = {value: round(count) for value, count in rows.items()}
    is_whole = all(abs(rows[value] - count) <= _WHOLE_TO for value, count in whole.items())
    return whole if is_whole and is_sum else None
