"""Sections on membership: what ε permits any attack, and what attacks reached that were tried: **private**."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hedgerow.audit.exact.membership import ExactMembership
from hedgerow.audit.inference.lira import ShadowMembership
from hedgerow.audit.inference.membership import Membership
from hedgerow.audit.inference.overfitting import Overfit, overfit
from hedgerow.errors import ArgumentTypeError
from hedgerow.report.contents import Cell, Fact, Finding, Grid, Section
from hedgerow.report.findings import finding
from hedgerow.report.page import section
from hedgerow.report.promises import largest_rate, percent_up
from hedgerow.report.subject import Subject

Attacked = Membership | ShadowMembership | ExactMembership
"""The result of an audit of membership."""
RATES = (0.001, 0.01, 0.1)
"""The false positive rates at which the largest true positive rate is printed."""


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
    best, grids = None, list[Grid]()
    if subject.bound is not None:
        best = _permitted(subject, 0.01)
        rows = tuple((f"{100 * fpr:g} %", _permitted(subject, fpr)) for fpr in RATES)
        names = ("false positive rate", "true positive rate, at most")
        grids.append(Grid("What the guarantee permits at most", names, rows))
    return section("membership", grids=grids, is_bound=True, best=best, leaves=None, found=None, exact=None)


def _permitted(subject: Subject, fpr: float) -> str:
    return "no bound" if subject.bound is None else percent_up(largest_rate(fpr, *subject.bound))


def separated(subject: Subject, train: tuple[Any, Any] | None, test: tuple[Any, Any] | None) -> Overfit | None:
    """Return how far the leaves of training rows and of others differ; None without both, or without leaves."""
    if train is None or test is None or not subject.has_leaves:
        return None
    return overfit(subject.leaf_of, train, test)


def attacked(subject: Subject, found: Attacked | None, leaves: Overfit | None) -> Section:
    """Return what attacks reached, beside what ε permits."""
    facts, grids = list[Fact](), list[Grid]()
    if leaves is not None:
        v, chance = leaves.vulnerability, leaves.vulnerability_by_chance
        facts.append(Fact("accuracy of the best guess from class and leaf", f"{v:.3f}", v))
        facts.append(Fact("the same for a model of other rows", f"{chance:.3f}", chance))
    exact, worst = None, 0.0
    if isinstance(found, ExactMembership):
        exact, worst, loss = found, float(found.advantage.max()), float(found.realised_loss.max())
        facts.append(Fact("largest advantage of the best attack on any row", f"{worst:.4f}", worst))
        facts.append(Fact("largest privacy loss of any row", f"{loss:.4f}", loss))
    elif found is not None:
        low, high = found.auc_interval
        interval = "95 % confidence" if isinstance(found, ShadowMembership) else "90 % of splits"
        facts.append(Fact("attack", f"{found.attack}, on {found.target}"))
        facts.append(Fact("AUC", f"{found.auc:.3f} ({interval}: {low:.3f} to {high:.3f})", found.auc))
        grids.append(_beside(subject, found))
    values: dict[str, Any] = {"leaves": leaves, "found": found, "exact": exact, "worst": worst}
    return section("membership", facts, grids, is_bound=False, **values)


def _beside(subject: Subject, found: Membership | ShadowMembership) -> Grid:
    rows = list[tuple[Cell, ...]]()
    for fpr in RATES:
        reached, between = "too few rows to measure", ""
        if fpr >= found.finest_fpr:
            low, high = found.tpr_interval(fpr) if isinstance(found, ShadowMembership) else (None, None)
            reached = f"{100 * found.tpr_at(fpr):.2g} %"
            between = "not known" if low is None or high is None else f"{100 * low:.2g} % to {100 * high:.2g} %"
        rows.append((f"{100 * fpr:g} %", reached, between, _permitted(subject, fpr)))
    names = ("false positive rate", "true positive rate", "interval, 95 %", "epsilon permits at most")
    return Grid("Members found at few false alarms, beside what epsilon permits", names, tuple(rows))


def findings(subject: Subject, found: Attacked | None, leaves: Overfit | None) -> Iterator[Finding]:
    """Yield what attacks say for and against a release."""
    if leaves is not None:
        v, chance = leaves.vulnerability, leaves.vulnerability_by_chance
        sentence = f"Class and leaf tell training rows from others in {v:.3f} of cases, by chance in {chance:.3f}."
        yield finding("separation", "look" if v > chance else "supports", sentence, v)
    if isinstance(found, ExactMembership):
        loss = float(found.realised_loss.max())
        sentence = f"The largest exact privacy loss of a row is {loss:.4f}, of an epsilon of {found.epsilon:g}."
        yield finding("loss", "supports" if loss <= found.epsilon * (1 + 1e-9) else "reject", sentence, loss)
    elif found is not None:
        yield from _tried(subject, found)
    elif leaves is None and not subject.is_private:
        yield finding("membership", "look", "No membership attack was carried out on a model that has no guarantee.")


def _tried(subject: Subject, found: Membership | ShadowMembership) -> Iterator[Finding]:
    is_above = found.auc_interval[0] > 0.5
    words = "above" if is_above else "not above"
    sentence = f"The AUC of the attack is {found.auc:.3f}, and its interval is {words} guessing, 0.5."
    yield finding("auc", "look" if is_above else "supports", sentence, found.auc)
    if isinstance(found, ShadowMembership):
        yield from _violated(subject, found)
        rows, grave = len(found.significant_rows()), "look" if subject.is_private else "reject"
        sentence = f"{rows} rows have a significant (Holm) separation by fits with and without them."
        yield finding("rows", grave if rows else "supports", sentence, rows)


def _violated(subject: Subject, found: ShadowMembership) -> Iterator[Finding]:
    """Yield the lowest rate at which an attack does what the claimed guarantee rules out."""
    for fpr in RATES if subject.bound is not None else ():
        low, _ = found.tpr_interval(fpr) if fpr >= found.finest_fpr else (0.0, 1.0)
        if subject.bound is not None and low > largest_rate(fpr, *subject.bound):
            sentence = (
                f"At a false positive rate of {100 * fpr:g} %, the attack finds at least {100 * low:.2g} % of the "
                f"members; the claimed epsilon permits {_permitted(subject, fpr)}."
            )
            yield finding("claim", "reject", sentence, low)
            return
