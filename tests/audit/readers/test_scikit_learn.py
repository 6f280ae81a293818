import math
import random

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from hedgerow.audit.counting.regions import count_rows_each
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.readers import read
from hedgerow.audit.readers.ensembles import trees_of
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Real, Schema
from tests.audit.readers.agreement import arrays, check, every_row, labels, normalised, random_schema, random_table

TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
COUNTED = ("boolean", "integer", "codes", "words")  # kinds whose every row can be listed
PAPER = Schema({"a1": Integer(10, 15, cuts=()), "a2": Boolean(), "a3": Integer(1, 3, cuts=())}, Label("y", (0, 1)))


def leaf_of(tree, schema):
    return lambda table: tree.apply(arrays(table, schema)[0])


def possible_rows_in(model, schema, features=None, **options):
    paths, _ = paths_of(model, schema, features)
    domain = Domain.of(schema, paths.literals, **options)
    return count_rows_each(domain.regions(normalised(paths, schema)[1]), domain.weights)


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("missing", [False, True])
def test_rows_match_the_tree_and_possible_rows_add_up(kind, missing):
    for seed in range(8):
        rng = random.Random(seed)
        schema = random_schema(rng, missing=missing)
        table = random_table(rng, schema, rng.randint(2, 150))
        X, features = arrays(table, schema)
        depth, leaves = rng.choice([1, 3, None]), rng.choice([None, 5, 30])
        tree = kind(max_depth=depth, max_leaf_nodes=leaves, random_state=seed).fit(X, labels(rng, table))
        few = all(not isinstance(schema[name], Categorical) or name not in features for name in schema)
        check(tree, leaf_of(tree, schema), table, schema, features, bits=few)


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 12), marks=pytest.mark.slow)])
def test_worlds_are_the_rows_of_the_domain_that_the_tree_sends_there(kind, missing, seeds):
    for seed in seeds:
        rng = random.Random(seed)
        schema = random_schema(rng, COUNTED, missing=missing)
        table = random_table(rng, schema, rng.randint(5, 150))
        X, features = arrays(table, schema)
        tree = kind(max_depth=rng.choice([2, 6]), random_state=seed).fit(X, labels(rng, table))
        check(tree, leaf_of(tree, schema), table, schema, features, bits=False, domain=every_row(schema))


def test_the_papers_example_fitted_by_scikit_learn():
    # PDR, Table I; Table II: {12..15} x {0,1} x {2,3}; {10,11} x {0,1} x {2,3}; {10..15} x {0,1} x {1}: 16, 8 and 12.
    # The root of its Figure 1 asks for a3 <= 1; other splits are as good there, and the seed chooses.
    X, y = [[12, 0, 3], [14, 1, 2], [11, 1, 2], [14, 0, 1]], [0, 0, 1, 1]
    fitted = (DecisionTreeClassifier(random_state=seed).fit(X, y) for seed in range(20))
    tree = next(tree for tree in fitted if tree.tree_.feature[0] == 2 and tree.tree_.threshold[0] == 1.5)
    paths, _ = paths_of(tree, PAPER)
    assert paths.exclusive
    assert paths.exact
    told = zip(possible_rows_in(tree, PAPER), paths.supports, paths.counts, strict=True)
    assert list(told) == [(12, 1, (0, 1)), (8, 1, (0, 1)), (16, 2, (2, 0))]
    assert Domain.of(PAPER).possible_rows == 36


def test_supports_and_counts_match_the_rows():
    rng = random.Random(3)
    schema = random_schema(rng, ("integer",))
    table = random_table(rng, schema, 200)
    y = np.array(["no", "yes"])[labels(rng, table)]
    tree = DecisionTreeClassifier(max_depth=3).fit(table.to_numpy(), y)
    paths, _ = paths_of(tree, schema)
    rows = normalised(paths, schema)[1].apply(table, normalised(paths, schema)[0].schema)
    assert paths.classes == ("no", "yes")
    assert paths.counts == tuple(
        tuple(int(((rows == i) & (y == label)).sum()) for label in ("no", "yes")) for i in range(len(paths))
    )
    assert all(type(number) is int for number in (*paths.supports, *paths.counts[0]))


