"""Tests of single attributes in models of other software, and the equivalent literals of hedgerow."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.errors import ModelFormatError
from hedgerow.models.leaf import Leaf, Split, TreeNode
from hedgerow.models.model import Model
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.tree import Tree
from hedgerow.privacy.card import UNKNOWN_NOISE, PrivacyCard
from hedgerow.privacy.facts import Fact
from hedgerow.schema import Attribute, Boolean, Categorical, Extent, Literal, Schema
from hedgerow.schema.numbers import Numeric, Real, as_number
from hedgerow.schema.spellings import check_no_spellings
from hedgerow.schema.targets import Label, Number, Target
from hedgerow.text.messages import shown
from hedgerow.text.values import plain_word, value_text

MOST_PARTS = 20_000  # the maximum number of rules, nodes or bins of points in a model of other software
_MOST_ANSWERS = 2**25  # the maximum number of tests times the bins of their attributes
_MOST_LITERALS = 2**18  # the maximum number of literals of all rules together
LARGEST, LARGEST_SINGLE = 1e150, 3e38
T = TypeVar("T")


@dataclass(frozen=True)
class AttributeTest:
    """A test of an attribute: an operator, and its constants as written."""

    attribute: str
    operator: str  # <, <=, >, >=, =, !=, in, not in, missing, known, true, false
    values: tuple[str, ...] = ()
    line: int = 0
    single: bool = False  # True if values and constants are rounded to single precision before the comparison

    def problem(self, text: str) -> ModelFormatError:
        return ModelFormatError(f"line {self.line}: {text}")

    @property
    def number(self) -> float:
        try:
            number = float(self.values[0]) if len(self.values[0]) <= 400 else math.nan
        except ValueError:
            number = math.nan
        if not abs(number) < LARGEST:
            got = shown(self.values[0])
            raise self.problem(f"{shown(self.attribute)} must be compared with a number below 1e150, got {got}.")
        return number

    def limits(self, *, whole: bool) -> tuple[float, float]:
        """Return the largest value below the constant, and the largest value not above it."""
        number = self.number
        below, upto = math.nextafter(number, -math.inf), number + 0.0
        if self.single:
            if abs(number) > LARGEST_SINGLE:
                raise self.problem(f"the constant for {shown(self.attribute)} is outside the range of dataType float.")
            constant = np.float32(number)
            below = largest_as_single(float(np.nextafter(constant, np.float32(-math.inf))))
            upto = largest_as_single(float(constant))
        if whole:
            return (math.floor(below), math.floor(upto)) if self.single else (math.ceil(number) - 1, math.floor(number))
        return below, upto


def largest_as_single(threshold: float) -> float:
    """Return the largest number that is at most a threshold after rounding to single precision."""
    low = np.float32(threshold)
    low = np.nextafter(low, np.float32(-math.inf)) if float(low) > threshold else low
    middle = (float(low) + float(np.nextafter(low, np.float32(math.inf)))) / 2
    return middle if np.float32(middle) == low else math.nextafter(middle, -math.inf)


@dataclass(frozen=True)
class TestedSchema:
    """A schema with cut points such that the bin of a value determines the result of every test of a model."""

    schema: Schema
    absent: Mapping[str, Mask] = field(default_factory=dict[str, Mask])  # the bins that count as missing, by attribute

    @classmethod
    def of(cls, schema: Schema, tests: Iterable[AttributeTest]) -> TestedSchema:
        """Return the schema with cut points at the constants of all tests of numbers."""
        check_no_spellings(schema.attributes, "a model in a file of another kind")
        by_name = defaultdict[str, dict[AttributeTest, None]](dict)
        for test in tests:
            if test.attribute not in schema:
                raise test.problem(f"the attribute {shown(test.attribute)} is not in the schema.")
            by_name[test.attribute][test] = None
        attributes, n_answers = dict(schema.attributes), 0
        for name, own in by_name.items():
            attributes[name] = _refined(attributes[name], own)
            n_answers += len(own) * attributes[name].n_bins
        if n_answers > _MOST_ANSWERS:
            raise ModelFormatError(f"the model is too large: tests times bins exceed {_MOST_ANSWERS:,}.")
        return cls(replace(schema, attributes=tuple(attributes.items())))

    @cached_property
    def _answers(self) -> dict[AttributeTest, tuple[Mask, Mask]]:
        return {}

    def answers(self, test: AttributeTest) -> tuple[Mask, Mask]:
        """Return for each bin whether a test is true, and whether it is unknown because the value is missing."""
        if test not in self._answers:
            self._answers[test] = _evaluate(test, self.schema[test.attribute], self.absent.get(test.attribute))
        return self._answers[test]

    def leaf(self, score: str, counts: Mapping[str, int] | None, line: int) -> Leaf:
        target = self.schema.target
        if target.as_number is not None:
            return Leaf(mean=AttributeTest(target.name, "=", (score,), line).number)
        classes = {value_text(value): value for value in target.values}
        unknown = [text for text in (score, *(counts or ())) if text not in classes]
        if unknown:
            raise ModelFormatError(f"line {line}: {shown(unknown[0])} is not a class of the schema.")
        if counts is None:
            return Leaf(label=classes[score])
        rows = tuple(counts.get(text, 0) for text in classes)
        is_first = list(classes).index(score) == rows.index(max(rows))
        return Leaf(rows, None if is_first and max(rows) else classes[score])


def _refined(attribute: Attribute, tests: Iterable[AttributeTest]) -> Attribute:
    number = as_number(attribute)
    if number is None:
        return attribute
    cuts = set(number.cuts)
    for test in tests:
        if not test.values:
            continue
        below, upto = test.limits(whole=number.whole)
        pairs = {"<": {below}, ">=": {below}, "<=": {upto}, ">": {upto}}
        for cut in pairs.get(test.operator, {below, upto}):
            if not number.low <= cut < number.high:
                raise test.problem(
                    f"the model compares {shown(test.attribute)} with {value_text(test.number)}, which is outside its "
                    f"domain ({number.domain}); declare wider bounds in the schema."
                )
            cuts.add(cut)
    if len(cuts) > MOST_PARTS:
        raise ModelFormatError(f"an attribute may have at most {MOST_PARTS:,} cut points, got {len(cuts):,}.")
    return replace(number, cuts=tuple(sorted(cuts)))


def _evaluate(test: AttributeTest, attribute: Attribute, absent: Mask | None) -> tuple[Mask, Mask]:
    known, place = attribute.n_known, attribute.n_known + (attribute.missing == "bin")
    unknown = np.zeros(attribute.n_bins, dtype=bool) if absent is None else absent.copy()
    unknown[known:place] = True
    as_missing = bool(unknown[place:].all())
    if test.operator in ("missing", "known"):
        return unknown if test.operator == "missing" else ~unknown, np.zeros_like(unknown)
    yes = np.zeros_like(unknown)
    yes[:known] = _of_known(test, attribute)
    if test.operator in ("!=", "not in"):
        yes[place:] = True
    elif len(yes) > place and not as_missing and test.operator not in ("=", "in"):
        problem = f"the model also compares values of {shown(test.attribute)} outside the bounds of the schema"
        raise test.problem(f"{problem}; declare `outside: error` or `outside: clip` for it instead of `bin`.")
    return yes & ~unknown, unknown


def _of_known(test: AttributeTest, attribute: Attribute) -> Mask:
    number = as_number(attribute)
    if number is not None and test.values:
        below, upto = (np.searchsorted(number.cuts, limit, "right") for limit in test.limits(whole=number.whole))
        bins = np.arange(attribute.n_known)
        is_below, is_upto = bins < below, bins < upto
        equal = is_upto & ~is_below
        by_operator = {"<": is_below, ">=": ~is_below, "<=": is_upto, ">": ~is_upto, "=": equal, "!=": ~equal}
        if test.operator in by_operator:
            return by_operator[test.operator]
    bins = _of_boolean(test, attribute) if isinstance(attribute, Boolean) else _of_listed(test, attribute)
    if bins is None:
        kind = f"{shown(test.attribute)}, which the schema declares as {attribute.kind}"
        raise test.problem(f"the operator {shown(test.operator)} or its value does not fit {kind}.")
    return bins


def _of_boolean(test: AttributeTest, attribute: Boolean) -> Mask | None:
    words = dict(attribute.spellings) if attribute.true_values else {"false": 0, "true": 1, "0": 0, "1": 1}
    codes = {plain_word(word): code for word, code in words.items()}
    chosen = {"true": {1}, "false": {0}}.get(test.operator) or {
        codes.get(plain_word(x) if attribute.true_values else plain_word(x).lower()) for x in test.values
    }
    if None in chosen or test.operator not in ("true", "false", "=", "!=", "in", "not in"):
        return None
    bins = np.array([0 in chosen, 1 in chosen])
    return ~bins if test.operator in ("!=", "not in") else bins


def _of_listed(test: AttributeTest, attribute: Attribute) -> Mask | None:
    places = {plain_word(value): place for place, value in enumerate(attribute.listed)}
    missing = [value for value in test.values if plain_word(value) not in places]
    if missing and places:
        problem = f"the model tests {shown(test.attribute)} for {shown(missing[0])}, which the schema does not list"
        raise test.problem(f"{problem}; add it to the values.")
    if missing or not test.values or not (attribute.ordered or test.operator in ("=", "!=", "in", "not in")):
        return None
    bins, first = np.arange(len(places)), places[plain_word(test.values[0])]
    chosen = np.isin(bins, [places[plain_word(value)] for value in test.values])
    by_operator = {"=": chosen, "in": chosen, "!=": ~chosen, "not in": ~chosen}
    by_operator |= {"<": bins < first, "<=": bins <= first, ">": bins > first, ">=": bins >= first}
    return by_operator[test.operator]


def conjunction(name: str, attribute: Attribute, here: Mask, later: Mask) -> tuple[Literal, ...] | None:
    """Return literals that all hold on the bins `here` and not on the bins `later`; None if there are none."""
    if not later.any():
        return ()
    for bins in (here, ~later):
        literal = _literal_on(name, attribute, bins)
        if literal is not None:
            return (literal,)
    known, number = attribute.n_known, as_number(attribute)
    if number is None:
        literals = [Literal(name, "!=", (attribute.listed[place],)) for place in np.flatnonzero(later[:known])]
        literals = literals if isinstance(attribute, Categorical) else []
    else:
        places = np.flatnonzero(here[:known])
        start, stop = (int(places[0]), int(places[-1]) + 1) if len(places) else (0, known)
        literals = [Literal(name, ">", (number.cuts[start - 1],))] if start else []
        literals += [Literal(name, "<=", (number.cuts[stop - 1],))] if stop < known else []
    holds = np.ones(attribute.n_bins, dtype=bool)
    for literal in literals:
        holds &= attribute.truth(literal)
    return tuple(literals) if holds[here].all() and not holds[later].any() else None


def _literal_on(name: str, attribute: Attribute, bins: Mask) -> Literal | None:
    known, flags = bins[: attribute.n_known], iter(bins[attribute.n_known :].tolist())
    missing = next(flags) if attribute.missing == "bin" else None
    outside = next(flags) if attribute.outside == "bin" else None
    ends = np.flatnonzero(np.diff(known.astype(np.int8), prepend=0, append=0))
    if len(ends) > 4 or (len(ends) == 4 and not (known[0] and known[-1])):
        return None
    inverted = len(ends) == 4
    run = ends[1:3] if inverted else ends[:2] if len(ends) else (0, 0)
    extent = Extent(len(known), int(run[0]), int(run[1]), inverted, missing, outside)
    return None if extent.is_trivial else attribute.literal_on(name, extent)


@dataclass(frozen=True)
class BinChoice:
    """An inner node with several branches: the first branch whose literals all hold is taken."""

    attribute: str
    branches: tuple[tuple[tuple[Literal, ...], BinChoice | Leaf], ...]

    @classmethod
    def of(
        cls, refined: TestedSchema, attribute: str, targets: Sequence[T], subtrees: Mapping[T, BinChoice | Leaf]
    ) -> BinChoice | Leaf:
        kind, masks = refined.schema[attribute], dict[T, Mask]()
        for target in dict.fromkeys(targets):
            masks[target] = np.array([other is target or other == target for other in targets])
        left = sorted(masks, key=lambda target: (bool(masks[target][kind.n_known :].any()), int(masks[target].sum())))
        branches: list[tuple[tuple[Literal, ...], BinChoice | Leaf]] = []
        for place in range(kind.n_known, kind.n_bins) if len(left) > 1 else ():  # a leaf without rows may be repeated
            leaf = subtrees[targets[place]]
            if isinstance(leaf, Leaf) and leaf.counts is None and masks[targets[place]].sum() > 1:
                branches.append(((Literal(attribute, kind.bins[place]),), leaf))
                masks[targets[place]][place] = False
        left = [target for target in left if masks[target].any()]
        while left:
            later = {x: sum((masks[other] for other in left if other != x), np.zeros(kind.n_bins, bool)) for x in left}
            candidates = ((target, conjunction(attribute, kind, masks[target], later[target])) for target in left)
            target, literals = next((pair for pair in candidates if pair[1] is not None), (left[0], None))
            if literals is None:
                problem = f"missing values of {shown(attribute)}, or values outside its domain, are in several branches"
                advice = "declare `missing: error` and `outside: error` for it in a schema."
                raise ModelFormatError(f"{problem}, which literals cannot express; {advice}")
            branches.append((literals, subtrees[target]))
            left.remove(target)
        return branches[0][1] if len(branches) == 1 else cls(attribute, tuple(branches))


def model_of(refined: TestedSchema, root: BinChoice | Leaf, card: PrivacyCard) -> Model:
    """Return the model as a tree, or as a rule list if a branch has more than one literal."""
    if _is_plain(root):
        return Tree(refined.schema, _node(root), card)
    rules, size = list[Rule](), 0
    for path, leaf in _rules(root, ()):
        size += len(path)
        if len(rules) > MOST_PARTS or size > _MOST_LITERALS:
            raise ModelFormatError(f"the model is too large: it has more than {_MOST_LITERALS:,} conditions.")
        rules.append(Rule.of(tuple(dict.fromkeys(path)), leaf))
    return RuleList(refined.schema, tuple(rules), card)


def _is_plain(node: BinChoice | Leaf) -> bool:
    return isinstance(node, Leaf) or all(len(path) <= 1 and _is_plain(after) for path, after in node.branches)


def _node(node: BinChoice | Leaf) -> TreeNode:
    if isinstance(node, Leaf):
        return node
    *branches, (_, last) = node.branches
    tree = _node(last)
    for path, after in reversed(branches):
        tree = Split(path[0], _node(after), tree)
    return tree


def _rules(node: BinChoice | Leaf, path: tuple[Literal, ...]) -> Iterator[tuple[tuple[Literal, ...], Leaf]]:
    if isinstance(node, Leaf):
        yield path, node
        return
    for literals, after in node.branches:
        yield from _rules(after, (*path, *literals))


def derived(
    tests: Sequence[AttributeTest],
    target: Target,
    declared: Mapping[str, Attribute] | None = None,
    missing: str = "bin",
) -> Schema:
    by_name = defaultdict[str, list[AttributeTest]](list)
    for test in tests:
        by_name[test.attribute].append(test)
    attributes = {name: (declared or {}).get(name) or _attribute(own, missing) for name, own in by_name.items()}
    return Schema(attributes, target, no_guarantee=Fact("made_of_tests"))


SOURCE = "derived from the tests of the model; not the domain of the rows"


def _attribute(tests: Sequence[AttributeTest], missing: Any) -> Attribute:
    operators = {test.operator for test in tests} - {"missing", "known"}
    if operators <= {"true", "false"}:
        return Boolean(missing=missing, source=SOURCE)
    if operators & {"<", "<=", ">", ">="}:
        limits = [limit for test in tests if test.values for limit in test.limits(whole=False)]
        return bounded(min(limits), max(limits), missing=missing)
    values = dict.fromkeys(value for test in tests for value in test.values)
    return Categorical(tuple(values), missing=missing, outside="bin", source=SOURCE)


def bounded(low: float, high: float, **missing: Any) -> Numeric:
    """Return a number without cut points, with bounds outside the range of the constants of a model."""
    low, high = low - max(1.0, abs(low)), high + max(1.0, abs(high))
    return Real(low, high, cuts=(), outside="clip", source=SOURCE, **missing)


def target_of(name: str, scores: Sequence[str], *, is_number: bool) -> Target:
    if not is_number:
        return Label(name, tuple(dict.fromkeys(scores)))
    numbers = [AttributeTest(name, "=", (score,)).number for score in scores]
    low, high = min(numbers), max(numbers)
    return Number(name, low, high if low < high else low + max(1.0, abs(low)))


def no_guarantee(origin: str, *, is_ours: bool = False) -> PrivacyCard:
    # Such files do not state the noise on their numbers of rows either: a private model may have been exported.
    reason = Fact("read_from", format=origin, ours=is_ours or None)
    return PrivacyCard((), noise=UNKNOWN_NOISE, software=Fact("unknown_software"), no_guarantee=(reason,))
