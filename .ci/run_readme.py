"""Run the Python of a page in an empty folder, with the hedgerow installed here: ``python -I run_readme.py PAGE``."""

import os
import re
import sys
import tempfile
from pathlib import Path

import hedgerow

page = Path(sys.argv[1]).resolve()
installed = Path(hedgerow.__file__).resolve()
if not installed.is_relative_to(Path(sys.prefix).resolve()) or "site-packages" not in installed.parts:
    sys.exit(f"expected hedgerow in this environment, found it in {installed.parent}.")
blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for block in blocks:
        exec(compile(block, page.name, "exec"), {})
    os.chdir(page.parent)
sys.stdout.write(f"{len(blocks)} block of {page.name} ran with hedgerow {hedgerow.__version__} of {installed.parent}\n")
