import random

import numpy as np
import pytest

from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Schema
from tests.audit.readers.agreement import bit_schema, bits_of, check, every_row, labels, random_table
from tests.peers import peer

pydl85 = peer("pydl85")
pytestmark = pytest.mark.peers("pydl85")


def leaf(tree, row, place=0):
    """Return the leaf of a row, numbered as in a full tree, by the words of DL8.5's own `predict`."""
    if "feat" not in tree:
        return place
    if row[tree["feat"]] == 1:
        return leaf(tree["left"], row, 2 * place + 1)
    return leaf(tree["right"], row, 2 * place + 2)


@pytest.mark.parametrize("depth", [1, 3])
def test_rows_have_the_leaf_of_the_tree(depth):
    for seed in range(20):
        rng = random.Random(seed)
        schema = bit_schema(rng)
        table = random_table(rng, schema, 120)
        X, features = bits_of(table, schema)
        model = pydl85.DL85Classifier(max_depth=depth).fit(X, labels(rng, table))

        def sort(rows, model=model, schema=schema):
            return [leaf(model.tree_, row) for row in bits_of(rows, schema)[0]]

        paths = check(model, sort, table, schema, features, domain=every_row(schema))
        assert (paths.supports, paths.exclusive, paths.exact) == (None, True, True)
        values = dict(zip(sort(table), model.predict(X), strict=True))
        assert [values[place] for place in sort(table)] == list(model.predict(X))


def test_ambiguous_columns_require_features():
    X = np.array([[1, 0], [0, 1]] * 9)
    model = pydl85.DL85Classifier(max_depth=1).fit(X, X[:, 1])
    assert len(paths_of(model, Schema({"a": Boolean(), "b": Boolean()}))[0]) == 2
    schema = Schema({"a": Boolean(), "b": Categorical(("x", "y", "z"))})
    with pytest.raises(SchemaError, match="attribute 'b'"):
        paths_of(model, schema)
    assert len(paths_of(model, schema, ["a", "b_z"])[0]) == 2


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(ValueError, match="DL85Classifier"):
        paths_of(pydl85.DL85Classifier(), Schema({"a": Boolean()}))
