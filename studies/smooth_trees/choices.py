"""Tables of the exact and the claimed cost of choices by smooth sensitivity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, log
from typing import Any

from hedgerow.learn.ssrl.greedy import PUBLISHED, least_support
from hedgerow.learn.ssrl.mechanisms import NoisyMin, smooth_laplace
from studies.smooth_trees.loss import (
    Node,
    RareRows,
    change_bound,
    delta_at,
    loss,
    many_candidates,
    neighbours,
    scaled_scores,
    standard,
)
from studies.ssrl.runs import CONFIDENCE, DATASETS, MAX_RULES, TEST_SHARE, load

SMOOTH = ("smooth-laplace", "smooth-cauchy")
SIZES = tuple(product((1, 2, 4, 8), (4, 8, 64), (1, 8, 64)))
"""The last rows, the first rules and the second rules of the tables of `RareRows`."""
OF_THE_PAPER = 6150
"""The rows of COMPAS in the paper; the public file has more."""


def list_node(dataset: str, mechanism: str, epsilon: float, n: int | None = None) -> tuple[Node, int, float]:
    """Return the node of a published list with the study's settings, the training rows, and the claimed δ of a list.

    The table has `n` rows, by default as many as in the study.
    """
    n = n or len(load(dataset).frame)
    rows = n - ceil(TEST_SHARE * n)
    published = PUBLISHED[mechanism]
    delta = Fraction(int(published.spends_delta), rows**2)
    share = published.node_epsilon(Fraction(epsilon), MAX_RULES)
    choice: Any = published.mechanism(share, delta / (MAX_RULES - 1), 1)
    node = Node(choice, least_support(DATASETS[dataset].min_support, rows), CONFIDENCE)
    return node, rows, float(delta)


def bounds() -> Iterator[dict[str, Any]]:
    """Yield the proven and the claimed cost of a node of a published list."""
    for dataset, mechanism, epsilon in product(DATASETS, SMOOTH, (0.1, 1.0, 10.0)):
        node, rows, _ = list_node(dataset, mechanism, epsilon)
        yield {
            "dataset": dataset,
            "mechanism": mechanism,
            "epsilon": epsilon,
            "rows": rows,
            "least support": node.min_support,
            "share": node.share,
            "proven share": node.supported_loss(rows),
            "claimed delta": float(node.choice.delta),
            "proven delta": node.proven_delta(),
        }


def tiny_tables(most: int = 5) -> Iterator[dict[str, Any]]:
    """Yield the exact loss of a choice among two tests and none, over all tables of up to `most` rows. ε₁ is 1."""
    delta = Fraction(1, 1000)
    for mechanism, min_support in product(SMOOTH, (1, 2, 4)):
        made: Any = PUBLISHED[mechanism].mechanism(Fraction(1), delta, 1)
        losses = {rows: largest_loss(rows, made, min_support) for rows in range(1, most + 1)}
        shifts = change_bound(range(min_support, most + 1), min_support, made.beta) / made.scale
        yield {
            "mechanism": mechanism,
            "least support": min_support,
            "loss": max(value for rows, value in losses.items() if rows >= min_support),
            "bound": standard(made).loss_of_shift(float(shifts.max())),
            "loss with fewer rows": max((value for rows, value in losses.items() if rows < min_support), default=0.0),
        }


def largest_loss(rows: int, choice: NoisyMin, min_support: int) -> float:
    """Return the largest exact loss of a choice among two tests and none, if a row is added to a table of some rows."""
    pairs: set[Any] = {
        tuple(tuple(scaled_scores(caught, total, choice, min_support).round(12).tolist()) for caught, total in both)
        for both in neighbours(rows)
    }
    chances = {scores: standard(choice).chances(scores, (1, 1, 1)) for both in pairs for scores in both}
    return max(loss(chances[before], chances[after]) for before, after in pairs)


def rare_rows() -> Iterator[dict[str, Any]]:
    """Yield the largest δ at ε, and the largest loss, of published lists on the tables of `RareRows`."""
    for dataset, mechanism, epsilon in product(DATASETS, SMOOTH, (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)):
        node, rows, delta = list_node(dataset, mechanism, epsilon)
        tables = [RareRows(rows, rest, first, second) for rest, first, second in SIZES]
        results = [(*table.difference(node, MAX_RULES - 1, epsilon), table) for table in tables]
        by_delta = max(results, key=lambda result: result[0])
        by_loss = max(results, key=lambda result: result[1])
        chosen = by_delta[2] if delta else by_loss[2]
        yield {
            "dataset": dataset,
            "mechanism": mechanism,
            "epsilon": epsilon,
            "claimed delta": delta,
            "delta": by_delta[0],
            "loss": by_loss[1],
            "rest": chosen.rest,
            "first": chosen.first,
            "second": chosen.second,
        }


def readings() -> Iterator[dict[str, Any]]:
    """Yield the δ of smooth-laplace lists with COMPAS's settings at ε = .1, by readings of the paper."""
    for n, continuous, negative_steps in product((None, OF_THE_PAPER), (False, True), (False, True)):
        node, rows, delta = list_node("compas", SMOOTH[0], 0.1, n)
        node = replace(node, continuous=continuous, negative_steps=negative_steps)
        largest = max(RareRows(rows, *sizes).difference(node, MAX_RULES - 1, 0.1)[0] for sizes in SIZES)
        yield {
            "rows": rows,
            "continuous noise": continuous,
            "negative steps": negative_steps,
            "claimed delta": delta,
            "delta": largest,
        }


def many_rules() -> Iterator[dict[str, Any]]:
    """Yield the exact loss of a choice with Λ = 1, by rows and number of candidates, for δ below 1/rows."""
    for candidates, rows, power in product(
        [10**digits for digits in range(1, 9)], (901, 3001, 10_001, 100_001), (4, 6, 8)
    ):
        delta = Fraction(1, 10**power)
        if delta * rows >= 1:
            continue
        choice = steepest(rows, delta)
        p, q = many_candidates(rows, 99, candidates, choice)
        both_ways = many_candidates(rows, 99, candidates, choice, fewer=1)
        epsilon = float(choice.epsilon)
        yield {
            "rows": rows,
            "candidates": candidates,
            "epsilon": epsilon,
            "claimed delta": float(delta),
            "loss": loss(p, q),
            "delta": delta_at(epsilon, p, q),
            "delta both ways": delta_at(epsilon, *both_ways),
        }


def steepest(rows: int, delta: Fraction) -> Any:
    """Return the choice whose S*, with Λ = 1, is still determined by a single row, and falls by β, at these rows."""
    # S* of n rows is exp(−β(n − 1))/2 as long as this exceeds g(n), about 2/n; β is ε/(2 ln(2/δ)).
    beta = 0.998 * log(rows / 4) / (rows - 1)
    return smooth_laplace(Fraction(round(10**6 * beta * 2 * log(2 / delta)), 10**6), delta)
