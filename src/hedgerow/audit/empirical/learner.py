"""Repeated runs of a learner on two neighbouring tables, and the outcomes that an empirical audit counts."""

import hashlib
import json
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.parallel import Parallel, delayed

from hedgerow.audit.attack_record import AttackMeasure, AttackResult
from hedgerow.audit.counting.bin_values import Unspecified, values_of_bins
from hedgerow.audit.inference.targets import check_own_budgets, unset_seeds
from hedgerow.boundary.arguments import check_integer, check_probability, check_share
from hedgerow.boundary.arrays import Floats, Mask
from hedgerow.errors import ArgumentError, ArgumentTypeError, SeededNoiseWarning
from hedgerow.models.released import leaf_model, released_model
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument
from hedgerow.text.progress import tracked

_FACTORS = (1.1, 1.3, 2.0)  # the multiples of the claim for which the power is printed


def check_settings(fit: Any, claim: Any, delta: float, confidence: float) -> None:
    check_probability("confidence", confidence)
    check_share("delta", delta)
    if claim is not None and not (isinstance(claim, (int, float)) and 0 < claim < np.inf):
        raise ArgumentError(f"claim must be a number > 0 or None, got {describe_argument(claim)}.")
    if isinstance(fit, type) or not (callable(fit) or hasattr(fit, "fit")):
        raise ArgumentTypeError(f"fit must be an estimator or a function of (X, y), got {type(fit).__name__}.")
    check_own_budgets(fit, fit)


def learner_name(fit: Any) -> str:
    return str(fit) if hasattr(fit, "fit") else getattr(fit, "__name__", type(fit).__name__)


