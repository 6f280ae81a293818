"""The entries that are inserted in bulk can be read and verified like entries of the ledger."""

import runpy

from tests.docs.page import ROOT


def test_all_pages_of_inserted_entries_are_shown_and_verified(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    script = runpy.run_path(str(ROOT / "benchmarks/ledger.py"))
    script["seconds"].__globals__["ROUNDS"] = 1
    measured = script["measured"](f"sqlite:///{tmp_path}/ledger.db", tmp_path / "head", 100)
    found = {what: value for what, value, _ in measured}
    assert len(found) == 19
    assert all(value > 0 for what, value in found.items() if not what.startswith("memory"))
