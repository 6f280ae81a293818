import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.text.values import (
    NUMBER,
    is_double,
    listed,
    plain_word,
    printable,
    quoted_text,
    shown_text,
    spelled_number,
    value_text,
)


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


TURNING = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\u200e", "\u200f", "\u061c"}


def test_only_control_surrogate_line_end_and_direction_characters_escape():
    every = [*map(chr, range(sys.maxunicode + 1))]
    hidden = {char for char in every if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")} | TURNING
    for char in hidden:
        assert printable(char) == ascii(char)[1:-1] != char
    shown = "".join(char for char in every if char not in hidden)
    assert printable(shown) == shown


@given(st.text())
def test_printable_text_is_one_encodable_line_and_escaping_is_idempotent(text):
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert shown.encode().decode() == shown
    assert printable(shown) == shown


def test_characters_can_be_kept():
    assert printable("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


def test_values_are_shown_without_control_characters_and_written_with_them():
    assert (shown_text("a\x1b"), quoted_text("a b\x1b"), value_text("a\x1b")) == ("a\\x1b", '"a b\\x1b"', "a\x1b")
    assert listed(["a b", "c\n"]) == '"a b", c\\n'


@pytest.mark.parametrize("text", ["1", "-1.50", "+.5", "1.", "1e5", "12.5E-7", "1.5e307", "3e-324", "1e-323"])
def test_what_programs_write_for_a_number_spells_one(text):
    assert re.match(NUMBER, text)


@pytest.mark.parametrize("text", ["", ".", "e5", "1e", "0x1", "1_0", "inf", "nan", "1e308", "10e-150", "2e-324", " 1"])
def test_other_text_spells_no_number(text):
    assert not re.match(NUMBER, text)


def test_a_whole_number_is_one_word_however_it_is_written():
    assert {plain_word(value) for value in (1, 1.0, "1", "1.0", "1.00")} == {"1"}
    assert [plain_word(value) for value in ("01", "1.5", "-0", "a.0")] == ["01", "1.5", "-0", "a.0"]


def test_text_is_the_number_that_is_written_just_so():
    assert [spelled_number(value) for value in ("1", "1.0", "0.5", 7)] == [1.0, 1.0, 0.5, 7]
    assert [spelled_number(value) for value in ("9007199254740993", "-10000000000000000.0")] == [2**53 + 1, -(10**16)]
    assert [spelled_number(value) for value in ("01", "-0", "0.50", "1_0", "٣", "one", "")] == [None] * 7


def test_a_double_is_a_number_in_every_digit():
    assert all(map(is_double, (0.1, 2**53, -(2**60))))
    assert not any(map(is_double, (2**53 + 1, float("nan"), 10**400)))
