import hashlib

import pytest

from hedgerow.boundary.canonical import FIRST, digest
from hedgerow.errors import LedgerError
from hedgerow.service.ledger.entry import Entry


def test_the_hash_of_an_entry_is_that_of_its_text_and_chains_it_by_hand():
    one = Entry.after(FIRST, 1, "declared", "2026-11-23T00:00:00+00:00", {"dataset": "wards"})
    assert one.content == (
        '{"dataset":"wards","kind":"declared","previous":"","sequence":1,"time":"2026-11-23T00:00:00+00:00"}'
    )
    assert one.hash == digest(one.content) == hashlib.sha256(one.content.encode()).hexdigest()
    two = Entry.after(one.hash, 2, "failed", "later", {"request": "r"})
    assert two.data["previous"] == one.hash
    assert Entry.read(2, two.content, two.hash, one.hash) == two


@pytest.mark.parametrize(
    ("sequence", "content", "stored", "previous"),
    [
        (2, "{}", None, FIRST),
        (1, None, "0" * 64, FIRST),
        (1, None, None, "f" * 64),
        (3, None, None, FIRST),
        (1, "not JSON", digest("not JSON"), FIRST),
        (1, '{"sequence": 1}', digest('{"sequence": 1}'), FIRST),
        (1, '{"previous":"","sequence":1}', digest('{"previous":"","sequence":1}'), FIRST),
        (1, "[]", digest("[]"), FIRST),
        (1, '{"a":0.5,"kind":"failed","previous":"","sequence":1}', None, FIRST),
    ],
)
def test_an_edited_entry_is_refused(sequence, content, stored, previous):
    one = Entry.after(FIRST, 1, "declared", "now", {"dataset": "wards"})
    with pytest.raises(LedgerError, match=f"broken at entry {sequence}"):
        Entry.read(sequence, content or one.content, stored or one.hash, previous)
