"""The command line as a person meets it: what it prints, its exit code, and what it leaves behind."""

import json
import re
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.models import Leaf, Split, Tree
from hedgerow.models.dialects import DIALECTS
from hedgerow.privacy.card import PrivacyCard

SCHEMA = """\
label: {name: ill, classes: ["no", "yes"]}
attributes:
  age: {kind: integer, low: 0, high: 120, cuts: [30, 60], outside: clip}
  sex: {kind: categorical, values: [F, M], missing: bin, missing_values: ["?"]}
  dose: {kind: real, low: 0, high: 1, cuts: [0.5], missing: bin}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age, n = rng.integers(18, 90, 600), 600
    pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["F", "M", "?"], n),
            "dose": np.where(rng.random(n) < 0.2, np.nan, rng.random(n).round(3)),
            "ill": np.where(age > 60, "yes", "no"),
        }
    ).to_csv("data.csv", index=False)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    return tmp_path


FIT = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "5", "--max-rules", "2")


def test_fit_show_and_predict_go_from_a_table_to_predictions(folder, run):
    code, out, err = run(*FIT)
    assert (code, err) == (0, "")
    assert "guarantee   epsilon-differential privacy with epsilon = 5" in out
    model = hr.RuleList.load("model.json")
    assert str(model) in out
    assert run("show", "model.json")[1] == f"{model}\n\n{model.privacy}\n"
    code, out, _ = run("predict", "model.json", "data.csv", "--proba")
    lines = out.splitlines()
    assert lines[0] == '"ill","rule","P(no)","P(yes)"'
    assert len(lines) == 601
    code, out, _ = run("predict", "model.json", "data.csv", "--json")
    data = pd.read_csv("data.csv")
    assert [record["ill"] for record in json.loads(out)] == model.predict(data).tolist()
    assert run("predict", "model.json", "data.csv", "-o", "p.csv")[0] == 0
    assert (pd.read_csv("p.csv")["ill"] == model.predict(data)).all()
    assert {path.name for path in folder.iterdir()} == {"data.csv", "schema.yaml", "model.json", "p.csv"}


def test_show_exports_every_form(folder, run):
    run(*FIT)
    sql = run("show", "model.json", "--format", "sql")[1]
    found = duckdb.sql(f"SELECT {sql} AS p FROM 'data.csv'").fetchall()
    assert [p for (p,) in found] == hr.RuleList.load("model.json").predict(pd.read_csv("data.csv")).tolist()
    for dialect in DIALECTS:
        written = run("show", "model.json", "--format", "sql", "--dialect", dialect)[1]
        assert written == hr.RuleList.load("model.json").to_sql(dialect) + "\n"
    assert "add --format sql" in run("show", "model.json", "--dialect", "spark")[2]
    assert "mysql" in run("show", "model.json", "--format", "sql", "--dialect", "mysql")[2]
    assert "def predict(row)" in run("show", "model.json", "--format", "python")[1]
    assert "<table>" in run("show", "model.json", "--format", "html")[1]
    assert json.loads(run("show", "model.json", "--json")[1])["format"] == "hedgerow/rule-list"
    assert run("show", "model.json", "--plot", "rules.png", "-o", "rules.txt")[0] == 0
    assert (folder / "rules.png").read_bytes().startswith(b"\x89PNG")
    assert "if " in (folder / "rules.txt").read_text()
    assert "ends in .png" in run("show", "model.json", "--plot", "rules.docx")[2]


@pytest.mark.usefixtures("folder")
def test_fit_prints_the_model_for_machines(run):
    out = run(*FIT, "--json")[1]
    assert hr.RuleList.from_json(out) == hr.RuleList.load("model.json")


@pytest.mark.usefixtures("folder")
def test_boolean_tables_need_no_schema(run):
    pd.DataFrame({"a": [0, 1] * 50, "b": [True, False] * 50, "y": [0, 1] * 50}).to_csv("bits.csv", index=False)
    code, _, err = run("fit", "bits.csv", "--target", "y", "--epsilon", "5", "-o", "m.json")
    assert (code, err) == (0, "")
    assert hr.RuleList.load("m.json").schema.label == hr.Label("y", (0, 1))


TREE = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "5", "--model", "tree")


@pytest.mark.usefixtures("folder")
def test_a_tree_is_drawn_whole_and_its_cost_is_told_first(run):
    code, out, err = run(*TREE, "--max-depth", "1", "-o", "tree.json")
    model = Tree.load("tree.json")
    assert code == 0
    assert re.search(r"^exact search: 8 options, 1 states, 8 options weighed", err)
    assert str(model) in out
    assert not model.has_counts
    assert model.privacy.epsilon == 5
    assert (model.predict(pd.read_csv("data.csv")) == pd.read_csv("data.csv")["ill"]).all()
    assert run("predict", "tree.json", "data.csv")[1].startswith('"ill","leaf"')


@pytest.mark.usefixtures("folder")
def test_counts_are_released_where_they_are_asked_for(run):
    assert run(*TREE, "--release-counts", "-o", "tree.json")[0] == 0
    assert Tree.load("tree.json").has_counts
    words = (*FIT, "--search", "exact", "--lookahead", "1", "--release-counts", "-o", "list.json")
    assert run(*words)[0] == 0
    assert hr.RuleList.load("list.json").has_counts


@pytest.mark.usefixtures("folder")
def test_a_greedy_tree_tells_no_cost(run):
    code, _, err = run(*TREE, "--search", "greedy", "-o", "tree.json")
    assert (code, err) == (0, "")
    assert Tree.load("tree.json").has_counts


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*TREE, "--max-rules", "3"), "--max-rules is for --model rule-list or dp-greedyrl, but the model is a tree"),
        ((*FIT, "--max-depth", "3"), "--max-depth is for --model tree, but the model is a rule-list"),
        ((*TREE, "--max-depth", "-1"), "max_depth must be a whole number >= 0"),
        ((*FIT, "--search", "exact", "--lookahead", "0"), "lookahead must be a whole number >= 1"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_options_of_the_other_model_are_refused(run, words, message):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("schema", ["schema.yaml", None])
def test_a_search_too_large_is_refused_before_a_row_is_read(folder, run, schema):
    names = [f"x{i}" for i in range(60)]
    (folder / "wide.csv").write_text(",".join([*names, "y"]) + "\nnot,even,a,table\n")
    declared = []
    if schema:
        attributes = "".join(f"  {name}: {{kind: boolean}}\n" for name in names)
        (folder / schema).write_text(f"label: {{name: y, classes: [0, 1]}}\nattributes:\n{attributes}")
        declared = ["--schema", schema]
    run("budget", "new", "b.json", "--epsilon", "1")
    words = ("fit", "wide.csv", "--target", "y", *declared, "--epsilon", "1", "--search", "exact", "--budget", "b.json")
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "exact search over 7,200 options" in err
    assert "Draw fewer rules at a time (lookahead=2)." in err
    assert hr.privacy.budget_file.FileBudget("b.json").spent == 0
    assert not (folder / "model.json").exists()


GOOD = "age,sex,dose,ill\n40,F,0.5,no\n"
BAD = {
    "missing epsilon": (GOOD, ["--epsilon"], "epsilon must be chosen"),
    "epsilon of zero": (GOOD, ["--epsilon", "0"], "epsilon must be a number > 0"),
    "epsilon that is not finite": (GOOD, ["--epsilon", "nan"], "epsilon must be a finite number"),
    "unknown target": (GOOD, ["--target", "death"], "'death' but the schema's label is 'ill'"),
    "absent target": ("age,sex,dose\n40,F,0.5\n", [], "column 'ill': expected this column to predict"),
    "absent attribute": ("age,sex,ill\n40,F,no\n", [], "column 'dose': expected this column, found: age, sex"),
    "label outside the schema": (GOOD + "41,F,0.5,SECRET\n", [], "column 'ill': some labels are not in the schema"),
    "missing label": (GOOD + "41,F,0.5,\n", [], "column 'ill': some labels are missing"),
    "empty file": ("", [], "found an empty file"),
    "quote in the header": ('age,sex,dose,"ill\n41,F,0.5,SECRET\n', [], "a first line whose quotes do not match"),
    "quote not closed": (GOOD + '41,"SECRET,0.5,no\n', [], "found a quote that is not closed"),
    "control character": ("age,\x1b[31mSECRET\n", [], "a file that is not UTF-8 text"),
    "non-finite number": (GOOD + "41,F,1e999,no\n", [], "column 'dose': expected numbers, found text"),
    "text for a number": (GOOD + "SECRET,F,0.5,no\n", [], "column 'age': expected numbers, found text"),
    "duplicate columns": ("age,age,sex,dose,ill\n1,2,F,0.1,no\n", [], "more than once: age"),
    "blank column name": ("age,,sex,dose,ill\n1,2,F,0.1,no\n", [], "a blank one in the header"),
    "not text": (b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe", [], "a file that is not UTF-8 text"),
    "not text further down": (GOOD.encode() + b"41,\xff\xfe,0.5,no\n", [], "a file that is not UTF-8 text"),
    "a line too short": (GOOD + "41,SECRET\n", [], "expected 4 fields on every line, found more or fewer on line 3"),
    "value outside the domain": (GOOD + "41,SECRET,0.5,no\n", [], "column 'sex': some values are outside"),
    "missing value not declared": (GOOD + ",F,0.5,no\n", [], "column 'age': some values are missing"),
    "no such schema": (GOOD, ["--schema", "none.yaml"], "none.yaml: No such file"),
    "seed without research": (GOOD, ["--seed", "1"], "add --research"),
    "no such folder": (GOOD, ["-o", "nowhere/m.json"], "there is no folder nowhere"),
    "bad parameter": (GOOD, ["--max-rules", "0"], "max_rules must be a whole number"),
    "no such budget": (GOOD, ["--budget", "none.json"], "none.json: No such file"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_line_and_leaves_nothing(case, folder, run):
    content, words, message = BAD[case]
    (folder / "bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    epsilon = [] if words == ["--epsilon"] else ["--epsilon", "1"]
    words = [] if words == ["--epsilon"] else words
    before = sorted(folder.iterdir())
    code, out, err = run("fit", "bad.csv", "--schema", "schema.yaml", *epsilon, *words)
    assert code == 2
    assert out == ""
    assert re.match("error: ", err)
    assert err.count("\n") == 1
    assert message in err
    assert "SECRET" not in err
    assert "Traceback" not in err
    assert sorted(folder.iterdir()) == before


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_not_there_is_named(run):
    assert run("fit", "none.csv", "--target", "y", "--epsilon", "1")[::2] == (
        2,
        "error: none.csv: No such file or directory\n",
    )


@pytest.mark.usefixtures("folder")
def test_without_a_schema_the_way_to_one_is_told(run):
    code, _, err = run("fit", "data.csv", "--target", "ill", "--epsilon", "1")
    assert code == 2
    assert "column 'ill': not boolean; without a schema" in err


def test_an_output_that_exists_is_kept_unless_forced(folder, run):
    (folder / "model.json").write_text("precious")
    code, _, err = run(*FIT)
    assert code == 2
    assert "exists already" in err
    assert (folder / "model.json").read_text() == "precious"
    assert run(*FIT, "--force")[0] == 0
    assert hr.RuleList.load("model.json")


@pytest.mark.usefixtures("folder")
def test_a_seeded_model_is_written_for_research_only_and_says_so(run):
    assert run(*FIT, "--seed", "1", "--research")[0] == 0
    assert hr.RuleList.load("model.json").privacy.guarantee == "none (seeded)"


@pytest.mark.usefixtures("folder")
def test_a_mechanism_that_is_published_but_not_proven_is_for_research_only_and_says_so(run):
    words = (
        *FIT,
        *SSRL,
        "--mechanism",
        "smooth-laplace",
        "--delta",
        "1e-9",
        "--min-support",
        "0.1",
        "--confidence",
        "0.9",
    )
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--mechanism smooth-laplace has no proven guarantee: the scale of the noise depends on the rows" in err
    assert "Add --research if that is meant." in err
    assert run(*words, "--research")[0] == 0
    card = hr.RuleList.load("model.json").privacy
    assert card.guarantee.startswith("none (published as (5, 1e-09)-differential privacy; not proven: ")
    assert (card.delta, card.is_private) == (Fraction(1e-9), False)
    assert run(*FIT, *SSRL, "--force", "--mechanism", "exponential")[0] == 0
    assert hr.RuleList.load("model.json").privacy.is_private


SSRL, DELTA = ("--model", "dp-greedyrl"), ("--delta", "1e-9")
BAD_MECHANISMS = {
    "of a tree": (("--mechanism", "exponential", "--model", "tree"), "--mechanism is for --model dp-greedyrl, but the"),
    "of a list": (("--mechanism", "exponential"), "--mechanism is for --model dp-greedyrl, but the model is a rule-l"),
    "of no name": ((*SSRL, "--mechanism", "best"), "mechanism must be one of smooth-laplace"),
    "search": ((*SSRL, "--search", "exact"), "--search is for --model rule-list or tree, but the model is a dp-greedy"),
    "counts": ((*SSRL, "--release-counts"), "--release-counts is for --model rule-list or tree"),
    "delta": ((*SSRL, "--mechanism", "exponential", "--delta", "1e-9"), "delta is for mechanism smooth-laplace, glob"),
    "min_support": ((*SSRL, *DELTA, "--research", "--min-support", "1"), "min_support must be in [0, 1)"),
    "confidence": ((*SSRL, *DELTA, "--research", "--confidence", "0.2"), "confidence must be in [0.5, 1)"),
    "no delta": ((*SSRL, "--mechanism", "smooth-laplace", "--research"), "delta must be chosen"),
}


@pytest.mark.parametrize("case", BAD_MECHANISMS)
def test_bad_words_about_a_mechanism_cost_nothing(case, folder, run):
    words, message = BAD_MECHANISMS[case]
    run("budget", "new", "b.json", "--epsilon", "9", "--delta", "0.1")
    data = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "5")
    code, out, err = run(*data, *words)
    assert (code, out) == (2, "")
    assert message in err
    assert not (folder / "model.json").exists()
    assert "0 of 9 spent" in run("budget", "show", "b.json")[1]


def test_a_budget_file_is_charged_with_delta(folder, run):
    run("budget", "new", "b.json", "--epsilon", "9", "--delta", "1e-6")
    words = (*FIT, *SSRL, "--mechanism", "global-gaussian", "--research", "--budget", "b.json")
    assert run(*words, "--delta", "1e-9")[0] == 0
    (charge,) = json.loads((folder / "b.json").read_text())["charges"]
    assert (charge["epsilon"], charge["delta"]) == (5, 1e-9)
    assert "delta=1e-06 was asked for" in run(*words, "--delta", "1e-6", "--force")[2]


def test_a_budget_file_counts_runs_and_refuses_when_it_is_spent(folder, run):
    assert run("budget", "new", "b.json", "--epsilon", "1")[0] == 0
    fit = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "0.75", "--budget", "b.json")
    assert run(*fit, "-o", "one.json")[0] == 0
    code, _, err = run(*fit, "-o", "two.json")
    assert code == 2
    assert "epsilon=0.25 left" in err
    assert not (folder / "two.json").exists()
    assert "0.75 of 1 spent" in run("budget", "show", "b.json")[1]
    assert "exists already" in run("budget", "new", "b.json", "--epsilon", "9")[2]


@pytest.mark.usefixtures("folder")
def test_an_unforeseen_exception_does_not_show_its_text(run, monkeypatch):
    def broken(*_):
        raise KeyError("SECRET")

    monkeypatch.setattr("hedgerow.cli.rows.read_csv", broken)
    code, _, err = run(*FIT)
    assert code == 1
    assert "internal error, KeyError at" in err
    assert "SECRET" not in err


def test_a_new_schema_holds_the_header_and_no_value(folder, run):
    assert run("schema", "new", "data.csv", "--target", "ill", "-o", "new.yaml")[0] == 0
    text = (folder / "new.yaml").read_text()
    assert re.findall(r'^  "(\w+)":', text, re.M) == ["age", "sex", "dose"]
    code, _, err = run("schema", "show", "new.yaml")
    assert code == 2
    assert "new.yaml: attribute 'ill': key 'classes': expected a list" in err
    (folder / "new.yaml").write_text(text.replace("FILL IN", "[a, b]", 1))
    assert "attribute 'age': key 'kind'" in run("schema", "show", "new.yaml")[2]
    assert "column 'death'" in run("schema", "new", "data.csv", "--target", "death", "-o", "x.yaml")[2]


@pytest.mark.usefixtures("folder")
def test_a_schema_is_shown_with_its_number_of_candidates(run):
    out = run("schema", "show", "schema.yaml")[1]
    schema = hr.Schema.load("schema.yaml")
    assert str(schema) in out
    count = hr.schema.count_candidates(schema, 2)
    assert f"{count} candidate rules" in out
    assert json.loads(run("schema", "show", "schema.yaml", "--json")[1])["candidates"] == count


@pytest.mark.usefixtures("folder")
def test_a_schema_is_cut_from_public_rows(run):
    columns = {"n": range(100), "f": ["true", "false"] * 50, "c": ["x", "y"] * 50, "y": [0, 1] * 50}
    pd.DataFrame(columns).to_csv("pub.csv", index=False)
    assert run("schema", "from-public", "pub.csv", "--target", "y", "--bins", "2", "-o", "pub.yaml")[0] == 0
    schema = hr.Schema.load("pub.yaml")
    assert (schema["n"].kind, schema["f"].kind, schema["c"].kind) == ("integer", "boolean", "categorical")
    assert schema["n"].cuts == (49,)
    assert schema.label == hr.Label("y", (0, 1))


def test_cut_points_are_learned_under_a_charge(folder, run):
    (folder / "open.yaml").write_text(SCHEMA.replace(", cuts: [30, 60]", ""))
    run("budget", "new", "b.json", "--epsilon", "20")
    words = ("schema", "learn", "data.csv", "--schema", "open.yaml", "--bins", "2", "-o", "learned.yaml")
    assert "epsilon must be chosen" in run(*words)[2]
    assert run(*words, "--epsilon", "20", "--budget", "b.json")[0] == 0
    (cut,) = hr.Schema.load("learned.yaml")["age"].cuts
    assert 45 < cut < 65
    assert "0 left" in run("budget", "show", "b.json")[1]


@pytest.mark.parametrize(
    "words", [(), ("fit",), ("show",), ("predict",), ("schema",), ("schema", "learn"), ("budget",), ("study",)]
)
def test_help_teaches(words, run):
    code, out, _ = run(*words, "--help")
    assert code == 0
    assert "Usage: hedgerow" in out
    assert run("--version")[1] == f"hedgerow {hr.__version__}\n"


def test_rows_are_checked_against_a_schema_before_anything_is_spent(folder, run):
    assert run("schema", "check", "schema.yaml", "data.csv")[1].startswith("every row fits")
    (folder / "bad.csv").write_text(GOOD + "41,SECRET,0.5,no\n")
    code, _, err = run("schema", "check", "schema.yaml", "bad.csv")
    assert code == 2
    assert "column 'sex'" in err
    assert "SECRET" not in err


def test_a_charge_that_a_bad_row_wasted_is_told(folder, run):
    (folder / "bad.csv").write_text(GOOD + "41,SECRET,0.5,no\n")
    run("budget", "new", "b.json", "--epsilon", "1")
    words = ("fit", "bad.csv", "--schema", "schema.yaml", "--epsilon", "0.25", "--budget", "b.json")
    assert "The epsilon of 0.25 stays charged" in run(*words)[2]
    assert "0.25 of 1 spent" in run("budget", "show", "b.json")[1]


def test_public_rows_may_hold_words_for_missing_values_and_columns_to_leave_out(folder, run):
    (folder / "pub.csv").write_text("id,n,y\n" + "".join(f"k{i},{i if i % 9 else '?'},{i % 2}\n" for i in range(200)))
    assert "missing_values" in run("schema", "from-public", "pub.csv", "--target", "y", "-o", "p.yaml")[2]
    code, _, err = run("schema", "from-public", "pub.csv", "--target", "y", "-o", "p.yaml", "--drop", "ident")
    assert (code, "column 'ident': expected this column, found: id, n, y" in err) == (2, True)
    words = ("--missing", "?", "--drop", "id")
    assert run("schema", "from-public", "pub.csv", "--target", "y", "-o", "p.yaml", *words)[0] == 0
    schema = hr.Schema.load("p.yaml")
    assert (schema.names, schema["n"].kind, schema["n"].missing_values) == (("n",), "integer", ("?",))


def test_a_very_long_line_is_read(folder, run):
    (folder / "long.csv").write_text("age,sex,dose,ill,note\n" + f"40,F,0.5,no,{'x' * 3_000_000}\n" * 3)
    assert run("schema", "check", "schema.yaml", "long.csv")[0] == 0


def a_tree(folder, **leaves):
    """Save a tree on the folder's schema: over 60 or not."""
    schema = hr.Schema.load(folder / "schema.yaml")
    old = Split(hr.schema.Literal("age", ">", (60,)), Leaf(**leaves["old"]), Leaf(**leaves["young"]))
    tree = Tree(schema, old, PrivacyCard.none("example", software="hedgerow"))
    tree.save(folder / "tree.json")
    return tree


