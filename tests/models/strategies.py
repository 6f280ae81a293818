"""Small schemas of every kind and policy, rule lists and trees on them, raw rows in every form of table."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

from hedgerow.models import AttributePoints, Leaf, PointScale, Rule, RuleList, Scorecard, Split, Tree
from hedgerow.models.decisions import CostTable
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Literal, Number, Ordered, Real, Schema
from hedgerow.schema.attributes import Attribute
from hedgerow.text.date_formats import SERIAL_DAYS
from hedgerow.text.days import Day, as_day
from hedgerow.text.values import Value
from tests.engines.generated import FORMATS, spellings

NAMES = (
    "age",
    "select",
    "Group",
    'a"b; drop table t',
    "two words",
    "it's",
    "back\\slash",
    "line\nbreak",
    "{0}",
    "-- x",
    "é€漢",
    "']; import os; row['",
)
WORDS = (
    "red",
    "O'Brien",
    'say "hi"',
    "a b",
    "x'); drop table t; --",
    "back\\slash",
    "é€漢",
    "true",
    "NULL",
    "\\n",
    "1e",
)
CODES = ("1", "20", "30")  # text that spells numbers
CLASSES = (("no", "yes"), (False, True), (0, 1), ("O'Brien", 'say "hi"', "é"), (-3, 10, 250))
DATES = tuple(map(as_day, ("0001-01-01", "1969-11-15", "1969-12-31", "1970-01-01", "1970-02-28", "9999-12-30")))
TOKENS = ("?", "n/a", "it's", -9, "-8", 99, 0.5)
BLANKS = ("", " ", "   ")
BOUNDS = [(0, 2000), (-5, 5), (0.1, 0.3), (1e6, 1e6 + 1), (-1e150, 1e150), (0, 5e-300)]


@dataclass(frozen=True)
class Cell:
    """One value: what it is to the schema, what Python says it is, and what the table's column holds."""

    role: str  # "known", "missing" or "outside"
    typed: Any
    raw: Any
    means: Any = None  # the day that a text or number of a format spells

    @property
    def value(self) -> Any:
        return self.typed if self.means is None else self.means


@dataclass(frozen=True)
class Case:
    """A model with a table: a storage type and bins for each attribute."""

    model: RuleList | Tree | Scorecard
    storage: dict[str, str]
    bins: dict[str, list[Cell]]

    @property
    def rows(self) -> list[dict[str, Cell]]:
        return [dict(zip(self.bins, row, strict=True)) for row in zip(*self.bins.values(), strict=True)]

    @property
    def typed_rows(self) -> list[dict[str, Any]]:
        """The rows as Python has them; every second one of dates by times, as a frame may have them."""
        return [
            {name: _typed(bin.typed, place % 2 == 1) for name, bin in row.items()}
            for place, row in enumerate(self.rows)
        ]

    def arrow(self) -> pa.Table:
        kinds = {"boolean": pa.bool_(), "integer": pa.int64(), "double": pa.float64(), "text": pa.string()}
        kinds |= {"date": pa.date32(), "time": pa.timestamp("us")}
        return pa.table(
            {name: pa.array([bin.raw for bin in bins], kinds[self.storage[name]]) for name, bins in self.bins.items()}
        )

    def polars(self) -> pl.DataFrame:
        kinds = {"boolean": pl.Boolean, "integer": pl.Int64, "double": pl.Float64, "text": pl.String}
        kinds |= {"date": pl.Date, "time": pl.Datetime("us")}
        return pl.DataFrame(
            [
                pl.Series(name, [bin.raw for bin in bins], dtype=kinds[self.storage[name]])
                for name, bins in self.bins.items()
            ]
        )

    def pandas(self) -> pd.DataFrame:
        kinds = {"boolean": "boolean", "integer": "Int64", "double": "float64", "text": "object"}
        kinds |= {"date": "object", "time": "datetime64[us]"}
        return pd.DataFrame(
            {
                name: pd.Series([bin.raw for bin in bins], dtype=kinds[self.storage[name]])
                for name, bins in self.bins.items()
            }
        )

    def array(self) -> np.ndarray:
        table = np.empty((len(self.rows), len(self.bins)), dtype=object)
        for position, bins in enumerate(self.bins.values()):
            table[:, position] = [bin.raw for bin in bins]
        return table


