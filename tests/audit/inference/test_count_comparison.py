"""Stored counts beside rows: other rows are noticed as far as the noise allows, and the training rows always pass."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hedgerow as hr
from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.inference import count_comparison
from hedgerow.audit.inference.count_comparison import compare_bins, compare_counts
from hedgerow.audit.readers.ensembles import trees_of
from hedgerow.audit.readers.read import paths_of
from hedgerow.models import Leaf, Split, Tree
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.released import released_model
from hedgerow.privacy.card import SOFTWARE, PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.unit import Unit
from hedgerow.schema import Boolean, Integer, Label, Literal, Number, Schema
from hedgerow.tally import Tally

LEAVES = 16
SCHEMA = Schema({"code": Integer(0, LEAVES - 1, cuts=tuple(range(LEAVES - 1)))}, Label("y", ("no", "yes")))
SCALE = 5
MECHANISM = DiscreteLaplace(Fraction(1, SCALE))
COUNTED = Charge(Fact("leaf_counts", of="leaves"), Fraction(1, SCALE), mechanism=MECHANISM.record)
NOISY = PrivacyCard((COUNTED,), noise="OpenDP", software=SOFTWARE)
EXACT = PrivacyCard.none("example")


def tree(counts, card, schema=SCHEMA):
    """Return a tree whose leaf i has the rows with code i, with these counts."""
    node = Leaf(tuple(map(int, counts[-1])))
    for code in reversed(range(len(counts) - 1)):
        node = Split(Literal("code", "<=", (code,)), Leaf(tuple(map(int, counts[code]))), node)
    return Tree(schema, node, card)


def table(counts):
    """Return rows with these counts by code and class, and their classes."""
    rows = [(code, k) for code, own in enumerate(counts) for k, n in enumerate(own) for _ in range(int(n))]
    frame = pd.DataFrame(rows, columns=["code", "y"])
    return frame[["code"]], frame["y"].map({0: "no", 1: "yes"})


def noised(counts, rng):
    return np.reshape(MECHANISM.simulate(np.ravel(counts), rng), np.shape(counts))


def compared(model, X, y=None, schema=None, features=None):
    released = released_model(model)
    paths, schema = paths_of(model, schema, features)
    domain = Domain.of(schema, paths.literals)
    paths = normalised(paths, domain.schema)
    return compare_counts(model if released is None else released, paths, paths.apply(X, domain.schema), X, y)


def outcome(found):
    return "other rows" if found.is_mismatch else found.obstacle or "same rows"


def changed(counts, rng):
    """Return rows that are not those of the counts, by what was done to them."""
    X, y = table(counts)
    kept = rng.permutation(len(y)) >= len(y) // 20
    twice = np.concatenate([np.arange(len(y)), np.flatnonzero(~kept)])
    order = rng.permutation(len(y))
    return {
        "same rows": (X, y),
        "another order": (X.iloc[order], y.iloc[order]),
        "without 5 %": (X[kept], y[kept]),
        "5 % twice": (X.iloc[twice], y.iloc[twice]),
        "shuffled classes": (X, pd.Series(y.to_numpy()[order], index=y.index)),
        "other rows": table(rng.poisson(np.mean(counts), np.shape(counts))),
    }


SAME = {"same rows", "another order"}
COUNTS = np.column_stack([np.linspace(400, 40, LEAVES), np.linspace(40, 400, LEAVES)]).astype(int)


def test_exact_counts_detect_every_other_table():
    model = tree(COUNTS, EXACT)
    for name, rows in changed(COUNTS, np.random.default_rng(0)).items():
        assert outcome(compared(model, *rows)) == ("same rows" if name in SAME else "other rows")
    X, _ = table(COUNTS)
    assert outcome(compared(model, X)) == "same rows"
    assert not compared(model, *changed(COUNTS, np.random.default_rng(0))["shuffled classes"][:1]).is_mismatch


def test_noisy_counts_detect_other_tables_by_all_leaves_together():
    rng = np.random.default_rng(0)
    model = tree(noised(COUNTS, rng), NOISY)
    for name, rows in changed(COUNTS, rng).items():
        result = compared(model, *rows)
        assert outcome(result) == ("same rows" if name in SAME else "other rows"), name
        assert result.hidden > 0


def test_rows_that_differ_a_little_in_every_leaf_are_noticed():
    """No leaf alone is off by what the noise cannot explain."""
    rng = np.random.default_rng(0)
    model = tree(noised(COUNTS, rng), NOISY)
    signs = np.where(rng.permutation(2 * LEAVES) % 2, 1, -1).reshape(LEAVES, 2)
    result = compared(model, *table(COUNTS + 18 * signs))
    assert (outcome(result), result.hidden > 2 * 18) == ("other rows", True)
    assert outcome(compared(model, *table(COUNTS + signs))) == "same rows"


@pytest.mark.parametrize(
    "draws", [200, pytest.param(2_000, marks=pytest.mark.statistics), pytest.param(10_000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("has_labels", [True, False])
def test_the_training_rows_mismatch_at_most_at_the_stated_rate(monkeypatch, draws, has_labels):
    """At a rate of 5 % in place of 10^-6, which no simulation could see. False alarm of the test: 10^-4."""
    monkeypatch.setattr(count_comparison, "FALSE_ALARM", 0.05)
    few = COUNTS // 40
    rng, (X, y) = np.random.default_rng(0), table(few)
    paths, _ = paths_of(tree(few, NOISY))
    given = paths, X.code.to_numpy().astype(np.intp), X, y if has_labels else None
    result = [compare_counts(tree(noised(few, rng), NOISY), *given) for _ in range(draws)]
    assert sum(item.is_mismatch for item in result) <= binom.ppf(1 - 1e-4, draws, 0.05)
    if draws > 200 and has_labels:
        assert sum(item.is_mismatch for item in result) >= binom.ppf(1e-4, draws, 0.01)  # the bounds are not loose


@pytest.mark.parametrize(
    "fits", [2, pytest.param(100, marks=pytest.mark.statistics), pytest.param(350, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "learner",
    [
        lambda **given: hr.PrivateTreeClassifier(max_depth=2, **given),
        lambda **given: hr.PrivateRuleListClassifier(max_rules=2, max_literals=1, **given),
        hr.PrivateScorecardClassifier,
    ],
    ids=["tree", "list", "scorecard"],
)
def test_the_training_rows_never_mismatch_exact_counts(learner, fits):
    """Of 300 or 1,050 fits, none; at one chance in a million each."""
    X, y = patients()
    for seed in range(fits):
        model = released_model(learner(epsilon=(0.3, 10)[seed % 2], schema=CARE, random_state=seed).fit(X, y))
        result = compare_bins(model, X) if model.has_points else compared(model, X, y)
        assert not result.is_mismatch


CARE = Schema({"old": Boolean(), "ill": Boolean(), "age": Integer(0, 99, cuts=(30, 60))}, Label("y", ("no", "yes")))


def patients(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"old": rng.random(n) < 0.4, "ill": rng.random(n) < 0.5, "age": rng.integers(0, 100, n)})
    return X, pd.Series(np.where(rng.random(n) < 0.2 + 0.5 * X.old, "yes", "no"), name="y")


def test_the_bin_counts_of_a_scorecard_detect_other_tables():
    X, y = patients()
    model = released_model(hr.PrivateScorecardClassifier(10, schema=CARE, random_state=0).fit(X, y))
    assert outcome(compare_bins(model, X)) == outcome(compare_bins(model, X[::-1])) == "same rows"
    assert outcome(compare_bins(model, Tally.count(X, y, CARE))) == "same rows"
    assert outcome(compare_bins(model, X[100:])) == "other rows"
    assert outcome(compare_bins(model, patients(1_800, seed=1)[0])) == "other rows"
    vague = released_model(hr.PrivateScorecardClassifier("0.001", schema=CARE, random_state=0).fit(X, y))
    assert outcome(compare_bins(vague, X)) == "large_noise"
    assert outcome(compare_bins(replace(model, parts=()), X)) == "no_counts"


@pytest.mark.parametrize("kind", ["counts", "sums"])
def test_released_counts_and_sums_of_a_number_are_compared(kind):
    schema = replace(CARE, label=Number("cost", 0, 80, 8))
    X, cost = patients()[0], pd.Series(np.random.default_rng(0).integers(0, 80, 2_000).astype(float), name="cost")
    given = {"release_counts": True} if kind == "counts" else {}
    fitted = hr.PrivateTreeRegressor(30, schema=schema, max_depth=1, random_state=0, **given).fit(X, cost)
    model = released_model(fitted)
    assert model.leaf_release.kind == kind
    assert outcome(compared(model, X, cost)) == outcome(compared(model, X)) == "same rows"
    assert outcome(compared(model, X[:1_900], cost[:1_900])) == outcome(compared(model, X[:1_900])) == "other rows"
    assert outcome(compared(model, X, 79 - cost)) == "other rows"


def unit_table(n_units=300, most=4):
    """Return rows of units that have 1 to `most` rows each, and how many rows each has."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, most + 1, n_units)
    units = np.repeat(np.arange(n_units), sizes)
    code = rng.integers(0, LEAVES, len(units))
    X = pd.DataFrame({"code": code, "person": units})
    return X, pd.Series(np.where(rng.random(len(units)) < 0.5, "yes", "no"), name="y"), sizes


