"""Findings: reasons for and against a release, each by a rule of one table, and those of cards, records and forms."""

from collections.abc import Iterator
from fractions import Fraction

from hedgerow.evaluation.evaluation import Evaluation
from hedgerow.models import caveats
from hedgerow.models.extra_contents import NOUNS, Content, ContentKind, content_text
from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.card import NO_NOISE, PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.wording import of_unit, protected
from hedgerow.report.contents import Bucket, Finding, SheetKind
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject
from hedgerow.text.messages import number_of

STRONG, WEAK = 1, 10  # the largest ε of a strong guarantee, and of one that needs a look
_TIERS = "Ponomareva et al., How to DP-fy ML, JAIR 77 (2023)"
_CRYPTIC_DELTA = (
    "Dwork and Roth, The Algorithmic Foundations of Differential Privacy (2014), section 2.3: a delta of 1/n permits "
    "to publish a whole row"
)
_RULE_OF_TEN = "safe_threshold of ACRO, 10; the rule of 10 of the Australian Bureau of Statistics' DataLab"
_P_RATIO = "the p % rule: safe_pratio_p of ACRO, 0.1; Hundepool et al., Statistical Disclosure Control (2012)"
_CLASSES = "class disclosure: Hundepool et al., Statistical Disclosure Control (2012); SACRO-ML's structural attack"
_HOLM = "Holm (1979): sign tests of all rows, false alarms of 5 % together"
_DEFINITION = "the definition of differential privacy"
_HOUSE = "this report; no threshold is published"
_PAIRED = (
    "McNemar (1947) for right and wrong, with Edwards' correction (1948); Student's t for costs and errors; by units "
    "if a unit has several rows; on held-out rows"
)
_PERMUTED = "permutation test; normal bound on V; 55 % is what epsilon = 0.2 permits, a threshold of this report"
_AUC = "Hanley and McNeil (1982), or Student's t over splits; 0.55 is a threshold of this report"
_NOISE = "the noise on the released counts, by the card"
_BONFERRONI = "the intervals of the comparison with a constant, for all groups together (Bonferroni)"
_TIER = f"epsilon up to {STRONG} supports; up to {WEAK}: look; above: reject"

_DATA = "a model is released as a file; ACRO: least and largest values are values of single rows"

_BEYOND = f"beyond the noise (95 % for all leaves together), or epsilon up to {STRONG}"
_OWN = "who made this report; ACRO's is 10"

