"""Every failure after a charge, at any step of any operation, states once and exactly which charge stays.

No result class is narrower than the set of results of its mechanism.
"""

import inspect
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn.contract import PrivateEstimator
from hedgerow.marginals.base import MarginalEstimator
from hedgerow.privacy import budget as budget_module
from hedgerow.privacy.amounts import amount_text
from hedgerow.text.messages import charge_notes
from tests.adversarial import paid

SOURCE = str(Path(hr.__file__).parent)
pytestmark = pytest.mark.filterwarnings("ignore")


class Fault(BaseException):
    """An error of a class that nothing expects, as an interrupt is."""


class Meter:
    """Counts the calls of hedgerow's functions once something is charged, and raises a fault at one of them."""

    def __init__(self, at=None):
        self.at, self.calls, self.is_paid, self.place, self.is_generator = at, 0, False, "", False

    def charged(self, update):
        def wrapped(budget, change):
            before = budget.spent
            after = update(budget, change)
            self.is_paid |= after.spent > before
            return after

        return wrapped

    def trace(self, frame, event, _):
        code = frame.f_code
        if event == "call" and self.is_paid and code.co_filename.startswith(SOURCE):
            self.calls += 1
            if self.calls - 1 == self.at:
                self.is_generator = bool(code.co_flags & inspect.CO_GENERATOR)
                self.place = f"{code.co_filename}:{frame.f_lineno} {code.co_name}"
                sys.settrace(None)
                raise Fault
        return

    def run(self, operation, budget, **more):
        """Return the error of an operation, or None."""
        traced = sys.gettrace()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(budget_module.Budget, "_update", self.charged(budget_module.Budget._update))
            try:
                sys.settrace(self.trace)
                operation(budget, 1, **more)
            except BaseException as error:
                return error
            finally:
                sys.settrace(traced)
        return None


def test_every_estimator_that_charges_is_among_the_operations():
    classes = [class_ for class_ in (getattr(hr, name) for name in hr.__all__) if inspect.isclass(class_)]
    assert {class_ for class_ in classes if issubclass(class_, (PrivateEstimator, MarginalEstimator))} == paid.KINDS


