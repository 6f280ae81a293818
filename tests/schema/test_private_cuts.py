from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import BudgetExceededError, DomainError, SchemaError, TooManyRowsError
from hedgerow.privacy import exponential_mechanism as em
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.unit import Unit
from hedgerow.schema import Boolean, Integer, Real, Schema
from hedgerow.schema.private_cuts import MOST_CANDIDATES, PlannedCuts, learn_cuts, open_numbers, plan_cuts
from hedgerow.tables.frames import Table

POLICIES = {"missing": "bin", "missing_values": (-9, "?"), "outside": "bin"}
ATTRIBUTES = {"age": Integer(0, 20, **POLICIES), "b": Boolean(), "dose": Real(0, 2, outside="clip")}


class Recorder:
    """A noise source that keeps what each mechanism is given and answers with the first candidate throughout."""

    description, no_guarantee_reason = "recorder", "recorded"

    def __init__(self):
        self.seen = []

    def prepare(self, mechanism):
        def run(values):
            self.seen.append((mechanism, values))
            return (0,) * (mechanism.bins - 1)

        return run


def record(rows, attributes=ATTRIBUTES, bins=3):
    recorder, budget = Recorder(), Budget(1)
    planned = plan_cuts(attributes, budget.epsilon, bins)
    table = Table.of(pl.DataFrame(rows, schema=list(attributes), orient="row"))
    learn_cuts(lambda name: table.column(name, [*attributes].index(name)), planned, Gate(budget, recorder))
    return recorder.seen, budget


def counted(candidates, values):
    """The rows at or below each candidate and above the one before it, and those above all, one by one."""
    edges = [-np.inf, *candidates, np.inf]
    return [sum(low < value <= high for value in values) for low, high in pairwise(edges)]


rows = st.lists(
    st.tuples(
        st.sampled_from([-9.0, None, -3.0, 0.0, 7.0, 7.5, 20.0, 99.0]),
        st.just(True),
        st.sampled_from([-5.0, 0.0, 0.3, 2.0, 7.0]),
    ),
    max_size=6,
)


@given(rows, rows.filter(bool))
def test_another_row_changes_each_release_by_at_most_its_sensitivity(table, more):
    before, after = record(table)[0], record([*table, more[0]])[0]
    assert len(before) == len(after) == 2
    for (mechanism, item), (_, other) in zip(before, after, strict=True):
        assert mechanism.distance(item, other) <= mechanism.sensitivity == 1
        assert len(item) == len(other) == mechanism.candidates + 1


@given(rows)
def test_cut_points_are_released_of_values_after_the_policies(table):
    seen, _ = record(table)
    ages = [age for age, _, _ in table if age in (0, 7, 20)]  # -9 is missing; the others are outside, each a bin
    doses = [min(max(dose, 0), 2) for _, _, dose in table]
    candidates = [plan.number.cuts for plan in plan_cuts(ATTRIBUTES, Fraction(1), 3)]
    assert [result.tolist() for _, result in seen] == [
        counted(among, values) for among, values in zip(candidates, (ages, doses), strict=True)
    ]


@given(st.lists(st.integers(0, 20), max_size=30), st.sets(st.integers(0, 19), min_size=1))
def test_a_value_equal_to_a_candidate_is_counted_in_its_bin(ages, places):
    column = Table.of(pl.DataFrame({"age": ages}, schema={"age": pl.Int64})).column("age", 0)
    fine = np.cumsum(PlannedCuts.of("age", Integer(0, 20), Fraction(1), 2).counts(column))
    cut = Integer(0, 20, tuple(sorted(places)))
    counts = np.bincount(cut.encode(column), minlength=len(cut.bins))
    assert np.diff([0, *(fine[place] for place in cut.cuts), fine[-1]]).tolist() == counts.tolist()


def test_the_budget_is_spent_exactly_and_equally_through_the_gate():
    seen, budget = record([(1.0, True, 1.0)])
    assert budget.remaining == 0
    assert [(charge.purpose, charge.epsilon, charge.mechanism) for charge in budget.charges] == [
        (f"all cut points of {name}", Fraction(1, 2), mechanism.record)
        for name, (mechanism, _) in zip(["age", "dose"], seen, strict=True)
    ]
    assert [(mechanism.bins, mechanism.candidates) for mechanism, _ in seen] == [(3, 20), (3, MOST_CANDIDATES)]


