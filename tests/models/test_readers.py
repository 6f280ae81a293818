"""Models of others: what is read predicts what its file says, and hostile files are refused in one line."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hedgerow as hr
from hedgerow.errors import ModelFormatError
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Number, Real, Schema

GOLDEN = Path(__file__).with_name("pmml")
N = 2_000
NONE = PrivacyCard.none("example", software="hedgerow")
SCHEMA = Schema(
    {
        "age": Integer(0, 99, cuts=(30, 45), missing="bin"),
        "bmi": Real(10, 60, cuts=(20.5, 1 / 3 + 30), missing="bin", outside="clip"),
        "ward": Categorical(("a", "b", "c", "e f"), missing="bin", outside="bin"),
        "smoker": Boolean(missing="bin"),
    },
    Label("ill", ("no", "yes")),
)


def rows(seed: int, *, missing: bool = True, wards=("a", "b", "c", "e f", "zz", " a ")) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 100, N).astype(object),
            "bmi": rng.choice([5.0, 20.5, np.nextafter(20.5, 0), 31.5, 30 + 1 / 3, 99.0, 25.0], N).astype(object),
            "ward": rng.choice(list(wards), N).astype(object),
            "smoker": rng.choice([True, False], N).astype(object),
        }
    )
    if missing:
        for name in frame:
            frame.loc[rng.random(N) < 0.1, name] = None
    return frame


def read(tmp_path, text: str, schema: Schema | None = None):
    path = tmp_path / "model"
    path.write_text(text)
    return hr.read_model(path, schema)


# Rules as text

RULES = """
# a comment
if age < 31 and ward = "e f" then yes (yes 12, no 3)
else if 20.5 <= bmi < 31.5 and not smoker and ward != a then no
if bmi is missing then yes
else if smoker and age is not missing then yes (yes 4)
else no (no 30)
"""


def by_hand(row) -> str:
    age, bmi, ward, smoker = (None if pd.isna(x) else x for x in row)
    ward = None if ward is None else ward.strip()
    if age is not None and age < 31 and ward == "e f":
        return "yes"
    if bmi is not None and 20.5 <= bmi < 31.5 and smoker is False and ward is not None and ward != "a":
        return "no"
    if bmi is None or (smoker is True and age is not None):
        return "yes"
    return "no"


@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_rules_as_text_predict_as_written(tmp_path, schema):
    frame, model = rows(1), read(tmp_path, RULES, schema)
    assert model.predict(frame).tolist() == [by_hand(row) for row in frame.itertuples(index=False)]
    assert [leaf.counts for leaf in model.leaves] == [(3, 12), None, None, (0, 4), (30, 0)]
    assert not model.privacy.is_private
    assert "states no guarantee" in str(model.privacy)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("if age <= 40 then yes", "the last line must be `else`"),
        ("", "the last line must be"),
        ("if age <= 40 and then yes\nelse no", r"line 1: expected a line such as.*no 3\)\.$"),
        ("age,sex,ill\n40,f,no", "line 1: expected a line such as.* commands expect the model first, then the table"),
        ("select case when age <= 40 then 'a' end from t", "expected SQL that Model.to_sql wrote.* got a SELECT"),
        ("else no\nelse yes", "line 2: no line may follow"),
        ("if age <= 1e999 then yes\nelse no", "line 1: .* a number below 1e150"),
        ("if age <= " + "9" * 500 + " then yes\nelse no", "line 1: .* a number below 1e150"),
        ("if age <= 40 then yes (yes 1, yes 2)\nelse no", "line 1: expected each class once"),
        ("if age <= 40 then yes (yes -1)\nelse no", "line 1"),
        ("if " + "a and " * 9000 + "b then yes\nelse no", "line 1: a line may have at most 20,000 characters"),
        ("if a\nelse no", "line 1"),
        ('if "a <= 3 then yes\nelse no', "line 1"),
        ("if age <= 40 then yes yes\nelse no", "line 1"),
        ("\n".join(["if age <= 40 then yes"] * 30_000) + "\nelse no", "line 20002: at most 20,000 rules"),
        ("if age <= 40 then yes\n" * 1_000_000, "larger than the limit"),
    ],
)
def test_text_that_is_no_rules_is_refused_with_its_line(tmp_path, text, message):
    start = time.perf_counter()
    with pytest.raises(ModelFormatError, match=message) as caught:
        read(tmp_path, text)
    assert len(str(caught.value)) < 600
    assert time.perf_counter() - start < 20


def test_many_cut_points_are_refused_in_time(tmp_path):
    text = "\n".join(f"if age <= {i}.5 then {'yes' if i % 2 else 'no'}" for i in range(19_000)) + "\nelse no"
    with pytest.raises(ModelFormatError, match="tests times bins"):
        read(tmp_path, text)


def test_a_schema_that_does_not_fit_is_named(tmp_path):
    with pytest.raises(ModelFormatError, match=r"line 1: .*'x'"):
        read(tmp_path, "if x <= 3 then yes\nelse no", SCHEMA)
    with pytest.raises(ModelFormatError, match="line 1: the model compares 'age' with"):
        read(tmp_path, "if age <= 300 then yes\nelse no", SCHEMA)
    with pytest.raises(ModelFormatError, match="line 1: the model tests 'ward' for 'q'"):
        read(tmp_path, "if ward = q then yes\nelse no", SCHEMA)
    with pytest.raises(ModelFormatError, match="line 2: 'maybe'"):
        read(tmp_path, "if age <= 30 then yes\nelse maybe", SCHEMA)


# PMML


def pmml(model: str, fields: str) -> str:
    body = f"<Header/><DataDictionary>{fields}</DataDictionary>{model}"
    return f'<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">{body}</PMML>'


def of_scikit_learn(tree, names, *, is_class: bool, missing: str = "") -> str:
    """The PMML of a tree of scikit-learn's, whose thresholds are exact in double precision."""
    t = tree.tree_

    def node(i: int, predicate: str) -> str:
        value = t.value[i][0]
        score = tree.classes_[value.argmax()] if is_class else repr(float(value[0]))
        text = f'<Node id="{i}" score={quoteattr(str(score))}>{predicate}'
        if is_class:
            counts = np.rint(value * t.n_node_samples[i]).astype(int)
            rows = zip(tree.classes_, counts, strict=True)
            text += "".join(f'<ScoreDistribution value="{c}" recordCount="{n}"/>' for c, n in rows)
        if t.children_left[i] != -1:
            field, cut = names[t.feature[i]], repr(float(t.threshold[i]))
            for child, operator in ((t.children_left[i], "lessOrEqual"), (t.children_right[i], "greaterThan")):
                text += node(child, f'<SimplePredicate field="{field}" operator="{operator}" value="{cut}"/>')
        return text + "</Node>"

    function = "classification" if is_class else "regression"
    fields = "".join(f'<MiningField name="{name}"/>' for name in names) + '<MiningField name="y" usageType="target"/>'
    body = f"<MiningSchema>{fields}</MiningSchema>{node(0, '<True/>')}"
    declared = "".join(f'<DataField name="{name}" optype="continuous" dataType="double"/>' for name in (*names, "y"))
    return pmml(f'<TreeModel functionName="{function}" {missing}>{body}</TreeModel>', declared)


