"""Pages of docs/benchmarks: a page per script, made from its docstring and its result files.

The first line of a docstring is the title. ``{NAME}`` stands for a number of ``page_numbers``; alone in a paragraph it
stands for a table, and ``{results/NAME.csv}`` for the table that this file is. Links lead from ``benchmarks/``; a link
to a script leads to its page.
"""

from __future__ import annotations

import ast
import os
import re
from functools import cache
from pathlib import Path

from page_numbers.marks import MAKERS, RESULTS, ROOT, markdown, records, table

FOLDER = ROOT / "docs" / "benchmarks"
SCRIPTS = ROOT / "benchmarks"
GROUPS = {
    "Accuracy and size": (
        *("league", "readability", "accuracy", "exact_accuracy", "outcomes", "scorecards", "several_classes"),
        *("segments", "wide", "aim", "same_bins", "risk_scores", "published", "private_forest"),
        "three_models",
    ),
    "How defaults were chosen": ("prior", "stop_probability", "objectives", "leaf_shares", "model_choice"),
    "Probabilities, reasons and forecasts": ("calibration", "evaluation", "reasons", "forecasts"),
    "Cut points": ("cut_points", "quantiles"),
    "Audits and attacks": ("epsilon", "recorded", "exact_risk", "membership", "forests", "worlds", "chance"),
    "Learning from marginals": ("marginals", "bins", "columns", "two_way_tables", "hypotheses", "federation"),
    "Certified optima": ("optimal", "optimal_raw", "optimal_numbers", "anytime"),
    "Time and memory": (
        "speed",
        "exact",
        "costs",
        "base_two",
        "counting",
        "growth",
        "categories",
        "csv_check",
        "start",
    ),
    "Large tables": ("census", "engines", "many_rows", "spark"),
    "The service": ("service", "ledger"),
    "Using it": ("first_model", "install_size", "way", "reports"),
    "Provenance": ("when",),
}
PLACE = re.compile(r"\{(\w+|results/\w+\.csv)\}")
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")
_PARTS = {"aim_peer", "epsilon_peer", "risk_scores_peer", "same_bins_peer", "readability_tables"}
"""Scripts that belong to the script of the same name."""


def scripts() -> list[str]:
    """Return the names of the scripts that have a page, which are those that are run by themselves."""
    runs = (path for path in sorted(SCRIPTS.glob("*.py")) if "__main__" in path.read_text("utf-8"))
    return [path.stem for path in runs if path.stem not in _PARTS]


def pages() -> dict[Path, str]:
    """Return the text of each page by its path."""
    return {FOLDER / f"{name}.md": _page(name) for name in scripts()}


def places() -> set[tuple[str, str]]:
    """Return the tables and numbers that docstrings name, by kind and name."""
    result = (place[1] for name in scripts() for place in PLACE.finditer(docstring(name)))
    return {(kind, name) for name in result for kind in ("table", "n") if (kind, name) in MAKERS}


@cache
def docstring(name: str) -> str:
    """Return the docstring of a script."""
    return ast.get_docstring(ast.parse((SCRIPTS / f"{name}.py").read_text("utf-8"))) or ""


@table
def benchmark_index() -> str:
    """Return the index of the pages, by group."""
    return "\n\n".join(f"## {group}\n\n" + "\n".join(map(_entry, names)) for group, names in GROUPS.items())


def _entry(name: str) -> str:
    return f"- [{_title(name)}](../docs/benchmarks/{name}.md): `{name}.py`"


def _title(name: str) -> str:
    return docstring(name).partition("\n")[0].removesuffix(".")


def _page(name: str) -> str:
    body = docstring(name).partition("\n")[2].strip()
    text = "\n\n".join(map(_paragraph, body.split("\n\n")))
    text = _LINK.sub(lambda link: f"]({_moved(link[1])}", text)
    made = f"<!-- Written by `make numbers` from benchmarks/{name}.py. -->"
    return f"{made}\n\n# {_title(name)}\n\n{text}\n\n{_run(name)}"


def _paragraph(text: str) -> str:
    """Return a paragraph with its numbers, or the table that it stands for."""
    alone = PLACE.fullmatch(text.strip())
    if alone and "/" in alone[1]:
        return _whole(alone[1])
    if alone and ("table", alone[1]) in MAKERS:
        return MAKERS["table", alone[1]]()
    return PLACE.sub(lambda place: MAKERS["n", place[1]](), text)


def _whole(file: str) -> str:
    """Return a committed file as a table."""
    rows = records(f"benchmarks/{file}")
    text = {place for place, key in enumerate(rows[0]) if not all(_is_number(row[key]) for row in rows)}
    return markdown(list(rows[0]), (row.values() for row in rows), text)


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"-?[\d.]*(e-?\d+)?", cell) is not None


def _moved(target: str) -> str:
    """Return the target of a script's link as seen from its page."""
    if target.endswith(".py") and target.removesuffix(".py") in scripts():
        return target.removesuffix(".py") + ".md"
    return os.path.relpath(SCRIPTS / target, FOLDER)


def _run(name: str) -> str:
    """Return the command of a script, its result files, and the date of the measurement."""
    usage = "" if f"    python {name}.py" in docstring(name) else f"```text\ncd benchmarks\npython {name}.py\n```\n\n"
    files = "".join(f"- [{file.name}]({os.path.relpath(file, FOLDER)}){_when(file.name)}\n" for file in _written(name))
    script = f"The script is [benchmarks/{name}.py](../../benchmarks/{name}.py)"
    return f"## How to repeat it\n\n{usage}{script}" + (f". It writes:\n\n{files}" if files else ".\n")


def _written(name: str) -> list[Path]:
    """Return the committed files of a script, whose names begin with the script's name."""
    longer = [other for other in scripts() if other.startswith(f"{name}_")]
    files = sorted((ROOT / RESULTS).glob(f"{name}*.csv"))
    own = (file for file in files if file.stem == name or file.stem.startswith(f"{name}_"))
    return [file for file in own if not any(f"{file.stem}_".startswith(f"{other}_") for other in longer)]


def _when(file: str) -> str:
    """Return the day and the commit of a result, if they are recorded."""
    for row in records("when.csv"):
        if file == row["results"]:
            return f", measured on {row['day']} ({row['commit']})"
    return ""
