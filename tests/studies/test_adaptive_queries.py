"""Adaptive questions of EXPRIL: sensitivity by enumeration, and choices from released counts and public rows only."""

from __future__ import annotations

import csv
import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.oracle.answer_noise import AnswerHistograms, AnswerNoise
from hedgerow.oracle.answers import ErrorCounts
from hedgerow.oracle.binning import bin_matrix
from hedgerow.privacy.noise import SeededNoise
from hedgerow.schema import Boolean, Categorical, Real, Schema
from studies import adaptive_queries as study
from studies.adaptive_queries import (
    HALF,
    WHOLE,
    Rounds,
    bins_by_errors,
    by_information,
    cell_bins,
    cells,
    columns,
    components,
    equal_bins,
    error_counts,
    expected_errors,
    information,
    n_cells,
    projections,
    representative_columns,
    score,
    smoothed,
)
from studies.expril.problems import Problem, Setting
from tests.learn.replay import Recorder

RNG = np.random.default_rng(0)
SOURCE = RNG.normal(size=(60, 3)).astype(np.float32)
TARGET = RNG.normal(size=(80, 3)).astype(np.float32)
LABELS = (TARGET[:, 0] + TARGET[:, 1] > 0).astype(np.int64)
MADE = Problem(SOURCE, TARGET, LABELS, TARGET, LABELS)


def regression(state, labels, _):
    """Return a fast classifier in place of the network."""
    classes = (labels >= 0.5).astype(int)
    return LogisticRegression().fit(state.problem.source, classes) if len(set(classes)) > 1 else Always(classes[0])


@pytest.fixture(autouse=True)
def small_problem(monkeypatch):
    monkeypatch.setitem(study.PROBLEMS, "A", Setting(80, False, (4,), lambda *_: MADE))
    monkeypatch.setattr(Rounds, "_network", regression)


def public_features():
    """Return every kind of features with its bins, made of the source and of a hypothesis of an earlier answer."""
    start = Rounds(MADE, "A", 0, None)
    first = start.then(columns(range(3)), WHOLE, equal_bins)
    rules = {
        "columns": (columns([0, 2]), equal_bins),
        "bins by errors": (columns(range(3)), bins_by_errors),
        "components": (components(SOURCE, 2), equal_bins),
        "projections": (projections(SOURCE, 4, 1), equal_bins),
        "score": (score(first), equal_bins),
        "cells": (cells(SOURCE, 5, 0), cell_bins),
    }
    return {name: (take, rule(take(SOURCE), first._scale(WHOLE), first)) for name, (take, rule) in rules.items()}


def exact(take, bins, rows, is_wrong):
    """Return the exact counts, by bin and kind, of the tables that an oracle counts, by a loop over the rows."""
    counts = np.zeros((2, sum(bins.sizes)), dtype=int)
    for row, wrong in zip(rows, is_wrong, strict=True):
        counts[0 if wrong else 1] += bin_matrix(bins, take(row[np.newaxis])).astype(int)[:, 0]
    return counts


def test_a_row_changes_one_count_of_every_feature_by_one():
    """All tables of up to five rows of four, with every right and wrong: the change is d in ℓ1, d counts by 1."""
    pool, order = TARGET[:4], range(4)
    for name, (take, bins) in public_features().items():
        indicators = bin_matrix(bins, take(pool)).astype(int)
        ends = np.cumsum([0, *bins.sizes])
        for row in order:
            by_feature = [indicators[a:b, row].sum() for a, b in pairwise(ends)]
            assert by_feature == [1] * len(bins), name
        for size in range(5):
            for rows in product(order, repeat=size):
                before = indicators[:, list(rows)].sum(axis=1)
                for extra in order:
                    after = indicators[:, [*rows, extra]].sum(axis=1)
                    assert np.abs(after - before).sum() == len(bins)


def test_the_oracle_counts_what_a_loop_over_rows_counts_on_neighbours():
    """Exact input of the mechanism on every table of up to three rows, and its distance to each neighbour: 1."""
    for take, bins in public_features().values():
        mechanism = AnswerHistograms(Fraction(1), tuple(bins.sizes))
        made = {}
        for size in range(4):
            for rows in product(range(2), repeat=size):
                wrong = [row == 1 for row in rows]
                made[rows] = exact(take, bins, TARGET[list(rows)], wrong)
        for rows, counts in made.items():
            for other in (rows[:place] + rows[place + 1 :] for place in range(len(rows))):
                assert mechanism.distance(counts, made[other]) == 1


def recorded(take, bins, rows, wrong):
    """Return the mechanism and its exact input for a question about rows, with the charge."""
    recorder, budget = Recorder(SeededNoise(np.random.default_rng(1))), hr.Budget(1)
    error_counts(take(rows), wrong, bins, budget, recorder)
    ((mechanism, true, _),) = recorder.trace
    return mechanism, true, budget.spent