@pytest.mark.parametrize(
    "attribute", [Integer(-3, 4), Integer(0, 1), Integer(-(10**9), 10**9), Real(-1, 1), Real(1.0, np.nextafter(1.0, 2))]
)
def test_candidates_are_public_cut_points_of_the_declared_domain(attribute):
    (plan,) = plan_cuts({"x": attribute}, Fraction(1), 2)
    candidates = plan.number.cuts
    kind = int if isinstance(attribute, Integer) else float
    assert 1 <= len(candidates) == plan.mechanism.candidates <= MOST_CANDIDATES
    assert {type(cut) for cut in candidates} == {kind}
    assert replace(plan.number, cuts=()) == replace(attribute, cuts=())
    assert candidates[0] == attribute.low


@pytest.mark.parametrize("text", [["?", "3", "", "30"], ["?", "3.0", "", "30"]])
def test_text_that_spells_numbers_is_read_with_its_missing_tokens(text):
    seen, _ = record([(bin,) for bin in text], {"age": ATTRIBUTES["age"]}, bins=2)
    assert seen[0][1].tolist() == counted(range(20), [3])


def test_learned_cuts_are_near_the_quantiles_at_large_epsilon():
    frame = pd.DataFrame({"age": np.arange(101), "b": True, "dose": np.linspace(0, 2, 101) ** 2 / 2})
    declared = Schema({"age": Integer(0, 100), "b": Boolean(), "dose": Real(0, 2)})
    learned = Schema.learn(frame, declared, epsilon=1_000, bins=4)
    # cut points of which one is off by two rows have a score that is worse by 8, and e^-330 times the chance
    assert np.allclose(learned["age"].cuts, [25, 50, 75], atol=1)
    assert np.allclose(learned["dose"].cuts, np.quantile(frame["dose"], [0.25, 0.5, 0.75]), atol=0.03)
    assert (learned["b"], learned["age"].low, learned["age"].high) == (Boolean(), 0, 100)


@given(st.lists(st.integers(0, 9), max_size=5), st.sampled_from([0.01, 1, 100]), st.integers(2, 6))
def test_learned_cuts_lie_in_the_declared_bounds_whatever_the_rows(ages, epsilon, bins):
    frame = pd.DataFrame({"age": np.array(ages, dtype=int)})
    learned = Schema.learn(frame, Schema({"age": Integer(0, 9)}), epsilon=epsilon, bins=bins)["age"]
    assert 1 <= len(learned.cuts) < bins
    assert {*learned.cuts} <= {*range(9)}


def test_learning_charges_a_shared_budget_exactly_epsilon():
    budget = Budget(1)
    Schema.learn(pd.DataFrame({"age": [1, 2]}), Schema({"age": Integer(0, 9)}), epsilon=0.1, budget=budget, bins=7)
    assert budget.spent == Fraction(1, 10)
    assert [charge.purpose for charge in budget.charges] == ["cut points of a schema"]


AGE = Schema({"age": Integer(0, 9)})
FRAME = pd.DataFrame({"age": [1, 2]})