def test_a_tree_is_shown_exported_and_applied(folder, run):
    tree = a_tree(folder, old={"counts": (10, 90)}, young={"counts": (80, 20), "label": "no"})
    assert run("show", "tree.json")[1] == f"{tree}\n\n{tree.privacy}\n"
    expected = tree.predict(pd.read_csv("data.csv")).tolist()
    sql = run("show", "tree.json", "--format", "sql")[1]
    assert [p for (p,) in duckdb.sql(f"SELECT {sql} AS p FROM 'data.csv'").fetchall()] == expected
    assert "def predict(row)" in run("show", "tree.json", "--format", "python")[1]
    assert "<title>tree</title><table>" in run("show", "tree.json", "--format", "html")[1]
    assert json.loads(run("show", "tree.json", "--json")[1])["format"] == "hedgerow/tree"
    assert run("show", "tree.json", "--plot", "tree.png", "-o", "tree.txt")[0] == 0
    assert (folder / "tree.png").read_bytes().startswith(b"\x89PNG")
    assert run("predict", "tree.json", "data.csv", "-o", "p.csv")[0] == 0
    found = pd.read_csv("p.csv")
    assert list(found) == ["ill", "leaf"]
    assert found["ill"].tolist() == expected
    assert set(zip(found["ill"], found["leaf"], strict=True)) == {("yes", 1), ("no", 2)}


