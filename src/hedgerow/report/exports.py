"""Twin for research environments: the public sheet as a Five Safes RO-Crate, in a bag that is zipped.

It follows version 0.4 of the profile (https://w3id.org/5s-crate/0.4). The disclosure check is in it as what it is when
a report is made: pending.
"""

from __future__ import annotations

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
from hedgerow.report.contents import BUCKETS, Bucket, Finding, Sheet
from hedgerow.report.form import Form
from hedgerow.report.report import Report
from hedgerow.schema.files import mapping_text
from hedgerow.text.values import listed

CRATE, PROFILE = "https://w3id.org/ro/crate/1.2-DRAFT", "https://w3id.org/5s-crate/0.4"
"""The versions of RO-Crate and of the profile that crates conform to."""
CRATE_FIELDS = ("title", "workflow", "project", "person", "author")
"""The entries of a form that the profile cannot do without: whose run it was, of which workflow, for which project."""
_DONE, _PENDING = (f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Potential"))
_KINDS = {"html": "text/html", "json": "application/json"}
_Entity = dict[str, Any]


def crate_zip(report: Report) -> bytes:
    """Return the crate of a report as a ZIP file with one bag: the public sheet, and the model if it has a guarantee.

    Raises
    ------
    ValueError
        If the form lacks an entry that the profile needs, or `workflow` or `person` is not an address.
    """
    form = report.subject.form
    _check(form)
    identifier = uuid4()
    parts = {"outputs/report.html": report.to_html(), "outputs/report.json": report.to_json()}
    if report.subject.released is not None and report.subject.is_private:
        parts["outputs/model.json"] = report.subject.released.to_json()
    metadata = json.dumps(_metadata(report, tuple(parts)), indent=2, ensure_ascii=False) + "\n"
    payload = {"data/ro-crate-metadata.json": metadata, **{f"data/{name}": text for name, text in parts.items()}}
    return _zipped(f"report-{identifier}", _bag(payload, str(identifier), report.public.date.isoformat()))


def _check(form: Form) -> None:
    missing = [name for name in CRATE_FIELDS if not getattr(form, name)]
    if missing:
        raise ArgumentError(
            f"expected a form with {', '.join(CRATE_FIELDS)} for a crate, got one without {missing[0]}."
        )
    for name in ("workflow", "person"):
        if not getattr(form, name).startswith(("https://", "http://")):
            raise ArgumentError(
                f"expected an address as {name} in the form for a crate, such as https://…, got another."
            )


def _metadata(report: Report, names: tuple[str, ...]) -> _Entity:
    form = report.subject.form
    run, check, project = (f"#{what}-{uuid4()}" for what in ("query", "disclosure", "project"))
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Disclosure report: {form.title}",
        "description": report.public.section("identity").answer,
        "conformsTo": _id(PROFILE),
        "hasPart": [_id(form.workflow), *map(_id, names)],
        "mainEntity": _id(form.workflow),
        "mentions": [_id(run), _id(check)],
        "sourceOrganization": _id(project),
    }
    about = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "about": _id("./"),
        "conformsTo": _id(CRATE),
    }
    graph = [about, root, _profile(), _workflow(form), _run(report, run, names), _pending(report, check)]
    graph += [_person(form, project), {"@id": project, "@type": "Project", "name": form.project}]
    graph += [{"@id": name, "@type": "File", "name": name, "encodingFormat": _kind(name)} for name in names]
    return {"@context": f"{CRATE}/context", "@graph": graph}


def _profile() -> _Entity:
    return {"@id": PROFILE, "@type": "Profile", "name": "Five Safes RO-Crate profile"}


def _workflow(form: Form) -> _Entity:
    conforms = _id("https://w3id.org/workflowhub/workflow-ro-crate/1.0")
    return {"@id": form.workflow, "@type": "Dataset", "name": "The workflow of the model", "conformsTo": conforms}


