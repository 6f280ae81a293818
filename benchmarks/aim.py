"""Private scorecards compared with AIM.

AIM (McKenna, Mullins, Sheldon and Miklau, *AIM: An Adaptive and Iterative Mechanism for Differentially Private
Synthetic Data*, VLDB 2022) measures marginals one at a time, choosing the marginal on which its model of the table is
worst. Here it knows the label: its workload consists of all triples with the label. Logistic regression learns on its
synthetic rows. Both have the same splits 80/20 and the same bins. AIM has δ = 1e-5 and the full ρ that ε and δ allow.
The queries, choices and charges of AIM come from the code of dpmm 0.1.9 (Mahiou et al., *dpmm: Differentially Private
Marginal Models*, 2025), a copy of private-pgm. dpmm's fit of the model to noisy marginals is slow and was
reimplemented; on COMPAS both reach the same squared error. The model has at most 80 MB, as AIM's authors advise, on
Adult 2. For each score, AIM uses the best of C = 1, .1 and .01 on the test rows, which would be unknown in practice.
AUROC / log-loss; processor seconds of the scorecard with δ and of AIM. DPMM_PYTHON names an interpreter that has dpmm;
without it, AIM is skipped. Adult has one split, on which AIM takes minutes. Tables with more columns take longer and
were not run. Scorecards were measured again on the same splits with the code of 0.3.0; AIM's rows are from an earlier
run.

{aim}

At ε = 0.1 the scorecard without δ has the higher AUROC and the lower log-loss on every table. At ε = 1, AIM's AUROC
minus the scorecard's is {aim_ahead}, without and with δ. In one split of German at ε = 0.1, all of AIM's synthetic rows
had the same class; this split has no result for AIM.

dpmm requires different library versions than hedgerow: `python3.11 -m venv v && v/bin/pip install dpmm==0.1.9`. Splits
take minutes: `aim.py --splits 3 adult`.
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
OURS = ("scorecard", "scorecard with delta")
PEERS = tuple(f"AIM, C = {strength}" for strength in STRENGTHS)
SCORES = ["AUROC", "log-loss", "accuracy", "seconds"]
COLUMNS = ["table", "split", "epsilon", "learner", *SCORES]
PEER = Path(__file__).with_name("aim_peer.py")


def main():
    report(run_splits(__doc__, DATASETS, runs, RAW, COLUMNS, (*OURS, *PEERS)))


def runs(name, split, wanted):
    """Yield the results of the selected learners on one split of a table."""
    frame, labels, schema = loaded(name)
    parts = train_test_split(frame, labels, test_size=0.2, random_state=split)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    tally = hr.Tally.count(X, y, schema)
    peers = synthesized(schema, X, X_test, y, name, split) if set(PEERS) & set(wanted) else []
    for place, epsilon in enumerate(EPSILONS):
        for learner, delta in zip(OURS, (None, DELTA), strict=True):
            if learner in wanted:
                card = hr.PrivateScorecardClassifier(epsilon, delta=delta)
                result = [drawn(card, tally, X_test, y_test) for _ in range(DRAWS)]
                yield name, split, epsilon, learner, *np.mean(result, axis=0).round(5).tolist()
        for learner, strength in zip(PEERS, STRENGTHS, strict=True):
            if peers and learner in wanted:
                reached = scores(y_test, np.array(peers[place][strength]))[:3]
                yield name, split, epsilon, learner, *reached, peers[place]["seconds"]


def synthesized(schema, X, X_test, y, name, seed):
    """Return what AIM reaches for each ε from the bins of one split."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "split.npz"
        codes, test_codes = (binned(rows, schema).astype(int).to_numpy() for rows in (X, X_test))
        sizes = [attribute.n_bins for _, attribute in schema.attributes]
        np.savez(file, X=codes, X_test=test_codes, y=y, sizes=sizes)
        return asked(file, EPSILONS, LARGE.get(name, MOST), seed)


def drawn(estimator, tally, X_test, y_test):
    """Return the scores of one fit, and seconds of the processor."""
    start = time.process_time()
    fitted = estimator.fit_tally(tally)
    seconds = time.process_time() - start
    return *scores(y_test, fitted.predict_proba(X_test)[:, 1])[:3], seconds


def asked(file, epsilons, most, seed):
    """Return the results of AIM for each ε; empty if it is not installed."""
    python = os.environ.get("DPMM_PYTHON", sys.executable)
    settings = (",".join(map(str, epsilons)), *map(str, (DELTA, most, seed)))
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
