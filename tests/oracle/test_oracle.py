"""Who is answered, what it costs, and that a refusal changes nothing and tells nothing."""

import copy
import json
import pickle
import threading
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.errors import BudgetExceededError, DomainError, HypothesisError, NotPicklableError, OracleExhaustedError
from hedgerow.errors import SchemaError as BadSchema
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.oracle.answer_noise import AnswerHistograms
from hedgerow.schema import Boolean, Categorical, Integer, Real, Schema
from hedgerow.text.messages import charge_notes

NUMBER = Real(0.0, 10.0, (2.5, 5.0), missing="bin", outside="clip")
WORD = Categorical(("r", "g"), missing="bin", outside="bin")
BINS = Schema({"size": NUMBER, "word": WORD})
N = 4177
SECRET, VALUE = "zebra-fish", 98765.4321
RNG = np.random.default_rng(0)
SIZES = np.append(RNG.choice([1.0, 3.0, 7.0, np.nan], N - 1), VALUE)
WORDS = [*RNG.choice(["r", "g"], N - 1).tolist(), SECRET]
FRAME = pd.DataFrame({"size": SIZES, "word": pd.Series(WORDS, dtype="string")})
LABELS = pd.Series(RNG.random(N) < 0.3, name="ill")
TRUE = [int((SIZES <= 2.5).sum()), int((SIZES == 3).sum()), int((SIZES >= 7).sum()), int(np.isnan(SIZES).sum())]
TRUE += [WORDS.count("r"), WORDS.count("g"), 0, 1]


THIRDS = pd.Series(np.where(LABELS, "a", np.where(RNG.random(N) < 0.5, "b", "c")), name="ward")


class Predicting:
    """A hypothesis made of a function of the frame."""

    def __init__(self, function):
        self.function = function

    def predict(self, X):
        return self.function(X)


def oracle(budget=None, questions=3, **parameters):
    return hr.Oracle(FRAME, LABELS, budget, questions, **parameters)


def state(asked, budget):
    return asked.queries_left, asked.privacy.charges, budget.charges, budget.spent, len(asked._charges)


def big(X):
    return np.asarray(X["size"].fillna(0) > 2.5)


@pytest.mark.parametrize("release", ["counts", "gaussian", "ratio"])
def test_exact_answers_are_the_counts_as_the_card_states(release):
    asked = oracle(release=release)
    rows, errors = asked.marginals(BINS), asked.error_marginals(BINS, Always(True))
    wrong = [int((~LABELS[np.isin(SIZES, [1.0])]).sum())]
    if release == "ratio":
        assert rows.masses.tolist() == [count / N for count in TRUE]
        assert errors.ratios[0] == wrong[0] / TRUE[0]
        assert errors.ratios[6] == 0  # no row
    else:
        assert rows.rows.tolist() == TRUE
        assert rows.noise.is_exact
        assert errors.noise.is_exact
        assert errors.wrong[0] == wrong[0]
        assert (errors.wrong + errors.right).tolist() == TRUE
        assert rows.n_rows == errors.n_rows == N
        assert errors.error_rate == pytest.approx(1 - LABELS.mean())
    assert asked.noise_scale(BINS.sizes) == 0
    assert asked.privacy.headline == "none (not private: exact answers)"
    assert asked.privacy.charges == ()


def test_the_card_states_the_questions_and_the_guarantee():
    budget = hr.Budget(1)
    asked = oracle(budget)
    assert asked.privacy.headline == "none (nothing was answered)"
    asked.marginals(BINS)
    asked.error_marginals(Schema({"word": WORD}), Always(False))
    card = asked.privacy
    assert card.is_private
    assert card.headline == "epsilon-differential privacy with epsilon = 0.666667"
    assert [charge.purpose for charge in card.charges] == [
        "marginals by bin of 2 attributes, question 1 of 3",
        "errors by bin of 1 attribute, question 2 of 3",
    ]
    assert card.charges == budget.charges
    assert [charge.epsilon for charge in card.charges] == [Fraction(1, 3)] * 2
    assert any("hypotheses are data: each row is evaluated" in note.words for note in card.notes)


@pytest.mark.parametrize(("release", "delta"), [("counts", 0), ("gaussian", 1e-6)])
def test_a_seed_voids_the_guarantee_and_repeats_the_answers(release, delta):
    item, other = (oracle(hr.Budget(1, delta), release=release, random_state=4) for _ in range(2))
    assert item.marginals(BINS).rows.tolist() == other.marginals(BINS).rows.tolist()
    assert item.privacy.headline == "none (seeded noise)"
    secure = [oracle(hr.Budget(1, delta), release=release) for _ in range(2)]
    assert secure[0].marginals(BINS).rows.tolist() != secure[1].marginals(BINS).rows.tolist()


