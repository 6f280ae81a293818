"""Two optimisation problems of EXPRIL.

5,000 source rows, 25 columns of 5 bins: the weights that match marginals ({equations_of_weights} equations), and the
labels that explain three answers ({equations_of_labels}), each by the dual problem, with one variable per equation.
Seconds, the median of repeats.

{solves}
"""

import numpy as np
from measure import median_seconds, report

from hedgerow.marginals.expril import Equations, estimate_labels
from hedgerow.marginals.reweight import reweight

ROWS, ATTRIBUTES, BINS, SCALE = 5000, 25, 5, 75.0


def main():
    rows = []
    for noise, used in (("none", 0.0), ("epsilon = 1", 1.0)):
        rng, variance = np.random.default_rng(0), used * 2 * SCALE**2 / ROWS**2
        y, matrix = (rng.random(ROWS) < 0.4).astype(float), one_hot(rng)
        masses = matrix @ rng.dirichlet(np.ones(ROWS)) + rng.normal(scale=np.sqrt(variance), size=len(matrix))

        def weigh(matrix=matrix, masses=masses, variance=variance):
            return reweight(matrix, np.maximum(masses, 0), ATTRIBUTES, variance=variance).values

        rows.append({"problem": "weights", "noise": noise, "equations": len(matrix), "seconds": timed(weigh)})
        weights, told = weigh(), []
        for hypothesis in (np.ones(ROWS), (rng.random(ROWS) < 0.5).astype(float), y):
            matrix = one_hot(rng)
            errors = (matrix * weights) @ np.abs(hypothesis - y)
            errors += rng.normal(scale=np.sqrt(variance / 2), size=len(matrix))
            told.append(Equations.of(matrix, weights, hypothesis, errors, variance / 2))

        def estimate(told=told):
            return estimate_labels(told)

        rows.append({"problem": "labels", "noise": noise, "equations": 3 * len(matrix), "seconds": timed(estimate)})
    report("marginals", rows)


def timed(call):
    return round(median_seconds(call, repeats=3), 2)


def one_hot(rng):
    cells = rng.integers(0, BINS, (ATTRIBUTES, ROWS))
    return (cells[:, None, :] == np.arange(BINS)[None, :, None]).reshape(-1, ROWS).astype(float)


if __name__ == "__main__":
    main()
