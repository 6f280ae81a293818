"""Check the types of every Python example of the README and the docs, in strict mode, as a user's own code.

Usage: python .ci/typed_docs.py STUBS, a folder with the stubs of pandas and scikit-learn. Each page becomes a file of
build/typed, outside of the package.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "typed"
BLOCK = re.compile(r"(?<!-->\n)^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# scikit-learn's stubs leave parameters of these unknown.
UNTYPED = ("sklearn.pipeline", "sklearn.model_selection")
RULES = ("reportUnknownMemberType", "reportUnknownVariableType", "reportUnknownArgumentType")
PARTIAL = f"# pyright: {', '.join(f'{rule}=false' for rule in RULES)}\n"


def main() -> int:
    """Write the pages' code, check it, and return the checker's exit code."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(Path(sys.argv[1]).resolve())]}
    (FOLDER / "pyrightconfig.json").write_text(json.dumps(settings))
    outside = [ROOT / "README.md", ROOT / "src" / "hedgerow" / "datasets" / "NOTICE.md"]
    pages = {page: page.read_text(encoding="utf-8") for page in [*outside, *(ROOT / "docs").rglob("*.md")]}
    codes = {page: "\n".join(BLOCK.findall(text)) for page, text in pages.items()}
    codes |= {page: page.read_text(encoding="utf-8") for page in (ROOT / "examples").glob("*.py")}
    for page, code in codes.items():
        name = "_".join(page.relative_to(ROOT).with_suffix("").parts).replace("-", "_")
        is_partial = any(module in code for module in UNTYPED)
        (FOLDER / f"{name}.py").write_text(PARTIAL * is_partial + code, encoding="utf-8")
    checker = Path(sys.executable).with_name("pyright")
    return subprocess.run([checker, "--pythonpath", sys.executable, "."], cwd=FOLDER, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