RULES: dict[str, tuple[str, str, str]] = {
    "guarantee": ("guarantee", "a guarantee of differential privacy", _DEFINITION),
    "guarantee/reason": ("guarantee", "no reason on the card voids it", _DEFINITION),
    "guarantee/tier": ("guarantee", _TIER, _TIERS),
    "thresholds": ("unprotected", "thresholds are public, or learned under a charge", _HOUSE),
    "delta": ("guarantee", "delta = 0 needs no look; from 1/n on: reject", _CRYPTIC_DELTA),
    "noise": ("noise", "noise is drawn", _DEFINITION),
    "declared": ("charges", "every charge is of the software's own record", _HOUSE),
    "releases": ("releases", "a record of all releases", _HOUSE),
    "releases/tier": ("releases", _TIER, _TIERS),
    "record": ("releases", "the card's epsilon is in the record", _HOUSE),
    "record/file": ("releases", "the file is one that the record has", _HOUSE),
    "record/evaluation": ("releases", "the record has the evaluation's charge", _HOUSE),
    "form": ("statements", "the form is filled in", _HOUSE),
    "small-leaves": ("leaves", "at least {least} in every leaf", _RULE_OF_TEN),
    "small-leaves/noisy": ("leaves", f"at least {{least}} in every leaf, {_BEYOND}", _RULE_OF_TEN),
    "units": ("leaves", "units are counted, or leaves have as many rows as that many units may have", _HOUSE),
    "small-bins": ("leaves", "at least {least} in every bin whose rows are in the file", _RULE_OF_TEN),
    "small-leaves/own": ("leaves", "at least {least} in every leaf", _OWN),
    "small-leaves/own-noisy": ("leaves", f"at least {{least}} in every leaf, {_BEYOND}", _OWN),
    "counts": ("leaves", "the rows make the counts that the model stores; by noisy ones, at 1 - 10^-6", _HOUSE),
    "dominance": ("leaves", "no row that others can tell to within 10 % by the sum of its leaf", _P_RATIO),
    "pure-leaves": ("leaves", "no leaf of one class", _CLASSES),
    "few-of-class": ("leaves", "at least {least} of every class that a leaf has", _CLASSES),
    "pure-leaves/number": ("leaves", "no leaf of one level", _CLASSES),
    "known-rows": ("reconstruction", "no leaf with one possible row", _HOUSE),
    "accuracy": ("accuracy", "better than the commonest class, 95 % interval above 0", _PAIRED),
    "accuracy/cost": ("accuracy", "less than the cost of always one class, 95 % interval above 0", _PAIRED),
    "accuracy/number": ("accuracy", "less error than a constant, 95 % interval above 0", _PAIRED),
    "caveat/constant": ("model", "not the same prediction for all rows", _HOUSE),
    "caveat/no-better": ("model", "better than always one class, 95 % interval by the noise above 0", _NOISE),
    "caveat/unclear": ("model", "better than always one class, 95 % interval by the noise above 0", _NOISE),
    "caveat/unreachable": ("model", "every leaf can be reached", _HOUSE),
    "caveat/unexamined": ("model", "every leaf can be reached", _HOUSE),
    "caveat/empty": ("model", "more rows in every leaf than the noise, at 95 % each", _NOISE),
    "groups": ("accuracy", "no group below its baseline", _BONFERRONI),
    "separation": ("membership", "p > 0.05, and at most 55 % right guesses with 95 % confidence", _PERMUTED),
    "membership": ("membership", "an attack was measured", _HOUSE),
    "auc": ("membership", "the 95 % interval of the AUC has 0.5, and ends at 0.55 or below", _AUC),
    "rows": ("membership", "no such row", _HOLM),
    "loss": ("membership", "no more than epsilon", _DEFINITION),
    "claim": ("membership", "e^epsilon times the rate, plus delta; 95 % for all rates together", _DEFINITION),
    "file-rows": ("model", "no row of data in the file", _DATA),
    "file-extremes": ("model", "no least or largest value of rows in the file", _DATA),
    "file-statistics": ("model", "no statistics of rows in the file", _HOUSE),
    "file-bounds": ("model", "no bounds but those of the schema", _HOUSE),
    "file-values": ("model", "no names and values but those of the schema", _HOUSE),
    "file-counts": ("model", "every number of rows is read as a count of a leaf", _HOUSE),
    "file-text": ("model", "no free text in the file", _HOUSE),
    "file-unread": ("model", "every part of the model is looked into", _HOUSE),
}
"""The section that has the numbers of a finding, the rule that puts it into its bucket, and where the rule is from."""


def finding(rule: str, bucket: Bucket, sentence: str, value: float | None = None, **numbers: object) -> Finding:
    """Return a finding by a rule; its key is the rule's name up to a slash."""
    section, threshold, source = RULES[rule]
    key, _, _ = rule.partition("/")
    return Finding(key, section, bucket, sentence, threshold.format(**numbers), source, value)


def findings(subject: Subject, releases: Releases | None, evaluation: Evaluation | None = None) -> Iterator[Finding]:
    card = subject.card
    yield from promised(subject)
    if card.is_private and card.noise == NO_NOISE:
        yield finding("noise", "reject", "The card claims a guarantee, and says that no noise was drawn.")
    if any(charge.declared for charge in card.charges):
        sentence = "A part of the loss is what the schema's file declares; nobody checked it here."
        yield finding("declared", "look", sentence)
    if releases is not None:
        yield from _recorded(card, releases)
        yield from _unknown_file(subject, releases)
        yield from () if evaluation is None else _uncounted(evaluation.privacy.charges[-1], releases)
    elif card.charges:
        sentence = "No record was given, so that nobody knows what else was released about this table."
        yield finding("releases", "look", sentence)
    yield from stored(subject, "public")
    missing = [asked for name, asked in _ASKED.items() if not getattr(subject.form, name)]
    if missing:
        yield finding("form", "look", f"The form does not state {'; nor '.join(missing)}.")


def promised(subject: Subject, n_rows: int | None = None) -> Iterator[Finding]:
    """Yield what ε, δ and released numbers say; the number of training rows, where it is known, is **private**."""
    card = subject.card
    yield _promised(card)
    if subject.has_own_thresholds:
        how = "are" if subject.released is None else "may be"
        sentence = f"Its thresholds on numbers {how} functions of the rows, often midway between the values of two."
        yield finding("thresholds", "look", sentence)
    if card.is_private and card.delta:
        is_large = n_rows is not None and card.delta * n_rows >= 1
        known = "one in the number of rows" if n_rows is None else f"1/{n_rows:,}, one in the number of rows"
        exception = f"The guarantee has an exception of delta = {amount_text(card.delta)}"
        sentence = f"{exception}; it should be far below {known}."
        yield finding("delta", "reject" if is_large else "look", sentence, float(card.delta))
    for caveat in subject.released.caveats if subject.released is not None and subject.is_private else ():
        yield finding(f"caveat/{caveat.kind}", "look", caveat.sentence)


