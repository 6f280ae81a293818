"""Trees by smooth sensitivity: S*, shares of ε, limits, and the exact loss of choices against slow versions."""

from fractions import Fraction
from itertools import pairwise, product
from math import exp, inf, log, log1p

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

import hedgerow as hr
from hedgerow.learn.search.lattice import InnerNode, LeafNode
from hedgerow.learn.search.space import Space
from hedgerow.learn.ssrl.mechanisms import NoisyMin, gini_scores, smooth_cauchy, smooth_laplace, smooth_sensitivity
from hedgerow.privacy.noise import DiscreteLaplace, SeededNoise
from hedgerow.tally import Tally
from studies.smooth_trees import choices, loss, study
from studies.smooth_trees.grow import SmoothTree, accuracy

ONE = Fraction(1)


def smooth_tree(tally, **settings):
    given = {"depth": 2, "mechanism": "smooth-laplace", "epsilon": ONE, "delta": Fraction(1, 10**6)}
    given |= {"min_support": 2, "confidence": 0.99} | settings
    return SmoothTree(space=Space.of_trees(tally.schema), **given)


def table(columns, rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, columns))
    y = (X[:, 0] & X[:, 1]) ^ (rng.random(rows) < 0.2)
    return X, y.astype(np.int64)


# --- The smooth sensitivity of the impurity of a node's test


def impurity(p, q):
    return Fraction(2 * p * q, p + q) if p + q else Fraction(0)


def gini(a, b, c, d):
    n = a + b + c + d
    return (impurity(a, b) + impurity(c, d)) / n if n else Fraction(0)


def tables(rows):
    """All tables of a node's rows by side of a test and class."""
    return [cells for cells in product(range(rows + 1), repeat=4) if sum(cells) == rows]


def added_row(cells):
    """The local sensitivity as published: the largest change by one row more."""
    more = [tuple(n + (i == k) for i, n in enumerate(cells)) for k in range(4)]
    return max(abs(gini(*item) - gini(*cells)) for item in more)


def test_the_sensitivity_of_a_node_to_an_added_row_is_that_of_a_rule():
    for rows in range(11):
        assert max(map(added_row, tables(rows))) == Fraction(2 * rows, (rows + 1) ** 2)


@pytest.mark.parametrize("min_support", [1, 2, 3])
@pytest.mark.parametrize("beta", [0.05, 0.3])
def test_the_published_s_is_the_largest_smooth_sensitivity_of_any_table(min_support, beta):
    """By definition: local sensitivity of every table within reach times exp(-β·distance); tables of up to 6 rows."""
    reach = [(cells, float(added_row(cells))) for rows in range(min_support, 7) for cells in tables(rows)]
    cells, local = np.array([item for item, _ in reach]), np.array([value for _, value in reach])
    distance = np.abs(cells[:, None, :] - cells[None]).sum(axis=2)
    slow = (np.exp(-beta * distance) * local).max(axis=1)
    for rows in range(min_support, 5):  # larger tables, at a distance, have smaller local sensitivities
        published = float(smooth_sensitivity(rows, min_support=min_support, beta=beta))
        assert slow[cells.sum(axis=1) == rows].max() == pytest.approx(published, rel=1e-12)


def test_a_removed_row_can_change_more_than_the_published_sensitivity():
    assert abs(gini(1, 1, 0, 0) - gini(1, 0, 0, 0)) == Fraction(1, 2) > added_row((1, 1, 0, 0))


# --- Shares of ε


class Scripted:
    """Noise that replays a script of answers: whether a support passes, and which index is chosen."""

    def __init__(self, script):
        self.script, self.options = list(script), []

    def prepare(self, mechanism):
        def answer(values):
            if isinstance(mechanism, DiscreteLaplace) and len(values) == 2:
                return list(values)
            number = len(values) if isinstance(mechanism, NoisyMin) else 2
            self.options.append(number)
            pick = self.script[len(self.options) - 1] if len(self.options) <= len(self.script) else 0
            return pick if isinstance(mechanism, NoisyMin) else [10**6 * pick]

        return answer


