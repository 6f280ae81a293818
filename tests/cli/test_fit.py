"""`hedgerow fit`: what it prints, its exit code, and what it leaves behind."""

import json
import re
from fractions import Fraction
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.output import model_text
from hedgerow.errors import ArgumentError
from hedgerow.learn.search.cost import SearchShape
from hedgerow.models import Tree, load_model
from tests.cli.table import DELTA, FIT, GOOD, SSRL, TREE


def test_fit_show_and_predict_go_from_a_table_to_predictions(folder, run):
    code, out, err = run(*FIT)
    assert (code, err) == (0, "written to model.json\n")
    assert "guarantee   epsilon-differential privacy with epsilon = 5" in out
    model = hr.models.RuleList.load("model.json")
    assert str(model) in out
    assert run("show", "model.json")[1] == f"{model_text(model)}\n"
    code, out, _ = run("predict", "model.json", "data.csv")
    lines = out.splitlines()
    assert lines[0] == '"ill","rule"'
    assert len(lines) == 601
    code, out, _ = run("predict", "model.json", "data.csv", "--json")
    data = pd.read_csv("data.csv")
    assert [record["ill"] for record in json.loads(out)] == model.predict(data).tolist()
    assert run("predict", "model.json", "data.csv", "-o", "p.csv")[0] == 0
    assert (pd.read_csv("p.csv")["ill"] == model.predict(data)).all()
    assert {path.name for path in folder.iterdir()} == {"data.csv", "schema.yaml", "model.json", "p.csv"}


@pytest.mark.usefixtures("folder")
def test_fit_prints_the_model_for_machines(run):
    out = run(*FIT, "--json")[1]
    assert hr.models.RuleList.from_json(out) == hr.models.RuleList.load("model.json")


@pytest.mark.usefixtures("folder")
def test_boolean_tables_need_no_schema(run):
    pd.DataFrame({"a": [0, 1] * 50, "b": [True, False] * 50, "y": [0, 1] * 50}).to_csv("bits.csv", index=False)
    code, _, err = run("fit", "bits.csv", "--target", "y", "--epsilon", "5", "-o", "m.json")
    assert (code, err) == (0, "written to m.json\n")
    assert hr.models.RuleList.load("m.json").schema.label == hr.Label("y", (0, 1))
    pd.read_csv("bits.csv").to_parquet("bits.parquet")
    run("budget", "new", "bits.json", "--epsilon", "5")
    code, _, err = run(
        "fit", "bits.parquet", "--target", "y", "--epsilon", "5", "--budget", "bits.json", "-o", "p.json"
    )
    assert (code, "written to p.json" in err) == (0, True)
    assert hr.models.RuleList.load("p.json").schema == hr.models.RuleList.load("m.json").schema
    assert hr.privacy.FileBudget("bits.json").spent == 5


@pytest.mark.usefixtures("folder")
def test_a_tree_is_drawn_whole(run):
    code, out, err = run(*TREE, "--max-depth", "1", "-o", "tree.json")
    model = Tree.load("tree.json")
    assert (code, err) == (0, "written to tree.json\n")
    assert str(model) in out
    assert model.has_counts
    assert [charge.epsilon for charge in model.privacy.charges] == [Fraction(19, 4), Fraction(1, 4)]
    assert (model.predict(pd.read_csv("data.csv")) == pd.read_csv("data.csv")["ill"]).all()
    assert run("predict", "tree.json", "data.csv")[1].startswith('"ill","leaf"')


@pytest.mark.usefixtures("folder")
def test_the_cost_of_a_search_that_may_take_a_second_is_told_first(run, monkeypatch, request):
    monkeypatch.setattr("hedgerow.learn.search.cost._START", 1.0)
    SearchShape.of_trees.cache_clear()  # outlines keep their costs
    request.addfinalizer(SearchShape.of_trees.cache_clear)
    code, _, err = run(*TREE, "--max-depth", "1", "-o", "tree.json")
    assert code == 0
    assert re.search(r"^exact search: 8 options, 1 states, 8 evaluations; about 1 s", err)


@pytest.mark.usefixtures("folder")
def test_the_card_tells_which_search_was_chosen(run):
    out = run(*TREE, "-o", "tree.json")[1]
    assert "search chosen automatically, from public information only: exact, up to 5 levels jointly\n" in out
    out = run(*TREE[:-1], "rule-list", "-o", "list.json")[1]
    assert " rules jointly, together with their number" in out
    out = run(*TREE, "--lookahead", "1", "--max-depth", "2", "-o", "blocks.json")[1]
    assert "draw of the subtrees below, of depth up to 1, with their labels" in out


