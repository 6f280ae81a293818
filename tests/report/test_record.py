"""Airlock records: valid by two validators, as public as their sheet, and mapped onto SATRE's and ACRO's terms."""

import hashlib
import json
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import fields, replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import fastjsonschema
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit.attack_record import AttackMeasure
from hedgerow.privacy.charge import Charge
from hedgerow.report import Appetite, Form, PastRelease, Releases, Report, airlock_record, airlock_schema
from hedgerow.report.checks import CATALOGUE, RULES, STATUSES, rule_text
from hedgerow.report.files import FileDigest
from hedgerow.report.record import SCHEMA, record_json
from hedgerow.report.standards import ACRO_STATUS, RISKS, SATRE, SATRE_VERSION
from tests.report.subjects import CARD, a_table, a_tree, no_guarantee_reason, overfitted, without_privacy

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
ROOT = Path(__file__).parents[2]
VALIDATOR = jsonschema.Draft202012Validator(airlock_schema())
SECOND = fastjsonschema.compile(airlock_schema())  # an independent implementation
FROZEN = "1fe0032267ba21f15dd84fd98f1b972f64555e62227b2de033c822cab1029119"
"""The SHA-256 of the published schema: another form of records has another version."""
STATEMENTS = json.loads((Path(__file__).with_name("satre-2.0.1.json")).read_text(encoding="utf-8"))
ACRO_RISKS = {  # the keys of acro/risks.json, version 1.0.1, https://github.com/AI-SDC/ACRO
    "AuxiliaryInformation", "ClassDisclosure", "Differencing", "Dominance", "ImplicitTables", "LowCount", "LowDOF",
}  # fmt: skip
FILES = tuple(
    FileDigest(role, f"{role}.file", 10, hashlib.sha256(role.encode()).hexdigest())
    for role in ("model", "training_rows", "held_out_rows", "ledger", "evaluation", "form", "appetite")
)
RECORD = Releases(tuple(map(PastRelease, CARD.charges)), Fraction(2), "budget", entries=3, head="a" * 64)
ON = date(2026, 11, 29)
ATTACK = {
    "format": "hedgerow/attack",
    "version": 1,
    "private": True,
    "software": "0.3.0",
    "attack": {"kind": "lira", "method": "online", "repeats": 12},
    "subject": {"learner": "PrivateTreeClassifier"},
    "measures": [{"code": "auc", "value": 0.6, "low": 0.5, "high": 0.7, "confidence": 0.95}],
    "digest": "0" * 64,
}


def a_report(model, **given):
    """Return a report on a model with a form, a record, and the digests of all files."""
    form = Form(title="wards", purpose="p", sensitive=("smoker",))
    files = (replace(FILES[0], content=model.to_dict()["digest"]), *FILES[1:])
    return Report.of(model, form=form, releases=RECORD, files=files, on=ON, **given)


def reports():
    """Yield reports on models with and without a guarantee, with and without rows, by name."""
    yield "private", a_report(a_tree())
    yield "private, rows", a_report(a_tree(), train=a_table(), test=a_table())
    yield "void", a_report(a_tree(no_guarantee_reason()), train=a_table())
    yield "exact", a_report(without_privacy(), train=a_table())
    yield "nothing given", Report.of(a_tree(), on=ON)
    model, schema = overfitted()
    yield "another library", Report.of(model, schema=schema, on=ON)


REPORTS = dict(reports())


def faults(record):
    """Return what two validators say against a record; they agree on whether it is valid."""
    result = [fault.message for fault in VALIDATOR.iter_errors(record)]
    with pytest.raises(fastjsonschema.JsonSchemaException) if result else nullcontext():
        SECOND(record)
    return result


def records(report):
    """Return the records of all sheets of a report, read back from JSON."""
    privates = (False,) if report.board is None else (False, True)
    return [json.loads(record_json(report, private=private)) for private in privates]


def test_the_schema_is_one_and_the_published_file():
    jsonschema.Draft202012Validator.check_schema(airlock_schema())
    assert airlock_schema()["$id"] == "urn:hedgerow:airlock-record:1"
    published = ROOT / "docs" / "reference" / SCHEMA.name
    assert published.read_bytes() == SCHEMA.read_bytes()
    assert hashlib.sha256(SCHEMA.read_bytes()).hexdigest() == FROZEN


@pytest.mark.parametrize("name", REPORTS)
def test_records_are_valid(name):
    for record in records(REPORTS[name]):
        assert not faults(record)