@pytest.mark.parametrize("is_class", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_tree_of_scikit_learn_predicts_the_same(tmp_path, is_class, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N, 4)) * 8) / 8  # exact in single precision, as scikit-learn reads them
    y = (X[:, 0] * X[:, 1] > X[:, 2]).astype(int) + (X[:, 3] > 1)
    kind = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    tree = kind(max_depth=9, random_state=0).fit(X[:2000], y[:2000])
    model = read(tmp_path, of_scikit_learn(tree, list("abcd"), is_class=is_class))
    result = model.predict(pd.DataFrame(X, columns=list("abcd")))
    assert result.tolist() == list(map(str, tree.predict(X))) if is_class else np.array_equal(result, tree.predict(X))
    assert isinstance(model, Tree)
    if is_class:
        assert sum(leaf.rows or 0 for leaf in model.leaves) == 2000


def rpart(row) -> str:
    """The golden tree, by the rules of PMML 4.4 for defaultChild."""
    if row.ward in ("b", "d"):
        return "yes"
    return "yes" if row.age is not None and row.age < 20.5 else "no"


def test_the_tree_of_rpart_predicts_as_its_pmml():
    model = hr.read_model(GOLDEN / "rpart.pmml")
    frame = rows(3, wards=("a", "b", "c", "d", "e f"))
    frame["ward"] = frame["ward"].fillna("a")
    frame.loc[::7, "age"] = 20.5
    frame = frame.astype(object).where(frame.notna(), None)
    assert model.predict(frame).tolist() == [rpart(row) for row in frame.itertuples()]
    assert sorted(leaf.counts for leaf in model.leaves) == [(3, 4), (15, 25), (52, 1)]
    assert model.schema["ward"].missing == "error"  # surrogates decide there
    with pytest.raises(ValueError, match="some values are missing"):
        model.predict(frame.assign(ward=None))
    wards = Categorical(("a", "b", "c", "d", "e f"), missing="bin")
    schema = Schema({"ward": wards, "age": Real(0, 99)}, Label("ill", ("no", "yes")))
    with pytest.raises(ModelFormatError, match="surrogates of 'ward'"):
        hr.read_model(GOLDEN / "rpart.pmml", schema)


