"""`hedgerow ledger`: what a curator, or an auditor, reads of a ledger."""

import json

import pytest

from hedgerow.service.ledger.ledger import Ledger
from tests.service.ledger.asking import asked, declare


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Ledger("sqlite:///curator.db") as ledger:
        declare(ledger)
        ledger.answer(ledger.reserve(asked("one")), b"12")
        ledger.fail(ledger.reserve(asked("two")), "a value outside\n the schema")
        yield ledger


def test_a_whole_ledger_is_verified_with_its_last_hash(kept, run):
    code, out, _ = run("ledger", "verify", "curator.db")
    assert (code, out) == (0, f"5 entries, whole; the last has the hash {kept.verify().head}\n")
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
    assert lines == [entry.content for entry in kept.entries()]
    assert json.loads(lines[1])["analyst"] == "ana"
    assert "exists already" in run("ledger", "export", "curator.db", "-o", "entries.jsonl")[2]


def test_a_broken_ledger_is_told_in_a_line(kept, run):
    with kept._database.writing() as connection:
        connection.exec_driver_sql("UPDATE totals SET epsilon = '0'")
    assert run("ledger", "verify", "curator.db") == (
        2,
        "",
        "error: the ledger is broken: its table of totals is not what its entries say.\n",
    )


def test_a_ledger_that_is_not_there_is_not_made(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("ledger", "show", "none.db")
    assert (code, err) == (2, "error: none.db: No such ledger\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("kept")
def test_without_the_extra_it_says_what_to_install(run, monkeypatch):
    monkeypatch.setattr("hedgerow.cli.ledger.find_spec", lambda _: None)
    assert "pip install 'hedgerow[service]'" in run("ledger", "verify", "curator.db")[2]
