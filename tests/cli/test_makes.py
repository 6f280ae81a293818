"""Files of every make, with every command that reads rows: each works, or is refused with what to do."""

import gzip
import io
import json

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from tests.cli.table import a_tree


@pytest.fixture
def files(folder):
    """The folder's table in every make, and a tree that predicts it."""
    content = (folder / "data.csv").read_text()
    a_tree(folder, old={"counts": (3, 9)}, young={"counts": (9, 3)})
    table = pacsv.read_csv(io.BytesIO(content.encode()))
    commas = [line.replace(",", ";").replace(".", ",") for line in content.splitlines()]
    (folder / "tabs.tsv").write_text(content.replace(",", "\t"))
    (folder / "semicolons.csv").write_text(content.replace(",", ";"))
    (folder / "old-mac.csv").write_bytes(content.replace("\n", "\r").encode())
    (folder / "windows.csv").write_bytes(content.replace("\n", "\r\n").encode())
    (folder / "mark.csv").write_bytes(b"\xef\xbb\xbf" + content.encode())
    (folder / "packed.csv.gz").write_bytes(gzip.compress(content.encode()))
    (folder / "latin.csv").write_bytes(content.replace("sex", "séxe").encode("cp1252"))
    (folder / "wide.csv").write_bytes(content.encode("utf-16"))
    (folder / "commas.csv").write_text("\n".join(commas) + "\n")
    pq.write_table(pa.table({name: table[name] for name in table.column_names}), folder / "data.parquet")
    return folder


MAKES = {
    "tabs.tsv": (),
    "semicolons.csv": (),
    "old-mac.csv": (),
    "windows.csv": (),
    "mark.csv": (),
    "packed.csv.gz": (),
    "wide.csv": ("--encoding", "utf-16"),
    "commas.csv": ("--decimal", ","),
    "data.parquet": (),
}


@pytest.mark.parametrize("name", MAKES)
def test_a_file_of_any_make_is_read_by_every_command(files, run, name):
    more = MAKES[name]

    def asked(*words):
        code, out, err = run(*words)
        assert code == 0, err
        return out

    predicted = asked("predict", "tree.json", "data.csv")
    assert asked("predict", "tree.json", name, *more) == predicted
    checked, again = (
        json.loads(asked("schema", "check", "schema.yaml", one, *options, "--json"))
        for one, options in (("data.csv", ()), (name, more))
    )
    counts = [{key: one[key] for key in ("name", "missing", "outside", "refused")} for one in checked["columns"]]
    assert [{key: one[key] for key in ("name", "missing", "outside", "refused")} for one in again["columns"]] == counts
    fit = ("--schema", "schema.yaml", "--epsilon", "5", "--max-rules", "2", "--force")
    asked("fit", name, *more, *fit)
    assert hr.load_model("model.json").privacy.is_private
    asked("audit", "tree.json", "--data", name, *more)
    encoding = more if "--encoding" in more else ()
    asked("schema", "new", name, *encoding, "--target", "ill", "-o", "new.yaml", "--force")
    drafts = (files / "new.yaml").read_text()
    asked("schema", "new", "data.csv", "--target", "ill", "-o", "new.yaml", "--force")
    assert (files / "new.yaml").read_text() == drafts
    cut = []
    for one, options in ((name, more), ("data.csv", ())):
        asked("schema", "from-public", one, *options, "--target", "ill", "--missing", "?", "-o", "p.yaml", "--force")
        cut.append(hr.Schema.load("p.yaml"))
    assert cut[0] == cut[1]
    (files / "open.yaml").write_text("attributes:\n  age: {kind: integer, low: 0, high: 120, outside: clip}\n")
    asked("schema", "learn", name, *more, "--schema", "open.yaml", "--epsilon", "3", "-o", "l.yaml", "--force")
    asked("report", "tree.json", "--data", name, *more, "-o", "report.html", "--force")
    if not more:
        asked("plan", "--schema", "schema.yaml", "--rows", "50", "--epsilon", "9", "--public", name, "--runs", "1")


