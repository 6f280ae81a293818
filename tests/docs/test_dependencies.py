"""The table of dependencies is that of pyproject.toml, and its licences are those of the installed packages."""

from __future__ import annotations

import csv
import re
import sys
import tomllib

import pytest

from tests.docs.page import ROOT

sys.path.insert(0, str(ROOT / ".ci"))

import dependencies

TABLE = dependencies.committed()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_table_has_the_packages_of_pyproject():
    rows = [(row["extra"], row["package"], row["requirement"]) for row in TABLE]
    assert rows == dependencies.declared(), "run `python .ci/dependencies.py` and `make numbers`"


def test_every_row_has_a_licence_and_a_use():
    assert [*TABLE[0]] == list(dependencies.COLUMNS)
    assert not [row["package"] for row in TABLE if not (row["licence"] and row["needed for"])]


def test_every_extra_that_all_includes_is_in_the_table():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    names = re.fullmatch(r"hedgerow\[(.*)\]", everything)[1].split(",")
    included = {*names}
    for name in names:
        for requirement in PROJECT["optional-dependencies"][name]:
            if match := re.fullmatch(r"hedgerow\[(.*)\]", requirement):
                included |= {*match[1].split(",")}
    assert included == {*dependencies.EXTRAS}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row['extra']}:{row['package']}")
def test_licences_are_those_that_the_installed_packages_state(row):
    stated = dependencies.licence(row["package"])
    if stated is None:
        pytest.skip(f"{row['package']} is not installed")
    # Releases of NumPy differ in the licences of the libraries that they contain.
    assert stated.split(" AND ")[0] == row["licence"].split(" AND ")[0]


def test_a_change_of_pyproject_changes_the_table(tmp_path, monkeypatch):
    changed = (ROOT / "pyproject.toml").read_text(encoding="utf-8").replace('"jinja2>=3.1"', '"jinja2>=3.2", "six"')
    (tmp_path / "pyproject.toml").write_text(changed, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    table = tmp_path / "docs" / "dependencies.csv"
    table.write_bytes(dependencies.TABLE.read_bytes())
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)
    monkeypatch.setattr(dependencies, "TABLE", table)
    with pytest.raises(SystemExit, match="Fill in licence and use of: six"):
        dependencies.main()
    rows = {row["package"]: row for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())}
    before = {row["package"]: row for row in TABLE}
    assert rows["jinja2"] == {**before["jinja2"], "requirement": ">=3.2"}
    assert rows["six"]["needed for"] == ""
