"""Cut points from private rows: quantiles by OpenDP inside declared bounds, charged to a budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.arguments import check_whole
from hedgerow.columns import Table
from hedgerow.errors import SchemaError
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import Quantile
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.numbers import Integer, Real

MOST_CANDIDATES = 1_000
"""The most public candidates among which a cut point is chosen."""

PlannedCut = tuple[str, Quantile]
"""An attribute's name, and the release of one of its cut points."""


def open_numbers(attributes: Mapping[str, Attribute], bins: int) -> tuple[str, ...]:
    """Return the numbers without declared cut points, once the public arguments are checked.

    These are the numbers whose cut points are those of the default grid, or none.

    Raises
    ------
    SchemaError
        If there is no such number.
    ValueError
        If `bins` is not a whole number >= 2.
    """
    check_whole("bins", bins, 2)
    numbers = ((name, a) for name, a in attributes.items() if isinstance(a, (Integer, Real)))
    names = tuple(name for name, number in numbers if number.has_default_cuts or not number.cuts)
    if not names:
        raise SchemaError("expected at least one number without declared cut points to learn, got none.")
    return names


def plan_cuts(attributes: Mapping[str, Attribute], epsilon: Fraction, bins: int) -> tuple[PlannedCut, ...]:
    """Return the releases that share `epsilon` equally, one a cut point; nothing is charged and no row is touched.

    Raises
    ------
    SchemaError
        If there is no number without declared cut points.
    ValueError
        If `bins` is not a whole number >= 2, or a share is below the supported minimum.
    """
    names, bins = open_numbers(attributes, bins), int(bins)
    share = epsilon / (len(names) * (bins - 1))
    candidates = {name: _candidates(attributes[name]) for name in names}
    planned = tuple((name, Quantile(share, step / bins, candidates[name])) for name in names for step in range(1, bins))
    for mechanism in dict(planned).values():
        mechanism.build()
    return planned


def learn_cuts(
    table: Table, attributes: Mapping[str, Attribute], planned: Sequence[PlannedCut], gate: Gate
) -> dict[str, tuple[float, ...]]:
    """Make the planned releases and return the cut points of each attribute, increasing, without duplicates."""
    found: dict[str, set[float]] = {name: set() for name, _ in planned}
    for name, mechanism in planned:

        def query(name: str = name) -> NDArray[np.float64]:
            return _values(table, name, list(attributes).index(name), attributes[name])

        cut = gate.release(mechanism, query, purpose=f"a cut point of {name}")
        found[name].add(int(cut) if isinstance(attributes[name], Integer) else float(cut))
    return {name: tuple(sorted(cuts)) for name, cuts in found.items()}


def _candidates(attribute: Attribute) -> tuple[float, ...]:
    """Return the candidates: public, evenly spaced inside the declared bounds, ``low <= candidate < high``."""
    assert isinstance(attribute, (Integer, Real))
    if isinstance(attribute, Integer) and attribute.high - attribute.low <= MOST_CANDIDATES:
        return tuple(float(value) for value in range(int(attribute.low), int(attribute.high)))
    found = np.linspace(attribute.low, attribute.high, MOST_CANDIDATES, endpoint=False)
    digits = 1 - math.floor(math.log10((attribute.high - attribute.low) / MOST_CANDIDATES))
    found = np.round(found, max(digits, 0)) if digits <= 15 else found  # 140.6, not 140.60000000000002
    found = found[(attribute.low <= found) & (found < attribute.high)]  # rounding may lead out of the domain
    return tuple(np.unique(np.floor(found) if isinstance(attribute, Integer) else found).tolist())


def _values(table: Table, name: str, position: int, attribute: Attribute) -> NDArray[np.float64]:
    """Return the values inside the domain, at most one per row, after the attribute's policies."""
    assert isinstance(attribute, (Integer, Real))
    column = table.column(name, position)
    present = attribute.encode(column) < len(attribute.known_bins)
    numbers = replace(column, missing=~present).numbers()
    return np.clip(numbers[present].astype(np.float64), attribute.low, attribute.high)
