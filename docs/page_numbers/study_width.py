"""The study of the width draw: docs/studies/width.md."""

from __future__ import annotations

from page_numbers.marks import NAMES, Row, figures, markdown, number, records, short, table

_RUNS, _ESTIMATES = "docs/studies/width/runs.csv", "docs/studies/width/estimates.csv"
_LABELS = {
    "rare": "rare, by chance",
    "tree": "a tree of three tests",
    "parity": "parity of three",
    "sum": "a sum of five",
}


def _by_table() -> dict[tuple[str, str], dict[float, Row]]:
    result: dict[tuple[str, str], dict[float, Row]] = {}
    for row in records(_RUNS):
        name = row["table"].removesuffix(f", depth {row['depth']}")
        result.setdefault((_name(name), row["depth"]), {})[float(row["epsilon"])] = row
    return result


def _name(name: str) -> str:
    data = name.removesuffix("_binary")
    return NAMES.get(data, data) + (", booleans" if data != name else "")


def _share(row: Row, part: str, whole: str) -> str:
    return f"{100 * float(row[part]) / float(row[whole]):.0f} %"


def _seconds(row: Row) -> float:
    """Return the time of the width draw, with the quicker proof of the optimum."""
    return min(float(row["find optimum"]), float(row["proof"])) + float(row["width draw"])


@table
def width_inside() -> str:
    """Shares inside the width, and seconds of draws from all trees, of the proof, and of the width draw."""
    lines = list[tuple[str, ...]]()
    for (name, depth), by_epsilon in _by_table().items():
        inside = (_share(row, "inside of one", "nodes of one") for row in by_epsilon.values())
        item, four = by_epsilon[1.0], by_epsilon[4.0]
        times = (figures(float(item[key])) for key in ("today", "twin", "proof"))
        draws = (figures(_seconds(row)) for row in (item, four))
        lines.append((name, depth, item["tests"], item["width"], *inside, *times, *draws))
    head = ("table", "depth", "tests", "W, ε = 1", "inside, ε = .1", "ε = 1", "ε = 4", "today, s", "pairs", "proof",
            "width, ε = 1", "ε = 4")  # fmt: skip
    return markdown(head, lines)


@table
def width_estimates() -> str:
    """Shares inside at depth 4 with 500 tests and a million rows, at ε = 1, and the time of that alone."""
    rows = [row for row in records(_ESTIMATES) if row["epsilon"] == "1"]
    lines = list[tuple[str, ...]]()
    for row in rows:
        nodes = float(row["inside, two left"]) * float(row["nodes, two left"])
        seconds = nodes * float(row["seconds a node"])
        shares = (f"{100 * float(row[f'inside, {left} left']):.3g} %" for left in ("three", "two", "one"))
        lines.append((_LABELS[row["labels"]], *shares, f"{nodes:,.0f}", f"{seconds:,.0f}"))
    head = ("labels", "one choice made", "two", "three", "nodes with two made", "seconds of these")
    return markdown(head, lines)


@number
def width_node_seconds() -> str:
    return short(records(_ESTIMATES)[0]["seconds a node"], 1)


@number
def width_gain() -> str:
    """Return how many times quicker than today's draw it is at ε = 1, where by most."""
    return figures(max(float(rows[1.0]["today"]) / _seconds(rows[1.0]) for rows in _by_table().values()))


@number
def width_gain_over_pairs() -> str:
    """Return how many times quicker than a draw by pairs it is, where today's takes longest."""
    most = max((rows[1.0] for rows in _by_table().values()), key=lambda row: float(row["today"]))
    return figures(float(most["twin"]) / _seconds(most))
