"""Pairs of tables for audits."""

import pytest

import hedgerow as hr
from hedgerow.audit import worst_neighbours

SCHEMA = hr.Schema(
    {
        "smoker": hr.Boolean(missing="bin"),
        "sex": hr.Categorical(("F", "M")),
        "age": hr.Integer(0, 99, (30, 60), outside="clip"),
        "dose": hr.Real(0.0, 2.0, (1.0,), missing="bin", outside="bin"),
    },
    hr.Label("risk", ("high", "low")),
)


@pytest.mark.parametrize("rows", [2, 7, 20])
def test_each_pair_is_one_row_apart_and_within_the_domain(rows):
    pairs = worst_neighbours(SCHEMA, rows)
    assert len(pairs) == 7
    for item, other in pairs.values():
        assert hr.Tally.count(*item, SCHEMA).distance(hr.Tally.count(*other, SCHEMA)) == 1
        assert len(other[0]) - len(item[0]) == len(other[1]) - len(item[1]) == 1


def test_the_worst_pairs_match_their_names():
    pairs = worst_neighbours(SCHEMA, 6)
    (X, y), (X_more, y_more) = pairs["a row in an empty bin"]
    assert X["age"].tolist() == [0] * 6
    assert X_more["age"].iloc[-1] == 99
    assert y.value_counts().tolist() == [3, 3]
    (X, y), (_, y_more) = pairs["the first of its class"]
    assert y.nunique() == 1
    assert y_more.nunique() == 2
    assert len(pairs["one row"][0][0]) == 0


def test_bad_arguments_are_refused():
    with pytest.raises(TypeError, match="got dict"):
        worst_neighbours({})
    with pytest.raises(ValueError, match="rows"):
        worst_neighbours(SCHEMA, 1)
    with pytest.raises(ValueError, match="label"):
        worst_neighbours(hr.Schema({"a": hr.Boolean()}))
