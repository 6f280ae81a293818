"""Possible rows by total against all rows of the domain one by one."""

from collections import Counter
from itertools import product
from math import log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.audit.entropy import totals as module
from hedgerow.audit.entropy.result import count_text
from hedgerow.audit.entropy.totals import totals
from hedgerow.errors import DomainError

SCHEMA = hr.Schema(
    {
        "age": hr.Integer(0, 5, cuts=(1, 3), missing="bin"),
        "dose": hr.Real(0.0, 1.0, cuts=(0.5,)),
        "ward": hr.Categorical(("a", "b", "c")),
        "smoker": hr.Boolean(),
    },
    hr.Label("ill", ("no", "yes")),
)
VALUES = {"age": 4, "dose": 2, "ward": 3, "smoker": 2}
ROWS_OF_BINS = {"age": (2, 2, 2, 1), "dose": (1, 1), "ward": (1, 1, 1), "smoker": (1, 1)}


def card_of(points, base=(0,), schema=SCHEMA):
    parts = tuple(hr.models.AttributePoints(name, rows) for name, rows in points.items())
    return hr.models.Scorecard(schema, base, parts, 0.1, None, hr.privacy.PrivacyCard.none("example"))


def points_of(draw, width):
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True))
    row = st.tuples(*[st.integers(-3, 3)] * width)
    return {name: tuple(draw(row) for _ in range(VALUES[name])) for name in names}


def one_by_one(points, base):
    """Return the rows of each total: every combination of bins, times the values in them."""
    result = Counter()
    for bins in product(*(range(n) for n in VALUES.values())):
        total, rows = np.array(base), 1
        for name, place in zip(VALUES, bins, strict=True):
            rows *= ROWS_OF_BINS[name][place]
            total = total + np.array(points[name][place] if name in points else (0,) * len(base))
        result[tuple(total.tolist())] += rows
    return result


@given(st.data())
def test_rows_by_total_equal_enumeration_of_the_domain(data):
    points = points_of(data.draw, 1)
    result = totals(card_of(points, (2,)))
    expected = one_by_one(points, (2,))
    assert result.rows_by_total == expected
    assert list(result.rows_by_total) == sorted(expected)
    assert result.possible_rows == 7 * 2 * 3 * 2
    assert result.residual_bits == pytest.approx(sum(n * log2(n) for n in expected.values()) / result.possible_rows)


@given(st.data())
def test_totals_of_several_classes_are_tuples(data):
    schema = hr.Schema(dict(SCHEMA.attributes), hr.Label("ill", ("no", "maybe", "yes")))
    points = points_of(data.draw, 3)
    assert totals(card_of(points, (0, 1, -1), schema)).rows_by_total == one_by_one(points, (0, 1, -1))


def test_a_scorecard_without_points_discloses_nothing_by_totals():
    result = totals(card_of({}))
    assert result.bits == result.residual_bits == pytest.approx(log2(84))


def test_with_a_resolution_a_real_has_more_values():
    assert totals(card_of({}), resolution={"dose": 0.1}).possible_rows == 7 * 11 * 3 * 2


def test_residual_bits_of_rows_follow_their_totals():
    card = card_of({"ward": ((0,), (1,), (1,)), "smoker": ((0,), (5,))})
    rows = pd.DataFrame({"ward": ["a", "b", "c"], "smoker": [True, False, False]})
    assert totals(card).bits_of(rows).tolist() == pytest.approx([log2(14), log2(28), log2(28)])
    with pytest.raises(DomainError, match="ward"):
        totals(card).bits_of(rows.assign(ward="z"))


def test_a_fitted_estimator_is_its_scorecard_and_other_models_are_refused():
    class Fitted:
        def __init__(self):
            self.scorecard_ = card_of({})

    assert totals(Fitted()).possible_rows == 84
    with pytest.raises(TypeError, match="got str"):
        totals("card.json")


def test_too_many_totals_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_TOTALS", 5)
    points = {"age": ((0,), (1,), (2,), (3,)), "ward": ((0,), (10,), (20,))}
    with pytest.raises(ValueError, match="5 different totals"):
        totals(card_of(points))
    monkeypatch.undo()
    steps = 1 * 4 + 4 * 1 + 4 * 3 + 12 * 1  # totals times different points, for each attribute
    monkeypatch.setattr(module, "_MOST_SUMS", steps)
    assert len(totals(card_of(points)).rows_by_total) == 12
    monkeypatch.setattr(module, "_MOST_SUMS", steps - 1)
    with pytest.raises(ValueError, match="too long"):
        totals(card_of(points))


def test_no_rows_have_no_entropies():
    rows = pd.DataFrame({"age": [1], "dose": [0.5], "ward": ["a"], "smoker": [True]}).iloc[:0]
    assert totals(card_of({"smoker": ((0,), (4,))})).bits_of(rows).shape == (0,)


def test_the_text_names_the_total_that_discloses_most():
    result = totals(card_of({"smoker": ((0,), (4,)), "ward": ((0,), (0,), (1,))}))
    assert str(result) == (
        "entropy of a row: 6.39 bits without its total, 4.47 bits given its total (on average)\n"
        "most revealing total 1: 14 of 84 possible rows, 3.81 bits"
    )
    assert repr(result) == "<TotalEntropy: 4.47 of 6.39 bits given the total>"


def test_the_text_has_numbers_of_rows_of_any_size():
    schema = hr.Schema({f"x{i}": hr.Integer(0, 2**50, ()) for i in range(300)}, SCHEMA.label)
    result = totals(card_of({}, schema=schema))
    assert f"{count_text(result.possible_rows)} of {count_text(result.possible_rows)} possible rows" in str(result)
