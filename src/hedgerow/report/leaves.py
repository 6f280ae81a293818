"""The section on leaves: small ones, of one class, that ask for what is sensitive. **Private** where exact."""

from __future__ import annotations

from collections.abc import Iterator

from hedgerow.audit.inference.leaf_risk import LeafRisk
from hedgerow.report.contents import CLASS_DISCLOSURE, RULE_OF_TEN, Bucket, Fact, Finding, Grid, Section
from hedgerow.report.disclosure import MOST_ROWS, ROWS, first_rows
from hedgerow.report.subject import Subject
from hedgerow.text.values import shown_text


def section(subject: Subject, risk: LeafRisk | None) -> Section:
    """Return the smallest leaf, and which are under the threshold, of one class, or ask for what is sensitive."""
    question = "Does a leaf describe few people, or people of one class alone?"
    if risk is None:
        released = subject.released
        if released is not None and released.as_leaf_model is None:
            answer = f"A {released.kind} {released.decides_by}: it has no leaves, and stores no number of rows."
            return Section("leaves", question, answer)
        answer = "Not measured. The model stores no numbers of rows in its leaves."
        return Section("leaves", question, answer, (_sensitive(subject, None),), measure=ROWS)
    answer = f"{_small(risk)}; the smallest has {min(risk.rows):,}. " + (
        "How many classes a leaf has is not known."
        if risk.counts is None
        else f"{_pure(risk)}{': of whoever is known to be there, the class is known' if risk.pure else ''}."
    )
    facts = (*_sizes(risk), *_classes(risk), _sensitive(subject, risk))
    return Section("leaves", question, answer, facts, _flagged(subject, risk), notes=(_VIEWS[risk.view],))


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


_VIEWS = {
    "exact": "The rows of the leaves are exact.",
    "noisy": "The rows of the leaves are the noisy counts that were released, not the true ones.",
    "weighted": "The rows of the leaves are weights, in which a row that was drawn twice counts twice.",
}


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
        for i in found[:MOST_ROWS]
    )
    title = first_rows("Leaves to look at, the smallest first", len(found))
    return (Grid(title, ("leaf", "rows", *names, "why"), rows),)


_WHY = ("small", "pure", "few")


def findings(subject: Subject, risk: LeafRisk | None) -> Iterator[Finding]:
    """Yield what leaves say for and against a release."""
    if risk is None:
        return
    limit, small = f"at least {risk.threshold} rows in every leaf", len(risk.small)
    if risk.view == "noisy" and subject.is_private:
        sentence = (
            f"{_small(risk)} by the released counts, which are noisy: small ones disclose no more than is promised."
        )
        yield Finding("small-leaves", "leaves", "supports", sentence, limit, RULE_OF_TEN, small)
        return
    grave: Bucket = "look" if subject.is_private else "reject"
    ones = sum(rows == 1 for rows in risk.rows)
    sentence = _small(risk) + (f", and {ones:,} of them one row alone." if ones else ".")
    yield Finding("small-leaves", "leaves", grave if small else "supports", sentence, limit, RULE_OF_TEN, small)
    if risk.counts is not None:
        bucket: Bucket = grave if risk.pure else "supports"
        sentence = (
            f"{_pure(risk)}: that would disclose the class." if not risk.pure else f"{_pure(risk)}: class disclosure."
        )
        yield Finding(
            "pure-leaves", "leaves", bucket, sentence, "no leaf of one class", CLASS_DISCLOSURE, len(risk.pure)
        )
