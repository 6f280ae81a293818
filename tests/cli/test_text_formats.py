"""Files in every text format, with every command that reads rows: each works, or is refused with what to do."""

import gzip
import io
import json

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.planning import planner
from tests.cli.table import a_tree


@pytest.fixture
def files(folder):
    """The folder's table in every format, and a tree that predicts it."""
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
    numbered = [f"{place},{line},x" for place, line in enumerate(content.splitlines())]
    (folder / "r.csv").write_text("\n".join(['"",' + content.splitlines()[0] + ",", *numbered[1:]]) + "\n")
    (folder / "twice.csv").write_text("\n".join(["u," + content.splitlines()[0] + ",u", *numbered[1:]]) + "\n")
    (folder / "pipes.csv").write_text(content.replace(",", "|"))
    (folder / "excel.csv").write_text("sep=;\n" + content.replace(",", ";"))
    (folder / "colons.csv").write_text(content.replace(",", ":"))
    (folder / "commas.csv").write_text("\n".join(commas) + "\n")
    (folder / "titled.csv").write_text('Visits, "2024\n,,\n\n' + content)
    (folder / "totals.csv").write_text("\n" + content + "\n,,,\nTotal,50,\nSource: the clinic\n\n")
    pq.write_table(pa.table({name: table[name] for name in table.column_names}), folder / "data.parquet")
    return folder


FIT = ("--schema", "schema.yaml", "--epsilon", "5", "--max-rules", "2", "--force")
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
    "r.csv": (),
    "twice.csv": (),
    "pipes.csv": (),
    "excel.csv": (),
    "colons.csv": ("--delimiter", ":"),
    "titled.csv": ("--skip-rows", "3"),
    "totals.csv": ("--skip-rows", "1", "--skip-footer", "3"),
}
MUCH_ALIKE, SLOW = (
    ("tabs.tsv", "twice.csv", "pipes.csv", "semicolons.csv", "old-mac.csv", "windows.csv", "mark.csv"),
    pytest.mark.slow,
)


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW if name in MUCH_ALIKE else ()) for name in MAKES])
def test_a_file_of_any_format_is_read_by_every_command(files, run, monkeypatch, name):
    more = MAKES[name]

    def asked(*words):
        code, out, err = run(*words)
        assert code == 0, err
        return out

    predicted = asked("predict", "tree.json", "data.csv")
    assert asked("predict", "tree.json", name, *more) == predicted
    checked, again = (
        json.loads(asked("schema", "check", "schema.yaml", item, *options, "--json"))
        for item, options in (("data.csv", ()), (name, more))
    )
    counts = [{key: item[key] for key in ("name", "missing", "outside", "refused")} for item in checked["columns"]]
    assert [
        {key: item[key] for key in ("name", "missing", "outside", "refused")} for item in again["columns"]
    ] == counts
    asked("fit", name, *more, *FIT)
    assert hr.load_model("model.json").privacy.is_private
    asked("audit", "tree.json", "--data", name, *more)
    encoding = () if "--decimal" in more else more[:2]  # no row is read for a draft
    asked("schema", "new", name, *encoding, "--target", "ill", "-o", "new.yaml", "--force")
    drafts = (files / "new.yaml").read_text()
    asked("schema", "new", "data.csv", "--target", "ill", "-o", "new.yaml", "--force")
    assert (files / "new.yaml").read_text() == drafts
    cut = []
    for item, options in ((name, more), ("data.csv", ())):
        asked("schema", "from-public", item, *options, "--target", "ill", "--missing", "?", "-o", "p.yaml", "--force")
        cut.append(hr.Schema.load("p.yaml"))
    assert cut[0] == cut[1]
    (files / "open.yaml").write_text("attributes:\n  age: {kind: integer, low: 0, high: 120, outside: clip}\n")
    asked("schema", "learn", name, *more, "--schema", "open.yaml", "--epsilon", "3", "-o", "l.yaml", "--force")
    asked("report", "tree.json", "--data", name, *more, "-o", "report.html", "--force")
    public, expected = (public_table(asked, monkeypatch, *words) for words in ((name, *more), ("data.csv",)))
    assert public.distance(expected) == 0 < public.total().sum()
    answers = ["", "no, yes", "i", "0", "120", "5", "n", "", "", "s", "s"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers) + "\n"))
    asked("schema", "wizard", name, *encoding, "--target", "ill", "-o", "w.yaml", "--force")
    answered = hr.Schema.load("w.yaml")
    assert (answered.names, answered["age"].high, answered["age"].cuts) == (("age",), 120, (20, 40, 60, 80, 100))


