from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError
from hedgerow.schema import Boolean, Categorical, Integer, Label, Schema
from lab.forests import GuessedTable

SCHEMA = Schema(
    {"age": Integer(0, 9, cuts=(2, 4, 7)), "hue": Categorical(("red", "green", "blue")), "old": Boolean()},
    Label("y", ("no", "yes")),
)


def drawn(rng, n):
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 10, n),
            "hue": rng.choice(["red", "green", "blue"], n),
            "old": rng.integers(0, 2, n).astype(bool),
        }
    )
    return frame, rng.choice(["no", "yes"], n)


def slow_error(guess, truth, *, one_hot):
    """The least error of all matchings, value by value."""

    def wrong(one, other):
        age = abs(one[0] - other[0]) / 3
        hue = (one[1] != other[1]) * (2 if one_hot else 1)
        return age + hue + sum(a != b for a, b in zip(one[2:], other[2:], strict=True))

    columns = len(guess[0]) + (2 if one_hot else 0)
    orders = permutations(range(len(truth)))
    totals = (sum(wrong(a, truth[i]) for a, i in zip(guess, order, strict=True)) for order in orders)
    return min(totals) / columns / len(guess)


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
def test_the_error_is_the_least_of_all_matchings(one_hot, labelled):
    rng = np.random.default_rng(0)
    for _ in range(5):
        (X, y), (other, z) = drawn(rng, 5), drawn(rng, 5)
        guess = GuessedTable.of_rows(X, SCHEMA, y if labelled else None)
        rows = [
            [[*map(int, bins), *([label] if labelled else [])] for bins, label in zip(item.bins, labels, strict=True)]
            for item, labels in ((guess, y), (GuessedTable.of_rows(other, SCHEMA), z))
        ]
        result = guess.error(other, z if labelled else None, one_hot=one_hot)
        assert result == pytest.approx(slow_error(*rows, one_hot=one_hot))


def test_a_category_of_two_is_one_column_and_one_of_three_is_three():
    schema = Schema({"sex": Categorical(("f", "m")), "hue": SCHEMA["hue"]})
    guess = GuessedTable.of_rows(pd.DataFrame({"sex": ["f"], "hue": ["red"]}), schema)
    for other, error in (({"sex": ["m"], "hue": ["red"]}, 1 / 4), ({"sex": ["f"], "hue": ["blue"]}, 2 / 4)):
        assert guess.error(pd.DataFrame(other), one_hot=True) == error


def test_errors_are_by_attribute_and_their_mean_is_the_error():
    rng = np.random.default_rng(1)
    (X, y), (other, z) = drawn(rng, 20), drawn(rng, 20)
    guess = GuessedTable.of_rows(X, SCHEMA, y)
    each = guess.errors(other, z)
    assert list(each.index) == ["age", "hue", "old", "y"]
    assert each.mean() == pytest.approx(guess.error(other, z))
    assert guess.errors(X.sample(frac=1, random_state=0)).tolist() == [0, 0, 0]


def test_rows_without_a_partner_are_left_out():
    X, _ = drawn(np.random.default_rng(2), 9)
    assert GuessedTable.of_rows(X[:4], SCHEMA).error(X) == 0
    assert GuessedTable.of_rows(X, SCHEMA).error(X[:4]) == 0


def test_a_frame_has_values_and_names_of_bins():
    guess = GuessedTable(SCHEMA, np.array([[0, 2, 1]]), np.array(["yes"]), "feasible", 0.5, 1.0)
    assert guess.to_frame().iloc[0].to_dict() == {"age": SCHEMA["age"].bins[0], "hue": "blue", "old": True, "y": "yes"}
    assert "another can be e^0.5 times as likely; stopped after 1.0 s" in str(guess)
    assert repr(guess) == "<GuessedTable of 1 rows, feasible>"


def test_what_cannot_be_matched_is_refused(monkeypatch):
    X, _ = drawn(np.random.default_rng(2), 9)
    with pytest.raises(ArgumentTypeError, match="expected a Schema"):
        GuessedTable.of_rows(X, None)
    with pytest.raises(DomainError, match="one or more rows"):
        GuessedTable.of_rows(X[:0], SCHEMA)
    monkeypatch.setattr("lab.forests.guess.MOST_ROWS", 8)
    with pytest.raises(ArgumentError, match="1 to 8 rows to match, got 9 with 9"):
        GuessedTable.of_rows(X, SCHEMA).error(X)
