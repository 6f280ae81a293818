"""Tallies of Parquet by DuckDB.

Generated census-like Parquet (`census.py`): 5 integers, 4 reals, 7 texts, 4 booleans, some NULL; the same rows in every
run. `Tally.from_table` is compared with two handwritten queries, alternately in one process, `memory_limit='4GB'`, two
threads: *CASE*, the same bins by `CASE` for each attribute; *text*, the same with text and booleans grouped without
conversion. Unlike the tally, neither checks for values outside the domain, white space or other spellings. Medians of 5
turns, of 3 at 10⁸ rows.

{duckdb_times}

The time is linear: a million more rows take {million_more} processor seconds from each size to the next. Up to 10⁶
rows, the time in which Ibis writes the query is significant. **Compared with unconverted text, the goal of 1.3 is
missed**: grouping codes saves less than computing them by `CASE` costs. Such a query returns any text in the column.
The limit on patterns costs nothing: the groups are stored, counted and returned, and the files are scanned once.

A private fit afterwards, seconds, ε = 1 ([results/engines_fits.csv](results/engines_fits.csv)). The time depends on the
patterns, not on the rows; but the number of patterns grows {more_patterns} times from 10⁵ to 10⁸ rows, and so does the
time:

{fits_afterwards}

10⁷ rows take {census_size} MB of disk and {census_seconds} s to generate, 10⁸ rows ten times as much in proportion
([results/census.csv](results/census.csv), by `python census.py FOLDER 100000 1000000 10000000`). All four sizes:
`python engines.py FOLDER 100000 1000000 10000000 100000000`.

    python engines.py [FOLDER [ROWS ...]]
    python engines.py --tables

The second command only measures contingency tables computed by the engine, compared with computing them from patterns.
"""

import resource
import statistics
import subprocess
import sys
import time
from functools import partial
from itertools import combinations
from pathlib import Path

import census
import duckdb
import ibis
from measure import median_seconds, report, use_all_cores

import hedgerow as hr

MEMORY = "4GB"
ROWS = [10**5, 10**6, 10**7]
FOUR_MILLION = 4 * 10**6


def main(folder, sizes):
    counts, fits = [], []
    for rows in sizes:
        files = census.make(folder, rows)
        tally, row = count(files, rows)
        row["GiB at most"] = peak(files)
        row["CPU s per million more"] = slope(counts[-1], row) if counts else ""
        counts.append(row)
        fits.append(fit(tally, rows))
        print(counts[-1], fits[-1], flush=True)
    report("engines", counts)
    report("engines_fits", fits)
    report("engines_tables", list(contingency_tables()))


def count(files, rows):
    """Time the tally and both queries by hand in turn, on all cores."""
    use_all_cores()
    table = ibis.duckdb.connect(memory_limit=MEMORY).read_parquet(files)
    bare = duckdb.connect(config={"memory_limit": MEMORY})
    calls = {
        "tally": lambda: hr.Tally.from_table(table, census.schema()),
        "by hand": lambda: bare.execute(by_hand(files)).to_arrow_table(),
        "text as it is": lambda: bare.execute(by_hand(files, text_as_it_is=True)).to_arrow_table(),
    }
    seconds, result = {}, {}
    warm = rows > 10**7  # by the smaller sizes
    for turn in range(3 if warm else 6):
        for name, call in calls.items():
            start = time.perf_counter(), time.process_time()
            result[name] = call()
            if turn or warm:
                took = time.perf_counter() - start[0], time.process_time() - start[1]
                seconds.setdefault(name, []).append(took)
    assert result["tally"]._counts[result["tally"]._counts > 0].size == result["by hand"].num_rows
    wall, cpu = ({name: statistics.median(s[i] for s in times) for name, times in seconds.items()} for i in (0, 1))
    row = {"rows": rows, "patterns": len(result["tally"]._bins), "groups": result["by hand"].num_rows}
    for name in calls:
        row |= {f"{name} s": round(wall[name], 2), f"{name} CPU s": round(cpu[name], 2)}
    for name in ("by hand", "text as it is"):
        row[f"tally / {name}"] = round(wall["tally"] / wall[name], 2)
        row[f"tally / {name}, CPU"] = round(cpu["tally"] / cpu[name], 2)
    return result["tally"], row


