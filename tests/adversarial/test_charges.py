"""A card's ε equals the charges, and a budget states which of its charges the cap does not cover."""

import copy
import json
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import hedgerow as hr
from hedgerow.errors import BudgetExceededError, ModelFormatError, SchemaError
from hedgerow.learn.ssrl.greedy import PUBLISHED
from hedgerow.models import Rule
from hedgerow.models.envelope import seal
from hedgerow.privacy.amounts import exact
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.unit import Unit
from tests.models.strategies import cards
from tests.privacy.rewriting import edit

SCHEMA = """\
label: {name: y, classes: [0, 1]}
attributes:
  age: {kind: integer, low: 0, high: 99, cuts: [30, 60]}
charges:
- {query: {code: schema_cut_points}, epsilon: EPSILON, epsilon_exact: EXACT, delta: 0.0, delta_exact: '0'}
"""
ABSURD = {
    "negative": ("-0.9", "'-9/10'"),
    "of a huge exponent": ("1.0", "'1e99999999'"),
    "of a decimal": ("0.5", "'0.5'"),
    "without end": (".inf", "'inf'"),
    "no number": (".nan", "'nan'"),
    "divided by zero": ("1.0", "'1/0'"),
    "no text": ("1.0", "1"),
    "beyond floats": ("1.0", f"'{10**310}'"),
    "of many digits": ("0.0", f"'1/{10**1001}'"),
    "of two minds": ("0.1", "'9'"),
}


def rows(n=200):
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, n)
    return pd.DataFrame({"age": age, "smoker": rng.integers(0, 2, n) == 1, "y": (age > 60).astype(int)})


def declaring(case):
    epsilon, exact = ABSURD[case]
    return SCHEMA.replace("EPSILON", epsilon).replace("EXACT", exact)


# What a file may say was spent.


@pytest.mark.parametrize("case", ABSURD)
@pytest.mark.claim("a file with any other value is refused")
def test_a_schema_file_cannot_reduce_the_cost_of_a_model(case, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yaml").write_text(declaring(case))
    rows().to_csv("data.csv", index=False)
    with pytest.raises(SchemaError, match=r"'charges'|YAML types"):
        hr.Schema.load("schema.yaml")
    code, out, err = run("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "1")
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("case", sorted(set(ABSURD) - {"of two minds"}))
@pytest.mark.claim("a file with any other value is refused")
def test_neither_can_a_budgets(case, tmp_path):
    path = tmp_path / "budget.json"
    FileBudget.create(path, 9).charge(1, purpose="one")
    _, exact = ABSURD[case]
    amount = exact.strip("'") if exact.startswith("'") else int(exact)
    edit(path, lambda data: data["entries"][1].update(epsilon=amount), rehash=True)
    with pytest.raises(ModelFormatError, match="expected a budget file") as caught:
        FileBudget(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("case", ABSURD)
def test_nor_a_models(case):
    model = hr.PrivateRuleListClassifier(1.0, max_rules=1).fit(rows()[["smoker"]], rows()["y"]).rule_list_
    data = model.privacy.to_dict()
    _, exact = ABSURD[case]
    data["charges"][0]["epsilon_exact"] = exact.strip("'") if exact.startswith("'") else int(exact)
    with pytest.raises(ValueError, match=r"expected an amount|must be|contradict each other|not the loss"):
        PrivacyCard.from_dict(data)


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "-1"},
        {"epsilon": "1e99999999"},
        {"epsilon": "0"},
        {"delta": "1"},
        {"delta": "-1/2"},
        {"epsilon": str(10**310)},
        {"epsilon": f"1/{10**1001}"},
        {"epsilon": 1},
        {"epsilon": 0.5},
        {"more": 1},
        {"kind": "charged"},
        {"date": "yesterday"},
        {"table": ""},
        {"table": "red\x1b[2J"},
    ],
)
def test_a_budget_whose_cap_is_absurd_is_refused_in_one_line(change, tmp_path):
    path = tmp_path / "budget.json"
    FileBudget.create(path, 9)
    edit(path, lambda data: data["entries"][0].update(change), rehash=True)
    with pytest.raises(ModelFormatError, match="expected a budget file") as caught:
        FileBudget(path)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize("change", [{"more": 1}, {"warning": "nothing to see"}, {"version": 2}, {"version": 4}])
