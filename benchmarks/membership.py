"""Membership attacks by refits.

At most 2,000 rows of each table, trees of depth 2 without counts of leaves, 32 random splits by independent coins, with
a fit on each half; ± is the standard error over splits, brackets are intervals of 95 %:

{attacks}

The *gain* of a row is the increase of the probability that a fit predicts the row correctly if the row is in the
training set. The table compares it with the exact advantage of the best attack; then gives both for the 10 rows with
the largest gain in half of the splits, measured in the other half; then the row with the largest exact advantage, its
TPR at FPR .01, and the maximum TPR that ε allows:

{gains}

- On average, refits agree with the formula: they differ by at most 2.1 standard errors in twelve settings.
- For single rows they do not have the power. No row of a private tree is significant (Holm); for fully grown trees,
  hundreds are.
- The online ratio has to estimate from few labels whether training on a row makes its prediction more often correct.
  The offline ratio and RMIA assume this, and are the better attacks on labels.
"""

import numpy as np
import pandas as pd
from league_tables import TABLES
from measure import report
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr

EPSILONS = (0.01, 0.1, 1.0, 10.0)
NAMES = ("compas", "german", "adult")
ROWS = 2000
SPLITS = 32
TOP = 10


def main():
    rows = []
    for name in NAMES:
        frame, labels, schema = TABLES[name]()
        places = np.random.default_rng(0).permutation(len(frame))[:ROWS]
        frame, labels = frame.iloc[places].reset_index(drop=True), labels.iloc[places].reset_index(drop=True)
        for epsilon in EPSILONS:
            learner = hr.PrivateTreeClassifier(epsilon, max_depth=2, release_counts=False, schema=schema)
            rows.append({"table": name, "learner": f"epsilon {epsilon:g}"} | attacked(learner, frame, labels))
            rows[-1] |= exactly(learner, frame, labels, rows[-1].pop("top"), rows[-1].pop("halves"))
            print(rows[-1], flush=True)
        for what, depth in (("scikit-learn, depth 2", 2), ("scikit-learn, fully grown", None)):
            grown = DecisionTreeClassifier(max_depth=depth)
            rows.append({"table": name, "learner": what} | attacked(grown, pd.get_dummies(frame), labels))
            rows[-1] |= dict.fromkeys(EXACT, "")
            del rows[-1]["top"], rows[-1]["halves"]
            print(rows[-1], flush=True)
    report("membership", rows)


def attacked(learner, frame, labels):
    """Return the results of each attack, and the most exposed rows in half of the splits."""
    result = hr.audit.lira(learner, frame, labels, repeats=SPLITS, random_state=0)
    forest = hr.audit.membership(learner, frame, labels, repeats=SPLITS // 2, random_state=0)
    gain, error, largest, top = gained(result)
    return {
        "rows": len(frame),
        **measured("lira", result),
        **measured("lira offline", result.by("offline")),
        **measured("rmia", result.by("rmia")),
        "forest AUC": f"{forest.auc:.4f}",
        "forest AUC error": f"{forest.auc_standard_error:.4f}",
        "forest TPR": f"{forest.tpr_at(0.01):.4f}",
        "rows beyond chance": len(result.significant_rows()),
        "gain": f"{gain:.4f}",
        "gain error": f"{error:.4f}",
        f"gain of {TOP}": f"{largest:.4f}",
        "top": top,
        "halves": result.shadows.first,
    }


def measured(name, found):
    low, high = found.tpr_interval(0.01)
    return {
        f"{name} AUC": f"{found.auc:.4f}",
        f"{name} AUC error": f"{found.auc_standard_error:.4f}",
        f"{name} TPR": f"{found.tpr_at(0.01):.4f}",
        f"{name} TPR low": f"{low:.4f}",
        f"{name} TPR high": f"{high:.4f}",
    }


def gained(found):
    """Return how much likelier fits with a row are right on it, in the mean over all rows, with its standard error.

    And the same over the rows for which it is largest in half of the splits, in the other half, and these rows: a row
    that is the largest of many in the splits that it is measured on is so by chance, too.
    """
    gains = found.shadows.inside - found.shadows.outside
    each, half = gains.mean(axis=1), len(gains) // 2
    top = np.argsort(-gains[:half].mean(axis=0), kind="stable")[:TOP]
    return each.mean(), each.std(ddof=1) / len(each) ** 0.5, gains[half:, top].mean(), top


EXACT = (
    "exact gain",
    "exact gain error",
    f"exact gain of these {TOP}",
    "exact, worst",
    "exact, worst TPR",
    "bound of epsilon, TPR",
)


def exactly(learner, frame, labels, top, halves):
    """Return the advantage of the best attack that knows all other rows, in the mean over the same random halves.

    Of the row with the largest mean also the true positive rate at a false positive rate of 1 %.
    """
    risks = [risk_of(learner, frame, labels, first) for first in halves]
    places = [np.argsort(np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])) for first in halves]
    advantage = np.mean([risk.advantage[place] for risk, place in zip(risks, places, strict=True)], axis=0)
    worst = int(advantage.argmax())
    curves = [risk.trade_off(int(place[worst])) for risk, place in zip(risks, places, strict=True)]
    tpr = np.mean([curve.tpr_at(0.01) for curve in curves])
    epsilon = risks[0].epsilon
    allowed = min(np.exp(epsilon) * 0.01, 1 - np.exp(-epsilon) * 0.99)
    error = np.std([risk.advantage.mean() for risk in risks], ddof=1) / len(risks) ** 0.5
    values = advantage.mean(), error, advantage[top].mean(), advantage[worst], tpr, allowed
    return {name: f"{value:.4f}" for name, value in zip(EXACT, values, strict=True)}


def risk_of(learner, frame, labels, first):
    others = frame[~first], labels[~first]
    return hr.audit.exact_membership(learner, frame[first], labels[first], others=others)


if __name__ == "__main__":
    main()