def test_the_published_ratio_has_no_guarantee():
    asked = oracle(hr.Budget(1), release="ratio")
    assert asked.marginals(BINS).masses.shape == (8,)
    ratios = asked.error_marginals(BINS, Always(True)).ratios
    assert ((ratios >= 0) & (ratios <= 1)).all()
    card = asked.privacy
    assert not card.is_private
    assert card.headline.startswith(
        "none (published as epsilon-differential privacy, which is false: a bin without rows"
    )
    assert card.epsilon == Fraction(2, 3)
    assert oracle(hr.Budget(1), release="ratio", random_state=0).privacy.no_guarantee_reason == "nothing was answered"


BAD_BINS = {
    "no schema": ("size", TypeError, "bins must be a Schema, got str"),
    "missing refused": (
        Schema({"size": Real(0.0, 1.0, (0.5,), outside="clip")}),
        BadSchema,
        "must declare `missing: bin",
    ),
    "outside refused": (
        Schema({"size": Real(0.0, 1.0, (0.5,), missing="bin")}),
        BadSchema,
        "must declare `outside: clip",
    ),
    "category refused": (Schema({"word": Categorical(("r",), missing="bin")}), BadSchema, "must declare `outside: bin"),
    "numbers of words": (Schema({"word": NUMBER}), BadSchema, "real bins do not fit a column of text"),
    "booleans of words": (Schema({"word": Boolean(missing="bin")}), BadSchema, "boolean bins do not fit a col"),
    "booleans of numbers": (Schema({"size": Boolean(missing="bin")}), BadSchema, "boolean bins do not fit a col"),
    "words of numbers": (
        Schema({"size": WORD}),
        BadSchema,
        "all categories must be numbers",
    ),
    "absent": (
        Schema({"size": NUMBER, "weight": NUMBER}),
        DomainError,
        "the table has no such column. Its columns: size, word",
    ),
}


@pytest.mark.parametrize("name", BAD_BINS)
@pytest.mark.parametrize("exact", [False, True])
def test_bins_that_do_not_cover_all_values_are_refused_before_a_charge(name, exact):
    bins, error, match = BAD_BINS[name]
    budget = hr.Budget(1)
    asked = oracle(None if exact else budget)
    before = state(asked, budget)
    for ask in (lambda: asked.marginals(bins), lambda: asked.error_marginals(bins, Always(True))):
        with pytest.raises(error, match=match):
            ask()
        assert state(asked, budget) == before


class Tokens:
    """A class, not an instance."""

    def predict(self, X):
        return np.full(len(X), True)


def failing(X):
    raise KeyError(f"{len(X)} rows")


def standardised(X):
    size = X["size"].fillna(0).to_numpy()
    return (size - size.mean()) / (size.std() or 1.0) > 0


BAD_HYPOTHESES = {
    "nothing": (object(), "expected a fitted model with predict\\(X\\), got object"),
    "a class": (Tokens, "expected a fitted model with predict\\(X\\), got type"),
    "a function": (big, "expected a fitted model with predict\\(X\\), got function"),
    "unfitted": (DecisionTreeClassifier(), "the DecisionTreeClassifier is not fitted"),
    "raises": (Predicting(failing), "fails on public probe rows: KeyError: '8 rows'"),
    "too long": (Predicting(lambda X: np.full(len(X) + 1, True)), r"expected predictions of shape \(8,\), got \(9,\)"),
    "one number": (Predicting(lambda X: True), r"expected predictions of shape \(8,\), got \(\)"),  # noqa: ARG005
    "probabilities": (Predicting(lambda X: np.full((len(X), 2), 0.5)), r"expected predictions of shape \(8,\), got"),
    "nan": (Predicting(lambda X: np.full(len(X), np.nan)), "must be classes of the target: False, True"),
    "none": (Predicting(lambda X: [None] * len(X)), "must be classes of the target: False, True"),
    "other classes": (Always("sick"), "must be classes of the target: False, True"),
    "scores": (Predicting(lambda X: np.full(len(X), 0.3)), "must be classes of the target: False, True"),
    "standardises": (Predicting(standardised), "must not depend on the other rows"),
    "ranks": (
        Predicting(lambda X: np.asarray(X["size"].rank() > len(X) / 2)),
        "must not depend on the other rows",
    ),
    "median": (
        Predicting(lambda X: np.asarray(X["size"] >= X["size"].median() + 1)),
        "must not depend on the other rows",
    ),
    "first row": (
        Predicting(lambda X: np.asarray(np.arange(len(X)) == 0)),
        "must not depend on the other rows",
    ),
    "cannot be copied": (Predicting(threading.Lock()), "the hypothesis cannot be copied: TypeError"),
}


