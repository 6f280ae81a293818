"""Claims about privacy that tests are marked with: `@pytest.mark.claim("words of the page")`."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


@cache
def marked_claims() -> dict[str, list[str]]:
    """Return the tests of each claim, read from the files."""
    claims: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text("utf-8")
        if "mark.claim" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            for call in getattr(node, "decorator_list", ()):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.claim":
                    claim = ast.literal_eval(call.args[0])
                    claims.setdefault(claim, []).append(f"{path.relative_to(ROOT).as_posix()}::{node.name}")
    return claims
