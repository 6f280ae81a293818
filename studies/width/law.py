"""The law of the width draw on small tables by definition, in fractions, and laws that look alike and are not private.

Let `err` be the losses of all models of a fixed class, `prior` their public chances, ``0 < q < 1`` the factor of a loss
of 1 (q = e^(−w)) and `width` W ≥ 0 public. The draw has chances

    P(m)  ∝  prior(m) · q^min(err(m), err* + W),    err* the least of `err`.

**One row more raises every exponent by 0 to 1.** Each `err(m)` rises so, hence the least of them does, hence err* + W,
hence the smaller of two such numbers. The sum over the models then falls by a factor between q and 1, too, and
``q ≤ P(m | D + x) / P(m | D) ≤ 1/q``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

Row = tuple[tuple[int, ...], int]
"""The values of the tests, and the class."""
Model = Any
"""A class, or a test with the model where it holds and the one where it does not."""
Models = Sequence[tuple[Model, Fraction]]
Law = Callable[[Sequence[Fraction], Models, Fraction, int], Mapping[Any, Fraction]]
"""From the losses of all models, the models with their prior, q and W, chances of what is told, or only weights."""
STOP = Fraction(1, 10)


def trees(tests: tuple[int, ...], depth: int, classes: int) -> Iterator[tuple[Model, Fraction]]:
    """Yield all trees of up to so many boolean tests one after the other, with their prior, which sums to 1."""
    stop = STOP if depth and tests else Fraction(1)
    yield from ((label, stop / classes) for label in range(classes))
    if stop < 1:
        for test in tests:
            below = list(trees(tuple(other for other in tests if other != test), depth - 1, classes))
            for (item, first), (other, second) in product(below, repeat=2):
                yield (test, item, other), (1 - stop) / len(tests) * first * second


def predict(model: Model, values: Sequence[int]) -> int:
    while isinstance(model, tuple):
        test, holds, fails = model
        model = holds if values[test] else fails
    return int(model)


def losses(rows: Sequence[Row], models: Models, costs: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Return the loss of each model: the sum over rows of a cost between 0 and 1, by class and what is predicted."""
    return [sum((costs[label][predict(m, values)] for values, label in rows), Fraction(0)) for m, _ in models]


def tables(n_tests: int, classes: int, most: int) -> Iterator[tuple[Row, ...]]:
    """Yield all tables of up to so many rows, whatever their order."""
    rows = list(product(product((0, 1), repeat=n_tests), range(classes)))
    for size in range(most + 1):
        yield from combinations_with_replacement(rows, size)


def width_law(err: Sequence[Fraction], models: Models, q: Fraction, width: int) -> Mapping[Model, Fraction]:
    """Return the chances of all models."""
    least = min(err)
    return normalised({m: p * power(q, min(e, least + width)) for (m, p), e in zip(models, err, strict=True)})


def mixture_law(err: Sequence[Fraction], models: Models, q: Fraction, width: int) -> Mapping[Model, Fraction]:
    """Return the same chances, by parts: all models at the flat weight, by the prior, and more for those inside."""
    least, flat = min(err), power(q, width)
    inside = {m: p * (power(q, e - least) - flat) for (m, p), e in zip(models, err, strict=True) if e < least + width}
    mass = flat + sum(inside.values())
    return {m: (flat * p + inside.get(m, 0)) / mass for m, p in models}


def power(q: Fraction, exponent: Fraction | int) -> Fraction:
    """Return a power that is a fraction: of a half, only squares have it."""
    return root(q, Fraction(exponent).denominator) ** Fraction(exponent).numerator


def root(q: Fraction, degree: int) -> Fraction:
    result = Fraction(round(q.numerator ** (1 / degree)), round(q.denominator ** (1 / degree)))
    if result**degree != q:
        raise ValueError(f"expected a fraction with a root of degree {degree}, got another.")
    return result


