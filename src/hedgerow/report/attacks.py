"""Sections on membership: what ε permits any attack, and what attacks reached that were tried: **private**."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from hedgerow.audit.exact.membership import ExactMembership
from hedgerow.audit.inference.overfitting import Overfit, overfit
from hedgerow.audit.inference.roc import Membership
from hedgerow.audit.inference.shadow_result import ShadowMembership
from hedgerow.errors import ArgumentTypeError
from hedgerow.report.contents import DEFINITION, HOUSE, Cell, Fact, Finding, Grid, Section
from hedgerow.report.promises import largest_rate, percent_up
from hedgerow.report.subject import Subject

Attacked = Membership | ShadowMembership | ExactMembership
"""What a membership attack reached: a result of the audits."""
RATES = (0.001, 0.01, 0.1)
"""The false positive rates at which the largest true positive rate is printed."""
HOW = (
    "Attack the learner, and give the result: membership=hr.audit.lira(learner, X, y), hr.audit.membership(…), or "
    "hr.audit.exact_membership(…) for a draw."
)
"""How to measure membership."""
_QUESTION = "Can an attacker tell whether a person was in the table?"
_WORDS = (
    "A false positive rate (FPR) is how often an attack takes a row for a member that was none; a true positive rate "
    "(TPR), how often it finds a member. Guessing has TPR = FPR. An attack that is right about few, and hardly ever "
    "wrong about them, has a high TPR at a low FPR, which a mean such as the AUC hides.",
    "AUC is the chance that a member scores higher than a non-member: 0.5 is guessing.",
)


def check_attacked(given: object) -> Attacked | None:
    """Check the result of an attack that was given, if any."""
    if given is None or isinstance(given, (Membership, ShadowMembership, ExactMembership)):
        return given
    raise ArgumentTypeError(
        "expected a result of audit.membership, audit.lira or audit.exact_membership as membership, got "
        f"{type(given).__name__}."
    )


def bounded(subject: Subject) -> Section:
    """Return what ε permits any attack, which follows from the card alone."""
    card = subject.card
    if card.epsilon is None or not card.is_private:
        answer = "Nothing bounds it: the model has no guarantee. What was tried, if anything, is on the board's sheet."
        return Section("membership", _QUESTION, answer, words=_WORDS, measure=HOW)
    epsilon, delta = card.epsilon, card.delta or Fraction(0)
    best = largest_rate(0.01, epsilon, delta)
    answer = (
        f"No attack that is wrong about 1 of 100 others finds more than {percent_up(best)} of the members. That holds "
        "for all attacks; how far real ones get is measured on the board's sheet."
    )
    rows = tuple((f"{100 * fpr:g} %", percent_up(largest_rate(fpr, epsilon, delta))) for fpr in RATES)
    grid = Grid("What the guarantee permits at most", ("false positive rate", "true positive rate, at most"), rows)
    return Section("membership", _QUESTION, answer, grids=(grid,), words=_WORDS, measure=HOW)


def separated(subject: Subject, train: tuple[Any, Any] | None, test: tuple[Any, Any] | None) -> Overfit | None:
    """Return how far the leaves of training rows and of others differ; None without both, or without leaves."""
    if train is None or test is None or (subject.released is not None and subject.released.as_leaf_model is None):
        return None
    return overfit(subject.leaf_of, train, test)


def attacked(subject: Subject, found: Attacked | None, leaves: Overfit | None) -> Section:
    """Return what attacks reached, beside what ε permits."""
    if found is None and leaves is None:
        answer = "Not measured. No attack was carried out, and nobody has shown that none succeeds."
        how = f"{HOW} Or give training rows and others: --data FILE --test FILE."
        return Section("membership", _QUESTION, answer, words=_WORDS, measure=how)
    facts: list[Fact] = []
    sentences: list[str] = []
    if leaves is not None:
        v, chance = leaves.vulnerability, leaves.vulnerability_by_chance
        sentences.append(
            f"Who knows a row's class and leaf guesses right in {100 * v:.1f} % of cases whether the model was learned "
            "from it, where it was from half of the rows of each class; if it were not learned from any of these rows, "
            f"in {100 * chance:.1f} %."
        )
        facts += [Fact("accuracy of the best guess from class and leaf", f"{v:.3f}", v)]
        facts += [Fact("the same for a model of other rows", f"{chance:.3f}", chance)]
    if found is not None:
        more, sentence = _reached(found)
        facts += more
        sentences.append(sentence)
    grids = () if found is None or isinstance(found, ExactMembership) else (_beside(subject, found),)
    notes = ("An attack that fails proves nothing: others may succeed. A guarantee bounds all of them.",)
    return Section(
        "membership", _QUESTION, " ".join(sentences), tuple(facts), grids, notes, _WORDS, HOW if found is None else ""
    )


def _reached(found: Attacked) -> tuple[list[Fact], str]:
    if isinstance(found, ExactMembership):
        worst, bound = float(found.advantage.max()), found.advantage_bound
        loss = float(found.realised_loss.max())
        sentence = (
            f"The best attack on this release by someone who knows all other rows has true positives {worst:.4f} above "
            f"false positives, for the most exposed row; epsilon alone would permit {bound:.4f}."
        )
        facts = [Fact("largest advantage of the best attack on any row", f"{worst:.4f}", worst)]
        facts += [Fact("largest privacy loss of any row", f"{loss:.4f}", loss)]
        return facts, sentence
    low, high = found.auc_interval
    sentence = (
        f"The attack tried ({found.attack}) puts a member above another row in {100 * found.auc:.0f} of 100 cases."
    )
    facts = [Fact("attack", f"{found.attack}, on {found.target}")]
    interval = "95 % confidence" if isinstance(found, ShadowMembership) else "90 % of splits"
    return [*facts, Fact("AUC", f"{found.auc:.3f} ({interval}: {low:.3f} to {high:.3f})", found.auc)], sentence


def _beside(subject: Subject, found: Membership | ShadowMembership) -> Grid:
    card = subject.card
    rows = list[tuple[Cell, ...]]()
    for fpr in RATES:
        limit = "no bound"
        if card.epsilon is not None and card.is_private:
            limit = percent_up(largest_rate(fpr, card.epsilon, card.delta or Fraction(0)))
        if fpr < found.finest_fpr:
            rows.append((f"{100 * fpr:g} %", "too few rows to measure", "", limit))
            continue
        low, high = found.tpr_interval(fpr) if isinstance(found, ShadowMembership) else (None, None)
        between = "not known" if low is None or high is None else f"{100 * low:.2g} % to {100 * high:.2g} %"
        rows.append((f"{100 * fpr:g} %", f"{100 * found.tpr_at(fpr):.2g} %", between, limit))
    names = ("false positive rate", "true positive rate", "interval, 95 %", "epsilon permits at most")
    return Grid("Members found at few false alarms, beside what epsilon permits", names, tuple(rows))


def findings(subject: Subject, found: Attacked | None, leaves: Overfit | None) -> Iterator[Finding]:
    """Yield what attacks say for and against a release."""
    if leaves is not None:
        v, chance = leaves.vulnerability, leaves.vulnerability_by_chance
        bucket = "look" if v > chance else "supports"
        sentence = f"Class and leaf tell training rows from others in {v:.3f} of cases, by chance in {chance:.3f}."
        yield Finding("separation", "membership", bucket, sentence, "no more than by chance", HOUSE, v)
    if found is None:
        if leaves is None and not subject.is_private:
            sentence = "No membership attack was carried out on a model that has no guarantee."
            yield Finding("membership", "membership", "look", sentence, "an attack was measured", HOUSE)
        return
    if isinstance(found, ExactMembership):
        yield _exact(found)
        return
    low, _ = found.auc_interval
    bucket = "look" if low > 0.5 else "supports"
    words = "above" if low > 0.5 else "not above"
    sentence = f"The AUC of the attack is {found.auc:.3f}, and its interval is {words} guessing, 0.5."
    yield Finding(
        "auc", "membership", bucket, sentence, "the interval of the AUC begins at 0.5 or below", HOUSE, found.auc
    )
    yield from _violated(subject, found)
    if isinstance(found, ShadowMembership):
        rows = len(found.significant_rows())
        grave = "look" if subject.is_private else "reject"
        sentence = f"{rows} rows have a significant (Holm) separation by fits with and without them."
        source = "Holm (1979): sign tests of all rows, false alarms of 5 % together"
        yield Finding("rows", "membership", grave if rows else "supports", sentence, "no such row", source, rows)


def _exact(found: ExactMembership) -> Finding:
    loss = float(found.realised_loss.max())
    sentence = f"The largest exact privacy loss of a row is {loss:.4f}, of an epsilon of {found.epsilon:g}."
    bucket = "supports" if loss <= found.epsilon * (1 + 1e-9) else "reject"
    return Finding("loss", "membership", bucket, sentence, "no more than epsilon", DEFINITION, loss)


def _violated(subject: Subject, found: Membership | ShadowMembership) -> Iterator[Finding]:
    """Yield the rates at which an attack does what the claimed guarantee rules out."""
    card = subject.card
    if card.epsilon is None or not card.is_private or not isinstance(found, ShadowMembership):
        return
    for fpr in (rate for rate in RATES if rate >= found.finest_fpr):
        low, _ = found.tpr_interval(fpr)
        limit = largest_rate(fpr, card.epsilon, card.delta or Fraction(0))
        if low > limit:
            sentence = (
                f"At a false positive rate of {100 * fpr:g} %, the attack finds at least {100 * low:.2g} % of the "
                f"members; the claimed epsilon permits {percent_up(limit)}."
            )
            yield Finding(
                "claim", "membership", "reject", sentence, "e^epsilon times the rate, plus delta", DEFINITION, low
            )
            return
