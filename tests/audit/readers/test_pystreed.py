import random

import numpy as np
import pandas as pd
import pytest

from hedgerow.audit.readers.read import paths_of
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Schema
from tests.audit.readers.agreement import (
    LABEL,
    bit_schema,
    bits_of,
    check,
    every_row,
    labels,
    random_schema,
    random_table,
)
from tests.peers import peer

pystreed = peer("pystreed")
pytestmark = pytest.mark.peers("pystreed")


def leaves(model, X):
    """Return the leaf of each row, numbered as in a full tree, by the words of STreeD's own `print_tree`."""
    bits = np.asarray(model.binarizer_.transform(X))

    def walk(node, row, place):
        if node.is_leaf_node():
            return place
        item = row[node.feature] == 1
        return walk(node.right_child if item else node.left_child, row, 2 * place + 1 + item)

    return [walk(model.tree_, row, 0) for row in bits]


@pytest.mark.parametrize("depth", [1, 3])
def test_rows_have_the_leaf_of_the_tree(depth):
    for seed in range(20):
        rng = random.Random(seed)
        schema = bit_schema(rng)
        table = random_table(rng, schema, 120)
        X, features = bits_of(table, schema)
        y = labels(rng, table) * 4 + 1
        model = pystreed.STreeDClassifier(max_depth=depth).fit(X, y)
        paths = check(
            model,
            lambda rows, model=model, schema=schema: leaves(model, bits_of(rows, schema)[0]),
            table,
            schema,
            features,
            domain=every_row(schema),
        )
        assert paths.classes == tuple(sorted(set(y.tolist())))
        assert tuple(map(sum, paths.counts)) == paths.supports
        assert np.sum(paths.counts, axis=0).tolist() == [int((y == label).sum()) for label in paths.classes]


@pytest.mark.parametrize("strategy", ["quantile", "uniform", "tree"])
@pytest.mark.parametrize("named", [False, True])
def test_columns_binarised_by_streed_are_read(strategy, named):
    sizes = set()
    for seed in range(12):
        rng = random.Random(seed)
        schema = random_schema(rng, ("integer", "boolean", "words", "codes") if named else ("integer", "boolean"))
        schema = Schema({"wide": Integer(0, 40, cuts=()), **dict(schema.attributes)}, LABEL)
        table = random_table(rng, schema, 150)
        words = [name for name in schema if isinstance(schema[name], Categorical)]
        y = labels(rng, table)
        model = pystreed.STreeDClassifier(max_depth=3, continuous_binarize_strategy=strategy, n_categories=3)
        model.fit(table if named else table.to_numpy(), y, categorical=words or None)
        paths = check(
            model,
            lambda rows, model=model, named=named: leaves(model, rows if named else rows.to_numpy()),
            table,
            schema,
            bits=False,
        )
        assert paths.supports is not None
        sizes.add(len(paths))
    assert max(sizes) > 3


def test_a_streed_regressor_has_no_supports():
    X = np.array([[1, 0], [0, 1], [1, 1]] * 20)
    model = pystreed.STreeDRegressor(max_depth=2).fit(X, np.arange(60.0) % 3)
    schema = Schema({"a": Boolean(), "b": Boolean()})
    table = pd.DataFrame(X, columns=["a", "b"])
    paths = check(model, lambda rows: leaves(model, rows.to_numpy()), table, schema)
    assert (paths.supports, paths.counts, paths.exclusive) == (None, None, True)


def test_features_describe_the_columns_before_binarisation():
    X = np.array([[0, age] for age in range(20, 60)])
    model = pystreed.STreeDClassifier(max_depth=1).fit(X, X[:, 1] > 40)
    schema = Schema({"age": Integer(0, 120, cuts=()), "hue": Categorical(("red", "blue", "green"))})
    paths, _ = paths_of(model, schema, ["hue_red", "age"])
    assert {literal.attribute for literal in paths.literals} == {"age"}
    named = pystreed.STreeDClassifier(max_depth=1).fit(pd.DataFrame(X, columns=["hue_red", "age"]), X[:, 1] > 40)
    assert paths_of(named, schema)[0] == paths
    with pytest.raises(ValueError, match="features"):
        paths_of(named, schema, ["hue_red", "age"])
    bits = pystreed.STreeDClassifier(max_depth=1).fit(pd.DataFrame({"r": [0, 1] * 9, "b": [0, 0, 1] * 6}), [0, 1] * 9)
    assert paths_of(bits, schema, ["hue_red", "hue_blue"])[0].paths[0] == ((Literal("hue", "=", ("red",)), False),)


def test_undetermined_thresholds_raise():
    X = np.array([[1, 0, 1], [0, 1, 1]] * 20)
    schema = Schema({name: Boolean() for name in "abc"})
    model = pystreed.STreeDClassifier(max_num_binary_features=1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="max_num_binary_features"):
        paths_of(model, schema)
    with pytest.raises(ValueError, match="STreeDClassifier"):
        paths_of(pystreed.STreeDClassifier(), schema)


def test_each_leaf_has_the_prediction_of_the_model():
    rng = random.Random(0)
    schema = bit_schema(rng)
    table = random_table(rng, schema, 120)
    X, features = bits_of(table, schema)
    for model, y in (
        (pystreed.STreeDClassifier(max_depth=2), labels(rng, table) * 4 + 1),
        (pystreed.STreeDRegressor(max_depth=2), labels(rng, table) + 0.5),
    ):
        paths, _ = paths_of(model.fit(X, y), schema, features)
        places = paths.apply(table, schema)
        assert [paths.predictions[place] for place in places] == pytest.approx(model.predict(X))
