"""Files that are on the disk when it is said that they are."""

from __future__ import annotations

import os
from pathlib import Path


def write_synced(handle: int, text: str) -> None:
    """Put text, and nothing else, into an open file and onto the disk."""
    data = memoryview(text.encode())
    os.lseek(handle, 0, os.SEEK_SET)
    while data:
        data = data[os.write(handle, data) :]
    os.ftruncate(handle, os.lseek(handle, 0, os.SEEK_CUR))
    os.fsync(handle)


def sync_folder(path: Path) -> None:
    """Put on the disk that a file has its name."""
    folder = os.open(path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