def test_rows_may_come_from_standard_input(files, run, monkeypatch):
    expected = run("predict", "tree.json", "data.csv")[1]

    class Piped:
        def __init__(self):
            self.buffer = io.BytesIO((files / "data.csv").read_bytes())

        def isatty(self):
            return False

    for words in (("predict", "tree.json", "-"), ("schema", "check", "schema.yaml", "-")):
        monkeypatch.setattr("hedgerow.table_files.sys.stdin", Piped())
        code, out, _ = run(*words)
        assert code == 0
        assert words[0] != "predict" or out == expected


REFUSED = {
    "sheet.xlsx": ((), "expected CSV or Parquet, got a spreadsheet; save the sheet as CSV in UTF-8"),
    "latin.csv": ((), "a file that is not UTF-8 text on line 1; save it as CSV in UTF-8, or say --encoding"),
    "wide.csv": (
        ("--encoding", "ascii"),
        "in ascii, found other bytes on line 1; say in --encoding which one it is in, or save it as CSV in UTF-8",
    ),
    "data.csv": (("--encoding", "klingon"), "encoding must be one that Python knows, such as utf-8, cp1252 or utf-16"),
    "tabs.tsv": (("--decimal", ";"), "decimal must be . or ,"),
    "packed.csv.gz": ((), "expected a file that gzip wrote, found another, or one that is cut off"),
    "broken.parquet": ((), "expected a Parquet file, found another"),
    "header.csv": ((), "names of columns must not hold quotes or line breaks"),
    "bomb.csv.gz": ((), "expected at most"),
    "data.json": ((), "expected a file of .csv, .tsv, .txt (or .gz of these) or .parquet, or - for standard input"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_what_to_do(files, run, monkeypatch, name):
    monkeypatch.setattr("hedgerow.table_files.LARGEST", 2**20)
    monkeypatch.setattr("hedgerow.table_files._BLOCK", 2**18)
    (files / "sheet.xlsx").write_bytes(b"PK\3\4")
    (files / "broken.parquet").write_bytes(b"SECRET")
    (files / "header.csv").write_text('age,"se\nx",dose,ill\n40,F,0.5,no\n')
    (files / "data.json").write_text("[]")
    (files / "bomb.csv.gz").write_bytes(gzip.compress(b"age,sex,dose,ill\n" + b"40,F,0.5,no\n" * 10**6))
    if name == "packed.csv.gz":
        (files / name).write_bytes((files / name).read_bytes()[:-30])
    more, problem = REFUSED[name]
    commands = [
        ("predict", "tree.json", name),
        ("schema", "learn", name, "--schema", "schema.yaml", "--epsilon", "1", "-o", "l.yaml"),
        ("schema", "from-public", name, "-o", "p.yaml"),
    ]
    if not name.endswith(("parquet", "json")):
        fit = ("fit", name, "--schema", "schema.yaml", "--epsilon", "5", "--budget", "budget.json")
        commands += [fit, ("schema", "check", "schema.yaml", name)]
    run("budget", "new", "budget.json", "--epsilon", "9")
    for words in commands:
        code, out, err = run(*words, *more)
        assert (code, out) == (2, ""), words
        (line,) = err.strip().splitlines()
        assert problem in line
        assert "SECRET" not in line
    assert hr.FileBudget("budget.json").spent == 0
    assert not (files / "l.yaml").exists()


@pytest.mark.usefixtures("files")
def test_options_of_text_are_refused_where_there_is_none(run):
    fit = ("fit", "data.parquet", "--schema", "schema.yaml", "--epsilon", "1")
    for words in (fit, ("predict", "tree.json", "data.parquet")):
        code, _, err = run(*words, "--decimal", ",")
        assert code == 2
        assert "--decimal" in err or "decimal mark" in err


@pytest.mark.usefixtures("files")
def test_decimal_commas_are_no_numbers_without_the_option(run):
    code, out, _ = run("schema", "check", "schema.yaml", "commas.csv", "--json")
    assert code != 0
    assert json.loads(out)["accepted"] is False
