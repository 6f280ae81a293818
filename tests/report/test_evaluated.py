"""A released evaluation on the public sheet, and the exact membership risk by group on the board's."""

import numpy as np
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.report import Releases
from tests.evaluation.models import ATTRIBUTES, TARGETS, fitted, rows


def test_an_evaluation_is_on_the_public_sheet_and_the_rows_are_not():
    for target in ("classes", "number"):
        learner, frame = fitted(target, "tree"), rows(400, target)
        result = hr.evaluate(learner, frame, epsilon=1, by="sex")
        report = hr.Report.of(learner, evaluation=result)
        section = report.public.section("evaluation")
        assert [line.key for line in section.facts[1:-2]] == [estimate.key for estimate in result.estimates]
        assert "; best constant " in section.facts[1].text
        assert section.grids[0].rows[1][:2] == ("m", result.rows("m")[0])
        assert section.facts[1].text.partition(";")[0] in section.answer
        assert "evaluation" in report.to_html()


@pytest.mark.parametrize("target", ["classes", "number"])
def test_an_evaluation_that_was_given_is_not_asked_for(target):
    frame = rows(400, target)
    learner = clone(fitted(target, "tree")).set_params(random_state=None)
    learner.fit(frame.drop(columns=["y", "ward"]), frame["y"])
    result = hr.evaluate(learner, frame, epsilon=1)
    given, without = (hr.Report.of(learner, evaluation=item).public.section("accuracy") for item in (result, None))
    assert (given.measure, "--evaluation FILE" in without.measure) == ("", True)


@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_record_without_the_evaluations_charge_is_a_finding(tmp_path, is_recorded):
    learner, frame = fitted("classes", "tree"), rows(50, "classes")
    record = FileBudget.create(tmp_path / "budget.json", 3)
    record.charge(1, purpose="the model")
    result = hr.evaluate(learner, frame, epsilon=0.5, budget=record if is_recorded else None)
    releases = Releases.load(record.path)
    public = hr.Report.of(learner, evaluation=result, releases=releases).public
    said = [(check.status, check.value) for check in public.checks if check.rule == "record/evaluation"]
    assert said == ([] if is_recorded else [("review", 0.5)])


def test_an_evaluation_of_another_model_is_refused():
    result = hr.evaluate(fitted("classes", "tree"), rows(50, "classes"), epsilon=1)
    with pytest.raises(ValueError, match="another model"):
        hr.Report.of(fitted("classes", "scorecard"), evaluation=result)
    with pytest.raises(TypeError, match="an Evaluation or None, got dict"):
        hr.Report.of(fitted("classes", "tree"), evaluation=result.to_dict())


def test_an_evaluation_without_a_guarantee_is_on_no_public_sheet():
    learner = fitted("classes", "tree")
    result = hr.evaluate(learner, rows(50, "classes"), epsilon=1, random_state=0)
    with pytest.raises(ValueError, match="an evaluation with a guarantee"):
        hr.Report.of(learner, evaluation=result)


def test_the_worst_advantage_of_each_group_is_on_the_boards_sheet():
    frame = rows(120, "classes")
    X, y = frame[list(ATTRIBUTES)], frame["y"]
    learner = hr.PrivateTreeClassifier(1, schema=hr.Schema(ATTRIBUTES, TARGETS["classes"]), max_depth=1)
    attacked = hr.audit.exact_membership(learner, X, y)
    report = hr.Report.of(learner.fit(X, y), train=(X, y), attacks=attacked, by=["sex"])
    (grid,) = report.board.section("exposure").grids
    for group, size, worst, mean in grid.rows:
        own = attacked.advantage[(frame.sex.fillna("missing") == group).to_numpy()]
        assert (size, worst, mean) == (len(own), own.max(), pytest.approx(own.mean()))
    assert np.all(np.diff([line[2] for line in grid.rows]) <= 0)
    assert "exposure" not in {section.key for section in report.public.sections}
    backwards = hr.audit.exact_membership(learner, X[::-1], y[::-1])  # whose advantages are in another order
    others = hr.Report.of(learner, train=(X, y), attacks=backwards, by=["sex"])
    assert "exposure" not in {section.key for section in others.board.sections}