@pytest.mark.usefixtures("folder")
def test_counts_are_released_on_request(run):
    assert run(*TREE, "--release-counts", "-o", "tree.json")[0] == 0
    assert Tree.load("tree.json").has_counts
    words = (*FIT, "--max-rules", "3", "--lookahead", "1", "--release-counts", "-o", "list.json")
    assert run(*words)[0] == 0
    assert hr.models.RuleList.load("list.json").has_counts


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("words", [TREE, FIT])
def test_a_model_is_drawn_by_the_loss_that_is_asked_for(words, run):
    code, out, _ = run(*words, "--objective", "brier", "-o", "m.json")
    assert code == 0
    assert "Brier loss" in out
    model = load_model("m.json")
    assert model.has_probabilities
    assert {"P(no)", "P(yes)"} < set(run("predict", "m.json", "data.csv", "--proba")[1].splitlines()[0].split('"'))
    assert run(*words, "--no-release-counts", "--force", "-o", "m.json")[0] == 0
    assert not load_model("m.json").has_probabilities


@pytest.mark.usefixtures("folder")
def test_a_greedy_tree_tells_no_cost(run):
    code, _, err = run(*TREE, "--search", "greedy", "-o", "tree.json")
    assert (code, err) == (0, "written to tree.json\n")
    assert Tree.load("tree.json").has_counts


CARD = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "5", "--model", "scorecard")


@pytest.mark.usefixtures("folder")
def test_a_scorecard_goes_from_a_table_to_predictions(run):
    code, out, err = run(*CARD, "-o", "card.json")
    assert (code, err) == (0, "written to card.json\n")
    card = hr.models.Scorecard.load("card.json")
    assert str(card) in out
    assert "epsilon = 5" in out
    data = pd.read_csv("data.csv")
    assert (card.predict(data) == data["ill"]).mean() > 0.95
    assert run("show", "card.json")[1] == f"{model_text(card)}\n"
    assert run("predict", "card.json", "data.csv")[1].startswith('"ill","total"')


SCALE = ("--pdo", "20", "--score", "600", "--odds", "50", "--favourable", "no")


@pytest.mark.usefixtures("folder")
def test_a_scorecard_is_learned_on_the_scale_of_credit(run):
    assert run(*CARD, "--seed", "1", "--research", "-o", "plain.json")[0] == 0
    code, out, _ = run(*CARD, "--seed", "1", "--research", *SCALE, "-o", "scaled.json")
    assert code == 0
    scaled = hr.models.Scorecard.load("plain.json").scaled(pdo=20, score=600, odds=50, favourable="no")
    assert hr.models.Scorecard.load("scaled.json") == scaled
    assert "A total of 600 means odds of 50 to 1 for ill = no" in out


@pytest.mark.usefixtures("folder")
def test_a_charged_scorecard_is_written_unscaled_if_rescaling_fails(run, monkeypatch):
    def refuse(*_, **__):
        raise ArgumentError(
            "expected a scale with points of at most 1,000,000 in size, got 2,000,000; use a smaller pdo."
        )

    assert run(*CARD, "--seed", "1", "--research", "-o", "plain.json")[0] == 0
    monkeypatch.setattr(hr.models.Scorecard, "scaled", refuse)
    code, _, err = run(*CARD, "--seed", "1", "--research", *SCALE, "-o", "scaled.json")
    assert code == 0
    assert "warning: the scorecard was not rescaled: expected a scale with points" in err
    assert hr.models.Scorecard.load("scaled.json") == hr.models.Scorecard.load("plain.json")


@pytest.mark.usefixtures("folder")
def test_a_scorecard_respects_limits_on_points_attributes_and_directions(run):
    words = ("--points", "5", "--max-attributes", "2", "--monotone", "age=decreasing", "--monotone", "dose=increasing")
    assert run(*CARD, *words, "-o", "card.json")[0] == 0
    card = hr.models.Scorecard.load("card.json")
    assert len(card) <= 2
    points = {part.attribute: [bin_ for (bin_,) in part.points] for part in card.parts}
    assert max(abs(bin_) for bins in points.values() for bin_ in bins) <= 5
    falling = points.get("age", [0])
    assert falling == sorted(falling, reverse=True)
    rising = points.get("dose", [0])[:2]
    assert rising == sorted(rising)


