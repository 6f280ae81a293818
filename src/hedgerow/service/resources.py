"""Resources of the process: file descriptors and memory, some of them kept for questions."""

import mmap
import os
import resource
import threading
from contextlib import suppress

from hedgerow.errors import ArgumentError

MOST_CONNECTIONS = 1000  # the most connections of all ports together
RESERVED = 512
"""File descriptors that no connection takes: they are for the ledger, the engines, and connections that are ended."""
_FEWEST_CONNECTIONS = 64
_OF_A_QUESTION = 16  # file descriptors
_MEMORY = 2**26  # bytes, of a question


def allowed_connections() -> int:
    """Return how many connections there may be; raises the process's limit of open files for them, if it can."""
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + RESERVED
    if limit != resource.RLIM_INFINITY and limit < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    found = MOST_CONNECTIONS if limit == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, limit - RESERVED)
    if found < _FEWEST_CONNECTIONS:
        problem = f"expected a limit of at least {RESERVED + _FEWEST_CONNECTIONS} open files, got {limit}"
        raise ArgumentError(f"{problem}; raise it, as with ulimit -n.")
    return found


def has_room() -> bool:
    """Return whether there are file descriptors, memory and a thread for a question."""
    held = list[int]()
    try:
        held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        for _ in range(_OF_A_QUESTION):
            held.append(os.dup(held[0]))
        mmap.mmap(-1, _MEMORY).close()
        thread = threading.Thread(target=bool, name="hedgerow room")
        thread.start()
        thread.join()
    except (OSError, RuntimeError):  # the latter of threads
        return False
    finally:
        for one in held:
            os.close(one)
    return _available() >= _MEMORY


def _available() -> int:
    with suppress(OSError, ValueError), open("/proc/meminfo") as file:
        return next((1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:")), _MEMORY)
    return _MEMORY
