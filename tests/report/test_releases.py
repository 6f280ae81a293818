"""Records of releases: budget files, and what a ledger exports."""

from fractions import Fraction

import pytest

from hedgerow.privacy.budget_file import FileBudget
from hedgerow.report.releases import FAILED, Releases
from hedgerow.service.ledger.ledger import Ledger
from tests.service.ledger.asking import asked, declare


@pytest.fixture
def exported(tmp_path):
    with Ledger(f"sqlite:///{tmp_path / 'curator.db'}", new_ledger=True) as ledger:
        declare(ledger)
        ledger.answer(ledger.reserve(asked("one")), b"12")
        ledger.fail(ledger.reserve(asked("two")), "a value outside\u2028 the schema")
        lines = [entry.line for entry in ledger.entries()]
    path = tmp_path / "entries.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_a_budget_file_lists_its_charges(tmp_path):
    budget = FileBudget.create(tmp_path / "budget.json", "3", "1e-6")
    budget.charge("1/3", purpose="row count")
    budget.charge("0.25", "1e-7", purpose="cut points")
    result = Releases.load(tmp_path / "budget.json")
    assert result.charges == budget.charges
    assert (result.epsilon, result.delta, result.cap) == (Fraction(7, 12), Fraction(1, 10**7), 3)
    assert result.rho is None  # a delta without a known rho
    with pytest.raises(ValueError, match="budget file"):
        Releases.load(tmp_path / "budget.json", dataset="wards")


def test_a_budget_file_has_the_digests_of_the_models_that_charges_were_for(tmp_path):
    budget = FileBudget.create(tmp_path / "budget.json", "3")
    for digest in ("a" * 64, None, "b" * 64):
        budget.charge("1/2", purpose="a model")
        if digest:
            budget.add_digest(digest)
    result = Releases.load(tmp_path / "budget.json")
    assert [releas.models for releas in result.releases] == [("a" * 64,), (), ("b" * 64,)]


def test_an_exported_ledger_lists_what_was_charged_also_what_failed(exported):
    result = Releases.load(exported)
    assert [(releas.charge.purpose, releas.charge.epsilon, releas.state) for releas in result.releases] == [
        ("rows by bin", Fraction(1, 4), ""),
        ("rows by bin", Fraction(1, 4), FAILED),
    ]
    assert result.epsilon == Fraction(1, 2)
    assert result.dataset == "wards"
    assert result.cap is not None
    assert all(releas.time.startswith("20") for releas in result.releases)
    assert Releases.load(exported, dataset="wards") == result


def test_no_analyst_is_in_a_record(exported):
    assert '"ana"' in exported.read_text(encoding="utf-8")
    assert "ana" not in repr(Releases.load(exported))


def test_another_dataset_is_refused(exported):
    with pytest.raises(ValueError, match=r"\(wards\); got 'moors'"):
        Releases.load(exported, dataset="moors")


@pytest.mark.parametrize("change", [("1/4", "1/8"), ('"sequence":2', '"sequence":3'), ("rows by bin", "x")])
def test_an_entry_that_was_edited_is_refused(exported, change):
    text = exported.read_text(encoding="utf-8")
    assert change[0] in text
    exported.write_text(text.replace(*change, 1), encoding="utf-8")
    with pytest.raises(ValueError, match="neither a budget file"):
        Releases.load(exported)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "record").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not text in UTF-8"):
        Releases.load(tmp_path / "record")


@pytest.mark.parametrize("text", ["", "[]\n", "{}\n", "not a record", '{"previous":"","sequence":1}\n'])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"record\.json"):
        Releases.load(path)
