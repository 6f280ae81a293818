"""A table without rows is a neighbour of each table with one row.

The two may differ only in random draws: not in whether there is an answer, in errors, messages or charges. An error
that depends on whether there is a row would disclose the row at no charge.
"""

import datetime
import re

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.engines.sources import open_table
from hedgerow.errors import DomainError
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.learn.ssrl.greedy import PUBLISHED
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Real, Schema
from hedgerow.tables.csv_files import read_csv, read_header
from hedgerow.tables.frames import Table

SCHEMA = """\
label: {name: ill, classes: ["no", "yes"]}
attributes:
  age: {kind: integer, low: 0, high: 120, cuts: [30, 60]}
  sex: {kind: categorical, values: [F, M], missing: bin}
"""
HEADER, ROW = b"age,sex,ill", b"41,F,yes"
SSRL = ("--model", "dp-greedyrl")
ENDS = {"line end": b"\n", "no line end": b"", "blank lines": b"\n\n\n", "CRLF": b"\r\n"}
EXACT = ("--search", "exact", "--max-rules", "2", "--max-literals", "1", "--release-counts")
FITS = {
    "greedy list": (),
    "exact list": EXACT,
    "exact tree": ("--model", "tree", "--max-depth", "1"),
    "greedy tree": ("--model", "tree", "--search", "greedy", "--max-depth", "1"),
    "noisy counts": (
        "--model",
        "dp-greedyrl",
        "--mechanism",
        "noisy-counts",
        "--max-rules",
        "2",
        "--max-literals",
        "1",
    ),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    (tmp_path / "open.yaml").write_text(SCHEMA.replace(", cuts: [30, 60]", ""))
    types = pa.schema([("age", pa.int64()), ("sex", pa.string()), ("ill", pa.string())])
    for n in (0, 1):
        (tmp_path / f"{n}.csv").write_bytes(HEADER + (b"\n" + ROW) * n)
        table = pa.table({"age": [41][:n], "sex": ["F"][:n], "ill": ["yes"][:n]}, schema=types)
        pq.write_table(table, f"{n}.parquet")
        with duckdb.connect(f"{n}.duckdb") as connection:
            connection.register("rows", table)
            connection.execute("CREATE TABLE patients AS SELECT * FROM rows")
    return tmp_path


@pytest.mark.parametrize("end", ENDS)
def test_a_csv_file_with_nothing_below_its_header_is_a_table(tmp_path, end):
    path = tmp_path / "t.csv"
    for start in (b"", b"\xef\xbb\xbf"):
        path.write_bytes(start + HEADER + ENDS[end])
        table = read_csv(path)
        assert (table.num_rows, table.column_names) == (0, ["age", "sex", "ill"])
        line = ENDS[end] or b"\n"
        path.write_bytes(start + HEADER + line + ROW + ENDS[end])
        assert read_csv(path).schema == table.schema
        assert read_csv(path).to_pylist() == [{"age": "41", "sex": "F", "ill": "yes"}]


@pytest.mark.parametrize("rows", [b"", b"\r" + ROW, b"\r" + ROW + b"\n" + ROW])
def test_csv_headers_ending_in_a_carriage_return_are_refused(tmp_path, rows):
    path = tmp_path / "t.csv"
    path.write_bytes(HEADER + rows + b"\r")
    assert read_header(path).names == ("age", "sex", "ill")
    with pytest.raises(DomainError, match="line 1 ends differently"):
        read_csv(path)


@pytest.mark.parametrize("end", ENDS)
def test_engines_and_memory_count_the_same_csv_rows(tmp_path, end):
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    schema, path = Schema.load(tmp_path / "schema.yaml"), tmp_path / "t.csv"
    for rows in (b"", (ENDS[end] or b"\n") + ROW):
        path.write_bytes(HEADER + rows + ENDS[end])
        with open_table(str(path)) as table:
            counted = hr.Tally.from_table(table, schema).total()
        assert counted.tolist() == hr.Tally.count(read_csv(path), "ill", schema).total().tolist()


def test_the_header_ends_where_the_first_line_does(tmp_path):
    path = tmp_path / "t.csv"
    for content in (b"age,ill\r41,no\r42,yes\r", b"age,ill\r41,no\n", b"age,ill\r\n41,no"):
        path.write_bytes(content)
        assert read_header(path).names == ("age", "ill")
    path.write_bytes(b'[{"age": 41, "ill": "no"}, {"age": 42, "ill": "yes"}]')
    with pytest.raises(DomainError, match=r"t\.csv: the quotes in the header"):
        read_header(path)


def charged(budget):
    """Return what a budget was charged, and for what."""
    return [charge.to_dict() for charge in budget.charges]


DATA = ["{}.csv", "{}.parquet", "duckdb:///{}.duckdb::patients"]


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("words", FITS.values(), ids=FITS)
@pytest.mark.usefixtures("folder")
@pytest.mark.claim("for any two neighbouring tables D and D′, including the table without rows")
def test_fits_on_no_row_and_one_row_differ_only_in_draws(run, data, words):
    told = []
    for n in (0, 1):
        run("budget", "new", f"{n}.json", "--epsilon", "2")
        fit = (
            "fit",
            data.format(n),
            "--schema",
            "schema.yaml",
            "--epsilon",
            "1",
            "--budget",
            f"{n}.json",
            "-o",
            "m.json",
        )
        code, out, err = run(*fit, *words, "--force")
        assert code == 0
        assert "guarantee   epsilon-differential privacy with epsilon = 1" in out or "noisy-counts" in words
        err = re.sub(
            "^warning: (The model predicts|(By t|T)he released counts).*\n", "", err, flags=re.MULTILINE
        )  # of the model
        told.append((err, charged(FileBudget(f"{n}.json"))))
    assert told[0] == told[1]


REFUSED = {
    "absent label": ("--target", "death"),
    "budget too small": ("--epsilon", "3", "--budget", "b.json"),
    "epsilon too small": ("--epsilon", "1e-20"),
    "absent attribute": ("--schema", "other.yaml"),
    "parameter": ("--max-rules", "0"),
    "no guarantee": (*SSRL, "--delta", "1e-9"),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.claim("A table without rows is fitted, charged and answered like a table with rows")
def test_refusals_do_not_depend_on_the_existence_of_rows(folder, run, data, case):
    (folder / "other.yaml").write_text(SCHEMA.replace("sex:", "height:"))
    run("budget", "new", "b.json", "--epsilon", "2")
    words = ("--schema", "schema.yaml", "--epsilon", "1", *REFUSED[case])
    code, out, err = run("fit", data.format(0), *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert run("fit", data.format(1), *words)[2].replace("1.", "0.") == err.replace("1.", "0.")
    assert charged(FileBudget("b.json")) == []


@pytest.mark.usefixtures("folder")
def test_the_other_commands_take_a_table_without_rows(run):
    assert run("fit", "1.csv", "--schema", "schema.yaml", "--epsilon", "1")[0] == 0
    assert run("predict", "model.json", "0.csv") == (0, '"ill","rule"\n', "")
    assert run("predict", "model.json", "0.csv", "--json") == (0, "[]\n", "")
    assert run("schema", "check", "schema.yaml", "0.csv")[0] == 0
    told = []
    for n in (0, 1):
        run("budget", "new", f"{n}.json", "--epsilon", "2")
        words = ("schema", "learn", f"{n}.csv", "--schema", "open.yaml", "--epsilon", "1", "--budget", f"{n}.json")
        code, out, err = run(*words, "--force")
        told.append((code, out.splitlines()[-1], err, charged(FileBudget(f"{n}.json"))))
        assert run("schema", "new", f"{n}.csv", "--target", "ill", "-o", "s.yaml", "--force")[0] == 0
    assert told[0] == told[1]
    assert told[0][0] == 0
    for data in DATA:  # a share of the uncertainty of nothing: for the curator's eyes, and not charged
        code, _, err = run("audit", "model.json", "--data", data.format(0))
        assert (code, err) == (2, "error: the supports must contain at least one row.\n")
    assert "all values are missing" in run("schema", "from-public", "0.csv", "--target", "ill", "-o", "public.yaml")[2]


COLUMNS = {"flag": [True], "word": ["u"], "size": [4.0], "whole": [3]}
DECLARED = Schema(
    {
        "flag": Boolean(missing="bin"),
        "word": Categorical(("u", "v"), missing="bin", outside="bin"),
        "size": Real(0, 9, (3,), missing="bin", outside="clip"),
        "whole": Integer(0, 9, (3,), missing="bin", outside="clip"),
    },
    Label("y", ("no", "yes")),
)
TYPES = {"flag": bool, "word": "str", "size": float, "whole": int}
ARROW = pa.schema([("flag", pa.bool_()), ("word", pa.string()), ("size", pa.float64()), ("whole", pa.int64())])
MAKERS = {
    "pandas": lambda n: pd.DataFrame({k: pd.Series(v[:n], dtype=TYPES[k]) for k, v in COLUMNS.items()}),
    "pandas objects": lambda n: pd.DataFrame({k: v[:n] for k, v in COLUMNS.items()}, dtype=object),
    "polars": lambda n: pl.from_arrow(pa.table({k: v[:n] for k, v in COLUMNS.items()}, schema=ARROW)),
    "pyarrow": lambda n: pa.table({k: v[:n] for k, v in COLUMNS.items()}, schema=ARROW),
    "pyarrow, no chunk": lambda n: ARROW.empty_table() if not n else MAKERS["pyarrow"](1),
    "pyarrow, no type": lambda n: pa.table(dict.fromkeys(COLUMNS, pa.nulls(n))),
    "array": lambda n: np.array([[1.0, 7, 4.0, 3]])[:n],
    "array of objects": lambda n: np.array([[True, "u", 4.0, 3]], dtype=object)[:n],
}
LABELS = {
    "list": lambda n: ["no"][:n],
    "array": lambda n: np.array(["no"])[:n],
    "objects": lambda n: np.array(["no"], dtype=object)[:n],
    "pandas": lambda n: pd.Series(["no"][:n], dtype="str"),
    "polars": lambda n: pl.Series(["no"][:n], dtype=pl.String),
    "pyarrow": lambda n: pa.chunked_array([["no"][:n]], pa.string()),
}
LISTS, TREES = hr.PrivateRuleListClassifier, hr.PrivateTreeClassifier
LEARNERS = {
    "greedy list": lambda **p: LISTS(1, max_rules=3, **p),
    "exact list": lambda **p: LISTS(1, max_rules=2, max_literals=1, search="exact", release_counts=True, **p),
    "exact tree": lambda **p: TREES(1, max_depth=2, release_counts=True, **p),
    "greedy tree": lambda **p: TREES(1, max_depth=2, search="greedy", **p),
    "scorecard": lambda **p: hr.PrivateScorecardClassifier(1, **p),
    "scorecard with delta": lambda **p: hr.PrivateScorecardClassifier(1, delta=1e-9, **p),
    "choice by a count": lambda **p: hr.PrivateAutoClassifier(1, **p),
    "choice by a draw": lambda **p: hr.PrivateAutoClassifier(1, n_rows=10**6, **p),
    **{
        name: lambda name=name, how=how, **p: hr.DPGreedyRLClassifier(
            1, max_rules=3, mechanism=name, delta=1e-9 if how.spends_delta else None, **p
        )
        for name, how in PUBLISHED.items()
    },
}


def told(call):
    """Return whether a call answers, or the type and the words with which it refuses."""
    try:
        call()
    except Exception as error:
        return type(error), str(error)
    return None


@pytest.mark.filterwarnings("ignore::hedgerow.errors.PreparationWarning")  # of the arrays
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_learns_of_no_row_as_of_one(maker, learner):
    result = []
    for n in (0, 1):
        X, budget = MAKERS[maker](n), hr.Budget(3, 1e-6)
        clf = LEARNERS[learner](schema=DECLARED, budget=budget).fit(X, LABELS["list"](n))
        assert clf.predict(X).shape == (n,)
        assert clf.predict_proba(X).shape == (n, 2)
        LEARNERS[learner](schema=DECLARED, budget=budget).fit_tally(hr.Tally.count(X, LABELS["list"](n), DECLARED))
        result.append(charged(budget))
    assert result[0] == result[1]


COLUMNS_OF_A_TYPE = {
    "pandas str": lambda n: pd.Series(["u"][:n], dtype="str"),
    "pandas objects": lambda n: pd.Series(["u"][:n], dtype=object),
    "pandas objects, missing": lambda n: pd.Series([None][:n], dtype=object),
    "pandas categories": lambda n: pd.Series(pd.Categorical(["u"][:n], categories=["u"])),
    "pandas categories, whole": lambda n: pd.Series(pd.Categorical([1][:n], categories=[1])),
    "pandas float": lambda n: pd.Series([4.0][:n], dtype=float),
    "pandas Int64": lambda n: pd.Series([4][:n], dtype="Int64"),
    "pandas bool": lambda n: pd.Series([True][:n], dtype=bool),
    "pandas boolean": lambda n: pd.Series([True][:n], dtype="boolean"),
    "pandas moments": lambda n: pd.Series(pd.date_range("2020-01-01", periods=n)),
    "polars text": lambda n: pl.Series(["u"][:n], dtype=pl.String),
    "polars enum": lambda n: pl.Series(["u"][:n], dtype=pl.Enum(["u"])),
    "polars nothing": lambda n: pl.Series([None][:n], dtype=pl.Null),
    "polars decimals": lambda n: pl.Series([4][:n], dtype=pl.Decimal(5, 2)),
    "polars lists": lambda n: pl.Series([[4]][:n], dtype=pl.List(pl.Int64)),
    "pyarrow text": lambda n: pa.array(["u"][:n], pa.string()),
    "pyarrow dictionary": lambda n: pa.array(["u"][:n], pa.string()).dictionary_encode(),
    "pyarrow nothing": pa.nulls,
    "pyarrow int8": lambda n: pa.array([4][:n], pa.int8()),
    "array of text": lambda n: np.array([["u"]])[:n],
    "array of objects": lambda n: np.array([["u"]], dtype=object)[:n],
    "array of objects, missing": lambda n: np.array([[None]], dtype=object)[:n],
    "array of numbers": lambda n: np.array([[4.0]])[:n],
    "array of booleans": lambda n: np.array([[True]])[:n],
}


def table_of(column):
    if isinstance(column, np.ndarray):
        return column
    return {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(column), pa.table)({"a": column})


@pytest.mark.parametrize("attribute", [DECLARED["flag"], DECLARED["word"], DECLARED["size"]], ids=lambda a: a.kind)
@pytest.mark.parametrize("kind", COLUMNS_OF_A_TYPE)
@pytest.mark.claim("reads a column with an ambiguous type as text, whatever its values are")
def test_an_oracle_depends_on_columns_by_type_only(kind, attribute):
    bins = Schema({"a": attribute})

    def ask(n, release):
        """Return what an oracle on n rows refuses, and what is charged."""
        held = []
        budget, X = hr.Budget(3, 1e-6), table_of(COLUMNS_OF_A_TYPE[kind](n))
        refused = [told(lambda: held.append(hr.Oracle(X, [0] * n, budget, release=release)))]
        for oracle in held:
            refused += told(lambda: oracle.marginals(bins)), told(lambda: oracle.error_marginals(bins, Always(0)))  # noqa: B023
            refused += oracle.queries_left, str(oracle.privacy)
        return refused, charged(budget)

    for release in ("counts", "gaussian", "ratio"):
        assert ask(0, release) == ask(1, release)


@pytest.mark.parametrize(("n", "labels"), [(n, kind) for n in (0, 1) for kind in LABELS])
def test_the_classes_of_an_oracle_are_those_of_the_labels_type(n, labels):
    X = np.ones((n, 1))
    assert hr.Oracle(X, LABELS[labels](n), None, classes=("no", "yes")).classes == ("no", "yes")
    for y in ([True][:n], np.array([True], dtype=object)[:n], np.array([1])[:n]):
        assert str(hr.Oracle(X, y, None).classes) == "(0, 1)"
    assert str(hr.Oracle(X, np.array([True])[:n], None).classes) == "(False, True)"


@pytest.mark.parametrize("n", [0, 1])
def test_an_oracle_on_a_database_answers_of_no_row(n):
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE rows (flag boolean, word varchar, size double, y integer)")
    for _ in range(n):
        connection.raw_sql("INSERT INTO rows VALUES (true, 'u', 4, 1)")
    bins = Schema({name: DECLARED[name] for name in ("flag", "word", "size")})
    for release in ("counts", "gaussian", "ratio"):
        oracle = hr.Oracle.from_table(connection.table("rows"), "y", hr.Budget(1, 1e-6), release=release)
        assert len(oracle.marginals(bins).masses) == 10
        oracle.error_marginals(bins, Always(1))
        assert oracle.queries_left == 1


@pytest.mark.parametrize("outside", ["error", "clip", "bin"])
@pytest.mark.parametrize("values", [[], [4.0], [np.nan], [99.0]])
def test_cut_points_are_learned_where_no_row_is_inside_the_domain(values, outside):
    declared, budget = Schema({"size": Real(0, 9, missing="bin", outside=outside)}), hr.Budget(1)
    frame = pd.DataFrame({"size": pd.Series(values, dtype=float)})
    if values == [99.0] and outside == "error":
        with pytest.raises(DomainError, match=r"column 'size': .*declared domain"):
            Schema.learn(frame, declared, epsilon=1, budget=budget, bins=3)
    else:
        assert 1 <= len(Schema.learn(frame, declared, epsilon=1, budget=budget, bins=3)["size"].cuts) <= 2
    assert budget.spent == 1


BIN, LABEL, OF_TWO = DECLARED["size"], DECLARED.label, {"classes": ("no", "yes")}
OPEN = Schema({"x": Real(0, 1)})


def listed(X):
    return np.asarray(X, dtype=object).tolist()


PUBLIC = {
    "labels of two dimensions": lambda X: LISTS(1, schema=DECLARED).fit(X, np.empty((len(X), 2))),
    "another number of labels": lambda X: LISTS(1, schema=DECLARED).fit(X, ["no"] * (len(X) + 1)),
    "a name for labels": lambda X: LISTS(1, schema=DECLARED).fit(X, "y"),
    "no label declared": lambda X: LISTS(1, schema=Schema({"size": Boolean()})).fit(X, ["no"] * len(X)),
    "absent attribute": lambda X: TREES(1, schema=Schema({"x": Boolean()}, LABEL)).fit(X, ["no"] * len(X)),
    "absent column to learn": lambda X: Schema.learn(X, OPEN, epsilon=1),
    "nothing to learn": lambda X: Schema.learn(X, DECLARED, epsilon=1),
    "no cut points": lambda X: LISTS(1, schema=Schema({"size": Real(0, 1, cuts=())}, LABEL)).fit(X, ["no"] * len(X)),
    "rows in a list": lambda X: LISTS(1, schema=DECLARED).fit(listed(X), ["no"] * len(X)),
    "rows in a list, oracle": lambda X: hr.Oracle(listed(X), ["no"] * len(X), None, **OF_TWO),
    "rows in a list, cut points": lambda X: Schema.learn(listed(X), OPEN, epsilon=1),
    "no such bins": lambda X: hr.Oracle(X, ["no"] * len(X), None, **OF_TWO).marginals(Schema({"x": BIN})),
    "bins of another kind": lambda X: hr.Oracle(X, ["no"] * len(X), None, **OF_TWO).marginals(Schema({"flag": BIN})),
}


@pytest.mark.parametrize("case", PUBLIC)
@pytest.mark.parametrize("maker", ["pandas", "array"])
def test_public_arguments_are_refused_with_and_without_rows(case, maker):
    no_row, one_row = (told(lambda n=n: PUBLIC[case](MAKERS[maker](n))) for n in (0, 1))
    assert no_row is not None
    assert no_row == one_row


def test_a_table_of_postgres_without_rows_is_learned_from(postgres_url, folder, run):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute("DROP TABLE IF EXISTS nobody; CREATE TABLE nobody (age int, sex text, ill text)")
    run("budget", "new", "b.json", "--epsilon", "2")
    fit = ("fit", f"{postgres_url}::nobody", "--schema", folder / "schema.yaml", "--epsilon", "1", "--budget", "b.json")
    code, _, err = run(*fit)
    # What noise alone drew may be constant, and is then warned of.
    assert (code, err.splitlines()[-1]) == (0, "written to model.json")
    assert FileBudget("b.json").spent == 1


def test_a_dictionary_in_no_piece_is_a_column_without_rows():
    days = pa.array([datetime.date(2020, 1, 1)], pa.date32()).dictionary_encode()
    for kind in (days, pa.array(["a"]).dictionary_encode(), pa.array([1]).dictionary_encode()):
        table = pa.table({"a": kind}).filter([False])
        assert table["a"].num_chunks == 0
        assert len(Table.of(table).column("a", 0)) == 0


EACH_KIND = {
    "boolean": Boolean(missing="bin"),
    "integer": Integer(0, 9, missing="bin"),
    "real": Real(0, 9, missing="bin"),
    "date": Date("2000-01-01", "2009-12-31", missing="bin"),
    "categorical": Categorical(("a", "b"), missing="bin"),
}
OF_ARROW = [pa.bool_(), pa.int64(), pa.float64(), pa.decimal128(20, 2), pa.date32(), pa.timestamp("ms"), pa.string()]


@pytest.mark.parametrize("kind", EACH_KIND)
@pytest.mark.parametrize("column", [*OF_ARROW, pa.null()], ids=str)
def test_a_column_is_refused_alike_without_rows_and_with_missing_values(kind, column):
    def refusal(n):
        try:
            Schema({"c": EACH_KIND[kind]}).encode(Table.of(pa.table({"c": pa.nulls(n, column)})))
        except DomainError as error:
            return str(error)
        return None

    assert refusal(0) == refusal(1) == refusal(2)
