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

GRID = 1_000
"""The most public candidates among which a cut point is chosen."""

PlannedCut = tuple[str, Quantile]
"""An attribute's name, and the release of one of its cut points."""


def open_numbers(attributes: Mapping[str, Attribute], bins: int) -> tuple[str, ...]:
    """Return the numbers that have no cut points, once the public arguments are checked.

    Raises
    ------
    SchemaError
        If there is no such number.
    ValueError
        If `bins` is not a whole number >= 2.
    """
    check_whole("bins", bins, 2)
    names = tuple(name for name, a in attributes.items() if isinstance(a, (Integer, Real)) and not a.cuts)
    if not names:
        raise SchemaError("expected at least one number without cut points to learn, got none.")
    return names


def plan_cuts(attributes: Mapping[str, Attribute], epsilon: Fraction, bins: int) -> tuple[PlannedCut, ...]:
    """Return the releases that share `epsilon` equally, one a cut point; nothing is charged and no row is touched.

    Raises
    ------
    SchemaError
        If there is no number without cut points.
    ValueError
        If `bins` is not a whole number >= 2, or a share is below the supported minimum.
    """
    names = open_numbers(attributes, bins)
    share = epsilon / (len(names) * (bins - 1))
    grids = {name: _grid(attributes[name]) for name in names}
    planned = tuple((name, Quantile(share, step / bins, grids[name])) for name in names for step in range(1, bins))
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


def _grid(attribute: Attribute) -> tuple[float, ...]:
    """Return the candidates: public, evenly spaced inside the declared bounds, ``low <= candidate < high``."""
    assert isinstance(attribute, (Integer, Real))
    if isinstance(attribute, Integer) and attribute.high - attribute.low <= GRID:
        return tuple(float(value) for value in range(int(attribute.low), int(attribute.high)))
    grid = np.linspace(attribute.low, attribute.high, GRID, endpoint=False)
    digits = 1 - math.floor(math.log10((attribute.high - attribute.low) / GRID))
    grid = np.round(grid, max(digits, 0)) if digits <= 15 else grid  # 140.6, not 140.60000000000002
    grid = grid[(attribute.low <= grid) & (grid < attribute.high)]  # rounding may lead out of the domain
    return tuple(np.unique(np.floor(grid) if isinstance(attribute, Integer) else grid).tolist())


def _values(table: Table, name: str, position: int, attribute: Attribute) -> NDArray[np.float64]:
    """Return the values inside the domain, at most one per row, after the attribute's policies."""
    assert isinstance(attribute, (Integer, Real))
    column = table.column(name, position)
    present = attribute.encode(column) < len(attribute.known_bins)
    numbers = replace(column, missing=~present).numbers()
    return np.clip(numbers[present].astype(np.float64), attribute.low, attribute.high)
