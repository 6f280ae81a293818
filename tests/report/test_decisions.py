"""Which sheet decides, which checks a decision may use, and what was not examined."""

from datetime import date
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from hedgerow import ScorecardClassifier
from hedgerow.audit.attack_record import AttackKind
from hedgerow.report import CATALOGUE, Form, PastRelease, Releases, Report
from hedgerow.report.checks import NEEDS, RULES, STATUSES, Check
from hedgerow.report.contents import Sheet
from hedgerow.report.subject import Subject
from tests.report.subjects import CARD, COUNTED, SCHEMA, a_table, a_tree, overfitted, without_privacy

ON = date(2026, 11, 29)
STATED = Form(purpose="x", curator="x", unit="x", rows_per_unit=1, tuning="x")
RECORD = Releases(tuple(map(PastRelease, CARD.charges)), None)


def decision(report):
    sheet = report.deciding
    return sheet.kind, sheet.status, [(check.key, check.status) for check in sheet.checks]


@pytest.mark.parametrize("dropped", [0, 29, 60, 89])
def test_neighbouring_tables_lead_to_the_same_decision(dropped):
    X, y = a_table()
    kept = np.arange(90) != dropped
    reports = [
        Report.of(a_tree(), form=STATED, releases=RECORD, train=rows, test=rows, by=["smoker"], on=ON)
        for rows in ((X, y), (X[kept], y[kept]))
    ]
    decisions = [decision(report) for report in reports]
    assert decisions[0] == decisions[1] == decision(Report.of(a_tree(), form=STATED, releases=RECORD, on=ON))
    exact = [check for check in reports[0].board.checks if check.informative]
    assert {check.key for check in exact} >= {"small-leaves", "accuracy", "separation"}
    assert reports[0].board.status == reports[0].public.status  # informative checks do not count


def test_the_public_sheet_decides_with_a_guarantee_and_the_boards_without():
    X, y = a_table()
    private = Report.of(a_tree(), form=STATED, releases=RECORD, train=(X, y), on=ON)
    assert (private.deciding.kind, private.public.decides, private.board.decides) == ("public", True, False)
    assert private.board.verdict.startswith("Decide by the public sheet.")
    assert "does not cover a decision" in private.to_html(private=True)
    plain = Report.of(without_privacy(), form=STATED, on=ON)
    assert (plain.deciding.kind, plain.public.decides, plain.board.decides) == ("board", False, True)
    assert not any(check.informative for check in plain.board.checks)


def test_a_clean_private_model_passes():
    report = Report.of(a_tree(counts=((40, 300), (500, 60), (200, 20))), form=STATED, releases=RECORD, on=ON)
    assert report.public.status == "pass"
    assert report.public.verdict.startswith("All checks that were run passed.")


def test_a_leaf_that_may_have_no_rows_is_stated_and_needs_no_review():
    report = Report.of(a_tree(COUNTED, counts=((40, 300), (500, 60), (1, 0))), form=STATED, releases=RECORD, on=ON)
    (stated,) = (check for check in report.public.checks if check.rule == "caveat/empty")
    assert (stated.status, stated.sentence[:30]) == ("pass", "Leaf 3 may contain no rows: the"[:30])
    assert stated.threshold.endswith("are named; this needs no review")
    assert report.public.status == "pass"
    useless = a_tree(COUNTED, counts=((300, 40), (500, 60), (1, 0)))
    result = Report.of(useless, form=STATED, releases=RECORD, on=ON).public
    assert result.status == "review"
    assert result.verdict == "No check failed. 1 check needs review: usefulness of the model."


def test_a_public_sheet_that_does_not_decide_never_passes():
    """0.2.0's public sheet of a scorecard without a guarantee was one that a person has to look at."""
    X, y = a_table()
    for model in (without_privacy(), ScorecardClassifier(schema=SCHEMA).fit(X, y).scorecard_):
        report = Report.of(model, form=STATED, on=ON)
        assert report.public.status == "not_run"
        assert "does not support a release" in report.public.verdict


