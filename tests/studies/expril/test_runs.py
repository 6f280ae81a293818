import warnings
from dataclasses import replace

import numpy as np
import pytest

from hedgerow.marginals import ExprilClassifier
from hedgerow.marginals.expril import network
from hedgerow.oracle import Oracle
from hedgerow.privacy.budget import Budget
from studies.expril import runs as expril_runs
from studies.expril.problems import PROBLEMS, problem
from studies.expril.runs import BEST, MAJORITY, METHODS, Fits, Learning, MemoNetwork, learn, noise_seed
from tests.studies.expril.small import make_small

pytestmark = pytest.mark.statistics


@pytest.fixture(autouse=True)
def small(monkeypatch, request):
    if "default" not in request.node.name:
        make_small(monkeypatch)


@pytest.fixture
def fitted(monkeypatch):
    """Every network that is fitted from now on."""
    made = []

    def counted(*given):
        made.append(network(*given))
        return made[-1]

    monkeypatch.setattr(expril_runs, "network", counted)
    return made


def curves(records):
    result = {}
    for record in records:
        result.setdefault(record["method"], []).append(record["accuracy"])
    return result


def test_thirteen_networks_are_fitted_in_a_run(fitted):
    """One for h*; three for each form that C and I share the first one of; one and two for the others.

    And one that every learner tries on a few rows with made-up labels before its first question.
    """
    Learning("C")(0)
    assert len(fitted) == 1 + 3 * 3 + 1 + 2 + 1


@pytest.mark.parametrize("name", ["A", "C"])
def test_every_method_has_its_curve_and_c_and_i_begin_alike(name):
    result = curves(Learning(name)(1))
    made = problem(name, 1)
    assert {method: len(curve) for method, curve in result.items()} == {
        BEST: 1,
        MAJORITY: 1,
        **{method: how.questions + 1 for method, how in METHODS.items()},
    }
    assert all(curve[0] == made.test_labels.mean() for curve in [result[method] for method in METHODS])
    for c, i in (("C-EXPRIL", "I-EXPRIL"), ("1DP-C-EXPRIL", "1DP-I-EXPRIL"), ("C, counts", "I, counts")):
        assert result[c][:2] == result[i][:2]
    assert result["C-EXPRIL"][2] != result["I-EXPRIL"][2] or result["1DP-C-EXPRIL"][2] != result["1DP-I-EXPRIL"][2]


@pytest.mark.parametrize("method", ["1DP-C-EXPRIL", "I-EXPRIL", "I, counts", "C, Gaussian"])
def test_a_curve_is_that_of_the_classifier_stopped_after_each_question(method):
    made, how, run = problem("C", 2), METHODS[method], 2
    result = curves(Learning("C", (method,))(run))[method]
    extra = how.release == "ratio"
    oracle = Oracle(
        made.target,
        made.target_labels,
        how.budget,
        2 + extra,
        release=how.release,
        random_state=noise_seed("C", run, how),
    )
    learner = ExprilClassifier(network(made.source, run, (6,)), variant=how.variant, queries=2 + extra)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(made.source, oracle=oracle)
    assert result[-1] == learner.score(made.test, made.test_labels)


def test_without_noise_the_first_iteration_equals_a_one_question_study():
    made, how, estimator = problem("C", 2), METHODS["I-EXPRIL"], network(problem("C", 2).source, 2, (6,))
    once = learn("C", made, replace(how, questions=1), 2, estimator)[-1]
    assert curves(Learning("C", ("I-EXPRIL",))(2))["I-EXPRIL"][1] == np.mean(
        once.predict(made.test) == made.test_labels
    )


def test_the_gap_is_to_the_network_that_knows_the_labels():
    records, made = Learning("A", ("C-EXPRIL",))(0), problem("A", 0)
    best = network(made.target, 0, (6,)).fit(made.target, made.target_labels).score(made.test, made.test_labels)
    assert records[0] == {"method": BEST, "iteration": 0, "accuracy": best, "gap": 0.0}
    assert best > 0.9
    assert all(record["gap"] == record["accuracy"] - best for record in records)
    share = made.test_labels.mean()
    assert records[1]["accuracy"] == (share if made.target_labels.mean() >= 0.5 else 1 - share)


def test_a_method_finds_the_same_whatever_else_is_studied():
    alone = Learning("C", ("1DP-I-EXPRIL",))(5)
    together = Learning("C")(5)
    assert [record for record in together if record["method"] == "1DP-I-EXPRIL"] == alone[2:]
    assert alone[:2] == together[:2]


@pytest.mark.parametrize(
    ("name", "method", "asked", "scale"),
    [
        ("A", "1DP-C-EXPRIL", 2, 2 * 2),  # λ = d(T + 1)/ε of eq. 14 with d = 2; without importance sampling d·T/ε
        ("C", "1DP-I-EXPRIL", 3, 2 * 3),
        ("C", "C, counts", 2, 2 * 2),
        ("C", "C, counts, 1 question", 1, 2),
        ("C", "logistic", 1, 2),
        ("C", "C-EXPRIL", 3, 0),
        ("C", "logistic, exact", 1, 0),
    ],
)
def test_noise_depends_on_the_questions(monkeypatch, name, method, asked, scale):
    oracles = []

    class Seen(expril_runs.WatchedOracle):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            oracles.append(self)

    monkeypatch.setattr(expril_runs, "WatchedOracle", Seen)
    made = problem(name, 0)
    learn(name, made, METHODS[method], 0, MemoNetwork(PROBLEMS[name].hidden, 0, Fits()))
    (oracle,) = oracles
    assert (oracle.max_queries, oracle.queries_left) == (asked, 0)
    assert oracle.noise_scale((70, 70)) == scale  # with so many bins, attributes share no noise
    assert sum(float(charge.epsilon) for charge in oracle.privacy.charges) == (1 if scale else 0)


def test_gaussian_noise_is_for_a_delta():
    budget = METHODS["C, Gaussian"].budget
    assert (budget.remaining, float(budget.remaining_delta)) == (1, 1e-6)
    assert METHODS["C, counts"].budget.remaining_delta == 0
    assert METHODS["C-EXPRIL"].budget is None
    assert isinstance(budget, Budget)


def test_only_runs_with_the_same_prefix_share_noise():
    cells = [(name, run, method) for name in ("A", "C") for run in range(50) for method in METHODS]
    seeds = {}
    for name, run, method in cells:
        how = METHODS[method]
        seeds.setdefault(noise_seed(name, run, how), set()).add((name, run, how.release, how.questions))
    assert all(len(shared) == 1 for shared in seeds.values())
    assert len(seeds) == 100 * len({(how.release, how.questions) for how in METHODS.values()})


@pytest.mark.parametrize("n", [30, 700, 2500])
def test_the_default_network_learns_and_ends_without_a_warning(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = (X.sum(axis=1) > 0).astype(int)
    model = network(X, 0).fit(X, y)
    assert model.score(X, y) > 0.95
    steps = model[-1].n_iter_ * -(-n // 200)
    assert 150 <= steps <= max(25 * -(-n // 200), 153)
