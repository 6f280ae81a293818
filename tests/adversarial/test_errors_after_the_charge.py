"""An error after a charge states that the charge stays, whatever its class and wherever it is raised."""

import dis
import sys
import threading
from fractions import Fraction
from functools import cache
from itertools import count, pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import hedgerow as hr
from hedgerow.boundary import durable
from hedgerow.errors import BudgetExceededError, DomainError, FileError
from hedgerow.privacy import budget as budget_module
from hedgerow.privacy import budget_file
from hedgerow.privacy.budget import note_charges
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.gate import spend
from hedgerow.privacy.noise import SecureNoise

STAYS = r"The epsilon of [12] stays charged"
ERRORS = (KeyError("x"), MemoryError(), KeyboardInterrupt(), OSError(5, "x"), SystemExit(3), DomainError("x"))
SCHEMA = hr.Schema({"age": hr.Integer(0, 99, [30, 60])}, label=hr.Label("ill", (0, 1)))
BINS = hr.Schema({"age": hr.Integer(0, 99, [30, 60], outside="clip", missing="bin")})
OPEN = hr.Schema({"age": hr.Integer(0, 99)})


def rows(n=300):
    age = np.random.default_rng(0).integers(0, 100, n)
    return pd.DataFrame({"age": age}), pd.Series((age > 60).astype(int), name="ill")


def charges_made(error):
    return [note for note in getattr(error, "__notes__", ()) if "stays charged" in note]


def list_of_rules(budget):
    hr.PrivateRuleListClassifier(1, schema=SCHEMA, max_rules=2, budget=budget).fit(*rows())


def tree_of_a_tally(budget):
    tally = hr.Tally.count(*rows(), SCHEMA)
    hr.PrivateTreeClassifier(1, schema=SCHEMA, search="greedy", max_depth=1, budget=budget).fit_tally(tally)


def scorecard(budget):
    hr.PrivateScorecardClassifier(1, schema=SCHEMA, budget=budget).fit(*rows())


def published_list(budget):
    hr.DPGreedyRLClassifier(1, mechanism="noisy-counts", schema=SCHEMA, budget=budget).fit(*rows())


def cut_points(budget):
    hr.Schema.learn(rows()[0], OPEN, epsilon=1, budget=budget, bins=2)


def oracle(budget):
    hr.Oracle(*rows(), budget, 2).marginals(BINS)


def gaussian_oracle(budget):
    hr.Oracle(*rows(), budget, 2, release="gaussian").marginals(BINS)


RELEASES = (list_of_rules, tree_of_a_tally, scorecard, published_list, cut_points, oracle, gaussian_oracle)


@pytest.mark.parametrize("failure", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.__name__)
@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.claim("Any error or termination signal after a charge states that the charge stays")
def test_an_error_while_a_mechanism_runs_says_that_the_charge_stays(release, failure, kind, tmp_path, monkeypatch):
    """The first mechanism fails once it has the rows, as foreign code, a full memory or the user's Ctrl-C may."""
    budget = hr.Budget(2, "1e-5") if kind == "memory" else FileBudget.create(tmp_path / "b.json", 2, "1e-5")

    def fail(*_):
        assert budget.spent
        raise type(failure)(*failure.args)

    monkeypatch.setattr("hedgerow.privacy.noise.SecureNoise.prepare", lambda *_: fail)
    with pytest.raises(type(failure), match=STAYS) as caught:
        release(budget)
    (note,) = charges_made(caught.value)
    assert note.endswith(f" to {tmp_path}/b.json.") == (kind == "file")


def test_labels_that_do_not_fit_say_that_the_charge_stays():
    """Continuous labels once spent half of a budget without a statement of the charge."""
    budget, (X, y) = hr.Budget(2), rows()
    with pytest.raises(DomainError, match=rf"(?s)^column 'ill': .*labels.*{STAYS}"):
        hr.PrivateRuleListClassifier(1, schema=SCHEMA, budget=budget).fit(X, y + 0.5)
    assert budget.spent == 1


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.zeros(300), ("no", "yes")),
        (np.zeros(300, dtype=bool), ("no", "yes")),
        (np.zeros(300, dtype=bool), (2, 3)),
        (np.zeros(300, dtype="datetime64[D]"), ("no", "yes")),
        (np.zeros(300, dtype=complex), (0, 1)),
        (pd.Series(np.zeros(300), dtype="category"), ("no", "yes")),
        (pd.Series(pd.Timestamp(0, tz="UTC"), index=range(300)), ("no", "yes")),
    ],
    ids=lambda given: str(getattr(given, "dtype", given)),
)
def test_labels_of_an_impossible_type_are_refused_before_the_charge(labels, classes):
    schema = hr.Schema({"age": hr.Integer(0, 99, [30, 60])}, label=hr.Label("ill", classes))
    for n in (300, 0):
        budget = hr.Budget(2)
        with pytest.raises(DomainError, match=r"^column 'ill': ") as caught:
            hr.PrivateRuleListClassifier(1, schema=schema, budget=budget).fit(rows(n)[0], labels[:n])
        assert (budget.spent, charges_made(caught.value)) == (0, [])


@pytest.mark.parametrize(
    "labels", [[], np.array([], dtype=object), pd.Series([], dtype=object), pd.Series([], dtype=str)]
)
def test_labels_without_a_type_of_their_own_are_not_refused_for_it(labels):
    schema = hr.Schema({"age": hr.Integer(0, 99, [30, 60])}, label=hr.Label("ill", ("no", "yes")))
    hr.PrivateRuleListClassifier(1, schema=schema, max_rules=2).fit(rows(0)[0], labels)


