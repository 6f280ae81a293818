"""Label-aware AIM on one split, for aim.py: run by an interpreter that has dpmm 0.1.9, without hedgerow.

Takes a file with the bins of training and test rows, labels and the number of bins of each column; values of ε, δ, the
largest model in MB and a seed. What is asked, chosen and spent is dpmm's copy of private-pgm's AIM, with every triple
that holds the label as workload. Otherwise only what is slow there is done anew: noise is NumPy's, the size of a model
that is only thought of is counted without building it, and mirror descent is on arrays, with momentum, and ends once it
no longer gains. Prints, as JSON, a line for each ε: seconds, and for each strength C the chances of the test rows by
logistic regression on synthetic rows.
"""

import itertools
import json
import sys
import time
from collections import defaultdict

import dpmm.models.aim as private_pgm
import numpy as np
import pandas as pd
from dpmm.models.base.mbi import CliqueVector, Dataset, Domain, Factor, GraphicalModel, factor
from dpmm.models.base.mbi.junction_tree import JunctionTree
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

LABEL = "label"
STEPS, PAUSE, GAIN, LAST_GAIN, HALVINGS, GROWTH = 2500, 20, 1e-3, 1e-5, 25, 1.2
ROWS, STRENGTHS = 100_000, (1.0, 0.1, 0.01)


def size_of(domain, cliques):
    """Return the size in MB of the model with these cliques, after triangulation in the greedy order."""
    tree = JunctionTree.__new__(JunctionTree)
    tree.cliques, tree.domain, tree._prng = [tuple(clique) for clique in cliques], domain, None
    tree.graph = tree._make_graph()
    return tree._triangulated(tree._greedy_order(stochastic=False)[0])[1] * 8 / 2**20


def log_sum(values, axis=None):
    """Return log Σ exp over axes."""
    largest = values.max(axis=axis, keepdims=True)
    return np.log(np.exp(values - largest).sum(axis=axis)) + largest.squeeze(axis)


class Inference:
    """Mirror descent with a line search and momentum, on arrays; attributes of a marginal are in the domain's order."""

    def __init__(self, domain, prng, **_):
        self.domain, self.random, self.gain, self.model = domain, prng, GAIN, None

    def estimate(self, measured):
        """Return the model whose marginals are nearest to those measured, weighted by their noise."""
        weights, sums = defaultdict(float), defaultdict(float)
        for _, answer, noise, proj in measured:
            weights[proj] += noise**-2
            sums[proj] += answer.reshape(self.domain.project(proj).shape) * noise**-2
        answers = {proj: sums[proj] / weight for proj, weight in weights.items()}
        precisions = [weight / self.domain.size(proj) for proj, weight in weights.items()]
        self.total = max(1.0, np.average([answer.sum() for answer in answers.values()], weights=precisions))
        self.step = 1 / (max(weights.values()) * self.total)
        model = GraphicalModel(self.domain, list(weights), self.total, prng=self.random)
        self.messages = [(*pair, *self._axes(*pair), self._axes(*pair[::-1])[1]) for pair in model.message_order]
        homes = {
            p: min((clique for clique in model.cliques if set(p) <= set(clique)), key=self.domain.size) for p in weights
        }
        self.losses = [(homes[p], *self._axes(homes[p], p), weights[p], answers[p]) for p in weights]
        start = CliqueVector.zeros(self.domain, model.cliques)
        if self.model is not None:
            start.combine(self.model.potentials)
        result = self._descend({clique: start[clique].values for clique in model.cliques})
        model.potentials, model.marginals = (
            CliqueVector({clique: Factor(self.domain.project(clique), array) for clique, array in arrays.items()})
            for arrays in result
        )
        self.model = model
        return model

    def _axes(self, clique, kept):
        """Return the axes that are summed out, and the shape of the result with these axes of length 1."""
        out = tuple(axis for axis, item in enumerate(clique) if item not in kept)
        return out, tuple(self.domain[item] if item in kept else 1 for item in clique)

    def _marginals(self, potentials):
        """Return the marginals of the cliques, by belief propagation."""
        beliefs, told = {item: array.copy() for item, array in potentials.items()}, {}
        for item, other, out, shape, there in self.messages:
            known = beliefs[item]
            if (other, item) in told:
                known = known - told[other, item].reshape(shape)
            told[item, other] = log_sum(known, out)
            beliefs[other] += told[item, other].reshape(there)
        scale = np.log(self.total) - log_sum(next(iter(beliefs.values())))
        return {item: np.exp(array + scale) for item, array in beliefs.items()}

    def _loss(self, marginals):
        """Return half the weighted squares, and their gradient."""
        loss, gradient = 0.0, {item: np.zeros(array.shape) for item, array in marginals.items()}
        for clique, out, shape, weight, answer in self.losses:
            gap = marginals[clique].sum(axis=out) - answer
            loss += 0.5 * weight * float(np.vdot(gap, gap))
            gradient[clique] += (weight * gap).reshape(shape)
        return loss, gradient

    def _descend(self, start):
        """Return potentials and marginals, once `PAUSE` steps no longer lower the loss by a share of `gain`."""
        best = ahead = start, self._marginals(start)
        loss = before = self._loss(best[1])[0]
        size, momentum = self.step, 1.0
        for step in range(1, STEPS + 1):
            here, gradient = self._loss(ahead[1])
            size *= GROWTH
            for _ in range(HALVINGS):
                moved = {item: array - size * gradient[item] for item, array in ahead[0].items()}
                reached = self._marginals(moved)
                result = self._loss(reached)[0]
                gain = sum(float(np.vdot(gradient[item], ahead[1][item] - array)) for item, array in reached.items())
                if here - result >= 0.5 * size * gain:
                    break
                size /= 2
            if result <= loss:
                later = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
                push, momentum = (momentum - 1) / later, later
                further = {item: array + push * (array - best[0][item]) for item, array in moved.items()}
                best, loss, ahead = (moved, reached), result, (further, self._marginals(further))
            else:
                ahead, momentum = best, 1.0
            if step % PAUSE == 0:
                if before - loss <= self.gain * before:
                    break
                before = loss
        return best


