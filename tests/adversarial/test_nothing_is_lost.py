"""A result that was charged is written or printed, and every failure after a charge states that the charge stays."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from fractions import Fraction
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.boundary import durable
from hedgerow.boundary.foreign_code import guarded
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.gate import Gate

SCHEMA = """\
label: {name: ill, classes: ["no", "yes"]}
attributes:
  age: {kind: integer, low: 0, high: 99, cuts: [30, 60]}
  sex: {kind: categorical, values: [F, "M"]}
"""
FIT = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "1", "--max-rules", "2", "--budget", "b.json")
TREE = (*FIT[:6], "--model", "tree", "--search", "greedy", "--budget", "b.json")
LEARN = ("schema", "learn", "data.csv", "--schema", "open.yaml", "--epsilon", "1", "--bins", "2", "--budget", "b.json")
COMMANDS = {"list": FIT, "tree": TREE, "cut points": LEARN}


@pytest.fixture
def folder(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, 300)
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["F", "M"], 300), "ill": np.where(age > 60, "yes", "no")})
    frame.to_csv("data.csv", index=False)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    (tmp_path / "open.yaml").write_text(SCHEMA.replace(", cuts: [30, 60]", ""))
    run("budget", "new", "b.json", "--epsilon", "3")
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def read_back(command, text):
    """Return what a command printed instead of writing it."""
    if command == "cut points":
        return hr.Schema.from_dict(json.loads(text))
    return (hr.models.Tree if command == "tree" else hr.models.RuleList).from_json(text)


def spent():
    return FileBudget("b.json").spent


# Full disks. The limit on the size of a process's files makes writes fail as a full disk does.


@contextmanager
def full_disk(limit, *, after):
    """Run the block on a disk that is full from the start, or once all is charged and learned."""
    module = import_module("hedgerow.cli.budget")
    tell, before = module.spent_text, resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(*words):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        return tell(*words) if words else None

    with pytest.MonkeyPatch.context() as patch:
        if after:
            patch.setattr(module, "spent_text", fill)
        else:
            fill()
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("command", ["list", "cut points"])
@pytest.mark.claim("The command line reserves the output file before the charge")
def test_a_full_disk_is_found_out_before_anything_is_charged(command, folder, run):
    before = names(folder)
    with full_disk(100_000, after=False):
        code, out, err = run(*COMMANDS[command], "-o", "out.json")
    assert (code, out) == (2, "")
    assert err.endswith("error: out.json: File too large\n")
    assert spent() == 0
    assert names(folder) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_is_full_after_the_charge_loses_nothing(command, folder, run):
    """The audit's: a full disk at the end of `fit` lost a paid-for model without a word that ε was spent."""
    before = names(folder)
    with full_disk(500, after=True):
        code, out, err = run(*COMMANDS[command], "-o", "out.json")
    assert code == 2
    assert read_back(command, out)
    assert f"(out.json: File too large). The epsilon of 1 stays charged to {folder}/b.json. " in err.splitlines()[-1]
    assert spent() == 1
    assert names(folder) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_small_disk_that_others_fill(folder, monkeypatch, run):
    """A real file system: what was reserved is there when it is needed, however full the disk has become."""
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", disk], check=False, capture_output=True
    ).returncode:
        pytest.skip("this machine does not let root mount")
    try:

        def fill(text, *words):
            with suppress(OSError), (disk / "others").open("wb", buffering=0) as file:
                while file.write(b"x" * 4096):
                    pass
            assert os.statvfs(disk).f_bavail == 0
            return spent_text(text, *words)

        spent_text = import_module("hedgerow.cli.budget").spent_text
        monkeypatch.setattr("hedgerow.cli.budget.spent_text", fill)
        assert run(*FIT, "-o", disk / "out.json")[0] == 0
        assert hr.load_model(disk / "out.json").privacy.epsilon == 1
        assert run(*FIT, "-o", disk / "second.json")[0] == 2
        assert spent() == 1
    finally:
        subprocess.run(["umount", disk], check=True)


# Whatever else happens to the place.


