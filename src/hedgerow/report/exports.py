"""Reports for other programs: a Five Safes RO-Crate of the public sheet, ACRO's results.json, a registry's record.

Crates follow version 0.4 of the profile (https://w3id.org/5s-crate/0.4), as a zipped bag. Their disclosure check is
pending, because the board decides after the report is made.
"""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from hedgerow.errors import ArgumentError
from hedgerow.privacy.card import SOFTWARE, PrivacyCard
from hedgerow.privacy.charge import total_rho
from hedgerow.report.form import Form
from hedgerow.report.promises import mechanism_words
from hedgerow.report.record import record_json
from hedgerow.report.report import Report
from hedgerow.report.standards import ACRO_STATUS, ACRO_VERSION
from hedgerow.schema.files import mapping_text
from hedgerow.text.language import in_language
from hedgerow.text.messages import number_of
from hedgerow.text.values import listed

CRATE, PROFILE = "https://w3id.org/ro/crate/1.2-DRAFT", "https://w3id.org/5s-crate/0.4"
"""The versions of RO-Crate and of the profile that crates conform to."""
CRATE_FIELDS = ("title", "workflow", "project", "person", "author")
"""The entries of a form that the profile requires: who ran which workflow, and for which project."""
_DONE, _PENDING = (f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Potential"))
_KINDS = {"html": "text/html", "json": "application/json"}


def crate_zip(report: Report) -> bytes:
    """Return the crate of a report as a ZIP file with one bag: public sheet, its record, and a private model.

    ValueError if the form lacks an entry that the profile needs, or `workflow` or `person` is not an address.
    """
    subject = report.subject
    _check_stated(subject.form, CRATE_FIELDS, "a crate")
    for name in ("workflow", "person"):
        if not getattr(subject.form, name).startswith(("https://", "http://")):
            raise ArgumentError(f"A crate needs a web address (https://…) as {name} in the form.")
    parts = {
        "outputs/report.html": report.to_html(),
        "outputs/report.json": report.to_json(),
        "outputs/record.json": record_json(report),
    }
    if subject.released is not None and subject.is_private:
        parts["outputs/model.json"] = subject.released.to_json()
    with in_language(report.language):
        metadata = json.dumps(_metadata(report, tuple(parts)), indent=2, ensure_ascii=False) + "\n"
    payload = {"data/ro-crate-metadata.json": metadata, **{f"data/{name}": text for name, text in parts.items()}}
    identifier = str(uuid4())
    return _zipped(f"report-{identifier}", _bag(payload, identifier, report.public.date.isoformat()))


def _check_stated(form: Form, names: Sequence[str], target: str) -> None:
    missing = [name for name in names if not getattr(form, name)]
    if missing:
        lacking = listed(missing, 20)
        raise ArgumentError(f"The form lacks {lacking}; {target} needs {listed(names, 20)}.")


def _metadata(report: Report, names: tuple[str, ...]) -> dict[str, Any]:
    form = report.subject.form
    run, check, project = (f"#{what}-{uuid4()}" for what in ("query", "disclosure", "project"))
    files, workflow, person = [_id(name) for name in names], _id(form.workflow), _id(form.person)
    root = {
        "name": f"Disclosure report: {form.title}",
        "description": report.public.section("identity").answer,
        "conformsTo": _id(PROFILE),
        "hasPart": [workflow, *files],
        "mainEntity": workflow,
        "mentions": [_id(run), _id(check)],
        "sourceOrganization": _id(project),
    }
    name = f"{form.title}, reported on by {SOFTWARE.words}"
    action = {"name": name, "actionStatus": _DONE, "agent": person, "instrument": workflow, "result": files}
    pending = {
        "additionalType": _id("https://w3id.org/shp#DisclosureCheck"),
        "name": f"Disclosure check of the model: pending. {report.public.verdict}",
        "object": _id("./"),
        "actionStatus": _PENDING,
    }
    conforms = _id("https://w3id.org/workflowhub/workflow-ro-crate/1.0")
    graph = [
        _entity("ro-crate-metadata.json", "CreativeWork", about=_id("./"), conformsTo=_id(CRATE)),
        _entity("./", "Dataset", **root),
        _entity(PROFILE, "Profile", name="Five Safes RO-Crate profile"),
        _entity(form.workflow, "Dataset", name="The workflow of the model", conformsTo=conforms),
        _entity(run, "CreateAction", **action),
        _entity(check, "AssessAction", **pending),
        _entity(form.person, "Person", name=form.author, memberOf=[_id(project)]),
        _entity(project, "Project", name=form.project),
        *(_entity(name, "File", name=name, encodingFormat=_KINDS[name.rpartition(".")[2]]) for name in names),
    ]
    return {"@context": f"{CRATE}/context", "@graph": graph}


def _id(name: str) -> dict[str, str]:
    return {"@id": name}


def _entity(name: str, kind: str, /, **entries: Any) -> dict[str, Any]:
    return {"@id": name, "@type": kind, **entries}


def _bag(payload: Mapping[str, str], identifier: str, made: str) -> dict[str, bytes]:
    """Return the files of a bag (RFC 8493), with manifests in SHA-512."""
    data = {name: text.encode() for name, text in payload.items()}
    size = f"{sum(map(len, data.values()))}.{len(data)}"
    info = f"External-Identifier: urn:uuid:{identifier}\nBagging-Date: {made}\nPayload-Oxum: {size}\n"
    tags = {
        "bagit.txt": b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        "bag-info.txt": f"{info}Bag-Software-Agent: {SOFTWARE.words}\n".encode(),
        "manifest-sha512.txt": _manifest(data),
    }
    return {**tags, "tagmanifest-sha512.txt": _manifest(tags), **data}


def _manifest(files: Mapping[str, bytes]) -> bytes:
    return "".join(f"{hashlib.sha512(content).hexdigest()}  {name}\n" for name, content in files.items()).encode()


def _zipped(folder: str, files: Mapping[str, bytes]) -> bytes:
    with zipfile.ZipFile(result := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"{folder}/{name}", content)
    return result.getvalue()


def acro_results(report: Report, name: str) -> dict[str, Any]:
    """Return the checks of all sheets as data of a ``results.json``; **private** if there is a board's sheet.

    `name` is the name of the model's file, in the same folder as ``results.json``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> clf = hr.PrivateTreeClassifier(epsilon=1, max_depth=1, schema=data.schema).fit(data.frame, data.labels)
    >>> acro_results(hr.Report.of(clf), "model.json")["results"]["output_0"]["status"]
    'review'
    """
    sheet = report.public if report.board is None else report.board  # includes all public checks
    checks, worst = sheet.checks, report.deciding.status
    status, appetite = ACRO_STATUS[worst], sheet.appetite
    columns = ("key", "version", "status", "informative", "sentence", "threshold", "source", "value", "limit")
    outcome = {column: {str(i): getattr(check, column) for i, check in enumerate(checks)} for column in columns}
    for end, column in enumerate(("low", "high")):
        outcome[column] = {str(i): check.interval and check.interval[end] for i, check in enumerate(checks)}
    with in_language(report.language):
        comments = [f"Threshold of the risk appetite: {difference}" for difference in appetite.differences]
    entry = {
        "uid": "output_0",
        "status": status,
        "type": "custom",
        "properties": {"method": "hedgerow report", "model": report.subject.kind, "appetite": appetite.stated()},
        "files": [{"name": name, "sdc": {"summary": {"suppressed": False}, "cells": {}}}],
        "outcome": outcome,  # column by column, as pandas writes a frame
        "command": "hedgerow report",
        "summary": "; ".join([status, *(check.sentence.rstrip(".") for check in report.deciding.by_status(worst))]),
        "timestamp": f"{report.public.date.isoformat()}T00:00:00",
        "comments": [report.public.title, *comments],
        "exception": "",
    }
    return {"version": ACRO_VERSION, "results": {"output_0": entry}}


REGISTRY_FIELDS = ("title", "purpose", "population", "curator", "curator_type", "unit", "region")
REGISTRY_FIELDS += ("publication_date", "author")
"""The entries of a form that a record requires."""
_DETAILED = ("cut_points", "preprocessing", "tuning")  # without these entries, a record has tier 2
_LONGEST_SLUG = 80


def registry_record(report: Report) -> dict[str, Any]:
    """Return the record of a private model, made from the public sheet alone, as a draft for the registry's board."""
    subject = report.subject
    card, form, schema = subject.card, subject.form, subject.schema
    if not card.is_private:
        raise ArgumentError("The registry takes models with a guarantee only; this model has none.")
    if report.language != "en":
        raise ArgumentError(f"The registry takes reports in English (en) only; this report is in {report.language!r}.")
    _check_stated(form, REGISTRY_FIELDS, "the registry")
    digest = "none" if schema is None else schema.digest
    deployment = {
        "basic": _basic(form, subject.kind),
        "dp_variant": {
            "variant_name": "Approximate DP" if card.delta else "Pure DP",
            "data_domain": f"Tables that fit the public schema with the digest {digest}.",
            "unprotected_quantities": _lines(
                "The schema with its cut points.", form.cut_points, *(note.words for note in card.notes)
            ),
        },
        "privacy_loss": _loss(form, card),
        "deployment_model": {
            "model_name": "Central",
            "release_type": "One release",
            "release_type_details": report.public.section("releases").answer,
            "access_type": "Non-interactive",
        },
        "implementation": _implementation(form, card, report.public.section("accuracy").answer),
        "administrative": {
            "status": "Draft",
            "registry_authors": [form.author],
            "tier": 3 if all(getattr(form, name) for name in _DETAILED) else 2,
        },
    }
    slug = re.sub("[^a-z0-9]+", "-", form.title.lower()).strip("-")[:_LONGEST_SLUG]
    return {"url_slug": slug or "model", "deployment": deployment}


def registry_yaml(report: Report) -> str:
    """Return the record as the text of a YAML file, with the errors of `registry_record`."""
    return mapping_text("record.yaml", registry_record(report))


def _basic(form: Form, kind: str) -> dict[str, Any]:
    return {
        "name": form.title,
        "data_curators": [{"data_curator_name": form.curator, "data_curator_type": form.curator_type}],
        "description": _lines(f"A {kind}.", form.population),
        "intended_use": form.purpose,
        "data_product_type": "Machine learning model",
        "data_product_region": form.region,
        **({"data_product_sector": form.sector} if form.sector else {}),
        "publication_date": form.publication_date,
    }


def _loss(form: Form, card: PrivacyCard) -> dict[str, Any]:
    parameters = {"epsilon": card.epsilon, "delta": card.delta or None, "rho": total_rho(card.planned)}
    return {
        "privacy_unit": form.unit,
        "privacy_unit_details": _lines(f"Neighbouring tables: {card.neighbours}.", _rows_of_person(form)),
        "privacy_parameters": {name: float(amount) for name, amount in parameters.items() if amount is not None},
        "privacy_parameters_details": f"{card.guarantee}. Amounts are kept as exact fractions.",
    }


def _rows_of_person(form: Form) -> str:
    return "" if form.rows_per_unit is None else f"One person has at most {number_of(form.rows_per_unit, 'row')}."


def _implementation(form: Form, card: PrivacyCard, utility: str) -> dict[str, Any]:
    each = [
        f"{charge.purpose}: {mechanism_words(charge)} (epsilon {float(charge.epsilon):g})" for charge in card.charges
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": _lines(form.preprocessing, form.tuning) or "Not stated.",
        "mechanisms": _lines(*each, f"Noise: {card.noise.words}.", f"Software: {card.software.words}."),
        "composition": "Sequential composition: epsilon and delta of all charges are added up exactly.",
        "post_processing": "Probabilities, predictions and exports are computed of the released model alone.",
        "utility": utility,
    }


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