GOLF = """<TreeModel functionName="classification" missingValueStrategy="{missing}" noTrueChildStrategy="{last}">
<MiningSchema><MiningField name="temp"/><MiningField name="sky" invalidValueTreatment="asIs"/>
<MiningField name="play" usageType="target"/></MiningSchema>
<Node id="0" score="maybe" defaultChild="2"><True/>
 <Node id="1" score="yes" defaultChild="4"><SimpleSetPredicate field="sky" booleanOperator="isIn">
 <Array n="2" type="string">sunny "half"</Array></SimpleSetPredicate>
  <Node id="3" score="no"><CompoundPredicate booleanOperator="or">
  <SimplePredicate field="temp" operator="lessThan" value="10"/>
  <SimplePredicate field="temp" operator="lessOrEqual" value="5"/></CompoundPredicate></Node>
  <Node id="4" score="yes"><CompoundPredicate booleanOperator="and">
  <SimplePredicate field="temp" operator="greaterOrEqual" value="10"/>
  <SimplePredicate field="temp" operator="lessThan" value="20"/></CompoundPredicate></Node></Node>
 <Node id="2" score="no"><SimplePredicate field="sky" operator="equal" value="rain"/></Node></Node></TreeModel>"""
GOLF_FIELDS = (
    '<DataField name="temp" optype="continuous" dataType="integer"/>'
    '<DataField name="sky" optype="categorical" dataType="string"/>'
    '<DataField name="play" optype="categorical" dataType="string"/>'
)
SPELLED = 'name="sky" optype="categorical" dataType="string"><Value value="?" property="missing"/></DataField>'
GOLF_MISSING = GOLF_FIELDS.replace('name="sky" optype="categorical" dataType="string"/>', SPELLED)


def golf(temp, sky, missing: str) -> str:
    """The tree above by the rules of PMML 4.4 for missing values."""
    if sky in (None, "?"):
        return {"none": "maybe", "lastPrediction": "maybe", "defaultChild": "no"}[missing]
    if sky in ("sunny", "half"):
        if temp is None:
            return "yes"
        return "no" if temp < 10 else "yes"
    return "no" if sky == "rain" else "maybe"


