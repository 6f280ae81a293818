"""docs/planning.md: what was measured, from the files of the benchmarks, and the plan, computed from it."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from math import log10

from hedgerow.engines.count import MOST_PATTERNS
from tests.docs.page import ROOT, Page, figures, power, records

PAGE = "docs/planning.md"
ROWS = 10**10
FILES = 1_000
CORES = 64
DUCKDB = {row["rows"]: row for row in records("benchmarks/results/engines.csv")}
FITS = {row["rows"]: row for row in records("benchmarks/results/engines_fits.csv")}
SPARK = {(row["rows"], row["attributes"], row["partitions"]): row for row in records("benchmarks/results/spark.csv")}
MILLION, TEN, HUNDRED = "1000000", "10000000", "100000000"
GROUPS = {rows: int(DUCKDB[rows]["groups"]) for rows in (MILLION, TEN, HUNDRED)}
SPLIT = SPARK[TEN, "20", "10"]
BYTES = (21 * (8 + 1) + 64 + 1) / 8  # of a group: 21 codes of a byte and a count of eight, a bit each for NULL


def check(page: Page) -> None:
    page.given(
        "20 attributes and a label, on one two-core x86-64 machine",
        # the plan: how many files and partitions, and of what size the machines are
        "1,000 files or splits of 10⁷ rows",
        "8 executors of 8 cores and 4 GB: eight tasks",
        "minutes assume 64 cores",
        "100,000 partitions of 10⁵ rows",
        "one record from each partition, 1,000 in all",
        # Spark's own defaults
        "Spark's default split is 128 MiB",
        "up to 128 MiB",
        "is 1 GB by default",
    )
    _measured(page)
    _code()
    _cluster(page)
    _after(page)
    _breaks(page)


def _measured(page: Page) -> None:
    groups = " / ".join(f"{number:,}" for number in GROUPS.values())
    page.row("groups of all rows", "DuckDB, Spark to 10⁷", groups, " / ".join(map(power, GROUPS)) + " rows")
    assert all(int(row["groups"]) == GROUPS[key[0]] for key, row in SPARK.items() if key[1] == "20")
    fewer = SPARK[MILLION, "20", "10"]
    page.says("| Spark | {} s | 10⁷ rows ({} s at 10⁶) |", f"{_spark_seconds():.1f}", fewer["CPU s"])
    slopes = " / ".join(row["CPU s per million more"] for row in list(DUCKDB.values())[1:])
    page.row("processor time for a million rows more", "DuckDB", f"{slopes} s", "from 10⁵ to 10⁶ / 10⁷ / 10⁸ rows")
    memory = " / ".join(DUCKDB[rows]["GiB at most"] for rows in (TEN, HUNDRED))
    page.row("peak memory of the process", "DuckDB", f"{memory} GiB", "10⁷ / 10⁸ rows")
    page.row("bytes shuffled for each record", "Spark", SPLIT["bytes per record"], "10⁷ rows")
    page.row("records from one partition", "Spark", f"{int(SPLIT['records shuffled']) / 10:,.0f}", "10⁶ rows in it")
    task = SPARK[TEN, "20", "3"]
    in_it = f"{int(task['records shuffled']) / 3:,.0f} groups in it"
    page.row("memory of a task before the exchange", "Spark", f"{task['MiB a task']} MiB", in_it)
    page.row("bytes of an answer's group", "DuckDB", f"{BYTES:.0f}", "21 codes of a byte")
    fit = FITS[HUNDRED]
    times = (f"{float(fit[kind]):.1f} s" for kind in ("rule list, 2 literals, s", "exact tree, depth 2, s"))
    page.says("| {}, {} | {} patterns |", *times, f"{int(fit['patterns']):,}")


def _spark_seconds() -> float:
    """Return Spark's processor seconds for a million rows."""
    return float(SPLIT["CPU s"]) / 10


def _code() -> None:
    """Hold the inputs of the page's code against the files, and run it for what the page prints."""
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", (ROOT / PAGE).read_text(encoding="utf-8"), re.DOTALL)
    task = SPARK[TEN, "20", "3"]
    for wanted in (
        f"1_000, {CORES}\n",
        f"{_spark_seconds():.1f} * million_rows",
        f"partitions * {GROUPS[TEN]:_}",
        f"records * {SPLIT['bytes per record']}",
        f"{task['MiB a task']} * {GROUPS[TEN]:_} / {int(task['records shuffled']) / 3:_.0f}",
        f"{DUCKDB[HUNDRED]['CPU s per million more']} * million_rows",
    ):
        assert wanted in code
    with redirect_stdout(StringIO()) as out:
        exec(code, {})
    assert out.getvalue() == printed