@pytest.mark.parametrize(
    ("frame", "declared", "arguments", "error", "message"),
    [
        (FRAME, AGE, {"epsilon": 2}, BudgetExceededError, "epsilon=1 left, and epsilon=2 was requested"),
        (FRAME, AGE, {"epsilon": 0}, ValueError, "epsilon must be a number > 0"),
        (FRAME, AGE, {"epsilon": 1, "bins": 1}, ValueError, "bins must be a whole number >= 2, got 1"),
        (FRAME, AGE, {"epsilon": 1, "bins": 1001}, ValueError, "bins must be a whole number <= 1000, got 1001"),
        (FRAME, AGE, {"epsilon": 1e-13}, ValueError, "epsilon for one draw must be > "),
        (FRAME, AGE, {"epsilon": 1e-13, "random_state": 3}, ValueError, "epsilon for one draw must be > "),
        (FRAME, AGE, {"epsilon": 1, "bins": 2.5}, ValueError, r"bins must be a whole number >= 2, got 2\.5"),
        (FRAME, Schema({"age": Boolean()}), {"epsilon": 1}, SchemaError, "the schema has no such attribute"),
        (
            FRAME,
            Schema({"age": Integer(0, 9, (3,))}),
            {"epsilon": 1},
            SchemaError,
            "every number has declared cut points",
        ),
        (FRAME, Schema({"dose": Real(0, 9)}), {"epsilon": 1}, DomainError, "column 'dose'"),
        (np.ones((2, 2)), AGE, {"epsilon": 1}, DomainError, r"expected 1 column \(age\), in this order, got 2"),
    ],
)
def test_invalid_requests_cost_nothing_and_read_no_row(monkeypatch, frame, declared, arguments, error, message):
    column = Table.column
    monkeypatch.setattr(
        Table, "column", lambda own, *of: pytest.fail("touched a row") if len(own) else column(own, *of)
    )
    budget = Budget(1)
    with pytest.raises(error, match=message):
        Schema.learn(frame, declared, budget=budget, **arguments)
    assert budget.charges == ()


@pytest.mark.parametrize("with_budget", [True, False])
def test_a_schema_charged_for_rows_is_not_learned_on_for_persons(with_budget):
    """No model could be charged for the schema that came of it: the charge would be lost."""
    budget = Budget(1)
    paid = Schema({"age": Integer(0, 120)}, charges=(Charge("cut points", Fraction(1, 4)),), unit=Unit("who", 2))
    with pytest.raises(ValueError, match="unit"):
        Schema.learn(pd.DataFrame({"age": [1], "who": ["a"]}), paid, epsilon=1, budget=budget if with_budget else None)
    assert budget.spent == 0


@pytest.mark.parametrize(
    ("unit", "is_refused"), [(None, True), (Unit("who", 1), False), (Unit("who", 2), True)], ids=["rows", "one", "two"]
)
def test_too_many_rows_are_refused_before_the_charge(monkeypatch, unit, is_refused):
    monkeypatch.setattr(em, "MOST_ROWS", 20)
    frame, budget = pd.DataFrame({"age": [1] * 20, "who": [f"p{i // 2}" for i in range(20)]}), Budget(1)
    declared = replace(AGE, unit=unit)
    if is_refused:
        with pytest.raises(TooManyRowsError, match=r"fewer than 20 rows.* Nothing was charged"):
            Schema.learn(frame, declared, epsilon=1, budget=budget)
    else:
        Schema.learn(frame, declared, epsilon=1, budget=budget)
    assert budget.spent == (0 if is_refused else 1)


def test_a_failure_in_the_rows_is_not_refunded():
    budget = Budget(1)
    with pytest.raises(DomainError, match="column 'age'"):
        Schema.learn(pd.DataFrame({"age": [99]}), AGE, epsilon=0.5, budget=budget)
    assert budget.spent == Fraction(1, 2)


def test_numbers_with_custom_cut_points_are_not_learned_again():
    attributes = {
        "declared": Integer(0, 9, (3,)),
        "grid": Real(0, 1),
        "grid, declared": Integer(0, 2, (0, 1)),
        "none": Real(0, 1, ()),
        "no number": Boolean(),
    }
    result = open_numbers(attributes, 2)
    assert result == {name: attributes[name] for name in ("grid", "grid, declared", "none")}


def test_the_most_bins_are_drawn_from_few_candidates_and_merged():
    frame = pd.DataFrame({"age": np.arange(4)})
    cuts = Schema.learn(frame, Schema({"age": Integer(0, 4)}), epsilon=1, bins=MOST_CANDIDATES)["age"].cuts
    assert 1 <= len(cuts) <= 4
    assert {*cuts} <= {*range(4)}


def test_a_seed_repeats_the_cut_points_and_voids_the_guarantee():
    frame, declared = pd.DataFrame({"age": np.arange(10)}), Schema({"age": Integer(0, 90)})
    item, other = (Schema.learn(frame, declared, epsilon=1, random_state=5) for _ in range(2))
    assert item == other
    assert [charge.no_guarantee_reason for charge in item.charges] == ["seeded noise"]
