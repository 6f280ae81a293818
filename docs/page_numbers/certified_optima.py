"""Certified optima compared with peers: benchmarks/{optimal,optimal_raw,optimal_numbers,anytime}.py."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from page_numbers.marks import Row, between, markdown, number, records, short, table

OURS = ("hedgerow", "hedgerow, NumPy only")
NO_PROOF = "LicketySPLIT"


def _optimality(row: Row) -> str:
    unknown = "" if row["solver"].startswith(NO_PROOF) else "unknown"
    return {"True": "yes", "False": "no", "": unknown}[row["claims optimality"]]


def _versions(file: str) -> str:
    """Return the solvers of a file with their versions."""
    found = {row["solver"].partition(",")[0]: row["version"] for row in records(file)}
    return ", ".join(f"{solver} {version}" for solver, version in found.items())


def _repeats(file: str) -> str:
    """Return how often fits were repeated."""
    times = sorted({int(row["runs"]) for row in records(file) if not row["reason"]})
    return f"medians of {times[-1]}" + (", and one fit if it takes more than 20 s" if times[0] < times[-1] else "")


def _count(text: str) -> str:
    return f"{int(text):,}" if text else ""


@table
def optima() -> str:
    """Seconds and errors of certified models on a binary table."""
    rows = (
        (*(row[key] for key in ("what", "solver", "seconds")), f"{int(row['errors']):,}", _optimality(row))
        for row in records("optimal.csv")
    )
    return markdown(("what", "solver", "seconds", "errors", "claims optimality"), rows, (0, 1, 4))


def _errors_of(what: str, solver: str) -> str:
    result = (row for row in records("optimal.csv") if row["what"].startswith(what) and row["solver"] == solver)
    return f"{int(next(result)['errors']):,}"


@number
def dl85_errors() -> str:
    """Return the errors of DL8.5's tree of depth 5."""
    return _errors_of("tree of depth 5", "DL8.5")


@number
def least_errors() -> str:
    """Return the least errors of a tree of depth 5."""
    return _errors_of("tree of depth 5", "hedgerow")


@number
def dl85_errors_without_shortcuts() -> str:
    """Return the errors of DL8.5's tree of depth 5, shortcuts off."""
    return _errors_of("tree of depth 5", "DL8.5, shortcuts off")


@number
def corels_errors() -> str:
    """Return the errors of CORELS' list under a penalty of 0.001."""
    return _errors_of("list of any length, support 0.01 of all rows, c = 0.001", "CORELS")


@number
def corels_errors_without_penalty() -> str:
    """Return the errors of CORELS' list under a negligible penalty."""
    return _errors_of("list of any length, support 0.01 of all rows, c = 1e-06", "CORELS")


# --- Raw tables


@number
def raw_versions() -> str:
    """Return the versions of the solvers of raw tables."""
    return _versions("optimal_raw.csv")


@number
def raw_repeats() -> str:
    """Return how often the fits of raw tables were repeated."""
    return _repeats("optimal_raw.csv")


@table
def raw_optima() -> str:
    """Seconds, memory and errors of certified trees on raw tables."""
    rows = (
        (
            *(row[key] for key in ("what", "solver")),
            "" if row["solver"].startswith(NO_PROOF) else f"{float(row['limit']):g}",
            *(row[key] for key in ("seconds", "MB")),
            _count(row["errors"]),
            _count(row["bound"]),
            row["reason"] or _optimality(row),
        )
        for row in records("optimal_raw.csv")
    )
    head = ("problem", "solver", "limit, s", "seconds", "MB", "errors", "lower bound", "claims optimality")
    return markdown(head, rows, (0, 1, 7))


def _claims(row: Row) -> bool:
    return row["claims optimality"] == "True"


def _fastest(rows: Iterable[Row]) -> Row | None:
    """Return the row with the fewest seconds, if there are any."""
    return min(rows, key=lambda row: float(row["seconds"]), default=None)


@number
def raw_behind() -> str:
    """State for which problems a peer that claims optimality is faster, or that there are none."""
    problems = [(what, list(rows)) for what, rows in groupby(records("optimal_raw.csv"), lambda row: row["what"])]
    slower, open_problems = list[str](), list[str]()
    for what, rows in problems:
        ours = _fastest(row for row in rows if row["solver"] == OURS[0] and _claims(row))
        peer = _fastest(row for row in rows if row["solver"] not in OURS and _claims(row))
        if ours is None:
            open_problems.append(what)
        elif peer is not None and float(peer["seconds"]) < float(ours["seconds"]):
            slower.append(f"{what} ({ours['seconds']} s, {peer['solver']} {peer['seconds']} s)")
    solved = f"hedgerow proves the optimum of {len(problems) - len(open_problems)} of the {len(problems)} problems"
    if open_problems:
        solved += f" (not of: {'; '.join(open_problems)})"
    if not slower:
        return f"{solved}. No peer that claims optimality takes less time on these."
    return f"{solved}. A peer that claims optimality takes less time on {len(slower)}: {'; '.join(slower)}."


# --- Regression trees


