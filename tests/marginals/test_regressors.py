"""Learners of numbers: what they charge and when, what they keep, that they learn, and replays on neighbours."""

import inspect
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import hedgerow as hr
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.marginals.expril import Equations, estimate_labels, prepared
from hedgerow.marginals.expril_regressor import _DEVIATIONS, most_probable
from hedgerow.marginals.linear import estimated
from hedgerow.oracle import Always, LevelSums, choose_bins
from hedgerow.oracle.answer_noise import AnswerNoise
from hedgerow.oracle.binning import bin_matrix
from hedgerow.oracle.release_forms import AnswerPlan
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from hedgerow.schema import Boolean, Number, Schema
from tests.learn.replay import Recorder, Replayer

pytestmark = pytest.mark.filterwarnings("ignore::hedgerow.errors.OverlapWarning")
NUMBER = Number("wage", 0, 40)


def people(n, seed):
    """Return a frame of every type, with gaps, and a number that follows from it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "age": rng.integers(18, 90, n),
            "smoker": rng.random(n) < 0.4,
            "town": pd.Series(rng.choice(["Aix", "Bern", "Chur"], n)),
        }
    )
    wage = 5 + 0.2 * (frame["age"] - 18) + 8 * frame["smoker"] + 4 * (frame["town"] == "Bern")
    return frame, pd.Series(wage + rng.normal(size=n), name="wage")


SOURCE, _ = people(400, 1)
TARGET, WAGES = people(3000, 2)
TEST, TRUTH = people(1000, 3)


TREE = make_pipeline(prepared(SOURCE), DecisionTreeRegressor(max_depth=4, min_samples_leaf=5, random_state=0))
PLAIN = DecisionTreeRegressor(max_depth=4, random_state=0)
LEARNERS = {
    "expril": lambda: hr.ExprilRegressor(TREE, random_state=0),
    "instantaneous": lambda: hr.ExprilRegressor(TREE, variant="instantaneous", reweight=False, random_state=0, bins=3),
    "linear": lambda: hr.MarginalLinearRegressor(),
    "linear unweighted": lambda: hr.MarginalLinearRegressor(reweight=False, bins=4),
}


def oracle(budget=None, questions=3, **parameters):
    return hr.Oracle(TARGET, WAGES, budget, questions, number=NUMBER, **parameters)


SLOW = [("expril", "gaussian"), ("instantaneous", "counts")]  # each is learned, and from each kind of answers
CASES = [(name, release) for name in LEARNERS for release in ("counts", "gaussian") if (name, release) not in SLOW]


@pytest.mark.parametrize(("name", "release"), [*CASES, *(pytest.param(*each, marks=pytest.mark.slow) for each in SLOW)])
def test_they_learn_from_exact_and_from_noisy_answers(name, release):
    learner, least = LEARNERS[name](), 0.5 if name == "instantaneous" else 0.6
    assert learner.fit(SOURCE, oracle=oracle(release=release)).score(TEST, TRUTH) > least + 0.1
    budget = hr.Budget(10, 1e-6)
    learner.fit(SOURCE, oracle=oracle(budget, 1 if "linear" in name else 3, release=release, random_state=1))
    assert learner.score(TEST, TRUTH) > least
    assert budget.spent == learner.privacy_.epsilon == 10
    result = learner.predict(TEST)
    assert result.shape == (1000,)
    assert result.dtype == np.float64
    assert NUMBER.low <= result.min() <= result.max() <= NUMBER.high
    assert np.abs(result - TRUTH).mean() < 4


def test_the_worst_noise_makes_a_model_near_the_mean():
    for make in LEARNERS.values():
        learner = make()
        learner.fit(SOURCE, oracle=oracle(hr.Budget("1/20"), random_state=3))
        assert learner.score(TEST, TRUTH) > -2


@pytest.mark.parametrize("name", ["expril", "linear"])
def test_they_are_scikit_learn_estimators(name):
    learner = LEARNERS[name]()
    parameters = learner.get_params(deep=False)
    assert list(parameters) == sorted(set(inspect.signature(type(learner)).parameters))
    changed = clone(learner).set_params(bins=4, reweight=False)
    assert (changed.bins, changed.reweight, learner.bins) == (4, False, "auto")
    assert "bins=4" in repr(changed)
    assert is_regressor(learner)
    assert not hasattr(learner, "predict_proba")
    assert not hasattr(learner, "classes_")
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        clone(learner).set_params(colour=1)
    with pytest.raises(NotFittedError, match=type(learner).__name__):
        clone(learner).predict(SOURCE)
    before = changed.get_params(deep=False)
    changed.fit(SOURCE, oracle=oracle())
    assert changed.get_params(deep=False) == before
    assert changed.n_features_in_ == 4
    with pytest.raises(NotFittedError, match=type(learner).__name__):
        clone(changed).predict(SOURCE)


@pytest.mark.parametrize("name", ["expril", "linear"])
def test_a_fitted_model_holds_nothing_of_the_private_rows(name):
    frame, wages = TARGET.copy(), WAGES.copy()
    frame.loc[7, "town"], wages.loc[7] = "zebra-fish", 33.25417
    learner = LEARNERS[name]()
    learner.fit(SOURCE, oracle=hr.Oracle(frame, wages, hr.Budget(3), number=NUMBER, random_state=0))
    written = pickle.dumps(learner)
    assert b"zebra-fish" not in written
    assert np.float64(33.25417).tobytes() not in written
    assert pickle.loads(written).predict(TEST).tolist() == learner.predict(TEST).tolist()
    assert not any(isinstance(value, (hr.Oracle, hr.Budget)) for value in vars(learner).values())


def refusals():
    numbers, classes = oracle, hr.Oracle(TARGET, WAGES > 20, hr.Budget(1, 1e-6))
    broken = LinearRegression().set_params(positive=True)
    yield hr.MarginalLinearRegressor(), classes, "an oracle of the classes"
    yield hr.ExprilRegressor(TREE), classes, "an oracle of the classes"
    yield hr.ExprilClassifier(TREE), numbers(hr.Budget(1)), "an oracle of the number"
    yield hr.ExprilRegressor(TREE, queries=4), numbers(hr.Budget(1)), "queries must be at most 3"
    yield hr.ExprilRegressor(TREE, variant="best"), numbers(hr.Budget(1)), "variant must be one of"
    yield hr.ExprilRegressor(PLAIN), numbers(hr.Budget(1)), "could not convert string"
    yield hr.ExprilRegressor(broken), numbers(hr.Budget(1)), "could not convert string|unable to parse"
    yield hr.MarginalLinearRegressor(bins=1), numbers(hr.Budget(1)), "bins must be"


def test_unsuitable_input_of_regressors_raises_before_a_charge():
    for learner, asked, said in refusals():
        with pytest.raises(ValueError, match=said):
            learner.fit(SOURCE, oracle=asked)
        assert not asked.privacy.charges
        assert asked.queries_left == 3


def test_an_estimator_without_finite_predictions_raises_before_a_charge():
    class Nothing(DecisionTreeRegressor):
        def fit(self, X, y, sample_weight=None):  # noqa: ARG002 -- as estimators have it
            return self

        def predict(self, X):
            return np.full(len(X), np.nan)

    asked = oracle(hr.Budget(1))
    with pytest.raises(ArgumentError, match="a finite number for each row"):
        hr.ExprilRegressor(Nothing()).fit(SOURCE, oracle=asked)
    assert asked.queries_left == 3


def test_the_linear_model_omits_constant_columns_of_a_frame():
    frames = [frame.assign(alike="x") for frame in (SOURCE, TARGET)]
    asked = hr.Oracle(frames[1], WAGES, hr.Budget(9), 1, number=NUMBER)
    learner = hr.MarginalLinearRegressor().fit(frames[0], oracle=asked)
    assert "alike" not in learner.model_.bins
    assert "columns left out" in " ".join(note.words for note in learner.privacy_.notes)
    model = make_pipeline(prepared(frames[0]), PLAIN)
    with pytest.raises(DomainError, match="column 'alike'"):
        hr.ExprilRegressor(model).fit(frames[0], oracle=hr.Oracle(frames[1], WAGES, None, number=NUMBER))


def test_an_exact_answer_makes_the_model_of_least_squares():
    """On the target itself as source, with weak priors: ridge of next to nothing on indicators of bins."""
    bins = choose_bins(TARGET, 4)
    result = hr.MarginalLinearRegressor(reweight=False, bins=bins).fit(TARGET, oracle=oracle(None, 1))
    matrix = bin_matrix(bins, TARGET).T
    best = LinearRegression().fit(matrix, WAGES).predict(matrix)
    assert np.abs(result.predict(TARGET) - best).mean() < 0.4  # of a range of 40, and levels 1.25 wide


def test_the_effects_are_the_posterior_mean_by_definition():
    """One attribute: the joint Gaussian of effects and sums, conditioned by the textbook's formula."""
    rng = np.random.default_rng(0)
    matrix = np.eye(3)[rng.integers(3, size=90)].T
    answer = LevelSums(
        None, np.array([300, 200, 100]), np.array([0, 110, 190]), AnswerNoise.independent((3,), 50.0), 10
    )
    answer = Counted(answer, 90.0)
    prior = np.diag([1.0, 2.0, 3.0])
    shares, spread = estimated(matrix, answer, np.full(90, 1 / 90), prior)
    assert shares.shape == (4,)
    ordered = shares[:3] + shares[3]
    assert ordered[0] < ordered[1] < ordered[2]
    assert ordered == pytest.approx([0.0, 110 / 310, 190 / 290], abs=0.15)
    assert 0 < spread <= 0.4


