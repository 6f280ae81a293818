"""Checks of the card, of the record of releases, of the form, and of the data in the model's file."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from hedgerow.audit.inference.declared_values import TakenValues, taken_values
from hedgerow.evaluation.evaluation import Evaluation
from hedgerow.models import caveats
from hedgerow.models.extra_contents import NOUNS, Content, ContentKind, content_text
from hedgerow.privacy.amounts import total
from hedgerow.privacy.card import NO_NOISE
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.unit import Unit
from hedgerow.privacy.wording import noun, of_unit
from hedgerow.report.appetite import Appetite
from hedgerow.report.checks import Check, SheetKind, Status, check, rows_text, short
from hedgerow.report.comparisons import Pair
from hedgerow.report.promises import has_foreign_thresholds, local_amount
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject, public_release
from hedgerow.report.units import group_bound, judged_epsilon, person_checks, person_epsilon, steps_of
from hedgerow.text.language import N_, _, enumerated, ngettext, number
from hedgerow.text.values import quoted_text


def card_checks(
    subject: Subject, kind: SheetKind, releases: Releases | None, evaluation: Evaluation | None = None
) -> Iterator[Check]:
    card = subject.card
    yield from promised(subject, kind)
    if card.is_private and card.noise == NO_NOISE:
        yield check("noise", "fail", _("The privacy card claims a guarantee, but states that no noise was drawn."))
    if any(charge.declared for charge in card.charges):
        sentence = _("Part of the privacy loss is only declared by the schema's file; it was not checked.")
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
    missing = [_(entry) for name, entry in _REQUIRED.items() if not getattr(subject.form, name)]
    if missing:
        yield check("form", "review", _("The form does not state: {entries}.", entries=enumerated(missing)))


def promised(subject: Subject, kind: SheetKind) -> Iterator[Check]:
    """Yield the checks of the card's guarantee, and of the caveats that follow from released numbers."""
    yield _promised(subject)
    yield from person_checks(subject)
    if has_foreign_thresholds(subject, kind):
        sentence = _(
            "The numeric thresholds of the model may be computed from the rows, often midway between two values."
        )
        if subject.released is None:
            sentence = _(
                "The numeric thresholds of the model are computed from the rows, often midway between two values."
            )
        yield check("thresholds", "review", sentence)
    yield from delta(subject)
    for caveat in subject.released.caveats if subject.released is not None and subject.is_private else ():
        yield check(f"caveat/{caveat.kind}", _CAVEATS.get(caveat.kind, "review"), caveat.sentence)
    release = public_release(subject)
    if release is not None and release.has_rows and not release.is_complete:
        known = sum(numbers is not None for numbers in release.numbers)
        sentence = _(
            "Counts of {known} of {leaves} leaves were released: whether the model is better than a constant "
            "prediction is not known.",
            known=known,
            leaves=len(release.leaves),
        )
        yield check("caveat/partial", "review", sentence)


_CAVEATS: dict[str, Status] = {"empty": "pass", "unreachable": "pass", "unexamined": "not_run"}
"""The statuses of caveats that need no review: a leaf without rows discloses nothing."""


def declared_values(subject: Subject, train: Pair) -> Iterator[Check]:
    """Yield the check of whether the bounds and cut points in the model's file come from the given rows. **Private**.

    The file of another program does not contain the schema, and its thresholds are a finding of their own.
    """
    schema = subject.schema
    if schema is None or not subject.has_schema:
        return
    taken = taken_values(schema, *train, subject.appetite.fewest_rows)
    if not taken:
        return
    advice = _("Such values were probably computed from the rows. Each bound can be the value of a single row.")
    if subject.is_private:
        advice = _("Such values were probably computed from the rows, and the guarantee does not cover them.")
    sentences = [sentence for own in taken[:_MOST_PLACES] for sentence in _taken_sentences(own)]
    rest = len(taken) - _MOST_PLACES
    more = [ngettext("The same holds for {count} more column.", "The same holds for {count} more columns.", rest)]
    yield check("declared-values", "review", " ".join([*sentences, *(more if rest > 0 else []), advice]), len(taken))


def _taken_sentences(own: TakenValues) -> Iterator[str]:
    column = quoted_text(own.column)
    low, high = ("" if end is None else number(f"{end:.10g}") for end in (own.low, own.high))
    if low and high:
        yield _(
            "The bounds of {column}, {low} and {high}, equal the smallest and the largest given value.",
            column=column,
            low=low,
            high=high,
        )
    elif low or high:
        message = _LOWEST if low else _HIGHEST
        yield _(message, column=column, bound=low or high)
    if own.quantiles:
        message = _QUANTILES.get(own.quantiles, _PARTS)
        yield _(message, column=column, parts=own.quantiles)