def test_the_schema_has_every_entry_of_forms_and_measures_and_every_status():
    schema = airlock_schema()
    assert set(schema["properties"]["request"]["properties"]) == {entry.name for entry in fields(Form)}
    assert set(schema["$defs"]["measure"]["properties"]) == {entry.name for entry in fields(AttackMeasure)}
    assert set(schema["$defs"]["status"]["enum"]) == set(STATUSES)


@pytest.mark.parametrize(
    ("sheet", "path", "value"),
    [
        ("public", ("colour",), "red"),
        ("public", ("private",), True),
        ("public", ("sheets", 0, "sheet"), "board"),
        ("public", ("inputs", 0, "role"), "training_rows"),
        ("public", ("checks", 0, "informative"), True),
        ("public", ("attacks",), [ATTACK]),
        ("public", ("checks", 0, "value"), "about 3"),
        ("public", ("checks", 0, "status"), "fine"),
        ("public", ("object", "sha256"), "0" * 63),
        ("public", ("guarantee", "loss", "epsilon"), "1"),
        ("public", ("decision", "decision"), "release"),  # without reasons and checkers
        ("public", ("decision", "checkers"), [{"name": None, "date": None}]),
        ("board", ("private",), False),
    ],
)
def test_other_records_are_refused(sheet, path, value):
    record = deepcopy(airlock_record(REPORTS["private, rows"], private=sheet == "board"))
    part = record
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    assert faults(record)


def test_a_decision_needs_reasons_and_two_different_checkers():
    record = json.loads(record_json(REPORTS["private"]))
    assert record["decision"] == {
        "decision": None,
        "reasons": None,
        "checkers": [{"name": None, "date": None}, {"name": None, "date": None}],
    }
    decided = {"decision": "release", "reasons": "small epsilon"}
    item, other = {"name": "A", "date": "2026-11-29"}, {"name": "B", "date": "2026-11-29"}
    assert not faults({**record, "decision": {**decided, "checkers": [item, other]}})
    assert faults({**record, "decision": {**decided, "checkers": [item, item]}})
    assert faults({**record, "decision": {**decided, "reasons": "", "checkers": [item, other]}})
    assert faults({**record, "decision": {**decided, "checkers": [item, {"name": "B", "date": None}]}})


def test_hashes_are_those_of_the_sheets_that_are_written(tmp_path):
    report = REPORTS["private, rows"]
    for name in ("r.html", "r.json"):
        report.save(tmp_path / name)
    public, board = records(report)
    written = {
        hashlib.sha256(path.read_bytes()).hexdigest(): ("board" if "PRIVATE" in path.name else "public")
        for path in tmp_path.iterdir()
        if not path.name.endswith(".csv")
    }
    assert {item["sha256"]: item["sheet"] for item in board["sheets"]} == written
    assert {item["sha256"] for item in public["sheets"]} == {key for key, sheet in written.items() if sheet == "public"}


def test_hashes_of_rows_are_for_the_board():
    public, board = records(REPORTS["private, rows"])
    assert {file["role"] for file in public["inputs"]} == {"ledger", "evaluation", "form", "appetite"}
    assert {file["role"] for file in board["inputs"]} == {file.role for file in FILES} - {"model"}
    assert public["object"] == board["object"]
    assert public["object"]["sha256"] == FILES[0].sha256


@pytest.mark.parametrize("name", ["void", "exact"])
def test_hashes_of_what_depends_on_rows_are_for_the_board(name):
    public, board = records(REPORTS[name])
    assert public["object"] | {"bytes": None, "sha256": None, "content_sha256": None} == public["object"]
    assert board["object"]["sha256"] == FILES[0].sha256
    assert public["ledger"]["head"] is None
    assert board["ledger"]["head"] == "a" * 64
    assert {item["role"] for item in public["inputs"]} == {"evaluation", "form", "appetite"}
    for digest in (FILES[0].sha256, FILES[1].sha256, FILES[2].sha256, FILES[3].sha256, "a" * 64):
        assert digest not in json.dumps(public)


def test_a_ledger_head_is_public_only_with_a_guarantee():
    seeded = PastRelease(Charge("seeded", Fraction(0), no_guarantee="seeded"))
    for releases, head in ((RECORD, "a" * 64), (replace(RECORD, releases=(*RECORD.releases, seeded)), None)):
        (record,) = records(Report.of(a_tree(), releases=releases))
        assert record["ledger"]["head"] == head
    assert REPORTS["nothing given"].releases is None
    assert records(REPORTS["nothing given"])[0]["ledger"] is None


