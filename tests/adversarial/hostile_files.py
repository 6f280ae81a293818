"""Valid files of every kind, and files that were made to hang, to fill the memory, or to break a loader."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree, load_model
from hedgerow.models.envelope import LARGEST_MODEL, seal
from hedgerow.privacy.account import Account
from hedgerow.privacy.budget_chain import Record
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Literal, Real, Schema
from hedgerow.schema.files import LARGEST_SCHEMA, LARGEST_YAML
from tests.privacy.rewriting import chain

CHARGES = (Charge("cuts", Fraction(1, 3), mechanism="quantiles"), Charge("counts", Fraction(1, 10), Fraction(1, 10**6)))
SCHEMA = Schema(
    {
        "age": Integer(17, 90, (30, 45, 60), outside="clip"),
        "dose": Real(0, 1, (0.25, 0.5), missing="bin", missing_values=("?", -9), outside="bin"),
        "ward": Categorical(("surgery", "cardiology", 7), missing="bin", outside="bin"),
        "smoker": Boolean(missing="bin"),
        "admitted": Date("1990-01-01", "2029-12-31", "10 years", missing="bin", missing_values=("?",), outside="clip"),
    },
    Label("ill", ("no", "unsure", "yes")),
    CHARGES[:1],
)
CARD = PrivacyCard(CHARGES, noise="OpenDP", software="hedgerow 0", notes=("a note",))
YOUNG, HIGH = Literal("age", "<=", (30,)), Literal("dose", ">", (0.5,))
SURGERY, SMOKER = Literal("ward", "=", ("surgery",)), Literal("smoker", "true")
EARLY = Literal("admitted", "<=", ("1999-12-31",))
RULES = (Rule((YOUNG, HIGH), (9, -2, 3)), Rule((SURGERY, EARLY), (1, 2, 3), "no"), Rule((SMOKER,), label="yes"))
LIST = RuleList(SCHEMA, (*RULES, Rule((), (4, 5, 6))), CARD)
ROOT = Split(YOUNG, Split(EARLY, Leaf((1, 2, 3)), Leaf(label="no")), Split(SMOKER, Leaf((0, 0, 9)), Leaf((7, 8, 9))))
TREE = Tree(SCHEMA, ROOT, CARD)
BINARY = Schema(dict(SCHEMA.attributes), Label("ill", ("no", "yes")))
PARTS = (
    AttributePoints("age", ((1,), (2,), (2,), (-30,))),
    AttributePoints("ward", ((0,), (5,), (1,), (0,), (3,))),
    AttributePoints("dose", ((0,), (1,), (2,), (0,), (3,))),
    AttributePoints("admitted", ((0,), (1,), (2,), (0,), (-3,))),
)
POINTS = Scorecard(BINARY, (-3,), PARTS, 0.1, 0.25, CARD)
ACCOUNT = Account(Fraction(3), charges=CHARGES[:1])
BUDGET = (
    Record.opened(Account(Fraction(3)), "wards")
    .after(ACCOUNT)
    .released(1, "a" * 64)
    .after(ACCOUNT.marked(0, "seeded"))
    .to_dict()
)
LOADERS: dict[str, tuple[str, Any, Callable[[Path], Any]]] = {
    "rule list": ("json", LIST.to_dict(), load_model),
    "tree": ("json", TREE.to_dict(), load_model),
    "scorecard": ("json", POINTS.to_dict(), load_model),
    "schema in JSON": ("json", SCHEMA.to_dict(), Schema.load),
    "schema in YAML": ("yaml", SCHEMA.to_dict(), Schema.load),
    "budget": ("json", BUDGET, FileBudget),
}
"""The ending of a file's name, valid data, and what loads it."""


def use(loaded: Any) -> None:
    """Read and export what was loaded."""
    _ = str(loaded), repr(loaded)
    if isinstance(loaded, FileBudget):
        _ = str(loaded.record), loaded.record.dates
    if isinstance(loaded, (RuleList, Tree)):
        _ = str(loaded.privacy), loaded.get_rules(), loaded.to_html(), loaded.to_python(), loaded.to_sql()
    if isinstance(loaded, Scorecard):
        _ = str(loaded.privacy), loaded.get_points(), loaded.to_html(), loaded.to_python(), loaded.to_sql()


def resealed(data: Mapping[str, Any]) -> str:
    """Return a model's file after a change by someone who computed a new digest."""
    return json.dumps(seal({key: value for key, value in data.items() if key != "digest"}))


def rechained(data: dict[str, Any]) -> dict[str, Any]:
    """Return a budget's data after a change by someone who made the hashes anew, where they can be."""
    with suppress(TypeError, AttributeError, KeyError, ValueError):
        return {**data, "head": chain(data["entries"])}
    return data


def _with_amount(data: Any, amount: str) -> Any:
    return json.loads(json.dumps(data).replace('"1/3"', f'"{amount}"').replace('"1"', f'"{amount}"'))


def _with_amounts(amount: str) -> dict[str, str]:
    return {
        "rule list": resealed(_with_amount(LIST.to_dict(), amount)),
        "schema in JSON": json.dumps(_with_amount(SCHEMA.to_dict(), amount)),
        "schema in YAML": json.dumps(_with_amount(SCHEMA.to_dict(), amount)),
        "budget": json.dumps(rechained(_with_amount(BUDGET, amount))),
    }


