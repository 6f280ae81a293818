import ast
import csv
import datetime
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hedgerow import Tally
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Literal, Real, Schema
from hedgerow.text.values import value_text
from tests.models.strategies import Case, cases, rule_lists, trees

NONE = PrivacyCard.none("example", software="hedgerow")
READING = {"_own", "_cell", "_number", "_boolean", "_word", "_date", "digits", "spelled", "re", "hasattr", "format"}
READING |= {"_plain", "_serial", "steps", "pattern", "replacement", "text", "datetime"}  # of the formats of dates
READING |= {"getattr", "repr", "isinstance", "str", "int", "float", "bool", "ValueError"}


def predict_of(source: str) -> Any:
    """Run the source with nothing but Python's own names, and return its function."""
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace["predict"]


@given(case=cases(rule_lists() | trees()))
def test_the_function_predicts_exactly_what_predict_does(case: Case) -> None:
    predict = predict_of(case.model.to_python())
    assert [predict(row) for row in case.typed_rows] == case.model.predict(case.arrow()).tolist()


@given(case=cases(rule_lists() | trees()))
def test_the_function_holds_names_and_values_as_constants_only(case: Case) -> None:
    tree = ast.parse(case.model.to_python())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert names <= {"row", "value", "missing"} | READING
    imports = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    assert [ast.unparse(node) for node in imports] == ["import re"] * bool(imports)


@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_any_text_is_one_name_one_value_and_one_class(text: str) -> None:
    value = f"'{text}'"
    schema = Schema({text: Categorical((value, "other"))}, Label(f"{text}'s", (value, "no")))
    rules = (Rule((Literal(text, "=", (value,)),), tuple(int(c == value) for c in schema.classes)),)
    model = RuleList(schema, (*rules, Rule((), tuple(int(c == "no") for c in schema.classes))), NONE)
    predict = predict_of(model.to_python())
    assert [predict({text: value}), predict({text: "other"})] == [value, "no"]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\f", "\v", "\u2028", "\x85", "\0", "\x1a"])
def test_a_guarantee_of_several_lines_stays_a_comment(end: str) -> None:
    card = PrivacyCard.none(f"made by hand{end}    raise SystemExit{end}raise SystemExit", software="hedgerow")
    model = RuleList(Schema({"x": Boolean()}, Label("y", (0, 1))), (Rule((), (0, 1)),), card)
    assert predict_of(model.to_python())({"x": True}) == 1
    shown = ascii(end)[1:-1]
    assert f"made by hand{shown}    raise SystemExit{shown}raise SystemExit" in model.to_python()


def test_a_category_is_compared_as_the_schema_types_it() -> None:
    schema = Schema({"grade": Categorical((1, 2, 3))}, Label("y", ("low", "high")))
    rules = (Rule((Literal("grade", "=", ("1",)),), (0, 1)), Rule((), (1, 0)))
    model = RuleList(schema, rules, NONE)
    assert list(map(predict_of(model.to_python()), [{"grade": 1}, {"grade": 2}])) == ["low", "high"]
    assert model.predict(pd.DataFrame({"grade": [1, 2]})).tolist() == ["low", "high"]


@pytest.mark.parametrize(
    "code", ["9007199254740993", "-123456789012345678", pytest.param("10000000000000000", marks=pytest.mark.slow)]
)
def test_a_whole_number_of_many_digits_is_a_category_of_any_declared_type(code: str) -> None:
    """As the identifiers of SNOMED CT are, of up to 18 digits: text in the schema, whole numbers in a database."""
    label = Label("y", (0, 1))
    for category in (code, int(code)):
        schema = Schema({"x": Categorical((category,), outside="bin")}, label)
        model = RuleList(schema, (Rule((Literal("x", "=", (category,)),), (0, 1)), Rule((), (1, 0))), NONE)
        for kind in (pa.int64(), pa.decimal128(38, 0), pa.string()):
            column = pa.array([code, str(int(code) + 1)]).cast(kind)
            assert model.predict(pa.table({"x": column})).tolist() == [1, 0]
            assert [predict_of(model.to_python())({"x": x}) for x in column.to_pylist()] == [1, 0]
            with duckdb.connect() as connection:
                connection.register("t", pa.table({"x": column}))
                assert connection.execute(f"SELECT {model.to_sql(dialect='duckdb')} FROM t").fetchall() == [(1,), (0,)]
                connection.execute("CREATE TABLE u AS SELECT * FROM t")
                table = ibis.duckdb.from_connection(connection).table("u").mutate(y=0)
                assert set(Tally.from_table(table, schema).bins("x")["x"].tolist()) == {0, 1}


