import os

import pytest

from hedgerow.durable import sync_folder, write_synced


@pytest.fixture
def handle(tmp_path):
    found = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield found
    os.close(found)


def test_what_is_written_replaces_what_was_there(handle, tmp_path):
    for text in ("\0" * 5000, "größer", "", "x" * 100_000, "kurz"):
        write_synced(handle, text)
        assert (tmp_path / "file").read_text(encoding="utf-8") == text


def test_a_write_in_parts_is_whole(handle, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "write", lambda handle, data, write=os.write: write(handle, data[:3]))
    write_synced(handle, "0123456789")
    assert (tmp_path / "file").read_text() == "0123456789"


def test_it_is_on_the_disk_when_it_returns(handle, tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle, sync=os.fsync: synced.append(os.fstat(handle)) or sync(handle))
    write_synced(handle, "text")
    sync_folder(tmp_path / "file")
    assert [(entry.st_ino, entry.st_size) for entry in synced[:1]] == [((tmp_path / "file").stat().st_ino, 4)]
    assert synced[1].st_ino == tmp_path.stat().st_ino
