"""Reason codes under noise.

How often do two private scorecards of the same table name different first reasons for a row? All rows of the tables of
`hedgerow.datasets`, ten scorecards for each ε, compared in pairs: the share of rows whose first reasons
(`Scorecard.reasons`) differ, the share of rows whose first reason is not among the four reasons of the second
scorecard, and the share of rows whose first reason differs from that of a scorecard at ε = 10⁶, which has hardly any
noise. The noise is seeded.

The first share; reasons within the noise are not named:

{reasons}

All shares:

{results/reasons.csv}
"""

from itertools import combinations

import numpy as np
from measure import report

import hedgerow as hr

TABLES = {"adult": None, "compas": 0, "german": None}  # the favourable class, where it is not the second
EPSILONS, DRAWS = (0.5, 1.0, 2.0, 5.0), 10


def main():
    rows = []
    for name, favourable in TABLES.items():
        data = hr.datasets.load(name)
        tally = hr.Tally.count(data.frame, data.labels, data.schema)

        def first_reasons(epsilon, seed, tally=tally, frame=data.frame, favourable=favourable):
            card = hr.PrivateScorecardClassifier(epsilon, random_state=seed).fit_tally(tally).scorecard_
            return card.reasons(frame, favourable=favourable)

        known = first_reasons(1e6, 0)[:, 0]
        for epsilon in EPSILONS:
            result = [first_reasons(epsilon, seed) for seed in range(DRAWS)]
            pairs = [*combinations(result, 2)]
            other = [np.mean(item[:, 0] != two[:, 0]) for item, two in pairs]
            gone = [np.mean((item[:, :1] != two).all(axis=1)) for item, two in pairs]
            off = [np.mean(item[:, 0] != known) for item in result]
            line = {"table": name, "rows": len(data.labels), "epsilon": epsilon, "scorecards": DRAWS}
            shares = {"another first reason": other, "none of four": gone, "not that of hardly any noise": off}
            rows.append(line | {key: f"{np.mean(each):.3f}" for key, each in shares.items()})
    report("reasons", rows)


if __name__ == "__main__":
    main()
