"""Later work on the questions of the three papers: docs/studies/later-work.md."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from page_numbers.audits import FOREST_ERRORS
from page_numbers.marks import NAMES, Row, markdown, number, records, short, table

FOLDER = "docs/studies/later-work"
MODELS = ("forest as published", "forest, discrete Laplace", "drawn tree")


def _rows(name: str) -> list[Row]:
    return records(f"{FOLDER}/{name}.csv")


def _published(model: str, epsilon: str = "") -> Row:
    (row,) = (row for row in _rows("published") if (row["model"], row["epsilon"]) == (model, epsilon))
    return row


def _one_row() -> list[Row]:
    return [*_rows("forests"), *_rows("trees")]


def _runs(model: str, epsilon: str) -> list[Row]:
    return [row for row in _one_row() if (row["model"], row["epsilon"]) == (model, epsilon)]


def _values(rows: Iterable[Row], key: str) -> list[float]:
    return [float(row[key]) for row in rows]


def _with_error(values: list[float], digits: int) -> str:
    error = statistics.stdev(values) / len(values) ** 0.5
    return f"{short(statistics.mean(values), digits)} ± {short(error, digits)}"


@table
def later_noise() -> str:
    """Largest privacy loss of forests with cut noise, and the least δ of the stated ε."""
    head = ("stated ε", "trees", "largest loss", "δ at the stated ε")
    rows = ((row["epsilon"], row["trees"], short(row["largest loss"], 2), short(row["delta"], 3)) for row in _noise())
    return markdown(head, rows, ())


def _noise() -> list[Row]:
    return [row for row in _rows("noise") if row["trees"] in ("1", "10") and row["epsilon"] != "5"]


@table
def later_one_row() -> str:
    """Error of the best guess of one unknown row, by model and ε, and the bits learned of it."""
    head = ("ε", "model", "error", "published attack", "bits", "accuracy", "published accuracy")
    lines = []
    for epsilon in dict.fromkeys(row["epsilon"] for row in _one_row()):
        row = _published("one unknown row of 2000", epsilon)
        for model in MODELS:
            runs, own = _runs(model, epsilon), model == MODELS[0]
            error, bits = (_with_error(_values(runs, key), digits) for key, digits in (("error", 3), ("bits", 2)))
            accuracy = short(statistics.mean(_values(runs, "accuracy")), 3)
            published = (short(row["error"], 3), short(row["accuracy"], 3)) if own else ("", "")
            lines.append((epsilon, model, error, published[0], bits, accuracy, published[1]))
    return markdown(head, lines, (1,))


@number
def later_without() -> str:
    """Error of the best guess of one unknown row without any model."""
    return short(statistics.mean(_values(_rows("forests"), "error without")), 3)


@number
def later_excess() -> str:
    """Return the largest loss of ten trees at a stated ε of 1."""
    (row,) = (row for row in _rows("noise") if (row["epsilon"], row["trees"]) == ("1", "10"))
    return short(row["largest loss"], 2)


@number
def later_delta() -> str:
    """Return the least δ of ten trees at a stated ε of 1."""
    (row,) = (row for row in _rows("noise") if (row["epsilon"], row["trees"]) == ("1", "10"))
    return short(row["delta"], 3)


def _errors_at_ten(model: str) -> str:
    return short(statistics.mean(_values(_runs(model, "10"), "error")), 3)


@number
def later_forest_at_ten() -> str:
    """Error of the best guess of one unknown row from the published forest at ε = 10."""
    return _errors_at_ten(MODELS[0])


@number
def later_proper_at_ten() -> str:
    """Error of the best guess of one unknown row from a forest with discrete Laplace noise at ε = 10."""
    return _errors_at_ten(MODELS[1])


@number
def later_tree_at_ten() -> str:
    """Error of the best guess of one unknown row from a drawn tree at ε = 10."""
    return _errors_at_ten(MODELS[2])


@number
def later_agree() -> str:
    """Errors of tables with few and with many flags that agree with all counts of ten trees."""
    rows = [row for row in _rows("agree") if row["trees"] == "10"]
    if not all(row["agrees"] == "True" for row in _rows("agree")):
        raise ValueError("a table of agree.csv does not have the counts of its forest.")
    few, many = (
        statistics.mean(_values((row for row in rows if row["flags"] == name), "error")) for name in ("few", "many")
    )
    return f"{short(few, 4)} and {short(many, 4)}"


def _benchmark(name: str, keep: Callable[[Row], bool]) -> Row:
    (row,) = (row for row in records(f"{name}.csv") if keep(row))
    return row


@number
def later_rashomon() -> str:
    """Return what twenty trees of a Rashomon set leave to guess together, and the most informative tree alone."""
    rows = records("docs/studies/sets/rashomon.csv")
    (row,) = (row for row in rows if (row["dataset"], row["k"]) == ("compas", "20"))
    return f"{short(row['uncertainty of all'], 3)} together, {short(row['uncertainty of the least alone'], 3)} alone"


@number
def later_unique() -> str:
    """Exact advantage on the median row and on the worst of COMPAS at ε = 1."""
    row = _benchmark("exact_risk", lambda row: (row["table"], row["epsilon"]) == ("compas", "1.0"))
    return f"{'below .0001' if float(row['median']) < 1e-4 else short(row['median'], 4)} and {short(row['largest'], 3)}"


@number
def later_grown() -> str:
    """Rows on which an attack by refits on fully grown trees is beyond chance, by table."""
    rows = [row for row in records("membership.csv") if "fully" in row["learner"]]
    return ", ".join(
        f"{row['rows beyond chance']} of {int(row['rows']):,} rows of {NAMES[row['table']]}" for row in rows
    )


def _adult(*epsilons: str) -> str:
    rows = [row for row in records("league.csv") if row["table"] == "adult" and row["epsilon"] in epsilons]
    return " and ".join(short(row["tree"], 3) for row in rows)


@number
def later_adult() -> str:
    """Accuracy of drawn trees on Adult at ε of .05 and .5."""
    return _adult("0.05", "0.5")


@number
def later_adult_tenth() -> str:
    """Accuracy of drawn trees on Adult at ε of .1 and 1."""
    return _adult("0.1", "1.0")


@number
def later_aim() -> str:
    """AUROC on COMPAS of AIM with its best penalty, and of the scorecard with delta, at ε of .1 and 1."""

    def best(epsilon: str, learner: str) -> str:
        rows = [row for row in records("aim.csv") if (row["table"], row["epsilon"]) == ("compas", epsilon)]
        return short(max(float(row["AUROC"]) for row in rows if row["learner"].startswith(learner)), 3)

    pairs = (f"{best(epsilon, 'AIM')} and {best(epsilon, 'scorecard with')}" for epsilon in ("0.1", "1.0"))
    return " at ε = 0.1, ".join(pairs) + " at 1"


def _whole(forest: str) -> str:
    rows = [
        row
        for row in records("forests.csv")
        if (row["forest"], row["epsilon"], row["prior"]) == (forest, "10.0", "none")
    ]
    return " and ".join(short(statistics.mean(_values(rows, key)), 3) for key in FOREST_ERRORS)


@number
def later_whole() -> str:
    """Return the errors at ε = 10 of our reconstruction of 100 rows, training and other rows, by the forest's noise."""
    return f"{_whole('private forest')}, with discrete Laplace noise {_whole('private forest, discrete Laplace')}"


@number
def later_controls() -> str:
    """Refuted controls of the empirical audit, and the claims of hedgerow that are refuted."""
    rows = records("epsilon.csv")
    controls, refuted = ([row for row in rows if row["kind"] == kind] for kind in ("control", "hedgerow"))
    wrong = sum(row["refuted"] == "True" for row in refuted)
    return f"{sum(row['refuted'] == 'True' for row in controls)} of {len(controls)} controls, {wrong} of {len(refuted)}"
