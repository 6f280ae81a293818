"""Reports as they are printed: the pages of the PDF that a browser makes, whatever the model."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.charge import Charge
from hedgerow.report import Form, PastRelease, Releases, Report, Statement
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Number, Real, Schema
from tests.report.subjects import CARD

MOST = {"public": 3, "board": 8}
TOWNS = tuple(f"a town of the district {i}" for i in range(30))
ATTRIBUTES = {
    "years_since_admission": Integer(0, 99, cuts=tuple(range(10, 100, 10))),
    "town": Categorical(TOWNS),
    "creatinine_at_discharge": Real(0, 3, cuts=(0.5, 1, 1.5, 2)),
    "smoker": Boolean(),
    **{f"answer_to_question_{i}": Integer(0, 9, cuts=(2, 4, 6)) for i in range(12)},
}
SCHEMA = Schema(ATTRIBUTES, Label("outcome", ("not readmitted", "readmitted")))
LONG = "All adults who were discharged alive in 2024; stays of less than a day, and moves between wards, are left out."
FORM = Form(
    title="Readmission within thirty days",
    **dict.fromkeys(("purpose", "population", "rows", "unit", "curator", "region", "cut_points"), LONG),
    **dict.fromkeys(("preprocessing", "tuning", "limits", "relation", "residual_risk"), LONG),
    sensitive=("town", "smoker", "years_since_admission"),
)
RECORD = Releases(
    tuple(PastRelease(Charge(f"counts of question {i}", Fraction(1, 10)), "2026-11-23T01:02:03Z") for i in range(40)),
    Fraction(20),
    "ledger",
    entries=80,
)


def a_table(rows, seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        "years_since_admission": rng.integers(0, 100, rows),
        "town": rng.choice(TOWNS, rows),
        "creatinine_at_discharge": rng.random(rows) * 3,
        "smoker": rng.random(rows) < 0.5,
        **{f"answer_to_question_{i}": rng.integers(0, 10, rows) for i in range(12)},
    }
    frame = pd.DataFrame(columns)
    ill = frame["years_since_admission"] + rng.normal(0, 40, rows) > 60
    return frame, pd.Series(np.where(ill, "readmitted", "not readmitted"), name="outcome")


def a_constant_list():
    return RuleList(SCHEMA, (Rule((), (2400, 600)),), CARD)


def a_tree_of_64_leaves():
    def grown(depth):
        literal = Literal(f"answer_to_question_{depth}", "<=", (4,))
        return Leaf((depth, -2)) if depth == 6 else Split(literal, grown(depth + 1), grown(depth + 1))

    return Tree(SCHEMA, grown(0), CARD)


def a_scorecard():
    rows, _ = a_table(500)
    schema = Schema(ATTRIBUTES, Number("length_of_stay", 0, 100))
    return hr.PrivateScorecardRegressor(epsilon=1, schema=schema).fit(rows, rows["years_since_admission"])


def an_overfitted_tree():
    encoded = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(encoded, DecisionTreeClassifier(random_state=0)).fit(*a_table(3600))
    assert model[-1].get_n_leaves() > 600
    return model


@pytest.fixture
def pages_of(tmp_path):
    """Return a function that prints a page by Chromium, and counts the pages of the PDF."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium")

    def count(page):
        pdf = page.with_suffix(".pdf")
        options = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            f"--user-data-dir={tmp_path / 'home'}",
        )
        call = (chromium, *options, f"--print-to-pdf={pdf}", "--no-pdf-header-footer", page.as_uri())
        subprocess.run(call, check=True, capture_output=True, timeout=120)
        return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf.read_bytes()))

    return count


OTHERS = (an_overfitted_tree, a_constant_list, a_scorecard)
SMALLER = [pytest.param(make, marks=pytest.mark.slow) for make in (a_constant_list, a_scorecard, a_tree_of_64_leaves)]


@pytest.mark.parametrize("make", [an_overfitted_tree, *SMALLER])
def test_reports_on_paper_are_short_whatever_the_model(make, pages_of, tmp_path):
    model, train, test = make(), a_table(3600), a_table(500, seed=1)
    if make is a_scorecard:
        train, test = ((rows, rows["years_since_admission"]) for rows, _ in (train, test))
    schema = SCHEMA if make is an_overfitted_tree else None
    report = Report.of(model, form=FORM, releases=RECORD, train=train, test=test, schema=schema)
    public, board, *_ = report.save(tmp_path / "report.html")
    pages = {"public": pages_of(public), "board": pages_of(board)}
    assert {kind: 1 <= pages[kind] <= most for kind, most in MOST.items()} == {"public": True, "board": True}, pages


def an_attack():
    learner, (X, y) = DecisionTreeClassifier(), (np.arange(100).reshape(-1, 1) % 7, np.arange(100) % 2)
    return hr.audit.lira(learner, X, y, repeats=5, random_state=0).record


@pytest.mark.parametrize(
    "make", [a_tree_of_64_leaves, *(pytest.param(other, marks=pytest.mark.slow) for other in OTHERS)]
)
def test_a_statement_is_one_page_and_the_checklist_another(make, pages_of, tmp_path):
    model, train = make(), a_table(3600)
    if make is a_scorecard:
        train = (train[0], train[0]["years_since_admission"])
    schema = SCHEMA if make is an_overfitted_tree else None
    report = replace(
        Report.of(model, form=FORM, releases=RECORD, train=train, schema=schema), attacks=(an_attack(),) * 3
    )
    for private in (False, True):
        text = Statement.of(report, private=private).to_html()
        without = re.sub('<section class="checklist">.*?</section>', "", text, flags=re.DOTALL)
        for name, content, pages in (("both", text, 2), ("statement", without, 1)):
            (tmp_path / f"{name}.html").write_text(content, encoding="utf-8")
            assert pages_of(tmp_path / f"{name}.html") == pages


def test_pages_are_counted(pages_of, tmp_path):
    page = tmp_path / "four.html"
    page.write_text("<p>one" + '<p style="break-before: page">one more' * 3)
    assert pages_of(page) == 4