def _run(report: Report, identifier: str, names: tuple[str, ...]) -> _Entity:
    form = report.subject.form
    return {
        "@id": identifier,
        "@type": "CreateAction",
        "name": f"{form.title}, reported on by {SOFTWARE}",
        "actionStatus": _DONE,
        "agent": _id(form.person),
        "instrument": _id(form.workflow),
        "result": list(map(_id, names)),
    }


def _pending(report: Report, identifier: str) -> _Entity:
    return {
        "@id": identifier,
        "@type": "AssessAction",
        "additionalType": _id("https://w3id.org/shp#DisclosureCheck"),
        "name": f"Disclosure check of the model: pending; gravest finding of the public sheet: {report.public.worst}",
        "object": _id("./"),
        "actionStatus": _PENDING,
    }


def _person(form: Form, project: str) -> _Entity:
    return {"@id": form.person, "@type": "Person", "name": form.author, "memberOf": [_id(project)]}


def _id(name: str) -> dict[str, str]:
    return {"@id": name}


def _kind(name: str) -> str:
    return _KINDS[name.rpartition(".")[2]]


def _bag(payload: Mapping[str, str], identifier: str, made: str) -> dict[str, bytes]:
    """Return the files of a bag (RFC 8493), with manifests in SHA-512."""
    data = {name: text.encode() for name, text in payload.items()}
    size = f"{sum(map(len, data.values()))}.{len(data)}"
    info = f"External-Identifier: urn:uuid:{identifier}\nBagging-Date: {made}\nPayload-Oxum: {size}\n"
    tags = {
        "bagit.txt": b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        "bag-info.txt": f"{info}Bag-Software-Agent: {SOFTWARE}\n".encode(),
        "manifest-sha512.txt": _manifest(data),
    }
    return {**tags, "tagmanifest-sha512.txt": _manifest(tags), **data}


def _manifest(files: Mapping[str, bytes]) -> bytes:
    return "".join(f"{hashlib.sha512(content).hexdigest()}  {name}\n" for name, content in files.items()).encode()


def _zipped(folder: str, files: Mapping[str, bytes]) -> bytes:
    with zipfile.ZipFile(found := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"{folder}/{name}", content)
    return found.getvalue()


VERSION = "0.4.0"
"""The version of the format, as SACRO's viewer writes it for files of other programs."""
_STATUS: dict[Bucket, str] = {"reject": "fail", "look": "review", "supports": "pass"}


def acro_results(report: Report, name: str) -> dict[str, Any]:
    """Return the findings of all sheets as the data of a ``results.json``; **private** if there is one for the board.

    Parameters
    ----------
    report : Report
        The report.
    name : str
        The name of the model's file, which is beside the ``results.json``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> clf = hr.PrivateTreeClassifier(epsilon=1, max_depth=1, schema=data.schema).fit(data.frame, data.labels)
    >>> acro_results(hr.Report.of(clf), "model.json")["results"]["output_0"]["status"]
    'review'
    """
    sheets = _sheets(report)
    found = _findings(sheets)
    worst = BUCKETS[min(BUCKETS.index(one.bucket) for one in found)]  # every sheet has a finding on its guarantee
    status = _STATUS[worst]
    entry = {
        "uid": "output_0",
        "status": status,
        "type": "custom",
        "properties": {"method": "hedgerow report", "model": report.subject.kind},
        "files": [{"name": name, "sdc": {"summary": {"suppressed": False}, "cells": {}}}],
        "outcome": _columns(found),
        "command": "hedgerow report",
        "summary": "; ".join([status, *(one.sentence.rstrip(".") for one in found if one.bucket == worst)]),
        "timestamp": f"{report.public.date.isoformat()}T00:00:00",
        "comments": [sheet.title for sheet in sheets[:1]],
        "exception": "",
    }
    return {"version": VERSION, "results": {"output_0": entry}}


def _sheets(report: Report) -> tuple[Sheet, ...]:
    return (report.public,) if report.board is None else (report.public, report.board)