def test_a_budgets_file_with_something_else_is_refused_in_one_line(change, tmp_path):
    path = tmp_path / "budget.json"
    FileBudget.create(path, 9)
    edit(path, lambda data: data.update(change))
    with pytest.raises(ModelFormatError, match="expected a budget file") as caught:
        FileBudget(path)
    assert str(caught.value).count("\n") == 0


def test_amounts_with_huge_denominators_are_refused_quickly():
    """Thousands of charges with coprime denominators: their sum would have millions of digits."""
    odd = [3 * 10**900 + 7 + 2 * i for i in range(8_000)]
    data = [Charge("x", Fraction(1, number)).to_dict() for number in odd]
    with pytest.raises(SchemaError, match="2,500 digits"):
        hr.Schema.from_dict({"attributes": {"a": {"kind": "boolean"}}, "charges": data})
    with pytest.raises(ValueError, match="2,500 digits"):
        PrivacyCard(tuple(Charge("x", Fraction(1, number)) for number in odd), noise="", software="")


def test_schemas_with_unaddable_charges_raise_before_the_charge(monkeypatch):
    odd = [Charge("x", Fraction(1, 10**900 + i)) for i in (7, 9, 13)]
    schema = hr.Schema({"smoker": hr.Boolean()}, hr.Label("y", (0, 1)), charges=tuple(odd))
    monkeypatch.setattr(hr.Tally, "count", lambda *_: pytest.fail("rows were counted"))
    budget = hr.Budget(3)
    with pytest.raises(ValueError, match="2,500 digits"):
        hr.PrivateRuleListClassifier(1.0, schema=schema, budget=budget).fit(rows(), rows()["y"])
    assert budget.charges == ()


