from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hedgerow as hr
from hedgerow.audit import EnsembleRisk, LeafRisk, leaf_risk
from hedgerow.audit.readers import read
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.models.released import released_model
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Integer, Label, Literal, Number, Schema

SCHEMA = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))
NUMBER = Schema(SCHEMA.attributes, Number("y", 0, 1, 2))
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]).repeat([20, 4, 30, 15], axis=0)
Y = np.concatenate([np.arange(20) % 2, [0, 0, 0, 1], np.ones(30), (np.arange(15) < 2)]).astype(int)
COUNTS = {(10, 10), (3, 1), (0, 30), (13, 2)}  # by hand


def by_hand(model):
    leaves = model.apply(X)
    return [[int((Y[leaves == leaf] == k).sum()) for k in (0, 1)] for leaf in np.unique(leaves)]


@pytest.fixture(scope="module")
def tree():
    return DecisionTreeClassifier(random_state=0).fit(X, Y)


def test_leaves_are_counted_and_flagged(tree):
    result = leaf_risk(tree, (X, Y))
    assert [list(counts) for counts in result.counts] == by_hand(tree)
    assert set(result.counts) == COUNTS
    flagged = {name: {result.counts[i] for i in getattr(result, name)} for name in ("small", "pure", "few")}
    assert flagged == {"small": {(3, 1)}, "pure": {(0, 30)}, "few": {(3, 1), (13, 2)}}
    assert [len(leaf_risk(tree, (X, Y), threshold=t).small) for t in (4, 5, 16, 21)] == [0, 1, 2, 3]


def test_stored_and_counted_leaf_risks_agree(tree):
    stored, counted = leaf_risk(tree, schema=SCHEMA), leaf_risk(tree, (X, Y))
    assert stored.view == "exact"
    assert sorted(stored.counts) == sorted(counted.counts)
    assert set(stored.rows) == {20, 4, 30, 15}
    assert "1 of 4 leaves have fewer than 10 rows (4 in total)" in str(stored)
    optimal = hr.OptimalTreeClassifier(max_depth=2, schema=SCHEMA).fit(X, Y)
    assert leaf_risk(optimal).table.equals(leaf_risk(optimal, (X, Y)).table)


def test_stored_counts_of_a_tree_need_no_schema(tree):
    result, counted = leaf_risk(tree), leaf_risk(tree, (X, Y))
    assert dict(zip(result.leaves, result.counts, strict=True)) == dict(
        zip(counted.leaves, counted.counts, strict=True)
    )
    piped = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert set(leaf_risk(piped).counts) == COUNTS
    number = DecisionTreeRegressor(random_state=0).fit(X, Y)
    assert leaf_risk(number).counts is None
    assert sorted(leaf_risk(number).rows) == sorted(leaf_risk(number, (X, Y)).rows)


def test_stored_counts_that_missing_values_may_distort_are_not_used(tree, monkeypatch):
    monkeypatch.setattr(read, "_COUNTS_MISSING", False)
    with pytest.raises(ValueError, match="schema"):
        leaf_risk(tree)


@pytest.mark.parametrize("rows", [None, (X, Y)], ids=["stored", "rows"])
def test_the_trees_of_an_ensemble_are_examined_together(rows):
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)).fit(X, Y)
    result = leaf_risk(forest, rows, threshold=7)
    assert isinstance(result, EnsembleRisk)
    assert len(result.members) == 5
    assert (result.rows, result.view) == ((None, "drawn") if rows is None else (69, "exact"))
    assert result.fewest < 7
    assert len(result.small) > 0
    with pytest.raises(ValueError, match="threshold"):
        leaf_risk(forest, rows, threshold=0)


def test_ensembles_whose_leaves_cannot_be_examined_are_refused():
    for model, message in (
        (HistGradientBoostingClassifier(), "HistGradientBoostingClassifier"),
        (IsolationForest(n_estimators=2), "IsolationForest"),
    ):
        for rows in (None, (X, Y)):
            with pytest.raises(TypeError, match=message):
                leaf_risk(model.fit(X, Y), rows)


