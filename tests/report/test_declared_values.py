"""Bounds and cut points of the schema that come from the given rows: for models with and without a guarantee."""

import pytest

from hedgerow.models import read_model
from hedgerow.privacy.card import PrivacyCard
from hedgerow.report import Report
from tests.report.subjects import CARD, LOWEST_WAGE, WAGE_ROWS, wage_tree

NONE = PrivacyCard.none("learned without privacy")


def of_values(report):
    return [check for check in report.board.checks if check.key == "declared-values"]


@pytest.mark.parametrize("card", [CARD, NONE], ids=["with a guarantee", "without"])
def test_bounds_and_deciles_of_the_rows_need_review(card):
    (check,) = of_values(Report.of(wage_tree(card), train=WAGE_ROWS))
    assert (check.status, check.informative) == ("review", card is CARD)
    assert f"The bounds of wage, {LOWEST_WAGE} and 31847, equal the smallest and the largest" in check.sentence
    assert "The cut points of wage are the deciles of the rows." in check.sentence


def test_the_board_reads_it_first_and_the_public_sheet_is_unchanged():
    report = Report.of(wage_tree(CARD), train=WAGE_ROWS)
    assert report.board.verdict.startswith("Bounds or cut points of the schema were probably computed from the rows")
    assert report.public.to_dict() == Report.of(wage_tree(CARD)).public.to_dict()


@pytest.mark.parametrize("card", [CARD, NONE], ids=["with a guarantee", "without"])
def test_public_bounds_and_cut_points_pass(card):
    report = Report.of(wage_tree(card, 0, 40_000, (1500, 2000, 3000)), train=WAGE_ROWS)
    (check,) = of_values(report)
    assert (check.status, check.informative) == ("pass", card is CARD)
    assert "Bounds or cut points" not in report.board.verdict


def test_a_single_bound_is_named_alone():
    (check,) = of_values(Report.of(wage_tree(NONE, 0, 31847, (1500, 2000)), train=WAGE_ROWS))
    assert check.sentence.startswith("The upper bound of wage, 31847, equals the largest given value. Such values")


def test_files_of_other_programs_do_not_contain_the_schema(tmp_path):
    (tmp_path / "rules.txt").write_text("if wage <= 3000 then no (no 600, yes 300)\nelse yes (no 30, yes 70)\n")
    schema = wage_tree(NONE).schema
    (check,) = of_values(Report.of(read_model(tmp_path / "rules.txt", schema), train=WAGE_ROWS))
    assert check.status == "not_applicable"


def test_without_rows_nothing_is_compared():
    (check,) = of_values(Report.of(wage_tree(NONE)))
    assert check.status == "not_run"
