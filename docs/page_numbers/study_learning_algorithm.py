"""The study of learners' knowledge: docs/studies/learning-algorithm.md."""

from __future__ import annotations

from statistics import fmean

from page_numbers.marks import NAMES, Row, figures, markdown, number, records, short, table

_RUNS = "docs/studies/learning-algorithm/runs.csv"
_COMPARISONS = "docs/studies/learning-algorithm/comparisons.csv"
_CELLS = "docs/studies/learning-algorithm/cells.csv"
_SHOWN = {"greedy": ("4", "6", "10"), "optimal": ("4", "5", "6")}
_KINDS = ("trees", "lists")
_SUPPORT = "0.01"


def _groups() -> dict[tuple[str, str, str, str], list[Row]]:
    result: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in records(_RUNS):
        if row["support"] == _SUPPORT and row["depth"] in _SHOWN[row["learner"]]:
            result.setdefault((row["dataset"], row["kind"], row["learner"], row["depth"]), []).append(row)
    return result


def _mean(rows: list[Row], name: str) -> float:
    return fmean(float(row[name]) for row in rows if row[name])


def _bits(rows: list[Row], name: str) -> str:
    known = [row for row in rows if row[name]]
    if not known:
        return ""
    value = _mean(known, name)
    bound = "≥ " if any(row["bound"] == name for row in known) else ""
    return bound + (short(value, 1) if value < 100 else f"{value:,.0f}")


def _line(key: tuple[str, str, str, str], rows: list[Row]) -> list[str]:
    dataset, kind, learner, depth = key
    whole = fmean(float(row["rows"]) * float(row["columns"]) for row in rows)
    entropy, added = _mean(rows, "entropy"), _mean(rows, "uniform")
    return [
        f"{learner} {kind}, {NAMES[dataset]}",
        depth,
        short(_mean(rows, "size"), 1),
        short(_mean(rows, "accuracy"), 3),
        short(entropy / _mean(rows, "rows"), 2),
        _bits(rows, "uniform"),
        short(added / _mean(rows, "rows"), 4),
        short(entropy / whole, 4),
        short((entropy - added) / whole, 4),
        _bits(rows, "marginals"),
        _bits(rows, "population"),
    ]


@table
def learner_bits() -> str:
    """Bits that the knowledge of the learner adds, by learner and limit, means over splits."""
    groups = _groups()
    order = [
        (dataset, kind, learner, depth)
        for kind in _KINDS
        for dataset in ("adult", "compas")
        for learner, depths in _SHOWN.items()
        for depth in depths
    ]
    head = ("model", "limit", "splits", "accuracy", "H/n", "added", "a row", "Dist_G", "with it", "marginals",
            "population")  # fmt: skip
    return markdown(head, [_line(key, groups[key]) for key in order if key in groups])


@table
def learner_at_accuracy() -> str:
    """Optimal minus greedy Dist_G at the same accuracy."""
    rows = {(row["dataset"], row["kind"], row["knowledge"]): row for row in records(_COMPARISONS)}

    def cell(row: Row, digits: int) -> str:
        counts = f"({row['above']}/{row['equal']}/{row['below']})"
        sign = "+" if float(row["mean"]) > 0 else ""
        return f"{sign}{short(row['mean'], digits)} ± {short(row['se'], digits)} {counts}"

    lines = [
        [
            f"{kind}, {NAMES[dataset]}",
            cell(rows[dataset, kind, "without"], 4),
            cell(rows[dataset, kind, "with"], 4),
            cell(rows[dataset, kind, "gain"], 5),
            rows[dataset, kind, "with"]["holds"],
        ]
        for kind in _KINDS
        for dataset in ("adult", "compas")
    ]
    head = ("models", "without the knowledge", "with it", "difference", "optimal models always disclose less")
    return markdown(head, lines, text=(0, 1, 2, 3, 4))


def _most(name: str) -> Row:
    rows = [row for row in records(_RUNS) if row["learner"] == "greedy"]
    return max(rows, key=lambda row: float(row[name] or 0) / float(row["rows"]))


@number
def learner_most() -> str:
    """Return the most bits a row."""
    row = _most("uniform")
    share = float(row["uniform"]) / float(row["entropy"])
    value = float(row["uniform"]) / float(row["rows"])
    return f"{short(value, 2)} bits a row, {100 * share:.1f} % of the remaining entropy"


