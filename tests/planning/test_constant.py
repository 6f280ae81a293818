"""The probability of one class for every row, compared with draws from the table for which it is exact."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn.contract import specification_of
from hedgerow.learn.search import cost
from hedgerow.learn.search.lattice import LeafNode
from hedgerow.planning.bounds import WholeDraw
from hedgerow.planning.constant import constant_probabilities, purities
from hedgerow.planning.expected import DefaultDraws, RareClass
from hedgerow.tally import Tally
from tests.planning.draws import drawn_models

SCHEMA = hr.Schema({f"x{n}": hr.Boolean() for n in range(4)}, hr.Label("ill", ("no", "yes")))
MAKERS = [hr.PrivateTreeClassifier, hr.PrivateRuleListClassifier]


def rare_table(found=(5, 20), left=(155, 20)):
    """Return rows by pattern: ``x0`` finds half of the rows of "yes", and the other attributes tell nothing."""
    patterns = np.array(list(product((0, 1), repeat=4)))
    return Tally(SCHEMA, patterns, np.array([found if x0 else left for x0, *_ in patterns]))


def labels(model, loss):
    """Return the labels of the leaves."""
    if isinstance(model, LeafNode):
        return {loss.labels[model.value]}
    return labels(model.caught, loss) | labels(model.left, loss)


def probability(estimator, epsilon, rows, share, purity):
    draw, mechanism = WholeDraw.of(specification_of(estimator), SCHEMA).at(epsilon)
    cases = np.array([share]), np.array([purity])
    return float(constant_probabilities(draw, float(mechanism.weight), rows, *cases, rare=1)[0])


@pytest.mark.statistics
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("epsilon", "options", "table", "rows", "purity"),
    [
        (Fraction(1, 35), {}, rare_table(), 1600, 0.8),
        (Fraction(1, 10), {"class_weight": {"yes": 2}}, rare_table((30, 20), (130, 20)), 1600, 0.4),
        pytest.param(Fraction(1, 35), {"objective": "mixed"}, rare_table(), 1600, 0.8, marks=pytest.mark.slow),
    ],
)
def test_the_probability_is_that_of_draws_and_of_no_other_epsilon(make, epsilon, options, table, rows, purity):
    """1,000 draws: 3.5 standard deviations of a share are at most .047; at ε 40 % off it differs by more."""
    models = drawn_models(make(epsilon, **options), table, 1000)
    loss = WholeDraw.of(specification_of(make(epsilon, **options)), SCHEMA).at(epsilon)[0].loss
    real = sum(len(labels(model, loss)) == 1 for model in models) / len(models)
    for factor, is_right in ((Fraction(1), True), (Fraction(6, 10), False), (Fraction(14, 10), False)):
        result = probability(make(epsilon, **options), epsilon * factor, rows, 0.2, purity)
        assert (abs(result - real) < 0.047) is is_right, (result, real)


def test_the_probability_falls_with_rows_epsilon_and_what_the_test_finds():
    def of(rows, epsilon, share=0.1):
        risks = DefaultDraws.of(SCHEMA).risks(rows, Fraction(epsilon), RareClass("yes", share))
        assert [(risk.kind, risk.class_weight) for risk in risks[::3]] == [
            (kind, weight) for kind in ("tree", "rule list") for weight in (None, None, 9.0)
        ]
        assert [risk.purity for risk in risks[:3]] == list(purities(share)) == pytest.approx([0.2, 0.4, 0.75])
        return np.array([risk.probability for risk in risks]).reshape(2, 3, 3)

    few, more = of(400, "0.1"), of(4000, "0.1")
    assert np.all(np.diff(few, axis=2) <= 1e-12)  # the purer the group
    assert np.all(more[:, :, 2] < few[:, :, 2])
    assert np.all(few[:, 1, 2] < few[:, 0, 2])  # four times epsilon
    assert np.all(more[:, 0, :2] > 0.95)  # a group in which the class is no majority never changes a prediction
    assert np.all(more[:, 2, :] < 0.05)  # unless its errors count more


@pytest.mark.parametrize("share", [0.001, 0.1, 0.2, 0.3, 0.5])
def test_the_assumed_groups_are_possible(share):
    assert purities(share)
    assert all(share < purity <= 0.9 for purity in purities(share))


def test_below_the_limit_of_a_rare_class_one_class_is_likely():
    draws, epsilon = DefaultDraws.of(SCHEMA), Fraction(1, 10)
    limit = draws.rare_limit(2000, epsilon)
    for factor, is_likely in ((0.9, True), (1.2, False)):
        risks = draws.risks(2000, epsilon, RareClass("yes", limit * factor))
        likely = [risk.probability >= 0.5 for risk in risks if (risk.purity, risk.epsilon) == (0.75, epsilon)]
        assert all(likely[::2]) is is_likely  # without a class weight, of both kinds


def test_numbers_and_greedy_models_have_no_such_probability(monkeypatch):
    numbers = hr.Schema(SCHEMA.attributes, hr.Number("days", 0, 9))
    assert DefaultDraws.of(numbers).rare_limit(100, Fraction(1)) is None
    monkeypatch.setattr(cost, "MOST_SECONDS", 0)
    assert DefaultDraws.of(SCHEMA).risks(100, Fraction(1), RareClass("yes", 0.1)) == ()
    assert DefaultDraws.of(SCHEMA).rare_limit(100, Fraction(1)) is None
