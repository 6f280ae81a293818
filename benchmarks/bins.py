"""Number of bins in learning from marginals.

Test accuracy of `MarginalLogisticClassifier` at ε = 1 by the maximum number of bins of a column, EXPRIL's seven
problems, 20 runs:

{bins}

Every run draws a new problem, with the same noise for all numbers of bins. The default should be about as accurate as
any fixed number.
"""

import warnings

import numpy as np
from measure import report
from threadpoolctl import threadpool_limits

import hedgerow as hr
from hedgerow.errors import OverlapWarning
from studies.expril.problems import PROBLEMS, problem
from studies.expril.runs import METHODS, noise_seed

RUNS, BINS = 20, ("auto", 2, 3, 4, 6, 8, 12, 16)


def main():
    rows = []
    with threadpool_limits(1):
        for name in PROBLEMS:
            made = [problem(name, run) for run in range(RUNS)]
            scores = {bins: [score(name, item, run, bins) for run, item in enumerate(made)] for bins in BINS}
            rows += [record(name, bins, np.array(result), np.array(scores["auto"])) for bins, result in scores.items()]
    report("bins", rows)


def score(name, made, run, bins):
    """Return the accuracy on the test rows."""
    seed = noise_seed(name, run, METHODS["logistic"])
    oracle = hr.Oracle(made.target, made.target_labels, hr.Budget(1), 1, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)
        learner = hr.MarginalLogisticClassifier(bins=bins, reweight=PROBLEMS[name].reweight)
        learner.fit(made.source, oracle=oracle)
    return learner.score(made.test, made.test_labels)


def record(name, bins, found, default):
    """Return a line: the mean, and the mean paired difference from the default, with standard errors."""
    less = default - found
    errors = [each.std(ddof=1) / np.sqrt(RUNS) for each in (found, less)]
    return {
        "problem": name,
        "bins": bins,
        "accuracy": f"{found.mean():.4f}",
        "se": f"{errors[0]:.4f}",
        "default less it": f"{less.mean():.4f}",
        "se of that": f"{errors[1]:.4f}",
    }


if __name__ == "__main__":
    main()