def test_a_question_has_its_budget_and_the_declared_sensitivity():
    wrong = RNG.random(80) < 0.3
    for take, bins in public_features().values():
        mechanism, true, spent = recorded(take, bins, TARGET, wrong)
        same, without, _ = recorded(take, bins, TARGET[1:], wrong[1:])
        assert (mechanism.epsilon, spent) == (1, 1)
        assert same == mechanism
        assert mechanism.distance(true, without) == mechanism.sensitivity
        plain = error_counts(take(TARGET), wrong, bins, None, None)
        assert [plain.wrong.tolist(), plain.right.tolist()] == exact(take, bins, TARGET, wrong).tolist()


def test_frozen_answers_lead_to_the_same_questions_on_a_neighbour(monkeypatch):
    """Columns, bins and features depend on earlier answers only: a row less changes no question and no label."""
    asked, answers = [], []

    def ask(features, is_wrong, bins, budget, seed):
        asked.append((list(features), bins, budget.epsilon))
        answers.append(error_counts(features, is_wrong, bins, budget, seed))
        return answers[-1]

    def replay(features, is_wrong, bins, budget, seed):  # noqa: ARG001 -- rows do not matter
        assert (list(features), bins, budget.epsilon) == asked[len(replayed)]
        replayed.append(bins)
        return answers[len(replayed) - 1]

    replayed = []
    monkeypatch.setattr(study, "error_counts", ask)
    states = dict(study.variants(Rounds(MADE, "A", 0), study.VARIANTS))
    assert {name: state.spent for name, state in states.items()} == dict.fromkeys(states, 1) | {"first of two": HALF}
    monkeypatch.setattr(study, "error_counts", replay)
    monkeypatch.setattr(study, "n_cells", lambda n, share: n_cells(n + 1, share))  # the number of rows is public
    fewer = Problem(SOURCE, TARGET[1:], LABELS[1:], TARGET, LABELS)
    after = dict(study.variants(Rounds(fewer, "A", 0), study.VARIANTS))
    assert len(replayed) == len(asked) == 12
    for name, state in states.items():
        assert state.labels.tolist() == after[name].labels.tolist()


@pytest.mark.parametrize("release", [None, 1])
def test_rounds_of_all_columns_are_the_classifier_of_the_package(release):
    """Same questions, answers, labels: with exact answers, and with the whole budget and noise of the same seed."""
    names = [f"x{place}" for place in range(3)]
    start = Rounds(MADE, "A", 3, None if release is None else Fraction(1))
    seed = study.noise_seed("A", 3, 0, WHOLE)
    oracle = hr.Oracle(pd.DataFrame(TARGET, columns=names), LABELS, release and hr.Budget(1), 1, random_state=seed)
    learner = hr.ExprilClassifier(LogisticRegression(), reweight=False)
    learner.fit(pd.DataFrame(SOURCE, columns=names), oracle=oracle)
    made = start.then(columns(range(3)), WHOLE, equal_bins)
    # h_0 is that all rows are positive: the wrong rows are the class 0, and the right rows are the class 1
    assert made.labels == pytest.approx(learner.synthetic_.soft, abs=1e-6)


def test_the_classifier_of_the_package_learns_from_a_column_of_cells():
    """What the page recommends: the curator and the learner add the same public column, and bins name only it."""
    take = cells(SOURCE, 5, 0)

    def with_cells(rows):
        return pd.DataFrame(rows, columns=list("abc")).assign(cell=take(rows)["cell"].to_numpy())

    bins = cell_bins(take(SOURCE), None, Rounds(MADE, "A", 0, None))
    budget = hr.Budget(1)
    oracle = hr.Oracle(with_cells(TARGET), LABELS, budget, 1, random_state=0)
    model = make_pipeline(make_column_transformer((StandardScaler(), list("abc"))), LogisticRegression())
    learner = hr.ExprilClassifier(model, bins=bins, reweight=False).fit(with_cells(SOURCE), oracle=oracle)
    assert learner.history_[0]["bins"] == [7]
    assert learner.history_[0]["noise_scale"] == oracle.noise_scale([7]) < oracle.noise_scale([5, 5, 5])
    assert budget.spent == 1


def answer(bins, wrong, right):
    noise = AnswerNoise.independent(bins.sizes, 1.0)
    return ErrorCounts(bins, np.array(wrong), np.array(right), noise)


TWO = Schema({"a": Boolean(missing="bin"), "b": Boolean(missing="bin")})