class Counted:
    """Level sums whose number of rows is known."""

    def __init__(self, answer, n_rows):
        self.below, self.above, self.noise, self.steps = answer.below, answer.above, answer.noise, answer.steps
        self.n_rows = n_rows


def test_the_deviation_of_labels_maximises_the_density():
    rng = np.random.default_rng(0)
    matrix = (rng.random((6, 50)) < 0.3) / 50
    n = len(matrix)
    equations = [Equations(matrix, matrix @ rng.random(50), np.full(n, 1e-5))]
    equations += [Equations(-matrix, matrix @ rng.random(50), np.full(n, 4e-5))]
    whole = np.vstack([equation.matrix for equation in equations])
    target = np.concatenate([equation.target for equation in equations])
    noise = np.diag([1e-5] * 6 + [4e-5] * 6)
    tiny = 1e-6 * np.trace(50 * whole @ whole.T) / 12 * np.eye(12)

    def density(deviation):
        covariance = 50 * deviation**2 * whole @ whole.T + noise + tiny
        return multivariate_normal(0.3 * whole.sum(axis=1), covariance).logpdf(target)

    assert most_probable(equations, 0.3) == max(_DEVIATIONS, key=density)


@pytest.mark.parametrize(("expected", "deviation"), [(0.5, 0.5), (0.2, 0.1)])
def test_labels_are_the_nearest_to_what_is_expected(expected, deviation):
    """By the normal equations, where no bound is met."""
    rng = np.random.default_rng(1)
    matrix = (rng.random((4, 30)) < 0.5) / 30
    target = matrix @ np.full(30, expected) + 1e-3
    item = Equations(matrix, target, np.full(len(target), 1e-4))
    ridge = 1e-3 * np.mean(np.sum(matrix**2, axis=1)) + 1e-4 / deviation**2 / 30
    slow = expected + np.linalg.solve(
        matrix.T @ matrix + ridge * np.eye(30), matrix.T @ (target - matrix @ np.full(30, expected))
    )
    assert estimate_labels([item], expected, deviation) == pytest.approx(slow, abs=1e-8)