def all_runs(tree, tally):
    """Every sequence of answers that a tree can get, with its result."""
    open_scripts = [()]
    while open_scripts:
        script = open_scripts.pop()
        noise = Scripted(script)
        result = tree.grow(tally, noise)
        taken = [*script, *[0] * (len(noise.options) - len(script))]
        yield result
        for place in range(len(script), len(noise.options)):
            open_scripts += [(*taken[:place], pick) for pick in range(1, noise.options[place])]


def leaf_paths(tree, space, path=()):
    if isinstance(tree, LeafNode):
        return [path]
    sides = ((*path, int(space.sides(branch)[tree.option])) for branch in (0, 1))
    return [
        item
        for part, below in zip((tree.caught, tree.left), sides, strict=True)
        for item in leaf_paths(part, space, below)
    ]


@pytest.mark.parametrize(("depth", "min_support", "runs"), [(0, 2, 1), (1, 2, 4), (2, 2, 20), (2, 1, 9), (3, 2, 20)])
def test_every_path_of_every_tree_spends_exactly_epsilon(depth, min_support, runs):
    tally = Tally.count(*table(2, 50))
    tree = smooth_tree(tally, depth=depth, min_support=min_support, epsilon=Fraction(7, 10))
    results = list(all_runs(tree, tally))
    assert len(results) == runs
    for grown, releases in results:
        for leaf in leaf_paths(grown, tree.space):
            on_path = [item for item in releases if item.path == leaf[: len(item.path)]]
            assert sum(item.epsilon for item in on_path) == Fraction(7, 10)
            tests = [item.kind for item in on_path].count("test")
            assert sum(item.delta for item in on_path) == tree.delta * tests / max(depth, 1)
            assert all(item.epsilon == tree.share for item in on_path if item.kind != "leaf" or len(leaf) == depth)
            assert [item.kind for item in on_path].count("leaf") == 1
        assert len({(item.path, item.kind) for item in releases}) == len(releases)


# --- Limits


def slow_greedy(X, y, depth, used=()):
    """The greedy tree of 0/1 columns by the smallest Gini impurity; nested tuples of column and parts, or a class."""
    label = int((y == 0).sum() <= (y == 1).sum())
    columns = [k for k in range(X.shape[1]) if k not in used]
    if not depth or not columns:
        return label
    sides = {k: [y[X[:, k] == value] for value in (1, 0)] for k in columns}
    scores = [gini(*[int((side == c).sum()) for side in sides[k] for c in (0, 1)]) for k in columns]
    best = columns[scores.index(min(scores))]
    if min(scores) >= gini(int((y == 0).sum()), int((y == 1).sum()), 0, 0):
        return label
    parts = [slow_greedy(X[X[:, best] == v], y[X[:, best] == v], depth - 1, (*used, best)) for v in (1, 0)]
    return best, *parts


def nested(tree, space):
    if isinstance(tree, LeafNode):
        return tree.value
    (literal,) = space.antecedents[tree.option]
    return int(literal.attribute[1:]), nested(tree.caught, space), nested(tree.left, space)


@pytest.mark.parametrize("mechanism", study.SMOOTH)
@pytest.mark.parametrize("seed", range(5))
def test_without_noise_it_is_the_greedy_tree(mechanism, seed):
    X, y = table(4, 301, seed)
    tally = Tally.count(pd.DataFrame(X == 1, columns=[f"x{k}" for k in range(4)]), pd.Series(y, name="y"))
    delta = Fraction(1, 10**6) if mechanism == "smooth-laplace" else Fraction(0)
    tree = smooth_tree(tally, mechanism=mechanism, delta=delta, epsilon=Fraction(10**9), min_support=1, depth=2)
    grown, _ = tree.grow(tally, SeededNoise(np.random.default_rng(seed)))
    assert nested(grown, tree.space) == slow_greedy(X, y, 2)
    slow = np.array([predicted(slow_greedy(X, y, 2), row) for row in X])
    assert accuracy(grown, tree.space, tally) == pytest.approx((slow == y).mean())


