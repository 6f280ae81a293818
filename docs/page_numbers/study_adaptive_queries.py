"""The study of adaptive questions of EXPRIL: docs/studies/adaptive-queries.md."""

from __future__ import annotations

from statistics import mean, stdev

from page_numbers.marks import markdown, number, records, short, table

_RUNS = "docs/studies/adaptive-queries/runs.csv"
_CTG = "CTG-A"
_FEW = ("A", "B")  # the problems with fewer than 10 columns
_PROBLEMS = ("A", "B", "C", "D", "E", _CTG)
_VARIANTS = {
    "one question": "today, one question",
    "two questions": "today, two questions",
    "first of two": "today, the first of two (ε = ½)",
    "columns by errors": "1a: then the third of the columns with most information on errors",
    "columns by source": "1a: one question, on a third of the columns that represents the source",
    "bins by errors": "1b: then bins of equal estimated errors",
    "components": "2: one question, on a third as many principal components",
    "projections": "2: one question, on 8 random projections",
    "score": "2: then the predicted probability of the network",
    "cells and score": "2: cells, then the predicted probability",
    "cells": "2: one question, on cells",
    "cells, smoothed": "2: the same answer, by regression on cells",
    "scorecard": "scorecard (`MarginalLogisticClassifier`)",
}


def _today(name: str) -> str:
    return "two questions" if name in _FEW else "one question"


def _accuracies(name: str, variant: str) -> list[float]:
    return [float(row[variant]) for row in records(_RUNS) if row["problem"] == name and row[variant]]


def _pairs(name: str, variant: str) -> list[float]:
    """Return the differences in accuracy to today's classifier, in points, by run."""
    rows = (row for row in records(_RUNS) if row["problem"] == name and row[variant])
    return [100 * (float(row[variant]) - float(row[_today(name)])) for row in rows]


def _error(values: list[float]) -> float:
    return stdev(values) / len(values) ** 0.5


def _with_error(values: list[float], digits: int) -> str:
    return f"{short(mean(values), digits)} ± {short(_error(values), digits)}"


def _difference(name: str, variant: str) -> str:
    return "" if variant == _today(name) else _with_error(_pairs(name, variant), 1)


@table
def adaptive_ctg() -> str:
    """Accuracy of every variant on CTG-A, and its paired difference to today's best."""
    rows = ((text, _with_error(_accuracies(_CTG, key), 3), _difference(_CTG, key)) for key, text in _VARIANTS.items())
    return markdown(("question", "accuracy ± s.e.", "points over one question ± s.e."), rows)


@table
def adaptive_problems() -> str:
    """Accuracy of today's classifier and of cells on every problem, with paired differences."""
    head = ("problem", "runs", "today", "cells", "points", "cells, smoothed", "points", "scorecard")
    rows = (
        (
            name,
            str(len(_accuracies(name, "cells"))),
            f"{short(mean(_accuracies(name, _today(name))), 3)} ({_today(name).split()[0]})",
            *(
                part
                for key in ("cells", "cells, smoothed")
                for part in (short(mean(_accuracies(name, key)), 3), _difference(name, key))
            ),
            short(mean(_accuracies(name, "scorecard")), 3),
        )
        for name in _PROBLEMS
    )
    return markdown(head, rows)


@table
def adaptive_others() -> str:
    """Paired differences of the other variants to today's best, in points, in the first runs."""
    problems = [name for name in _PROBLEMS if name != _CTG]
    keys = [key for key in _VARIANTS if key not in ("cells", "cells, smoothed", "scorecard")]
    rows = ((_VARIANTS[key], *(_of_first_runs(name, key) for name in problems)) for key in keys)
    return markdown(("question", *problems), rows)


def _of_first_runs(name: str, key: str) -> str:
    """Return the difference in the runs that have all variants."""
    if key == _today(name):
        return ""
    rows = [row for row in records(_RUNS) if row["problem"] == name and row["score"]]
    return _with_error([100 * (float(row[key]) - float(row[_today(name)])) for row in rows], 1)


@number
def adaptive_main() -> str:
    """State the accuracies on CTG-A of today's classifier, a network on cells, and the regression on cells."""
    today, cells = (short(mean(_accuracies(_CTG, key)), 3) for key in ("one question", "cells"))
    smoothed = _with_error(_accuracies(_CTG, "cells, smoothed"), 3)
    return f"{today} with one question on columns, {cells} on cells, and {smoothed} by a regression on cells"


@number
def adaptive_gains() -> str:
    """Range over problems of the paired gain of the regression on cells, in points, also without A and B."""

    def span(names: tuple[str, ...]) -> str:
        gains = [mean(_pairs(name, "cells, smoothed")) for name in names]
        return f"{short(min(gains), 1)} to {short(max(gains), 1)}"

    others = tuple(name for name in _PROBLEMS if name not in _FEW)
    return f"{span(_PROBLEMS)} points over the present learner, and {span(others)} without A and B"


@number
def adaptive_runs() -> str:
    """Count the first runs in which all variants were measured on the other problems."""
    return str(len([row for row in records(_RUNS) if row["problem"] == "A" and row["score"]]))


@number
def adaptive_second() -> str:
    """Compare both of two questions with the first alone, in points by problem: the price of not asking the second."""

    def gain(name: str) -> str:
        rows = [row for row in records(_RUNS) if row["problem"] == name]
        return _with_error([100 * (float(row["two questions"]) - float(row["first of two"])) for row in rows], 1)

    return ", ".join(f"{name} {gain(name)}" for name in _PROBLEMS)


@number
def adaptive_goal() -> str:
    """State by how much the regression on cells is above the goal on CTG-A, in points."""
    return _with_error([100 * (value - 0.88) for value in _accuracies(_CTG, "cells, smoothed")], 1)
