"""Airlock records: a sheet of a report as data for output checking, valid against a published JSON Schema.

A record follows the rules of its sheet: the public record contains nothing that depends on rows without a charge.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from hedgerow._version import __version__
from hedgerow.privacy.charge import total_rho
from hedgerow.privacy.unit import Unit
from hedgerow.report.appetite import Appetite
from hedgerow.report.checks import CATALOGUE, Check, interval_dict, rule_text
from hedgerow.report.contents import json_text
from hedgerow.report.files import PRIVATE_ROLES, sha256_of
from hedgerow.report.form import Form
from hedgerow.report.releases import Releases
from hedgerow.report.report import Report
from hedgerow.report.standards import ACRO_STATUS, ACRO_VERSION, SATRE, SATRE_VERSION, risks_of
from hedgerow.report.subject import Subject
from hedgerow.report.units import person_bound
from hedgerow.text.language import in_language

FORMAT, VERSION = "hedgerow/airlock-record", 1
SCHEMA = Path(__file__).with_name("airlock-record-1.schema.json")


def airlock_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of airlock records.

    Examples
    --------
    >>> airlock_schema()["$id"]
    'urn:hedgerow:airlock-record:1'
    """
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


def airlock_record(report: Report, *, private: bool = False) -> dict[str, Any]:
    """Return the record of the public sheet, or of the board's sheet (**private**), as JSON-ready data.

    The decision is empty: people fill it in, with reasons and two checkers. ValueError if `private` is True and there
    is no board's sheet.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> clf = hr.PrivateTreeClassifier(epsilon=1, max_depth=1, schema=data.schema).fit(data.frame, data.labels)
    >>> record = airlock_record(hr.Report.of(clf))
    >>> record["sheet"], record["guarantee"]["loss"]["epsilon"], record["decision"]["decision"]
    ('public', 1.0, None)
    """
    sheet, subject = report.sheet(private=private), report.subject
    not_run = sheet.by_status("not_run")
    with in_language(report.language):
        checks = [_check(check, sheet.appetite) for check in sheet.checks]
    return {
        "format": FORMAT,
        "version": VERSION,
        "sheet": sheet.kind,
        "private": sheet.is_private,
        "date": sheet.date.isoformat(),
        "software": {"name": "hedgerow", "version": __version__},
        "request": _request(subject.form),
        "object": _object(report, is_shown=subject.is_private or private),
        "inputs": _inputs(report, private=private),
        "guarantee": _guarantee(subject, private=private),
        "ledger": None if report.releases is None else _ledger(report.releases, is_shown=private or _is_public(report)),
        "appetite": sheet.appetite.stated(),
        "status": sheet.status,
        "decides": sheet.decides,
        "checks": checks,
        "attacks": [attack.to_dict() for attack in report.attacks] if private else [],
        "not_examined": [
            {"check": check.key, "essential": check.essential, "needs": list(CATALOGUE[check.key].needs)}
            for check in not_run
        ],
        "decision": {"decision": None, "reasons": None, "checkers": [{"name": None, "date": None}] * 2},
        "sheets": _sheets(report, private=private),
        "standards": {
            "satre": {"version": SATRE_VERSION, "statements": {name: list(parts) for name, parts in SATRE.items()}},
            "acro": {"version": ACRO_VERSION, "status": ACRO_STATUS[sheet.status]},
        },
    }


def record_json(report: Report, *, private: bool = False) -> str:
    """Return the record of a sheet as JSON text, with the errors of `airlock_record`."""
    return json_text(airlock_record(report, private=private))


def _request(form: Form) -> dict[str, Any]:
    return {name: None if value == "" else value for name, value in form.to_dict().items()}


