"""The checker of prose in `.ci/` finds what it forbids, and only in prose."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BEFORE = {
    "pronoun": "has the idempotency key of an earlier one of another body",
    "where": "None where there is no schema",
    "what": "the budget that what was released costs",
    "say": "a problem tells nothing of a row",
    "that of": "how many rows (ε, δ) are that of",
    "got": "expected X and y, got others",
    "of which": "counts of which a row changes at most 2",
    "so many": "each row changes all counts by so much",
    "beside": "at most 5 % of the rows beside the best tree",
    "but for": "run the tests, but for the slow tests",
    "as of": "refused as of 1,000 rows",
}


def hits(path: Path) -> str:
    command = [sys.executable, ROOT / ".ci" / "prose.py", path]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("name", ["page.md", "module.py", "templates/sheet.txt"])
def test_each_rule_finds_its_pattern(tmp_path: Path, name: str) -> None:
    lines = [f"# {words}." if name.endswith("py") else f"{words}.\n" for words in BEFORE.values()]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    output = hits(path)
    assert [rule for rule in BEFORE if f"[{rule}]" not in output] == []


def test_strings_with_values_are_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('raise ValueError(f"expected {a}, " f"got others than {b}")\nTEXT = "one row of one table"\n')
    assert hits(path).count("\n") == 2  # a pronoun and a value that is not printed, none in the second line


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "Write `one, others` or:\n\n```text\nwhat was said\n```\n"),
        ("module.py", '"""Return a tree.\n\n>>> print("what was said")\nwhat was said\n"""\n'),
        ("module.py", 'KEY = "beside"\nQUERY = "SELECT a FROM b WHERE c"\n'),
        ("page.md", "# What is public?\n\nDraw one row at a time; the result is zero or one.\n"),
    ],
)
def test_code_examples_and_numerals_are_no_hits(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert hits(path) == ""


def test_a_long_test_name_is_a_hit(tmp_path: Path) -> None:
    path = tmp_path / "test_names.py"
    path.write_text(f"def test_{'a' * 65}(): ...\ndef test_{'b' * 66}(): ...\n")
    assert hits(path).count("[test name]") == 1
