"""Leaves in a report: how many rows or persons each has, and of which classes. **Private** where exact."""

from collections.abc import Iterator, Sequence
from typing import Any

from hedgerow.audit import LeafRisk
from hedgerow.audit.inference.leaf_risk import FEWEST_SAFE_ROWS
from hedgerow.report.checks import Check, Status, check
from hedgerow.report.contents import MOST_SHOWN, Cell, Column, Grid, GridValue, Section, SheetLine, section
from hedgerow.report.subject import Subject
from hedgerow.report.units import judged_epsilon
from hedgerow.text.messages import number_of
from hedgerow.text.values import quoted_text, shown_text

_NAMED = 3  # leaves that a sentence names


def leaf_names(subject: Subject) -> tuple[str, ...]:
    """Return the decision path to each leaf with its number."""
    return tuple(f"{i}. {text}" for i, text in enumerate(subject.conditions, 1))


def leaves(subject: Subject, risk: LeafRisk | None) -> Section:
    without = None if subject.has_leaves else subject.released
    grids = _leaf_rows(subject, risk)
    if risk is None:
        facts = (_sensitive(subject, None),) if without is None else _bin_facts(subject)
        has_bins = without is not None and bool(facts)
        return section("leaves", facts, grids, risk=None, without=without, has_bins=has_bins, part=subject.part)
    facts = (*_sizes(risk), *_classes(subject, risk), _sensitive(subject, risk))
    values: dict[str, Any] = {"risk": risk, "without": None, "small": _small(risk), "pure": _pure(subject, risk)}
    values["is_stored"] = risk.view == "exact" and risk is subject.stored_leaves and _states_no_noise(subject)
    values |= {"known": "the class" if subject.number is None else "the number, to within a level"}
    values |= {
        "smallest": _rows_text(risk, min(risk.known_rows.values())),
        "is_sensitive": _predicts_sensitive(subject),
    }
    values |= {"not_examined": _not_examined(risk, risk.not_examined, "its rows", "their rows")}
    return section("leaves", facts, grids, part=subject.part, **values)


def _states_no_noise(subject: Subject) -> bool:
    """Return whether a file has counts, and does not state what noise they have."""
    return subject.released is not None and subject.released.leaf_release.noise is None


def _small_bins(subject: Subject) -> int:
    """Return how many bins have exact rows of a few people."""
    supports = () if subject.released is None else subject.released.bin_supports
    return sum(one.is_exact and 0 < (one.rows or 0) < subject.appetite.fewest_rows for one in supports)


def _bin_facts(subject: Subject) -> tuple[SheetLine, ...]:
    supports = () if subject.released is None else subject.released.bin_supports
    if not supports:
        return ()
    few, small = sum(one.is_too_few for one in supports), _small_bins(subject)
    most = subject.appetite.fewest_rows - 1
    return (
        SheetLine("bins", "bins with released rows", f"{len(supports):,}", len(supports)),
        SheetLine("empty_bins", "bins without rows, or within noise of none", f"{few:,}", few),
        *([SheetLine("small_bins", f"bins with exactly 1 to {most} rows", f"{small:,}", small)] if small else []),
    )


def _rows_text(risk: LeafRisk, rows: int, leaves: int = 1) -> str:
    """Return the rows of leaves as models show them: exact, or as far as the noise on the released counts allows."""
    return f"{rows:,}" if risk.release is None else risk.release.rows_text(rows, leaves)


def _released(risk: LeafRisk) -> str:
    """Return what comes before a number of rows that is released with noise."""
    return "a released count of " if risk.view == "noisy" else ""


def _sizes(risk: LeafRisk) -> tuple[SheetLine, ...]:
    (one, rows), smallest, ones = risk.counted, min(risk.known_rows.values()), _ones(risk)
    unknown, empty = len(risk.not_examined), len(risk.empty)
    name = "leaves not examined: their rows are unknown"
    without = "leaves that may have no rows" if risk.release else "leaves without rows"
    single = f"leaves with {_released(risk)}1 {one}" if risk.view == "noisy" else f"leaves of one {one}"
    return (
        SheetLine("leaves", "leaves", f"{len(risk.rows):,}", len(risk.rows)),
        *([SheetLine("leaves_not_examined", name, f"{unknown:,}", unknown)] if unknown else []),
        SheetLine("smallest_leaf", f"{rows} in the smallest leaf", _rows_text(risk, smallest), smallest),
        *([SheetLine("empty_leaves", without, f"{empty:,}", empty)] if empty else []),
        SheetLine(
            "small_leaves",
            f"leaves with {_released(risk)}fewer than {number_of(risk.threshold, one, rows)}",
            f"{len(risk.small):,}",
            len(risk.small),
        ),
        SheetLine("single_leaves", single, f"{ones:,}", ones),
        SheetLine("rows_in_small_leaves", f"{rows} in leaves below the threshold", *_rows_in(risk, risk.small)),
    )