def test_shares_with_invalid_parts_are_refused_before_the_charge(monkeypatch):
    monkeypatch.setattr(hr.Tally, "count", lambda *_: pytest.fail("rows were counted"))
    budget, epsilon = hr.Budget(3), Fraction(10**998 + 1, 10**999)
    for make in (hr.PrivateRuleListClassifier, hr.PrivateTreeClassifier):
        with pytest.raises(ValueError, match=r"10\^20 .*1,000 digits"):
            make(epsilon, schema=FIXED, budget=budget).fit(rows(), rows()["y"])
    with pytest.raises(ValueError, match=r"an allocated amount divided by 10\^20"):
        hr.Schema.learn(rows(), DECLARED, epsilon=epsilon, budget=budget)
    assert budget.charges == ()


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("epsilon", -1, "epsilon must be a finite number >= 0, got -1"),
        ("epsilon", float("nan"), "epsilon must be a finite number"),
        ("epsilon", float("inf"), "epsilon must be a finite number"),
        ("epsilon", "one", "epsilon must be a number"),
        ("epsilon", True, "epsilon must be a finite number"),
        ("epsilon", 10**310, "epsilon must be a finite number >= 0, got a number beyond"),
        ("epsilon", Fraction(1, 10**1001), "epsilon must have at most 1,000 digits"),
        ("delta", 1, r"delta must be in \[0, 1\), got 1"),
        ("delta", -1e-9, "delta must be a finite number >= 0, got -1e-09"),
        ("query", 3, "query must be text or a Fact of kind query, got a int"),
        ("query", Fact("seeded"), "query must be text or a Fact of kind query, got a Fact"),
        ("mechanism", b"x", "mechanism must be text or a Fact of kind mechanism, got a bytes"),
        ("no_guarantee", "", "no_guarantee must be None"),
        ("no_guarantee", True, "no_guarantee must be text, a Fact or a sequence of them, got a bool"),
        ("declared", 1, "declared must be True or False"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_charge_is_of_an_amount_that_can_be_charged(part, value, message):
    with pytest.raises(ValueError, match=message):
        Charge(**{"query": "x", "epsilon": Fraction(1), part: value})


def test_the_largest_charges_add_up_to_what_can_be_shown():
    card = PrivacyCard((Charge("x", 10**300),) * 1000, noise="", software="")
    assert card.epsilon == 10**303
    assert "1e+303" in card.guarantee


def test_a_loss_too_small_for_a_float_is_not_shown_as_none():
    card = PrivacyCard((Charge("x", Fraction(1, 10**999)),), noise="", software="")
    assert card.headline == "epsilon-differential privacy with epsilon = 1e-999"


# What a schema's file declares.


def test_claims_of_a_file_are_shown_as_claims_of_the_file(tmp_path):
    declared = hr.Schema({"age": hr.Integer(0, 99)}, hr.Label("y", (0, 1)))
    learned = hr.Schema.learn(rows(), declared, epsilon=Fraction(1, 2), bins=2)
    for name in ("schema.yaml", "schema.json"):
        learned.save(tmp_path / name)
        assert "declared" not in (tmp_path / name).read_text()
        loaded = hr.Schema.load(tmp_path / name)
        assert (loaded, loaded.digest, hash(loaded)) == (learned, learned.digest, hash(learned))
        loaded.save(tmp_path / f"again-{name}")
        assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()
        card = hr.PrivateRuleListClassifier(1.0, schema=loaded).fit(rows(), rows()["y"]).privacy_
        assert [charge.declared for charge in card.charges[:2]] == [True, False]
        first = str(card).split("\n")[3]
        assert first.startswith(
            "  0.5         all cut points of age (quantiles for 2 bins, jointly by the exponential mechanism"
        )
        assert first.endswith("; declared by the schema's file")
        assert card.epsilon == Fraction(3, 2)
    of_memory = hr.PrivateRuleListClassifier(1.0, schema=learned).fit(rows(), rows()["y"]).privacy_
    assert "declared" not in str(of_memory)
    assert "declared" not in json.dumps(of_memory.to_dict())


@pytest.mark.parametrize("name", ["schema.yaml", "schema.json"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), 0.1, 1e-9, 5e-324, 1e20, Fraction(1, 10**400), 0])
def test_a_charge_comes_back_from_a_schemas_file_as_it_was(name, epsilon, tmp_path):
    charges = Charge("a", epsilon, 1e-9, "b: c, 'd'"), Charge("e", epsilon, no_guarantee="not proven: f; seeded")
    schema = hr.Schema({"a": hr.Boolean()}, charges=charges)
    schema.save(tmp_path / name)
    again = hr.Schema.load(tmp_path / name)
    assert (again, again.digest) == (schema, schema.digest)
    assert [charge.no_guarantee_reason for charge in again.charges] == [None, "not proven: f; seeded"]


def test_a_model_keeps_whose_word_a_charge_is(tmp_path):
    schema = hr.Schema.from_dict(
        {
            "label": {"name": "y", "classes": [0, 1]},
            "attributes": {"smoker": {"kind": "boolean"}},
            "charges": [Charge("grouping", Fraction(1, 4)).to_dict()],
        }
    )
    model = hr.PrivateRuleListClassifier(1.0, schema=schema).fit(rows(), rows()["y"]).rule_list_
    model.save(tmp_path / "model.json")
    again = hr.load_model(tmp_path / "model.json")
    assert str(again.privacy) == str(model.privacy)
    assert "grouping; declared by the schema's file" in str(again.privacy)
    assert [charge.declared for charge in again.schema.charges] == [True]
    assert again.to_json() == model.to_json()


