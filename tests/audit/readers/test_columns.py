import math

import pytest

from hedgerow.audit.readers.columns import Columns
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Real, Schema


def columns(attribute, features=None):
    schema = Schema({"a": attribute})
    return Columns.of(schema, features, None, 1 if features is None else len(features))


def sides(attribute, number, missing_holds=None):
    result = columns(attribute)
    return tuple(result.at_most(0, number, holds=holds, missing_holds=missing_holds) for holds in (True, False))


def kept(attribute, path):
    """Return the bins where every step is as a path says."""
    bins = [all(attribute.truth(x)[i] == holds for x, holds in path) for i in range(len(attribute.bins))]
    return {bin for bin, here in zip(attribute.bins, bins, strict=True) if here}


@pytest.mark.parametrize(
    ("attribute", "number", "low", "high"),
    [
        (Boolean(), 0.0, {"false"}, {"true"}),
        (Boolean(), 0.99, {"false"}, {"true"}),
        (Integer(0, 9, cuts=(4,)), 4, {"[0, 4]"}, {"(4, 9]"}),
        (Real(0, 9, cuts=(4.5,)), 4.5, {"[0, 4.5]"}, {"(4.5, 9]"}),
        (Integer(0, 9, cuts=(4,), outside="clip"), 4, {"[0, 4]"}, {"(4, 9]"}),
        (Categorical((5, 1, 3)), 1, {"1"}, {"5", "3"}),
        (Categorical((5, 1, 3)), 4.5, {"1", "3"}, {"5"}),
        (Categorical(("5", "-1", "3", "4")), 3, {"-1", "3"}, {"5", "4"}),
        (Categorical((5, 1)), 4.5, {"1"}, {"5"}),
    ],
)
def test_the_sides_of_a_cut(attribute, number, low, high):
    for missing in (None, False, True):  # which makes no difference where the schema allows none
        item, other = sides(attribute, number, missing)
        assert (kept(attribute, item), kept(attribute, other)) == (low, high)


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize(
    ("attribute", "number", "low", "high"),
    [
        (Boolean(missing="bin"), 0.5, {"false"}, {"true"}),
        (Integer(0, 9, cuts=(4,), missing="bin"), 4, {"[0, 4]"}, {"(4, 9]"}),
        (Categorical((5, 1), missing="bin"), 2, {"1"}, {"5"}),
        (Categorical((5, 1, 3), missing="bin"), 2, {"1"}, {"5", "3"}),
        (Categorical((5, 1, 3, 0), missing="bin"), 2, {"1", "0"}, {"5", "3"}),
        (Categorical((5, 1, 3, 0), missing="bin"), 4, {"1", "0", "3"}, {"5"}),
    ],
)
def test_missing_values_take_the_branch_of_the_model(attribute, number, low, high, below):
    item, other = sides(attribute, number, below)
    assert kept(attribute, item) == low | ({"missing"} if below else set())
    assert kept(attribute, other) == high | (set() if below else {"missing"})


@pytest.mark.parametrize(
    ("attribute", "number", "below"),
    [
        (Boolean(missing="bin"), 1, False),
        (Boolean(missing="bin"), -0.1, True),
        (Integer(0, 9, cuts=(), missing="bin"), 9, False),
        (Integer(0, 9, cuts=(), missing="bin", outside="clip"), math.inf, False),
        (Real(0, 9, cuts=(), missing="bin"), -1, True),
        (Categorical((5, 1), missing="bin"), 5, False),
        (Categorical(("x", "y"), missing="bin"), math.inf, False),
    ],
)
def test_missing_values_can_be_separated_from_all_other_values(attribute, number, below):
    item, other = sides(attribute, number, below)
    assert item == ((Literal("a", "missing"), below),)
    assert other == ((Literal("a", "missing"), not below),)


def test_clipped_numbers_are_not_all_on_the_same_side():
    attribute = Integer(0, 9, cuts=(), missing="bin", outside="clip")
    assert sides(attribute, 12, False)[0] == ((Literal("a", "<=", (12.0,)), True),)  # which no domain takes


@pytest.mark.parametrize(
    ("attribute", "number", "below", "message"),
    [
        (Boolean(), 1, None, "the boolean a, which is 0 or 1, with 1, outside its domain"),
        (Boolean(missing="bin"), 1, True, "the boolean a, which is 0 or 1, with 1, outside its domain"),
        (Integer(0, 9, cuts=()), math.inf, False, "missing: bin"),
        (Integer(0, 9, cuts=()), math.nan, False, "nan"),
        (Integer(0, 9, cuts=()), -math.inf, True, "-inf"),
        (Integer(0, 9, cuts=()), math.inf, True, "inf"),
        (Integer(0, 9, cuts=(), outside="bin"), 4, False, "outside: bin"),
        (
            Integer(0, 9, cuts=(), missing="bin"),
            4,
            None,
            "without `missing: bin`",
        ),
        (
            Integer(0, 9, cuts=(), missing="bin", missing_values=(-9,)),
            4,
            False,
            "numbers -9",
        ),
        (
            Integer(0, 9, cuts=(), missing="bin", missing_values=("-9", "?")),
            4,
            False,
            "numbers -9",
        ),
        (
            Integer(0, 9, cuts=(), missing="bin", missing_values=(99,)),
            4,
            True,
            "numbers 99",
        ),
        (
            Categorical(("x", "y")),
            0.5,
            False,
            r"x, y; .*Literal\('a', '=', \(value,\)\)",
        ),
        (Categorical(("01", "2")), 1, False, "01, 2"),
        (Categorical((5, 1)), 5, False, r"\(5, 1\)"),
        (Categorical((5, 1)), 0, False, r"\(5, 1\)"),
    ],
)
def test_undetermined_thresholds_raise(attribute, number, below, message):
    with pytest.raises(SchemaError, match=message):
        sides(attribute, number, below)


