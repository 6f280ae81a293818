import numpy as np
import pandas as pd
import pytest

from studies.expril import tables as expril_tables
from studies.expril.runs import METHODS
from studies.expril.tables import COLUMNS, OURS, PAPER, RATIO, last, p_value, signed_rank_table


def test_the_papers_numbers_agree_with_its_ratios():
    """EXPRIL's Table 2: the ratio is (acc(h*) − acc(C-EXPRIL))/acc(h*), printed with two digits."""
    assert set(PAPER) == set(RATIO)
    for name, line in PAPER.items():
        assert len(line) == len(COLUMNS)
        (best, _), (result, _) = line[:2]
        assert RATIO[name] == pytest.approx((best - result) / best, abs=0.007)
        assert best > result > line[2][0] > line[4][0]
        assert result > line[3][0] > line[4][0]


def cells(accuracy=0.8):
    made = [("h*", 0, 0.9), ("h0*", 0, 0.6)]
    made += [(name, step, accuracy - 0.1 * (1 - step)) for name in METHODS for step in (0, 1)]
    return [
        {"dataset": "C", "method": m, "iteration": t, "runs": 7, "accuracy": a, "accuracy sd": 0.0123}
        for m, t, a in made
    ]


def test_the_last_iteration_counts():
    assert last(cells())["C-EXPRIL"]["accuracy"] == 0.8
    assert last(cells()[::-1])["C-EXPRIL"]["accuracy"] == 0.8


def test_the_papers_numbers_stand_under_ours():
    lines = expril_tables.paper_table(cells()).splitlines()
    ours = " | ".join(["90.0 ± 1.2", *["80.0 ± 1.2"] * 4, "60.0 ± 1.2"])
    assert lines[2] == f"| C | {ours} | 1.1e-01 | 7 |"
    assert lines[3] == (
        "| paper | 96.2 ± 1.5 | 88.8 ± 3.3 | 88.7 ± 3.8 | 85.8 ± 4.0 | 85.6 ± 4.0 | 55.6 ± 3.9 | 7.7e-02 | 100 |"
    )


def test_differences_from_the_paper_are_in_standard_errors():
    """C-EXPRIL on C: 80 ± 1.23 over 7 runs against 88.8 ± 3.3 over 100: −8.8 / √(1.23²/7 + 3.3²/100) = −15.4."""
    line = expril_tables.difference_table(cells()).splitlines()[2].strip("| ").split(" | ")
    assert line[:3] == ["C", "-6.2 (-12.7)", "-8.8 (-15.4)"]
    item = {"accuracy": 0.8, "accuracy sd": float("nan"), "runs": 1}
    assert expril_tables.difference(item, (88.8, 3.3)) == "-8.8"


def test_hedgerows_best_is_of_pure_privacy_and_against_the_papers():
    mine = cells()
    for cell in mine:
        if cell["iteration"]:
            cell["accuracy"] += {"C, Gaussian": 0.09, "logistic, exact": 0.08, "logistic": 0.07}.get(cell["method"], 0)
    line = expril_tables.our_table(mine).splitlines()[2].strip("| ").split(" | ")
    assert line[-2:] == ["85.8", "+1.2"]
    assert len(line) == 1 + len(OURS) + 4


def runs(differences, name="C"):
    made = []
    for run, by in enumerate(differences):
        for c, i in expril_tables.PAIRS:
            level = 0.5 + run / 10
            made += [(run, c, 1, 0.1), (run, i, 1, 0.9), (run, c, 2, level + by), (run, i, 2, level)]
    return pd.DataFrame(made, columns=["run", "method", "iteration", "accuracy"]).assign(dataset=name)


def test_the_signed_rank_test_by_hand():
    """Five positive differences: of 2⁵ signs, one sum of ranks is as large."""
    assert p_value(np.array([0.1, 0.2, 0.3, 0.4, 0.5])) == pytest.approx(1 / 32)
    assert p_value(-np.array([0.1, 0.2, 0.3, 0.4, 0.5])) == 1
    assert p_value(np.array([0.0, 0.1, 0.2, 0.0, 0.3, 0.4, 0.5])) == pytest.approx(1 / 32)
    assert p_value(np.array([-0.1, 0.2, 0.3, 0.4, 0.5])) == pytest.approx(2 / 32)
    assert p_value(np.zeros(4)) == 1
    assert p_value(np.array([])) == 1


def test_runs_are_paired_and_the_last_iteration_is_compared():
    shuffled = runs([0.01, 0.02, 0.03, -0.005, 0.0]).sample(frac=1, random_state=0)
    line = signed_rank_table(shuffled).splitlines()[2]
    assert line == "| C " + "| +1.10 | 3 of 5 | 0.12 " * 3 + "|"


def test_each_problem_is_tested_by_itself():
    both = pd.concat([runs([0.01, 0.02]), runs([-0.01, -0.02], "E")])
    assert [line.split(" | ")[1] for line in signed_rank_table(both).splitlines()[2:]] == ["+1.50", "-1.50"]
