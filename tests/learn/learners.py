"""The private learners that are replayed on neighbouring tables, with the choices of their parameters; what they do."""

import pytest

import hedgerow as hr
from hedgerow.learn import auto, blocks
from hedgerow.learn.search.losses import OBJECTIVES
from tests.learn.tables import ROW, SCHEMA

GREEDY_LIST = hr.PrivateRuleListClassifier(1.0, search="greedy", max_literals=2)
GREEDY_TREE = hr.PrivateTreeClassifier(1.0, search="greedy", max_depth=2)
EXACT_LIST = hr.PrivateRuleListClassifier(1.0, search="exact", max_literals=1, max_rules=3)
EXACT_TREE = hr.PrivateTreeClassifier(1.0, max_depth=2)
SCORECARD = hr.PrivateScorecardClassifier(1.0)
CHOICE = hr.PrivateAutoClassifier(1.0)
TWO = hr.Schema(SCHEMA.attributes, hr.Label("risk", ("high", "low")))
PATIENT = ROW.filter(lambda row: row["risk"] != "mid")
SCORECARDS = {"max_attributes": [None, 1, 2, 3], "delta": [None, 1e-6], "epsilon": [1, 10, 1000], "points": [3, 20]}
LEARNERS = {
    "greedy lists": (GREEDY_LIST, {"max_rules": [1, 2, 4]}),
    "greedy trees": (GREEDY_TREE, {"max_depth": [0, 1, 3]}),
    "greedy lists by any loss": (GREEDY_LIST, {"objective": ["brier", "mixed"], "max_rules": [2, 3]}),
    "greedy trees by costs": (GREEDY_TREE, {"class_weight": [{"high": 5}, {"low": 2}], "max_depth": [1, 2]}),
    "exact lists": (EXACT_LIST, {"max_rules": [1, 2, 3, 4], "release_counts": [False, True]}),
    "exact lists in blocks": (EXACT_LIST, {"lookahead": [1, 2], "max_rules": [4, 6], "release_counts": [False, True]}),
    "exact lists by any loss": (
        EXACT_LIST,
        {"objective": OBJECTIVES, "max_rules": [2, 3], "release_counts": [False, True]},
    ),
    "exact trees by any loss": (EXACT_TREE, {"objective": OBJECTIVES, "lookahead": [1, None], "max_depth": [2]}),
    "exact lists of two literals": (EXACT_LIST, {"max_literals": [2], "max_rules": [2]}),
    "exact trees in blocks": (EXACT_TREE, {"lookahead": [1, 2], "max_depth": [2, 3], "release_counts": [False, True]}),
    "exact trees": (EXACT_TREE, {"max_depth": [0, 1, 2], "release_counts": [False, True]}),
    "scorecards": (SCORECARD, SCORECARDS),
    "scorecards of two classes": (SCORECARD, {**SCORECARDS, "monotone": [None, {"age": "increasing"}]}),
    "choices by a count": (CHOICE, {"epsilon": [1, 10, 1000]}),
    "choices by a draw": (CHOICE, {"n_rows": [10**6], "epsilon": [1, 10]}),
}


def given_to(estimator):
    return {name: value for name, value in estimator.get_params().items() if name != "schema"}


def released(learned):
    """Return all that was released but the name of the source of noise."""
    if isinstance(learned, hr.Schema):
        return learned.attributes, learned.charges
    result = learned._model
    if result.kind == "scorecard":
        model = result.base, result.parts, result.unit, result.error
    else:
        model = result.root if result.kind == "tree" else result.rules
    return model, learned.privacy_.charges, learned.classes_.tolist(), learned.n_features_in_


def states_visited(fit):
    """Return how many states the searches of a fit visit."""
    done, draw = [], blocks.draw_model
    with pytest.MonkeyPatch.context() as patch:
        for module in (auto, blocks):
            patch.setattr(module, "draw_model", lambda *g: draw(*g[:-1], lambda n: (done.append(n), g[-1](n))))
        fit()
    return sum(done)
