"""A question is charged where there are descriptors and memory for it; connections leave both."""

import json
import subprocess
import sys

import pytest

ROOM = """
import json, os, resource, sys
from hedgerow.errors import ArgumentError
from hedgerow.service.resources import allowed_connections, has_room

kind, limit = getattr(resource, sys.argv[1]), int(sys.argv[2])
resource.setrlimit(kind, (limit, limit if sys.argv[3] == "hard" else resource.getrlimit(kind)[1]))
try:
    allowed = allowed_connections()
except ArgumentError as error:
    allowed = str(error)
print(json.dumps([has_room(), allowed, len(os.listdir("/proc/self/fd"))]))
"""


def told(*limits):
    command = [sys.executable, "-c", ROOM, *limits]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_room_is_what_the_limits_leave():
    assert told("RLIMIT_NOFILE", "400", "soft") == [True, 1000, 4]
    assert told("RLIMIT_NOFILE", "700", "hard") == [True, 700 - 512, 4]
    room, refusal, open_files = told("RLIMIT_NOFILE", "16", "hard")
    assert (room, open_files) == (False, 4)
    assert "open files must be at least 576, got 16" in refusal