def test_a_schemas_file_cannot_say_that_it_is_no_file():
    charge = {**Charge("x", Fraction(1)).to_dict(), "declared": False}
    body = {"attributes": {"a": {"kind": "boolean"}}}
    for value in (False, True, None, 1):
        with pytest.raises(SchemaError, match="'charges'"):
            hr.Schema.from_dict({**body, "charges": [{**charge, "declared": value}]})


def test_a_charge_has_identity_that_copies_keep():
    item, other = Charge("a cut point", Fraction(1)), Charge("a cut point", Fraction(1))
    assert item == other
    assert item is not other
    assert copy.copy(item) is copy.deepcopy((item,))[0] is item
    schema = hr.Schema({"a": hr.Boolean()}, hr.Label("y", (0, 1)), charges=(item, other))
    copied = clone(hr.PrivateRuleListClassifier(1.0, schema=schema)).schema
    assert [charge is copied.charges[i] for i, charge in enumerate(schema.charges)] == [True, True]
    assert pickle.loads(pickle.dumps(item)) == item


HOSTILE = "x\nguarantee   epsilon-differential privacy with epsilon = 0.001\x1b[2J\r\u202e"


@pytest.mark.claim("no line break in them starts a new line")
def test_no_purpose_feigns_a_line_or_commands_a_terminal(tmp_path, run):
    charge = Charge(HOSTILE, Fraction(1), mechanism=HOSTILE, no_guarantee=HOSTILE, unit=Unit(HOSTILE, 2))
    card = PrivacyCard((charge,), noise=HOSTILE, software=HOSTILE, notes=(HOSTILE,))
    path = tmp_path / "budget.json"
    FileBudget.create(path, 3).charge(1, purpose=HOSTILE, mechanism=HOSTILE, no_guarantee=HOSTILE)
    for text in (str(card), repr(card), str(FileBudget(path)), run("budget", "show", path)[1].rstrip("\n")):
        assert all(line.isprintable() for line in text.split("\n"))
    assert [line[:9] for line in str(card).split("\n")] == [
        "guarantee", "neighbour", "spent    ", "  1      ", "noise    ", "software ", "note     ",
    ]  # fmt: skip


# What has no guarantee.


UNPROVEN = [name for name, published in PUBLISHED.items() if published.gap]


def test_seeded_fits_are_not_counted_as_if_the_cap_held():
    """The audit's: three seeded fits, "3 of 3 spent", and not a word that nothing is capped."""
    budget = hr.Budget(3)
    for seed in range(3):
        hr.PrivateRuleListClassifier(1.0, budget=budget, random_state=seed).fit(rows()[["smoker"]], rows()["y"])
    assert budget.spent == 3
    assert budget.no_guarantee_reason == "seeded noise"
    assert str(budget).split("\n")[1:] == [
        "  1           PrivateRuleListClassifier: one rule list; no guarantee: seeded noise"
    ] * 3 + ["no guarantee for 3 of 3 charges: the cap does not bound what they released"]


@pytest.mark.parametrize("name", UNPROVEN)
def test_nor_are_mechanisms_without_proof(name):
    budget = hr.Budget(2, Fraction(1, 10))
    delta = {"delta": Fraction(1, 100)} if PUBLISHED[name].spends_delta else {}
    clf = hr.DPGreedyRLClassifier(1.0, mechanism=name, budget=budget, max_rules=2, **delta)
    card = clf.fit(rows()[["smoker"]], rows()["y"]).privacy_
    (charge,) = budget.charges
    assert charge.no_guarantee_reason == card.no_guarantee_reason == budget.no_guarantee_reason
    assert PUBLISHED[name].gap in charge.no_guarantee_reason
    choices = [charge for charge in card.charges if "choice of rule" in charge.purpose]
    assert choices == [] or {charge.no_guarantee_reason for charge in choices} == {f"not proven: {PUBLISHED[name].gap}"}
    hr.DPGreedyRLClassifier(1.0, mechanism="exponential", budget=budget).fit(rows()[["smoker"]], rows()["y"])
    assert budget.charges[1].no_guarantee_reason is None
    assert "no guarantee for 1 of 2 charges" in str(budget)


