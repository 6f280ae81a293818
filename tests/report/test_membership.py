"""Sections on membership, beside the audits that they print."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import Overfit
from hedgerow.report import Report, Subject
from hedgerow.report.appetite import DEFAULT
from hedgerow.report.comparisons import alarm_share
from hedgerow.report.disclosure import membership, separation, separation_checks
from hedgerow.report.promises import largest_rate
from tests.report.subjects import CARD, a_table, a_tree, no_guarantee_reason, without_privacy


def test_what_epsilon_permits_is_printed_at_each_rate():
    result = membership(Subject(a_tree()))
    assert [fact.text for fact in result.facts] == ["0.3 %", "2.8 %", "27.2 %"]
    assert largest_rate(0.1, CARD.epsilon, CARD.delta) == pytest.approx(0.27182818)
    for model in (without_privacy(), a_tree(no_guarantee_reason())):
        assert membership(Subject(model)).answer.startswith("No guarantee limits this")


def test_class_and_leaf_are_attacked_where_there_are_two_sets_of_rows():
    X, y = a_table()
    subject = Subject(without_privacy())
    half = np.arange(90) % 2 == 0
    pairs = (X[half], y[half]), (X[~half], y[~half])
    leaves = separation(subject, *pairs)
    assert leaves == hr.audit.overfit(subject.model, *pairs)
    assert separation(subject, pairs[0], None) is None
    section = membership(subject, leaves)
    numbers = {leaves.vulnerability, leaves.vulnerability_by_chance, leaves.p_value, leaves.upper_bound()}
    assert {fact.value for fact in section.facts} == numbers
    assert "--attack FILE" in section.measure


def test_a_set_without_rows_of_a_class_is_not_compared():
    """0.2.0 made no report at all."""
    X, y = a_table()
    for test in ((X[:60], y[:60]), (X[60:61], y[60:61])):
        board = Report.of(without_privacy(), train=(X, y), test=test).board
        (result,) = [check for check in board.checks if check.key == "separation"]
        assert result.status == "not_run"
        assert "with rows of every class in both" in result.sentence


def test_a_model_without_a_guarantee_that_nobody_attacked_is_not_examined():
    subject = Subject(without_privacy())
    assert membership(subject).answer.startswith("No guarantee limits this")
    assert list(separation_checks(subject, None)) == []
    (check,) = [item for item in Report.of(without_privacy()).board.checks if item.key == "membership"]
    assert (check.status, check.essential) == ("not_run", True)


def test_an_inconclusive_attack_is_not_run():
    rng = np.random.default_rng(0)
    X = rng.random((6000, 2))
    y = np.where((X[:, 0] > 0.5) ^ (rng.random(6000) < 0.25), "yes", "no")
    model, train = DecisionTreeClassifier(max_depth=2, min_samples_leaf=50).fit(X[:4000], y[:4000]), slice(4000)
    for end, expected in ((4020, "not_run"), (6000, "pass")):
        board = Report.of(model, train=(X[train], y[train]), test=(X[4000:end], y[4000:end])).board
        result = {check.key: check.status for check in board.checks}
        assert (result["separation"], result["membership"]) == (expected, expected)
        assert (board.status == "not_run") == (expected == "not_run")


def separated(train, test):
    """Return the finding about leaves of training rows and others, by their counts."""
    leaves = Overfit(("no", "yes"), tuple(map(str, range(len(train)))), train, test)
    return next(separation_checks(Subject(without_privacy()), leaves)), leaves


SHARES = np.array([[0.2, 0.02], [0.25, 0.03], [0.1, 0.15], [0.05, 0.2]])


def sampled(rng, rows, shares=SHARES):
    return tuple(map(tuple, rng.multinomial(rows, shares.ravel()).reshape(shares.shape).tolist()))


def test_the_finding_on_leaves_does_not_flip_within_chance():
    """0.2.0 said "review" of 52.1 % (51.5 % by chance) and "pass" of 51.6 % (52.1 % by chance)."""
    rng = np.random.default_rng(1)
    draws = [separated(sampled(rng, 2000), sampled(rng, 1000)) for _ in range(30)]
    above = [leaves.vulnerability > leaves.vulnerability_by_chance for _, leaves in draws]
    assert 5 < sum(above) < 25
    explained = [result for result, leaves in draws if leaves.p_value > 0.05]
    assert len(explained) > 25
    assert {item.status for item in explained} == {"pass"}
    assert all("chance can explain this" in item.sentence for item in explained)


def test_leaves_of_few_rows_are_not_shown_to_be_alike():
    rng = np.random.default_rng(1)
    result, leaves = separated(sampled(rng, 60), sampled(rng, 40))
    assert leaves.p_value > 0.05
    assert (result.status, result.limit, result.interval) == ("not_run", 0.55, (0.5, leaves.upper_bound()))
    assert "chance" in result.sentence
    assert result.sentence.endswith("With these training rows, no number of held-out rows can exclude more than 55 %.")
    result, leaves = separated(sampled(rng, 2000), sampled(rng, 200))
    assert result.status == "not_run"
    assert f" About {leaves.test_rows_needed(0.55):,} held-out rows are needed" in result.sentence


def test_a_difference_that_is_significant_and_small_passes():
    """Leaves differ by 51 %, which many rows show: what epsilon = 0.2 permits, 55 %, is excluded."""
    rng, tilt = np.random.default_rng(0), np.array([[1, 1], [-1, -1], [1, 1], [-1, -1]]) * SHARES.sum(axis=0) * 0.005
    result, leaves = separated(sampled(rng, 60_000, SHARES + tilt), sampled(rng, 40_000, SHARES - tilt))
    assert leaves.p_value <= alarm_share("separation")
    assert result.status == "pass"
    assert "more than chance explains" in result.sentence


@pytest.mark.parametrize(
    "draws", [60, pytest.param(300, marks=pytest.mark.statistics), pytest.param(1000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("rows", [(200, 100), (1500, 800)])
def test_the_level_of_the_finding_on_leaves(rows, draws):
    """Alike leaves are found to differ, and leaves at 55 % are supported, in at most 5 % each; false alarm 10^-4."""
    rng = np.random.default_rng(rows)
    tilt = np.array([[1, 1], [-1, -1], [1, 1], [-1, -1]]) * SHARES.sum(axis=0) * 0.05
    apart = SHARES + tilt * [[1, 0.2]], SHARES - tilt * [[1, 0.2]]
    true = 0.5 + np.abs(apart[0] - apart[1]).sum() / 4
    most = binom.ppf(1 - 1e-4, draws, 0.05)
    alike = [separated(sampled(rng, rows[0]), sampled(rng, rows[1]))[1].p_value <= 0.05 for _ in range(draws)]
    assert sum(alike) <= most
    far = [separated(sampled(rng, rows[0], apart[0]), sampled(rng, rows[1], apart[1])) for _ in range(draws)]
    assert sum(leaves.upper_bound() < true for _, leaves in far) <= most
    assert true > DEFAULT.most_guessed
    assert sum(result.status == "pass" for result, _ in far) <= most
    if rows[0] == 1500:
        assert sum(leaves.p_value <= 0.05 for _, leaves in far) > 0.9 * draws