def test_probabilities_without_counts_are_zero_or_one(folder, run):
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    records = json.loads(run("predict", "tree.json", "data.csv", "--proba", "--json")[1])
    assert {tuple(record.values()) for record in records} == {("yes", 1, 0.0, 1.0), ("no", 2, 1.0, 0.0)}
    assert list(records[0]) == ["ill", "leaf", "P(no)", "P(yes)"]


def test_a_label_of_the_name_of_the_other_column_does_not_hide_it(folder, run):
    (folder / "schema.yaml").write_text(SCHEMA.replace("name: ill", "name: leaf"))
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    assert run("predict", "tree.json", "data.csv")[1].splitlines()[0] == '"leaf","leaf number"'


def test_a_file_of_no_model_is_one_clear_line(folder, run):
    (folder / "other.json").write_text('{"format": "hedgerow/marginals"}')
    for words in (("show", "other.json"), ("predict", "other.json", "data.csv")):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert err == (
            "error: expected the format 'hedgerow/rule-list' or 'hedgerow/tree', found 'hedgerow/marginals'.\n"
        )


def test_audit_tells_what_a_model_leaves_to_guess(folder, run):
    run(*FIT)
    model = hr.load_model("model.json")
    found = hr.audit.reconstruction(model)
    code, out, err = run("audit", "model.json")
    assert (code, out, err) == (0, f"{found}\n", "")
    code, out, _ = run("audit", "model.json", "--json", "--resolution", "dose=0.001")
    assert json.loads(out) == hr.audit.reconstruction(model, resolution={"dose": 0.001}).to_dict()
    code, out, err = run("audit", "model.json", "--independent-bits", "--plot", "a.svg", "-o", "a.txt")
    assert (code, out, err) == (0, "", "written to a.txt\nwritten to a.svg\n")
    assert "could be any of 128" in (folder / "a.txt").read_text()  # age 2 cuts, sex 2 and missing, dose 1 and missing
    assert "share of rows" in (folder / "a.svg").read_text()