def test_nor_is_a_domain_taken_from_the_data():
    budget = hr.Budget(3)
    hr.PrivateTreeClassifier(1.0, schema="from-data", budget=budget).fit(rows()[["age"]], rows()["y"])
    of_data = hr.Schema({"age": hr.Integer(0, 99)}, hr.Label("y", (0, 1)), no_guarantee="schema inferred from the rows")
    learned = hr.Schema.learn(rows(), of_data, epsilon=1, budget=budget, bins=2)
    hr.PrivateTreeClassifier(1.0, schema=learned, budget=budget).fit(rows(), rows()["y"])
    assert [charge.no_guarantee_reason for charge in budget.charges] == ["schema inferred from the rows"] * 3


def test_nor_is_a_schema_some_of_whose_cut_points_have_none():
    budget = hr.Budget(3)
    charges = (Charge("cut points", Fraction(1), no_guarantee="seeded"),)
    schema = hr.Schema(FIXED.attributes, FIXED.label, charges=charges)
    card = hr.PrivateTreeClassifier(1.0, schema=schema, budget=budget).fit(rows(), rows()["y"]).privacy_
    hr.Schema.learn(
        rows(), hr.Schema(DECLARED.attributes, DECLARED.label, charges=charges), epsilon=1, budget=budget, bins=2
    )
    assert [charge.no_guarantee_reason for charge in budget.charges] == ["seeded"] * 2
    assert card.guarantee == "none (seeded)"


def test_a_share_tells_the_budget_that_it_is_of(tmp_path):
    """A sibling: allocate first, and then release without a guarantee under the share."""
    whole = FileBudget.create(tmp_path / "budget.json", 4)
    for budget in (hr.Budget(4), whole):
        budget.charge(1, purpose="counts")
        outer = budget.allocate(2, purpose="a study")
        inner = outer.allocate(1, purpose="a part of it")
        assert budget.no_guarantee_reason is None
        hr.PrivateRuleListClassifier(1.0, budget=inner, random_state=0).fit(rows()[["smoker"]], rows()["y"])
        assert inner.no_guarantee_reason == outer.no_guarantee_reason == budget.no_guarantee_reason == "seeded noise"
        assert [charge.no_guarantee_reason for charge in budget.charges] == [None, "seeded noise"]
        assert budget.spent == 3
        inner_again = budget.allocate(1, purpose="another")
        with pytest.raises(BudgetExceededError, match="left"):
            inner_again.charge(2, purpose="too much", no_guarantee="seeded")
        assert budget.charges[-1].no_guarantee_reason is None
    assert "no guarantee: seeded" in str(FileBudget(tmp_path / "budget.json"))