ROW = st.tuples(st.floats(-1e9, 1e9) | st.none(), st.integers(-5, 20) | st.none(), st.booleans(), st.floats(-9, 60))
RNG = np.random.default_rng(5)
SMALL = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.integers(0, 9, 60).astype(float), "c": RNG.random(60) < 0.4})
REPLAYED = {
    "expril": lambda: hr.ExprilRegressor(PLAIN, queries=2, random_state=0),
    "linear": hr.MarginalLinearRegressor,
}


def fit(name, rows, release, source):
    target = pd.DataFrame(rows, columns=["a", "b", "c", "y"]).astype({"a": float, "b": float, "c": bool, "y": float})
    budget = hr.Budget(1, 1e-6)
    asked = hr.Oracle(target[["a", "b", "c"]], target["y"], budget, number=NUMBER, release=release, random_state=source)
    return REPLAYED[name]().fit(SMALL, oracle=asked), budget


def check(name, rows, row, release, noise):
    """Record on one target, replay on the other, both ways: the same noisy answers must make the same model."""
    for target, neighbour in ((rows, [*rows, row]), ([*rows, row], rows)):
        recorder = Recorder(noise)
        result, budget = fit(name, target, release, recorder)
        charged = sum((mechanism.epsilon for mechanism, _, _ in recorder.trace), Fraction(0))
        assert charged == result.privacy_.epsilon == budget.spent <= 1
        replayer = Replayer(recorder.trace)
        again, _ = fit(name, neighbour, release, replayer)
        replayer.finish(1)
        assert again.privacy_.charges == result.privacy_.charges
        assert again.predict(SMALL).tolist() == result.predict(SMALL).tolist()