@pytest.mark.parametrize("missing", ["none", "lastPrediction", "defaultChild"])
def test_missing_values_follow_the_strategy(tmp_path, missing):
    text = GOLF.format(missing=missing, last="returnLastPrediction")
    model = read(tmp_path, pmml(text, GOLF_MISSING))
    rng = np.random.default_rng(0)
    temps = [None if x < 0 else int(x) for x in rng.integers(-4, 40, N)]
    skies = [None if x == "" else str(x) for x in rng.choice(["", "?", "sunny", "half", "rain", "fog"], N)]
    result = model.predict(pd.DataFrame({"temp": pd.array(temps, "Int64"), "sky": skies}))
    assert result.tolist() == [golf(temp, sky, missing) for temp, sky in zip(temps, skies, strict=True)]


def test_values_that_mean_missing_have_no_prediction_like_missing_values(tmp_path):
    """It was taken for one of the values that are not listed, and predicted."""
    text = GOLF.format(missing="nullPrediction", last="returnLastPrediction")
    with pytest.raises(ModelFormatError, match=r"line 1: .* must not have a Value for missing"):
        read(tmp_path, pmml(text, GOLF_MISSING))
    listed = GOLF_MISSING.replace(
        "<Value", "".join(f'<Value value="{x}"/>' for x in ("sunny", "half", "rain")) + "<Value"
    )
    model = read(tmp_path, pmml(text.replace(' invalidValueTreatment="asIs"', ""), listed))
    with pytest.raises(ValueError, match="sky"):
        model.predict(pd.DataFrame({"temp": [5], "sky": ["?"]}))


def test_a_number_that_means_missing_goes_where_missing_values_go(tmp_path):
    """It was read as the number that it is."""
    old, new = 'dataType="integer"/>', 'dataType="integer"><Value value="-9" property="missing"/></DataField>'
    text = GOLF.format(missing="defaultChild", last="returnLastPrediction")
    model = read(tmp_path, pmml(text, GOLF_FIELDS.replace(old, new)))
    assert model.predict(pd.DataFrame({"temp": [-9, 5, -8], "sky": "sunny"})).tolist() == ["yes", "no", "no"]
    with pytest.raises(ModelFormatError, match=r"line 1"):
        read(tmp_path, pmml(text.replace('defaultChild" no', 'nullPrediction" no'), GOLF_FIELDS.replace(old, new)))


def test_rows_without_a_prediction_are_refused(tmp_path):
    text = pmml(GOLF.format(missing="none", last="returnNullPrediction"), GOLF_FIELDS)
    with pytest.raises(ModelFormatError, match="no child of this Node"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('missingValueStrategy="none"', 'missingValueStrategy="weightedConfidence"', "missingValueStrategy="),
        (
            "<MiningSchema>",
            "<LocalTransformations><DerivedField/></LocalTransformations><MiningSchema>",
            "DerivedField",
        ),
        ('name="temp"/><', 'name="temp" missingValueReplacement="3"/><', "missingValueReplacement"),
        ('operator="equal"', 'operator="like"', 'operator="like"'),
        ('booleanOperator="or"', 'booleanOperator="nor"', 'booleanOperator="nor"'),
        ("<TreeModel", "<Targets/><TreeModel", "expected PMML with one model"),
        ('<Node id="2"', "<EmbeddedModel/><Node id='2'", "EmbeddedModel"),
        ('field="sky" operator="equal"', 'field="moon" operator="equal"', "expected an attribute|moon"),
        ('value="10"', 'value="ten"', "must be a number below"),
        ('dataType="integer"', 'dataType="dateTime"', 'dataType="dateTime"'),
        ("</TreeModel>", "", "line 1[0-9]: the document is not well-formed XML"),
    ],
)
def test_what_would_change_the_meaning_is_refused_by_its_name(tmp_path, old, new, message):
    text = pmml(GOLF.format(missing="none", last="returnLastPrediction"), GOLF_FIELDS)
    assert old in text
    with pytest.raises((ModelFormatError, hr.errors.SchemaError), match=message):
        read(tmp_path, text.replace(old, new))


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE PMML [<!ENTITY a "b">]><PMML>&a;</PMML>',
        "<PMML>" * 200,
        "<PMML>" + "<a/>" * 500_000 + "</PMML>",
        "<PMML/>",
        "<a xmlns:b='c'><b:PMML/></a>",
        pmml(
            "<TreeModel functionName='classification'><Node score='a'><True/>"
            + "<Node score='b'><SimplePredicate field='x' operator='lessThan' value='1'/></Node>" * 5000
            + "</Node></TreeModel>",
            "<DataField name='x' optype='continuous' dataType='double'/>",
        ),
    ],
)
def test_hostile_documents_are_refused_in_time(tmp_path, text):
    start = time.perf_counter()
    with pytest.raises(ModelFormatError) as caught:
        read(tmp_path, text)
    assert len(str(caught.value)) < 500
    assert time.perf_counter() - start < 20