_LOWEST = N_("The lower bound of {column}, {bound}, equals the smallest given value.")
_HIGHEST = N_("The upper bound of {column}, {bound}, equals the largest given value.")
_QUANTILES = {
    2: N_("The cut point of {column} is the median of the rows."),
    4: N_("The cut points of {column} are the quartiles of the rows."),
    5: N_("The cut points of {column} are the quintiles of the rows."),
    10: N_("The cut points of {column} are the deciles of the rows."),
}
_PARTS = N_("The cut points of {column} divide the rows into {parts} parts of equal size.")


def delta(subject: Subject, n_rows: int | None = None) -> Iterator[Check]:
    """Yield the check of δ; the number of training rows, if it is known, is **private**."""
    card, of_person = subject.card, group_bound(subject)
    if not card.is_private or not card.delta:
        return
    largest = card.delta if of_person is None else of_person.delta
    is_large = largest * (n_rows or 1) >= 1
    sentence = _("The guarantee has an exception of delta = {delta}.", delta=local_amount(card.delta))
    if of_person is not None:
        sentence = _(
            "The guarantee has an exception of delta = {delta}, or {person} for all rows of one person.",
            delta=local_amount(card.delta),
            person=local_amount(largest),
        )
    limit = _("Delta should be far below 1/n, where n is the number of rows.")
    if n_rows is not None:
        limit = _("Delta should be far below 1/{rows}, one divided by the number of rows.", rows=n_rows)
    yield check("delta", "fail" if is_large else "review", f"{sentence} {limit}", float(largest))


def _promised(subject: Subject) -> Check:
    card, bound = subject.card, group_bound(subject)
    if card.epsilon is None:
        return check("guarantee", "not_applicable", _("No guarantee limits what the model discloses."))
    if not card.is_private:
        sentence = _("The model was charged for, but has no guarantee: {reasons}.", reasons=card.no_guarantee_reason)
        return check("guarantee/reason", "fail", sentence)
    epsilon = judged_epsilon(subject)
    status, verdict = _tier(epsilon, subject.appetite)
    sentence = protection(card.unit, card.epsilon)
    if bound is not None:
        rows = rows_text(subject.form.rows_per_unit or 1)
        person = _(
            "All rows of one person (up to {rows}) are protected with epsilon = {epsilon}.",
            rows=rows,
            epsilon=local_amount(epsilon),
        )
        sentence = f"{sentence} {person}"
    return check("guarantee/tier", status, f"{sentence} {verdict}", float(epsilon), **_tiers(subject.appetite))


def protection(unit: Unit | None, epsilon: Fraction) -> str:
    """Return a sentence on the rows that a guarantee protects."""
    if unit is None:
        return _("Every row is protected with epsilon = {epsilon}.", epsilon=local_amount(epsilon))
    return _(
        "All rows of each {unit} together are protected with epsilon = {epsilon}.",
        unit=noun(unit),
        epsilon=local_amount(epsilon),
    )


def _tier(epsilon: Fraction, appetite: Appetite) -> tuple[Status, str]:
    if appetite.is_strong(epsilon):
        return "pass", _("This is a strong guarantee.")
    if float(epsilon) <= appetite.largest_epsilon:
        return "review", _("It must be justified why this guarantee is sufficient.")
    return "fail", _("This epsilon is too large to protect anyone by itself.")


def _tiers(appetite: Appetite) -> dict[str, Any]:
    limits = {"strong": short(appetite.strong_epsilon), "largest": short(appetite.largest_epsilon)}
    return {"limit": appetite.strong_epsilon, **limits}


def _recorded(subject: Subject, releases: Releases) -> Iterator[Check]:
    card, appetite = subject.card, subject.appetite
    unprotected, units = sum(bool(charge.no_guarantee) for charge in releases.charges), releases.by_unit
    of_person = person_epsilon(subject, releases)
    most = total(own.epsilon * (steps_of(subject, unit) or 1) for unit, own in units.items())
    status, verdict = _tier(most, appetite)
    if len(units) > 1 and of_person is None:
        status = "review" if status == "pass" else status
        verdict = _("These amounts do not add up, because the units of privacy differ.")
    if unprotected:
        status = "fail"
        verdict = ngettext(
            "{count} of the releases has no guarantee, so that no sum covers it.",
            "{count} of the releases have no guarantee, so that no sum covers them.",
            unprotected,
        )
    amounts = [
        _("{epsilon} for {unit}", epsilon=local_amount(own.epsilon), unit=of_unit(unit))
        if len(units) > 1
        else local_amount(own.epsilon)
        for unit, own in units.items()
    ]
    sentences = [_("All releases on record together have epsilon = {epsilon}.", epsilon=enumerated(amounts))]
    if of_person is not None and any(most > own.epsilon for own in units.values()):
        sentences.append(_("For all rows of one person it is {epsilon}.", epsilon=local_amount(most)))
    yield check("releases/tier", status, " ".join([*sentences, verdict]), float(most), **_tiers(appetite))
    if card.epsilon is not None and (card.unit not in units or card.epsilon > units[card.unit].epsilon):
        sentence = _("The record lacks charges of this model: its epsilon is less than the privacy card's.")
        yield check("record", "fail", sentence)


