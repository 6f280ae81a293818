"""What several models of one table disclose if their rows are not linked: against all tables of few rows."""

from itertools import product
from math import log2, prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import joint_reconstruction, reconstruction, unlinked_reconstruction
from hedgerow.audit.entropy import unlinked
from hedgerow.errors import ArgumentError
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema

EXACT = PrivacyCard.none("example", software="hedgerow")
NOISY = PrivacyCard((Charge("counts", 1),), noise="OpenDP", software="hedgerow")
SCHEMA = Schema({"a": Boolean(), "b": Categorical(("u", "v", "w"))}, Label("y", (0, 1)))
ROWS = list(product((False, True), "uvw"))
TESTS = {
    Literal("a", "true"): lambda row: row[0],
    Literal("b", "=", ("u",)): lambda row: row[1] == "u",
    Literal("b", "=", ("v",)): lambda row: row[1] == "v",
    Literal("b", "!=", ("v",)): lambda row: row[1] != "v",
}


A, U, V, NOT_V = TESTS


def place(rules, row):
    return next(k for k, rule in enumerate([*rules, ()]) if all(TESTS[test](row) for test in rule))


def counts_of(rules, table, labels):
    counts = [[0, 0] for _ in range(len(rules) + 1)]
    for row, label in zip(table, labels, strict=True):
        counts[place(rules, row)][label] += 1
    return tuple(map(tuple, counts))


def model_of(rules, counts):
    return RuleList(SCHEMA, tuple(map(Rule, [*rules, ()], counts)), EXACT)


rule_sets = st.lists(
    st.lists(st.sampled_from(list(TESTS)), min_size=1, max_size=2, unique=True), min_size=1, max_size=2
)
released = st.lists(rule_sets, min_size=2, max_size=3)
labelled_rows = st.lists(st.tuples(st.sampled_from(ROWS), st.sampled_from((0, 1))), min_size=1, max_size=4)


@given(released, labelled_rows)
def test_tables_with_the_counts_are_possible_and_equally_likely(several, rows):
    table, labels = zip(*rows, strict=True)
    counts = [counts_of(rules, table, labels) for rules in several]
    result = unlinked_reconstruction(list(map(model_of, several, counts)))
    by_class = [labels.count(label) for label in (0, 1)]
    chances, placed = list[float](), 0
    for other in product(ROWS, repeat=len(rows)):
        if [counts_of(rules, other, labels) for rules in several] == counts:
            chances.append(chance(result, several, other, labels, by_class))
            placed += all(
                place(several[0], row) == place(several[0], own) for row, own in zip(other, table, strict=True)
            )
    assert chances == pytest.approx([2**-result.unplaced_bits] * len(chances), rel=1e-3)
    assert sum(chances) <= 1 + 1e-3
    assert log2(placed) <= result.entropy_bits[0] + 1e-6


def chance(result, several, table, labels, by_class):
    """The probability of an ordered table under the maximum-entropy distribution, given the class of each row."""
    cells = [result.cells.index(tuple(place(rules, row) for rules in several)) for row in table]
    return prod(
        result.expected_rows[cell, label] / by_class[label] / result.possible_rows[cell]
        for cell, label in zip(cells, labels, strict=True)
    )


@given(released, labelled_rows)
def test_entropy_is_between_that_of_linked_rows_and_of_each_model_alone(several, rows):
    table, labels = zip(*rows, strict=True)
    models = [model_of(rules, counts_of(rules, table, labels)) for rules in several]
    frame = pd.DataFrame(table, columns=["a", "b"])
    result, linked = unlinked_reconstruction(models), joint_reconstruction(models, frame)
    for bits, own in zip(result.entropy_bits, result.alone, strict=True):
        assert linked.entropy_bits - 1e-6 <= bits <= own.entropy_bits + 1e-6
    assert result.expected_rows.sum() == pytest.approx(len(rows))
    with_fewer = unlinked_reconstruction(models[:-1])
    assert result.unplaced_bits <= with_fewer.unplaced_bits + 1e-6


