"""PMML out: golden elements by hand, our own reader, and two evaluators of others, which run on Java."""

import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, assume, given, settings

import hedgerow as hr
from hedgerow.errors import ArgumentError, ModelFormatError
from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree
from hedgerow.models.pmml import TOO_FEW_ROWS, WITHIN_NOISE
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.schema import (
    Boolean,
    Categorical,
    Date,
    Integer,
    Label,
    Literal,
    Number,
    Ordered,
    Real,
    Schema,
    YearsSince,
)
from tests.models.strategies import Case, Cell, cases, rule_lists, scorecards, trees
from tests.peers import peer

NONE = PrivacyCard.none("example", software="hedgerow")
JAVA = [
    pytest.mark.spark,
    pytest.mark.skipif(shutil.which("java") is None, reason="the evaluators of PMML need Java"),
]
SPACE = "{http://www.dmg.org/PMML-4_4}"
ATTRIBUTES = {
    "age": Integer(17, 90, cuts=(30, 45), missing="bin", missing_values=(-9,), outside="bin"),
    "income": Real(0, 10, cuts=(2.5, 7), outside="clip"),
    "smoker": Boolean(missing="bin"),
    "word": Boolean(true_values=("yes", "Y"), false_values=("no", "N")),
    "hue": Categorical(("red", "blue green", 'q"x'), missing="bin", missing_values=("?",), outside="bin"),
    "code": Categorical((1, 2, 3)),
    "grade": Ordered(("low", "middle", "high")),
    "day": Date("2020-01-01", "2021-12-31", cuts=("2020-06-30", "2021-01-31")),
}
VALUES: dict[str, list[Any]] = {
    "age": [None, -9.0, 3e9, -3e9, 16.0, 17.0, 30.0, 30.5, 31.0, 45.0, 46.0, 90.0, 91.0],
    "income": [-3.0, 0.0, 2.5, np.nextafter(2.5, 3), 7.0, 10.0, 11.5],
    "smoker": [True, False, None],
    "word": ["yes", "Y", "no", "N"],
    "hue": ["red", "blue green", 'q"x', "?", "odd", None],
    "code": ["1", "2", "3"],
    "grade": ["low", "middle", "high"],
    "day": ["2020-01-01", "2020-06-30", "2020-07-01", "2021-01-31", "2021-02-01", "2021-12-31"],
}
CLASSES = Schema(ATTRIBUTES, Label("ill", ("no", "yes")))


def rows_of(size: int) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    result = {name: rng.choice(np.array(values, dtype=object), size) for name, values in VALUES.items()}
    return pd.DataFrame(result).astype({"age": float, "income": float})


def a_tree(schema: Schema, leaf: Any) -> Tree:
    tests = [
        *(("age", "<=", 30), ("smoker", "true"), ("age", "outside"), ("hue", "!=", "red"), ("day", ">", "2020-06-30")),
        *(("word", "true"), ("code", "=", 2), ("grade", "<=", "middle"), ("hue", "missing"), ("income", ">", 2.5)),
    ]
    node = leaf(0)
    for number, (name, operator, *operands) in enumerate([test for test in tests if test[0] in schema], 1):
        node = Split(Literal(name, operator, tuple(operands)), leaf(number), node)
    return Tree(schema, node, NONE)


def a_list(schema: Schema, leaf: Any) -> RuleList:
    antecedents = [
        (Literal("age", "between", (30, 45)), Literal("smoker", "true")),
        (Literal("hue", "outside"),),
        (Literal("income", ">", (2.5,)), Literal("word", "false")),
        (Literal("smoker", "known"), Literal("grade", "=", ("high",))),
        (Literal("age", ">", (45,)), Literal("day", "<=", ("2021-01-31",))),
        (),
    ]
    kept = [tuple(literal for literal in antecedent if literal.attribute in schema) for antecedent in antecedents]
    return RuleList(schema, tuple(Rule.of(antecedent, leaf(number)) for number, antecedent in enumerate(kept)), NONE)


def a_scorecard(schema: Schema, unit: float = 0.5) -> Scorecard:
    rng = np.random.default_rng(3)
    parts = [AttributePoints(name, rng.integers(-5, 6, (schema[name].n_bins, 1)).tolist()) for name in schema]
    return Scorecard(schema, (-2,), tuple(parts), unit, None, NONE)


