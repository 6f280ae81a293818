"""Write `messages.txt`, for a review in one sitting: run the tests with their messages logged, and merge the log.

``python -m tests.write_messages [arguments of pytest]``, from the root of the repository; without arguments, all tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.message_log import VARIABLE, read_log
from tests.message_snapshot import SNAPSHOT, snapshot
from tests.message_templates import templates

ROOT = Path(__file__).parents[1]
ALL = ("-n", "auto", "--dist", "loadgroup")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        arguments = sys.argv[1:] or ALL
        command = [sys.executable, "-m", "pytest", "-q", *arguments]
        code = subprocess.run(command, cwd=ROOT, env=os.environ | {VARIABLE: folder}).returncode
        SNAPSHOT.write_text(snapshot(read_log(Path(folder)), templates()), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
