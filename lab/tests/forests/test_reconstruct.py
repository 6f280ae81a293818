from collections import Counter
from itertools import product
from math import log

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import hedgerow as hr
from hedgerow.audit import Paths
from hedgerow.errors import ArgumentError, ArgumentTypeError, SearchTooLargeError
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema
from lab.forests import reconstruct
from lab.tests.forests.twin import (
    SCHEMA,
    bootstrap,
    chance_of,
    counts_of,
    drawn,
    laplace,
    orders,
    table_of,
    tables,
)

LITERALS = {name: Literal(name, "true") for name in SCHEMA.names}


def forest_of(X, y, kind=RandomForestClassifier, trees=2, **settings):
    return kind(trees, max_features=1, **settings).fit(X, y)


def leaf_of(tree):
    every = list(product((0, 1), repeat=3))
    leaves = dict(zip(every, tree.apply(np.array(every, dtype=np.float32)).tolist(), strict=True))
    return lambda bits: leaves[tuple(bits)]


def known(table, forest):
    """Return a table without the bits that no tree of a forest asks for."""
    asked = {int(i) for tree in forest.estimators_ for i in tree.tree_.feature if i >= 0}
    result = Counter()
    for (*bits, label), n in table.items():
        result[(*(bit for i, bit in enumerate(bits) if i in asked), label)] += n
    return result


def best(score, n_rows):
    """Return the tables of the highest score, and the score."""
    scored = [(score(table), table) for table in tables(n_rows)]
    top = max(value for value, _ in scored)
    return top, [table for value, table in scored if value > top - 1e-9]


def node_counts(tree):
    return np.rint(tree.tree_.value[:, 0, :] * tree.tree_.weighted_n_node_samples[:, None]).astype(int)


@pytest.mark.parametrize("kind", [RandomForestClassifier, pytest.param(ExtraTreesClassifier, marks=pytest.mark.slow)])
@pytest.mark.parametrize("prior", [None, {}])
def test_the_guess_is_one_of_the_tables_that_are_consistent(kind, prior):
    for seed in (2, 3):
        X, y = drawn(np.random.default_rng(seed), 3)
        forest = forest_of(X, y, kind, max_depth=2, bootstrap=False, random_state=seed)

        def score(table, forest=forest):
            for tree in forest.estimators_:
                result = counts_of(table, leaf_of(tree), tree.tree_.node_count)
                leaves = tree.tree_.children_left < 0
                if (result[leaves][:, : len(forest.classes_)] != node_counts(tree)[leaves]).any():
                    return -np.inf
            return 0.0 if prior is None else log(orders(known(table, forest)))

        assert len(forest.classes_) == 2
        top, likely = best(score, 3)
        guess = reconstruct(forest, SCHEMA, prior=prior, n_jobs=1)
        assert top > -np.inf
        assert table_of(guess) in likely
        assert guess.status == "optimal"
        assert guess.gap == 0


def by_two(bits):
    return 2 * bits[0] + bits[1]


def by_third(bits):
    return bits[2]


@pytest.mark.parametrize("prior", [None, {}, {"a": [0.9, 0.1]}])
def test_the_guess_makes_noisy_counts_most_likely(prior):
    chances = (0.5, 0.5) if not prior else (0.9, 0.1)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = drawn(rng, 3)
        truth = Counter((*map(int, row), int(label)) for row, label in zip(X, y, strict=True))
        first = np.rint(counts_of(truth, by_two, 4) + rng.laplace(0, 1.0, (4, 2))).astype(int)
        second = np.rint(counts_of(truth, by_third, 2) + rng.laplace(0, 0.5, (2, 2))).astype(int)

        def score(table, first=first, second=second):
            result = laplace(counts_of(table, by_two, 4), first, 1.0) + laplace(
                counts_of(table, by_third, 2), second, 0.5
            )
            if prior is None:
                return result
            return result + log(orders(table)) + sum(n * log(chances[row[0]]) for row, n in table.items())

        models = [noisy(first, ("a", "b")), noisy(second, ("c",))]
        guess = reconstruct(models, SCHEMA, rows=3, noise=(1.0, 0.5), prior=prior, n_jobs=1)
        assert score(table_of(guess)) == pytest.approx(best(score, 3)[0], abs=0.02)


