import numpy as np
import pandas as pd
import pytest
from scipy import stats

from studies.pdr.compare import Comparison, at_same, at_same_parameters, steps


def frame(*rows):
    names = ["learner", "seed", "support", "depth", "size", "accuracy", "uncertainty"]
    return pd.DataFrame(rows, columns=names)


def test_means_are_over_seeds_and_counts_over_comparisons():
    result = Comparison.of(np.array([1.0, 3.0, 0.0, -2.0]), np.array([0, 0, 1, 1]))
    assert (result.above, result.equal, result.below) == (2, 1, 1)
    assert (result.mean, result.se) == (0.5, pytest.approx(np.std([2, -1], ddof=1) / np.sqrt(2)))
    assert str(result) == "+0.5000 ± 1.5000 (2 above, 1 equal, 1 below)"
    item = Comparison.of(np.array([1.0]), np.array([0]))
    assert np.isnan(item.se)
    assert item.holds(1) == item.holds(-1) == "undecided"
    none = Comparison.of(np.array([]), np.array([]))
    assert none.holds(1) == none.holds(-1) == "undecided"


def test_a_difference_is_one_by_the_t_test_over_seeds():
    means = np.array([0.2, 0.1, 0.4, -0.1, 0.3])
    result = Comparison.of(means, np.arange(5))
    assert result.p == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    assert result.mean / result.se > 2  # two standard errors of five splits are p = .12
    assert result.holds(1) == "undecided"
    assert Comparison.of(means + 0.1, np.arange(5)).holds(1) == "yes"
    assert Comparison.of(np.full(5, 0.1), np.arange(5)).p == 0
    assert Comparison.of(np.zeros(5), np.arange(5)).p == 1


@pytest.mark.parametrize(
    ("mean", "p", "below", "sign", "always", "expected"),
    [
        (1.0, 0.04, 0, 1, False, "yes"),
        (1.0, 0.06, 0, 1, False, "undecided"),
        (1.0, 0.06, 0, 1, True, "undecided"),
        (1.0, 0.06, 2, 1, True, "no"),
        (-1.0, 0.04, 3, 1, False, "no"),
        (-1.0, 0.04, 3, -1, False, "yes"),
        (1.0, 0.04, 1, 1, True, "on average"),
        (1.0, 0.04, 0, 1, True, "yes"),
        (-1.0, 0.04, 1, 1, True, "no"),
        (-1.0, 0.04, 9, -1, True, "on average"),  # one is above
        (0.0, 1.0, 0, 1, False, "undecided"),
    ],
)
def test_claims_that_hold_are_significant(mean, p, below, sign, always, expected):
    assert Comparison(1, 5, below, mean, 0.5, p).holds(sign, always=always) == expected


def test_models_with_equal_parameters_are_compared_in_pairs():
    records = frame(
        ("optimal", 0, 0.01, 1, 2, 0.7, 0.90),
        ("greedy", 0, 0.01, 1, 3, 0.6, 0.95),
        ("greedy", 0, 0.01, 2, 3, 0.6, 0.80),
        ("optimal", 0, 0.01, 2, 3, 0.6, 0.80),
        ("optimal", 1, 0.01, 1, 3, 0.6, 0.97),
        ("greedy", 1, 0.01, 1, 3, 0.6, 0.96),
    )
    result = at_same_parameters(records, "uncertainty")
    assert (result.above, result.equal, result.below) == (1, 1, 1)
    assert result.mean == pytest.approx((-0.025 + 0.01) / 2)


def test_each_greedy_model_is_compared_with_its_own_seed_and_support():
    records = frame(
        ("optimal", 0, 0.01, 1, 2, 0.60, 0.90),
        ("optimal", 0, 0.01, 2, 4, 0.70, 0.80),
        ("optimal", 0, 0.01, 3, 4, 0.75, 0.70),  # as large: the line goes through the mean, .75
        ("greedy", 0, 0.01, 1, 3, 0.65, 0.80),
        ("greedy", 0, 0.01, 2, 3, 0.65, 0.80),  # the same again
        ("greedy", 0, 0.01, 3, 5, 0.55, 0.10),  # nothing optimal is as large, nor as bad
        ("optimal", 0, 0.02, 1, 3, 0.65, 0.0),  # another support
        ("greedy", 1, 0.01, 1, 4, 0.70, 0.5),  # another seed, without optimal models of its own
        ("optimal", 1, 0.01, 1, 4, 0.70, 0.5),
    )
    by_size = at_same(records, "size", "uncertainty")
    assert (by_size.above, by_size.equal, by_size.below) == (1, 1, 0)
    assert by_size.mean == pytest.approx(((0.90 + 0.75) / 2 - 0.80) / 2)  # seed 1 is equal
    by_accuracy = at_same(records, "accuracy", "uncertainty")
    assert by_accuracy.mean == pytest.approx((0.85 - 0.80) / 2)
    assert (by_accuracy.above, by_accuracy.equal) == (1, 1)


def test_steps_go_along_one_column_with_all_else_the_same():
    records = frame(
        ("optimal", 0, 0.01, 2, 5, 0, 0),
        ("optimal", 0, 0.01, 1, 2, 0, 0),
        ("greedy", 0, 0.01, 1, 9, 0, 0),
        ("greedy", 0, 0.01, 2, 8, 0, 0),
        ("optimal", 0, 0.02, 1, 2, 0, 0),
    )
    along_depth = steps(records, "depth", "size")
    assert (along_depth.above, along_depth.equal, along_depth.below) == (1, 0, 1)
    assert along_depth.mean == 1.0
    assert steps(records, "support", "size").equal == 1
