"""Times in benchmarks/README.md but for those of engines, from the files of the scripts that each section names."""

from __future__ import annotations

from itertools import pairwise

from hedgerow.schema import Boolean, Label, Schema, count_candidates
from tests.docs.page import Page, between, figures, power, records

PAGE = "benchmarks/README.md"
RESULTS = "benchmarks/results"


def check(page: Page) -> None:
    page.given(
        # sizes and settings of the scripts, versions of peers
        "compas_binary, 27 columns, no regularisation unless said, one core, medians of 5",
        "CORELS 1.1.29",
        "three literals over 40 attributes",
        "PDR's eq. 13 and 15, terms",
        "5,000 source rows, 25 columns of 5 bins",
        "on 5,000 rows of 25 numbers",
        "800 candidates, two classes",
    )
    _speed(page)
    _exact(page)
    _optimal(page)
    _counting(page)
    _worlds(page)
    _marginals(page)
    _hypotheses(page)
    _growth(page)


def _speed(page: Page) -> None:
    rows = records(f"{RESULTS}/speed.csv")
    count, fit, both, many, memory = (row["median"] for row in rows)
    size = rows[0]["size"].removesuffix(" (adult_binary)")
    booleans = Schema({f"x{i}": Boolean() for i in range(20)}, Label("y", (0, 1)))
    assert rows[1]["size"] == f"{count_candidates(booleans, 2)} candidates, K = 5"
    pandas, by_row = (" ".join(row["twin"].split()[-2:]) for row in rows[:2])
    page.row("tally", f"{size} booleans", count, rows[0]["goal"], f"pandas of the same columns: {pandas}")
    twin = f"the same choices counted row by row: {by_row}"
    page.row("private fit of a tally", f"{rows[1]['size']}, secure noise", fit, rows[1]["goal"], twin)
    page.row("tally and private fit", f"{size} booleans", both)
    page.row("tally", f"{rows[3]['size']} booleans", many, rows[3]["goal"])
    page.row("its peak memory", f"with the table's own {10**7 * 20 / 2**30:.2f} GiB", memory, rows[4]["goal"])


def _exact(page: Page) -> None:
    rows, grown = records(f"{RESULTS}/exact.csv"), records(f"{RESULTS}/exact_growth.csv")
    for row in rows:
        goal = f"≤ {row['goal']}" if row["goal"] else ""
        sizes = (f"{int(row[key]):,}" for key in ("states", "weighed"))
        page.row(row["what"], *sizes, row["seconds"], goal, row["told beforehand"], row["twin"])
    depths = [row for row in grown if row["grown"].startswith("depth")]
    page.says("Adult, 20 attributes, {} distinct patterns", depths[0]["patterns"])
    steps = [pair for pair in pairwise(depths) if int(pair[1]["depth"]) > int(pair[0]["depth"]) >= 3]
    states, times = ([float(b[key]) / float(a[key]) for a, b in steps] for key in ("states", "ms"))
    page.says("takes {} times as many states and {} times as long", between(states, 0), between(times, 0))
    told, ms = ([float(row[key]) for row in grown] for key in ("told / measured", "ms"))
    page.says(f"is {min(told):.2f} to {max(told):.2f} times what the search takes,")
    page.says("from {} ms to {} s;", f"{min(ms):.2f}", f"{max(ms) / 1e3:.1f}")
    more = [float(row["seconds"]) - float(row["told beforehand"]) for row in rows if float(row["seconds"]) < 0.1]
    page.says("fits of up to 0.1 s take {} ms more than is told", between((1e3 * value for value in more), 0))


