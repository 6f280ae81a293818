"""The snapshot of all messages is current: it has each message of the source, and no other."""

from tests.message_snapshot import SNAPSHOT, line_of, read_snapshot, unknown, unmatched
from tests.message_templates import templates

ADVICE = "Run `make messages` and read what changed in tests/messages.txt."


def test_each_message_of_the_source_is_in_the_snapshot():
    made, unmade = read_snapshot(SNAPSHOT.read_text(encoding="utf-8"))
    assert {line_of(one) for one in unmatched(templates(), made)} == unmade, ADVICE


def test_each_message_of_the_snapshot_is_in_the_source():
    made, _ = read_snapshot(SNAPSHOT.read_text(encoding="utf-8"))
    assert len(made) > 400
    assert unknown(made, templates()) == set(), ADVICE


def test_lines_of_the_snapshot_can_be_read():
    assert max(map(len, SNAPSHOT.read_text(encoding="utf-8").splitlines())) <= 200
