"""Scorecards without privacy compared with FasterRisk.

FasterRisk 0.1.10 (Liu, Zhong, Li, Seltzer and Rudin, *FasterRisk: Fast and Accurate Interpretable Risk Scores*, NeurIPS
2022) and `ScorecardClassifier` on the same splits 80/20 and the same bins. FasterRisk has a column for each category
and for each cut point of a number; it selects 10 columns, its usual size, or 15 columns of at most 5 attributes, with
points of ±5. A scorecard has points for each bin of the attributes it uses: *terms* are the bins, or columns, whose
points are not 0. FASTERRISK_PYTHON names an interpreter with FasterRisk, which requires different library versions than
hedgerow; without it, FasterRisk is skipped. Adult has fewer splits, as FasterRisk takes minutes for each.

{risk_scores}

With 5 attributes, a scorecard ranks the test rows as well as or better than FasterRisk's risk scores with as many
attributes. It has more terms, because all bins of an attribute have points, so it is longer on paper. On Adult, a fit
takes {scorecard_seconds} s and FasterRisk {fasterrisk_seconds} s, on one core of a shared machine.

`python -m venv v && v/bin/pip install fasterrisk`; `risk_scores.py --splits 5 breast_cancer compas` runs a selection of
the tables.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import RESULTS, run_splits
from scorecards import loaded, scores
from sklearn.model_selection import train_test_split

import hedgerow as hr
from hedgerow.models import AttributePoints
from hedgerow.schema import Integer, Real
from hedgerow.tables.frames import Table

DATASETS = ("breast_cancer", "compas", "adult")
RAW = RESULTS / "risk_scores_runs.csv"
SCORES = ["AUROC", "log-loss", "attributes", "terms", "seconds"]
COLUMNS = ["table", "split", "learner", *SCORES]
PEER = Path(__file__).with_name("risk_scores_peer.py")
PEERS = {"FasterRisk, 10 columns, points 5": (10, 0, 5), "FasterRisk, 5 attributes, points 5": (15, 5, 5)}
OURS = {
    "5 attributes, points 5": hr.ScorecardClassifier(max_attributes=5, points=5),
    "all attributes, points 5": hr.ScorecardClassifier(points=5),
    "all attributes, points 20": hr.ScorecardClassifier(),
    "private, ε = 1, points 20": hr.PrivateScorecardClassifier(1.0),
}


def main():
    report(run_splits(__doc__, DATASETS, runs, RAW, COLUMNS))


def runs(name, split):
    """Yield what every learner reaches on one split of a table."""
    frame, labels, schema = loaded(name)
    parts = train_test_split(frame, labels, test_size=0.2, random_state=split)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    tally = hr.Tally.count(X, y, schema)
    for learner, estimator in OURS.items():
        start = time.perf_counter()
        card = estimator.fit_tally(tally).scorecard_
        seconds = time.perf_counter() - start
        terms = sum(item != 0 for part in card.parts for (item,) in part.points)
        reached = scores(y_test, card.predict_proba(X_test)[:, 1])[:2]
        yield name, split, learner, *reached, len(card), terms, round(seconds, 2)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "split.npz"
        columns, attributes = as_columns(X, schema)
        np.savez(file, X=columns, y=y, X_test=as_columns(X_test, schema)[0], attributes=attributes)
        for learner, size in PEERS.items():
            result = asked(file, size)
            if result is not None:
                reached = scores(y_test, np.array(result["chances"]))[:2]
                yield name, split, learner, *reached, *(round(result[each], 2) for each in SCORES[2:])


def as_columns(X, schema):
    """Return columns of 0 and 1 by bin, and the attribute of each: "at most this cut point" for numbers."""
    columns, attributes = [], []
    for place, (name, codes) in enumerate(schema.encode(Table.of(X)).items()):
        attribute = schema[name]
        n_ordered = attribute.n_known if isinstance(attribute, (Integer, Real)) else 0
        result = [codes <= cut for cut in range(n_ordered - 1)]
        result += [codes == each for each in range(n_ordered, attribute.n_bins)]
        columns += result
        attributes += [place] * len(result)
    return np.column_stack(columns).astype(np.uint8), np.array(attributes)


def as_parts(points, schema):
    """Return points by bin of the attributes that have any, from those of the columns of `as_columns`."""
    parts, first = [], 0
    for name, attribute in schema.attributes:
        n_ordered = attribute.n_known if isinstance(attribute, (Integer, Real)) else 0
        cuts, others = max(n_ordered - 1, 0), attribute.n_bins - n_ordered
        below, each = points[first : first + cuts], points[first + cuts : first + cuts + others]
        first += cuts + others
        of_bins = [(sum(below[place:]),) for place in range(n_ordered)] + [(item,) for item in each]
        if any(item for (item,) in of_bins):
            parts.append(AttributePoints(name, tuple(of_bins)))
    return tuple(parts)


def asked(file, size):
    """Return what FasterRisk reaches; None where it is not installed."""
    python = os.environ.get("FASTERRISK_PYTHON")
    if python is None:
        print("FasterRisk is skipped: FASTERRISK_PYTHON names no interpreter that has it")
        return None
    done = subprocess.run([python, PEER, file, *map(str, size)], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"FasterRisk is skipped: {done.stderr.strip().splitlines()[-1]}")
        return None
    return json.loads(done.stdout.splitlines()[-1])


def report(found):
    """Write the means over the splits with their standard errors, one row a table and learner, and print them."""
    grouped = found.groupby(["table", "learner"], sort=False)
    table = grouped[SCORES].mean().round(4)
    table["standard error of AUROC"] = grouped["AUROC"].sem().round(4)
    table["splits"] = grouped.size()
    table.to_csv(RESULTS / "risk_scores.csv", lineterminator="\n")
    print(table.to_string())


if __name__ == "__main__":
    main()
