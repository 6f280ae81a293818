"""Fletcher and Islam's private forest: docs/benchmarks/private_forest.md and docs/studies/private-forest.md."""

from __future__ import annotations

from math import exp

from page_numbers.marks import Row, figures, markdown, number, records, rounded, short, table

NAMES = {"compas": "COMPAS", "german": "German Credit", "adult": "Adult"}
EPSILONS = ("0.1", "1.0", "10.0")
RULES = ("published", "proven")
SSRL, ORIGINAL = "smooth-laplace", ", original columns"


def _rows(dataset: str) -> dict[tuple[str, str], Row]:
    return {(row["learner"], row["trees"]): row for row in records("private_forest.csv") if row["table"] == dataset}


def _score(row: Row, key: str) -> str:
    return f"{rounded(row[key], 3)} ± {rounded(row[f'{key} error'], 3)}" if row[key] else ""


def _sizes() -> list[str]:
    return list(dict.fromkeys(row["trees"] for row in records("private_forest.csv") if row["trees"]))


@table
def private_forest_accuracy() -> str:
    """Accuracy by ε of forests of each size, SSRL's lists and draws, and the loss at ε = 1."""
    kinds = [(f"forest, {rule}", trees) for trees in _sizes() for rule in RULES]
    kinds += [(f"forest, {rule}{ORIGINAL}", "10") for rule in RULES]
    kinds += [(name, "") for name in (SSRL, "exact list", "exact tree")]
    keys = ("none", *EPSILONS, "1.0 loss")
    rows = (
        (NAMES[dataset], learner, trees, *(_score(_rows(dataset)[learner, trees], key) for key in keys))
        for dataset in NAMES
        for learner, trees in kinds
    )
    head = ("data", "learner", "trees", "no privacy", "ε = .1", "ε = 1", "ε = 10", "loss, ε = 1")
    return markdown(head, rows, text=(0, 1))


@table
def private_forest_baselines() -> str:
    """Accuracy without privacy of a certified tree, a random forest and the majority."""
    kinds = ("certified tree", "random forest", "majority")
    rows = ((NAMES[dataset], *(_score(_rows(dataset)[kind, ""], "none") for kind in kinds)) for dataset in NAMES)
    return markdown(("data", *kinds), rows)


@table
def private_forest_at_one() -> str:
    """Accuracy at ε = 1 and .1 of ten trees, next to SSRL's lists and draws."""
    kinds = [(f"forest, {rule}", "10") for rule in RULES] + [(name, "") for name in (SSRL, "exact list", "exact tree")]
    rows = (
        (NAMES[dataset], f"{key:g}", *(_score(_rows(dataset)[kind], f"{key:.1f}") for kind in kinds))
        for dataset in NAMES
        for key in (0.1, 1.0)
    )
    head = ("data", "ε", "forest, published", "forest, proven", SSRL, "exact list", "exact tree")
    return markdown(head, rows)


@table
def private_forest_losses() -> str:
    """Return the costs of one row, by the ε that the forest claims."""
    keys = ("at 1e-6", "released code", "proven")
    head = ("claimed ε", "rows", "ε on these", "δ at the claim", "ε at δ = 10⁻⁶", "released code", "permute-and-flip")
    rows = (
        (
            _count(row["claim"]),
            row["rows"],
            _count(row["loss"]),
            rounded(row["delta"], 3),
            *(_count(row[key]) for key in keys),
        )
        for row in _losses()
    )
    return markdown(head, rows, text=())


@table
def private_forest_gaps() -> str:
    """Probabilities of the minority's label at ε = 1 and the loss from each gap to the next."""
    head = ("gap", "published", "least possible", "ε to the next gap", "δ at ε = 1")
    rows = (
        (row["gap"], _chance(row["published"]), _chance(row["proven"]), _count(row["loss"]), _chance(row["delta"]))
        for row in records("private_forest_gaps.csv")
    )
    return markdown(head, rows, text=())


def _losses() -> list[Row]:
    return records("private_forest_losses.csv")


def _claim(claim: str) -> Row:
    (row,) = (row for row in _losses() if row["claim"] == claim)
    return row


def _count(text: str) -> str:
    """Return a loss with three digits."""
    value = float(text)
    text = figures(value, 3)
    return text.removeprefix("0") if value < 1 else text


def _chance(text: str) -> str:
    """Return a probability with four digits, or as a power of ten."""
    value = float(text)
    if value == 0 or value >= 1e-3:
        return short(value, 4)
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits} · 10{str(int(exponent)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


@number
def forest_loss_of_one() -> str:
    """Return the loss on the smallest counterexample to ε = 1."""
    return rounded(_claim("1")["loss"], 2)


@number
def forest_released_loss_of_one() -> str:
    """Return the largest loss at ε = 1 with exponents cut as in the released code."""
    return _claim("1")["released code"]


@number
def forest_delta_of_one() -> str:
    """Return the δ of the published labels at the claimed ε = 1."""
    return rounded(_claim("1")["delta"], 3)


@number
def forest_one_row() -> str:
    """Return the probabilities of the smaller class' label in a leaf with one row and with two rows."""
    one, two = (records("private_forest_gaps.csv")[rows] for rows in (1, 2))
    return f"{rounded(one['published'], 3)} and {rounded(two['published'], 3)}"


@number
def forest_best_of_two() -> str:
    """Return the least probability of the smaller class' label with two rows, under ε = 1."""
    return rounded(records("private_forest_gaps.csv")[2]["proven"], 3)


@number
def forest_errors_at_a_tenth() -> str:
    """Return the errors of the published and the best labels at ε = .1 and a gap of 10."""
    epsilon, gap = 0.1, 10
    published, best = 1 / (1 + exp(epsilon / 2 * exp(gap * epsilon))), exp(-gap * epsilon) / 2
    return f"{100 * published:.0f} % of cases, the best rule in {100 * best:.0f} %"


def _loss(dataset: str, learner: str, trees: str) -> str:
    row = _rows(dataset)[learner, trees]
    return f"{rounded(row['1.0 loss'], 3)} ± {rounded(row['1.0 loss error'], 3)}"


@number
def forest_losses_at_one() -> str:
    """Return the losses of the published forest and of SSRL's lists at ε = 1, by data set."""
    parts = (
        f"{name} {_loss(dataset, 'forest, published', '10')} and {_loss(dataset, SSRL, '')}"
        for dataset, name in NAMES.items()
    )
    return ", ".join(parts)


@number
def forest_excess_losses() -> str:
    """Return how much more the published forest loses at ε = 1 than SSRL's lists, by data set."""
    rows = {dataset: _rows(dataset)["forest, published", "10"] for dataset in NAMES}
    cells = (f"{rounded(row['excess loss'], 3)} ± {rounded(row['excess loss error'], 3)}" for row in rows.values())
    return ", ".join(f"{cell} ({name})" for cell, name in zip(cells, NAMES.values(), strict=True))


@number
def forest_splits() -> str:
    """Return the number of splits."""
    (splits,) = {row["splits"] for row in records("private_forest.csv")}
    return splits