def noisy(counts, names):
    """Return the paths of a full tree on some attributes, with noisy counts."""
    paths = [()]
    for name in names:
        paths = [(*path, (LITERALS[name], holds)) for path in paths for holds in (False, True)]
    rows = tuple(tuple(map(int, row)) for row in counts)
    return Paths(tuple(paths), counts=rows, classes=(0, 1), view="noisy", exclusive=True)


def test_an_unknown_number_of_rows_is_found_with_them():
    counts = np.array([[3, 0], [0, 2]])
    guess = reconstruct(noisy(counts, ("a",)), SCHEMA, rows=(1, 20), noise=1.0, n_jobs=1)
    assert Counter((row[0], y) for row, y in zip(guess.bins.tolist(), guess.labels.tolist(), strict=True)) == {
        (0, 0): 3, (1, 1): 2
    }  # fmt: skip
    assert len(reconstruct(noisy(counts, ("a",)), SCHEMA, rows=(6, 20), noise=1.0, n_jobs=1)) == 6


@pytest.mark.parametrize("prior", [None, {}])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_the_guess_makes_bootstrap_samples_most_likely(seed, prior):
    X, y = drawn(np.random.default_rng(seed), 3)
    forest = forest_of(X, y, max_depth=1, random_state=seed)
    assert len(forest.classes_) == 2

    def score(table, forest=forest):
        result = 0.0 if prior is None else log(orders(known(table, forest)))
        for tree in forest.estimators_:
            leaves = tree.tree_.children_left < 0
            counts = counts_of(table, leaf_of(tree), tree.tree_.node_count)[leaves]
            result += bootstrap(counts, node_counts(tree)[leaves], tree.tree_.n_node_samples[leaves])
        return result

    top, _ = best(score, 3)
    guess = reconstruct(forest, SCHEMA, prior=prior, n_jobs=1)
    assert score(table_of(guess)) == pytest.approx(top, abs=0.02)


def test_the_likelihood_of_a_bootstrap_sample_is_its_chance():
    """Of leaves of one class: by all samples there are of three rows."""
    apply = lambda bits: bits[0]  # noqa: E731
    draws, distinct = np.array([[2, 0], [0, 1]]), np.array([1, 1])
    item, other = Counter({(0, 0, 0, 0): 2, (1, 0, 0, 1): 1}), Counter({(0, 0, 0, 0): 1, (1, 0, 0, 1): 2})
    chances = [chance_of(apply, 2, table, draws, distinct) for table in (item, other)]
    likelihoods = [bootstrap(counts_of(table, apply, 2), draws, distinct) for table in (item, other)]
    assert log(chances[0] / chances[1]) == pytest.approx(likelihoods[0] - likelihoods[1])


def test_many_trees_give_the_table_away():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (30, 6))
    y = rng.integers(0, 2, 30)
    schema = Schema({f"x{i}": Boolean() for i in range(6)}, Label("y", (0, 1)))
    guess = reconstruct(forest_of(X, y, trees=25, bootstrap=False, random_state=0), schema)
    assert guess.error(X, y) == 0
    bagged = reconstruct(forest_of(X, y, trees=25, random_state=0), schema, seconds=30)
    other = rng.integers(0, 2, (30, 6))
    assert bagged.error(X, y) < 0.1 < bagged.error(other)


def test_the_meaning_of_columns_is_that_of_other_audits():
    """One-hot columns of a category, and a number behind a step of a pipeline."""
    schema = Schema({"hue": Categorical(("red", "green", "blue")), "age": Integer(0, 100)}, Label("y", ("no", "yes")))
    rng = np.random.default_rng(1)
    hues, ages = rng.integers(0, 3, 20), rng.integers(0, 101, 20)
    y = np.where(ages > 50, "yes", "no")
    X = np.column_stack([hues == i for i in range(3)] + [ages]).astype(float)
    features = [Literal("hue", "=", (hue,)) for hue in schema["hue"].values] + ["age"]
    forest = forest_of(X, y, trees=30, bootstrap=False, random_state=0)
    guess = reconstruct(forest, schema, features=features)
    frame = {"hue": np.array(schema["hue"].values)[hues], "age": ages}
    assert guess.error(pd.DataFrame(frame), y) < 0.1 < guess.error(pd.DataFrame({**frame, "hue": "red"}), y)
    assert set(guess.to_frame()["hue"]) <= {"red", "green", "blue"}
    steps = make_pipeline(MinMaxScaler(), RandomForestClassifier(5, bootstrap=False, random_state=0))
    small = Schema({"age": Integer(0, 100)}, Label("y", ("no", "yes")))
    again = reconstruct(steps.fit(pd.DataFrame({"age": ages.astype(float)}), y), small)
    assert sorted(again.labels.tolist()) == sorted(y.tolist())


