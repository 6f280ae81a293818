"""What `hedgerow predict` writes beside a prediction."""

import csv
import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.models import Leaf, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from tests.cli.table import SCHEMA, a_scorecard, a_tree
from tests.models import noisy_counts

COUNTED = {"old": {"counts": (10, 90)}, "young": {"counts": (80, 20)}}


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_column_of_the_input_is_copied_as_it_is_written(folder, run):
    (folder / "data.csv").write_text("id,age,dose\n007,70,1\n 8,20,0.5\n-9.50,61,0\n")
    a_tree(folder, **COUNTED)
    code, out, _ = run("predict", "tree.json", "data.csv", "--id", "id")
    assert code == 0
    assert table(out) == [
        {"id": "007", "ill": "yes", "leaf": "1"},
        {"id": " 8", "ill": "no", "leaf": "2"},
        {"id": "-9.50", "ill": "yes", "leaf": "1"},
    ]
    result = json.loads(run("predict", "tree.json", "data.csv", "--id", "age", "--id", "id", "--json")[1])
    assert [list(row.items())[:2] for row in result][1] == [("age", "20"), ("id", " 8")]


def test_all_columns_are_copied_without_overwriting_each_other(folder, run):
    tree = a_tree(folder, **COUNTED)
    assert run("predict", "tree.json", "data.csv", "--append", "--proba", "-o", "p.csv")[0] == 0
    before, after = pd.read_csv("data.csv", dtype=str), pd.read_csv("p.csv", dtype=str)
    assert list(after) == [*before, "predicted ill", "leaf", "P(no)", "P(yes)"]
    assert after[list(before)].equals(before)
    assert after["predicted ill"].tolist() == tree.predict(pd.read_csv("data.csv")).tolist()
    assert run("predict", "tree.json", "p.csv", "--append", "--proba", "-o", "q.csv")[0] == 0
    again = ["predicted ill 2", "leaf number", "P(no) 2", "P(yes) 2"]
    assert list(pd.read_csv("q.csv")) == [*after, *again]


def test_columns_that_are_not_there_and_both_options_are_refused(folder, run):
    a_tree(folder, **COUNTED)
    code, out, err = run("predict", "tree.json", "data.csv", "--id", "ward")
    assert (code, out) == (2, "")
    assert "--id ward is not a column of the input; its columns are age, sex, dose, ill" in err
    assert "leave --id out" in run("predict", "tree.json", "data.csv", "--id", "age", "--append")[2]


def test_a_leaf_is_explained_by_its_condition_and_released_values(folder, run):
    a_tree(folder, **COUNTED)
    result = json.loads(run("predict", "tree.json", "data.csv", "--explain", "--json")[1])
    ages = pd.read_csv("data.csv")["age"]
    old = {"explanation": "age > 60", "probability": 0.9, "rows(no)": 10, "rows(yes)": 90}
    young = {"explanation": "age <= 60", "probability": 0.8, "rows(no)": 80, "rows(yes)": 20}
    told = [{name: value for name, value in row.items() if name not in ("ill", "leaf")} for row in result]
    assert told == [old if age > 60 else young for age in ages]


@pytest.mark.parametrize(
    ("leaves", "columns"),
    [
        ({"old": {"label": "yes"}, "young": {"label": "no"}}, []),
        ({"old": {"label": "yes", "probabilities": (0.25, 0.75)}, "young": {"label": "no"}}, ["probability"]),
        ({"old": {"counts": (1, 2)}, "young": {"label": "no"}}, ["probability", "rows(no)", "rows(yes)"]),
    ],
)
def test_only_numbers_that_were_released_are_written(folder, run, leaves, columns):
    a_tree(folder, **leaves)
    rows = table(run("predict", "tree.json", "data.csv", "--explain")[1])
    assert list(rows[0]) == ["ill", "leaf", "explanation", *columns]
    young = [row for row in rows if row["leaf"] == "2"]
    assert {row[name] for row in young for name in columns} <= {""}
    assert {row[name] for row in rows for name in columns} != {""} or not columns


