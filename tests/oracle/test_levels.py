"""Questions about a number: sums of levels by brute force, their sensitivity, their noise, and every way they go."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import ArgumentError, ArgumentTypeError, HypothesisError
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.models import Leaf, Split, Tree
from hedgerow.oracle import FederatedOracle, LevelSums, frame_rows
from hedgerow.oracle.answer_noise import AnswerHistograms
from hedgerow.oracle.answers import ErrorCounts
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.noise import DiscreteLaplace, SecureNoise, SeededNoise
from hedgerow.privacy.zcdp import pure_rho
from hedgerow.schema import Integer, Label, Literal, Number, Schema
from tests.engines.servers import POSTGRES
from tests.learn.replay import Recorder, loss_of_all
from tests.marginals.tables import ALL, BINS, FRAMES, ROW, Judge, bin, split
from tests.privacy.chances import ALARM, FACTORS, p_value
from tests.schema.values import level_of

NUMBER = Number("label", -3, 17, 8)
STEPS = 7
VALUES = st.sampled_from([-1e300, -3.0, -2.9, -0.5, 0, 3.1, 6.9, 7.0, 14.5, 17.0, 18.0, 1e300])
ROWS = st.lists(st.tuples(ROW, VALUES), max_size=9)
RELEASES = ["counts", "counts in rho", "gaussian"]
TREE = Tree(
    Schema({"size": ALL["size"], "age": Integer(0, 100, (60,), outside="clip")}, Label("is_high", (False, True))),
    Split(
        Literal("age", "<=", (60,)),
        Split(Literal("size", "missing"), Leaf(label=True), Leaf(label=False)),
        Leaf(label=True),
    ),
    PrivacyCard.none("example"),
)


def said_by_tree(row):
    return row["age"] > 60 or row["size"] is None


HYPOTHESES = {
    "high": (Always(True), lambda _: True),
    "low": (Always(False), lambda _: False),
    "tree": (TREE, said_by_tree),
    "judge": (Judge(2.5, "unseen", "?"), Judge(2.5, "unseen", "?").one),
}


def of(rows, kind="polars"):
    """Return the rows as a frame, and the numbers."""
    frame, _ = split(FRAMES[kind]([row for row, _ in rows]))
    return frame, np.array([value for _, value in rows], dtype=float)


def slow(bins, rows, steps_of):
    """Return the sums of the steps of the rows in each bin."""
    result = []
    for name, attribute in bins.attributes:
        sums = [Fraction(0)] * attribute.n_bins
        for row, value in rows:
            sums[bin(attribute, row[name])] += steps_of(row, level_of(NUMBER, value))
        result += sums
    return result


def right_of(said, level):
    """Return the steps that a hypothesis gets right, by definition; none where it says neither."""
    return {True: level, False: STEPS - level}.get(said if isinstance(said, bool) else None, 0)


def budget_of(release):
    """Return a budget of epsilon 1, which adds up rho or not."""
    return hr.Budget(1, 1e-6, rho=100 if release == "counts in rho" else None)


def recorded(rows, release, ask, kind="polars"):
    recorder = Recorder(SeededNoise(np.random.default_rng(0)))
    options = {"release": release.split()[0], "run_code": True, "random_state": recorder}
    ask(hr.Oracle(*of(rows, kind), budget_of(release), 1, number=NUMBER, **options))
    return recorder.trace[0]


@pytest.mark.parametrize("kind", FRAMES)
@given(rows=ROWS, bins=st.sampled_from(BINS))
def test_answers_are_sums_of_levels_from_both_ends(kind, rows, bins):
    oracle = hr.Oracle(*of(rows, kind), None, 1, number=NUMBER)
    answer = oracle.level_marginals(bins)
    assert answer.above.tolist() == slow(bins, rows, lambda _, level: level)
    assert answer.below.tolist() == slow(bins, rows, lambda _, level: STEPS - level)
    assert (answer.steps, answer.noise.is_exact) == (STEPS, True)
    assert (answer.masses * answer.n_rows).round(9).tolist() == slow(bins, rows, lambda *_: 1)


@pytest.mark.parametrize("name", HYPOTHESES)
@given(rows=ROWS, bins=st.sampled_from(BINS))
def test_errors_are_the_steps_that_a_hypothesis_gets_wrong(name, rows, bins):
    hypothesis, said = HYPOTHESES[name]
    answer = hr.Oracle(*of(rows), None, 1, number=NUMBER, run_code=True).error_marginals(bins, hypothesis)
    assert answer.right.tolist() == slow(bins, rows, lambda row, level: right_of(said(row), level))
    assert answer.wrong.tolist() == slow(bins, rows, lambda row, level: STEPS - right_of(said(row), level))
    assert answer.steps == STEPS


@pytest.mark.parametrize("release", RELEASES)
@given(
    rows=ROWS,
    row=ROW,
    value=VALUES,
    place=st.integers(0, 9),
    bins=st.sampled_from(BINS),
    name=st.sampled_from(sorted(HYPOTHESES)),
)
def test_a_row_moves_an_answer_by_its_steps_in_every_attribute(release, rows, row, value, place, bins, name):
    more = [*rows[:place], (row, value), *rows[place:]]
    hypothesis, _ = HYPOTHESES[name]
    for ask in (lambda one: one.level_marginals(bins), lambda one: one.error_marginals(bins, hypothesis)):
        (mechanism, before, _), (same, after, _) = (recorded(table, release, ask) for table in (rows, more))
        assert mechanism == same
        change = np.abs(after - before)
        assert change.sum() == len(bins) * STEPS  # exactly: ℓ1
        assert (change**2).sum() <= len(bins) * STEPS**2  # ℓ2, squared
        assert mechanism.distance(before, after) <= mechanism.sensitivity
        declared = {"counts in rho": len(bins) * STEPS, "gaussian": np.sqrt(len(bins)) * STEPS}
        shared = STEPS if len(bins) > 1 else len(bins) * STEPS
        assert mechanism.sensitivity == pytest.approx(declared.get(release, shared), rel=1e-15)
        if isinstance(mechanism, AnswerHistograms):
            assert change.shape == (2, sum(bins.sizes))
            assert mechanism.distance(before, after) == STEPS


def test_the_sensitivity_is_reached():
    row = {"flag": True, "word": "r", "size": 1.0, "age": 5, "label": True}
    ends = [recorded(rows, "gaussian", lambda one: one.level_marginals(ALL)) for rows in ([], [(row, 17.0)])]
    assert ends[0][0].distance(ends[0][1], ends[1][1]) == ends[0][0].sensitivity


@pytest.mark.parametrize("release", RELEASES)
def test_noise_grows_with_the_steps_and_the_charge_does_not(release):
    budget = budget_of(release)
    oracle = hr.Oracle(*of([]), budget, 3, number=NUMBER, release=release.split()[0])
    rows, levels, errors = oracle.marginals(ALL), oracle.level_marginals(ALL), oracle.error_marginals(ALL, Always(True))
    assert levels.noise == errors.noise
    assert levels.noise.by_bin == pytest.approx(STEPS**2 * rows.noise.by_bin, rel=1e-2)
    # Rows are counted by two sums of their steps.
    assert levels.variance * levels.n_rows**2 == pytest.approx(2 / STEPS**2 * levels.noise.by_bin)
    assert budget.spent == oracle.privacy.epsilon == 1
    assert oracle.privacy.is_private


def shares(scale, most):
    """Return the exact chances of discrete Laplace noise from −most to most."""
    q = np.exp(-1 / float(scale))
    return (1 - q) / (1 + q) * q ** np.abs(np.arange(-most, most + 1))


def test_the_noise_has_the_exact_chances_of_its_scale():
    """Rows of no table, one attribute: each of its sums is noise of scale K/ε alone."""
    bins = Schema({"age": Integer(0, 1600, tuple(range(1, 1541)), missing="bin", outside="clip")})
    answer = hr.Oracle(*of([]), hr.Budget(4), 1, number=NUMBER).level_marginals(bins)
    drawn = np.array([*answer.below, *answer.above])
    assert len(drawn) >= 3080
    counts = np.bincount(np.clip(drawn + 60, 0, 120).astype(int), minlength=121)
    assert p_value(counts, shares(Fraction(STEPS, 4), 60)) > ALARM
    for factor in FACTORS:
        assert p_value(counts, shares(factor * Fraction(STEPS, 4), 60)) < ALARM


def test_secure_noise_is_what_an_oracle_uses_for_levels():
    oracle = hr.Oracle(*of([]), hr.Budget(1), 1, number=NUMBER)
    assert type(oracle._noise) is SecureNoise
    oracle.level_marginals(ALL)
    (charge,) = oracle.privacy.charges
    assert charge.mechanism == AnswerHistograms(Fraction(1), ALL.sizes, STEPS).record
    assert charge.rho is None


def test_where_rho_is_added_up_attributes_share_no_noise():
    oracle = hr.Oracle(*of([]), hr.Budget(1, rho=100), 1, number=NUMBER)
    oracle.level_marginals(ALL)
    (charge,) = oracle.privacy.charges
    assert charge.mechanism == DiscreteLaplace(Fraction(1), 4 * STEPS, STEPS).record
    assert charge.rho == pure_rho(Fraction(1), Fraction(1, 4)) < pure_rho(Fraction(1)) / 3


def test_bins_that_do_not_fit_the_target_are_refused_before_a_charge():
    frame, numbers = of([])
    budget = hr.Budget(1, 1e-6)
    oracle = hr.Oracle(frame, numbers, budget, 3, number=NUMBER)
    classes = hr.Oracle(frame, np.array([], dtype=bool), budget, 3)
    for act, said in (
        (lambda: oracle.class_marginals(ALL), "use level_marginals"),
        (lambda: classes.level_marginals(ALL), "use class_marginals"),
        (lambda: oracle.error_marginals(ALL, Always("yes")), "must be classes of the target"),
        (lambda: hr.Oracle(frame, numbers, budget, number=NUMBER, release="ratio"), "release='ratio'"),
        (lambda: hr.Oracle(frame, numbers, budget, number=NUMBER, classes=(0, 1)), "got both"),
    ):
        with pytest.raises((ArgumentError, HypothesisError), match=said):
            act()
    with pytest.raises(ArgumentTypeError, match="number must be a Number"):
        hr.Oracle(frame, numbers, budget, number=(0, 1))
    for learner in (hr.MarginalLogisticClassifier(), hr.ExprilClassifier()):
        with pytest.raises(ArgumentError, match="an oracle of the number"):
            learner.fit(frame, oracle=oracle)
    assert budget.spent == 0
    assert oracle.classes == (False, True)


@pytest.mark.parametrize("engine", ["duckdb", POSTGRES])
def test_a_table_in_an_engine_has_the_same_sums(engine, request):
    from tests.engines.load import into_duckdb, into_postgres

    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "size": pa.array([None, *rng.uniform(-1, 12, 199)], pa.float64()),
            "age": rng.integers(0, 101, 200),
            "label": rng.normal(6, 8, 200),
        }
    )
    bins = Schema({"size": ALL["size"], "age": ALL["age"]})
    of_frame = hr.Oracle(table.drop_columns("label"), table["label"], None, 9, number=NUMBER)

    def check(load):
        loaded = load(table)
        result = hr.Oracle.from_table(loaded, "label", None, 9, number=NUMBER)
        item, other = result.level_marginals(bins), of_frame.level_marginals(bins)
        assert (item.below.tolist(), item.above.tolist()) == (other.below.tolist(), other.above.tolist())
        for hypothesis in (Always(True), Always(False), TREE):
            item, other = result.error_marginals(bins, hypothesis), of_frame.error_marginals(bins, hypothesis)
            assert (item.wrong.tolist(), item.right.tolist()) == (other.wrong.tolist(), other.right.tolist())
        with pytest.raises(ArgumentError, match="column"):
            hr.Oracle.from_table(loaded, "age", None, number=NUMBER)

    if engine == "duckdb":
        check(into_duckdb)
    else:
        with into_postgres(request.getfixturevalue("postgres_url")) as load:
            check(load)


def test_several_curators_add_up_or_refuse():
    rng = np.random.default_rng(1)
    row = {"flag": True, "word": "r", "size": 1.0, "age": 5, "label": True}
    rows = [({**row, "age": int(a)}, v) for a, v in zip(rng.integers(0, 100, 60), rng.normal(6, 8, 60), strict=True)]
    item, other = rows[:20], rows[20:]
    parts = [hr.Oracle(*of(part), None, 3, number=NUMBER) for part in (item, other)]
    pooled, federated = hr.Oracle(*of(rows), None, 2, number=NUMBER), FederatedOracle(parts)
    result, expected = federated.level_marginals(ALL), pooled.level_marginals(ALL)
    assert isinstance(result, LevelSums)
    assert (result.below.tolist(), result.above.tolist()) == (expected.below.tolist(), expected.above.tolist())
    result, expected = federated.error_marginals(ALL, TREE), pooled.error_marginals(ALL, TREE)
    assert isinstance(result, ErrorCounts)
    assert (result.wrong.tolist(), result.steps) == (expected.wrong.tolist(), STEPS)
    for number in (Number("label", -3, 17, 9), Number("label", -3, 18, 8), None):
        labels = (of(other)[1], number) if number else (of(other)[1] > 6, None)
        with pytest.raises(ArgumentError, match="same bounds and levels"):
            FederatedOracle([parts[0], hr.Oracle(of(other)[0], labels[0], None, 3, number=labels[1])])
    alike = hr.Oracle(*of(other), None, 3, number=Number("wage", -3, 17, 8))
    assert FederatedOracle([parts[0], alike]).level_marginals(ALL).steps == STEPS


@pytest.mark.parametrize("release", RELEASES)
@given(rows=st.lists(VALUES, max_size=6), more=st.lists(VALUES, min_size=1, max_size=4))
def test_all_rows_of_a_person_move_an_answer_no_further_than_is_charged(release, rows, more):
    bins, unit = Schema({"age": ALL["age"], "size": ALL["size"]}), hr.Unit("who", 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_rows, "draw_key", lambda _: b"a key")  # the same rows of the others are counted
        traces = []
        for own in ([], more):
            whose, values = ["ann"] * len(rows) + ["zoe"] * len(own), np.array([*rows, *own], dtype=float)
            frame = pd.DataFrame(
                {"who": np.array(whose, dtype=object), "age": np.full(len(whose), 5), "size": np.full(len(whose), 0.5)}
            )
            recorder, budget = Recorder(SeededNoise(np.random.default_rng(0))), budget_of(release)
            options = {"unit": unit, "release": release.split()[0], "random_state": recorder}
            hr.Oracle(frame, values, budget, 1, number=NUMBER, **options).level_marginals(bins)
            traces.append(recorder.trace)
            assert budget.spent == 1
    ((mechanism, before, _),), ((same, after, _),) = traces
    assert mechanism == same
    assert loss_of_all(traces[0], unit.max_rows) == 1
    rows_of_a_unit = 1 if release == "gaussian" else 2  # Laplace noise is of one row's sensitivity at half of ε
    assert mechanism.distance(before, after) <= rows_of_a_unit * mechanism.sensitivity
    assert release == "gaussian" or mechanism.epsilon == Fraction(1, 2)