def test_levels_of_a_number_take_the_place_of_classes_in_a_forest():
    forest = RandomForestRegressor(3, random_state=0).fit(X, Y.astype(float))
    result = leaf_risk(forest, (X, Y.astype(float)), schema=NUMBER)
    assert result.classes == tuple(NUMBER.label.as_number.values)
    assert result.pure
    assert leaf_risk(forest, (X, Y.astype(float))).pure_leaves is None


def test_the_smallest_leaves_are_printed_first():
    counts = ((40, 3), (5, 0), (0, 1), *(((30, 2),) * 20))
    result = LeafRisk(tuple(f"leaf {i}" for i in range(23)), tuple(map(sum, counts)), counts, (0, 1), "exact")
    _, _, _, first, second, *_ = str(result).splitlines()
    assert (first, second) == ("  leaf 2: 1 row (small, pure, few)", "  leaf 1: 5 rows (small, pure, few)")


def test_the_flags_of_leaves_are_computed_once(tree):
    """A report asks for them leaf by leaf: computed each time, 8,000 leaves took two minutes."""
    risk = leaf_risk(tree)
    names = ("known_rows", "known_counts", "not_examined", "classes_not_examined", "small", "empty", "pure", "few")
    assert all(getattr(risk, name) is getattr(risk, name) for name in names)


def test_a_pipeline_is_counted_by_its_steps(tree):
    piped = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert set(leaf_risk(piped, (X, Y)).counts) == COUNTS
    assert hr.audit.overfit(piped, (X, Y), (X[::2], Y[::2])) == hr.audit.overfit(tree, (X, Y), (X[::2], Y[::2]))
    assert set(leaf_risk(make_pipeline(DecisionTreeClassifier(random_state=0)).fit(X, Y), (X, Y)).counts) == COUNTS
    with pytest.raises(TypeError, match="Pipeline"):
        leaf_risk(make_pipeline(StandardScaler()).fit(X), (X, Y))


def test_conditions_show_thresholds_between_cut_points():
    ages = np.arange(40).reshape(-1, 1)
    tree = DecisionTreeClassifier(random_state=0).fit(ages, (ages[:, 0] > 16).astype(int))
    result = leaf_risk(tree, schema=Schema({"age": Integer(0, 100, cuts=(30,))}, Label("y", (0, 1))))
    assert result.leaves == ("1. age <= 16", "2. age > 16")
    assert result.counts == ((17, 0), (0, 23))


@pytest.mark.parametrize("search", ["list", "tree"])
def test_lists_and_trees_of_hedgerow_have_their_conditions(search):
    learner = {
        "list": hr.GreedyRuleListClassifier(schema=SCHEMA, max_rules=3),
        "tree": hr.OptimalTreeClassifier(max_depth=2, schema=SCHEMA),
    }[search].fit(X, Y)
    result = leaf_risk(learner, (X, Y))
    assert sum(result.rows) == len(X)
    assert result.leaves[0].startswith("1. ")
    assert sorted(map(list, result.counts)) == sorted(by_hand(released_model(learner)))


def test_noisy_counts_are_marked_as_noisy():
    private = hr.PrivateTreeClassifier(5.0, max_depth=1, schema=SCHEMA, release_counts=True, random_state=0).fit(X, Y)
    result = leaf_risk(private)
    assert result.view == "noisy"
    assert "noisy counts" in str(result)
    assert leaf_risk(private, (X, Y)).view == "exact"


