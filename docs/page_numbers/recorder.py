"""The audit by dp-recorder: docs/benchmarks/recorded.md."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from page_numbers.marks import Row, markdown, number, records, table


def _calls(guarantee: str) -> list[tuple[str, list[Row]]]:
    lines = [line for line in records("recorded.csv") if line["guarantee"] == guarantee]
    return [(call, list(kinds)) for call, kinds in groupby(lines, lambda line: line["call"])]


def _is_reached(line: Row) -> bool:
    return line["reached"] == "yes"


def _total(key: str, guarantee: str = "yes") -> int:
    return sum(int(kinds[0][key]) for _, kinds in _calls(guarantee))


def _share(line: Row) -> float:
    """Return the largest distance relative to the declared sensitivity."""
    return 1.0 if _is_reached(line) else float(line["reached"])


def _per_call(guarantee: str) -> Iterable[tuple[str, ...]]:
    for call, kinds in _calls(guarantee):
        first = kinds[0]
        yield (
            call,
            f"{int(first['pairs']):,}",
            f"{sum(int(kind['releases']) for kind in kinds):,}",
            f"{int(first['draws']):,}",
            f"{sum(map(_is_reached, kinds))} of {len(kinds)}",
            f"{float(first['charged']):.2f}" if guarantee == "yes" else "",
            first["differences"],
            first["violations"],
        )


_HEAD = ("call", "pairs", "releases", "draws", "sensitivity reached", "largest loss", "control flow", "violations")


@table
def recorded_calls() -> str:
    """Return the calls with a guarantee."""
    return markdown(_HEAD, _per_call("yes"))


@table
def recorded_published() -> str:
    """Return the published mechanisms without a guarantee."""
    return markdown((*_HEAD[:5], *_HEAD[6:]), ((*row[:5], *row[6:]) for row in _per_call("no")))


@table
def recorded_mechanisms() -> str:
    """Return the mechanisms of all calls with a guarantee, with their kinds of releases."""
    lines = sorted((line for _, kinds in _calls("yes") for line in kinds), key=lambda line: line["mechanism"])
    rows = []
    for mechanism, kinds in groupby(lines, lambda line: line["mechanism"]):
        group = list(kinds)
        releases = sum(int(line["releases"]) for line in group)
        reached = f"{sum(map(_is_reached, group))} of {len(group)}"
        losses = [f"{edge(float(line['loss']) for line in group):.2f}" for edge in (min, max)]
        rows.append((f"`{mechanism}`", f"{releases:,}", reached, f"{min(map(_share, group)):.2f}", " to ".join(losses)))
    return markdown(("mechanism", "releases", "sensitivity reached", "smallest share", "loss"), rows)


@table
def recorded_controls() -> str:
    """Return the broken mechanisms."""
    keys = ("place", "break", "call", "pairs", "by")
    rows = [
        tuple(row[key] if key != "by" or row["flagged"] == "yes" else "**no**" for key in keys)
        for row in records("recorded_controls.csv")
    ]
    return markdown(("place", "break", "call", "pairs", "flagged by"), rows, (0, 1, 2, 4))


@number
def recorded_flagged() -> str:
    """Return how many broken mechanisms were flagged."""
    rows = records("recorded_controls.csv")
    return f"{sum(row['flagged'] == 'yes' for row in rows)} of {len(rows)}"


@number
def recorded_pairs() -> str:
    return f"{_total('pairs') + _total('pairs', 'no'):,}"


@number
def recorded_releases() -> str:
    """Return how many releases were compared."""
    return f"{sum(int(line['releases']) for line in records('recorded.csv')):,}"


@number
def recorded_draws() -> str:
    return f"{_total('draws') + _total('draws', 'no'):,}"


@number
def recorded_call_count() -> str:
    return str(len(_calls("yes")))


@number
def recorded_kinds_reached() -> str:
    """Return the kinds of releases of the calls with a guarantee whose declared sensitivity was reached."""
    lines = [line for _, kinds in _calls("yes") for line in kinds]
    return f"{sum(map(_is_reached, lines))} of {len(lines)}"


@number
def recorded_violations() -> str:
    """Return the differences and violations of calls with a guarantee."""
    return str(_total("differences") + _total("violations") or "none")
