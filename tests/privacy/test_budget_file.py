import json
from fractions import Fraction

import numpy as np
import pytest

from hedgerow import PrivateRuleListClassifier
from hedgerow.errors import BudgetExceededError, ModelFormatError
from hedgerow.privacy.budget_file import FileBudget
from tests.privacy.racing import race


@pytest.fixture
def path(tmp_path):
    FileBudget.create(tmp_path / "budget.json", 1)
    return tmp_path / "budget.json"


def test_a_charge_is_on_disk_when_it_returns(path):
    FileBudget(path).charge(0.25, purpose="a model")
    assert FileBudget(path).spent == Fraction(1, 4)
    assert json.loads(path.read_text())["charges"][0]["purpose"] == "a model"


def test_what_another_run_charged_counts(path):
    one, two = FileBudget(path), FileBudget(path)
    one.charge(0.75, purpose="first")
    with pytest.raises(BudgetExceededError, match=r"epsilon=0\.25 left"):
        two.charge(0.5, purpose="second")
    two.charge(0.25, purpose="third")
    assert [charge.purpose for charge in FileBudget(path).charges] == ["first", "third"]


def test_estimators_charge_it_as_any_budget(path):
    budget = FileBudget(path)
    PrivateRuleListClassifier(0.5, budget=budget).fit(np.array([[0, 1], [1, 0]] * 10), [0, 1] * 10)
    assert FileBudget(path).remaining == Fraction(1, 2)


def test_the_last_unit_asked_for_by_many_processes_goes_to_one(path):
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
    with pytest.raises(ModelFormatError, match="expected a budget file without hard links"):
        FileBudget(path)
