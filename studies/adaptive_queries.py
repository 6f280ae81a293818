"""Adaptive questions of EXPRIL: chosen columns, bins that vary, and new features, at equal total ε.

`python -m studies.adaptive_queries` measures all problems and writes docs/studies/adaptive-queries/runs.csv.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import ceil, log2
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import hedgerow as hr
from hedgerow.boundary.arrays import Floats, Integers, Mask
from hedgerow.errors import OverlapWarning, SeededNoiseWarning
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.marginals.expril import Equations, ErrorQuestion, estimate_labels, network
from hedgerow.marginals.reweight import equal_weights, log_evidence, reweight
from hedgerow.oracle.answers import ErrorCounts
from hedgerow.oracle.binning import bin_matrix, bins_or_chosen, choose_bins, n_bins
from hedgerow.schema import Categorical, Schema
from hedgerow.text.progress import tracked
from studies.expril.problems import PROBLEMS, Problem, problem

FILE = Path(__file__).parents[1] / "docs" / "studies" / "adaptive-queries" / "runs.csv"
MAIN = "CTG-A"
FULL_RUNS = 4  # the runs of the other problems with all variants; later runs compare questions of today with cells
FEW_COLUMNS = ("A", "B")  # 2 and 4 columns; all other problems have 10 or more
REPORTED = ("A", "B", "C", "D", "E", "CTG-A")
EPSILON, RUNS = Fraction(1), 20
WHOLE, HALF = Fraction(1), Fraction(1, 2)
VARIANTS = (
    "first of two",
    "two questions",
    "columns by errors",
    "bins by errors",
    "score",
    "one question",
    "columns by source",
    "components",
    "projections",
    "cells",
    "cells and score",
)
MEASURED = (*VARIANTS, "cells, smoothed", "scorecard")
SHARE = 3  # the share of the columns that is chosen is 1/3
SECOND = ("first of two", "two questions")  # the second question is worth their difference, once its share is fixed
PROJECTIONS = 8
LENGTHS, DEVIATIONS = (
    (0.25, 0.5, 1.0, 2.0),
    (0.5, 1.0, 2.0),
)  # of the regression on cells: in median distances, in signs
LARGEST_MEAN, SOME = 0.96, 300  # of signs; the number of rows whose median distance is the unit of lengths
NOT_NEGLIGIBLE = 0.05  # the least error of a row, so that no part of a column is left without bins

Features = Callable[[Any], pd.DataFrame]
"""A public function of the rows: it returns the columns with bins, row by row."""


def error_counts(features: pd.DataFrame, is_wrong: Mask, bins: Schema, budget: hr.Budget | None, seed: int) -> Any:
    """Return noisy counts, by bin of public features, of the rows that a hypothesis misclassifies.

    Neighbouring tables differ by one row. Features and hypothesis are public functions of a row, so the row adds 1 to
    one count of each of the d features, and changes no other count. This is the question of `hr.Oracle` for d columns;
    its ε is the whole budget. Questions on the same rows compose: their ε add up, also if a question depends on earlier
    answers.
    """
    oracle = hr.Oracle(features, np.where(is_wrong, 0, 1), budget, 1, random_state=seed)
    answer = oracle.class_marginals(bins)
    return ErrorCounts(bins, answer.rows[:, 0], answer.rows[:, 1], answer.noise)


@dataclass
class Rounds:
    """EXPRIL with public features in place of columns; each question has its own share of ε.

    Attributes
    ----------
    problem : Problem
        Source, target and test rows.
    name : str
        The name of the problem.
    seed : int
        The number of the run.
    """

    problem: Problem
    name: str
    seed: int
    epsilon: Fraction | None = EPSILON
    questions: list[ErrorQuestion] = field(default_factory=list)
    spent: Fraction = Fraction(0)
    hypothesis: Any = field(default_factory=lambda: Always(1))
    labels: Floats = field(default_factory=lambda: np.empty(0))
    weights: Floats = field(default_factory=lambda: np.empty(0))

    def then(self, features: Features, share: Fraction, bins: BinRule) -> Rounds:
        """Return the state after one more question, on bins of features, and the next network."""
        made, source, target = self.problem, features(self.problem.source), features(self.problem.target)
        budget = None if self.epsilon is None else hr.Budget(share * self.epsilon)
        schema = bins(source, self._scale(share), self)
        is_wrong = self.hypothesis.predict(made.target) != made.target_labels
        number = len(self.questions)
        answer = error_counts(target, is_wrong, schema, budget, noise_seed(self.name, self.seed, number, share))
        predicted = np.asarray(self.hypothesis.predict(made.source), dtype=np.float64)
        questions = [*self.questions, ErrorQuestion(bin_matrix(schema, source), predicted, answer)]
        weights = self._weights(questions)
        equations = [
            Equations.of(asked.matrix, weights, asked.hypothesis, *asked.answer.errors(asked.matrix @ weights))
            for asked in questions
        ]
        labels = estimate_labels(equations)
        after = Rounds(made, self.name, self.seed, self.epsilon, questions, self.spent + share)
        after.labels, after.weights, after.hypothesis = labels, weights, self._network(labels, weights)
        return after

    def _scale(self, share: Fraction) -> Callable[[Sequence[int]], float]:
        if self.epsilon is None:
            return lambda sizes: 0.0  # noqa: ARG005 -- exact answers
        frame, epsilon = pd.DataFrame({"x": [0.0]}), self.epsilon * share
        return hr.Oracle(frame, [0], hr.Budget(epsilon), 1).noise_scale

    def _weights(self, questions: Sequence[ErrorQuestion]) -> Floats:
        n = len(self.problem.source)
        if not PROBLEMS[self.name].reweight:
            return equal_weights(n).values
        answers = [asked.answer for asked in questions]
        masses = np.concatenate([answer.masses for answer in answers])  # type: ignore[union-attr]
        variance = np.concatenate([answer.variance for answer in answers])  # type: ignore[union-attr]
        matrix = np.vstack([asked.matrix for asked in questions])
        return reweight(matrix, masses, sum(len(answer.bins) for answer in answers), variance=variance).values

    def _network(self, labels: Floats, weights: Floats) -> Any:
        rows, classes = np.flatnonzero(weights), (labels >= 0.5).astype(np.int64)
        if len(set(classes[rows].tolist())) == 1:
            return Always(int(classes[rows][0]))
        X = self.problem.source[rows]
        model = network(X, self.seed, PROBLEMS[self.name].hidden)
        return model.fit(X, classes[rows], mlpclassifier__sample_weight=weights[rows] * len(rows))

    @property
    def accuracy(self) -> float:
        """The share of test rows that the last hypothesis classifies correctly."""
        return float(np.mean(self.hypothesis.predict(self.problem.test) == self.problem.test_labels))


BinRule = Callable[[pd.DataFrame, Callable[[Sequence[int]], float], Rounds], Schema]


def noise_seed(name: str, seed: int, number: int, share: Fraction) -> int:
    """Return the seed of the noise of a question: the same for variants of the same place and share, else different."""
    words = (int.from_bytes(name.encode(), "big"), seed, number, share.numerator, share.denominator)
    return int(np.random.SeedSequence(words).generate_state(1)[0])


def equal_bins(source: pd.DataFrame, scale: Callable[[Sequence[int]], float], state: Rounds) -> Schema:
    """Return bins of equal mass, by the rule of `ExprilClassifier`."""
    weights = state.weights if len(state.weights) else None
    return bins_or_chosen("auto", source, _n_rows(state, len(source)), scale, weights)


def _n_rows(state: Rounds, default: float) -> float:
    return state.questions[-1].answer.n_rows if state.questions else default  # type: ignore[union-attr]


def bins_by_errors(source: pd.DataFrame, scale: Callable[[Sequence[int]], float], state: Rounds) -> Schema:
    """Return bins of equal estimated *errors* of the last hypothesis: fine where errors concentrate, else merged."""
    width = source.shape[1]
    number = n_bins(_n_rows(state, len(source)), lambda q: scale([q + 1] * width))
    return choose_bins(source, number, state.weights * expected_errors(state))


def expected_errors(state: Rounds) -> Floats:
    """Return the estimated error of the last hypothesis on each source row."""
    predicted = np.asarray(state.hypothesis.predict(state.problem.source), dtype=np.float64)
    return np.abs(predicted - state.labels) + NOT_NEGLIGIBLE


def cell_bins(source: pd.DataFrame, scale: Any, state: Rounds) -> Schema:  # noqa: ARG001 -- cells have one count each
    """Return a bin for every cell of the source."""
    names = sorted(set(source["cell"]))
    return Schema({"cell": Categorical(tuple(names), missing="bin", outside="bin")})


def columns(places: Iterable[int]) -> Features:
    """Return the features that are the columns at these places."""
    chosen = tuple(places)
    return lambda rows: pd.DataFrame({f"x{place}": np.asarray(rows)[:, place] for place in chosen})


def by_information(state: Rounds, k: int) -> list[int]:
    """Return the k columns whose bins have the most information on the last errors, from noisy counts."""
    answer: Any = state.questions[-1].answer
    return sorted(np.argsort(-information(answer), kind="stable")[:k].tolist())


def information(answer: ErrorCounts) -> Floats:
    """Return the mutual information in bits between a column's bin and being wrong, by column, from noisy counts.

    Negative counts count as 0. It is computed from released numbers only.
    """
    starts = np.cumsum([0, *answer.bins.sizes])
    wrong, right = np.maximum(answer.wrong, 0).astype(float), np.maximum(answer.right, 0).astype(float)
    result = []
    for start, stop in pairwise(starts.tolist()):
        of_bins = [_entropy(*pair) for pair in zip(wrong[start:stop], right[start:stop], strict=True)]
        mass = wrong[start:stop] + right[start:stop]
        total = max(float(mass.sum()), 1.0)
        result.append(_entropy(wrong[start:stop].sum(), right[start:stop].sum()) - float(mass @ of_bins) / total)
    return np.array(result)


def _entropy(first: float, second: float) -> float:
    """Return the entropy in bits of two counts."""
    total = first + second
    return sum(-part / total * log2(part / total) for part in (first, second) if part > 0)


def representative_columns(source: Any, k: int) -> list[int]:
    """Return k columns of the public source that linearly explain most variance of all columns, chosen greedily."""
    rest = StandardScaler().fit_transform(np.asarray(source, dtype=np.float64))
    result: list[int] = []
    for _ in range(k):
        norms = np.maximum((rest**2).sum(axis=0), 1e-9 * len(rest))
        gains = ((rest.T @ rest) ** 2).sum(axis=1) / norms
        gains[result] = -1.0
        place = int(np.argmax(gains))
        result.append(place)
        rest = rest - np.outer(rest[:, place], rest[:, place] @ rest / norms[place])
    return sorted(result)


def components(source: Any, k: int) -> Features:
    """Return the first k principal components of the source as features."""
    scaler: Any = StandardScaler().fit(source)
    axes = PCA(k, svd_solver="full").fit(scaler.transform(source))

    def project(rows: Any) -> pd.DataFrame:
        return pd.DataFrame({f"p{j}": column for j, column in enumerate(axes.transform(scaler.transform(rows)).T)})

    return project


def projections(source: Any, k: int, seed: int) -> Features:
    """Return k random projections of the standardised columns as features: sums and differences of columns."""
    scaler: Any = StandardScaler().fit(source)
    axes = np.random.default_rng(seed).normal(size=(np.shape(source)[1], k))

    def project(rows: Any) -> pd.DataFrame:
        return pd.DataFrame({f"r{j}": column for j, column in enumerate((scaler.transform(rows) @ axes).T)})

    return project


def score(state: Rounds) -> Features:
    """Return the predicted probability of the last hypothesis as the only feature."""

    def probability(rows: Any) -> pd.DataFrame:
        model = state.hypothesis
        values = model.predict_proba(rows)[:, 1] if hasattr(model, "predict_proba") else np.arange(len(rows)) % 2.0
        return pd.DataFrame({"score": values.astype(np.float64)})

    return probability


def cells(source: Any, number: int, seed: int) -> Features:
    """Return a single feature: the nearest of the centres that k-means finds on the public source."""
    scaler: Any = StandardScaler().fit(source)
    centres: Any = KMeans(number, n_init=1, max_iter=30, random_state=seed)  # type: ignore[arg-type]
    centres.fit(scaler.transform(source))

    def nearest(rows: Any) -> pd.DataFrame:
        return pd.DataFrame({"cell": [f"c{code}" for code in centres.predict(scaler.transform(rows)).tolist()]})

    return nearest


def n_cells(n_rows: int, share: Fraction) -> int:
    """Return the number of cells: a cell has 8 standard deviations of its noise in rows, twice EXPRIL's rule for bins.

    The factor was chosen on runs 1000 to 1009 of CTG-A and 1000 to 1003 of the other problems, which are not reported.
    """
    return n_bins(n_rows / 2, lambda bins: float(1 / share), np.inf)  # noqa: ARG005 -- discrete Laplace noise


def smoothed(state: Rounds, rows: Any) -> Integers:
    """Return the class of rows by regression on the noisy counts of the first answer, without a network.

    The signs of labels are ±1. Their mean at a row is a Gaussian process with a squared exponential kernel on the
    standardised columns; the difference of the two counts of a cell is the sum over its rows, plus the variance of
    signs and the known variance of the noise. Length and deviation are the most probable of few candidates given the
    counts. It uses released counts and public rows only, and therefore costs no privacy.
    """
    asked = state.questions[0]
    scaler: Any = StandardScaler().fit(state.problem.source)
    answer: Any = asked.answer
    used = asked.matrix.any(axis=1)
    sums = csr_array(asked.matrix[used] * state.weights * answer.n_rows)
    difference = (answer.right - answer.wrong).astype(np.float64)[used]
    mean = float(np.clip(difference.sum() / answer.n_rows, -LARGEST_MEAN, LARGEST_MEAN))
    residual, sizes = difference - mean * sums.sum(axis=1), sums.sum(axis=1)
    from_source = (sums * sums).sum(axis=1)  # the source rows of a cell are a sample, too
    variance = np.diag((1 - mean**2) * (sizes + from_source) + 2 * answer.noise.by_bin[used])
    points = scaler.transform(state.problem.source).astype(np.float64)
    unit = float(np.median(pdist(points[:SOME])))
    best, chosen = -np.inf, (np.empty(0), 1.0, 1.0)
    for length in LENGTHS:
        along = sums @ _kernel(points, points, length * unit)
        gram = sums @ along.T
        for deviation in DEVIATIONS:
            covariance = variance + deviation**2 * gram
            evidence = log_evidence(residual, covariance)
            if evidence > best:
                best, chosen = evidence, (np.linalg.solve(covariance, residual), length, deviation)
    solution, length, deviation = chosen
    kernel = _kernel(scaler.transform(rows).astype(np.float64), points, length * unit)
    return (mean + deviation**2 * kernel @ (sums.T @ solution) >= 0).astype(np.int64)


def _kernel(first: Floats, second: Floats, length: float) -> Floats:
    return np.exp(-cdist(first, second, "sqeuclidean") / (2 * length**2))


def accuracies(name: str, run: int, names: Sequence[str]) -> dict[str, float]:
    """Return the test accuracy of variants on a newly drawn problem; each has ε = 1 in total, except *first of two*."""
    made, result = problem(name, run), dict[str, float]()
    for variant, state in variants(Rounds(made, name, run), names):
        result[variant] = state.accuracy
        if variant == "cells":
            is_right = smoothed(state, made.test) == made.test_labels
            result["cells, smoothed"] = float(np.mean(is_right))
    oracle = hr.Oracle(made.target, made.target_labels, hr.Budget(EPSILON), 1, random_state=run)
    scorecard = hr.MarginalLogisticClassifier(reweight=PROBLEMS[name].reweight).fit(made.source, oracle=oracle)
    result["scorecard"] = float(np.mean(scorecard.predict(made.test) == made.test_labels))
    return result


def variants(start: Rounds, names: Sequence[str]) -> Iterator[tuple[str, Rounds]]:
    """Yield the variants with these names, each with its last state."""
    source, seed, n_rows = start.problem.source, start.seed, len(start.problem.target)
    every, number = columns(range(source.shape[1])), max(2, ceil(source.shape[1] / SHARE))
    halved = cache(lambda: start.then(every, HALF, equal_bins))
    coarse = cache(lambda: start.then(cells(source, n_cells(n_rows, HALF), seed), HALF, cell_bins))
    made: dict[str, Callable[[], Rounds]] = {
        "first of two": halved,
        "two questions": lambda: halved().then(every, HALF, equal_bins),
        "columns by errors": lambda: halved().then(columns(by_information(halved(), number)), HALF, equal_bins),
        "bins by errors": lambda: halved().then(every, HALF, bins_by_errors),
        "score": lambda: halved().then(score(halved()), HALF, equal_bins),
        "one question": lambda: start.then(every, WHOLE, equal_bins),
        "columns by source": lambda: start.then(columns(representative_columns(source, number)), WHOLE, equal_bins),
        "components": lambda: start.then(components(source, number), WHOLE, equal_bins),
        "projections": lambda: start.then(projections(source, PROJECTIONS, seed), WHOLE, equal_bins),
        "cells": lambda: start.then(cells(source, n_cells(n_rows, WHOLE), seed), WHOLE, cell_bins),
        "cells and score": lambda: coarse().then(score(coarse()), HALF, equal_bins),
    }
    for name in names:
        yield name, made[name]()


def append(file: Path, name: str, run: int, result: Mapping[str, float]) -> None:
    """Append the accuracies of a run to a CSV file; variants that were not measured are empty."""
    is_new = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, ["problem", "run", *MEASURED], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow({"problem": name, "run": run} | {key: f"{value:.4f}" for key, value in result.items()})


def variants_of(name: str, run: int) -> Sequence[str]:
    """Return the variants that are measured in a run: all on CTG-A and in the first runs of the other problems."""
    return VARIANTS if name == MAIN or run < FULL_RUNS else tuple(dict.fromkeys((*SECOND, today(name), "cells")))


def today(name: str) -> str:
    """Return the better form of today's classifier by earlier runs (docs/studies/expril.md)."""
    return "two questions" if name in FEW_COLUMNS else "one question"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the runs that the file does not have, and append each when it is complete."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--problems", nargs="+", default=REPORTED, choices=PROBLEMS)
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    done = set[tuple[str, int]]()
    if options.output.exists():
        with options.output.open(encoding="utf-8", newline="") as file:
            done = {(row["problem"], int(row["run"])) for row in csv.DictReader(file)}
    missing = [item for item in product(options.problems, range(options.runs)) if item not in done]
    missing.sort(key=itemgetter(1))
    warnings.simplefilter("ignore", OverlapWarning)
    warnings.simplefilter("ignore", SeededNoiseWarning)
    with threadpool_limits(1):
        for name, run in tracked(missing, "adaptive queries", len(missing), verbose=True):
            append(options.output, name, run, accuracies(name, run, variants_of(name, run)))


if __name__ == "__main__":
    main()
