"""Questions that a model of others asks of one attribute, and the literals of hedgerow's that mean the same."""

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
from hedgerow.schema.spellings import refuse_spellings
from hedgerow.schema.targets import Label, Number, Target
from hedgerow.text.messages import shown
from hedgerow.text.values import plain_word, value_text

MOST_PARTS = 20_000  # the most rules, nodes or bins of points of a model of others
_MOST_TOLD = 2**25  # questions times bins of their attributes
_MOST_LITERALS = 2**18  # of all rules together
LARGEST, LARGEST_SINGLE = 1e150, 3e38
T = TypeVar("T")


@dataclass(frozen=True)
class AttributeTest:
    """A question about one attribute: an operator, and the constants as they are written."""

    attribute: str
    operator: str  # <, <=, >, >=, =, !=, in, not in, missing, known, true, false
    values: tuple[str, ...] = ()
    line: int = 0
    single: bool = False  # whether values and constants are rounded to single precision before they are compared

    def problem(self, text: str) -> ModelFormatError:
        return ModelFormatError(f"line {self.line}: {text}")

    @property
    def number(self) -> float:
        try:
            found = float(self.values[0]) if len(self.values[0]) <= 400 else math.nan
        except ValueError:
            found = math.nan
        if not abs(found) < LARGEST:
            raise self.problem(f"expected a number below 1e150 to compare {shown(self.attribute)} with, got none.")
        return found

    def limits(self, *, whole: bool) -> tuple[float, float]:
        """Return the largest value below the constant, and the largest that is not above it."""
        number = self.number
        below, upto = math.nextafter(number, -math.inf), number + 0.0
        if self.single:
            if abs(number) > LARGEST_SINGLE:
                raise self.problem(f"expected a number in single precision for {shown(self.attribute)}.")
            constant = np.float32(number)
            below = largest_as_single(float(np.nextafter(constant, np.float32(-math.inf))))
            upto = largest_as_single(float(constant))
        if whole:
            return (math.floor(below), math.floor(upto)) if self.single else (math.ceil(number) - 1, math.floor(number))
        return below, upto


def largest_as_single(threshold: float) -> float:
    """Return the largest number that is at most a threshold once it has been rounded to single precision."""
    low = np.float32(threshold)
    low = np.nextafter(low, np.float32(-math.inf)) if float(low) > threshold else low
    middle = (float(low) + float(np.nextafter(low, np.float32(math.inf)))) / 2
    return middle if np.float32(middle) == low else math.nextafter(middle, -math.inf)


@dataclass(frozen=True)
class TestedSchema:
    """A schema in which every question of a model can be told from the bins."""

    schema: Schema
    absent: Mapping[str, Mask] = field(default_factory=dict[str, Mask])  # the bins that count as missing, by attribute

    @classmethod
    def of(cls, schema: Schema, questions: Iterable[AttributeTest]) -> TestedSchema:
        """Return the schema with cut points at all constants that numbers are compared with."""
        refuse_spellings(schema.attributes, "a model in a file of another kind")
        by_name = defaultdict[str, dict[AttributeTest, None]](dict)
        for one in questions:
            if one.attribute not in schema:
                raise one.problem(f"expected an attribute of the schema, got {shown(one.attribute)}.")
            by_name[one.attribute][one] = None
        found, told = dict(schema.attributes), 0
        for name, asked in by_name.items():
            found[name] = _refined(found[name], asked)
            told += len(asked) * found[name].n_bins
        if told > _MOST_TOLD:
            raise ModelFormatError(f"expected at most {_MOST_TOLD:,} questions times bins, got more.")
        return cls(replace(schema, attributes=tuple(found.items())))

    @cached_property
    def _told(self) -> dict[AttributeTest, tuple[Mask, Mask]]:
        return {}

    def told(self, one: AttributeTest) -> tuple[Mask, Mask]:
        """Return for each bin whether the answer is yes, and whether it is unknown, since the value is missing."""
        if one not in self._told:
            self._told[one] = _answers(one, self.schema[one.attribute], self.absent.get(one.attribute))
        return self._told[one]

    def leaf(self, score: str, counts: Mapping[str, int] | None, line: int) -> Leaf:
        target = self.schema.target
        if target.as_number is not None:
            return Leaf(mean=AttributeTest(target.name, "=", (score,), line).number)
        classes = {value_text(value): value for value in target.values}
        unknown = [text for text in (score, *(counts or ())) if text not in classes]
        if unknown:
            raise ModelFormatError(f"line {line}: expected a class of the schema, got {shown(unknown[0])}.")
        if counts is None:
            return Leaf(label=classes[score])
        rows = tuple(counts.get(text, 0) for text in classes)
        is_first = list(classes).index(score) == rows.index(max(rows))
        return Leaf(rows, None if is_first and max(rows) else classes[score])


