import math
import time
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow.models import Leaf, Tree
from hedgerow.models.leaf import check_leaves, commented, leaf_predictions, leaf_probabilities
from hedgerow.privacy import PrivacyCard
from hedgerow.schema import Boolean, Label, Number, Schema

CLASSES = ("a", "b", "c")
LABEL = Label("y", CLASSES)


def shares(*leaves: Leaf) -> list[list[float]]:
    return leaf_probabilities(leaves, LABEL).tolist()


def predicted(*leaves: Leaf) -> tuple:
    return leaf_predictions(leaves, LABEL, leaf_probabilities(leaves, LABEL))


def test_a_leaf_says_something() -> None:
    with pytest.raises(ValueError, match=r"^expected counts, a label, or both; got neither\.$"):
        Leaf()


@pytest.mark.parametrize("label", [False, 0, ""])
def test_a_label_may_be_false(label: object) -> None:
    assert Leaf(label=label).label == label  # type: ignore[arg-type]


def test_counts_are_python_integers_whatever_they_were() -> None:
    leaf = Leaf(np.array([3, 4]))  # type: ignore[arg-type]
    assert leaf == Leaf((3, 4))
    assert {type(count) for count in leaf.counts or ()} == {int}
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        Leaf((0.5, 1))  # type: ignore[arg-type]


