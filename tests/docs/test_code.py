"""Every code block of the README and the docs runs as it stands, in the order of the page, in an empty folder.

``python`` blocks share one namespace a page. ``console`` blocks: lines that start with ``$ hedgerow`` are run and must
succeed; so are those of ``$ dbt``, without which the rest of the page is skipped. A block after
``<!-- file: NAME -->`` is written to that file.
"""

import operator
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "src/hedgerow/datasets/NOTICE.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAME = operator.attrgetter("name")
STUDIES = ("expril.md",)
"""Pages whose commands learn for long; tests/studies runs them on less."""
BLOCK = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n+)?^```(?P<kind>\w+)\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE
)


@pytest.mark.filterwarnings("ignore::hedgerow.errors.SearchLimitWarning")  # exact.md shows a search that ends early
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page.name in STUDIES else ()) for page in PAGES], ids=NAME
)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    namespace = {}
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["file"]:
            Path(block["file"]).write_text(block["code"], encoding="utf-8")
        elif block["kind"] == "python":
            exec(compile(block["code"], page.name, "exec"), namespace)
        elif block["kind"] == "console":
            for line in re.findall(r"^\$ ((?:hedgerow|dbt) .*)$", block["code"], re.MULTILINE):
                if line.startswith("dbt"):
                    run_dbt(shlex.split(line)[1:])
                    continue
                code, _, err = run(*shlex.split(line)[1:])
                assert code == 0, f"{line}\n{err}"


def run_dbt(words):
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    program = shutil.which("dbt", path=places)
    if program is None:
        pytest.skip("needs dbt: pipx install 'dbt-core<1.11' && pipx inject dbt-core dbt-duckdb")
    settings = {**os.environ, "DO_NOT_TRACK": "1", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    ended = subprocess.run([program, *words], capture_output=True, text=True, check=False, env=settings)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_page_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_quick_start_runs():
    ended = subprocess.run(
        [sys.executable, ROOT / "examples" / "quickstart.py"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "accuracy on 171 held-out rows: 0." in ended.stdout
    assert "epsilon = 1" in ended.stdout
