"""The public sheet of a model without a guarantee is the same on every table: nothing of it depends on a row.

Claim of docs/report.md: "The public sheet does not depend on rows".
"""

import io
import zipfile
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.learn.ssrl.greedy import PUBLISHED
from hedgerow.models import read_model
from hedgerow.models.released import released_model
from hedgerow.report.exports import crate_zip
from hedgerow.report.files import file_digests
from hedgerow.report.form import Form
from hedgerow.report.record import record_json
from hedgerow.report.releases import Releases
from hedgerow.report.statement import Statement

SCHEMA = hr.Schema({f"a{i}": hr.Integer(0, 99, [20, 40, 60, 80]) for i in range(10)}, hr.Label("y", (0, 1)))
FEW = hr.Schema({name: SCHEMA[name] for name in ("a0", "a1")}, SCHEMA.label)
OPEN = hr.Schema({name: hr.Integer(0, 99) for name in FEW.names}, SCHEMA.label)
FORM = Form(
    title="wards", workflow="https://a.example/w", project="p", person="https://a.example/p", author="An Author"
)


def rows(n):
    """Return the first rows of one table: two of these are neighbours, or a chain of neighbours apart."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 100, (600, 10)), columns=SCHEMA.names)
    return frame[:n], pd.Series((frame["a0"] + rng.normal(0, 30, 600) > 50).astype(int), name="y")[:n]


def scorecard(n, budget):
    return hr.PrivateScorecardClassifier(1, schema=SCHEMA, random_state=0, budget=budget).fit(*rows(n))


def rule_list(n, budget):
    return hr.PrivateRuleListClassifier(1, schema=FEW, max_rules=2, random_state=0, budget=budget).fit(*rows(n))


def grown_tree(n, budget):
    tree = hr.PrivateTreeClassifier(1, schema=SCHEMA, search="greedy", max_depth=3, random_state=0, budget=budget)
    return tree.fit(*rows(n))


def learned_cuts(n, budget):
    learned = hr.Schema.learn(rows(n)[0], OPEN, epsilon=1, bins=3, random_state=0)
    return hr.PrivateTreeClassifier(1, schema=learned, max_depth=1, budget=budget).fit(*rows(n))


def automatic(n, budget):
    return hr.PrivateAutoClassifier(1, schema=SCHEMA, random_state=0, budget=budget).fit(*rows(n))


def published(mechanism):
    delta = "1e-6" if PUBLISHED[mechanism].spends_delta else None

    def fit(n, budget):
        made = hr.DPGreedyRLClassifier(
            4, mechanism=mechanism, delta=delta, schema=FEW, max_literals=1, random_state=0, budget=budget
        )
        return made.fit(*rows(n))

    return fit


MODELS = {one.__name__: one for one in (scorecard, rule_list, grown_tree, learned_cuts, automatic)}
MODELS |= {mechanism: published(mechanism) for mechanism in PUBLISHED}


def public(model, record, files, schema=None):
    report = hr.Report.of(model, form=FORM, releases=record, on=date(2026, 11, 23), files=files, schema=schema)
    assert not report.subject.is_private
    crate = zipfile.ZipFile(io.BytesIO(crate_zip(report)))
    in_crate = sorted(
        (name.partition("/")[2], crate.read(name)) for name in crate.namelist() if "/data/outputs/" in name
    )
    airlock = record_json(report)
    digests = (*(file.sha256 for file in files), *(() if record is None else (record.head,)))
    assert not [digest for digest in digests if digest in airlock]
    assert all(digest in record_json(report, private=True) for digest in digests)
    statement = Statement.of(report)
    return report.to_json(), report.to_html(), airlock, in_crate, statement.to_json(), statement.to_html()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.claim("the public sheet of a report on a model without a guarantee depends on no row")
def test_no_row_changes_the_public_sheet_of_a_model_without_a_guarantee(name, tmp_path):
    """What was found: seeded scorecards of 4,985 and 4,986 rows had other charges, and so had lists as they grew."""
    sheets, charges = [], set()
    for n in (0, 30, 100, 101, 600):
        record_path = tmp_path / f"{n}.json"
        budget = hr.privacy.FileBudget.create(record_path, 9, "1e-3")
        clf = MODELS[name](n, budget)
        charges.add(tuple((item.purpose, item.mechanism) for item in clf.privacy_.charges))
        record = Releases.load(record_path)
        dated = replace(record, releases=tuple(type(item)(item.charge) for item in record.releases))
        (folder := tmp_path / str(n)).mkdir()
        released_model(clf).save(folder / "model.json")
        rows(n)[0].to_csv(folder / "rows.csv")
        files = file_digests(model=folder / "model.json", training_rows=folder / "rows.csv", ledger=record_path)
        sheets.append(public(clf, dated, files))
    assert all(sheet == sheets[0] for sheet in sheets)
    assert name != "scorecard" or len(charges) > 1  # what is left out does depend on them


MIXED = hr.Schema({"age": hr.Integer(0, 99, (50,)), "smoker": hr.Boolean()}, hr.Label("ill", ("no", "yes")))
RULES = (
    "if age > 50 then no (no 40, yes 30)\nelse yes (no 3, yes 9)",
    "if age > 73 then no (no 40, yes 30)\nif smoker then yes (no 0, yes 4)\nelse yes (no 3, yes 9)",
    "if smoker then no\nelse yes",
)


@pytest.mark.parametrize("schema", [MIXED, None])
def test_the_public_sheet_of_a_file_of_another_program_depends_on_no_row(schema, tmp_path):
    """Until 0.2.0 it had the digest of the schema, to which the reader adds the thresholds of the model."""
    sheets = []
    for text in RULES:
        (tmp_path / "rules.txt").write_text(text)
        sheets.append(public(read_model(tmp_path / "rules.txt", schema), None, ()))
    assert all(sheet == sheets[0] for sheet in sheets)


def test_categories_that_a_file_names_do_not_change_its_public_sheet(tmp_path):
    schema = hr.Schema({"ward": hr.Categorical(("a", "b", "c"))}, MIXED.label)
    leaves = hr.models.Leaf((3, 4)), hr.models.Leaf((5, 0))
    tree = hr.models.Tree(
        schema,
        hr.models.Split(hr.schema.Literal("ward", "=", ("a",)), *leaves),
        hr.privacy.PrivacyCard.none("an example", software="other"),
    )
    text, sheets = tree.to_pmml(), []
    for changed in (text, text.replace('<Value value="c" />', "")):
        (tmp_path / "tree.pmml").write_text(changed, encoding="utf-8")
        sheets.append(public(read_model(tmp_path / "tree.pmml", schema), None, ()))
    assert changed != text
    assert sheets[0] == sheets[1]


def test_the_public_sheet_of_a_foreign_tree_depends_on_no_row():
    """Until 0.2.0 it stated whether the model compares a number."""
    X = np.array([[a, s] for a in (20, 80) for s in (0, 1)] * 10)
    trees = [DecisionTreeClassifier().fit(X, y) for y in (X[:, 0] > 50, X[:, 1] > 0, (X[:, 0] > 50) & (X[:, 1] > 0))]
    sheets = [public(tree, None, (), schema=replace(MIXED, label=hr.Label("ill", (0, 1)))) for tree in trees]
    assert all(sheet == sheets[0] for sheet in sheets)


def test_the_sheet_for_the_board_has_every_charge():
    clf = scorecard(600, None)
    report = hr.Report.of(clf, form=FORM)
    (grid,) = report.board.section("charges").grids
    assert [row[0].text for row in grid.rows] == [charge.purpose for charge in clf.privacy_.charges]
    assert "epsilon = 1 and delta = 0" in report.public.section("charges").answer


def test_the_public_record_does_not_depend_on_rows(tmp_path):
    """Neither rows, nor their files, nor attacks on them change it; nor do other rows."""
    X, y = rows(600)
    learner = hr.PrivateTreeClassifier(1, schema=FEW, max_depth=1, release_counts=False)
    attack, clf = hr.audit.exact_membership(learner, X, y), learner.fit(X, y)
    released_model(clf).save(tmp_path / "model.json")
    X.to_csv(tmp_path / "rows.csv")
    public_files = file_digests(model=tmp_path / "model.json")
    given = (
        {"files": public_files},
        {"train": (X, y), "files": (*public_files, *file_digests(training_rows=tmp_path / "rows.csv"))},
        {"train": rows(300), "test": (X[300:], y[300:]), "files": public_files},
        {"train": (X, y), "attacks": attack, "files": public_files},
    )
    reports = [hr.Report.of(clf, form=FORM, on=date(2026, 11, 23), **item) for item in given]
    assert len({record_json(report) for report in reports}) == 1
    assert len({record_json(report, private=True) for report in reports[1:]}) == len(reports) - 1
