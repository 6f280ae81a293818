"""Certified solvers and their peers on the same problem: a table of 0/1 columns, classes, depth and size of leaves."""

import argparse
import importlib.util
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np
import pandas as pd
from measure import kept, report

import hedgerow as hr
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Integer, Label, Real, Schema
from hedgerow.tables.frames import Table

REPEATS, LONGEST = 5, 600
DL85_EXHAUSTIVE = {  # DL8.5 0.1.8 returns worse trees with any of the first three on and a leaf size above 1
    "similar_lb": False, "depth_two_special_algo": False, "dynamic_branch": False,
    "use_ub": False, "similar_for_branching": False,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Problem:
    """Trees of a depth whose leaves have a number of rows; ConTree gets the numbers, if all columns are numbers."""

    what: str
    depth: int
    leaf: int
    frame: pd.DataFrame
    labels: pd.Series
    schema: Schema
    numbers: np.ndarray | None = None
    X: np.ndarray = field(init=False)
    y: np.ndarray = field(init=False)
    tally: hr.Tally = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "X", satisfied(self.frame, self.schema))
        object.__setattr__(self, "y", codes(self.labels, self.schema))
        object.__setattr__(self, "tally", hr.Tally.count(self.frame, self.labels, self.schema))

    @property
    def cells(self):
        """What ConTree gets."""
        return self.X.astype(float) if self.numbers is None else self.numbers

    def errors(self, predictions):
        return int((np.asarray(predictions).astype(int) != self.y).sum())


def of_hedgerow(problem, limit):
    share, depth = (problem.leaf / len(problem.y) if problem.leaf > 1 else 0), problem.depth
    model = hr.OptimalTreeClassifier(max_depth=depth, min_support=share, time_limit=limit)
    hr.OptimalTreeClassifier(max_depth=2, min_support=0, time_limit=limit).fit_tally(tiny(problem.y.max() + 1))

    def outcome():
        errors = problem.errors(codes(pd.Series(model.predict(problem.frame)), problem.schema))
        bound = math.ceil(model.lower_bound_ * len(problem.y) - 1e-6)
        return {"errors": errors, "bound": bound, "claims optimality": model.optimal_}

    return lambda: model.fit_tally(problem.tally), outcome


def of_streed(problem, limit):
    from pystreed import STreeDClassifier

    nodes = 2**problem.depth - 1
    model = STreeDClassifier(
        "accuracy", max_depth=problem.depth, max_num_nodes=nodes, min_leaf_node_size=problem.leaf, time_limit=limit
    )
    X, y = problem.X, problem.y
    STreeDClassifier("accuracy", max_depth=2).fit(*small(y.max() + 1))

    def outcome():
        result = model.fit_result
        errors = problem.errors(model.predict(X)) if result.is_feasible() else None
        return {"errors": errors, "claims optimality": bool(result.is_optimal())}

    return lambda: model.fit(X, y), outcome


def of_dl85(problem, limit):
    from pydl85 import DL85Classifier

    options = DL85_EXHAUSTIVE if problem.leaf > 1 else {}
    model = DL85Classifier(max_depth=problem.depth, min_sup=problem.leaf, time_limit=limit, **options)
    X, y = problem.X, problem.y
    DL85Classifier(max_depth=2).fit(*small(y.max() + 1))

    def outcome():
        try:
            errors = problem.errors(model.predict(X))
        except Exception:  # it has no tree, which it reports in different ways
            return {"errors": None, "claims optimality": False}
        return {"errors": errors, "claims optimality": not model.timeout_}

    return lambda: model.fit(X, y), outcome


def of_contree(problem, limit):
    from pycontree import ConTree

    model, cells, y = ConTree(max_depth=problem.depth, time_limit=limit), problem.cells, problem.y
    some = small(y.max() + 1)
    ConTree(max_depth=2).fit(some[0].astype(float), some[1])
    late = []

    def fit():
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            model.fit(cells, y)
        late.extend(message for message in messages if "exceeds time limit" in str(message.message))

    return fit, lambda: {"errors": problem.errors(model.predict(cells)), "claims optimality": not late}