def normalised(weights: Mapping[Any, Fraction]) -> Mapping[Any, Fraction]:
    mass = sum(weights.values())
    return {told: weight / mass for told, weight in weights.items()}


# What is not private, though it looks alike


def relative_width(err: Sequence[Fraction], models: Models, q: Fraction, width: int) -> Mapping[Model, Fraction]:
    """W a multiple of err*, as Rashomon sets have it: (1 + W)·err* rises by up to 1 + W."""
    limit = (1 + width) * min(err)
    return normalised({m: p * power(q, min(e, limit)) for (m, p), e in zip(models, err, strict=True)})


def stopped_search(err: Sequence[Fraction], models: Models, q: Fraction, width: int) -> Mapping[Model, Fraction]:
    """err* of a search that ran out of time: of the leaves, and of trees with the first test that looks best."""
    leaves = [e for (m, _), e in zip(models, err, strict=True) if not isinstance(m, tuple)]
    # Greedy: the root of the best tree that is a single test with two leaves; then the least below this root.
    stumps = [(e, m[0]) for (m, _), e in zip(models, err, strict=True) if isinstance(m, tuple) and _is_stump(m)]
    root_test = min(stumps)[1]
    result = [e for (m, _), e in zip(models, err, strict=True) if isinstance(m, tuple) and m[0] == root_test]
    limit = min([*leaves, *result]) + width
    return normalised({m: p * power(q, min(e, limit)) for (m, p), e in zip(models, err, strict=True)})


def _is_stump(model: Model) -> bool:
    return not isinstance(model[1], tuple) and not isinstance(model[2], tuple)


def capped(most: int) -> Law:
    """Return the law that falls back to the draw from all models where more than so many lie inside."""

    def law(err: Sequence[Fraction], models: Models, q: Fraction, width: int) -> Mapping[Model, Fraction]:
        is_small = sum(e < min(err) + width for e in err) <= most
        return width_law(err, models, q, width if is_small else int(max(err)) + 1)

    return law


def refusing(most: int) -> Law:
    """Return the law that refuses where more than so many models lie inside."""

    def law(err: Sequence[Fraction], models: Models, q: Fraction, width: int) -> Mapping[Any, Fraction]:
        is_small = sum(e < min(err) + width for e in err) <= most
        return width_law(err, models, q, width) if is_small else {"refused": Fraction(1)}

    return law


def telling(err: Sequence[Fraction], models: Models, q: Fraction, width: int) -> Mapping[Any, Fraction]:
    """Return the law of a draw that tells whether it came from the flat part."""
    least, flat = min(err), power(q, width)
    parts = {(m, "flat"): flat * p for m, p in models}
    for (m, p), e in zip(models, err, strict=True):
        if e < least + width:
            parts[m, "inside"] = p * (power(q, e - least) - flat)
    return normalised(parts)


def cut(err: Sequence[Fraction], models: Models, q: Fraction, width: int) -> Mapping[Model, Fraction]:
    """Only the best models, without the flat part."""
    inside = {m: p * power(q, e) for (m, p), e in zip(models, err, strict=True) if e <= min(err) + width}
    return normalised(inside)


def largest_ratio(one: Mapping[Any, Fraction], other: Mapping[Any, Fraction]) -> Fraction | None:
    """Return the largest ratio of two laws' chances, either way; None if what one may tell, the other may not."""
    if one.keys() != other.keys():
        return None
    return max(max(one[m] / other[m], other[m] / one[m]) for m in one)


def shared_least(
    one: Sequence[Fraction], other: Sequence[Fraction], models: Models, q: Fraction, width: int
) -> Mapping[Any, Fraction]:
    """Return chances of pairs of models of two tables that share the smaller err*."""
    limit = min(*one, *other) + width
    parts = [
        normalised({m: p * power(q, min(e, limit)) for (m, p), e in zip(models, err, strict=True)})
        for err in (one, other)
    ]
    return {(a, b): parts[0][a] * parts[1][b] for a in parts[0] for b in parts[1]}