def _typed(value: Any, as_time: bool) -> Any:
    if not isinstance(value, Day):
        return value
    return datetime.datetime.combine(value.date, datetime.time(23, 59)) if as_time else value.date


def told_apart(attribute: Attribute, literal: Literal, bins: list[Cell], storage: str) -> Case:
    """Return a case with a model that says "no" where one literal holds, and "yes" where it does not."""
    schema = Schema({"x": attribute}, Label("y", ("no", "yes")))
    rules = (Rule((literal,), (1, 0)), Rule((), (0, 1)))
    model = RuleList(schema, rules, PrivacyCard.none("example", software="hedgerow"))
    return Case(model, {"x": storage}, {"x": bins})


def holds(literal: Literal, bin: Cell, attribute: Attribute) -> bool:
    """Say whether a literal holds of a value, straight from the words of the documentation."""
    if bin.role == "missing":
        return literal.operator == "missing"
    if bin.role == "outside":
        return literal.operator in ("outside", "!=", "known")
    value, operands = bin.value, literal.operands
    if isinstance(attribute, Categorical):  # of values, their places are compared
        places = {str(word): place for word, place in attribute.spellings}
        value, operands = places[str(value)], [places[str(operand)] for operand in operands]
    match literal.operator:
        case "missing" | "outside":
            return False
        case "known":
            return True
        case "true":
            return value is True
        case "false":
            return value is False
        case "=":
            return value == operands[0]
        case "!=":
            return value != operands[0]
        case "<=":
            return value <= operands[0]
        case ">":
            return value > operands[0]
        case "between":
            return operands[0] < value <= operands[1]
    raise AssertionError(literal)


def first_match(model: RuleList, row: dict[str, Cell]) -> int:
    """Return the first rule all of whose literals hold: the reference that `apply` is held against."""
    for number, rule in enumerate(model.rules):
        literals = [(literal, row[literal.attribute], model.schema[literal.attribute]) for literal in rule.antecedent]
        if all(holds(*item) for item in literals):
            return number
    raise AssertionError("the default rule catches every row")


def walked(tree: Tree, row: dict[str, Cell]) -> int:
    """Return the leaf a row comes to, one split after the other: the reference that `apply` is held against."""
    node, number = tree.root, 0
    while isinstance(node, Split):
        name = node.literal.attribute
        true = holds(node.literal, row[name], tree.schema[name])
        number += 0 if true else size(node.true)
        node = node.true if true else node.false
    return number


def size(node: Split | Leaf) -> int:
    return 1 if isinstance(node, Leaf) else size(node.true) + size(node.false)


def reached(model: RuleList | Tree, row: dict[str, Cell]) -> int:
    return walked(model, row) if isinstance(model, Tree) else first_match(model, row)


def bin_of(attribute: Attribute, cell: Cell) -> int:
    """Return the bin of a value, straight from the words of the documentation."""
    if cell.role != "known":
        return attribute.bins.index(cell.role, attribute.n_known)
    if isinstance(attribute, Categorical):
        return {str(value): place for value, place in attribute.spellings}[str(cell.typed)]
    return int(cell.typed) if isinstance(attribute, Boolean) else sum(cell.value > cut for cut in attribute.cuts)


def added_up(card: Scorecard, row: dict[str, Cell]) -> list[int]:
    """Add a row's points up by hand, in each column: the reference that `totals` is held against."""
    result = list(card.base)
    for part in card.parts:
        points = part.points[bin_of(card.schema[part.attribute], row[part.attribute])]
        result = [item + other for item, other in zip(result, points, strict=True)]
    return result


def is_token(value: Any, attribute: Attribute) -> bool:
    return any(str(token) == str(value) or _number(token) == _number(value) for token in attribute.missing_words)


