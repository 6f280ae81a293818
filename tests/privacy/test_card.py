import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from hedgerow.learn.ssrl.mechanisms import smooth_cauchy, smooth_laplace
from hedgerow.privacy.card import NO_NOISE, PrivacyCard, noise_fact
from hedgerow.privacy.charge import Charge, least_epsilon
from hedgerow.privacy.facts import fact
from hedgerow.privacy.noise import DiscreteLaplace, SecureNoise, SeededNoise
from hedgerow.privacy.shared_histograms import SharedHistograms
from hedgerow.privacy.unit import Unit
from hedgerow.privacy.zcdp import pure_rho
from tests.models.markup import Markup
from tests.models.strategies import cards

THIRD = Fraction(1, 3)
AT = Fraction(1e-6)
CHARGES = (
    Charge("rules", Fraction(1, 6), mechanism="permute-and-flip, sensitivity 1"),
    Charge("counts", Fraction(1, 6)),
)
CARD = PrivacyCard(
    CHARGES, noise="OpenDP 0.16", software="hedgerow 0.1", notes=("the schema is public", "no group privacy")
)


@given(card=cards())
def test_json_brings_back_an_equal_card(card: PrivacyCard) -> None:
    assert PrivacyCard.from_dict(json.loads(json.dumps(card.to_dict()))) == card


def test_fractions_are_kept_exactly_beside_their_decimals() -> None:
    data = CARD.to_dict()
    assert (data["epsilon"], data["epsilon_exact"]) == (1 / 3, "1/3")
    assert (data["delta"], data["delta_exact"]) == (0.0, "0")
    assert [charge["epsilon_exact"] for charge in data["charges"]] == ["1/6", "1/6"]
    again = PrivacyCard.from_dict(data)
    assert sum(charge.epsilon for charge in again.charges) == again.epsilon == THIRD


def test_a_card_has_an_entry_for_rho_if_a_charge_has_one() -> None:
    assert not {"rho", "rho_exact"} & CARD.to_dict().keys()
    assert CARD.rho == 2 * pure_rho(Fraction(1, 6))
    with pytest.raises(ValueError, match="the card's rho does not follow"):
        PrivacyCard.from_dict(CARD.to_dict() | {"rho": 0.1})


def test_a_card_adds_up_rho_and_converts_it_at_a_delta() -> None:
    draw = Charge("draw", Fraction(1, 2), rho=Fraction(1, 32))
    ten = PrivacyCard((draw,) * 10, noise="", software="")
    assert (ten.epsilon, ten.rho, ten.epsilon_at(1e-6)) == (5, Fraction(5, 16), least_epsilon(ten.charges, AT))
    assert "spent       epsilon = 5, delta = 0, rho = 0.3125\n" in str(ten)
    assert PrivacyCard.none("exact").epsilon_at(0.1) is PrivacyCard.none("exact").rho is None


def test_a_float_near_a_fraction_is_not_that_fraction() -> None:
    card = PrivacyCard((Charge("all", Fraction(0.1)),), noise="", software="")
    assert PrivacyCard.from_dict(card.to_dict()).epsilon == Fraction(0.1) != Fraction(1, 10)


DRAWN = PrivacyCard((Charge("draw", THIRD, rho=Fraction(1, 72)),), noise="OpenDP 0.16", software="hedgerow 0.1")


@pytest.mark.parametrize("key", sorted(DRAWN.to_dict()))
def test_a_card_lacks_nothing(key: str) -> None:
    data = DRAWN.to_dict()
    del data[key]
    with pytest.raises(KeyError, match=key):
        PrivacyCard.from_dict(data)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("guarantee", "approximate"),
        ("unit", {"column": "patient", "max_rows": 1}),
        ("epsilon", 0.01),
        ("epsilon_exact", "1/100"),
        ("delta_exact", "1"),
        ("rho", 0.01),
        ("rho_exact", "1/100"),
    ],
)
def test_a_card_that_contradicts_its_charges_is_refused(key, value) -> None:
    with pytest.raises(ValueError, match=f"the card's {key} does not follow from its charges"):
        PrivacyCard.from_dict({**CARD.to_dict(), key: value})