@pytest.mark.parametrize("name", BAD_HYPOTHESES)
def test_a_hypothesis_without_a_class_per_row_is_refused_before_a_charge(name):
    hypothesis, match = BAD_HYPOTHESES[name]
    budget = hr.Budget(1)
    asked = oracle(budget, run_code=True)
    before = state(asked, budget)
    with pytest.raises(HypothesisError, match=match) as caught:
        asked.error_marginals(BINS, hypothesis)
    assert state(asked, budget) == before
    assert_tells_nothing(caught.value)


def assert_tells_nothing(error):
    """Check that nowhere in an error, its causes and its frames' lines is a private value or the number of rows."""
    text = "".join(traceback.format_exception(error)) + repr(error.args) + repr(vars(error))
    assert all(word not in text for word in (SECRET, "98765", str(N)))


def test_a_row_on_which_a_hypothesis_fails_is_wrong_without_an_error():
    """An error, a warning or a charge that differs would tell without noise whether there is such a row."""

    def picky(X):
        if (X["word"] == SECRET).any():
            raise ValueError(f"what is {SECRET}?")
        return big(X)

    def wordy(X):
        if (X["word"] == SECRET).any():
            warnings.warn(f"never saw {SECRET}", stacklevel=2)
        return np.where(X["word"].to_numpy() == SECRET, "?", big(X).astype(object))

    for function in (picky, wordy):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            answer = oracle().error_marginals(BINS, Predicting(function))
        assert told == []
        reference = oracle().error_marginals(BINS, Predicting(big))
        known = [0, 1, 2, 3, 4, 5, 6]  # of the secret row's bins, only that of its word holds no other row
        assert (answer.wrong + answer.right).tolist() == TRUE
        assert answer.wrong[7] == 1
        moved = answer.wrong - reference.wrong
        assert moved[known].tolist() == [0, 0, int(LABELS.iloc[-1]), 0, 0, 0, 0]
        budget = hr.Budget(1)
        asked = oracle(budget, run_code=True)
        asked.error_marginals(BINS, Predicting(function))
        assert state(asked, budget)[0] == 2
        assert len(budget.charges) == len(asked.privacy.charges) == 1


def test_a_failure_after_the_charge_is_not_refunded(monkeypatch):
    budget = hr.Budget(1)
    asked = oracle(budget)
    with monkeypatch.context() as patch:
        patch.setattr("hedgerow.oracle.frame_rows._by_bin", lambda *_: np.empty(2**50))
        with pytest.raises(MemoryError, match="Unable to allocate"):
            asked.marginals(BINS)
    assert asked.queries_left == 2
    assert budget.spent == asked.privacy.epsilon == Fraction(1, 3)
    assert len(asked.marginals(BINS).rows) == 8  # and the next one is answered
    assert asked.queries_left == 1


