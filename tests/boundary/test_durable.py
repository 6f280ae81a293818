import os
import stat

import pytest

from hedgerow.boundary.durable import sync_folder, write_synced, write_whole


@pytest.fixture
def handle(tmp_path):
    result = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield result
    os.close(result)


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


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_a_file_is_written_whole_with_the_rights_it_had(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    write_whole(path, "größer")
    assert path.read_text(encoding="utf-8") == "größer"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("old", [None, 0o644])
def test_only_the_owner_reads_a_file_with_private_in_its_name(tmp_path, old):
    path = tmp_path / "report.PRIVATE.html"
    if old is not None:
        path.write_text("old")
        path.chmod(old)
    write_whole(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_disk_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match=r"No space left on device: .*file"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write whatever the mode
    with pytest.raises(PermissionError, match=r"the file is read-only: .*file"):
        write_whole(path, "new")
    assert path.read_text() == "old"
