"""Names, values and numbers that can be declared, and why others cannot."""

import pytest

from hedgerow.schema.literals import is_number, name_problem, values_problem
from hedgerow.text.values import LONGEST_TEXT

NUL, HALF = "NUL", "unpaired surrogate"
LONG = "at most 1,000 characters"


@pytest.mark.parametrize("name", ["a", "two words", " a ", "é", "😀", "x" * LONGEST_TEXT])
def test_any_text_is_a_name(name):
    assert name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "a name must be"),
        (1, "a name must be"),
        (None, "a name must be"),
        ("a\0b", NUL),
        ("a\ud800", HALF),
        ("x" * (LONGEST_TEXT + 1), LONG),
    ],
)
def test_why_a_name_is_refused(name, problem):
    assert problem in name_problem(name)


@pytest.mark.parametrize(
    ("value", "problem"),
    [("", "must not be blank"), (" a", "must not be blank"), ("a\n", "must not be blank"), ("a\0b", NUL)],
)
def test_why_a_value_is_refused_wherever_it_stands(value, problem):
    assert values_problem(["a", 1, True, "b c"]) is None
    assert problem in values_problem(["a", value, 1])


def test_numbers_are_those_that_a_float_holds():
    assert all(map(is_number, (0, -1, 0.5, 10**300 - 1, -(10**300) + 1, 1.7e308)))
    assert not any(map(is_number, (True, "1", None, float("nan"), float("inf"), 10**300, -(10**300), 1 + 0j)))
