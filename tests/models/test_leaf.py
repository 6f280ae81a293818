import math
from typing import Any

import numpy as np
import pytest

from hedgerow.models import Leaf
from hedgerow.models.leaf import commented
from hedgerow.schema import Label

CLASSES = ("a", "b", "c")

LABEL = Label("y", CLASSES)


def test_a_leaf_needs_counts_a_label_or_a_mean() -> None:
    with pytest.raises(ValueError, match="must have counts, a label, or a mean"):
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


@pytest.mark.parametrize("label", [math.nan, math.inf, ["a"], b"a"])
def test_a_label_is_text_a_finite_number_or_a_boolean(label: Any) -> None:
    with pytest.raises(ValueError, match=r"^label .*got "):
        Leaf((1, 2, 3), label=label)


@pytest.mark.parametrize("count", [2**63, -(2**63), 10**399])
def test_counts_are_below_2_to_the_63_in_size(count: int) -> None:
    assert Leaf((2**63 - 1, 1 - 2**63)).rows == 0
    with pytest.raises(ValueError, match=r"^counts must be below 2\^63"):
        Leaf((0, count))


def test_a_very_long_line_does_not_move_the_notes_of_other_lines() -> None:
    assert commented(["a", "b" * 9, "c" * 10**6], ["1", "2", "3"]).split("\n") == [
        "a            # 1",
        "bbbbbbbbb    # 2",
        "c" * 10**6 + "    # 3",
    ]


@pytest.mark.parametrize("leaf", [Leaf((1, -2)), Leaf(label="a"), Leaf((1, 2), "a")])
def test_a_leaf_comes_back_from_its_data(leaf: Leaf) -> None:
    assert Leaf.from_dict(leaf.to_dict("a")) == leaf


def test_a_label_is_written_only_where_there_is_one() -> None:
    assert Leaf((1, 2)).to_dict("b") == {"then": "b", "counts": [1, 2]}
    assert Leaf(label="b").to_dict("b") == {"then": "b", "counts": None, "label": "b"}


def test_notes_are_aligned_by_the_lines_that_have_notes() -> None:
    text = commented(["yes", "a very long line", "not so"], ["1", None, "2"])
    assert text == "yes       # 1\na very long line\nnot so    # 2"
    assert commented(["yes"], [None]) == "yes"


LIKELY = Leaf(label="b", probabilities=(0.25, 0.5, 0.25))


@pytest.mark.parametrize(
    "values", [(), (0.5, 0.6, -0.1), (1.5,), (math.nan, 0.5), (1, 0, 0), ("1.0",), "1.0", 1.0, {0.5: 1}]
)
def test_probabilities_are_floats_between_0_and_1(values: Any) -> None:
    with pytest.raises(ValueError, match=r"^probabilities .*0 to 1"):
        Leaf(label="a", probabilities=values)


def test_probabilities_sum_to_1_within_rounding() -> None:
    assert Leaf(label="a", probabilities=[0.1] * 10).probabilities == (0.1,) * 10  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"sum to 1, got 0\.9\.$"):
        Leaf(label="a", probabilities=(0.5, 0.4))
