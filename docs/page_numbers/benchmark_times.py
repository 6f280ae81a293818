"""Times and sizes on the pages of benchmarks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from page_numbers.marks import Row, between, figures, markdown, number, power, records, short, table

# --- Counting, fits and draws in memory


@table
def speed() -> str:
    """Durations of counting and fitting compared with goals and baselines."""
    rows = records("speed.csv")
    pandas, by_row = (" ".join(row["twin"].split()[-2:]) for row in rows[:2])
    size = f"{rows[0]['size'].removesuffix(' (adult_binary)')} booleans"
    table_size = rows[4]["twin"].removeprefix("the table itself is ")
    lines = (
        ("tally", size, f"pandas `groupby` of the same columns: {pandas}"),
        (
            "private fit of a tally",
            f"{rows[1]['size']}, secure noise",
            f"the same choices counted row by row: {by_row}",
        ),
        ("tally and private fit", size, ""),
        ("tally", f"{rows[3]['size']} booleans", ""),
        ("its peak memory", f"with the table's own {table_size}", ""),
    )
    cells = ((what, of, row["median"], row["goal"], twin) for (what, of, twin), row in zip(lines, rows, strict=True))
    return markdown(("what", "size", "median", "goal", "twin in the same run"), cells, (0, 1, 4))


@table
def exact_times() -> str:
    """States, options and seconds of exact draws."""
    rows = (
        (
            row["what"],
            *(f"{int(row[key]):,}" for key in ("states", "weighed")),
            row["seconds"],
            f"≤ {row['goal']}" if row["goal"] else "",
            row["told beforehand"],
            row["twin"],
        )
        for row in records("exact.csv")
    )
    return markdown(("search", "states", "options weighed", "seconds", "goal", "predicted", "baseline"), rows)


@table
def large_draws() -> str:
    """Seconds, memory and accuracy of exact draws of the size of certified searches."""
    rows = (
        (
            row["what"],
            row["with"],
            *(f"{int(row[key]):,}" for key in ("patterns", "states", "weighed")),
            row["reason"] or row["seconds"],
            f"≤ {row['goal']}" if row["goal"] else "",
            *(row[key] for key in ("predicted s", "MB")),
            short(row["accuracy"], 3) if row["accuracy"] else "",
        )
        for row in records("exact_large.csv")
    )
    head = ("search", "with", "patterns", "states", "options weighed", "seconds", "goal", "predicted", "MB", "accuracy")
    return markdown(head, rows, (0, 1))


def _depths() -> list[Row]:
    return [row for row in records("exact_growth.csv") if row["grown"].startswith("depth")]


def _steps(key: str) -> str:
    """Return how many times as much each further level takes, from the third on."""
    deeper = [pair for pair in pairwise(_depths()) if int(pair[1]["depth"]) > int(pair[0]["depth"]) >= 3]
    return between((float(more[key]) / float(fewer[key]) for fewer, more in deeper), 0)


@number
def adult_patterns() -> str:
    """Return the distinct patterns of the table that exact draws are timed on."""
    return _depths()[0]["patterns"]


@number
def more_states() -> str:
    """Return how many times as many states a further level takes."""
    return _steps("states")


@number
def more_time() -> str:
    """Return how many times as long a further level takes."""
    return _steps("ms")


def _long_fits(use: str, *kinds: str) -> list[dict[str, str]]:
    """Return the fits of a second or more whose time was predicted for a known number of attributes."""
    return [
        row
        for row in records("costs.csv")
        if float(row["measured s"]) >= 1
        and row["chooses first"] == "False"
        and row["use"] == use
        and row["with"] in (kinds or ("NumPy", "Numba"))
    ]


def _ratio(row: dict[str, str]) -> float:
    return float(row["predicted / measured"])


def _nine_in_ten(rows: Iterable[dict[str, str]]) -> str:
    ratios = sorted(map(_ratio, rows))
    twentieth = len(ratios) // 20
    return f"{ratios[twentieth]:.2f} to {ratios[-1 - twentieth]:.2f}"


def _described(row: dict[str, str]) -> str:
    how = " with Numba" if row["with"] == "Numba" else ""
    return f"{row['fit']} on {row['table']}{how}: {row['predicted s']} s predicted, {row['measured s']} s measured"


@number
def forecast_cost() -> str:
    """Return the range of predicted to measured time of nine in ten fits."""
    return _nine_in_ten(_long_fits("comparison"))


@number
def forecast_fits() -> str:
    """Return the number of these fits."""
    return str(len(_long_fits("comparison")))


@number
def forecast_fitted() -> str:
    """Return the same range for the fits on which the constants were fitted."""
    return _nine_in_ten(_long_fits("fit"))


@number
def forecast_fitted_fits() -> str:
    """Return the number of these fits."""
    return str(len(_long_fits("fit")))


@number
def forecast_worst() -> str:
    """Return the fit with the worst prediction."""
    return _described(max(_long_fits("comparison"), key=lambda row: max(_ratio(row), 1 / _ratio(row))))


@number
def forecast_outside() -> str:
    """Return the number of fits whose predicted time is not within a factor of two of the measured time."""
    return str(sum(not 0.5 <= _ratio(row) <= 2 for row in _long_fits("comparison")))


@number
def forecast_numba() -> str:
    """Return the range of the ratio for the compared fits that use Numba."""
    ratios = sorted(map(_ratio, _long_fits("comparison", "Numba")))
    return f"{ratios[0]:.2f} to {ratios[-1]:.2f}"


@number
def forecast_most() -> str:
    """Return the longest predicted time of a fit of a chosen size, in seconds."""
    return f"{max(float(row['predicted s']) for row in records('costs.csv') if row['size'] != '0'):.0f}"


@number
def forecast_of_chosen() -> str:
    """Return the largest ratio of predicted to measured time of fits that choose attributes first."""
    return f"{max(_ratio(row) for row in records('costs.csv') if row['chooses first'] == 'True'):.0f}"


def _longest(rows: Iterable[dict[str, str]]) -> str:
    return f"{max(float(row['measured s']) for row in rows if row['size'] == '0'):.1f}"


@number
def longest_default() -> str:
    """Return the seconds of one core of the longest default fit."""
    return _longest(row for row in records("costs.csv") if row["use"] == "comparison")


@number
def longest_of_league() -> str:
    """Return the seconds of one core of the longest default fit of a raw table."""
    return _longest(row for row in records("costs.csv") if row["use"] == "comparison" and "," not in row["table"])


@table
def counting() -> str:
    """Durations of counting candidates by matrix products, bit sets and masks."""

    def duration(ms: float) -> str:
        return f"{figures(ms)} ms" if ms < 1000 else f"{figures(ms / 1000)} s"

    keys = ("bit sets / gram", "masks / gram")
    rows = (
        (
            power(row["patterns"]),
            duration(float(row["gram ms"])),
            *(figures(float(row[key])) if row[key] else "" for key in keys),
        )
        for row in records("counting.csv")
    )
    return markdown(("patterns", "Gram", "bit sets / Gram", "masks / Gram"), rows, ())


@table
def worlds() -> str:
    """Durations of counting the possible rows of rule lists."""

    def duration(text: str) -> str:
        if not text:
            return ""
        seconds = float(text)
        if seconds >= 1:
            return f"{figures(seconds)} s"
        return f"{1e3 * seconds:.1f} ms" if seconds < 0.01 else f"{figures(1e3 * seconds)} ms"

    keys = ("in one go", "slowest", "region by region", "recursion")
    rows = ((row["attributes"], row["rules"], *(duration(row[key]) for key in keys)) for row in records("worlds.csv"))
    return markdown(("attributes", "rules", *keys), rows)


@number
def slowest_lists() -> str:
    """Return the ratio of the slowest times of lists with the most rules and with fewer rules."""
    fewer, more = (float(row["slowest"]) for row in records("worlds.csv")[-2:])
    return f"{more / fewer:.1f}"


@table
def solves() -> str:
    """Durations of EXPRIL's two solves."""
    result = {(row["problem"], row["noise"]): f"{float(row['seconds']):.2f} s" for row in records("marginals.csv")}
    rows = (
        (problem, *(result[problem, noise] for noise in ("none", "epsilon = 1"))) for problem in ("weights", "labels")
    )
    return markdown(("problem", "without noise", "ε = 1"), rows)


