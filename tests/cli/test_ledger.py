"""`hedgerow ledger`: what a curator, or an auditor, reads of a ledger."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from hedgerow.service.config import Config
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.ledger.log import HeadFile, LogMark
from tests.service.databases import head_of, ledger_at, ledger_url  # noqa: F401 -- a fixture
from tests.service.ledger.asking import asked, declare


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Ledger("sqlite:///curator.db", new_ledger=True) as ledger:
        declare(ledger)
        ledger.answer(ledger.reserve(asked("one")), b"12")
        ledger.fail(ledger.reserve(asked("two")), "a value outside\n the schema")
        yield ledger


def test_a_whole_ledger_is_verified_with_its_last_hash(kept, run):
    code, out, _ = run("ledger", "verify", "curator.db")
    assert (code, out) == (0, f"5 entries, complete; the last entry has the hash {kept.verify().head}\n")
    assert run("ledger", "verify", "sqlite:///curator.db")[1] == out


@pytest.mark.usefixtures("kept")
def test_entries_are_shown_a_line_each(run):
    lines = run("ledger", "show", "curator.db")[1].splitlines()
    assert len(lines) == 5
    assert "ana asks wards: rows by bin, epsilon 1/4" in lines[1]
    assert "epoch 1 of wards: the rows of 2026" in lines[0]
    assert "a value outside" in lines[4]


def test_an_export_has_the_entries_as_they_are_hashed(kept, run, tmp_path):
    assert run("ledger", "export", "curator.db", "-o", "entries.jsonl")[0] == 0
    lines = (tmp_path / "entries.jsonl").read_text().splitlines()
    assert lines == [entry.line for entry in kept.entries()]
    assert json.loads(lines[1])["analyst"] == "ana"
    assert "already exists" in run("ledger", "export", "curator.db", "-o", "entries.jsonl")[2]


def test_a_broken_ledger_is_reported_in_a_line(kept, run):
    with kept._database.writing() as connection:
        connection.exec_driver_sql("UPDATE totals SET epsilon = '0'")
    assert run("ledger", "verify", "curator.db") == (
        2,
        "",
        "error: the ledger is broken: its table of totals does not follow from its entries.\n",
    )


def test_a_ledger_that_is_not_there_is_not_made(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("ledger", "show", "none.db")
    assert (code, err) == (2, "error: none.db: No such ledger\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("kept")
def test_without_the_extra_it_says_what_to_install(run, monkeypatch):
    monkeypatch.setattr("hedgerow.cli.ledger.find_spec", lambda _: None)
    assert "pip install '.[service]'" in run("ledger", "verify", "curator.db")[2]


def test_an_empty_ledger_is_not_reported_as_complete(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Ledger("sqlite:///curator.db", new_ledger=True).close()
    code, out, _ = run("ledger", "verify", "curator.db")
    assert (code, out) == (1, "empty: nothing was declared or charged, or all entries are lost\n")


def test_a_hash_kept_elsewhere_must_be_there(kept, run):
    head = kept.verify().head
    kept.fail(kept.reserve(asked("three")), "x")
    assert run("ledger", "verify", "curator.db", "--head", head)[0] == 0
    code, _, err = run("ledger", "verify", "curator.db", "--head", "0" * 64)
    assert (code, "0" * 8 in err) == (2, True)


def test_a_backup_of_a_running_ledger_verifies_but_a_file_copy_does_not(kept, run, tmp_path):
    assert run("ledger", "backup", "curator.db", "backup.db")[:2] == run("ledger", "verify", "curator.db")[:2]
    assert run("ledger", "verify", "backup.db", "--head", kept.verify().head)[0] == 0
    assert (tmp_path / "backup.db").stat().st_mode & 0o777 == 0o600
    assert run("ledger", "backup", "curator.db", "backup.db")[2].endswith("already exists; give another name.\n")
    assert not list(tmp_path.glob(".hedgerow-*"))
    shutil.copy("curator.db", "copy.db")
    code, out, _ = run("ledger", "verify", "copy.db")
    assert (code, "consistent, but not compared with a head" in out, "whole" in out) == (1, True, False)
    assert run("ledger", "backup", "copy.db", "other.db")[2].startswith("error: the ledger has no head file")


@pytest.mark.parametrize("words", [("show",), ("verify",), ("export", "-o", "e.jsonl"), ("backup", "b.db")])
def test_a_ledger_that_is_read_stays_as_it_was(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    with Ledger("sqlite:///curator.db", new_ledger=True) as ledger:
        declare(ledger)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("curator.db*") if path.is_file()}
    assert run("ledger", words[0], "curator.db", *words[1:])[0] == 0
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert not list((tmp_path / "curator.db-runs").iterdir())


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_database_that_is_no_ledger_is_left_as_it_is(tmp_path, monkeypatch, run, command):
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("other.db")) as connection, connection:
        connection.execute("CREATE TABLE mine (a)")
    before = (tmp_path / "other.db").read_bytes()
    code, _, err = run("ledger", command, "other.db")
    assert (code, "contains no ledger" in err) == (2, True)
    assert (tmp_path / "other.db").read_bytes() == before


def configure(url, **more):
    """Write a configuration beside a ledger, as `hedgerow serve init` does."""
    dataset = {"table": "t.csv", "schema": "t.yaml", "cap": {"epsilon": 3}, "analysts": {"ana": {"epsilon": 1}}}
    Path("curator.yaml").write_text(json.dumps({"ledger": url, "datasets": {"wards": dataset}} | more))


@pytest.fixture
def restored(ledger_url, tmp_path, monkeypatch):  # noqa: F811
    """A database without its head, whose latest head has an entry more, as a dump that was restored; both heads."""
    monkeypatch.chdir(tmp_path)
    head = head_of(ledger_url)
    with ledger_at(ledger_url) as ledger:
        declare(ledger)
        ledger.reserve(asked("one"))
    earlier, latest = head.read_bytes(), LogMark(3, "f" * 64)
    HeadFile(head).keep(latest)
    later = head.read_bytes()
    head.unlink()
    url = sa.make_url(ledger_url)
    if url.password is not None:  # none is taken on the command line
        monkeypatch.setenv("PGPASSWORD", str(url.password))
        ledger_url = url._replace(password=None).render_as_string()
    return ledger_url, earlier, later, latest.hash


@pytest.mark.parametrize("command", [("verify",), ("show",), ("export", "-o", "e.jsonl")])
def test_a_restored_dump_is_never_called_whole(restored, run, command):
    url, earlier, latest, newest = restored
    code, out, err = run("ledger", *command, url)
    assert "whole" not in out
    assert (code, "head" in out + err) == (1 if command == ("verify",) else 0, True)
    Path("e.jsonl").unlink(missing_ok=True)
    code, out, err = run("ledger", *command, url, "--head", newest)
    assert (code, "entries are lost" in err, out) == (2, True, "")
    configure(url, head="kept.head")
    Path("kept.head").write_bytes(latest)
    for words in ((), ("--config", "curator.yaml"), (url, "--config", "curator.yaml")):
        code, out, err = run("ledger", *command, *words)
        assert (code, "the ledger has lost entries" in err, out) == (2, True, "")
        assert not Path("e.jsonl").exists()
    Path("kept.head").write_bytes(earlier)
    code, out, err = run("ledger", *command, "--config", "curator.yaml")
    assert (code, err) == (0, "")
    if command == ("verify",):
        assert out.startswith("2 entries, complete; the last entry has the hash ")


def test_without_a_ledger_or_a_configuration_it_says_which_to_give(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("ledger", "verify")
    assert (code, "give LEDGER or --config FILE" in err) == (2, True)


def test_a_ledger_with_a_separate_head_is_backed_up_by_its_configuration(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    configure("ledger.db", head="elsewhere.head")
    with Config.read("curator.yaml").open_ledger(new_ledger=True) as ledger:
        declare(ledger)
    assert run("ledger", "backup", "ledger.db", "b.db")[0] == 2
    code, out, _ = run("ledger", "backup", "ledger.db", "b.db", "--config", "curator.yaml")
    assert (code, out.startswith("1 entries, complete")) == (0, True)


@pytest.mark.parametrize(
    "where",
    [
        "curator:SECRET@127.0.0.1:1/none",
        "curator:SEC/RET@127.0.0.1:1/none",
        "curator@server:SECRET@127.0.0.1:1/none",
        "curator@127.0.0.1:1/none?password=SECRET",
    ],
)
@pytest.mark.parametrize("command", ["verify", "show"])
def test_a_password_on_the_command_line_is_refused_and_not_printed(run, command, where):
    code, out, err = run("ledger", command, f"postgresql://{where}")
    assert (code, out, "~/.pgpass or $PGPASSWORD" in err, "SECRET" in err) == (2, "", True, False)