@pytest.mark.usefixtures("folder")
def test_a_scorecard_of_a_number_goes_from_a_table_to_predictions(run):
    schema = hr.Schema(dict(hr.Schema.load("schema.yaml").attributes), hr.Number("days", 0, 32))
    schema.save("stays.yaml")
    data = pd.read_csv("data.csv")
    data = data.assign(days=5 + data["age"] / 6 + 2 * (data["sex"] == "F"))
    pd.concat([data] * 20).to_csv("stays.csv", index=False)
    words = ("fit", "stays.csv", "--schema", "stays.yaml", "--epsilon", "5", "--model", "scorecard")
    code, out, err = run(*words, "--points", "9", "--monotone", "age=increasing", "-o", "card.json")
    assert (code, err) == (0, "written to card.json\n")
    card = hr.models.Scorecard.load("card.json")
    assert str(card) in out
    assert np.abs(card.predict(data) - data["days"]).mean() < 3
    assert run("show", "card.json")[1] == f"{model_text(card)}\n"
    result = pd.read_csv(StringIO(run("predict", "card.json", "stays.csv", "--explain")[1]))
    assert result["days"].tolist()[: len(data)] == [float(f"{said:.15g}") for said in card.predict(data)]
    assert list(result) == ["days", "total", "explanation"]
    assert "--proba needs classes" in run("predict", "card.json", "stays.csv", "--proba")[2]
    assert run("report", "card.json", "--test", "stays.csv", "-o", "report.html")[0] == 0


@pytest.mark.usefixtures("folder")
def test_a_smooth_scorecard_has_nearly_the_same_points_along_a_number(run):
    assert run(*CARD, "--smooth", "0.01", "--max-attributes", "1", "--points", "1000", "-o", "flat.json")[0] == 0
    assert run(*CARD, "--max-attributes", "1", "--points", "1000", "-o", "card.json")[0] == 0
    flat, card = (hr.models.Scorecard.load(name) for name in ("flat.json", "card.json"))
    flat, card = (  # an attribute without points is left out
        sum(np.ptp(np.array(part.points[:3])) * item.unit for part in item.parts if part.attribute == "age")
        for item in (flat, card)
    )
    assert flat < 0.1 < 1 < card


@pytest.mark.usefixtures("folder")
def test_a_scorecard_whose_delta_cannot_help_charges_epsilon_only(run):
    run("budget", "new", "b.json", "--epsilon", "9", "--delta", "1e-6")
    code, out, _ = run(*CARD, "--delta", "1e-6", "--budget", "b.json", "-o", "card.json")
    assert code == 0
    assert "epsilon = 5" in out
    shown = run("budget", "show", "b.json")[1]
    assert "5 of 9 spent" in shown
    assert "delta: 0 of 1e-06 spent" in shown
    code, out, err = run(*CARD, "--delta", "1e-6", "--budget", "b.json", "-o", "more.json")
    assert (code, out) == (2, "")
    assert "Nothing was charged" in err


