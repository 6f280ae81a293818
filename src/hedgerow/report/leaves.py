"""The section on leaves: small ones, of one class, that ask for what is sensitive. **Private** where exact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hedgerow.audit.inference.leaf_risk import LeafRisk
from hedgerow.report.contents import Bucket, Fact, Finding, Grid, Section
from hedgerow.report.findings import finding
from hedgerow.report.page import section as sentences
from hedgerow.report.subject import Subject
from hedgerow.text.values import shown_text


def section(subject: Subject, risk: LeafRisk | None) -> Section:
    """Return the smallest leaf, and which are under the threshold, of one class, or ask for what is sensitive."""
    without = None if subject.has_leaves else subject.released
    if risk is None:
        facts = () if without else (_sensitive(subject, None),)
        return sentences("leaves", facts, risk=None, without=without)
    facts = (*_sizes(risk), *_classes(risk), _sensitive(subject, risk))
    values: dict[str, Any] = {"risk": risk, "without": None, "small": _small(risk), "pure": _pure(risk)}
    return sentences("leaves", facts, _flagged(subject, risk), **values)


def _sizes(risk: LeafRisk) -> tuple[Fact, ...]:
    smallest, ones = min(risk.rows), sum(rows == 1 for rows in risk.rows)
    return (
        Fact("leaves", f"{len(risk.rows):,}", len(risk.rows)),
        Fact("rows in the smallest leaf", f"{smallest:,}", smallest),
        Fact(f"leaves with fewer than {risk.threshold} rows", f"{len(risk.small):,}", len(risk.small)),
        Fact("leaves of one row", f"{ones:,}", ones),
        Fact("rows in leaves below the threshold", *_sum(risk, risk.small)),
    )


def _classes(risk: LeafRisk) -> tuple[Fact, ...]:
    if risk.counts is None:
        return ()
    return (
        Fact("leaves of one class (class disclosure)", f"{len(risk.pure):,}", len(risk.pure)),
        Fact("rows in leaves of one class", *_sum(risk, risk.pure)),
        Fact(f"leaves in which a class has 1 to {risk.threshold - 1} rows", f"{len(risk.few):,}", len(risk.few)),
    )


def _small(risk: LeafRisk) -> str:
    return f"{_how_many(risk.small, risk)} fewer than {risk.threshold} rows"


def _pure(risk: LeafRisk) -> str:
    return f"{_how_many(risk.pure, risk)} rows of one class alone"


def _how_many(found: tuple[int, ...], risk: LeafRisk) -> str:
    whole = len(risk.rows)
    if not found:
        return f"None of the {whole:,} leaves has" if whole > 1 else "The one leaf does not have"
    return f"{len(found):,} of {whole:,} leaves {'have' if len(found) > 1 else 'has'}"


def _sum(risk: LeafRisk, chosen: tuple[int, ...]) -> tuple[str, int]:
    rows = sum(risk.rows[i] for i in chosen)
    return f"{rows:,} of {sum(risk.rows):,}", rows


def _sensitive(subject: Subject, risk: LeafRisk | None) -> Fact:
    name = "leaves whose rule asks for a sensitive attribute"
    if not subject.form.sensitive:
        return Fact(name, "not known: the form names no sensitive attribute")
    if subject.paths is None:
        return Fact(name, "not known without decision paths")
    found = subject.sensitive_leaves
    small = [] if risk is None or len(risk.rows) != len(subject.paths) else [i for i in found if i in risk.small]
    more = f", {len(small)} of them below the threshold" if risk is not None and found else ""
    return Fact(name, f"{len(found)} of {len(subject.paths)} ({', '.join(subject.form.sensitive)}){more}", len(found))


def _flagged(subject: Subject, risk: LeafRisk) -> tuple[Grid, ...]:
    found = sorted({*risk.small, *risk.pure, *risk.few}, key=lambda i: (risk.rows[i], i))
    asking = set(subject.sensitive_leaves) if subject.paths is not None and len(risk.rows) == len(subject.paths) else ()
    if not found:
        return ()
    names = [] if risk.counts is None else [f"rows of {shown_text(name)}" for name in risk.classes or ()]
    rows = tuple(
        (
            risk.leaves[i],
            risk.rows[i],
            *(risk.counts[i] if risk.counts is not None and names else ()),
            ", ".join([*(why for why in _WHY if i in getattr(risk, why)), *(["sensitive"] * (i in asking))]),
        )
        for i in found
    )
    return (Grid.of_first("Leaves to look at, the smallest first", ("leaf", "rows", *names, "why"), rows),)


_WHY = ("small", "pure", "few")


def findings(subject: Subject, risk: LeafRisk | None) -> Iterator[Finding]:
    """Yield what leaves say for and against a release."""
    if risk is None:
        return
    small, pure, threshold = len(risk.small), len(risk.pure), risk.threshold
    if risk.view == "noisy" and subject.is_private:
        sentence = (
            f"{_small(risk)} by the released counts, which are noisy: small ones disclose no more than is promised."
        )
        yield finding("small-leaves", "supports", sentence, small, threshold=threshold)
        return
    grave: Bucket = "look" if subject.is_private else "reject"
    ones = sum(rows == 1 for rows in risk.rows)
    sentence = _small(risk) + (f", and {ones:,} of them one row alone." if ones else ".")
    yield finding("small-leaves", grave if small else "supports", sentence, small, threshold=threshold)
    if risk.counts is not None:
        sentence = f"{_pure(risk)}: {'class disclosure' if pure else 'that would disclose the class'}."
        yield finding("pure-leaves", grave if pure else "supports", sentence, pure)
