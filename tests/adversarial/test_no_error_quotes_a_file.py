"""The command line reports unforeseen exceptions without their text.

Files that are not of the type their name claims, each with a canary in its rows, are given to every command, as data,
model and budget. Each is accepted or refused in one line of hedgerow's own, without foreign text or internal errors.
"""

import gzip
import io
import json
import sys
import zipfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.cli import main
from tests.adversarial.hostile import WORD

HEADER, ROW = b"age,sex,ill\n", f"41,{WORD},yes\n".encode()
CELL = WORD.encode()
SCHEMA = """\
label: {name: ill, classes: ["no", "yes"]}
attributes:
  age: {kind: integer, low: 0, high: 120, cuts: [30, 60]}
  sex: {kind: categorical, values: [F, M]}
"""


def parquet(column="age", values=(41, 42), **options):
    """Return a Parquet file of two rows."""
    table = pa.table({"age": [41, 42], "sex": [WORD] * 2, "ill": ["yes"] * 2} | {column: pa.array(values)})
    pq.write_table(table, file := io.BytesIO(), **options)
    return file.getvalue()


def zipped():
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("t.csv", HEADER + ROW)
    return file.getvalue()


FILES = {
    "invalid.csv": HEADER + b"41," + CELL + b"\xff\xfe,yes\n",
    "invalid_in_the_header.csv": b"age,sex\xff,ill\n" + ROW,
    "latin.csv": HEADER + b"41,\xe9" + CELL + b",yes\n",
    "half_a_surrogate.csv": HEADER + b"41,\xed\xa0\x80" + CELL + b",yes\n",
    "nul.csv": HEADER + b"41," + CELL + b"\0,yes\n",
    "nul_in_the_header.csv": b"age\0,sex,ill\n" + ROW,
    "escape.csv": HEADER + b"41,\x1b[31m" + CELL + b",yes\n",
    "unclosed.csv": HEADER + b'41,"' + CELL + b",yes\n" + ROW * 5,
    "unclosed_in_the_header.csv": b'age,"sex,ill\n' + ROW,
    "quote_inside.csv": HEADER + b'41,F"' + CELL + b'",yes\n',
    "line_break_inside.csv": HEADER + b'"41\n' + CELL + b'",F,yes\n',
    "too_many_fields.csv": HEADER + b"41," + CELL + b",yes," + CELL + b"\n",
    "too_long.csv": HEADER + b"41," + CELL * 10**5 + b",yes\n",
    "utf16.csv": (HEADER + ROW).decode().encode("utf-16"),
    "carriage_returns.csv": (HEADER + ROW).replace(b"\n", b"\r"),
    "no_line_end.csv": HEADER + ROW.strip(),
    "empty.csv": b"",
    "mark_only.csv": b"\xef\xbb\xbf",
    "blank.csv": b"\n\n\n",
    "twice.csv": b"age,age,ill\n" + ROW,
    "json.csv": json.dumps([{"age": 41, "sex": WORD, "ill": WORD}] * 9).encode(),
    "json_lines.csv": b"\n".join([json.dumps({"age": 41, "sex": WORD}).encode()] * 4),
    "other_label.csv": HEADER + b"41,F," + CELL + b"\n",
    "no_number.csv": HEADER + CELL + b",F,yes\n",
    "other_category.csv": HEADER + ROW,
    "gzip.csv": gzip.compress(HEADER + ROW * 9),
    "zip.csv": zipped(),
    "parquet.csv": parquet(),
    "plain_parquet.csv": parquet(compression="none", use_dictionary=False),
    "text.parquet": HEADER + ROW,
    "whole.parquet": parquet(),
    "torn.parquet": parquet()[:-40] + parquet()[-8:],
    "flipped.parquet": bytes(byte ^ (0x55 * (20 < place < 60)) for place, byte in enumerate(parquet())),
    "words.parquet": parquet("age", [WORD, WORD]),
    "bytes.parquet": parquet("age", [CELL, CELL]),
    "lists.parquet": parquet("sex", [[WORD], [WORD]]),
}
MODEL = hr.models.RuleList(
    hr.Schema(
        {"age": hr.Integer(0, 120, cuts=(30, 60)), "sex": hr.Categorical(("F", "M"))}, hr.Label("ill", ("no", "yes"))
    ),
    (hr.models.Rule((), (0, 1)),),
    hr.privacy.PrivacyCard.none("not private", software="test"),
).to_json()
MADE = ("--epsilon", "1", "-o", "made", "--force")
COMMANDS = [
    ("fit", "{}", "--schema", "schema.yaml", *MADE),
    ("fit", "{}", "--target", "ill", *MADE),
    ("fit", "{}", "--schema", "schema.yaml", "--engine", "duckdb", *MADE),
    ("predict", "model.json", "{}", "-o", "made", "--force"),
    ("schema", "new", "{}", "--target", "ill", "-o", "made", "--force"),
    ("schema", "learn", "{}", "--schema", "open.yaml", *MADE),
    ("schema", "check", "schema.yaml", "{}"),
    ("audit", "model.json", "--data", "{}", "-o", "made", "--force"),
    ("report", "model.json", "--data", "{}", "-o", "made.json", "--force"),
    ("report", "model.json", "--test", "{}", "-o", "made.json", "--force"),
    ("report", "model.json", "--form", "{}", "--json"),
    ("report", "model.json", "--ledger", "{}", "--json"),
    ("report", "{}", "--json"),
    ("show", "{}"),
    ("predict", "{}", "good.csv"),
    ("audit", "{}"),
    ("budget", "show", "{}"),
    ("fit", "good.csv", "--schema", "schema.yaml", "--budget", "{}", *MADE),
]


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    """Run a command as if typed, in a folder with what it needs; return its exit code and all that is printed."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["hedgerow", *words])
        with pytest.raises(SystemExit) as leaving:
            main()
        return leaving.value.code or 0, "".join(capfd.readouterr())

    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    (tmp_path / "open.yaml").write_text(SCHEMA.replace(", cuts: [30, 60]", ""))
    (tmp_path / "good.csv").write_bytes(HEADER + b"41,F,yes\n")
    (tmp_path / "model.json").write_text(MODEL)
    assert run("predict", "model.json", "good.csv")[0] == 0
    return run


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if place % 2 else ()) for place, name in enumerate(FILES)]
)
@pytest.mark.claim("hedgerow's exceptions contain no cell values")
def test_no_file_is_quoted_that_is_not_what_it_is_called(name, tmp_path, call):
    (tmp_path / name).write_bytes(FILES[name])
    for command in COMMANDS:
        code, printed = call(*(word.format(name) for word in command))
        assert WORD not in printed.lower(), command
        assert code in (0, 2), (command, printed)
        *_, last = printed.splitlines()  # after the report of `schema check`, which is for the curator
        assert code == 0 or last.startswith("error: "), (command, printed)
        assert code == 0 or command[0] == "schema" or "\n" not in printed.removesuffix("\n"), (command, printed)


@pytest.mark.parametrize("content", [b"41", FILES["whole.parquet"], None])
def test_no_database_is_quoted(content, tmp_path, call):
    if content is None:
        with duckdb.connect("clinic.duckdb") as connection:
            connection.execute(f"CREATE VIEW people AS SELECT '{WORD}'::integer AS age, 'F' AS sex, '{WORD}' AS ill")
    else:
        (tmp_path / "clinic.duckdb").write_bytes(content)
    for command in COMMANDS[:1] + COMMANDS[6:8]:
        code, printed = call(*(word.format("duckdb:///clinic.duckdb::people") for word in command))
        assert (code, printed.count("\n")) == (2, 1)
        assert WORD not in printed
