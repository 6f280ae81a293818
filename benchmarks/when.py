"""When each result was measured.

The last commit that changed each file. Learners whose code or defaults changed in 0.3.0 were measured again with it.
Rows of peers, which do not depend on hedgerow, are kept from earlier runs with the same versions; their seconds may be
from a different machine.

{when}

Run last, when results are committed; a result that is not committed yet is an error.
"""

import subprocess
import sys
from pathlib import Path

from measure import report


def main():
    here = Path(__file__).parent
    files = git(here, "ls-files", "results/*.csv").split()
    rows = []
    for file in files:
        if file == "results/when.csv":
            continue
        if git(here, "status", "--porcelain", "--", file):
            sys.exit(f"expected {file} as it is committed: commit it first.")
        day, commit = git(here, "log", "-1", "--format=%cs %h", "--abbrev=8", "--", file).split()
        rows.append({"results": Path(file).name, "day": day, "commit": commit})
    report("when", rows)


def git(folder, *words):
    """Return what git prints."""
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
