"""The study of what scorecards disclose next to trees and lists: docs/studies/scorecard-reconstruction.md."""

from __future__ import annotations

from page_numbers.marks import NAMES, Row, between, markdown, number, records, short, table

_FOLDER = "docs/studies/scorecard-reconstruction"
_SETS = {
    "compas": NAMES["compas"],
    "adult": NAMES["adult"],
    "compas_binary": f"{NAMES['compas']}, binary",
    "adult_binary": f"{NAMES['adult']}, binary",
}
_MODELS = (
    ("optimal tree", "depth 3"),
    ("CART", "depth 3"),
    ("CART", "depth 5"),
    ("greedy list", "5 rules"),
    ("scorecard", "3 attributes, 20 points"),
    ("scorecard", "all attributes, 5 points"),
    ("scorecard", "all attributes, 20 points"),
    ("private tree", "depth 3"),
    ("private list", "5 rules"),
    ("private scorecard", "all attributes, 20 points"),
)
_PLACED = ("regions", "totals")


def _row(dataset: str, model: str, limit: str, *known: str) -> Row | None:
    keys = dataset, model, limit
    rows = (row for row in records(f"{_FOLDER}/{dataset}.csv") if (row["dataset"], row["model"], row["limit"]) == keys)
    return next((row for row in rows if row["known"] in known), None)


def _lost(row: Row) -> str:
    """Return the bits that a reader gains who knows the marginals of held-out rows."""
    return short(str(float(row["prior bits"]) - float(row["bits with prior"])), 2)


def _by_region(datasets: tuple[str, ...]) -> str:
    lines = list[tuple[str, ...]]()
    for dataset in datasets:
        for model, limit in _MODELS:
            if (row := _row(dataset, model, limit, *_PLACED)) is None:
                continue
            cells = (short(row["accuracy"], 3), short(row["regions"], 0), short(row["bits"], 1))
            shares = (short(row["uncertainty"], 3), short(row["unplaced uncertainty"], 3), _lost(row))
            lines.append((_SETS[dataset], f"{model}, {limit}", *cells, *shares))
    head = (
        "data",
        "model",
        "accuracy",
        "regions",
        "bits left",
        "Dist_G",
        "Dist_G, regions unknown",
        "beyond marginals",
    )
    return markdown(head, lines, (0, 1))


@table
def scorecard_regions() -> str:
    """Residual entropy given the leaf, rule or total of each row, on the schemas."""
    return _by_region(("compas", "adult"))


@table
def scorecard_regions_binary() -> str:
    """Residual entropy given the leaf, rule or total of each row, on the binary sets."""
    return _by_region(("compas_binary", "adult_binary"))


@table
def scorecard_counts() -> str:
    """Residual entropy of scorecards by the numbers of rows that are known."""
    lines = list[tuple[str, ...]]()
    for dataset, name in _SETS.items():
        for model, limit in _MODELS:
            if "scorecard" not in model:
                continue
            by = {known: _row(dataset, model, limit, known) for known in ("file", "totals", "bins", "both")}
            file, totals, bins, both = (row or {} for row in by.values())
            if not totals or not bins or not both:
                continue
            of_file = short(file["bits"], 1) if file.get("bits") else "all"
            bounds = f"{short(both['least bits'], 1)} to {short(both['bits'], 1)}"
            cells = (of_file, short(totals["bits"], 1), short(bins["bits"], 1), bounds, _lost(totals), _lost(bins))
            lines.append((name, f"{model}, {limit}", short(totals["domain bits"], 1), *cells))
    head = ("data", "model", "before", "file", "totals", "bins", "both", "totals: beyond marginals", "bins: beyond")
    return markdown(head, lines, (0, 1))


def _cell(dataset: str, model: str, limit: str, known: str, column: str, digits: int) -> str:
    row = _row(dataset, model, limit, *known.split())
    assert row is not None
    return short(row[column], digits)


@number
def scorecard_tree_shares() -> str:
    """Dist_G of trees of depth 3 on both schemas."""
    shares = (_cell(name, "optimal tree", "depth 3", "regions", "uncertainty", 2) for name in ("compas", "adult"))
    return " and ".join(shares)


@number
def scorecard_total_shares() -> str:
    """Dist_G of scorecards of all attributes with 20 points on both schemas, given the totals."""
    limit = "all attributes, 20 points"
    return " and ".join(_cell(name, "scorecard", limit, "totals", "uncertainty", 2) for name in ("compas", "adult"))


@number
def scorecard_unplaced_shares() -> str:
    """Dist_G of these scorecards if the totals of rows are unknown."""
    limit, column = "all attributes, 20 points", "unplaced uncertainty"
    return " and ".join(_cell(name, "scorecard", limit, "totals", column, 2) for name in ("compas", "adult"))


@number
def scorecard_file_shares() -> str:
    """Dist_G of the files of private scorecards, by their noisy rows by bin."""
    limit = "all attributes, 20 points"
    names = ("compas", "adult")
    return " and ".join(_cell(name, "private scorecard", limit, "file", "uncertainty", 2) for name in names)


def _gains(model: str, limit: str, known: str) -> str:
    rows = [_row(name, model, limit, *known.split()) for name in ("compas", "adult")]
    return " and ".join(_lost(row) for row in rows if row is not None)


@number
def scorecard_file_gains() -> str:
    """Bits per row that the file of a private scorecard adds to public marginals."""
    return _gains("private scorecard", "all attributes, 20 points", "file")


@number
def scorecard_total_gains() -> str:
    """Bits per row that the totals on a scorecard add to public marginals."""
    return _gains("scorecard", "all attributes, 20 points", "totals")


@number
def scorecard_tree_gains() -> str:
    """Bits per row that the leaves of a tree add to public marginals."""
    return _gains("optimal tree", "depth 3", "regions")


@number
def scorecard_bin_gains() -> str:
    """Bits per row that exact rows by bin add to public marginals, over all sets and scorecards."""
    rows = (_row(name, model, limit, "bins") for name in _SETS for model, limit in _MODELS if "scorecard" in model)
    return between([float(row["prior bits"]) - float(row["bits with prior"]) for row in rows if row is not None], 2)


@number
def scorecard_errors() -> str:
    """Largest standard error of Dist_G, over all sets, models and known counts."""
    rows = (row for name in _SETS for row in records(f"{_FOLDER}/{name}.csv"))
    return short(max(float(row["uncertainty se"]) for row in rows if row["uncertainty se"]), 3)


@number
def scorecard_noise() -> str:
    """Largest difference of Dist_G between the noisy numbers of a private file and the exact numbers."""
    pairs = (("private tree", "depth 3", "regions"), ("private list", "5 rules", "regions"))
    pairs += (("private scorecard", "all attributes, 20 points", "bins"),)
    apart = list[float]()
    for name in _SETS:
        for model, limit, known in pairs:
            noisy, exact = (_row(name, model, limit, counts) for counts in ("file", known))
            assert noisy is not None
            assert exact is not None
            apart.append(abs(float(noisy["uncertainty"]) - float(exact["uncertainty"])))
    return short(max(apart), 3)
