import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

from hedgerow.audit.readers.names import meaning
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Real, Schema

SCHEMA = Schema(
    {
        "hue": Categorical(("red", "dark blue"), missing="bin"),
        "code": Categorical((1, 20, -3)),
        "smoker": Boolean(missing="bin"),
        "age": Integer(0, 120, cuts=(30, 45)),
        "bmi": Real(10, 60, cuts=()),
    }
)


@pytest.mark.parametrize("name", SCHEMA.names)
def test_an_attribute_is_itself(name):
    assert meaning(name, SCHEMA) == name


def test_every_literal_of_the_schema_is_known_as_it_is_written():
    literals = [
        literal for name, attribute in SCHEMA.attributes for literal in attribute.literals(name, negations=True)
    ]
    for literal in literals:
        assert meaning(str(literal), SCHEMA) in (literal, literal.attribute)  # "smoker" is the attribute


def test_dummies_of_pandas_and_scikit_learn_are_known():
    frame = pd.DataFrame({"hue": ["red", "dark blue", None], "code": [1, 20, -3], "smoker": [True, False, True]})
    red, blue = (Literal("hue", "=", (value,)) for value in ("red", "dark blue"))
    codes = {value: Literal("code", "=", (value,)) for value in (1, 20, -3)}
    smoker = [Literal("smoker", "false"), Literal("smoker", "true")]
    dummies = pd.get_dummies(frame[["hue", "smoker"]], dummy_na=True).join(pd.get_dummies(frame["code"], prefix="code"))
    result = {name: meaning(name, SCHEMA) for name in dummies if not name.startswith(("code_nan", "smoker_nan"))}
    assert {literal for name, literal in result.items() if name.startswith("hue")} == {
        red,
        blue,
        Literal("hue", "missing"),
    }
    assert {literal for name, literal in result.items() if name.startswith("code")} == set(codes.values())
    for columns in (frame, frame.astype({"smoker": float})):
        encoder = OneHotEncoder().fit(columns)
        expected = [*(codes[code] for code in (-3, 1, 20)), *smoker]
        assert [meaning(name, SCHEMA) for name in encoder.get_feature_names_out()][3:] == expected


def test_a_value_named_like_a_bin_number_raises():
    assert meaning("code_-3.0", SCHEMA) == Literal("code", "=", (-3,))
    for name in ("code_1.0", "code_20.0", "step__code_1.0"):
        with pytest.raises(SchemaError, match="code"):
            meaning(name, SCHEMA)


def test_an_equals_sign_is_as_good():
    assert meaning("hue=dark blue", SCHEMA) == Literal("hue", "=", ("dark blue",))
    assert meaning("smoker=0", SCHEMA) == Literal("smoker", "false")


def test_cuts_need_not_be_the_schemas():
    assert meaning("age <= 30.5", SCHEMA) == Literal("age", "<=", (30.5,))
    assert meaning("bmi > 25", SCHEMA) == Literal("bmi", ">", (25.0,))
    assert meaning("age <= 30", SCHEMA) == Literal("age", "<=", (30,))


@pytest.mark.parametrize("name", ["hue_green", "age_30", "Hue", "age <= x", "age <= nan", "hue <= 3", "code_nan", "0"])
def test_unknown_columns_raise_with_the_declared_attributes(name):
    with pytest.raises(SchemaError, match=rf"attribute {name!r}.* hue, code"):
        meaning(name, SCHEMA)


def test_ambiguous_column_names_raise():
    schema = Schema({"a": Categorical(("b_c", "x")), "a_b": Categorical(("c", "y"))})
    with pytest.raises(SchemaError, match="a = b_c or a_b = c"):
        meaning("a_b_c", schema)
    assert meaning("a_b_y", schema) == Literal("a_b", "=", ("y",))


def test_literals_of_declared_attributes_are_accepted():
    assert meaning(Literal("age", "<=", (31,)), SCHEMA) == Literal("age", "<=", (31,))
    with pytest.raises(SchemaError, match="'weight'"):
        meaning(Literal("weight", "<=", (31,)), SCHEMA)
    with pytest.raises(TypeError, match="got int"):
        meaning(3, SCHEMA)


def test_dummies_of_a_declared_missing_value_are_known():
    schema = Schema(
        {
            "hue": Categorical(("red", "blue"), missing="bin", missing_values=("?",)),
            "code": Categorical((1, 20), missing="bin", missing_values=(-9,)),
            "smoker": Boolean(missing="bin", missing_values=("n/a", "?")),
        }
    )
    frame = pd.DataFrame({"hue": ["red", "?"], "code": [-9, 20]})
    for names in (
        pd.get_dummies(frame, columns=["hue", "code"]),
        OneHotEncoder().fit(frame).get_feature_names_out(),
        ["hue=?", "code_-9.0"],
    ):
        result = {meaning(name, schema) for name in names}
        assert {Literal("hue", "missing"), Literal("code", "missing")} <= result
    with pytest.raises(SchemaError, match="smoker"):
        meaning("smoker_?", schema)
    with pytest.raises(SchemaError, match="hue"):
        meaning("hue_nan", schema)
