"""Write docs/dependencies.csv: what hedgerow and its extras need, under which licence, and for what.

python .ci/dependencies.py

Packages and extras come from pyproject.toml, licences from the metadata of the packages that are installed here. What a
package is needed for is written by hand in the file, and is kept; of a package that is not installed, the licence too.
"""

from __future__ import annotations

import csv
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "dependencies.csv"
COLUMNS = ("extra", "package", "requirement", "licence", "needed for")
# Extras for users; all other extras are for tests, benchmarks and pages.
EXTRAS = ("plots", "engines", "postgres", "spark", "fast", "excel", "statfiles", "client", "service")
# SPDX names of licences that older metadata state differently; the BSD licences were looked up.
LICENCES = {
    "Apache License, Version 2.0": "Apache-2.0",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
    "http://www.apache.org/licenses/LICENSE-2.0": "Apache-2.0",
}


def declared() -> list[tuple[str, str, str]]:
    """Return extra, package and requirement of each dependency in pyproject.toml; the extra of the first is empty."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"": project["dependencies"], **{extra: project["optional-dependencies"][extra] for extra in EXTRAS}}
    rows = []
    for extra, requirements in groups.items():
        for requirement in requirements:
            name, version = re.fullmatch(r"([A-Za-z0-9._-]+(?:\[\w+\])?)(.*)", requirement).groups()
            if name.partition("[")[0] != "hedgerow":  # another extra
                rows.append((extra, name, version))
    return rows


def licence(package: str) -> str | None:
    """Return the SPDX expression of an installed package's licence, or None if it is not installed or states none."""
    try:
        stated = metadata.metadata(package.partition("[")[0])
    except metadata.PackageNotFoundError:
        return None
    if expression := stated.get("License-Expression"):
        return expression
    words = [stated.get("License") or "", *(stated.get_all("Classifier") or ())]
    known = [LICENCES[word] for word in words if word in LICENCES]
    short = [word for word in words[:1] if re.fullmatch(r"[A-Za-z0-9.-]{3,20}", word)]
    return (known or short or [None])[0]


def committed() -> list[dict[str, str]]:
    """Return the rows of the committed table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Write the table again."""
    before = {(row["extra"], row["package"]): row for row in committed()} if TABLE.exists() else {}
    rows = []
    for extra, package, version in declared():
        kept = before.get((extra, package), dict.fromkeys(COLUMNS, ""))
        rows.append((extra, package, version, licence(package) or kept["licence"], kept["needed for"]))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
    if blank := [row[1] for row in rows if not all(row[3:])]:
        sys.exit(f"{TABLE.relative_to(ROOT)} is written. Fill in licence and use of: {', '.join(blank)}.")


if __name__ == "__main__":
    main()