def test_an_interrupt_between_a_charge_and_its_record_leaves_both_equal(monkeypatch):
    budget = hr.Budget(1)
    asked = oracle(budget, 2)
    asked.marginals(BINS)

    def interrupted(*_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(asked, "_record", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        asked.marginals(BINS)
    assert budget.spent == asked.privacy.epsilon == 1
    assert len(asked.privacy.charges) == 2
    assert asked.queries_left == 0
    assert charge_notes(caught.value) == ["The epsilon of 0.5 stays charged."]


@pytest.mark.parametrize("hypothesis", [None, Always(True)])
@pytest.mark.parametrize("exact", [False, True])
def test_an_oracle_that_has_answered_all_refuses_and_changes_nothing(exact, hypothesis):
    budget = hr.Budget(1)
    asked = oracle(None if exact else budget, 2)
    for _ in range(2):
        asked.marginals(BINS)
    before = state(asked, budget)
    with pytest.raises(OracleExhaustedError, match=" 2 questions"):
        asked.marginals(BINS) if hypothesis is None else asked.error_marginals(BINS, hypothesis)
    assert state(asked, budget) == before
    assert asked.queries_left == 0
    assert budget.spent == (0 if exact else 1)


def test_a_budget_spent_elsewhere_meanwhile_refuses_and_changes_nothing():
    budget = hr.Budget(1, 1e-6)
    first, second = oracle(budget, 1), oracle(budget, 1, release="gaussian")
    first.marginals(BINS)
    before = state(second, budget)
    with pytest.raises(BudgetExceededError, match=r"(?i)nothing was charged"):
        second.error_marginals(BINS, Always(True))
    assert state(second, budget) == before
    assert second.privacy.charges == ()
    with pytest.raises(ValueError, match="no epsilon left"):
        oracle(budget)


def test_two_oracles_share_what_is_left_of_a_budget():
    budget = hr.Budget(1)
    budget.charge(Fraction(1, 4), purpose="something else")
    first, second = oracle(budget, 2), oracle(budget, 3)
    first.marginals(BINS)  # 3/8 of the 3/4 that were left
    assert budget.remaining == Fraction(3, 8)
    second.marginals(BINS)  # 1/4
    with pytest.raises(BudgetExceededError):
        second.marginals(BINS)
    assert budget.spent == Fraction(7, 8)
    assert (first.queries_left, second.queries_left) == (1, 2)


class Slow:
    """A noise source that takes its time before anything is charged."""

    no_guarantee_reason, description = None, "slow"

    def prepare(self, mechanism):
        time.sleep(0.05)
        return mechanism.build()


@pytest.mark.parametrize("exact", [False, True])
def test_only_one_concurrent_last_question_is_answered(exact):
    budget = None if exact else hr.Budget(1)
    asked, together = oracle(budget, 1, random_state=Slow()), threading.Barrier(8)

    def ask(_):
        together.wait()
        try:
            return asked.marginals(BINS)
        except OracleExhaustedError:
            return None

    with ThreadPoolExecutor(8) as pool:
        answers = [answer for answer in pool.map(ask, range(8)) if answer is not None]
    assert len(answers) == 1
    assert asked.queries_left == 0
    if budget is not None:
        assert len(budget.charges) == len(asked.privacy.charges) == 1


def test_only_one_of_two_concurrent_oracles_gets_the_last_of_a_budget():
    budget, together = hr.Budget(1), threading.Barrier(2)
    both = [oracle(budget, 1) for _ in range(2)]

    def ask(asked):
        together.wait()
        try:
            return asked.marginals(BINS)
        except BudgetExceededError:
            return None

    with ThreadPoolExecutor(2) as pool:
        assert sum(answer is not None for answer in pool.map(ask, both)) == 1
    assert budget.spent == 1
    assert sorted(asked.queries_left for asked in both) == [0, 1]


def test_what_is_asked_is_what_was_tried():
    """A hypothesis that another thread swaps after it was tried would have been asked about untried."""

    class Turning:
        def __init__(self):
            self.calls = 0

        def predict(self, X):
            self.calls += 1
            return np.full(len(X), True)

        def __deepcopy__(self, memo):
            return Always(True)

    turning = Turning()
    answer = oracle().error_marginals(BINS, turning)
    assert turning.calls == 0
    assert (answer.wrong + answer.right).tolist() == TRUE


def test_a_hypothesis_does_not_bring_rows_back_nor_change_them():
    class Keeping:
        seen = None

        def predict(self, X):
            self.seen = X
            return big(X)

    keeping = Keeping()
    oracle().error_marginals(BINS, keeping)
    assert keeping.seen is None
    X = np.column_stack([np.nan_to_num(SIZES, nan=4.0), np.arange(N) % 7.0])
    scaler = StandardScaler(copy=False).fit(X.copy())
    model = make_pipeline(scaler, DecisionTreeClassifier(max_depth=1)).fit(X.copy(), LABELS)
    bins = Schema({"a": NUMBER, "b": NUMBER})
    asked = hr.Oracle(X, LABELS, None)
    answers = [asked.error_marginals(bins, model) for _ in range(2)]
    assert answers[0].wrong.tolist() == answers[1].wrong.tolist()
    assert asked.marginals(bins).rows.tolist() == (answers[0].wrong + answers[0].right).tolist()


def test_the_number_of_rows_and_their_values_are_nowhere_public():
    budget = hr.Budget(0.05)
    asked = oracle(budget, random_state=11, run_code=True)
    answers = [asked.marginals(BINS), asked.error_marginals(BINS, Predicting(big))]
    public = [repr(getattr(asked, name)) for name in dir(asked) if not name.startswith("_")]
    public += [repr(asked), str(asked), str(asked.privacy), json.dumps(asked.privacy.to_dict()), str(budget)]
    for answer in answers:
        public += [repr(answer), *(repr(getattr(answer, name)) for name in dir(answer) if not name.startswith("_"))]
    for text in public:
        assert str(N) not in text
        assert SECRET not in text
        assert "98765" not in text
    assert all(count not in np.abs(answers[0].rows) for count in TRUE[:4])
    assert repr(asked) == "<Oracle of 2 columns, 1 of 3 questions left>"
    with pytest.raises(TypeError):
        len(asked)


def test_an_oracle_has_identity():
    asked = oracle(hr.Budget(1))
    with pytest.raises(NotPicklableError, match=r"Oracle .*pickled"):
        pickle.dumps(asked)
    assert copy.deepcopy(asked) is asked
    assert copy.copy(asked) is asked
    assert clone(asked, safe=False) is asked
    assert (asked.columns, asked.classes, asked.max_queries, asked.release) == (
        ("size", "word"),
        (False, True),
        3,
        "counts",
    )


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"budget": 1.0}, TypeError, "budget must be a Budget or None .*, got float"),
        ({"questions": 0}, ValueError, "max_queries must be a whole number >= 1, got 0"),
        ({"questions": True}, ValueError, "max_queries must be a whole number >= 1, got True"),
        ({"questions": 2.0}, ValueError, "max_queries must be a whole number >= 1, got 2.0"),
        ({"release": "median"}, ValueError, "release must be one of counts, ratio, gaussian, got 'median'"),
        ({"budget": hr.Budget(1), "release": "gaussian"}, ValueError, "needs a budget with delta > 0"),
        ({"classes": (0,)}, ValueError, "two or more different values"),
        ({"run_code": 1}, ValueError, "run_code must be True or False, got 1"),
    ],
)
def test_parameters_out_of_range_are_refused_in_words(parameters, error, match):
    with pytest.raises(error, match=match):
        oracle(**parameters)


