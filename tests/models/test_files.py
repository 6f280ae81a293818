import re
from pathlib import Path

import pytest

from hedgerow.errors import ArgumentError, ModelFormatError
from hedgerow.learn import PrivateTreeClassifier
from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Tree, load_model
from hedgerow.models.files import rebuilt
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Label, Schema

NONE = PrivacyCard.none("example", software="hedgerow")
SCHEMA = Schema({"x": Boolean()}, Label("y", (0, 1)))
FORMATS = "hedgerow/rule-list, hedgerow/tree, hedgerow/scorecard"


@pytest.mark.parametrize(
    "model",
    [
        RuleList(SCHEMA, (Rule((), label=1),), NONE),
        Tree(SCHEMA, Leaf((1, 2)), NONE),
        Scorecard(SCHEMA, (0,), (AttributePoints("x", ((0,), (1,))),), 1.0, None, NONE),
    ],
)
def test_the_file_states_the_kind_of_model(model: RuleList | Tree | Scorecard, tmp_path: Path) -> None:
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again == model
    assert type(again) is type(model)


def test_a_model_replaces_a_model_but_never_a_budget(tmp_path: Path) -> None:
    model, other = Tree(SCHEMA, Leaf((1, 2)), NONE), Tree(SCHEMA, Leaf((3, 2)), NONE)
    model.save(tmp_path / "model.json")
    other.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json") == other
    budget = FileBudget.create(tmp_path / "budget.json", 1)
    with pytest.raises(ArgumentError, match=r"budget\.json is a budget file"):
        model.save(tmp_path / "budget.json")
    assert FileBudget(tmp_path / "budget.json").remaining == budget.remaining


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "hedgerow/forest"}', rf"expected one of the formats {FORMATS}, got 'hedgerow/forest'\."),
        ('{"format": "hedgerow/tree-set"}', rf"expected one of the formats {FORMATS}, got 'hedgerow/tree-set'\."),
        ("{}", rf"expected one of the formats {FORMATS}, got a mapping without a format\."),
        ("[]", rf"expected one of the formats {FORMATS}, got a list\."),
        ('{"format": ["hedgerow/tree"]}', r"expected one of the formats .* got an unknown format\."),
        ('{"format": "hedgerow/tree"}', "expected version 2 of hedgerow/tree, got None"),
        ("if", r"not a hedgerow model: the text is truncated or not JSON \(line 1: "),
        ("[" * 5000 + "]" * 5000, "not a hedgerow model: lists and mappings are nested"),
    ],
)
def test_files_that_are_not_models_fail(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(text)
    path = tmp_path / "model.json"
    for load in (load_model, Tree.load) if '"hedgerow/tree"}' in text else (load_model,):
        with pytest.raises(ModelFormatError, match=f"^{re.escape(str(path))}: {message}"):
            load(path)


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"model\.json"):
        load_model(tmp_path / "model.json")


def test_an_estimator_within_a_model_is_not_copied() -> None:
    """It is a dataclass of hedgerow's, too, but not a frozen one of values."""
    model = RuleList(SCHEMA, (Rule((), label=1),), NONE)
    object.__setattr__(model, "privacy", PrivateTreeClassifier(1))
    with pytest.raises(ArgumentError, match="type PrivateTreeClassifier"):
        rebuilt(model)
