"""Random PMML documents of small trees, with every construct of fields that the reader knows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.schema import Boolean, Categorical, Integer, Label, Number, Ordered, Real, Schema

NUMBERS = ("2", "3.5", "5", "7.25", "0.1")
WORDS = ("a", "b", "c d")
CELLS: dict[str, list[Any]] = {
    "double": [None, -9.0, 0.0, 0.1, np.nextafter(0.1, 0), 2.0, 3.5, np.nextafter(3.5, 4), 5.0, 7.25, 9.0, 20.0],
    "integer": [None, -9, 0, 2, 3, 3.5, 4, 5, 7, 8, 20],
    "string": [None, "a", "b", "c d", "e", "?"],
    "boolean": [None, True, False],
}
CELLS["float"] = [*CELLS["double"], float(np.float32(0.1)), 3.5000001, 5.0000002, 7.2500001]


@dataclass(frozen=True)
class Case:
    """A document, and the types of its fields."""

    text: str
    types: dict[str, str]

    def rows(self, rng: np.random.Generator, size: int) -> list[dict[str, Any]]:
        return [{name: pick(rng, *CELLS[kind]) for name, kind in self.types.items()} for _ in range(size)]


def pick(rng: np.random.Generator, *values: Any) -> Any:
    return values[rng.integers(len(values))]


def a_case(rng: np.random.Generator) -> Case:
    """Return a document with a tree, a rule set or a scorecard of two fields."""
    types = {name: pick(rng, "double", "float", "integer", "string", "string", "boolean") for name in "xz"}
    fields = [_field(rng, name, kind) for name, kind in types.items()]
    data, mining = ("".join(parts) for parts in zip(*fields, strict=True))
    optypes = {name: "ordinal" if f'name="{name}" optype="ordinal"' in data else "" for name in types}
    model = pick(rng, _tree, _tree, _tree, _rule_set, _scorecard)(rng, types, optypes)
    held = '<Value value="p"/><Value value="q"/>'
    target = f'<DataField name="y" optype="categorical" dataType="string">{held}</DataField>'
    if "Scorecard" in model:
        target = '<DataField name="y" optype="continuous" dataType="double"/>'
    schema = f'<MiningSchema>{mining}<MiningField name="y" usageType="target"/></MiningSchema>'
    return Case(
        f'<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>{data}{target}'
        f"</DataDictionary>{model.replace('<MiningSchema/>', schema)}</PMML>",
        types,
    )


def _tree(rng: np.random.Generator, types: dict[str, str], optypes: dict[str, str]) -> str:
    strategy = pick(rng, "none", "lastPrediction", "nullPrediction", "defaultChild")
    last = pick(rng, "returnNullPrediction", "returnLastPrediction", "returnLastPrediction")
    return (
        f'<TreeModel functionName="classification" missingValueStrategy="{strategy}" noTrueChildStrategy="{last}">'
        f"<MiningSchema/>{_node(rng, types, optypes, '<True/>', '0', 0)}</TreeModel>"
    )


def _rule_set(rng: np.random.Generator, types: dict[str, str], optypes: dict[str, str]) -> str:
    rules = ""
    for _ in range(rng.integers(1, 4)):
        names = pick(rng, ("x",), ("z",), ("x", "z"))
        simple = [_tests(rng, name, types[name], optypes[name])[pick(rng, 0, 1)] for name in names]
        joined = f'<CompoundPredicate booleanOperator="and">{"".join(simple)}</CompoundPredicate>'
        rules += f'<SimpleRule score="{pick(rng, "p", "q")}">{joined if len(simple) > 1 else simple[0]}</SimpleRule>'
    return (
        '<RuleSetModel functionName="classification"><MiningSchema/><RuleSet defaultScore="p" defaultConfidence="1">'
        f'<RuleSelectionMethod criterion="firstHit"/>{rules}</RuleSet></RuleSetModel>'
    )


def _scorecard(rng: np.random.Generator, types: dict[str, str], optypes: dict[str, str]) -> str:
    parts = ""
    for name, kind in types.items():
        tests = [test for test in _tests(rng, name, kind, optypes[name]) if test != "<True/>"]
        tests += pick(rng, [], ["<True/>"], ["<True/>"])
        scored = (f'<Attribute partialScore="{rng.integers(-4, 5) / 2}">{test}</Attribute>' for test in tests)
        parts += f'<Characteristic name="{name}">{"".join(scored)}</Characteristic>'
    return (
        '<Scorecard functionName="regression" initialScore="1.5" useReasonCodes="false"><MiningSchema/>'
        f"<Characteristics>{parts}</Characteristics></Scorecard>"
    )


def _field(rng: np.random.Generator, name: str, kind: str) -> tuple[str, str]:
    number, held = kind in ("double", "float", "integer"), ""
    optype = "continuous" if number else pick(rng, "categorical", "categorical", "ordinal")
    optype = "categorical" if kind == "boolean" else optype
    if number and rng.random() < 0.5:
        closure = pick(rng, "closedClosed", "openClosed", "closedOpen", "openOpen")
        left = pick(rng, ' leftMargin="0"', ' leftMargin="0.1"', "")
        held += f'<Interval closure="{closure}"{left} rightMargin="{pick(rng, "8", "9", "7.25")}"/>'
    if kind == "string" and rng.random() < 0.6:
        held += "".join(f'<Value value="{word}"/>' for word in rng.permutation(WORDS))
    if kind != "boolean" and rng.random() < 0.3:
        held += f'<Value value="{"-9" if number else "?"}" property="missing"/>'
    invalid = pick(rng, "", "", "returnInvalid", "asIs", "asMissing")
    mining = f' invalidValueTreatment="{invalid}"' if invalid else ""
    mining += pick(rng, "", "", ' missingValueTreatment="asIs"', ' missingValueTreatment="returnInvalid"')
    return (
        f'<DataField name="{name}" optype="{optype}" dataType="{kind}">{held}</DataField>',
        f'<MiningField name="{name}"{mining}/>',
    )


def _node(rng: Any, types: dict[str, str], optypes: dict[str, str], predicate: str, name: str, depth: int) -> str:
    score = f'<Node id="{name}" score="{pick(rng, "p", "q")}"'
    if depth == 2 or (depth and rng.random() < 0.3):
        return f"{score}>{predicate}</Node>"
    field = pick(rng, *types)
    tests = _tests(rng, field, types[field], optypes[field])
    children = [_node(rng, types, optypes, test, f"{name}{i}", depth + 1) for i, test in enumerate(tests)]
    return f'{score} defaultChild="{name}{rng.integers(len(tests))}">{predicate}{"".join(children)}</Node>'


def _tests(rng: np.random.Generator, field: str, kind: str, optype: str) -> list[str]:
    def one(operator: str, value: str = "") -> str:
        compared = f' value="{value}"' if value else ""
        return f'<SimplePredicate field="{field}" operator="{operator}"{compared}/>'

    missing = pick(rng, "", "", one("isMissing"))
    rest = pick(rng, "", "<True/>")
    if kind in ("double", "float", "integer"):
        cut = pick(rng, *(NUMBERS if kind != "integer" else ("2", "5", "7")))
        pairs = (("lessOrEqual", "greaterThan"), ("lessThan", "greaterOrEqual"), ("equal", "notEqual"))
        below, above = (one(operator, cut) for operator in pick(rng, *pairs))
    elif kind == "boolean":
        below, above = one("equal", pick(rng, "true", "1")), one(*pick(rng, ("notEqual", "true"), ("equal", "false")))
    elif optype == "ordinal" and rng.random() < 0.5:
        word = pick(rng, *WORDS)
        below, above = one("lessOrEqual", word), one("greaterThan", word)
    else:
        array = '<Array n="2" type="string">a "c d"</Array>'
        sets = [
            f'<SimpleSetPredicate field="{field}" booleanOperator="{operator}">{array}</SimpleSetPredicate>'
            for operator in ("isIn", "isNotIn")
        ]
        word = pick(rng, *WORDS)
        below, above = pick(rng, sets, [one("equal", word), one("notEqual", word)])
    if missing and rng.random() < 0.5:
        joined = pick(rng, "or", "or", "and", "xor")
        below, missing = f'<CompoundPredicate booleanOperator="{joined}">{below}{missing}</CompoundPredicate>', ""
    return [test for test in (missing, below, above, rest) if test]


def a_schema(rng: np.random.Generator, case: Case) -> Schema:
    """Return a schema of the rows, which may be wider or narrower than the file's fields."""
    label = Number("y", -20, 20) if "Scorecard" in case.text else Label("y", ("p", "q"))
    return Schema({name: _attribute(rng, kind) for name, kind in case.types.items()}, label)


def _attribute(rng: np.random.Generator, kind: str) -> Any:
    missing, outside = pick(rng, "bin", "bin", "error"), pick(rng, "error", "clip", "bin")
    if kind in ("double", "float", "integer"):
        whole = kind == "integer" or rng.random() < 0.2
        outside = pick(rng, "error", "bin") if whole else outside  # clipped whole numbers are rounded, as declared
        low, high = pick(rng, (-10, 30), (-10, 30), (1, 8), (-1, 12))
        return (Integer if whole else Real)(low, high, (), missing=missing, outside=outside)
    if kind == "boolean":
        return Boolean(missing=missing)
    values = pick(rng, ("a", "b", "c d"), ("a", "b", "c d", "e"), ("c d", "a", "b"))
    outside = pick(rng, "error", "bin")
    return pick(rng, Categorical, Ordered)(values, missing=missing, outside=outside)
