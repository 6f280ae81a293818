import random

import numpy as np
import pytest

from hedgerow.audit.counting.regions import count_rows_each
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.readers.read import paths_of
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Schema
from tests.audit.readers.agreement import bit_schema, bits_of, check, every_row, labels, random_table
from tests.peers import peer

corels = peer("corels")
pytestmark = pytest.mark.peers("corels")


def fitted(X, y, **options):
    options = {"max_card": 2, "c": 0.001, "min_support": 0.01, "verbosity": []} | options
    names = options.pop("features", [])
    return corels.CorelsClassifier(**options).fit(X, np.ascontiguousarray(y), features=names)


def captured(model, X):
    """Return the rule that each row is caught by, read off the rules as CORELS prints them."""
    result = []
    for row in X:
        for number, rule in enumerate(model.rl().rules):
            if all(row[abs(i) - 1] == (i > 0) for i in rule["antecedents"] if i):
                result.append(number)
                break
    return result


def test_rows_are_caught_by_the_rule_that_predicts_them():
    lengths = set()
    for seed in range(30):
        rng = random.Random(seed)
        schema = bit_schema(rng)
        table, space = random_table(rng, schema, 120), every_row(schema)
        X, features = bits_of(table, schema)
        model = fitted(X, labels(rng, table))
        paths = check(
            model,
            lambda rows, model=model, schema=schema: captured(model, bits_of(rows, schema)[0]),
            table,
            schema,
            features,
            domain=space,
        )
        predicted = [model.rl().rules[number]["prediction"] for number in captured(model, X)]
        if len(model.rl().rules) > 1:  # 1.1.29 predicts false by a default rule alone
            assert model.predict(X).tolist() == predicted
            assert [paths.predictions[number] for number in captured(model, X)] == predicted
        assert (paths.supports, paths.exclusive, paths.exact) == (None, False, True)
        lengths.add(len(paths))
    assert max(lengths) > 2


def test_columns_are_the_feature_names_of_corels():
    schema = Schema({"smoker": Boolean(), "hue": Categorical(("red", "green", "blue"))})
    X = np.array([[1, 0], [0, 1], [0, 0], [1, 1]] * 20)
    model = fitted(X, X[:, 0], features=["hue_red", "smoker"])
    paths, _ = paths_of(model, schema)
    assert paths.paths[-1] == ()
    assert set(paths.literals) == {Literal("hue", "=", ("red",))}
    domain = Domain.of(schema)
    assert sorted(count_rows_each(domain.regions(paths), domain.weights)) == [2, 4]
    with pytest.raises(ValueError, match=r"2 columns.* 3 entries"):
        paths_of(model, schema, ["smoker"] * 3)
    unnamed = fitted(X, X[:, 0])
    with pytest.raises(ValueError, match="attribute 'age'"):
        paths_of(unnamed, Schema({"age": Integer(0, 9, cuts=()), "b": Boolean()}))


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(ValueError, match="CorelsClassifier"):
        paths_of(corels.CorelsClassifier(), Schema({"a": Boolean()}))
