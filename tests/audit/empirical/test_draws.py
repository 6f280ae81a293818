"""Runs on two tables: seeds, processes, and the file that keeps them."""

import json
import os
import re
from functools import partial

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit.empirical.learner import RunCache, outcome_of, run, run_part

SIDES = (np.zeros((3, 1)), np.array([0, 1, 1])), (np.zeros((2, 1)), np.array([0, 1]))
RNG = np.random.default_rng(0)


def noisy(_, y):
    return float(y.sum() + RNG.normal())


def of_value(value):
    return outcome_of(value, None)


def first_seed(tree):
    return str(tree.random_state)


def runner(fit=noisy):
    return partial(run_part, fit, SIDES, of_value)


def test_both_tables_are_run_as_often_and_nothing_is_run_again(tmp_path):
    file = tmp_path / "runs.jsonl"
    some = run(runner(), RunCache.open(file, {"a": 1}), 30, None, None, verbose=False)
    assert [len(side) for side in some] == [30, 30]
    more = run(runner(), RunCache.open(file, {"a": 1}), 70, None, None, verbose=False)
    assert [side[:30] for side in more] == list(some)
    assert [len(side) for side in more] == [70, 70]
    again = run(runner(), RunCache.open(file, {"a": 1}), 70, None, None, verbose=False)
    assert list(again) == list(more)


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_outcomes_are_for_their_owner_alone(tmp_path):
    RunCache.open(tmp_path / "runs.jsonl", {})
    assert (tmp_path / "runs.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_line_that_was_cut_off_is_done_again(tmp_path):
    file = tmp_path / "runs.jsonl"
    run(runner(), RunCache.open(file, {}), 30, None, None, verbose=False)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:7])
    kept = RunCache.open(file, {})
    assert sorted(len(side) for side in kept.draws) == [29, 30]
    assert [len(side) for side in run(runner(), kept, 30, None, None, verbose=False)] == [30, 30]
    assert all(json.loads(line) for line in file.read_text().splitlines())


@pytest.mark.parametrize("content", ["", "no json\n", "no end", '{"hedgerow": "a model"}\n{', "[1]\n"])
def test_a_file_of_another_audit_raises_and_stays_unchanged(tmp_path, content):
    file = tmp_path / "runs.jsonl"
    file.write_text(content)
    with pytest.raises(ValueError, match=re.escape(file.name)):
        RunCache.open(file, {})
    assert file.read_text() == content


@pytest.mark.parametrize(
    "line",
    [
        {"side": 7, "start": 0, "outcomes": []},
        {"side": -1, "start": 0, "outcomes": []},
        {"side": 0, "start": 0, "outcomes": "ab"},
        {"side": 0, "start": 1, "outcomes": [1.0]},
        {"side": 0, "start": 0, "outcomes": [float("nan")]},
        {"side": 0, "start": 0, "outcomes": [["1"]]},
        {"side": 0, "start": 0, "outcomes": [{}]},
        {"outcomes": []},
    ],
)
def test_an_edited_part_of_a_file_raises(tmp_path, line):
    file = tmp_path / "runs.jsonl"
    RunCache.open(file, {})
    with file.open("a") as end:
        end.write(json.dumps(line) + "\n")
    with pytest.raises(ValueError, match=re.escape(file.name)):
        RunCache.open(file, {})


def test_parts_that_two_processes_wrote_are_not_counted_twice(tmp_path):
    file = tmp_path / "runs.jsonl"
    for kept in [RunCache.open(file, {}), RunCache.open(file, {})]:
        kept.add(0, [1.0])
    with pytest.raises(ValueError, match=re.escape(file.name)):
        RunCache.open(file, {})


def test_other_settings_do_not_share_runs(tmp_path):
    file = tmp_path / "runs.jsonl"
    RunCache.open(file, {"seed": 1})
    with pytest.raises(ValueError, match=re.escape(file.name)):
        RunCache.open(file, {"seed": 2})


@pytest.mark.xdist_group("processes")
def test_a_seed_fixes_each_run_for_all_numbers_of_runs_and_processes():
    seeded = partial(run_part, DecisionTreeClassifier(), SIDES, first_seed)
    item = run(seeded, RunCache.open(None, {}), 12, 5, None, verbose=False)
    assert len({*item[0], *item[1]}) == 24
    more = run(seeded, RunCache.open(None, {}), 30, 5, None, verbose=False)
    assert [side[:12] for side in more] == list(item)
    assert run(seeded, RunCache.open(None, {}), 12, 5, 2, verbose=False) == item


def test_progress_is_told_on_stderr(capsys):
    run(runner(), RunCache.open(None, {}), 20, None, None, verbose=True)
    assert "empirical epsilon" in capsys.readouterr().err