@pytest.mark.parametrize("release", ["counts", "gaussian"])
def test_rows_of_each_class_are_counted_by_bin(release):
    asked = hr.Oracle(FRAME, THIRDS, None, classes=("a", "b", "c"), release=release)
    result = asked.class_marginals(BINS)
    assert asked.label == hr.Label("ward", ("a", "b", "c"))
    assert result.rows.shape == (8, 3)
    assert result.rows[0].tolist() == [int((THIRDS[SIZES == 1.0] == word).sum()) for word in "abc"]
    assert result.rows.sum(axis=1).tolist() == TRUE
    assert (result.noise.is_exact, result.n_rows, result.variance.tolist()) == (True, N, [0] * 8)
    assert result.masses == pytest.approx(np.array(TRUE) / N)
    errors = asked.error_marginals(BINS, Always("b"))
    assert errors.right.tolist() == result.rows[:, 1].tolist()
    assert asked.queries_left == 1


def test_noise_on_the_rows_of_a_class_equals_the_noise_on_counts():
    budget = hr.Budget(1)
    asked = hr.Oracle(FRAME, THIRDS, budget, 1, classes=("a", "b", "c"), random_state=0)
    result = asked.class_marginals(BINS)
    assert result.noise == AnswerHistograms(Fraction(1), (4, 4)).noise
    assert result.noise.scale == asked.noise_scale(BINS.sizes) < 2
    assert result.variance == pytest.approx(3 * result.noise.by_bin / result.n_rows**2)
    assert (budget.spent, asked.queries_left) == (1, 0)
    with pytest.raises(OracleExhaustedError):
        asked.class_marginals(BINS)


def test_ratios_do_not_tell_the_rows_of_a_class():
    budget = hr.Budget(1)
    asked = oracle(budget, release="ratio")
    with pytest.raises(ValueError, match="got release='ratio'"):
        asked.class_marginals(BINS)
    assert (budget.spent, asked.queries_left) == (0, 3)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