def occupied(folder):
    (folder / "out.json").write_text("another's")


def a_folder(folder):
    (folder / "out.json").mkdir()


def a_dangling_link(folder):
    (folder / "out.json").symlink_to("nowhere")


@pytest.mark.parametrize("what", [occupied, a_folder, a_dangling_link])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_created_meanwhile_is_kept_and_so_is_the_model(command, what, folder, run, monkeypatch):
    """Two runs with the same output: the second must not write over the first one's paid-for model."""
    monkeypatch.setattr("hedgerow.cli.budget.spent_text", lambda *_: what(folder) or "The epsilon of 1 stays charged")
    before = names(folder)
    code, out, err = run(*COMMANDS[command], "-o", "out.json")
    assert (code, err.count("\n")) == (2, 1)
    assert read_back(command, out)
    assert "(out.json: File exists). The epsilon of 1 stays charged. " in err
    assert names(folder) == sorted([*before, "out.json"])
    assert what is not occupied or (folder / "out.json").read_text() == "another's"


def test_existing_paths_and_links_are_refused_before_the_charge(folder, run):
    a_dangling_link(folder)
    code, _, err = run(*FIT, "-o", "out.json")
    assert (code, "out.json already exists" in err, spent()) == (2, True, 0)


@pytest.mark.parametrize(
    "failure", [OSError(5, "Input/output error"), KeyboardInterrupt(), MemoryError(), ValueError("SECRET")]
)
def test_a_model_whose_writing_fails_for_whatever_reason_is_printed(failure, folder, run, monkeypatch):
    def fail(handle, text, write=durable.write_synced):
        if not text.startswith("\0"):
            raise failure
        write(handle, text)

    monkeypatch.setattr(durable, "write_synced", fail)
    before = names(folder)
    code, out, err = run(*FIT, "-o", "out.json")
    assert (code, err.count("\n")) == (2, 1)
    assert hr.models.RuleList.from_json(out).privacy.epsilon == 1
    assert f"The epsilon of 1 stays charged to {folder}/b.json" in err
    assert "SECRET" not in err
    assert (spent(), names(folder)) == (1, before)


SCRIPT = """
import resource
from hedgerow.cli import budget, main
tell = budget.spent_text
def full(*words):
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, resource.RLIM_INFINITY))
    return tell(*words)
budget.spent_text = full
main()
"""


