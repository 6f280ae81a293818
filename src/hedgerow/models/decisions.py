"""Decisions by the costs of errors: the class with the lowest expected cost under the released probabilities.

Decisions use released probabilities and public costs only, so they are post-processing and cost no ε.
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

ClassWeight = Mapping[Any, float]  # the weight of an error for rows of each class; 1 for classes that are not given
Costs = Mapping[Any, Mapping[Any, float]]
"""The cost of each decision for each class: ``{class of the row: {class decided: cost}}``."""
CostTable = tuple[tuple[float, ...], ...]
"""The cost of each prediction: a line for each actual class, a column for each predicted class."""
_ROUNDING = 1e-12  # the relative tolerance for equal expected costs


def cost_matrix(classes: Sequence[Value], class_weight: ClassWeight | None, costs: Costs | None) -> Floats:
    """Return the cost of each decision (column) for rows of each actual class (line)."""
    if (class_weight is None) == (costs is None):
        raise ArgumentError(f"expected class_weight or costs, got {'neither' if costs is None else 'both'}.")
    if costs is not None:
        return _of_costs(classes, costs)
    weights = np.ones(len(classes))
    for value, weight in _entries(classes, class_weight, "class_weight"):
        if not _is_number(weight) or weight <= 0:
            expected = f"class_weight of {shown_text(value)} must be a finite number > 0"
            raise ArgumentError(f"{expected}, got {describe_argument(weight)}.")
        weights[classes.index(value)] = weight
    return weights[:, np.newaxis] * (1 - np.eye(len(classes)))


def cost_table(values: Any, target: Target) -> CostTable | None:
    """Return the costs in a model file as floats, or None without costs; ValueError if they do not fit the classes."""
    if values is None:
        return None
    expected = f"costs must be {target.n_levels} lists of {target.n_levels} finite numbers"
    if target.as_number is not None:
        raise ArgumentError("costs are allowed for classes only, but the label is a number; leave them out.")
    lines = [list(line) if _is_line(line) else [] for line in (values if _is_line(values) else [])]
    if len(lines) != target.n_levels or any(len(line) != target.n_levels for line in lines):
        raise ArgumentError(f"{expected}, got {describe_argument(values)}.")
    if not all(_is_number(cost) for line in lines for cost in line):
        raise ArgumentError(f"{expected}; a value is infinite, NaN or not a number.")
    return tuple(tuple(map(float, line)) for line in lines)


def class_weights(costs: CostTable) -> tuple[float, ...] | None:
    """Return the weight of each class if all errors on its rows cost the same and correct decisions cost 0, or None."""
    errors = [set(line[:place] + line[place + 1 :]) for place, line in enumerate(costs)]
    if any(costs[place][place] for place in range(len(costs))) or any(len(values) != 1 for values in errors):
        return None
    return tuple(values.pop() for values in errors)


def _is_line(values: Any) -> bool:
    return isinstance(values, (list, tuple, np.ndarray))


def by_class(classes: Sequence[Value], entries: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return entries whose keys are replaced by the classes that they spell; other keys are unchanged."""
    named: dict[Any, Value] = {value_text(value): value for value in classes} | {value: value for value in classes}
    return {named.get(key, key): entry for key, entry in entries.items()}


def by_text(entries: Mapping[Any, Any]) -> dict[str, Any]:
    """Return entries as JSON-ready data, with classes as text."""
    return {value_text(key): _plain(entry) for key, entry in entries.items()}


def _plain(entry: Any) -> Any:
    if isinstance(entry, Mapping):
        return by_text(entry)
    return float(entry) if isinstance(entry, Number) and not isinstance(entry, int) else entry


def decisions(shares: Floats, predicted: Index, costs: Floats) -> Index:
    """Return the index of the class with the lowest expected cost for each row.

    Ties go to the predicted class if it is among them, otherwise to the first class.
    """
    expected = shares @ costs
    size = shares @ np.abs(costs)
    is_least = expected - expected.min(axis=1, keepdims=True) <= _ROUNDING * size
    return np.where(is_least[np.arange(len(expected)), predicted], predicted, is_least.argmax(axis=1))


def _of_costs(classes: Sequence[Value], costs: Costs) -> Floats:
    matrix = np.full((len(classes), len(classes)), np.nan)
    np.fill_diagonal(matrix, 0.0)
    for actual, line in _entries(classes, costs, "costs"):
        for decided, cost in _entries(classes, line, f"costs of {shown_text(actual)}"):
            if not _is_number(cost):
                pair = f"{shown_text(actual)} decided as {shown_text(decided)}"
                raise ArgumentError(f"costs must be finite numbers, got {describe_argument(cost)} for {pair}.")
            matrix[classes.index(actual), classes.index(decided)] = cost
    for actual, decided in np.argwhere(np.isnan(matrix)).tolist():
        row, decision = (shown_text(classes[place]) for place in (actual, decided))
        raise ArgumentError(f"costs must include every error; rows of class {row} decided as {decision} have no cost.")
    return matrix


def _entries(classes: Sequence[Value], mapping: Any, name: str) -> list[tuple[Any, Any]]:
    if not isinstance(mapping, Mapping):
        raise ArgumentTypeError(f"{name} must be a mapping from classes, got {type(mapping).__name__}.")
    for value in mapping:
        if value not in classes:
            raise ArgumentError(f"{name}: expected classes among {listed(classes)}, got {describe_argument(value)}.")
    return list(mapping.items())


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, Number) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # a whole number outside the range of float64
        return False
