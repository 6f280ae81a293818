"""The audited calls: every learner, question, evaluation and search for cut points that adds noise."""

import json
from dataclasses import dataclass, replace
from unittest.mock import patch

import duckdb
import ibis
import numpy as np
import pandas as pd
from recorder_audit import Published
from recorder_tables import WIDE, frame, pairs, pairs_of_persons, pairs_of_wide_rows
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hedgerow as hr
from hedgerow.learn.search import cost
from hedgerow.models.released import released_model
from hedgerow.oracle import FederatedOracle
from hedgerow.oracle.answers import PARTS

ATTRIBUTES = {
    "smoker": hr.Boolean(),
    "sex": hr.Categorical(("F", "M", "X"), missing="bin"),
    "age": hr.Integer(17, 90, cuts=(30, 45, 60), outside="clip"),
    "dose": hr.Real(0.0, 1.0, cuts=(0.25, 0.5), missing="bin", outside="bin"),
}
RISK, COST = hr.Label("risk", ("high", "low", "mid")), hr.Number("cost", 0, 32, 8)
HIGH = hr.OrderedLabel("risk", ("low", "mid", "high"))
PERSON, WEIGHT = hr.Unit("person", 3), hr.Weight("weight", 4, 8)
THREE, NUMBER, ORDERED = (hr.Schema(ATTRIBUTES, label) for label in (RISK, COST, HIGH))
TWO = hr.Schema(ATTRIBUTES, hr.Label("risk", ("high", "low")))
WIDE_ATTRIBUTES = {f"x{i}": hr.Boolean() for i in range(WIDE)}
WIDE_THREE, WIDE_NUMBER = (hr.Schema(WIDE_ATTRIBUTES, label) for label in (RISK, COST))
OPEN = {"age": hr.Integer(0, 60, outside="clip"), "cost": hr.Integer(0, 32, missing="bin", outside="clip")}
BINS = hr.Schema({
    "smoker": hr.Boolean(missing="bin"),
    "sex": hr.Categorical(("F", "M", "X"), missing="bin", outside="bin"),
    "age": hr.Integer(17, 90, cuts=(30, 45, 60), missing="bin", outside="clip"),
    "dose": hr.Real(0.0, 1.0, cuts=(0.25, 0.5), missing="bin", outside="bin"),
})  # fmt: skip
DELTA = 1e-6
_RNG = np.random.default_rng(5)
_PUBLIC = frame(np.column_stack([_RNG.integers(0, n, 60) for n in (2, 4, 8, 6, 3, 6, 5, 3)]))
_SOURCE = pd.DataFrame({"a": _RNG.normal(size=60), "b": _RNG.integers(0, 9, 60).astype(float)})


@dataclass(frozen=True)
class Call:
    """A function of a private table, with the pairs of tables on which it is audited."""

    name: str
    run: object
    pairs: object = pairs
    share: int = 10  # of the pairs: slow calls have fewer
    has_guarantee: bool = True

    def __call__(self, table):
        return self.run(table)


def _published(content, *cards):
    """Return published values with the charges of their cards; ε is None if a card has no guarantee."""
    proven = all(not card.no_guarantee for card in cards)
    charges = [charge for card in cards for charge in card.charges]
    epsilon, delta = (float(sum(getattr(charge, name) for charge in charges)) for name in ("epsilon", "delta"))
    text = json.dumps([content, [repr(charge) for charge in charges]], default=repr, sort_keys=True)
    return Published(text, epsilon if proven else None, delta)


def fit(estimator, table):
    """Return the released model of an estimator, or the schema that was learned."""
    target = estimator.schema.target.name
    others = {"risk", "cost"} - {target}
    data = table.drop(columns=[name for name in table.columns if name in others])
    if target == "risk" and estimator.schema.target.n_levels == 2:
        data = data.assign(risk=data["risk"].replace("mid", "low"))
    fitted = estimator.fit(data.drop(columns=target), data[target])
    return _published(released_model(fitted).to_dict(), fitted.privacy_)


def _learner(estimator, epsilon=1.0, schema=THREE, *, zcdp=False, **parameters):
    def run(table):
        budget = {"budget": hr.Budget(epsilon, DELTA, accounting="zcdp")} if zcdp else {}
        return fit(estimator(epsilon, schema=schema, **budget, **parameters), table)

    return run


def _wide(estimator, schema, **parameters):
    """Return a fit to a wide table with a short search, so that attributes are chosen first."""
    run = _learner(estimator, 200.0, schema, **parameters)

    def shortened(table):
        with patch.object(cost, "MOST_SECONDS", 0.05):
            return run(table)

    return shortened


def _unit(schema):
    return replace(schema, unit=PERSON)