def _classes(subject: Subject, risk: LeafRisk) -> tuple[SheetLine, ...]:
    if risk.counts is None:
        return ()
    of = "that may be of one" if risk.release else "of one"
    what = f"leaves {of} class (class disclosure)" if subject.number is None else f"leaves {of} level"
    rows = risk.counted[1]
    name = f"leaves in which a class has {_released(risk)}1 to {risk.threshold - 1} {rows}"
    few = SheetLine("few_of_class_leaves", name, f"{len(risk.few):,}", len(risk.few))
    pure = SheetLine("pure_leaves", what, f"{len(risk.pure):,}", len(risk.pure))
    held = SheetLine("rows_in_pure_leaves", f"{rows} in leaves {of} {subject.part}", *_rows_in(risk, risk.pure))
    return (pure, held, few) if subject.number is None else (pure, held)


def _small(risk: LeafRisk) -> str:
    few = number_of(risk.threshold, *risk.counted)
    if risk.view == "noisy":
        return _small_noisy(risk, few)
    if risk.small:
        return f"{_how_many(risk.small, risk)} fewer than {few}"
    if risk.not_examined:
        return f"Every leaf whose rows are known has at least {few}"
    return f"{'Every leaf has' if len(risk.rows) > 1 else 'The one leaf has'} at least {few}"


def _small_noisy(risk: LeafRisk, few: str) -> str:
    """Return what the released counts say, and no more: a true count may lie on the other side of the threshold."""
    if risk.small:
        return f"{_how_many(risk.small, risk)} a released count of fewer than {few}"
    counts = "Every released count of a leaf" if len(risk.rows) > 1 else "The released count of the leaf"
    is_open = not (risk.has_safe_rows or risk.not_examined)
    doubt = "; within the noise, the true number may be smaller (95 % for all leaves together)" if is_open else ""
    return f"{counts} is at least {few}{doubt}"


def _few_of_class(risk: LeafRisk) -> str:
    """Return how many leaves have few rows of a class, as the exact or the released counts say."""
    few = f"{_released(risk)}1 to {risk.threshold - 1} {risk.counted[1]}"
    return f"{_how_many(risk.few, risk) if risk.few else 'No leaf has'} a class with {few}"


def _ones(risk: LeafRisk) -> int:
    return sum(rows == 1 for rows in risk.known_rows.values())


def _not_examined(risk: LeafRisk, leaves: Sequence[int], its: str, their: str) -> str:
    """Return a sentence that names the leaves of which something is not known; empty if there are none."""
    if not leaves:
        return ""
    names = "; ".join(f'"{risk.leaves[i]}"' for i in leaves[:_NAMED])
    more = f"; and {len(leaves) - _NAMED} more" if len(leaves) > _NAMED else ""
    what, unknown = ("leaf", its) if len(leaves) == 1 else ("leaves", their)
    return f" Not examined: {len(leaves):,} {what}, since the model does not store {unknown} ({names}{more})."


def _classes_not_examined(subject: Subject, risk: LeafRisk) -> str:
    part = subject.part
    return _not_examined(risk, risk.classes_not_examined, f"its rows by {part}", f"their rows by {part}")


def _predicts_sensitive(subject: Subject) -> bool:
    return subject.predicted is not None and subject.predicted in subject.form.sensitive


def _pure(subject: Subject, risk: LeafRisk) -> str:
    if risk.pure and risk.release:
        return f"{_which(risk.pure, risk)} may have rows of one {subject.part} alone, given the noise"
    if risk.pure:
        return f"{_how_many(risk.pure, risk)} rows of one {subject.part} alone"
    if risk.classes_not_examined:
        return f"No leaf whose rows by {subject.part} are known is of one {subject.part} alone"
    return f"{'No leaf has rows' if len(risk.rows) > 1 else 'The one leaf is not'} of one {subject.part} alone"


def _how_many(leaves: tuple[int, ...], risk: LeafRisk) -> str:
    """Return the subject of a sentence about these leaves, with its verb."""
    return f"{_which(leaves, risk)} {'have' if len(leaves) > 1 else 'has'}"


def _which(leaves: tuple[int, ...], risk: LeafRisk) -> str:
    whole = len(risk.rows)
    if whole == 1:
        return "The one leaf"
    return f"All {whole:,} leaves" if len(leaves) == whole else f"{len(leaves):,} of {whole:,} leaves"


