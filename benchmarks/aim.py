"""Private scorecards beside AIM (McKenna, Mullins, Sheldon and Miklau, VLDB 2022) on splits 80/20, for two classes.

Both have the same rows in the schema's bins. The scorecard is `PrivateScorecardClassifier`, pure ε and with δ = 1e-5.
AIM has δ = 1e-5 and knows what is to be predicted: its workload are all triples that hold the label. Its model has at
most 80 MB (Adult: 2), and what is learned is logistic regression on synthetic rows, for three strengths C. AIM is that
of dpmm 0.1.9 (Mahiou et al. 2025), which asks for other versions of libraries than hedgerow: DPMM_PYTHON names an
interpreter of Python 3.11 that has it (`python3.11 -m venv v && v/bin/pip install dpmm==0.1.9`); without it, AIM is
skipped. Seconds are of the processor. Splits take minutes: `aim.py --splits 3 adult`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import RESULTS, run_splits
from scorecards import DELTA, binned, loaded, scores
from sklearn.model_selection import train_test_split

import hedgerow as hr

DATASETS = ("compas", "german", "adult")
EPSILONS = (0.1, 1.0)
DRAWS = 5
STRENGTHS = ("1.0", "0.1", "0.01")
MOST, LARGE = 80, {"adult": 2}
"""The largest models of AIM, in MB."""
RAW = RESULTS / "aim_runs.csv"
SCORES = ["AUROC", "log-loss", "accuracy", "seconds"]
COLUMNS = ["table", "split", "epsilon", "learner", *SCORES]
PEER = Path(__file__).with_name("aim_peer.py")


def main():
    report(run_splits(__doc__, DATASETS, runs, RAW, COLUMNS))


def runs(name, split):
    """Yield what every learner reaches on one split of a table."""
    frame, labels, schema = loaded(name)
    parts = train_test_split(frame, labels, test_size=0.2, random_state=split)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    tally = hr.Tally.count(X, y, schema)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "split.npz"
        codes, test_codes = (binned(rows, schema).astype(int).to_numpy() for rows in (X, X_test))
        sizes = [attribute.n_bins for _, attribute in schema.attributes]
        np.savez(file, X=codes, X_test=test_codes, y=y, sizes=sizes)
        peers = asked(file, LARGE.get(name, MOST), split)
    for place, epsilon in enumerate(EPSILONS):
        for learner, delta in (("scorecard", None), ("scorecard with delta", DELTA)):
            card = hr.PrivateScorecardClassifier(epsilon, delta=delta)
            found = [drawn(card, tally, X_test, y_test) for _ in range(DRAWS)]
            yield name, split, epsilon, learner, *np.mean(found, axis=0).round(5).tolist()
        for strength in STRENGTHS if peers else ():
            reached = scores(y_test, np.array(peers[place][strength]))[:3]
            yield name, split, epsilon, f"AIM, C = {strength}", *reached, peers[place]["seconds"]


def drawn(estimator, tally, X_test, y_test):
    """Return the scores of one fit, and seconds of the processor."""
    start = time.process_time()
    fitted = estimator.fit_tally(tally)
    seconds = time.process_time() - start
    return *scores(y_test, fitted.predict_proba(X_test)[:, 1])[:3], seconds


def asked(file, most, seed):
    """Return what AIM reaches for each ε; nothing where it is not installed."""
    python = os.environ.get("DPMM_PYTHON", sys.executable)
    settings = (",".join(map(str, EPSILONS)), *map(str, (DELTA, most, seed)))
    same = {**os.environ, "PYTHONHASHSEED": "0"}  # AIM lists its questions in the order of a set
    done = subprocess.run([python, PEER, file, *settings], capture_output=True, text=True, check=False, env=same)
    if done.returncode:
        print(f"AIM is skipped: {(done.stderr.strip() or 'it ended without a word').splitlines()[-1]}")
        return []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def report(found):
    """Write the means over the splits with their standard errors, one row a table, ε and learner, and print them."""
    grouped = found.groupby(["table", "epsilon", "learner"], sort=False)
    table = grouped[SCORES].mean().round(4)
    for score in SCORES[:2]:
        table[f"standard error of {score}"] = grouped[score].sem().round(4)
    table["splits"] = grouped.size()
    table.to_csv(RESULTS / "aim.csv", lineterminator="\n")
    print(table.to_string())


if __name__ == "__main__":
    main()