@pytest.mark.usefixtures("folder")
def test_scorecard_options_are_checked_before_an_engine_counts_the_table(run, monkeypatch):
    monkeypatch.setattr(hr.Tally, "from_table", lambda *_, **__: pytest.fail("the table was counted"))
    code, _, err = run(*CARD, "--engine", "duckdb", "--monotone", "sex=increasing", "-o", "card.json")
    assert code == 2
    assert "attribute 'sex': cannot be monotone" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*CARD, "--max-rules", "3"), "--max-rules requires --model rule-list or dp-greedyrl"),
        ((*CARD, "--max-depth", "3"), "--max-depth requires --model tree"),
        ((*CARD, "--search", "greedy"), "--search requires --model rule-list or tree"),
        ((*CARD, "--release-counts"), "--release-counts requires --model rule-list or tree"),
        ((*TREE, *SCALE), "expected --model scorecard, got --model tree"),
        ((*CARD, *SCALE[:4]), "--pdo, --score, --odds and --favourable (no, yes)"),
        ((*CARD, *SCALE[:-1], "maybe"), "--favourable must be one of no, yes, got 'maybe'"),
        ((*CARD, *SCALE[2:], "--pdo", "0"), "pdo must be a number above 0"),
        ((*CARD, *SCALE, "--points", "3"), "leave --points out"),
        ((*FIT, "--points", "3"), "--points requires --model scorecard"),
        ((*TREE, "--monotone", "age=increasing"), "--monotone requires --model scorecard"),
        ((*TREE, "--smooth", "2"), "--smooth requires --model scorecard"),
        ((*CARD, "--smooth", "0"), "smooth must be 'auto' or a number from 0.01 to 1000, got 0"),
        ((*CARD, "--smooth", "nan"), "smooth must be 'auto' or a number from 0.01 to 1000"),
        ((*TREE, "--max-attributes", "3"), "--max-attributes requires --model scorecard"),
        ((*FIT, "--delta", "1e-9"), "--delta requires --model scorecard or dp-greedyrl"),
        ((*CARD, "--delta", "0"), "delta must be None or a number between 0 and 1"),
        ((*CARD, "--points", "0"), "points must be a whole number >= 1, got 0"),
        ((*CARD, "--points", "2000"), "points must be a whole number <= 1000, got 2000"),
        ((*CARD, "--max-attributes", "0"), "--max-attributes must be a whole number >= 1, got 0"),
        ((*CARD, "--monotone", "age"), "expected --monotone NAME=increasing or NAME=decreasing, got 'age'"),
        ((*CARD, "--monotone", "=increasing"), "expected --monotone NAME=increasing or NAME=decreasing"),
        ((*CARD, "--monotone", "age="), "expected --monotone NAME=increasing or NAME=decreasing"),
        ((*CARD, "--monotone", "age=up"), "monotone must map names to increasing, decreasing or None, got 'up'"),
        ((*CARD, "--monotone", "size=increasing"), "attribute 'size': is in monotone"),
        (
            (*CARD, "--monotone", "sex=increasing"),
            "attribute 'sex': cannot be monotone",
        ),
        (
            (*CARD, "--monotone", "age=increasing", "--monotone", "age=decreasing"),
            "--monotone is given twice for 'age'",
        ),
    ],
)
def test_invalid_scorecard_options_charge_nothing(folder, run, words, message):
    run("budget", "new", "b.json", "--epsilon", "9", "--delta", "0.1")
    code, out, err = run(*words, "--budget", "b.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not (folder / "model.json").exists()
    assert "0 of 9 spent" in run("budget", "show", "b.json")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            (*TREE, "--max-rules", "3"),
            "--max-rules requires --model rule-list or dp-greedyrl",
        ),
        ((*FIT, "--max-depth", "3"), "--max-depth requires --model tree"),
        ((*TREE, "--max-depth", "-1"), "--max-depth must be a whole number >= 0"),
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
    code, out, err = run(*words, "--max-rules", "5", "--max-literals", "2")
    assert (code, out) == (2, "")
    assert "got 7,200 options" in err
    assert "Draw fewer rules at a time (lookahead=2)." in err
    assert hr.privacy.budget_file.FileBudget("b.json").spent == 0
    assert not (folder / "model.json").exists()


