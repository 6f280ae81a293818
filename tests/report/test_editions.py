"""Editions of a table in a comparison: the counts of two models, subtracted."""

import pandas as pd
import pytest

from hedgerow.audit import unlinked_reconstruction
from hedgerow.models import read_model
from hedgerow.report import Appetite, Comparison, Report
from hedgerow.report.contents import text_of
from hedgerow.schema import Categorical, Integer, Label, Literal, Schema
from tests.report.subjects import a_table, a_tree, without_privacy

SCHEMA = Schema(
    {"age": Integer(0, 120, cuts=(65,)), "ward": Categorical(("surgery", "psychiatry"))}, Label("ill", ("no", "yes"))
)
OLD = "if age > 65 then no (no 40, yes 30)\nif ward = psychiatry then no (no 18, yes 15)\nelse no (no 300, yes 90)\n"
NEW = OLD.replace("then no (no 18, yes 15)", "then yes (no 18, yes 19)")


def rules(tmp_path, text):
    (tmp_path / "rules.txt").write_text(text)
    return read_model(tmp_path / "rules.txt", SCHEMA)


def rows_of(*counts):
    leaves = ((80, "surgery"), (20, "psychiatry"), (20, "surgery"))
    rows = [
        (*leaf, label)
        for leaf, own in zip(leaves, counts, strict=True)
        for label, n in zip(("no", "yes"), own, strict=True)
        for _ in range(n)
    ]
    frame = pd.DataFrame(rows, columns=["age", "ward", "ill"])
    return frame[["age", "ward"]], frame["ill"]


ROWS = rows_of((40, 30), (18, 19), (300, 90))


def compared(tmp_path, old=OLD, new=NEW, train=ROWS, **more):
    reports = {name: Report.of(rules(tmp_path, text), train=train, **more) for name, text in (("a", old), ("b", new))}
    return Comparison.of(reports).board


def check_of(sheet, key, model):
    (check,) = [check for check in sheet.checks if check.key == key and check.model == model]
    return check


def test_four_added_rows_of_one_class_fail(tmp_path):
    board = compared(tmp_path)
    check = check_of(board, "editions", "a, b")
    assert (check.status, check.value) == ("fail", 2)
    assert "2. ward = psychiatry: 4 rows more, all of class yes" in check.sentence
    assert "all rows: 4 rows more, all of class yes" in check.sentence
    assert board.verdict.startswith("1 check failed: differences between the counts of several models.")


def test_the_table_lists_the_changed_leaf_first_with_both_predictions(tmp_path):
    (grid,) = compared(tmp_path).section("editions").grids
    first = [text_of(cell) for cell in grid.rows[0]]
    assert first == ["2. ward = psychiatry", "33", "37", "0", "4", "no, then yes"]
    assert len(grid.rows) == 4


def test_leaves_that_were_divided_later_are_added_up(tmp_path):
    parts = "if ward = psychiatry and age > 40 then no (no 10, yes 12)\nif ward = psychiatry then no (no 8, yes 7)"
    new = OLD.replace("if ward = psychiatry then no (no 18, yes 15)", parts)
    board = compared(tmp_path, new=new, train=None)
    check = check_of(board, "editions", "a, b")
    assert (check.status, "leaves 2, 3 together: 4 rows more, all of class yes" in check.sentence) == ("fail", True)
    first = [text_of(cell) for cell in board.section("editions").grids[0].rows[0]]
    assert first == ["leaves 2, 3 together", "33", "37", "0", "4", ""]


@pytest.mark.parametrize("bound", [119, 30])
def test_models_on_other_domains_are_not_compared(tmp_path, bound):
    other = Schema({"age": Integer(0, bound, cuts=()), "ward": SCHEMA["ward"]}, SCHEMA.label)
    (tmp_path / "other.txt").write_text("if age > 20 then no (no 40, yes 30)\nelse no (no 318, yes 109)\n")
    reports = {"a": Report.of(rules(tmp_path, OLD)), "b": Report.of(read_model(tmp_path / "other.txt", other))}
    assert "editions" not in {check.key for check in Comparison.of(reports).board.checks}


def test_a_comparison_of_too_many_leaves_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr("hedgerow.audit.inference.editions.MOST_STEPS", 1)
    check = check_of(compared(tmp_path, new=OLD), "editions", "a, b")
    assert (check.status, "too many leaves" in check.sentence) == ("not_run", True)


def test_rows_of_one_edition_are_not_a_mismatch_of_the_other(tmp_path):
    board = compared(tmp_path)
    old, new = (check_of(board, "counts", name) for name in ("a", "b"))
    assert (old.status, new.status) == ("not_run", "pass")
    assert "match the counts of b, and not of a" in old.sentence
    board = compared(tmp_path, train=rows_of((1, 1), (1, 1), (1, 1)))  # rows of neither
    assert check_of(board, "counts", "a, b").status == "fail"


@pytest.mark.parametrize(
    ("leaf", "status"),
    [
        ("no 24, yes 19", "pass"),  # 6 and 4 rows were added
        ("no 23, yes 19", "fail"),
        ("no 58, yes 15", "fail"),  # 40 rows of one class
        ("no 18, yes 15", "pass"),
        ("no 17, yes 16", "fail"),
    ],
)
def test_differences_from_the_threshold_with_two_classes_pass(tmp_path, leaf, status):
    board = compared(tmp_path, new=OLD.replace("no 18, yes 15", leaf))
    assert check_of(board, "editions", "a, b").status == status


def test_the_threshold_is_the_risk_appetite(tmp_path):
    new = OLD.replace("no 18, yes 15", "no 20, yes 17")
    assert check_of(compared(tmp_path, new=new), "editions", "a, b").status == "fail"
    board = compared(tmp_path, new=new, appetite=Appetite(fewest_rows=4))
    assert check_of(board, "editions", "a, b").status == "pass"


class Regions:
    """A model of another program that states the number of rows of each region, but no classes."""

    def __init__(self, *supports):
        self.supports = supports

    def regions(self):
        return [[Literal("age", ">", (65,))], []]


@pytest.mark.parametrize(("rows", "words"), [(67, "3 rows fewer"), (72, "2 rows more")])
def test_counts_without_classes_are_subtracted_by_rows(rows, words):
    reports = {name: Report.of(Regions(n, 300), schema=SCHEMA) for name, n in (("a", 70), ("b", rows))}
    check = check_of(Comparison.of(reports).board, "editions", "a, b")
    assert (check.status, words in check.sentence) == ("fail", True)


def test_noisy_counts_have_no_differences():
    reports = {"a": Report.of(a_tree(), train=a_table()), "b": Report.of(without_privacy(), train=a_table())}
    board = Comparison.of(reports).board
    assert not [check for check in board.checks if check.key == "editions"]
    assert "editions" not in {section.key for section in board.sections}


def test_a_report_on_a_single_model_has_no_check_of_editions(tmp_path):
    report = Report.of(rules(tmp_path, OLD), train=ROWS)
    assert "editions" not in {check.key for check in report.board.checks}


def test_other_numbers_of_rows_name_the_comparison(tmp_path):
    with pytest.raises(ValueError, match="hedgerow report OLD NEW"):
        unlinked_reconstruction([rules(tmp_path, OLD), rules(tmp_path, NEW)])