def _equations(problem: str) -> str:
    return next(row["equations"] for row in records("marginals.csv") if row["problem"] == problem)


@number
def equations_of_weights() -> str:
    """Return the equations that weights solve."""
    return _equations("weights")


@number
def equations_of_labels() -> str:
    """Return the equations that labels solve."""
    return _equations("labels")


@table
def hypotheses() -> str:
    """Durations of evaluating classifiers as data and by their own code."""
    rows = (
        (
            row["hypothesis"],
            *(f"{row[key]} s" for key in ("as data", "own code")),
            row["ratio"],
            f"{row['own code, each row alone']} s",
        )
        for row in records("hypotheses.csv")
    )
    return markdown(("hypothesis", "as data", "own code", "ratio", "own code, each row alone"), rows)


def _grown(what: str) -> list[Row]:
    return [row for row in records("growth.csv") if row["grown"] == what]


@number
def grown_patterns() -> str:
    """Return over which numbers of patterns a fit was timed."""
    rows = _grown("patterns")
    return f"{power(rows[0]['size'])} to {power(rows[-1]['size'])} patterns at {rows[0]['candidates']} candidates"


@number
def first_slope() -> str:
    """Return the slope between the fewest patterns."""
    return f"{float(_grown('patterns')[1]['slope from the row before']):.1f}"


