"""Write the software bill of materials of a built release, in CycloneDX's JSON: its packages, licences and hashes.

python .ci/sbom.py dist sbom.cdx.json

The packages are those that pip installs today for hedgerow[all] from the wheel, in an environment made for this: the
scope of those without an extra is "required", of all others "optional". cyclonedx-bom describes the environment. The
hash of a package is that of the file that was installed, on this kind of machine and Python.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from provenance import sha256

CYCLONEDX = "1.6"
# Licences that the metadata of these packages does not state, from the licence files of their releases.
UNDECLARED_LICENCES = {"protobuf": "BSD-3-Clause", "pyarrow-hotfix": "Apache-2.0"}


def normal_name(name: str) -> str:
    """Return a package's name as the index writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def environment(folder: Path) -> Path:
    """Make an empty environment, and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / "bin" / "python"


def installed_hashes(python: Path, requirement: str, *options: str) -> dict[str, str]:
    """Install a requirement, or with --dry-run resolve it, and return the SHA-256 of each package's file."""
    report = python.parents[1] / "report.json"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-compile"]
    subprocess.run([*pip, "--report", report, *options, requirement], check=True)
    items = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {
        normal_name(item["metadata"]["name"]): item["download_info"]["archive_info"]["hashes"]["sha256"]
        for item in items
    }


def described(python: Path) -> dict:
    """Return the description of an environment by cyclonedx-bom."""
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--spec-version", CYCLONEDX, python]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def release_component(component: dict, files: list[Path]) -> dict:
    """Return the component of hedgerow with its files and their hashes."""
    hashes = {file.name: [{"alg": "SHA-256", "content": sha256(file)}] for file in files}
    references = [{"type": "distribution", "url": name, "hashes": digest} for name, digest in hashes.items()]
    (wheel,) = (name for name in hashes if name.endswith(".whl"))
    purl = f"pkg:pypi/hedgerow@{component['version']}"
    return component | {"purl": purl, "hashes": hashes[wheel], "externalReferences": references}


def undeclared(name: str) -> list[dict]:
    """Return the licence of a package whose metadata does not state it; ValueError if it was not looked up."""
    if name not in UNDECLARED_LICENCES:
        raise ValueError(f"The metadata of {name} states no licence: look it up, and add it to UNDECLARED_LICENCES.")
    return [{"license": {"id": UNDECLARED_LICENCES[name]}}]


def complete(bill: dict, files: list[Path], hashes: dict[str, str], required: set[str]) -> dict:
    """Return the bill with the release as its subject, and hash, scope and licence of each package."""
    components = {normal_name(component["name"]): component for component in bill["components"]}
    release = release_component(components["hedgerow"], files)
    packages = []
    for name, component in sorted(components.items()):
        if name not in hashes or name == "hedgerow":  # pip, which made the environment
            continue
        licences = component.get("licenses") or undeclared(name)
        scope = "required" if name in required else "optional"
        digest = [{"alg": "SHA-256", "content": hashes[name]}]
        packages.append(component | {"licenses": licences, "scope": scope, "hashes": digest})
    if missing := hashes.keys() - components.keys():
        raise ValueError(f"Expected all installed packages in the bill, missing: {', '.join(sorted(missing))}.")
    known = {component["bom-ref"] for component in (release, *packages)}
    edges = [edge for edge in bill["dependencies"] if edge["ref"] in known]
    metadata = bill["metadata"] | {"component": release}
    return bill | {"metadata": metadata, "components": packages, "dependencies": edges}


def validate(text: str) -> None:
    """Raise ValueError if a bill does not fit CycloneDX's own schema."""
    from cyclonedx.schema import SchemaVersion  # of `make dist` alone
    from cyclonedx.validation.json import JsonStrictValidator

    if error := JsonStrictValidator(SchemaVersion.from_version(CYCLONEDX)).validate_str(text):
        raise ValueError(f"The bill of materials does not fit CycloneDX {CYCLONEDX}: {error}")


def main() -> None:
    """Write the bill of materials of the files of a folder."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    files = sorted(Path(sys.argv[1]).iterdir())
    (wheel,) = (file for file in files if file.suffix == ".whl")
    with TemporaryDirectory() as folder:
        python = environment(Path(folder, "environment"))
        required = installed_hashes(python, str(wheel), "--dry-run")
        hashes = installed_hashes(python, f"{wheel}[all]")
        bill = complete(described(python), files, hashes, set(required))
    text = json.dumps(bill, indent=2) + "\n"
    validate(text)
    Path(sys.argv[2]).write_text(text, encoding="utf-8")
    packages = bill["components"]
    count = sum(package["scope"] == "required" for package in packages)
    sys.stdout.write(f"{sys.argv[2]}: {len(packages)} packages, {count} of them without an extra.\n")


if __name__ == "__main__":
    main()
