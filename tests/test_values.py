import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.values import value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (14.0, "14"),
        (-0.5, "-0.5"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e15, "1000000000000000"),
        (1e16, "1e+16"),
        (True, "True"),
        (7, "7"),
        ("14.0", "14.0"),
    ],
)
def test_a_value_reads_as_a_person_writes_it(value, text):
    assert value_text(value) == text


@given(st.floats(allow_nan=False) | st.integers())
def test_no_digit_of_a_number_is_lost(value):
    assert type(value)(value_text(value)) == value