def predicted(tree, row):
    return tree if isinstance(tree, int) else predicted(tree[1] if row[tree[0]] else tree[2], row)


def test_too_few_rows_make_a_leaf():
    tally = Tally.count(*table(3, 60))
    tree = smooth_tree(tally, min_support=60, epsilon=Fraction(10**6))
    grown, releases = tree.grow(tally, SeededNoise(np.random.default_rng(0)))
    assert isinstance(grown, LeafNode)
    assert [item.kind for item in releases] == ["support", "leaf"]


def test_a_leaf_of_equal_noisy_counts_has_the_second_class_as_in_ssrl():
    tally = Tally.count(np.array([[0], [1]]), np.array([0, 1]))
    grown, _ = smooth_tree(tally, depth=0).grow(tally, Scripted(()))
    assert grown == LeafNode(1)


def test_a_seed_repeats_a_tree():
    tally = Tally.count(*table(6, 200))
    tree = smooth_tree(tally, depth=3, min_support=1)
    grown = [tree.grow(tally, SeededNoise(np.random.default_rng(seed)))[0] for seed in (1, 1, 2)]
    assert grown[0] == grown[1] != grown[2]
    assert isinstance(grown[0], InnerNode)


# --- The exact loss of a choice


@pytest.mark.parametrize("gap", [0.0, 0.5, 3.0, 20.0])
def test_chances_of_two_laplace_candidates_are_the_closed_form(gap):
    p = loss.STANDARD["laplace"].chances([0, gap], [1, 1])
    assert p[1] == pytest.approx(exp(-gap) * (1 + gap / 2) / 2, rel=1e-11)
    assert p.sum() == pytest.approx(1, abs=1e-13)


@pytest.mark.parametrize("noise", ["laplace", "cauchy"])
def test_chances_of_groups_are_those_of_their_members(noise):
    chances = loss.STANDARD[noise].chances
    apart, together = chances([0, 1.3, 1.3, 1.3, 9], [1] * 5), chances([0, 1.3, 9], [1, 3, 1])
    assert together == pytest.approx([apart[0], apart[1:4].sum(), apart[4]], rel=1e-11)
    assert chances([0, 2, 40], [1, 5000, 3]).sum() == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("made", [smooth_laplace(ONE, Fraction(1, 100)), smooth_cauchy(ONE)])
def test_chances_are_the_frequencies_of_the_mechanism(made):
    """20,000 draws; each of 6 frequencies is within 4.5 standard deviations but in 1 of 20,000 runs."""
    rng, n = np.random.default_rng(0), 20_000
    scores = np.array([0.0, 1.0, 2.5])
    p = loss.standard(made).chances(scores / made.scale, [1, 1, 1])
    drawn = np.bincount([made.simulate(scores, rng) for _ in range(n)], minlength=3)
    assert (np.abs(drawn - n * p) < 4.5 * np.sqrt(n * p * (1 - p))).all()


def slow_change(rows, min_support, beta):
    """Γ by enumeration of all pairs of tests of all tables."""
    before, after = (float(smooth_sensitivity(n, min_support=min_support, beta=beta)) for n in (rows, rows + 1))
    largest = 0.0
    for first, label in product(range(rows + 1), (0, 1)):
        moves = []
        for a, b in product(range(first + 1), range(rows - first + 1)):
            cells = (a, b, first - a, rows - first - b)
            for side in (0, 1):
                more = tuple(n + (place == 2 * side + label) for place, n in enumerate(cells))
                moves.append(float(gini(*more)) / after - float(gini(*cells)) / before)
        largest = max(largest, max(moves) - min(moves))
    return largest


@pytest.mark.parametrize("min_support", [1, 3, 10])
@pytest.mark.parametrize("beta", [0.01, 0.2, 2.0])
def test_no_difference_of_scores_changes_by_more_than_the_bound(min_support, beta):
    slow = np.array([slow_change(rows, min_support, beta) for rows in range(1, 9)])
    bound = loss.change_bound(np.arange(1, 9), min_support, beta)
    assert (slow <= bound * (1 + 1e-12)).all()
    assert (slow >= bound / 2).all()