@number
def learner_stops() -> str:
    """Return the share that leaves before the limit have in the bits of greedy models with over a hundred bits."""
    rows = [row for row in records(_RUNS) if row["learner"] == "greedy" and float(row["uniform"]) > 100]
    return f"{100 * sum(float(row['stops']) for row in rows) / sum(float(row['uniform']) for row in rows):.0f} %"


@number
def learner_most_population() -> str:
    """Return the most bits a row if the population is known."""
    row = _most("population")
    return figures(float(row["population"]) / float(row["rows"]), 1)


@number
def learner_solved() -> str:
    """Return the number of solved random tables, and of those for which the model stayed optimal."""
    rows = [row for row in records(_RUNS) if row["fitting"]]
    return f"{sum(int(row['fitting']) for row in rows):,} of {20 * len(rows):,}"


@number
def learner_deep() -> str:
    """Return the largest lower bound for an optimal model, with the model."""
    rows = [row for row in records(_RUNS) if row["learner"] == "optimal" and row["bound"] == "uniform"]
    row = max(rows, key=lambda row: float(row["uniform"]))
    bits = float(row["uniform"])
    share = figures(bits / float(row["rows"]), 1)
    return f"{bits:.0f} bits, or {share} a row, at depth {row['depth']} on {NAMES[row['dataset']]}"


@number
def learner_small() -> str:
    """Return the largest change of Dist_G up to a limit of four."""
    rows = [row for row in records(_RUNS) if int(row["depth"]) <= 4]
    return short(max(float(row["uniform"]) / float(row["rows"]) / float(row["columns"]) for row in rows), 4)


@number
def learner_large() -> str:
    """Return the largest change of Dist_G."""
    rows = records(_RUNS)
    return short(max(float(row["uniform"]) / float(row["rows"]) / float(row["columns"]) for row in rows), 3)


@number
def learner_shares() -> str:
    """Return the shares of the bits of large greedy models that other priors leave, as percentages."""
    rows = [row for row in records(_RUNS) if row["learner"] == "greedy" and float(row["uniform"]) > 100]
    first = [row for row in rows if row["marginals"]]
    left = sum(float(row["marginals"]) for row in first) / sum(float(row["uniform"]) for row in first)
    known = sum(float(row["population"]) for row in rows) / sum(float(row["uniform"]) for row in rows)
    return f"{100 * left:.0f} % are left under the marginals and {100 * known:.1f} % with the population's rows"


@number
def learner_ties() -> str:
    """Return the most bits that excluding all ties adds."""
    rows = [row for row in records(_RUNS) if row["excluded"] and row["excluded"] != "inf"]
    row = max(rows, key=lambda row: float(row["excluded"]) - float(row["uniform"]))
    added = float(row["excluded"]) - float(row["uniform"])
    return f"{added:.0f} bits (to {float(row['uniform']):.0f}, {NAMES[row['dataset']]}, depth {row['depth']})"


@number
def learner_high() -> str:
    """Return the largest upper end of the intervals of the bits of optimal models."""
    return short(max(float(row["high"]) for row in records(_RUNS) if row["high"]), 1)


@number
def learner_splits() -> str:
    """Return the number of train/test splits."""
    return str(len({row["seed"] for row in records(_RUNS)}))


@number
def learner_shallow() -> str:
    """Return the most bits that knowing a greedy learner adds up to a limit of three, with the model."""
    rows = [row for row in records(_RUNS) if row["learner"] == "greedy" and int(row["depth"]) <= 3]
    row = max(rows, key=lambda row: float(row["uniform"]))
    place = f"{NAMES[row['dataset']]}, {row['kind']}, support {short(row['support'], 2)}"
    return f"{float(row['uniform']):.0f} bits ({place})"


@number
def learner_cell() -> str:
    """Return the largest distance from ½ to which a greedy learner of a limit of four moves a cell, by dataset."""
    most = {
        NAMES[name]: max(float(row["shift"]) for row in records(_CELLS) if row["dataset"] == name)
        for name in ("adult", "compas")
    }
    return " and ".join(f"{short(value, 3)} on {name}" for name, value in most.items())
