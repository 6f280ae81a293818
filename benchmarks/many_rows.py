"""Many rows in parts, and ten billion rows.

The same rows, counted as a whole, and in ten parts that are stored and merged: the files were equal byte by byte. A
process per step, without imports, on a shared machine.

{results/many_rows.csv}

    python many_rows.py [FOLDER [ROWS ...]]
    python many_rows.py --draws FILE

The second command only draws exactly from a stored tally, unchanged and scaled to ten billion rows.

## Ten billion rows

Nobody has counted 10¹⁰ rows with hedgerow. This extrapolates measurements on generated census-like Parquet, 20
attributes and a label, up to 10⁸ rows (DuckDB) and 10⁷ (Spark), on one two-core machine
([engines.csv](results/engines.csv), [many_rows.csv](results/many_rows.csv), [spark.csv](results/spark.csv)):

{ten_billion}

Tallies of parts, [stored and merged](../docs/engines.md#parts-days-and-warehouses), equalled the tally of the whole,
byte by byte, at 10⁷ and 10⁸ rows; a new day costs its own rows and a merge. The table assumes 1,000 files of 10⁷ rows
in random order, each with as many groups as 10⁷ rows had. Limits, in the order in which they are reached:

1. **Patterns.** From 10⁷ to 10⁸ rows groups grew like rows to the power of {late_growth}, from 10⁶ to 10⁷ of
   {early_growth}. At 10¹⁰ rows that is {groups_at_end} million. `Tally.from_table` can fail after the whole count:
   count samples of two sizes first. The number of groups is private.
2. **Small files.** Ten times the partitions of the same rows shuffle several times as much; catalogues list each file.
3. **The CASE expressions**, not the shuffle: time grows with the number of attributes and of words in a category.
4. **The driver.** All groups come to one Python process.
5. **Exact searches** stop with an error from 2⁴² rows on; greedy private fits go on to 2⁴³, certified optima without
   privacy to 2⁵⁰ steps of loss. A draw of depth 2 from the patterns of 10⁷ rows took {draw_of_ten_million} s, scaled to
   10¹⁰ rows {draw_of_ten_billion} s.
6. **PostgreSQL** is the wrong engine: one server, at most a few parallel workers for a query.

Computing contingency tables in the engine is slower if the patterns can be fetched. For 4 million nearly distinct rows
with 20 attributes of five bins, DuckDB computed:

{tables_in_the_engine}

[An oracle of a table](../docs/marginals.md) requests the tables of single attributes.
"""

import subprocess
import sys
import time
from pathlib import Path

import census
from measure import report, use_all_cores

import hedgerow as hr

ROWS = [10**7, 10**8]
MEMORY, TEN_BILLION = "4GB", 10**10


def main(folder, sizes):
    rows = []
    for n in sizes:
        files = sorted(Path(census.make(folder, n)).parent.glob("*.parquet"))
        kept = files[0].parent / "kept"
        kept.mkdir(exist_ok=True)
        whole = step("count", f"{files[0].parent}/*.parquet", kept.parent / "kept-whole" / "whole.parquet")
        parts = [step("count", file, kept / file.name) for file in files]
        merged = step("merge", f"{kept}/*.parquet", kept.parent / "kept-whole" / "merged.parquet")
        same = [kept.parent / "kept-whole" / f"{name}.parquet" for name in ("whole", "merged")]
        assert same[0].read_bytes() == same[1].read_bytes(), "merged is not the whole"
        rows.append(
            {
                "rows": n,
                "parts": len(files),
                "groups": whole[2],
                "groups of a part": max(part[2] for part in parts),
                "whole s": round(whole[0], 2),
                "whole GiB": round(whole[1], 2),
                "part s": round(sum(part[0] for part in parts) / len(parts), 2),
                "part GiB": round(max(part[1] for part in parts), 2),
                "merge s": round(merged[0], 2),
                "merge GiB": round(merged[1], 2),
                "kept MB": round(sum(path.stat().st_size for path in kept.iterdir()) / 1e6, 2),
            }
        )
        print(rows[-1], flush=True)
    report("many_rows", rows)
    report("many_rows_draws", list(draws(census.make(folder, sizes[0]).replace("*", "kept-whole/whole"))))


def draws(file):
    """Yield the processor time of exact draws from the patterns of a tally, with its rows and with ten billion rows."""
    tally = hr.Tally.load(file, census.schema())
    bins, counts = tally.bins_and_counts()
    times = TEN_BILLION // int(counts.sum())
    many = hr.Tally(tally.schema, bins, counts * times)
    for depth in (1, 2):
        learner, row = hr.PrivateTreeClassifier(1.0, max_depth=depth), {"depth": depth, "patterns": len(bins)}
        for item in (tally, many, tally, many, tally, many):
            start = time.process_time()
            learner.fit_tally(item)
            rows = int(item.total().sum())
            row[f"{rows} rows, CPU s"] = round(min(time.process_time() - start, row.get(f"{rows} rows, CPU s", 1e9)), 2)
        yield row


def step(what, source, target):
    """Run one step in a process; return its seconds without imports, its peak in GiB, and the groups it wrote."""
    target.parent.mkdir(exist_ok=True)
    words = [sys.executable, __file__, f"--{what}", str(source), str(target)]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return float(told[0]), float(told[1]), int(told[2])


def tell(what, source, target):
    import resource

    import hedgerow.engines.tallies  # noqa: F401 -- imports are not timed

    use_all_cores()
    start, schema = time.perf_counter(), census.schema()
    with hr.open_table(source, memory=MEMORY) as table:
        tally = (hr.Tally.from_table if what == "--count" else hr.Tally.load)(table, schema)
    tally.save(target)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(seconds, peak, int((tally.bins_and_counts()[1] > 0).sum()))


if __name__ == "__main__":
    if sys.argv[1:2] in (["--count"], ["--merge"]):
        tell(*sys.argv[1:4])
    elif sys.argv[1:2] == ["--draws"]:
        report("many_rows_draws", list(draws(sys.argv[2])))
    else:
        folder, *sizes = sys.argv[1:] or [Path(__file__).parent.parent / "build" / "census"]
        main(folder, [int(rows) for rows in sizes] or ROWS)
