"""Bins of a scorecard in a report: the rows or persons of each bin, and their classes. **Private** if exact."""

from collections.abc import Iterator, Sequence
from typing import Any

from hedgerow.audit import LeafRisk
from hedgerow.audit.inference.bin_risk import bin_risk
from hedgerow.models.released import released_scorecard
from hedgerow.report.checks import Check, Status, check, rows_text
from hedgerow.report.contents import MOST_SHOWN, Column, Grid, GridValue, Section, SheetLine, section
from hedgerow.report.leaves import count_line, counted_column, disclosed, noun_of, why_cell
from hedgerow.report.subject import Subject
from hedgerow.text.language import _, enumerated, ngettext
from hedgerow.text.values import shown_text

_NAMED = 3  # the maximum number of bins that a sentence names


def counted_bins(subject: Subject, train: tuple[Any, Any] | None) -> LeafRisk | None:
    """Return the rows of each bin of a scorecard, counted from the training rows; None without rows or points."""
    if train is None or subject.released is None or not subject.released.has_points:
        return None
    card = released_scorecard(subject.released)
    return bin_risk(card, train, subject.appetite.fewest_rows, subject.form.unit_column or None) if card.parts else None


def bins(subject: Subject, risk: LeafRisk | None) -> Section:
    """Return the section on leaves of a model without leaves; `risk` has the counted rows of the bins."""
    facts = [*_stored_facts(subject)]
    values: dict[str, Any] = {
        "no_leaves": _("This model ({kind}) has no leaves.", kind=subject.kind),
        "has_bins": bool(facts),
        "has_classes": subject.number is None,
        "is_counted": risk is not None,
    }
    if risk is None:
        return section("leaves", facts, template="bins", **values, small="", pure="")
    facts += _counted_facts(subject, risk)
    grids = (_grid(subject, risk),)
    return section(
        "leaves", facts, grids, template="bins", **values, small=_small(subject, risk), pure=_pure(subject, risk)
    )


def _stored_small(subject: Subject) -> int:
    """Return the number of bins whose exact count of few rows is in the file."""
    supports = () if subject.released is None else subject.released.bin_supports
    return sum(bin_.is_exact and 0 < (bin_.rows or 0) < subject.appetite.fewest_rows for bin_ in supports)


def _stored_facts(subject: Subject) -> Iterator[SheetLine]:
    supports = () if subject.released is None else subject.released.bin_supports
    if not supports:
        return
    few, small = sum(bin_.is_too_few for bin_ in supports), _stored_small(subject)
    yield count_line("bins", _("bins with released rows"), len(supports))
    yield count_line("empty_bins", _("bins without rows, or within noise of having none"), few)
    if small:
        name = _("bins with exactly 1 to {most} rows", most=subject.appetite.fewest_rows - 1)
        yield count_line("small_bins", name, small)


def _few(risk: LeafRisk) -> list[int]:
    """Return the bins with rows, but fewer than the threshold, the smallest first."""
    return sorted((i for i in risk.small if risk.known_rows[i]), key=risk.known_rows.__getitem__)


def _counted_facts(subject: Subject, risk: LeafRisk) -> Iterator[SheetLine]:
    column = counted_column(risk)
    rows, least = noun_of(column), rows_text(risk.threshold, column)
    yield count_line("counted_bins", _("bins whose rows were counted"), len(risk.leaves))
    fewest = min((n for n in risk.known_rows.values() if n), default=0)
    yield count_line("smallest_bin", _("{rows} in the smallest bin with rows", rows=rows), fewest)
    yield count_line("counted_small_bins", _("bins with rows, but fewer than {least}", least=least), len(_few(risk)))
    name = _("bins with rows of only one class (class disclosure)")
    if subject.number is not None:
        name = _("bins with rows of only one level")
    yield count_line("pure_bins", name, len(risk.pure))