def _cluster(page: Page) -> None:
    made = records("benchmarks/results/census.csv")[-1]
    size = int(made["bytes"])  # of a file of 10⁷ rows
    page.says(f"({size / 1e6:.0f} MB of these rows;")
    page.says("rows had in all, {}", f"{GROUPS[TEN]:,}")
    task = SPARK[TEN, "20", "3"]
    mib = int(task["MiB a task"]) * GROUPS[TEN] * 3 / int(task["records shuffled"])
    page.says("eight tasks at {} MiB are {} GiB", f"{mib:.0f}", f"{8 * mib / 1024:.1f}")
    seconds = _spark_seconds() * ROWS / 1e6 / CORES
    page.says("{} minutes assume", f"{seconds / 60:.0f}")
    page.says("gives {} GB in that time, {} MB/s", f"{FILES * size / 1e9:.0f}", figures(FILES * size / 1e6 / seconds))
    shuffled = FILES * GROUPS[TEN]
    page.says("takes {} million records of {} million rows", f"{shuffled / 1e6:.0f}", f"{ROWS / 1e6:,.0f}")
    each = float(SPLIT["bytes per record"])
    page.says("{} GB: partitions × groups in one partition × {} bytes", f"{shuffled * each / 1e9:.1f}", f"{each:.0f}")
    twenty, six = (_grown(attributes) for attributes in ("20", "6"))
    page.says("shuffled {} times as much with 20 attributes (groups grew {} times)", *twenty)
    page.says("and {} times with six (groups grew {} times)", *six)
    duckdb = float(DUCKDB[HUNDRED]["CPU s per million more"])
    assert round(_spark_seconds() / duckdb) == 8, "DuckDB needs about an eighth of Spark's processor time"
    minutes = duckdb * ROWS / 1e6 / 16 / 60
    page.says("would take {} minutes for {} GB of files", f"{minutes:.0f}", f"{FILES * size / 1e9:.0f}")
    page.says("with {} times the groups, took less than twice", f"{GROUPS[HUNDRED] / GROUPS[TEN]:.1f}")
    assert float(DUCKDB[HUNDRED]["GiB at most"]) < 2 * float(DUCKDB[TEN]["GiB at most"])


def _grown(attributes: str) -> tuple[str, str]:
    """Return how many times the bytes and the groups ten times the rows have, in three partitions."""
    fewer, more = (SPARK[rows, attributes, "3"] for rows in (MILLION, TEN))
    return tuple(f"{int(more[key]) / int(fewer[key]):.1f}" for key in ("bytes shuffled", "groups"))


def _after(page: Page) -> None:
    fit, smaller = FITS[HUNDRED], FITS[TEN]
    patterns = int(fit["patterns"])
    page.says("seconds at {}, and at {} million", f"{patterns:,}", f"{MOST_PATTERNS // 10**6}")
    kinds = ("rule list, 2 literals, s", "exact tree, depth 2, s")
    times = (f"{float(fit[kind]) * MOST_PATTERNS / patterns:.0f}" for kind in kinds)
    page.says("{} s for the list and {} s for the tree, if in proportion", *times)
    page.says("the tree took {} times as long for twice", f"{float(fit[kinds[1]]) / float(smaller[kinds[1]]):.1f}")
    assert f"{patterns / int(smaller['patterns']):.1f}" == "2.0"
    page.says("million groups are {} MB at {} bytes each", figures(MOST_PATTERNS * BYTES / 1e6), f"{BYTES:.0f}")


def _breaks(page: Page) -> None:
    late, early = (log10(GROUPS[b] / GROUPS[a]) for a, b in ((TEN, HUNDRED), (MILLION, TEN)))
    page.says("to the power of {}, from 10⁶ to 10⁷ of {}. From", f"{late:.2f}", f"{early:.2f}")
    at_end = (f"{GROUPS[HUNDRED] * 100**grown / 1e6:.1f}" for grown in (late, early))
    page.says("From {} these give {} and {} million groups at 10¹⁰ rows", f"{GROUPS[HUNDRED]:,}", *at_end)
    small = SPARK[MILLION, "20", "10"]
    records_each, each = int(small["records shuffled"]) / 10, float(small["bytes per record"])
    page.says("would shuffle {} records each", f"{records_each:,.0f}")
    page.says(
        "in 10 partitions made {}): {} million", f"{int(small['records shuffled']):,}", f"{records_each / 10:.0f}"
    )
    gigabytes = f"{records_each * 1e5 * each / 1e9:.0f}"
    plan = f"{FILES * GROUPS[TEN] * float(SPLIT['bytes per record']) / 1e9:.1f}"
    page.says("records at {} bytes, {} GB instead of {},", str(each), gigabytes, plan)
    page.says("in {} times as many tasks", str(100_000 // FILES))
    ratio = DUCKDB[HUNDRED]["tally / text as it is, CPU"]
    page.says("a tally takes {} times the processor time of grouping text as it is", ratio)
    assert round(MOST_PATTERNS / GROUPS[HUNDRED]) == 14
    page.says("fourteen times what was measured at 10⁸ rows with {} GiB", DUCKDB[HUNDRED]["GiB at most"])