def test_a_tree_that_asks_for_no_number_has_no_thresholds():
    X, y = a_table()
    for columns, has_thresholds in ((["smoker"], False), (["smoker", "age"], True)):
        chosen = make_column_transformer(("passthrough", columns))
        model = make_pipeline(chosen, DecisionTreeClassifier(max_depth=2)).fit(X, y)
        assert Subject(model, schema=SCHEMA).has_own_thresholds == has_thresholds
    assert Subject(model).has_own_thresholds  # without a schema, the paths are not known


@pytest.mark.parametrize("model", [a_tree(), without_privacy(), overfitted()[0]])
def test_every_sheet_has_every_check_with_its_status(model):
    report = Report.of(model, on=ON)
    for sheet in filter(None, (report.public, report.board)):
        kinds = {key for key, kind in CATALOGUE.items() if sheet.kind in kind.sheets}
        assert {check.key for check in sheet.checks} == kinds
        assert {check.status for check in sheet.checks} <= set(STATUSES)
    assert all(check["status"] in STATUSES for check in report.public.to_dict()["checks"])


def test_what_a_check_lacks_is_named_with_the_option_that_gives_it():
    report = Report.of(without_privacy(), form=STATED, on=ON)
    missing = {item.key: item for item in report.board.by_status("not_run")}
    assert "--data and --test" in missing["separation"].sentence
    assert missing["membership"].essential
    assert report.board.not_examined[0] == "membership inference"
    assert "not run: membership inference" in report.board.verdict


def a_check(status, *, essential=False, informative=False):
    return Check("form", 1, "form", status, "", "", "", essential=essential, informative=informative)


CHECKS = st.builds(a_check, st.sampled_from(STATUSES), essential=st.booleans(), informative=st.booleans())


@given(st.lists(CHECKS, max_size=6))
def test_the_status_of_a_sheet_is_the_gravest_that_a_decision_may_use(checks):
    sheet = Sheet("public", "t", ON, "s", tuple(checks), ())
    usable = [check for check in checks if not check.informative]
    if any(check.status == "fail" for check in usable):
        assert sheet.status == "fail"
    elif any(check.status == "not_run" and check.essential for check in usable):
        assert sheet.status == "not_run"
    elif any(check.status == "review" for check in usable):
        assert sheet.status == "review"
    else:
        assert sheet.status == ("pass" if any(check.status == "pass" for check in usable) else "not_run")


def test_the_catalogue_is_complete():
    assert {name.partition("/")[0] for name in RULES} == set(CATALOGUE)
    assert {tag for kind in CATALOGUE.values() for tag in kind.needs} <= set(NEEDS)
    applies = {tag for kind in CATALOGUE.values() for tag in (*kind.applies, *kind.essential)}
    forest = RandomForestClassifier(2).fit([[0], [1]], [0, 1])
    known = set[str]().union(*(Subject(model).tags for model in (a_tree(), without_privacy(), overfitted()[0], forest)))
    attacks = {"attached", *(f"{kind}-attack" for kind in get_args(AttackKind))}
    assert applies - known <= {
        *("points", "number", "unit", "second-unit", "schema", "bins", "undeclared-columns"),
        *attacks,
    }


def test_only_checks_of_the_card_and_the_form_pass_without_an_input():
    """The public sheet of a model without a guarantee examines nothing that the model stores."""
    free = {key for key, kind in CATALOGUE.items() if "public" in kind.sheets and not kind.needs}
    of_card = {"guarantee", "rows-per-person", "thresholds", "delta", "noise", "declared", "form", "caveat"}
    assert free <= of_card, (
        f"Add a need, such as `contents`, to the entries {sorted(free - of_card)} of CATALOGUE in report/checks.py: "
        "without a finding they pass, also on sheets that do not make these checks."
    )
