import re

import numpy as np
import pandas as pd
import pytest

from hedgerow.learn.ssrl.mechanisms import local_sensitivity
from studies import reproduce_ssrl
from studies.ssrl.figures import ALL_METHODS, ARTIFACTS, amplitudes
from studies.ssrl.study import draw

pytestmark = pytest.mark.statistics

PNG = b"\x89PNG"


def test_figure_1_needs_no_data_and_shows_when_smooth_sensitivity_pays():
    curves = amplitudes().pivot_table(index="examples", columns="noise", values="scale")
    smooth, level = curves["smooth sensitivity, Laplace, Λ = 1"], curves["global sensitivity, Laplace"]
    assert set(level) == {0.5}  # Δ/ε
    assert smooth.iloc[0] > 0.5 > smooth.iloc[-1]  # more noise for few examples, less for many
    assert smooth.iloc[-1] == pytest.approx(2 * local_sensitivity(1e5), rel=1e-6)  # far from Λ, S* is local
    least = curves["smooth sensitivity, Laplace, Λ = 252"]
    assert (least <= smooth + 1e-15).all()


@pytest.mark.parametrize(
    ("name", "dataset", "epsilons", "records"),
    [
        ("figure-2", "compas", (0.5, 5), 1 + 2 * 2),
        pytest.param("figure-3", "compas", (0.5, 5), 1 + 8 * 2, marks=pytest.mark.slow),
        ("figure-4", "german", (5,), 1 + 2),
        pytest.param("figure-6", "compas", (10,), 2 * 201, marks=pytest.mark.slow),
        ("table-1", "compas", (10,), 3),
    ],
)
def test_every_figure_goes_from_runs_to_pictures_and_tables(name, dataset, epsilons, records, tmp_path):
    kind, number = name.split("-")
    text = reproduce_ssrl(**{kind: int(number)}, dataset=dataset, runs=2, epsilons=epsilons, folder=tmp_path)
    folder = tmp_path / f"{name}-{dataset}"
    assert len(pd.read_csv(folder / "runs.csv")) == 2 * records
    means = pd.read_csv(folder / f"{folder.name}.csv")
    assert (means["runs"] == 2).all()
    assert dataset in text
    assert "nan" not in text
    assert (tmp_path / "tables.md").read_text() == text
    assert (folder / f"{folder.name}.png").exists() == (kind == "figure")


def test_figures_are_drawn_again_from_the_raw_runs_alone(tmp_path):
    reproduce_ssrl(figure=2, runs=2, epsilons=(1.0, 3.0), folder=tmp_path)
    folder = tmp_path / "figure-2-compas"
    made = {path: path.read_bytes() for path in folder.glob("figure*")}
    assert sorted(path.suffix for path in made) == [".csv", ".png", ".svg"]
    for path in [*made, folder / "settings.json"]:
        path.unlink()
    draw(folder, "figure-2", "compas", 2)
    assert {path: path.read_bytes() for path in folder.glob("figure*")} == made
    svg = (folder / "figure-2-compas.svg").read_text()
    assert made[folder / "figure-2-compas.png"].startswith(PNG)
    assert svg.count("<svg") == 1


def test_the_picture_has_a_description():
    cells = [
        {"dataset": "compas", "method": method, "epsilon": e, "runs": 9, "accuracy": 0.6, "accuracy se": 0.01}
        for method, e in (("GreedyRL", np.inf), *((m, e) for m in ALL_METHODS for e in (0.1, 1.0)))
    ]
    artifact = ARTIFACTS["figure-3"]
    axes = artifact.draw(cells, artifact.caption("compas", 9)).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert "ε" in axes.get_xlabel()
    assert axes.get_ylabel() == "test accuracy (share of test rows)"
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(names) == 1 + len(ALL_METHODS) == 9
    assert names[0] == "GreedyRL, not private: 0.600"
    caption = " ".join(axes.get_title(loc="left").split())
    for part in ("9 random splits", "70/30", "K = 5", "λ = 0.05", "C = 0.99", "δ = 1/", "± 2 standard errors"):
        assert part in caption
    styles = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in axes.get_lines()}
    assert len(styles) == 9


def test_values_of_epsilon_are_those_of_the_paper():
    values = ARTIFACTS["figure-3"].epsilons
    np.testing.assert_allclose(values, np.geomspace(0.01, 100, 13), rtol=1e-3)
    assert (ARTIFACTS["figure-2"].epsilons[0], ARTIFACTS["figure-2"].epsilons[-1]) == (0.1, 20.0)
    assert ARTIFACTS["table-1"].epsilons == (10.0,)


@pytest.mark.slow
def test_the_command_can_be_stopped_and_resumed(run, tmp_path):
    words = ("--figure", 2, "--dataset", "compas", "-o", "out", "--jobs", 1)
    assert run(*words, "--runs", 1)[0] == 0
    code, _, err = run(*words, "--runs", 2)
    assert code == 2
    assert re.search(r"^error: out/figure-2-compas exists already; resume it with --resume", err)
    code, out, err = run(*words, "--runs", 2, "--resume")
    assert code == 0, err
    assert "compas: mean test accuracy over 2 splits" in out
    assert "written to out" in err
    assert set(pd.read_csv(tmp_path / "out" / "figure-2-compas" / "runs.csv")["run"]) == {0, 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--figure", 5), "figure must be one of 1, 2, 3, 4, 6 (5 is a diagram), got 5."),
        (("--table", 2), "table must be 1, got 2."),
        (("--figure", 3, "--table", 1), "give a figure or a table, not both."),
        (("--dataset", "iris"), "dataset must be one of compas, german, adult, got 'iris'."),
        (("--figure", 2, "--dataset", "adult"), "dataset must be one of compas for figure 2, got 'adult'."),
        (("--runs", 0), "runs must be a whole number >= 1, got 0."),
        (("--jobs", 0), "--jobs must be a number of processes, or -1 for one a processor; got 0."),
    ],
)
def test_bad_input_is_reported_in_one_line_without_side_effects(run, tmp_path, words, message):
    assert run(*words) == (2, "", f"error: {message}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("epsilons", [(), (1.0, 2.0), (-1.0,), (np.inf,)])
def test_table_1_takes_one_epsilon(tmp_path, epsilons):
    with pytest.raises(ValueError, match=r"epsilons .*table 1, got"):
        reproduce_ssrl(table=1, epsilons=epsilons, folder=tmp_path)


@pytest.mark.slow
def test_figure_1_of_another_study_is_not_replaced_unasked(run, tmp_path):
    assert run("--figure", 1, "-o", "out")[0] == 0
    assert run("--figure", 1, "-o", "out")[2] == (
        "error: out/figure-1 exists already; replace it with --resume, or give another folder.\n"
    )
    assert run("--figure", 1, "-o", "out", "--resume")[0] == 0
    assert (tmp_path / "out" / "figure-1" / "figure-1.png").read_bytes().startswith(PNG)
