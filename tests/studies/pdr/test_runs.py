import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit import reconstruction
from hedgerow.errors import SearchLimitWarning
from hedgerow.learn import OptimalRuleListClassifier
from studies.pdr.runs import (
    COMPACT,
    GREEDY,
    LISTS,
    NOISE_DRAWS,
    OPTIMAL,
    PRIVATE,
    TREES,
    Learning,
    Releasing,
    entropy_ratios,
    parsed_ratios,
    split,
)

pytestmark = pytest.mark.statistics


def only(measure, **wanted):
    """The record of seed 0 whose cell is as wanted."""
    (run,) = (
        run
        for run, cell in enumerate(measure.cells)
        if dict(zip(("learner", "support", "depth"), cell, strict=True)).items() >= wanted.items()
    )
    (record,) = measure(run)
    assert record.items() >= {"seed": 0, **wanted}.items()
    return record


def test_adult_is_a_tenth_of_its_rows_the_same_for_every_seed_split_80_20():
    item, other = split("adult", 0), split("adult", 1)
    assert (len(item.X), len(item.X_test)) == (3907, 977)  # PDR: 10 % of 48,842, 80 % of them
    assert item.X.shape[1] == len(item.schema) == 24
    assert sorted([*item.X.index, *item.X_test.index]) == sorted([*other.X.index, *other.X_test.index])
    assert list(item.X.index) != list(other.X.index)
    assert (item.y.index == item.X.index).all()


def test_compas_is_all_of_its_rows():
    rows = split("compas", 3)
    assert (len(rows.X), len(rows.X_test)) == (5771, 1443)
    assert len(rows.schema) == 27
    assert (rows.y_test.index == rows.X_test.index).all()


def test_every_cell_of_every_seed_has_a_run_of_its_own():
    measure = Learning("compas", TREES, (1, 2), (0.05, 0.01), 60.0)
    assert len(measure.cells) == len(set(measure.cells)) == 8
    assert {depth for _, _, depth in measure.cells[:4]} == {1}  # small models first
    private = Releasing("compas", (0.5, 1.0))
    assert len(private.cells) == len(set(private.cells)) == 2 * (2 + 2)


def test_the_seed_follows_from_the_number_of_the_run():
    measure = Learning("compas", TREES, (1,), (0.05,), 60.0)
    assert [measure(run)[0]["seed"] for run in range(4)] == [0, 0, 1, 1]
    assert [measure(run)[0]["learner"] for run in range(4)] == [OPTIMAL, GREEDY] * 2


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_a_greedy_tree_is_measured_as_a_walk_down_its_branches_does(depth):
    """On d booleans a row whose branch has k splits keeps d − k of d bits."""
    record = only(Learning("compas", TREES, (depth,), (0.02,), 60.0), learner=GREEDY)
    rows = split("compas", 0)
    tree = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=0.02, random_state=0).fit(rows.X, rows.y)
    splits = np.asarray(tree.decision_path(rows.X).sum(axis=1)).ravel() - 1
    ratios = (27 - splits) / 27
    assert record["uncertainty"] == pytest.approx(ratios.mean())
    assert record["size"] == tree.get_n_leaves() - 1
    assert record["accuracy"] == tree.score(rows.X, rows.y)
    assert record["test_accuracy"] == tree.score(rows.X_test, rows.y_test)
    leaves = dict(zip(tree.apply(rows.X), splits, strict=True))
    assert record["short_branches"] == pytest.approx(np.mean([k < depth for k in leaves.values()]))
    values, counts = np.unique(ratios, return_counts=True)
    result = parsed_ratios(record["exposure"])
    np.testing.assert_allclose(result[0], values)
    assert result[1].tolist() == counts.tolist()
    assert (record["certified"], np.isnan(record["gap"])) == (0, True)


def test_an_optimal_tree_is_certified_and_at_least_as_accurate():
    measure = Learning("compas", TREES, (3,), (0.02,), 60.0)
    best, greedy = only(measure, learner=OPTIMAL), only(measure, learner=GREEDY)
    assert (best["certified"], best["gap"]) == (1, 0.0)
    assert best["accuracy"] > greedy["accuracy"]
    assert best["seconds"] >= 0


def test_a_tree_that_time_does_not_allow_to_certify_keeps_its_gap():
    with pytest.warns(SearchLimitWarning, match="time_limit"):
        record = only(Learning("compas", TREES, (9,), (0.01,), 0.2), learner=OPTIMAL)
    assert record["certified"] == 0
    assert 0 < record["gap"] < 0.5
    assert record["size"] > 1


@pytest.mark.parametrize("support", [pytest.param(0.01, marks=pytest.mark.slow), 0.05])
def test_compact_trees_are_as_accurate_with_no_more_splits(support):
    first, fewest = (
        only(Learning("compas", kind, (5,), (support,), 60.0), learner=OPTIMAL) for kind in (TREES, COMPACT)
    )
    assert fewest["accuracy"] == first["accuracy"]
    assert fewest["size"] <= first["size"]
    assert fewest["certified"] == first["certified"] == 1


def test_fewest_rules_never_cost_accuracy():
    record = only(Learning("compas", LISTS, (6,), (0.05,), 60.0), learner=OPTIMAL)
    rows = split("compas", 0)
    best = OptimalRuleListClassifier(max_rules=7, min_support=0.05, schema=None).fit(rows.X, rows.y)
    assert record["accuracy"] == pytest.approx(1 - best.objective_)
    assert record["size"] <= 6
    assert record["least_uncertainty"] <= record["uncertainty"] + 1e-12
    assert record["uncertainty"] <= record["most_uncertainty"] + 1e-12


def test_exposure_is_written_without_loss():
    rows = split("compas", 0)
    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(rows.X, rows.y)
    result = reconstruction(tree, rows.schema)
    ratios, counts = parsed_ratios(entropy_ratios(result))
    assert ratios.tolist() == result.curve()[0].tolist()
    assert counts.sum() == len(rows.X)
    assert np.average(ratios, weights=counts) == pytest.approx(result.uncertainty, abs=1e-15)


def test_private_models_are_reported_by_released_and_true_counts():
    measure = Releasing("compas", (0.05, 1000.0))
    result = {cell: measure(run) for run, cell in enumerate(measure.cells)}
    for (kind, learner, epsilon), records in result.items():
        assert len(records) == (NOISE_DRAWS if learner == PRIVATE else 1)
        assert {(r["kind"], r["learner"], r["epsilon"]) for r in records} == {(kind, learner, epsilon)}
        gaps = [abs(r["uncertainty"] - r["true_uncertainty"]) for r in records]
        assert max(gaps) == 0 if learner != PRIVATE else max(gaps) < (1e-4 if epsilon == 1000 else 0.1)
        if epsilon == 0.05:
            assert max(gaps) > 1e-4
            assert len({r["uncertainty"] for r in records}) == NOISE_DRAWS
    accuracy = {cell: records[0]["accuracy"] for cell, records in result.items()}
    for kind in (TREES, LISTS):
        assert accuracy[kind, PRIVATE, 1000.0] == accuracy[kind, OPTIMAL, np.inf] > accuracy[kind, GREEDY, np.inf]


def test_noise_is_the_same_again_and_another_in_every_split():
    measure = Releasing("compas", (0.05,))
    run = measure.cells.index((TREES, PRIVATE, 0.05))
    first, again, other = measure(run), measure(run), measure(run + len(measure.cells))
    assert first == again
    assert [r["draw"] for r in first] == list(range(NOISE_DRAWS))
    assert {r["uncertainty"] for r in first} != {r["uncertainty"] for r in other}
