"""Large tables: docs/engines.md."""

from __future__ import annotations

from math import log10

from page_numbers.marks import Row, markdown, number, records, table

_TEN_BILLION = 10**10


def _engine(rows: int) -> Row:
    return next(row for row in records("engines.csv") if int(row["rows"]) == rows)


def _parts() -> Row:
    return next(row for row in records("many_rows.csv") if int(row["rows"]) == 10**8)


def _split() -> Row:
    """Return Spark's line of ten million rows in ten partitions."""
    key = ("10000000", "20", "10")
    return next(r for r in records("spark.csv") if (r["rows"], r["attributes"], r["partitions"]) == key)


@table
def ten_billion() -> str:
    """Processor time, memory and shuffle that were measured, and at ten billion rows."""
    large, split = _engine(10**8), _split()
    duckdb, spark = float(large["CPU s per million more"]), float(split["CPU s"]) / 10
    groups, each = int(_engine(10**7)["groups"]), float(split["bytes per record"])
    millions, many = _TEN_BILLION / 10**6, _parts()
    part = f"{1000 * float(many['part s']) / 3600:.1f} hours for 1,000 in sequence"
    merging = f"{100 * float(many['merge s']) / 60:.1f} minutes for 1,000, at most 5 million groups"
    rows = [
        ("processor time for a million rows, DuckDB", f"{duckdb:.2f} s", f"{duckdb * millions / 3600:.1f} core hours"),
        ("processor time for a million rows, Spark", f"{spark:.1f} s", f"{spark * millions / 3600:.1f} core hours"),
        ("groups of 10⁷ rows", f"{groups:,}", f"{1000 * groups / 1e6:.0f} million from 1,000 partitions"),
        ("bytes shuffled for each, Spark", f"{each:g}", f"{1000 * groups * each / 1e9:.1f} GB"),
        ("a part of 10⁷ rows, counted and kept", f"{many['part s']} s, {many['part GiB']} GiB", part),
        (f"merging {many['parts']} such parts", f"{many['merge s']} s, {many['merge GiB']} GiB", merging),
        ("peak memory at 10⁸ rows, DuckDB", f"{large['GiB at most']} GiB", "grows with groups"),
    ]
    return markdown(("what", "measured", "at 10¹⁰ rows"), rows)


@table
def tables_in_the_engine() -> str:
    """Return the cost of contingency tables in an engine compared with all patterns."""
    result = records("engines_tables.csv")
    rows = [(row["what"], f"{int(row['groups']):,}", row["MB"], row["CPU s"]) for row in result]
    return markdown(("what", "groups", "MB", "processor s"), rows)


def _draw(rows: int) -> str:
    return next(row[f"{rows} rows, CPU s"] for row in records("many_rows_draws.csv") if row["depth"] == "2")


@number
def draw_of_ten_million() -> str:
    """Return the seconds of an exact draw of depth 2 from the patterns of ten million rows."""
    return _draw(10**7)


@number
def draw_of_ten_billion() -> str:
    """Return the same of as many patterns of ten billion rows."""
    return _draw(_TEN_BILLION)


def _growth(fewer: int, more: int) -> float:
    return log10(int(_engine(more)["groups"]) / int(_engine(fewer)["groups"]))


@number
def late_growth() -> str:
    """Return the exponent of growth from ten to a hundred million rows."""
    return f"{_growth(10**7, 10**8):.2f}"


@number
def early_growth() -> str:
    """Return the exponent of growth from one to ten million rows."""
    return f"{_growth(10**6, 10**7):.2f}"


@number
def groups_at_end() -> str:
    """Return the millions of groups at ten billion rows, by both exponents."""
    groups = int(_engine(10**8)["groups"]) / 1e6
    return " to ".join(f"{groups * 100**power:.1f}" for power in (_growth(10**7, 10**8), _growth(10**6, 10**7)))
