"""Facts and their words: every code has words, and nothing but display depends on them."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.models.count_noise import CountNoise
from hedgerow.privacy import wording
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.facts import FORMS, LONGEST_TEXT, Fact, Field, forms_of
from hedgerow.report import Report
from hedgerow.report.subject import Subject
from hedgerow.schema.schema import FROM_ROWS
from tests.privacy.scrambling import scrambled
from tests.service.databases import ledger_at
from tests.service.ledger.asking import asked, declare

VALUES = {
    "count": st.integers(1, 50),
    "amount": st.fractions(0, 100),
    "real number": st.floats(0, 1e6),
    "text": st.text(max_size=9),
    "flag": st.just(value=True),
    "list of amounts": st.lists(st.fractions(0, 9), min_size=1, max_size=3).map(tuple),
    "list of texts": st.lists(st.text(max_size=5), min_size=1, max_size=3).map(tuple),
}
ONE = {"loss": Fact("squared", bound=2.5), "reason": Fact("seeded"), "source": Fact("opendp", version="0.14")}


def values(field: Field) -> st.SearchStrategy:
    if field.type == "code":
        return st.sampled_from(field.codes)
    if field.type.endswith(("fact", "facts")):
        item = ONE[field.codes[0]]
        return st.just(item if field.type == "fact" else (item,))
    return VALUES[field.type]


@st.composite
def facts(draw, code):
    fields = FORMS[code].fields.items()
    return Fact(
        code, **{name: draw(values(field)) for name, field in fields if not field.is_optional or draw(st.booleans())}
    )


def test_every_code_has_words_and_no_others_have() -> None:
    assert set(wording.WORDS) == set(FORMS)


@pytest.mark.parametrize("code", ["median", "text"])
def test_a_code_of_two_kinds_is_refused(code) -> None:
    with pytest.raises(ValueError, match=f"the code '{code}' of a mechanism is already in use"):
        forms_of({"query": {"median": {}}, "mechanism": {code: {}}})


@pytest.mark.parametrize("code", FORMS)
@given(data=st.data())
def test_a_fact_is_read_back_and_has_words(code, data) -> None:
    fact = data.draw(facts(code))
    kind = min(fact.kinds)
    assert isinstance(fact.words, str)
    assert Fact.from_dict(json.loads(json.dumps(fact.to_dict())), kind) == fact
    for changed in ({**fact.to_dict(), "another": 1}, {**fact.to_dict(), "code": "other"}, [fact.to_dict()], None):
        with pytest.raises(ValueError, match=f"expected a {kind} with a known code"):
            Fact.from_dict(changed, kind)


@pytest.mark.parametrize(
    ("code", "details"),
    [
        ("leaf_counts", {}),
        ("leaf_counts", {"of": "trees"}),
        ("leaf_counts", {"of": "rules", "number": -1}),
        ("leaf_counts", {"of": "rules", "number": True}),
        ("leaf_counts", {"of": "rules", "number": 2**63}),
        ("leaf_counts", {"of": "leaves", "more": 1}),
        ("text", {"text": "x" * (LONGEST_TEXT + 1)}),
        ("text", {"text": 3}),
        ("tree_draw", {"depth": 2, "values": "labels", "draws_size": False}),
        ("discrete_laplace", {"sensitivity": 1, "scale": -1}),
        ("discrete_laplace", {"sensitivity": 1, "scale": Fraction(1, 10**2501)}),
        ("discrete_laplace", {"sensitivity": 1, "scale": 10**306}),
        ("several", {"sources": (Fact("several", sources=()),)}),
        ("clipped_ratio", {"scale": float("inf")}),
        ("model_draw", {"weight": 1, "kept": 0, "loss": Fact("seeded")}),
        ("denied", {"because": (Fact("errors"),)}),
        ("no such code", {}),
    ],
)
def test_a_fact_of_another_form_is_refused(code, details) -> None:
    with pytest.raises(ValueError, match="expected"):
        Fact(code, **details)


@pytest.mark.parametrize(
    "data",
    [
        {"code": "discrete_laplace", "sensitivity": 1, "scale": 2},
        {"code": "discrete_laplace", "sensitivity": 1, "scale": "2/0"},
        {"code": "discrete_laplace", "sensitivity": 1, "scale": "4/2"},
        {"code": "discrete_laplace", "sensitivity": 1, "scale": "1" * 2501},
        {"code": "discrete_laplace", "sensitivity": 1.0, "scale": "2"},
        {"code": "discrete_laplace", "sensitivity": 1, "scale": "2", "each": None},
        {"code": "clipped_ratio", "scale": "nan"},
        {"code": "clipped_ratio", "scale": "1e999"},
        {"code": ["clipped_ratio"], "scale": "1.0"},
        {"code": "leaf_counts", "of": "leaves"},
    ],
)
def test_a_file_cannot_state_a_fact_of_another_form_or_kind(data) -> None:
    with pytest.raises(ValueError, match=r"expected a .*"):
        Fact.from_dict(data, "mechanism")


@pytest.mark.parametrize("code", FORMS)
@pytest.mark.parametrize("place", [0, -1])
def test_a_fact_with_the_smallest_and_largest_details_has_words(code, place) -> None:
    """A file that was read is shown: no detail within bounds may be too large for a float."""
    smallest, largest = Fraction(1, 10**2499), 10**305
    extreme = {
        "count": (0, 2**63 - 1),
        "amount": (smallest, largest),
        "real number": (5e-324, np.finfo(float).max),
        "text": ("", "{}\0" * 3_000),
        "flag": (True,),
        "list of amounts": ((smallest,), (largest,) * 1000),
        "list of texts": ((), ("{}",) * 2000),
        "fact": (Fact("squared", bound=5e-324), Fact("squared", bound=np.finfo(float).max)),
    }
    details = {}
    for name, field in FORMS[code].fields.items():
        parts = (*map(ONE.get, field.codes[:1]),) if field.type == "list of facts" else None
        details[name] = parts or (field.codes or extreme[field.type])[place]
        if field.type == "fact":
            details[name] = extreme["fact"][place]
    fact = Fact(code, **details)
    assert isinstance(fact.words, str)
    assert Fact.from_dict(fact.to_dict(), min(fact.kinds)) == fact


def test_text_in_a_file_is_never_taken_for_a_fact() -> None:
    schema = hr.Schema.from_dict({"attributes": {"a": {"kind": "boolean"}}, "void": FROM_ROWS.words})
    assert schema.no_guarantee == (Fact("text", text=FROM_ROWS.words),) != (FROM_ROWS,)
    card = PrivacyCard((), noise="none", software="hedgerow", no_guarantee="example")
    assert CountNoise.of(PrivacyCard.from_dict(card.to_dict())) is None


@pytest.mark.parametrize("void", ["", [], ["seeded"], [{"code": "text", "text": ""}], [{"code": "errors"}], 3, [{}]])
def test_a_schema_cannot_state_a_reason_that_is_none(void) -> None:
    with pytest.raises(hr.errors.SchemaError, match="key 'void'"):
        hr.Schema.from_dict({"attributes": {"a": {"kind": "boolean"}}, "void": void})


X = pd.DataFrame({"age": np.arange(600) % 90, "smoker": np.arange(600) % 3 == 0})
Y = pd.Series(np.where((np.arange(600) % 90 > 45) | (np.arange(600) % 3 == 0), "yes", "no"), name="ill")
SCHEMA = hr.Schema({"age": hr.Integer(0, 99, cuts=(30, 45)), "smoker": hr.Boolean()}, hr.Label("ill", ("no", "yes")))
SEEN = hr.Schema(SCHEMA.attributes, SCHEMA.label, no_guarantee=FROM_ROWS)


def noticed(folder) -> list:
    """Return what the package does with cards: fits, intervals, caveats, reports, evaluations, files and a ledger."""
    result, estimators = list[object](), (
        hr.PrivateTreeClassifier(1, schema=SCHEMA, release_counts=True, max_depth=2, random_state=0),
        hr.PrivateRuleListClassifier(1, schema=SEEN, search="greedy", max_rules=2, random_state=0),
        hr.PrivateScorecardClassifier(1, schema=SCHEMA, random_state=0),
        hr.PrivateTreeRegressor(1, schema=hr.Schema(SCHEMA.attributes, hr.Number("age2", 0, 99)), random_state=0),
    )  # fmt: skip
    for estimator in estimators:
        y = X.age.rename("age2") if isinstance(estimator, hr.PrivateTreeRegressor) else Y
        model = hr.models.released.released_model(estimator.fit(X, y))
        model.save(folder / "model.json")
        assert hr.load_model(folder / "model.json") == model
        subject = Subject(model)
        result += [model.predict(X).tolist(), CountNoise.of(model.privacy), [item.kind for item in model.caveats]]
        result += [subject.loss, subject.has_own_thresholds, subject.is_private, model.privacy.epsilon_at(1e-6)]
        result.append([(item.key, item.status) for item in Report.of(model, train=(X, y)).board.checks])
        result.append(len(model.schema.attributes))
        if y is Y:
            released = hr.evaluate(model, X, Y, epsilon=1.0, random_state=1)
            released.save(folder / "evaluation.json")
            assert hr.evaluation.evaluation.Evaluation.load(folder / "evaluation.json") == released
            result += [released.privacy.charges, released.privacy.no_guarantee, released.matrix.tolist()]
    budget = FileBudget.create(folder / "b.json", 3)
    hr.PrivateTreeClassifier(1, schema=SCHEMA, max_depth=1, budget=budget, random_state=0).fit(X, Y)
    budget.charge("1/4", purpose="row count", no_guarantee="mine")
    result += [FileBudget(folder / "b.json").charges, FileBudget(folder / "b.json").remaining]
    with ledger_at(f"sqlite:///{folder}/ledger.db") as ledger:
        declare(ledger)
        ledger.reserve(asked("one"))
        result += [ledger.account("wards").charges, ledger.verify().entries]
    return result


@pytest.mark.filterwarnings("ignore")
def test_other_sentences_change_nothing_but_what_is_shown(tmp_path, monkeypatch) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    before = noticed(tmp_path / "before")
    text = str(hr.load_model(tmp_path / "before" / "model.json").privacy)
    scrambled(monkeypatch)
    assert noticed(tmp_path / "after") == before
    assert str(hr.load_model(tmp_path / "before" / "model.json").privacy) != text
    for name in ("model.json", "evaluation.json"):
        assert (tmp_path / "before" / name).read_text() == (tmp_path / "after" / name).read_text()