def public_table(asked, monkeypatch, *public):
    """Return the counted rows of a public table to which `plan` would fit models, which takes a second."""
    tables, schema = [], hr.Schema.load("schema.yaml")

    def plan(*known, public, runs, **more):
        tables.append(hr.Tally.count(*public, schema))
        assert runs == 1
        return planner.plan(*known, **more)

    monkeypatch.setattr("hedgerow.cli.plan.plan", plan)
    asked("plan", "--schema", "schema.yaml", "--rows", "50", "--epsilon", "9", "--public", *public, "--runs", "1")
    return tables[0]


@pytest.mark.usefixtures("files")
def test_proposals_of_the_wizard_come_from_public_files_of_any_make(run, monkeypatch):
    result = []
    for name, more in (("data.csv", ()), *MAKES.items()):
        if not {"--delimiter", "--skip-rows"}.isdisjoint(more):  # which would hold for the table, too
            continue
        monkeypatch.setattr("sys.stdin", io.StringIO("\n" * 40))
        assert run("schema", "wizard", "data.csv", "--public-sample", name, *more, "-o", "w.yaml", "--force")[0] == 0
        result.append(hr.Schema.load("w.yaml"))
    assert result == result[:1] * len(result)
    assert result[0].names == ("age", "sex", "dose", "ill")


ONE_COLUMN = """\
label: {name: ill, classes: ["no", "yes"]}
attributes: {age: {kind: integer, low: 0, high: 120}}
"""


@pytest.mark.parametrize("engine", [(), ("--engine", "duckdb")], ids=["memory", "duckdb"])
def test_a_listed_column_has_to_occur_once(files, run, engine):
    (files / "t.yaml").write_text(ONE_COLUMN)
    (files / "t.csv").write_text(",age,age,ill\n1,40,50,no\n")
    code, _, err = run("schema", "check", "t.yaml", "t.csv", *engine)
    assert code == 2
    assert (
        '''column 'age': the table has no such column. Its columns: "(column 1)", "age (column 2)", "age (column 3)"'''
        in err
    )
    (files / "t.csv").write_text("a,a,ill\n1,0,1\n")
    code, _, err = run("fit", "t.csv", "--target", "ill", "--epsilon", "1", *engine)
    assert code == 2
    assert "columns without a unique name" in err


def test_columns_without_a_name_are_left_out_of_drafts(files, run):
    (files / "t.csv").write_text(",age,x,x,ill\n1,40,0,0,no\n")
    _, _, err = run("schema", "new", "t.csv", "--target", "ill", "-o", "new.yaml", "--force")
    assert '"age": {kind: FILL IN}' in (files / "new.yaml").read_text()
    assert all(f"{name} has no name in the header and was left out" in err for name in ("(column 1)", "x (column 3)"))
    assert "(column" not in (files / "new.yaml").read_text()
    (files / "t.csv").write_text(",age,ill\n" + "".join(f"{i},{i % 50},{i % 2}\n" for i in range(100)))
    code, out, err = run("schema", "from-public", "t.csv", "--target", "ill", "-o", "p.yaml", "--force")
    assert (code, "(column 1)" in out, "(column 1) has no name" in err) == (0, False, True)


@pytest.mark.parametrize("delimiter", ["tab", "\\t"])
def test_a_tab_is_named(files, run, delimiter):
    (files / "t.yaml").write_text(ONE_COLUMN)
    (files / "t.csv").write_text("a;g;e\tage\till\n1\t40\tno\n")
    assert run("schema", "check", "t.yaml", "t.csv")[0] == 2
    assert run("schema", "check", "t.yaml", "t.csv", "--delimiter", delimiter)[0] == 0


def test_the_wizard_proposes_the_words_that_mean_missing_in_public_rows(files, run, monkeypatch):
    (files / "t.csv").write_text("age,sex,ill\n")
    (files / "p.csv").write_text("age,sex,ill\n" + "40,F,no\n41,M,yes\nNA,F,no\n" * 9)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n" * 40))
    code, _, err = run("schema", "wizard", "t.csv", "--public-sample", "p.csv", "-o", "w.yaml")
    assert code == 0
    assert "can values be missing (blank, or NA)" in err
    assert hr.Schema.load("w.yaml")["age"].missing_values == ("NA",)


