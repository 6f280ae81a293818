"""Five Safes RO-Crates: the bag by RFC 8493, the metadata by version 0.4 of the profile."""

import hashlib
import io
import json
import zipfile
from dataclasses import replace

import pytest

from hedgerow.report import Form, Report, airlock_record
from hedgerow.report.exports import CRATE_FIELDS, crate_zip
from tests.report.subjects import a_table, a_tree, without_privacy

FORM = Form(
    title="Falls", workflow="https://example.org/w/1", project="P", person="https://orcid.org/0", author="A. Uthor"
)


def unzipped(report):
    """Return the files of the only bag in a crate."""
    with zipfile.ZipFile(io.BytesIO(crate_zip(report))) as archive:
        names = archive.namelist()
        (folder,) = {name.partition("/")[0] for name in names}
        return {name.removeprefix(f"{folder}/"): archive.read(name) for name in names}


def described(report):
    """Return the entities of a crate by their identifiers."""
    metadata = json.loads(unzipped(report)["data/ro-crate-metadata.json"])
    assert metadata["@context"] == "https://w3id.org/ro/crate/1.2-DRAFT/context"
    result = {item["@id"]: item for item in metadata["@graph"]}
    assert len(result) == len(metadata["@graph"])
    return result


def test_a_bag_holds_what_its_manifests_say():
    files = unzipped(Report.of(a_tree(), form=FORM))
    payload = {name: content for name, content in files.items() if name.startswith("data/")}
    tags = {name: content for name, content in files.items() if name not in payload}
    assert set(tags) == {"bagit.txt", "bag-info.txt", "manifest-sha512.txt", "tagmanifest-sha512.txt"}
    for manifest, listed in (
        ("manifest-sha512.txt", payload),
        ("tagmanifest-sha512.txt", {n: c for n, c in tags.items() if n != "tagmanifest-sha512.txt"}),
    ):
        lines = [line.split("  ", 1) for line in files[manifest].decode().splitlines()]
        assert {name: digest for digest, name in lines} == {
            name: hashlib.sha512(content).hexdigest() for name, content in listed.items()
        }
    assert files["bagit.txt"].startswith(b"BagIt-Version: 1.0\n")
    assert b"External-Identifier: urn:uuid:" in files["bag-info.txt"]


def test_the_metadata_has_what_the_profile_demands():
    result = described(Report.of(a_tree(), form=FORM))
    root = result["./"]
    assert result["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    assert root["conformsTo"] == {"@id": "https://w3id.org/5s-crate/0.4"}
    assert result["https://w3id.org/5s-crate/0.4"]["@type"] == "Profile"
    assert result[root["mainEntity"]["@id"]]["@type"] == "Dataset"
    assert result[root["sourceOrganization"]["@id"]]["@type"] == "Project"
    actions = [result[item["@id"]] for item in root["mentions"]]
    run, check = sorted(actions, key=lambda item: item["@type"], reverse=True)
    assert run["@type"] == "CreateAction"
    assert run["instrument"] == root["mainEntity"]
    assert result[run["agent"]["@id"]]["@type"] == "Person"
    assert check["additionalType"] == {"@id": "https://w3id.org/shp#DisclosureCheck"}
    assert check["actionStatus"] == "http://schema.org/PotentialActionStatus"  # nobody has signed
    parts = {item["@id"] for item in root["hasPart"]}
    assert {item["@id"] for item in run["result"]} == {name for name in parts if name.startswith("outputs/")}
    assert parts <= set(result)


def test_only_public_files_are_in_a_crate():
    X, y = a_table()
    report = Report.of(a_tree(), form=FORM, train=(X, y))
    files = unzipped(report)
    outputs = {name for name in files if name.startswith("data/outputs/")}
    assert outputs == {f"data/outputs/{name}" for name in ("report.html", "report.json", "record.json", "model.json")}
    record = json.loads(files["data/outputs/record.json"])
    assert (record, record["private"]) == (airlock_record(report), False)
    hashes = {hashlib.sha256(files[f"data/outputs/report.{kind}"]).hexdigest() for kind in ("html", "json")}
    assert {sheet["sha256"] for sheet in record["sheets"]} == hashes
    assert files["data/outputs/report.html"].decode() == report.to_html()
    assert not any("PRIVATE" in content.decode().partition("<body")[2] for content in files.values())
    free = unzipped(Report.of(without_privacy(), form=FORM))
    assert "data/outputs/model.json" not in free  # nothing of it may leave before it is checked


@pytest.mark.parametrize("name", CRATE_FIELDS)
def test_what_the_profile_needs_is_asked_for(name):
    with pytest.raises(ValueError, match=rf"lacks .*{name}"):
        crate_zip(Report.of(a_tree(), form=replace(FORM, **{name: ""})))


@pytest.mark.parametrize("name", ["workflow", "person"])
def test_addresses_are_addresses(name):
    with pytest.raises(ValueError, match=f"as {name} in the form"):
        crate_zip(Report.of(a_tree(), form=replace(FORM, **{name: "../etc"})))