class Failing(LogisticRegression):
    """Fits when it is tried before the charge, and fails after the answer."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        if self.fits > 1:
            raise FloatingPointError
        return super().fit(X, y, sample_weight)


def test_a_learner_failing_after_an_answer_reports_the_charge(monkeypatch):
    """A sibling: what a learner does with the answer is after the charge, too."""
    monkeypatch.setattr(Failing, "fits", 0)
    X, _ = rows()
    oracle = hr.Oracle(*rows(), hr.Budget(1), 1)
    with pytest.raises(FloatingPointError, match=STAYS):
        hr.ExprilClassifier(Failing(), queries=1, reweight=False).fit(X, oracle=oracle)
    monkeypatch.setattr("hedgerow.marginals.logistic.estimated", lambda *_: 1 / 0)
    oracle = hr.Oracle(*rows(), hr.Budget(1), 1)
    with pytest.raises(ZeroDivisionError, match=STAYS):
        hr.MarginalLogisticClassifier().fit(X, oracle=oracle)


def test_charges_of_other_threads_are_not_attributed():
    budget = hr.Budget(2)

    def fit():
        other = threading.Thread(target=lambda: budget.charge(1, purpose="another's"))
        other.start()
        other.join()
        raise KeyError

    with pytest.raises(KeyError) as caught:
        spend(budget, SecureNoise(), lambda _: fit())
    assert (budget.spent, charges_made(caught.value)) == (1, [])


def test_what_is_refused_says_nothing_of_the_kind():
    budget = hr.Budget("1/2")
    for release in RELEASES[:-2]:
        with pytest.raises(BudgetExceededError, match=r"Nothing was charged") as caught:
            release(budget)
        assert charges_made(caught.value) == []


# Files of budgets: a charge that is on the disk stands, whatever comes in the middle of it.


@pytest.mark.parametrize("step", ["sync_folder", "replace", "fsync"])
def test_an_interrupted_charge_on_disk_reports_that_it_stays(step, tmp_path, monkeypatch):
    budget = FileBudget.create(tmp_path / "b.json", 2)
    module = budget_file if step == "sync_folder" else (budget_file.os if step == "replace" else durable.os)
    done = getattr(module, step)

    def interrupted(*given):
        if step != "fsync":
            done(*given)  # Ctrl-C while the system is at it
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, step, interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            budget.charge(1, purpose="x")
    on_disk = FileBudget(tmp_path / "b.json").spent
    assert on_disk == budget.spent_here == (step != "fsync")
    assert len(charges_made(caught.value)) == on_disk


def test_a_folder_that_cannot_be_synchronised_says_that_the_charge_stays(tmp_path, monkeypatch):
    budget = FileBudget.create(tmp_path / "b.json", 2)

    def fail(path):
        raise FileError.of(5, "Input/output error", str(path))

    monkeypatch.setattr(budget_file, "sync_folder", fail)
    with pytest.raises(OSError, match=rf"{STAYS} to {tmp_path}/b.json."):
        budget.charge(1, purpose="x")


MODULES = {hr.Budget: budget_module.__file__, FileBudget: budget_file.__file__}


@cache
def interruptible(code):
    """Return the offsets at which Python looks for Ctrl-C: after a call, at a function's start, and in a loop."""
    result = list(dis.get_instructions(code))
    kinds = ("CALL", "RESUME", "JUMP_BACKWARD", "BEFORE_WITH")
    return {after.offset for before, after in pairwise(result) if before.opname.startswith(kinds)}


def interrupted_charge(budget, at):
    """Charge 1, interrupted at the place of this number; return the error, or None where there is no such place."""
    left = iter(range(at, -1, -1))

    def trace(frame, event, _):
        frame.f_trace_opcodes = frame.f_code.co_filename == MODULES[type(budget)]
        if event == "opcode" and frame.f_lasti in interruptible(frame.f_code) and not next(left):
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    traced = sys.gettrace()
    try:
        sys.settrace(trace)
        budget._update(lambda account: account.charged(Charge("x", Fraction(1))))
        sys.settrace(None)
    except KeyboardInterrupt as error:
        note_charges(error, budget, Fraction(0))
        return error
    finally:
        sys.settrace(traced)
    return None


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", MODULES)
def test_an_interrupt_reports_a_charge_exactly_if_it_was_made(kind, tmp_path):
    """What was found: an interrupt between the count of a charge and its record was told, and not recorded."""
    for at in count():
        budget = hr.Budget(2) if kind is hr.Budget else FileBudget.create(tmp_path / f"{at}.json", 2)
        error = interrupted_charge(budget, at)
        if error is None:
            break
        assert budget.spent_here == budget.spent
        assert bool(charges_made(error)) == bool(budget.charges)
    assert at > 5


class NotesAreNoneError(Exception):
    __notes__ = None


class FrozenError(Exception):
    def __setattr__(self, name, value):
        if name == "__notes__":
            raise AttributeError(name)
        super().__setattr__(name, value)


@pytest.mark.parametrize("error", [NotesAreNoneError("x"), FrozenError("x")])
def test_an_error_that_refuses_notes_is_raised_itself_with_the_note(error, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr("hedgerow.privacy.noise.SecureNoise.prepare", lambda *_: fail)
    budget = hr.Budget(2)
    with pytest.raises(type(error), match="x") as raised:
        list_of_rules(budget)
    assert charges_made(raised.value) == ["The epsilon of 1 stays charged."]