def test_a_card_without_charges_has_no_guarantee() -> None:
    with pytest.raises(ValueError, match="needs a reason in `no_guarantee`"):
        PrivacyCard((), noise="", software="")


@pytest.mark.parametrize("epsilon", [Fraction(1.0000049), Fraction(1, 3), Fraction(0.1), Fraction(1, 7), Fraction(3)])
def test_the_shown_epsilon_is_never_less_than_the_spent_epsilon(epsilon) -> None:
    card = PrivacyCard((Charge("all", epsilon),), noise="", software="")
    shown = Fraction(card.headline.removeprefix("epsilon-differential privacy with epsilon = "))
    assert shown >= epsilon or float(shown) == float(epsilon)
    assert float(shown) == pytest.approx(float(epsilon), rel=1e-5)


def test_a_pure_card_states_its_guarantee_in_one_sentence() -> None:
    card = PrivacyCard((Charge("all", Fraction(1, 2)),), noise="OpenDP", software="hedgerow")
    assert card.guarantee == (
        "epsilon-differential privacy with epsilon = 0.5: adding or removing any one row that fits the schema changes "
        "the probability of any set of outputs by a factor of at most e^0.5"
    )
    assert card.headline == "epsilon-differential privacy with epsilon = 0.5"
    assert card.is_private
    assert card.delta == 0
    assert card.neighbours == "tables that differ by adding or removing one row that fits the schema"


def test_a_void_guarantee_is_none_with_its_reason() -> None:
    card = PrivacyCard(CHARGES, noise="seeded", software="hedgerow", no_guarantee="seeded")
    assert card.guarantee == card.headline == "none (seeded)"
    assert not card.is_private
    assert (card.epsilon, card.charges) == (THIRD, CHARGES)


def test_a_model_learned_without_privacy_says_so() -> None:
    card = PrivacyCard.none("learned without privacy", software="hedgerow")
    assert card.guarantee == card.headline == "none (learned without privacy)"
    assert not card.is_private
    assert (card.epsilon, card.delta, card.charges, card.noise) == (None, None, (), NO_NOISE)


def test_the_headline_keeps_the_whole_reason() -> None:
    assert PrivacyCard.none("seed: 3", software="hedgerow").headline == "none (seed: 3)"


def test_the_text_is_the_card_as_a_person_reads_it() -> None:
    assert str(CARD) == (
        "guarantee   epsilon-differential privacy with epsilon = 0.333334: adding or removing any one row "
        "that fits the schema changes the probability of any set of outputs by a factor of at most e^0.333334\n"
        "neighbours  tables that differ by adding or removing one row that fits the schema\n"
        "spent       epsilon = 0.333334, delta = 0, rho = 0.0277137\n"
        "  0.1667      rules (permute-and-flip, sensitivity 1)\n"
        "  0.1667      counts\n"
        "noise       OpenDP 0.16\n"
        "software    hedgerow 0.1\n"
        "note        the schema is public\n"
        "note        no group privacy"
    )


def test_the_text_of_a_card_without_privacy_spends_nothing() -> None:
    assert str(PrivacyCard.none("example", software="hedgerow 0.1")) == (
        "guarantee   none (example)\n"
        "neighbours  tables that differ by adding or removing one row that fits the schema\n"
        "noise       none\n"
        "software    hedgerow 0.1"
    )


def test_a_card_is_a_value() -> None:
    assert PrivacyCard.from_dict(CARD.to_dict()) == CARD
    assert hash(CARD) == hash(PrivacyCard.from_dict(CARD.to_dict()))


def test_a_card_with_delta_names_both_wherever_it_states_the_guarantee() -> None:
    card = PrivacyCard((Charge("one", Fraction(1, 2), Fraction(1, 8)), Charge("two", Fraction(1, 4))), "OpenDP", "x")
    assert card.headline == "(epsilon, delta)-differential privacy with (0.75, 0.125)"
    assert card.guarantee == (
        "(epsilon, delta)-differential privacy with (0.75, 0.125): adding or removing any one row that fits the schema "
        "changes the probability of any set of outputs by a factor of at most e^0.75, plus 0.125"
    )
    assert "spent       epsilon = 0.75, delta = 0.125\n" in str(card)
    assert repr(card) == "<PrivacyCard (epsilon, delta)-differential privacy with (0.75, 0.125)>"
    assert PrivacyCard.from_dict(json.loads(json.dumps(card.to_dict()))) == card


