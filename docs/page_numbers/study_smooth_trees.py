"""The study of trees by smooth sensitivity: docs/studies/smooth-trees.md."""

from __future__ import annotations

import math
from functools import cache

from page_numbers.marks import NAMES, TUNED_NOTE, Row, between, figures, markdown, number, records, short, table, tuned
from studies.smooth_trees.study import CART, DEPTHS, EPSILONS, EXACT, GREEDY, LISTS, SMOOTH, WITHOUT_TEST
from studies.ssrl.tables import CLOSE, epsilon_needed

METHODS = (EXACT, GREEDY, *SMOOTH, *WITHOUT_TEST)
Key = tuple[str, str, str, float]
_TINY = "< 10⁻³⁰"


def _rows(name: str) -> list[Row]:
    return records(f"docs/studies/smooth-trees/{name}.csv")


@cache
def _cells() -> dict[Key, Row]:
    """Return the means by dataset, size, method and ε."""
    return {
        (row["dataset"], row["size"], row["method"], float(row["epsilon"] or "inf")): row for row in _rows("accuracy")
    }


def _accuracy(dataset: str, size: str, method: str, epsilon: float) -> float:
    return float(_cells()[dataset, size, method, epsilon]["accuracy"])


def _ahead(dataset: str, size: str, method: str, epsilon: float) -> tuple[float, float]:
    """Return how far the exact draw is ahead of a method, and the standard error."""
    row = _cells()[dataset, size, method, epsilon]
    return float(row["exact ahead"]), float(row["exact ahead se"])


def _difference(dataset: str, size: str, method: str, epsilon: float) -> str:
    value, error = _ahead(dataset, size, method, epsilon)
    sign = "+" if float(f"{value:.3f}") > 0 else ""
    return f"{sign}{short(value, 3)} ± {short(error, 3)}"


@table
def smooth_trees_ahead() -> str:
    """List the accuracy of the exact draw, and how far it is ahead of trees by smooth sensitivity, at depth 3."""
    lines = []
    for dataset in DEPTHS:
        for epsilon in (0.1, 0.5, 1, 2, 10):
            exact = short(_accuracy(dataset, "depth 3", EXACT, epsilon), 3)
            others = (_difference(dataset, "depth 3", name, epsilon) for name in (*SMOOTH, GREEDY))
            lines.append((tuned(dataset, NAMES[dataset]), f"{epsilon:g}", exact, *others))
    head = ("table", "ε", "exact draw", *(f"ahead of {name}" for name in (*SMOOTH, GREEDY)))
    return markdown(head, lines) + TUNED_NOTE


def _needed(dataset: str, size: str, method: str, goal: float) -> str:
    accuracies = [_accuracy(dataset, size, method, epsilon) for epsilon in EPSILONS]
    return epsilon_needed(EPSILONS, accuracies, goal)[1].replace("<=", "≤")


def _goal(dataset: str, size: str) -> float:
    return _accuracy(dataset, size, CART, math.inf) - CLOSE


@table
def smooth_trees_needed() -> str:
    """List the ε from which on accuracy is near CART's: of the same depth for trees, of depth 3 for lists."""
    columns = [(dataset, f"depth {depth}") for dataset, depths in DEPTHS.items() for depth in depths]
    lines = [
        (f"tree, {method}", *(_needed(dataset, size, method, _goal(dataset, size)) for dataset, size in columns))
        for method in METHODS
    ]
    for method in SMOOTH:
        cells = (
            _needed(dataset, LISTS, method, _goal(dataset, size)) if size == "depth 3" else ""
            for dataset, size in columns
        )
        lines.append((f"list, {method}", *cells))
    head = ("", *(f"{NAMES[dataset]}, {size} ({short(_goal(dataset, size) + CLOSE, 3)})" for dataset, size in columns))
    return markdown(head, lines)


@number
def smooth_trees_largest_gain() -> str:
    """Return the largest gain over smooth-laplace trees of depth 3 at ε = .1, with its error, by dataset."""
    gains = (f"{_difference(name, 'depth 3', SMOOTH[0], 0.1)} on {NAMES[name]}" for name in DEPTHS)
    return ", ".join(gains)


@number
def smooth_trees_significant() -> str:
    """Return in how many cells the exact draw is ahead, or behind, by more than two standard errors."""
    cells = [
        _ahead(dataset, f"depth {depth}", method, epsilon)
        for dataset, depths in DEPTHS.items()
        for depth in depths
        for method in SMOOTH
        for epsilon in EPSILONS
    ]
    ahead, behind = (sum(sign * value > 2 * error for value, error in cells) for sign in (1, -1))
    return f"{ahead} of {len(cells)} comparisons and behind in {behind}"


@number
def smooth_trees_runs() -> str:
    """Return the number of splits."""
    return " to ".join(dict.fromkeys(sorted({row["runs"] for row in _rows("accuracy")}, key=int)))


# --- The cost of a choice


@table
def smooth_trees_bounds() -> str:
    """List the proven and the claimed cost of a node of the published lists."""
    lines = [
        (
            NAMES[row["dataset"]],
            row["mechanism"],
            f"{float(row['epsilon']):g}",
            f"{float(row['share']):.4f}",
            f"{float(row['proven share']):.4f}",
            _scientific(row["claimed delta"]),
            _scientific(row["proven delta"]) if float(row["proven delta"]) else _TINY,
        )
        for row in _rows("bounds")
    ]
    head = ("table", "mechanism", "ε of the list", "ε₁ claimed", "proven from Λ rows on", "δ₁ claimed", "δ₁ proven")
    return markdown(head, lines, (0, 1))


