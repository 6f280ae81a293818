"""Random tables with their schemas, and what must hold of every model that is read as decision paths."""

from __future__ import annotations

import random
from contextlib import nullcontext, suppress
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from hedgerow.audit.counting.regions import count_rows_each
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.entropy.domain import normalised as comparable
from hedgerow.audit.readers.paths import Paths
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import ArgumentError
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Ordered, Real, Schema

KINDS = ("boolean", "integer", "real", "codes", "words")
LABEL = Label("y", (0, 1))


def random_schema(rng: random.Random, kinds=KINDS, *, missing=False, width=4) -> Schema:
    """Return a schema of a few attributes of small domains."""
    return Schema({f"a{i}": _attribute(rng, rng.choice(kinds), missing=missing) for i in range(width)}, LABEL)


def _attribute(rng, kind, *, missing):
    policy = {"missing": "bin"} if missing and rng.random() < 0.5 else {}
    match kind:
        case "boolean":
            return Boolean(**policy)
        case "integer":
            low = rng.randint(-3, 20)
            return Integer(low, low + rng.randint(1, 6), cuts=(low,) * rng.randint(0, 1), **policy)
        case "real":
            return Real(-2.5, 3.5, cuts=(0.5,) * rng.randint(0, 1), **policy)
        case "codes":
            codes = rng.sample(range(-2, 9), rng.randint(2, 5))
            return rng.choice([Categorical(tuple(codes), **policy), Ordered(tuple(sorted(codes)), **policy)])
    listed = rng.choice([Categorical, Ordered])
    return listed(("red", "green", "blue", "white")[: rng.randint(2, 4)], **policy)


def values_of(attribute: Any) -> list[Any]:
    """Return all values of an attribute, or some of a real one; None for missing."""
    match attribute:
        case Boolean():
            known = [0, 1]
        case Integer():
            known = list(range(attribute.low, attribute.high + 1))
        case Real():
            known = [-2.5, -0.3, 0.1, 0.3, 0.5, 0.7, 3.5]
        case _:
            known = list(attribute.values)
    return known + [None] * (attribute.missing == "bin")


def random_table(rng: random.Random, schema: Schema, size: int) -> pd.DataFrame:
    columns = {name: [rng.choice(values_of(schema[name])) for _ in range(size)] for name in schema}
    return pd.DataFrame({name: _series(column) for name, column in columns.items()})


def every_row(schema: Schema) -> pd.DataFrame:
    """Return every row of a schema without real attributes."""
    rows = zip(*product(*(values_of(schema[name]) for name in schema)), strict=True)
    return pd.DataFrame({name: _series(column) for name, column in zip(schema, rows, strict=True)})


def _series(values):
    text = any(isinstance(value, str) for value in values)
    return pd.Series(list(values), dtype=object) if text else pd.Series(list(values), dtype="float64")


def labels(rng: random.Random, table: pd.DataFrame) -> np.ndarray:
    """Return labels that depend on the columns, with some noise."""
    first = [str(value) > "1" for value in table.iloc[:, 0]]
    second = [str(value) > "2" for value in table.iloc[:, -1]]
    return np.array([(a ^ b ^ (rng.random() < 0.2)) for a, b in zip(first, second, strict=True)], dtype=int)


def arrays(table: pd.DataFrame, schema: Schema) -> tuple[np.ndarray, list[str | Literal]]:
    """Return a table as scikit-learn takes it, a column of 0 and 1 for each word, and what the columns are."""
    columns, features = [], []
    for name in schema:
        if table[name].dtype == object:
            for value in schema[name].values:
                columns.append((table[name] == value).to_numpy(float))
                features.append(Literal(name, "=", (value,)))
        else:
            columns.append(table[name].to_numpy(float))
            features.append(name)
    return np.column_stack(columns), features


def normalised(paths: Paths, schema: Schema) -> tuple[Domain, Paths]:
    domain = Domain.of(schema, paths.literals)
    return domain, comparable(paths, schema)


def check(model, leaf, table, schema, features=None, *, bits=True, domain=None) -> Paths:
    """Check that a model's paths assign rows to leaves as `leaf` does, and that its regions partition the domain.

    `domain` is a table of every row that the schema allows, each of which `leaf` is asked for too.
    """
    paths, read = paths_of(model, schema, features)
    assert read is schema
    space, own = normalised(paths, schema)
    assert_same_parts(own.apply(table, space.schema), leaf(table))
    if paths.supports is not None:
        assert np.bincount(own.apply(table, space.schema), minlength=len(paths)).tolist() == list(paths.supports)
    possible = count_rows_each(space.regions(own), space.weights)
    assert sum(possible) == space.possible_rows
    if domain is not None:
        result = own.apply(domain, space.schema)
        assert_same_parts(result, leaf(domain))
        assert np.bincount(result, minlength=len(paths)).tolist() == list(possible)
    if bits:
        binary = Domain.of(schema, paths.literals, independent_bits=True)
        # A box cannot leave out one value of several bits, so lists with a negated value have no regions.
        with nullcontext() if paths.exclusive else suppress(ArgumentError):
            assert sum(count_rows_each(binary.regions(own), binary.weights)) == binary.possible_rows
    return paths


def assert_same_parts(one, other):
    """Two sortings have the same parts, whatever they call them."""
    pairs = set(zip(np.asarray(one).tolist(), np.asarray(other).tolist(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def bit_schema(rng: random.Random) -> Schema:
    """Return a schema whose tables become columns of 0 and 1."""
    return random_schema(rng, ("boolean", "words"), width=rng.randint(2, 4))


def bits_of(table: pd.DataFrame, schema: Schema) -> tuple[np.ndarray, list[str | Literal]]:
    """Return a table of booleans and words as columns of 0 and 1, and what they are."""
    X, features = arrays(table, schema)
    return X.astype(int), features
