"""The check of stored counts: a report on other rows than the training rows says so, and never of the training rows."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from hedgerow import read_model
from hedgerow.models import AttributePoints
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.report import Report, Subject, disclosure
from hedgerow.schema import Integer, Label, Real, Schema
from tests.models.scorecards import NONE as OPEN
from tests.models.scorecards import TWO
from tests.report.subjects import CARD, COUNTED, a_table, a_tree, overfitted, rows_of, without_privacy

COUNTS = ((30, 30), (40, 12), (25, 9))
OTHERS = ((30, 112), (40, 12), (25, 9))


def counts_check(model, train, **given):
    report = Report.of(model, train=train, **given)
    (result,) = [check for check in report.board.checks if check.key == "counts"]
    return report, result


def test_other_rows_than_those_of_exact_counts_fail():
    model = without_privacy(COUNTS)
    _, result = counts_check(model, rows_of(COUNTS))
    assert (result.status, result.informative) == ("pass", False)
    for counts in (OTHERS, ((30, 30), (12, 40), (25, 9)), ((30, 30), (40, 12), (26, 8)), ((30, 30), (40, 12), (0, 0))):
        report, result = counts_check(model, rows_of(counts))
        assert (result.status, report.board.status) == ("fail", "fail")


def test_other_rows_are_stated_first_on_the_boards_sheet():
    model = a_tree(COUNTED, counts=COUNTS)
    right, result = counts_check(model, rows_of(COUNTS))
    assert (result.status, result.informative) == ("pass", True)
    assert "noise can hide a difference of up to" in result.sentence
    assert "The given rows are not" not in right.board.verdict
    wrong, result = counts_check(model, rows_of(OTHERS))
    assert (result.status, result.informative) == ("fail", True)
    assert wrong.board.verdict.startswith("The given rows are not the training rows")
    assert wrong.deciding.status == right.deciding.status


def test_without_rows_or_counts_or_their_noise_nothing_is_compared():
    report = Report.of(without_privacy(COUNTS))
    assert [check.status for check in report.board.checks if check.key == "counts"] == ["not_run"]
    unstated = replace(CARD, charges=(CARD.charges[0], Charge(Fact("leaf_counts", of="leaves"), Fraction(1, 2))))
    for model in (a_tree(unstated, counts=COUNTS), a_tree(CARD, counts=COUNTS)):
        _, result = counts_check(model, rows_of(OTHERS))
        assert (result.status, "does not state the noise" in result.sentence) == ("not_run", True)
    tree, _ = overfitted()
    unnamed = SimpleNamespace(apply=tree.apply, predict=tree.predict)
    _, result = counts_check(unnamed, (np.arange(86).reshape(-1, 1), np.arange(86) % 2))
    assert (result.status, "pass a schema" in result.sentence) == ("not_run", True)


@pytest.mark.parametrize("steps", [[], [StandardScaler()]], ids=["tree", "pipeline"])
def test_counts_of_trees_of_scikit_learn_are_compared_without_a_schema(steps):
    tree, _ = overfitted()
    values = np.repeat(np.arange(86), np.where(np.arange(86) < 31, 1, 3)).reshape(-1, 1)
    model = make_pipeline(*steps, clone(tree)).fit(values, values[:, 0] % 2)
    assert counts_check(model, (values, values[:, 0] % 2))[1].status == "pass"
    assert counts_check(model, (values[1:], values[1:, 0] % 2))[1].status == "fail"


def test_rows_by_bin_of_a_scorecard_are_compared():
    part = AttributePoints("smoker", ((0,), (2,), (1,)), rows=(40, 9, 0), rows_error=0)
    model = replace(TWO, parts=(part,), privacy=OPEN)
    frame = pd.DataFrame({"age": 40, "ward": "surgery", "smoker": [False] * 40 + [True] * 9, "dose": 0.5})
    labels = pd.Series(["no", "yes"] * 24 + ["no"], name="ill")
    assert counts_check(model, (frame, labels))[1].status == "pass"
    report, result = counts_check(model, (frame[1:], labels[1:]))
    assert (result.status, report.board.status) == ("fail", "fail")


PMML = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="ill" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
</DataDictionary><TreeModel functionName="classification"><MiningSchema><MiningField name="ill" usageType="target"/>
<MiningField name="age"/></MiningSchema><Node score="no"><True/>
<Node score="no"><SimplePredicate field="age" operator="lessOrEqual" value="50"/>
<ScoreDistribution value="no" recordCount="40"/><ScoreDistribution value="yes" recordCount="12"/></Node>
<Node score="yes"><SimplePredicate field="age" operator="greaterThan" value="50"/>
<ScoreDistribution value="no" recordCount="20"/><ScoreDistribution value="yes" recordCount="28"/></Node></Node>
</TreeModel></PMML>"""
TEXT = "if age <= 50 then no (no 40, yes 12)\nelse yes (no 20, yes 28)\n"
AGES = Schema({"age": Integer(0, 120)}, Label("ill", ("no", "yes")))


def people(counts):
    rows = [(age, k) for age, own in zip((30, 70), counts, strict=True) for k, n in enumerate(own) for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["age", "ill"])
    return frame[["age"]], frame["ill"].map({0: "no", 1: "yes"})