@pytest.mark.parametrize("faults", [2, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["shared", "own"])
@pytest.mark.parametrize("name", paid.OPERATIONS)
@pytest.mark.claim("Any error or termination signal after a charge states that the charge stays")
def test_a_fault_at_any_step_after_the_charge_says_what_stays_charged(name, kind, faults):
    def budget():
        return hr.Budget(4, "1e-5") if kind == "shared" else None

    operation, seed = paid.OPERATIONS[name], {"random_state": 0}
    operation(budget(), 1, **seed)  # fills caches
    whole = Meter()
    assert whole.run(operation, budget(), **seed) is None
    assert whole.calls > 1
    steps = {whole.calls - 2, *np.linspace(0, whole.calls - 1, faults).astype(int).tolist()}
    for step in sorted(steps):
        meter, given = Meter(step), budget()
        error = meter.run(operation, given, **seed)
        if error is None and meter.is_generator:
            continue  # an error in a generator that is being thrown away reaches nobody, by Python's rules
        assert error is not None, f"the fault at call {step} of {whole.calls}, {meter.place or 'not reached'}, is lost"
        notes = charge_notes(error)
        assert len(notes) == 1, f"at call {step} of {whole.calls}, {meter.place}: {error!r} with {notes}"
        if given is not None and name != "federated":
            assert notes == [f"The epsilon of {amount_text(given.spent)} stays charged."]


WARNING = {name for name in paid.FITS if "number" not in name}


@pytest.mark.parametrize("name", sorted(WARNING))
def test_a_model_warning_raised_as_error_keeps_the_model(name, monkeypatch):
    kind, schema, parameters = paid.FITS[name]
    caveat = type("Caveat", (), {"sentence": "It is of no use."})()
    monkeypatch.setattr(kind, "caveats", property(lambda _: (caveat,)))
    for budget in (hr.Budget(4, "1e-5"), None):
        clf = kind(1, schema=schema, budget=budget, random_state=0, **parameters)
        if clf.planned_charge(schema).no_guarantee_reason:
            continue  # a model without a guarantee is not warned of
        with warnings.catch_warnings():
            warnings.simplefilter("error", hr.errors.UselessModelWarning)
            with pytest.raises(hr.errors.UselessModelWarning, match="It is of no use") as caught:
                clf.fit(paid.rows(), paid.rows()[schema.target.name])
        # a published list that stops before its last rule is charged for the rules that it chose
        assert charge_notes(caught.value) == [f"The epsilon of {amount_text(clf.privacy_.epsilon)} stays charged."]
        assert 0 < clf.privacy_.epsilon <= 1
        assert len(clf.predict(paid.rows())) == 200


@pytest.mark.parametrize("budget", [hr.Budget(4), None], ids=["shared", "own"])
@pytest.mark.parametrize("call", ["fit", "fit_tally"])
def test_a_warning_of_the_model_names_the_line_that_called_fit(budget, call, monkeypatch):
    caveat = type("Caveat", (), {"sentence": "It is of no use."})()
    monkeypatch.setattr(hr.PrivateTreeClassifier, "caveats", property(lambda _: (caveat,)))
    clf = hr.PrivateTreeClassifier(1, schema=paid.ILL, max_depth=1, budget=budget)
    given = paid.rows(), paid.rows()["ill"]
    arguments = given if call == "fit" else (hr.Tally.count(*given, paid.ILL),)
    with pytest.warns(hr.errors.UselessModelWarning, match="of no use") as caught:
        getattr(clf, call)(*arguments)
    assert [item.filename for item in caught] == [__file__]


@pytest.mark.parametrize("name", paid.LEARNERS)
def test_an_overlap_warning_raised_as_error_keeps_the_learner(name):
    kind, parameters = paid.LEARNERS[name]
    more = {key: value for key, value in parameters.items() if key not in ("questions", "number")}
    oracle = paid.oracle_of(None, 400, parameters.get("number"), parameters.get("questions", 1))
    source = paid.rows()[["age", "smoker"]].assign(age=[10] * 198 + [45, 80])
    clf = kind(**more, bins=hr.Schema({"age": paid.BINS["age"]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error", hr.errors.OverlapWarning)
        with pytest.raises(hr.errors.OverlapWarning, match="The epsilon of 400 stays charged") as caught:
            clf.fit(source, oracle=oracle)
    assert len(charge_notes(caught.value)) == 1
    assert clf.privacy_.epsilon == 400
    assert len(clf.predict(source)) == 200
    oracle = paid.oracle_of(None, 400, parameters.get("number"), parameters.get("questions", 1))
    with pytest.warns(hr.errors.OverlapWarning, match="hardly overlap") as said:
        clf.fit(source, oracle=oracle)
    assert [item.filename for item in said] == [__file__]


# No result is narrower than its mechanism: the least and the largest ε that is accepted is answered, and read back.

OF_AN_ORACLE = {"rows", "classes", "errors", "levels", "ratios", "Gaussian", "federated", *paid.LEARNERS}


def assert_readable(result):
    """Read back the file of a result, and show it."""
    if isinstance(result, hr.Schema):
        assert hr.Schema.from_dict(result.to_dict()) == result
    elif isinstance(result, PrivateEstimator):
        model = result._model
        assert type(model).from_json(model.to_json()) == model
        assert str(model)
        assert str(result.privacy_)
        assert model.to_html()
        assert len(result.predict(paid.rows())) == 200
    elif isinstance(result, MarginalEstimator):
        assert np.isfinite(result.predict(paid.rows()[["age", "smoker"]])).all()
    elif hasattr(result, "to_json"):
        assert type(result).from_json(result.to_json()) == result
        assert str(result)
    else:
        numbers = [getattr(result, name) for name in ("n_rows", "masses", "variance") if hasattr(result, name)]
        assert all(np.isfinite(number).all() for number in numbers)


def answer_of(name, epsilon):
    """Return the result of an operation at some ε, or None if it is refused before the charge."""
    budget = None if name in OF_AN_ORACLE else hr.Budget(epsilon, "1e-5")
    try:
        return paid.OPERATIONS[name](budget, epsilon)
    except ValueError as error:
        refusal = error
    assert charge_notes(refusal) == [], "refused after the charge"
    assert budget is None or not budget.spent
    return None


@pytest.mark.parametrize("times", [1, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", paid.OPERATIONS)
def test_the_least_epsilon_that_is_accepted_is_always_answered(name, times):
    """At 2e-12, 8 of 20 evaluations were charged and thrown away: counts of 40 bits were refused."""
    least = next(power for power in range(44, 30, -1) if answer_of(name, Fraction(1, 2**power)) is not None)
    for _ in range(times):
        result = answer_of(name, Fraction(1, 2**least))
        assert result is not None
        assert_readable(result)


@pytest.mark.parametrize("name", paid.OPERATIONS)
def test_the_largest_epsilon_is_answered_or_refused_before_the_charge(name):
    """Those of some published mechanisms overflowed after the charge."""
    results = [answer_of(name, Fraction(10) ** power) for power in (300, 140)]
    assert results[1] is not None
    for result in results:
        if result is not None:
            assert_readable(result)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**40), 2e-12])
def test_an_evaluation_with_counts_of_more_than_40_bits_is_answered(epsilon):
    result = [hr.evaluate(paid.models()["ill"], paid.rows(), epsilon=epsilon) for _ in range(20)]
    assert max(np.abs(item.counts).max() for item in result) >= 2**40
    for item in result:
        assert_readable(item)


def test_an_evaluation_of_as_many_rows_as_64_bits_hold_is_answered():
    tally = hr.Tally.count(paid.rows(), "ill", paid.ILL)
    bins, counts = tally.bins_and_counts()
    large = hr.Tally(paid.ILL, bins, counts * 2**54)
    result = hr.evaluate(paid.models()["ill"], large, epsilon=1)
    assert result.rows()[0] == pytest.approx(200 * 2**54)
    assert_readable(result)


@pytest.mark.parametrize("name", paid.OPERATIONS)
def test_underflow_errors_of_the_caller_fail_no_charged_operation(name):
    """Under `np.seterr(all="raise")` a scorecard was charged and thrown away, as chances underflow to 0."""
    with np.errstate(all="raise"):
        paid.OPERATIONS[name](hr.Budget(1, paid.DELTA), 1)