def a_tree_of_a_number(folder, **leaves):
    """Save a tree of a number of eight levels: over 60 or not."""
    declared = hr.Schema.load(folder / "schema.yaml")
    schema = hr.Schema(dict(declared.attributes), hr.schema.Number("days", 0, 32, levels=8))
    old = Split(hr.schema.Literal("age", ">", (60,)), Leaf(**leaves["old"]), Leaf(**leaves["young"]))
    tree = Tree(schema, old, PrivacyCard.none("example", software="hedgerow"))
    tree.save(folder / "number.json")
    return tree


def test_a_number_is_written_without_rounding_errors(folder, run):
    a_tree_of_a_number(folder, old={"sums": (4, 3), "mean": 37 * 0.24}, young={"sums": (7, 7), "mean": 2.5})
    result = json.loads(run("predict", "number.json", "data.csv", "--json")[1])
    assert {row["days"] for row in result} == {8.88, 2.5}
    assert 37 * 0.24 != 8.88


def test_a_number_is_explained_by_its_condition_and_leaf_quantiles(folder, run):
    """Of 100 old rows, the first 5 % end within the second level, at 4 + 4·5/40; 95 % at 12 + 4·15/20."""
    old, young = (0, 40, 40, 20, 0, 0, 0, 0), (100, 0, 0, 0, 0, 0, 0, 0)
    tree = a_tree_of_a_number(folder, old={"counts": old, "label": 10.0}, young={"counts": young, "label": 2.0})
    result = json.loads(run("predict", "number.json", "data.csv", "--explain", "--json")[1])
    rows = pd.read_csv("data.csv")
    said = {
        True: {"explanation": "age > 60", "rows": 100, "5 % quantile": 4.5, "95 % quantile": 15.0},
        False: {"explanation": "age <= 60", "rows": 100, "5 % quantile": 0.2, "95 % quantile": 3.8},
    }
    for row, age in zip(result, rows["age"], strict=True):
        assert {name: row[name] for name in said[True]} == pytest.approx(said[age > 60])
    assert [row["days"] for row in result] == tree.predict(rows).tolist()
    both = tree.predict_quantiles(rows, [0.05, 0.95]).tolist()
    assert [[row["5 % quantile"], row["95 % quantile"]] for row in result] == both
    a_tree_of_a_number(folder, old={"label": 10.0}, young={"label": 2.0})
    assert list(table(run("predict", "number.json", "data.csv", "--explain")[1])[0]) == ["days", "leaf", "explanation"]
    for option in (("--proba",), ("--class-weight", "2=5")):
        code, out, err = run("predict", "number.json", "data.csv", *option)
        problem = f"error: {option[0]} needs classes, and this model predicts a number; leave {option[0]} out.\n"
        assert (code, out, err) == (2, "", problem)


def test_quantiles_of_a_leaf_whose_rows_are_within_the_noise_are_left_out(folder, run):
    declared = hr.Schema.load(folder / "schema.yaml")
    schema = hr.Schema(dict(declared.attributes), hr.schema.Number("days", 0, 32, levels=8))
    few, many = Leaf((0, 3, -8, 2, 0, 0, 0, 1), 10.0), Leaf((900, 800, 0, 0, 0, 0, 0, 0), 2.0)
    Tree(schema, Split(hr.schema.Literal("age", ">", (60,)), few, many), noisy_counts.card(1)).save(
        folder / "number.json"
    )
    result = json.loads(run("predict", "number.json", "data.csv", "--explain", "--json")[1])
    assert {row["explanation"]: row["95 % quantile"] is None for row in result} == {
        "age > 60": True,
        "age <= 60": False,
    }


def test_no_rows_are_explained_with_all_columns(folder, run):
    (folder / "data.csv").write_text("age,sex,dose\n")
    a_tree(folder, **COUNTED)
    out = run("predict", "tree.json", "data.csv", "--explain", "--append", "--proba")[1]
    names = ["age", "sex", "dose", "ill", "leaf", "explanation", "probability", "rows(no)", "rows(yes)"]
    assert next(csv.reader([out.strip()])) == [*names, "P(no)", "P(yes)"]
    a_scorecard(folder)
    out = run("predict", "card.json", "data.csv", "--explain")[1]
    assert next(csv.reader([out.strip()])) == ["ill", "total", "explanation", "probability"]


