"""The label-only attack on raw values: exact distances by enumeration, models that must and cannot be attacked."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import ShadowMembership
from hedgerow.audit.inference.targets import Shadows
from hedgerow.tables.frames import Table
from studies.label_only import study
from studies.label_only.attacks import Noise, Walk, noisy
from studies.label_only.boundary import Regions
from studies.label_only.domain import Domain, Rows, load

LABEL = hr.Label("y", (0, 1))
SCHEMA = hr.Schema(
    {
        "age": hr.Integer(0, 6, (1, 3, 4)),
        "ward": hr.Categorical((0, 1, 2)),
        "dose": hr.Integer(-2, 3, (-1, 1)),
        "smoker": hr.Categorical((0, 1)),
    },
    LABEL,
)
ALL_ROWS = np.array(list(product(range(7), range(3), range(-2, 4), range(2))), dtype=float)
LEARNERS = {
    "list": lambda _: hr.GreedyRuleListClassifier(max_rules=5, schema=SCHEMA),
    "smooth": lambda seed: hr.DPGreedyRLClassifier(
        10.0, mechanism="smooth-laplace", max_rules=5, delta=Fraction(1, 100), schema=SCHEMA, random_state=seed
    ),
    "optimal": lambda _: hr.OptimalTreeClassifier(max_depth=3, schema=SCHEMA),
    "private": lambda seed: hr.PrivateTreeClassifier(5.0, max_depth=2, schema=SCHEMA, random_state=seed),
    "cart": lambda seed: DecisionTreeClassifier(random_state=seed),
    "cart, depth 2": lambda seed: DecisionTreeClassifier(max_depth=2, random_state=seed),
}
pytestmark = pytest.mark.filterwarnings("ignore::hedgerow.errors.SeededNoiseWarning")


def fitted(kind: str, seed: int) -> tuple[study.Fit, Domain]:
    """Return a model of 60 random rows whose labels depend on all columns, with noise."""
    rng = np.random.default_rng(seed)
    values = ALL_ROWS[rng.integers(0, len(ALL_ROWS), 60)]
    classes = ((values[:, 0] > 3) ^ (values[:, 1] == seed % 3) ^ (rng.random(60) < 0.2)).astype(int)
    domain = Domain.of(SCHEMA, values)
    model = LEARNERS[kind](seed).fit(values, classes)
    return study.Fit(model, Rows(values, classes, domain), np.ones(60, dtype=bool), []), domain


def nearest_by_enumeration(predict, domain: Domain, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    labels, others = predict(values), predict(rows)
    return np.array([
        domain.distance(row, rows[others != label]).min(initial=math.inf)
        for row, label in zip(values, labels, strict=True)
    ])  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", LEARNERS)
def test_the_distance_is_that_to_the_nearest_of_all_rows(kind, seed):
    fit, domain = fitted(kind, seed)
    regions = Regions.of(fit.model, domain)
    np.testing.assert_array_equal(regions.predict(ALL_ROWS), fit.model.predict(ALL_ROWS))
    expected = nearest_by_enumeration(fit.model.predict, domain, ALL_ROWS[::5], ALL_ROWS)
    np.testing.assert_allclose(regions.distances(ALL_ROWS[::5]), expected, atol=1e-12)


def test_some_models_of_these_tests_have_a_boundary_across_columns():
    result = [Regions.of(fit.model, domain).distances(ALL_ROWS) for fit, domain in (fitted(k, 0) for k in LEARNERS)]
    assert all(len(np.unique(distances.round(9))) > 2 for distances in result)


def test_the_distance_of_real_numbers_is_that_of_a_fine_grid():
    schema = hr.Schema({"a": hr.Real(0, 1, (0.3, 0.62)), "b": hr.Real(0, 2, (0.5, 1.1))}, LABEL)
    rng = np.random.default_rng(0)
    values = rng.random((200, 2)) * [1, 2]
    classes = ((values[:, 0] > 0.62) & (values[:, 1] <= 1.1)).astype(int)
    domain, some, step = Domain.of(schema, values), values[:40], 0.004
    axis = np.arange(0, 1 + step, step)
    grid = np.array(list(product(axis.clip(0, 1), (2 * axis).clip(0, 2))))
    for model in (
        hr.OptimalTreeClassifier(max_depth=2, schema=schema).fit(values, classes),
        DecisionTreeClassifier(random_state=0).fit(values, classes),
    ):
        exact = Regions.of(model, domain).distances(some)
        excess = nearest_by_enumeration(model.predict, domain, some, grid) - exact
        assert (excess >= -1e-6).all()
        assert (excess <= math.hypot(*(step * np.array([1, 2]) / domain.scale)) + 1e-6).all()
        walked = Walk(20).distances(model.predict, domain, some, values, rng)
        assert (walked >= exact - 1e-6).all()  # scikit-learn rounds to single precision
        assert np.isclose(walked, exact, atol=1e-5).mean() >= 0.9


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_walk_never_ends_before_the_boundary_and_mostly_at_it(kind):
    fit, domain = fitted(kind, 1)
    exact = Regions.of(fit.model, domain).distances(ALL_ROWS)
    walked = Walk(40).distances(fit.model.predict, domain, ALL_ROWS, ALL_ROWS, np.random.default_rng(0))
    assert (walked >= exact - 1e-9).all()
    assert np.isclose(walked, exact).mean() > 0.99


def test_wrong_rows_score_zero():
    fit, domain = fitted("list", 1)
    right = fit.model.predict(fit.rows.values) == fit.rows.classes
    assert 0 < right.sum() < len(right)
    for attack in (Noise(), Walk()):
        scores = attack.scores(fit.model.predict, domain, fit.rows.values, fit.rows.classes, np.random.default_rng(0))
        assert ((scores > 0) == right).all()


def test_noise_has_the_probabilities_of_the_definition():
    """Each of 28 + 6 + 24 + 4 shares within 4.5 standard deviations: a false alarm in 1 of 2,000 runs."""
    domain, n = Domain(SCHEMA, np.array([2.0, 1.0, 1.5, 1.0])), 40_000
    row, rng = np.array([5.0, 1.0, 0.0, 0.0]), np.random.default_rng(0)
    for scale in (0.3, 0.9):
        copies, swap = noisy(np.tile(row, (n, 1)), domain, scale, rng), min(scale**2, 0.5)
        for column, (low, high) in enumerate(((0, 6), (0, 2), (-2, 3), (0, 1))):
            for value in range(low, high + 1):
                if column in (0, 2):
                    spread = scale * domain.scale[column]
                    upper = math.inf if value == high else value + 0.5
                    lower = -math.inf if value == low else value - 0.5
                    chance = norm.cdf(upper, row[column], spread) - norm.cdf(lower, row[column], spread)
                else:
                    chance = 1 - swap if value == row[column] else swap / (high - low)
                error = 4.5 * math.sqrt(chance * (1 - chance) / n) + 1e-4
                assert abs((copies[:, column] == value).mean() - chance) < error


def test_the_score_by_noise_is_the_mean_over_all_perturbed_rows():
    fit, domain = fitted("optimal", 2)
    values, classes = fit.rows.values[:20], fit.rows.classes[:20]
    scores = Noise((0.4,), 4000).scores(fit.model.predict, domain, values, classes, np.random.default_rng(1))
    labels = fit.model.predict(ALL_ROWS)
    for row, label, score in zip(values, classes, scores, strict=True):
        if fit.model.predict(row[None]) == label:
            chance = (chances(domain, row, 0.4) * (labels == label)).sum()
            assert abs(score - chance) < 4.5 * math.sqrt(chance * (1 - chance) / 4000) + 1e-9
        else:
            assert score == 0


def chances(domain: Domain, row: np.ndarray, scale: float) -> np.ndarray:
    """Return the probability of each row of the domain as a perturbed copy of a row."""
    result, (low, high) = np.ones(len(ALL_ROWS)), domain.bounds
    for column in range(4):
        value, own, spread = ALL_ROWS[:, column], row[column], scale * domain.scale[column]
        if domain.numbers[column]:
            upper = np.where(value == high[column], np.inf, value + 0.5)
            lower = np.where(value == low[column], -np.inf, value - 0.5)
            result *= norm.cdf(upper, own, spread) - norm.cdf(lower, own, spread)
        else:
            result *= np.where(value == own, 1 - scale**2, scale**2 / (high[column] - low[column]))
    assert result.sum() == pytest.approx(1)
    return result


@pytest.mark.parametrize("kind", ["list", "smooth", "optimal", "private"])
def test_a_query_of_raw_values_is_a_query_of_bins(kind):
    """So a model with the cut points of the schema answers no query that the binarised row would not answer."""
    fit, _ = fitted(kind, 0)
    codes = np.column_stack(list(SCHEMA.encode(Table.of(ALL_ROWS)).values()))
    _, first, inverse = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    labels = fit.model.predict(ALL_ROWS)
    np.testing.assert_array_equal(labels, labels[first][inverse.ravel()])
    assert len(first) < len(ALL_ROWS)


@pytest.mark.parametrize("kind", ["list", "smooth", "optimal", "private"])
def test_the_model_of_bits_is_the_model(kind):
    fit, domain = fitted(kind, 2)
    bits, predict = study.binary(fit.model, Rows(ALL_ROWS, np.zeros(len(ALL_ROWS), dtype=int), domain))
    assert bits.shape == (len(ALL_ROWS), 3 + 3 + 2 + 2)
    np.testing.assert_array_equal(predict(bits), fit.model.predict(ALL_ROWS))


class Memory:
    """Model that knows the class of its training rows, and answers with the other class elsewhere."""

    def __init__(self, values, classes):
        self.rows = {tuple(row): label for row, label in zip(values.tolist(), classes.tolist(), strict=True)}

    def predict(self, values):
        return np.array([self.rows.get(tuple(row), 1) for row in values.tolist()])


def attacked(make, seed=0, n=40):
    """Return the scores of members and of all others, by each attack, on rows of class 0."""
    rng = np.random.default_rng(seed)
    values = ALL_ROWS[rng.permutation(len(ALL_ROWS))[:n]]
    rows = Rows(values, np.zeros(n, dtype=int), Domain.of(SCHEMA, values))
    member = np.arange(n) < n // 2
    fit = study.Fit(make(values[member], rows.classes[member]), rows, member, [])
    for name in ("label", "bins", "noise", "walk"):
        yield name, study.SIGNALS[name](fit, rng), member


def test_a_model_that_memorises_is_caught_without_error():
    for name, scores, member in attacked(Memory):
        assert roc_auc_score(member, scores) == 1.0, name


@pytest.mark.parametrize("label", [0, 1])
def test_a_constant_model_is_not_caught(label):
    class Constant:
        def predict(self, values):
            return np.full(len(values), label)

    for name, scores, member in attacked(lambda *_: Constant()):
        assert roc_auc_score(member, scores) == 0.5, name
        assert np.isfinite(scores).all()


def test_one_threshold_for_all_rows_is_learned_from_the_other_splits():
    rng = np.random.default_rng(0)
    inside, outside = rng.integers(1, 7, (6, 30)) / 8, rng.integers(0, 6, (6, 30)) / 8
    shadows = Shadows(inside, outside, np.ones((6, 30), dtype=bool))
    result = study.threshold_accuracy(shadows)
    slow = []
    for split in range(6):
        others = [k for k in range(6) if k != split]
        best = max(
            [*np.arange(9) / 8, 2.0],
            key=lambda least: (inside[others] >= least).mean() - (outside[others] >= least).mean(),
        )
        slow.append(((inside[split] >= best).mean() + (outside[split] < best).mean()) / 2)
    assert result["accuracy"] == pytest.approx(np.mean(slow))
    assert ShadowMembership.of("", study.Threshold(), shadows).auc == pytest.approx(
        roc_auc_score(np.repeat([1, 0], 180), np.concatenate([inside.ravel(), outside.ravel()]))
    )
    pairs = [(a > b) + (a == b) / 2 for a in inside[inside > 0] for b in outside[outside > 0]]
    assert study.auc_of_right_rows(shadows) == pytest.approx(np.mean(pairs))


def test_in_the_smallest_example_members_lie_closer_to_the_boundary():
    pairs = {True: [], False: []}  # distance of right rows, 0 for wrong rows, of members and others
    scale = np.arange(7).std()
    for size in range(1, 8):
        for members in combinations(range(7), size):
            tree = DecisionTreeClassifier(random_state=0).fit([[x] for x in members], [x == 3 for x in members])
            labels = tree.predict(np.arange(7)[:, None])
            for x in range(7):
                apart = min((abs(x - z) / scale for z in range(7) if labels[z] != labels[x]), default=math.inf)
                pairs[x in members].append(apart if labels[x] == (x == 3) else 0)

    def area(members, others):
        return np.mean([(a > b) + (a == b) / 2 for a in members for b in others])

    result = study.example()
    right = {side: [value for value in values if value > 0] for side, values in pairs.items()}
    assert result["auc of right rows"] == pytest.approx(area(right[True], right[False]))
    assert result["auc"] == pytest.approx(area(pairs[True], pairs[False]))
    assert result["auc of right rows"] < 0.4 < 0.5 < result["auc"] < result["auc of the label"] - 0.05


def test_packaged_tables_keep_their_bins():
    rows, data = load("german", 200), hr.datasets.load("german")
    chosen = np.random.default_rng(0).permutation(len(data.frame))[:200]
    expected = data.schema.encode(Table.of(data.frame.iloc[chosen]))
    for name, codes in rows.domain.schema.encode(Table.of(rows.values)).items():
        np.testing.assert_array_equal(codes, expected[name])
    np.testing.assert_array_equal(rows.classes, (data.labels.to_numpy()[chosen] == 2).astype(int))


@pytest.mark.slow
@pytest.mark.parametrize("model", [study.FULL, study.GREEDY])
def test_a_small_study_has_a_line_for_each_attack(model, monkeypatch):
    monkeypatch.setattr(study, "RATES", (0.1,))
    lines, summary = study.measure("german", model, splits=5, most=60)
    names = {*study.signals_of(model), "learned"} - {"probability"}
    names |= {
        f"{name}, {kind}"
        for name in study.CALIBRATED
        if name in study.signals_of(model)
        for kind in ("offline", "online")
    }
    assert {line["attack"] for line in lines} == names
    assert all(0 <= line["auc"] <= 1 for line in lines)
    assert summary["right inside"] == 1.0 or model != study.FULL


def test_the_committed_results_are_complete_and_below_the_exact_bounds():
    attacks, models = (pd.read_csv(study.FOLDER / f"{name}.csv") for name in ("attacks", "models"))
    assert list(zip(models["table"], models["model"], strict=True)) == [
        (table, model) for table in study.TABLES for model in study.models(table)
    ]
    assert set(attacks["splits"]) == set(models["splits"]) == {study.SPLITS}
    bounds = models.dropna(subset="exact advantage").set_index(["table", "model"])["exact advantage"]
    assert len(bounds) == len(study.TABLES) * len(study.PRIVATE)
    for (table, model), bound in bounds.items():
        mine = attacks[(attacks["table"] == table) & (attacks["model"] == model)].dropna(subset="accuracy")
        assert (2 * (mine["accuracy"] - 2 * mine["accuracy se"]) - 1 <= bound).all()


def test_sentences_of_the_page_hold_in_the_results():
    table = pd.read_csv(study.FOLDER / "attacks.csv").set_index(["table", "model", "attack"])
    area, right = table["auc"], table["auc of right rows"]
    for name in study.TABLES:
        for model in study.models(name):
            by_row = area[name, model, "walk, offline"] - area[name, model, "label, offline"]
            if model == study.FOREST:
                assert by_row > 3 * table["auc se"][name, model, "walk, offline"]
                continue
            assert by_row < 0.005
            assert abs(area[name, model, "walk"] - area[name, model, "file"]) < 0.005
            assert area[name, model, "walk"] < area[name, model, "label"] + 0.005
        assert right[name, study.FULL, "walk"] < 0.48
        assert area[name, study.FULL, "learned"] > area[name, study.FULL, "bins"] + 0.02
        assert area[name, study.FULL, "label, offline"] > 0.6  # where the attack must succeed
