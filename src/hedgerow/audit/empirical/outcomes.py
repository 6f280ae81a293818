"""Outcomes of a fit, reduced to values that can be compared: a text, a number, or a vector of numbers.

A mechanism's guarantee holds for whatever is made of its output, so a reduction can only hide a loss, never invent one.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.released import released_model

Floats = NDArray[np.float64]
Outcome = str | float | list[float]
Draws = tuple[list[Outcome], list[Outcome]]
_EXACT = 2**53  # whole numbers below are numbers, others text
_BINS = 40  # of numbers, by quantiles of the draws that events are chosen on
_LARGEST = 1e30  # that a forest is given: it sums in single precision
_NOT_DRAWN = ("privacy", "digest", "schema", "schema_digest", "format", "version")


def outcome_of(result: Any, rows: Any) -> Outcome:
    """Return the outcome of a fit.

    A list or tree of hedgerow is its content without the card, as text; where counts were released, the counts in the
    leaf of each of `rows`, as a vector. Anything else that predicts is the vector of its probabilities on `rows`, or
    the text of its labels. Numbers and arrays are themselves, other values their text.
    """
    model = released_model(result)
    leaves = None if model is None else model.as_leaf_model
    if leaves is not None:
        return _of_leaves(leaves, rows)
    if hasattr(result, "predict_proba"):
        return _vector(result.predict_proba(rows))
    if hasattr(result, "predict"):
        return str(np.asarray(result.predict(rows)).tolist())
    return _of_value(result)


def _of_leaves(model: LeafModel, rows: Any) -> Outcome:
    if model.has_counts:
        counts = np.array([leaf.counts for leaf in model.leaves], dtype=np.float64)
        return _vector(counts[model.apply(rows)])
    whole = model.to_dict()
    return json.dumps({key: whole[key] for key in whole if key not in _NOT_DRAWN}, sort_keys=True)


def _of_value(value: Any) -> Outcome:
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biuf":
        return repr(value.tolist())
    if isinstance(value, (float, np.floating, np.ndarray)):
        found = _vector(value)
        return found[0] if isinstance(value, (float, np.floating)) else found
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and abs(int(value)) < _EXACT:
        return float(value)
    if isinstance(value, Hashable):
        return repr(value)
    raise ArgumentTypeError(
        f"expected a model, a number, an array or a hashable value from fit, got {type(value).__name__}; pass "
        "outcome= to reduce it to one of these."
    )


def _vector(values: Any) -> list[float]:
    return np.nan_to_num(np.asarray(values, dtype=np.float64).ravel(), nan=0.0).tolist()


@dataclass(frozen=True)
class Sides:
    """Outcomes on the table and on its neighbour."""

    table: Sequence[Hashable]
    neighbour: Sequence[Hashable]


def reduced(
    first: tuple[list[Outcome], list[Outcome]], rest: tuple[list[Outcome], list[Outcome]]
) -> tuple[Sides, Sides]:
    """Return outcomes reduced to finitely many: those that an event is chosen on, and those that it is counted on.

    How is learned on the first ones alone. Texts stay as they are. Numbers fall into bins of about as many draws each;
    of vectors, the score of a random forest that tells the tables apart does.
    """
    both, others = [*first[0], *first[1]], [*rest[0], *rest[1]]
    found = _compared(both, others, len(first[0]))
    (one, other), cut, end = found, len(first[0]), len(rest[0])
    return Sides(one[:cut], one[cut:]), Sides(other[:end], other[end:])


def _compared(first: list[Outcome], rest: list[Outcome], cut: int) -> tuple[list[Hashable], list[Hashable]]:
    """Return outcomes as text if a first one is; else as bins, and a text among the others, never seen, as itself."""
    if any(isinstance(one, str) for one in first):
        return list(map(str, first)), list(map(str, rest))
    seen, unseen = _binned(first, [one for one in rest if not isinstance(one, str)], cut)
    bins = iter(unseen)
    return list(seen), [one if isinstance(one, str) else next(bins) for one in rest]


def _binned(first: list[Outcome], rest: list[Outcome], cut: int) -> tuple[list[int], list[int]]:
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


def _scores(seen: Floats, unseen: Floats, is_neighbour: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return how much each vector looks as if it came from the neighbour: of those learned from, out of bag."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(200, min_samples_leaf=5, oob_score=True, random_state=0, n_jobs=1)
    seen, unseen = (np.clip(part, -_LARGEST, _LARGEST) for part in (seen, unseen))
    forest.fit(seen, is_neighbour)
    out_of_bag, others = (np.asarray(some) for some in (forest.oob_decision_function_, forest.predict_proba(unseen)))
    return np.nan_to_num(out_of_bag[:, 1], nan=0.5), others[:, 1]
