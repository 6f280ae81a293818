"""Tables of the PDR study: means over seeds, distributions of entropy ratios, and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from studies.pdr.claims import YES, Claim, claims
from studies.pdr.compare import Comparison
from studies.pdr.runs import (
    COMPACT,
    DATASETS,
    GREEDY,
    LISTS,
    OPTIMAL,
    PRIVATE,
    TREES,
    Frame,
    parsed_ratios,
)
from studies.results import markdown

_KEYS = ("kind", "learner", "epsilon", "support", "depth")
_AVERAGED = (
    *("size", "uncertainty", "true_uncertainty", "accuracy", "test_accuracy", "certified", "gap", "seconds"),
    *("least_uncertainty", "most_uncertainty", "short_branches"),
)

_TITLES: Mapping[str, str] = {
    TREES: "Decision trees",
    LISTS: "Rule lists",
    COMPACT: "Decision trees with the fewest splits among the most accurate",
}
_READING = (
    "Differences are optimal − greedy: the mean over seeds ± its standard error, and in how many comparisons it is "
    "above, at and below 0. Dist_G is the share of entropy left, given which row is in which leaf: below 0, optimal "
    "models disclose more. *yes* and *no* are by Student's t test on the means of the seeds, two-sided, p < .05 each, "
    "not corrected for how many there are; *on average* is a yes where the paper says *always* and some comparisons "
    "are against it. *At the same size* or *accuracy*, each distinct greedy model is compared with the line through "
    "the optimal models of its seed and support."
)


def means(records: Frame) -> Frame:
    """Return a row for each kind of model and its parameters: means over runs, and standard errors over seeds."""
    keys = [key for key in _KEYS if key in records]
    columns = [name for name in _AVERAGED if name in records]
    by_seed = records.groupby([*keys, "seed"], sort=False, dropna=False)[columns].mean()
    grouped = by_seed.groupby(keys, sort=False, dropna=False)
    result, errors = grouped.mean(), grouped.sem().add_suffix(" se")
    parts = [grouped.size().rename("seeds"), result]
    parts.append(errors[[f"{name} se" for name in columns if name not in ("certified", "gap", "seconds")]])
    return pd.concat(parts, axis=1).reset_index()


def ratio_curves(records: Frame) -> Frame:
    """Return, for the largest models, the mean distribution function of entropy ratios (PDR, Figure 4)."""
    part = records[(records["depth"] == records["depth"].max()) & (records["support"] == records["support"].min())]
    parsed = {index: parsed_ratios(text) for index, text in part["exposure"].items()}
    ratios = np.unique(np.concatenate([ratios for ratios, _ in parsed.values()]).round(12))
    rows: list[Mapping[str, Any]] = []
    for learner, runs in part.groupby("learner", sort=False):
        curves = np.array([_below(*parsed[index], ratios) for index in runs.index])
        for ratio, values in zip(ratios, curves.T, strict=True):
            se = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
            rows.append({"learner": learner, "ratio": ratio, "rows": values.mean(), "rows se": se})
    return pd.DataFrame(rows)


def _below(ratios: np.ndarray, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the share of rows with at most each ratio."""
    total = np.concatenate([[0], np.cumsum(rows)])
    return total[np.searchsorted(ratios, at + 1e-9, side="right")] / rows.sum()


def claims_of(records: Frame, kind: str, dataset: str) -> Frame:
    """Return the paper's claims about trees or lists on a dataset, and the results of the reproduction."""
    return pd.DataFrame([asdict(claim) for claim in claims(records, kind, dataset)])