@pytest.mark.parametrize(("classes", "base"), [(("no", "yes"), (-7,)), (("no", "unsure", "yes"), (1, 0, -1))])
def test_the_points_of_an_explanation_add_up_to_the_total(folder, run, classes, base):
    card, rows = a_scorecard(folder, classes, base), pd.read_csv("data.csv")
    result = json.loads(run("predict", "card.json", "data.csv", "--explain", "--json")[1])
    for row, shares in zip(result, card.predict_proba(rows), strict=True):
        total = row["total"] if len(classes) == 2 else row[f"total({row['ill']})"]
        assert sum(int(part.rpartition(": ")[2]) for part in row["explanation"].split("; ")) == total
        assert row["probability"] == max(shares)
    explanation = card.explain({"age": rows["age"][0], "sex": rows["sex"][0]})
    assert {part["attribute"] for part in explanation["points"]} == {
        part.split()[0] for part in result[0]["explanation"].split("; ")[1:]
    }


def test_what_is_copied_and_explained_is_inert_in_a_spreadsheet(folder, run):
    (folder / "data.csv").write_text('=id,=b\n"=1+1",1\n@x,0\n-7,1\n')
    schema = hr.Schema({"=b": hr.Boolean()}, hr.Label("ill", ("no", "yes")))
    root = Split(hr.schema.Literal("=b", "true"), Leaf((1, 9)), Leaf((9, 1)))
    Tree(schema, root, PrivacyCard.none("example", software="hedgerow")).save(folder / "tree.json")
    code, out, err = run("predict", "tree.json", "data.csv", "--id", "=id", "--explain")
    assert code == 0
    assert "apostrophe" in err
    assert [row["'=id"] for row in table(out)] == ["'=1+1", "'@x", "-7"]
    assert {row["explanation"][:2] for row in table(out)} == {"'="} | {"no"}
    result = json.loads(run("predict", "tree.json", "data.csv", "--append", "--json")[1])
    assert [row["=id"] for row in result] == ["=1+1", "@x", "-7"]


def test_rows_are_explained_whose_label_has_the_name_of_a_column(folder, run):
    (folder / "schema.yaml").write_text(SCHEMA.replace("name: ill", "name: explanation"))
    a_tree(folder, **COUNTED)
    out = run("predict", "tree.json", "data.csv", "--explain")[1]
    assert list(table(out)[0])[:3] == ["explanation", "leaf", "explanation 2"]


def test_a_decision_by_weights_stands_beside_the_prediction(folder, run):
    tree = a_tree(folder, **COUNTED)
    out = run("predict", "tree.json", "data.csv", "--class-weight", "yes=5", "--class-weight", "no=.50")[1]
    rows = pd.read_csv("data.csv")
    assert list(table(out)[0]) == ["ill", "leaf", "decision"]
    assert [row["ill"] for row in table(out)] == tree.predict(rows).tolist()
    expected = tree.decide(rows, class_weight={"yes": 5, "no": 0.5}).tolist()
    assert [row["decision"] for row in table(out)] == expected != tree.predict(rows).tolist()


@pytest.mark.parametrize("text", ["yes", "maybe=2", "yes=", "yes=x", "=2"])
def test_weights_that_are_written_otherwise_are_refused(folder, run, text):
    a_tree(folder, **COUNTED)
    code, out, err = run("predict", "tree.json", "data.csv", "--class-weight", text)
    assert (code, out) == (2, "")
    assert f"expected --class-weight LABEL=WEIGHT, a class (no, yes) and a number, got '{text}'." in err


def test_two_weights_of_a_class_are_refused(folder, run):
    a_tree(folder, **COUNTED)
    code, out, err = run("predict", "tree.json", "data.csv", "--class-weight", "yes=5", "--class-weight", "yes=3")
    assert (code, out) == (2, "")
    assert "--class-weight is given twice for 'yes'" in err