BAD = {
    "missing epsilon": (GOOD, ["--epsilon"], "--epsilon is missing"),
    "epsilon of zero": (GOOD, ["--epsilon", "0"], "epsilon must be a number > 0"),
    "epsilon that is not finite": (
        GOOD,
        ["--epsilon", "nan"],
        "epsilon must be a number > 0 such as 0.1 or 1/10, got 'nan'",
    ),
    "unknown target": (GOOD, ["--target", "death"], "label of the schema, got 'death'; leave --target out, or change"),
    "absent target": (
        "age,sex,dose\n40,F,0.5\n",
        [],
        "column 'ill': the table has no such column. Its columns: age, dose, sex",
    ),
    "absent attribute": (
        "age,sex,ill\n40,F,no\n",
        [],
        "column 'dose': the table has no such column. Its columns: age, sex",
    ),
    "label outside the schema": (GOOD + "41,F,0.5,SECRET\n", [], "column 'ill': some labels are none of the classes"),
    "missing label": (GOOD + "41,F,0.5,\n", [], "column 'ill': some labels are missing"),
    "where to look": (GOOD + "41,F,2,no\n", [], "`hedgerow schema check` lists the lines.\n"),
    "empty file": ("", [], "is empty"),
    "quote in the header": ('age,sex,dose,"ill\n41,F,0.5,SECRET\n', [], "the quotes in the header"),
    "quote not closed": (GOOD + '41,"SECRET,0.5,no\n', [], "not closed at the end of the file"),
    "control character": ("age,\x1b[31mSECRET\n", [], "not text in UTF-8"),
    "non-finite number": (GOOD + "41,F,1e999,no\n", [], "column 'dose': some cells are text that is not a number"),
    "text for a number": (GOOD + "SECRET,F,0.5,no\n", [], "column 'age': some cells are text that is not a number"),
    "duplicate columns": (
        "age,age,sex,dose,ill\n1,2,F,0.1,no\n",
        [],
        "column 'age': the table has no such column. Its columns: \"age (column 1)\"",
    ),
    "blank column name": (
        ",sex,dose,ill\n1,F,0.1,no\n",
        [],
        "column 'age': the table has no such column. Its columns: \"(column 1)\"",
    ),
    "not text": (b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe", [], "not text in UTF-8"),
    "not text further down": (GOOD.encode() + b"41,\xff\xfe,0.5,no\n", [], "not text in UTF-8"),
    "a line too short": (GOOD + "41,SECRET\n", [], "line 3 does not have 4 fields"),
    "value outside the domain": (GOOD + "41,SECRET,0.5,no\n", [], "column 'sex': some values are outside"),
    "missing value not declared": (GOOD + ",F,0.5,no\n", [], "column 'age': some values are missing"),
    "no such schema": (GOOD, ["--schema", "none.yaml"], "none.yaml: No such file"),
    "seed without research": (GOOD, ["--seed", "1"], "add --research"),
    "no such folder": (GOOD, ["-o", "nowhere/m.json"], "the directory nowhere does not exist"),
    "bad parameter": (GOOD, ["--max-rules", "0"], "--max-rules must be a whole number"),
    "no such budget": (GOOD, ["--budget", "none.json"], "hedgerow budget new none.json"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_an_error_of_one_line_and_writes_no_file(case, folder, run):
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
def test_without_a_schema_the_way_to_one_is_told(run):
    code, _, err = run("fit", "data.csv", "--target", "ill", "--epsilon", "1")
    assert code == 2
    assert "column 'ill': not boolean; a table without a schema" in err


def test_an_output_that_exists_is_kept_unless_forced(folder, run):
    (folder / "model.json").write_text("precious")
    code, _, err = run(*FIT)
    assert code == 2
    assert "already exists" in err
    assert (folder / "model.json").read_text() == "precious"
    assert run(*FIT, "--force")[0] == 0
    assert hr.models.RuleList.load("model.json")


@pytest.mark.usefixtures("folder")
def test_a_seeded_model_is_labelled_for_research_only(run):
    assert run(*FIT, "--seed", "1", "--research")[0] == 0
    assert hr.models.RuleList.load("model.json").privacy.guarantee == "none (seeded noise)"


@pytest.mark.usefixtures("folder")
@pytest.mark.claim("the command line writes it with `--research` only")
def test_an_unproven_mechanism_requires_research_and_is_labelled(run):
    words = (
        *FIT,
        *SSRL,
        "--mechanism",
        "smooth-laplace",
        "--delta",
        "1e-9",
        "--min-remaining",
        "0.1",
        "--confidence",
        "0.9",
    )
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert (
        "--mechanism smooth-laplace has no proven privacy guarantee: the scale of the noise depends on the rows" in err
    )
    assert "Add --research to confirm." in err
    assert run(*FIT, *SSRL)[2] == err  # before it is asked for a delta, which the default mechanism needs too
    assert run(*words, "--research")[0] == 0
    card = hr.models.RuleList.load("model.json").privacy
    assert card.guarantee.startswith("none (published as (5, 1e-09)-differential privacy; not proven: ")
    assert (card.delta, card.is_private) == (Fraction(1, 10**9), False)
    assert run(*FIT, *SSRL, "--force", "--mechanism", "exponential")[0] == 0
    assert hr.models.RuleList.load("model.json").privacy.is_private


BAD_MECHANISMS = {
    "of a tree": (
        ("--mechanism", "exponential", "--model", "tree"),
        "--mechanism requires --model dp-greedyrl",
    ),
    "of a list": (
        ("--mechanism", "exponential"),
        "--mechanism requires --model dp-greedyrl",
    ),
    "of no name": ((*SSRL, "--mechanism", "best"), "mechanism must be one of smooth-laplace"),
    "search": (
        (*SSRL, "--search", "exact"),
        "--search requires --model rule-list or tree",
    ),
    "counts": ((*SSRL, "--release-counts"), "--release-counts requires --model rule-list or tree"),
    "delta": ((*SSRL, "--mechanism", "exponential", "--delta", "1e-9"), "delta must be None with mechanism="),
    "min_remaining": ((*SSRL, *DELTA, "--research", "--min-remaining", "1"), "--min-remaining must be in [0, 1)"),
    "confidence": ((*SSRL, *DELTA, "--research", "--confidence", "0.2"), "confidence must be in [0.5, 1)"),
    "no delta": ((*SSRL, "--mechanism", "smooth-laplace", "--research"), "needs a delta"),
}


@pytest.mark.parametrize("case", BAD_MECHANISMS)
def test_invalid_mechanism_options_charge_nothing(case, folder, run):
    words, message = BAD_MECHANISMS[case]
    run("budget", "new", "b.json", "--epsilon", "9", "--delta", "0.1")
    data = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "5")
    code, out, err = run(*data, *words)
    assert (code, out) == (2, "")
    assert message in err
    assert not (folder / "model.json").exists()
    assert "0 of 9 spent" in run("budget", "show", "b.json")[1]


@pytest.mark.usefixtures("folder")
def test_a_weak_guarantee_gives_a_single_warning(run):
    code, _, err = run(*TREE, "--epsilon", "1000")
    assert (code, err.count("warning: epsilon = 1000 protects little")) == (0, 1)
    code, _, err = run(*TREE, "--epsilon", "1000", "--seed", "1", "--research", "--force")
    assert (code, "protects little" in err) == (0, False)


@pytest.mark.usefixtures("folder")
def test_a_tiny_epsilon_gives_a_single_warning(run):
    code, out, err = run(
        *FIT, "--epsilon", "1e-9", "--release-counts", "--search", "exact", "--seed", "1", "--research", "-o", "m.json"
    )
    assert code == 0
    assert err.count("warning: epsilon = 1e-09 is so small that even 1,000,000 rows hardly change") == 1
    assert ".py" not in err
    assert "rows, possibly none" in out or "probably no rows" in out
    shown = run("show", "m.json")[1]
    assert "rows, possibly none" in shown or "probably no rows" in shown
    assert " % of" not in shown
    assert "warning" not in run(*FIT, "--epsilon", "1", "-o", "n.json")[2]


@pytest.mark.usefixtures("folder")
def test_a_constant_model_is_reported(run):
    data = pd.read_csv("data.csv")
    data.assign(ill="no").to_csv("data.csv", index=False)
    code, out, err = run(*TREE)
    assert code == 0
    assert "warning: The model predicts no for every row, whatever the values of the attributes." in err
    assert re.search(r"^caveat: .* predicts no for every row", out, re.MULTILINE)


@pytest.mark.usefixtures("folder")
def test_costs_of_a_numeric_label_are_refused(run):
    schema = hr.Schema(dict(hr.Schema.load("schema.yaml").attributes), hr.Number("days", 0, 32))
    schema.save("days.yaml")
    words = ("fit", "data.csv", "--schema", "days.yaml", "--epsilon", "1", "--class-weight", "yes=5", "-o", "m.json")
    code, _, err = run(*words)
    assert (code, "requires a label that is classes" in err) == (2, True)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "kind", "why"),
    [
        ((), "tree", r"a tree; the table has about [\d,]+ rows"),
        (("--rows", "600"), "tree", "a tree; the table has 600 rows"),
        (("--scoring", "roc_auc"), "scorecard", "a scorecard ranks rows better"),
        (("--class-weight", "yes=3"), "tree", "drawn by the declared costs"),
    ],
)
def test_an_automatic_choice_is_printed_with_its_reason(run, words, kind, why):
    code, out, err = run("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "1", "--model", "auto", *words)
    assert (code, err) == (0, "written to model.json\n")
    assert load_model("model.json").kind == kind
    assert re.search(f"model chosen automatically: .*{why}", out)


@pytest.mark.usefixtures("folder")
def test_an_automatic_choice_for_a_number_is_refused_with_advice(run):
    hr.Schema({"sex": hr.Categorical(("F", "M"))}, hr.Number("dose", 0, 1)).save("number.yaml")
    code, _, err = run("fit", "data.csv", "--schema", "number.yaml", "--epsilon", "1", "--model", "auto")
    assert (code, "a scorecard predicts a number best" in err) == (2, True)