def _number(value: Any) -> Any:
    try:
        return float(value)
    except ValueError:
        return value


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    missing = draw(st.sampled_from(["error", "bin"]))
    tokens = draw(st.lists(st.sampled_from(TOKENS), max_size=3, unique=True)) if missing == "bin" else []
    policy: dict[str, Any] = {"missing": missing, "missing_values": tuple(tokens)}
    kind = draw(st.sampled_from(["boolean", "words", "numbers", "codes", "ordered", "date", "integer", "real"]))
    if kind == "boolean":
        return Boolean(**policy)
    if kind in ("words", "numbers", "codes"):
        pool = {"words": WORDS, "numbers": (0, 1, 2, -7, 30), "codes": CODES}[kind]
        values = draw(st.lists(st.sampled_from(pool), min_size=2, max_size=6, unique=True))
        return Categorical(_spelled(draw, values, 4), outside=draw(st.sampled_from(["error", "bin"])), **policy)
    if kind == "ordered":
        pool = draw(st.sampled_from([WORDS, (0, 1, 2, -7, 30, 31), CODES, ("1969-12-31", "1970-01-01", "none")]))
        values = draw(st.lists(st.sampled_from(pool), min_size=2, max_size=6, unique=True))
        return Ordered(_spelled(draw, values, 5), outside=draw(st.sampled_from(["error", "bin"])), **policy)
    policy["outside"] = draw(st.sampled_from(["error", "clip", "bin"]))
    if kind == "date":
        tokens = tuple(token for token in (*tokens, *DATES[-1:]) if isinstance(token, (str, Day)))
        policy["missing_values"] = tuple(map(str, tokens)) if missing == "bin" else ()
        low, *cuts, high = sorted(draw(st.lists(st.sampled_from(DATES[1:-1]), min_size=3, unique=True)))
        form = draw(st.none() | st.sampled_from(FORMATS))
        if form is not None and missing == "bin":
            policy["missing_values"] += ("05.02.1970", "1970-02-06", "99.99.9999")
        return Date(low, high, cuts, format=form, **policy)
    number = (
        st.integers(-20, 120)
        if kind == "integer"
        else st.floats(-100, 100, allow_subnormal=False) | st.integers(-9, 9).map(lambda k: k / 2)
    )
    low, *cuts, high = sorted(draw(st.lists(number, min_size=3, max_size=5, unique=True)))
    return (Integer if kind == "integer" else Real)(low, high, cuts=tuple(cuts), **policy)


def _spelled(draw: st.DrawFn, words: Sequence[Any], most: int) -> Any:
    """Return words as values; in some draws, and beyond the first ones, as other spellings of these."""
    n_values = min(draw(st.integers(2, most) | st.just(most)), len(words))
    values, others = words[:n_values], words[n_values:]
    return {value: others[place::n_values] for place, value in enumerate(values)} if others else tuple(values)


def storages(attribute: Attribute) -> list[str]:
    """Return the types of column in which a table may hold an attribute."""
    if isinstance(attribute, Boolean):
        return ["boolean", "integer", "double", "text"]
    words = [str(value) for value, _ in attribute.spellings]
    if isinstance(attribute, Categorical) and not all(word.lstrip("-").isdigit() for word in words):
        return ["text"]
    if isinstance(attribute, Date):
        return ["date", "time", "text", *(["integer", "double"] if attribute.format in SERIAL_DAYS else [])]
    if isinstance(attribute, Real):
        return ["double", "text"]
    return ["integer", "double", "text"]


def bins(attribute: Attribute, storage: str) -> st.SearchStrategy[Cell]:
    """Generate the values that the attribute's policies allow in a column of this type."""
    result = [_known(attribute, storage)]
    if attribute.missing == "bin":
        result.append(_missing(attribute, storage))
    if attribute.outside == "bin":
        result.append(_outside(attribute, storage))
    return st.one_of(result)