def test_if_nothing_can_be_printed_on_stdout_either_stderr_has_it(folder):
    with open("/dev/full", "w") as full:
        child = subprocess.run(
            [sys.executable, "-c", SCRIPT, *FIT, "-o", "out.json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    text, _, last = child.stderr.partition("\nerror: ")
    assert hr.models.RuleList.from_json(text).privacy.epsilon == 1
    assert "JSON printed above is the only copy" in last
    assert names(folder) == ["b.json", "data.csv", "open.yaml", "schema.yaml"]


def test_names_that_a_terminal_cannot_show_do_not_lose_a_model(folder, monkeypatch, run):
    """What is printed in need is ASCII, whatever the terminal and the columns' names."""
    (folder / "data.csv").write_text("größe,ill\n" + "1,0\n0,1\n" * 50)
    monkeypatch.setattr(durable, "_rename", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left")))
    code, out, _ = run("fit", "data.csv", "--target", "ill", "--epsilon", "9", "-o", "out.json")
    assert (code, out.isascii()) == (2, True)
    assert hr.models.RuleList.from_json(out).schema.names == ("größe",)


# Errors between the charge and the answer.


@pytest.mark.parametrize(
    ("failure", "code"),
    [(KeyError("SECRET"), 1), (MemoryError("SECRET"), 1), (KeyboardInterrupt(), 130), (OSError(5, "x"), 2)],
)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.claim("Any error or termination signal after a charge states that the charge stays")
def test_any_error_after_the_charge_says_that_it_stays(command, failure, code, folder, run, monkeypatch):
    def fail(*_, **__):
        assert spent() == 1
        raise failure

    for place in ("hedgerow.Tally.of", "hedgerow.schema.private_cuts.learn_cuts"):
        monkeypatch.setattr(place, fail)
    result, out, err = run(*COMMANDS[command], "-o", "out.json")
    assert (result, out) == (code, "")
    assert f"The epsilon of 1 stays charged to {folder}/b.json." in err
    assert "SECRET" not in err
    assert (spent(), names(folder)) == (1, ["b.json", "data.csv", "open.yaml", "schema.yaml"])


def test_charges_of_other_runs_are_not_attributed(folder, run, monkeypatch):
    def read(*_):
        FileBudget(folder / "b.json").charge(Fraction(1, 2), purpose="another's")
        raise KeyError

    monkeypatch.setattr("hedgerow.cli.rows.read_table", read)
    code, _, err = run(*FIT, "-o", "out.json")
    assert (code, spent()) == (1, Fraction(1, 2))
    assert "charged" not in err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_row_that_does_not_fit_costs_nothing(command, folder, run):
    with (folder / "data.csv").open("a") as file:
        file.write("SECRET,F,no\n")
    code, out, err = run(*COMMANDS[command], "-o", "out.json")
    assert (code, out, spent()) == (2, "", 0)
    assert re.match("error: column 'age': .*not a number", err)
    assert "SECRET" not in err


@pytest.mark.usefixtures("folder")
def test_a_refused_charge_says_nothing_of_the_kind(run):
    code, out, err = run(*FIT[:4], "--epsilon", "9", "--budget", "b.json", "-o", "out.json")
    assert (code, out) == (2, "")
    assert "Nothing was charged" in err
    assert "stays" not in err


# Signals, and streams that nobody reads.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.claim("Any error or termination signal after a charge states that the charge stays")
def test_a_signal_after_the_charge_says_that_it_stays_and_leaves_no_file(command, number, folder, run, monkeypatch):
    def stop(*_, **__):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), signal.SIGTERM)  # those that follow find it ending
        pytest.fail("the command went on")

    before = names(folder)
    for place in ("hedgerow.Tally.of", "hedgerow.schema.private_cuts.learn_cuts"):
        monkeypatch.setattr(place, stop)
    code, out, err = run(*COMMANDS[command], "-o", "out.json")
    assert (code, out) == (128 + number, "")
    assert f"The epsilon of 1 stays charged to {folder}/b.json.\n" in err
    assert err.endswith(f"error: stopped by {number.name}\n")
    assert (spent(), names(folder)) == (1, before)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError, OSError])
def test_an_error_after_a_release_without_a_budget_says_what_was_charged(command, failure, run, monkeypatch):
    """There is no record, but what was drawn from the rows was drawn. Notes of others are not shown."""
    release, failed = Gate.release, failure("SECRET")

    def fail(*given, **named):
        release(*given, **named)
        raise failed

    monkeypatch.setattr(Gate, "release", fail)
    failed.add_note("SECRET of others")
    _, out, err = run(*COMMANDS[command][:-2], "-o", "out.json")
    assert out == ""
    part = {"tree": "0.266667", "list": "0.95"}.get(command, "1")  # in several releases
    assert re.findall(r"The epsilon of .*", err) == [f"The epsilon of {part} stays charged."]
    assert "SECRET" not in err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupt_before_the_file_reports_the_charge(command, shared, run, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.cli.budget.write_or_print", stop)
    code, out, err = run(*(COMMANDS[command] if shared else COMMANDS[command][:-2]), "-o", "out.json")
    assert (code, out) == (130, "")
    assert len(re.findall(r"The epsilon of 1 (?:stays charged to|is spent)", err)) == 1


def test_a_model_is_shown_if_its_digest_has_no_room_in_the_budget(folder, run, monkeypatch):
    before = import_module("hedgerow.cli.budget").spent_text

    def fill(*words):
        monkeypatch.setattr("hedgerow.privacy.budget_file.LARGEST_FILE", (folder / "b.json").stat().st_size)
        return before(*words)

    monkeypatch.setattr("hedgerow.cli.budget.spent_text", fill)
    code, out, err = run(*FIT, "-o", "out.json")
    assert code == 0
    assert str(hr.models.RuleList.load("out.json")) in out
    assert "its digest was not recorded in the budget: " in err
    assert "Nothing was charged" not in err
    code, _, err = run(*FIT, "-o", "next.json")
    assert (code, spent(), "Create a new budget" in err) == (2, 1, True)


@pytest.mark.usefixtures("folder")
def test_two_signals_at_once_are_one(run, monkeypatch):
    """Where the second was ignored, Python printed a traceback: "ignored due to race condition"."""
    seen, both = [], {signal.SIGHUP, signal.SIGTERM}

    def stop(*_, **__):
        signal.pthread_sigmask(signal.SIG_BLOCK, both)
        try:
            for number in both:  # to this thread: another one, which blocks nothing, would take the first by itself
                signal.pthread_kill(threading.get_ident(), number)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, both)

    monkeypatch.setattr("hedgerow.Tally.of", stop)
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    code, _, err = run(*FIT, "-o", "out.json")
    assert (code, err.splitlines()[-1], seen) == (129, "error: stopped by SIGHUP", [])