def _grid(subject: Subject, risk: LeafRisk) -> Grid:
    """Return the table of the bins: flagged bins first, from the smallest to the largest."""
    rows, few, pure = noun_of(counted_column(risk)), set(_few(risk)), set(risk.pure)
    reasons = {
        ("few_rows", _("few {rows}", rows=rows)): few,
        ("pure", _("only one class") if subject.number is None else _("only one level")): pure,
    }
    whys = [
        why_cell({code: word for (code, word), own in reasons.items() if i in own}) for i in range(len(risk.leaves))
    ]
    columns: list[tuple[Column, Sequence[GridValue]]] = [
        (Column("bin", _("bin"), is_text=True), risk.leaves),
        (Column("rows", rows), risk.rows),
    ]
    if subject.number is None:  # there are too many levels to list
        for k, name in enumerate(risk.classes or ()):
            title = _("{rows} of class {name}", rows=rows, name=shown_text(name))
            columns.append((Column(f"rows_class_{k + 1}", title), [own[k] for own in risk.known_counts.values()]))
    columns.append((Column("why", _("reason")), whys))
    order = sorted(range(len(whys)), key=lambda i: (not whys[i].text, risk.known_rows[i], i))
    title = _("Bins, smallest flagged bin first") if few | pure else _("Bins, smallest bin first")
    return Grid.of_columns("bins", title, columns, order, max(MOST_SHOWN, len(few | pure)))


def _named(subject: Subject, risk: LeafRisk, chosen: Sequence[int]) -> str:
    """Return the first few bins with their rows and, if all rows have one class, this class."""
    rest, pure, column = len(chosen) - _NAMED, set(risk.pure), counted_column(risk)
    texts = list[str]()
    for i in chosen[:_NAMED]:
        rows = rows_text(risk.known_rows[i], column)
        text = _("{bin}: {rows}", bin=risk.leaves[i], rows=rows)
        if i in pure and subject.number is None:
            label = next(name for name, n in zip(risk.classes or (), risk.known_counts[i], strict=True) if n)
            text = _("{bin}: {rows}, all of class {name}", bin=risk.leaves[i], rows=rows, name=shown_text(label))
        texts.append(text)
    return enumerated([*texts, *([ngettext("{count} more", "{count} more", rest)] if rest > 0 else [])])


def _small(subject: Subject, risk: LeafRisk) -> str:
    few, least = _few(risk), rows_text(risk.threshold, counted_column(risk))
    if not few:
        return _("Every bin with rows has at least {least}.", least=least)
    return ngettext(
        "{count} of {all} bins has fewer than {least} ({bins}).",
        "{count} of {all} bins have fewer than {least} ({bins}).",
        len(few),
        all=len(risk.leaves),
        least=least,
        bins=_named(subject, risk, few),
    )


def _pure(subject: Subject, risk: LeafRisk) -> str:
    chosen = sorted(risk.pure, key=risk.known_rows.__getitem__)
    values = {"all": len(risk.leaves), "bins": _named(subject, risk, chosen)}
    if subject.number is not None:
        if not chosen:
            return _("No bin has rows of only one level.")
        return ngettext(
            "{count} of {all} bins has rows of only one level ({bins}).",
            "{count} of {all} bins have rows of only one level ({bins}).",
            len(chosen),
            **values,
        )
    if not chosen:
        return _("No bin has rows of only one class.")
    return ngettext(
        "{count} of {all} bins has rows of only one class ({bins}).",
        "{count} of {all} bins have rows of only one class ({bins}).",
        len(chosen),
        **values,
    )


def bin_checks(subject: Subject, risk: LeafRisk | None) -> Iterator[Check]:
    """Yield the checks of bins: by the counted rows if they are given, otherwise by exact counts in the file."""
    grave: Status = "review" if subject.is_private else "fail"
    if risk is None:
        if small := _stored_small(subject):
            least = rows_text(subject.appetite.fewest_rows)
            sentence = ngettext(
                "The file has the exact number of rows of {count} bin with fewer than {least}.",
                "The file has the exact numbers of rows of {count} bins with fewer than {least}.",
                small,
                least=least,
            )
            yield check("small-bins", grave, sentence, small, least=least)
        return
    few, least = len(_few(risk)), rows_text(risk.threshold, counted_column(risk))
    yield check("small-bins/counted", grave if few else "pass", _small(subject, risk), few, limit=0, least=least)
    rule = "pure-bins" if subject.number is None else "pure-bins/number"
    sentence = f"{_pure(subject, risk)} {disclosed(subject)}" if risk.pure else _pure(subject, risk)
    yield check(rule, grave if risk.pure else "pass", sentence, len(risk.pure), limit=0)
