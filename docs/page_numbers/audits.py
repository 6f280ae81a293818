"""Audits: the pages of benchmarks on attacks, and docs/studies/end-to-end.md."""

from __future__ import annotations

from itertools import groupby
from statistics import fmean, median, stdev

from page_numbers.marks import NAMES, Row, markdown, number, records, short, table

FOREST_ERRORS = ("error", "about others")  # columns of forests.csv: errors of training rows, and of other rows


def _found(line: Row) -> str:
    result = short(line["found"], 2)
    return f"**{result}**" if line["refuted"] == "True" else result


def _by_learner(kind: str) -> list[tuple[str, list[Row]]]:
    lines = [line for line in records("epsilon.csv") if line["kind"] == kind]
    return [(learner, list(result)) for learner, result in groupby(lines, lambda line: line["learner"])]


def _most(lines: list[Row], epsilon: str) -> Row:
    return max((line for line in lines if line["epsilon"] == epsilon), key=lambda line: float(line["found"]))


@table
def claimed() -> str:
    """Claimed and found epsilon of hedgerow's mechanisms."""
    rows = []
    for learner, lines in _by_learner("hedgerow"):
        item, tenth = _most(lines, "1.0"), _most(lines, "0.1")
        claims = [f"{float(line['claimed']):.3g}" for line in (item, tenth)]
        rows.append((learner, item["tables"], claims[0], _found(item), claims[1], _found(tenth)))
    return markdown(("learner", "tables, at ε = 1", "claimed", "found", "claimed at ε = 0.1", "found"), rows, (0, 1))


@table
def controls() -> str:
    """Learners that lose more than they claim."""
    rows = (
        (learner, _most(lines, "1.0")["tables"], _found(_most(lines, "1.0")))
        for learner, lines in _by_learner("control")
    )
    return markdown(("learner", "tables", "found"), rows, (0, 1))


@table
def peers() -> str:
    """Other libraries at their own claims."""
    rows = [
        (learner, tables, *(_found(line) for line in both))
        for learner, lines in _by_learner("peer")
        for tables, both in groupby(lines, lambda line: line["tables"])
    ]
    return markdown(("learner", "tables", "found, claim 1", "found, claim 0.1"), rows, (0, 1))


@number
def fits_of_ours() -> str:
    """Return how many fits of hedgerow's there were."""
    return f"{sum(2 * int(line['runs']) for line in records('epsilon.csv') if line['kind'] == 'hedgerow'):,}"


@number
def fits_of_all() -> str:
    """Return how many fits there were."""
    return f"{sum(2 * int(line['runs']) for line in records('epsilon.csv')):,}"


@number
def lines_of_all() -> str:
    """Return how many lines there are."""
    return str(len(records("epsilon.csv")))


@table
def risks() -> str:
    """Exact advantage of the best attack, for rows of three tables."""

    def small(text: str) -> str:
        return "< .0001" if float(text) < 5e-5 else short(text, 4)

    rows = [
        (
            f"{NAMES[row['table']]}, {int(row['rows']):,} rows",
            f"{float(row['epsilon']):g}",
            *(small(row[key]) for key in ("median", "99 %", "largest")),
            *(short(row[key], 4) for key in ("bound of a draw", "bound of epsilon")),
            f"{int(row['rows above half the largest']):,}",
        )
        for name in ("compas", "german", "adult")
        for row in records("exact_risk.csv")
        if row["table"] == name and row["epsilon"] in ("0.01", "0.1", "1.0", "10.0")
    ]
    head = ("table", "ε", "median row", "99 % of rows below", "worst row", "bound of a draw", "bound of ε")
    return markdown((*head, "rows above half of the worst"), rows)


def _attacked(row: Row) -> tuple[str, str]:
    return f"{NAMES[row['table']]}, {int(row['rows']):,} rows", row["learner"].replace("epsilon ", "ε = ")


def _with_error(row: Row, key: str, digits: int) -> str:
    return f"{short(row[key], digits)} ± {short(row[f'{key} error'], digits)}"