def test_the_expected_rows_have_the_counts_of_all_models():
    rng = np.random.default_rng(0)
    table, labels = [ROWS[k] for k in rng.integers(6, size=60)], rng.integers(2, size=60).tolist()
    several = [[[A, U]], [[V], [A]], [[NOT_V, A]]]
    counts = [np.array(counts_of(rules, table, labels)) for rules in several]
    result = unlinked_reconstruction(
        [model_of(rules, known.tolist()) for rules, known in zip(several, counts, strict=True)]
    )
    for number, known in enumerate(counts):
        sums = np.zeros(known.shape)
        np.add.at(sums, np.array(result.cells)[:, number], result.expected_rows)
        assert sums == pytest.approx(known, abs=1e-2)


def tree(test, counts, privacy=EXACT):
    return Tree(SCHEMA, Split(test, *map(Leaf, counts)), privacy)


STUMP = tree(A, ((3, 1), (1, 5)))
OTHER = tree(U, ((4, 0), (0, 6)))


def h(share):
    return -share * log2(share) - (1 - share) * log2(1 - share)


def test_the_classes_of_rows_sharpen_the_result():
    """All rows of class 0 have b = u, and no row of class 1: given a and its class, a row is one of 1 or 2."""
    result = unlinked_reconstruction([STUMP, OTHER])
    assert result.classes == (0, 1)
    assert result.entropy_bits == pytest.approx((6, 4 * h(3 / 4) + 6 * (1 + h(1 / 6))))
    assert result.unplaced_bits == pytest.approx(result.entropy_bits[1])  # the class shows the region of OTHER


def test_without_classes_only_the_rows_of_regions_are_used():
    result = unlinked_reconstruction([STUMP, Regions()], SCHEMA)
    assert result.classes is None
    assert result.gains[0] == pytest.approx(log2(3) - h(0.4) - 0.6)
    assert unlinked_reconstruction([Regions(), STUMP], SCHEMA).gains[1] == pytest.approx(result.gains[0])
    assert "class" not in str(result)
    other_label = Tree(Schema(SCHEMA.attributes, Label("z", ("n", "y"))), OTHER.root, EXACT)
    assert unlinked_reconstruction([STUMP, other_label], SCHEMA).entropy_bits == pytest.approx(result.entropy_bits)


def test_counts_of_different_labels_are_not_combined():
    """Both labels have the classes 0 and 1, so that only their names or their numbers of rows differ."""
    without = unlinked_reconstruction([STUMP, Regions()], SCHEMA)
    renamed = Tree(Schema(SCHEMA.attributes, Label("z", (0, 1))), OTHER.root, EXACT)
    for other in (renamed, tree(U, ((0, 4), (1, 5)))):
        result = unlinked_reconstruction([STUMP, other], SCHEMA)
        assert result.classes is None
        assert result.entropy_bits == pytest.approx(without.entropy_bits)


def test_a_fit_that_stops_early_is_an_upper_bound(monkeypatch):
    """The fit converges slowly, since the counts imply that the possible rows with a = true, b = v do not occur."""
    several = [[[A]], [[V]], [[A, NOT_V]]]
    table = [(True, "u")] * 2 + [(False, "v"), (False, "w")]
    known = [counts_of(rules, table, [0] * 4) for rules in several]
    models = list(map(model_of, several, known))
    tables = sum([counts_of(rules, other, [0] * 4) for rules in several] == known for other in product(ROWS, repeat=4))
    converged = unlinked_reconstruction(models)
    monkeypatch.setattr(unlinked, "_MOST_SWEEPS", 1)
    early = unlinked_reconstruction(models)
    assert log2(tables) <= converged.unplaced_bits + 1e-9
    assert converged.unplaced_bits < early.unplaced_bits - 0.01
    for bits, least, own in zip(early.entropy_bits, converged.entropy_bits, early.alone, strict=True):
        assert least - 1e-6 <= bits <= own.entropy_bits


class Regions:
    """The regions of OTHER, with counts of rows, but not of classes."""

    supports = (4, 6)

    def regions(self):
        return [[U], []]