def _refined(attribute: Attribute, asked: Iterable[AttributeTest]) -> Attribute:
    number = as_number(attribute)
    if number is None:
        return attribute
    cuts = set(number.cuts)
    for one in asked:
        if not one.values:
            continue
        below, upto = one.limits(whole=number.whole)
        pairs = {"<": {below}, ">=": {below}, "<=": {upto}, ">": {upto}}
        for cut in pairs.get(one.operator, {below, upto}):
            if not number.low <= cut < number.high:
                raise one.problem(
                    f"expected numbers inside the domain of {shown(one.attribute)} ({number.domain}) to compare it "
                    f"with, got {value_text(one.number)}; declare wider bounds in the schema."
                )
            cuts.add(cut)
    if len(cuts) > MOST_PARTS:
        raise ModelFormatError(f"expected at most {MOST_PARTS:,} cut points of an attribute, got more.")
    return replace(number, cuts=tuple(sorted(cuts)))


def _answers(one: AttributeTest, attribute: Attribute, absent: Mask | None) -> tuple[Mask, Mask]:
    known, place = attribute.n_known, attribute.n_known + (attribute.missing == "bin")
    unknown = np.zeros(attribute.n_bins, dtype=bool) if absent is None else absent.copy()
    unknown[known:place] = True
    as_missing = bool(unknown[place:].all())
    if one.operator in ("missing", "known"):
        return unknown if one.operator == "missing" else ~unknown, np.zeros_like(unknown)
    yes = np.zeros_like(unknown)
    yes[:known] = _of_known(one, attribute)
    if one.operator in ("!=", "not in"):
        yes[place:] = True
    elif len(yes) > place and not as_missing and one.operator not in ("=", "in"):
        problem = f"expected `outside: error` or `outside: clip` of {shown(one.attribute)} in the schema, got `bin`"
        raise one.problem(f"{problem}; the model compares values beyond the bounds too.")
    return yes & ~unknown, unknown


def _of_known(one: AttributeTest, attribute: Attribute) -> Mask:
    number = as_number(attribute)
    if number is not None and one.values:
        below, upto = (np.searchsorted(number.cuts, limit, "right") for limit in one.limits(whole=number.whole))
        bins = np.arange(attribute.n_known)
        is_below, is_upto = bins < below, bins < upto
        equal = is_upto & ~is_below
        found = {"<": is_below, ">=": ~is_below, "<=": is_upto, ">": ~is_upto, "=": equal, "!=": ~equal}
        if one.operator in found:
            return found[one.operator]
    found = _of_bit(one, attribute) if isinstance(attribute, Boolean) else _of_listed(one, attribute)
    if found is None:
        raise one.problem(f"expected a test that fits {shown(one.attribute)}, which is {attribute.kind}, got another.")
    return found


def _of_bit(one: AttributeTest, attribute: Boolean) -> Mask | None:
    words = dict(attribute.spellings) if attribute.true_values else {"false": 0, "true": 1, "0": 0, "1": 1}
    codes = {plain_word(word): code for word, code in words.items()}
    chosen = {"true": {1}, "false": {0}}.get(one.operator) or {
        codes.get(plain_word(x) if attribute.true_values else plain_word(x).lower()) for x in one.values
    }
    if None in chosen or one.operator not in ("true", "false", "=", "!=", "in", "not in"):
        return None
    found = np.array([0 in chosen, 1 in chosen])
    return ~found if one.operator in ("!=", "not in") else found


def _of_listed(one: AttributeTest, attribute: Attribute) -> Mask | None:
    places = {plain_word(value): place for place, value in enumerate(attribute.listed)}
    missing = [value for value in one.values if plain_word(value) not in places]
    if missing and places:
        problem = f"expected {shown(missing[0])} among the values of {shown(one.attribute)} in the schema"
        raise one.problem(f"{problem}, since the model tells it from others; add it.")
    if missing or not one.values or not (attribute.ordered or one.operator in ("=", "!=", "in", "not in")):
        return None
    bins, first = np.arange(len(places)), places[plain_word(one.values[0])]
    chosen = np.isin(bins, [places[plain_word(value)] for value in one.values])
    found = {"=": chosen, "in": chosen, "!=": ~chosen, "not in": ~chosen}
    return (found | {"<": bins < first, "<=": bins <= first, ">": bins > first, ">=": bins >= first})[one.operator]


def conjunction(name: str, attribute: Attribute, here: Mask, later: Mask) -> tuple[Literal, ...] | None:
    """Return literals that all hold on some bins, and on none of those left for later; None if there are none."""
    if not later.any():
        return ()
    for wanted in (here, ~later):
        literal = _literal_on(name, attribute, wanted)
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


