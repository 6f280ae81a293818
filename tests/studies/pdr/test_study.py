import re

import numpy as np
import pandas as pd
import pytest

from studies import reproduce_pdr
from studies.pdr.figures import PICTURES, SUPPORTS
from studies.pdr.plots import draw_entropy_ratios, draw_pairs, draw_private
from studies.pdr.runs import Learning

pytestmark = pytest.mark.statistics

TINY = {"depths": (1, 2), "supports": (0.02, 0.05), "epsilons": (2.0,)}
PNG = b"\x89PNG"


@pytest.mark.parametrize(
    ("figure", "records"),
    [
        (2, {"trees": 8}),
        pytest.param(3, {"lists": 8}, marks=pytest.mark.slow),
        (4, {"trees": 8, "lists": 8}),
        pytest.param(7, {"private": 4 + 2 * 5}, marks=pytest.mark.slow),
        pytest.param(8, {"compact": 8}, marks=pytest.mark.slow),
    ],
)
def test_every_figure_goes_from_runs_to_pictures_and_tables(figure, records, tmp_path):
    text = reproduce_pdr(figure=figure, dataset="compas", seeds=2, folder=tmp_path, **TINY)
    for kind, count in records.items():
        assert len(pd.read_csv(tmp_path / f"{kind}-compas" / "runs.csv")) == 2 * count
        means = pd.read_csv(tmp_path / f"{kind}-compas.csv")
        assert (means["seeds"] == 2).all()
        claims = tmp_path / f"{kind}-compas-claims.csv"
        assert claims.exists() == (kind != "private")
    assert sorted(path.name for path in tmp_path.glob("*.png")) == [f"figure-{figure}-compas.png"]
    assert (tmp_path / f"figure-{figure}-compas.png").read_bytes().startswith(PNG)
    assert (tmp_path / "tables.md").read_text() == text
    assert "compas" in text
    assert "adult" not in text
    assert "nan" not in text


def test_both_datasets_share_their_tables(tmp_path):
    text = reproduce_pdr(figure=5, seeds=1, folder=tmp_path, depths=(1, 2), supports=(0.05,))
    assert "by less on COMPAS than on Adult" in text
    assert "greedy trees contain more information for the same parameters (adult)" in text
    assert "greedy trees contain less information for the same parameters (compas)" in text


@pytest.mark.slow
def test_a_run_that_is_stored_is_not_repeated_and_figures_share_runs(tmp_path, monkeypatch):
    done = []
    learn = Learning.__call__
    monkeypatch.setattr(Learning, "__call__", lambda self, run: done.append(run) or learn(self, run))
    options = {"dataset": "compas", "folder": tmp_path, "n_jobs": 1, **TINY}
    reproduce_pdr(figure=2, seeds=1, **options)
    assert done == list(range(8))
    first = (tmp_path / "figure-2-compas.svg").read_bytes()
    reproduce_pdr(figure=5, seeds=1, resume=True, **options)
    assert done == list(range(8))
    reproduce_pdr(figure=2, seeds=1, resume=True, **options)
    assert (tmp_path / "figure-2-compas.svg").read_bytes() == first
    reproduce_pdr(figure=2, seeds=2, resume=True, **options)
    assert done == list(range(16))
    lines = (tmp_path / "trees-compas" / "runs.csv").read_text().splitlines(keepends=True)
    (tmp_path / "trees-compas" / "runs.csv").write_text("".join(lines[:-3]))
    reproduce_pdr(figure=2, seeds=2, resume=True, **options)
    assert done == [*range(16), 13, 14, 15]


def test_runs_of_other_limits_are_not_mixed(tmp_path):
    reproduce_pdr(figure=3, dataset="compas", seeds=1, folder=tmp_path, depths=(1,), supports=(0.05,))
    with pytest.raises(ValueError, match=r"lists-compas .*\(depths\)"):
        reproduce_pdr(figure=3, dataset="compas", seeds=1, folder=tmp_path, depths=(2,), supports=(0.05,), resume=True)
    with pytest.raises(ValueError, match=r"lists-compas .*--resume"):
        reproduce_pdr(figure=6, dataset="compas", seeds=1, folder=tmp_path, depths=(1,), supports=(0.05,))


