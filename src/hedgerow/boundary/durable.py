"""Durable files: written completely and synchronised to disk before a call returns."""

import errno
import os
import shlex
import stat
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from secrets import token_hex

from hedgerow.errors import ArgumentError, FileAccessError, FileError

MARK = "PRIVATE"  # part of the name of every file with functions of the rows; only its owner can read it
_SECRET = ", or mount a secret with mode 0440"


def write_synced(handle: int, text: str | bytes | Iterable[str]) -> None:
    os.lseek(handle, 0, os.SEEK_SET)
    for part in (text,) if isinstance(text, str | bytes) else text:
        data = memoryview(part.encode() if isinstance(part, str) else part)
        while data:
            data = data[os.write(handle, data) :]
    os.ftruncate(handle, os.lseek(handle, 0, os.SEEK_CUR))
    os.fsync(handle)


def check_closed(path: str | Path, kind: str, others: int = stat.S_IRWXO) -> None:
    """Raise ArgumentError for a file that all users can read or write; permissions of a group may be intended."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if mode & others:
        action, chmod, more = ("write", "o-w", "") if others == stat.S_IWOTH else ("read", "600", _SECRET)
        problem = f"{path}: expected {kind} that other users cannot {action}, got mode {mode:o}"
        raise ArgumentError(f"{problem}. Run chmod {chmod} {shlex.quote(str(path))}{more}.")


def sync_folder(path: Path) -> None:
    folder = os.open(path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def reserved(
    path: Path, *, room: int = 0, force: bool = True, mode: int | None = None
) -> Generator[Callable[[str | bytes | Iterable[str]], None]]:
    """Reserve a path and yield a function that writes a complete file there and synchronises it to disk.

    Until then a temporary file takes up `room` bytes, so that a full disk fails early. An existing file stays unchanged
    if nothing is written or writing fails. Without `force`, a file that was created in the meantime stays, too. `mode`
    gives the permissions; by default only the owner can read a file with PRIVATE in its name, and other files have the
    permissions of the existing file, or the usual permissions.
    """
    mode = 0o600 if mode is None and MARK in path.name else mode
    fresh = path.with_name(f".hedgerow-{token_hex(8)}")
    with _named(path):
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode or 0o666)

    def write(text: str | bytes | Iterable[str]) -> None:
        with _named(path):
            write_synced(handle, text)
            if mode is None and path.is_file():
                os.fchmod(handle, stat.S_IMODE(path.stat().st_mode))
            _rename(fresh, path, force=force)
            sync_folder(path)

    try:
        if room:
            with _named(path):
                write_synced(handle, "\0" * room)
        yield write
    finally:
        os.close(handle)
        fresh.unlink(missing_ok=True)


def _rename(fresh: Path, path: Path, *, force: bool) -> None:
    """Rename a new file to its path; without `force`, an existing file is not replaced."""
    try:
        if not force:
            path.hardlink_to(fresh)  # unlike renaming, it never replaces a file
            return
    except OSError:  # the path exists, or the file system has no hard links
        if os.path.lexists(path):
            raise
    fresh.replace(path)


@contextmanager
def _named(path: Path) -> Generator[None]:
    """Raise errors of the operating system with the path of the intended file."""
    problem = None
    try:
        yield
    except OSError as error:
        problem = error
    if problem is not None:
        raise FileError.of(problem.errno, problem.strerror, str(path))


def write_whole(path: str | PathLike[str], text: str | bytes, mode: int | None = None) -> None:
    """Write a complete file, or leave an existing file unchanged; for `mode` see `reserved`."""
    place = Path(path)
    if place.exists() and not os.access(place, os.W_OK):
        raise FileAccessError(errno.EACCES, "the file is read-only", str(place))
    with reserved(place, mode=mode) as write:
        write(text)