def _literal_on(name: str, attribute: Attribute, wanted: Mask) -> Literal | None:
    known, flags = wanted[: attribute.n_known], iter(wanted[attribute.n_known :].tolist())
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
    """A way to go from a node: bins of an attribute, each with what follows; the first that holds is taken."""

    attribute: str
    ways: tuple[tuple[tuple[Literal, ...], BinChoice | Leaf], ...]

    @classmethod
    def of(
        cls, asked: TestedSchema, attribute: str, targets: Sequence[T], made: Mapping[T, BinChoice | Leaf]
    ) -> BinChoice | Leaf:
        kind, masks = asked.schema[attribute], dict[T, Mask]()
        for target in dict.fromkeys(targets):
            masks[target] = np.array([one is target or one == target for one in targets])
        left = sorted(masks, key=lambda target: (bool(masks[target][kind.n_known :].any()), int(masks[target].sum())))
        ways: list[tuple[tuple[Literal, ...], BinChoice | Leaf]] = []
        for place in range(kind.n_known, kind.n_bins) if len(left) > 1 else ():  # a leaf without rows may come twice
            leaf = made[targets[place]]
            if isinstance(leaf, Leaf) and leaf.counts is None and masks[targets[place]].sum() > 1:
                ways.append(((Literal(attribute, kind.bins[place]),), leaf))
                masks[targets[place]][place] = False
        left = [target for target in left if masks[target].any()]
        while left:
            later = {one: sum((masks[x] for x in left if x != one), np.zeros(kind.n_bins, bool)) for one in left}
            tried = ((target, conjunction(attribute, kind, masks[target], later[target])) for target in left)
            target, found = next(((target, found) for target, found in tried if found is not None), (left[0], None))
            if found is None:
                problem = f"expected an attribute {shown(attribute)} whose values can be told apart as the model does"
                got = "got one with missing values, or values outside the domain, in several branches"
                advice = "declare `missing: error` and `outside: error` for it in a schema."
                raise ModelFormatError(f"{problem}, {got}; {advice}")
            ways.append((found, made[target]))
            left.remove(target)
        return ways[0][1] if len(ways) == 1 else cls(attribute, tuple(ways))


def model_of(asked: TestedSchema, root: BinChoice | Leaf, card: PrivacyCard) -> Model:
    """Return the tree of choices; a rule list where a branch has more than one literal."""
    if _is_plain(root):
        return Tree(asked.schema, _node(root), card)
    rules, size = list[Rule](), 0
    for path, leaf in _rules(root, ()):
        size += len(path)
        if len(rules) > MOST_PARTS or size > _MOST_LITERALS:
            raise ModelFormatError(f"expected a model of at most {_MOST_LITERALS:,} conditions, got a larger one.")
        rules.append(Rule.of(tuple(dict.fromkeys(path)), leaf))
    return RuleList(asked.schema, tuple(rules), card)


def _is_plain(node: BinChoice | Leaf) -> bool:
    return isinstance(node, Leaf) or all(len(path) <= 1 and _is_plain(after) for path, after in node.ways)


def _node(node: BinChoice | Leaf) -> TreeNode:
    if isinstance(node, Leaf):
        return node
    *ways, (_, last) = node.ways
    found = _node(last)
    for path, after in reversed(ways):
        found = Split(path[0], _node(after), found)
    return found


def _rules(node: BinChoice | Leaf, path: tuple[Literal, ...]) -> Iterator[tuple[tuple[Literal, ...], Leaf]]:
    if isinstance(node, Leaf):
        yield path, node
        return
    for literals, after in node.ways:
        yield from _rules(after, (*path, *literals))


def derived(
    questions: Sequence[AttributeTest],
    target: Target,
    given: Mapping[str, Attribute] | None = None,
    missing: str = "bin",
) -> Schema:
    by_name = defaultdict[str, list[AttributeTest]](list)
    for one in questions:
        by_name[one.attribute].append(one)
    found = {name: (given or {}).get(name) or _attribute(asked, missing) for name, asked in by_name.items()}
    return Schema(found, target, no_guarantee=Fact("made_of_tests"))


SOURCE = "made of the model's tests; it is not the domain of the rows"


def _attribute(asked: Sequence[AttributeTest], missing: Any) -> Attribute:
    operators = {one.operator for one in asked} - {"missing", "known"}
    if operators <= {"true", "false"}:
        return Boolean(missing=missing, source=SOURCE)
    if operators & {"<", "<=", ">", ">="}:
        limits = [limit for one in asked if one.values for limit in one.limits(whole=False)]
        return bounded(min(limits), max(limits), missing=missing)
    values = dict.fromkeys(value for one in asked for value in one.values)
    return Categorical(tuple(values), missing=missing, outside="bin", source=SOURCE)


def bounded(low: float, high: float, **missing: Any) -> Numeric:
    """Return a number without cut points whose bounds are beyond those that a model compares with."""
    low, high = low - max(1.0, abs(low)), high + max(1.0, abs(high))
    return Real(low, high, cuts=(), outside="clip", source=SOURCE, **missing)


def target_of(name: str, scores: Sequence[str], *, is_number: bool) -> Target:
    if not is_number:
        return Label(name, tuple(dict.fromkeys(scores)))
    numbers = [AttributeTest(name, "=", (score,)).number for score in scores]
    low, high = min(numbers), max(numbers)
    return Number(name, low, high if low < high else low + max(1.0, abs(low)))


def no_guarantee(origin: str, *, is_ours: bool = False) -> PrivacyCard:
    # Nor do such files state the noise on the numbers of rows that they hold: a private model may have been exported.
    reason = Fact("read_from", format=origin, ours=is_ours or None)
    return PrivacyCard((), noise=UNKNOWN_NOISE, software=Fact("unknown_software"), no_guarantee=(reason,))
