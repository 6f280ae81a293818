"""A budget file counts the charges of all processes, touches no other file, and keeps its permissions."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hedgerow import PrivateRuleListClassifier
from hedgerow.errors import BudgetExceededError, ModelFormatError
from hedgerow.privacy import budget_file
from hedgerow.privacy.budget_file import FileBudget
from tests.privacy.racing import race
from tests.privacy.rewriting import edit


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    FileBudget.create(folder / "budget.json", 1)
    return folder / "budget.json"


def names(path):
    return sorted(entry.name for entry in path.parent.iterdir())


# Other files.


@pytest.mark.claim("no link or alternative name leads a charge to a different file")
def test_no_link_in_the_folder_leads_a_charge_to_another_file(path, tmp_path):
    """The audit's: the lock was opened with truncation, through a symbolic link that anyone could have left."""
    victim = tmp_path / "precious"
    victim.write_text("precious")
    planted = [".budget.json.lock", f".budget.json.{os.getpid()}", "budget.json.lock", ".budget.json.tmp"]
    for name in planted:
        (path.parent / name).symlink_to(victim)
    FileBudget(path).charge(0.5, purpose="a model")
    FileBudget(path).allocate(0.25, purpose="a share")
    assert victim.read_text() == "precious"
    assert all((path.parent / name).is_symlink() for name in planted)
    assert FileBudget(path).spent == Fraction(3, 4)


@pytest.mark.claim("never through a second lock file")
def test_no_temporary_file_remains(path):
    budget = FileBudget(path)
    budget.charge(0.5, purpose="one")
    with pytest.raises(BudgetExceededError, match="left"):
        budget.charge(2, purpose="two")
    assert str(budget)
    assert names(path) == ["budget.json"]


def test_a_symbolic_link_leads_to_one_budget(path):
    link = path.with_name("link.json")
    link.symlink_to(path)
    deeper = path.with_name("deeper.json")
    deeper.symlink_to(link)
    for name in (path, link, deeper):
        FileBudget(name).charge(0.25, purpose="through a name")
    assert {FileBudget(name).spent for name in (path, link, deeper)} == {Fraction(3, 4)}
    assert [name.is_symlink() for name in (path, link, deeper)] == [False, True, True]


@pytest.mark.claim("never through a second lock file")
def test_a_link_that_takes_the_files_place_is_refused(path, tmp_path):
    budget = FileBudget(path)
    FileBudget.create(tmp_path / "other.json", 100)
    path.rename(path.with_name("moved.json"))
    path.symlink_to(tmp_path / "other.json")
    for act in (lambda: budget.charge(1, purpose="x"), lambda: budget.check(1), lambda: budget.spent, budget.__str__):
        with pytest.raises(ModelFormatError, match="found a symbolic link"):
            act()
    assert FileBudget(tmp_path / "other.json").spent == 0


def test_another_folder_that_takes_the_place_of_the_budgets_is_refused(tmp_path):
    for name in ("project", "other"):
        (tmp_path / name).mkdir()
        FileBudget.create(tmp_path / name / "budget.json", 1)
    budget = FileBudget(tmp_path / "project" / "budget.json")
    (tmp_path / "project").rename(tmp_path / "old")
    (tmp_path / "project").symlink_to(tmp_path / "other")
    for act in (lambda: budget.charge(1, purpose="x"), lambda: budget.check(1), lambda: budget.spent):
        with pytest.raises(ModelFormatError, match="folder was replaced"):
            act()
    assert FileBudget(tmp_path / "other" / "budget.json").spent == 0


def test_a_second_name_given_later_is_refused(path):
    budget = FileBudget(path)
    path.with_name("twin.json").hardlink_to(path)
    for act in (lambda: budget.charge(1, purpose="x"), lambda: budget.remaining, lambda: FileBudget(path)):
        with pytest.raises(ModelFormatError, match="2 hard links"):
            act()