def by_hand(files, *, text_as_it_is=False):
    """Return the aggregate as an analyst would write it for this table, which has no values outside the domain."""
    cells = []
    for name, (_, _, cuts) in {**census.INTEGERS, **census.REALS}.items():
        branches = " ".join(f"WHEN {name} <= {cut} THEN {code}" for code, cut in enumerate(cuts))
        null = f"WHEN {name} IS NULL THEN {len(cuts) + 1} " if name in census.ABSENT else ""
        cells.append(f"CASE {branches} {null}ELSE {len(cuts)} END AS {name}")
    for name, words in {**census.CODES, "income": census.LABEL.classes}.items():
        branches = " ".join(f"WHEN '{word}' THEN {code}" for code, word in enumerate(words))
        cells.append(name if text_as_it_is else f"CASE {name} {branches} ELSE {len(words)} END AS {name}")
    for name in census.BOOLEANS:
        cells.append(name if text_as_it_is else f"CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 ELSE 2 END AS {name}")
    return f"SELECT {', '.join(cells)}, count(*) AS n FROM '{files}' GROUP BY ALL"


def contingency_tables():
    """Time the patterns of rows that are nearly all different, and the tables of attributes that they would make."""
    bare = duckdb.connect(config={"memory_limit": MEMORY})
    names, label = [f"a{i}" for i in range(20)], "(hash(i * 64 + 63) >> 20) % 2"
    cells = ", ".join(f"((hash(i * 64 + {k}) >> 20) % 5)::TINYINT AS {name}" for k, name in enumerate(names))
    bare.execute(f"CREATE TABLE t AS SELECT {cells}, ({label})::TINYINT AS y FROM range({FOUR_MILLION}) r(i)")
    queries = {"patterns": f"SELECT {', '.join(names)}, y, count(*) FROM t GROUP BY ALL"}
    for what, size in (("attributes", 1), ("pairs", 2)):
        groups = [", ".join(group) for group in combinations(names, size)]
        one_each = (f"SELECT {i}, {group}, y, count(*) FROM t GROUP BY ALL" for i, group in enumerate(groups))
        queries[f"{what}, one query each"] = " UNION ALL ".join(one_each)
        sets = ", ".join(f"({group}, y)" for group in groups)
        queries[f"{what}, GROUPING SETS"] = (
            f"SELECT {', '.join(names)}, y, count(*) FROM t GROUP BY GROUPING SETS ({sets})"
        )
    for what, query in queries.items():
        start = time.process_time()
        result = bare.execute(query).to_arrow_table()
        seconds = round(time.process_time() - start, 2)
        yield {
            "rows": FOUR_MILLION,
            "what": what,
            "groups": result.num_rows,
            "MB": round(result.nbytes / 1e6),
            "CPU s": seconds,
        }


def peak(files):
    """Return the most memory, in GiB, that a process with nothing else to do has had when it has counted."""
    told = subprocess.run([sys.executable, __file__, "--peak", files], capture_output=True, text=True, check=True)
    return round(float(told.stdout), 2)


def tell_peak(files):
    use_all_cores()
    hr.Tally.from_table(ibis.duckdb.connect(memory_limit=MEMORY).read_parquet(files), census.schema())
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def slope(one, other):
    return round((other["tally CPU s"] - one["tally CPU s"]) / (other["rows"] - one["rows"]) * 1e6, 2)


def fit(tally, rows):
    """Time private fits of the tally, which do not see how many rows there are."""
    row = {"rows": rows, "patterns": len(tally._bins)}
    fits = {
        "rule list, 1 literal, s": hr.PrivateRuleListClassifier(1.0, search="greedy"),
        "rule list, 2 literals, s": hr.PrivateRuleListClassifier(1.0, search="greedy", max_literals=2),
        "exact tree, depth 2, s": hr.PrivateTreeClassifier(1.0, max_depth=2),
    }
    return row | {name: round(median_seconds(partial(each.fit_tally, tally), 3), 3) for name, each in fits.items()}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        tell_peak(sys.argv[2])
    elif sys.argv[1:] == ["--tables"]:
        use_all_cores()
        report("engines_tables", list(contingency_tables()))
    else:
        folder, *sizes = sys.argv[1:] or [Path(__file__).parent.parent / "build" / "census"]
        main(folder, [int(rows) for rows in sizes] or ROWS)