@pytest.mark.parametrize("delta", [Fraction(1.00000049e-6), Fraction(1, 3), Fraction(1, 10**6), Fraction(0.1)])
def test_the_shown_delta_is_never_less_than_the_spent_delta(delta) -> None:
    card = PrivacyCard((Charge("all", Fraction(1), delta),), noise="", software="")
    shown = Fraction(card.headline.removeprefix("(epsilon, delta)-differential privacy with (1, ").removesuffix(")"))
    assert shown >= delta or float(shown) == float(delta)
    assert float(shown) == pytest.approx(float(delta), rel=1e-5)
    assert card.guarantee.endswith(f"e^1, plus {card.headline.split()[-1].removesuffix(')')}")


def test_a_void_card_with_delta_has_no_guarantee() -> None:
    card = PrivacyCard((Charge("all", Fraction(1), Fraction(1, 8)),), noise="", software="", no_guarantee="seeded")
    assert card.guarantee == card.headline == "none (seeded)"


def test_a_notebook_shows_all_that_the_text_says_escaped() -> None:
    evil = "<script>alert('1')</script>\x1b"
    shown = Markup(CARD._repr_html_())
    assert shown.tags == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert [text for text in shown.texts if text != "\n"] == [
        *("Privacy card", "guarantee", CARD.guarantee, "neighbours", CARD.neighbours, "spent"),
        *("epsilon = 0.333334, delta = 0, rho = 0.0277137", "epsilon", "charged for"),
        *("0.1667", "rules (permute-and-flip, sensitivity 1)", "0.1667", "counts"),
        *("noise", "OpenDP 0.16", "software", "hedgerow 0.1"),
        *("note", "the schema is public", "note", "no group privacy"),
    ]
    hostile = PrivacyCard(
        (Charge(evil, THIRD, mechanism=evil, no_guarantee=evil, unit=Unit(evil, 2)),), evil, evil, evil, (evil,)
    )
    assert Markup(hostile._repr_html_()).tags == shown.tags
    assert "\x1b" not in hostile._repr_html_()
    assert "<thead>" not in PrivacyCard.none("not private")._repr_html_()


@pytest.mark.parametrize(
    ("mechanisms", "sources"),
    [
        ([], ["opendp"]),
        ([DiscreteLaplace(Fraction(1, 2))], ["opendp"]),
        ([SharedHistograms(Fraction(1, 2), (2, 3))], ["operating_system"]),
        ([smooth_cauchy(Fraction(1, 2))], ["operating_system"]),
        ([smooth_laplace(Fraction(1, 2), Fraction(AT))], ["opendp"]),
        ([DiscreteLaplace(Fraction(1, 2)), SharedHistograms(Fraction(1, 2), (2, 3))], ["opendp", "operating_system"]),
    ],
)
def test_a_card_states_every_source_of_secure_noise(mechanisms, sources):
    charges = [Charge("counts", Fraction(1, 2), mechanism=mechanism.record) for mechanism in mechanisms]
    charges.append(Charge("unused", Fraction(1, 4)))
    noise = noise_fact(SecureNoise().description, charges)
    assert [mechanism.code for mechanism in noise.get("sources", (noise,))] == sources
    card = PrivacyCard(tuple(charges), noise, "hedgerow")
    assert card.has_noise
    assert ("cryptographic generator of the operating system" in str(card)) == ("operating_system" in sources)
    assert PrivacyCard.from_dict(json.loads(json.dumps(card.to_dict()))) == card


def test_noise_of_other_sources_is_described_by_themselves():
    charges = [Charge("counts", Fraction(1), mechanism=SharedHistograms(Fraction(1), (2, 3)).record)]
    for source in ("my own dice", SeededNoise(np.random.default_rng(1)).description):
        assert noise_fact(source, charges) == fact(source, "noise", "noise")