def test_models_of_hedgerow_go_in_as_they_are():
    rng = np.random.default_rng(0)
    X, y = drawn(rng, 200)
    exact = hr.GreedyRuleListClassifier(schema=SCHEMA, max_rules=3).fit(X, y)
    deep = hr.OptimalTreeClassifier(schema=SCHEMA, max_depth=3).fit(X, y)
    guess = reconstruct([exact, deep], n_jobs=1)
    for model in (exact.rule_list_, deep.tree_):
        leaves = model.apply(guess.bins.astype(int))
        for number, leaf in enumerate(model.leaves):
            assert tuple(int(((leaves == number) & (guess.labels == c)).sum()) for c in (0, 1)) == leaf.counts
    private = hr.PrivateTreeClassifier(epsilon=5.0, max_depth=2, schema=SCHEMA, release_counts=True).fit(X, y)
    assert len(reconstruct(private, rows=200, noise=1.0, n_jobs=1)) == 200


def test_numbers_of_rows_without_classes_leave_the_classes_unknown():
    class Regions:
        supports = (3, 1)

        def regions(self):
            return [[LITERALS["a"]], []]

    guess = reconstruct(Regions(), SCHEMA, n_jobs=1)
    assert guess.labels is None
    assert guess.bins[:, 0].sum() == 3
    with pytest.raises(ArgumentError, match="expected no labels"):
        guess.error(guess.bins, [0, 0, 0, 1])


def test_a_rare_bin_of_a_prior_is_not_guessed():
    wide = Schema({"a": Boolean(), "hue": Categorical(("red", "green", "blue"))}, Label("y", (0, 1)))
    paths = Paths((((LITERALS["a"], True),), ()), counts=((3, 0), (0, 2)), classes=(0, 1))
    guess = reconstruct(paths, wide, prior={"hue": {"green": 1.0}}, n_jobs=1)
    assert set(guess.to_frame()["hue"]) == {"green"}


X4, Y4 = drawn(np.random.default_rng(3), 12)


def fitted(kind=RandomForestClassifier, **settings):
    return kind(3, random_state=0, **settings).fit(X4, Y4)


