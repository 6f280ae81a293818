"""Decisions by the costs of errors: the class of the least expected cost under released probabilities.

They read released probabilities and public costs alone: post-processing, which costs no ε.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Real as Number
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats, Index
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.schema.targets import Target
from hedgerow.text.messages import describe_argument
from hedgerow.text.values import Value, listed, shown_text, value_text

ClassWeight = Mapping[Any, float]  # the weight of an error about each class; 1 for a class that is left out
Costs = Mapping[Any, Mapping[Any, float]]
"""The cost of each decision for each class: ``{class of the row: {class decided: cost}}``."""
CostTable = tuple[tuple[float, ...], ...]
"""The cost of each prediction: a line for each actual class, a column for each predicted class."""
_ROUNDING = 1e-12  # by which equal expected costs may differ, relative to the terms that they sum


def cost_matrix(classes: Sequence[Value], class_weight: ClassWeight | None, costs: Costs | None) -> Floats:
    """Return the cost of deciding for the class of a column where the row is of the class of a line."""
    if (class_weight is None) == (costs is None):
        raise ArgumentError(f"expected class_weight or costs, got {'neither' if costs is None else 'both'}.")
    if costs is not None:
        return _of_costs(classes, costs)
    weights = np.ones(len(classes))
    for value, weight in _entries(classes, class_weight, "class_weight"):
        if not _is_number(weight) or weight <= 0:
            raise ArgumentError(f"class_weight must be finite numbers > 0, got {describe_argument(weight)}.")
        weights[classes.index(value)] = weight
    return weights[:, np.newaxis] * (1 - np.eye(len(classes)))


def cost_table(values: Any, target: Target) -> CostTable | None:
    """Return the costs in a model file as floats, or None; ValueError if they do not fit the classes."""
    if values is None:
        return None
    expected = f"expected costs as {target.n_levels} lines of {target.n_levels} finite numbers"
    if target.as_number is not None:
        raise ArgumentError("expected costs with a label that has classes only, got a label that is a number.")
    lines = [list(line) if _is_line(line) else [] for line in (values if _is_line(values) else [])]
    if len(lines) != target.n_levels or any(len(line) != target.n_levels for line in lines):
        raise ArgumentError(f"{expected}, got {describe_argument(values)}.")
    if not all(_is_number(cost) for line in lines for cost in line):
        raise ArgumentError(f"{expected}, got values of other types, or infinite values.")
    return tuple(tuple(map(float, line)) for line in lines)


def _is_line(values: Any) -> bool:
    return isinstance(values, (list, tuple, np.ndarray))


def by_class(classes: Sequence[Value], entries: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return entries by classes where their keys are classes, or name them as text does; others as they are."""
    named: dict[Any, Value] = {value_text(value): value for value in classes} | {value: value for value in classes}
    return {named.get(key, key): entry for key, entry in entries.items()}


def by_text(entries: Mapping[Any, Any]) -> dict[str, Any]:
    """Return entries by classes as JSON has them: classes as text, and numbers of its kinds."""
    return {value_text(key): _plain(entry) for key, entry in entries.items()}


def _plain(entry: Any) -> Any:
    if isinstance(entry, Mapping):
        return by_text(entry)
    return float(entry) if isinstance(entry, Number) and not isinstance(entry, int) else entry


def decisions(shares: Floats, predicted: Index, costs: Floats) -> Index:
    """Return the class number of least expected cost of each row; of equals the predicted one, or the first."""
    expected = shares @ costs
    size = shares @ np.abs(costs)
    is_least = expected - expected.min(axis=1, keepdims=True) <= _ROUNDING * size
    return np.where(is_least[np.arange(len(expected)), predicted], predicted, is_least.argmax(axis=1))


def _of_costs(classes: Sequence[Value], costs: Costs) -> Floats:
    found = np.full((len(classes), len(classes)), np.nan)
    np.fill_diagonal(found, 0.0)
    for actual, line in _entries(classes, costs, "costs"):
        for decided, cost in _entries(classes, line, f"costs of {shown_text(actual)}"):
            if not _is_number(cost):
                raise ArgumentError(f"costs must be finite numbers, got {describe_argument(cost)}.")
            found[classes.index(actual), classes.index(decided)] = cost
    for actual, decided in np.argwhere(np.isnan(found)).tolist():
        row, said = (shown_text(classes[one]) for one in (actual, decided))
        raise ArgumentError(f"expected the cost of every error, got none for rows of class {row} decided as {said}.")
    return found


def _entries(classes: Sequence[Value], given: Any, name: str) -> list[tuple[Any, Any]]:
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"{name} must be a mapping from classes, got {type(given).__name__}.")
    for value in given:
        if value not in classes:
            raise ArgumentError(f"{name}: expected classes among {listed(classes)}; got {describe_argument(value)}.")
    return list(given.items())


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, Number) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # a whole number that float64 does not hold
        return False