@number
def numbers_versions() -> str:
    """Return the versions of the solvers of regression trees."""
    return _versions("optimal_numbers.csv")


@number
def numbers_repeats() -> str:
    """Return how often the fits of regression trees were repeated."""
    return _repeats("optimal_numbers.csv")


@table
def optimal_numbers() -> str:
    """Seconds, memory and errors of certified regression trees."""
    keys = ("what", "solver", "seconds", "MB", "of means", "of levels")
    rows = ((*(row[key] for key in keys), row["reason"] or _optimality(row)) for row in records("optimal_numbers.csv"))
    head = ("problem", "solver", "seconds", "MB", "squared error of means", "of levels", "claims optimality")
    return markdown(head, rows, (0, 1, 6))


def _ratios(few: bool) -> str:
    result = {(row["what"], row["solver"]): float(row["seconds"]) for row in records("optimal_numbers.csv")}
    names = [what for what, solver in result if solver == "STreeD" and ("33 levels" in what) == few]
    return between((result[what, "hedgerow"] / result[what, "STreeD"] for what in names), 1)


@number
def optimal_ratio_few() -> str:
    """Return how many times as long hedgerow takes as STreeD, with few levels."""
    return _ratios(few=True)


@number
def optimal_ratio_many() -> str:
    """Return the same with many levels."""
    return _ratios(few=False)


# --- Interrupted searches


@number
def anytime_versions() -> str:
    """Return the versions of the solvers of interrupted searches."""
    return _versions("anytime.csv")


@number
def anytime_limits() -> str:
    """Return the limits, in seconds."""
    limits = sorted({float(row["limit"]) for row in records("anytime.csv") if row["limit"]})
    return f"{short(limits[0], 2)} to {limits[-1]:g}"


@number
def anytime_rows() -> str:
    """Return the number of rows of Adult's training set."""
    return f"{max(int(row['rows']) for row in records('anytime.csv')):,} rows"


@table
def anytime() -> str:
    """Errors, bounds and gaps of interrupted searches."""

    def gap(row: Row) -> str:
        if not row["bound"]:
            return ""
        return f"{100 * (int(row['errors']) - int(row['bound'])) / int(row['rows']):.1f} %"

    rows = (
        (
            *(row[key] for key in ("what", "solver")),
            f"{float(row['limit']):g}" if row["limit"] else "",
            *(row[key] for key in ("seconds", "MB")),
            _count(row["errors"]),
            _count(row["bound"]),
            gap(row),
            row["reason"] or _optimality(row),
        )
        for row in records("anytime.csv")
    )
    head = ("problem", "solver", "limit, s", "seconds", "MB", "errors", "lower bound", "gap", "claims optimality")
    return markdown(head, rows, (0, 1, 8))


def _by_problem(file: str) -> dict[str, list[Row]]:
    return {what: list(rows) for what, rows in groupby(records(file), lambda row: row["what"])}


def _within(rows: Iterable[Row], seconds: float) -> int | None:
    """Return the fewest errors of hedgerow's fits that took at most some seconds, if any did."""
    errors = (int(row["errors"]) for row in rows if row["solver"] == OURS[0] and float(row["seconds"]) <= seconds)
    return min(errors, default=None)


def _reached(rows: Iterable[Row], errors: int) -> float | None:
    """Return the fewest seconds of hedgerow's fits that made at most some errors, if any did."""
    seconds = (float(row["seconds"]) for row in rows if row["solver"] == OURS[0] and int(row["errors"]) <= errors)
    return min(seconds, default=None)


def _compared() -> list[tuple[str, Row, int | None, float | None]]:
    """Return each result of a peer, hedgerow's errors in this time, and hedgerow's time to these errors."""
    return [
        (what, row, _within(rows, float(row["seconds"])), _reached(rows, int(row["errors"])))
        for what, rows in _by_problem("anytime.csv").items()
        for row in rows
        if row["solver"] not in OURS and row["errors"]
    ]


@table
def anytime_compared() -> str:
    """Compare the tree of each lookahead with the trees that hedgerow has in the same time."""
    rows = (
        (
            what,
            row["solver"],
            row["seconds"],
            _count(row["errors"]),
            "none yet" if errors is None else f"{errors:,}",
            "not within the limits" if seconds is None else f"{seconds:.3f}",
        )
        for what, row, errors, seconds in _compared()
        if row["solver"].startswith(NO_PROOF)
    )
    head = ("problem", "peer", "its seconds", "its errors", "errors of hedgerow in this time", "seconds to its errors")
    return markdown(head, rows, (0, 1))


@number
def anytime_claims() -> str:
    """Count the results of peers that hedgerow's tree of the same processor time is not worse than."""
    parts = list[str]()
    for peer in ("LicketySPLIT", "ConTree"):
        some = [(row, errors) for _, row, errors, _ in _compared() if row["solver"].startswith(peer)]
        good = sum(errors is not None and errors <= int(row["errors"]) for row, errors in some)
        parts.append(f"{good} of {len(some)} results of {peer}")
    return f"In at most the same processor time, hedgerow makes no more errors than {' and '.join(parts)}."
