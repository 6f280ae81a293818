"""File descriptors and memory of the process; a part is reserved for questions."""

import mmap
import os
import resource
import threading
from contextlib import suppress

from hedgerow.errors import ArgumentError

MOST_CONNECTIONS = 1000  # connections of all ports together
RESERVED = 512
"""File descriptors reserved for the ledger, engines, and connections that are closing."""
_FEWEST_CONNECTIONS = 64
_OF_A_QUESTION = 16  # file descriptors for a question
_MEMORY = 2**26  # bytes of memory for a question


def allowed_connections() -> int:
    """Return the maximum number of connections, after raising the limit of open files if possible."""
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    required = MOST_CONNECTIONS + RESERVED
    if limit != resource.RLIM_INFINITY and limit < required:
        limit = required if hard == resource.RLIM_INFINITY else min(required, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    connections = MOST_CONNECTIONS if limit == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, limit - RESERVED)
    if connections < _FEWEST_CONNECTIONS:
        problem = f"the limit of open files must be at least {RESERVED + _FEWEST_CONNECTIONS}, got {limit}"
        raise ArgumentError(f"{problem}; raise it with ulimit -n.")
    return connections


def has_room() -> bool:
    """Return whether there are enough file descriptors, memory and threads for a question."""
    handles = list[int]()
    try:
        handles.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        for _ in range(_OF_A_QUESTION):
            handles.append(os.dup(handles[0]))
        mmap.mmap(-1, _MEMORY).close()
        thread = threading.Thread(target=bool, name="hedgerow room")
        thread.start()
        thread.join()
    except (OSError, RuntimeError):  # RuntimeError: no further thread
        return False
    finally:
        for handle in handles:
            os.close(handle)
    return _available() >= _MEMORY


def _available() -> int:
    with suppress(OSError, ValueError), open("/proc/meminfo") as file:
        return next((1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:")), _MEMORY)
    return _MEMORY
