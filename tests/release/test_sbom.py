"""The bill of materials states hash, scope and licence of every installed package."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / ".ci"))

import sbom

MIT = [{"license": {"id": "MIT"}}]
NAMES = {"hedgerow": "0.2.0", "NumPy": "2.0", "typing_extensions": "4.0", "protobuf": "7.0", "pip": "26.0"}
BILL = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "metadata": {"timestamp": "2026-01-02T03:04:05+00:00"},
    "components": [
        {"type": "library", "bom-ref": f"{name}=={version}", "name": name, "version": version}
        | ({} if name == "protobuf" else {"licenses": MIT})
        for name, version in NAMES.items()
    ],
    "dependencies": [{"ref": "hedgerow==0.2.0", "dependsOn": ["NumPy==2.0"]}, {"ref": "pip==26.0"}],
}
HASHES = {name: f"{place:064x}" for place, name in enumerate(("hedgerow", "numpy", "typing-extensions", "protobuf"))}


@pytest.fixture
def files(tmp_path):
    made = [tmp_path / "hedgerow-0.2.0-py3-none-any.whl", tmp_path / "hedgerow-0.2.0.tar.gz"]
    for file in made:
        file.write_bytes(file.name.encode())
    return made


@pytest.fixture
def bill(files):
    return sbom.complete(copy.deepcopy(BILL), files, HASHES, {"hedgerow", "numpy"})


def test_every_installed_package_has_a_hash_a_scope_and_a_licence(bill):
    packages = {package["name"]: package for package in bill["components"]}
    assert packages.keys() == {"NumPy", "typing_extensions", "protobuf"}  # pip made the environment
    assert {name: package["scope"] for name, package in packages.items()} == {
        "NumPy": "required",
        "typing_extensions": "optional",
        "protobuf": "optional",
    }
    assert packages["typing_extensions"]["hashes"][0]["content"] == HASHES["typing-extensions"]
    assert packages["protobuf"]["licenses"][0]["license"]["id"] == "BSD-3-Clause"


def test_the_bill_is_about_the_files_of_the_release(bill, files):
    release = bill["metadata"]["component"]
    assert release["hashes"][0]["content"] == sbom.sha256(files[0])
    assert {reference["url"]: reference["hashes"][0]["content"] for reference in release["externalReferences"]} == {
        file.name: sbom.sha256(file) for file in files
    }
    assert bill["dependencies"] == [{"ref": "hedgerow==0.2.0", "dependsOn": ["NumPy==2.0"]}]


def test_a_package_missing_in_the_sbom_or_an_unknown_licence_is_an_error(files):
    with pytest.raises(ValueError, match="missing: six"):
        sbom.complete(copy.deepcopy(BILL), files, HASHES | {"six": "0" * 64}, set())
    unknown = copy.deepcopy(BILL)
    del unknown["components"][1]["licenses"]
    with pytest.raises(ValueError, match="numpy states no licence"):
        sbom.complete(unknown, files, HASHES, set())


def test_the_bill_fits_the_schema_of_cyclonedx_and_another_text_does_not(bill):
    pytest.importorskip("cyclonedx", reason="make dist installs CycloneDX's validator, and checks every bill")
    sbom.validate(json.dumps(bill))
    with pytest.raises(ValueError, match="does not fit CycloneDX"):
        sbom.validate(json.dumps(bill | {"components": [{"name": "without a type"}]}))