@pytest.mark.usefixtures("folder")
def test_a_signal_that_foreign_code_meets_is_no_success(run, monkeypatch):
    """The guard drops what an exception carries, also the code of one that leaves."""
    raised = lambda *_, **__: guarded(lambda: os.kill(os.getpid(), signal.SIGTERM), ValueError())  # noqa: E731
    monkeypatch.setattr("hedgerow.Tally.of", raised)
    code, _, err = run(*FIT, "-o", "out.json")
    assert (code, err.splitlines()[-1]) == (143, "error: stopped by SIGTERM")


@pytest.mark.usefixtures("folder")
def test_a_signal_while_the_model_is_written_loses_it_not(run, monkeypatch):
    def stop(handle, text, write=durable.write_synced):
        if not text.startswith("\0"):
            os.kill(os.getpid(), signal.SIGTERM)
        write(handle, text)

    monkeypatch.setattr(durable, "write_synced", stop)
    code, out, err = run(*FIT, "-o", "out.json")
    assert hr.models.RuleList.from_json(out).privacy.epsilon == 1
    assert (code, "is the only copy of the release: keep it" in err) == (143, True)


@pytest.mark.usefixtures("folder")
def test_signals_ignored_at_start_stay_ignored(run, monkeypatch):
    """Under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    of = hr.Tally.of
    monkeypatch.setattr("hedgerow.Tally.of", lambda *a, **b: os.kill(os.getpid(), signal.SIGHUP) or of(*a, **b))
    try:
        assert run(*FIT, "-o", "out.json")[0] == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def in_a_shell(*words, streams):
    """Run a command in a shell with other standard streams; return its exit code, and what it says on stderr."""
    line = f'"{sys.executable}" -m hedgerow "$@" {streams}'
    done = subprocess.run(["bash", "-c", line, "_", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("streams", [">/dev/full", ">&-", "2>/dev/full", "<&- >&- 2>&-", "> >(exec true)"])
@pytest.mark.claim("a full or closed output stream causes a warning")
def test_full_or_closed_streams_fail_no_charged_command(streams, folder):
    """The audit's: exit codes 1 and 2 beside a model that was paid for, so that a script paid again."""
    code, err = in_a_shell(*FIT, "-o", "out.json", streams=streams)
    assert code == 0
    assert hr.load_model("out.json").privacy.epsilon == 1
    assert "2>" in streams or err.endswith("written to out.json\n")
    assert spent() == 1
    assert names(folder) == ["b.json", "data.csv", "open.yaml", "out.json", "schema.yaml"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("streams", [">/dev/full", ">&-"])
def test_cut_points_that_cannot_be_shown_are_written_all_the_same(streams):
    code, err = in_a_shell(*LEARN, "-o", "out.json", streams=streams)
    assert (code, spent()) == (0, 1)
    assert hr.Schema.load("out.json").charges
    assert "written to out.json\ncharged: epsilon = 1" in err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("failure", [KeyError("SECRET"), OSError(5, "x"), UnicodeEncodeError("ascii", "é", 0, 1, "")])
def test_whatever_fails_once_a_model_is_written_is_a_warning(failure, run, monkeypatch):
    def fail(*_):
        raise failure

    monkeypatch.setattr("hedgerow.cli.fit.enter_digest", fail)
    code, _, err = run(*FIT, "-o", "out.json")
    assert (code, "SECRET" in err) == (0, False)
    assert "warning: the release was charged and written" in err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("streams", "reason"), [(">/dev/full", "No space left on device"), (">&-", "Bad file desc")])