def test_a_budget_file_says_what_its_cap_does_not_cover(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows()[["smoker", "y"]].to_csv("data.csv", index=False)
    run("budget", "new", "b.json", "--epsilon", "3")
    fit = ("fit", "data.csv", "--target", "y", "--epsilon", "1", "--budget", "b.json", "--force")
    assert run(*fit)[0] == 0
    assert "no guarantee" not in run("budget", "show", "b.json")[1]
    assert run(*fit, "--seed", "1", "--research")[0] == 0
    shown = run("budget", "show", "b.json")[1].splitlines()
    assert shown[2].endswith("; no guarantee: seeded noise")
    assert shown[3] == "no guarantee for 1 of 2 charges: the cap does not bound what they released"
    data = json.loads((tmp_path / "b.json").read_text())
    assert data["warning"] == shown[3]
    assert ["void" in entry for entry in data["entries"] if entry["kind"] == "charged"] == [False, True]
    assert run(*fit)[0] == 0
    assert FileBudget("b.json").no_guarantee_reason == "seeded noise"


@given(cards(), st.text(min_size=1) | st.sampled_from(["; ", ";", " ", "; ; "]))
@pytest.mark.claim("A card with such a charge never claims a guarantee")
def test_a_card_with_a_charge_without_guarantee_never_claims_one(card, reason):
    charge = Charge("x", Fraction(1), no_guarantee=reason)
    made = PrivacyCard(
        (*card.charges, charge), noise=card.noise, software=card.software, no_guarantee=card.no_guarantee
    )
    assert not made.is_private
    assert made.guarantee.startswith("none (")
    assert made.headline == made.guarantee
    assert PrivacyCard.from_dict(json.loads(json.dumps(made.to_dict()))).guarantee == made.guarantee


def test_a_cards_file_cannot_leave_out_that_a_charge_has_no_guarantee():
    data = PrivacyCard((Charge("x", Fraction(1), no_guarantee="seeded"),), noise="", software="").to_dict()
    honest = PrivacyCard((Charge("x", Fraction(1)),), noise="", software="").to_dict()
    with pytest.raises(ValueError, match=r"guarantee .*charges"):
        PrivacyCard.from_dict({**data, "guarantee": honest["guarantee"], "void": []})


def sealed(schema, card):
    """A rule list's file by someone who can compute a digest."""
    model = hr.models.RuleList(schema, (Rule((), label=0),), card)
    return json.dumps(seal({key: value for key, value in model.to_dict().items() if key != "digest"}))


def test_a_models_card_cannot_claim_what_its_schema_denies():
    declared = hr.Schema({"age": hr.Integer(0, 99)}, hr.Label("y", (0, 1)))
    card = PrivacyCard((Charge("x", Fraction(1, 10)),), noise="", software="")
    no_guarantee_reason = replace(declared, no_guarantee="domain taken from the data")
    with pytest.raises(ModelFormatError, match="schema has none"):
        hr.models.RuleList.from_json(sealed(no_guarantee_reason, card))
    learned = replace(declared, charges=(Charge("cut points", Fraction(1, 2)),))
    by_delta = replace(declared, charges=(Charge("cut points", Fraction(1, 20), Fraction(1, 10)),))
    for schema in (learned, by_delta):
        with pytest.raises(ModelFormatError, match="less privacy loss"):
            hr.models.RuleList.from_json(sealed(schema, card))
    for schema in (no_guarantee_reason, learned, by_delta):
        assert not hr.models.RuleList.from_json(sealed(schema, PrivacyCard.none("x", software=""))).privacy.is_private


@pytest.mark.parametrize("unit", [None, Unit("patient", 2), Unit("person", 3)])
def test_a_models_card_is_of_the_unit_that_its_schema_was_charged_for(unit):
    charge = Charge("cut points", Fraction(1, 2), unit=Unit("patient", 3))
    schema = replace(FIXED, charges=(charge,))
    card = PrivacyCard((Charge("x", Fraction(9), unit=unit),), noise="", software="")
    with pytest.raises(ModelFormatError, match="another unit of privacy"):
        hr.models.RuleList.from_json(sealed(schema, card))
    honest = PrivacyCard((charge, Charge("x", Fraction(1), unit=charge.unit)), noise="", software="")
    assert hr.models.RuleList.from_json(sealed(schema, honest)).privacy == honest
    with pytest.raises(ModelFormatError, match="another unit of privacy"):
        hr.models.RuleList.from_json(sealed(replace(FIXED, charges=(replace(charge, unit=None),)), honest))


@pytest.mark.parametrize("charge", [Charge("a", 1, rho=Fraction(1, 2)), Charge("a", 1, Fraction(1, 100))])
def test_a_models_card_cannot_claim_less_rho_than_its_schema_cost(charge):
    schema = replace(FIXED, charges=(charge,))
    claimed = Charge("x", Fraction(2), Fraction(1, 10), rho=Fraction(1, 100))
    with pytest.raises(ModelFormatError, match="cut points"):
        hr.models.RuleList.from_json(sealed(schema, PrivacyCard((claimed,), noise="", software="")))
    honest = PrivacyCard((charge, claimed), noise="", software="")
    assert hr.models.RuleList.from_json(sealed(schema, honest)).privacy == honest


def test_each_reason_is_stated_once():
    budget = hr.Budget(1)
    clf = hr.PrivateRuleListClassifier(1.0, budget=budget, schema="from-data", random_state=0)
    card = clf.fit(rows()[["age"]], rows()["y"]).privacy_
    assert [reason.code for reason in card.no_guarantee] == ["from_rows", "seeded"]
    assert budget.no_guarantee_reason == card.no_guarantee_reason
    assert {charge.no_guarantee_reason for charge in card.charges} == {"seeded noise"}


# What a card adds up to.


LEARNERS = {
    "greedy list": hr.PrivateRuleListClassifier(1.0, search="greedy"),
    "exact list": hr.PrivateRuleListClassifier(1.0, search="exact", max_literals=1),
    "exact list, counts": hr.PrivateRuleListClassifier(1.0, search="exact", max_literals=1, release_counts=True),
    "list in blocks": hr.PrivateRuleListClassifier(1.0, lookahead=1),
    "greedy tree": hr.PrivateTreeClassifier(1.0, search="greedy"),
    "exact tree": hr.PrivateTreeClassifier(1.0),
    "tree in blocks": hr.PrivateTreeClassifier(1.0, lookahead=1),
    "exact tree, counts": hr.PrivateTreeClassifier(1.0, release_counts=True),
    "scorecard": hr.PrivateScorecardClassifier(1.0),
    "scorecard with delta": hr.PrivateScorecardClassifier(1.0, delta=Fraction(1, 1000)),
    "choice by a count": hr.PrivateAutoClassifier(1.0),
    "choice by a draw": hr.PrivateAutoClassifier(1.0, n_rows=10**7),
    **{name: hr.DPGreedyRLClassifier(1.0, mechanism=name, max_literals=1) for name in PUBLISHED},
}
DECLARED = hr.Schema({"age": hr.Integer(0, 99), "smoker": hr.Boolean()}, hr.Label("y", (0, 1)))
FIXED = hr.Schema({"age": hr.Integer(0, 99, (30, 60)), "smoker": hr.Boolean()}, hr.Label("y", (0, 1)))
AMOUNT = st.fractions(Fraction(1, 50), 2, max_denominator=50) | st.floats(0.02, 2)
STEP = st.one_of(
    st.tuples(
        st.just("fit"), st.sampled_from(list(LEARNERS)), AMOUNT, st.none() | st.integers(0, 99), st.integers(1, 4)
    ),
    st.tuples(st.just("learn"), AMOUNT, st.integers(2, 4)),
    st.tuples(st.just("share"), AMOUNT),
)


def fitted(name, epsilon, seed, size, schema, budget, n):
    clf = clone(LEARNERS[name]).set_params(epsilon=epsilon, schema=schema, budget=budget, random_state=seed)
    sizes = {"max_depth": size - 1, "max_rules": size, "max_attributes": size}
    clf.set_params(**{parameter: most for parameter, most in sizes.items() if parameter in clf.get_params()})
    if name in PUBLISHED and PUBLISHED[name].spends_delta:
        clf.set_params(delta=Fraction(1, 1000))
    return clf.fit(rows(n), rows(n)["y"]).privacy_


@given(st.lists(STEP, min_size=1, max_size=6), st.sampled_from([0, 1, 40]), st.data())
@pytest.mark.claim("whatever the outcome of the fit")
def test_the_cards_add_up_to_the_charges_for_all_outcomes(steps, n, data):
    whole = hr.Budget(12, Fraction(1, 2))
    open_budgets, schemas, charges = [whole], [FIXED], {}
    for what, *step in steps:
        budget = data.draw(st.sampled_from(open_budgets))
        try:
            if what == "share":
                open_budgets.append(budget.allocate(*step, Fraction(1, 100), purpose="a share"))
            elif what == "learn":
                epsilon, bins = step
                schemas.append(hr.Schema.learn(rows(n), DECLARED, epsilon=epsilon, budget=budget, bins=bins))
                charges |= {id(charge): charge for charge in schemas[-1].charges}
            else:
                card = fitted(*step, data.draw(st.sampled_from(schemas)), budget, n)
                assert card.epsilon == sum(charge.epsilon for charge in card.charges)
                assert card.no_guarantee_reason == budget.charges[-1].no_guarantee_reason
                charges |= {id(charge): charge for charge in card.charges}  # a learned schema's once
        except BudgetExceededError:
            continue
    unspent = sum(share.remaining for share in open_budgets[1:])
    assert sum(charge.epsilon for charge in charges.values()) + unspent == whole.spent
    unspent = sum(share.remaining_delta for share in open_budgets[1:])
    assert sum(charge.delta for charge in charges.values()) + unspent == whole.delta - whole.remaining_delta


ADDING_RHO = [{"rho": 100}, {"epsilon": 20, "delta": Fraction(1, 1000), "accounting": "zcdp"}]


@given(
    st.sampled_from(list(LEARNERS)), AMOUNT, st.integers(1, 4), st.sampled_from([0, 1, 40]), st.sampled_from(ADDING_RHO)
)
@pytest.mark.claim("so such charges count only by their ρ")
def test_no_card_adds_up_to_more_rho_than_the_budget_was_charged(name, epsilon, size, n, caps):
    budget = hr.Budget(**caps)
    if name in PUBLISHED and PUBLISHED[name].spends_delta:  # no ρ is known
        with pytest.raises(ValueError, match="this mechanism has no zCDP proof"):
            fitted(name, epsilon, None, size, FIXED, budget, n)
        assert budget.charges == ()
        return
    schema = hr.Schema.learn(rows(n), DECLARED, epsilon=epsilon, budget=budget)
    learned = budget.spent_rho
    assert sum(charge.zcdp for charge in schema.charges) <= learned < epsilon**2 / 7
    card = fitted(name, epsilon, None, size, FIXED, budget, n)
    assert card.rho <= budget.spent_rho - learned == budget.charges[-1].zcdp
    assert card.epsilon == budget.charges[-1].epsilon


@given(st.sampled_from(list(LEARNERS)), AMOUNT, st.none() | st.integers(0, 99), st.integers(1, 4), st.integers(0, 60))
def test_the_totals_of_a_card_do_not_depend_on_the_outcome(name, epsilon, seed, size, n):
    """SSRL leaves shares unused when a list stops early: its card said less, and how much less told of the outcome."""
    budget = hr.Budget(3, Fraction(1, 2))
    with_shared = fitted(name, epsilon, seed, size, FIXED, budget, n)
    alone = fitted(name, epsilon, seed, size, FIXED, None, n)
    assert alone.epsilon == with_shared.epsilon == budget.spent == exact(epsilon, "epsilon")
    assert alone.delta == with_shared.delta == budget.delta - budget.remaining_delta


@pytest.mark.parametrize("name", [name for name in PUBLISHED if PUBLISHED[name].spends_delta])
def test_the_delta_of_a_card_does_not_come_from_the_number_of_rows(name):
    """SSRL takes δ = 1/n² of the exact number of rows. It is to be chosen, and is charged before rows are counted."""
    made = hr.DPGreedyRLClassifier(1.0, mechanism=name, max_rules=2, schema=FIXED)
    with pytest.raises(ValueError, match=f"mechanism='{name}' needs a delta"):
        made.fit(rows(10), rows(10)["y"])
    made.set_params(delta=1e-6, max_rules=1)
    cards = [made.fit(rows(n), rows(n)["y"]).privacy_ for n in (10, 50)]
    assert [card.is_private for card in cards] == [True, True]
    assert str(cards[0]) == str(cards[1])
