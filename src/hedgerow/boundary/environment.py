"""Failures of the environment (connections, files, memory, disk, processes), as opposed to wrong arguments or rows."""

import errno

from hedgerow.errors import Cause, SourceUnavailableError

_ERRNOS: dict[int, Cause] = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG), "disk"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE, errno.EAGAIN), "process"),
    **dict.fromkeys((errno.EDEADLK, errno.ENOLCK, errno.EBUSY, errno.ETXTBSY), "lock"),
    **dict.fromkeys((errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH), "connection"),
    errno.ENOMEM: "memory",
    errno.ETIMEDOUT: "timeout",
}
_KINDS: tuple[tuple[type[BaseException], Cause], ...] = (
    (MemoryError, "memory"),
    (ImportError, "package"),
    (TimeoutError, "timeout"),
    (ConnectionError, "connection"),
    (OSError, "file"),
)


def environment_cause(error: BaseException) -> Cause | None:
    """Return the cause of a failure of the environment by the type and errno of an exception, or None."""
    if isinstance(error, SourceUnavailableError):
        return error.cause
    if isinstance(error, OSError) and error.errno in _ERRNOS:
        return _ERRNOS[error.errno]
    return next((cause for kind, cause in _KINDS if isinstance(error, kind)), None)