def test_numbers_that_mean_missing_take_the_branch_of_missing_values():
    attribute = Integer(0, 9, cuts=(4,), missing="bin", missing_values=(-9, "?"))
    assert kept(attribute, sides(attribute, 4, True)[0]) == {"[0, 4]", "missing"}


def test_a_literal_column_is_1_if_the_literal_holds():
    literal = Literal("a", "=", ("x",))
    result = columns(Categorical(("x", "y"), missing="bin", outside="bin"), [literal])
    assert result.at_most(0, 0.5, holds=True) == result.is_one(0, holds=False) == ((literal, False),)
    assert result.at_most(0, 0.5, holds=False) == result.is_one(0, holds=True) == ((literal, True),)
    for number in (-0.5, 1, 1.5):
        with pytest.raises(SchemaError, match=f"with {number}"):
            result.at_most(0, number, holds=True)


def test_less_than_a_number_leaves_it_above():
    assert columns(Integer(0, 9, cuts=())).less(0, 4.0, holds=True) == columns(Integer(0, 9, cuts=())).at_most(
        0, math.nextafter(4.0, 0), holds=True
    )
    assert columns(Boolean()).less(0, 1, holds=True) == ((Literal("a", "true"), False),)
    with pytest.raises(SchemaError, match="outside its domain"):
        columns(Boolean()).less(0, 0, holds=True)


@pytest.mark.parametrize(
    "attribute", [Boolean(), Integer(0, 1, cuts=(0,)), Categorical((0, 1)), Categorical(("1", "0"))]
)
def test_bits_are_one_or_zero(attribute):
    items = kept(attribute, settled_to_zero(columns(attribute).is_one(0, holds=True)))
    zeros = kept(attribute, settled_to_zero(columns(attribute).is_one(0, holds=False)))
    assert items in ({"true"}, {"(0, 1]"}, {"1"})
    assert zeros in ({"false"}, {"[0, 0]"}, {"0"})


def settled_to_zero(path):
    return [(Literal("a", "<=", (0,)) if literal.operator == "<=" else literal, holds) for literal, holds in path]


@pytest.mark.parametrize(
    "attribute", [Integer(0, 2, cuts=()), Real(0, 1, cuts=()), Categorical((1, 2)), Categorical((0, 1, 2))]
)
def test_other_columns_are_no_bits(attribute):
    with pytest.raises(
        SchemaError,
        match=r"attribute 'a'.*features",
    ):
        columns(attribute).is_one(0, holds=True)


def test_splits_on_text_separate_the_listed_values():
    attribute = Categorical(("x", "y", "z"))
    for values in (["x"], ["x", "z"], ["y", "z", "w"]):
        inside, others = (columns(attribute).among(0, values, holds=holds) for holds in (True, False))
        assert kept(attribute, inside) == set(values) & {"x", "y", "z"}
        assert kept(attribute, others) == {"x", "y", "z"} - set(values)
    with pytest.raises(SchemaError, match="split"):
        columns(attribute).among(0, ["w"], holds=True)
    with pytest.raises(SchemaError, match="category"):
        columns(Boolean()).among(0, ["w"], holds=True)
    with pytest.raises(SchemaError, match="missing"):
        columns(Categorical(("x", "y"), missing="bin")).among(0, ["x"], holds=True)
    with pytest.raises(SchemaError, match="side"):
        columns(Categorical(("x", "y"), outside="bin")).among(0, ["x"], holds=True)


def test_the_number_of_columns_must_be_known():
    schema = Schema({"a": Boolean(), "b": Integer(0, 9, cuts=())})
    assert Columns.of(schema, None, None, 2).features == ("a", "b")
    assert Columns.of(schema, None, ["b", "a"], 2).features == ("b", "a")
    assert Columns.of(schema, ["a", "a"], ["b", "a"], 2).features == ("a", "a")
    with pytest.raises(ValueError, match=r"3 columns.* 2 attributes"):
        Columns.of(schema, None, None, 3)
    with pytest.raises(ValueError, match=r"3 columns.* 1 entr"):
        Columns.of(schema, ["a"], None, 3)
    with pytest.raises(TypeError, match="features"):
        Columns.of(schema, "ab", None, 2)


def test_columns_that_a_model_does_not_count_must_be_bits_or_given():
    assert Columns.of_bits(Schema({"a": Boolean(), "b": Categorical((0, 1))}), None).features == ("a", "b")
    schema = Schema({"a": Boolean(), "b": Categorical(("x", "y", "z"))})
    with pytest.raises(SchemaError, match="attribute 'b'"):
        Columns.of_bits(schema, None)
    assert Columns.of_bits(schema, ["a", "b_x"]).features == ("a", Literal("b", "=", ("x",)))
    with pytest.raises(ValueError, match=r"column 2.* 2 entries"):
        Columns.of_bits(schema, ["a", "b_x"]).is_one(2, holds=True)