@number
def last_slope() -> str:
    """Return the slope between the most patterns."""
    return f"{float(_grown('patterns')[-1]['slope from the row before']):.1f}"


@number
def grown_candidates() -> str:
    """Return over which numbers of candidates a fit was timed."""
    rows = _grown("candidates")
    sizes = (f"{int(row['size']):,}" for row in (rows[0], rows[-1]))
    return f"{' to '.join(sizes)} candidates at {power(rows[0]['patterns'])} patterns"


@table
def start() -> str:
    """Seconds until a fresh interpreter has started."""
    rows = ((row["call"], row["seconds"], row["ratio"]) for row in records("start.csv"))
    return markdown(("call", "seconds", "ratio to `python -c pass`"), rows)


@number
def plain_speed() -> str:
    """Return the megabytes a second that the check of plain CSV files takes in."""
    return records("csv_check.csv")[0]["MB a second"]


@number
def quoted_speed() -> str:
    """Return the megabytes per second if every field is quoted."""
    return records("csv_check.csv")[1]["MB a second"]


# --- Engines


@table
def duckdb_times() -> str:
    """Durations of counting in DuckDB compared with handwritten queries."""

    def cells(row: Row) -> tuple[str, ...]:
        ratio = f"{float(row['tally / by hand']):.2f}"
        others = ("tally / by hand, CPU", "tally / text as it is", "tally / text as it is, CPU")
        return (
            power(row["rows"]),
            f"{int(row['groups']):,}",
            *(f"{row[key]} s" for key in ("tally s", "tally CPU s")),
            f"**{ratio}**" if float(ratio) <= 1.3 else ratio,
            *(f"{float(row[key]):.2f}" for key in others),
            f"{row['GiB at most']} GiB",
        )

    head = ("rows", "groups", "tally", "processor", "tally / CASE, goal 1.3", "processor", "tally / text", "processor")
    return markdown((*head, "peak memory, goal 4 GB"), map(cells, records("engines.csv")), ())


@number
def million_more() -> str:
    """Return the processor seconds of a million rows more, from size to size."""
    return " / ".join(row["CPU s per million more"] for row in records("engines.csv")[1:])


@table
def fits_afterwards() -> str:
    """Seconds of private fits of the tallies that were counted in DuckDB."""
    keys = ("rule list, 1 literal, s", "rule list, 2 literals, s", "exact tree, depth 2, s")
    rows = (
        (power(row["rows"]), f"{int(row['patterns']):,}", *(f"{float(row[key]):.3f}" for key in keys))
        for row in records("engines_fits.csv")
    )
    return markdown(("rows", "patterns", "list, 1 literal", "list, 2 literals", "exact tree, depth 2"), rows, ())


@number
def more_patterns() -> str:
    """Return how many times as many patterns the largest table has as the smallest."""
    rows = records("engines_fits.csv")
    return f"{int(rows[-1]['patterns']) / int(rows[0]['patterns']):.0f}"


@number
def census_size() -> str:
    """Return the megabytes of the largest generated table."""
    return f"{float(records('census.csv')[-1]['bytes']) / 1e6:.0f}"


@number
def census_seconds() -> str:
    """Return the seconds in which it is made."""
    return f"{float(records('census.csv')[-1]['seconds']):.0f}"


_DATABASES = ("DuckDB s", "by hand s", "memory s", "PostgreSQL s")


@table
def categories() -> str:
    """Seconds of counting by the number of categories."""
    rows = (
        (f"{int(row['categories']):,}", *(f"{float(row[key]):.3f}" for key in _DATABASES))
        for row in records("categories.csv")
    )
    return markdown(("categories", *(key.removesuffix(" s") for key in _DATABASES)), rows, ())


def _fifty_times(key: str) -> str:
    result = {row["categories"]: float(row[key]) for row in records("categories.csv")}
    return f"{result['50000'] / result['1000']:.0f}"


@number
def categories_in_duckdb() -> str:
    """Return how many times as long DuckDB takes with fifty times as many categories."""
    return _fifty_times("DuckDB s")


@number
def categories_in_postgresql() -> str:
    """Return how many times as long PostgreSQL takes with fifty times as many categories."""
    return _fifty_times("PostgreSQL s")


@table
def spark() -> str:
    """Shuffles of Spark by rows, attributes and partitions."""
    rows = (
        (
            power(row["rows"]),
            row["attributes"],
            f"{int(row['groups']):,}",
            row["partitions"],
            *(f"{int(row[key]):,}" for key in ("records shuffled", "bytes shuffled")),
            row["bytes per group and partition"],
            row["bytes per record"],
        )
        for row in sorted(records("spark.csv"), key=lambda row: (int(row["attributes"]), int(row["partitions"])))
    )
    head = ("rows", "attributes", "groups", "partitions", "records shuffled", "bytes")
    return markdown((*head, "for each group and partition", "for each record"), rows, ())