def test_texts_stay_texts(files, run):
    """A code such as 007 is no number, whatever the file, and neither is a yes or a no a boolean."""
    (files / "codes.yaml").write_text(
        "label: {name: ill, classes: ['no', 'yes']}\nattributes:\n"
        "  ward: {kind: categorical, values: ['007', '7', '1e3', 'no', 'NA', '1,5']}\n"
    )
    lines = ["ward;ill", *(f"{ward};no" for ward in ("007", "7", "1e3", "no", "NA", "1,5"))]
    text = "\n".join(lines) + "\n"
    for name, content in {
        "c.csv": text.encode(),
        "c.tsv": text.replace(";", "\t").encode(),
        "c.csv.gz": gzip.compress(text.encode()),
        "mac.csv": text.replace("\n", "\r").encode(),
    }.items():
        (files / name).write_bytes(content)
        code, out, _ = run("schema", "check", "codes.yaml", name, "--json")
        assert (code, json.loads(out)["accepted"]) == (0, True)
    pq.write_table(
        pa.table({"ward": [line.split(";")[0] for line in lines[1:]], "ill": ["no"] * 6}), files / "c.parquet"
    )
    assert run("schema", "check", "codes.yaml", "c.parquet")[0] == 0
    a_tree(files, old={"counts": (3, 9)}, young={"counts": (9, 3)})
    (files / "ids.tsv.gz").write_bytes(gzip.compress(b"id\tage\tsex\tdose\n007\t40\tF\t0.5\n"))
    assert run("predict", "tree.json", "ids.tsv.gz", "--id", "id")[1].splitlines()[1].startswith('"007",')


def test_rows_may_come_from_standard_input(files, run, monkeypatch):
    expected = run("predict", "tree.json", "data.csv")[1]

    class Piped:
        def __init__(self):
            self.buffer = io.BytesIO((files / "data.csv").read_bytes())

        def isatty(self):
            return False

    for words in (("predict", "tree.json", "-"), ("schema", "check", "schema.yaml", "-")):
        monkeypatch.setattr("hedgerow.tables.table_files.sys.stdin", Piped())
        code, out, _ = run(*words)
        assert code == 0
        assert words[0] != "predict" or out == expected


@pytest.mark.usefixtures("files")
def test_a_terminal_is_no_table(run, monkeypatch):
    monkeypatch.setattr("hedgerow.tables.table_files.sys.stdin.isatty", lambda: True, raising=False)
    code, out, err = run("predict", "tree.json", "-")
    assert (code, out) == (2, "")
    assert err == "error: standard input is a terminal; pipe the rows to it, as in `cat FILE | hedgerow …`.\n"


REFUSED = {
    "sheet.ods": ((), "spreadsheets of type .ods are not supported; save it as .xlsx, or its sheet as CSV"),
    "latin.csv": ((), "line 1 is not text in UTF-8; declare the encoding with --encoding"),
    "wide.csv": (
        ("--encoding", "ascii"),
        "line 1 is not valid text in ascii",
    ),
    "data.csv": (("--encoding", "klingon"), "encoding must be the name of an encoding in Python, such as utf-8"),
    "tabs.tsv": (("--decimal", ";"), "decimal must be '.' or ','"),
    "packed.csv.gz": ((), "not a gzip file, or a truncated one"),
    "broken.parquet": ((), "not a Parquet file"),
    "header.csv": ((), "column names must not contain quotes or line breaks"),
    "bomb.csv.gz": ((), "compressed, piped, not in UTF-8 or read with skip_footer can have"),
    "data.json": ((), "must end in .csv, .tsv, .txt (also followed by .gz), .xlsx, .parquet, .sav, "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_what_to_do(files, run, monkeypatch, name):
    monkeypatch.setattr("hedgerow.tables.table_files.LARGEST", 2**20)
    monkeypatch.setattr("hedgerow.tables.table_files._BLOCK", 2**18)
    (files / "sheet.ods").write_bytes(b"PK\3\4")
    (files / "broken.parquet").write_bytes(b"SECRET")
    (files / "header.csv").write_text('age,"se\nx",dose,ill\n40,F,0.5,no\n')
    (files / "data.json").write_text("[]")
    if name == "bomb.csv.gz":
        (files / name).write_bytes(gzip.compress(b"age,sex,dose,ill\n" + b"40,F,0.5,no\n" * 10**6))
    if name == "packed.csv.gz":
        (files / name).write_bytes((files / name).read_bytes()[:-30])
    more, problem = REFUSED[name]
    commands = [
        ("predict", "tree.json", name),
        ("schema", "learn", name, "--schema", "schema.yaml", "--epsilon", "1", "-o", "l.yaml"),
        ("schema", "from-public", name, "-o", "p.yaml"),
        ("plan", "--schema", "schema.yaml", "--rows", "50", "--epsilon", "9", "--public", name),
        ("report", "tree.json", "--data", name, "-o", "report.html"),
        ("report", "tree.json", "--data", "good.csv", "--test", name, "-o", "report.html"),
        ("schema", "wizard", "good.csv", "--public-sample", name, "-o", "w.yaml"),
    ]
    (files / "good.csv").write_bytes((files / "data.csv").read_bytes() if "ascii" not in more else b"age,ill\n40,no\n")
    if not name.endswith(("parquet", "json")):
        fit = ("fit", name, "--schema", "schema.yaml", "--epsilon", "5", "--budget", "budget.json")
        commands += [fit, ("schema", "check", "schema.yaml", name), ("audit", "tree.json", "--data", name)]
        commands += [] if "--decimal" in more else [("schema", "new", name, "--target", "ill", "-o", "n.yaml")]
        commands.append(("schema", "wizard", name, "-o", "w.yaml"))
    run("budget", "new", "budget.json", "--epsilon", "9")
    for words in commands:
        code, out, err = run(*words, *more)
        assert (code, out) == (2, ""), words
        (line,) = err.strip().splitlines()
        assert problem in line
        assert "SECRET" not in line
    assert hr.privacy.FileBudget("budget.json").spent == 0
    assert not {"l.yaml", "n.yaml", "p.yaml", "w.yaml", "report.html"} & {path.name for path in files.iterdir()}


@pytest.mark.usefixtures("files")
def test_text_options_are_refused_for_parquet_files(run):
    fit = ("fit", "data.parquet", "--schema", "schema.yaml", "--epsilon", "1")
    plan = ("plan", "--schema", "schema.yaml", "--rows", "50", "--epsilon", "9")
    wizard = ("schema", "wizard", "data.parquet", "-o", "w.yaml")
    for words in (fit, ("predict", "tree.json", "data.parquet"), plan, (*plan, "--public", "data.parquet"), wizard):
        code, _, err = run(*words, "--decimal", ",")
        assert code == 2
        assert any(word in err for word in ("--decimal", "decimal mark", "its own format"))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ("report", "tree.json", "--data", "-", "--test", "-", "-o", "r.html"),
            "--data and --test cannot both be read",
        ),
        (("schema", "wizard", "-", "-o", "w.yaml"), "got - (standard input)"),
        (("schema", "import", "dictionary.xlsx", "-o", "i.yaml"), "file ending is not supported"),
        (
            ("fit", "tabs.tsv", "--engine", "duckdb", *FIT),
            "not the address of a table",
        ),
        (
            ("fit", "old-*.csv", *FIT),
            "line 1 ends differently. `tr '\\r' '\\n'` replaces carriage returns by line feeds",
        ),
        (("fit", "*.csv.gz", *FIT), "not the address of a table"),
        (("fit", "data.feather", *FIT), "expected data.parquet, data.csv"),
        (
            ("schema", "wizard", "data.feather", "-o", "w.yaml"),
            "must end in .csv, .tsv, .txt (also followed by .gz), .xlsx, .parquet",
        ),
        (("fit", "commas.csv", *FIT), "`--decimal ,` reads decimal commas"),
        (("plan", "--rows", "50", "--public", "commas.csv", "--schema", "schema.yaml"), "`--decimal ,` reads decimal"),
    ],
)
def test_what_one_command_cannot_read_is_refused_with_what_to_do(run, words, problem):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert problem in err