def test_weights_are_refused_where_leaves_have_labels_alone(folder, run):
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    code, out, err = run("predict", "tree.json", "data.csv", "--class-weight", "yes=2")
    assert (code, out) == (2, "")
    assert "released with labels only" in err
    assert "finite number > 0" in run("predict", "tree.json", "data.csv", "--class-weight", "yes=0")[2]


FAR = 2**62
COPIED = {
    "bytes": (pa.array([b"=1+1", b"x"]), ["'=1+1", "x"], ["=1+1", "x"]),
    "views": (pa.array(["=a", "b"], pa.string_view()), ["'=a", "b"], ["=a", "b"]),
    "categories": (pa.array([b"=a", None]).dictionary_encode(), ["'=a", ""], ["=a", None]),
    "numbers": (pa.array([float("nan"), float("-inf")]), ["nan", "-inf"], [None, "-inf"]),
    "times": (pa.array([0, None], pa.timestamp("s")), ["1970-01-01 00:00:00.000", ""], ["1970-01-01 00:00:00", None]),
}
REFUSED = {
    "lists": pa.array([[1], [2]]),
    "structs": pa.array([{"a": 1}, {"a": 2}]),
    "bytes that are no text": pa.array([b"\xff", b"x"]),
    "text that is none": pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"x"]).buffers()),
    "far times": pa.array([FAR, 0], pa.timestamp("us")),
    "far times of a zone": pa.array([FAR, 0], pa.timestamp("us", "UTC")),
    "far dates": pa.array([2**30, 0], pa.date32()),
    "durations": pa.array([FAR, 0], pa.duration("s")),
}


def rows_with(folder, column):
    pq.write_table(
        pa.table({"age": [70, 20], "sex": ["F", "M"], "dose": [1.0, 0.5], "more": column}), folder / "r.parquet"
    )
    a_tree(folder, **COUNTED)


@pytest.mark.parametrize("kind", COPIED)
def test_what_is_copied_is_inert_in_csv_and_valid_in_json(folder, run, kind):
    column, in_csv, in_json = COPIED[kind]
    rows_with(folder, column)
    code, out, _ = run("predict", "tree.json", "r.parquet", "--append")
    assert (code, [row["more"] for row in table(out)]) == (0, in_csv)
    code, out, _ = run("predict", "tree.json", "r.parquet", "--append", "--json")
    strict = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert (code, [row["more"] for row in strict]) == (0, in_json)


@pytest.mark.parametrize("kind", REFUSED)
def test_columns_that_neither_csv_nor_json_has_a_form_for_are_not_copied(folder, run, kind):
    rows_with(folder, REFUSED[kind])
    for more in ((), ("--json",)):
        code, out, err = run("predict", "tree.json", "r.parquet", "--append", *more)
        assert (code, out) == (2, "")
        assert err.startswith("error: column 'more': cannot be copied")
        assert run("predict", "tree.json", "r.parquet", "--id", "sex", *more)[0] == 0


def test_a_decimal_comma_is_read_in_numbers_alone_and_what_is_copied_stays(folder, run):
    (folder / "commas.csv").write_text("id;age;dose\n1,5;70;0,25\n1.234;20;0,75\n")
    a_tree(folder, **COUNTED)
    code, out, _ = run("predict", "tree.json", "commas.csv", "--decimal", ",", "--append")
    assert (code, [list(row.values())[:3] for row in table(out)]) == (
        0,
        [["1,5", "70", "0,25"], ["1.234", "20", "0,75"]],
    )
    (folder / "points.csv").write_text("age;sex;dose;ill\n70.5;F;0,5;no\n")
    fit = ("fit", "points.csv", "--schema", "schema.yaml", "--epsilon", "1")
    for words in (("predict", "tree.json", "points.csv"), fit):
        code, _, err = run(*words, "--decimal", ",")
        assert (code, "`--decimal ,` reads decimal commas." in err) == (2, True)
    code, out, err = run("schema", "check", "schema.yaml", "points.csv", "--decimal", ",")
    assert (code, "--decimal" in out + err) == (2, False)  # what is declared is not proposed
    assert "column 'age'" in err
