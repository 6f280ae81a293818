"""What models of pure ε cost in ρ: the most of all ways that a fit may take, which a shared budget is charged."""

from fractions import Fraction
from itertools import cycle, product

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.learn.chosen_attributes import AttributeChoice, default_parts
from hedgerow.learn.scorecard.fit import Fit
from hedgerow.privacy.charge import total_rho
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.zcdp import drawn_rho, pure_rho

pytestmark = pytest.mark.filterwarnings("ignore::hedgerow.errors.UselessModelWarning")
X = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (200, 9)).astype(bool), columns=[f"x{i}" for i in range(9)])
COLUMNS = {name: hr.Boolean(missing="bin") for name in X.columns}
CLASSES = [hr.Label("y", range(n)) for n in (2, 3)]
NUMBER = hr.Number("y", 0, 10, levels=11)


def in_rho(made, y, rho=100):
    """Return the charge to a budget that adds up ρ, and the fitted model's card."""
    budget = hr.Budget(rho=rho)
    card = made.set_params(budget=budget).fit(X, y).privacy_
    (charge,) = budget.charges
    return charge, card


@pytest.mark.parametrize("label", [*CLASSES, NUMBER], ids=["two classes", "three", "a number"])
def test_the_plan_of_a_scorecard_covers_every_path_and_is_reached(label, monkeypatch):
    """All numbers of attributes, and whatever counts it has enough rows for: the worst way is what is charged."""
    kind = hr.PrivateScorecardRegressor if label is NUMBER else hr.PrivateScorecardClassifier
    schema = hr.Schema(COLUMNS, label=label)
    y = np.random.default_rng(1).integers(0, 2, len(X))
    planned = kind(2, schema=schema).planned_charge(schema).zcdp
    result = list[Fraction]()
    for k, *enough in product([2, 9], *[[False, True]] * (2 if label is CLASSES[1] else 3)):
        parts = default_parts(9) if k < 9 else Fraction(0)
        is_enough = cycle(enough)
        monkeypatch.setattr(
            AttributeChoice, "of", classmethod(lambda cls, ways, *_, k=k, parts=parts, **__: cls(9, k, ways[0], parts))
        )
        monkeypatch.setattr(Fit, "_is_enough", lambda *_, answers=is_enough: next(answers))
        card = kind(2, schema=schema).fit(X, y).privacy_
        result.append(total_rho(card.charges))
        assert total_rho(card.planned) == planned
        assert card.reserve is None or card.reserve.epsilon == 0
        charge, shared = in_rho(kind(2, schema=schema), y)
        assert charge.zcdp <= planned
        assert total_rho(shared.planned) == charge.zcdp
    assert max(result) == planned < pure_rho(Fraction(2))
    assert charge.zcdp < planned / 2  # noise is not shared where ρ is added up


@pytest.mark.filterwarnings("ignore::hedgerow.errors.NoiseWarning")
@pytest.mark.parametrize("lookahead", [None, 1])
def test_the_card_of_a_list_bounds_all_lists_of_its_blocks(lookahead):
    """The rules that earlier blocks leave decide how much of a further block's ε is kept for rounding: most at 1e-8."""
    schema = hr.Schema(COLUMNS, label=CLASSES[0])
    y = np.random.default_rng(1).integers(0, 2, len(X))
    search = {"search": "exact", "max_literals": 1, "max_rules": 3, "lookahead": lookahead}
    made = hr.PrivateRuleListClassifier("1e-8", schema=schema, **search)
    planned = made.planned_charge(schema).zcdp
    cards = [made.fit(X, y).privacy_ for _ in range(12)]
    assert {total_rho(card.planned) for card in cards} == {planned}
    # One list in ten has no rule in its first block, after which a second block costs as much as planned.
    assert (min(total_rho(card.charges) for card in cards) < planned) == (lookahead == 1)


@pytest.mark.parametrize("kind", [hr.PrivateRuleListClassifier, hr.PrivateTreeClassifier])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 4])
def test_greedy_growth_is_charged_choice_by_choice_under_rho(kind, epsilon):
    schema = hr.Schema(COLUMNS, label=CLASSES[0])
    size = {"max_rules": 5} if kind is hr.PrivateRuleListClassifier else {"max_depth": 4}
    each = epsilon * Fraction(4, 5) / 4
    made = kind(epsilon, schema=schema, search="greedy", **size)
    assert made.planned_charge(schema).zcdp == pure_rho(Fraction(epsilon))
    charge, card = in_rho(made, np.arange(len(X)) % 2)
    assert charge.zcdp == 4 * drawn_rho(each, each) + pure_rho(Fraction(epsilon) / 5)
    assert charge.zcdp < pure_rho(Fraction(epsilon)) / (10 if epsilon < 1 else 5)
    assert total_rho(card.planned) == charge.zcdp
    assert (card.epsilon, charge.epsilon) == (epsilon, epsilon)
    assert all("exponential mechanism" in item.mechanism.words for item in card.charges if "choice" in item.purpose)