def a_noisy_scorecard(schema: Schema) -> Scorecard:
    """Return a scorecard with points within the noise, and bins with too few rows."""
    card, rng = a_scorecard(schema), np.random.default_rng(4)
    parts = [
        replace(
            part, errors=rng.uniform(0.05, 0.5, np.shape(part.points)).tolist(), unsupported=(len(part.points) - 1,)
        )
        for part in card.parts
    ]
    return replace(card, parts=tuple(parts))


def of_classes(number: int) -> Leaf:
    return Leaf((3 * number + 1, (7 * number + 5) % 11))


def of_numbers(number: int) -> Leaf:
    return Leaf(label=(number + 0.5) * 10 / 16, mean=number * 0.3 + 0.1)


def models_of(attributes: dict[str, Any]) -> dict[str, Any]:
    classes, numbers = (Schema(attributes, item) for item in (Label("ill", ("no", "yes")), Number("cost", 0, 10, 16)))
    return {
        "tree": a_tree(classes, of_classes),
        "rule list": a_list(classes, of_classes),
        "labels": a_list(classes, lambda number: Leaf(label=("no", "yes")[number % 2])),
        "scorecard": a_scorecard(classes),
        "noisy scorecard": a_noisy_scorecard(classes),
        "scaled scorecard": a_scorecard(classes).scaled(pdo=20, score=600, odds=50, favourable="no"),
        "tree of a number": a_tree(numbers, of_numbers),
        "rule list of a number": a_list(numbers, of_numbers),
        "scorecard of a number": a_scorecard(numbers, unit=0.3),
    }


MODELS = models_of(ATTRIBUTES)


def test_a_tree_by_hand() -> None:
    schema = Schema({"age": Integer(17, 90, cuts=(30,)), "smoker": Boolean()}, Label("ill", ("no", "yes")))
    root = Split(Literal("age", "<=", (30,)), Leaf((10, 30)), Leaf((9, 3)))
    model = ElementTree.fromstring(Tree(schema, root, NONE).to_pmml()).find(f"{SPACE}TreeModel")
    assert model is not None
    first, other = model.findall(f"{SPACE}Node/{SPACE}Node")
    assert first.attrib == {"score": "yes"}
    assert other.attrib == {"score": "no"}
    assert [item.attrib["recordCount"] for item in other[1:]] == ["9", "3"]
    assert first[0].attrib == {"field": "age", "operator": "lessOrEqual", "value": "30"}
    assert [item.attrib["probability"] for item in first[1:]] == ["0.25", "0.75"]
    assert other[0].tag == f"{SPACE}True"
    assert [item.attrib["name"] for item in model.findall(f"{SPACE}MiningSchema/*")] == ["age", "ill"]


@pytest.mark.parametrize("name", ["tree", "rule list", "tree of a number"])
def test_our_own_reader_predicts_the_same(tmp_path: Path, name: str) -> None:
    used = {literal: ATTRIBUTES[literal] for literal in ("income", "smoker", "code", "grade")}
    target = MODELS[name].schema.target
    schema = Schema(used, target)
    literals = [Literal("income", ">", (2.5,)), Literal("smoker", "missing"), Literal("code", "!=", (2,))]
    leaf = of_numbers if "number" in name else of_classes
    if name == "rule list":
        rules = [Rule.of((literal,), leaf(place)) for place, literal in enumerate(literals)]
        model: RuleList | Tree = RuleList(schema, (*rules, Rule.of((), leaf(9))), NONE)
    else:
        node: Any = leaf(0)
        for place, literal in enumerate(literals, 1):
            node = Split(literal, leaf(place), node)
        model = Tree(schema, node, NONE)
    path = tmp_path / "model.pmml"
    path.write_text(model.to_pmml())
    rows = rows_of(300)
    assert hr.read_model(path, schema).predict(rows).tolist() == model.predict(rows).tolist()


