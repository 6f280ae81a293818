"""Outcomes of other libraries' private learners, for epsilon.py: run by an interpreter that has them, without hedgerow.

Takes the name of a learner, the name of a pair of tables, ε and the number of fits on each. Prints, as JSON, what was
seen of each fit on either table.
"""

import importlib.metadata
import json
import sys
import warnings

import numpy as np

DELTA = 1e-5
TREES = 5


def rows(*each):
    """Return X and y of rows (x, label), both columns being x."""
    table = np.array(each, dtype=float)
    return np.repeat(table[:, :1], 2, axis=1), table[:, 1].astype(int)


ALTERNATING = [(0, place % 2) for place in range(TREES)]
TABLES = {
    "a row more in a bin of two classes": (rows(*ALTERNATING), rows(*ALTERNATING, (0, TREES % 2))),
    "a row far out, of another class": (rows(*[(0, 0)] * 10), rows(*[(0, 0)] * 10, (1, 1))),
    "a row far out": (rows(*ALTERNATING), rows(*ALTERNATING, (1, 1))),
    "a row replaced": (rows(*ALTERNATING), rows((0, 1), *ALTERNATING[1:])),
}
POINTS = np.array([[0.0, 0.0], [1.0, 1.0]])


def diffprivlib_tree(epsilon, X, y, **public):
    from diffprivlib.models import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=1, epsilon=epsilon, **public).fit(X, y)
    return repr((tree.predict(POINTS).tolist(), bool((tree.tree_.threshold > 0).any())))


def diffprivlib_forest(epsilon, X, y, **public):
    from diffprivlib.models import RandomForestClassifier

    forest = RandomForestClassifier(TREES, max_depth=1, epsilon=epsilon, **public).fit(X, y)
    told = [int(tree.predict(POINTS[:1])[0]) == place % 2 for place, tree in enumerate(forest.estimators_)]
    bounded = all((tree.tree_.threshold <= 0).all() for tree in forest.estimators_)
    return repr((told[0], sum(told[1:]), bounded))


def boosting(epsilon, X, y, **public):
    from interpret.privacy import DPExplainableBoostingClassifier

    settings = {"feature_types": ["continuous"] * 2, "max_rounds": 5, "n_jobs": 1}
    learner = DPExplainableBoostingClassifier(epsilon=epsilon, delta=DELTA, **settings, **public)
    try:
        result = learner.fit(X, y)
        seen = result.intercept_, result.decision_function(POINTS), np.max(result.feature_bounds_)
        return np.nan_to_num(np.concatenate([np.ravel(item) for item in seen])).tolist()
    except (ValueError, IndexError, ZeroDivisionError) as error:
        return [type(error).__name__]


PUBLIC = {"bounds": (0, 1), "classes": (0, 1)}
LEARNERS = {
    "diffprivlib, tree": ("diffprivlib", diffprivlib_tree, PUBLIC),
    "diffprivlib, tree, no bounds": ("diffprivlib", diffprivlib_tree, {}),
    "diffprivlib, forest": ("diffprivlib", diffprivlib_forest, PUBLIC),
    "diffprivlib, forest, no bounds": ("diffprivlib", diffprivlib_forest, {}),
    "interpret, DP-EBM": ("interpret-core", boosting, {"privacy_bounds": {0: (0.0, 1.0), 1: (0.0, 1.0)}}),
    "interpret, DP-EBM, no bounds": ("interpret-core", boosting, {}),
}


def main():
    warnings.simplefilter("ignore")
    name, tables, epsilon, runs = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    package, learner, public = LEARNERS[name]
    sides = [[learner(epsilon, X, y, **public) for _ in range(runs)] for X, y in TABLES[tables]]
    print(json.dumps({"version": f"{package} {importlib.metadata.version(package)}", "sides": sides}))


if __name__ == "__main__":
    main()