@pytest.mark.parametrize("card", [EXACT, NOISY], ids=["exact", "noisy"])
@pytest.mark.parametrize("seed", range(2))
def test_sampled_rows_are_compared_if_the_unit_column_exists(card, seed):
    schema = replace(SCHEMA, unit=Unit("person", 2))
    X, y, sizes = unit_table(3_000)
    counted = Tally.count(X, y, schema)  # as a fit counts them
    counts = np.zeros((LEAVES, 2), dtype=int)
    np.add.at(counts, counted.bins(["code"])["code"], counted.bins_and_counts()[1])
    assert counts.sum() == np.minimum(sizes, 2).sum() < len(X)
    model = tree(counts if card is EXACT else noised(counts, np.random.default_rng(seed)), card, schema)
    assert outcome(compared(model, X, y)) == "same rows"
    assert outcome(compared(model, X.drop(columns="person"), y)) == "units"
    assert outcome(compared(model, counted)) == "units"
    most = np.bincount(X.code[np.repeat(sizes, sizes) > 2], minlength=LEAVES).max()  # may or may not have been drawn
    assert compared(model, X, y).undrawn == most > 0
    assert "sampling of rows of each unit" in compared(model, X, y).sentence
    few = X.person < 2_000
    for rows in ((X[few], y[few]), (X[few].drop(columns="person"), y[few])):
        assert outcome(compared(model, *rows)) == "other rows"


