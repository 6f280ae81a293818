import hashlib

import pytest

from hedgerow.boundary.canonical import FIRST, digest
from hedgerow.errors import LedgerError
from hedgerow.service.ledger.entry import Entry


def test_the_hash_of_an_entry_is_that_of_its_text_and_chains_it_by_hand():
    first = Entry.after(FIRST, 1, "declared", "2026-11-23T00:00:00+00:00", {"dataset": "wards"})
    assert first.content == (
        '{"dataset":"wards","kind":"declared","previous":"","sequence":1,"time":"2026-11-23T00:00:00+00:00"}'
    )
    assert first.hash == digest(first.content) == hashlib.sha256(first.content.encode()).hexdigest()
    second = Entry.after(first.hash, 2, "failed", "later", {"request": "r"})
    assert second.data["previous"] == first.hash
    assert Entry.read(2, second.content, second.hash, first.hash) == second


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
    entry = Entry.after(FIRST, 1, "declared", "now", {"dataset": "wards"})
    with pytest.raises(LedgerError, match=f"broken at entry {sequence}"):
        Entry.read(sequence, content or entry.content, stored or entry.hash, previous)