def test_the_line_with_an_absent_name_is_proposed(files, run):
    (files / "named.csv").write_text("Visits,of,2024,all\n,,,\n" + (files / "data.csv").read_text())
    fit = ("fit", "named.csv", "--schema", "schema.yaml", "--epsilon", "1")
    check, new = ("schema", "check", "schema.yaml", "named.csv"), ("schema", "new", "named.csv", "--target", "ill")
    for words in (fit, check, (*new, "-o", "n.yaml")):
        code, _, err = run(*words)
        assert code == 2
        assert "Line 3 contains this name: skip the lines above it with --skip-rows 2" in err
    assert "has this name" not in run("schema", "new", "named.csv", "--target", "nil")[2]
    (files / "named.csv").write_text("Visits,of,2024,all\n,,,\n" + (files / "data.csv").read_text())
    assert run(*check, "--skip-rows", "2")[0] == 0


def test_last_rows_like_totals_are_proposed_to_the_holder_only(files, run):
    (files / "totals.csv").write_text((files / "data.csv").read_text() + "Total,,SECRET,\n")
    code, out, err = run("schema", "check", "schema.yaml", "totals.csv")
    assert code == 2
    assert "the last row looks like a total, a note or a blank row; if so, add --skip-footer 1" in out
    assert "leave out the last rows with --skip-footer 1" in err
    assert "SECRET" not in out + err
    code, out, err = run("fit", "totals.csv", "--schema", "schema.yaml", "--epsilon", "1")
    assert code == 2
    assert "footer" not in out + err
    (files / "totals.csv").write_text((files / "data.csv").read_text() + "Total,,9,\n")
    code, _, err = run("schema", "from-public", "totals.csv", "-o", "p.yaml", "--drop", "ill")
    assert (code, "add --skip-footer 1" in err) == (0, True)


@pytest.mark.usefixtures("files")
def test_decimal_commas_are_no_numbers_without_the_option(run):
    code, out, err = run("schema", "check", "schema.yaml", "commas.csv", "--json")
    assert code != 0
    assert json.loads(out)["accepted"] is False
    assert "`--decimal ,`" in err
