import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from studies.runs import RunStore, complete

SETTINGS = {"study": "dice", "epsilons": (0.1, 1.0)}


def roll(run):
    rng = np.random.default_rng(run)
    return [{"method": f"die, {k}", "epsilon": np.inf if k == 2 else 0.1, "value": rng.random()} for k in range(3)]


class Rolls:
    """Counts its runs and fails at one."""

    def __init__(self, fail_at=None):
        self.done, self.fail_at = [], fail_at

    def __call__(self, run):
        if run == self.fail_at:
            raise KeyboardInterrupt
        self.done.append(run)
        return roll(run)


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "dice", SETTINGS)


def test_records_come_back_as_they_were(store):
    result = complete(store, roll, 4, resume=False)
    expected = pd.DataFrame([{"run": run, **record} for run in range(4) for record in roll(run)])
    pd.testing.assert_frame_equal(result, expected, check_exact=True)


def test_an_interrupted_study_loses_and_repeats_no_run(store, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        complete(store, Rolls(fail_at=3), 6, resume=False)
    rest = Rolls()
    result = complete(store, rest, 6, resume=True)
    assert rest.done == [3, 4, 5]
    whole = RunStore(tmp_path / "whole", SETTINGS)
    pd.testing.assert_frame_equal(result, complete(whole, roll, 6, resume=False), check_exact=True)
    assert store.file.read_bytes() == whole.file.read_bytes()


def test_a_run_whose_write_was_interrupted_is_repeated_with_the_same_file(store):
    complete(store, roll, 3, resume=False)
    whole = store.file.read_bytes()
    ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    for length in {*range(0, len(whole), 19), *(end + more for end in ends for more in (-1, 0, 1))}:
        store.file.write_bytes(whole[:length])
        rolls = Rolls()
        complete(store, rolls, 3, resume=True)
        assert store.file.read_bytes() == whole
        lost = {int(line.split(b",")[0]) for line in whole[length:].splitlines()[1:] if line}
        assert set(rolls.done) >= lost


def test_more_runs_are_added_and_fewer_are_read_without_losing_any(store):
    complete(store, roll, 4, resume=False)
    more = Rolls()
    assert len(complete(store, more, 6, resume=True)) == 18
    assert more.done == [4, 5]
    none = Rolls()
    assert complete(store, none, 2, resume=True)["run"].unique().tolist() == [0, 1]
    assert none.done == []
    assert len(store.read(6)) == 18


def test_the_file_does_not_depend_on_the_number_of_processes(store, tmp_path):
    def share(run):  # local, it is sent as code: a process need not import this module
        return [{"method": f"share {k}", "value": run / 7 + k} for k in range(3)]

    other = RunStore(tmp_path / "two", SETTINGS)
    complete(store, share, 5, resume=False)
    complete(other, share, 5, resume=False, n_jobs=2)
    assert store.file.read_bytes() == other.file.read_bytes()


def test_progress_goes_to_stderr_and_only_on_request(store, capsys):
    complete(store, roll, 2, resume=False)
    assert capsys.readouterr() == ("", "")
    complete(store, roll, 3, resume=True, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "dice" in err


def test_a_folder_is_begun_once_and_holds_runs_of_one_kind(store, tmp_path):
    complete(store, roll, 1, resume=False)
    before = {path.name: path.read_bytes() for path in store.folder.iterdir()}
    with pytest.raises(ValueError, match="exists already; resume it with --resume"):
        complete(store, roll, 2, resume=False)
    with pytest.raises(ValueError, match=r"\(epsilons, sides\)"):
        complete(RunStore(store.folder, {"study": "dice", "sides": 6}), roll, 2, resume=True)
    (tmp_path / "letters").mkdir()
    with pytest.raises(ValueError, match="holds no study to resume"):
        complete(RunStore(tmp_path / "letters", SETTINGS), roll, 2, resume=True)
    assert {path.name: path.read_bytes() for path in store.folder.iterdir()} == before
    assert json.loads((store.folder / "settings.json").read_text())["epsilons"] == [0.1, 1.0]


@pytest.mark.parametrize("runs", [0, -1, 1.5, True])
def test_there_is_at_least_one_run(store, runs):
    with pytest.raises(ValueError, match="runs must be a whole number >= 1, got"):
        complete(store, roll, runs, resume=False)
    assert not Path(store.folder).exists()
