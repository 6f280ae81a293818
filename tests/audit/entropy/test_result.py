import json
from dataclasses import replace
from math import log2

import numpy as np
import pandas as pd
import pytest

from hedgerow.audit import reconstruction
from hedgerow.audit.entropy.result import count_text
from hedgerow.errors import DomainError
from hedgerow.models import Leaf, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema

LABEL = Label("y", (False, True))
SCHEMA = Schema(
    {"age": Integer(0, 63, cuts=(31,)), "sex": Categorical(("F", "M"), missing="bin"), "smoker": Boolean()}, LABEL
)
# age > 31; age <= 31 and smoker; age <= 31 and not smoker: 192, 96 and 96 of 384 rows
TREE = Tree(
    SCHEMA,
    Split(Literal("age", ">", (31,)), Leaf((10, 4)), Split(Literal("smoker", "true"), Leaf((1, 0)), Leaf((0, 5)))),
    PrivacyCard.none("example", software="hedgerow"),
)
FRAME = pd.DataFrame(
    {"age": [40, 50, 20, 10], "sex": ["F", "M", None, "M"], "smoker": [0, 1, 1, 0], "town": ["X", "Y", "X", "Y"]}
)
HIGH, LOW = log2(192) / log2(384), log2(96) / log2(384)


def test_curve_is_the_share_of_rows_at_or_below_each_ratio():
    ratios, below = reconstruction(TREE).curve()
    assert ratios == pytest.approx([LOW, HIGH])
    assert below == pytest.approx([6 / 20, 1])


def test_regions_without_rows_are_no_step_of_the_curve():
    ratios, below = reconstruction(TREE, supports=[20, 0, 0]).curve()
    assert (ratios.tolist(), below.tolist()) == (pytest.approx([HIGH]), [1])


@pytest.mark.parametrize(("share", "expected"), [(0.01, LOW), (0.3, LOW), (0.31, HIGH), (1, HIGH)])
def test_loss_of_the_most_exposed(share, expected):
    assert reconstruction(TREE).loss_of_most_exposed(share) == pytest.approx(1 - expected)


def test_loss_of_the_most_exposed_by_sorting_rows():
    result = reconstruction(TREE, data=FRAME)
    for rows in range(1, 5):
        assert result.loss_of_most_exposed(rows / 4) == pytest.approx(1 - sorted(result.row_ratios)[rows - 1])


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan")])
def test_a_share_is_one(share):
    with pytest.raises(ValueError, match="share"):
        reconstruction(TREE).loss_of_most_exposed(share)


def test_groups_are_bins_columns_or_given():
    result = reconstruction(TREE, data=FRAME)
    smokers = result.by_group("smoker")
    assert [(r["group"], r["rows"]) for r in smokers] == [("false", 2), ("true", 2)]
    by_sex = {r["group"]: (r["rows"], r["uncertainty"], r["lowest"]) for r in result.by_group("sex")}
    assert by_sex == {
        "F": (1, pytest.approx(HIGH), pytest.approx(HIGH)),
        "M": (2, pytest.approx((LOW + HIGH) / 2), pytest.approx(LOW)),
        "missing": (1, pytest.approx(LOW), pytest.approx(LOW)),
    }
    assert [r["group"] for r in result.by_group("sex")] == ["missing", "M", "F"]  # most exposed first
    assert {r["group"]: r["rows"] for r in result.by_group("town")} == {"X": 2, "Y": 2}
    assert {r["group"]: r["rows"] for r in result.by_group([1, 1, 1, 0])} == {1: 3, 0: 1}
    assert [r["group"] for r in result.by_group("age")] == ["[0, 31]", "(31, 63]"]


def test_groups_need_data_and_a_group_for_each_row():
    with pytest.raises(ValueError, match="data="):
        reconstruction(TREE).by_group("sex")
    result = reconstruction(TREE, data=FRAME)
    with pytest.raises(DomainError, match="4 rows"):
        result.by_group([1, 2])
    with pytest.raises(DomainError, match="'village'"):
        result.by_group("village")
    array = reconstruction(TREE, data=FRAME[["age", "sex", "smoker"]].to_numpy())
    assert [r["rows"] for r in array.by_group("smoker")] == [2, 2]
    with pytest.raises(DomainError, match="age, sex, smoker"):
        array.by_group("town")


def test_figures_are_json():
    result = reconstruction(TREE)
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert data["uncertainty"] == result.uncertainty
    assert data["domain_worlds"] == 384
    assert [region["worlds"] for region in data["regions"]] == [192, 96, 96]
    assert data["supports"] == "exact"


def test_figures_of_very_many_possible_rows_are_json():
    schema = Schema({f"x{i}": Integer(0, 2**50) for i in range(300)}, LABEL)  # about 10^4515 rows
    tree = Tree(schema, Split(Literal("x0", "<=", (0,)), Leaf((1, 0)), Leaf((0, 5))), TREE.privacy)
    result = reconstruction(tree)
    with pytest.raises(ValueError, match="digits"):
        json.dumps(result.possible_rows)
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert data["domain_worlds"] == count_text(result.domain.possible_rows)
    assert [region["worlds"] for region in data["regions"]] == list(map(count_text, result.possible_rows))


def test_the_table_in_words():
    lines = str(reconstruction(TREE)).splitlines()
    assert "age <= 31 and smoker                 96             6.6          0.767     1" in lines
    assert "exact leaf counts" in lines[-1]


@pytest.mark.parametrize(
    ("supports", "expected"),
    [
        ((10, 10, 10), None),
        ((10, 9, 0), "1 of 3 regions has fewer than 10 rows."),
        ((1, 40, 1), "2 of 3 regions have fewer than 10 rows (2 with a single one)"),
        ((1, 7, 90), "2 of 3 regions have fewer than 10 rows (1 with a single one)"),
    ],
)
def test_regions_with_few_rows_are_reported(supports, expected):
    result = replace(reconstruction(TREE), supports=supports)
    *_, before, last = str(result).splitlines()
    assert before.startswith(expected) if expected else not before
    assert "fewer than" not in str(replace(result, view="noisy")) + last


def test_large_numbers_of_worlds_are_short():
    schema = Schema({f"x{i}": Boolean() for i in range(80)}, LABEL)
    tree = Tree(schema, Split(Literal("x0", "true"), Leaf((1, 0)), Leaf((0, 5))), TREE.privacy)
    assert "1.2 × 10^24 possible rows (80.0 bits)" in reconstruction(tree).summary  # 2^80 = 1.2e24
    assert reconstruction(tree).possible_rows == (2**79, 2**79)


def test_a_result_without_rows_holds_no_rows():
    assert reconstruction(TREE)._data is None
    assert "20" not in np.array2string(np.array(reconstruction(TREE, data=FRAME).ratios))


def test_a_number_of_rows_of_any_size_is_written():
    assert count_text(999_999) == "999,999"
    assert count_text(10**5000) == "1.0 × 10^5000"  # which Python does not print in full
