"""Learners that are audited by their outputs: their runs on neighbouring tables, and lower bounds of what they lose."""

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

_FACTORS = (1.1, 1.3, 2.0)  # how many times its claim a learner loses, where the power is printed


def check_settings(fit: Any, claim: Any, delta: float, confidence: float) -> None:
    check_probability("confidence", confidence)
    check_share("delta", delta)
    if claim is not None and not (isinstance(claim, (int, float)) and 0 < claim < np.inf):
        raise ArgumentError(f"claim must be a number > 0 or None, got {describe_argument(claim)}.")
    if isinstance(fit, type) or not (callable(fit) or hasattr(fit, "fit")):
        raise ArgumentTypeError(f"expected an estimator or a function of (X, y) as fit, got {type(fit).__name__}.")
    check_own_budgets(fit, fit)


def learner_name(fit: Any) -> str:
    return str(fit) if hasattr(fit, "fit") else getattr(fit, "__name__", type(fit).__name__)


def output_of(fit: Any, X: Any, y: Any, seed: int | None = None) -> Any:
    """Run a learner once; a seed is set as each parameter of an estimator named ``random_state`` that is None."""
    if not hasattr(fit, "fit"):
        return fit(X, y)
    estimator: Any = clone(fit) if isinstance(fit, BaseEstimator) else fit
    if seed is None or not isinstance(fit, BaseEstimator):
        return estimator.fit(X, y)
    estimator.set_params(**dict.fromkeys(unset_seeds(estimator), seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)  # nothing is released
        return estimator.fit(X, y)


@dataclass(frozen=True, repr=False)
class LossBound(AttackResult):
    """A lower bound of a learner's privacy loss; `EmpiricalEpsilon` documents the fields."""

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
        """True if the claim is refuted; a `ValueError` if there is none."""
        return self.epsilon > self._claim

    @abstractmethod
    def power(self, factor: float) -> float:
        """Return the chance that as much evidence refutes the claim if the learner loses `factor` times as much."""

    @property
    @abstractmethod
    def _evidence(self) -> str:
        """The counts that the bound follows from, as a line."""

    @property
    def _claim(self) -> float:
        if self.claim is None:
            raise ArgumentError("expected a claim to compare with, got none; pass claim= to the audit.")
        return self.claim

    def _lost(self, factor: float) -> float:
        if not factor > 1:
            raise ArgumentError(f"factor must be a number > 1, got {describe_argument(factor)}.")
        return factor * self._claim

    def __str__(self) -> str:
        lines = [
            f"learner     {self.learner}",
            f"epsilon     {self.epsilon:.4g} or more, at delta = {self.delta:g}, with {100 * self.confidence:g} % "
            "confidence",
            f"Gaussian    mu = {self.mu:.4g} or more",
            self._evidence,
        ]
        if self.claim is not None:
            seen = ", ".join(f"{100 * (factor - 1):g} % wrong: {self.power(factor):.2f}" for factor in _FACTORS)
            lines += [
                f"claim       {self.claim:g}: {'refuted' if self.refutes else 'not refuted'}",
                f"power       the chance to refute it if it were {seen}",
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.learner}: {self.epsilon:.4g} or more>"


RunOutcome = str | float | list[float]
Draws = tuple[list[RunOutcome], list[RunOutcome]]
_Table = tuple[pd.DataFrame, pd.Series]
_EXACT = 2**53  # whole numbers below are numbers, others text
_BINS = 40  # of numbers, by quantiles of the draws that events are chosen on
_LARGEST = 1e30  # that a forest is given: it sums in single precision
_NOT_DRAWN = ("privacy", "digest", "schema", "schema_digest", "format", "version")
_PARTS = 200  # of the runs, at most: each is written, and shown, once


def run_part(
    fit: Any,
    tables: tuple[tuple[Any, Any], tuple[Any, Any]],
    reduce: Callable[[Any], RunOutcome],
    side: int,
    places: range,
    seed: int | None,
) -> tuple[int, list[RunOutcome]]:
    """Run a learner on one of two tables; return which, and the outcomes of the runs, as `reduce` makes them."""
    return side, [reduce(output_of(fit, *tables[side], _own(seed, side, place))) for place in places]


Runner = Callable[[int, range, int | None], tuple[int, list[RunOutcome]]]  # `run_part` of a learner


def _own(seed: int | None, side: int, place: int) -> int | None:
    return None if seed is None else int(np.random.SeedSequence([seed, side, place]).generate_state(1)[0] >> 1)


@dataclass
class RunCache:
    """Outcomes so far, with the file that keeps them, if there is one: JSON, a line a part, **private**."""

    path: Path | None
    draws: Draws = field(default_factory=lambda: ([], []))

    @classmethod
    def open(cls, path: Any, settings: dict[str, Any]) -> "RunCache":
        """Return what a file holds of a run with these settings; a last line without end is dropped."""
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        head = {"hedgerow": "empirical epsilon", "settings": digest}
        kept = cls(None if path is None else Path(path))
        if kept.path is None:
            return kept
        if not kept.path.exists():
            kept.path.touch(0o600, exist_ok=False)
            kept._write(head)
            return kept
        content = kept.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        first, *lines = kept._read(whole)
        if first != head:
            raise kept._problem
        for line in lines:
            if not _is_part(line, kept.draws):
                raise kept._problem
            kept.draws[line["side"]].extend(line["outcomes"])
        if whole != content:  # only of a file of these runs: another one is kept as it is
            os.truncate(kept.path, len(whole))
        return kept

    def add(self, side: int, outcomes: list[RunOutcome]) -> None:
        start = len(self.draws[side])
        self.draws[side].extend(outcomes)
        if self.path is not None:
            self._write({"side": side, "start": start, "outcomes": outcomes})

    @property
    def _problem(self) -> ArgumentError:
        problem = f"{self.path} holds something else, or runs of another learner or of other tables"
        return ArgumentError(f"{problem}; pass another file.")

    def _write(self, line: dict[str, Any]) -> None:
        assert self.path is not None
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, content: bytes) -> list[dict[str, Any]]:
        try:
            found = [json.loads(line) for line in content.splitlines()]
        except ValueError:
            raise self._problem from None
        if not found or not all(isinstance(one, dict) for one in found):
            raise self._problem
        return found


