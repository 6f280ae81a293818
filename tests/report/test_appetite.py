"""Risk appetite files: read within bounds, and compared with the defaults."""

from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from hedgerow.privacy.charge import Charge
from hedgerow.report import Form, Report
from hedgerow.report.appetite import DEFAULT, THRESHOLDS, Appetite, ThresholdDifference, appetite_template
from hedgerow.schema import Integer, Number, Schema
from tests.report.subjects import CARD, a_table, a_tree, without_privacy


def test_the_template_states_the_defaults_and_every_threshold(tmp_path):
    path = tmp_path / "appetite.yaml"
    path.write_text(appetite_template(), encoding="utf-8")
    assert Appetite.load(path) == DEFAULT == Appetite()
    assert DEFAULT.differences == ()
    for entry in fields(Appetite):
        assert f"\n{entry.name}: " in appetite_template()
        assert THRESHOLDS[entry.name].low <= entry.default <= THRESHOLDS[entry.name].high


def test_a_file_changes_the_thresholds_that_it_states(tmp_path):
    path = tmp_path / "appetite.yaml"
    path.write_text("fewest_rows: 20\nstrong_epsilon: 0.3\nmost_guessed:\n", encoding="utf-8")
    appetite = Appetite.load(path)
    assert appetite == Appetite(fewest_rows=20, strong_epsilon=0.3)
    assert appetite.differences == (
        ThresholdDifference("fewest_rows", 10, 20),
        ThresholdDifference("strong_epsilon", 1, 0.3),
    )
    assert Appetite.from_dict(appetite.to_dict()) == appetite


def test_json_is_read_too(tmp_path):
    path = tmp_path / "appetite.json"
    path.write_text('{"largest_epsilon": 4}', encoding="utf-8")
    assert Appetite.load(path).largest_epsilon == 4


def test_a_file_of_comments_alone_states_the_defaults(tmp_path):
    path = tmp_path / "appetite.yaml"
    path.write_text("# nothing differs\n", encoding="utf-8")
    assert Appetite.load(path) == DEFAULT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fewest_rows: &a 5\ndominance: *a\n", "anchors"),
        ("fewest_rows: !!python/object:os.system 5\n", "tags"),
        ("fewest_rows: 5\nfewest_rows: 6\n", "occurs twice"),
        ("- 5\n", "mapping of thresholds, got list"),
        ("age: 5\nname: Ann\n", "2 unknown names"),
        ("fewest_rows: 0\n", "fewest_rows .* 1 to 1,000,000, got 0"),
        ("fewest_rows: 2.5\n", "fewest_rows .* whole number, got float"),
        ("fewest_rows: true\n", "fewest_rows .* whole number, got bool"),
        ("fewest_rows: '5'\n", "got str"),
        ("dominance: [1]\n", "dominance .* number, got list"),
        ("dominance: -0.1\n", "dominance .* 0 to 1"),
        ("most_guessed: 0.4\n", "most_guessed .* 0.5 to 1"),
        ("strong_epsilon: .inf\n", "text, decimal numbers"),
        ("strong_epsilon: 20\n", "at most largest_epsilon .* got 20 and 10"),
        ("x" * 2**17, "65,536 bytes"),
        ("{" * 200, "nested at most 100"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "appetite.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        Appetite.load(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert "Ann" not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, 10**400])
def test_thresholds_are_finite_and_within_bounds(value):
    with pytest.raises(ValueError, match="largest_epsilon"):
        Appetite(largest_epsilon=value)


CHANGED = {
    "fewest_rows": 31,
    "strong_epsilon": 0.5,
    "largest_epsilon": 0.75,
    "dominance": 0.5,
    "largest_unit": 0.6,
    "most_guessed": 0.7,
    "largest_deficit": 0.3,
}


def number_report(appetite):
    """Return a report on a regression tree, in one of whose leaves a row has most of the sum."""
    frame = pd.DataFrame({"a": np.repeat([0, 1], 20)})
    numbers = np.array([1] * 20 + [2] * 19 + [100])
    schema = Schema({"a": Integer(0, 1)}, Number("days", 0, 100, levels=10))
    tree = DecisionTreeRegressor(max_depth=1).fit(frame, numbers)
    return Report.of(tree, schema=schema, train=(frame, numbers), appetite=appetite)


def statuses(appetite):
    """Return the status, the limit and the rule of all checks of three reports."""
    rows = a_table()
    both = {"train": rows, "test": rows, "by": ["smoker"]}
    households = rows[0].assign(hh=[*range(60), *[100] * 16, *range(200, 214)]), rows[1]  # 16 of the 30 old
    reports = (
        Report.of(a_tree(), appetite=appetite),
        Report.of(without_privacy(), appetite=appetite, **both),
        Report.of(without_privacy(), appetite=appetite, form=Form(second_unit="hh"), train=households),
        number_report(appetite),
    )
    sheets = [sheet for report in reports for sheet in (report.public, report.board) if sheet is not None]
    return [(check.key, check.status, check.limit, check.threshold) for sheet in sheets for check in sheet.checks]


def test_each_threshold_has_an_effect():
    assert set(CHANGED) == set(THRESHOLDS)
    for name, value in CHANGED.items():
        before = Appetite(strong_epsilon=0.5) if name == "largest_epsilon" else DEFAULT
        assert statuses(replace(before, **{name: value})) != statuses(before), name


@pytest.mark.parametrize(
    ("epsilon", "status"), [("3/10", "pass"), ("301/1000", "review"), ("7/10", "review"), ("1", "fail")]
)
def test_amounts_are_compared_with_decimal_thresholds(epsilon, status):
    """The float 0.3 is less than 3/10, and 0.7 less than 7/10."""
    card = replace(CARD, charges=(Charge("draw", Fraction(epsilon)),))
    report = Report.of(a_tree(card), appetite=Appetite(strong_epsilon=0.3, largest_epsilon=0.7))
    (check,) = (item for item in report.public.checks if item.key == "guarantee")
    assert check.status == status


def test_a_dominated_leaf_is_judged_by_the_share_of_the_risk_appetite():
    for share, status in ((0.1, "pass"), (0.4, "fail")):
        (check,) = (item for item in number_report(Appetite(dominance=share)).board.checks if item.key == "dominance")
        assert check.status == status
        assert share == 0.1 or "to within 40 %" in check.threshold