def test_weights_of_classes_are_no_rows():
    X, y = [[i % 2] for i in range(30)], [i % 3 == 0 for i in range(30)]
    tree = DecisionTreeClassifier(max_depth=1, class_weight={False: 1, True: 3}).fit(X, y)
    paths, _ = paths_of(tree, Schema({"a": Boolean()}))
    assert paths.supports == (15, 15)
    assert paths.counts is None


def test_weighted_rows_count_once():
    X, y, schema = [[0], [0], [1]], [0, 1, 1], Schema({"a": Boolean()})
    whole, _ = paths_of(DecisionTreeClassifier().fit(X, y, sample_weight=[2, 3, 4]), schema)
    assert (whole.supports, whole.counts) == ((2, 1), (None, (0, 1)))  # of one class, whatever its rows weigh
    parts, _ = paths_of(DecisionTreeClassifier().fit(X, y, sample_weight=[0.5, 3, 4]), schema)
    assert (parts.supports, parts.counts) == ((2, 1), (None, (0, 1)))


def test_negative_weights_make_no_leaf_pure():
    X, y, weights = [[0]] * 4 + [[1]] * 4, [0, 0, 0, 1] * 2, [2.5, 2.5, 2.5, -0.5, 2.5, 2.5, 2.5, 1.0]
    paths, _ = paths_of(DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight=weights), Schema({"a": Boolean()}))
    assert paths.counts is None


def test_weights_that_sum_to_a_whole_number_are_no_rows():
    tree = DecisionTreeClassifier().fit([[0]] * 4, [0, 1, 1, 1], sample_weight=[0.25] * 4)
    assert paths_of(tree, Schema({"a": Boolean()}))[0].supports == (4,)


def test_weights_of_the_classes_of_a_forest_are_no_rows():
    X, y, schema = [[i % 2] for i in range(20)], [i % 2 for i in range(20)], Schema({"a": Boolean()})
    forest = RandomForestClassifier(2, bootstrap=False, class_weight={0: 2, 1: 3}).fit(X, y)
    for tree, features in trees_of(forest, schema):
        paths, _ = paths_of(tree, schema, features)
        assert (paths.supports, paths.counts) == ((10, 10), ((10, 0), (0, 10)))  # of one class, whatever it weighs
    with pytest.raises(TypeError, match="features=names"):
        paths_of(forest, schema)
    parts = BaggingClassifier(max_features=1).fit([[0, 1]] * 9 + [[1, 0]] * 9, [0, 1] * 9)
    with pytest.raises(TypeError, match="trees_of"):
        paths_of(parts, PAPER)


def test_several_outputs_have_no_classes():
    tree = DecisionTreeClassifier().fit([[0], [1]], [[0, 1], [1, 0]])
    paths, _ = paths_of(tree, Schema({"a": Boolean()}))
    assert (paths.supports, paths.counts, paths.classes) == ((1, 1), None, None)


def test_no_supports_if_scikit_learn_miscounts_missing_values(monkeypatch):
    monkeypatch.setattr(read, "_COUNTS_MISSING", False)
    tree = DecisionTreeClassifier(random_state=0).fit([[0, 0], [1, 0]] * 5, [0, 1] * 5)
    asked, other = Schema({"a": Boolean(missing="bin"), "b": Boolean()}), Schema({"b": Boolean(), "a": Boolean()})
    assert (paths_of(tree, asked)[0].supports, paths_of(tree, asked)[0].counts) == (None, None)
    assert paths_of(tree, asked)[0].classes == (0, 1)
    assert paths_of(tree, other)[0].supports == (5, 5)
    assert paths_of(tree, Schema({"a": Boolean(), "b": Boolean(missing="bin")}))[0].supports == (5, 5)
    assert paths_of(tree, asked, [Literal("a", "true"), "b"])[0].supports == (5, 5)


def test_a_tree_of_one_leaf_is_the_domain():
    tree = DecisionTreeClassifier().fit([[11, 0, 1]] * 3, [1, 1, 1])
    assert possible_rows_in(tree, PAPER) == (36,)
    assert paths_of(tree, PAPER)[0].paths == ((),)