@pytest.mark.parametrize("made", [smooth_laplace(ONE, Fraction(1, 100)), smooth_cauchy(ONE)])
def test_the_exact_loss_of_a_choice_keeps_to_its_bound(made):
    """All pairs of tests, and none, on all tables of up to three rows."""
    for rows in (1, 2, 3):
        bound = loss.standard(made).loss_of_shift(float(loss.change_bound(rows, 2, made.beta)) / made.scale)
        assert bound / 4 < choices.largest_loss(rows, made, 2) <= bound


def test_a_shift_of_laplace_noise_costs_itself_and_of_cauchy_noise_less():
    assert loss.STANDARD["laplace"].loss_of_shift(0.7) == pytest.approx(0.7, rel=1e-6)
    c = np.linspace(-20, 20, 40_001)
    slow = np.log(loss.STANDARD["cauchy"].survival(-c - 0.7) / loss.STANDARD["cauchy"].survival(-c)).max()
    assert loss.STANDARD["cauchy"].loss_of_shift(0.7) == pytest.approx(slow, rel=1e-6)


def test_neighbours_are_all_pairs_of_tests_and_rows():
    both = list(loss.neighbours(2))
    assert len(both) == sum(((p + 1) * (3 - p)) ** 2 for p in range(3)) * 2 * 4
    for (caught, total), (more, whole) in both:
        assert (caught <= total).all()
        assert (more <= whole).all()
        assert whole.sum() == total.sum() + 1 == 3
        assert set((more - caught).sum(axis=1).tolist()) <= {0, 1}


@pytest.mark.parametrize("missing", [-3, 0, 1, 4])
def test_a_support_passes_with_the_tail_of_discrete_laplace_noise(missing):
    epsilon = 0.3
    weights = {k: exp(-epsilon * abs(k)) for k in range(-300, 301)}
    slow = sum(weight for k, weight in weights.items() if k >= missing) / sum(weights.values())
    assert loss.passing(epsilon, missing) == pytest.approx(slow, rel=1e-12)


# --- Counterexamples


class Recorded:
    """Noise that passes every support, takes the first rules in order, and keeps the scores of choices."""

    no_guarantee_reason, description = "recorded", "recorded"

    def __init__(self, picks):
        self.picks, self.scores = list(picks), []

    def prepare(self, mechanism):
        def answer(values):
            if isinstance(mechanism, NoisyMin):
                self.scores.append(np.asarray(values) / mechanism.scale)
                return self.picks.pop(0)
            return [10**6 + int(value) for value in values] if len(values) == 1 else list(values)

        return answer


def rare_frame(rows, rest, first, second, *, larger):
    r = np.arange(rows + larger) < rows - rest
    columns = {f"r{k}": r for k in range(first)}
    columns |= {f"s{k}": np.arange(rows + larger) >= rows for k in range(second)}
    return pd.DataFrame(columns), (np.arange(rows + larger) >= rows).astype(int)


@pytest.mark.parametrize("larger", [False, True])
def test_the_published_list_has_the_scores_of_the_counterexample(larger):
    tables_of = loss.RareRows(rows=200, rest=3, first=3, second=2)
    X, y = rare_frame(200, 3, 3, 2, larger=larger)
    noise = Recorded([0, 0, 0])
    schema = hr.Schema({name: hr.Boolean() for name in X}, hr.Label("y", (0, 1)))
    options = {"max_rules": 4, "max_literals": 1, "negations": False, "min_remaining": 0.2, "schema": schema}
    clf = hr.DPGreedyRLClassifier(1.0, delta=1e-6, random_state=noise, **options).fit(X, y)
    published = choices.PUBLISHED["smooth-laplace"]
    share = published.node_epsilon(ONE, 4)
    node = loss.Node(published.mechanism(share, Fraction(1e-6) / 3, 1), 40, 0.99)
    assert len(clf.rule_list_.rules) == 4
    for place, scores in enumerate(noise.scores):
        caught, total = tables_of.caught(place, larger=larger)
        r, s, stop = loss.scaled_scores(caught, total, node.choice, node.min_support)
        assert scores == pytest.approx([*[r] * (3 - place), *[s] * 2, stop], abs=1e-15)


