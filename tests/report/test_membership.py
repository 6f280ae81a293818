"""Sections on membership, beside the audits that they print."""

import numpy as np
import pytest
from scipy.special import expit

import hedgerow as hr
from hedgerow.audit import Membership, ShadowMembership, Shadows
from hedgerow.report import Report, Subject
from hedgerow.report.disclosure import membership, membership_bounds, membership_findings, separation
from hedgerow.report.promises import largest_rate
from tests.report.subjects import CARD, a_table, a_tree, no_guarantee_reason, without_privacy


def shadowed(gap, splits=12):
    """Return the result of an attack on 40 rows over 12 splits, whose members are so much more confident."""
    rng, shape = np.random.default_rng(0), (splits, 40)
    inside, outside = expit(rng.normal(gap, 1, shape)), expit(rng.normal(0, 1, shape))
    return ShadowMembership.of("a learner", "online", Shadows(inside, outside, rng.random(shape) < 0.5))


def test_what_epsilon_permits_is_printed_at_each_rate():
    found = membership_bounds(Subject(a_tree()))
    assert [fact.text for fact in found.facts] == ["0.3 %", "2.8 %", "27.2 %"]
    assert largest_rate(0.1, CARD.epsilon, CARD.delta) == pytest.approx(0.27182818)
    for model in (without_privacy(), a_tree(no_guarantee_reason())):
        assert membership_bounds(Subject(model)).answer.startswith("Nothing bounds it")


def test_class_and_leaf_are_attacked_where_there_are_two_sets_of_rows():
    X, y = a_table()
    subject = Subject(without_privacy())
    half = np.arange(90) % 2 == 0
    pairs = (X[half], y[half]), (X[~half], y[~half])
    leaves = separation(subject, *pairs)
    assert leaves == hr.audit.overfit(subject.model, *pairs)
    assert separation(subject, pairs[0], None) is None
    section = membership(subject, None, leaves)
    assert {fact.value for fact in section.facts} == {leaves.vulnerability, leaves.vulnerability_by_chance}
    assert "hr.audit.lira" in section.measure


def test_nothing_measured_is_said_and_needs_a_look_without_a_guarantee():
    for model, keys in ((without_privacy(), ["membership"]), (a_tree(), [])):
        subject = Subject(model)
        assert membership(subject, None, None).answer.startswith("Not measured.")
        assert [one.key for one in membership_findings(subject, None, None)] == keys


def test_an_attack_that_guesses_and_one_that_finds_rows():
    subject = Subject(without_privacy())
    found = {gap: {one.key: one.bucket for one in membership_findings(subject, shadowed(gap), None)} for gap in (0, 4)}
    assert found[0] == {"auc": "supports", "rows": "supports"}
    assert found[4] == {"auc": "look", "rows": "reject"}
    assert {one.bucket for one in membership_findings(Subject(a_tree()), shadowed(0), None)} == {"supports"}


def test_a_test_that_could_find_no_row_supports_nothing():
    """All rows are told apart in all splits, and yet 2^-9 is above 5 % of 1/40: Holm's method cannot find one."""
    for splits, said in (
        (9, ["look", "not known: 9 splits can show it of no row; 10 can"]),
        (10, ["reject", "40 rows"]),
    ):
        found = shadowed(40, splits)
        (one,) = [one for one in membership_findings(Subject(without_privacy()), found, None) if one.key == "rows"]
        assert (one.bucket, said[1] in one.sentence) == (said[0], True)
        assert (len(found.significant_rows()) > 0) == (splits >= found.fewest_repeats) == (splits == 10)
        assert ("by fewer than 10 splits none can be" in str(found)) == (splits == 9)


def test_an_attack_beyond_the_claimed_epsilon_is_rejected():
    subject = Subject(a_tree())
    (claim,) = [one for one in membership_findings(subject, shadowed(5), None) if one.key == "claim"]
    assert claim.bucket == "reject"
    assert claim.value > largest_rate(0.01, CARD.epsilon, CARD.delta)
    assert "claim" not in {one.key for one in membership_findings(Subject(without_privacy()), shadowed(5), None)}


def test_rates_stand_beside_what_epsilon_permits():
    (grid,) = membership(Subject(a_tree()), shadowed(1), None).grids
    assert [row[0] for row in grid.rows] == ["0.1 %", "1 %", "10 %"]
    assert [row[3] for row in grid.rows] == ["0.3 %", "2.8 %", "27.2 %"]
    assert grid.rows[0][1] == "too few rows to measure"  # 480 scores of non-members
    plain = Membership("a learner", "guessing", (5, 5, 5, 5), np.linspace(0, 1, 201)[None, :], np.array([0.5]))
    (grid,) = membership(Subject(without_privacy()), plain, None).grids
    assert {row[1] for row in grid.rows} == {"too few rows to measure"}
    assert {row[3] for row in grid.rows} == {"no bound"}


def test_the_exact_risk_of_a_draw_is_held_against_epsilon():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    exact = hr.audit.exact_membership(hr.PrivateTreeClassifier(1, max_depth=1), X, X[:, 0])
    subject = Subject(a_tree())
    (finding,) = membership_findings(subject, exact, None)
    assert (finding.key, finding.bucket, finding.value) == ("loss", "supports", exact.realised_loss.max())
    answer = membership(subject, exact, None).answer
    assert f"by at most {100 * exact.advantage.max():.2f} percentage points" in answer


def test_other_results_are_refused():
    with pytest.raises(TypeError, match=r"expected a result of audit\.membership, .*, got float"):
        Report.of(a_tree(), membership=0.5)