class Stops:
    """Noise that stops after so many choices, and adds none to counts."""

    no_guarantee_reason, description = "a test", "a test"

    def __init__(self, after):
        self.left = after

    def prepare(self, mechanism):
        if isinstance(mechanism, DiscreteLaplace):
            return lambda counts: counts
        return self._choose

    def _choose(self, scores):
        self.left -= 1
        return 0 if self.left >= 0 else len(scores) - 1


@pytest.mark.parametrize("after", range(6))
@pytest.mark.parametrize("unit", [None, hr.schema.Unit("who", 3)])
def test_a_list_that_stops_early_under_rho_spends_the_rest_on_counts(unit, after):
    schema = hr.Schema(COLUMNS, label=CLASSES[0], unit=unit)
    rows, budget = X if unit is None else X.assign(who=np.arange(len(X)) // 2), hr.Budget(rho=10)
    made = hr.PrivateRuleListClassifier(3, schema=schema, max_rules=6, search="greedy", budget=budget)
    card = made.set_params(random_state=Stops(after)).fit(rows, np.arange(len(X)) % 2).privacy_
    *choices, counts = [charge for charge in card.charges if charge.purpose != "reserved, not used"]
    assert len(choices) == min(after + 1, 5)
    assert total_rho(card.charges) <= budget.charges[0].zcdp
    assert card.epsilon == 3
    assert counts.epsilon == Fraction(3, 5) if len(choices) == 5 else counts.epsilon > Fraction(3, 5)
    left = budget.charges[0].zcdp - total_rho(choices)
    assert 0.999 * left < counts.zcdp <= left or (unit and len(choices) == 5)


def test_counts_of_several_attributes_declare_what_a_row_changes_of_each():
    recorded = []

    class Spy:
        no_guarantee_reason, description = None, "spy"

        def prepare(self, mechanism):
            recorded.append(mechanism)
            return hr.privacy.SecureNoise().prepare(mechanism)

    schema = hr.Schema(COLUMNS, label=CLASSES[0])
    learner = hr.PrivateScorecardClassifier(5, schema=schema, budget=hr.Budget(rho=100), random_state=Spy())
    learner.fit(X, np.arange(len(X)) % 2)
    histograms = [histogram for histogram in recorded if isinstance(histogram, DiscreteLaplace) and histogram.each == 1]
    assert {histogram.sensitivity for histogram in histograms} <= set(range(2, 10))
    assert histograms


@pytest.mark.parametrize("kind", [hr.PrivateRuleListClassifier, hr.PrivateTreeClassifier, hr.PrivateTreeRegressor])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 4])
def test_no_number_of_chosen_attributes_costs_more_than_the_charge(kind, epsilon, monkeypatch):
    """All of 40, or each number from the fewest on: in blocks, or as a whole."""
    monkeypatch.setattr("hedgerow.learn.search.cost.MOST_SECONDS", 0.05)
    label = NUMBER if kind is hr.PrivateTreeRegressor else CLASSES[0]
    schema = hr.Schema({f"x{i}": hr.Boolean() for i in range(40)}, label=label)
    bins = np.random.default_rng(2).integers(0, 2, (60, 40))
    table = hr.Tally(schema, bins, np.eye(label.n_levels, dtype=int)[bins[:, 3] * (label.n_levels - 1)])
    result = list[Fraction]()
    for number in (0, 3, 4, 8, 12):
        monkeypatch.setattr("hedgerow.learn.chosen_attributes.number_chosen", lambda *_, number=number: number)
        budget = hr.Budget(rho=100)
        card = kind(epsilon, schema=schema, budget=budget).fit_tally(table).privacy_
        (charge,) = budget.charges
        result.append(total_rho(card.charges))
        assert total_rho(card.planned) == charge.zcdp
        assert sum("choice of attribute" in item.purpose for item in card.charges) == number
        assert all(
            "exponential mechanism" in item.mechanism.words
            for item in card.charges
            if "choice of attribute" in item.purpose
        )
    assert max(result) <= charge.zcdp < 1.02 * max(result)
    assert charge.zcdp < pure_rho(Fraction(epsilon)) / 2