def tables(folder: Path) -> str:
    """Return all tables of the results in a folder, in Markdown."""
    parts: list[str] = []
    for kind, title in _TITLES.items():
        result = {name: _read(folder, f"{kind}-{name}-claims") for name in DATASETS}
        shown = {name: part for name, part in result.items() if part is not None}
        if shown:
            parts.append(f"## {title}: what the paper says\n\n{_READING}\n\n{_claims_table(shown)}\n")
        if kind != LISTS and len(shown) == len(DATASETS):
            parts.append(f"{_size_difference(folder, kind)}\n")
    for kind, title in _TITLES.items():
        for name in DATASETS:
            part = _read(folder, f"{kind}-{name}")
            if part is not None:
                parts.append(f"## {title} in numbers: {name}\n\n{_numbers(part)}\n")
    for name in DATASETS:
        part = _read(folder, f"{PRIVATE}-{name}")
        if part is not None:
            parts.append(f"## Private models: {name}\n\n{_private(part)}\n")
    return "\n".join(parts)


def _read(folder: Path, name: str) -> Frame | None:
    file = folder / f"{name}.csv"
    return pd.read_csv(file) if file.is_file() else None


def _claims_table(found: Mapping[str, Frame]) -> str:
    lines = [
        [str(row["statement"]), str(row["where"]), name, str(row["holds"]), str(row["found"])]
        for name, part in found.items()
        for row in part.to_dict("records")
    ]
    order = list(dict.fromkeys(line[0] for line in lines))
    lines.sort(key=lambda line: order.index(line[0]))
    return markdown(["the paper says", "where", "dataset", "holds here", "found"], lines)


def _size_difference(folder: Path, kind: str) -> str:
    """Return the one claim that compares the datasets."""
    gaps: dict[str, Comparison] = {}
    for name in DATASETS:
        part: Frame = _read(folder, f"{kind}-{name}")
        wide = part.pivot_table(index=["support", "depth"], columns="learner", values="size")
        difference = (wide[GREEDY] - wide[OPTIMAL]).to_numpy()
        gaps[name] = Comparison.of(difference, np.zeros(len(difference)))
    smaller = gaps["compas"].mean < gaps["adult"].mean
    claim = Claim(
        "greedy trees exceed optimal ones in size by less on COMPAS than on Adult",
        "App. A, Fig. 5a",
        YES if smaller else "no",
        "; ".join(f"{name} {gap.mean:+.2f} splits on average over all parameters" for name, gap in gaps.items()),
    )
    return markdown(["the paper says", "where", "holds here", "found"], [list(asdict(claim).values())])


def _numbers(part: Frame) -> str:
    head = ["minimum support", "limit", "size", "", "accuracy", "", "Dist_G", "", "certified", "largest se of Dist_G"]
    lines: list[Sequence[str]] = [["", "", *[OPTIMAL, GREEDY] * 3, "", ""]]
    for keys, both in part.groupby(["support", "depth"]):
        support, depth = cast(tuple[float, int], keys)
        if depth not in (2, 5, part["depth"].max()):
            continue
        a, b = (both[both["learner"] == name].iloc[0] for name in (OPTIMAL, GREEDY))
        line = [f"{support:g}", str(depth), f"{a['size']:.1f}", f"{b['size']:.1f}"]
        line += [f"{x[name]:.4f}" for name in ("accuracy", "uncertainty") for x in (a, b)]
        lines.append([*line, f"{100 * a['certified']:.0f} %", f"{both['uncertainty se'].max():.4f}"])
    return markdown(head, lines)


def _private(part: Frame) -> str:
    head = ["model", "ε", "size", "Dist_G by released counts", "se", "Dist_G by true counts", "se", "test accuracy"]
    lines = [
        [
            f"{row['kind']}, {row['learner']}",
            f"{row['epsilon']:g}" if np.isfinite(row["epsilon"]) else "∞",
            f"{row['size']:.1f}",
            *(f"{row[name]:.4f}" for name in ("uncertainty", "uncertainty se")),
            *(f"{row[name]:.4f}" for name in ("true_uncertainty", "true_uncertainty se", "test_accuracy")),
        ]
        for row in part.to_dict("records")
    ]
    return markdown(head, lines)
