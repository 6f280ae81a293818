"""The notebooks of docs/notebooks run as they stand, and the outputs that are stored with them are of their cells."""

import re

import pytest

from tests.docs.page import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SECONDS = 120
"""What a cell may take; each notebook takes some ten seconds in all."""

nbformat = pytest.importorskip("nbformat", reason="the notebooks need nbclient and ipykernel, which make test installs")
nbclient = pytest.importorskip("nbclient", reason="the notebooks need nbclient and ipykernel, which make test installs")


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def is_picture(cell):
    return bool(re.search(r"plt\.subplots|\.form\(|\.plot\(", cell.source))


def check_outputs(notebook):
    for cell in code_of(notebook):
        assert [output.output_type for output in cell.outputs if output.output_type == "error"] == []
        assert [output.text for output in cell.outputs if output.get("name") == "stderr"] == []
        shown = [kind for output in cell.outputs for kind in output.get("data", ())]
        assert ("image/png" in shown) == is_picture(cell), cell.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of asyncio's event loops, in the client
def test_the_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, 4)
    client = nbclient.NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    check_outputs(notebook)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_stored_outputs_are_of_a_whole_run(path):
    notebook = nbformat.read(path, 4)
    code = code_of(notebook)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    check_outputs(notebook)


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


def test_a_cell_that_fails_or_draws_nothing_is_found():
    drawn = nbformat.v4.new_code_cell("fig, ax = plt.subplots()")
    with pytest.raises(AssertionError, match="subplots"):
        check_outputs(nbformat.v4.new_notebook(cells=[drawn]))
    failed = nbformat.v4.new_code_cell(
        "1 / 0", outputs=[nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])]
    )
    with pytest.raises(AssertionError, match="error"):
        check_outputs(nbformat.v4.new_notebook(cells=[failed]))