ALIASES = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
)
SMALL = {
    f"{kind}, epsilon of {amount[:12]}": (kind, text)
    for amount in ("1e99999999", "1/0", "-9/10", "9" * 10**5, "1e-99999999", "١")
    for kind, text in _with_amounts(amount).items()
}
SMALL |= {f"{kind}, brackets": (kind, "[" * 5000 + "]" * 5000) for kind in LOADERS}
SMALL |= {f"{kind}, braces": (kind, '{"a":' * 5000 + "1" + "}" * 5000) for kind in LOADERS}
SMALL |= {f"{kind}, digits": (kind, '{"version": ' + "9" * 10**5 + "}") for kind in LOADERS}
SMALL |= {
    "aliases": ("schema in YAML", ALIASES + "attributes: {a: {kind: categorical, values: *a8}}\n"),
    "aliases among themselves": ("schema in YAML", "&a [*a, *a]"),
    "merged keys": ("schema in YAML", "a: &a {b: 1}\nattributes: {<<: *a}\n"),
    "sexagesimal": ("schema in YAML", "version: 1" + ":30" * 80_000),
    "classes": ("schema in JSON", '{"attributes": {}, "label": {"name": "y", "classes": [["' + "b" * 10**6 + '"]]}}'),
}
"""Small files that once hung, took gigabytes, or were errors of another kind; all are to be refused."""

_CARD = json.dumps(PrivacyCard.none("example", software="hedgerow").to_dict())
_RULE = '{"if":[{"attribute":"a","operator":"true","operands":[]}],"then":"n","counts":null,"label":"n"},'
_LAST = '{"if":[],"then":"n","counts":null,"label":"n"}'
_SMALL = json.dumps(Schema({"a": Boolean()}, Label("y", ("n", "y"))).to_dict())
_WIDE = '{"version":1,"label":{"name":"y","classes":["n","y"]},"attributes":{@"z":{"kind":"boolean"}}}'
_GRIDS = _WIDE.replace("boolean", "real").replace("}}}", ',"low":-8e+307,"high":8e+307}}}')
_CATEGORIES = '{"attributes":{"a":{"kind":"categorical","values":[@-1]}}}'
_CUTS = '{"attributes":{"a":{"kind":"integer","low":0,"high":9999999,"cuts":[@9999998]}}}'


def large() -> dict[str, tuple[str, Callable[[], str]]]:
    """Return what makes files of the greatest size that is read, all of parts that take long."""
    most = LARGEST_MODEL - 1000  # for the digests
    rules = f'{{"schema":{_SMALL},"rules":[@{_LAST}],"privacy":{_CARD}}}'
    attributes = f'{{"schema":{_WIDE},"rules":[{_LAST}],"privacy":{_CARD}}}'
    number = '"#":{"kind":"real","low":-8e+307,"high":8e+307},'
    grids = f'{{"schema":{_GRIDS},"rules":[{_LAST}],"privacy":{_CARD}}}'
    opened, charged = BUDGET["entries"][:2]
    entries = rechained({**BUDGET, "warning": None, "entries": [opened, *(dict(charged) for _ in range(26_000))]})
    entries.pop("warning")
    return {
        "lists": ("rule list", lambda: _repeated("[],", most, around="[@[]]")),
        "mappings": ("rule list", lambda: _repeated('{"a":1},', most, around="[@1]")),
        "keys": ("rule list", lambda: _repeated('"#":0,', most, around='{@"z":0}')),
        "rules": ("rule list", lambda: _sealed(_repeated(_RULE, most, around=rules))),
        "attributes": ("rule list", lambda: _sealed(_repeated('"#":{"kind":"boolean"},', most, around=attributes))),
        "grids": ("rule list", lambda: _sealed(_repeated(number, most, around=grids))),
        "grids in a schema": ("schema in JSON", lambda: _repeated(number, LARGEST_SCHEMA, around=_GRIDS)),
        "values": ("schema in JSON", lambda: _repeated("#,", LARGEST_SCHEMA, around=_CATEGORIES)),
        "cut points": ("schema in JSON", lambda: _repeated("#,", LARGEST_SCHEMA, around=_CUTS)),
        "entries in YAML": ("schema in YAML", lambda: _repeated("a,", LARGEST_YAML, around="[@a]")),
        "keys in YAML": ("schema in YAML", lambda: _repeated("#: b\n", LARGEST_YAML, around="@")),
        "entries": ("budget", lambda: json.dumps(entries)),
    }


def _repeated(part: str, size: int, *, around: str) -> str:
    """Return text of about a size: a part, in which # is a number, as often as there is room, in the place of @."""
    parts: list[str] = []
    length = len(around) + 50
    while length < size:
        parts.append(part.replace("#", str(len(parts))))
        length += len(parts[-1])
    return around.replace("@", "".join(parts))


def _sealed(text: str) -> str:
    data = json.loads(text)
    head = {"format": "hedgerow/rule-list", "version": 1, "schema": data["schema"]}
    digest = {"schema_digest": Schema.from_dict(data["schema"]).digest}
    return json.dumps(seal(head | digest | {"rules": data["rules"], "privacy": data["privacy"]}), separators=(",", ":"))