def test_the_first_rule_of_a_rule_set_decides(tmp_path):
    fields = (
        '<DataField name="age" optype="continuous" dataType="double"/>'
        '<DataField name="ward" optype="categorical" dataType="string"/>'
    )
    rule = (
        '<SimpleRule score="yes"><CompoundPredicate booleanOperator="and">'
        '<SimplePredicate field="age" operator="greaterThan" value="40"/>'
        '<SimplePredicate field="ward" operator="notEqual" value="a"/></CompoundPredicate></SimpleRule>'
        '<SimpleRule score="no"><SimplePredicate field="age" operator="isMissing"/></SimpleRule>'
    )
    model = (
        '<RuleSetModel functionName="classification"><MiningSchema/><RuleSet defaultScore="maybe">'
        f'<RuleSelectionMethod criterion="firstHit"/>{rule}</RuleSet></RuleSetModel>'
    )
    result = read(tmp_path, pmml(model, fields)).predict(
        pd.DataFrame({"age": [50, 50, None, 3], "ward": ["b", "a", "b", None]})
    )
    assert result.tolist() == ["yes", "maybe", "no", "maybe"]
    with pytest.raises(ModelFormatError, match='criterion="weightedSum"'):
        read(tmp_path, pmml(model.replace("firstHit", "weightedSum"), fields))


def test_a_scorecard_adds_up_the_points_of_its_attributes():
    model = hr.read_model(GOLDEN / "scorecard.pmml")
    rng = np.random.default_rng(0)
    departments = [None if x == "" else str(x) for x in rng.choice(["", "marketing", "engineering", "law"], N)]
    ages = [None if x < 10 else int(x) for x in rng.integers(0, 60, N)]
    points = {None: -9, "law": -9, "marketing": 19, "engineering": 3.5}
    expected = [
        2.5 + points[d] + (-1 if a is None else -3 if a <= 18 else 0 if a < 30 else 12)
        for d, a in zip(departments, ages, strict=True)
    ]
    frame = pd.DataFrame({"department": departments, "age": pd.array(ages, "Int64")})
    assert model.predict(frame).tolist() == expected


def test_scores_that_no_sum_holds_are_refused(tmp_path):
    part = "<Characteristic><Attribute partialScore='9e307'><True/></Attribute></Characteristic>"
    model = f"<Scorecard functionName='regression'><Characteristics>{part * 3}</Characteristics></Scorecard>"
    with pytest.raises(ModelFormatError, match="partialScore must be a number below 1e150"):
        read(tmp_path, pmml(model, ""))


# SQL


def a_tree() -> Tree:
    yes, no = Leaf(label="yes"), Leaf(label="no")
    young = Split(Literal("ward", "=", ("e f",)), yes, Split(Literal("bmi", ">", (30 + 1 / 3,)), no, yes))
    old = Split(Literal("smoker", "true"), Split(Literal("ward", "outside"), no, yes), no)
    return Tree(SCHEMA, Split(Literal("age", "<=", (30,)), young, Split(Literal("age", "missing"), yes, old)), NONE)