def fitted(codes, sizes, epsilon, delta, most, seed):
    """Return AIM's model of the table."""
    names = list(codes)
    random = np.random.RandomState(seed)
    private_pgm.gaussian_noise = lambda sigma, size: random.normal(0, sigma, size)
    private_pgm.hypothetical_model_size, private_pgm.FactoredInference = size_of, Inference
    factor.logsumexp = log_sum
    aim = private_pgm.AIM(epsilon, delta, random, max_model_size=most, n_jobs=1)
    workload = [((*pair, LABEL), 1.0) for pair in itertools.combinations(names[:-1], 2)]
    _, measured = aim._fit(Dataset(codes, Domain(names, sizes)), W=workload)
    aim.engine.gain = LAST_GAIN
    return aim.engine.estimate(measured)


def chances(model, X_test, sizes):
    """Return the predictions of logistic regression on synthetic rows, with many rows so that sampling adds little."""
    rows = model.synthetic_data(rows=ROWS).df
    one_hot = OneHotEncoder(categories=[range(size) for size in sizes[:-1]])
    X, weights = one_hot.fit_transform(rows.drop(columns=LABEL).to_numpy()), np.full(ROWS, model.total / ROWS)
    learners = (LogisticRegression(C=C, max_iter=2000).fit(X, rows[LABEL], weights) for C in STRENGTHS)
    return [each.predict_proba(one_hot.transform(X_test))[:, 1].tolist() for each in learners]


def main():
    file, epsilons, *others = sys.argv[1:]
    delta, most, seed = map(float, others)
    data = np.load(file)
    codes = pd.DataFrame(data["X"], columns=[f"x{place}" for place in range(data["X"].shape[1])])
    codes[LABEL] = data["y"]
    sizes = [*data["sizes"].tolist(), 2]
    for epsilon in map(float, epsilons.split(",")):
        start = time.process_time()
        model = fitted(codes, sizes, epsilon, delta, most, int(seed))
        result = {"seconds": round(time.process_time() - start, 2)}
        print(json.dumps(result | dict(zip(STRENGTHS, chances(model, data["X_test"], sizes), strict=True))), flush=True)


if __name__ == "__main__":
    main()
