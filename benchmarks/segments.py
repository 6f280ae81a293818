"""Merged bins of private scorecards.

How much accuracy does merging bins after the release cost, and how much shorter is the scorecard? Each split has the
same seed with and without merging, so that both scorecards use the same noisy counts up to the calibration. The
allowance of merging ([rule](../docs/mathematics.md#merged-bins)) was chosen on COMPAS, German, CTG, breast cancer,
diabetes, iris and wine; Adult, HMDA and the tables of numbers are held out. Rejected alternatives: less weight for bins
whose rows are within noise of zero (on CTG the log-loss rose by .006 and more: there, a bin within noise of zero can
have more rows than the average), a fixed allowance of .001 (too little on small tables at ε = 1, too much for the AUROC
at ε = 0.1), and curves of one turn first (hardly fewer turns).

Each segment needs support by released rows of one standard deviation of the noise. With two, COMPAS lost .005 of
log-loss at ε = 1. Requiring support at any cost lowers the AUROC at ε = 0.1 by .07 ± .02 on breast cancer and .03 ± .01
on diabetes. It is required only if it costs at most 3 % of the expected savings of the values, which leaves losses of
.011 ± .006 and .005 ± .004 on the same splits. A share of the gain that does not fall with the noise lost .026 ± .009
on breast cancer.

The raw tables of the league, HMDA and the tables of numbers, 20 splits 80/20. Differences are paired, and positive if
merging is better: differences of log-loss and AUROC, for numbers of R².

{results/segments.csv}
"""

import warnings
from unittest.mock import patch

import outcome_tables
from league import scored
from league_tables import TABLES, hmda
from measure import RESULTS, run_splits
from sizes import OF_CARDS, of_card
from sklearn.model_selection import train_test_split

import hedgerow as hr

NUMBERS = {name: getattr(outcome_tables, name) for name in ("wages", "diamonds", "hours", "pupils")}
ALL = {**TABLES, "hmda": hmda, **NUMBERS}
EPSILONS = (0.05, 0.1, 1.0, 4.0)
MERGED, APART = "merged", "apart"
SCORES = ["AUROC", "log-loss", "R2"]
COLUMNS = ["table", "split", "epsilon", "bins", *SCORES, *OF_CARDS]
RAW = RESULTS / "segments_runs.csv"


def main():
    report(run_splits(__doc__, ALL, runs, RAW, COLUMNS))


def runs(name, split):
    """Yield scores and sizes of both cards on one split of a table."""
    warnings.simplefilter("ignore")  # seeds void the guarantee
    frame, target, schema = ALL[name]()
    parts = train_test_split(frame, target, test_size=0.2, random_state=split)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    tally = hr.Tally.count(X, y, schema)
    learner = hr.PrivateScorecardRegressor if name in NUMBERS else hr.PrivateScorecardClassifier
    for epsilon in EPSILONS:
        fitted = learner(epsilon, schema=schema, random_state=1000 * split).fit_tally(tally)
        yield name, split, epsilon, MERGED, *row(fitted, X_test, y_test, name)
        with patch("hedgerow.learn.scorecard.fit.merge", lambda *_: 0.0):
            fitted = learner(epsilon, schema=schema, random_state=1000 * split).fit_tally(tally)
        yield name, split, epsilon, APART, *row(fitted, X_test, y_test, name)


def row(fitted, X_test, y_test, name):
    """Return scores and sizes of a fitted scorecard."""
    if name in NUMBERS:
        scores = ["", "", fitted.score(X_test, y_test)]
    else:
        _, _, auc, loss = scored(fitted, X_test, y_test, 0)
        scores = [auc, loss, ""]
    result = [*scores, *of_card(fitted.scorecard_).values()]
    return [round(float(item), 5) if item != "" else item for item in result]


def report(found):
    """Write and print the sizes, and the paired differences with their standard errors."""
    wide = found.pivot_table(index=["table", "epsilon", "split"], columns="bins", sort=False)
    by = [wide.index.get_level_values(level) for level in ("table", "epsilon")]
    columns = {}
    for score, sign in (("log-loss", -1), ("AUROC", 1), ("R2", 1)):
        gain = sign * (wide[score][MERGED] - wide[score][APART])
        columns[score] = gain.groupby(by, sort=False).mean()
        columns[f"standard error of {score}"] = gain.groupby(by, sort=False).sem()
    for size in OF_CARDS:
        for kind in (MERGED, APART):
            columns[f"{size}, {kind}"] = wide[size][kind].groupby(by, sort=False).mean()
    columns["splits"] = wide.groupby(by, sort=False).size()
    table = type(found)(columns).round(4)
    table.to_csv(RESULTS / "segments.csv", lineterminator="\n")
    print(table.to_string())


if __name__ == "__main__":
    main()
