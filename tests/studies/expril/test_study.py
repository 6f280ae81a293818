import json
import re

import numpy as np
import pandas as pd
import pytest

from studies import reproduce_expril
from studies.expril.plots import draw_curves
from studies.expril.runs import METHODS
from studies.results import summary
from tests.studies.expril.small import make_small

pytestmark = pytest.mark.statistics

RECORDS = 2 + sum(method.questions + 1 for method in METHODS.values())


def test_it_goes_from_runs_to_tables_and_pictures(monkeypatch, tmp_path):
    make_small(monkeypatch)
    names = ["A", "C"]
    for name in names[::-1]:
        text = reproduce_expril(runs=2, dataset=name, folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [*names, "figure-1.png", "figure-1.svg", "table-2.md"]
    assert (tmp_path / "table-2.md").read_text() == text
    assert "nan" not in text
    assert text.count("| paper |") == len(names)
    raw = pd.read_csv(tmp_path / "C" / "runs.csv")
    assert len(raw) == 2 * RECORDS
    means = pd.read_csv(tmp_path / "C" / "C.csv")
    assert (means["runs"] == 2).all()
    mine = raw[(raw["method"] == "I, counts") & (raw["iteration"] == 2)]["accuracy"]
    cell = means[(means["method"] == "I, counts") & (means["iteration"] == 2)]
    assert cell["accuracy"].item() == pytest.approx(mine.mean(), abs=1e-5)
    assert cell["accuracy sd"].item() == pytest.approx(mine.std(), abs=1e-5)
    assert json.loads((tmp_path / "A" / "settings.json").read_text())["reweight"] is False


@pytest.mark.slow
def test_the_picture_has_two_panels_a_problem(monkeypatch, tmp_path):
    make_small(monkeypatch)
    for name in ("A", "C"):
        reproduce_expril(runs=2, folder=tmp_path, table=2, dataset=name)
    assert not (tmp_path / "figure-1.png").exists()
    cells = []
    for name in ("A", "C"):
        raw = pd.read_csv(tmp_path / name / "runs.csv").drop(columns="records")
        cells += [{"dataset": name, **cell} for cell in summary(raw)]
    figure = draw_curves(cells)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"{name}, {side}" for name in "AC" for side in ("ε = 1, as published", "exact answers")]
    panel = figure.axes[2]
    line = panel.get_lines()[1]
    assert line.get_label() == "I-EXPRIL"
    expected = [100 * cell["gap"] for cell in cells if (cell["dataset"], cell["method"]) == ("C", "1DP-I-EXPRIL")]
    np.testing.assert_allclose(line.get_ydata(), expected)
    assert list(line.get_xdata()) == [0, 1, 2]
    assert [axes.get_xlabel() for axes in figure.axes[-2:]] == ["iteration t"] * 2
    assert "2 runs" in " ".join(figure.get_suptitle().split())


def test_a_figure_alone_prints_no_table(monkeypatch, tmp_path):
    make_small(monkeypatch)
    assert reproduce_expril(figure=1, dataset="A", runs=1, folder=tmp_path) == ""
    assert (tmp_path / "figure-1.png").exists()
    assert not (tmp_path / "table-2.md").exists()


def test_the_command_can_be_stopped_and_resumed(monkeypatch, run, tmp_path):
    make_small(monkeypatch)
    words = ("--table", 2, "--dataset", "A", "-o", "out", "--jobs", 1)
    assert run(*words, "--runs", 1)[0] == 0
    first = (tmp_path / "out" / "A" / "runs.csv").read_text()
    code, _, err = run(*words, "--runs", 2)
    assert code == 2
    assert re.search(r"^error: out/A exists already; resume it with --resume", err)
    code, out, err = run(*words, "--runs", 2, "--resume")
    assert code == 0, err
    assert (tmp_path / "out" / "A" / "runs.csv").read_text().startswith(first)
    assert "| A | " in out
    assert "written to out" in err
    assert run("--dataset", "C", "--runs", 1, "-o", "out", "--jobs", 1)[0] == 0
    assert (tmp_path / "out" / "table-2.md").read_text().count("| paper |") == 2  # what was there stays in the table


def test_an_existing_folder_stops_all_work(monkeypatch, tmp_path):
    make_small(monkeypatch)
    (tmp_path / "CTG-B").mkdir()
    with pytest.raises(ValueError, match=r"CTG-B .*--resume"):
        reproduce_expril(runs=1, folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["CTG-B"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--figure", 2), "figure must be 1, got 2."),
        (("--table", 1), "table must be 2, got 1."),
        (("--figure", 1, "--table", 2), "give a figure or a table, not both."),
        (("--dataset", "iris"), "dataset must be one of A, B, C, D, E, CTG-A, CTG-B, got 'iris'."),
        (("--runs", 0), "runs must be a whole number >= 1, got 0."),
        (("--jobs", 0), "--jobs must be a number of processes, or -1 for one a processor; got 0."),
    ],
)
def test_bad_input_is_reported_in_one_line_without_side_effects(run, tmp_path, words, message):
    assert run(*words) == (2, "", f"error: {message}\n")
    assert list(tmp_path.iterdir()) == []
