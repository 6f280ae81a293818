"""Checks of the card, of the record of releases, of the form, and of the data in the model's file."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from hedgerow.evaluation.evaluation import Evaluation
from hedgerow.models import caveats
from hedgerow.models.extra_contents import NOUNS, Content, ContentKind, content_text
from hedgerow.privacy.amounts import amount_text, total
from hedgerow.privacy.card import NO_NOISE
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.wording import of_unit, protected
from hedgerow.report.appetite import Appetite
from hedgerow.report.checks import Check, SheetKind, Status, check
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject, public_release
from hedgerow.report.units import group_bound, judged_epsilon, person_checks, person_epsilon, steps_of
from hedgerow.text.messages import number_of


def card_checks(
    subject: Subject, kind: SheetKind, releases: Releases | None, evaluation: Evaluation | None = None
) -> Iterator[Check]:
    card = subject.card
    yield from promised(subject)
    if card.is_private and card.noise == NO_NOISE:
        yield check("noise", "fail", "The card claims a guarantee, and says that no noise was drawn.")
    if any(charge.declared for charge in card.charges):
        sentence = "A part of the loss is what the schema's file declares; nobody checked it here."
        yield check("declared", "review", sentence)
    if releases is not None:
        yield from _recorded(subject, releases)
        yield from _unknown_file(subject, releases)
        if evaluation is not None:
            yield from _uncounted(evaluation.privacy.charges[-1], releases)
    if subject.is_private or kind == "board":
        yield from stored(subject, kind)
    if kind == "board":
        yield from constant(subject)
    missing = [asked for name, asked in _ASKED.items() if not getattr(subject.form, name)]
    if missing:
        yield check("form", "review", f"The form does not state {'; nor '.join(missing)}.")


def promised(subject: Subject) -> Iterator[Check]:
    """Yield what the card says of its guarantee, and what released numbers say of the model."""
    yield _promised(subject)
    yield from person_checks(subject)
    if subject.has_own_thresholds:
        how = "are" if subject.released is None else "may be"
        sentence = f"Its thresholds on numbers {how} functions of the rows, often midway between the values of two."
        yield check("thresholds", "review", sentence)
    yield from delta(subject)
    for caveat in subject.released.caveats if subject.released is not None and subject.is_private else ():
        yield check(f"caveat/{caveat.kind}", _CAVEATS.get(caveat.kind, "review"), caveat.sentence)
    release = public_release(subject)
    if release is not None and release.has_rows and not release.is_complete:
        known = sum(numbers is not None for numbers in release.numbers)
        counted = f"Counts of {known:,} of {len(release.leaves):,} leaves were released"
        yield check("caveat/partial", "review", f"{counted}: whether the model is better than a constant is not known.")


_CAVEATS: dict[str, Status] = {"empty": "pass", "unreachable": "pass", "unexamined": "not_run"}
"""Statuses of caveats that a person need not review: a leaf without rows discloses nothing, and is stated."""


def delta(subject: Subject, n_rows: int | None = None) -> Iterator[Check]:
    """Yield what δ permits; the number of training rows, where it is known, is **private**."""
    card, of_person = subject.card, group_bound(subject)
    if not card.is_private or not card.delta:
        return
    largest = card.delta if of_person is None else of_person.delta
    is_large = largest * (n_rows or 1) >= 1
    known = "one in the number of rows" if n_rows is None else f"1/{n_rows:,}, one in the number of rows"
    sentence = f"The guarantee has an exception of delta = {amount_text(card.delta)}"
    sentence += "" if of_person is None else f", for all rows of one person {amount_text(largest)}"
    yield check(
        "delta", "fail" if is_large else "review", f"{sentence}; it should be far below {known}.", float(largest)
    )


def _promised(subject: Subject) -> Check:
    card, appetite, bound = subject.card, subject.appetite, group_bound(subject)
    if card.epsilon is None:
        return check("guarantee", "not_applicable", "No guarantee bounds what the model discloses.")
    if not card.is_private:
        sentence = f"The model was charged for, and yet has no guarantee: {card.no_guarantee_reason}."
        return check("guarantee/reason", "fail", sentence)
    epsilon = judged_epsilon(subject)
    status, words = _tier(epsilon, appetite)
    sentence = f"{protected(card.unit)} protected by epsilon = {amount_text(card.epsilon)}"
    if bound is not None:
        rows = f"up to {number_of(subject.form.rows_per_unit or 1, 'row')}"
        sentence += f", and all rows of one person ({rows}) by epsilon = {amount_text(epsilon)}"
    sentence += f": {words}."
    return check("guarantee/tier", status, sentence, float(epsilon), **_tiers(appetite))


def _tier(epsilon: Fraction, appetite: Appetite) -> tuple[Status, str]:
    if appetite.is_strong(epsilon):
        return "pass", "a strong guarantee"
    if float(epsilon) <= appetite.largest_epsilon:
        return "review", "a guarantee that needs a reason why it is enough"
    return "fail", "by itself it protects nobody"


def _tiers(appetite: Appetite) -> dict[str, Any]:
    limits = {"strong": appetite.strong_epsilon, "largest": appetite.largest_epsilon}
    return {"limit": appetite.strong_epsilon, **limits}


def _recorded(subject: Subject, releases: Releases) -> Iterator[Check]:
    card, appetite = subject.card, subject.appetite
    unprotected, units = sum(bool(one.no_guarantee) for one in releases.charges), releases.by_unit
    of_person = person_epsilon(subject, releases)
    most = total(one.epsilon * (steps_of(subject, unit) or 1) for unit, one in units.items())
    status, words = _tier(most, appetite)
    if len(units) > 1 and of_person is None:
        status, words = "review" if status == "pass" else status, "amounts that do not add up, since units differ"
    if unprotected:
        status, words = "fail", f"and {unprotected} of them have no guarantee, which no sum covers"
    amounts = " and ".join(
        amount_text(one.epsilon) + (f" for {of_unit(unit)}" if len(units) > 1 else "") for unit, one in units.items()
    )
    is_more = of_person is not None and any(most > one.epsilon for one in units.values())
    more = f", for all rows of one person {amount_text(most)}" if is_more else ""
    sentence = f"All releases on record together have epsilon = {amounts}{more}: {words}."
    yield check("releases/tier", status, sentence, float(most), **_tiers(appetite))
    if card.epsilon is not None and (card.unit not in units or card.epsilon > units[card.unit].epsilon):
        sentence = "The record does not have all of this model's charges: its epsilon is less than the card's."
        yield check("record", "fail", sentence)


def _unknown_file(subject: Subject, releases: Releases) -> Iterator[Check]:
    """Yield whether a record that has the digests of files has another than this one: a card may have been edited."""
    every = [one.models for one in releases.releases]
    if subject.released is None or not subject.is_private or not any(every):
        return
    if subject.released.to_dict()["digest"] not in {model for models in every for model in models}:
        sentence = "The record has the digests of the files that were released, and this file is none of them."
        yield check("record/file", "fail" if all(every) else "review", sentence)


def _uncounted(charge: Charge, releases: Releases) -> Iterator[Check]:
    if (charge.query, charge.epsilon) not in [(one.query, one.epsilon) for one in releases.charges]:
        sentence = "The record does not have the evaluation's charge: if its rows are of this table, add epsilon = "
        yield check("record/evaluation", "review", f"{sentence}{amount_text(charge.epsilon)}.", float(charge.epsilon))


def stored(subject: Subject, kind: SheetKind) -> Iterator[Check]:
    """Yield the data in the model's file, or in the estimator, apart from its predictions; for the board with numbers.

    Without a guarantee they are functions of the rows, as are the lines that they are on: not for the public sheet.
    """
    whole = "file" if subject.released is not None else "estimator"
    by_kind = dict[ContentKind, list[Content]]()
    for one in subject.contents:
        by_kind.setdefault(one.kind, []).append(one)
    for what, contents in by_kind.items():
        amounts = [one.amount for one in contents]  # an estimator may store one row in several places
        amount = max(amounts) if what == "rows" and subject.released is None else sum(amounts)
        counted = NOUNS[what][1] if kind == "public" else content_text(what, amount)
        where = list(dict.fromkeys(one.where for one in contents))
        more = f"; and {number_of(len(where) - _PLACES, 'more place')}" if len(where) > _PLACES else ""
        status, advice = _STORED[what]
        smallest = min((one.smallest for one in contents if one.smallest is not None), default=None)
        if kind == "board" and smallest is not None and smallest < subject.appetite.fewest_rows:
            status, advice = "fail", f"the smallest leaf has {number_of(smallest, 'row')}"
        sentence = f"The {whole} holds {counted} ({'; '.join(where[:_PLACES])}{more}): {advice}."
        yield check(f"file-{what}", status, sentence, None if kind == "public" else amount)


_PLACES = 3  # the most places that a check names
_STORED: dict[ContentKind, tuple[Status, str]] = {
    "rows": ("fail", "remove them before a release"),
    "extremes": ("fail", "each can be the value of a single row; remove them before a release"),
    "statistics": ("review", "check that none is of few rows"),
    "bounds": ("review", "check that they are public, and not the least and largest values of rows"),
    "values": ("review", "check that they are public"),
    "counts": ("review", "check that none is small, by itself or as a difference of two; no other check covers them"),
    "text": ("review", "read it before a release"),
    "unread": ("review", "check what they hold"),
}


def constant(subject: Subject) -> Iterator[Check]:
    """Yield whether a model without a guarantee predicts the same in all of its leaves. **Private**."""
    predictions = () if subject.is_private or subject.paths is None else subject.paths.predictions
    if predictions and len(set(predictions)) == 1:
        yield check("caveat/constant", "review", caveats.constant(predictions[0]).sentence)


_ASKED = {
    "purpose": "what the model is for",
    "curator": "who answers for the table",
    "unit": "what one row is",
    "tuning": "whether rows were looked at to choose the model and its parameters",
}
