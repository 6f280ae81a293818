"""Curves: bands hold what they promise, thresholds and the better model follow from the scores."""

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.planning.curve import Curve, Trial, band

EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(2))


def curve(metric="accuracy", **scores):
    """Return a curve of models with scores by ε and run."""
    trials = [
        Trial(model.replace("_", " "), epsilon, tuple(values))
        for model, by_epsilon in scores.items()
        for epsilon, values in zip(EPSILONS, by_epsilon, strict=True)
    ]
    return Curve(metric, len(trials[0].scores), EPSILONS, tuple(trials))


@pytest.mark.statistics
@pytest.mark.parametrize(("runs", "promised"), [(4, 3 / 5), (9, 8 / 10), (19, 16 / 20), (40, 33 / 41)])
def test_a_further_run_is_in_the_band_as_often_as_promised(runs, promised):
    """4,000 bands, each with one further run: 4 standard deviations of the share are at most .031."""
    rng = np.random.default_rng(runs)
    values = rng.gamma(0.5, size=(4000, runs + 1))
    inside = [low <= row[-1] <= high for row in values for low, high in [band(row[:-1].tolist())]]
    assert np.mean(inside) == pytest.approx(promised, abs=0.031)
    assert curve(constant=[[0.5] * runs] * 3).band_probability == pytest.approx(promised)


@pytest.mark.parametrize("runs", [1, 2, 9, 18, 19, 29])
def test_a_band_leaves_out_less_than_a_tenth_at_each_end(runs):
    values = np.random.default_rng(0).permutation(runs).astype(float).tolist()
    low, high = band(values)
    outside = sum(value < low for value in values)
    assert outside == sum(value > high for value in values) or runs == 1
    assert outside == max((runs + 1) // 10, 1) - 1


def test_a_model_beats_the_constant_from_the_epsilon_at_which_all_runs_do():
    result = curve(
        constant=[[0.5, 0.6], [0.5, 0.6], [0.5, 0.6]],
        tree=[[0.55, 0.59], [0.7, 0.61], [0.7, 0.7]],
        rule_list=[[0.6, 0.7], [0.5, 0.7], [0.7, 0.7]],  # a tie is not better
        scorecard=[[0.6, 0.7], [0.6, 0.7], [0.4, 0.7]],
    )
    starts = {model: result.beats_constant_from(model) for model in result.models}
    assert starts == {"tree": Fraction(1), "rule list": Fraction(2), "scorecard": None}


def test_the_sufficient_epsilon_is_near_the_best_and_beats_the_constant():
    result = curve(
        constant=[[0.5, 0.5]] * 3,
        tree=[[0.45, 0.8], [0.6, 0.6], [0.62, 0.62]],
        scorecard=[[0.5, 0.5], [0.61, 0.61], [0.65, 0.65]],
    )
    assert result.best(EPSILONS[-1]) == "scorecard"
    assert result.settles_from("tree", 0.05) == 1  # at .5 it is near on average, but not always better
    assert result.settles_from("tree", 0.02) is None
    assert result.sufficient(0.05) == ("scorecard", 1)
    assert result.sufficient(0.03) == ("scorecard", 2)
    assert curve(constant=[[0.5]] * 3, tree=[[0.4]] * 3).sufficient(0.5) is None


def test_a_cost_is_better_if_it_is_smaller():
    result = curve(
        "cost", constant=[[1.0, 1.0]] * 3, tree=[[1.2, 0.9], [0.8, 0.8], [0.5, 0.5]], scorecard=[[0.9, 0.9]] * 3
    )
    assert result.best(EPSILONS[0]) == "scorecard"
    assert result.best(EPSILONS[1]) == "tree"
    assert result.gains("tree", EPSILONS[2]).tolist() == [0.5, 0.5]
    assert result.beats_constant_from("tree") == 1
    assert result.settles_from("tree", 0.3) == 1  # within 30 % of the constant's cost
    assert result.settles_from("tree", 0.2) == 2
