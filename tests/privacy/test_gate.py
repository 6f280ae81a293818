from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import ArgumentError, BudgetExceededError
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.gate import Gate, spend, spend_share, watched_draws
from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts, SecureNoise, SeededNoise
from hedgerow.privacy.unit import Unit


class Diary:
    """A noise source that writes down when it is prepared and when it runs."""

    no_guarantee_reason, description = None, "diary"

    def __init__(self, log):
        self.log = log

    def prepare(self, _):
        self.log.append("prepare")
        return lambda values: self.log.append("run") or values


class DiaryBudget(Budget):
    def __init__(self, epsilon, log):
        super().__init__(epsilon)
        self.log = log

    def charge(self, *args, **kwargs):
        super().charge(*args, **kwargs)
        self.log.append("charge")


def test_a_release_is_prepared_charged_evaluated_and_noised_in_this_order():
    log = []
    gate = Gate(DiaryBudget(1, log), Diary(log))
    gate.release(DiscreteLaplace(Fraction(1)), lambda: log.append("rows") or np.zeros(1), query="x")
    assert log == ["prepare", "charge", "rows", "run"]


@pytest.mark.parametrize(("unit", "steps", "rows"), [(None, 1, 1), (None, 4, 4), (3, 1, 3), (3, 4, 12)])
def test_a_release_is_charged_for_rows_of_a_unit_and_steps_of_a_weight(unit, steps, rows):
    """A row that counts as `steps` rows changes a count as much as they do: the loss is theirs (fact 7)."""
    budget = Budget(100)
    gate = Gate(budget, SecureNoise(), None if unit is None else Unit("who", unit), steps)
    assert gate.rows == rows
    assert gate.remaining == Fraction(100, rows)
    mechanism = DiscreteLaplace(Fraction(1, 2), sensitivity=2, each=1)
    gate.release(mechanism, lambda: np.zeros(1, dtype=np.int64), query="counts")
    (charge,) = budget.charges
    assert charge.epsilon == Fraction(rows, 2)
    assert charge.rho == rows**2 * mechanism.rho
    assert gate.remaining * rows == budget.remaining == 100 - charge.epsilon


def test_a_share_is_spent_through_a_gate_for_its_unit_and_steps():
    budget, unit = Budget(9), Unit("who", 3)
    planned = Charge("a share", Fraction(1), unit=unit)
    of_a_share = spend_share(budget, planned, SecureNoise(), lambda gate: (gate.rows, gate.remaining), steps=4)
    of_its_own = spend_share(None, planned, SecureNoise(), lambda gate: (gate.rows, gate.remaining), steps=4)
    assert of_a_share == of_its_own == (12, Fraction(1, 12))
    assert spend(budget, SecureNoise(), lambda gate: gate.rows, unit=unit, steps=2) == 6
    assert budget.charges == (planned,)


def test_a_mechanism_with_a_delta_is_charged_for_the_unit_of_its_noise():
    budget = Budget(1, "1e-6")
    made = GaussianCounts(Fraction(1), Fraction("1e-6"), 2, 1, 4, rows=3)
    Gate(budget, SecureNoise(), Unit("who", 3)).release(made, lambda: np.zeros(2, np.int64), query="counts")
    assert budget.spent == 1
    with pytest.raises(ValueError, match=r"units of 6 rows, .*3"):
        Gate(Budget(1, "1e-6"), SecureNoise(), Unit("who", 3), steps=2).release(made, pytest.fail, query="counts")


def test_rows_are_not_touched_when_the_budget_is_spent():
    budget = Budget(0.5)
    with pytest.raises(BudgetExceededError, match="Nothing was charged"):
        Gate(budget, SecureNoise()).release(DiscreteLaplace(Fraction(1)), lambda: pytest.fail("touched"), query="x")
    assert budget.spent == 0


def test_a_failure_after_the_charge_is_not_refunded():
    budget = Budget(1)

    def failing():
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="disk on fire"):
        Gate(budget, SecureNoise()).release(DiscreteLaplace(Fraction(1)), failing, query="x")
    assert budget.spent == 1


def test_a_draw_is_noted_before_it_begins_and_not_while_rows_are_counted():
    noted = []

    class Noting(SecureNoise):
        def prepare(self, _):
            return lambda _: noted.append(draws.is_set())

    with watched_draws() as draws:
        Gate(Budget(1), Noting()).release(DiscreteLaplace(1), lambda: noted.append(draws.is_set()), query="counts")
    assert noted == [False, True]


def test_no_warning_or_error_discloses_overflow_or_underflow_of_counts():
    """Whatever a user's settings of NumPy are: neither while rows are counted nor while the noise is added."""

    def extreme(values):
        return values * np.exp(np.array([-1000.0, 1000.0]))

    class Extreme(Diary):
        def prepare(self, _):
            return extreme

    with np.errstate(all="raise"):
        Gate(Budget(1), Extreme([])).release(DiscreteLaplace(Fraction(1)), lambda: extreme(np.ones(2)), query="x")
        clf = hr.PrivateTreeClassifier(2000.0, max_depth=1, schema=None)
        clf.fit(np.eye(2, dtype=int), [0, 1])  # e^-2000 and less


def test_a_mechanism_that_cannot_be_built_costs_nothing():
    budget = Budget(1)
    with pytest.raises(ArgumentError, match="epsilon"):
        Gate(budget, SecureNoise()).release(
            DiscreteLaplace(Fraction(1, 10**20)), lambda: pytest.fail("touched"), query="x"
        )
    assert budget.charges == ()


def test_the_record_names_purpose_and_mechanism():
    budget = Budget(1)
    Gate(budget, SecureNoise()).release(DiscreteLaplace(Fraction(1, 2)), lambda: np.zeros(3, np.int64), query="counts")
    (charge,) = budget.charges
    assert (charge.purpose, charge.epsilon) == ("counts", Fraction(1, 2))
    assert charge.mechanism.words == "discrete Laplace, sensitivity 1, scale 2"


def test_the_record_says_why_a_release_has_no_guarantee():
    budget = Budget(4)
    counts = DiscreteLaplace(Fraction(1))

    def zeros():
        return np.zeros(3, np.int64)

    seeded = Gate(budget, SeededNoise(np.random.default_rng(0)))
    Gate(budget, SecureNoise()).release(counts, zeros, query="proven")
    Gate(budget, SecureNoise()).release(counts, zeros, query="unproven", no_guarantee="not proven")
    seeded.release(counts, zeros, query="seeded")
    seeded.release(counts, zeros, query="both", no_guarantee="not proven")
    assert [charge.no_guarantee_reason for charge in budget.charges] == [
        None,
        "not proven",
        "seeded noise",
        "not proven; seeded noise",
    ]
    assert budget.no_guarantee_reason == "not proven; seeded noise"


def test_an_underflow_after_the_charge_is_never_an_error():
    planned = Charge("model", Fraction(1))
    with np.errstate(all="raise"):
        assert spend_share(None, planned, SecureNoise(), lambda _: np.exp(-1000.0)) == 0
        assert spend(Budget(1), SecureNoise(), lambda _: np.exp(-1000.0)) == 0
        with pytest.raises(FloatingPointError, match="underflow"):
            np.exp(-1000.0)