def test_rows_are_the_sum_of_the_counts_but_never_negative() -> None:
    assert (Leaf((5, -3)).rows, Leaf((2, -3)).rows, Leaf(label="a").rows) == (2, 0, None)


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        (Leaf((1, 2)), r"expected 3 counts a leaf, got 2\."),
        (Leaf(label="d"), r"expected the label of a leaf to be one of the schema's classes a, b, c; got 'd'\."),
    ],
)
def test_a_leaf_must_fit_the_classes(leaf: Leaf, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        check_leaves([Leaf(label="a"), leaf], LABEL, "leaf")


@pytest.mark.parametrize(("classes", "label"), [((0, 1), True), ((False, True), 1), ((0, 1), "1")])
def test_a_label_that_only_equals_a_class_is_refused(classes: tuple, label: str | int) -> None:
    with pytest.raises(ValueError, match=r"^expected the label of a leaf to be one of the schema's classes"):
        check_leaves([Leaf(label=label)], Label("y", tuple(classes)), "leaf")
    check_leaves([Leaf(label=classes[1])], Label("y", tuple(classes)), "leaf")


def test_the_mean_of_a_number_is_within_its_bounds() -> None:
    for mean in (0.0, 30.0):
        check_leaves([Leaf(mean=mean)], Number("days", 0, 30), "leaf")
    for leaf in (Leaf(mean=-0.5), Leaf(mean=30.5), Leaf((1, 1), sums=(1, 2))):
        with pytest.raises(ValueError, match="expected a mean of a leaf within the bounds of the number"):
            check_leaves([leaf], Number("days", 0, 30, 2), "leaf")
    with pytest.raises(ValueError, match="expected no mean of a leaf whose classes are no numbers"):
        check_leaves([Leaf(mean=0.5)], LABEL, "leaf")


@pytest.mark.parametrize("label", [math.nan, math.inf, ["a"], b"a"])
def test_a_label_is_text_a_finite_number_or_a_boolean(label: Any) -> None:
    with pytest.raises(ValueError, match=r"^expected text, a finite number or a boolean as a label, got "):
        Leaf((1, 2, 3), label=label)


@pytest.mark.parametrize("count", [2**63, -(2**63), 10**399])
def test_counts_are_below_2_to_the_63_in_size(count: int) -> None:
    assert Leaf((2**63 - 1, 1 - 2**63)).rows == 0
    with pytest.raises(ValueError, match=r"^expected counts below 2\^63 in size, got a larger one\.$"):
        Leaf((0, count))


def test_a_table_of_probabilities_that_no_memory_holds_is_refused() -> None:
    label = Label("y", tuple(range(2**16)))
    check_leaves([Leaf(label=1)] * 64, label, "leaf")
    with pytest.raises(
        ValueError, match=r"^expected at most 4,194,304 probabilities, one a leaf and class, got 65 times"
    ):
        check_leaves([Leaf(label=1)] * 65, label, "leaf")


def test_the_classes_told_of_an_unknown_label_are_few() -> None:
    with pytest.raises(ValueError, match=r"classes 0, 1, .*, 11, … \(70000 values\); got 'x{60}'…\.$"):
        check_leaves([Leaf(label="x" * 10**6)], Label("y", tuple(range(70_000))), "leaf")


def test_a_line_that_is_very_long_leaves_the_notes_of_the_others_in_place() -> None:
    assert commented(["a", "b" * 9, "c" * 10**6], ["1", "2", "3"]).split("\n") == [
        "a            # 1",
        "bbbbbbbbb    # 2",
        "c" * 10**6 + "    # 3",
    ]


def test_a_label_without_counts_is_certain() -> None:
    assert shares(Leaf(label="b"), Leaf((1, 0, 3))) == [[0, 1, 0], [0.25, 0, 0.75]]


def test_a_leaf_without_any_count_takes_the_shares_of_the_leaves_that_have_counts() -> None:
    # whole: 1 : 0 : 3; neither the label nor negative counts change it
    found = shares(Leaf((1, 0, 3)), Leaf((0, -2, 0)), Leaf(label="b"), Leaf((0, 0, 0), "c"))
    assert found == [[0.25, 0, 0.75], [0.25, 0, 0.75], [0, 1, 0], [0.25, 0, 0.75]]


def test_without_any_count_at_all_classes_are_equally_probable() -> None:
    assert shares(Leaf((0, -1, 0)), Leaf(label="c")) == [[1 / 3] * 3, [0, 0, 1]]


@pytest.mark.parametrize(
    ("counts", "label", "expected"),
    [
        ((6, 3, 1), "a", [0.6, 0.3, 0.1]),  # no contradiction
        ((6, 2, 2), "b", [0.4, 0.4, 0.2]),  # (6 + 2) / 2 = 4 > 2
        ((6, 4, 0), "c", [1 / 3] * 3),  # (6 + 0) / 2 = 3 < 4, so all three are averaged
        ((4, 4, 2), "b", [0.4, 0.4, 0.2]),  # a tie is no contradiction
        ((-5, 10, 0), "a", [0.5, 0.5, 0.0]),  # negative counts are 0 before
    ],
)
def test_counts_that_contradict_a_label_are_averaged_by_hand(counts: tuple, label: str, expected: list) -> None:
    assert shares(Leaf(counts, label))[0] == pytest.approx(expected)


def nearest_with_mode(counts: np.ndarray, mode: int) -> np.ndarray:
    """Search all sets of classes to average with the mode: of the allowed results, the nearest by least squares."""
    found = []
    for chosen in product([False, True], repeat=len(counts)):
        pool = np.array(chosen) | (np.arange(len(counts)) == mode)
        result = np.where(pool, counts[pool].mean(), counts)
        if (result <= result[mode] + 1e-12).all():
            found.append(result)
    return min(found, key=lambda result: ((result - counts) ** 2).sum())


@given(counts=st.lists(st.integers(-3, 20), min_size=2, max_size=5), data=st.data())
def test_the_shares_are_the_nearest_of_which_the_label_is_a_mode(counts: list[int], data: st.DataObject) -> None:
    classes = tuple(range(len(counts)))
    label = data.draw(st.sampled_from(classes))
    clipped = np.maximum(counts, 0).astype(float)
    whole = clipped if clipped.any() else np.ones(len(counts))
    expected = nearest_with_mode(whole, label) / whole.sum()
    assert leaf_probabilities([Leaf(tuple(counts), label)], Label("y", tuple(classes)))[0] == pytest.approx(expected)


@given(st.lists(st.tuples(*[st.integers(0, 2**60)] * 3), min_size=1, max_size=4), st.sampled_from(CLASSES))
@example([(1, 1, 3)], "a")
def test_the_label_is_among_the_most_probable_to_the_last_bit(counts: list[tuple[int, ...]], label: str) -> None:
    found = leaf_probabilities([Leaf(own, label) for own in counts], LABEL)
    assert (found[:, CLASSES.index(label)] == found.max(axis=1)).all()
    assert found.sum(axis=1) == pytest.approx(1.0)


def test_a_label_decides_and_otherwise_the_counts() -> None:
    assert predicted(Leaf((9, 1, 0), "c"), Leaf((1, 5, 5)), Leaf(label="a")) == ("c", "b", "a")


def test_probabilities_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        leaf_probabilities([Leaf((1, 2, 3))], LABEL)[0, 0] = 1


@pytest.mark.parametrize("leaf", [Leaf((1, -2)), Leaf(label="a"), Leaf((1, 2), "a")])
def test_a_leaf_comes_back_from_its_data(leaf: Leaf) -> None:
    assert Leaf.from_dict(leaf.to_dict("a")) == leaf


def test_a_label_is_written_only_where_there_is_one() -> None:
    assert Leaf((1, 2)).to_dict("b") == {"then": "b", "counts": [1, 2]}
    assert Leaf(label="b").to_dict("b") == {"then": "b", "counts": None, "label": "b"}


def note(leaf: Leaf) -> str:
    """Return the note on the only leaf of a tree whose counts are exact."""
    tree = Tree(Schema({"x": Boolean()}, LABEL), leaf, PrivacyCard.none("example"))
    return str(tree).splitlines()[0].partition("# ")[2]


def test_only_leaves_with_counts_have_a_note() -> None:
    assert note(Leaf((9, 1, 0))) == "90.0 % of 10"
    assert note(Leaf((1, 2_000, 0))) == "100.0 % of 2,001"
    assert not note(Leaf(label="a"))


def test_notes_stand_one_under_the_other_and_lines_without_one_do_not_move_them() -> None:
    text = commented(["yes", "a very long line", "not so"], ["1", None, "2"])
    assert text == "yes       # 1\na very long line\nnot so    # 2"
    assert commented(["yes"], [None]) == "yes"


def test_a_label_among_many_classes_that_contradict_it_takes_no_time() -> None:
    size = 100_000  # each class is larger than the mean of those before it: all are pooled one by one
    counts = (0, *range(10 * size, 9 * size, -1))
    start = time.process_time()
    shares = leaf_probabilities([Leaf(counts, label=0)], Label("y", tuple(range(len(counts)))))[0]
    assert time.process_time() - start < 5
    assert (shares == shares[0]).sum() > 1000
    assert shares.argmax() == 0


LIKELY = Leaf(label="b", probabilities=(0.25, 0.5, 0.25))


def test_drawn_probabilities_are_those_of_the_leaf_whatever_was_counted() -> None:
    counted = Leaf((90, 5, 5), "b", (0.25, 0.5, 0.25))
    assert shares(LIKELY, counted, Leaf((2, 0, 0))) == [[0.25, 0.5, 0.25], [0.25, 0.5, 0.25], [1, 0, 0]]
    assert predicted(LIKELY, counted) == ("b", "b")


def test_counts_beside_drawn_probabilities_are_no_share_of_other_leaves() -> None:
    """A leaf without positive counts has the share of all released counts but those of drawn leaves."""
    assert shares(Leaf((0, 0, 0)), Leaf((9, 0, 0), "b", (0.25, 0.5, 0.25)), Leaf((0, 2, 2)))[0] == [0, 0.5, 0.5]


def test_a_note_names_a_drawn_probability_and_never_as_a_share_of_the_rows() -> None:
    assert note(LIKELY) == "50 %"
    assert note(Leaf((90, 5, 5), "b", (0.25, 0.5, 0.25))) == "50 %; 100 rows"
    assert note(Leaf(label="a", probabilities=(13 / 15, 1 / 15, 1 / 15))) == "86.7 %"


@pytest.mark.parametrize(
    "values", [(), (0.5, 0.6, -0.1), (1.5,), (math.nan, 0.5), (1, 0, 0), ("1.0",), "1.0", 1.0, {0.5: 1}]
)
def test_probabilities_are_floats_between_0_and_1(values: Any) -> None:
    with pytest.raises(ValueError, match=r"^expected floats between 0 and 1 as probabilities, got something else\.$"):
        Leaf(label="a", probabilities=values)


def test_probabilities_sum_to_1_within_rounding() -> None:
    assert Leaf(label="a", probabilities=[0.1] * 10).probabilities == (0.1,) * 10  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^expected probabilities that sum to 1, got 0\.9\.$"):
        Leaf(label="a", probabilities=(0.5, 0.4))


def test_probabilities_come_with_the_label_that_they_make_most_probable() -> None:
    with pytest.raises(ValueError, match=r"^expected a label beside probabilities, got none\.$"):
        Leaf((1, 2, 3), probabilities=(0.25, 0.5, 0.25))
    for label, found in (("a", (0.25, 0.5, 0.25)), ("b", (0.4, 0.4, 0.2))):
        with pytest.raises(ValueError, match=r"^expected the label of a rule to be its most probable class, got "):
            check_leaves([Leaf(label=label, probabilities=found)], LABEL, "rule")
    with pytest.raises(ValueError, match=r"^expected 3 probabilities a rule, got 2\.$"):
        check_leaves([Leaf(label="a", probabilities=(0.5, 0.5))], LABEL, "rule")
    check_leaves([LIKELY, Leaf(label="a", probabilities=(0.4, 0.4, 0.2))], LABEL, "rule")


def test_a_leaf_of_a_number_has_no_probabilities() -> None:
    target = Number("y", 0, 32, 2)
    check_leaves([Leaf(label=8.0)], target, "leaf")
    with pytest.raises(ValueError, match=r"^expected no probabilities of a leaf that predicts a number, got some"):
        check_leaves([Leaf(label=8.0, probabilities=(1.0, 0.0))], target, "leaf")