@table
def attacks() -> str:
    """Success of attacks by refits."""

    def rate(row: Row, attack: str) -> str:
        result, low, high = (short(row[f"{attack} TPR{side}"], 3) for side in ("", " low", " high"))
        return f"{result} ({low} to {high})"

    rows = (
        (
            *_attacked(row),
            *(_with_error(row, f"{attack} AUC", 3) for attack in ("lira", "lira offline", "rmia", "forest")),
            *(rate(row, attack) for attack in ("lira offline", "rmia")),
        )
        for row in records("membership.csv")
    )
    head = ("table", "learner", "AUC, online ratio", "offline ratio", "RMIA", "random forest")
    return markdown((*head, "TPR at FPR .01, offline ratio", "RMIA"), rows, (0, 1))


@table
def gains() -> str:
    """Gains of attacks compared with the exact advantage."""
    rows = (
        (
            *_attacked(row),
            *(_with_error(row, key, 4) for key in ("gain", "exact gain")),
            *(short(row[key], 3) for key in ("gain of 10", "exact gain of these 10", "exact, worst")),
            *(short(row[key], 4) for key in ("exact, worst TPR", "bound of epsilon, TPR")),
        )
        for row in records("membership.csv")
        if row["exact gain"]
    )
    head = ("table", "learner", "gain", "exact", "of 10 rows", "exact, of these", "exact, worst row")
    return markdown((*head, "its TPR at FPR .01", "bound of ε"), rows, (0, 1))


PUBLISHED = {"1.0": (".132", ".145"), "10.0": (".045", ".077")}
"""DRAFT-DP: N = 100, ten trees of depth 5, N known; its error and that about other rows, means of five runs."""


@table
def forests() -> str:
    """Errors of tables that are reconstructed from leaf counts."""
    runs = records("forests.csv")

    def cells(forest: str, epsilon: str) -> list[str]:
        result = []
        for prior in ("none", "uniform", "marginals"):
            own = [r for r in runs if (r["forest"], r["epsilon"], r["prior"]) == (forest, epsilon, prior)]
            result += [short(fmean(float(r[key]) for r in own), 3) if own else "" for key in FOREST_ERRORS]
        return result

    grown = (
        "RandomForestClassifier, 10 trees of depth 5, all rows",
        "ExtraTreesClassifier, 10 trees of depth 5, all rows",
        "RandomForestClassifier, 100 trees of any depth, all rows",
        "RandomForestClassifier, 10 trees of depth 5, bootstrap samples",
        "RandomForestClassifier, 30 trees of any depth, bootstrap samples",
    )
    rows = [(forest, "", *cells(forest, ""), "", "") for forest in grown]
    for epsilon, published in PUBLISHED.items():
        rows.append(("private forest", f"{float(epsilon):g}", *cells("private forest", epsilon), *published))
        proper = "private forest, discrete Laplace"
        rows.append((proper, f"{float(epsilon):g}", *cells(proper, epsilon), "", ""))
        for name in ("PrivateTreeClassifier", "PrivateRuleListClassifier"):
            rows.append((f"{name} with counts", f"{float(epsilon):g}", *cells(name, epsilon), "", ""))
    kinds = ("without a prior", "uniform prior", "public marginals", "published")
    return markdown(("forest", "ε", *(word for kind in kinds for word in (kind, "other rows"))), rows)


@number
def others_as_a_guess() -> str:
    """Return the error of other rows as a guess."""
    return short(fmean(float(run["others as a guess"]) for run in records("forests.csv")), 3)


def _solved(with_prior: bool) -> str:
    runs = [run for run in records("forests.csv") if run["forest"] == "private forest"]
    seconds = [float(run["seconds"]) for run in runs if (run["prior"] != "none") is with_prior]
    return short(median(seconds), 0 if with_prior else 1)


@number
def seconds_without_prior() -> str:
    """Return the median of seconds."""
    return _solved(False)


@number
def seconds_with_prior() -> str:
    """Return the median of seconds."""
    return _solved(True)


@number
def forest_error() -> str:
    """Return the mean error and its standard error at epsilon 10, without a prior."""
    runs = [
        r
        for r in records("forests.csv")
        if (r["forest"], r["prior"], r["epsilon"]) == ("private forest", "none", "10.0")
    ]
    errors = [float(run["error"]) for run in runs]
    return f"{short(fmean(errors), 3)} ± {short(stdev(errors) / len(errors) ** 0.5, 3)}"