@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "device"])
def test_what_is_no_file_is_refused_and_not_waited_for(kind, tmp_path):
    place = tmp_path / "b"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "device":
        place = Path("/dev/zero")
    else:
        import socket

        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(place))
    with pytest.raises((ModelFormatError, OSError), match=r"found a folder, a pipe or a device|No such device"):
        FileBudget(place)


def test_a_file_too_large_or_too_deep_is_refused_soon(path):
    for content in ("[" * 100_000, " " * (2**24 + 1), '{"format": ' * 50_000, "\ud7ff" * 10, "\x00"):
        path.write_text(content)
        started = time.monotonic()
        with pytest.raises(ModelFormatError, match="expected a budget file") as caught:
            FileBudget(path)
        assert time.monotonic() - started < 5
        assert len(str(caught.value)) < 400


def test_an_unreadable_charge_is_refused_before_it_is_written(path, monkeypatch):
    before = path.read_bytes()
    with pytest.raises(ValueError, match="surrogate"):
        FileBudget(path).charge(0.5, purpose="\ud800")
    monkeypatch.setattr(budget_file, "LARGEST_FILE", 300)
    with pytest.raises(ValueError, match="limit of 300 bytes"):
        FileBudget(path).charge(0.5, purpose="x" * 300)
    assert path.read_bytes() == before
    assert names(path) == ["budget.json"]


# Rights.


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o660, 0o664, 0o200 | 0o444])
def test_the_mode_is_kept(path, mode):
    path.chmod(mode)
    FileBudget(path).charge(0.5, purpose="a model")
    assert path.stat().st_mode & 0o7777 == mode
    assert FileBudget(path).spent == Fraction(1, 2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_owner_and_group_are_kept(path):
    os.chown(path, 12345, 54321)
    path.chmod(0o640)
    FileBudget(path).charge(0.5, purpose="a model")
    result = path.stat()
    assert (result.st_uid, result.st_gid, result.st_mode & 0o7777) == (12345, 54321, 0o640)


def test_a_group_that_cannot_be_kept_gives_its_rights_to_no_other(path, monkeypatch):
    path.chmod(0o660)
    result = os.stat_result([*path.stat()[:5], 54321, *path.stat()[6:]])
    monkeypatch.setattr(os, "fchown", lambda *_: (_ for _ in ()).throw(PermissionError))
    budget_file._replace(path, path.read_text(), like=result)
    assert path.stat().st_mode & 0o7777 == 0o600


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o440])
@pytest.mark.claim("a read-only file is refused")
def test_a_read_only_budget_is_read_and_not_charged_whoever_asks(path, mode, monkeypatch):
    path.chmod(mode)
    before = path.read_bytes(), path.stat().st_ino
    budget = FileBudget(path)
    assert budget.remaining == 1
    for act in (lambda: budget.check(0.5), lambda: budget.charge(0.5, purpose="x")):
        with pytest.raises(PermissionError, match=r"read-only.*not changed"):
            act()
    monkeypatch.setattr("hedgerow.Tally.count", lambda *_: pytest.fail("rows were counted"))
    with pytest.raises(PermissionError, match="read-only"):
        PrivateRuleListClassifier(0.5, budget=budget).fit(np.array([[0, 1], [1, 0]] * 10), [0, 1] * 10)
    assert (path.read_bytes(), path.stat().st_ino) == before
    assert path.stat().st_mode & 0o7777 == mode