def test_a_model_adds_nothing_to_itself_nor_to_a_finer_model():
    finer = Tree(SCHEMA, Split(A, Split(V, Leaf((1, 0)), Leaf((2, 1))), Leaf((1, 5))), EXACT)
    assert unlinked_reconstruction([STUMP]).gains == pytest.approx((0,))
    assert unlinked_reconstruction([STUMP, STUMP]).gains == pytest.approx((0, 0))
    result = unlinked_reconstruction([STUMP, finer])
    assert result.gains[1] == pytest.approx(0)
    assert result.unplaced_bits == pytest.approx(unlinked_reconstruction([finer]).unplaced_bits)


def test_trees_of_scikit_learn_need_a_schema():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(2, size=(60, 3)), columns=["a1", "a2", "a3"])
    schema = Schema(dict.fromkeys(frame.columns, Boolean()), Label("y", (0, 1)))
    labels = rng.integers(2, size=60)
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0).fit(frame, labels) for depth in (1, 2)]
    result = unlinked_reconstruction(trees, schema)
    expected = [reconstruction(own, schema).uncertainty for own in trees]
    assert [own.uncertainty for own in result.alone] == expected
    assert result.uncertainties[0] < expected[0]
    with pytest.raises(ValueError, match="schema"):
        unlinked_reconstruction(trees)


def test_counts_without_a_common_table_are_refused(monkeypatch):
    noisy = tree(A, ((3, 1), (1, 5)), NOISY)
    with pytest.raises(ValueError, match="model 2 are noisy"):
        unlinked_reconstruction([STUMP, noisy])
    with pytest.raises(ValueError, match="10 in model 1, and 11 in model 2"):
        unlinked_reconstruction([STUMP, tree(U, ((5, 0), (0, 6)))])
    more = RuleList(SCHEMA, (Rule((A, U), (4, 1)), Rule((), (0, 5))), EXACT)
    with pytest.raises(ValueError, match="no table"):  # 4 rows of class 0 with a = true, but the stump has 3
        unlinked_reconstruction([STUMP, more])
    with pytest.raises(ValueError, match="more than 10\\^15 rows"):
        unlinked_reconstruction([tree(A, ((10**16, 1), (1, 5)))] * 2)
    monkeypatch.setattr(unlinked, "MOST_CELLS", 3)
    with pytest.raises(ValueError, match="more than 3 intersections"):
        unlinked_reconstruction([STUMP, OTHER])


def test_the_result_is_printed_with_a_line_for_each_model():
    result = unlinked_reconstruction([STUMP, OTHER])
    words = str(result).split()
    assert words[12:17] == ["1", "2", "0.613", "0.232", "0.985"]
    assert " ".join(words).endswith("The class of each row is known.")
    assert repr(result) == "<UnlinkedReconstruction: Dist_G = 0.232 of 10 rows, 2 models>"


def test_the_result_needs_no_row_and_grows_with_each_release():
    data = hr.datasets.load("breast_cancer")
    learners = [hr.OptimalTreeClassifier(schema=data.schema, max_depth=depth) for depth in (1, 2, 3)]
    models = [learner.fit(data.frame, data.labels) for learner in learners]
    lowest = [min(unlinked_reconstruction(models[:k]).uncertainties) for k in (1, 2, 3)]
    assert lowest == sorted(lowest, reverse=True)
    assert lowest[0] > lowest[2]


@pytest.mark.parametrize(
    "ensemble", [RandomForestClassifier(2), ExtraTreesClassifier(2, bootstrap=True, max_samples=4)]
)
def test_trees_with_different_samples_of_the_rows_are_refused(ensemble):
    X = pd.DataFrame({"a": [0.0, 1.0] * 10, "b": [0.0] * 5 + [1.0] * 15})
    schema = Schema({"a": Integer(0, 1), "b": Integer(0, 1)})
    labels = [0, 1] * 10
    with pytest.raises(ArgumentError, match=type(ensemble).__name__):
        unlinked_reconstruction([ensemble.fit(X, labels)], schema)
    on_all_rows = ExtraTreesClassifier(2, random_state=0).fit(X, labels)
    assert len(unlinked_reconstruction([on_all_rows], schema).alone) == 2