def _optimal(page: Page) -> None:
    rows = records(f"{RESULTS}/optimal.csv")
    errors = {}
    for row in rows:
        count = f"{int(row['errors']):,}"
        claim = {"True": "yes", "False": "no", "": "cannot say"}[row["says optimal"]]
        page.row(row["what"], row["solver"], row["seconds"], count, claim)
        errors[row["what"], row["solver"]] = count
    at_5 = {solver: count for (what, solver), count in errors.items() if what.startswith("tree of depth 5")}
    page.says("one row: {} errors at depth 5 where STreeD and hedgerow find {}.", at_5["DL8.5"], at_5["hedgerow"])
    page.says("With its shortcuts off it finds {} too", at_5["DL8.5, shortcuts off"])
    assert at_5["STreeD"] == at_5["hedgerow"] == at_5["DL8.5, shortcuts off"]
    corels = (errors[f"list of any length, support 0.01 of all rows, c = {c}", "CORELS"] for c in ("0.001", "1e-06"))
    page.says("with c = 0.001 its list makes {} errors, with a negligible c {}", *corels)


def _counting(page: Page) -> None:
    for row in records(f"{RESULTS}/counting.csv"):
        gram = float(row["gram ms"])
        ratios = [float(row[key]) if row[key] else None for key in ("bit sets / gram", "masks / gram")]
        assert all(ratio is None or ratio > 1 for ratio in ratios), "The Gram products win everywhere"
        time = f"{figures(gram)} ms" if gram < 1000 else f"{figures(gram / 1000)} s"
        page.row(power(row["patterns"]), time, *("" if ratio is None else figures(ratio) for ratio in ratios))


def _worlds(page: Page) -> None:
    rows = records(f"{RESULTS}/worlds.csv")
    for row in rows:
        times = (row[key] for key in ("in one go", "slowest", "region by region", "recursion"))
        page.row(row["attributes"], row["rules"], *(_duration(float(time)) if time else "" for time in times))
    fewer, more = rows[-2:]
    ratio = float(more["slowest"]) / float(fewer["slowest"])
    page.says("list of {} rules takes {} times as long", more["rules"], f"{ratio:.1f}")
    page.says("the slowest of {}. Lists", fewer["rules"])


def _duration(seconds: float) -> str:
    """Return seconds as a table shows them: two digits, one below a millisecond, where the file has no more."""
    if seconds >= 1:
        return f"{figures(seconds)} s"
    return f"{1e3 * seconds:.1f} ms" if seconds < 0.01 else f"{figures(1e3 * seconds)} ms"


def _marginals(page: Page) -> None:
    rows = {(row["problem"], row["noise"]): row for row in records(f"{RESULTS}/marginals.csv")}
    for problem in ("weights", "labels"):
        page.row(problem, *(f"{float(rows[problem, noise]['seconds']):.2f} s" for noise in ("none", "epsilon = 1")))
    page.says("match marginals ({} equations)", rows["weights", "none"]["equations"])
    page.says("explain three answers ({})", rows["labels", "none"]["equations"])


def _hypotheses(page: Page) -> None:
    rows = records(f"{RESULTS}/hypotheses.csv")
    for row in rows:
        ours, library, alone = (f"{row[key]} s" for key in ("as data", "own code", "own code, each row alone"))
        page.row(row["hypothesis"], ours, library, row["ratio"], alone)
    page.says("No row of the 5,000 is predicted otherwise by any of the five")
    assert [row["rows that differ"] for row in rows] == ["0"] * 5


def _growth(page: Page) -> None:
    rows = records(f"{RESULTS}/growth.csv")
    patterns, candidates = ([row for row in rows if row["grown"] == what] for what in ("patterns", "candidates"))
    slopes = [float(row["slope from the row before"]) for row in patterns[1:]]
    low, high = power(patterns[0]["size"]), power(patterns[-1]["size"])
    page.says("from {} to {} patterns at {} candidates", low, high, patterns[0]["candidates"])
    page.says(f"rises from {slopes[0]:.1f} (fixed costs) to {slopes[-1]:.1f};")
    sizes = (f"{int(row['size']):,}" for row in (candidates[0], candidates[-1]))
    page.says("from {} to {} candidates at {} patterns it stays below 0.8", *sizes, power(candidates[0]["patterns"]))
    assert max(float(row["slope from the row before"]) for row in candidates[1:]) < 0.8
