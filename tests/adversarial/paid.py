"""Every operation that charges a budget, on a small table: by name, a function of a budget and the ε to spend."""

from functools import cache

import numpy as np
import pandas as pd

import hedgerow as hr
from hedgerow.learn.ssrl.greedy import PUBLISHED

CLASSES, NUMBER = hr.Label("ill", (0, 1)), hr.Number("cost", 0, 100, 5)
ATTRIBUTES = {"age": hr.Integer(0, 99, [30, 60]), "smoker": hr.Boolean()}
ILL, COST = hr.Schema(ATTRIBUTES, CLASSES), hr.Schema(ATTRIBUTES, NUMBER)
OPEN = hr.Schema({"age": hr.Integer(0, 99), "dose": hr.Real(0, 1)})
BINS = hr.Schema({"age": hr.Integer(0, 99, [30, 60], outside="clip", missing="bin")})
DELTA = "1e-6"


@cache
def rows(n=200):
    rng = np.random.default_rng(0)
    age, smoker = rng.integers(0, 100, n), rng.random(n) < 0.4
    frame = pd.DataFrame({"age": age, "smoker": smoker, "dose": rng.random(n)})
    return frame.assign(ill=(age + 30 * smoker > 70).astype(int), cost=np.clip(age + 10.0 * smoker, 0, 100))


def estimator_of(kind, schema, **parameters):
    def fit(budget, epsilon, **more):
        own = {"epsilon": epsilon, "schema": schema, "budget": budget, **parameters, **more}
        return kind(**own).fit(rows(), rows()[schema.target.name])

    return fit


def tally_of(kind, schema, **parameters):
    def fit(budget, epsilon, **more):
        own = {"epsilon": epsilon, "schema": schema, "budget": budget, **parameters, **more}
        return kind(**own).fit_tally(hr.Tally.count(rows(), schema.target.name, schema))

    return fit


@cache
def models():
    tree = hr.PrivateTreeClassifier(5, schema=ILL, max_depth=1, random_state=0)
    number = hr.PrivateTreeRegressor(5, schema=COST, max_depth=1, random_state=0)
    return {item: kind.fit(rows(), rows()[item]) for item, kind in (("ill", tree), ("cost", number))}


def evaluation(target, **parameters):
    def evaluate(budget, epsilon, **more):
        return hr.evaluate(models()[target], rows(), epsilon=epsilon, budget=budget, **parameters, **more)

    return evaluate


def evaluation_of_a_tally(budget, epsilon, **more):
    tally = hr.Tally.count(rows(), "ill", ILL)
    return hr.evaluate(models()["ill"], tally, epsilon=epsilon, budget=budget, **more)


def cut_points(budget, epsilon, **more):
    return hr.Schema.learn(rows(), OPEN, epsilon=epsilon, budget=budget, bins=3, **more)


def oracle_of(budget, epsilon, number=None, questions=1, **more):
    budget = hr.Budget(epsilon, DELTA) if budget is None else budget
    target = {"classes": (0, 1)} if number is None else {"number": number}
    labels = rows()["ill" if number is None else "cost"]
    return hr.Oracle(rows()[["age", "smoker"]], labels, budget, questions, **target, **more)


def answer(what, *about, **options):
    def ask(budget, epsilon, **more):
        return getattr(oracle_of(budget, epsilon, **options, **more), what)(BINS, *about)

    return ask


def federated(budget, epsilon, **more):
    parts = [oracle_of(each, epsilon, **more) for each in (budget, None)]
    return hr.oracle.FederatedOracle(parts).class_marginals(BINS)


def learner(kind, questions=1, number=None, **parameters):
    def learn(budget, epsilon, **more):
        asked = oracle_of(budget, epsilon, number, questions, **more)
        return kind(**parameters).fit(rows()[["age", "smoker"]], oracle=asked)

    return learn


def linear():
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def tree_of_numbers():
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=2)


FITS = {
    "greedy list": (hr.PrivateRuleListClassifier, ILL, {"search": "greedy", "max_rules": 2}),
    "exact list": (hr.PrivateRuleListClassifier, ILL, {"search": "exact", "max_rules": 2, "release_counts": True}),
    "greedy tree": (hr.PrivateTreeClassifier, ILL, {"search": "greedy", "max_depth": 2}),
    "exact tree": (hr.PrivateTreeClassifier, ILL, {"max_depth": 1, "release_counts": True}),
    "drawn tree": (hr.PrivateTreeClassifier, ILL, {"max_depth": 1, "objective": "mixed"}),
    "scorecard": (hr.PrivateScorecardClassifier, ILL, {}),
    "scorecard with a delta": (hr.PrivateScorecardClassifier, ILL, {"delta": DELTA}),
    "choice by a count": (hr.PrivateAutoClassifier, ILL, {}),
    "choice by a draw": (hr.PrivateAutoClassifier, ILL, {"n_rows": 10**6}),
    "list of a number": (hr.PrivateRuleListRegressor, COST, {"search": "greedy", "max_rules": 2}),
    "tree of a number": (hr.PrivateTreeRegressor, COST, {"max_depth": 1}),
    "greedy tree of a number": (hr.PrivateTreeRegressor, COST, {"max_depth": 1, "search": "greedy"}),
    "scorecard of a number": (hr.PrivateScorecardRegressor, COST, {}),
    **{
        f"published list, {name}": (
            hr.DPGreedyRLClassifier,
            ILL,
            {"mechanism": name, "max_rules": 2, "delta": DELTA if one.spends_delta else None},
        )
        for name, one in PUBLISHED.items()
    },
}
LEARNERS = {
    "cumulative": (hr.ExprilClassifier, {"estimator": linear(), "queries": 2, "questions": 2}),
    "logistic": (hr.MarginalLogisticClassifier, {}),
    "linear": (hr.MarginalLinearRegressor, {"number": NUMBER}),
    "regressor": (
        hr.ExprilRegressor,
        {"estimator": tree_of_numbers(), "queries": 2, "questions": 2, "number": NUMBER},
    ),
}
OPERATIONS = {
    **{name: estimator_of(kind, schema, **parameters) for name, (kind, schema, parameters) in FITS.items()},
    "tally of a greedy tree": tally_of(*FITS["greedy tree"][:2], **FITS["greedy tree"][2]),
    "evaluation": evaluation("ill"),
    "evaluation by group": evaluation("ill", by="smoker"),
    "evaluation of a number": evaluation("cost"),
    "evaluation of a tally": evaluation_of_a_tally,
    "cut points": cut_points,
    "rows": answer("marginals"),
    "classes": answer("class_marginals"),
    "errors": answer("error_marginals", hr.oracle.Always(1)),
    "levels": answer("level_marginals", number=NUMBER),
    "ratios": answer("marginals", release="ratio"),
    "Gaussian": answer("marginals", release="gaussian"),
    "federated": federated,
    **{name: learner(kind, **parameters) for name, (kind, parameters) in LEARNERS.items()},
}
KINDS = {kind for kind, *_ in (*FITS.values(), *LEARNERS.values())}