def test_one_hot_columns_are_one_attribute():
    days = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    schema = Schema({"day": Categorical(days)})
    table = pd.DataFrame({"day": [day for day in days for _ in range(3)]})
    y = table["day"].isin(["mon", "wed", "sun"])
    dummies = pd.get_dummies(table)
    encoder = OneHotEncoder(sparse_output=False).fit(table)
    names = encoder.get_feature_names_out()
    for X, features in ((dummies, None), (encoder.transform(table), names)):
        tree = DecisionTreeClassifier(random_state=0).fit(X, y)
        assert sum(possible_rows_in(tree, schema, features)) == 7
        assert sum(possible_rows_in(tree, schema, features, independent_bits=True)) == 2**7
        paths = check(tree, lambda _, tree=tree, X=X: tree.apply(X), table, schema, features)
        assert set(paths.literals) <= {Literal("day", "=", (day,)) for day in days}


def test_one_hot_columns_of_a_missing_value_are_one_attribute():
    schema = Schema({"sex": Categorical(("F", "M"), missing="bin", missing_values=("?",))})
    table = pd.DataFrame({"sex": ["F", "M", "?"] * 4})
    dummies = pd.get_dummies(table)
    tree = DecisionTreeClassifier(random_state=0).fit(dummies, table["sex"] == "?")
    assert sorted(possible_rows_in(tree, schema)) == [1, 2]
    check(tree, lambda _: tree.apply(dummies), table, schema)


def test_thresholds_are_compared_in_float32():
    # 0.1 and 0.5 are cut at 0.3000000007, which 0.3 is below; but as float32, 0.3 is 0.3000000119 and above it.
    tree = DecisionTreeClassifier().fit([[0.1], [0.5]], [0, 1])
    assert tree.tree_.threshold[0] > 0.3
    assert tree.apply([[0.3]]) == [2]
    schema = Schema({"a": Real(0, 1, cuts=())})
    check(tree, lambda table: tree.apply(table.to_numpy()), pd.DataFrame({"a": [0.1, 0.5]}), schema)
    assert possible_rows_in(tree, schema, resolution={"a": 0.1}) == (3, 8)


def test_every_float_takes_the_branch_of_the_tree():
    rng = np.random.default_rng(0)
    for seed in range(50):
        X = rng.choice([0.1, 0.2, 0.7, 1e-3, 123.4, 5e4], size=(6, 1)) * rng.random()
        tree = ExtraTreeRegressor(random_state=seed).fit(X, rng.random(6))
        paths, _ = paths_of(tree, Schema({"a": Real(0, 1e6, cuts=())}))
        cuts = {literal.operands[0] for literal in paths.literals}
        near = [x for cut in cuts for x in (math.nextafter(cut, 0), cut, math.nextafter(cut, math.inf))]
        if near:
            domain, decision_paths = normalised(paths, Schema({"a": Real(0, 1e6, cuts=())}))
            table = pd.DataFrame({"a": near + (X + 0).ravel().tolist()})
            leaves = np.unique(tree.apply(table.to_numpy()), return_inverse=True)[1]
            result = np.unique(decision_paths.apply(table, domain.schema), return_inverse=True)[1]
            assert len(set(zip(leaves, result, strict=True))) == len(set(leaves)) == len(set(result)) == len(cuts) + 1


def test_whole_numbers_that_are_equal_in_float32():
    # 2^24 + 1 is 2^24 as float32, so it goes with it
    tree = DecisionTreeClassifier().fit([[2**24], [2**24 + 2]], [0, 1])
    assert possible_rows_in(tree, Schema({"a": Integer(2**24 - 4, 2**24 + 4, cuts=())})) == (6, 3)


