"""Leaves in a report: the rows or persons of each leaf, and their classes. **Private** if exact."""

from collections.abc import Iterator, Sequence
from typing import Any

from hedgerow.audit import LeafRisk
from hedgerow.audit.inference.ensemble_risk import EnsembleRisk
from hedgerow.audit.inference.labelled import declared_unit
from hedgerow.audit.inference.leaf_risk import FEWEST_SAFE_ROWS
from hedgerow.report.checks import Check, Status, check, rows_text, short
from hedgerow.report.contents import MOST_SHOWN, Cell, Column, Grid, GridValue, Section, SheetLine, section
from hedgerow.report.subject import Subject
from hedgerow.report.units import judged_epsilon
from hedgerow.text.language import N_, _, enumerated, ngettext, number
from hedgerow.text.values import quoted_text, shown_text

_NAMED = 3  # the maximum number of leaves that a sentence names


def leaf_names(subject: Subject) -> tuple[str, ...]:
    """Return the number and decision path of each leaf."""
    return tuple(f"{i}. {text}" for i, text in enumerate(subject.conditions, 1))


def counted_column(risk: LeafRisk | EnsembleRisk) -> str | None:
    """Return the column whose units are counted; None if rows are counted."""
    return (risk.unit or declared_unit(risk.schema)) if risk.view == "units" else None


def noun_of(column: str | None) -> str:
    """Return the plural noun for the counted rows or units."""
    return _("rows") if column is None else _("units ({column})", column=quoted_text(column))


def leaves(subject: Subject, risk: LeafRisk | None) -> Section:
    grids = _leaf_rows(subject, risk)
    question = _("Does a leaf describe few people, or only people of one class?")
    if subject.number is not None:
        question = _("Does a leaf describe few people, or only people of one level of the predicted number?")
    if risk is None:
        return section("leaves", (_sensitive(subject, None),), grids, title=question, risk=None)
    facts = (*_sizes(risk), *_classes(subject, risk), _sensitive(subject, risk))
    fewest = min(risk.known_rows.values())
    smallest = _("The smallest leaf has {rows}.", rows=rows_text(fewest, counted_column(risk)))
    if risk.release is not None:
        smallest = _("The smallest leaf has {rows} rows.", rows=_rows_text(risk, fewest))
    values: dict[str, Any] = {
        "risk": risk,
        "small": _small(risk),
        "smallest": smallest if len(risk.rows) > 1 else "",
        "not_examined": _not_examined(risk, risk.not_examined, _NO_ROWS),
        "pure": _pure(subject, risk),
        "known": _known(subject, risk) if risk.pure else "",
        "is_stored": risk.view == "exact" and risk is subject.stored_leaves and _states_no_noise(subject),
        "is_sensitive": _predicts_sensitive(subject) and bool(risk.pure),
    }
    return section("leaves", facts, grids, title=question, **values)


def _states_no_noise(subject: Subject) -> bool:
    """Return whether a file has counts but does not state their noise."""
    return subject.released is not None and subject.released.leaf_release.noise is None


def count_line(key: str, name: str, count: int) -> SheetLine:
    return SheetLine(key, name, number(count), count)


def _rows_text(risk: LeafRisk, rows: int, leaves: int = 1) -> str:
    """Return the rows of leaves as models show them: exact, or with the precision that the noise allows."""
    return number(rows) if risk.release is None else risk.release.rows_text(rows, leaves)


def _sizes(risk: LeafRisk) -> Iterator[SheetLine]:
    column, smallest, is_noisy = counted_column(risk), min(risk.known_rows.values()), risk.view == "noisy"
    rows, least, alone = noun_of(column), rows_text(risk.threshold, column), rows_text(1, column)
    yield count_line("leaves", _("leaves"), len(risk.rows))
    if risk.not_examined:
        name = _("leaves that were not examined because their number of rows is unknown")
        yield count_line("leaves_not_examined", name, len(risk.not_examined))
    yield SheetLine("smallest_leaf", _("{rows} in the smallest leaf", rows=rows), _rows_text(risk, smallest), smallest)
    if risk.empty:
        name = _("leaves that may have no rows") if risk.release else _("leaves without rows")
        yield count_line("empty_leaves", name, len(risk.empty))
    name = _("leaves with fewer than {least}", least=least)
    if is_noisy:
        name = _("leaves with a released count of fewer than {least}", least=least)
    yield count_line("small_leaves", name, len(risk.small))
    name = _("leaves with a released count of {rows}", rows=alone) if is_noisy else _("leaves with {rows}", rows=alone)
    yield count_line("single_leaves", name, _ones(risk))
    name = _("{rows} in leaves below the threshold", rows=rows)
    yield SheetLine("rows_in_small_leaves", name, *_rows_in(risk, risk.small))