def _unknown_file(subject: Subject, releases: Releases) -> Iterator[Check]:
    """Yield the check of whether a record with file digests lacks this file, whose card may have been edited."""
    every = [release.models for release in releases.releases]
    if subject.released is None or not subject.is_private or not any(every):
        return
    if subject.released.to_dict()["digest"] not in {model for models in every for model in models}:
        sentence = _("The record names the digests of the released files, and this file is not among them.")
        yield check("record/file", "fail" if all(every) else "review", sentence)


def _uncounted(charge: Charge, releases: Releases) -> Iterator[Check]:
    if (charge.query, charge.epsilon) not in [(recorded.query, recorded.epsilon) for recorded in releases.charges]:
        sentence = _(
            "The record lacks the charge of the evaluation. If the evaluation used rows of this table, add "
            "epsilon = {epsilon}.",
            epsilon=local_amount(charge.epsilon),
        )
        yield check("record/evaluation", "review", sentence, float(charge.epsilon))


def stored(subject: Subject, kind: SheetKind) -> Iterator[Check]:
    """Yield the checks of data in the model's file or estimator apart from its predictions; with numbers for the board.

    Without a guarantee, the numbers and the lines of the file are functions of the rows, and are not on the public
    sheet.
    """
    by_kind = dict[ContentKind, list[Content]]()
    for content in subject.contents:
        by_kind.setdefault(content.kind, []).append(content)
    for what, contents in by_kind.items():
        amounts = [content.amount for content in contents]  # an estimator may store one row in several places
        amount = max(amounts) if what == "rows" and subject.released is None else sum(amounts)
        values = {
            "data": _(NOUNS[what][1]) if kind == "public" else content_text(what, amount),
            "places": _places(list(dict.fromkeys(content.where for content in contents))),
        }
        status, advice = _STORED[what]
        advice = _(advice)
        smallest = min((content.smallest for content in contents if content.smallest is not None), default=None)
        if kind == "board" and smallest is not None and smallest < subject.appetite.fewest_rows:
            status, advice = "fail", _("The smallest leaf has {rows}.", rows=rows_text(smallest))
        sentence = _("The file contains {data} ({places}).", **values)
        if subject.released is None:
            sentence = _("The estimator contains {data} ({places}).", **values)
        yield check(f"file-{what}", status, f"{sentence} {advice}", None if kind == "public" else amount)


def _places(places: Sequence[str]) -> str:
    rest = len(places) - _MOST_PLACES
    more = [ngettext("{count} more place", "{count} more places", rest)] if rest > 0 else []
    return enumerated([*places[:_MOST_PLACES], *more])


_MOST_PLACES = 3  # the maximum number of places that a check names
_STORED: dict[ContentKind, tuple[Status, str]] = {
    "rows": ("fail", N_("Remove them before a release.")),
    "extremes": ("fail", N_("Each of them can be the value of a single row. Remove them before a release.")),
    "statistics": ("review", N_("Check that none of them is computed from few rows.")),
    "bounds": ("review", N_("Check that they are public, and not the minimum and maximum of the rows.")),
    "values": ("review", N_("Check that they are public.")),
    "counts": (
        "review",
        N_("Check that neither a count nor the difference of two counts is small. No other check covers them."),
    ),
    "text": ("review", N_("Read the text before a release.")),
    "unread": ("review", N_("Check what they contain.")),
}


def constant(subject: Subject) -> Iterator[Check]:
    """Yield the check of whether all leaves of a model without a guarantee have the same prediction. **Private**."""
    predictions = () if subject.is_private or subject.paths is None else subject.paths.predictions
    if predictions and len(set(predictions)) == 1:
        yield check("caveat/constant", "review", caveats.constant(predictions[0]).sentence)


_REQUIRED = {
    "purpose": N_("the purpose of the model"),
    "curator": N_("the curator of the table"),
    "unit": N_("the meaning of one row"),
    "tuning": N_("whether anyone looked at rows to choose the model and its parameters"),
}
"""The entries of the form that its check requires."""
