import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import LeafRisk, leaf_risk
from hedgerow.models.released import released_model
from hedgerow.schema import Boolean, Integer, Label, Schema

SCHEMA = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))
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
    found = leaf_risk(tree, (X, Y))
    assert [list(counts) for counts in found.counts] == by_hand(tree)
    assert set(found.counts) == COUNTS
    flagged = {name: {found.counts[i] for i in getattr(found, name)} for name in ("small", "pure", "few")}
    assert flagged == {"small": {(3, 1)}, "pure": {(0, 30)}, "few": {(3, 1), (13, 2)}}
    assert [len(leaf_risk(tree, (X, Y), threshold=t).small) for t in (4, 5, 16, 21)] == [0, 1, 2, 3]


def test_what_a_model_stores_and_what_is_counted_agree(tree):
    stored, counted = leaf_risk(tree, schema=SCHEMA), leaf_risk(tree, (X, Y))
    assert stored.view == "exact"
    assert sorted(stored.counts) == sorted(counted.counts)
    assert set(stored.rows) == {20, 4, 30, 15}
    assert "1 of 4 leaves have fewer than 10 rows, 4 together" in str(stored)
    optimal = hr.OptimalTreeClassifier(max_depth=2, schema=SCHEMA).fit(X, Y)
    assert leaf_risk(optimal).table.equals(leaf_risk(optimal, (X, Y)).table)


def test_the_smallest_leaves_are_told_first():
    counts = ((40, 3), (5, 0), (0, 1), *(((30, 2),) * 20))
    found = LeafRisk(tuple(f"leaf {i}" for i in range(23)), tuple(map(sum, counts)), counts, (0, 1), "exact")
    _, _, _, first, second, *_ = str(found).splitlines()
    assert (first, second) == ("  leaf 2: 1 row (small, pure, few)", "  leaf 1: 5 rows (small, pure, few)")


def test_a_pipeline_is_counted_by_its_steps(tree):
    piped = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert set(leaf_risk(piped, (X, Y)).counts) == COUNTS
    assert hr.audit.overfit(piped, (X, Y), (X[::2], Y[::2])) == hr.audit.overfit(tree, (X, Y), (X[::2], Y[::2]))
    assert set(leaf_risk(make_pipeline(DecisionTreeClassifier(random_state=0)).fit(X, Y), (X, Y)).counts) == COUNTS
    with pytest.raises(TypeError, match="got a Pipeline, which has no `apply`"):
        leaf_risk(make_pipeline(StandardScaler()).fit(X), (X, Y))


def test_thresholds_between_the_cut_points_of_the_schema_are_in_words():
    ages = np.arange(40).reshape(-1, 1)
    tree = DecisionTreeClassifier(random_state=0).fit(ages, (ages[:, 0] > 16).astype(int))
    found = leaf_risk(tree, schema=Schema({"age": Integer(0, 100, cuts=(30,))}, Label("y", (0, 1))))
    assert found.leaves == ("1. age <= 16", "2. age > 16")
    assert found.counts == ((17, 0), (0, 23))


@pytest.mark.parametrize("search", ["list", "tree"])
def test_lists_and_trees_of_hedgerow_have_their_conditions(search):
    learner = {
        "list": hr.GreedyRuleListClassifier(schema=SCHEMA, max_rules=3),
        "tree": hr.OptimalTreeClassifier(max_depth=2, schema=SCHEMA),
    }[search].fit(X, Y)
    found = leaf_risk(learner, (X, Y))
    assert sum(found.rows) == len(X)
    assert found.leaves[0].startswith("1. ")
    assert sorted(map(list, found.counts)) == sorted(by_hand(released_model(learner)))


def test_noisy_counts_are_said_to_be_noisy():
    private = hr.PrivateTreeClassifier(5.0, max_depth=1, schema=SCHEMA, release_counts=True, random_state=0).fit(X, Y)
    found = leaf_risk(private)
    assert found.view == "noisy"
    assert "Counts are the noisy ones released" in str(found)
    assert leaf_risk(private, (X, Y)).view == "exact"


def test_a_function_and_many_flagged_leaves():
    found = leaf_risk(lambda rows: np.arange(len(rows)), (X, Y))
    assert len(found.small) == len(found.pure) == len(X)
    assert f"and {len(X) - 20} more" in str(found)
    assert repr(found) == "<LeafRisk of 69 leaves: 69 small, 69 pure>"


def test_rows_without_classes_leave_purity_open():
    found = LeafRisk(("a", "b"), (3, 40), None, None, "exact")
    assert (found.small, found.pure, found.few) == ((0,), (), ())
    assert "whether a leaf is pure is not known" in str(found)
    assert found.table.columns.tolist() == ["leaf", "rows", "small", "pure", "few"]


class Silent:
    supports = None

    def regions(self):
        return [[]]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda tree: leaf_risk(tree, (X, Y), threshold=0), ValueError, "threshold must be a whole number >= 1, got 0"),
        (lambda tree: leaf_risk(tree, X), TypeError, r"train must be a pair of rows and labels, \(X, y\), got ndarray"),
        (lambda tree: leaf_risk(tree), ValueError, "expected a schema, as the model has none of its own"),
        (lambda _: leaf_risk(Silent(), schema=SCHEMA), ValueError, "expected a model that stores the rows of its"),
        (lambda _: LeafRisk(("a",), (1, 2), None, None, "exact"), ValueError, "expected one number of rows"),
    ],
)
def test_bad_input_is_one_clear_error(call, error, match, tree):
    with pytest.raises(error, match=match):
        call(tree)
