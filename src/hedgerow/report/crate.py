"""Twin for research environments: the public sheet as a Five Safes RO-Crate, in a bag that is zipped.

It follows version 0.4 of the profile (https://w3id.org/5s-crate/0.4). The disclosure check is in it as what it is when
a report is made: pending.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from hedgerow.errors import ArgumentError
from hedgerow.privacy.card import SOFTWARE
from hedgerow.report.form import Form
from hedgerow.report.report import Report

CRATE, PROFILE = "https://w3id.org/ro/crate/1.2-DRAFT", "https://w3id.org/5s-crate/0.4"
"""The versions of RO-Crate and of the profile that crates conform to."""
NEEDED = ("title", "workflow", "project", "person", "author")
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
    missing = [name for name in NEEDED if not getattr(form, name)]
    if missing:
        raise ArgumentError(f"expected a form with {', '.join(NEEDED)} for a crate, got one without {missing[0]}.")
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
