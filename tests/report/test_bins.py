"""Bins of scorecards in a report: counts in the file, and rows and classes counted from the given table."""

from dataclasses import replace

import pandas as pd
import pytest

from hedgerow.models import AttributePoints, Scorecard
from hedgerow.report import Appetite, Form, Report, Subject, bins, disclosure
from hedgerow.schema import Categorical, Label, Number, Schema
from tests.models.scorecards import CARD, NOISY, TWO
from tests.models.scorecards import NONE as OPEN

AREAS = ("north", "south", "islands")
POINTS = AttributePoints("area", ((-2,), (3,), (40,)))


def a_card(card=OPEN, label=None):
    schema = Schema({"area": Categorical(AREAS)}, label or Label("ill", ("no", "yes")))
    return Scorecard(schema, (0,), (POINTS,), 0.1, None, card)


def a_survey(counts):
    """Return rows with these numbers of rows of each class in each area."""
    rows = [
        (area, label)
        for area, own in zip(AREAS, counts, strict=True)
        for label, n in zip(("no", "yes"), own, strict=True)
        for _ in range(n)
    ]
    frame = pd.DataFrame(rows, columns=["area", "ill"])
    return frame[["area"]], frame["ill"]


def of(model, train=None, **more):
    subject = Subject(model, **more)
    risk = bins.counted_bins(subject, train)
    section, checks = bins.bins(subject, risk), bins.bin_checks(subject, risk)
    return section, {fact.key: fact.value for fact in section.facts}, {item.key: item for item in checks}


def statuses(sheet, *keys):
    return {check.key: (check.status, check.essential) for check in sheet.checks if check.key in keys}


def test_a_scorecard_states_how_many_bins_have_too_few_rows():
    section, values, result = of(NOISY)
    assert "has no leaves." in section.answer
    assert values == {"bins": 11, "empty_bins": 1}
    assert result == {}


@pytest.mark.parametrize(("card", "bucket"), [(OPEN, "fail"), (CARD, "review")], ids=["without", "with a guarantee"])
def test_exact_rows_of_small_bins_are_a_finding(card, bucket):
    part = AttributePoints("smoker", ((0,), (2,), (1,)), rows=(40, 9, 0), rows_error=0)
    _, values, result = of(replace(TWO, parts=(part,), privacy=card))
    assert values["small_bins"] == 1
    assert {key: item.status for key, item in result.items()} == {"small-bins": bucket}


def test_a_scorecard_without_points_states_how_to_measure():
    section, values, result = of(replace(a_card(), parts=()))
    assert section.answer.endswith("It stores no numbers of rows.")
    assert "--data" in section.measure
    assert (values, result) == ({}, {})


def test_two_rows_of_one_class_in_a_bin_fail():
    section, values, result = of(a_card(), a_survey(((60, 40), (30, 70), (0, 2))))
    assert {key: (item.status, item.value) for key, item in result.items()} == {
        "small-bins": ("fail", 1),
        "pure-bins": ("fail", 1),
    }
    for item in result.values():
        assert "area = islands: 2 rows, all of class yes" in item.sentence
        assert "area = islands: 2 rows, all of class yes" in section.answer
    expected = {"counted_bins": 3, "smallest_bin": 2, "counted_small_bins": 1, "pure_bins": 1}
    assert values == expected
    assert section.grids[0].rows[0][:4] == ("area = islands", 2, 0, 2)  # the smallest flagged bin is first


def test_large_bins_of_one_class_are_class_disclosure():
    _, _, result = of(a_card(), a_survey(((60, 40), (30, 70), (0, 29))))
    assert {key: item.status for key, item in result.items()} == {"small-bins": "pass", "pure-bins": "fail"}
    _, _, result = of(a_card(), a_survey(((60, 40), (30, 70), (0, 29))), form=Form(sensitive=("ill",)))
    assert "which the form lists as sensitive" in result["pure-bins"].sentence


def test_empty_bins_and_mixed_bins_pass():
    _, _, result = of(a_card(), a_survey(((60, 40), (30, 70), (0, 0))))
    assert {key: item.status for key, item in result.items()} == {"small-bins": "pass", "pure-bins": "pass"}
    _, _, result = of(a_card(), a_survey(((60, 40), (30, 70), (1, 5))), appetite=Appetite(fewest_rows=6))
    assert result["small-bins"].status == "pass"


def test_bins_of_a_number_are_examined_by_level():
    frame, _ = a_survey(((60, 40), (30, 70), (0, 12)))
    income = pd.Series([10.0, 90.0] * 100 + [50.0] * 12, name="income")
    card = a_card(label=Number("income", 0, 100))
    _, _, result = of(card, (frame, income))
    assert {key: item.rule for key, item in result.items()} == {
        "small-bins": "small-bins/counted",
        "pure-bins": "pure-bins/number",
    }
    assert "area = islands: 12 rows" in result["pure-bins"].sentence
    assert result["pure-bins"].status == "fail"


def test_without_rows_or_counts_bins_are_not_examined():
    report = Report.of(a_card())
    assert statuses(report.board, "small-bins", "pure-bins") == {
        "small-bins": ("not_run", True),
        "pure-bins": ("not_run", True),
    }
    report = Report.of(a_card(), train=a_survey(((60, 40), (30, 70), (0, 2))))
    assert report.board.status == "fail"


def test_with_a_guarantee_counted_bins_are_for_information():
    report = Report.of(a_card(CARD), train=a_survey(((60, 40), (30, 70), (0, 2))))
    assert statuses(report.public, "small-bins", "pure-bins") == {"small-bins": ("not_applicable", False)}
    exact = {check.key: check for check in report.board.checks if check.informative}
    assert (exact["small-bins"].status, exact["pure-bins"].status) == ("review", "review")
    assert report.deciding.status == Report.of(a_card(CARD)).deciding.status


def of_areas(n):
    """Return a scorecard with a line for each of some areas; only the last has many points."""
    areas = tuple(f"area {i}" for i in range(n))
    points = AttributePoints("area", (*((i % 90 - 45,) for i in range(n - 1)), (400,)))
    return replace(a_card(), schema=Schema({"area": Categorical(areas)}, Label("ill", ("no", "yes"))), parts=(points,))


def test_the_table_of_points_never_leaves_out_a_single_line():
    (points, *_) = disclosure.model(Subject(of_areas(21))).grids
    assert (len(points.first), points.rows[-1][:3]) == (21, ("area", "area 20", 400))
    assert "of 21 rows" not in points.caption


def test_a_long_table_of_points_has_the_largest_first():
    (points, *_) = disclosure.model(Subject(of_areas(40))).grids
    assert points.caption == "Points by bin, largest points first (first 20 of 40 rows)"
    assert points.first[0][:3] == ("area", "area 39", 400)
    sizes = [abs(row[2]) for row in points.rows]
    assert sizes == sorted(sizes, reverse=True)