def test_information_by_hand():
    """Column a tells nothing: ½ wrong in both bins. Column b tells all: 1 bit. Negative counts count as 0."""
    made = answer(TWO, [5, 5, 0, 10, 0, -3], [5, 5, -2, 0, 10, 0])
    assert information(made).tolist() == pytest.approx([0.0, 1.0])
    quarter = answer(TWO, [1, 1, 0, 2, 0, 0], [3, 3, 0, 2, 4, 0])
    entropy = -0.25 * math.log2(0.25) - 0.75 * math.log2(0.75)
    assert information(quarter).tolist() == pytest.approx([0.0, entropy - 0.5])
    nothing = answer(TWO, [-1] * 6, [-4] * 6)
    assert information(nothing).tolist() == [0, 0]


def test_columns_with_most_information_are_chosen_first_in_ties():
    state = Rounds(MADE, "A", 0)
    state.questions.append(
        study.ErrorQuestion(np.empty((6, 0)), np.empty(0), answer(TWO, [5, 5, 0, 10, 0, 0], [5, 5, 0, 0, 10, 0]))
    )
    assert by_information(state, 1) == [1]
    state.questions[-1] = study.ErrorQuestion(np.empty((6, 0)), np.empty(0), answer(TWO, [1] * 6, [1] * 6))
    assert by_information(state, 1) == [0]


def test_representative_columns_leave_out_copies():
    rng = np.random.default_rng(0)
    signal, other = rng.normal(size=(2, 200))
    rows = np.column_stack([signal, signal + 0.01 * rng.normal(size=200), -signal, other])
    chosen = representative_columns(rows, 2)
    assert len(chosen) == 2
    assert 3 in chosen


def test_bins_are_fine_where_errors_concentrate_and_merged_elsewhere():
    state = Rounds(MADE, "A", 0, hypothesis=Always(1))
    state.weights, state.labels = np.full(60, 1 / 60), (SOURCE[:, 0] < 0.5).astype(float)  # wrong above ½
    assert sorted(set(np.round(expected_errors(state), 2))) == [0.05, 1.05]
    frame = columns([0])(SOURCE)
    plain, adapted = (rule(frame, lambda _: 0.3, state)["x0"] for rule in (equal_bins, bins_by_errors))
    assert isinstance(plain, Real)
    assert isinstance(adapted, Real)
    above = [np.mean([cut > 0.5 for cut in attribute.cuts]) for attribute in (plain, adapted)]
    assert above[1] > above[0] + 0.3


def test_cells_are_a_public_function_of_a_row_and_every_row_has_one():
    take = cells(SOURCE, 5, 0)
    together, alone = take(TARGET), pd.concat([take(row[np.newaxis]) for row in TARGET], ignore_index=True)
    assert together["cell"].tolist() == alone["cell"].tolist()
    attribute = cell_bins(take(SOURCE), None, Rounds(MADE, "A", 0))["cell"]
    assert isinstance(attribute, Categorical)
    assert set(together["cell"]) <= set(attribute.listed)


def test_a_cell_has_eight_standard_deviations_of_noise_in_rows():
    for n, share in ((700, WHOLE), (700, HALF), (5000, WHOLE)):
        noise = math.sqrt(2) / share
        assert n_cells(n, share) == round(n / (8 * noise))


def test_smoothing_recovers_two_regions_from_noisy_cells():
    """Two halves of a square, in cells that are much smaller; most errors are near the border."""
    rng = np.random.default_rng(0)
    source, target, test = rng.random((400, 2)), rng.random((2000, 2)), rng.random((1000, 2))
    made = Problem(source, target, (target[:, 0] > 0.5).astype(int), test, (test[:, 0] > 0.5).astype(int))
    state = Rounds(made, "A", 0).then(cells(source, 40, 0), WHOLE, cell_bins)
    assert np.mean(smoothed(state, test) == made.test_labels) > 0.93


@pytest.mark.parametrize("name", study.REPORTED)
def test_every_run_has_both_numbers_of_questions(name):
    for run in (0, study.FULL_RUNS):
        assert {"first of two", "two questions", study.today(name), "cells"} <= set(study.variants_of(name, run))


def test_runs_are_written_once_and_resumed(tmp_path, monkeypatch):
    calls = []

    def measured(name, run, names):
        calls.append((name, run))
        assert "cells" in names
        return {"cells": 0.5}

    monkeypatch.setattr(study, "accuracies", measured)
    file = tmp_path / "runs.csv"
    study.main(["--runs", "1", "--problems", "A", "-o", str(file)])
    study.main(["--runs", "2", "--problems", "A", "C", "-o", str(file)])
    assert calls == [("A", 0), ("C", 0), ("A", 1), ("C", 1)]
    with file.open(newline="") as lines:
        rows = [*csv.DictReader(lines)]
    assert [row["run"] for row in rows] == ["0", "0", "1", "1"]
    assert [(row["cells"], row["scorecard"]) for row in rows] == [("0.5000", "")] * len(calls)