RARE = {"rest": 1, "first": 4, "second": 1}


def list_node(rows, **reading):
    """COMPAS's settings at ε = .1: K = 5, λ = .05, C = .99, δ = 1/n²."""
    share, delta = Fraction(1, 10) / 14, Fraction(1, rows**2)
    return loss.Node(smooth_laplace(share, delta / 4), rows // 20, 0.99, **reading), float(share), float(delta)


def rule_chances(node, *, larger):
    """The probability of every beginning of up to four rules on the tables of the counterexample, of 4,305 rows."""
    return np.exp(loss.RareRows(4305, **RARE).log_chances(node, 4, larger=larger))


@pytest.mark.parametrize("larger", [False, True])
def test_the_beginnings_of_lists_are_all_lists(larger):
    node, *_ = list_node(4305)
    chances = rule_chances(node, larger=larger)
    assert len(chances) == 9
    assert chances.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("negative_steps", [False, True])
def test_a_published_list_spends_more_than_it_claims(continuous, negative_steps):
    """The list [r, s], with the rows of the paper, by every reading of the test of the support and of S*."""
    node, share, delta = list_node(4305, continuous=continuous, negative_steps=negative_steps)
    smaller, larger = (rule_chances(node, larger=more) for more in (False, True))
    # On the smaller table all scores are 0: 4 of 6 candidates are right, then one of 5. 𝒯 is 549.
    passes = exp(-share * (215 + 549 - 1)) / (2 if continuous else 1 + exp(-share))
    assert smaller[2] == pytest.approx(4 / 6 * passes / 5, rel=1e-9)
    # On the larger table s leads by 1/2 in units of S*, which is g(215), or by Theorem 4.1's term with k = 2 − 215.
    sensitivity = 2 * 215 / 216**2 * exp(node.choice.beta * 213 if negative_steps else 0)
    leads = leader_wins(0.5 / sensitivity * share / 2, 4)
    assert larger[2] / (1 - larger[:2].sum()) == pytest.approx(passes * exp(share) * leads, rel=1e-6)
    assert larger[2] - exp(0.1) * smaller[2] > 450 * delta
    exact, _ = loss.RareRows(4305, **RARE).difference(node, 4, 0.1)
    assert exact >= larger[2] - exp(0.1) * smaller[2]


def test_tables_of_the_counterexample_have_the_same_support():
    for dataset in ("compas", "german", "adult"):
        node, rows, _ = choices.list_node(dataset, "smooth-laplace", 0.1)
        supports = {choices.least_support(choices.DATASETS[dataset].min_support, n) for n in (rows, rows + 1)}
        assert supports == {node.min_support}


def leader_wins(gap, others):
    """The chance of a candidate that leads some others by a gap."""

    def survival(z):
        return exp(-z) / 2 if z > 0 else 1 - exp(z) / 2

    def integrand(z):
        return exp(-abs(z)) / 2 * survival(z - gap) ** others

    return sum(quad(integrand, a, b, epsabs=0, epsrel=1e-10)[0] for a, b in ((-60, 0), (0, gap), (gap, 60)))


def test_many_candidates_break_the_claim_of_one_choice():
    """3,001 rows, Λ = 1, 10 million rules, δ = 10⁻⁶; the chance of the pure rule by another quadrature."""
    delta, candidates = Fraction(1, 10**6), 10**7
    made = choices.steepest(3001, delta)
    p, q = loss.many_candidates(3001, 99, candidates, made)
    epsilon = float(made.epsilon)
    assert loss.delta_at(epsilon, p, q) > 3 * float(delta)
    for chance, rows in ((p[1], (3001, 0)), (q[1], (3002, 1))):
        n, more = rows
        score = float(gini(99, more, 1451, 1451))
        smooth = float(smooth_sensitivity(n, min_support=1, beta=made.beta))
        assert chance == pytest.approx(pure_loses(score / smooth / made.scale, candidates), rel=1e-6)


def pure_loses(gap, candidates):
    """The chance that the least of many noisy scores, behind by a gap, is below the noise of the pure rule."""

    def integrand(z):  # the noise of the pure rule
        x = z - gap
        below = exp(x) / 2 if x < 0 else 1 - exp(-x) / 2
        return exp(-abs(z)) / 2 * -np.expm1(candidates * log1p(-below) if below < 1 else -inf)

    ends = (-60, 0, gap - log(candidates) - 5, gap - log(candidates), gap - log(candidates) + 5, gap, gap + 60)
    ends = sorted(set(ends))
    return sum(quad(integrand, a, b, epsabs=0, epsrel=1e-11, limit=200)[0] for a, b in pairwise(ends))


def test_they_break_it_too_if_s_covers_removed_rows():
    """S* by definition: the local sensitivity to a row more or less, g(n) and g(n - 1), at any distance."""
    made = choices.steepest(3001, Fraction(1, 10**6))
    g = {n: 2 * n / (n + 1) ** 2 for n in range(4002)}
    for rows in (3001, 3002):
        slow = max(max(g[n], g[n - 1]) * exp(-made.beta * abs(rows - n)) for n in range(1, 4001))
        assert slow == pytest.approx(float(smooth_sensitivity(rows - 1, min_support=1, beta=made.beta)), rel=1e-12)
    p, q = loss.many_candidates(3001, 99, 10**7, made, fewer=1)
    assert loss.delta_at(float(made.epsilon), p, q) > 2.5e-6


def test_many_candidates_have_the_counts_that_are_stated():
    made = choices.steepest(901, Fraction(1, 10**6))
    for more in (0, 1):
        cells = np.array([[99 + 401, 0], [99, more]])
        exact = [gini(500, 0, 0, 401 + more), gini(99, more, 401, 401), gini(500, 401 + more, 0, 0)]
        assert gini_scores(cells, np.array([500, 401 + more])) == pytest.approx([float(item) for item in exact])
    p, q = loss.many_candidates(901, 99, 10, made)
    assert [p.sum(), q.sum()] == pytest.approx([1, 1])


# --- The measurement


def test_a_run_measures_every_method_and_repeats():
    trees = study.Trees("compas", (2,), (0.5,))
    records = trees(0)
    assert records == trees(0)
    methods = [(item["method"], item["size"]) for item in records]
    assert set(methods) == {
        (study.CART, "depth 2"),
        *((name, size) for name in study.SMOOTH for size in ("depth 2", study.LISTS)),
        *((name, "depth 2") for name in (*study.WITHOUT_TEST, *study.PROVEN)),
    }
    assert all(0.3 < item["accuracy"] < 0.8 for item in records)


def test_differences_are_paired_by_split():
    exact, other = np.array([0.7, 0.8, 0.9]), np.array([0.6, 0.7, 0.7])
    runs = pd.DataFrame({
        "dataset": "d", "size": "depth 2", "epsilon": 1.0, "run": [*range(3), *range(3)],
        "method": [study.EXACT] * 3 + ["smooth-laplace"] * 3, "accuracy": [*exact, *other],
    })  # fmt: skip
    means = study.paired(runs).set_index("method")
    gain = exact - other
    assert means.loc["smooth-laplace", "exact ahead"] == pytest.approx(gain.mean())
    assert means.loc["smooth-laplace", "exact ahead se"] == pytest.approx(gain.std(ddof=1) / 3**0.5)
    assert np.isnan(means.loc[study.EXACT, "exact ahead"])


@pytest.mark.parametrize("function", [choices.bounds, choices.rare_rows, choices.many_rules])
def test_committed_numbers_are_made_again(function):
    """The first line of each file; the page's tables are made of these files."""
    committed = pd.read_csv(study.FOLDER / f"{function.__name__}.csv").iloc[0]
    for name, value in next(function()).items():
        assert committed[name] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-5)), name