def _rows_in(risk: LeafRisk, chosen: tuple[int, ...]) -> tuple[str, int]:
    rows, known = risk.rows_in(chosen), risk.known_rows
    whole = _rows_text(risk, sum(known.values()), len(known))
    return f"{_rows_text(risk, rows, len(chosen))} of {whole}", rows


def _sensitive(subject: Subject, risk: LeafRisk | None) -> SheetLine:
    key, name = "sensitive_leaves", "leaves whose rule asks for a sensitive attribute"
    if not subject.sensitive_attributes:
        return SheetLine(key, name, "not known: the form names no sensitive attribute")
    if subject.paths is None:
        return SheetLine(key, name, "not known without decision paths")
    found = subject.sensitive_leaves
    small = [] if risk is None or len(risk.rows) != len(subject.paths) else [i for i in found if i in risk.small]
    more = f", {len(small)} of them below the threshold" if risk is not None and found else ""
    text = f"{len(found)} of {len(subject.paths)} ({', '.join(subject.sensitive_attributes)}){more}"
    return SheetLine(key, name, text, len(found))


def _leaf_rows(subject: Subject, risk: LeafRisk | None) -> tuple[Grid, ...]:
    names = risk.leaves if risk else leaf_names(subject)
    if not names:
        return ()
    predictions = subject.paths.predictions if subject.paths is not None and len(subject.paths) == len(names) else None
    whys = _whys(subject, risk, len(names))
    columns: list[tuple[Column, Sequence[GridValue]]] = [(Column("leaf", "leaf", is_text=True), names)]
    if predictions:
        predicted = [value if isinstance(value, float) else shown_text(value) for value in predictions]
        columns.append((Column("predicts", "predicts", is_text=subject.number is None), predicted))
    if risk:
        counted = risk.counted[1]
        columns.append((Column("rows", counted), risk.rows))
        if risk.counts and subject.number is None:  # levels are too many
            for k, name in enumerate(risk.classes or ()):
                of_class = [None if own is None else own[k] for own in risk.counts]
                columns.append((Column(f"rows_class_{k + 1}", f"{counted} of {shown_text(name)}"), of_class))
        columns.append((Column("why", "why"), whys))
    known = dict.fromkeys(range(len(names)), 0) if risk is None else risk.known_rows
    order = sorted(range(len(names)), key=lambda i: (not whys[i].text, i not in known, known.get(i, 0), i))
    flagged, is_noisy = sum(bool(why.text) for why in whys), risk is not None and risk.view == "noisy"
    shown = MOST_SHOWN if subject.released is None else 0 if is_noisy else min(MOST_SHOWN, flagged)
    title = "Leaves, the worst first" if flagged else "Leaves"
    return (Grid.of_columns("leaves", title, columns, order, shown),)


def why_cell(whys: dict[str, str]) -> Cell:
    return Cell(", ".join(whys.values()), ",".join(whys) or None)


def _whys(subject: Subject, risk: LeafRisk | None, leaves: int) -> list[Cell]:
    """Return why each leaf is listed, as codes and in words."""
    if risk is None:
        return [why_cell({})] * leaves
    part, empty, small = subject.part, set(risk.empty), set(risk.small)
    reasons = {
        ("not_examined", "not examined"): set(risk.not_examined),
        ("empty", "may have no rows" if risk.release else "no rows"): empty,
        ("few_rows", f"few {risk.counted[1]}"): small - empty,
        ("pure", f"one {part}"): set(risk.pure),
        ("few_of_class", "few of a class"): set(risk.few) - small if subject.number is None else set(),
        ("classes_not_examined", f"{part} not examined"): (
            set(risk.classes_not_examined) - set(risk.not_examined) if risk.counts else set()
        ),
    }
    sensitive = set(subject.sensitive_leaves) if len(risk.rows) == len(subject.conditions) else set()
    listed = set[int]().union(*reasons.values())
    reasons["sensitive", "sensitive"] = sensitive & listed
    return [why_cell({code: word for (code, word), own in reasons.items() if i in own}) for i in range(leaves)]


def leaf_checks(subject: Subject, risk: LeafRisk | None) -> Iterator[Check]:
    """Yield the checks of leaves: every leaf whose counts are known is judged, and the others are named."""
    if small := _small_bins(subject):
        least = number_of(subject.appetite.fewest_rows, "row")
        sentence = f"The file has the exact rows of {number_of(small, 'bin')} with fewer than {least}."
        yield check("small-bins", "review" if subject.is_private else "fail", sentence, small, least=least)
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
    """Yield that rows are counted, if leaves may have fewer units than the threshold."""
    fewest, most = min(risk.known_rows.values()), _most_rows(subject, risk)
    several = risk.several or rows_of_persons(subject)
    if several and (most is None or fewest < risk.threshold * most):
        sentence = f"{several} A leaf of {risk.threshold} rows may have fewer units."
        yield check("units", "review", sentence, fewest, limit=None if most is None else risk.threshold * most)


