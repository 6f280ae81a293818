"""Accuracy by group, counted row by row."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.learn import PrivateTreeClassifier
from hedgerow.models import Leaf, Split, Tree
from hedgerow.report import Report, Subject, accuracy
from hedgerow.report.accuracy import accuracies, measure, released_accuracy
from hedgerow.schema import Integer, Literal, OrderedLabel, Schema
from tests.report.subjects import CARD, COUNTED, a_table, a_tree, overfitted, without_privacy


def counted(X, y, predict, groups):
    """Count row by row."""
    result = {}
    for row, label, group in zip(X.to_dict("records"), y, groups, strict=True):
        rows, right, base = result.get(group, (0, 0, 0))
        result[group] = rows + 1, right + (predict(row) == label), base + (label == "no")
    return result


def counts(part):
    """Return the rows of a group, those that the model is right about, and those of the constant."""
    return part.rows, *(round(share * part.rows) for share in accuracies(part))


def test_groups_are_counted_row_by_row():
    X, y = a_table()
    measured = measure(Subject(a_tree()), (X, y), "training", "no", ["age", "smoker"])

    def predict(row):
        return "yes" if row["age"] > 60 else "no"

    whole = counted(X, y, predict, [0] * len(y))[0]
    assert counts(measured.overall) == whole
    bins = ["0 to 30" if age <= 30 else "31 to 60" if age <= 60 else "61 to 99" for age in X["age"]]
    by_age = sorted(counted(X, y, predict, bins).values())
    assert sorted(map(counts, measured.groups[0][1])) == by_age
    assert [name for name, _ in measured.groups] == ["age", "smoker"]
    shares = [accuracies(group)[0] for group in measured.groups[0][1]]
    assert shares == sorted(shares)  # the worst first


def test_columns_outside_the_schema_are_groups_too_and_others_are_refused():
    X, y = a_table()
    ward = X.assign(ward=np.where(np.arange(90) < 60, "north", "south"))
    measured = measure(Subject(a_tree()), (ward, y), "training", "no", ["ward"])
    assert {group.group for group in measured.groups[0][1]} == {"north", "south"}
    with pytest.raises(ValueError, match="town"):
        measure(Subject(a_tree()), (X, y), "training", "no", ["town"])


def test_an_array_has_the_groups_of_the_schema_alone():
    tree, _ = overfitted()
    values = np.arange(86).reshape(-1, 1)
    with pytest.raises(ValueError, match="one of the attributes"):
        measure(Subject(tree), (values, values[:, 0] % 2), "training", "0", ["code"])


def test_labels_are_compared_as_classes():
    tree, schema = overfitted()
    values = np.arange(86).reshape(-1, 1)
    measured = measure(Subject(tree, schema=schema), (values, values[:, 0] % 2), "training", "0", [])
    assert accuracies(measured.overall) == (1, 0.5)
    text = DecisionTreeClassifier().fit([[0], [1]], ["a", "b"])
    pair = np.array([[0], [1], [1]]), ["a", "b", "a"]
    assert counts(measure(Subject(text), pair, "training", "a", []).overall) == (3, 2, 2)


def test_the_commonest_class_is_that_of_the_training_rows():
    subject = Subject(a_tree())
    assert accuracy.commonest(subject, pd.Series(["yes", "no", "yes"])) == "yes"
    assert accuracy.commonest(subject, pd.Series(["yes", "no"])) == "no"


def test_no_gain_and_worse_groups_need_review():
    X, y = a_table()
    subject = Subject(a_tree())
    good = measure(subject, (X, y), "held_out", "no", ["age"])
    assert {check.key: check.status for check in accuracy.checks(good)} == {"accuracy": "pass", "groups": "not_run"}
    flipped = y.where(X["age"] <= 60, "no")  # nobody is ill: the old are all told wrongly
    bad = measure(subject, (X, flipped), "held_out", "no", ["age"])
    result = {check.key: (check.status, check.value) for check in accuracy.checks(bad)}
    assert result == {"accuracy": ("review", pytest.approx(-1 / 3)), "groups": ("review", -1)}


def test_training_rows_alone_support_no_model():
    """0.2.0 had support from them for models with a guarantee; see the fits of noise below."""
    X, y = a_table()
    for model, test, status in (
        (without_privacy(), None, "not_run"),
        (without_privacy(), (X, y), "pass"),
        (a_tree(), None, "not_run"),
        (a_tree(), (X, y), "pass"),
    ):
        _, (result, *_) = accuracy.measured(Subject(model), (X, y), test, ())
        assert result.status == status
        assert ("measure it on held-out rows" in result.sentence) == (status == "not_run")


def test_the_section_states_what_was_not_measured():
    assert accuracy.measured_accuracy([]).answer.startswith("Not measured")
    X, y = a_table()
    item = measure(Subject(a_tree()), (X, y), "training", "no", [])
    section = accuracy.measured_accuracy([item])
    assert "--by" in section.measure
    assert "--test" in section.measure
    assert section.answer.startswith("The model predicts 96.7 % of the rows correctly (training rows)")


COSTS = {"no": {"yes": 1}, "yes": {"no": 5}}


def test_costs_are_compared_with_the_cheapest_class():
    X, y = a_table()
    report = Report.of(a_tree(), train=(X, y), test=(X[20:80], y[20:80]), costs=COSTS, by=["smoker"])
    of = {("no", "yes"): 1, ("yes", "no"): 5}
    section = report.board.section("accuracy")
    shown = [fact.value for fact in section.facts if "cost" in fact.key and "gain" not in fact.key]
    gain = next(fact.value for fact in section.facts if fact.key == "gain_cost_held_out")
    slow = []
    for rows, labels in ((X, y), (X[20:80], y[20:80])):
        said = ["yes" if age > 60 else "no" for age in rows["age"]]
        slow.append(sum(of.get(both, 0) for both in zip(labels, said, strict=True)) / len(labels))
        always = {item: sum(of.get((label, item), 0) for label in y) for item in ("no", "yes")}  # of the training rows
        cheapest = min(always, key=always.get)
        slow.append(sum(of.get((label, cheapest), 0) for label in labels) / len(labels))
    assert shown == pytest.approx(slow)
    assert gain == pytest.approx(slow[3] - slow[2])
    assert cheapest == "yes"  # 63 rows cost 1 each, 27 would cost 5 each
    by_smoker = section.grids[-1]
    assert [item.name for item in by_smoker.columns[-2:]] == ["cost", "cost, one class"]
    assert sum(row[1] * row[-2] for row in by_smoker.rows) / 60 == pytest.approx(slow[2])
    (about,) = [item for item in report.board.checks if item.key == "accuracy"]
    assert (about.status, about.value) == ("pass", pytest.approx(slow[3] - slow[2]))


def test_a_costly_model_needs_review_even_if_accurate():
    X, y = a_table()
    half = y.where(~X["smoker"] | (X["age"] > 60), "yes")  # smokers that the tree misses
    result = {
        check.key: check
        for check in Report.of(a_tree(), test=(X, half), class_weight={"yes": 50}, by=["age"]).board.checks
    }
    assert result["accuracy"].status == "review"
    assert result["groups"].status == "review"
    right = {check.key: check.status for check in Report.of(a_tree(), test=(X, half)).board.checks}
    assert right["accuracy"] == "pass"


def test_costs_are_those_of_the_estimator_and_missing_ones_are_named():
    X, y = a_table()
    learner = PrivateTreeClassifier(10, schema=a_tree().schema, class_weight={"yes": 5}, max_depth=1, random_state=0)
    learner.fit(X, y)
    older = replace(learner.tree_, costs=None)
    with_costs, too, without = (
        Report.of(model, test=(X, y)).board.section("accuracy") for model in (learner, learner.tree_, older)
    )
    assert any("cost" in fact.key for fact in with_costs.facts)
    assert with_costs.facts == too.facts
    assert not any("cost" in fact.key for fact in without.facts)
    assert "--class-weight" in without.measure
    assert without.notes
    with pytest.raises(ValueError, match="class_weight or costs"):
        Report.of(learner, costs=COSTS, class_weight={"yes": 2})
    counted = [fact.value for fact in released_accuracy(Subject(a_tree(COUNTED), costs=COSTS)).facts]
    assert counted[2:] == pytest.approx([(5 * 1 + 4 * 1) / 85, 54 / 85])  # a "yes" missed, four told ill, of 85 rows


def test_ordered_classes_are_missed_by_places():
    """The old are "high", others "low"; "middle" is one place from both."""
    schema = Schema({"age": Integer(0, 99, cuts=(60,))}, OrderedLabel("risk", ("low", "middle", "high")))
    old = Literal("age", ">", (60,))
    tree = Tree(schema, Split(old, Leaf(label="high"), Leaf(label="low")), CARD)
    X = pd.DataFrame({"age": [70, 70, 20, 20, 20]})
    y = ["high", "low", "low", "middle", "high"]
    facts = {fact.key: fact.value for fact in Report.of(tree, test=(X, y)).board.section("accuracy").facts}
    assert facts["mean_error_in_classes_held_out"] == (0 + 2 + 0 + 1 + 2) / 5
    assert facts["baseline_error_in_classes_held_out"] == 4 / 5  # always "middle"
    assert "cost" not in str(facts)


def test_weighted_rows_are_stated_to_count_once():
    table = pd.DataFrame({"a": [True, False] * 50, "w": [1.0, 3.0] * 50})
    for label, fit, y in (
        (hr.Label("y", (0, 1)), hr.OptimalTreeClassifier, [0, 1] * 50),
        (hr.Number("y", 0, 1), hr.OptimalTreeRegressor, [0.1, 0.9] * 50),
    ):
        schema = hr.Schema({"a": hr.Boolean()}, label, weight=hr.Weight("w", 4))
        text = str(Report.of(fit(schema=schema, max_depth=1).fit(table, np.array(y)), test=(table, y)).board)
        assert "held-out rows, each counted once" in text
