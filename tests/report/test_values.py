"""Values of sheets for programs: numbers, flags, codes, dates and digests with stable ids, and never prose."""

import json
import re
from datetime import date
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import hedgerow as hr
from hedgerow.report import Comparison, Form, PastRelease, Releases, Report, Statement
from tests.evaluation.models import ATTRIBUTES, fitted, rows
from tests.report.subjects import (
    CARD,
    COUNTED,
    SCHEMA,
    a_table,
    a_tree,
    no_guarantee_reason,
    overfitted,
    without_privacy,
)

ID = re.compile("[a-z][a-z0-9_.]*")
VALUE = re.compile("[A-Za-z0-9_.,:/+-]+")  # codes, ISO dates and digests have no spaces
FORM = Form(title="The wards", purpose="To show values.", sensitive=("smoker",))
RECORD = Releases((PastRelease(CARD.charges[0], "2026-01-02T03:04:05Z"), PastRelease(CARD.charges[1])), None)


def forests():
    """Yield a forest, and a boosted model whose leaves are not known, by name."""
    X, y = a_table()
    yield "forest", RandomForestClassifier(5, random_state=0).fit(X, y)
    yield "boosted", HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(X, y)


def reports():
    """Yield reports that together have all sections, of classes and of numbers, by name."""
    train = a_table()
    half = train[0].index % 2 == 0
    pairs = {
        "train": (train[0][half], train[1][half]),
        "test": (train[0][~half], train[1][~half]),
        "on": date(2026, 11, 29),
    }
    yield "private", Report.of(a_tree(COUNTED), form=FORM, releases=RECORD, **pairs)
    yield "void", Report.of(a_tree(no_guarantee_reason()), form=FORM, releases=RECORD, **pairs)
    yield "exact", Report.of(without_privacy(), form=FORM, **pairs)
    model, schema = overfitted()
    yield "another library", Report.of(model, schema=schema)
    for name, forest in forests():
        yield name, Report.of(forest, schema=SCHEMA, form=FORM, **pairs)
    X, y = train
    private = hr.PrivateTreeClassifier(epsilon=1, max_depth=1, schema=SCHEMA, release_counts=True)
    results = hr.audit.exact_membership(private, X, y), hr.audit.lira(private, X, y, repeats=5, random_state=0)
    attacks = [result.record for result in results]
    households = Form(title="Wards", rows_per_unit=2, unit_column="person", second_unit="house", sensitive=("smoker",))
    named = X.assign(person=np.arange(90) // 2, house=np.arange(90) // 6)
    yield "attacks", Report.of(private.fit(X, y), train=(X, y), attacks=attacks, form=FORM)
    yield "households", Report.of(private.fit(X, y), train=(named, y), form=households)
    for target in ("classes", "number"):
        learner, frame = fitted(target, "scorecard"), rows(400, target)
        evaluated = hr.evaluate(learner, frame, epsilon=1, by="sex")
        pair = frame[list(ATTRIBUTES)], frame["y"]
        yield f"evaluated {target}", Report.of(learner, evaluation=evaluated, train=pair, by=["sex"])
        held_out = pair[0], pair[1][::-1].set_axis(pair[0].index)
        yield f"tree of {target}", Report.of(fitted(target, "tree"), train=pair, test=held_out, by=["sex"])


REPORTS = dict(reports())
SHEETS = {
    f"{name}, {sheet.kind}": sheet.to_dict()
    for name, report in REPORTS.items()
    for sheet in (report.public, report.board)
    if sheet is not None
}
_COMPARED = Comparison.of({"A tree": REPORTS["private"], "An exact tree": REPORTS["exact"]})
SHEETS |= {
    f"statement, {name}, {'board' if private else 'public'}": Statement.of(report, private=private).to_dict()
    for name, report in REPORTS.items()
    for private in ((False,) if report.board is None else (False, True))
}
SHEETS |= {"compared, public": _COMPARED.public.to_dict(), "compared, board": _COMPARED.board.to_dict()}


def faults(value: Any) -> list[str]:
    """Return what is wrong with a value: it is no number, flag, code, date or digest."""
    if isinstance(value, dict):
        low, high, confidence = (value["interval"][end] for end in ("low", "high", "confidence"))
        is_interval = set(value) == {"value", "interval"} and low <= high and 0 < confidence < 1
        return [*faults(value["value"]), *([] if is_interval else [f"no interval: {value}"])]
    is_code = isinstance(value, str) and VALUE.fullmatch(value) is not None
    return [] if value is None or isinstance(value, (int, float)) or is_code else [f"prose: {value!r}"]


@pytest.mark.parametrize("name", SHEETS)
def test_facts_have_unique_ids_and_values_without_prose(name):
    for section in SHEETS[name]["sections"]:
        ids = [fact["id"] for fact in section["facts"]]
        assert len(set(ids)) == len(ids)
        for fact in section["facts"]:
            assert ID.fullmatch(fact["id"]), fact
            assert not faults(fact["value"]), fact
            if fact["interval"] is not None:
                assert not faults({"value": fact["value"], "interval": fact["interval"]})


@pytest.mark.parametrize("name", SHEETS)
def test_tables_have_unique_ids_and_cells_without_prose(name):
    for section in SHEETS[name]["sections"]:
        ids = [table["id"] for table in section["tables"]]
        assert len(set(ids)) == len(ids)
        for table in section["tables"]:
            columns = [column["id"] for column in table["columns"]]
            assert len(set(columns)) == len(columns)
            assert all(map(ID.fullmatch, [*ids, *columns])), (ids, columns)
            values = [place for place, column in enumerate(table["columns"]) if column["type"] == "value"]
            for row in table["rows"]:
                assert not [fault for place in values for fault in faults(row[place])], (table["id"], row)


def test_a_column_of_text_is_a_name_or_the_listing_of_the_model():
    texts = {
        (section["id"], column["id"])
        for sheet in SHEETS.values()
        for section in sheet["sections"]
        for table in section["tables"]
        for column in table["columns"]
        if column["type"] == "text"
    }
    names = {"group", "leaf", "predicts", "attribute", "domain", "attack", "method", "learner", "bin"}
    assert {column for _, column in texts if not column.startswith("column_")} <= names
    assert {section for section, column in texts if column.startswith("column_")} == {"model"}


def test_most_facts_have_a_value():
    """Those without are texts of people, or names of the schema."""
    missing = {
        fact["id"]
        for name, sheet in SHEETS.items()
        if not name.startswith("statement")
        for section in sheet["sections"]
        if section["id"] not in ("statements", "decision")
        for fact in section["facts"]
        if fact["value"] is None
    }
    assert missing <= {
        "card_guarantee", "card_notes", "label", "kind", "software", "digest", "no_guarantee", "guarantee",
        "sensitive_leaves", "dataset", "attack", "model_sha256", "content_digest", "training_rows_sha256",
        "held_out_rows_sha256",
    }  # fmt: skip


def test_measures_have_intervals():
    facts = {fact["id"]: fact for fact in REPORTS["evaluated classes"].public.section("evaluation").to_dict()["facts"]}
    assert facts["accuracy"]["interval"]["low"] <= facts["accuracy"]["value"] <= facts["accuracy"]["interval"]["high"]
    (grid,) = REPORTS["evaluated classes"].public.section("evaluation").to_dict()["tables"]
    place = [column["id"] for column in grid["columns"]].index("accuracy")
    assert set(grid["rows"][0][place]) == {"value", "interval"}
    board = {fact["id"]: fact for fact in REPORTS["exact"].board.section("accuracy").to_dict()["facts"]}
    assert board["gain_held_out"]["interval"]["low"] < board["gain_held_out"]["value"]
    assert json.dumps(SHEETS, allow_nan=False)
