import numpy as np
import pytest

from studies.ssrl import tables as smooth_tables
from studies.ssrl.runs import GREEDY
from studies.ssrl.tables import PAPER, epsilon_needed, needed_table, table_1


@pytest.mark.parametrize(
    ("accuracies", "goal", "expected"),
    [
        ([0.5, 0.6, 0.7, 0.8], 0.6, "1"),
        ([0.5, 0.6, 0.7, 0.8], 0.75, "32"),  # half way from 10 to 100 on a log scale
        ([0.5, 0.6, 0.7, 0.8], 0.5, "<= 0.1"),
        ([0.5, 0.6, 0.7, 0.8], 0.81, "> 100"),
        ([0.5, 0.7, 0.6, 0.7], 0.65, "32"),  # the last crossing counts
        ([0.7, 0.7, 0.7, 0.6], 0.65, "> 100"),
    ],
)
def test_the_required_epsilon_reaches_the_goal_permanently(accuracies, goal, expected):
    assert epsilon_needed([0.1, 1, 10, 100], accuracies, goal)[1] == expected


def cells(dataset, accuracies):
    greedy = {"dataset": dataset, "method": GREEDY, "epsilon": np.inf, "accuracy": 0.705}
    mine = [{"dataset": dataset, "method": "m", "epsilon": e, "accuracy": a} for e, a in accuracies.items()]
    return [greedy, *mine]


def test_each_dataset_has_its_own_goal_and_a_missing_method_an_empty_cell():
    text = needed_table([*cells("compas", {0.1: 0.6, 10.0: 0.8}), *cells("adult", {})])
    assert text.splitlines()[0] == "| method | compas (GreedyRL 0.7050) | adult (GreedyRL 0.7050) |"
    assert text.splitlines()[-1] == "| m | 1 |  |"


def test_numbers_of_the_paper_stand_beside_ours_with_the_difference():
    """SSRL, Table 1: German, DP-GreedyRL has vulnerability .516 and accuracy .683 ± 1e-3, which is a variance."""
    measures = {"accuracy": 0.7, "accuracy sd": 0.01, "vulnerability as released": 0.52, "by chance as released": 0.519}
    cell = {"dataset": "german", "method": "smooth-laplace", "epsilon": 10.0, "runs": 7, **measures}
    text = table_1([{**cell, "vulnerability": 0.53, "by chance": 0.528}]).splitlines()[-1]
    assert text == (
        "| german | smooth-laplace, ε = 10 | 0.7000 | 0.683 | +0.0170 | 0.0100 | 0.0316 "
        "| 0.5200 | 0.5190 | 0.516 | +0.0040 | 0.5300 | 0.5280 | 7 |"
    )
    assert len(PAPER) == 6
    assert smooth_tables.CLOSE == 0.005


def test_rates_below_one_row_outside_are_not_printed():
    cells = [
        {"dataset": name, "method": GREEDY, "epsilon": np.inf, "fpr": fpr, "tpr": 2 * fpr, "others": others}
        | {"auc": 0.5, "auc se": 0.01, "runs": 3}
        for name, others in (("german", 150), ("compas", 1083))
        for fpr in (0.0001, 0.001, 0.01, 0.1)
    ]
    german, compas = (line.strip("| ").split(" | ") for line in smooth_tables.auc_table(cells).splitlines()[2:])
    assert german == ["german", GREEDY, "0.5000", "0.0100", "–", "0.0200", "0.2000", "3"]
    assert compas[4] == "0.0020"