def test_a_result_that_cannot_be_shown_or_saved_raises(streams, reason):
    code, err = in_a_shell("schema", "show", "schema.yaml", streams=streams)
    assert (code, err.startswith(f"error: standard output: {reason}"), err.count("\n")) == (2, True, 1)


# What is written.


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_what_is_written_has_the_usual_mode(mask, mode, folder, run):
    before = os.umask(mask)
    try:
        for number, command in enumerate(COMMANDS.values()):
            assert run(*command, "-o", f"{number}.json")[0] == 0
            assert (folder / f"{number}.json").stat().st_mode & 0o7777 == mode
            assert (folder / f"{number}.json").stat().st_nlink == 1
        assert run("predict", "0.json", "data.csv", "-o", "p.csv")[0] == 0
        assert (folder / "p.csv").stat().st_mode & 0o7777 == mode
    finally:
        os.umask(before)


def test_no_link_in_the_folder_leads_an_output_to_another_file(folder, run):
    """A sibling of the budget's lock: outputs were first written to a name that could be told, whatever stood there."""
    (folder / "precious").write_text("precious")
    for name in ("out.json", "p.csv", "s.yaml"):
        (folder / f".{name}.{os.getpid()}").symlink_to("precious")
    assert run(*FIT, "-o", "out.json")[0] == 0
    assert run("predict", "out.json", "data.csv", "-o", "p.csv")[0] == 0
    assert run("schema", "from-public", "data.csv", "--target", "ill", "-o", "s.yaml")[0] == 0
    assert (folder / "precious").read_text() == "precious"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_output_cannot_take_the_place_of_the_budget(command, folder, run):
    (folder / "link.json").symlink_to("b.json")
    for name in ("b.json", "link.json", folder / "b.json"):
        code, out, err = run(*COMMANDS[command], "--force", "-o", name)
        assert (code, out) == (2, "")
        assert "is a budget file" in err
    assert spent() == 0


def test_nothing_is_overwritten_without_force_or_hard_links(folder, run, monkeypatch):
    def no_links(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("pathlib.Path.hardlink_to", no_links)
    assert run(*FIT, "-o", "out.json")[0] == 0
    assert hr.load_model("out.json").privacy.epsilon == 1
    occupied_later = lambda *_: occupied(folder) or "Spent"  # noqa: E731
    (folder / "out.json").unlink()
    monkeypatch.setattr("hedgerow.cli.budget.spent_text", occupied_later)
    assert run(*FIT, "-o", "out.json")[0] == 2
    assert (folder / "out.json").read_text() == "another's"


@pytest.mark.parametrize("name", ["data.csv", "schema.yaml", "link.json"])
def test_no_output_takes_the_place_of_what_a_command_reads(name, folder, run):
    (folder / "link.json").symlink_to("data.csv")
    before = (folder / "data.csv").read_bytes(), (folder / "schema.yaml").read_bytes()
    code, _, err = run("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "1", "-o", name, "--force")
    assert code == 2
    assert "is an input of this command; give the output another name" in err
    assert before == ((folder / "data.csv").read_bytes(), (folder / "schema.yaml").read_bytes())


def test_no_output_takes_the_place_of_any_budget(folder, run):
    budget = FileBudget.create(folder / "spent.json", 1)
    budget.charge(1, purpose="x")
    fitted = run("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "1", "-o", "spent.json", "--force")
    assert (fitted[0], "is a budget file" in fitted[2]) == (2, True)
    assert budget.spent == 1
