"""What others wrote is read in bounded time and memory, and nothing of it is quoted unbounded."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.boundary.untrusted_text import (
    LARGEST_FILE,
    MOST_NESTED,
    check_plain,
    parse_amount,
    parse_json,
    read_text,
)
from hedgerow.errors import UnreadableError

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(PLAIN)
def test_plain_data_survive(data):
    assert parse_json(json.dumps(data)) == data


BAD_JSON = {
    "truncated": ('{"a": 1', "truncated or not JSON \\(line 1: "),
    "twice": ('{"a": 1, "a": 2}', "a duplicate key"),
    "nan": ("[NaN]", "expected finite numbers, found NaN"),
    "infinite": ("[-Infinity]", "expected finite numbers, found -Infinity"),
    "digits": ("1" * 401, "more than 400 digits"),
    "surrogate": ('["\\ud800"]', "surrogate"),
    "surrogate in a key": ('{"\\ud800": 1}', "surrogate"),
    "deep": ("[" * 102 + "]" * 102, "nested more than 100 levels deep"),
    "deeper": ("[" * 5000 + "]" * 5000, "nested more than 100 levels deep"),
    "deepest": ('{"a":' * 10**6, "nested more than 100 levels deep"),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_json_that_is_refused(name):
    text, match = BAD_JSON[name]
    with pytest.raises(UnreadableError, match=match) as caught:
        parse_json(text)
    assert caught.value.__context__ is None  # the decoder's own error holds the text


def test_json_may_be_nested_as_deep_as_a_tree_needs():
    text = "[" * MOST_NESTED + "]" * MOST_NESTED
    assert parse_json(text)


def test_other_objects_are_not_plain():
    with pytest.raises(UnreadableError, match="found a bytes; quote it"):
        check_plain({"a": [b"secret"]})
    with pytest.raises(UnreadableError, match="digits"):
        check_plain([1 << 10_000])


def test_a_file_too_large_or_not_text_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a" * 11)
    assert read_text(path, 11) == "a" * 11
    with pytest.raises(UnreadableError, match="limit of 10 bytes"):
        read_text(path, 10)
    path.write_bytes(b"secret \xff")
    with pytest.raises(UnreadableError, match="not text") as caught:
        read_text(path)
    assert caught.value.__context__ is None
    start = time.perf_counter()
    with pytest.raises(UnreadableError, match="larger"):
        read_text("/dev/zero")
    assert time.perf_counter() - start < 5
    assert LARGEST_FILE < 2**27


@given(st.fractions(min_value=0))
def test_amounts_survive(amount):
    assert parse_amount(str(amount)) == amount


NO_AMOUNTS = ["-1", "1e99999999", "1.5", "1/0", "1/00", " 1", "1_0", "", "٣", "9" * 1001, 1, None, "1\n"]


@pytest.mark.parametrize("text", NO_AMOUNTS)
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(UnreadableError, match="expected an amount >= 0"):
        parse_amount(text)
