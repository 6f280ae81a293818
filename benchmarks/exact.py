"""Speed of exact draws.

Adult, 20 attributes, {adult_patterns} distinct patterns; a whole fit of a tally with secure noise. *Told* is the
predicted cost, computed from public numbers and the number of patterns with constants that were fitted later, on a
shared machine. The baseline is the same recursion in Python, one set at a time.

{exact_times}

The last choice takes nearly all the time. With two classes, a leaf with n rows whose class counts differ by d has the
weight exp(−ε·n/2) · cosh(ε·d/2), and cosh x · cosh y = ½ (cosh(x + y) + cosh(x − y)). The differences of both leaves of
an option add up to the difference of the box, so only cosh(x − y) is looked up for each option.

Boxes and seconds of a search, raw Adult, 28,650 patterns, one core:

{searches}

![time against depth, candidates and patterns](results/exact_growth.png)

Draws of the size of certified searches (`search="exact"`, ε = 1): Adult with the tests of its schema, rows of
[census.py](census.py) as in [engines.py](engines.py), and the parity of five of many Boolean columns, 10⁴ rows. Each
fit in a process of its own, as in [optimal_raw.py](optimal_raw.py); medians of processor seconds, the largest memory
and the mean accuracy, for the parity on other rows. `python exact.py --large` measures only this table.

{large_draws}

States and time grow with the number of sets of choices. From the third rule or level on, each further rule or level
takes {more_states} times as many states and {more_time} times as long. The options weighed grow with the square or cube
of the number of candidates at two or three rules, and time about linearly in the patterns
([results/exact_growth.csv](results/exact_growth.csv)).
"""

import sys
from functools import partial

import numpy as np
from large_draws import large
from measure import RESULTS, median_seconds, report

import hedgerow as hr
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.cost import SearchShape, masks_cost, space_cost
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.lattice import PatternMatrix, Search, exhaustive_levels
from hedgerow.learn.search.semirings import all_models
from hedgerow.learn.search.space import Space
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Boolean, Candidates, Label, Schema

EPSILON, PRIOR = 0.1, StopPrior.constant(0.5)


def main():
    large()
    if sys.argv[1:] == ["--large"]:
        return
    data = hr.datasets.load("adult_binary").without_sensitive()
    tally = hr.Tally.count(data.frame, data.labels, data.schema)
    speed(tally)
    by_tables()
    grown = [*depths(tally), *candidates(), *patterns()]
    report("exact_growth", grown)
    draw(grown)


def speed(tally):
    """Time whole fits of a tally, with secure noise, and the reference twin if it finishes in reasonable time."""
    rows = []
    for what, goal, repeats, estimator in (
        ("tree of depth 3", 0.2, 9, hr.PrivateTreeClassifier(EPSILON, search="exact", max_depth=3)),
        ("tree of depth 4", 2, 9, hr.PrivateTreeClassifier(EPSILON, search="exact", max_depth=4)),
        ("tree of depth 5", "", 5, hr.PrivateTreeClassifier(EPSILON, search="exact", max_depth=5)),
        ("list, 4 rules with the default, 1 literal", 0.5, 9, one_literal(4)),
        ("list, 4 rules and a default, 1 literal", 0.5, 9, one_literal(5)),
        ("list, 6 rules with the default, 1 literal", 10, 5, one_literal(6)),
        ("list, 6 rules and a default, 1 literal", 10, 3, one_literal(7)),
        ("list, 2 rules jointly, 2 literals (one block)", 2, 5, two_literals(2)),
        ("list, 3 rules jointly, 2 literals", 60, 1, two_literals(3)),
    ):
        seconds = median_seconds(lambda e=estimator: e.fit_tally(tally), repeats)
        cost = estimator.search_cost(tally.schema)
        row = {
            "what": what,
            "states": cost.states,
            "weighed": cost.evaluations,
            "seconds": f"{seconds:.3f}",
            "goal": goal,
        }
        row["told beforehand"] = f"{cost.seconds(len(tally._bins)):.3f}"
        row["twin"] = ""
        if what == "list, 4 rules and a default, 1 literal":
            space = Space.of_lists(Candidates.of(tally.schema, 1))
            row["twin"] = f"{median_seconds(lambda s=space: twin(PatternMatrix(tally, s), 4), 1):.2f}"
        rows.append(row)
        print(row, flush=True)
    report("exact", rows)


def by_tables():
    """Time searches of raw Adult, which has tens of thousands of patterns, by contingency tables and by masks."""
    data = hr.datasets.load("adult")
    tally, rows = hr.Tally.count(data.frame, data.labels, data.schema), []
    trees, lists = Space.of_trees(data.schema), Space.of_lists(Candidates.of(data.schema, 1))
    for what, space, depth in (
        ("tree of depth 2", trees, 2),
        ("tree of depth 3", trees, 3),
        ("tree of depth 4", trees, 4),
        ("list of 2 rules and a default, 1 literal", lists, 2),
        ("list of 3 rules and a default, 1 literal", lists, 3),
        ("list of 4 rules and a default, 1 literal", lists, 4),
    ):
        cost = space_cost(SearchShape.of(space), depth)
        seconds = median_seconds(partial(tabulated, tally, space, depth), 3)
        row = {"what": what, "options": space.n_options, "patterns": len(tally.bins_and_counts()[0])}
        row |= {"boxes": cost.states, "weighed": cost.evaluations, "seconds": f"{seconds:.2f}", "by masks": ""}
        if depth == 2 or (what, depth) == ("tree of depth 3", 3):
            masks = median_seconds(partial(masked, tally, space, depth), 1)
            row["by masks"] = f"{masks:.2f}"
        row["told beforehand"] = f"{cost.seconds(row['patterns']):.2f}"
        rows.append(row)
        print(row, flush=True)
    report("exact_raw", rows)