def test_text_that_is_not_a_date_fails() -> None:
    schema = Schema({"x": Date("1900-01-01", "2029-12-31", cuts=("1970-01-01",))}, Label("y", (0, 1)))
    model = RuleList(schema, (Rule((Literal("x", "<=", ("1970-01-01",)),), (0, 1)), Rule((), (1, 0))), NONE)
    for value in (7, 7.5, True, "7", "1970-01-01 00:00"):
        with pytest.raises(ValueError, match="expected a date"):
            predict_of(model.to_python())({"x": value})


def test_infinite_missing_words_are_words() -> None:
    attribute = Categorical(("a", "b"), missing="bin", missing_values=("inf", "nan", "-Infinity"))
    model = RuleList(
        Schema({"x": attribute}, Label("y", (0, 1))), (Rule((Literal("x", "missing"),), (0, 1)), Rule((), (1, 0))), NONE
    )
    predict = predict_of(model.to_python())
    assert [predict({"x": word}) for word in ("inf", "nan", "-Infinity", None, " ", "a", "b")] == [1, 1, 1, 1, 1, 0, 0]


def test_the_source_reads_like_the_rules() -> None:
    age = Integer(0, 90, cuts=(30,), missing="bin", missing_values=("?", -9))
    schema = Schema({"age": age, "sex": Categorical(("F", "M"))}, Label("y", (0, 1)))
    rules = (Rule((Literal("age", "<=", (30,)), Literal("sex", "=", ("F",))), (9, 1)), Rule((), (0, 5)))
    assert RuleList(schema, rules, NONE).to_python() == (
        "import re\n"
        "\n\n"
        "def _own(value):\n"
        '    """Return a NumPy value as a Python value, a timestamp as its date; None for None, NaN, NaT and NA."""\n'
        '    if value is None or repr(value) == "<NA>" or value != value:\n'
        "        return None\n"
        '    if getattr(getattr(value, "dtype", None), "kind", "") == "M":\n'
        '        value = value.astype("datetime64[D]")\n'
        '    return value.item() if hasattr(value, "item") else value\n'
        "\n\n"
        "def _cell(value, *missing):\n"
        '    """Return text, a boolean or a number; None for None, NaN, blank text and the values in `missing`."""\n'
        "    value = _own(value)\n"
        "    if value is None:\n"
        "        return None\n"
        "    if isinstance(value, str):\n"
        '        value = re.sub("^(-?[0-9]+)[.]0+$", r"\\1", value.strip(" \\t\\n\\r\\v\\f"))\n'
        '    elif hasattr(value, "isoformat"):\n'
        "        value = value.isoformat()[:10]\n"
        "    elif not isinstance(value, (bool, int, float)):  # a decimal\n"
        '        digits = format(value, "f")\n'
        '        value = float(digits) if "." in digits else int(digits)\n'
        '    return None if value == "" or value in missing else value\n'
        "\n\n"
        "def _number(value, *missing):\n"
        '    """Return the float nearest to a number, or to the number in text."""\n'
        "    value = _cell(value, *missing)\n"
        '    spelled = "[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?"\n'
        "    if isinstance(value, bool) or (isinstance(value, str) and not re.fullmatch(spelled, value)):\n"
        '        raise ValueError("expected a number")\n'
        "    return None if value is None else float(value)\n"
        "\n\n"
        "def predict(row):\n"
        "    # row: a mapping from column names to numbers, booleans, dates or text; None or NaN for missing values\n"
        "    # guarantee: none (example)\n"
        "    row = {\n"
        "        'age': _number(row['age'], '?', '-9', -9),\n"
        "        'sex': _cell(row['sex']),\n"
        "    }\n"
        "    if row['age'] is not None and row['age'] <= 30 and row['sex'] == 'F':\n"
        "        return 0\n"
        "    return 1\n"
    )


@pytest.mark.parametrize(
    ("operator", "operands", "held"),
    [
        (">", (30,), [31, 45, 46]),  # not NaN, None, blank, the missing words, or outside 0 to 90 and between wholes
        ("<=", (30,), [30]),
        ("between", (30, 45), [31, 45]),
        ("missing", (), [None, float("nan"), "", "?", -9, -9.0]),
        ("known", (), [30, 31, 45, 46, 91, 30.5]),
        ("outside", (), [91, 30.5]),
    ],
)
def test_each_comparison_holds_of_these_values_by_hand(operator: str, operands: tuple, held: list) -> None:
    age = Integer(0, 90, cuts=(30, 45), missing="bin", missing_values=("?", -9), outside="bin")
    rules = (Rule((Literal("age", operator, operands),), (0, 1)), Rule((), (1, 0)))
    predict = predict_of(RuleList(Schema({"age": age}, Label("y", (False, True))), rules, NONE).to_python())
    values = [30, 31, 45, 46, 91, 30.5, None, float("nan"), "", "?", -9, -9.0]
    assert list(map(str, filter(lambda value: predict({"age": value}), values))) == list(map(str, held))  # NaN != NaN


