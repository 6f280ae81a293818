import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.boundary.canonical import canonical
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
    with pytest.raises(LedgerError, match="expected exact amounts, got a float"):
        canonical(data)