def _known(attribute: Attribute, storage: str) -> st.SearchStrategy[Cell]:
    if isinstance(attribute, Boolean):
        spellings = {True: ("true", "True", "TRUE", "1", " true "), False: ("false", "FALSE", "0", "  False")}
        texts = st.sampled_from([Cell("known", value, word) for value in spellings for word in spellings[value]])
        return (
            texts if storage == "text" else st.booleans().map(lambda value: _stored("known", value, storage, attribute))
        )
    words = [value for value, _ in attribute.spellings]
    values = st.sampled_from(words) if isinstance(attribute, Categorical) else _numbers(attribute, storage)
    plain = values.filter(lambda value: not is_token(value, attribute)).map(
        lambda v: _stored("known", v, storage, attribute)
    )
    padded = plain.map(lambda bin: Cell("known", bin.typed, f" {bin.raw}  ", bin.means))
    return plain | padded if storage == "text" else plain


def _numbers(attribute: Integer | Real, storage: str) -> st.SearchStrategy[float]:
    """Generate numbers of the domain, often its bounds and cut points, and beyond where those are clipped."""
    margin = 7 if attribute.outside == "clip" else 0
    low, high = attribute.low - margin, attribute.high + margin
    edges = st.sampled_from([attribute.low, *attribute.cuts, attribute.high])
    if isinstance(attribute, Date):
        return edges | st.integers(low, high).map(Day)
    if isinstance(attribute, Real):
        near = edges.flatmap(lambda x: st.sampled_from([math.nextafter(x, -math.inf), math.nextafter(x, math.inf)]))
        return edges | st.floats(low, high) | near.filter(lambda x: low <= x <= high)
    whole = edges | st.integers(low, high)
    return whole | whole.map(lambda x: x + 0.25) if margin and storage == "double" else whole


def _missing(attribute: Attribute, storage: str) -> st.SearchStrategy[Cell]:
    result = [Cell("missing", None, None)]
    if storage == "double":
        result += [Cell("missing", sign, sign) for sign in (math.nan, -math.nan)]
    if storage == "text":
        result += [Cell("missing", blank, blank) for blank in BLANKS]
        result += [Cell("missing", token, str(token)) for token in attribute.missing_values]
        result += [Cell("missing", f" {token} ", f" {token} ") for token in attribute.missing_values]
    if storage in ("date", "time"):
        days = [as_day(token) for token in attribute.missing_words]
        result += [_stored("missing", day, storage, attribute) for day in days if isinstance(day, Day)]
    if storage in ("integer", "double"):
        numbers = [_number(token) for token in attribute.missing_values if not isinstance(_number(token), str)]
        result += [_stored("missing", x, storage, attribute) for x in numbers if storage == "double" or x == int(x)]
    return st.sampled_from(result)


def _outside(attribute: Attribute, storage: str) -> st.SearchStrategy[Cell]:
    if isinstance(attribute, Categorical):
        values: list[Any] = ["other", "RED", "3O'Brien"] if storage == "text" else [77, -1]
        values = [77, -1] if not isinstance(attribute.values[0], str) else values
    else:
        values = [attribute.low - 1, attribute.high + 1, attribute.high + 1000]
        if isinstance(attribute, Date):
            values = [*map(Day, values), *(DATES[:1] if storage not in ("integer", "double") else [])]
        values += [attribute.low + 0.5] if isinstance(attribute, Integer) and storage == "double" else []
    return st.sampled_from(
        [_stored("outside", value, storage, attribute) for value in values if not is_token(value, attribute)]
    )


def _stored(role: str, value: Any, storage: str, attribute: Attribute) -> Cell:
    if isinstance(attribute, Date) and attribute.format and isinstance(value, Day) and storage not in ("date", "time"):
        texts = [str(value), *spellings(value, attribute.format)]
        zero = as_day(SERIAL_DAYS.get(attribute.format, SERIAL_DAYS["excel"]).zero)
        serial = value - zero + (value % 4 / 4 if storage == "double" else 0)
        raw = texts[value % len(texts)] if storage == "text" else serial
        return Cell(role, raw, raw, value)
    convert = {"boolean": bool, "integer": int, "double": float, "text": str}
    convert |= {"date": lambda day: day.date, "time": lambda day: _typed(day, as_time=True)}
    return Cell(role, value, convert[storage](value))