def test_a_read_only_budget_is_refused_before_the_table_is_read(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("budget", "new", "b.json", "--epsilon", "1")
    (tmp_path / "b.json").chmod(0o444)
    (tmp_path / "data.csv").write_text("a,y\n1,0\n")
    (tmp_path / "s.yaml").write_text("attributes:\n  a: {kind: integer, low: 0, high: 9}\n")
    code, out, _ = run("budget", "show", "b.json")
    assert (code, out.split("\n")[0]) == (0, "epsilon: 0 of 1 spent, 1 left")
    monkeypatch.setattr("hedgerow.cli.rows.read_table", lambda *_: pytest.fail("the table was read"))
    monkeypatch.setattr("hedgerow.cli.schema.read_table", lambda *_: pytest.fail("the table was read"))
    for words in (("fit", "data.csv", "--target", "y"), ("schema", "learn", "data.csv", "--schema", "s.yaml")):
        code, out, err = run(*words, "--epsilon", "1", "--budget", "b.json", "-o", "out.json")
        assert (code, out) == (2, "")
        assert re.fullmatch(r"error: .*b\.json: the budget or its folder is read-only\. .* not changed\n", err)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["b.json", "data.csv", "s.yaml"]


# What others charged meanwhile.


def test_what_is_left_is_read_from_the_file(path):
    item, two = FileBudget(path), FileBudget(path)
    item.charge(0.75, purpose="first")
    assert (two.spent, two.remaining) == (Fraction(3, 4), Fraction(1, 4))
    assert [charge.purpose for charge in two.charges] == ["first"]
    assert str(two) == str(item)
    assert repr(two) == "<Budget epsilon=1 spent=0.75>"
    with pytest.raises(BudgetExceededError, match=r"epsilon=0\.25 left"):
        two.check(0.5)
    item.charge(0.25, purpose="second", no_guarantee="seeded")
    assert (two.remaining, two.no_guarantee_reason) == (0, "seeded")
    assert (item.spent_here, two.spent_here) == (1, 0)


def test_processes_that_race_for_every_unit_get_each_of_them_once(path):
    assert sum(race(path, Fraction(1, 60), processes=3)) == len(FileBudget(path).charges) == 60
    assert FileBudget(path).remaining == 0
    assert names(path) == ["budget.json"]


def test_threads_race_too(path):
    budget, taken = FileBudget(path), []

    def ask():
        try:
            budget.charge(1, purpose="the last unit")
        except BudgetExceededError:
            return
        taken.append(1)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (taken, FileBudget(path).spent) == ([1], 1)


CHARGING = """
import sys
from fractions import Fraction
from hedgerow.privacy.budget_file import FileBudget
budget = FileBudget(sys.argv[1])
while True:
    budget.charge(Fraction(1, 10**6), purpose="one of many")
    sys.stdout.write(".")
    sys.stdout.flush()
"""


@pytest.mark.statistics
@pytest.mark.parametrize("delay", [0.0, 0.037])
@pytest.mark.claim("either the whole charge is recorded or nothing of it")
def test_a_process_killed_while_it_charges_leaves_a_valid_file(path, delay):
    child = subprocess.Popen([sys.executable, "-c", CHARGING, path], stdout=subprocess.PIPE)
    assert child.stdout.read(5) == b"....."
    time.sleep(delay)
    child.send_signal(signal.SIGKILL)
    reported = 5 + len(child.communicate()[0])
    result = len(FileBudget(path).charges)
    assert reported <= result <= reported + 1  # each is on disk before it is told
    FileBudget(path).charge(0.5, purpose="after the accident")
    assert len(FileBudget(path).charges) == result + 1


# Disks that are full, or fail.


FULL = """
import resource, sys
from hedgerow.privacy.budget_file import FileBudget
budget = FileBudget(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    budget.charge(0.5, purpose="a model")
except OSError as error:
    sys.exit(f"{error.filename}: {error.strerror}")
"""


@pytest.mark.parametrize("limit", [0, 250])
def test_a_full_disk_charges_nothing(path, limit):
    before = path.read_bytes()
    child = subprocess.run([sys.executable, "-c", FULL, path, str(limit)], capture_output=True, text=True, check=False)
    assert (child.returncode, child.stderr) == (1, f"{path}: File too large. The budget file was not changed\n")
    assert path.read_bytes() == before
    assert names(path) == ["budget.json"]


def test_a_new_budget_on_a_full_disk_leaves_nothing(tmp_path):
    words = "import resource; from hedgerow.cli import main; "
    words += "resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9)); main()"
    child = subprocess.run(
        [sys.executable, "-c", words, "budget", "new", tmp_path / "b.json", "--epsilon", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (child.returncode, child.stderr) == (
        2,
        f"error: {tmp_path}/b.json: File too large. The budget file was not changed\n",
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["fsync", "replace", "fchmod"])
@pytest.mark.claim("either the whole charge is recorded or nothing of it")
def test_a_disk_that_fails_at_any_step_charges_nothing_or_everything(path, step, monkeypatch):
    def fail(*_):
        raise OSError(5, "Input/output error")

    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(OSError, match="Input/output error"):
            FileBudget(path).charge(0.5, purpose="a model")
    assert path.read_bytes() == before
    assert names(path) == ["budget.json"]
    budget = FileBudget(path)
    with monkeypatch.context() as patch:
        patch.setattr(budget_file, "sync_folder", fail)
        with pytest.raises(OSError, match="Input/output error"):
            budget.charge(0.5, purpose="a model")
    assert FileBudget(path).spent == budget.spent_here == Fraction(1, 2)
    assert names(path) == ["budget.json"]


# Edits.


def test_the_text_of_the_file_is_what_it_was(path):
    """The format is no other for budgets all of whose charges have a guarantee."""
    FileBudget(path).charge(0.5, purpose="a model")
    data = json.loads(path.read_text())
    dates = [entry.pop("date") for entry in data["entries"]]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", date) for date in dates)
    assert data == {
        "format": "hedgerow/budget",
        "version": 3,
        "entries": [
            {"kind": "opened", "epsilon": "1", "delta": "0", "rho": None, "accounting": "basic", "previous": ""},
            {
                "kind": "charged",
                "query": {"code": "text", "text": "a model"},
                "epsilon": "1/2",
                "delta": "0",
                "previous": data["entries"][1]["previous"],
            },
        ],
        "head": data["head"],
    }


EDITS = {
    "all charges": lambda data: data["entries"].__delitem__(slice(1, None)),
    "the first charge": lambda data: data["entries"].pop(1),
    "the last charge": lambda data: data["entries"].pop(),
    "the order": lambda data: data["entries"].__setitem__(slice(1, 3), data["entries"][2:0:-1]),
    "an amount": lambda data: data["entries"][1].update(epsilon="1/100"),
    "the last amount": lambda data: data["entries"][2].update(epsilon="1/100"),
    "the cap": lambda data: data["entries"][0].update(epsilon="100"),
    "a purpose": lambda data: data["entries"][1].update(query={"code": "text", "text": "nothing"}),
    "a date": lambda data: data["entries"][1].update(date="2020-01-01T00:00:00Z"),
    "the table": lambda data: data["entries"][0].update(table="another"),
    "a charge twice": lambda data: data["entries"].insert(1, dict(data["entries"][1])),
    "the last hash": lambda data: data.update(head="0" * 64),
}


@pytest.mark.parametrize("edited", EDITS)
@pytest.mark.claim("A file whose hashes do not agree is refused")
def test_an_edit_of_the_file_is_refused_and_says_what_to_do(path, edited):
    budget = FileBudget(path)
    budget.charge(0.5, purpose="one")
    budget.charge(0.25, purpose="two")
    edit(path, EDITS[edited])
    before = path.read_bytes()
    for act in (lambda: FileBudget(path), lambda: budget.check(0.1), lambda: budget.charge(0.1, purpose="x")):
        with pytest.raises(ModelFormatError, match=r"edited, removed or inserted.*Restore the file from a backup"):
            act()
    assert path.read_bytes() == before


@pytest.mark.parametrize("edited", sorted(set(EDITS) - {"the last hash"}))
@pytest.mark.claim("record the hash that `hedgerow budget show` prints in another place")
def test_rewritten_hash_chains_are_detected_by_the_saved_head(path, edited):
    budget = FileBudget(path)
    budget.charge(0.5, purpose="one")
    budget.charge(0.25, purpose="two")
    kept = budget.head
    budget.charge(0.125, purpose="three")
    budget.check_head(kept)
    if edited == "the last charge":
        edit(path, EDITS[edited], rehash=True)  # it came after the kept one
    edit(path, EDITS[edited], rehash=True)
    assert FileBudget(path).head
    with pytest.raises(ModelFormatError, match="hash"):
        FileBudget(path).check_head(kept)