@pytest.mark.parametrize(
    ("models", "arguments", "kind", "message"),
    [
        (lambda: fitted(RandomForestRegressor), {}, ArgumentTypeError, "got a RandomForestRegressor"),
        (lambda: hr.datasets, {}, ArgumentTypeError, "cannot extract decision paths"),
        (lambda: fitted(class_weight="balanced"), {}, ArgumentError, "class_weight"),
        (lambda: [], {}, ArgumentError, "one or more models"),
        (lambda: [fitted()], {"noise": (1.0, 2.0)}, ArgumentError, "one scale of noise"),
        (lambda: noisy([[1, 2], [3, 4]], ("a",)), {"rows": 9}, ArgumentError, "pass `noise=`"),
        (lambda: noisy([[1, 2], [3, 4]], ("a",)), {"noise": 1.0}, ArgumentError, "rows must be"),
        (lambda: noisy([[1, 2], [3, 4]], ("a",)), {"noise": 0, "rows": 9}, ArgumentError, "noise must be"),
        (lambda: noisy([[1, 2], [3, 4]], ("a",)), {"noise": 1, "rows": (3, 2)}, ArgumentError, "rows must be"),
        (fitted, {"seconds": 0}, ArgumentError, "seconds must be"),
        (fitted, {"n_jobs": 0}, ArgumentError, "n_jobs must be"),
        (fitted, {"rows": (3, 9)}, ArgumentError, "got a range"),
        (fitted, {"rows": 1}, ArgumentError, "as many rows as were drawn"),
        (lambda: fitted(bootstrap=False), {"rows": 9}, ArgumentError, "that the models count, 12"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_refused(models, arguments, kind, message):
    with pytest.raises(kind, match=message):
        reconstruct(models(), SCHEMA, **arguments)


def test_models_of_other_tables_are_refused():
    with pytest.raises(ArgumentError, match="different numbers of rows"):
        reconstruct([fitted(bootstrap=False), RandomForestClassifier(2, bootstrap=False).fit(X4[:9], Y4[:9])], SCHEMA)
    item, other = (
        Paths((((LITERALS["a"], True),), ()), counts=counts, classes=(0, 1))
        for counts in (((1, 0), (0, 1)), ((0, 2), (0, 0)))
    )
    with pytest.raises(ArgumentError, match="no table of the schema"):
        reconstruct([item, other], SCHEMA, n_jobs=1)


def test_schemas_must_be_one_and_the_classes_the_schemas():
    X = X4[:, :2]
    small = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))
    own = [
        hr.GreedyRuleListClassifier(schema=SCHEMA).fit(X4, Y4),
        hr.GreedyRuleListClassifier(schema=small).fit(X, Y4),
    ]
    with pytest.raises(ArgumentError, match="same schema"):
        reconstruct(own)
    with pytest.raises(ArgumentError, match="same classes"):
        reconstruct(RandomForestClassifier(2, bootstrap=False).fit(X4, Y4 + 5), SCHEMA)
    for models in (fitted(), Paths(((),), counts=((3, 1),), classes=(0, 1))):
        with pytest.raises(ArgumentError, match="pass `schema=`"):
            reconstruct(models)
    with pytest.raises(ArgumentTypeError, match="expected a Schema or None"):
        reconstruct(fitted(), {"a": Boolean()})


def test_several_outputs_and_weights_of_rows_are_refused():
    both = RandomForestClassifier(2).fit(X4, np.column_stack([Y4, Y4]))
    with pytest.raises(ArgumentError, match="one output"):
        reconstruct(both, SCHEMA)
    forest = RandomForestClassifier(2, bootstrap=False, max_depth=1)
    weighted = forest.fit(X4, Y4, sample_weight=np.linspace(0.1, 2, 12))
    with pytest.raises(ArgumentError, match="got weights of rows"):
        reconstruct(weighted, SCHEMA)
    with pytest.raises(ArgumentError, match="got weights of rows"):
        reconstruct(weighted.set_params(bootstrap=True), SCHEMA)
    drawn_only = hr.PrivateTreeClassifier(epsilon=1.0, max_depth=1, release_counts=False, schema=SCHEMA).fit(X4, Y4)
    with pytest.raises(ArgumentError, match="got one without"):
        reconstruct(drawn_only)


def test_a_domain_that_is_too_large_is_refused_before_the_search():
    names = [f"x{i}" for i in range(20)]
    schema = Schema({name: Boolean() for name in names}, Label("y", (0, 1)))
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (200, 20)), rng.integers(0, 2, 200)
    with pytest.raises(SearchTooLargeError, match="1,048,576 patterns of 2 classes") as caught:
        reconstruct(RandomForestClassifier(20, random_state=0).fit(X, y), schema)
    assert caught.value.states == 2**21


def test_a_search_that_is_stopped_has_its_best_table_and_says_so():
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(10)]
    schema = Schema({name: Boolean() for name in names}, Label("y", (0, 1)))
    X, y = rng.integers(0, 2, (200, 10)), rng.integers(0, 2, 200)
    forest = RandomForestClassifier(4, max_depth=5, random_state=0).fit(X, y)
    with pytest.raises(ArgumentError, match="found none; allow more"):
        reconstruct(forest, schema, seconds=1e-6, n_jobs=1)


def test_without_ortools_the_requirement_is_named(monkeypatch):
    monkeypatch.setattr("lab.forests.search.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install -r lab/requirements\.txt"):
        reconstruct(fitted(), SCHEMA)
