"""Reports on ensembles and pipelines: which models are accepted, what is examined of them, and what is decided."""

from datetime import date
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from hedgerow.report import Report
from hedgerow.report.disclosure import dominated_leaves
from hedgerow.report.ensembles import MOST_LEAVES
from hedgerow.report.subject import Subject
from hedgerow.schema import Boolean, Categorical, Integer, Label, Number, Schema

ON = date(2026, 11, 29)
RNG = np.random.default_rng(0)
N = 400
WHOLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, size=N),
        "dose": RNG.integers(1000, size=N),
        "sex": np.array(["f", "m"])[RNG.integers(2, size=N)],
    }
)
ILL = pd.Series(np.where((WHOLE["age"] > 60) ^ (RNG.random(N) < 0.25), "yes", "no"), name="ill")
SCHEMA = Schema(
    {"age": Integer(0, 120, cuts=()), "dose": Integer(0, 999, cuts=()), "sex": Categorical(("f", "m"))},
    Label("ill", ("no", "yes")),
)
TRAIN, TEST = ((WHOLE[part], ILL[part]) for part in (slice(0, 250), slice(250, None)))
KINDS = {
    "random forest": RandomForestClassifier(4, random_state=0),
    "forest without bootstrap": RandomForestClassifier(4, bootstrap=False, random_state=0),
    "extremely randomised trees": ExtraTreesClassifier(4, random_state=0),
    "bagging": BaggingClassifier(n_estimators=4, random_state=0),
    "AdaBoost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=6), n_estimators=5, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=20, max_depth=6, random_state=0),
}


def steps(last, *first):
    return make_pipeline(
        *first, make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age", "dose"])), last
    )


@cache
def fitted(kind):
    return steps(KINDS[kind]).fit(*TRAIN)