def _ten_times(key: str, attributes: str, partitions: str) -> str:
    """Return how many times as much there is with ten times the rows."""
    kind = (attributes, partitions)
    fewer, more = (row for row in records("spark.csv") if (row["attributes"], row["partitions"]) == kind)
    return f"{int(more[key]) / int(fewer[key]):.1f}"


@number
def shuffle_of_six() -> str:
    """Return the growth of groups and bytes of six attributes."""
    return "{} times the groups shuffle {} times".format(
        *(_ten_times(key, "6", "3") for key in ("groups", "bytes shuffled"))
    )


@number
def shuffle_of_twenty() -> str:
    """Return the growth of groups and bytes of twenty attributes in three partitions."""
    return "{} times the groups {} times".format(*(_ten_times(key, "20", "3") for key in ("groups", "bytes shuffled")))


@number
def shuffle_in_ten() -> str:
    """Return the growth of bytes of twenty attributes in ten partitions."""
    return _ten_times("bytes shuffled", "20", "10")


@number
def bytes_of_a_record() -> str:
    """Return the bytes of a shuffled record."""
    return between((float(row["bytes per record"]) for row in records("spark.csv")), 0)


# --- Curators, and fits for an empirical ε


@table
def federation() -> str:
    """Accuracy and seconds with three data holders and with a single data holder."""
    rows = (
        (
            row["table"],
            row["how"],
            *(short(row[key], 4) for key in ("accuracy", "deviation")),
            f"{float(row['seconds']):.2f}",
        )
        for name in ("adult", "ctg")
        for row in records("federation.csv")
        if row["table"] == name
    )
    return markdown(("table", "how", "accuracy", "std. deviation", "seconds a fit"), rows, (0, 1))


def _over_http(name: str) -> Row:
    key = (name, "three curators, HTTP")
    return next(row for row in records("federation.csv") if (row["table"], row["how"]) == key)


@number
def federation_p() -> str:
    """Return the p-values of both tables."""
    return " and ".join(_over_http(name)["p (KS)"] for name in ("adult", "ctg"))


@number
def bytes_sent() -> str:
    """Return the bytes of a question, to the hundred."""
    return f"{round(float(_over_http('adult')['sent']), -2):,.0f}"


@number
def bytes_received() -> str:
    """Return the bytes of an answer, to the hundred."""
    return f"{round(float(_over_http('adult')['received']), -2):,.0f}"


@number
def usual_runs() -> str:
    """Return how many fits there are on each of two tables by default."""
    return f"{max(int(row['runs']) for row in records('epsilon.csv') if row['kind'] == 'hedgerow'):,}"


@table
def first_model() -> str:
    """From an empty environment to a first model."""
    columns = ("version", "packages", "MB", "install, seconds", "first model, seconds", "later, seconds")
    rows = [(row["tool"], *(row[name] for name in columns)) for row in records("first_model.csv")]
    return markdown(("tool", *columns), rows, (0, 1))


@table
def install_size() -> str:
    """Megabytes of an installation, by package."""
    columns = ("MB", "tests", "bytecode", "symbols")
    rows = [
        (row["package"], *(f"{float(row[column]):.0f}" for column in columns)) for row in records("install_size.csv")
    ]
    return markdown(("package", *columns), rows)


def _install_mb(*parts: str) -> float:
    """Return the megabytes of an installation, without some parts of the packages."""
    whole = records("install_size.csv")[-1]
    return float(whole["MB"]) - sum(float(whole[part]) for part in parts)


@number
def install_mb() -> str:
    """Return the megabytes that pip installs."""
    return f"{_install_mb():.0f} MB"


@number
def install_code() -> str:
    """Return the megabytes without tests, bytecode and symbols."""
    return f"{_install_mb('tests', 'bytecode', 'symbols'):.0f} MB"


@number
def install_parts() -> str:
    """Return the megabytes of tests, bytecode and symbols."""
    whole = records("install_size.csv")[-1]
    return "{tests:.0f} MB of tests, {bytecode:.0f} MB of bytecode and {symbols:.0f} MB of symbols".format(
        **{part: float(whole[part]) for part in ("tests", "bytecode", "symbols")}
    )


# --- Days of the measurements


@table
def when() -> str:
    """Dates and commits of the results, a row per commit."""
    files: dict[tuple[str, str], list[str]] = {}
    for row in records("when.csv"):
        files.setdefault((row["day"], row["commit"]), []).append(row["results"].removesuffix(".csv"))
    rows = [(day, commit, ", ".join(names)) for (day, commit), names in sorted(files.items())]
    return markdown(("day", "commit", "results"), rows, (0, 1, 2))