def _object(report: Report, *, is_shown: bool) -> dict[str, Any]:
    """Return the released object; without a guarantee, its digest confirms guesses of rows (board only)."""
    released = report.subject.released
    file = next((file for file in report.files if file.role == "model"), None)
    content = None if released is None or not is_shown else released.to_dict()["digest"]
    return {
        "kind": report.subject.kind,
        "name": None if file is None else file.name,
        "bytes": file.bytes if file is not None and is_shown else None,
        "sha256": file.sha256 if file is not None and is_shown else None,
        "content_sha256": content,
    }


def _inputs(report: Report, *, private: bool) -> list[dict[str, Any]]:
    """Return the files from which the report was made; only the board's record includes files of rows."""
    hidden = {"model"} if private else {"model", *PRIVATE_ROLES, *(() if _is_public(report) else ("ledger",))}
    return [file.to_dict() for file in report.files if file.role not in hidden]


def _is_public(report: Report) -> bool:
    """Return whether the hash of the release record is public; it covers the digests of all released models."""
    releases = report.releases
    charges = () if releases is None else releases.charges
    return report.subject.is_private and not any(charge.no_guarantee for charge in charges)


def _guarantee(subject: Subject, *, private: bool) -> dict[str, Any]:
    card, person = subject.card, person_bound(subject)
    status, loss = "none", None
    if card.epsilon is not None:
        status = "stated" if card.is_private else "void"
        rho = total_rho(card.planned) if card.is_private or private else None  # otherwise a function of the rows
        loss = _loss(card.epsilon, card.delta or Fraction(0), rho)
    of_person = None
    if person is not None:
        of_person = {"steps": person.steps, "loss": _loss(person.epsilon, person.delta, person.rho)}
    return {
        "status": status,
        "loss": loss,
        "unit": _unit(card.unit),
        "person": of_person,
        "neighbours": "add_remove_row" if card.unit is None else "add_remove_unit",
        "reasons": [reason.to_dict() for reason in card.no_guarantee],
        "noise": card.noise.to_dict(),
    }


def _loss(epsilon: Fraction, delta: Fraction, rho: Fraction | None) -> dict[str, Any]:
    amounts = {"epsilon": epsilon, "delta": delta, "rho": rho}
    result = dict[str, Any]()
    for name, amount in amounts.items():
        result[name] = None if amount is None else float(amount)
        result[f"{name}_exact"] = None if amount is None else str(amount)
    return result


def _unit(unit: Unit | None) -> dict[str, Any] | None:
    return None if unit is None else unit.to_dict()


def _ledger(releases: Releases, *, is_shown: bool) -> dict[str, Any]:
    by_unit = releases.by_unit.items()
    return {
        "kind": releases.kind,
        "dataset": releases.dataset or None,
        "entries": releases.entries,
        "head": releases.head or None if is_shown else None,
        "releases": len(releases.releases),
        "cap": None if releases.cap is None else float(releases.cap),
        "totals": [{"unit": _unit(unit), "loss": _loss(own.epsilon, own.delta, own.rho)} for unit, own in by_unit],
    }


def _check(check: Check, appetite: Appetite) -> dict[str, Any]:
    return {
        "id": check.key,
        "rule": check.rule,
        "version": check.version,
        "section": check.section,
        "status": check.status,
        "value": check.value,
        "interval": interval_dict(check.interval),
        "limit": check.limit,
        "threshold": check.threshold or rule_text(check.key, appetite),
        "source": check.source,
        "text": check.sentence,
        "informative": check.informative,
        "essential": check.essential,
        "acro": ACRO_STATUS[check.status],
        "risks": risks_of(check.key),
    }


def _sheets(report: Report, *, private: bool) -> list[dict[str, Any]]:
    """Return the hashes of the written sheets: the public sheet and, for the board, also the board's sheet."""
    result = list[dict[str, Any]]()
    for is_board in (False, True) if private else (False,):
        texts = {"text/html": report.to_html(private=is_board), "application/json": report.to_json(private=is_board)}
        for kind, text in texts.items():
            content = text.encode()
            name = "board" if is_board else "public"
            result.append({"sheet": name, "media_type": kind, "bytes": len(content), "sha256": sha256_of(content)})
    return result