def test_the_source_reads_like_the_tree() -> None:
    schema = Schema({"age": Integer(0, 90, cuts=(30,)), "smoker": Boolean()}, Label("y", ("no", "yes")))
    inner = Split(Literal("smoker", "true"), Leaf(label="yes"), Leaf((5, 1)))
    assert (
        Tree(schema, Split(Literal("age", "<=", (30,)), inner, Leaf(label="no")), NONE)
        .to_python()
        .endswith(
            "    if row['age'] is not None and row['age'] <= 30:\n"
            "        if row['smoker'] == 1:\n"
            "            return 'yes'\n"
            "        else:\n"
            "            return 'no'\n"
            "    else:\n"
            "        return 'no'\n"
        )
    )


def test_a_split_in_the_false_branch_of_another_is_an_elif() -> None:
    schema = Schema({"age": Integer(0, 90, cuts=(30,)), "smoker": Boolean()}, Label("y", ("no", "yes")))
    inner = Split(Literal("smoker", "true"), Leaf(label="yes"), Leaf(label="no"))
    source = Tree(schema, Split(Literal("age", "<=", (30,)), Leaf(label="no"), inner), NONE).to_python()
    assert source.endswith(
        "    if row['age'] is not None and row['age'] <= 30:\n"
        "        return 'no'\n"
        "    elif row['smoker'] == 1:\n"
        "        return 'yes'\n"
        "    else:\n"
        "        return 'no'\n"
    )


def test_a_tree_of_the_greatest_depth_is_read() -> None:
    root: Split | Leaf = Leaf(label=1)
    for _ in range(64):
        root = Split(Literal("x", "true"), Leaf(label=0), root)
    predict = predict_of(Tree(Schema({"x": Boolean()}, Label("y", (0, 1))), root, NONE).to_python())
    assert [predict({"x": True}), predict({"x": False})] == [0, 1]


def as_text(value: Any) -> str:
    """Return a value as a cell of a CSV file; of a time the date, since text of times is no date."""
    value = value.date() if isinstance(value, datetime.datetime) else value
    return "" if value is None or value != value else value_text(value)


@given(case=cases(rule_lists() | trees()))
def test_a_row_of_texts_is_predicted_as_predict_does(case: Case) -> None:
    predict = predict_of(case.model.to_python())
    words = {name for name, kind in case.model.schema.attributes if isinstance(kind, Boolean) and kind.true_values}
    assume(not any(case.storage[name] == "boolean" for name in words))  # whose words are never True
    rows = [{name: as_text(cell.raw) for name, cell in row.items()} for row in case.rows]
    assert [predict(row) for row in rows] == case.model.predict(case.arrow()).tolist()


def test_rows_of_a_csv_reader_are_predicted(tmp_path: Path) -> None:
    kinds = {
        "age": Integer(0, 90, cuts=(30,), missing="bin", missing_values=("?", -9)),
        "dose": Real(0, 1, (0.5,)),
        "smoker": Boolean(),
        "grade": Categorical((1, 2, 3)),
        "consent": Boolean(true_values=(1,), false_values=(2,)),
        "ward": Categorical(("001", "1b")),
    }
    literals = [
        (Literal("age", "missing"), "missing"), (Literal("age", ">", (30,)), "old"),
        (Literal("dose", ">", (0.5,)), "high"), (Literal("smoker", "true"), "smoker"),
        (Literal("grade", "=", ("2",)), "two"),
        (Literal("consent", "false"), "refused"), (Literal("ward", "=", ("001",)), "first"),
    ]  # fmt: skip
    schema = Schema(kinds, Label("y", (*(name for _, name in literals), "none")))
    rules = [Rule((literal,), label=name) for literal, name in literals]
    predict = predict_of(RuleList(schema, (*rules, Rule((), label="none")), NONE).to_python())
    path = tmp_path / "rows.csv"
    path.write_text(
        "age,dose,smoker,grade,consent,ward\n"
        "-9,0.1,True,1,1,1b\n31,0.1,False,1,1,1b\n3e1,.6,0,1,1,1b\n30.0,0.1,TRUE,1,1,1b\n"
        "30,0.1,0,2.0,1,1b\n30,0.1,0,1,2,1b\n30,0.1,0,1,1, 001 \n30,0.1,0,1,1,1b\n"
    )
    with path.open(newline="") as file:
        result = [predict(row) for row in csv.DictReader(file)]
    assert result == [*(name for _, name in literals), "none"]