def _findings(sheets: Sequence[Sheet]) -> list[Finding]:
    """Return the findings of all sheets; of one that is on both, that of the last."""
    return list({one.key: one for sheet in sheets for one in sheet.findings}.values())


def _columns(found: Sequence[Finding]) -> dict[str, dict[str, Any]]:
    """Return findings column by column, as pandas writes a frame."""
    names = ("key", "bucket", "sentence", "threshold", "source", "value")
    return {name: {str(place): getattr(one, name) for place, one in enumerate(found)} for name in names}


REGISTRY_FIELDS = (
    "title",
    "purpose",
    "population",
    "curator",
    "curator_type",
    "unit",
    "region",
    "publication_date",
    "author",
)
"""The entries of a form that a record cannot do without."""
_DETAILED = ("cut_points", "preprocessing", "tuning")  # without these a record is of tier 2
_LONGEST_SLUG = 80


def registry_record(report: Report) -> dict[str, Any]:
    """Return the record of a private model, a draft for the registry's board. It is made of the public sheet alone."""
    subject = report.subject
    card, form = subject.card, subject.form
    if not card.is_private or card.epsilon is None:
        raise ArgumentError(
            "expected a model with a guarantee of differential privacy for the registry, got one without."
        )
    missing = [name for name in REGISTRY_FIELDS if not getattr(form, name)]
    if missing:
        raise ArgumentError(
            f"expected a form with {listed(REGISTRY_FIELDS, 20)} for the registry, got one without {missing[0]}."
        )
    return {
        "url_slug": _slug(form.title),
        "deployment": {
            "basic": _basic(form, subject.kind),
            "dp_variant": {
                "variant_name": "Approximate DP" if card.delta else "Pure DP",
                "data_domain": f"Tables that fit the public schema with the digest {_digest(report)}.",
                "unprotected_quantities": _lines("The schema with its cut points.", form.cut_points, *card.notes),
            },
            "privacy_loss": _loss(form, card),
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "release_type_details": report.public.section("releases").answer,
                "access_type": "Non-interactive",
            },
            "implementation": _implementation(report, card),
            "administrative": {
                "status": "Draft",
                "registry_authors": [form.author],
                "tier": 3 if all(getattr(form, name) for name in _DETAILED) else 2,
            },
        },
    }


def registry_yaml(report: Report) -> str:
    """Return the record as the text of a YAML file; raises as `registry_record` does."""
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
    parameters = {"epsilon": card.epsilon, **({"delta": card.delta} if card.delta else {})}
    rho = total_rho(card.planned)
    if rho is not None:
        parameters["rho"] = rho
    return {
        "privacy_unit": form.unit,
        "privacy_unit_details": f"Neighbouring tables: {card.neighbours}.",
        "privacy_parameters": {name: float(amount) for name, amount in parameters.items() if amount is not None},
        "privacy_parameters_details": f"{card.guarantee}. Amounts are kept as exact fractions.",
    }


def _implementation(report: Report, card: PrivacyCard) -> dict[str, Any]:
    form = report.subject.form
    charged = [
        f"{one.purpose}: {one.mechanism or 'not named'} (epsilon {float(one.epsilon):g})" for one in card.charges
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": _lines(form.preprocessing, form.tuning) or "Not stated.",
        "mechanisms": _lines(*charged, f"Noise: {card.noise}.", f"Software: {card.software}."),
        "composition": "Sequential composition: epsilon and delta of all charges are added up exactly.",
        "post_processing": "Probabilities, predictions and exports are computed of the released model alone.",
        "utility": report.public.section("accuracy").answer,
    }


def _digest(report: Report) -> str:
    schema = report.subject.schema
    return "none" if schema is None else schema.digest


def _slug(title: str) -> str:
    """Return a title as a part of an address: letters, digits and hyphens."""
    return re.sub("[^a-z0-9]+", "-", title.lower()).strip("-")[:_LONGEST_SLUG] or "model"


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