def rows_of_persons(subject: Subject) -> str:
    """Return how many of the counted rows one person may have by the form, if no column identifies persons."""
    most = subject.form.rows_per_unit or 1
    if subject.person_unit is not None or most == 1:
        return ""
    return f"Rows are counted, of which one person may have up to {most}."


def _most_rows(subject: Subject, risk: LeafRisk) -> int | None:
    """Return the most rows that a unit has in the counts, as far as the schema or the form limits them."""
    unit = None if subject.schema is None else subject.schema.unit
    if unit is not None and unit.column == risk.unit_column and risk.view == "noisy":
        return unit.max_rows
    return subject.form.rows_per_unit if risk.unit_column == subject.person_unit else None


def _exact_leaves(subject: Subject, risk: LeafRisk) -> Iterator[Check]:
    grave: Status = "review" if subject.is_private else "fail"
    small, ones, least = len(risk.small), _ones(risk), number_of(risk.threshold, *risk.counted)
    rule = "small-leaves" if risk.threshold == FEWEST_SAFE_ROWS else "small-leaves/own"
    alone = f", and {ones:,} of them {'has' if ones == 1 else 'have'} one {risk.counted[0]} alone." if ones else "."
    sentence = f"{_small(risk)}{alone}{_not_examined(risk, risk.not_examined, 'its rows', 'their rows')}"
    safe: Status = "not_run" if risk.not_examined else "pass" if risk.has_safe_rows else "review"
    yield check(rule, grave if small or ones else safe, sentence, small, limit=0, least=least)
    if risk.counts is None:
        return
    open_, pure = _classes_not_examined(subject, risk), len(risk.pure)
    safe = "not_run" if risk.classes_not_examined else "pass"
    what = "class disclosure" if subject.number is None else "that discloses the number to within a level"
    disclosed = what if pure else f"that would disclose the {subject.part}"
    if _predicts_sensitive(subject):
        disclosed += f" of {quoted_text(subject.predicted or '')}, which the form calls sensitive"
    rule = "pure-leaves" if subject.number is None else "pure-leaves/number"
    yield check(rule, grave if pure else safe, f"{_pure(subject, risk)}: {disclosed}.{open_}", pure, limit=0)
    if subject.number is None:
        sentence = f"{_few_of_class(risk)}.{open_}"
        yield check("few-of-class", "review" if risk.few else safe, sentence, len(risk.few), limit=0, least=least)


def _noisy_leaves(subject: Subject, risk: LeafRisk, *, is_strong: bool) -> Iterator[Check]:
    """Yield the checks of leaves by noisy counts: a strong guarantee covers them, whatever the counts are."""
    rule = "small-leaves/noisy" if risk.threshold == FEWEST_SAFE_ROWS else "small-leaves/own-noisy"
    least, strong = number_of(risk.threshold, *risk.counted), subject.appetite.strong_epsilon
    open_ = _not_examined(risk, risk.not_examined, "its rows", "their rows")
    sentence = f"{_small(risk)}. Small leaves disclose no more than the guarantee allows.{open_}"
    unsafe: Status = "not_run" if risk.not_examined and not risk.small else "review"
    status: Status = "pass" if risk.has_safe_rows or is_strong else unsafe
    yield check(rule, status, sentence, len(risk.small), limit=0, least=least, strong=strong)
    if risk.counts is None:
        return
    open_ = _classes_not_examined(subject, risk)
    safe: Status = "not_run" if risk.classes_not_examined and not is_strong else "pass"
    bound = "; the guarantee bounds what that discloses" if risk.pure else ", by the released counts"
    sentence = f"{_pure(subject, risk)}{bound}.{open_}"
    status = "review" if risk.pure and not is_strong else safe
    yield check("pure-leaves/noisy", status, sentence, len(risk.pure), limit=0, strong=strong)
    if subject.number is None:
        bound = "; the guarantee bounds what that discloses" if risk.few else ""
        sentence = f"{_few_of_class(risk)}{bound}.{open_}"
        status = "review" if risk.few and not is_strong else safe
        yield check("few-of-class/noisy", status, sentence, len(risk.few), limit=0, least=least, strong=strong)
