"""Runs on two tables: seeds, and processes."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit.empirical.learner import Runner, outcome_of, run

SIDES = (np.zeros((3, 1)), np.array([0, 1, 1])), (np.zeros((2, 1)), np.array([0, 1]))
RNG = np.random.default_rng(0)


def noisy(_, y):
    return float(y.sum() + RNG.normal())


def of_value(value):
    return outcome_of(value, None)


def first_seed(tree):
    return str(tree.random_state)


def runner(fit=noisy):
    return Runner(fit, SIDES, of_value)


def test_both_tables_are_run_as_often():
    assert [len(side) for side in run(runner(), 230, None, None, verbose=False)] == [230, 230]


@pytest.mark.xdist_group("processes")
def test_a_seed_decides_each_run_whatever_the_number_of_them_and_of_processes():
    seeded = Runner(DecisionTreeClassifier(), SIDES, first_seed)
    one = run(seeded, 12, 5, None, verbose=False)
    assert len({*one[0], *one[1]}) == 24
    more = run(seeded, 30, 5, None, verbose=False)
    assert [side[:12] for side in more] == list(one)
    assert run(seeded, 12, 5, 2, verbose=False) == one


def test_progress_is_told_on_stderr(capsys):
    run(runner(), 20, None, None, verbose=True)
    assert "empirical epsilon" in capsys.readouterr().err
