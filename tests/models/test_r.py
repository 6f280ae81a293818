"""The package of R predicts what `predict` does: files of generated models, and rows in every type of column."""

from __future__ import annotations

import csv
import datetime
import json
import math
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from hedgerow._version import __version__
from hedgerow.errors import DomainError, LabelsOnlyWarning
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.caveats import box_of
from hedgerow.models.model import Model
from hedgerow.privacy.card import NO_NOISE, UNKNOWN_NOISE, PrivacyCard
from hedgerow.privacy.facts import Fact
from hedgerow.schema import (
    Boolean,
    Categorical,
    Date,
    Integer,
    Label,
    Literal,
    Number,
    OrderedLabel,
    Real,
    Schema,
)
from hedgerow.text.days import Day
from tests.models import strategies
from tests.models.large_models import CARDS, OF_NUMBERS, lines_of, rule_list, tree
from tests.models.large_models import SCHEMA as LARGE
from tests.models.scorecards import NOISY, TWO
from tests.schema import derived_values

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "r"
SCRIPT = Path(__file__).with_name("predict.R")
RSCRIPT = shutil.which("Rscript")
HAS_JSONLITE = (
    RSCRIPT is not None
    and not subprocess.run([RSCRIPT, "-e", "loadNamespace('jsonlite')"], capture_output=True, check=False).returncode
)
pytestmark = [
    pytest.mark.r,
    pytest.mark.xdist_group("r"),
    pytest.mark.skipif(not HAS_JSONLITE, reason="needs R with jsonlite (Debian: r-base-core r-cran-jsonlite)"),
]
REFUSED = "refused"
NONE = PrivacyCard.none("example", software="hedgerow")
Table = tuple[Model, pa.Table]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library of R with the package."""
    result = tmp_path_factory.mktemp("library")
    subprocess.run(
        ["R", "CMD", "INSTALL", "--no-docs", f"--library={result}", PACKAGE], check=True, capture_output=True
    )
    return result


def run(library: Path, *arguments: object) -> str:
    """Return what the script prints."""
    env = {**os.environ, "R_LIBS": str(library), "LC_ALL": "C.UTF-8", "TZ": "America/Lima"}
    done = subprocess.run(
        [str(RSCRIPT), str(SCRIPT), *map(str, arguments)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def drawn(strategy: st.SearchStrategy[Any], number: int, at: int) -> list[Any]:
    """Return generated values, the same in each run."""
    result: list[Any] = []

    @seed(at)
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(value: Any) -> None:
        result.append(value)

    draw()
    return result


def number_lists() -> st.SearchStrategy[RuleList]:
    """Return rule lists and trees of a number, by turning the classes of others into levels."""

    def made(model: RuleList, levels: int) -> RuleList:
        schema = Schema(model.schema.attributes, Number("days", 0.1, 9.7, levels))
        rules = [
            Rule(rule.antecedent, tuple((place * 7 + k) % 11 - 2 for k in range(levels)))
            for place, rule in enumerate(model.rules)
        ]
        return RuleList(schema, tuple(rules), NONE)

    return st.builds(made, strategies.rule_lists(), st.integers(2, 9))


def in_order(model: RuleList) -> RuleList:
    schema = Schema(model.schema.attributes, OrderedLabel("the label", model.schema.classes[::-1]))
    rules = [Rule(rule.antecedent, tuple(range(len(schema.classes)))) for rule in model.rules]
    return RuleList(schema, tuple(rules), NONE)


FAMILIES = {
    "rule lists": strategies.rule_lists(),
    "trees": strategies.trees(),
    "scorecards": strategies.scorecards(),
    "scorecards of numbers": strategies.number_scorecards(),
    "rule lists of numbers": number_lists(),
    "ordered classes": strategies.rule_lists().map(in_order),
}
ODD_TEXT = [
    "",
    " ",
    "NA",
    "NaN",
    "Inf",
    "-inf",
    "1e5",
    "1e400",
    "+1",
    "01",
    "1.",
    ".5",
    "0x10",
    "1.0",
    " 20.00 ",
    "TRUE",
    "é",
]
ODD_TEXT += [
    "1970-01-01",
    "2024-02-30",
    "0001-01-01",
    "31.12.1969",
    "25569",
    "25569.5",
    "99999999",
    "-7",
    "9007199254740993",
]
ODD_NUMBERS = [math.nan, math.inf, -math.inf, -0.0, 0.5, 1e300, 5e-324, 2.0**53, 1e7, 25569.25, 99.0, -9.0, 30.0]


def repeated(case: strategies.Case, size: int, random: np.random.Generator) -> pa.Table:
    """Return so many rows of a case, its columns mixed anew."""
    table = case.arrow()
    return pa.table(
        {name: table[name].take(pa.array(random.integers(len(table), size=size))) for name in table.column_names}
    )


def with_odd(table: pa.Table, random: np.random.Generator) -> pa.Table:
    """Return the rows with an odd value in one column, which `predict` may refuse."""
    name = str(random.choice(table.column_names))
    column = table[name].to_pylist()
    kind = table.schema.field(name).type
    odd: list[Any] = [None]
    if pa.types.is_string(kind):
        odd += ODD_TEXT
    elif pa.types.is_floating(kind):
        odd += ODD_NUMBERS
    elif pa.types.is_integer(kind):
        odd += [0, 1, -9, 99, 77, 25569, 2**31 - 1, 20200131]
    elif pa.types.is_date32(kind):
        odd += [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(1970, 1, 1)]
    column[0] = odd[int(random.integers(len(odd)))]
    return table.set_column(table.column_names.index(name), name, pa.array(column, kind))


def generated(models: int, rows: int, at: int) -> Iterator[Table]:
    """Yield generated models of all families, each with rows, and with rows of which some may be refused."""
    random = np.random.default_rng(at)
    for number, family in enumerate(FAMILIES.values()):
        for case in drawn(strategies.cases(family), models, at + number):
            table = repeated(case, rows, random)
            yield case.model, table
            for _ in range(4):
                yield case.model, with_odd(table[:2], random)


def derived(number: int, rows: int, at: int) -> Iterator[Table]:
    """Yield models that test derived attributes, with odd cells in the columns that they are computed from."""
    for k in range(number):
        random = np.random.default_rng([at, k])
        schema, table = derived_values.schema(random), derived_values.table(random, rows)
        for name in schema.derivations:
            literals = schema[name].literals(name, negations=True)
            item = Schema({name: schema[name]}, schema.label)
            counts = np.eye(len(item.classes), dtype=int)
            rules = [Rule((literal,), tuple(counts[place % 2].tolist())) for place, literal in enumerate(literals)]
            model = RuleList(item, (*rules, Rule((), tuple(counts[-1].tolist()))), NONE)
            yield model, table
            for row in range(min(rows, 6)):
                yield model, table[row : row + 1]


def column(name: str, array: pa.ChunkedArray) -> dict[str, Any] | None:
    """Return a column as the script reads it: numbers in hexadecimal; None of a type that R has not."""
    kind, values = array.type, array.to_pylist()
    if pa.types.is_boolean(kind):
        return {"name": name, "type": "logical", "values": [None if v is None else str(v).upper() for v in values]}
    if pa.types.is_integer(kind):
        fits = all(v is None or abs(v) < 2**31 for v in values)
        return (
            {"name": name, "type": "integer", "values": [None if v is None else str(v) for v in values]}
            if fits
            else None
        )
    if pa.types.is_floating(kind):
        return {"name": name, "type": "double", "values": [None if v is None else float(v).hex() for v in values]}
    if pa.types.is_date32(kind):
        days = array.cast(pa.int32()).to_pylist()
        return {"name": name, "type": "Date", "values": [None if v is None else str(v) for v in days]}
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return {
            "name": name,
            "type": "POSIXct",
            "values": [None if v is None else v.isoformat(" ", "seconds") for v in values],
        }
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return {"name": name, "type": "text", "values": values}
    if pa.types.is_dictionary(kind):
        return {"name": name, "type": "factor", "values": values}
    return None


def answer(model: Model, table: pa.Table) -> tuple[list[Any], list[list[float]] | None] | str:
    try:
        said = model.predict(table).tolist()
    except DomainError:
        return REFUSED
    if model.schema.target.as_number is not None:
        return said, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelsOnlyWarning)
        return said, model.predict_proba(table).tolist()


def agree(found: Any, expected: Any) -> bool:
    if expected == REFUSED or found == REFUSED:
        return found == expected
    said, shares = expected
    if shares is None:
        return [float.fromhex(item) for item in found["said"]] == said
    words = [str(item).upper() if isinstance(item, bool) else str(item) for item in said]
    given_ = np.array([[float.fromhex(item) for item in column] for column in found["shares"]]).T
    return found["said"] == words and np.allclose(given_.reshape(len(said), -1), shares, rtol=1e-12, atol=1e-300)


def compared(library: Path, folder: Path, tables: Iterator[Table]) -> tuple[int, int]:
    """Compare models in one run of R; return the numbers of predicted rows and of refused tables."""
    kept = []
    for model, table in tables:
        columns = [column(name, table[name]) for name in table.column_names]
        if None not in columns:
            kept.append((model, table))
            model.save(folder / f"{len(kept)}.json")
            (folder / f"{len(kept)}.rows").write_text(json.dumps(columns, ensure_ascii=False), encoding="utf-8")
    run(library, "compare", folder, len(kept))
    rows = refused = 0
    for number, (model, table) in enumerate(kept, 1):
        expected = answer(model, table)
        result = json.loads((folder / f"{number}.said").read_text(encoding="utf-8"))
        assert agree(REFUSED if "refused" in result else result, expected), (
            number,
            str(result)[:300],
            str(expected)[:300],
        )
        rows += 0 if expected == REFUSED else len(table)
        refused += expected == REFUSED
    return rows, refused


def test_it_predicts_what_predict_does(library: Path, tmp_path: Path) -> None:
    rows, refused = compared(library, tmp_path, generated(10, 40, 1))
    assert rows > 2000
    assert refused > 40


def test_derived_attributes(library: Path, tmp_path: Path) -> None:
    rows, refused = compared(library, tmp_path, derived(4, 40, 2))
    assert rows > 100
    assert refused > 5


def test_dates_in_columns_of_whole_numbers(library: Path, tmp_path: Path) -> None:
    """Each row has its own day: serial days, and digits such as 19700131."""

    def case(form: str, numbers: list[int | None]) -> Table:
        seen = Date("1969-12-31", "1970-02-28", ("1970-01-01", "1970-01-31"), format=form, missing="bin")
        splits = Split(Literal("d", "<=", (Day(0),)), Leaf(label=1), Leaf(label=2)), Leaf(label=3)
        root = Split(Literal("d", "<=", (Day(30),)), *splits)
        return Tree(Schema({"d": seen}, Label("y", (1, 2, 3))), root, NONE), pa.table(
            {"d": pa.array(numbers, pa.int32())}
        )

    serials = [("excel", 25569), ("excel-1904", 24107)]
    tables = [case(form, [zero + 31, zero, None, zero + 30, zero + 1]) for form, zero in serials]
    tables.append(case("%Y%m%d", [19700201, 19700101, None, 19700131, 19700102]))
    assert compared(library, tmp_path, iter(tables)) == (15, 0)
    assert [model.predict(table).tolist() for model, table in tables] == [[3, 1, 3, 2, 2]] * 3


@pytest.mark.slow
def test_it_predicts_what_predict_does_on_many_rows(library: Path, tmp_path: Path) -> None:
    rows, _ = compared(library, tmp_path, generated(120, 160, 3))
    assert rows >= 100_000


def test_the_example_files_are_written_by_their_script() -> None:
    sys.path.insert(0, str(PACKAGE))
    try:
        from example_models import FOLDER, models
    finally:
        sys.path.remove(str(PACKAGE))
    for name, model in models().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == model.to_json()


def hostile(whole: dict[str, Any], stay: dict[str, Any], card: dict[str, Any]) -> dict[str, str]:
    """Return texts that are no models."""
    text, leaf = json.dumps(whole), {"then": "no", "counts": [1, 2]}
    deep: Any = leaf
    for _ in range(66):
        deep = {"if": whole["root"]["if"], "true": deep, "false": leaf}
    literal = {"attribute": "age", "operator": "<=", "operands": [31]}
    bad_points = {
        **card,
        "parts": [{**card["parts"][0], "points": card["parts"][0]["points"][:-1]}, *card["parts"][1:]],
    }
    void = [{**charge, "void": [{"code": "seeded"}]} for charge in whole["privacy"]["charges"]]
    exact = {"code": "discrete_laplace", "sensitivity": 0, "scale": "0"}
    shared = {"code": "shared_histograms", "attributes": 2, "bins": 4, "sensitivity": 0, "scale": "0"}
    noiseless, shared_noiseless = (
        [{**charge, "mechanism": fact} for charge in whole["privacy"]["charges"]] for fact in (exact, shared)
    )
    notes = [{"code": "rows_used", "rows": "two"}]
    return {
        "empty": "",
        "address": "https://example.org/model.json",
        "path": "/etc/passwd",
        "truncated": text[:-40],
        "code": 'system("touch /tmp/hostile")',
        "nested": "[" * 100_000 + "]" * 100_000,
        "nested maps": '{"a":' * 200 + "1" + "}" * 200,
        "infinite": text.replace("190", "1e999"),
        "long number": text.replace("190", "1" * 500),
        "large count": text.replace("190", "1e30"),
        "NaN": text.replace("190", "NaN"),
        "twice": text.replace('"version": 2', '"version": 2, "version": 2', 1),
        "version": text.replace('"version": 2', '"version": 1', 1),
        "format": text.replace("hedgerow/tree", "hedgerow/forest"),
        "wrong type": text.replace("[190, 33]", '"190, 33"'),
        "a count more": text.replace("[190, 33]", "[190, 33, 1]"),
        "another key": json.dumps({**whole, "run": "quit()"}),
        "deep tree": json.dumps({**whole, "root": deep}),
        "no leaf": json.dumps({**whole, "root": {"if": whole["root"]["if"], "true": leaf}}),
        "cycle by index": json.dumps({**whole, "root": {"if": whole["root"]["if"], "true": 0, "false": 0}}),
        "unknown attribute": text.replace('"attribute": "smoker"', '"attribute": "smokes"'),
        "no cut point": json.dumps({**whole, "root": {"if": literal, "true": leaf, "false": leaf}}),
        "contradiction": text.replace('"then": "no"', '"then": "yes"'),
        "number of no class": json.dumps({**stay, "root": {**stay["root"], "false": {"then": "x", "counts": None}}}),
        "counts and sums": json.dumps({**stay, "root": {**stay["root"], "false": {"then": 15, "counts": [1] * 32}}}),
        "beyond bounds": json.dumps({**stay, "root": {"then": 99, "counts": None, "label": 99}}),
        "points": json.dumps(bad_points),
        "less was spent": json.dumps({**whole, "privacy": {**whole["privacy"], "epsilon": 0.001}}),
        "a void charge": json.dumps({**whole, "privacy": {**whole["privacy"], "charges": void}}),
        "a fact of no form": json.dumps({**whole, "privacy": {**whole["privacy"], "noise": {"code": "none"}}}),
        "a detail of another type": json.dumps({**whole, "privacy": {**whole["privacy"], "notes": notes}}),
        "no sensitivity": json.dumps({**whole, "privacy": {**whole["privacy"], "charges": noiseless}}),
        "no gauge": json.dumps({**whole, "privacy": {**whole["privacy"], "charges": shared_noiseless}}),
        "points of no whole number": json.dumps({**card, "base": [0.5]}),
        "a million rules": json.dumps({**whole, "rules": [{"if": [], **leaf}] * 10**6}),
    }


def test_hostile_files_are_refused(library: Path, tmp_path: Path) -> None:
    names = ("tree.json", "stay.json", "scorecard.json")
    texts = hostile(*(json.loads((PACKAGE / "inst" / "extdata" / name).read_text()) for name in names))
    for name, text in texts.items():
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    (tmp_path / "bytes.json").write_bytes(b"{\xff\x00}")
    said = dict(line.split("\t", 1) for line in run(library, "read", tmp_path).splitlines())
    assert set(said) == {f"{name}.json" for name in (*texts, "bytes")}
    for name, message in said.items():
        assert re.search(r"\.json: not a valid hedgerow model: ", message), (
            name,
            message,
        )


def test_no_text_of_a_file_is_evaluated() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "R").iterdir())
    assert not re.search(r"\b(eval|evalq|parse|source|deparse|do\.call\(\"|system|get|readRDS|load)\(", source)


def test_csv_rows_read_as_factors(library: Path, tmp_path: Path) -> None:
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["age", "smoker", "ward"], [25, "TRUE", "surgery"], ["NA", "false", "ship"]])
    assert run(library, "csv", PACKAGE / "inst" / "extdata" / "rules.json", tmp_path / "rows.csv").split() == [
        "yes",
        "no",
    ]


@pytest.mark.parametrize(("noise", "shown"), [(NO_NOISE, "91.3 % of 379"), (UNKNOWN_NOISE, "379 rows (noise unknown)")])
def test_counts_are_printed_as_exact_only_if_no_noise_is_stated(
    noise: Fact, shown: str, library: Path, tmp_path: Path
) -> None:
    """Models that were read from PMML have unknown noise, since their counts may come from a private model."""
    schema = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))
    card = PrivacyCard((), noise=noise, software="hedgerow", no_guarantee="example")
    RuleList(schema, (Rule((), (346, 33)),), card).save(tmp_path / "rules.json")
    assert f"# {shown}" in run(library, "print", tmp_path / "rules.json")


def test_the_paths_of_a_tree_are_the_conditions_that_python_prints(library: Path, tmp_path: Path) -> None:
    attributes = {
        "age": Integer(0, 99, cuts=(20, 30, 40)),
        "pressure": Real(0, 9, cuts=(1.5, 2.5), missing="bin"),
        "dose": Real(0, 9, cuts=(1.5, 2.5), outside="bin"),
        "smoker": Boolean(missing="bin"),
        "two wards": Categorical(("a b", "c", "d")),
    }
    tests = [("age", "<=", 40), ("age", ">", 20), ("pressure", ">", 1.5), ("pressure", "<=", 2.5), ("dose", "<=", 1.5)]
    tests += [("smoker", "true"), ("two wards", "=", "a b"), ("pressure", "missing"), ("dose", "outside")]

    schema = Schema(attributes, Label("ill", ("no", "yes")))
    for turns in ("111100000", "010101001", "100010110"):
        root: Split | Leaf = Leaf(label="no")
        for (name, operator, *operands), holds in zip(tests[::-1], turns[::-1], strict=True):
            sides = (root, Leaf(label="yes")) if holds == "1" else (Leaf(label="yes"), root)
            root = Split(Literal(name, operator, tuple(operands)), *sides)
        tree = Tree(schema, root, PrivacyCard.none("example", software="hedgerow"))
        tree.save(tmp_path / "tree.json")
        printed = zip(run(library, "conditions", tmp_path / "tree.json").splitlines(), tree.conditions, strict=True)
        reached = [all(bins.any() for bins in box_of(schema, path).values()) for path in tree.paths]
        assert sum(reached) > 6
        assert all(text == own for (text, own), is_reached in zip(printed, reached, strict=True) if is_reached)


@pytest.mark.parametrize("make", [tree, rule_list])
@pytest.mark.parametrize("kind", CARDS)
def test_leaves_are_printed_by_the_rule_of_python_and_folded_alike(make, kind, library: Path, tmp_path: Path) -> None:
    """Before, R printed "about 67 % of about 3 rows" of a leaf whose counts are noise alone, and every leaf of any."""
    schemas = (LARGE, OF_NUMBERS) if kind == "noisy" else (LARGE,)
    for size, schema in product((1, 9, 200), schemas):
        model = make(size, size, kind, schema=schema)
        model.save(tmp_path / "model.json")
        for text, more in ((str(model), []), (model.to_text(), ["full"])):
            result = run(library, "print", tmp_path / "model.json", *more)
            assert [item.split() for item in lines_of(result)] == [item.split() for item in lines_of(text)]


@pytest.mark.parametrize("costs", [((0, 1, 1), (10, 0, 10), (0.5, 0.5, 0)), ((0, 1, 2), (1, 0, 1), (1, 1, 0))])
def test_weights_and_costs_of_a_fit_are_printed_as_in_python(costs, library: Path, tmp_path: Path) -> None:
    schema = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes", "a, b")))
    RuleList(schema, (Rule((), label="no"),), NONE, costs).save(tmp_path / "rules.json")
    (said,) = [line for line in str(RuleList.load(tmp_path / "rules.json")).splitlines() if "the fit" in line]
    assert said in run(library, "print", tmp_path / "rules.json").splitlines()


def test_the_package_passes_the_check_of_r(tmp_path: Path) -> None:
    env = {**os.environ, "_R_CHECK_SYSTEM_CLOCK_": "0", "_R_CHECK_CRAN_INCOMING_": "false", "LC_ALL": "C.UTF-8"}
    for command in (["build", PACKAGE], ["check", "--as-cran", "--no-manual", f"hedgerow_{__version__}.tar.gz"]):
        done = subprocess.run(["R", "CMD", *command], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert "Status: OK" in done.stdout, done.stdout[-3000:]


def test_points_are_printed_with_the_noise_that_python_states(library: Path, tmp_path: Path) -> None:
    NOISY.save(tmp_path / "card.json")
    printed = [line.split() for line in run(library, "print", tmp_path / "card.json").splitlines()]
    said = [f"{interval} {rows}".replace("±", "+-") for (*_, interval, rows) in NOISY.listings()[0].rows]
    del said[1]  # of two neighbours with the same points, which have one line in Python
    lines = [" ".join(line) for line in printed[1:12]]
    del lines[1:3]
    assert all(line.endswith(f" {text}") for line, text in zip(lines, said, strict=True))


def test_the_scale_of_a_scorecard_is_printed_as_python_prints_it(library: Path, tmp_path: Path) -> None:
    scaled = TWO.scaled(pdo=20, score=600, odds=50, favourable="no")
    scaled.save(tmp_path / "card.json")
    printed = run(library, "print", tmp_path / "card.json").splitlines()
    said = [line for line in str(scaled).splitlines() if line.startswith(("A total of 600", "Totals range from 438"))]
    assert len(said) == 2
    assert {f"{line[0].lower()}{line[1:].removesuffix('.')}" for line in said} <= set(printed)
