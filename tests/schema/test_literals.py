import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.schema import Literal

OPERANDS = {"=": 1, "!=": 1, "<=": 1, ">": 1, "between": 2} | dict.fromkeys(
    ("true", "false", "missing", "known", "outside"), 0
)
values = st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
literals = st.sampled_from(sorted(OPERANDS)).flatmap(
    lambda operator: st.builds(Literal, st.text(), st.just(operator), st.tuples(*[values] * OPERANDS[operator]))
)


@pytest.mark.parametrize(
    ("operator", "operands", "text"),
    [
        ("true", (), "a"),
        ("false", (), "not a"),
        ("=", ("Female",), "a = Female"),
        ("!=", (3,), "a != 3"),
        ("<=", (30.0,), "a <= 30"),
        (">", (0.5,), "a > 0.5"),
        ("between", (30, 45.0), "30 < a <= 45"),
        ("missing", (), "a is missing"),
        ("known", (), "a is not missing"),
        ("outside", (), "a is outside its domain"),
    ],
)
def test_a_literal_is_printed_as_people_write_it(operator, operands, text):
    assert str(Literal("a", operator, operands)) == text


def test_braces_in_a_name_or_a_value_are_text():
    assert str(Literal("{0}", "=", ("{a}",))) == "{0} = {a}"


@given(literals)
def test_a_literal_comes_back_from_json(literal):
    assert Literal.from_dict(json.loads(json.dumps(literal.to_dict()))) == literal


def test_an_unknown_operator_is_an_error():
    with pytest.raises(ValueError, match=r"operator must be one of .*, got '>='"):
        Literal("a", ">=", (3,))


@pytest.mark.parametrize(("operator", "operands"), [("<=", ()), ("<=", (1, 2)), ("between", (1,)), ("true", (1,))])
def test_a_wrong_number_of_operands_is_an_error(operator, operands):
    with pytest.raises(ValueError, match=rf"takes {OPERANDS[operator]} operands?, got {len(operands)}"):
        Literal("a", operator, operands)


@pytest.mark.parametrize("operand", [math.nan, -math.inf, 10**400, None, [30], b"30", Fraction(1, 2)])
def test_an_operand_is_text_a_boolean_or_a_finite_number(operand):
    with pytest.raises(ValueError, match=r"^operands .*got"):
        Literal("a", "<=", (operand,))


def test_numpy_numbers_become_python_numbers():
    literal = Literal("a", "between", (np.int64(3), np.float64(4.5)))
    assert repr(literal.operands) == "(3, 4.5)"


@pytest.mark.parametrize(("attribute", "operator"), [(1, "true"), ("a", ["true"]), (None, "true"), ("a", None)])
def test_names_and_operators_are_text(attribute, operator):
    with pytest.raises(ValueError, match=r"attribute must be text|operator must be one of"):
        Literal(attribute, operator)


def test_control_characters_of_names_and_values_are_shown_as_text():
    assert str(Literal("a\x1b[2J\nb", "=", ("c\u202ed",))) == r"a\x1b[2J\nb = c\u202ed"
