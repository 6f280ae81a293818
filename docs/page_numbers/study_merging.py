"""The study of two models whose rows are not linked: docs/studies/merging.md."""

from __future__ import annotations

from itertools import groupby
from math import isinf
from statistics import median

from page_numbers.marks import Row, between, markdown, number, records, short, table

TABLES = {
    "compas_binary": "COMPAS, binary",
    "adult_binary": "Adult, binary",
    "compas": "COMPAS",
    "adult": "Adult",
}
UNMET = 0.001  # share of rows of a class by which a fitted count may differ from the noisy count


def _rows(name: str) -> list[Row]:
    return records(f"docs/studies/merging/{name}.csv")


@table
def merging_pairs() -> str:
    """Dist_G of two models alone, merged, aligned, and with linked rows, and the right rows of the alignment."""
    keys = ("first alone", "second alone", "first merged", "second merged", "linked", "probable claimed")
    lines = []
    for row in _rows("pairs"):
        shares = (short(row[f"probable {key}"], 2) for key in ("right", "right in best order"))
        right = f"{float(row['probable right rows']):.1f} ({row['most right rows']})"
        cells = (*(short(row[key], 3) for key in keys), *shares, right)
        lines.append((TABLES[row["dataset"]], row["models"], *cells))
    head = ("data", "models", "1 alone", "2 alone", "1 merged", "2 merged", "linked", "aligned")
    return markdown((*head, "right region", "in best order", "right rows"), lines, text=(0, 1))


@table
def merging_releases() -> str:
    """Dist_G by the number of released trees."""
    lines = []
    for name, part in groupby(_rows("releases"), key=lambda row: row["dataset"]):
        for row in (row for row in part if row["k"] in ("2", "3", "5")):
            cells = (short(row[key], 3) for key in ("alone", "unlinked", "linked"))
            lines.append((TABLES[name], row["k"], *cells))
    return markdown(("data", "trees", "most informative tree alone", "unlinked", "linked"), lines)


@table
def merging_small() -> str:
    """Count the tables with few rows, in bits, and bound their number."""
    keys = ("first alone", "exact", "lower", "estimate", "upper", "linked")
    rows = _rows("small")
    lines = [(TABLES[row["dataset"]], row["rows"], *(f"{float(row[key]):,.1f}" for key in keys)) for row in rows]
    head = ("data", "rows", "first model alone", "both, exact", "lower bound", "estimate", "maximum entropy", "linked")
    return markdown(head, lines)


@table
def merging_random() -> str:
    """Distance of bounds and chances from the exact values, for random pairs of models."""
    keys = ("below", "estimate", "above")
    lines = [
        (
            row["rows"],
            *(short(row[key], 2) for key in keys),
            short(row["mean difference of a chance"], 3),
            short(row["largest difference of a chance"], 3),
        )
        for row in _rows("random")
        if row["rows"] in ("5", "20", "40")
    ]
    head = (
        "rows",
        "exact − lower bound (bits)",
        "error of the estimate (bits)",
        "maximum entropy − exact (bits)",
        "difference of a probability, mean of the largest",
        "largest",
    )
    return markdown(head, lines)


@table
def merging_private() -> str:
    """Gain in bits per row from noisy counts."""
    lines = []
    rows = [row for row in _rows("private") if row["epsilon"] != "10"]
    for name, epsilon in dict.fromkeys((row["dataset"], row["epsilon"]) for row in rows):
        part = [row for row in rows if (row["dataset"], row["epsilon"]) == (name, epsilon)]
        gains, exact = ([float(row[key]) for row in part] for key in ("gain", "gain exact"))
        loss = max(own - noisy for own, noisy in zip(exact, gains, strict=True))
        unmet = sum(float(row["unmet"]) > UNMET for row in part)
        apart = f"{unmet} of {len(part)}"
        most = "∞" if isinf(loss) else short(loss, 2)
        lines.append((TABLES[name], epsilon, short(median(exact), 2), short(median(gains), 2), most, apart))
    head = ("data", "ε of each tree", "gain by exact counts", "by noisy counts", "largest difference", "not fitted")
    return markdown(head, lines)


@number
def merging_noise() -> str:
    """Largest difference of the gains by exact and noisy counts if ε is at least 1."""
    rows = [row for row in _rows("private") if float(row["epsilon"]) >= 1]
    return short(max(float(row["gain exact"]) - float(row["gain"]) for row in rows), 2)


@number
def merging_worse() -> str:
    """Count the draws at ε = 0.1 whose merged distribution is worse than the first model alone."""
    rows = [row for row in _rows("private") if row["epsilon"] == "0.1"]
    worse = sum(float(row["gain"]) < -1e-9 for row in rows)
    return f"{worse} of {len(rows)} draws, infinitely in {sum(isinf(float(row['gain'])) for row in rows)} of them"


@number
def merging_unplaced() -> str:
    """Share of entropy that two models leave if no leaf of a row is known: alone, together, and linked."""
    row = _rows("pairs")[0]
    first, second, low, high, linked = (
        short(row[key], 3) for key in ("first unplaced", "second unplaced", "lower", "upper", "linked unplaced")
    )
    return f"{first} and {second} alone, {low} to {high} together, and {linked} with linked rows"


@number
def merging_gains() -> str:
    """Range of the gain of the first model."""
    return between((float(row["gain"]) for row in _rows("pairs")), 2)


@number
def merging_binary_gains() -> str:
    """Range of the gain of the first model on binary tables."""
    return between((float(row["gain"]) for row in _rows("pairs") if row["dataset"].endswith("_binary")), 2)


@number
def merging_shares() -> str:
    """Share of the gain by linking that is gained without."""
    shares = [float(row["gain"]) / float(row["gain linked"]) for row in _rows("pairs")]
    return f"{100 * min(shares):.0f} % to {100 * max(shares):.0f} %"


@number
def merging_compatible() -> str:
    """Count the pairs whose alignment is compatible with the true table."""
    rows = _rows("pairs")
    counts = {sum(int(row[f"{name} compatible"]) for row in rows) for name in ("overlap", "probable")}
    return f"{' to '.join(map(str, sorted(counts)))} of {len(rows)}"


@number
def merging_right() -> str:
    """Range of the share of rows with the right region, by either alignment."""
    rows = _rows("pairs")
    shares = [100 * float(row[f"{name} right"]) for row in rows for name in ("overlap", "probable")]
    return f"{min(shares):.0f} % to {max(shares):.0f} %"


@number
def merging_claims() -> str:
    """Largest difference between the Dist_G that an alignment claims and the Dist_G of linked rows."""
    rows = _rows("pairs")
    apart = [abs(float(row[f"{k} claimed"]) - float(row["linked"])) for row in rows for k in ("overlap", "probable")]
    return short(max(apart), 3)


@number
def merging_classes() -> str:
    """Range of the gain by classes."""
    return between((float(row["gain"]) - float(row["gain without classes"]) for row in _rows("pairs")), 2)


@number
def merging_bounds() -> str:
    """Largest distance between the bounds on the number of tables, in bits per row."""
    rows = _rows("pairs")
    return short(max((float(row["upper"]) - float(row["lower"])) * float(row["domain bits"]) for row in rows), 3)


@number
def merging_right_rows() -> str:
    """Largest expected number of rows that an alignment matches with the right row."""
    rows = _rows("pairs")
    return f"{max(float(row[f'{name} right rows']) for row in rows for name in ('overlap', 'probable')):.1f}"
