"""Every attack on every model over random halves of German Credit, COMPAS and Adult.

`python -m studies.label_only.study` writes docs/studies/label-only/*.csv; words after it name tables to measure.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import Attempt, LabelOnlyAttack, RandomForestAttack, ShadowMembership, exact_membership
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.inference.targets import Shadows, confidence
from hedgerow.audit.readers.read import paths_of
from hedgerow.boundary.arrays import Array, Floats, Index, Mask
from hedgerow.schema.numbers import Numeric
from hedgerow.text.progress import tracked
from studies.label_only.attacks import Noise, Predict, Walk
from studies.label_only.boundary import Regions
from studies.label_only.domain import LABEL, Domain, Rows, load
from studies.results import write_csv

FOLDER = Path(__file__).parents[2] / "docs" / "studies" / "label-only"
TABLES = ("german", "compas", "adult")
ROWS = 1000
SPLITS = 12
RATES = (0.001, 0.01, 0.1)
FOLDS = 3
TREES = 10
"""Trees of the attacked forest, and of the forest that attacks (prediction, label), which take four values."""
LEARNED_TREES = 50
KNOWN = 0.7
OPTIMAL, GREEDY, SMOOTH = "optimal tree", "GreedyRL", "smooth-laplace, ε = 10"
CART, FULL, FOREST = "CART, depth 3", "CART, fully grown", "random forest"
PRIVATE: Mapping[str, float] = {"private tree, ε = 10": 10.0, "private tree, ε = 1": 1.0}
MODELS = (CART, OPTIMAL, GREEDY, SMOOTH, *PRIVATE, FULL, FOREST)


def learner(model: str, table: str, schema: hr.Schema, n_rows: int, seed: int) -> Any:
    """Return the unfitted estimator; settings of lists as in SSRL."""
    if model in PRIVATE:
        return hr.PrivateTreeClassifier(PRIVATE[model], max_depth=2, schema=schema, random_state=seed)
    if model == SMOOTH:
        published: dict[str, Any] = {"mechanism": "smooth-laplace", "confidence": 0.99, "delta": Fraction(1, n_rows**2)}
        least = 0.12 if table == "german" else 0.05
        return hr.DPGreedyRLClassifier(
            10.0, max_rules=5, min_remaining=least, schema=schema, random_state=seed, **published
        )
    makers: Mapping[str, Callable[[], Any]] = {
        CART: lambda: DecisionTreeClassifier(max_depth=3, random_state=seed),
        FULL: lambda: DecisionTreeClassifier(random_state=seed),
        FOREST: lambda: RandomForestClassifier(TREES, random_state=seed),
        OPTIMAL: lambda: hr.OptimalTreeClassifier(max_depth=3, schema=schema),
        GREEDY: lambda: hr.GreedyRuleListClassifier(max_rules=5, min_support=0.05, schema=schema),
    }
    return makers[model]()


def models(table: str) -> tuple[str, ...]:
    """Return the models of a table: the forest is attacked on the smallest only."""
    return MODELS if table == "german" else tuple(model for model in MODELS if model != FOREST)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, the rows with a mark for its training rows, and the numbers of labels that it was asked for."""

    model: Any
    rows: Rows
    member: Mask
    queries: list[int]

    def predict(self, values: Floats) -> Array:
        self.queries.append(len(values))
        return np.asarray(self.model.predict(values))

    def attempt(self, table: Any, predict: Predict, rng: np.random.Generator, schema: hr.Schema | None) -> Attempt:
        """Return the knowledge of an attack of the package, which draws values from known rows and scores all rows."""
        members, others = (rng.permutation(np.flatnonzero(side)) for side in (self.member, ~self.member))
        members, others = (part[: int(KNOWN * len(part))] for part in (members, others))
        rows = LabelledRows.of(table, self.rows.classes)
        return Attempt(rows, predict, predict(table), members, others, np.arange(len(self.rows)), schema, rng)


Line = dict[str, Any]
Signal = Callable[[Fit, np.random.Generator], Floats]


def by_forest(fit: Fit, rng: np.random.Generator) -> Floats:
    """Score each third of the rows by a random forest on (prediction, label) that knows the membership of the rest."""
    values = fit.rows.values
    labelled, predictions = LabelledRows.of(values, fit.rows.classes), fit.predict(values)

    def scores(members: Index, others: Index, suspects: Index) -> Floats:
        attempt = Attempt(labelled, fit.predict, predictions, members, others, suspects, None, rng)
        return RandomForestAttack(TREES).scores(attempt)

    return _in_thirds(fit, rng, scores)


