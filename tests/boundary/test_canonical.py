import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.boundary.canonical import FIRST, broken_link, canonical, link_hash
from hedgerow.errors import LedgerError

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=3), PLAIN, max_size=4))
def test_canonical_json_is_the_same_for_the_same_data_and_is_read_back(data):
    assert json.loads(canonical(data)) == data
    assert canonical(dict(reversed(data.items()))) == canonical(data)


@pytest.mark.parametrize("data", [0.5, {"a": [1, {"b": float("nan")}]}])
def test_floats_have_no_canonical_text(data):
    with pytest.raises(LedgerError, match="got the float"):
        canonical(data)


def chained(contents):
    """Return entries that follow on one another, each with its hash."""
    result, previous = [], FIRST
    for number, content in enumerate(contents):
        entry = {"number": number, "content": content, "previous": previous}
        previous = link_hash(entry)
        result.append((entry, previous))
    return result


@given(st.lists(PLAIN, min_size=3, max_size=6), st.data())
def test_an_edit_a_removal_an_insertion_and_a_swap_break_a_chain(contents, data):
    chain = chained(contents)
    assert broken_link(chain) is None
    assert broken_link(chain[1:], chain[0][1]) is None
    place = data.draw(st.integers(0, len(chain) - 2))
    entry, stated = chain[place]
    edited = {**entry, "number": -1}
    before, after = chain[:place], chain[place + 1 :]
    for broken, number in (
        ([*before, (edited, stated), *after], place + 1),
        ([*before, (edited, link_hash(edited)), *after], place + 2),  # with a hash of its own, the next one tells
        ([*before, *after], place + 1),
        ([*before, chain[place], chain[place], *after], place + 2),
        ([*before, after[0], chain[place], *after[1:]], place + 1),
    ):
        assert broken_link(broken) == number