def _classes(subject: Subject, risk: LeafRisk) -> Iterator[SheetLine]:
    if risk.counts is None:
        return
    rows, may, has_classes = noun_of(counted_column(risk)), risk.release is not None, subject.number is None
    if has_classes:
        pure = _("leaves that may have rows of only one class (class disclosure)")
        pure = pure if may else _("leaves with rows of only one class (class disclosure)")
        held = _("{rows} in leaves that may have only one class", rows=rows)
        held = held if may else _("{rows} in leaves with only one class", rows=rows)
    else:
        pure = _("leaves that may have rows of only one level") if may else _("leaves with rows of only one level")
        held = _("{rows} in leaves that may have only one level", rows=rows)
        held = held if may else _("{rows} in leaves with only one level", rows=rows)
    yield count_line("pure_leaves", pure, len(risk.pure))
    yield SheetLine("rows_in_pure_leaves", held, *_rows_in(risk, risk.pure))
    if has_classes:
        few = _few(risk)
        name = _("leaves with {few} of a class", few=few)
        if risk.view == "noisy":
            name = _("leaves with a released count of {few} of a class", few=few)
        yield count_line("few_of_class_leaves", name, len(risk.few))


def _few(risk: LeafRisk) -> str:
    return _("1 to {most} {rows}", most=risk.threshold - 1, rows=noun_of(counted_column(risk)))


def _small(risk: LeafRisk) -> str:
    least, values = rows_text(risk.threshold, counted_column(risk)), {"all": len(risk.rows)}
    if risk.view == "noisy":
        return _small_noisy(risk, least)
    if risk.small:
        return ngettext(
            "{count} of {all} leaves has fewer than {least}.",
            "{count} of {all} leaves have fewer than {least}.",
            len(risk.small),
            least=least,
            **values,
        )
    if risk.not_examined:
        return _("Every leaf whose number of rows is known has at least {least}.", least=least)
    return _("Every leaf has at least {least}.", least=least)


def _small_noisy(risk: LeafRisk, least: str) -> str:
    """Return a sentence on released counts only; a true count may lie on the other side of the threshold."""
    if risk.small:
        return ngettext(
            "{count} of {all} leaves has a released count of fewer than {least}.",
            "{count} of {all} leaves have a released count of fewer than {least}.",
            len(risk.small),
            all=len(risk.rows),
            least=least,
        )
    if risk.has_safe_rows or risk.not_examined:
        return _("Every released count of a leaf is at least {least}.", least=least)
    return _(
        "Every released count of a leaf is at least {least}. Given the noise, the true number of rows of a leaf may be "
        "smaller (95 % confidence for all leaves together).",
        least=least,
    )


def _few_of_class(risk: LeafRisk) -> str:
    """Return the number of leaves with few rows of a class, by the exact or the released counts."""
    values = {"all": len(risk.rows), "few": _few(risk)}
    if risk.view == "noisy":
        if not risk.few:
            return _("No leaf has a released count of {few} of a class.", few=values["few"])
        return ngettext(
            "{count} of {all} leaves has a released count of {few} of a class.",
            "{count} of {all} leaves have a released count of {few} of a class.",
            len(risk.few),
            **values,
        )
    if not risk.few:
        return _("No leaf has {few} of a class.", few=values["few"])
    return ngettext(
        "{count} of {all} leaves has {few} of a class.",
        "{count} of {all} leaves have {few} of a class.",
        len(risk.few),
        **values,
    )


def _ones(risk: LeafRisk) -> int:
    return sum(rows == 1 for rows in risk.known_rows.values())


_NO_ROWS = (
    N_("{count} leaf was not examined, because the model does not store its number of rows ({leaves})."),
    N_("{count} leaves were not examined, because the model does not store their numbers of rows ({leaves})."),
)
_NO_CLASSES = (
    N_("{count} leaf was not examined, because the model does not store its rows by class ({leaves})."),
    N_("{count} leaves were not examined, because the model does not store their rows by class ({leaves})."),
)
_NO_LEVELS = (
    N_("{count} leaf was not examined, because the model does not store its rows by level ({leaves})."),
    N_("{count} leaves were not examined, because the model does not store their rows by level ({leaves})."),
)