ROWS = [(0.1 * i, i, i % 3 == 0, 2.0 * i) for i in range(20)]
NEW = (None, 40, True, 39.0)


RELEASES = ["counts", pytest.param("gaussian", marks=pytest.mark.slow)]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", REPLAYED)
@pytest.mark.parametrize("examples", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_neighbouring_targets_are_asked_the_same(examples, name, release):
    @settings(max_examples=examples)
    @given(st.lists(ROW, max_size=20), ROW, st.integers(0, 2**32))
    def same(rows, row, seed):
        check(name, rows, row, release, SeededNoise(np.random.default_rng(seed)))

    same()


@pytest.mark.parametrize("release", ["counts", "gaussian"])
def test_neighbouring_targets_are_asked_the_same_under_secure_noise(release):
    for name in REPLAYED:
        check(name, ROWS, NEW, release, SecureNoise())


@pytest.mark.parametrize("name", REPLAYED)
def test_the_replay_catches_steps_that_are_not_counted(monkeypatch, name):
    monkeypatch.setattr(
        AnswerPlan, "mechanism", lambda self, n, sizes, *_, make=AnswerPlan.mechanism: make(self, n, sizes)
    )
    with pytest.raises(AssertionError, match="further than declared"):
        check(name, ROWS, NEW, "counts", SeededNoise(np.random.default_rng(1)))


def test_a_tree_with_the_predictions_of_a_regressor_is_submitted(monkeypatch):
    asked = []
    ask = hr.Oracle.error_marginals
    monkeypatch.setattr(hr.Oracle, "error_marginals", lambda self, bins, one: asked.append(one) or ask(self, bins, one))
    learner = hr.ExprilRegressor(TREE, queries=2, reweight=False, random_state=0).fit(SOURCE, oracle=oracle(None, 2))
    first, second = asked
    assert isinstance(first, Always)
    assert first.label is True
    said = second.predict(SOURCE)
    assert said.dtype == bool
    assert 0.2 < said.mean() < 0.8
    high = learner.hypothesis_.predict(SOURCE)[said].mean() - learner.hypothesis_.predict(SOURCE)[~said].mean()
    assert high > 4
    assert [record["question"] for record in learner.history_] == [1, 2]
    assert 0 <= learner.history_[0]["mean"] <= 1


def test_equal_predictions_repeat_the_first_question():
    bins = Schema({"c": Boolean(missing="bin")})
    frame, same = TARGET[["smoker"]].rename(columns={"smoker": "c"}), np.full(3000, 10.0)
    asked = hr.Oracle(frame, same, None, 2, number=NUMBER)
    learner = hr.ExprilRegressor(PLAIN, queries=2, bins=bins, reweight=False)
    learner.fit(SOURCE[["smoker"]].rename(columns={"smoker": "c"}), oracle=asked)
    assert learner.predict(frame[:5]) == pytest.approx(10.0, abs=1.5)