def test_the_reason_why_counts_cannot_be_compared():
    X, y = table(COUNTS)
    unstated = replace(NOISY, charges=(Charge("counts", Fraction(1)),))
    assert outcome(compared(tree(COUNTS, unstated), X, y)) == "unknown_noise"
    labels = Tree(SCHEMA, Split(Literal("code", "<=", (3,)), Leaf(label="no"), Leaf(label="yes")), NOISY)
    assert outcome(compared(labels, X, y)) == "no_counts"
    wide = replace(COUNTED, epsilon=Fraction(1, 10_000), mechanism=DiscreteLaplace(Fraction(1, 10_000)).record)
    assert outcome(compared(tree(COUNTS, replace(NOISY, charges=(wide,))), X, y)) == "large_noise"
    assert "could have produced all counts" in compared(tree(COUNTS, replace(NOISY, charges=(wide,))), X, y).sentence


def test_a_leaf_without_counts_hides_no_other_leaf():
    counts = COUNTS[:3]
    X, y = table(counts)
    model = tree(counts, EXACT)
    root = model.root
    partial = replace(model, root=Split(root.literal, Leaf(label="no"), root.false))
    assert outcome(compared(partial, X, y)) == "same rows"
    assert outcome(compared(partial, X[X.code != 0], y[X.code != 0])) == "same rows"
    assert outcome(compared(partial, X[:-1], y[:-1])) == "other rows"


def test_trees_of_scikit_learn_match_their_training_rows():
    X, y = table(COUNTS)
    half = np.random.default_rng(0).random(len(y)) < 0.5
    for kind in (DecisionTreeClassifier, DecisionTreeRegressor):
        grown = kind(max_depth=2, random_state=0).fit(X[half], y[half] == "yes")
        assert outcome(compared(grown, X[half], y[half] == "yes", SCHEMA)) == "same rows"
        assert outcome(compared(grown, X[~half], y[~half] == "yes", SCHEMA)) == "other rows"
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X[half], y[half])
    for member, features in trees_of(forest, SCHEMA):
        assert outcome(compared(member, X[half], y[half], SCHEMA, features)) == "draws"
        assert outcome(compared(member, X[:500], y[:500], SCHEMA, features)) == "other rows"


def test_audits_of_other_rows_say_so():
    X, y = table(COUNTS)
    model = tree(COUNTS, EXACT)
    for rows, is_noted in (((X, y), False), ((X[1:], y[1:]), True), ((X, y[::-1].set_axis(y.index)), True)):
        risk = hr.audit.leaf_risk(model, rows)
        assert bool(risk.note) == ("do not match" in str(risk)) == is_noted
    assert not hr.audit.joint_reconstruction([model, model], X).note
    assert hr.audit.joint_reconstruction([model, model], X[1:]).note


def test_the_sizes_of_noise_have_an_exact_distribution():
    """Against the convolution of the probabilities, and the bounds of sums against simulated noise."""
    noise, number = CountNoise(2.0), 3
    stay = np.exp(-1 / 2)
    sizes = (1 - stay) / (1 + stay) * np.concatenate([[1.0], 2 * stay ** np.arange(1, 200)])
    together = np.convolve(np.convolve(sizes, sizes), sizes)
    for off in (0, 1, 5, 30, 60):
        assert noise.size_tail(number, off) == pytest.approx(together[off:].sum(), rel=1e-6)
    for terms in (1, 4):
        bound, spread = noise.bound(terms, 1e-4), noise.spread(terms, 1 - 1e-4)
        assert spread <= bound <= 1.5 * spread
    assert CountNoise(0.0).bound(3, 1e-6) == CountNoise(0.0).size_tail(3, 1) == 0
    assert CountNoise(0.0).size_tail(3, 0) == 1