def _not_examined(risk: LeafRisk, leaves: Sequence[int], messages: tuple[str, str]) -> str:
    """Return a sentence that names the leaves with missing information; empty if there are none."""
    if not leaves:
        return ""
    rest = len(leaves) - _NAMED
    more = [ngettext("{count} more", "{count} more", rest)] if rest > 0 else []
    names = enumerated([*(f'"{risk.leaves[i]}"' for i in leaves[:_NAMED]), *more])
    return _(messages[len(leaves) != 1], count=len(leaves), leaves=names)


def _classes_not_examined(subject: Subject, risk: LeafRisk) -> str:
    return _not_examined(risk, risk.classes_not_examined, _NO_CLASSES if subject.number is None else _NO_LEVELS)


def _predicts_sensitive(subject: Subject) -> bool:
    return subject.predicted is not None and subject.predicted in subject.form.sensitive


def _pure(subject: Subject, risk: LeafRisk) -> str:
    """Return a sentence on leaves with rows of only one class, or level."""
    return _pure_class(risk) if subject.number is None else _pure_level(risk)


def _pure_class(risk: LeafRisk) -> str:
    if risk.counts is None:
        return _("Whether a leaf has rows of only one class is not known.")
    if risk.pure and risk.release:
        return ngettext(
            "Given the noise, {count} of {all} leaves may have rows of only one class.",
            "Given the noise, {count} of {all} leaves may have rows of only one class.",
            len(risk.pure),
            all=len(risk.rows),
        )
    if risk.pure:
        return ngettext(
            "{count} of {all} leaves has rows of only one class.",
            "{count} of {all} leaves have rows of only one class.",
            len(risk.pure),
            all=len(risk.rows),
        )
    if risk.classes_not_examined:
        return _("No leaf whose rows by class are known has rows of only one class.")
    if risk.release:
        return _("By the released noisy counts, no leaf has rows of only one class.")
    return _("No leaf has rows of only one class.")


def _pure_level(risk: LeafRisk) -> str:
    if risk.counts is None:
        return _("Whether a leaf has rows of only one level is not known.")
    if risk.pure and risk.release:
        return ngettext(
            "Given the noise, {count} of {all} leaves may have rows of only one level.",
            "Given the noise, {count} of {all} leaves may have rows of only one level.",
            len(risk.pure),
            all=len(risk.rows),
        )
    if risk.pure:
        return ngettext(
            "{count} of {all} leaves has rows of only one level.",
            "{count} of {all} leaves have rows of only one level.",
            len(risk.pure),
            all=len(risk.rows),
        )
    if risk.classes_not_examined:
        return _("No leaf whose rows by level are known has rows of only one level.")
    if risk.release:
        return _("By the released noisy counts, no leaf has rows of only one level.")
    return _("No leaf has rows of only one level.")


def _known(subject: Subject, risk: LeafRisk) -> str:
    """Return a sentence on the disclosure by such a leaf about anyone known to fall into it."""
    if risk.release is not None and subject.number is None:
        return _("If so, anyone known to fall into such a leaf has their class disclosed.")
    if risk.release is not None:
        return _("If so, anyone known to fall into such a leaf has their number disclosed to within one level.")
    if subject.number is None:
        return _("Anyone known to fall into such a leaf has their class disclosed.")
    return _("Anyone known to fall into such a leaf has their number disclosed to within one level.")


def _rows_in(risk: LeafRisk, chosen: tuple[int, ...]) -> tuple[str, int]:
    rows, known = risk.rows_in(chosen), risk.known_rows
    whole = _rows_text(risk, sum(known.values()), len(known))
    return _("{rows} of {all}", rows=_rows_text(risk, rows, len(chosen)), all=whole), rows


def _sensitive(subject: Subject, risk: LeafRisk | None) -> SheetLine:
    key, name = "sensitive_leaves", _("leaves whose rule uses a sensitive attribute")
    if subject.form.sensitive and not subject.sensitive_attributes:
        return SheetLine(key, name, _("none: the form lists only the predicted column as sensitive"), 0)
    if not subject.sensitive_attributes:
        return SheetLine(key, name, _("not known: the form names no sensitive attribute"))
    if subject.paths is None:
        return SheetLine(key, name, _("not known without decision paths"))
    leaves = subject.sensitive_leaves
    small = [] if risk is None or len(risk.rows) != len(subject.paths) else [i for i in leaves if i in risk.small]
    values = {"all": len(subject.paths), "names": ", ".join(subject.sensitive_attributes)}
    text = _("{leaves} of {all} ({names})", leaves=len(leaves), **values)
    if risk is not None and leaves:
        text = _(
            "{leaves} of {all} ({names}), {small} of them below the threshold",
            leaves=len(leaves),
            small=len(small),
            **values,
        )
    return SheetLine(key, name, text, len(leaves))