def _is_part(line: dict[str, Any], draws: Draws) -> bool:
    """Return whether a line is the next part of its side: one that two processes wrote would be counted twice."""
    if set(line) != {"side", "start", "outcomes"} or line["side"] not in (0, 1) or not isinstance(line["side"], int):
        return False
    if line["start"] != len(draws[line["side"]]) or not isinstance(line["outcomes"], list):
        return False
    return all(_is_outcome(one) for one in line["outcomes"])


def _is_outcome(found: Any) -> bool:
    if isinstance(found, list):
        return all(type(one) in (int, float) and np.isfinite(float(one)) for one in cast("list[Any]", found))
    return isinstance(found, str) or (type(found) in (int, float) and bool(np.isfinite(float(found))))


def run(runner: Runner, kept: RunCache, runs: int, seed: int | None, n_jobs: int | None, *, verbose: bool) -> Draws:
    size, done = max(1, -(-runs // _PARTS)), [len(side) for side in kept.draws]
    parts = [
        (side, range(at, min(at + size, runs)), seed)
        for step in range(0, runs, size)
        for side in (0, 1)
        if (at := done[side] + step) < runs
    ]
    found = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(runner)(*one) for one in parts)
    for side, outcomes in tracked(found, "empirical epsilon", len(parts), verbose=verbose):
        kept.add(side, outcomes)
    return kept.draws[0][:runs], kept.draws[1][:runs]


def outcome_of(result: Any, rows: Any) -> RunOutcome:
    """Return the outcome of a fit: a model's content or predictions on `rows`; numbers and arrays are themselves."""
    model = released_model(result)
    if model is not None and model.leaves:  # the released numbers of each row's leaf, else its content less the card
        own = leaf_model(model)
        if own.leaf_release.is_complete:
            return _vector(np.array(own.leaf_release.numbers, dtype=np.float64)[own.apply(rows)])
        whole = own.to_dict()
        return json.dumps({key: whole[key] for key in whole if key not in _NOT_DRAWN}, sort_keys=True)
    if hasattr(result, "predict_proba"):
        return _vector(result.predict_proba(rows))
    if hasattr(result, "predict"):
        return str(np.asarray(result.predict(rows)).tolist())
    return _of_value(result)


def _of_value(value: Any) -> RunOutcome:
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biuf":
        return repr(value.tolist())
    if isinstance(value, (float, np.floating, np.ndarray)):
        found = _vector(value)
        return found[0] if isinstance(value, (float, np.floating)) else found
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and abs(int(value)) < _EXACT:
        return float(value)
    if isinstance(value, Hashable):
        return repr(value)
    problem = f"expected a model, a number, an array or a hashable value from fit, got {type(value).__name__}"
    raise ArgumentTypeError(f"{problem}; pass outcome= to reduce it to one of these.")


def _vector(values: Any) -> list[float]:
    return np.nan_to_num(np.asarray(values, dtype=np.float64).ravel(), nan=0.0).tolist()


Outcomes = Sequence[Hashable]  # of runs on one table


def reduced(first: Draws, rest: Draws) -> tuple[tuple[Outcomes, Outcomes], tuple[Outcomes, Outcomes]]:
    """Return outcomes reduced to finitely many: those that an event is chosen on, and those that it is counted on."""
    # The reduction is learned on the first ones alone. Texts stay as they are. Numbers fall into bins of about as many
    # draws each; of vectors, the score of a random forest that separates the tables does.
    both, others = [*first[0], *first[1]], [*rest[0], *rest[1]]
    cut, end = len(first[0]), len(rest[0])
    one, other = _compared(both, others, cut)
    return (one[:cut], one[cut:]), (other[:end], other[end:])


def _compared(first: list[RunOutcome], rest: list[RunOutcome], cut: int) -> tuple[list[Hashable], list[Hashable]]:
    """Return outcomes as text if a first one is; else as bins, and a text among the others, never seen, as itself."""
    if any(isinstance(one, str) for one in first):
        return list(map(str, first)), list(map(str, rest))
    seen, unseen = _binned(first, [one for one in rest if not isinstance(one, str)], cut)
    bins = iter(unseen)
    return list(seen), [one if isinstance(one, str) else next(bins) for one in rest]


def _binned(first: list[RunOutcome], rest: list[RunOutcome], cut: int) -> tuple[list[int], list[int]]:
    lines = [one if isinstance(one, list) else [one] for one in (*first, *rest)]
    if len({len(line) for line in lines}) > 1:
        raise ArgumentError("expected outcomes of the same length, got several; pass outcome= to reduce them.")
    vectors = np.array(lines, dtype=np.float64)
    if vectors.shape[1] == 0:
        return [0] * len(first), [0] * len(rest)
    seen, unseen = vectors[: len(first)], vectors[len(first) :]
    if vectors.shape[1] > 1:
        seen, unseen = _scores(seen, unseen, np.arange(len(seen)) >= cut)
    levels = np.unique(seen)
    edges = levels[1:] if len(levels) <= _BINS else np.unique(np.quantile(seen, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return tuple(np.searchsorted(edges, part.ravel(), side="right").tolist() for part in (seen, unseen))


def _scores(seen: Floats, unseen: Floats, is_neighbour: Mask) -> tuple[Floats, Floats]:
    """Return how much each vector looks as if it came from the neighbour: of those learned from, out of bag."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(200, min_samples_leaf=5, oob_score=True, random_state=0, n_jobs=1)
    seen, unseen = (np.clip(part, -_LARGEST, _LARGEST) for part in (seen, unseen))
    forest.fit(seen, is_neighbour)
    out_of_bag, others = (np.asarray(some) for some in (forest.oob_decision_function_, forest.predict_proba(unseen)))
    return np.nan_to_num(out_of_bag[:, 1], nan=0.5), others[:, 1]


def worst_neighbours(schema: Schema, rows: int = 20) -> dict[str, tuple[_Table, _Table]]:
    """Return pairs of tables, one row apart, each as revealing as can be for some learners.

    The second table of a pair has the row that the first has not. Rows are at the two ends of the domain: in the first
    bin of every attribute with the first class, or level of a number, or in the last with the last. The names: "one
    row" (none, and one), "a row in an empty bin", "a row in a full bin", "the first of its class", "a duplicate of
    all", "a row far out" and "even classes" (as many rows of each class in one bin, and one more).

    Parameters
    ----------
    schema : Schema
        The public schema, with a label; `TypeError` for anything else.
    rows : int, default=20
        Rows of the larger tables; `ValueError` if fewer than two.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"age": hr.Integer(0, 99, (30, 60))}, hr.Label("ill", (False, True)))
    >>> (X, y), (X_more, y_more) = worst_neighbours(schema)["a row far out"]
    >>> len(X_more) - len(X), int(X["age"].max()), int(X_more["age"].max())
    (1, 0, 99)
    """
    if not isinstance(schema, Schema):
        raise ArgumentTypeError(f"expected a Schema, got {type(schema).__name__}.")
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
    found: dict[str, Any] = {}
    for name, attribute in schema.attributes:
        known = [
            values for values in values_of_bins(attribute) if len(values) and not isinstance(values[0], Unspecified)
        ]
        value = known[end][end]
        found[name] = (value.left if end == 0 else value.right) if isinstance(value, pd.Interval) else value
    return found


def _pair(schema: Schema, rows: list[dict[str, Any]], labels: list[Any], row: dict[str, Any], label: Any) -> Any:
    assert schema.label is not None
    whole = pd.DataFrame([*rows, row], columns=list(schema.names))
    y = pd.Series([*labels[: len(rows)], label], name=schema.label.name)
    return (whole.iloc[:-1], y.iloc[:-1]), (whole, y)