@pytest.mark.parametrize(("name", "content"), [("tree.pmml", PMML), ("rules.txt", TEXT)])
def test_the_file_of_somebody_else_with_and_without_its_rows(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    model = read_model(path, AGES)
    alone = Report.of(model)
    assert [check.status for check in alone.board.checks if check.key == "counts"] == ["not_run"]
    assert counts_check(model, people(((40, 12), (20, 28))))[1].status == "pass"
    for others in (((40, 12), (20, 27)), ((39, 13), (20, 28)), ((28, 20), (12, 40)), ((52, 0), (48, 0))):
        report, result = counts_check(model, people(others))
        assert (result.status, report.deciding.status) == ("fail", "fail")


def test_the_file_of_an_exporter_of_pmml_is_compared_by_rows_and_classes():
    """Nyoka 5.5.0 wrote shares, with the rows of each leaf: 8, 50, 44, 70 and 28 of them."""
    model = read_model(Path(__file__).parents[1] / "models" / "pmml" / "nyoka.pmml")
    rng, counts = np.random.default_rng(0), [leaf.counts for leaf in model.leaves]
    every = pd.DataFrame({"w": rng.uniform(0, 1, 5_000), "age": rng.uniform(20, 90, 5_000)})
    places = model.apply(every)
    frame = pd.concat([every[places == leaf][: sum(own)] for leaf, own in enumerate(counts)])
    kinds = pd.Series(
        [kind for own in counts for kind, n in zip("ab", own, strict=True) for _ in range(n)], frame.index
    )
    assert counts_check(model, (frame, kinds))[1].status == "pass"
    assert counts_check(model, (frame, kinds.sample(frac=1, random_state=0).set_axis(frame.index)))[1].status == "fail"
    assert counts_check(model, (frame[1:], kinds[1:]))[1].status == "fail"


def test_other_formats_do_not_state_the_noise(tmp_path):
    for card in (COUNTED, replace(COUNTED, no_guarantee="seeded noise")):
        (tmp_path / "tree.pmml").write_text(a_tree(card, counts=COUNTS).to_pmml())
        model = read_model(tmp_path / "tree.pmml")
        assert not any("Extension" in content.place for content in model.contents)
        _, result = counts_check(model, rows_of(OTHERS))
        assert (result.status, ".json file" in result.sentence) == ("not_run", True)
    (tmp_path / "tree.pmml").write_text(without_privacy(COUNTS).to_pmml())
    assert counts_check(read_model(tmp_path / "tree.pmml"), rows_of(COUNTS))[1].status == "pass"
    assert counts_check(read_model(tmp_path / "tree.pmml"), rows_of(OTHERS))[1].status == "fail"


def test_a_tree_of_scikit_learn_with_its_rows_and_with_others():
    X, y = pd.DataFrame({"w": np.linspace(0, 10, 200)}), pd.Series(np.arange(200) // 70 % 2, name="kind")
    schema = Schema({"w": Real(0, 10)}, Label("kind", (0, 1)))
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
    assert counts_check(tree, (X[::2], y[::2]), schema=schema)[1].status == "pass"
    assert counts_check(tree, (X[:100], y[:100]), schema=schema)[1].status == "fail"
    assert counts_check(tree, (X[::2], 1 - y[::2]), schema=schema)[1].status == "fail"


def test_reconstruction_uses_stored_counts_if_rows_are_others():
    X, y = a_table()
    model = without_privacy(((30, 0), (10, 10), (20, 20)))
    report, result = counts_check(model, (X, y))
    assert result.status == "fail"
    expected = disclosure.reconstructed(Subject(model))
    section = report.board.section("reconstruction")
    assert {fact.value for fact in section.facts} >= {expected.uncertainty}


def halves(counts):
    """Return the rows of a tree as training rows and held-out rows."""
    X, y = rows_of(counts)
    train, test = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    return (X[train], y[train]), (X[test], y[test])


def test_a_model_of_training_and_held_out_rows_is_recognised():
    train, test = halves(COUNTS)
    report, result = counts_check(without_privacy(COUNTS), train, test=test)
    assert result.status == "fail"
    assert "match the training rows and the held-out rows together" in result.sentence
    _, result = counts_check(without_privacy(OTHERS), train, test=test)
    assert "together" not in result.sentence
    assert {check.status for check in report.board.checks if check.key in ("accuracy", "separation")} == {"not_run"}
    assert "held-out rows may be training rows" in report.board.section("accuracy").notes[0]


def test_a_mismatch_lists_stored_and_counted_rows_by_leaf():
    train, test = halves(COUNTS)
    report, _ = counts_check(without_privacy(COUNTS), train, test=test)
    grid = report.board.section("leaves").grids[0]
    assert [column.key for column in grid.columns] == ["leaf", "stored", "counted", "difference"]
    X, y = rows_of(COUNTS)
    stored = {sum(own) for own in COUNTS}
    assert {row[1] for row in grid.rows} == stored
    assert sum(row[2] for row in grid.rows) == len(train[1])
    sizes = [abs(row[3]) for row in grid.rows]
    assert sizes == sorted(sizes, reverse=True)
    matching, _ = counts_check(without_privacy(COUNTS), (X, y))
    assert "stored" not in {column.key for column in matching.board.section("leaves").grids[0].columns}


def test_matching_rows_leave_checks_of_held_out_rows_alone():
    report = Report.of(without_privacy(COUNTS), train=rows_of(COUNTS), test=halves(OTHERS)[1])
    assert not any("may be training rows" in check.sentence for check in report.board.checks)