def _leaf_rows(subject: Subject, risk: LeafRisk | None) -> tuple[Grid, ...]:
    names = risk.leaves if risk else leaf_names(subject)
    if not names:
        return ()
    predictions = subject.paths.predictions if subject.paths is not None and len(subject.paths) == len(names) else None
    whys = _whys(subject, risk, len(names))
    columns: list[tuple[Column, Sequence[GridValue]]] = [(Column("leaf", _("leaf"), is_text=True), names)]
    if predictions:
        predicted = [value if isinstance(value, float) else shown_text(value) for value in predictions]
        columns.append((Column("predicts", _("prediction"), is_text=subject.number is None), predicted))
    if risk:
        rows = noun_of(counted_column(risk))
        columns.append((Column("rows", rows), risk.rows))
        if risk.counts and subject.number is None:  # there are too many levels to list
            for k, name in enumerate(risk.classes or ()):
                of_class = [None if own is None else own[k] for own in risk.counts]
                title = _("{rows} of class {name}", rows=rows, name=shown_text(name))
                columns.append((Column(f"rows_class_{k + 1}", title), of_class))
        columns.append((Column("why", _("reason")), whys))
    known = dict.fromkeys(range(len(names)), 0) if risk is None else risk.known_rows
    order = sorted(range(len(names)), key=lambda i: (not whys[i].text, i not in known, known.get(i, 0), i))
    flagged, is_noisy = sum(bool(why.text) for why in whys), risk is not None and risk.view == "noisy"
    shown = MOST_SHOWN if subject.released is None else 0 if is_noisy else min(MOST_SHOWN, flagged)
    title = _("Leaves, smallest flagged leaf first") if flagged else _("Leaves")
    return (Grid.of_columns("leaves", title, columns, order, shown),)


def why_cell(whys: dict[str, str]) -> Cell:
    return Cell(", ".join(whys.values()), ",".join(whys) or None)


def _whys(subject: Subject, risk: LeafRisk | None, leaves: int) -> list[Cell]:
    """Return the reasons why each leaf is listed, as codes and in words."""
    if risk is None:
        return [why_cell({})] * leaves
    empty, small, has_classes = set(risk.empty), set(risk.small), subject.number is None
    unclear = set(risk.classes_not_examined) - set(risk.not_examined) if risk.counts else set[int]()
    few = _("few {rows}", rows=noun_of(counted_column(risk)))
    reasons = {
        ("not_examined", _("not examined")): set(risk.not_examined),
        ("empty", _("may have no rows") if risk.release else _("no rows")): empty,
        ("few_rows", few): small - empty,
        ("pure", _("only one class") if has_classes else _("only one level")): set(risk.pure),
        ("few_of_class", _("few rows of a class")): set(risk.few) - small if has_classes else set[int](),
        ("classes_not_examined", _("classes not examined") if has_classes else _("levels not examined")): unclear,
    }
    sensitive = set(subject.sensitive_leaves) if len(risk.rows) == len(subject.conditions) else set[int]()
    listed = set[int]().union(*reasons.values())
    reasons["sensitive", _("sensitive attribute")] = sensitive & listed
    return [why_cell({code: word for (code, word), own in reasons.items() if i in own}) for i in range(leaves)]


def leaf_checks(subject: Subject, risk: LeafRisk | None) -> Iterator[Check]:
    """Yield the checks of leaves; leaves with known counts are judged, and the other leaves are named."""
    if risk is None:
        return
    is_bounded = risk.view == "noisy" and subject.is_private
    is_strong = is_bounded and subject.appetite.is_strong(judged_epsilon(subject))
    if not is_strong:
        yield from _several(subject, risk)
    if is_bounded:
        yield from _noisy_leaves(subject, risk, is_strong=is_strong)
    else:
        yield from _exact_leaves(subject, risk)


def _several(subject: Subject, risk: LeafRisk) -> Iterator[Check]:
    """Yield a finding that rows are counted, if leaves may have fewer units than the threshold."""
    fewest, most = min(risk.known_rows.values()), _most_rows(subject, risk)
    several = risk.several or rows_of_persons(subject)
    if several and (most is None or fewest < risk.threshold * most):
        sentence = f"{several} {fewer_units(rows_text(risk.threshold))}"
        yield check("units", "review", sentence, fewest, limit=None if most is None else risk.threshold * most)