def test_rows_of_leaves_follow_from_released_sums_of_a_number():
    """Two levels of a number, 0 and 1: a row adds 1 to one of the two sums. The sums of a leaf can be negative."""
    private = hr.PrivateTreeRegressor(5.0, max_depth=1, schema=NUMBER, random_state=0).fit(X, Y.astype(float))
    leaves = private.tree_.leaves
    assert all(leaf.sums is not None and leaf.counts is None for leaf in leaves)
    result = leaf_risk(private)
    assert (result.view, result.counts) == ("noisy", None)
    assert result.rows == tuple(max(sum(leaf.sums), 0) for leaf in leaves)
    assert hr.audit.reconstruction(private).supports == result.rows


def test_a_function_and_many_flagged_leaves():
    result = leaf_risk(lambda rows: np.arange(len(rows)), (X, Y))
    assert len(result.small) == len(result.pure) == len(X)
    assert f"and {len(X) - 20} more" in str(result)
    assert repr(result) == "<LeafRisk of 69 leaves: 69 small, 69 pure>"


def test_rows_without_classes_leave_purity_open():
    result = LeafRisk(("a", "b"), (3, 40), None, None, "exact")
    assert (result.small, result.pure, result.few) == ((0,), (), ())
    assert "pure leaves   unknown" in str(result)
    assert result.table.columns.tolist() == ["leaf", "rows", "small", "pure", "few"]
    assert result.table[["pure", "few"]].isna().all().all()
    assert result.classes_not_examined == (0, 1)


def test_leaves_without_counts_are_not_examined():
    """0.2.0 ignored the counts of all leaves if a leaf had none."""
    rules = (
        Rule.of((Literal("a", "true"),), Leaf((0, 3))),
        Rule.of((Literal("b", "true"),), Leaf((2000, 100))),
        Rule.of((), Leaf(label=0)),
    )
    result = leaf_risk(RuleList(SCHEMA, rules, PrivacyCard.none("no noise")))
    assert (result.rows, result.counts) == ((3, 2100, None), ((0, 3), (2000, 100), None))
    assert (result.small, result.pure, result.few, result.empty) == ((0,), (0,), (0,), ())
    assert (result.not_examined, result.classes_not_examined, result.has_safe_rows) == ((2,), (2,), False)
    assert "1 of 3 leaves have fewer than 10 rows (3 in total)" in str(result)
    assert "not examined  leaf 3" in str(result)
    assert result.table["rows"].tolist() == [3, 2100, pd.NA]
    assert result.table["pure"].tolist() == [True, False, pd.NA]


def test_rows_of_a_leaf_may_be_known_without_its_classes():
    result = LeafRisk(("a", "b", "c"), (3, 40, 0), ((3, 0), None, None), (0, 1), "exact")
    assert (result.pure, result.not_examined, result.classes_not_examined) == ((0,), (), (1,))
    assert "leaf 2, for classes" in str(result)


@st.composite
def leaves(draw):
    """Return noise, a threshold and the counts of leaves: exact, or noisy and possibly negative."""
    noise = draw(st.sampled_from([None, CountNoise(0.0), CountNoise(2.0)]))
    low = -20 if noise == CountNoise(2.0) else 0
    count = st.integers(low, 25) | st.integers(low, 500)
    return noise, draw(st.integers(1, 30)), draw(st.lists(st.tuples(count, count), min_size=1, max_size=6))


@given(leaves(), st.data())
def test_deleting_counts_clears_no_leaf(drawn, data):
    """The leaves that remain are judged as before, and a model with a deleted count is never called safe."""
    noise, least, counts = drawn
    kept = data.draw(st.lists(st.booleans(), min_size=len(counts), max_size=len(counts)))
    has_classes = data.draw(st.lists(st.booleans(), min_size=len(counts), max_size=len(counts)))

    def risk(kept, has_classes):
        known = tuple(Leaf(own) if keep else Leaf(label=0) for own, keep in zip(counts, kept, strict=True))
        release = None if noise is None else LeafRelease(known, SCHEMA.target, noise)
        rows = tuple(max(sum(own), 0) if keep else None for own, keep in zip(counts, kept, strict=True))
        both = tuple(own if keep and full else None for own, keep, full in zip(counts, kept, has_classes, strict=True))
        names = tuple(map(str, range(len(counts))))
        view = "exact" if noise is None else "noisy"
        return LeafRisk(names, rows, both, (0, 1), view, least, release=release)

    whole, part = risk([True] * len(counts), [True] * len(counts)), risk(kept, has_classes)
    open_ = [i for i, keep in enumerate(kept) if not keep]
    closed = [i for i, keep in enumerate(kept) if keep and has_classes[i]]
    assert part.small == tuple(i for i in whole.small if i not in open_)
    assert part.empty == tuple(i for i in whole.empty if i not in open_)
    assert part.pure == tuple(i for i in whole.pure if i in closed)
    assert part.few == tuple(i for i in whole.few if i in closed)
    assert part.not_examined == tuple(open_)
    assert part.has_safe_rows == (whole.has_safe_rows and not open_)