def by_learning(fit: Fit, signals: Mapping[str, Floats], rng: np.random.Generator) -> Floats:
    """Score as `by_forest`, by a forest that also sees the share of noise and the distance of the walk."""
    predictions = fit.predict(fit.rows.values)
    features = np.column_stack([predictions, fit.rows.classes, signals["noise"], signals["walk"]])

    def scores(members: Index, others: Index, suspects: Index) -> Floats:
        known, member = np.concatenate([members, others]), np.repeat([1, 0], [len(members), len(others)])
        seed = int(rng.integers(2**31))
        forest = RandomForestClassifier(LEARNED_TREES, min_samples_leaf=20, random_state=seed)
        return forest.fit(features[known], member).predict_proba(features[suspects])[:, 1]

    return _in_thirds(fit, rng, scores)


def _in_thirds(fit: Fit, rng: np.random.Generator, scores: Callable[[Index, Index, Index], Floats]) -> Floats:
    result, folds = np.empty(len(fit.rows)), rng.integers(0, FOLDS, len(fit.rows))
    for fold in range(FOLDS):
        members, others = (np.flatnonzero((folds != fold) & side) for side in (fit.member, ~fit.member))
        suspects = np.flatnonzero(folds == fold)
        result[suspects] = scores(members, others, suspects)
    return result


def by_bits(fit: Fit, rng: np.random.Generator) -> Floats:
    """Flip columns of 0 and 1, as SSRL did: most flipped rows encode no row of raw values."""
    bits, predict = binary(fit.model, fit.rows)
    attempt = fit.attempt(bits, predict, rng, None)
    return LabelOnlyAttack().robustness(attempt, attempt.suspects)


def by_bins(fit: Fit, rng: np.random.Generator) -> Floats:
    """Replace attributes by values of other bins of the schema, as the package does."""
    attempt = fit.attempt(fit.rows.values, fit.predict, rng, fit.rows.domain.schema)
    return LabelOnlyAttack().robustness(attempt, attempt.suspects)


def by_raw(attack: Noise | Walk, fit: Fit, rng: np.random.Generator) -> Floats:
    return attack.scores(fit.predict, fit.rows.domain, fit.rows.values, fit.rows.classes, rng)


def by_file(fit: Fit, rng: np.random.Generator) -> Floats:  # noqa: ARG001 -- nothing is drawn
    """Return the exact distance to the boundary, read from the model; 0 for misclassified rows."""
    values, regions = fit.rows.values, Regions.of(fit.model, fit.rows.domain)
    return shares(np.where(fit.predict(values) == fit.rows.classes, regions.distances(values), 0.0))


def by_label(fit: Fit, rng: np.random.Generator) -> Floats:  # noqa: ARG001 -- nothing is drawn
    return (fit.predict(fit.rows.values) == fit.rows.classes) * 1.0


def by_probability(fit: Fit, rng: np.random.Generator) -> Floats:  # noqa: ARG001 -- nothing is drawn
    return confidence(fit.model, LabelledRows.of(fit.rows.values, fit.rows.classes))


SIGNALS: Mapping[str, Signal] = {
    "forest": by_forest,
    "label": by_label,
    "bits": by_bits,
    "bins": by_bins,
    "noise": partial(by_raw, Noise()),
    "walk": lambda fit, rng: shares(by_raw(Walk(), fit, rng)),
    "file": by_file,
    "probability": by_probability,
}
GRADED = ("noise", "walk", "file")
"""Signals that are positive for correctly classified rows, and 0 for misclassified rows."""
CALIBRATED = ("label", "bins", "noise", "walk", "file", "probability")
"""Signals that are also compared with the signals of shadow models, row by row."""


def signals_of(model: str) -> tuple[str, ...]:
    """Return the signals that are defined for a model."""
    left_out = {FOREST: {"bits", "file"}, CART: {"bits"}, FULL: {"bits"}}.get(model, set())
    return tuple(name for name in SIGNALS if name not in left_out)