@pytest.mark.parametrize(
    ("labels", "classes", "found"),
    [
        ([False, True, True], None, (False, True)),
        ([0, 1, 1], None, (0, 1)),
        ([0, 1, 1], (1, 0), (0, 1)),
        (["no", "yes", "yes"], ("no", "yes"), ("no", "yes")),
        ([0.0, 1.0, 1.0], None, (0, 1)),
        ([3, 7, 7], (7, 3), (3, 7)),
    ],
)
def test_labels_of_any_kind_have_classes(make, labels, classes, found):
    asked = hr.Oracle(np.array([[1.0], [3.0], [7.0]]), make(labels), None, classes=classes)
    assert asked.classes == found
    answer = asked.error_marginals(Schema({"a": NUMBER}), Always(found[1]))
    assert answer.wrong.tolist() == [1, 0, 0, 0]
    assert answer.right.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("labels", "classes", "match"),
    [
        ([0, 1, None], None, "some labels are missing; .* the classes 0, 1"),
        ([0.0, 1.0, np.nan], None, "some labels are missing"),
        ([0, 1, 4711], None, "some labels are none of the classes 0, 1"),
        (["no", "yes", "zebra-fish"], ("no", "yes"), "some labels are none of the classes no, yes"),
        ([0, 1], None, "labels must have the same length"),
        ([0, 1, "zebra-fish"], None, "the values must all be"),
    ],
)
def test_labels_outside_the_classes_raise_and_are_not_quoted(labels, classes, match):
    with pytest.raises(DomainError, match=match) as caught:
        hr.Oracle(np.array([[1.0], [3.0], [7.0]]), labels, None, classes=classes)
    assert "4711" not in str(caught.value)
    assert "zebra" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "match"),
    [
        (pd.DataFrame({"a": [1.0, 2.0, np.inf]}), "column 'a': expected finite numbers"),
        (pd.DataFrame({"a": pd.Series([1, 2, 10**400], dtype=object)}), "column 'a': "),
        (pd.DataFrame({"a": pd.Series([1, "zebra-fish", 3], dtype=object)}), "column 'a': the values must all be"),
        (
            pd.DataFrame({"a": pd.date_range("2020-01-01", periods=3, tz="UTC")}),
            "column 'a': .* the type timestamp",
        ),
        (pd.DataFrame({"a": pd.Series([None, True, 1], dtype=object)}), "column 'a': the values must all be"),
        (
            pd.DataFrame({"a": pd.Series([None, 2, 1], dtype=object)}),
            "column 'a': a column of dtype object must contain text",
        ),
        (pl.DataFrame({"a": [[1], [2], [3]]}), "column 'a': expected booleans, numbers, dates or text"),
        (np.array([[None], [True], [None]]), "column 'x0': a column of dtype object must contain text"),
        (np.array([[-np.inf], [1.0], [2.0]]), "column 'x0': expected finite numbers"),
    ],
)
def test_columns_that_could_fail_later_stop_the_curator(frame, match):
    with pytest.raises(DomainError, match=match) as caught:
        hr.Oracle(frame, [0, 1, 1], None)
    assert "zebra" not in str(caught.value)


def test_integer_bins_have_a_place_for_fractions():
    asked = hr.Oracle(np.array([[1.5], [3.0], [7.0]]), [0, 1, 1], None)
    whole = Integer(0, 10, (2,), missing="bin", outside="clip")
    assert asked.marginals(Schema({"a": whole})).rows.tolist() == [1, 2, 0]
    celled = Integer(0, 10, (2,), missing="bin", outside="bin")
    assert asked.marginals(Schema({"a": celled})).rows.tolist() == [0, 2, 0, 1]


def test_the_cost_of_bins_and_their_void_reasons_are_on_the_card_once():
    paid = hr.privacy.Charge("cut points of a schema", Fraction(1, 4))
    asked = oracle(hr.Budget(1), 2)
    for _ in range(2):
        asked.marginals(Schema(BINS.attributes, charges=(paid,)))
    assert asked.privacy.charges[0] == paid
    assert asked.privacy.epsilon == Fraction(5, 4)
    assert asked.privacy.is_private
    guessed = oracle(hr.Budget(1), 2)
    guessed.marginals(Schema(BINS.attributes, no_guarantee="domain taken from the data"))
    assert guessed.privacy.guarantee == "none (domain taken from the data)"


def test_noise_is_as_large_for_a_number_of_questions_of_numpy():
    """Of eight bits, 100 questions on three columns would wrap around to a noise of 44 in place of 300."""
    X = np.zeros((20, 3))
    for questions in (100, np.int8(100)):
        oracle = hr.Oracle(X, [0, 1] * 10, hr.Budget(1), max_queries=questions)
        assert (oracle.noise_scale((70,) * 3), oracle.queries_left, type(oracle.max_queries)) == (300.0, 100, int)