def test_the_checks_are_those_of_the_sheet():
    report = REPORTS["private, rows"]
    for record, sheet in zip(records(report), (report.public, report.board), strict=True):
        assert (record["status"], record["decides"]) == (sheet.status, sheet.decides)
        assert [check["id"] for check in record["checks"]] == [check.key for check in sheet.checks]
        assert {check["id"] for check in record["checks"]} <= set(CATALOGUE)
        missing = {check["id"] for check in record["checks"] if check["status"] == "not_run"}
        assert {check["check"] for check in record["not_examined"]} == missing
        assert record["standards"]["acro"]["status"] == ACRO_STATUS[sheet.status]


@pytest.mark.parametrize("name", REPORTS)
def test_intervals_contain_their_values(name):
    for record in records(REPORTS[name]):
        for item in record["checks"]:
            if item["interval"] is not None:
                assert item["interval"]["low"] <= item["value"] <= item["interval"]["high"]


def test_the_guarantee_of_a_person_is_in_the_record():
    for rows, epsilon in ((None, None), (1, 1), (6, 6)):
        (record,) = records(Report.of(a_tree(), form=Form(rows_per_unit=rows)))
        person = record["guarantee"]["person"]
        assert (person and person["loss"]["epsilon"]) == epsilon
        assert record["guarantee"]["loss"]["epsilon"] == 1


def test_every_check_has_its_rule_with_the_thresholds_of_the_risk_appetite():
    appetite = Appetite(fewest_rows=23, strong_epsilon=0.25, largest_epsilon=7, dominance=0.13, most_guessed=0.61)
    rules = {key: rule_text(key, appetite) for key in CATALOGUE}
    assert all(rules.values())
    assert "23 rows" in rules["small-leaves"]
    assert "13 %" in rules["dominance"]
    assert "61 %" in rules["separation"]
    for report in REPORTS.values():
        checks = [check for record in records(report) for check in record["checks"]]
        assert all(check["threshold"] for check in checks)
        assert {check["rule"] for check in checks} <= set(RULES)
        assert all(check["rule"].partition("/")[0] == check["id"] for check in checks)


def test_thresholds_of_a_risk_appetite_are_in_the_record():
    (record,) = records(Report.of(a_tree(), appetite=Appetite(fewest_rows=20)))
    assert record["appetite"]["thresholds"]["fewest_rows"] == 20
    assert record["appetite"]["differences"] == [{"name": "fewest_rows", "default": 10, "value": 20}]
    assert records(REPORTS["private"])[0]["appetite"]["differences"] == []


def test_every_satre_statement_is_mapped_to_the_record():
    assert STATEMENTS["version"] == SATRE_VERSION
    assert list(SATRE) == [statement["statement"] for statement in STATEMENTS["statements"]]
    record = airlock_record(REPORTS["private"])
    assert {part for parts in SATRE.values() for part in parts} <= set(record)
    mapped = record["standards"]["satre"]["statements"]
    assert mapped == {name: list(parts) for name, parts in SATRE.items()}


def test_the_documentation_has_the_same_mapping():
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    importance = {item["statement"]: item["importance"] for item in STATEMENTS["statements"]}
    for statement, parts in SATRE.items():
        (line,) = (line for line in text.splitlines() if line.startswith(f"| {statement} "))
        assert line.split("|")[2].strip() == importance[statement]
        assert line.split("|")[4].strip() == ", ".join(f"`{part}`" for part in parts)


def test_statuses_and_risks_are_those_of_acro():
    assert set(ACRO_STATUS) == set(STATUSES)
    assert set(ACRO_STATUS.values()) == {"pass", "review", "fail"}
    assert set(RISKS) <= set(CATALOGUE)
    assert {risk for risks in RISKS.values() for risk in risks} <= ACRO_RISKS


def test_attacks_are_in_the_private_record_alone():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 2)), rng.integers(0, 2, 40)
    learner = hr.PrivateTreeClassifier(epsilon=0.5, max_depth=1)
    attacks = (
        hr.audit.exact_membership(learner, X, y).record,
        hr.audit.lira(learner, X, y, repeats=5, random_state=0).record,
    )
    report = replace(REPORTS["private, rows"], attacks=attacks)
    public, board = records(report)
    assert not faults(public)
    assert not faults(board)
    assert public["attacks"] == []
    assert board["attacks"] == [json.loads(attack.to_json()) for attack in attacks]
    assert [attack["attack"]["kind"] for attack in board["attacks"]] == ["exact-membership", "lira"]