def _promised(card: PrivacyCard) -> Finding:
    if card.epsilon is None:
        return finding("guarantee", "look", "No guarantee bounds what the model discloses.")
    if not card.is_private:
        sentence = f"The model was charged for, and yet has no guarantee: {card.no_guarantee_reason}."
        return finding("guarantee/reason", "reject", sentence)
    bucket, words = _tier(card.epsilon)
    sentence = f"{protected(card.unit)} protected by epsilon = {amount_text(card.epsilon)}: {words}."
    return finding("guarantee/tier", bucket, sentence, float(card.epsilon))


def _tier(epsilon: Fraction) -> tuple[Bucket, str]:
    if epsilon <= STRONG:
        return "supports", "a strong guarantee"
    if epsilon <= WEAK:
        return "look", "a guarantee that needs a reason why it is enough"
    return "reject", "by itself it protects nobody; only measurements can support a release"


def _recorded(card: PrivacyCard, releases: Releases) -> Iterator[Finding]:
    unprotected, units = sum(bool(one.no_guarantee) for one in releases.charges), releases.by_unit
    most = max(one.epsilon for one in units.values())
    bucket, words = _tier(most)
    if len(units) > 1:
        bucket, words = "look" if bucket == "supports" else bucket, "amounts that do not add up, since units differ"
    if unprotected:
        bucket, words = "reject", f"and {unprotected} of them have no guarantee, which no sum covers"
    amounts = " and ".join(
        amount_text(one.epsilon) + (f" for {of_unit(unit)}" if len(units) > 1 else "") for unit, one in units.items()
    )
    sentence = f"All releases on record together have epsilon = {amounts}: {words}."
    yield finding("releases/tier", bucket, sentence, float(most))
    if card.epsilon is not None and (card.unit not in units or card.epsilon > units[card.unit].epsilon):
        sentence = "The record does not have all of this model's charges: its epsilon is less than the card's."
        yield finding("record", "reject", sentence)


def _unknown_file(subject: Subject, releases: Releases) -> Iterator[Finding]:
    """Yield whether a record that has the digests of files has another than this one: a card may have been edited."""
    every = [one.models for one in releases.releases]
    if subject.released is None or not subject.is_private or not any(every):
        return
    if subject.released.to_dict()["digest"] not in {model for models in every for model in models}:
        sentence = "The record has the digests of the files that were released, and this file is none of them."
        yield finding("record/file", "reject" if all(every) else "look", sentence)


def _uncounted(charge: Charge, releases: Releases) -> Iterator[Finding]:
    if (charge.query, charge.epsilon) not in [(one.query, one.epsilon) for one in releases.charges]:
        sentence = "The record does not have the evaluation's charge: if its rows are of this table, add epsilon = "
        yield finding("record/evaluation", "look", f"{sentence}{amount_text(charge.epsilon)}.", float(charge.epsilon))


def stored(subject: Subject, kind: SheetKind) -> Iterator[Finding]:
    """Yield the data in the model's file, or in the estimator, apart from its predictions; for the board with numbers.

    How many rows an estimator stores may be how many it was trained on, which the public sheet does not say.
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
        bucket, advice = _STORED[what]
        sentence = f"The {whole} holds {counted} ({'; '.join(where[:_PLACES])}{more}): {advice}."
        yield finding(f"file-{what}", bucket, sentence, None if kind == "public" else amount)


_PLACES = 3  # the most places that a finding names
_STORED: dict[ContentKind, tuple[Bucket, str]] = {
    "rows": ("reject", "remove them before a release"),
    "extremes": ("reject", "each can be the value of a single row; remove them before a release"),
    "statistics": ("look", "check that none is of few rows"),
    "bounds": ("look", "check that they are public, and not the least and largest values of rows"),
    "values": ("look", "check that they are public"),
    "counts": ("look", "check small counts, which no other finding covers"),
    "text": ("look", "read it before a release"),
    "unread": ("look", "check what they hold"),
}


def constant(subject: Subject) -> Iterator[Finding]:
    """Yield whether a model without a guarantee predicts the same in all of its leaves. **Private**."""
    said = () if subject.is_private or subject.paths is None else subject.paths.predictions
    if said and len(set(said)) == 1:
        yield finding("caveat/constant", "look", caveats.constant(said[0]).sentence)


_ASKED = {
    "purpose": "what the model is for",
    "curator": "who answers for the table",
    "unit": "what one row is, and how many of them a person can have",
    "tuning": "whether rows were looked at to choose the model and its parameters",
}
