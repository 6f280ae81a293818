"""What works without the extras, and what their lack says: Ibis, DuckDB and matplotlib are not imported for a fit."""

import subprocess
import sys
from pathlib import Path

import pytest

from hedgerow.models import Leaf, Tree
from hedgerow.privacy import PrivacyCard
from hedgerow.schema import Boolean, Label, Schema

ROOT = Path(__file__).parents[2]
EXTRAS = (
    *("duckdb", "ibis", "matplotlib", "openpyxl", "pyreadstat"),
    *("sqlalchemy", "onnx", "cryptography", "jwt", "httpx2"),
)
WITHOUT = f"""
import importlib.util
import sys

real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *given: None if name.split(".")[0] in {EXTRAS} else real(name, *given)
for name in {EXTRAS}:
    sys.modules[name] = None
"""
ROWS = "age,smoker,ill\n" + "".join(
    f"{20 + i % 60},{i % 2 == 0},{'yes' if i % 60 > 30 else 'no'}\n" for i in range(300)
)
SCHEMA = """
label: {name: ill, classes: ["no", "yes"]}
attributes:
  age: {kind: integer, low: 0, high: 120, cuts: [30, 50, 65]}
  smoker: {kind: boolean}
"""

SMALL = Tree(Schema({"a": Boolean()}, Label("b", (0, 1))), Leaf(label=0), PrivacyCard.none("an example"))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lean")
    (folder / "rows.csv").write_text(ROWS)
    (folder / "schema.yaml").write_text(SCHEMA)
    return folder


def run(code, folder):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT + code], cwd=folder, capture_output=True, text=True
    )


def commands(lines):
    return f"""
import contextlib
from hedgerow.cli import main
for line in {lines!r}:
    sys.argv = ["hedgerow", *line.split()]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
"""


def test_a_model_is_learned_read_measured_and_deployed_without_them(place):
    lines = [
        "fit rows.csv --schema schema.yaml --epsilon 1 -o model.json",
        "show model.json --format sql",
        "show model.json --format card",
        "show model.json -o model.html",
        "predict model.json rows.csv -o said.csv",
        "evaluate model.json rows.csv --epsilon 1 -o evaluation.json",
        "report model.json -o report.html",
        "audit model.json --data rows.csv",
        "schema check schema.yaml rows.csv",
    ]
    ended = run(commands(lines), place)
    assert ended.returncode == 0, ended.stderr
    assert ".[plots]" in (place / "model.html").read_text()


def test_the_readme_runs_without_them(tmp_path):
    code = f"""
import re
from pathlib import Path
page = Path({str(ROOT / "README.md")!r}).read_text()
for block in re.findall(r"^```python\\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
    exec(block)
"""
    ended = run(code, tmp_path)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("fit rows.parquet --schema schema.yaml --epsilon 1 -o other.json", "engines"),
        ("tally schema.yaml rows.csv -o counts.parquet", "engines"),
        ("show small.json --plot model.png", "plots"),
        ("plan --schema schema.yaml --rows 300 --plot plan.png --public rows.csv", "plots"),
    ],
)
def test_missing_parts_are_named(place, line, extra):
    (place / "rows.parquet").touch()
    (place / "small.json").write_text(SMALL.to_json())
    ended = run(commands([line]), place)
    assert ended.returncode == 2
    assert f"pip install '.[{extra}]'" in " ".join(ended.stderr.split())