def statuses(sheet):
    return {check.key: check.status for check in sheet.checks}


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["no schema", "schema"])
@pytest.mark.parametrize("rows", [{}, {"train": TRAIN}, {"train": TRAIN, "test": TEST}], ids=["none", "train", "both"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_overfitted_ensemble_is_rejected_whatever_is_given(kind, rows, schema):
    report = Report.of(fitted(kind), schema=schema, on=ON, **rows)
    result = statuses(report.board)
    assert report.deciding is report.board
    assert report.board.status == result["small-leaves"] == "fail"
    if rows:
        assert (result["pure-leaves"], result["joint-cells"], result["counts"]) == ("fail", "review", "pass")
    else:
        assert (result["joint-cells"], result["separation"]) == ("not_run", "not_run")
        assert result["pure-leaves"] == ("not_run" if kind == "gradient boosting" else "fail")
    assert result["separation"] == ("review" if "test" in rows else "not_run")
    assert result["known-rows"] in ({"not_applicable"} if schema is None else {"pass", "review", "not_run"})
    assert report.public.status == "not_run"
    assert not report.public.decides


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["no schema", "schema"])
@pytest.mark.parametrize("rows", [{}, {"train": TRAIN}, {"train": TRAIN, "test": TEST}], ids=["none", "train", "both"])
@pytest.mark.parametrize("first", [(), (SimpleImputer(strategy="most_frequent").set_output(transform="pandas"),)])
def test_an_overfitted_pipeline_fails_with_any_steps(first, rows, schema):
    model = steps(DecisionTreeClassifier(random_state=0), *first).fit(*TRAIN)
    report = Report.of(model, schema=schema, on=ON, **rows)
    result = statuses(report.board)
    assert (report.board.status, result["small-leaves"], result["pure-leaves"]) == ("fail", "fail", "fail")
    assert report.subject.kind == "DecisionTreeClassifier in a pipeline"
    if schema is not None and first:
        assert "SimpleImputer" in report.board.section("reconstruction").answer


def test_leaves_of_a_forest_are_counted_by_tree_and_together():
    model = RandomForestClassifier(12, random_state=0).fit(*_numbers(TRAIN))
    board = Report.of(model, train=_numbers(TRAIN), on=ON).board
    section = board.section("leaves")
    facts = {fact.key: fact.value for fact in section.facts}
    assert facts["trees"] == 12
    assert facts["smallest_leaf"] == 1
    assert facts["rows_in_small_leaves"] <= 250
    assert facts["rows_alone"] > 200
    trees, worst = section.grids
    assert [row[0] for row in trees.rows] != list(range(12))
    assert len(trees.rows) == 12
    assert len(worst.rows) == 10
    assert f"tree {trees.rows[0][0]}," in worst.title
    assert "alone in their combination of leaves" in section.answer
    model_section = board.section("model")
    assert (model_section.answer.split(":")[0], model_section.measure) == ("Not shown", "")  # a schema changes nothing


def test_the_worst_leaves_have_their_conditions_with_a_schema():
    model = steps(RandomForestClassifier(3, max_depth=3, min_samples_leaf=2, random_state=0)).fit(*TRAIN)
    report = Report.of(model, schema=SCHEMA, train=TRAIN, on=ON)
    names = [row[0] for row in report.board.section("leaves").grids[1].rows]
    assert all(any(attribute in name for attribute in SCHEMA) for name in names)
    member, rows = (
        report.board.section("leaves").grids[1],
        [row[1] for row in report.board.section("leaves").grids[1].rows],
    )
    assert rows == sorted(rows)
    assert member.columns[0].key == "leaf"


def test_a_forest_of_large_leaves_fails_only_by_combinations():
    rows = pd.DataFrame({"age": np.arange(6000) % 60})
    labels = np.where((np.arange(6000) // 60) % 3 == 0, "yes", "no")
    model = RandomForestClassifier(10, max_depth=3, min_samples_leaf=300, random_state=0).fit(rows, labels)
    schema = Schema({"age": SCHEMA["age"], "sex": SCHEMA["sex"]}, SCHEMA.label)
    result = statuses(Report.of(model, schema=schema, train=(rows, labels), on=ON).board)
    passed = ("small-leaves", "pure-leaves", "few-of-class", "joint-cells", "counts", "known-rows")
    assert [result[key] for key in passed] == ["pass"] * 6
    stored = statuses(Report.of(model, on=ON).board)
    assert (stored["small-leaves"], stored["pure-leaves"], stored["joint-cells"]) == ("pass", "pass", "not_run")


def test_other_rows_than_the_training_rows_are_rejected():
    model = RandomForestClassifier(5, random_state=0).fit(*_numbers(TRAIN))
    board = Report.of(model, train=_numbers((WHOLE[100:350], ILL[100:350])), on=ON).board
    assert statuses(board)["counts"] == "fail"


@pytest.mark.parametrize("rows", [{}, {"train": TRAIN}, {"train": TRAIN, "test": TEST}], ids=["none", "train", "both"])
def test_leaves_that_no_public_interface_shows_are_not_examined(rows):
    model = steps(HistGradientBoostingClassifier(min_samples_leaf=1, random_state=0)).fit(*TRAIN)
    report = Report.of(model, schema=SCHEMA, on=ON, **rows)
    result = {check.key: check for check in report.board.checks}
    assert report.board.status == "not_run"
    for key in ("small-leaves", "pure-leaves"):
        assert (result[key].status, result[key].essential) == ("not_run", True)
        assert "cikit-learn does not publish the structure" in result[key].sentence
    assert result["separation"].status == ("review" if "test" in rows else "not_run")


@pytest.mark.parametrize("kind", [RandomForestRegressor, GradientBoostingRegressor])
def test_ensembles_of_numbers_are_examined_by_levels(kind):
    number = pd.Series(WHOLE["age"] * 10 + RNG.integers(100, size=N), name="cost")
    schema = Schema({"age": SCHEMA["age"], "dose": SCHEMA["dose"]}, Number("cost", 0, 1500, 10))
    rows, labels = WHOLE[["age", "dose"]], number
    model = kind(n_estimators=10, max_depth=7, random_state=0).fit(rows[:250], labels[:250])
    pairs = {"train": (rows[:250], labels[:250]), "test": (rows[250:], labels[250:])}
    board = Report.of(model, schema=schema, on=ON, **pairs).board
    result = statuses(board)
    assert (result["small-leaves"], result["pure-leaves"]) == ("fail", "fail")
    assert (result["few-of-class"], result["dominance"]) == ("not_applicable", "fail")
    assert result["separation"] in ("review", "not_run", "pass")
    with pytest.raises(ValueError, match="numeric label"):
        Report.of(model)


def test_rows_may_have_columns_that_the_model_does_not_use():
    model = RandomForestClassifier(5, random_state=0).fit(*_numbers(TRAIN))
    wide = [(rows.assign(ward=range(len(rows))), labels) for rows, labels in map(_numbers, (TRAIN, TEST))]
    board = Report.of(model, train=wide[0], test=wide[1], on=ON).board
    assert statuses(board) == statuses(Report.of(model, train=_numbers(TRAIN), test=_numbers(TEST), on=ON).board)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (IsolationForest(n_estimators=3), "IsolationForest"),
        (RandomTreesEmbedding(3), "RandomTreesEmbedding"),
        (VotingClassifier([("a", DecisionTreeClassifier())]), "VotingClassifier"),
        (BaggingClassifier(LogisticRegression()), "BaggingClassifier"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "cannot read LogisticRegression"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_models_that_cannot_be_examined_are_refused(model, message):
    with pytest.raises(TypeError, match=message):
        Subject(model.fit(*_numbers(TRAIN)))


def test_unfitted_ensembles_and_several_outputs_are_refused():
    for model in (RandomForestClassifier(), make_pipeline(StandardScaler(), HistGradientBoostingClassifier())):
        with pytest.raises(ValueError, match="is not fitted yet"):
            Subject(model)
    both = RandomForestClassifier(2).fit(_numbers(TRAIN)[0], np.zeros((250, 2)))
    with pytest.raises(ValueError, match="2 outputs"):
        Subject(both)


def test_possible_rows_of_many_leaves_are_not_counted():
    model = RandomForestClassifier(60, random_state=0).fit(*_numbers(TRAIN))
    schema = Schema({"age": SCHEMA["age"], "dose": SCHEMA["dose"]}, SCHEMA.label)
    board = Report.of(model, schema=schema, train=_numbers(TRAIN), on=ON).board
    assert statuses(board)["known-rows"] == "not_run"
    assert f"at most {MOST_LEAVES:,} leaves" in board.section("reconstruction").answer


def test_a_report_on_a_boolean_forest_knows_the_only_possible_rows():
    bits = pd.DataFrame(RNG.integers(2, size=(300, 3)).astype(bool), columns=["a", "b", "c"])
    labels = np.where(bits["a"] ^ bits["b"] ^ bits["c"], "yes", "no")
    schema = Schema({name: Boolean() for name in "abc"}, Label("y", ("no", "yes")))
    model = ExtraTreesClassifier(5, random_state=0).fit(bits, labels)
    result = {check.key: check for check in Report.of(model, schema=schema, train=(bits, labels), on=ON).board.checks}
    assert result["known-rows"].value == 300
    assert result["known-rows"].status == "review"


@pytest.mark.parametrize("persons", [60, 9])
def test_dominated_leaves_are_those_of_the_definition(persons):
    places, whose = RNG.integers(8, size=60), RNG.permutation(60) % persons
    numbers = RNG.exponential(size=60) ** 3
    for share in (0.05, 0.3, 1.0):
        expected = 0
        for leaf in np.unique(places):
            sums = sorted((numbers[(places == leaf) & (whose == item)].sum() for item in range(persons)), reverse=True)
            expected += sum(sums[2:]) < share * sums[0]
        assert dominated_leaves(places, whose, numbers, share) == expected


def _numbers(pair):
    return pair[0][["age", "dose"]], pair[1]