def _scientific(text: str) -> str:
    value = float(text)
    if not value:
        return "0"
    power = math.floor(math.log10(value))
    if power < -30:
        return _TINY
    digits = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value / 10.0**power:.1f}·10{digits}"


@table
def smooth_trees_rare() -> str:
    """List the exact δ and loss of published lists on tables with few rows left, with the claims."""
    rows = {(row["dataset"], row["mechanism"], float(row["epsilon"])): row for row in _rows("rare_rows")}
    lines = []
    for dataset, epsilon in dict.fromkeys((key[0], key[2]) for key in rows if key[2] <= 1):
        laplace, cauchy = (rows[dataset, mechanism, epsilon] for mechanism in SMOOTH)
        times = float(laplace["delta"]) / float(laplace["claimed delta"])
        cells = (_scientific(laplace["claimed delta"]), _scientific(laplace["delta"]), _times(times))
        lines.append((NAMES[dataset], f"{epsilon:g}", *cells, figures(float(cauchy["loss"])).removeprefix("0")))
    head = ("table", "ε claimed", "δ claimed", "smooth-laplace: δ at ε", "times the claim", "smooth-cauchy: ε")
    return markdown(head, lines)


def _times(value: float) -> str:
    return figures(value).removeprefix("0") if value >= 0.01 else "< .01"


@number
def smooth_trees_least_delta() -> str:
    """Return the least δ by any reading of the paper, as a multiple of the claim."""
    return figures(min(float(row["delta"]) / float(row["claimed delta"]) for row in _rows("readings")))


@number
def smooth_trees_adult_cauchy() -> str:
    """Return up to which claimed ε smooth-cauchy lists with Adult's settings exceed it."""
    rows = (row for row in _rows("rare_rows") if (row["dataset"], row["mechanism"]) == ("adult", SMOOTH[1]))
    return f"{max(float(row['epsilon']) for row in rows if float(row['loss']) > float(row['epsilon'])):g}"


@number
def smooth_trees_proven_shares() -> str:
    """Return the proven ε of choices by Laplace noise as a share of the claimed ε."""
    return _shares(SMOOTH[0])


@number
def smooth_trees_cauchy_shares() -> str:
    """Return the proven ε of choices by Cauchy noise as a share of the claimed ε."""
    return _shares(SMOOTH[1])


def _shares(mechanism: str) -> str:
    rows = (row for row in _rows("bounds") if row["mechanism"] == mechanism)
    return between((float(row["proven share"]) / float(row["share"]) for row in rows), 2)


def _many() -> dict[int, Row]:
    """Return the case with the largest δ, as a multiple of the claim, by the number of candidates."""
    cases: dict[int, Row] = {}
    for row in _rows("many_rules"):
        number = int(row["candidates"])
        if number not in cases or _multiple(row) > _multiple(cases[number]):
            cases[number] = row
    return cases


def _multiple(row: Row) -> float:
    return float(row["delta"]) / float(row["claimed delta"])


@table
def smooth_trees_many() -> str:
    """List the exact loss and δ of one choice with Λ = 1 by the number of candidates."""
    lines = [
        (
            f"{candidates:,}",
            f"{int(row['rows']):,}",
            short(row["epsilon"], 4),
            short(row["loss"], 4),
            _scientific(row["claimed delta"]),
            _scientific(row["delta"]),
            _times(_multiple(row)),
            _times(_both_ways(candidates)),
        )
        for candidates, row in _many().items()
    ]
    head = (
        "impure rules",
        "rows",
        "ε₁ claimed",
        "exact loss",
        "δ₁ claimed",
        "exact δ at ε₁",
        "times the claim",
        "both ways",
    )
    return markdown(head, lines, ())


def _both_ways(candidates: int) -> float:
    """Return the largest δ as a multiple of the claim, if S* covers added and removed rows."""
    rows = (row for row in _rows("many_rules") if int(row["candidates"]) == candidates)
    return max(float(row["delta both ways"]) / float(row["claimed delta"]) for row in rows)


@number
def smooth_trees_harmless() -> str:
    """Return up to how many candidates no table broke the claim of a choice with Λ = 1."""
    return f"{max(number for number, row in _many().items() if _multiple(row) <= 1):,}"


@number
def smooth_trees_steepest_loss() -> str:
    """Return the largest exact loss of a choice with Λ = 1, as a multiple of ε₁."""
    return f"{max(float(row['loss']) / float(row['epsilon']) for row in _rows('many_rules')):.2f}"


@table
def smooth_trees_tiny() -> str:
    """List the largest exact loss of a choice among two tests and none, on all tables of up to five rows."""
    keys = ("loss", "bound", "loss with fewer rows")
    lines = [
        (row["mechanism"], row["least support"], *(short(row[key], 3) for key in keys)) for row in _rows("tiny_tables")
    ]
    return markdown(("mechanism", "Λ", "largest loss, Λ rows or more", "bound", "largest loss, fewer rows"), lines)