def tabulated(tally, space, depth):
    return Cubes(tally, Boxes.of(space, depth), all_models(EPSILON, PRIOR)).total(depth)


def masked(tally, space, depth):
    return Search(PatternMatrix(tally, space), exhaustive_levels(space, depth), all_models(EPSILON, PRIOR)).sweep()


def one_literal(max_rules):
    return hr.PrivateRuleListClassifier(EPSILON, search="exact", max_rules=max_rules, max_literals=1)


def two_literals(jointly):
    return hr.PrivateRuleListClassifier(EPSILON, search="exact", max_rules=jointly + 1, max_literals=2)


def twin(rows, depth):
    """Return the logarithm of the summed weight of all lists, by recursion over sets of rules."""
    semiring, space, known = all_models(EPSILON, PRIOR), rows.space, {}
    caught = rows.caught(np.arange(space.n_options))

    def leaf(mask):
        return semiring.leaf(rows.totals(mask[None]))[0]

    def value(chosen, mask, left):
        if left == 0:
            return leaf(mask)
        if chosen not in known:
            weights = [np.log(0.5) + leaf(mask)]
            options = [r for r in range(space.n_options) if r not in chosen]
            for r in options:
                below = value(chosen | {r}, mask & ~caught[r], left - 1)
                weights.append(np.log(0.5 / len(options)) + leaf(mask & caught[r]) + below)
            known[chosen] = np.logaddexp.reduce(weights)
        return known[chosen]

    return value(frozenset(), np.ones(len(rows), dtype=bool), depth)


def depths(tally):
    for what, space, most in (
        ("trees", Space.of_trees(tally.schema), 5),
        ("lists, 1 literal", Space.of_lists(Candidates.of(tally.schema, 1)), 6),
    ):
        for depth in range(1, most + 1):
            yield measured(f"depth, {what}", depth, tally, space, depth)


def candidates():
    rng = np.random.default_rng(0)
    for d in (10, 20, 40, 80):
        tally = simulated(d, 1000, rng)
        space = Space.of_lists(Candidates.of(tally.schema, 1))
        yield measured("candidates, lists of 3 rules", space.n_options, tally, space, 3)


def patterns():
    rng = np.random.default_rng(0)
    for n in (10**2, 10**3, 10**4, 10**5):
        tally = simulated(20, n, rng)
        yield measured("patterns, trees of depth 3", n, tally, Space.of_trees(tally.schema), 3)


def simulated(n_booleans, n_patterns, rng):
    schema = Schema({f"x{i}": Boolean() for i in range(n_booleans)}, Label("y", (0, 1)))
    cells = (rng.random((n_patterns, n_booleans)) < 0.5).astype(np.uint8)
    return hr.Tally(schema, cells, rng.integers(0, 20, (n_patterns, 2)))


def measured(grown, size, tally, space, depth):
    """Time the search itself, with the rows' matrices, and compare with the predicted cost."""
    seconds = median_seconds(partial(masked, tally, space, depth), 3)
    cost = masks_cost(SearchShape.of(space), depth)
    told = cost.seconds(len(tally._bins))
    row = {"grown": grown, "size": size, "options": space.n_options, "depth": depth, "patterns": len(tally._bins)}
    row |= {
        "states": cost.states,
        "weighed": cost.evaluations,
        "ms": f"{1e3 * seconds:.2f}",
        "told ms": f"{1e3 * told:.2f}",
    }
    row["told / measured"] = f"{told / seconds:.2f}"
    print(row, flush=True)
    return row


def draw(rows):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharey=True)
    for ax, what in zip(axes, ("depth", "candidates", "patterns"), strict=True):
        for grown in dict.fromkeys(row["grown"] for row in rows if row["grown"].startswith(what)):
            part = [row for row in rows if row["grown"] == grown]
            sizes = [row["size"] for row in part]
            (line,) = ax.plot(sizes, [float(row["ms"]) for row in part], marker="o", label=grown.split(", ", 1)[1])
            ax.plot(sizes, [float(row["told ms"]) for row in part], linestyle=":", color=line.get_color())
        ax.set(xlabel=what, yscale="log", xscale="linear" if what == "depth" else "log")
        ax.legend(frameon=False, title="measured (dotted: told beforehand)")
    axes[0].set_ylabel("milliseconds, one core")
    axes[0].figure.savefig(RESULTS / "exact_growth.png", dpi=120)


if __name__ == "__main__":
    main()
