import json
import os
from fractions import Fraction

import numpy as np
import pytest

from hedgerow import PrivateRuleListClassifier
from hedgerow.errors import ArgumentError, BudgetExceededError, ModelFormatError, StateError
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.charge import Charge
from tests.privacy.racing import race
from tests.privacy.rewriting import sha


@pytest.fixture
def path(tmp_path):
    FileBudget.create(tmp_path / "budget.json", 1)
    return tmp_path / "budget.json"


def test_a_charge_is_on_disk_when_it_returns(path):
    FileBudget(path).charge(0.25, purpose="a model")
    assert FileBudget(path).spent == Fraction(1, 4)
    assert json.loads(path.read_text())["entries"][1]["query"] == {"code": "text", "text": "a model"}


def test_what_another_run_charged_counts(path):
    item, two = FileBudget(path), FileBudget(path)
    item.charge(0.75, purpose="first")
    with pytest.raises(BudgetExceededError, match=r"epsilon=0\.25 left"):
        two.charge(0.5, purpose="second")
    two.charge(0.25, purpose="third")
    assert [charge.purpose for charge in FileBudget(path).charges] == ["first", "third"]


def test_a_charge_parses_no_entry_that_was_checked_before(path, monkeypatch):
    budget, parsed, parse = FileBudget(path), [], Charge.parsed
    monkeypatch.setattr(Charge, "parsed", lambda data: parsed.append(data["query"]["text"]) or parse(data))
    for number in range(10):
        budget.charge(Fraction(1, 1000 + number), purpose=f"charge {number}")
    assert parsed == [f"charge {number}" for number in range(10)]
    assert FileBudget(path).charges == budget.charges


def test_an_edit_between_two_charges_of_a_process_is_noticed(path):
    budget = FileBudget(path)
    budget.charge(0.25, purpose="a model")
    before = path.stat()
    path.write_text(path.read_text().replace('"1/4"', '"1/9"'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    with pytest.raises(ModelFormatError, match="was edited"):
        budget.charge(0.25, purpose="another model")
    with pytest.raises(ModelFormatError, match="was edited"):
        _ = budget.spent


def test_entries_that_a_caller_changes_do_not_change_the_budget(path):
    budget = FileBudget(path)
    budget.charge(0.25, purpose="a model")
    budget.record.entries[1]["epsilon"] = "0"
    budget.charge(0.25, purpose="another model")
    assert FileBudget(path).spent == budget.spent == Fraction(1, 2)


def test_estimators_charge_it_as_any_budget(path):
    budget = FileBudget(path)
    PrivateRuleListClassifier(0.5, budget=budget).fit(np.array([[0, 1], [1, 0]] * 10), [0, 1] * 10)
    assert FileBudget(path).remaining == Fraction(1, 2)


def test_only_one_of_many_processes_gets_the_last_unit(path):
    assert sum(race(path, Fraction(1), processes=4)) == 1


def test_a_budget_is_never_written_over(path):
    with pytest.raises(FileExistsError, match="exists"):
        FileBudget.create(path, 5)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"format": "hedgerow/budget", "version": 2}',
        '{"format": "hedgerow/budget", "version": 1}',
    ],
)
def test_something_else_is_refused(path, content):
    path.write_text(content)
    with pytest.raises(ModelFormatError, match="expected a budget file"):
        FileBudget(path)


def test_a_link_leads_to_the_same_budget(path):
    link = path.with_name("link.json")
    link.symlink_to(path)
    FileBudget(link).charge(1, purpose="through the link")
    assert FileBudget(path).remaining == 0
    assert link.is_symlink()


def test_a_second_name_of_the_file_is_refused(path):
    path.with_name("twin.json").hardlink_to(path)
    with pytest.raises(ModelFormatError, match="2 hard links"):
        FileBudget(path)


def test_a_digest_belongs_to_the_last_charge_through_the_same_object(path):
    item, two = FileBudget(path), FileBudget(path)
    with pytest.raises(StateError, match="no model was charged"):
        item.add_digest("a" * 64)
    item.charge("1/4", purpose="first")
    two.charge("1/4", purpose="second")
    item.add_digest("a" * 64)
    assert item.record.entries[-1]["charge"] == 1
    with pytest.raises(ArgumentError, match="digest of a model"):
        two.add_digest("a row")
    assert [entry["kind"] for entry in two.record.entries] == ["opened", "charged", "charged", "released"]
    assert two.spent == Fraction(1, 2)


def test_racing_processes_leave_a_single_chain_of_charges(path):
    race(path, Fraction(1, 20), processes=3)
    entries = json.loads(path.read_text())["entries"]
    assert len(entries) == 21
    assert [entry["previous"] for entry in entries] == ["", *map(sha, entries[:-1])]
    assert FileBudget(path).head == sha(entries[-1])