def binary(model: Any, rows: Rows) -> tuple[Array, Predict]:
    """Return a column for each cut point and each category, and the model as a function of such columns."""
    schema, codes = rows.domain.schema, rows.domain.schema.encode(LabelledRows.of(rows.values, rows.classes).table)
    columns: list[Mask] = []
    first: dict[str, int] = {}
    for name, attribute in schema.attributes:
        first[name] = len(columns)
        if isinstance(attribute, Numeric):
            columns += [codes[name] <= place for place in range(len(attribute.cuts))]
        else:
            columns += [codes[name] == code for code in range(attribute.n_bins)]
    paths, _ = paths_of(model)
    labels = np.array(paths.predictions)

    def holds(literal: Any, bits: Array) -> Mask:
        attribute, column = schema[literal.attribute], first[literal.attribute]
        truth = attribute.truth(literal)
        if not isinstance(attribute, Numeric):
            codes, inverted = (np.flatnonzero(truth), False), (np.flatnonzero(~truth), True)
            chosen, is_not = min(codes, inverted, key=lambda side: len(side[0]))
            return bits[:, column + chosen].any(axis=1) != is_not
        bins, result = np.flatnonzero(truth), np.ones(len(bits), dtype=bool)
        if bins[-1] < len(attribute.cuts):
            result &= bits[:, column + bins[-1]] == 1
        return result & (bits[:, column + bins[0] - 1] == 0) if bins[0] > 0 else result

    def predict(bits: Array) -> Array:
        result, waiting = np.full(len(bits), labels[-1]), np.ones(len(bits), dtype=bool)
        for path, label in zip(paths.paths, labels, strict=True):
            inside = waiting.copy()
            for literal, is_true in path:
                inside &= holds(literal, bits) == is_true
            result[inside], waiting = label, waiting & ~inside
        return result

    return np.column_stack(columns).astype(np.int8), predict


@dataclass(frozen=True)
class Threshold:
    """The signal itself as the score, compared with one threshold for all rows, as the paper of the attack does."""

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        return shadows.inside, shadows.outside