@pytest.mark.peers("jpmml_evaluator", "jpype")
class TestJpmml:
    pytestmark = JAVA

    @pytest.mark.parametrize("name", MODELS)
    @pytest.mark.parametrize("size", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
    def test_it_predicts_what_predict_does(self, name: str, size: int, tmp_path: Path) -> None:
        model, rows = MODELS[name], rows_of(size)
        result = evaluated(model, rows, tmp_path)
        assert result[f"predicted {model.schema.target.name}"].tolist() == model.predict(rows).tolist()
        if isinstance(model, Scorecard):
            assert result["total points"].tolist() == model.totals(rows).tolist()
            assert_reasons(model.reasons(rows), result)
        elif model.has_shares and isinstance(model, Tree):
            shares = result[["probability(no)", "probability(yes)"]].to_numpy(dtype=float)
            assert (shares == model.predict_proba(rows)).all()
        elif model.has_shares:
            assert result["confidence"].tolist() == model.predict_proba(rows).max(axis=1).tolist()

    def test_fewer_points_are_better_where_the_first_class_is_favourable(self, tmp_path: Path) -> None:
        card, rows = a_scorecard(CLASSES), rows_of(300)
        assert_reasons(card.reasons(rows, favourable="no"), evaluated(card, rows, tmp_path, favourable="no"))

    @pytest.mark.parametrize("examples", [20, pytest.param(200, marks=pytest.mark.slow)])
    def test_it_predicts_what_predict_does_of_any_model(self, examples: int, tmp_path: Path) -> None:
        @settings(max_examples=examples, phases=[Phase.generate])
        @given(case=cases(rule_lists() | trees() | scorecards()))
        def same(case: Case) -> None:
            model = case.model
            assume(not isinstance(model, Scorecard) or (model.has_one_total and model.parts))
            assume(not any(isinstance(item, Date) and item.format for _, item in model.schema.attributes))
            cells = [{name: _cell(model.schema[name], item) for name, item in row.items()} for row in case.rows]
            result = evaluated(model, pd.DataFrame(cells), tmp_path)
            assert result["predicted the label"].tolist() == model.predict(case.arrow()).tolist()

        same()


@pytest.mark.peers("pypmml", "py4j")
class TestPypmml:
    pytestmark = JAVA

    @pytest.mark.parametrize("name", MODELS)
    def test_it_predicts_what_predict_does(self, name: str) -> None:
        """But for dates, which it does not read from text."""
        model = models_of({item: kind for item, kind in ATTRIBUTES.items() if item != "day"})[name]
        rows, evaluator = rows_of(500), peer("pypmml").Model.fromString(model.to_pmml())
        cells = rows.astype(object).where(rows.notna(), None).to_dict("records")
        said = [evaluator.predict(cell)[f"predicted {model.schema.target.name}"] for cell in cells]
        assert said == model.predict(rows).tolist()


def evaluated(model: Any, rows: pd.DataFrame, tmp_path: Path, **options: Any) -> pd.DataFrame:
    path = tmp_path / "model.pmml"
    path.write_text(model.to_pmml(**options), encoding="utf-8")
    result = peer("jpmml_evaluator").make_evaluator(str(path)).verify().evaluateAll(rows)
    assert "errors" not in result, result["errors"].dropna().iloc[:3].tolist()
    return result


def assert_reasons(reasons: Any, found: pd.DataFrame) -> None:
    """What costs nothing is no reason of ours, and the evaluator's last ones; what is within the noise has a code."""
    codes = [code.format(number) for code in (WITHIN_NOISE, TOO_FEW_ROWS) for number in range(1, len(ATTRIBUTES) + 1)]
    said = found[[f"reason {rank}" for rank in range(1, 5)]].to_numpy(dtype=object)
    said = np.array([sorted(row, key=lambda one: one in codes) for row in said.tolist()], dtype=object)
    is_reason = reasons != None  # noqa: E711 -- of each element
    assert is_reason.any(axis=0).all()
    assert (said[is_reason] == reasons[is_reason]).all()


def _cell(attribute: Any, one: Cell) -> Any:
    """Return a value as the schema writes it: words, and numbers."""
    value = one.typed.strip() if isinstance(one.typed, str) else one.typed
    if one.role == "missing":
        if value is None or value == "" or value != value:
            return None
        is_number = isinstance(attribute, (Integer, Real)) and not isinstance(attribute, Date)
        return (
            float(value)
            if is_number and not isinstance(value, str)
            else f"{value:g}"
            if isinstance(value, float)
            else str(value)
        )
    if isinstance(attribute, (Integer, Real)) and not isinstance(attribute, Date):
        return float(value)
    return value if isinstance(value, bool) else str(value)


def test_models_that_pmml_cannot_express_fail() -> None:
    years = Integer(0, 120, cuts=(50,), derived=YearsSince("born", "2020-01-01"))
    derived = Schema({"age": years}, Label("ill", ("no", "yes")))
    split = Split(Literal("age", "<=", (50,)), Leaf((1, 2)), Leaf((2, 1)))
    with pytest.raises(ArgumentError, match="derived column 'age'"):
        Tree(derived, split, NONE).to_pmml()
    for name, problem in (("predicted ill", "rename the column"), ("a\x01b", "control characters")):
        schema = Schema({name: Boolean()}, Label("ill", ("no", "yes")))
        model = Tree(schema, Split(Literal(name, "true"), Leaf((1, 2)), Leaf((2, 1))), NONE)
        with pytest.raises(ArgumentError, match=problem):
            model.to_pmml()
    three = Schema({"x": Boolean()}, Label("y", ("a", "b", "c")))
    with pytest.raises(ArgumentError, match=r"got 3 classes\. Use to_sql"):
        Scorecard(three, (0, 0, 0), (AttributePoints("x", ((0, 0, 0), (1, 2, 3))),), 1.0, None, NONE).to_pmml()


def test_reasons_by_hand() -> None:
    schema = Schema({"x": Boolean(), "y": Boolean(), "z": Boolean()}, Label("approved", ("no", "yes")))
    points = (("x", 0, 3), ("y", 5, 0), ("z", 1, 1))
    card = Scorecard(schema, (0,), tuple(AttributePoints(a, ((p,), (q,))) for a, p, q in points), 1.0, None, NONE)
    rows = pd.DataFrame({"x": [False, True], "y": [True, False], "z": [True, True]})
    assert card.reasons(rows).tolist() == [["y", "x", None, None], [None] * 4]
    assert card.reasons(rows, favourable="no").tolist() == [[None] * 4, ["y", "x", None, None]]
    with pytest.raises(ArgumentError, match="favourable must be one of"):
        card.reasons(rows, favourable="maybe")
    with pytest.raises(ArgumentError, match="only scorecards have reason codes"):
        MODELS["tree"].reasons(rows)


def test_scale_files_need_all_required_keys_and_may_omit_optional_ones(tmp_path: Path) -> None:
    path = tmp_path / "model.pmml"
    for target, unit in ((Label("ill", ("no", "yes")), 0.5), (Number("cost", 0, 10, 16), 0.3)):
        model = a_scorecard(Schema({"smoker": ATTRIBUTES["smoker"], "code": ATTRIBUTES["code"]}, target), unit)
        path.write_text(model.to_pmml())
        with pytest.raises(ModelFormatError, match="feature"):
            hr.read_model(path, model.schema)
    schema = Schema({"smoker": Boolean(missing="bin")}, Label("ill", ("no", "yes")))
    tree = Tree(schema, Split(Literal("smoker", "true"), Leaf((1, 2)), Leaf((2, 1))), NONE)
    path.write_text(tree.to_pmml())
    rows = pd.DataFrame({"smoker": ["true", "false", None]})
    assert hr.read_model(path).predict(rows).tolist() == tree.predict(rows).tolist()


def test_what_was_not_released_is_not_written() -> None:
    schema = Schema({"x": Boolean()}, Label("y", ("a", "b")))
    mixed = Rule.of((Literal("x", "true"),), Leaf(label="b")), Rule.of((), Leaf((7, 2)))
    assert "confidence" not in RuleList(schema, mixed, NONE).to_pmml()
    tree = Tree(schema, Split(Literal("x", "true"), Leaf(label="b"), Leaf((7, 2))), NONE)
    assert "probability" not in tree.to_pmml()
    large = Schema({"x": Boolean()}, Label("y", (0, 2**31)))
    assert 'dataType="integer"' not in Tree(large, Leaf((7, 2)), NONE).to_pmml()


def test_a_guarantee_stated_in_our_pmml_is_not_reported_as_none(tmp_path):
    """The card is not in PMML: a model that is read back has no guarantee, and its own file may have one."""
    charged = PrivacyCard((Charge("draw", Fraction(1)),), noise="OpenDP", software="hedgerow")
    schema = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))
    ours = "; the file that hedgerow saved may state a guarantee"
    for card, more in ((charged, ours), (NONE, "")):
        path = tmp_path / "tree.pmml"
        path.write_text(Tree(schema, Split(Literal("smoker", "true"), Leaf((1, 2)), Leaf((3, 1))), card).to_pmml())
        assert hr.read_model(path, schema).privacy.headline == f"none (read from PMML, which states no guarantee{more})"