def cards() -> st.SearchStrategy[PrivacyCard]:
    epsilons = st.fractions(Fraction(1, 1000), 10, max_denominator=10**6)
    deltas = st.fractions(0, 1, max_denominator=10**6).filter(lambda delta: delta < 1)
    lines, text = st.text(min_size=1, max_size=12), st.text(max_size=9)
    charges = st.lists(
        st.builds(Charge, text, epsilons, deltas, text, no_guarantee=st.none() | lines, declared=st.booleans()),
        min_size=1,
        max_size=3,
    )
    return st.builds(
        PrivacyCard,
        charges.map(tuple),
        noise=lines,
        software=lines,
        no_guarantee=st.none() | lines,
        notes=st.lists(lines, max_size=2).map(tuple),
    ) | st.builds(PrivacyCard.none, lines, software=lines)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    classes = draw(st.sampled_from(CLASSES))
    return Schema({name: draw(attributes()) for name in names}, Label("the label", classes))


def leaves(classes: tuple) -> st.SearchStrategy[Leaf]:
    """Generate leaves with counts, a label or both, the label at times with probabilities."""
    counts, labels = st.tuples(*[st.integers(-5, 60)] * len(classes)), st.sampled_from(classes)
    labelled = st.builds(Leaf, counts) | st.builds(Leaf, label=labels) | st.builds(Leaf, counts, labels)
    return labelled | st.builds(_likely, st.none() | counts, st.lists(st.integers(0, 9), min_size=1), st.just(classes))


def _likely(counts: tuple | None, parts: list[int], classes: tuple) -> Leaf:
    """A leaf with the shares of these parts as probabilities; of no parts, with all classes alike."""
    shares = [float(part) for part in (parts * len(classes))[: len(classes)]]
    result = tuple(share / sum(shares) for share in shares) if sum(shares) else (1 / len(classes),) * len(classes)
    return Leaf(counts, classes[result.index(max(result))], result)


def literals_of(schema: Schema) -> list[Literal]:
    return [literal for name in schema for literal in schema[name].literals(name, negations=True)]


def drawn_card(draw: st.DrawFn, privacy: st.SearchStrategy[PrivacyCard] | None) -> PrivacyCard:
    return PrivacyCard.none("example", software="hedgerow") if privacy is None else draw(privacy)


@st.composite
def rule_lists(draw: st.DrawFn, privacy: st.SearchStrategy[PrivacyCard] | None = None) -> RuleList:
    schema = draw(schemas())
    literals = literals_of(schema)
    conjunctions = st.lists(st.sampled_from(literals), min_size=1, max_size=3).map(tuple) if literals else st.nothing()
    antecedents = draw(st.lists(conjunctions, min_size=1, max_size=5)) if literals else []
    result = [draw(leaves(schema.classes)) for _ in (*antecedents, ())]
    rules = [
        Rule(a, leaf.counts, leaf.label, leaf.probabilities) for a, leaf in zip((*antecedents, ()), result, strict=True)
    ]
    return RuleList(schema, tuple(rules), drawn_card(draw, privacy), draw(cost_tables(len(schema.classes))))


@st.composite
def trees(draw: st.DrawFn, privacy: st.SearchStrategy[PrivacyCard] | None = None) -> Tree:
    schema = draw(schemas())
    literals, leaf = literals_of(schema), leaves(schema.classes)

    def split(nodes: st.SearchStrategy) -> st.SearchStrategy[Split]:
        return st.builds(Split, st.sampled_from(literals), nodes, nodes)

    root = draw(split(st.recursive(leaf, split, max_leaves=8)) | leaf if literals else leaf)
    return Tree(schema, root, drawn_card(draw, privacy), draw(cost_tables(len(schema.classes))))


