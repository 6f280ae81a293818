"""Times and sizes of engines in benchmarks/README.md, from the files of their scripts."""

from __future__ import annotations

from tests.docs.page import Page, between, power, records

PAGE = "benchmarks/README.md"
RESULTS = "benchmarks/results"
GOAL = 1.3


def check(page: Page) -> None:
    page.given(
        # goals and sizes
        "tally / CASE, goal 1.3 | processor | tally / text | processor | peak memory, goal 4 GB",
        "text grouped as it is, 1.3 is missed",
        "200,000 rows, two classes",
        "Spark 4.0",
    )
    _duckdb(page)
    _fits(page)
    _categories(page)
    _start(page)
    _csv(page)
    _spark(page)


def _duckdb(page: Page) -> None:
    rows = records(f"{RESULTS}/engines.csv")
    for row in rows:
        ratio = f"{float(row['tally / by hand']):.2f}"
        page.row(
            power(row["rows"]),
            f"{int(row['groups']):,}",
            *(f"{row[key]} s" for key in ("tally s", "tally CPU s")),
            f"**{ratio}**" if float(ratio) <= GOAL else ratio,
            *(f"{float(row[key]):.2f}" for key in ("tally / by hand, CPU", "tally / text as it is")),
            f"{float(row['tally / text as it is, CPU']):.2f}",
            f"{row['GiB at most']} GiB",
        )
        assert float(row["tally / text as it is"]) > GOAL
    slopes = " / ".join(row["CPU s per million more"] for row in rows[1:])
    page.says("a million rows more take {} processor seconds", slopes)
    made = records(f"{RESULTS}/census.csv")[-1]
    size, seconds = float(made["bytes"]) / 1e6, float(made["seconds"])
    page.says("{} rows take {:.0f} MB of disk and {:.0f} s to be made".format(power(made["rows"]), size, seconds))


def _fits(page: Page) -> None:
    rows = records(f"{RESULTS}/engines_fits.csv")
    for row in rows:
        kinds = ("rule list, 1 literal, s", "rule list, 2 literals, s", "exact tree, depth 2, s")
        page.row(power(row["rows"]), f"{int(row['patterns']):,}", *(f"{float(row[kind]):.3f}" for kind in kinds))
    grown = int(rows[-1]["patterns"]) / int(rows[0]["patterns"])
    ends = (power(rows[0]["rows"]), power(rows[-1]["rows"]))
    page.says("have grown {:.0f} times from {} to {} rows".format(grown, *ends))


def _categories(page: Page) -> None:
    rows = {int(row["categories"]): row for row in records(f"{RESULTS}/categories.csv")}
    for number, row in rows.items():
        times = (row[key] for key in ("DuckDB s", "by hand s", "memory s", "PostgreSQL s"))
        page.row(f"{number:,}", *(f"{float(time):.3f}" for time in times))
    duckdb, postgres = (float(rows[50_000][key]) / float(rows[1_000][key]) for key in ("DuckDB s", "PostgreSQL s"))
    page.says(f"From 1,000 categories to 50,000, fifty times as many, DuckDB takes {duckdb:.0f} times")
    page.says(f"as long and PostgreSQL {postgres:.0f} times: at most linear")
    assert max(duckdb, postgres) <= 50


def _start(page: Page) -> None:
    for row in records(f"{RESULTS}/start.csv"):
        page.row(row["call"], row["seconds"], row["ratio"])


def _csv(page: Page) -> None:
    plain, quoted = (row["MB a second"] for row in records(f"{RESULTS}/csv_check.csv"))
    page.says("takes in {} MB a second, and {} where every field is in quotes", plain, quoted)


def _spark(page: Page) -> None:
    rows = records(f"{RESULTS}/spark.csv")
    for row in rows:
        keys = ("groups", "records shuffled", "bytes shuffled")
        groups, shuffled, size = (f"{int(row[key]):,}" for key in keys)
        ratios = (row["bytes per group and partition"], row["bytes per record"])
        page.row(power(row["rows"]), row["attributes"], groups, row["partitions"], shuffled, size, *ratios)
        assert float(row["rows that differ from DuckDB's"]) == 0
    million = {(row["attributes"], row["partitions"]): row for row in rows if row["rows"] == "1000000"}
    more = {}
    for row in rows:
        key = (row["attributes"], row["partitions"])
        if row is not million[key]:
            growth = (int(row[what]) / int(million[key][what]) for what in ("groups", "bytes shuffled"))
            more[key] = tuple(f"{each:.1f}" for each in growth)
    assert more["6", "3"] == more["6", "10"]
    page.says("Ten times the rows with {} times the groups shuffle {} times the bytes;", *more["6", "3"])
    page.says("with {} times the groups {} times in three partitions", *more["20", "3"])
    page.says("and {} times in ten, where", more["20", "10"][1])
    page.says("one partition, {} bytes", between((float(row["bytes per record"]) for row in rows), 0))