@pytest.mark.slow
def test_the_command_can_be_stopped_and_resumed(run, tmp_path):
    words = ("--figure", 3, "--dataset", "compas", "--max-depth", 1, "-o", "out", "--jobs", 1)
    code, out, err = run(*words, "--seeds", 1)
    assert code == 0, err
    assert "written to out" in err
    assert "for a given accuracy, optimal models always leak less" in out
    code, _, err = run(*words, "--seeds", 2)
    assert code == 2
    assert re.search(r"^error: out/lists-compas exists already; resume it with --resume", err)
    assert run(*words, "--seeds", 2, "--resume")[0] == 0
    runs = pd.read_csv(tmp_path / "out" / "lists-compas" / "runs.csv")
    assert len(runs) == 2 * 2 * len(SUPPORTS)
    assert set(runs["seed"]) == {0, 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--figure", 1), "figure must be one of 2, 3, 4, 5, 6, 7, 8 (1 is a diagram), got 1."),
        (("--dataset", "german"), "dataset must be one of adult, compas, got 'german'."),
        (("--seeds", 0), "seeds must be a whole number >= 1, got 0."),
        (("--time-limit", 0), "time_limit must be a number of seconds > 0, got 0.0."),
        (("--max-depth", 0), "depths must be whole numbers >= 1, got []."),
        (("--jobs", 0), "--jobs must be a number of processes, or -1 for one a processor; got 0."),
    ],
)
def test_bad_input_is_reported_in_one_line_without_side_effects(run, tmp_path, words, message):
    assert run(*words) == (2, "", f"error: {message}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depths": (0,)}, "depths must be whole numbers >= 1"),
        ({"supports": (0.6,)}, "supports must be shares above 0 and below 0.5"),
        ({"supports": ()}, "supports must be shares"),
        ({"epsilons": (0.0,)}, "epsilons must be numbers > 0"),
        ({"epsilons": (np.inf,)}, "epsilons must be numbers > 0"),
        ({"time_limit": 0}, "time_limit must be a number of seconds > 0"),
    ],
)
def test_parameters_out_of_range_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        reproduce_pdr(figure=2, folder=tmp_path / "study", **options)
    assert not (tmp_path / "study").exists()


def cells(certified=1.0):
    rows = [
        {"learner": learner, "support": support, "depth": depth, "size": 2.0 * depth, "accuracy": 0.6 + depth / 50}
        | {"uncertainty": 1 - depth / 20, "certified": certified if learner == "optimal" else 0.0}
        | {"uncertainty se": 0.01, "accuracy se": 0.02}
        for learner in ("optimal", "greedy")
        for support in (0.01, 0.05)
        for depth in (1, 2, 3)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("certified", "hollow"), [(1.0, 0), (0.8, 2)])
def test_optimal_models_that_are_not_all_certified_have_hollow_markers(certified, hollow):
    figure = draw_pairs(cells(certified), PICTURES[2].axes, "caption")
    left, right = figure.axes
    white = [line for line in left.get_lines() if line.get_markerfacecolor() == "white"]
    assert len(white) == hollow  # a line of markers each support
    names = [text.get_text() for text in right.get_legend().get_texts()]
    assert names[:2] == ["optimal", "greedy"]
    assert ("some not certified" in names) == bool(hollow)
    assert {"support 0.01", "support 0.05"} <= set(names)
    assert (left.get_xlabel(), left.get_ylabel()) == (
        "size (splits of a tree, rules of a list)",
        "Dist_G: share of entropy left",
    )
    assert right.get_xlabel() == "training accuracy (share of training rows)"
    assert "at most 0.0200" in " ".join(figure.get_suptitle().split())


def test_exposure_rises_from_0_to_1_and_a_panel_is_a_kind_of_model():
    part = pd.DataFrame(
        {"learner": ["optimal", "optimal", "greedy"], "ratio": [0.7, 0.9, 0.8], "rows": [0.4, 1, 1], "rows se": 0.01}
    )
    figure = draw_entropy_ratios({"trees": part, "lists": part}, "caption")
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["(a) trees", "(b) lists"]
    (optimal, _) = figure.axes[0].get_lines()
    assert list(map(tuple, optimal.get_xydata())) == [(0.7, 0), (0.7, 0.4), (0.9, 1), (1, 1)]


def test_private_models_stand_beside_those_without_privacy():
    rows = [
        {"kind": kind, "learner": learner, "epsilon": epsilon, "uncertainty": 0.9, "true_uncertainty": 0.91}
        | {"test_accuracy": 0.6, "uncertainty se": 0, "true_uncertainty se": 0, "test_accuracy se": 0}
        for kind in ("trees", "lists")
        for learner, epsilon in (("optimal", np.inf), ("greedy", np.inf), ("private", 0.1), ("private", 1.0))
    ]
    figure = draw_private(pd.DataFrame(rows), "caption")
    assert len(figure.axes) == 4
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert names == ["released counts", "true counts", "optimal, ε = ∞: 0.900", "greedy, ε = ∞: 0.900"]
    assert {panel.get_xscale() for panel in figure.axes} == {"log"}
