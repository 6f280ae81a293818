"""Findings on the guarantee, on the record of releases, and on what people did not state."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.unit import name_of
from hedgerow.report.findings import CRYPTIC_DELTA, DEFINITION, HOUSE, TIERS, Bucket, Finding
from hedgerow.report.form import Form
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject
from hedgerow.values import quoted_text

STRONG, WEAK = 1, 10
"""The largest ε of a strong guarantee, and of one that needs a look."""


def findings(subject: Subject, releases: Releases | None) -> Iterator[Finding]:
    """Yield what card, record and form say for and against a release."""
    card = subject.card
    yield from promised(subject)
    if card.is_private and card.noise == "none":
        sentence = "The card claims a guarantee, and says that no noise was drawn."
        yield Finding("noise", "noise", "reject", sentence, "noise is drawn", DEFINITION)
    if any(charge.declared for charge in card.charges):
        yield Finding(
            "declared",
            "charges",
            "look",
            "A part of the loss is as the schema's file declares it, which nobody has checked here.",
            "every charge is of the software's own record",
            HOUSE,
        )
    yield from _recorded(card, releases)
    yield from _stated(subject.form)


def promised(subject: Subject, n_rows: int | None = None) -> Iterator[Finding]:
    """Yield what ε and δ say; the number of training rows, where it is known, is **private**."""
    card = subject.card
    yield _promised(card)
    if card.is_private and card.delta:
        is_large = n_rows is not None and card.delta * n_rows >= 1
        known = "one in the number of rows" if n_rows is None else f"1/{n_rows:,}, one in the number of rows"
        yield Finding(
            "delta",
            "guarantee",
            "reject" if is_large else "look",
            f"The guarantee has an exception of delta = {amount_text(card.delta)}; it should be far below {known}.",
            "delta = 0 needs no look; from 1/n on: reject",
            CRYPTIC_DELTA,
            float(card.delta),
        )


def _promised(card: PrivacyCard) -> Finding:
    if card.epsilon is None:
        sentence = "No guarantee bounds what the model discloses; what is measured of it is on the board's sheet."
        return Finding("guarantee", "guarantee", "look", sentence, "a guarantee of differential privacy", DEFINITION)
    if not card.is_private:
        sentence = f"The model was charged for, and yet has no guarantee: {card.void}."
        return Finding("guarantee", "guarantee", "reject", sentence, "no reason on the card voids it", DEFINITION)
    bucket, words = _tier(card.epsilon)
    whose = "Every row is" if card.unit is None else f"All rows of each {quoted_text(card.unit.column)} together are"
    sentence = f"{whose} protected by epsilon = {amount_text(card.epsilon)}: {words}."
    return Finding("guarantee", "guarantee", bucket, sentence, _TIERS, TIERS, float(card.epsilon))


_TIERS = f"epsilon up to {STRONG} supports; up to {WEAK}: look; above: reject"


def _tier(epsilon: Fraction) -> tuple[Bucket, str]:
    if epsilon <= STRONG:
        return "supports", "a strong guarantee"
    if epsilon <= WEAK:
        return "look", "a guarantee that needs a reason why it is enough"
    return "reject", "by itself it protects nobody; measurements would have to carry the release"


def _recorded(card: PrivacyCard, releases: Releases | None) -> Iterator[Finding]:
    if releases is None:
        if card.charges:
            sentence = "It is not known what else was released about this table: no record was given."
            yield Finding("releases", "releases", "look", sentence, "a record of all releases", HOUSE)
        return
    void, units = [charge for charge in releases.charges if charge.void], releases.by_unit
    most = max(one.epsilon for one in units.values())
    bucket, words = _tier(most)
    if len(units) > 1:
        bucket, words = "look" if bucket == "supports" else bucket, "amounts that do not add up, since units differ"
    if void:
        bucket, words = "reject", f"and {len(void)} of them have no guarantee, which no sum covers"
    amounts = " and ".join(
        amount_text(one.epsilon) + (f" for {name_of(unit)}" if len(units) > 1 else "") for unit, one in units.items()
    )
    sentence = f"All releases on record together have epsilon = {amounts}: {words}."
    yield Finding("releases", "releases", bucket, sentence, _TIERS, TIERS, float(most))
    if card.epsilon is not None and (card.unit not in units or card.epsilon > units[card.unit].epsilon):
        sentence = "The record does not have all of this model's charges: its epsilon is less than the card's."
        yield Finding("record", "releases", "reject", sentence, "the card's epsilon is in the record", HOUSE)


def _stated(form: Form) -> Iterator[Finding]:
    for name, what in (
        ("purpose", "purpose"),
        ("curator", "purpose"),
        ("unit", "guarantee"),
        ("tuning", "preparation"),
    ):
        if not getattr(form, name):
            sentence = f"The form does not state this: {_ASKED[name]}."
            yield Finding(name, what, "look", sentence, "the form is filled in", HOUSE)


_ASKED = {
    "purpose": "what the model is for",
    "curator": "who answers for the table",
    "unit": "what one row is, and how many of them a person can have",
    "tuning": "whether rows were looked at to choose the model and its parameters",
}