def _weighted(schema):
    return replace(schema, weight=WEIGHT)


def in_duckdb(table):
    """Return a tree that was fitted to a table in DuckDB, whose rows of a person an engine selects."""
    connection = duckdb.connect()
    columns = {"smoker": "BOOLEAN", "sex": "VARCHAR", "age": "BIGINT", "dose": "DOUBLE", "risk": "VARCHAR"}
    types = ", ".join(f"{name} {kind}" for name, kind in {**columns, "person": "VARCHAR"}.items())
    connection.execute(f"CREATE TABLE private ({types})")
    rows = table[[*columns, "person"]].astype(object).where(lambda frame: frame.notna(), None)
    connection.executemany(f"INSERT INTO private VALUES ({', '.join('?' * rows.shape[1])})", rows.to_numpy().tolist())
    counted = hr.Tally.from_table(ibis.duckdb.from_connection(connection).table("private"), _unit(THREE))
    fitted = hr.PrivateTreeClassifier(1, schema=_unit(THREE), max_depth=2).fit_tally(counted)
    connection.close()
    return _published(released_model(fitted).to_dict(), fitted.privacy_)


def ask(table, ways, *, number=False, release="counts", unit=None, zcdp=False, parts=1):
    """Return the answers of an oracle, or of a federation, to one question of each kind."""
    data = table[[*BINS.names, *([] if unit is None else [unit.column])]]
    label = table["cost"] if number else table["risk"]
    target = {"number": hr.Number("cost", 0, 32, 8)} if number else {"classes": ("low", "high", "mid")}
    if "errors" in ways and not number:
        label, target = label != "low", {}
    budgets = [hr.Budget(1, DELTA, accounting="zcdp" if zcdp else "basic") for _ in range(parts)]
    place = (table["ward"] != "north").to_numpy(dtype=int) % parts
    asked = [
        hr.Oracle(data[place == i], label[place == i], budget, len(ways), release=release, unit=unit, **target)
        for i, budget in enumerate(budgets)
    ]
    oracle = asked[0] if parts == 1 else FederatedOracle(asked)
    answers = []
    for way in ways:
        method = {"rows": "marginals", "classes": "class_marginals", "levels": "level_marginals"}.get(way)
        answer = (
            oracle.error_marginals(BINS, hr.oracle.Always(True)) if method is None else getattr(oracle, method)(BINS)
        )
        names = ("ratios", "shares") if release == "ratio" else PARTS[way]
        answers.append([np.asarray(getattr(answer, name)).tolist() for name in names if hasattr(answer, name)])
    return _published(answers, oracle.privacy)


def _ask(ways, **options):
    return lambda table: ask(table, ways, **options)


def marginal_learner(table, learner, *, number=False, release="counts"):
    """Return the predictions of a learner of marginals, which asks an oracle."""
    target = pd.DataFrame({"a": table["dose"].fillna(9.0) * 3 - 1, "b": table["age"].clip(0, 8).astype(float)})
    label = table["cost"] if number else table["risk"] == "low"
    options = {"number": hr.Number("cost", 0, 32, 8)} if number else {}
    oracle = hr.Oracle(target, label, hr.Budget(1, DELTA), release=release, **options)
    fitted = learner().fit(_SOURCE, oracle=oracle)
    return _published(fitted.predict(_SOURCE).tolist(), oracle.privacy)


def _tree():
    return hr.ExprilClassifier(DecisionTreeClassifier(max_depth=2, random_state=0))


def _tree_of_number():
    return hr.ExprilRegressor(DecisionTreeRegressor(max_depth=2, random_state=0))


def _marginal(learner, **options):
    return lambda table: marginal_learner(table, learner, **options)


def _model(schema, learner, **parameters):
    target = schema.target.name
    return learner(schema=schema, **parameters).fit(_PUBLIC[list(ATTRIBUTES)], _PUBLIC[target])


TREE, SUMS = _model(THREE, hr.OptimalTreeClassifier, max_depth=2), _model(NUMBER, hr.OptimalTreeRegressor, max_depth=1)
CARD = _model(THREE, hr.ScorecardClassifier)


def evaluation(table, model, epsilon=1, **options):
    """Return the noisy histogram of an evaluation."""
    used = hr.evaluate(model, table.drop(columns=["weight"]), epsilon=epsilon, **options)
    return _published(used.to_dict(), used.privacy)


def _evaluation(model, **options):
    return lambda table: evaluation(table, model, **options)