def test_a_forest_is_read_tree_by_tree():
    X, y = pd.DataFrame({"a2": [0, 1] * 20, "a1": range(10, 50)}), ["no", "yes"] * 20
    for forest in (RandomForestClassifier(3), ExtraTreesClassifier(3), BaggingClassifier(), AdaBoostClassifier()):
        with pytest.raises(TypeError, match="trees_of"):
            paths_of(forest.fit(X, y), PAPER)
    for forest in (RandomForestRegressor(3), GradientBoostingClassifier(n_estimators=3)):
        with pytest.raises(TypeError, match="trees_of"):
            paths_of(forest.fit(X.to_numpy(), [0, 1] * 20), PAPER)


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(4, random_state=0),
        ExtraTreesClassifier(4, random_state=0),
        BaggingClassifier(ExtraTreeClassifier(), 6, max_features=2, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 6, max_samples=4, bootstrap_features=True, random_state=0),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0),
        GradientBoostingClassifier(n_estimators=2, random_state=0),
        RandomForestRegressor(3, random_state=0),
    ],
    ids=lambda forest: type(forest).__name__,
)
def test_the_trees_of_a_forest_sort_rows_as_they_do_there(forest):
    rng = random.Random(5)
    schema = random_schema(rng, ("integer", "boolean"))
    table = random_table(rng, schema, 80)
    y = labels(rng, table) + (rng.random() < 2) * 10
    forest.fit(table[list(schema)[::-1]], y)
    subsets = getattr(forest, "estimators_features_", [range(4)] * len(trees_of(forest, schema)))
    for number, ((tree, features), subset) in enumerate(zip(trees_of(forest, schema), subsets, strict=True)):
        X = table[list(schema)[::-1]].to_numpy()[:, subset]
        paths, _ = paths_of(tree, schema, features)
        domain, decision_paths = normalised(paths, schema)
        leaves = tree.apply(X.astype(np.float32))
        assert len(set(zip(decision_paths.apply(table, domain.schema), leaves, strict=True))) == len(set(leaves))
        assert sum(count_rows_each(domain.regions(decision_paths), domain.weights)) == domain.possible_rows
        samples = getattr(forest, "estimators_samples_", None)
        drawn = range(80) if samples is None else np.unique(samples[number])
        assert sum(paths.supports) == len(drawn) or isinstance(forest, AdaBoostClassifier)
        assert paths.classes is None or set(paths.classes) <= {10, 11}


def test_the_trees_of_a_forest_have_its_classes():
    X, y = [[0], [1], [1]] * 20, ["no", "yes", "maybe"] * 20
    schema = Schema({"a": Boolean()})
    for forest in (RandomForestClassifier(2), BaggingClassifier(), AdaBoostClassifier(DecisionTreeClassifier())):
        forest.fit(X, y)
        for (tree, features), own in zip(trees_of(forest, schema), forest.estimators_, strict=True):
            assert paths_of(tree, schema, features)[0].classes == ("maybe", "no", "yes")
            assert isinstance(forest, AdaBoostClassifier) or set(own.classes_) == {0, 1, 2}


def test_a_bootstrap_without_a_class_keeps_the_names_of_the_other_classes():
    X, y = [[i] for i in range(40)], ["a", "b", "c", "d"] * 10
    forest = BaggingClassifier(DecisionTreeClassifier(), 10, max_samples=4, random_state=0).fit(X, y)
    trees = [tree for tree, _ in trees_of(forest, Schema({"a": Integer(0, 39, cuts=())}))]
    for tree, samples in zip(trees, forest.estimators_samples_, strict=True):
        drawn = [i for i in samples if tree.predict([X[i]]) == [y[i]]]
        assert set(drawn) == set(samples)  # fully grown trees know their rows


def test_bootstrap_repeats_are_no_rows_of_a_forest():
    X, y = [[i % 2] for i in range(50)], [i % 2 for i in range(50)]
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    schema = Schema({"a": Boolean()})
    for (tree, features), drawn in zip(trees_of(forest, schema), forest.estimators_samples_, strict=True):
        assert sum(paths_of(tree, schema, features)[0].supports) == len(np.unique(drawn)) < 50


def test_models_that_are_not_fitted_are_refused():
    for model in (DecisionTreeClassifier(), RandomForestClassifier(), GaussianNB()):
        with pytest.raises(ValueError, match="not fitted"):
            paths_of(model, PAPER)
    with pytest.raises(TypeError, match="RandomForestClassifier"):
        trees_of(RandomForestClassifier(), PAPER)


def test_unsupported_models_raise_with_the_supported_ones():
    model = GaussianNB().fit([[0, 0, 0], [1, 1, 1]], [0, 1])
    with pytest.raises(TypeError, match=r"GaussianNB(.*\n)*.*stored_contents"):
        paths_of(model, PAPER)


def test_thresholds_outside_the_domain_are_refused():
    tree = DecisionTreeClassifier().fit([[20], [40]], [0, 1])
    for attribute in (Integer(0, 25, cuts=()), Integer(31, 50, cuts=()), Real(0, 25, cuts=())):
        paths, schema = paths_of(tree, Schema({"a": attribute}))
        with pytest.raises(SchemaError, match=r"attribute 'a'.* 30"):
            Domain.of(schema, paths.literals)