def a_list() -> RuleList:
    first = (Literal("age", "between", (30, 45)), Literal("ward", "!=", ("a",)), Literal("smoker", "false"))
    others = (Literal("bmi", "<=", (20.5,)),), (Literal("ward", "known"), Literal("age", ">", (45,)))
    labels = ("yes", "no", "yes", "no")
    paths = (first, *others, ())
    return RuleList(SCHEMA, tuple(Rule(x, label=y) for x, y in zip(paths, labels, strict=True)), NONE)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "bigquery", "snowflake"])
@pytest.mark.parametrize("made", [a_tree, a_list])
def test_sql_is_read_as_the_model_that_wrote_it(tmp_path, made, dialect):
    model = made()
    result = read(tmp_path, model.to_sql(dialect), SCHEMA)
    assert type(result) is type(model)
    assert result.paths == model.paths
    assert result.predict(rows(5)).tolist() == model.predict(rows(5)).tolist()


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "bigquery", "snowflake"])
@pytest.mark.parametrize("made", [a_tree, a_list])
def test_sql_for_columns_of_the_declared_types_is_read_as_a_rule_list(tmp_path, made, dialect):
    model = made()
    result = read(tmp_path, model.to_sql(dialect, types="declared"), SCHEMA)
    assert isinstance(result, RuleList)
    assert len(result) == len(model.paths)
    assert result.predict(rows(50)).tolist() == model.predict(rows(50)).tolist()
    assert len(set(result.predict(rows(50)).tolist())) == 2


@pytest.mark.parametrize("types", ["any", "declared"])
@pytest.mark.parametrize("values", [("1", "2"), (1, 20, "a"), ("1", "b", "11")])
def test_sql_of_a_single_rule_on_listed_codes_is_read(tmp_path, values, types):
    schema = Schema({"ward": Categorical(values), "smoker": Boolean()}, Label("ill", ("no", "yes")))
    for last in ((), (Literal("smoker", "true"),)):
        rules = Rule((Literal("ward", "=", values[:1]), *last), label="yes"), Rule((), label="no")
        model = RuleList(schema, rules, NONE)
        result = read(tmp_path, model.to_sql(types=types), schema)
        assert isinstance(result, RuleList)
        assert result.rules == model.rules


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "bigquery", "snowflake"])
def test_sql_of_a_number_is_read_too(tmp_path, dialect):
    schema = replace(SCHEMA, label=Number("y", -5, 10))
    low, high = Leaf(mean=-1 / 3), Leaf(mean=7.0)
    model = Tree(schema, Split(Literal("smoker", "true"), Split(Literal("age", "<=", (30,)), low, high), low), NONE)
    written = model.to_sql(dialect)
    result = read(tmp_path, written, schema)
    assert result.root == model.root
    for old, new in (("7.0", "ten"), ("7.0", "inf"), ("7.0", "70")):
        with pytest.raises(ModelFormatError, match=r"SQL"):
            read(tmp_path, written.replace(old, new), schema)


def test_other_sql_is_refused(tmp_path):
    sql = a_tree().to_sql()
    for text in (sql.replace("<= 30", "< 30"), sql.replace("'yes'", "1"), "/* DuckDB; x */ SELECT 1", "/* ; */ CASE"):
        with pytest.raises(ModelFormatError, match=r"expected SQL that Model.to_sql wrote"):
            read(tmp_path, text, SCHEMA)
    with pytest.raises(ModelFormatError, match="with the schema"):
        read(tmp_path, sql)
    with pytest.raises(ModelFormatError, match="expected SQL"):
        read(tmp_path, "/* DuckDB; x */ " + "(" * 100_000, SCHEMA)


def test_a_file_of_hedgerow_takes_no_schema(tmp_path):
    a_tree().save(tmp_path / "model.json")
    assert hr.read_model(tmp_path / "model.json") == a_tree()
    with pytest.raises(ModelFormatError, match="contains its own schema"):
        hr.read_model(tmp_path / "model.json", SCHEMA)
    with pytest.raises(TypeError, match="must be a Schema or None"):
        hr.read_model(tmp_path / "model.json", "schema.yaml")