class Silent:
    supports = None

    def regions(self):
        return [[]]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda tree: leaf_risk(tree, (X, Y), threshold=0), ValueError, "threshold"),
        (lambda tree: leaf_risk(tree, X), TypeError, "ndarray"),
        (lambda _: leaf_risk(Silent()), ValueError, "schema"),
        (lambda _: leaf_risk(Silent(), schema=SCHEMA), ValueError, "train"),
        (lambda _: LeafRisk(("a",), (1, 2), None, None, "exact"), ValueError, "leaves"),
    ],
)
def test_invalid_input_raises_a_single_error(call, error, match, tree):
    with pytest.raises(error, match=match):
        call(tree)


def of_households(size):
    """Return a schema, a tree with a leaf for each row of `X` and the rows, `size` of each household in their order."""
    schema = replace(SCHEMA, unit=hr.Unit("hh", 3))
    (a, b), counts = (Literal(name, "true") for name in "ab"), ((13, 2), (0, 30), (3, 1), (10, 10))
    both = [Split(b, Leaf(counts[place]), Leaf(counts[place + 1])) for place in (0, 2)]
    frame = pd.DataFrame(X.astype(bool), columns=["a", "b"])
    frame["hh"] = [f"h{place // size}" for place in range(len(frame))]
    return schema, Tree(schema, Split(a, *both), PrivacyCard.none("no noise")), frame, pd.Series(Y, name="y")


@pytest.mark.parametrize("size", [1, 2, 12])
def test_units_are_counted_if_their_column_exists(size):
    """By definition: the different households of a leaf, and of a class in it."""
    schema, model, frame, labels = of_households(size)
    result, places = leaf_risk(model, (frame, labels)), model.apply(frame)
    whose = [[set(frame.hh[(places == leaf) & (labels == k)]) for k in (0, 1)] for leaf in range(4)]
    assert result.rows == tuple(len(no | yes) for no, yes in whose)
    assert result.counts == tuple((len(no), len(yes)) for no, yes in whose)
    assert result.small == tuple(i for i, (no, yes) in enumerate(whose) if len(no | yes) < 10)
    assert result.table.columns.tolist()[1:4] == ["units (hh)", "units (hh) of 0", "units (hh) of 1"]
    assert f"{len(result.small)} of 4 leaves have fewer than 10 units (hh)" in str(result)
    assert sum(result.rows) == {1: 69, 2: 35, 12: 8}[size]  # two of the six households have rows in two leaves
    other = leaf_risk(lambda _: places, (frame, labels), schema=schema)
    assert (other.rows, other.view) == (result.rows, "units")


def test_rows_without_a_unit_column_may_belong_to_the_same_unit():
    _, model, frame, labels = of_households(12)
    for result in (leaf_risk(model), leaf_risk(model, (frame.drop(columns="hh"), labels))):
        assert (result.view, result.rows) == ("exact", (15, 30, 4, 20))
        assert "one hh may have several rows" in str(result)
    with pytest.raises(ValueError, match="hh"):
        leaf_risk(model, (frame.assign(hh=[None, *frame.hh[1:]]), labels))
