"""Questions about subsets of columns.

Does EXPRIL learn more if each of three questions is about a subset of the columns, with correspondingly less noise, at
the same ε? The columns of a question have low correlation in the source, and the next question uses the next subset. ε
= 1 in total, up to 3,000 private rows, a source of 300 rows or a quarter of the table, logistic regression.

{columns}

No line gains two standard errors. On COMPAS one column has most of the information, and a question without it undoes
the effect of a question with it. Therefore hedgerow has no such parameter.

Ten runs per line, with new rows for source, target and test.
"""

import warnings
from math import ceil

import numpy as np
from measure import report
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import hedgerow as hr
from hedgerow.errors import OverlapWarning
from hedgerow.marginals.expril import prepared
from hedgerow.oracle.binning import bins_or_chosen, choose_bins
from hedgerow.tables.frames import Table

RUNS, QUERIES, SOURCE, TARGET, TEST = 10, 3, 300, 3000, 1000
TABLES, SHARES = ("adult", "compas", "german"), (1, 0.5, 0.25)


class SomeColumns(hr.ExprilClassifier):
    """EXPRIL with the bins of the next columns, in an order from the source."""

    def asking(self, share):
        """Take a share of the columns."""
        self._share = share
        return self

    def _ask(self, X, hypothesis, weights, questions, oracle):
        order, size = spread(X), ceil(self._share * X.shape[1])
        part = [order[(len(questions) * size + place) % len(order)] for place in range(size)]
        rows = questions[-1].answer.n_rows if questions else len(X)
        self.bins = bins_or_chosen("auto", X[part], rows, oracle.noise_scale)
        return super()._ask(X, hypothesis, weights, questions, oracle)


def spread(X):
    """Return the columns in an order in which each is the least correlated with the three before."""
    related = np.abs(np.corrcoef([*choose_bins(X, 8).encode(Table.of(X)).values()]))
    order = [int(related.sum(axis=0).argmin())]
    while len(order) < len(related):
        rest = [place for place in range(len(related)) if place not in order]
        order.append(min(rest, key=lambda place: related[place, order[-3:]].max()))
    return [X.columns[place] for place in order]


def score(data, share, run):
    """Return the accuracy of one run on the test rows."""
    X, y = data.frame, data.labels
    order = np.random.default_rng(run).permutation(len(X))
    most = len(order) // 4
    source, test, target = np.split(order, np.cumsum([min(SOURCE, most), min(TEST, most)]))
    X = X[[name for name in X.columns if X.iloc[source][name].nunique() > 1]]
    rows, options = target[:TARGET], {"classes": data.schema.classes, "random_state": run}
    oracle = hr.Oracle(X.iloc[rows], y.iloc[rows], hr.Budget(1), QUERIES, **options)
    model = make_pipeline(prepared(X.iloc[source]), LogisticRegression(max_iter=200))
    learner = SomeColumns(model, queries=QUERIES, reweight=False).asking(share)
    return learner.fit(X.iloc[source], oracle=oracle).score(X.iloc[test], y.iloc[test])


def main():
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)
        for name in TABLES:
            data = hr.datasets.load(name)
            result = {share: np.array([score(data, share, run) for run in range(RUNS)]) for share in SHARES}
            rows += [record(name, share, each, result[1]) for share, each in result.items()]
    report("columns", rows)


def record(name, share, found, every):
    """Return a line: the mean accuracy, and its gain over all columns, with standard errors."""
    more = found - every
    errors = [each.std(ddof=1) / np.sqrt(RUNS) for each in (found, more)]
    return {
        "table": name,
        "share of columns": share,
        "accuracy": f"{found.mean():.4f}",
        "se": f"{errors[0]:.4f}",
        "more than all": f"{more.mean():+.4f}",
        "se of that": f"{errors[1]:.4f}",
    }


if __name__ == "__main__":
    main()