def cost_tables(n_classes: int) -> st.SearchStrategy[CostTable | None]:
    line = st.tuples(*[st.floats(0, 1e6)] * n_classes)
    return st.none() | st.tuples(*[line] * n_classes)


@st.composite
def attribute_points(
    draw: st.DrawFn, name: str, n_bins: int, row: st.SearchStrategy[tuple[int, ...]]
) -> AttributePoints:
    points = draw(st.lists(row, min_size=n_bins, max_size=n_bins))
    errors = None
    if draw(st.booleans()):
        error = st.tuples(*[st.just(0.0) | st.floats(0, 1e6)] * len(points[0]))
        errors = tuple(draw(st.lists(error, min_size=n_bins, max_size=n_bins)))
    unsupported = sorted(draw(st.sets(st.integers(0, n_bins - 1), max_size=3)))
    rows = draw(st.none() | st.lists(st.integers(-(10**5), 10**15), min_size=n_bins, max_size=n_bins))
    noise = None if rows is None else draw(st.just(0.0) | st.floats(1e-3, 1e9))
    return AttributePoints(
        name, tuple(points), errors, tuple(unsupported), None if rows is None else tuple(rows), noise
    )


@st.composite
def scorecards(draw: st.DrawFn, privacy: st.SearchStrategy[PrivacyCard] | None = None) -> Scorecard:
    schema = draw(schemas())
    width = 1 if len(schema.classes) == 2 else len(schema.classes)
    row = st.tuples(*[st.integers(-2, 2) | st.integers(-(10**6), 10**6)] * width)
    used = draw(st.lists(st.sampled_from(schema.names), unique=True))
    parts = [draw(attribute_points(name, schema[name].n_bins, row)) for name in used]
    unit, error = draw(st.floats(1e-9, 1e6)), draw(st.none() | st.floats(0, 1e6))
    scale = draw(st.none() | point_scales(schema.classes)) if width == 1 else None
    unit = unit if scale is None else scale.unit
    return Scorecard(schema, draw(row), tuple(parts), unit, error, drawn_card(draw, privacy), scale)


def point_scales(classes: Sequence[Value]) -> st.SearchStrategy[PointScale]:
    """Return scales whose totals of even odds are whole numbers, fractions of them, or anything else."""
    pdo, score = st.sampled_from([1, 20, 40.5]) | st.floats(0.01, 1e4), st.integers(-2, 2) | st.floats(-1e5, 1e5)
    odds = st.sampled_from([0.5, 1, 2, 4, 50]) | st.floats(1e-3, 1e9)
    return st.builds(PointScale, pdo, score, odds, st.sampled_from(classes))


@st.composite
def number_scorecards(draw: st.DrawFn) -> Scorecard:
    given_, number = draw(schemas()), Number("the number", *draw(st.sampled_from(BOUNDS)))
    schema = Schema(given_.attributes, number)
    points = st.integers(-2, 2) | st.integers(-50, 50) | st.integers(-(10**6), 10**6)
    row = st.tuples(points)
    used = draw(st.lists(st.sampled_from(schema.names), unique=True))
    parts = tuple(draw(attribute_points(name, schema[name].n_bins, row)) for name in used)
    unit = (number.high - number.low) / draw(st.sampled_from([1, 3, 100, 7.3, 999_999]))
    error = draw(st.none() | st.just(unit / 3))
    return Scorecard(schema, (draw(points),), parts, unit, error, drawn_card(draw, None))


@st.composite
def cases(
    draw: st.DrawFn,
    models: st.SearchStrategy[RuleList | Tree | Scorecard] | None = None,
    types: Callable[[Attribute], list[str]] = storages,
    accepts: Callable[[Cell], bool] = lambda _: True,
) -> Case:
    model = draw(rule_lists() if models is None else models)
    storage = {name: draw(st.sampled_from(types(model.schema[name]))) for name in model.schema}
    size = draw(st.integers(1, 12))
    columns = {
        name: draw(st.lists(bins(model.schema[name], storage[name]).filter(accepts), min_size=size, max_size=size))
        for name in model.schema
    }
    return Case(model, storage, columns)
