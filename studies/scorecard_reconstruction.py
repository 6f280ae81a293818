"""What scorecards, trees and lists of similar accuracy disclose of their training rows, by the counts that are known.

`python -m studies.scorecard_reconstruction` writes docs/studies/scorecard-reconstruction/*.csv in about five minutes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import Reconstruction, reconstruction
from hedgerow.errors import ArgumentError, SeededNoiseWarning
from hedgerow.schema.booleans import boolean_schema
from studies.results import write_csv

FOLDER = Path(__file__).parents[1] / "docs" / "studies" / "scorecard-reconstruction"
SAMPLES = {"compas_binary": 1.0, "adult_binary": 0.1, "compas": 1.0, "adult": 1.0}
"""The data sets, each with the share of its rows; the binary sets come from PDR, as in `studies.pdr`."""
SEEDS = 3
EPSILON = 1.0


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows, held-out rows and the public schema of a data set."""

    X: pd.DataFrame
    y: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series
    schema: hr.Schema

    @classmethod
    def of(cls, dataset: str, seed: int) -> Split:
        data = hr.datasets.load(dataset)
        frame = data.frame.sample(frac=SAMPLES[dataset], random_state=0)
        X, X_test, y, y_test = train_test_split(frame, data.labels[frame.index], test_size=0.2, random_state=seed)
        is_binary = dataset.endswith("_binary")
        return cls(X, y, X_test, y_test, boolean_schema(list(X.columns), y) if is_binary else data.schema)

    def public_shares(self) -> dict[str, list[float]]:
        """Return the shares of the held-out rows by bin, as public marginals; half a row is added to every bin."""
        bins = self.schema.encode(hr.tables.frames.Table.of(self.X_test))
        shares = {}
        for name, attribute in self.schema.attributes:
            counts = np.bincount(bins[name], minlength=attribute.n_bins) + 0.5
            shares[name] = (counts / counts.sum()).tolist()
        return shares


def learners(seed: int, *, is_binary: bool) -> Iterator[tuple[str, str, Any]]:
    """Yield the kind, the size limit and the learner of each model."""
    for depth in (1, 2, 3):
        yield "optimal tree", f"depth {depth}", hr.OptimalTreeClassifier(max_depth=depth, schema=None)
    for depth in (2, 3, 5) if is_binary else ():
        yield "CART", f"depth {depth}", DecisionTreeClassifier(max_depth=depth, random_state=seed)
    yield "greedy list", "5 rules", hr.GreedyRuleListClassifier(max_rules=5, max_literals=1, schema=None)
    for attributes, points in ((3, 5), (3, 20), (None, 5), (None, 20)):
        limit = f"{attributes or 'all'} attributes, {points} points"
        yield "scorecard", limit, hr.ScorecardClassifier(max_attributes=attributes, points=points, schema=None)
    private: dict[str, Any] = {"schema": None, "random_state": seed}
    yield "private tree", "depth 3", hr.PrivateTreeClassifier(EPSILON, max_depth=3, release_counts=True, **private)
    yield "private list", "5 rules", hr.PrivateRuleListClassifier(EPSILON, max_rules=5, release_counts=True, **private)
    yield "private scorecard", "all attributes, 20 points", hr.PrivateScorecardClassifier(EPSILON, **private)


def known_counts(split: Split, *, has_points: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the numbers of rows that a reader may know, and the arguments of `reconstruction`."""
    yield "file", {}
    if not has_points:
        yield "regions", {"data": split.X}
        return
    for counts in ("totals", "bins", "both"):
        yield counts, {"data": split.X, "counts": counts}


def measures(result: Reconstruction) -> dict[str, float]:
    """Return the residual entropy of a row in bits, with its lower bound, and with unknown regions; and Dist_G."""
    low, high = (bits / result.n_rows for bits in result.entropy_bounds)
    return {
        "regions": len(result.conditions),
        "bits": high,
        "least bits": low,
        "unplaced bits": result.unplaced_bits / result.n_rows,
        "domain bits": result.domain.bits,
        "uncertainty": result.uncertainty,
        "unplaced uncertainty": result.unplaced_uncertainty,
    }


def audited(dataset: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield a record for each model of a split and each kind of known counts."""
    split = Split.of(dataset, seed)
    prior, is_binary = split.public_shares(), dataset.endswith("_binary")
    for kind, limit, learner in learners(seed, is_binary=is_binary):
        if "schema" in learner.get_params():
            learner.set_params(schema=split.schema)
        model = learner.fit(split.X, split.y)
        scores = model.predict_proba(split.X_test)[:, 1]
        fit = {
            "dataset": dataset,
            "seed": seed,
            "model": kind,
            "limit": limit,
            "accuracy": float(model.score(split.X_test, split.y_test)),
            "auroc": float(roc_auc_score(split.y_test == model.classes_[1], scores)),
        }
        for known, arguments in known_counts(split, has_points="scorecard" in kind):
            try:
                result = reconstruction(model, split.schema, **arguments)
            except ArgumentError:  # points without numbers of rows
                yield fit | {"known": known}
                continue
            record = fit | {"known": known, **measures(result)}
            if known != "both":
                public = reconstruction(model, split.schema, prior=prior, **arguments)
                record |= {"prior bits": public.prior_bits, "bits with prior": public.entropy_bits / public.n_rows}
            yield record


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds, and the standard errors of accuracy and Dist_G."""
    keys = ["dataset", "model", "limit", "known"]
    values = [name for name in runs.columns if name not in (*keys, "seed")]
    groups = runs.groupby(keys, sort=False)
    means = groups[values].mean()
    for name in ("accuracy", "uncertainty"):
        means[f"{name} se"] = groups[name].std(ddof=1) / np.sqrt(groups[name].count())
    means.insert(0, "runs", groups.size())
    return means.reset_index()


def main() -> None:
    """Run the study, and write the means over seeds, a file for each data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", metavar="dataset", default=list(SAMPLES))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    options.folder.mkdir(parents=True, exist_ok=True)
    for dataset in options.datasets:
        records = list[dict[str, Any]]()
        for seed in range(options.seeds):
            records += audited(dataset, seed)
            print(dataset, seed, flush=True)  # noqa: T201 -- progress
            write_csv(summary(pd.DataFrame(records)), options.folder / f"{dataset}.csv")


if __name__ == "__main__":
    main()
