"""Certified trees on raw tables.

Processor seconds, in the same run as the peers (`pip install pystreed pycontree`), at most ten minutes each. Adult with
the tests of its schema and leaves of at least a thousandth of the rows; numbers with every distinct value as a cut
point; and trees of depth 5 on 60 columns, for which contingency tables do not help: the last two tests are evaluated
together.

{raw_optima}
"""

import math
import statistics
import time

import numpy as np
import pandas as pd
from measure import report
from sklearn.datasets import load_wine

import hedgerow as hr
from hedgerow.learn.search.space import Space
from hedgerow.schema import Integer, Label, Real, Schema
from hedgerow.tables.frames import Table

SUPPORT = 0.001
LONGEST = 600


def main():
    rows = [*adult(), *thresholds(), *sixty_columns()]
    report("optimal_raw", rows)


def adult():
    data = hr.datasets.load("adult")
    tests, y = satisfied(data), codes(data)
    for depth, repeats in ((2, 5), (3, 5), (4, 1)):
        what = f"Adult, 112 tests, depth {depth}, leaves of .001"
        yield of_hedgerow(what, depth, SUPPORT, data.frame, data.labels, data.schema, repeats)
        yield from of_streed(what, depth, math.ceil(SUPPORT * len(y)), tests, y, repeats)


def thresholds():
    adult, wine = hr.datasets.load("adult"), load_wine()
    numbers = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    frames = (
        ("Adult's five numbers", adult.frame[numbers], codes(adult), 3),
        ("wine", pd.DataFrame(wine.data, columns=wine.feature_names), wine.target, 2),
    )
    for name, frame, y, depth in frames:
        schema = Schema({column: distinct(frame[column]) for column in frame}, Label("y", tuple(range(max(y) + 1))))
        labels = pd.Series(y, name="y")
        what = f"{name}, {Space.of_trees(schema).n_options} thresholds, depth {depth}"
        repeats = 1 if depth > 2 else 5
        yield of_hedgerow(what, depth, 0, frame, labels, schema, repeats)
        yield from of_contree(what, depth, frame, y, repeats)


def sixty_columns():
    data = hr.datasets.load("german_binary")
    X, y = data.frame.to_numpy(dtype=np.uint8), codes(data)
    for depth, repeats in ((3, 5), (4, 5), (5, 1)):
        what = f"german_binary, 60 columns, depth {depth}, leaves of 10 rows"
        yield of_hedgerow(what, depth, 10 / len(y), data.frame, data.labels, data.schema, repeats)
        yield from of_streed(what, depth, 10, X, y, repeats)


def of_hedgerow(what, depth, support, frame, labels, schema, repeats):
    tally = hr.Tally.count(frame, labels, schema)
    model = hr.OptimalTreeClassifier(max_depth=depth, min_support=support, time_limit=LONGEST)
    seconds = timed(lambda: model.fit_tally(tally), repeats)
    wrong = (np.asarray(model.predict(frame)) != labels.to_numpy()).sum()
    return record(what, "hedgerow", seconds, wrong, len(labels), model.optimal_)


def of_streed(what, depth, leaf, X, y, repeats):
    try:
        from pystreed import STreeDClassifier
    except ImportError as error:
        print("STreeD: left out,", error)
        return
    nodes = 2**depth - 1
    model = STreeDClassifier(
        "accuracy", max_depth=depth, max_num_nodes=nodes, min_leaf_node_size=leaf, time_limit=LONGEST
    )
    seconds = timed(lambda: model.fit(X, y.astype(np.int32)), repeats)
    wrong = (np.asarray(model.predict(X)).astype(int) != y).sum()
    yield record(what, "STreeD", seconds, wrong, len(y), bool(model.fit_result.is_optimal()))


def of_contree(what, depth, frame, y, repeats):
    try:
        from pycontree import ConTree
    except ImportError as error:
        print("ConTree: left out,", error)
        return
    model = ConTree(max_depth=depth, time_limit=LONGEST)
    seconds = timed(lambda: model.fit(frame.to_numpy(dtype=float), y), repeats)
    wrong = (np.asarray(model.predict(frame.to_numpy(dtype=float))).astype(int) != y).sum()
    yield record(what, "ConTree", seconds, wrong, len(y), seconds < LONGEST)


def timed(fit, repeats):
    """Return the median seconds of the processor that `fit` takes."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        fit()
        times.append(time.process_time() - start)
    return statistics.median(times)


def record(what, solver, seconds, wrong, n, optimal):
    row = {"what": what, "solver": solver, "seconds": f"{seconds:.2f}", "errors": int(wrong)}
    row |= {"share": f"{wrong / n:.4f}", "says optimal": optimal}
    print(row, flush=True)
    return row


def codes(data):
    return np.array([data.schema.classes.index(label) for label in data.labels.tolist()])


def satisfied(data):
    """Return which rows satisfy each test of a schema, shape ``(n_rows, n_tests)``, as 0 and 1."""
    space, encoded = Space.of_trees(data.schema), data.schema.encode(Table.of(data.frame))
    columns = []
    for (literal,) in space.antecedents:
        columns.append(data.schema[literal.attribute].truth(literal)[encoded[literal.attribute]])
    return np.column_stack(columns).astype(np.uint8)


def distinct(column):
    """Return a number with a cut point at every distinct value but the largest."""
    values = np.unique(column)
    kind = Integer if np.issubdtype(values.dtype, np.integer) else Real
    return kind(values[0].item(), values[-1].item(), tuple(values[:-1].tolist()))


if __name__ == "__main__":
    main()