def output_of(fit: Any, X: Any, y: Any, seed: int | None = None) -> Any:
    """Run a learner once; a seed is assigned to all parameters of an estimator that are named ``random_state``."""
    if not hasattr(fit, "fit"):
        return fit(X, y)
    estimator: Any = clone(fit) if isinstance(fit, BaseEstimator) else fit
    if seed is None or not isinstance(fit, BaseEstimator):
        return estimator.fit(X, y)
    estimator.set_params(**dict.fromkeys(unset_seeds(estimator), seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)  # the model itself is not released
        return estimator.fit(X, y)


@dataclass(frozen=True, repr=False)
class LossBound(AttackResult):
    """Lower bound on a learner's privacy loss; `EmpiricalEpsilon` documents the fields."""

    learner: str
    epsilon: float
    mu: float
    delta: float
    confidence: float
    claim: float | None

    def _measures(self) -> Iterator[AttackMeasure]:
        yield AttackMeasure("epsilon", self.epsilon, low=self.epsilon, confidence=self.confidence)
        yield AttackMeasure("mu", self.mu, low=self.mu, confidence=self.confidence)

    @property
    def refutes(self) -> bool:
        """Whether the bound refutes the claim; `ValueError` without a claim."""
        return self.epsilon > self._claim

    @abstractmethod
    def power(self, factor: float) -> float:
        """Return the power of the same amount of evidence against a true loss of `factor` > 1 times the claim."""

    @property
    @abstractmethod
    def _evidence(self) -> str:
        """The counts that the bound follows from, as a line."""

    @property
    def _claim(self) -> float:
        if self.claim is None:
            raise ArgumentError("the audit has no claim to compare with; pass claim to the audit.")
        return self.claim

    def _multiple_of_claim(self, factor: float) -> float:
        if not factor > 1:
            raise ArgumentError(f"factor must be a number > 1, got {describe_argument(factor)}.")
        return factor * self._claim

    def __str__(self) -> str:
        lines = [
            f"learner     {self.learner}",
            f"epsilon     at least {self.epsilon:.4g} for delta = {self.delta:g}, with {100 * self.confidence:g} % "
            "confidence",
            f"Gaussian    mu at least {self.mu:.4g}",
            self._evidence,
        ]
        if self.claim is not None:
            verdict = "refuted" if self.refutes else "not refuted, which does not confirm it"
            powers = ", ".join(f"{self.power(x):.2f} if {self.claim * x:g}" for x in _FACTORS)
            lines += [
                f"claim       epsilon = {self.claim:g}: {verdict}",
                f"power       probability to refute the claim, by the true epsilon: {powers}",
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.learner}: at least {self.epsilon:.4g}>"


RunOutcome = str | float | list[float]
Draws = tuple[list[RunOutcome], list[RunOutcome]]
_Table = tuple[pd.DataFrame, pd.Series]
_EXACT = 2**53  # larger whole numbers are compared as text
_BINS = 40  # bins of numbers, at quantiles of the draws on which events are chosen
_LARGEST = 1e30  # bound on the inputs of a random forest, which sums in single precision
_NOT_DRAWN = ("privacy", "digest", "schema", "schema_digest", "format", "version")
_PARTS = 200  # largest number of parts into which the runs are divided, for the file and for progress


def run_part(
    fit: Any,
    tables: tuple[tuple[Any, Any], tuple[Any, Any]],
    reduce: Callable[[Any], RunOutcome],
    side: int,
    places: range,
    seed: int | None,
) -> tuple[int, list[RunOutcome]]:
    """Run a learner on one of two tables, and return the index of the table with the reduced outcomes."""
    return side, [reduce(output_of(fit, *tables[side], _run_seed(seed, side, place))) for place in places]


Runner = Callable[[int, range, int | None], tuple[int, list[RunOutcome]]]  # `run_part` of a learner


def _run_seed(seed: int | None, side: int, place: int) -> int | None:
    return None if seed is None else int(np.random.SeedSequence([seed, side, place]).generate_state(1)[0] >> 1)


@dataclass
class RunCache:
    """Outcomes of finished runs, and the file that stores them, if any: a JSON line for each part. **Private**."""

    path: Path | None
    draws: Draws = field(default_factory=lambda: ([], []))

    @classmethod
    def open(cls, path: Any, settings: dict[str, Any]) -> "RunCache":
        """Return the outcomes that a file stores for these settings; an incomplete last line is dropped."""
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        head = {"hedgerow": "empirical epsilon", "settings": digest}
        cache = cls(None if path is None else Path(path))
        if cache.path is None:
            return cache
        if not cache.path.exists():
            cache.path.touch(0o600, exist_ok=False)
            cache._write(head)
            return cache
        content = cache.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        first, *lines = cache._read(whole)
        if first != head:
            raise cache._problem
        for line in lines:
            if not _is_part(line, cache.draws):
                raise cache._problem
            cache.draws[line["side"]].extend(line["outcomes"])
        if whole != content:  # after the checks above, so that a file of another audit is not changed
            os.truncate(cache.path, len(whole))
        return cache

    def add(self, side: int, outcomes: list[RunOutcome]) -> None:
        start = len(self.draws[side])
        self.draws[side].extend(outcomes)
        if self.path is not None:
            self._write({"side": side, "start": start, "outcomes": outcomes})

    @property
    def _problem(self) -> ArgumentError:
        problem = f"{self.path} does not contain runs of this learner, with these settings, on these tables"
        return ArgumentError(f"{problem}; pass the path of another file.")

    def _write(self, line: dict[str, Any]) -> None:
        assert self.path is not None
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, content: bytes) -> list[dict[str, Any]]:
        try:
            lines = [json.loads(line) for line in content.splitlines()]
        except ValueError:
            raise self._problem from None
        if not lines or not all(isinstance(line, dict) for line in lines):
            raise self._problem
        return lines


def _is_part(line: dict[str, Any], draws: Draws) -> bool:
    """Return whether a line is the next part of its table; two processes may have written the same part twice."""
    if set(line) != {"side", "start", "outcomes"} or line["side"] not in (0, 1) or not isinstance(line["side"], int):
        return False
    if line["start"] != len(draws[line["side"]]) or not isinstance(line["outcomes"], list):
        return False
    return all(_is_outcome(outcome) for outcome in line["outcomes"])


def _is_outcome(value: Any) -> bool:
    if isinstance(value, list):
        return all(type(item) in (int, float) and np.isfinite(float(item)) for item in cast("list[Any]", value))
    return isinstance(value, str) or (type(value) in (int, float) and bool(np.isfinite(float(value))))