def test_audit_with_rows_is_the_curators_view(folder, run):
    run(*FIT)
    data = pd.read_csv(folder / "data.csv", dtype=str)
    found = hr.audit.reconstruction(hr.load_model("model.json"), data=data)
    code, out, _ = run("audit", "model.json", "--data", "data.csv", "--by", "sex", "--by", "ill")
    assert code == 0
    assert out.startswith(f"{found}\n\nsex  ")
    assert "for the curator's eyes only, not for release" in out
    assert out.count("\n\n") == str(found).count("\n\n") + 2
    groups = json.loads(run("audit", "model.json", "--data", "data.csv", "--by", "sex", "--json")[1])["groups"]
    assert groups == {"sex": found.by_group("sex")}


def test_audit_of_a_wider_table(folder, run):
    run(*FIT)
    wide = SCHEMA + "  town: {kind: categorical, values: [x, y, z, w]}\n"
    (folder / "wide.yaml").write_text(wide)
    more = json.loads(run("audit", "model.json", "--schema", "wide.yaml", "--json")[1])
    assert more["domain_worlds"] == 4 * json.loads(run("audit", "model.json", "--json")[1])["domain_worlds"]


def test_audit_asks_for_what_it_needs(folder, run):
    run(*FIT)
    code, out, err = run("audit", "model.json", "--by", "sex")
    assert (code, out) == (2, "")
    assert err == "error: --by compares groups of rows; give the rows too, with --data FILE.\n"
    assert "expected COLUMN=STEP, such as bmi=0.1; got 'dose'" in run("audit", "model.json", "--resolution", "dose")[2]
    assert "real attributes only" in run("audit", "model.json", "--resolution", "age=2")[2]
    assert "expected a name that ends in .png" in run("audit", "model.json", "--plot", "a.gif")[2]
    run(
        "fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "5", "--model", "tree", "--no-counts", "-o", "t.json"
    )
    drawn = Tree(hr.load_model("model.json").schema, Leaf(label="yes"), hr.load_model("model.json").privacy)
    drawn.save("drawn.json")
    assert "no counts were released with this model; give its rows, with --data FILE" in run("audit", "drawn.json")[2]
    assert run("audit", "drawn.json", "--data", "data.csv")[0] == 0
    (folder / "other.csv").write_text("age,sex\n3,F\n")
    assert run("audit", "drawn.json", "--data", "other.csv")[0] == 0  # it uses no column
