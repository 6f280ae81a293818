"""Two-way tables instead of a public source.

Can released two-way tables replace the public source from which a scorecard from marginals takes the joint distribution
of the columns? Adult, 20 splits 80/20, pure ε; accuracy / AUROC / log-loss. *Tree*: tables of the spanning tree with
the most mutual information, and 4,000 rows drawn from them as the source. *Quadratic*: tables of all pairs, and a
quadratic approximation of the log-likelihood, as in DD-SSP (Ferrando and Sheldon, *Private Regression via
Data-Dependent Sufficient Statistic Perturbation*, TMLR 2025). Both are favoured: the tree is chosen from exact tables
at no charge; the quadratic uses the best of six ridge penalties on the test rows, and is calibrated on the exact
training rows. *Scorecard* is `PrivateScorecardClassifier`; *public source* is `MarginalLogisticClassifier` with 4,000
public rows.

{two_way_tables}

Differences of accuracy and AUROC by split have a standard error of at most {two_way_tables_error}. Noisy tables are
worse than the scorecard in every number. Even exact tables at no charge are worse, except for one AUROC, and one
accuracy that is equal within its error. Therefore hedgerow has no such learner.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from measure import RESULTS, run_splits
from scipy.linalg import block_diag
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from scipy.special import expit
from scorecards import loaded, scores
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import hedgerow as hr
from hedgerow.learn.scorecard.smoothing import ACROSS, EACH, Prior
from hedgerow.marginals.logistic import SufficientStatistics, estimated
from hedgerow.tables.frames import Table

EPSILONS, SOURCE, SHARE = (0.1, 1.0), 4000, {"tree": 0.4, "quadratic": 0.3}
RIDGES = (0, 1, 10, 100, 1000, 10_000)
CURVATURE = 0.15  # of a row, on average: a quarter at most
SCORES = ["AUROC", "log-loss", "accuracy"]
COLUMNS = ["table", "split", "epsilon", "learner", *SCORES]


def main():
    report(run_splits(__doc__, ("adult",), runs, RESULTS / "two_way_tables_runs.csv", COLUMNS))


def runs(name, split):
    """Yield what each reaches on one split."""
    frame, labels, schema = loaded(name)
    rest, test = train_test_split(np.arange(len(labels)), test_size=0.2, random_state=split)
    public, rows = frame.iloc[rest[:SOURCE]], rest[SOURCE:]
    held, truth = Rows(frame.iloc[rows], labels.iloc[rows], schema), np.asarray(labels.iloc[test])
    tested = Rows(frame.iloc[test], labels.iloc[test], schema)
    for epsilon in EPSILONS:
        rng = np.random.default_rng(split)
        card = hr.PrivateScorecardClassifier(epsilon, schema=schema).fit(held.frame, held.labels)
        oracle = hr.Oracle(held.frame[list(schema)], held.labels, hr.Budget(epsilon), 1)
        learner = hr.MarginalLogisticClassifier(reweight=False)
        learner.fit(public[list(schema)], oracle=oracle)
        result = {
            "scorecard": card.predict_proba(tested.frame)[:, 1],
            "public source": learner.predict_proba(tested.frame)[:, 1],
        }
        for exact in (True, False):
            after = ", exact tables for nothing" if exact else ", noisy tables"
            result["tree" + after] = by_tree(held, tested, epsilon, rng, exact=exact)
            result["quadratic" + after] = by_quadratic(held, tested, epsilon, rng, exact=exact)
        for learner, chances in result.items():
            yield name, split, epsilon, learner, *scores(truth, chances)[:3]


class Rows:
    """Rows by bin, with their tables.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_attributes)
        Bins.
    ones : ndarray of shape (n_rows, n_bins)
        Whether a row is in a bin of any attribute.
    """

    def __init__(self, frame, labels, schema):
        self.frame, self.labels = frame.reset_index(drop=True), labels.reset_index(drop=True)
        self.schema, self.y = schema, np.asarray(labels)
        self.sizes = [attribute.n_bins for _, attribute in schema.attributes]
        self.ends = np.cumsum([0, *self.sizes])
        encoded = schema.encode(Table.of(self.frame))
        self.codes = np.column_stack([encoded[name] for name in schema]).astype(int)
        self.ones = one_hot(self.codes, self.ends)
        self.joint = self.ones.T @ self.ones

    def by_class(self):
        """Return the rows by bin and class."""
        return np.column_stack([self.ones[self.y == label].sum(axis=0) for label in (0, 1)])

    def table(self, joint, i, j):
        """Return the part of a matrix of all bins that two attributes have."""
        return joint[self.ends[i] : self.ends[i + 1], self.ends[j] : self.ends[j + 1]]

    def noisy(self, pairs, scale, rng):
        """Return the tables of some pairs of attributes with discrete Laplace noise, in a matrix of all bins."""
        result = np.zeros_like(self.joint)
        for i, j in pairs:
            exact = self.table(self.joint, i, j)
            self.table(result, i, j)[:] = exact + noise(exact.shape, scale, rng)
            self.table(result, j, i)[:] = self.table(result, i, j).T
        return result


def one_hot(codes, ends):
    result = np.zeros((len(codes), ends[-1]))
    np.put_along_axis(result, codes + ends[:-1], 1.0, axis=1)
    return result


def noise(shape, scale, rng):
    """Return discrete Laplace noise: a difference of two geometric variables; 0 for a scale of 0."""
    if not scale:
        return np.zeros(shape)
    item, other = rng.geometric(1 - np.exp(-1 / scale), (2, *shape))
    return item - other


def shared(rows, epsilon, kind, pairs, rng, exact):
    """Return noisy rows by bin and class, the variance of their noise, and the tables of pairs."""
    share = 0 if exact else SHARE[kind]
    scale = len(rows.sizes) / (epsilon * (1 - share))
    tables = rows.noisy(pairs, 0 if exact else len(pairs) / (epsilon * share), rng)
    counts = rows.by_class()
    return counts + noise(counts.shape, scale, rng), 2 * scale**2, tables


def by_tree(rows, tested, epsilon, rng, *, exact):
    """Return the chances of tested rows by the learner from marginals, the source drawn from a tree of tables."""
    order, before = spanning_tree(rows)
    counts, variance, tables = shared(rows, epsilon, "tree", [(before[i], i) for i in order[1:]], rng, exact)
    codes = np.zeros((SOURCE, len(rows.sizes)), dtype=int)
    for i in order:
        parent = before[i] if i != order[0] else order[1]
        table = np.maximum(rows.table(tables, parent, i), 0) + 1e-9
        if i == order[0]:
            codes[:, i] = rng.choice(rows.sizes[i], SOURCE, p=table.sum(axis=0) / table.sum())
            continue
        table += 1e-3 * table.sum(axis=0) / table.sum()  # for bins of the parent without rows
        ends = np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)[codes[:, parent]]
        codes[:, i] = np.minimum((ends < rng.random((SOURCE, 1))).sum(axis=1), rows.sizes[i] - 1)
    each = np.full(SOURCE, max(counts.sum(), 1) / len(rows.sizes) / SOURCE)
    statistics = SufficientStatistics(one_hot(codes, rows.ends).T, each, counts, np.full(len(counts), variance))
    result = estimated(statistics, prior(rows.schema, 1.0, 0.5))
    return expit(result.base[0] + tested.ones @ result.values[:, 0])


def spanning_tree(rows):
    """Return attributes from a root on, and before which each comes, by the mutual information of the exact tables."""
    told = np.zeros((len(rows.sizes),) * 2)
    for i, j in combinations(range(len(rows.sizes)), 2):
        shares = rows.table(rows.joint, i, j) / len(rows.y)
        apart = np.outer(shares.sum(axis=1), shares.sum(axis=0))
        told[i, j] = (shares * np.log(np.where(shares > 0, shares, 1) / np.where(shares > 0, apart, 1))).sum()
    order, before = breadth_first_order(minimum_spanning_tree(-told), 0, directed=False)
    return order, before


def by_quadratic(rows, tested, epsilon, rng, *, exact):
    """Return the chances of tested rows by the quadratic approximation, with the best ridge, and calibrated."""
    pairs = list(combinations(range(len(rows.sizes)), 2))
    counts, _, joint = shared(rows, epsilon, "quadratic", pairs, rng, exact)
    joint[np.diag_indices_from(joint)] = np.maximum(counts.sum(axis=1), 0)
    values, vectors = np.linalg.eigh(joint)
    form = CURVATURE * (vectors * np.maximum(values, 0)) @ vectors.T + np.linalg.inv(prior(rows.schema, ACROSS, EACH))
    chances = []
    for ridge in RIDGES:
        odds = np.linalg.solve(form + ridge * np.eye(len(form)), (counts[:, 1] - counts[:, 0]) / 2)
        fitted = LogisticRegression(C=1e6).fit((rows.ones @ odds)[:, None], rows.y)
        chances.append(fitted.predict_proba((tested.ones @ odds)[:, None])[:, 1])
    return min(chances, key=lambda each: scores(tested.y, each)[1])


def prior(schema, across, each):
    """Return the covariance of the log-odds by bin."""
    return block_diag(*(np.linalg.inv(Prior(across, each).of(attribute)) for _, attribute in schema.attributes))


def report(found):
    """Write the means over the splits, and what each has more than the scorecard, and print them."""
    wide = found.pivot(index=["epsilon", "split"], columns="learner", values=SCORES)
    rows = []
    for epsilon, each in wide.groupby("epsilon"):
        for learner in dict.fromkeys(found["learner"]):
            row = {"epsilon": epsilon, "learner": learner}
            for score in SCORES:
                more = each[score, learner] - each[score, "scorecard"]
                row |= {score: each[score, learner].mean(), f"{score}, more": more.mean()}
                row[f"standard error of {score}, more"] = more.sem()
            rows.append(row | {"splits": len(each)})
    table = pd.DataFrame(rows).round(4)
    table.to_csv(RESULTS / "two_way_tables.csv", index=False, lineterminator="\n")
    print(table.to_string())


if __name__ == "__main__":
    main()
