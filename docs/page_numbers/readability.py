"""Sizes of private models: benchmarks/readability.py, and the numbers that other pages quote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import hypot
from statistics import fmean

from page_numbers.marks import NAMES, TUNED_NOTE, Row, markdown, number, records, short, table, tuned

EPSILONS = ("0.05", "0.1", "1.0", "4.0")
CUT = ", cut points"
GOAL_TABLES = (*(f"{name}{CUT}" for name in ("compas", "adult", "german", "ctg")), "diabetes", "hmda")
LARGE = ("compas", "adult")  # tables of more than 5,000 rows
TREE, CARD, OLD = "tree", "scorecard", " of 0.2.0"
TITLES = {**NAMES, "hmda": "HMDA"}


def _found() -> dict[tuple[str, str, str], Row]:
    return {(row["table"], row["epsilon"], row["learner"]): row for row in records("readability.csv")}


def _tables() -> list[str]:
    return list(dict.fromkeys(row["table"] for row in records("readability.csv")))


def _mean(learner: str, column: str, names: Iterable[str], epsilon: str = "1.0") -> float:
    result = _found()
    values = [result[name, epsilon, learner][column] for name in names]
    return fmean(float(value) for value in values if value)


def _title(name: str) -> str:
    data, *cut = name.split(CUT)
    return tuned(data, TITLES.get(data, data) + (CUT if cut else ""))


def _differences(learner: str, score: str) -> list[tuple[str, str, float, float]]:
    """Return table, ε, mean paired difference to 0.2.0 and its standard error."""
    column = f"{score}, more than 0.2.0"
    return [
        (name, epsilon, float(row[column]), _error(row, column))
        for (name, epsilon, other), row in _found().items()
        if other == learner and row[column]
    ]


def _overall(differences: Sequence[tuple[str, str, float, float]]) -> tuple[float, float]:
    """Return the mean of differences and its standard error."""
    return fmean(difference[2] for difference in differences), hypot(
        *(difference[3] for difference in differences)
    ) / len(differences)


def _worst(differences: Sequence[tuple[str, str, float, float]], sign: int = 1) -> str:
    name, epsilon, more, error = min(differences, key=lambda one: sign * one[2])
    return f"{_signed(more, error)} ({_title(name)}, ε = {float(epsilon):g})"


def _signed(more: float, error: float) -> str:
    return ("+" if more > 0 else "") + f"{short(more, 4)} ± {short(error, 4)}"


@table
def readability_goals() -> str:
    """Sizes of 0.2.0 and of the current version compared with the goals."""
    cards = [name.removesuffix(CUT) for name in GOAL_TABLES]

    def pair(learner: str, column: str, names: Sequence[str], digits: int) -> tuple[str, str]:
        old, now = (short(_mean(item, column, names), digits) for item in (learner + OLD, learner))
        return old, now

    trees, losses = _differences(TREE, "accuracy"), _differences(CARD, "log-loss")
    ranks = _differences(CARD, "AUROC")
    leaves, small = pair(TREE, "leaves", GOAL_TABLES, 1), pair(TREE, "share of small leaves", GOAL_TABLES, 2)
    bins, turns = (pair(CARD, column, cards, 1) for column in ("bins of a number", "turns"))
    rows = [
        ("leaves of a default tree, ε = 1", leaves[0], "≤ 7", leaves[1]),
        ("share of leaves under 1 % of the rows", small[0], "≤ .05", small[1]),
        ("accuracy of trees, mean paired difference", "0", "≥ 0", _signed(*_overall(trees))),
        ("the lowest of all tables and ε", "0", "not significantly below −.002", _worst(trees)),
        ("printed bins of a number in a default scorecard, ε = 1", bins[0], "≤ 5", bins[1]),
        ("turns of the points along a number", turns[0], "≤ 1", turns[1]),
        ("log-loss of scorecards, the largest paired difference", "0", "≤ +.001", _worst(losses, -1)),
        ("AUROC of scorecards, the lowest paired difference", "0", "≥ −.001", _worst(ranks)),
    ]
    return markdown(("", "0.2.0", "asked for", "today"), rows)


@table
def readability_trees() -> str:
    """Accuracy and size of trees at ε = 1, today and of 0.2.0, compared with peers of the same size."""
    result = _found()

    def cells(name: str, learner: str) -> list[str]:
        row = result[name, "1.0", learner]
        digits = {"accuracy": 3, "leaves": 1, "supported leaves": 1, "tests a row passes": 1}
        cells = [short(row[key], places) for key, places in digits.items()]
        if learner == TREE + OLD:  # on the splits that trees of today have
            now = result[name, "1.0", TREE]
            cells[0] = short(float(now["accuracy"]) - float(now["accuracy, more than 0.2.0"]), 3)
        return cells

    def gaps(name: str) -> list[str]:
        row = result[name, "1.0", TREE]
        columns = [f"accuracy, more than {peer}" for peer in ("CART", "optimum")]
        return [_signed(float(row[column]), _error(row, column)) if row[column] else "" for column in columns]

    rows = (
        (_title(name), *cells(name, TREE + OLD), *cells(name, TREE), *gaps(name), result[name, "1.0", TREE]["splits"])
        for name in _tables()
        if (name, "1.0", TREE) in result
    )
    kept = ("leaves", "≥ 1 %", "tests")
    head = ("ε = 1", "0.2.0", *kept, "today", *kept, "less CART", "less optimum", "splits")
    return markdown(head, rows) + TUNED_NOTE


def _error(row: Row, column: str) -> float:
    return float(row[f"standard error of {column}"] or "nan")


@table
def readability_differences() -> str:
    """Paired differences to 0.2.0 by table and ε: accuracy of trees, AUROC and log-loss of scorecards."""
    kinds = ((TREE, "accuracy"), (CARD, "AUROC"), (CARD, "log-loss"))
    result = {
        (learner, score, name, epsilon): _signed(more, error)
        for learner, score in kinds
        for name, epsilon, more, error in _differences(learner, score)
    }
    rows = (
        (_title(name), f"{float(epsilon):g}", *(result.get((*kind, name, epsilon), "") for kind in kinds))
        for name in _tables()
        for epsilon in EPSILONS
        if any((*kind, name, epsilon) in result for kind in kinds)
    )
    return (
        markdown(("table", "ε", "accuracy of trees", "AUROC of scorecards", "log-loss of scorecards"), rows)
        + TUNED_NOTE
    )


@table
def readability_cards() -> str:
    """Sizes of scorecards at ε = 1, today and of 0.2.0, compared with scorecards without privacy."""
    result = _found()
    learners = (
        (CARD + OLD, "1.0"),
        (CARD, "1.0"),
        ("ScorecardClassifier, points 5", ""),
        ("FasterRisk, 10 columns, points 5", ""),
    )

    def cell(row: Row | None) -> str:
        if row is None:
            return ""
        curve = " / ".join(short(row[key], 1) for key in ("bins of a number", "turns")) if row["turns"] else "– / –"
        return f"{short(row['attributes'], 1)} / {curve} / {float(row['largest points']):.0f}"

    rows = (
        (_title(name), *(cell(result.get((name, epsilon, learner))) for learner, epsilon in learners))
        for name in _tables()
    )
    head = ("attributes / bins of a number / turns / largest points", "0.2.0, ε = 1", "today, ε = 1")
    return markdown((*head, "not private, points of 5", "FasterRisk"), rows) + TUNED_NOTE


@number
def optimum_gap() -> str:
    """Return by how much private trees are below certified optima of as many leaves on large tables, at ε = 1."""
    column, result = "accuracy, more than optimum", _found()
    rows = [(name, result[name, "1.0", TREE]) for name in LARGE]
    return " and ".join(f"{_signed(float(row[column]), _error(row, column))} on {TITLES[name]}" for name, row in rows)


@number
def readability_missed() -> str:
    """Return the paired differences of trees that are significantly below −.002, with table and ε."""
    missed = [difference for difference in _differences(TREE, "accuracy") if difference[2] + 2 * difference[3] < -0.002]
    return ", ".join(f"{_signed(more, error)} ({_title(name)}, ε = {float(e):g})" for name, e, more, error in missed)