def shares(distances: Floats) -> Floats:
    """Return d/(1 + d), which is between 0 and 1 as `Shadows` expects; its logit is the logarithm of d."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(distances), 1.0, distances / (1 + distances))


@dataclass(frozen=True, eq=False)
class Attacked:
    """The signals of all rows for the fits on both halves of a split, and what describes the two models."""

    first: Mask
    signals: tuple[Mapping[str, Floats], Mapping[str, Floats]]
    described: tuple[Mapping[str, float], Mapping[str, float]]


def measure(table: str, model: str, splits: int = SPLITS, most: int = ROWS) -> tuple[list[Line], Line]:
    """Return a line for each attack on a model, and a line that describes the model and the walk."""
    rows = load(table, most)
    attacked = [_split(rows, table, model, rng) for rng in np.random.default_rng(1).spawn(splits)]
    lines = [line for name in attacked[0].signals[0] for line in _lines(name, attacked)]
    described = [item for split in attacked for item in split.described]
    summary: Line = {name: np.mean([item[name] for item in described]) for name in described[0]}
    if model in PRIVATE:
        target = learner(model, table, rows.domain.schema, 0, 0)
        summary["exact advantage"] = np.mean([_advantage(target, rows, split.first) for split in attacked])
    names = {"table": table, "model": model}
    return [names | line for line in lines], names | {"rows": len(rows), "splits": splits} | summary


def _split(rows: Rows, table: str, model: str, rng: np.random.Generator) -> Attacked:
    first, signals, described = rng.integers(2, size=len(rows)) == 1, list[Any](), list[Any]()
    for member in (first, ~first):
        estimator = learner(model, table, rows.domain.schema, int(member.sum()), int(rng.integers(2**31)))
        fit = Fit(estimator.fit(rows.values[member], rows.classes[member]), rows, member, [])
        scores, queries = dict[str, Floats](), dict[str, float]()
        for name in signals_of(model):
            fit.queries.clear()
            scores[name] = SIGNALS[name](fit, rng)
            queries[name] = sum(fit.queries) / len(rows)
        described.append(_described(fit, scores) | {f"queries, {name}": queries[name] for name in ("noise", "walk")})
        signals.append(scores | {"learned": by_learning(fit, scores, rng)})
    return Attacked(first, tuple(signals), tuple(described))


def _described(fit: Fit, scores: Mapping[str, Floats]) -> dict[str, float]:
    right = fit.predict(fit.rows.values) == fit.rows.classes
    result = {"right inside": right[fit.member].mean(), "right outside": right[~fit.member].mean()}
    if "file" in scores:
        result["walk is exact"] = np.isclose(scores["walk"], scores["file"])[right].mean()
    return result


def _advantage(target: Any, rows: Rows, first: Mask) -> Floats:
    own, others = ((rows.values[side], rows.classes[side]) for side in (first, ~first))
    return exact_membership(target, *own, others=others).advantage


def _lines(name: str, attacked: Sequence[Attacked]) -> Iterator[Line]:
    of_first, of_second = (np.array([split.signals[side][name] for split in attacked]) for side in (0, 1))
    first = np.array([split.first for split in attacked])
    raw = Shadows(np.where(first, of_first, of_second), np.where(first, of_second, of_first), first)
    if name != "probability":
        result = ShadowMembership.of("", Threshold(), raw)
        right = {} if name not in GRADED else {"auc of right rows": auc_of_right_rows(raw)}
        yield {"attack": name, **_measured(result), **threshold_accuracy(raw), **right}
    if name in CALIBRATED:
        for kind in ("offline", "online"):
            yield {"attack": f"{name}, {kind}", **_measured(ShadowMembership.of("", kind, raw))}


def auc_of_right_rows(shadows: Shadows) -> float:
    """Return the area under the curve for correctly classified rows only, whose signals are positive."""
    members, others = (side[side > 0] for side in (shadows.inside, shadows.outside))
    return _area(members, others)


def _area(members: Array, others: Array) -> float:
    truth = np.repeat([1, 0], [len(members), len(others)])
    return float(roc_auc_score(truth, np.concatenate([members, others])))


def _measured(result: ShadowMembership) -> Line:
    line: Line = {"auc": result.auc, "auc se": result.auc_standard_error, "splits": result.repeats}
    for rate in RATES:
        low, high = result.tpr_interval(rate)
        line |= {f"tpr {rate:g}": result.tpr_at(rate), f"tpr {rate:g} low": low, f"tpr {rate:g} high": high}
    return line


def threshold_accuracy(shadows: Shadows) -> dict[str, float]:
    """Return the accuracy of the attack with the threshold that is best on the shadow models of all other splits."""
    inside, outside, results = shadows.inside, shadows.outside, list[float]()
    for split in range(len(inside)):
        members, others = (np.sort(np.delete(side, split, axis=0).ravel()) for side in (inside, outside))
        thresholds = np.unique(np.concatenate([members, others, [np.inf]]))
        gain = np.searchsorted(others, thresholds) - np.searchsorted(members, thresholds)
        least = thresholds[gain.argmax()]
        results.append(((inside[split] >= least).mean() + (outside[split] < least).mean()) / 2)
    mean, error = np.mean(results), np.std(results, ddof=1) / len(results) ** 0.5
    return {"accuracy": float(mean), "accuracy se": float(error)}


def example() -> Line:
    """Return the areas over all training sets of seven rows on a line. The middle row has the rarer class.

    A tree gives the middle row a leaf of its own if it is a member. Then it is right, but next to the boundary.
    """
    values, classes = np.arange(7.0)[:, None], (np.arange(7) == 3).astype(int)
    domain = Domain.of(hr.Schema({"x": hr.Integer(0, 6)}, LABEL), values)
    rows, members, others = Rows(values, classes, domain), list[Floats](), list[Floats]()
    for chosen in product((False, True), repeat=len(values)):
        member = np.array(chosen)
        if member.any():
            fit = Fit(DecisionTreeClassifier(random_state=0).fit(values[member], classes[member]), rows, member, [])
            scores = by_file(fit, np.random.default_rng(0))
            members.append(scores[member])
            others.append(scores[~member])
    inside, outside = np.concatenate(members), np.concatenate(others)
    return {
        "auc of right rows": _area(inside[inside > 0], outside[outside > 0]),
        "auc": _area(inside, outside),
        "auc of the label": _area(inside > 0, outside > 0),
    }


def main() -> None:
    """Measure all tables, or those that are named; each model is written when it is done."""
    warnings.simplefilter("ignore", hr.errors.SeededNoiseWarning)
    FOLDER.mkdir(exist_ok=True)
    write_csv(pd.DataFrame([example()]), FOLDER / "example.csv")
    pairs = [(table, model) for table in sys.argv[1:] or TABLES for model in models(table)]
    for table, model in tracked(pairs, "models attacked", len(pairs), verbose=True):
        lines, summary = measure(table, model)
        _replace("attacks", lines)
        _replace("models", [summary])


def _replace(name: str, lines: list[Line]) -> None:
    """Replace the lines of a model in a file, in the order of tables and models."""
    file, key = FOLDER / f"{name}.csv", (lines[0]["table"], lines[0]["model"])
    before = pd.read_csv(file).to_dict("records") if file.exists() else []
    kept = [line for line in before if (line["table"], line["model"]) != key] + lines
    kept.sort(key=lambda line: (TABLES.index(line["table"]), MODELS.index(line["model"])))
    write_csv(pd.DataFrame(kept), file)


if __name__ == "__main__":
    main()