def fewer_units(rows: str) -> str:
    return _("A leaf of {rows} may have fewer units.", rows=rows)


def rows_of_persons(subject: Subject) -> str:
    """Return a sentence on the rows per person that the form states, if no column identifies persons."""
    most = subject.form.rows_per_unit or 1
    if subject.person_unit is not None or most == 1:
        return ""
    return _("Rows are counted, and one person may have up to {most} of them.", most=most)


def _most_rows(subject: Subject, risk: LeafRisk) -> int | None:
    """Return the limit of the schema or the form on the counted rows of a unit."""
    unit = None if subject.schema is None else subject.schema.unit
    if unit is not None and unit.column == risk.unit_column and risk.view == "noisy":
        return unit.max_rows
    return subject.form.rows_per_unit if risk.unit_column == subject.person_unit else None


def _exact_leaves(subject: Subject, risk: LeafRisk) -> Iterator[Check]:
    grave: Status = "review" if subject.is_private else "fail"
    small, items, least = len(risk.small), _ones(risk), rows_text(risk.threshold, counted_column(risk))
    rule = "small-leaves" if risk.threshold == FEWEST_SAFE_ROWS else "small-leaves/own"
    alone = ngettext(
        "{count} leaf has only {rows}.",
        "{count} leaves have only {rows}.",
        items,
        rows=rows_text(1, counted_column(risk)),
    )
    open_ = _not_examined(risk, risk.not_examined, _NO_ROWS)
    safe: Status = "not_run" if risk.not_examined else "pass" if risk.has_safe_rows else "review"
    sentence = _sentences(_small(risk), alone if items else "", open_)
    yield check(rule, grave if small or items else safe, sentence, small, limit=0, least=least)
    if risk.counts is None:
        return
    open_, pure = _classes_not_examined(subject, risk), len(risk.pure)
    safe = "not_run" if risk.classes_not_examined else "pass"
    rule = "pure-leaves" if subject.number is None else "pure-leaves/number"
    sentence = _sentences(_pure(subject, risk), disclosed(subject) if pure else "", open_)
    yield check(rule, grave if pure else safe, sentence, pure, limit=0)
    if subject.number is None:
        sentence = _sentences(_few_of_class(risk), open_)
        yield check("few-of-class", "review" if risk.few else safe, sentence, len(risk.few), limit=0, least=least)


def disclosed(subject: Subject) -> str:
    """Return a sentence on the disclosure by leaves with rows of only one class, or level."""
    if _predicts_sensitive(subject):
        column = quoted_text(subject.predicted or "")
        if subject.number is None:
            return _("This discloses the class of {column}, which the form lists as sensitive.", column=column)
        return _("This discloses {column}, which the form lists as sensitive, to within one level.", column=column)
    if subject.number is None:
        return _("This is class disclosure.")
    return _("This discloses the number to within one level.")


def _sentences(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _noisy_leaves(subject: Subject, risk: LeafRisk, *, is_strong: bool) -> Iterator[Check]:
    """Yield the checks of leaves by noisy counts; a strong guarantee covers the leaves for all counts."""
    rule = "small-leaves/noisy" if risk.threshold == FEWEST_SAFE_ROWS else "small-leaves/own-noisy"
    least, strong = rows_text(risk.threshold, counted_column(risk)), short(subject.appetite.strong_epsilon)
    open_ = _not_examined(risk, risk.not_examined, _NO_ROWS)
    sentence = _sentences(_small(risk), _("Small leaves disclose no more than the guarantee allows."), open_)
    unsafe: Status = "not_run" if risk.not_examined and not risk.small else "review"
    status: Status = "pass" if risk.has_safe_rows or is_strong else unsafe
    yield check(rule, status, sentence, len(risk.small), limit=0, least=least, strong=strong)
    if risk.counts is None:
        return
    open_, bounded = _classes_not_examined(subject, risk), _("The guarantee limits what this discloses.")
    safe: Status = "not_run" if risk.classes_not_examined and not is_strong else "pass"
    sentence = _sentences(_pure(subject, risk), bounded if risk.pure else "", open_)
    status = "review" if risk.pure and not is_strong else safe
    yield check("pure-leaves/noisy", status, sentence, len(risk.pure), limit=0, strong=strong)
    if subject.number is None:
        sentence = _sentences(_few_of_class(risk), bounded if risk.few else "", open_)
        status = "review" if risk.few and not is_strong else safe
        yield check("few-of-class/noisy", status, sentence, len(risk.few), limit=0, least=least, strong=strong)
