"""Residual entropy of a rule list over the orders of its rules with the same predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.models import RuleList
from hedgerow.schema.literals import Literal

Mask = NDArray[np.bool_]


def order_range(model: RuleList, rows: Any, bits: Sequence[float], min_support: float) -> tuple[float, float]:
    """Return the least and the largest residual entropy, in bits, over all orders with the same predictions.

    Adjacent rules with the same prediction capture the same rows together in any order, so that predictions and errors
    do not change; but rows that an earlier rule captures have larger residual entropy. Only orders in which every rule
    has the minimum support at its position are considered, as in the learner.

    Parameters
    ----------
    model : RuleList
        Rules of one literal each, on boolean attributes that differ.
    rows : DataFrame
        The training rows.
    bits : sequence of float
        The residual entropy of a row by the position of the rule that captures it, the default rule's last. On distinct
        attributes it depends on the position only.
    min_support : float
        The share of all rows that a rule must capture at its position.
    """
    caught = np.array([_holds(rule.antecedent[0], rows) for rule in model.rules[:-1]]).reshape(-1, len(rows))
    left, start, totals = np.ones(len(rows), dtype=bool), 0, np.zeros(2)
    for _, group in groupby(model.predictions[:-1]):
        size = sum(1 for _ in group)
        part = caught[start : start + size] & left
        totals += _best_orders(part, bits[start : start + size], min_support * len(rows))
        left &= ~part.any(axis=0)
        start += size
    least, most = totals + left.sum() * bits[-1]
    return float(least), float(most)


def _holds(literal: Literal, rows: Any) -> Mask:
    values = rows[literal.attribute].to_numpy() == 1
    return values if literal.operator == "true" else ~values


def _best_orders(caught: Mask, bits: Sequence[float], needed: float) -> NDArray[np.float64]:
    """Return the least and the largest residual entropy of the rows of some rules, by dynamic programming over sets."""
    size = len(caught)
    result: Mapping[int, tuple[float, float]] = {0: (0.0, 0.0)}
    for place in range(size):
        following: dict[int, tuple[float, float]] = {}
        for first, (least, most) in result.items():
            before = caught[[rule for rule in range(size) if first >> rule & 1]].any(axis=0)
            for rule in (rule for rule in range(size) if not first >> rule & 1):
                rows = int((caught[rule] & ~before).sum())
                if rows < needed * (1 - 1e-12):
                    continue
                total, known = rows * bits[place], following.get(first | 1 << rule, (np.inf, -np.inf))
                following[first | 1 << rule] = min(known[0], least + total), max(known[1], most + total)
        result = following
    return np.array(result[2**size - 1])