def cut_points(table, epsilon=1, bins=4, unit=None):
    """Return cut points that were learned from the table."""
    table = table.assign(cost=table["cost"].round())
    learned = hr.Schema.learn(table, hr.Schema(OPEN, RISK, unit=unit), epsilon=epsilon, bins=bins)
    charges = learned.charges
    text = repr((learned.attributes, charges))
    return Published(text, float(sum(charge.epsilon for charge in charges)))


LIST, LISTS = hr.PrivateRuleListClassifier, hr.PrivateRuleListRegressor
PRIVATE_TREE, PRIVATE_TREES = hr.PrivateTreeClassifier, hr.PrivateTreeRegressor
SCORES, SCORES_OF_NUMBER, SSRL = hr.PrivateScorecardClassifier, hr.PrivateScorecardRegressor, hr.DPGreedyRLClassifier
GREEDY_LIST = {"search": "greedy", "max_literals": 2, "max_rules": 4}
EXACT_LIST = {"search": "exact", "max_rules": 3, "release_counts": True}
COSTS = {"class_weight": {"high": 5}}

CALLS = [
    Call("rule list, greedy", _learner(LIST, **GREEDY_LIST)),
    Call("rule list, greedy, costs", _learner(LIST, **GREEDY_LIST, **COSTS)),
    Call("rule list, greedy, Brier score", _learner(LIST, objective="brier", **GREEDY_LIST)),
    Call("rule list, greedy, zCDP budget", _learner(LIST, zcdp=True, **GREEDY_LIST)),
    Call("rule list, greedy, weights", _learner(LIST, schema=_weighted(THREE), **GREEDY_LIST)),
    Call("rule list, greedy, persons", _learner(LIST, schema=_unit(THREE), **GREEDY_LIST), pairs_of_persons),
    Call("rule list, drawn", _learner(LIST, **EXACT_LIST)),
    Call("rule list, drawn in blocks", _learner(LIST, lookahead=1, **EXACT_LIST)),
    Call("rule list, drawn, two literals", _learner(LIST, search="exact", max_literals=2, max_rules=2)),
    Call("rule list, drawn, weights", _learner(LIST, schema=_weighted(THREE), search="exact", max_rules=3)),
    Call("rule list, drawn, wide table", _wide(LIST, WIDE_THREE), pairs_of_wide_rows, 3),
    Call("rule list, drawn, numbers", _learner(LISTS, schema=NUMBER, max_rules=2)),
    Call("rule list, greedy, numbers", _learner(LISTS, schema=NUMBER, search="greedy", max_rules=3)),
    Call("tree, greedy", _learner(PRIVATE_TREE, search="greedy", max_depth=2)),
    Call("tree, greedy, zCDP budget", _learner(PRIVATE_TREE, zcdp=True, search="greedy", max_depth=2)),
    Call(
        "tree, greedy, persons",
        _learner(PRIVATE_TREE, schema=_unit(THREE), search="greedy", max_depth=2),
        pairs_of_persons,
    ),
    Call("tree, drawn with its size", _learner(PRIVATE_TREE), share=3),
    Call("tree, drawn, counts", _learner(PRIVATE_TREE, max_depth=2, release_counts=True)),
    Call("tree, drawn in blocks", _learner(PRIVATE_TREE, max_depth=2, lookahead=1)),
    Call("tree, drawn, ordered classes", _learner(PRIVATE_TREE, schema=ORDERED, objective="absolute", max_depth=2)),
    Call("tree, drawn, costs", _learner(PRIVATE_TREE, max_depth=2, **COSTS)),
    Call("tree, drawn, zCDP budget", _learner(PRIVATE_TREE, zcdp=True, max_depth=2)),
    Call("tree, drawn, weights", _learner(PRIVATE_TREE, schema=_weighted(THREE), max_depth=2)),
    Call("tree, drawn, persons", _learner(PRIVATE_TREE, schema=_unit(THREE), max_depth=2), pairs_of_persons),
    Call("tree, drawn, persons, in DuckDB", in_duckdb, pairs_of_persons, 3),
    Call("tree, drawn, wide table", _wide(PRIVATE_TREE, WIDE_THREE), pairs_of_wide_rows, 3),
    Call("tree, drawn, numbers", _learner(PRIVATE_TREES, schema=NUMBER, max_depth=1)),
    Call("tree, drawn, quantile", _learner(PRIVATE_TREES, schema=NUMBER, objective="quantile", max_depth=1)),
    Call("tree, zCDP budget, wide table", _wide(PRIVATE_TREE, WIDE_THREE, zcdp=True), pairs_of_wide_rows, 3),
    Call("tree, numbers, wide table", _wide(PRIVATE_TREES, WIDE_NUMBER), pairs_of_wide_rows, 3),
    Call("scorecard, three classes", _learner(SCORES, 100.0), share=3),
    Call("scorecard, three classes, little ε", _learner(SCORES, 1.0), share=3),
    Call("scorecard, two classes", _learner(SCORES, 1000.0, TWO, monotone={"age": "increasing"}), share=3),
    Call("scorecard, two classes, zCDP budget", _learner(SCORES, 100.0, TWO, zcdp=True), share=3),
    Call("scorecard, Gaussian noise", _learner(SCORES, 1000.0, TWO, zcdp=True, delta=DELTA), share=3),
    Call("scorecard, chosen attributes", _learner(SCORES, 100.0, max_attributes=2), share=3),
    Call("scorecard, peeled attributes", _learner(SCORES, 100.0, zcdp=True, max_attributes=2, delta=DELTA), share=3),
    Call("scorecard, δ", _learner(SCORES, 0.1, TWO, max_attributes=3, delta=0.1), share=3),
    Call("scorecard, δ, wide table", _learner(SCORES, 0.1, WIDE_THREE, delta=0.01), pairs_of_wide_rows, 2),
    Call("scorecard, persons", _learner(SCORES, 30.0, _unit(TWO)), pairs_of_persons, 3),
    Call(
        "scorecard, δ, persons",
        _learner(SCORES, 0.3, _unit(TWO), max_attributes=2, delta=0.1),
        pairs_of_persons,
        3,
    ),
    Call("scorecard, numbers", _learner(SCORES_OF_NUMBER, 1000.0, NUMBER), share=4),
    Call(
        "scorecard, numbers, Gaussian noise",
        _learner(SCORES_OF_NUMBER, 1000.0, NUMBER, zcdp=True, max_attributes=2, delta=DELTA),
        share=4,
    ),
    Call("choice of model, by a count", _learner(hr.PrivateAutoClassifier, 100.0), share=2),
    Call("choice of model, by a draw", _learner(hr.PrivateAutoClassifier, 10.0, n_rows=10**6), share=2),
    Call("SSRL, exponential mechanism", _learner(SSRL, schema=TWO, mechanism="exponential", max_literals=1)),
    Call("SSRL, noisy counts", _learner(SSRL, schema=TWO, mechanism="noisy-counts", max_literals=1)),
    Call("oracle, rows, classes", _ask(("rows", "classes"))),
    Call("oracle, errors", _ask(("errors", "rows"))),
    Call("oracle, number", _ask(("levels", "errors", "rows"), number=True)),
    Call("oracle, Gaussian noise", _ask(("rows", "errors"), release="gaussian")),
    Call("oracle, number, Gaussian noise", _ask(("levels", "errors"), number=True, release="gaussian")),
    Call("oracle, zCDP budget", _ask(("rows", "classes"), zcdp=True)),
    Call("oracle, persons", _ask(("rows", "classes"), unit=PERSON), pairs_of_persons),
    Call(
        "oracle, persons, Gaussian noise", _ask(("rows", "errors"), unit=PERSON, release="gaussian"), pairs_of_persons
    ),
    Call("oracle, federation", _ask(("classes",), parts=2)),
    Call("EXPRIL, tree", _marginal(_tree)),
    Call("EXPRIL, number", _marginal(_tree_of_number, number=True)),
    Call("marginals, logistic", _marginal(hr.MarginalLogisticClassifier)),
    Call("marginals, linear", _marginal(hr.MarginalLinearRegressor, number=True)),
    Call("evaluation, tree", _evaluation(TREE)),
    Call("evaluation by group", _evaluation(TREE, by={"ward": ["north", "south"]}, class_weight={"high": 5})),
    Call("evaluation by score", _evaluation(CARD, bands=6, by="sex")),
    Call("evaluation, numbers", _evaluation(SUMS)),
    Call("evaluation, persons", _evaluation(TREE, schema=_unit(THREE)), pairs_of_persons),
    Call("cut points", cut_points, share=8),
    Call("cut points, persons", lambda table: cut_points(table, unit=PERSON), pairs_of_persons, 8),
]
UNPROVEN = [
    Call(name, run, share=5, has_guarantee=False)
    for name, run in {
        "SSRL, smooth sensitivity, Laplace": _learner(SSRL, schema=TWO, delta=DELTA),
        "SSRL, smooth sensitivity, Cauchy": _learner(SSRL, schema=TWO, mechanism="smooth-cauchy"),
        "SSRL, Laplace": _learner(SSRL, schema=TWO, mechanism="global-laplace"),
        "SSRL, Gaussian": _learner(SSRL, schema=TWO, mechanism="global-gaussian", delta=DELTA),
        "EXPRIL, ratios": _ask(("errors", "rows"), release="ratio"),
    }.items()
]
"""Mechanisms as published, whose cards state no guarantee."""