def of_licketysplit(problem, limit, lookahead=1):  # noqa: ARG001 -- it has no limit
    from licketysplit import LicketySPLITClassifier

    model = LicketySPLITClassifier(lambda_leaf=0.0, depth_budget=problem.depth, lookahead_k=lookahead)
    X, y = problem.X, problem.y
    LicketySPLITClassifier(lambda_leaf=0.0, depth_budget=2).fit(*small(y.max() + 1))
    return lambda: model.fit(X, y), lambda: {"errors": problem.errors(model.predict(X)), "claims optimality": ""}


@dataclass(frozen=True)
class Solver:
    """A solver: its package, the function that prepares a fit, and whether leaves can have a minimum size."""

    package: str
    module: str
    prepare: Callable
    has_leaf_size: bool
    hidden: tuple[str, ...] = ()

    @property
    def version(self):
        return version(self.package)


SOLVERS = {
    "hedgerow": Solver("hedgerow", "hedgerow", of_hedgerow, has_leaf_size=True),
    "hedgerow, NumPy only": Solver("hedgerow", "numba", of_hedgerow, has_leaf_size=True, hidden=("numba",)),
    "STreeD": Solver("pystreed", "pystreed", of_streed, has_leaf_size=True),
    "DL8.5": Solver("pydl8.5", "pydl85", of_dl85, has_leaf_size=True),
    "ConTree": Solver("pycontree", "pycontree", of_contree, has_leaf_size=False),
    "LicketySPLIT": Solver("licketysplit", "licketysplit", of_licketysplit, has_leaf_size=False),
}


def run(description, name, columns, problems, measured):
    """Measure problems and write ``results/<name>.csv`` after each; problems that are not chosen keep their rows.

    `problems` are functions that return a problem, by its name, and `measured` is a function of a problem and of the
    parsed options ``--repeats`` and ``--limit`` that returns rows with these `columns`, of which the first is the name.
    """
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--only", default="", help="measure only problems whose name contains this text")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--limit", type=float, default=LONGEST, help="most seconds of a fit")
    arguments, rows = parser.parse_args(), {}
    for row in kept(name, columns):
        rows.setdefault(row[columns[0]], []).append(row)
    for what, make in problems.items():
        if arguments.only in what:
            rows[what] = measured(make(), arguments.repeats, arguments.limit)
            report(name, [row for what in problems for row in rows.get(what, [])])


def installed(solvers):
    """Return the solvers that are installed, and print which are not."""
    missing = {name for name, solver in solvers.items() if importlib.util.find_spec(solver.module) is None}
    for name in missing:
        print(f"{name}: left out, {solvers[name].module} is not installed", flush=True)
    return {name: solver for name, solver in solvers.items() if name not in missing}


def codes(labels, schema):
    """Return the number of the class of each row."""
    places = {label: place for place, label in enumerate(schema.classes)}
    return np.array([places[label] for label in labels.tolist()], dtype=np.int32)


def satisfied(frame, schema):
    """Return which rows satisfy each test of a schema, shape ``(n_rows, n_tests)``, as 0 and 1."""
    space, encoded = Space.of_trees(schema), schema.encode(Table.of(frame))
    columns = [schema[test.attribute].truth(test)[encoded[test.attribute]] for (test,) in space.antecedents]
    return np.column_stack(columns).astype(np.uint8)


def distinct(column):
    """Return a number with a cut point at every distinct value but the largest."""
    values = np.unique(column)
    kind = Integer if np.issubdtype(values.dtype, np.integer) else Real
    return kind(values[0].item(), values[-1].item(), tuple(values[:-1].tolist()))


def with_thresholds(frame, y):
    """Return the labels, and the schema in which every distinct value of the columns is a cut point."""
    schema = Schema({column: distinct(frame[column]) for column in frame}, Label("y", tuple(range(max(y) + 1))))
    return pd.Series(y, name="y"), schema


def small(classes):
    """Return a few rows of two 0/1 columns, with all classes."""
    cells = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, dtype=np.uint8)
    return cells, np.arange(40, dtype=np.int32) % classes


def tiny(classes):
    """Return the tally of `small` rows."""
    X, y = small(classes)
    schema = Schema({"a": Boolean(), "b": Boolean()}, Label("y", tuple(range(classes))))
    return hr.Tally.count(pd.DataFrame(X, columns=["a", "b"]), pd.Series(y, name="y"), schema)