def run(runner: Runner, cache: RunCache, runs: int, seed: int | None, n_jobs: int | None, *, verbose: bool) -> Draws:
    size, done = max(1, -(-runs // _PARTS)), [len(side) for side in cache.draws]
    parts = [
        (side, range(at, min(at + size, runs)), seed)
        for step in range(0, runs, size)
        for side in (0, 1)
        if (at := done[side] + step) < runs
    ]
    results = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(runner)(*part) for part in parts)
    for side, outcomes in tracked(results, "empirical epsilon", len(parts), verbose=verbose):
        cache.add(side, outcomes)
    return cache.draws[0][:runs], cache.draws[1][:runs]


def outcome_of(result: Any, rows: Any) -> RunOutcome:
    """Return a fit's outcome: a number or array, a model's content, or its predictions for `rows`."""
    model = released_model(result)
    if model is not None and model.leaves:
        tree = leaf_model(model)
        if tree.leaf_release.is_complete:
            return _vector(np.array(tree.leaf_release.numbers, dtype=np.float64)[tree.apply(rows)])
        content = tree.to_dict()
        return json.dumps({key: content[key] for key in content if key not in _NOT_DRAWN}, sort_keys=True)
    if hasattr(result, "predict_proba"):
        return _vector(result.predict_proba(rows))
    if hasattr(result, "predict"):
        return str(np.asarray(result.predict(rows)).tolist())
    return _of_value(result)


def _of_value(value: Any) -> RunOutcome:
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biuf":
        return repr(value.tolist())
    if isinstance(value, (float, np.floating, np.ndarray)):
        vector = _vector(value)
        return vector[0] if isinstance(value, (float, np.floating)) else vector
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and abs(int(value)) < _EXACT:
        return float(value)
    if isinstance(value, Hashable):
        return repr(value)
    problem = f"fit must return a model, a number, an array or a hashable value, got {type(value).__name__}"
    raise ArgumentTypeError(f"{problem}; pass a function as outcome that reduces the result.")


def _vector(values: Any) -> list[float]:
    return np.nan_to_num(np.asarray(values, dtype=np.float64).ravel(), nan=0.0).tolist()


Outcomes = Sequence[Hashable]  # outcomes of the runs on one table


def reduced(first: Draws, rest: Draws) -> tuple[tuple[Outcomes, Outcomes], tuple[Outcomes, Outcomes]]:
    """Return outcomes reduced to finitely many values, for both tables: the first and the remaining draws."""
    # The reduction is learned from the first draws alone. Texts stay unchanged. Numbers fall into bins with about equal
    # numbers of draws; vectors are first replaced by the score of a random forest that separates the tables.
    chosen_on, counted_on = [*first[0], *first[1]], [*rest[0], *rest[1]]
    cut, end = len(first[0]), len(rest[0])
    chosen_on, counted_on = _discrete(chosen_on, counted_on, cut)
    return (chosen_on[:cut], chosen_on[cut:]), (counted_on[:end], counted_on[end:])


def _discrete(first: list[RunOutcome], rest: list[RunOutcome], cut: int) -> tuple[list[Hashable], list[Hashable]]:
    """Return outcomes as text if any first draw is text, else as bins; texts among later draws stay unchanged."""
    if any(isinstance(outcome, str) for outcome in first):
        return list(map(str, first)), list(map(str, rest))
    first_bins, rest_bins = _binned(first, [outcome for outcome in rest if not isinstance(outcome, str)], cut)
    bins = iter(rest_bins)
    return list(first_bins), [outcome if isinstance(outcome, str) else next(bins) for outcome in rest]


def _binned(first: list[RunOutcome], rest: list[RunOutcome], cut: int) -> tuple[list[int], list[int]]:
    lines = [outcome if isinstance(outcome, list) else [outcome] for outcome in (*first, *rest)]
    lengths = sorted({len(line) for line in lines})
    if len(lengths) > 1:
        problem = f"all outcomes must have the same length, got lengths from {lengths[0]:,} to {lengths[-1]:,}"
        raise ArgumentError(f"{problem}; pass a function as outcome that reduces them.")
    vectors = np.array(lines, dtype=np.float64)
    if vectors.shape[1] == 0:
        return [0] * len(first), [0] * len(rest)
    train, test = vectors[: len(first)], vectors[len(first) :]
    if vectors.shape[1] > 1:
        train, test = _scores(train, test, np.arange(len(train)) >= cut)
    levels = np.unique(train)
    edges = levels[1:] if len(levels) <= _BINS else np.unique(np.quantile(train, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return tuple(np.searchsorted(edges, part.ravel(), side="right").tolist() for part in (train, test))


def _scores(train: Floats, test: Floats, is_neighbour: Mask) -> tuple[Floats, Floats]:
    """Return a random forest's probability that each vector came from the neighbour, out of bag for `train`."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(200, min_samples_leaf=5, oob_score=True, random_state=0, n_jobs=1)
    train, test = (np.clip(part, -_LARGEST, _LARGEST) for part in (train, test))
    forest.fit(train, is_neighbour)
    out_of_bag, predicted = np.asarray(forest.oob_decision_function_), np.asarray(forest.predict_proba(test))
    return np.nan_to_num(out_of_bag[:, 1], nan=0.5), predicted[:, 1]


def worst_neighbours(schema: Schema, rows: int = 20) -> dict[str, tuple[_Table, _Table]]:
    """Return pairs of neighbouring tables; each pair is revealing for some learners.

    The second table of a pair has one more row than the first. All rows lie at an end of the domain. A row at the low
    end is in the first bin of every attribute and has the first class, or level of a number. A row at the high end is
    in the last bins and has the last class or level. The names are "one row" (an empty table, and one row), "a row in
    an empty bin", "a row in a full bin", "the first of its class", "a duplicate of all", "a row far out" and "even
    classes". The pair "even classes" has equal numbers of rows of two classes in one bin, and one more row.

    Parameters
    ----------
    schema : Schema
        The public schema, with a label; `TypeError` for other types.
    rows : int, default=20
        Number of rows of the larger tables; `ValueError` if below 2.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"age": hr.Integer(0, 99, (30, 60))}, hr.Label("ill", (False, True)))
    >>> (X, y), (X_more, y_more) = worst_neighbours(schema)["a row far out"]
    >>> len(X_more) - len(X), int(X["age"].max()), int(X_more["age"].max())
    (1, 0, 99)
    """
    if not isinstance(schema, Schema):
        raise ArgumentTypeError(f"schema must be a Schema, got {type(schema).__name__}.")
    check_integer("rows", rows, 2)
    plain, odd = (_row(schema, end) for end in (0, -1))
    first, last = schema.target.values[0], schema.target.values[-1]
    mixed = [first, last] * (rows // 2)
    cases: dict[str, tuple[list[dict[str, Any]], list[Any], dict[str, Any], Any]] = {
        "one row": ([], [], odd, last),
        "a row in an empty bin": ([plain] * (2 * (rows // 2)), mixed, odd, last),
        "a row in a full bin": ([plain] * rows, [first] * rows, plain, last),
        "the first of its class": ([plain, odd] * (rows // 2), [first] * (2 * (rows // 2)), odd, last),
        "a duplicate of all": ([plain] * rows, [first] * rows, plain, first),
        "a row far out": ([plain] * rows, [first] * rows, odd, last),
        "even classes": ([plain] * (2 * (rows // 2)), mixed, plain, last),
    }
    return {name: _pair(schema, *case) for name, case in cases.items()}


def _row(schema: Schema, end: int) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, attribute in schema.attributes:
        known = [
            values for values in values_of_bins(attribute) if len(values) and not isinstance(values[0], Unspecified)
        ]
        value = known[end][end]
        row[name] = (value.left if end == 0 else value.right) if isinstance(value, pd.Interval) else value
    return row


def _pair(schema: Schema, rows: list[dict[str, Any]], labels: list[Any], row: dict[str, Any], label: Any) -> Any:
    assert schema.label is not None
    whole = pd.DataFrame([*rows, row], columns=list(schema.names))
    y = pd.Series([*labels[: len(rows)], label], name=schema.label.name)
    return (whole.iloc[:-1], y.iloc[:-1]), (whole, y)
