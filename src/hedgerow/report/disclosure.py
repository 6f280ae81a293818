"""Sections on disclosure: the model itself, its leaves, reconstruction and membership. **Private** where exact.

Without a guarantee, what a model says and stores is for the board; with one, it is public.
"""

from collections.abc import Iterator, Sequence
from math import inf, sqrt
from typing import Any

import numpy as np

from hedgerow.audit import ExactMembership, LeafRisk, Membership, ShadowMembership
from hedgerow.audit.entropy.measure import are_steps_read, other_rows, reconstruction_of, totals
from hedgerow.audit.entropy.result import VIEWS, Reconstruction, count_text
from hedgerow.audit.inference.leaf_risk import FEWEST_SAFE_ROWS
from hedgerow.audit.inference.overfitting import CONFIDENCE, Overfit, apply_of, overfit
from hedgerow.boundary.arrays import Index
from hedgerow.errors import HedgerowError
from hedgerow.models.model import Listing
from hedgerow.report.checks import Check, Status, check
from hedgerow.report.contents import (
    MOST_SHOWN,
    Cell,
    Column,
    Grid,
    GridValue,
    Section,
    SheetLine,
    section,
    shortened,
)
from hedgerow.report.promises import largest_rate, percent_up
from hedgerow.report.subject import Subject
from hedgerow.text.messages import number_of
from hedgerow.text.values import shown_text

_MOST_POINTS = 20  # rows of a scorecard on a page


def model(subject: Subject) -> Section:
    released = subject.released
    grids = [] if released is None else [_listing(subject, i, one) for i, one in enumerate(released.listings(), 1)]
    facts = [SheetLine("loss", "drawn by", subject.loss, subject.loss)] if subject.loss else []
    is_shown = bool(grids or subject.conditions)
    return section("model", facts, grids, is_shown=is_shown, is_own=released is not None)


def _listing(subject: Subject, place: int, one: Listing) -> Grid:
    """Return a listing of the model as people read it; the model's file has its numbers."""
    columns = tuple(Column(f"column_{i}", name, is_text=True) for i, name in enumerate(one.columns, 1))
    if not subject.conditions:
        return Grid(f"model_{place}", one.title, columns, one.rows, _MOST_POINTS)
    rows = zip(_named(subject), one.rows, strict=True)
    return Grid(f"model_{place}", one.title, columns, tuple((name, *row[1:]) for name, row in rows))


def _named(subject: Subject) -> tuple[str, ...]:
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
    values |= {"known": "the class" if subject.number is None else "the number, to within a level"}
    values |= {"smallest": _rows_text(risk, min(risk.rows))}
    return section("leaves", facts, grids, part=subject.part, **values)


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


def _sizes(risk: LeafRisk) -> tuple[SheetLine, ...]:
    (one, rows), smallest, ones = risk.counted, min(risk.rows), sum(rows == 1 for rows in risk.rows)
    empty, without = len(risk.empty), "leaves that may have no rows" if risk.release else "leaves without rows"
    return (
        SheetLine("leaves", "leaves", f"{len(risk.rows):,}", len(risk.rows)),
        SheetLine("smallest_leaf", f"{rows} in the smallest leaf", _rows_text(risk, smallest), smallest),
        *([SheetLine("empty_leaves", without, f"{empty:,}", empty)] if empty else []),
        SheetLine(
            "small_leaves",
            f"leaves with fewer than {number_of(risk.threshold, one, rows)}",
            f"{len(risk.small):,}",
            len(risk.small),
        ),
        SheetLine("single_leaves", f"leaves of one {one}", f"{ones:,}", ones),
        SheetLine("rows_in_small_leaves", f"{rows} in leaves below the threshold", *_rows_in(risk, risk.small)),
    )


def _classes(subject: Subject, risk: LeafRisk) -> tuple[SheetLine, ...]:
    if risk.counts is None:
        return ()
    of = "that may be of one" if risk.release else "of one"
    what = f"leaves {of} class (class disclosure)" if subject.number is None else f"leaves {of} level"
    rows = risk.counted[1]
    name = f"leaves in which a class has 1 to {risk.threshold - 1} {rows}"
    few = SheetLine("few_of_class_leaves", name, f"{len(risk.few):,}", len(risk.few))
    pure = SheetLine("pure_leaves", what, f"{len(risk.pure):,}", len(risk.pure))
    held = SheetLine("rows_in_pure_leaves", f"{rows} in leaves {of} {subject.part}", *_rows_in(risk, risk.pure))
    return (pure, held, few) if subject.number is None else (pure, held)


def _small(risk: LeafRisk) -> str:
    few = number_of(risk.threshold, *risk.counted)
    if risk.small:
        return f"{_how_many(risk.small, risk)} fewer than {few}"
    return f"{'Every leaf has' if len(risk.rows) > 1 else 'The one leaf has'} at least {few}"


def _pure(subject: Subject, risk: LeafRisk) -> str:
    if risk.pure and risk.release:
        return f"{_which(risk.pure, risk)} may have rows of one {subject.part} alone, given the noise"
    if risk.pure:
        return f"{_how_many(risk.pure, risk)} rows of one {subject.part} alone"
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
    rows = sum(risk.rows[i] for i in chosen)
    whole = _rows_text(risk, sum(risk.rows), len(risk.rows))
    return f"{_rows_text(risk, rows, len(chosen))} of {whole}", rows


def _sensitive(subject: Subject, risk: LeafRisk | None) -> SheetLine:
    key, name = "sensitive_leaves", "leaves whose rule asks for a sensitive attribute"
    if not subject.form.sensitive:
        return SheetLine(key, name, "not known: the form names no sensitive attribute")
    if subject.paths is None:
        return SheetLine(key, name, "not known without decision paths")
    found = subject.sensitive_leaves
    small = [] if risk is None or len(risk.rows) != len(subject.paths) else [i for i in found if i in risk.small]
    more = f", {len(small)} of them below the threshold" if risk is not None and found else ""
    text = f"{len(found)} of {len(subject.paths)} ({', '.join(subject.form.sensitive)}){more}"
    return SheetLine(key, name, text, len(found))


def _leaf_rows(subject: Subject, risk: LeafRisk | None) -> tuple[Grid, ...]:
    names = risk.leaves if risk else _named(subject)
    if not names:
        return ()
    said = subject.paths.predictions if subject.paths is not None and len(subject.paths) == len(names) else None
    whys = [_why_cell(dict(_why(subject, risk, i))) for i in range(len(names))]
    columns: list[tuple[Column, Sequence[GridValue]]] = [(Column("leaf", "leaf", is_text=True), names)]
    if said:
        predicted = [value if isinstance(value, float) else shown_text(value) for value in said]
        columns.append((Column("predicts", "predicts", is_text=subject.number is None), predicted))
    if risk:
        counted = risk.counted[1]
        columns.append((Column("rows", counted), risk.rows))
        if risk.counts and subject.number is None:  # levels are too many
            for place, (name, counts) in enumerate(
                zip(risk.classes or (), zip(*risk.counts, strict=True), strict=True), 1
            ):
                columns.append((Column(f"rows_class_{place}", f"{counted} of {shown_text(name)}"), counts))
        columns.append((Column("why", "why"), whys))
    rows = [*zip(*(cells for _, cells in columns), strict=True)]
    order = sorted(range(len(rows)), key=lambda i: (not whys[i].text, risk.rows[i] if risk else 0, i))
    flagged, is_noisy = (
        sum(bool(why.text) for why in whys),
        risk is not None and risk.view == "noisy",
    )  # which discloses no more
    shown = MOST_SHOWN if subject.released is None else 0 if is_noisy else min(MOST_SHOWN, flagged)
    title = "Leaves, the worst first" if flagged else "Leaves"
    return (Grid("leaves", title, tuple(column for column, _ in columns), tuple(rows[i] for i in order), shown),)


def _why_cell(whys: dict[str, str]) -> Cell:
    return Cell(", ".join(whys.values()), ",".join(whys) or None)


def _why(subject: Subject, risk: LeafRisk | None, leaf: int) -> Iterator[tuple[str, str]]:
    """Yield why a leaf is listed, as a code and in words."""
    if risk is None:
        return
    rows, counts = risk.rows[leaf], risk.counts[leaf] if risk.counts else ()
    held = [count for count in counts if count > 0]
    is_empty = leaf in risk.empty
    is_few_of_class = subject.number is None and rows >= risk.threshold and any(n < risk.threshold for n in held)
    found = {
        ("empty", "may have no rows" if risk.release else "no rows"): is_empty,
        ("few_rows", f"few {risk.counted[1]}"): not is_empty and rows < risk.threshold,
        ("pure", f"one {subject.part}"): leaf in risk.pure,
        ("few_of_class", "few of a class"): is_few_of_class,
    }
    yield from (why for why, holds in found.items() if holds)
    if any(found.values()) and len(risk.rows) == len(subject.conditions) and leaf in subject.sensitive_leaves:
        yield "sensitive", "sensitive"


def leaf_checks(subject: Subject, risk: LeafRisk | None) -> Iterator[Check]:
    if small := _small_bins(subject):
        least = number_of(subject.appetite.fewest_rows, "row")
        sentence = f"The file has the exact rows of {number_of(small, 'bin')} with fewer than {least}."
        yield check("small-bins", "review" if subject.is_private else "fail", sentence, small, least=least)
    if risk is None:
        return
    small, pure, least = len(risk.small), len(risk.pure), number_of(risk.threshold, *risk.counted)
    few = "small-leaves" if risk.threshold == FEWEST_SAFE_ROWS else "small-leaves/own"
    is_bounded = risk.view == "noisy" and subject.is_private
    is_strong = (subject.card.epsilon or 0) <= subject.appetite.strong_epsilon
    unit = None if subject.schema is None or risk.view != "noisy" else subject.schema.unit
    fewest = risk.threshold * unit.max_rows if unit else inf
    if risk.several and min(risk.rows) < fewest and not (is_bounded and is_strong):
        sentence = f"{risk.several} A leaf of {risk.threshold} rows may have fewer units."
        yield check("units", "review", sentence, min(risk.rows))
    if is_bounded:
        yield from _noisy_leaves(subject, risk, least, is_strong=is_strong)
        return
    grave: Status = "review" if subject.is_private else "fail"
    ones = sum(rows == 1 for rows in risk.rows)
    alone = f", and {ones:,} of them {'has' if ones == 1 else 'have'} one {risk.counted[0]} alone." if ones else "."
    sentence = _small(risk) + alone
    safe: Status = "pass" if risk.has_safe_rows else "review"
    yield check(few, grave if small or ones else safe, sentence, small, least=least)
    if risk.counts is not None:
        what = "class disclosure" if subject.number is None else "that discloses the number to within a level"
        sentence = f"{_pure(subject, risk)}: {what if pure else f'that would disclose the {subject.part}'}."
        rule = "pure-leaves" if subject.number is None else "pure-leaves/number"
        yield check(rule, grave if pure else "pass", sentence, pure)
    if risk.counts is not None and subject.number is None:
        sentence = (
            f"{_how_many(risk.few, risk) if risk.few else 'No leaf has'} fewer than {least} of a class found there."
        )
        yield check("few-of-class", "review" if risk.few else "pass", sentence, len(risk.few), least=least)


def _noisy_leaves(subject: Subject, risk: LeafRisk, least: str, *, is_strong: bool) -> Iterator[Check]:
    """Yield the checks of leaves by noisy counts: a strong guarantee covers them, whatever the counts are."""
    rule = "small-leaves/noisy" if risk.threshold == FEWEST_SAFE_ROWS else "small-leaves/own-noisy"
    has_doubt = not (risk.small or risk.has_safe_rows)
    doubt = ", but not beyond their noise (95 % for all leaves together)" if has_doubt else ""
    bound = "small leaves disclose no more than the guarantee allows"
    sentence = f"{_small(risk)} by the released noisy counts{doubt}; {bound}."
    status: Status = "pass" if risk.has_safe_rows or is_strong else "review"
    strong = subject.appetite.strong_epsilon
    yield check(rule, status, sentence, len(risk.small), least=least, strong=strong)
    if risk.counts is not None:
        sentence = f"{_pure(subject, risk)} by the released noisy counts; the guarantee bounds what that discloses."
        status = "review" if risk.pure and not is_strong else "pass"
        yield check("pure-leaves/noisy", status, sentence, len(risk.pure), strong=strong)
    if risk.counts is not None and subject.number is None:
        few = f"{_how_many(risk.few, risk)} fewer" if risk.few else "No leaf has fewer"
        sentence = f"{few} than {least} of a class by the released noisy counts; the guarantee bounds that, too."
        status = "review" if risk.few and not is_strong else "pass"
        yield check("few-of-class/noisy", status, sentence, len(risk.few), least=least, strong=strong)


def row_checks(subject: Subject, train: tuple[Any, Any] | None) -> Iterator[Check]:
    """Yield what the training rows say of the counts and the numbers of the leaves. **Private**."""
    if train is not None and subject.paths is not None:
        refined, _, domain = subject.refined
        places = refined.apply(train[0], domain.schema)
        if said := other_rows(subject.own, refined, np.bincount(places, minlength=len(refined)).tolist()):
            yield check("counts", "fail", said)
        yield from _dominated(subject, places, train[1])


def _dominated(subject: Subject, places: Index, values: Any) -> Iterator[Check]:
    """Yield the leaves whose largest number who has the second largest can tell to within 10 % by the sum or mean."""
    if subject.number is None or subject.is_private:
        return
    found, numbers = 0, np.abs(subject.numbers(values))
    for leaf in np.unique(places):
        largest, *others = sorted(numbers[places == leaf].tolist(), reverse=True)
        found += sum(others[1:]) < 0.1 * largest
    if found:
        said = f"one row has so much of the sum of {number_of(found, 'leaf', 'leaves')}"
        what = shown_text(subject.number.name)
        yield check("dominance", "fail", f"Of {what}, {said} that others can tell it to within 10 %.", found)


MOST_RULES = 200
"""The most rules of a list whose possible rows are counted for a report; their regions can be many more."""


def reconstructed(subject: Subject, data: Any = None) -> Reconstruction | str:
    if subject.paths is None:
        return "The decision paths of this model are not known."
    if not subject.paths.exclusive and len(subject.paths) > MOST_RULES:
        return f"A list of more than {MOST_RULES} rules may take long to count: hedgerow audit does."
    if data is None and subject.paths.supports is None:
        return "The model stores no numbers of rows in its leaves."
    try:
        return reconstruction_of(*subject.refined, data=data, steps=are_steps_read(subject.own, subject.features))
    except HedgerowError as error:
        if data is not None:  # the curator is to correct the rows
            raise
        return f"{error}"


def reconstruction_section(subject: Subject, found: Reconstruction | str) -> Section:
    if subject.released is not None and subject.released.has_points:
        left = totals(subject.released)
        facts = (
            SheetLine("bits_without_total", "bits of a row without a total", f"{left.bits:.1f}", left.bits),
            SheetLine(
                "bits_left_by_total",
                "bits left by a total, on average",
                f"{left.residual_bits:.1f}",
                left.residual_bits,
            ),
        )
        return section("reconstruction", facts, totals=left, problem="", view="")
    if isinstance(found, str):
        return section("reconstruction", totals=None, problem=found, view="")
    possible = count_text(found.domain.possible_rows)
    values: dict[str, Any] = {"possible": possible, "mean": found.uncertainty, "least": found.curve()[0][0]}
    return section("reconstruction", _entropy_facts(found), totals=None, problem="", view=VIEWS[found.view], **values)


def _entropy_facts(found: Reconstruction) -> tuple[SheetLine, ...]:
    mean, least = found.entropy_bits / found.n_rows, found.curve()[0][0]
    lost, known = found.loss_of_most_exposed(), _known(found)
    worst = min((i for i, n in enumerate(found.supports) if n), key=lambda i: found.bits[i])
    which = f"{worst + 1}. {shortened(found.conditions[worst])}"
    most_exposed = "bits lost by each of the most exposed 5 % of rows, at least"
    return (
        SheetLine(
            "bits_without_model", "bits of a row without the model", f"{found.domain.bits:.1f}", found.domain.bits
        ),
        SheetLine("bits_left", "bits left, mean over rows", f"{mean:.1f}", mean),
        SheetLine("dist_g", "Dist_G", f"{found.uncertainty:.3f}", found.uncertainty),
        SheetLine("least_share_left", "least share of bits left", f"{least:.3f}", float(least)),
        SheetLine("bits_lost_by_most_exposed", most_exposed, f"{100 * lost:.0f} %", lost),
        SheetLine("most_exposed_leaf", "most exposed leaf", f"{which} ({found.bits[worst]:.1f} bits left)", worst + 1),
        SheetLine("known_rows", "rows disclosed exactly", f"{known:,}", known),
    )


def _known(found: Reconstruction) -> int:
    return sum(n for n, possible in zip(found.supports, found.possible_rows, strict=True) if possible == 1)


def groups(found: Reconstruction | str, by: Sequence[str]) -> tuple[Section, ...]:
    """Return the residual entropy group by group, and the group of the lowest. **Private**."""
    if isinstance(found, str) or not by:
        return ()
    tables = [(name, found.by_group(name)) for name in by]
    name, worst = min(((name, groups[0]) for name, groups in tables), key=lambda one: one[1]["uncertainty"])
    columns = (
        Column("rows", "rows"),
        Column("mean_left", "share of bits left, mean"),
        Column("least_left", "share of bits left, least"),
    )
    grids = list[Grid]()
    for column, groups in tables:
        rows = ((shown_text(one["group"]), one["rows"], one["uncertainty"], one["lowest"]) for one in groups)
        grids.append(
            Grid(f"by_{len(grids) + 1}", f"By {column}", (Column("group", column, True), *columns), tuple(rows))
        )
    group, mean, least = shown_text(worst["group"]), worst["uncertainty"], worst["lowest"]
    return (section("groups", grids=grids, name=name, group=group, mean=mean, least=least),)


def reconstruction_checks(subject: Subject, found: Reconstruction | str) -> Iterator[Check]:
    """Yield what the reconstruction says for and against a release: a mean supports none."""
    known = 0 if isinstance(found, str) else _known(found)
    if known:
        said = f"The model discloses {known:,} row{'s' * (known > 1)} completely: no other row is possible in its leaf."
        yield check("known-rows", "review" if subject.is_private else "fail", said, known)


Attacked = Membership | ShadowMembership | ExactMembership  # the result of an audit of membership
_NORMAL = 1.96
RATES = (0.001, 0.01, 0.1)  # the false positive rates at which the largest true positive rate is printed


def membership_bounds(subject: Subject) -> Section:
    """Return what ε permits any attack, which follows from the card alone."""
    rates = RATES if subject.bound is not None else ()
    facts = [
        SheetLine(f"largest_tpr_at_{fpr:g}", f"TPR at an FPR of {100 * fpr:g} %, at most", *_permitted(subject, fpr))
        for fpr in rates
    ]
    best = facts[1].text if facts else None
    return section("membership", facts, is_bound=True, best=best, leaves=None, found=None, exact=None)


def _permitted(subject: Subject, fpr: float) -> tuple[str, float | None]:
    """Return the largest TPR that the guarantee permits at an FPR, in words and as a number."""
    if subject.bound is None:
        return "no bound", None
    rate = largest_rate(fpr, *subject.bound)
    return percent_up(rate), rate


def separation(subject: Subject, train: tuple[Any, Any] | None, test: tuple[Any, Any] | None) -> Overfit | None:
    """Return how far the leaves of training rows and of others differ; None without both, or without leaves."""
    if train is None or test is None or not subject.has_leaves:
        return None
    if subject.number is None:
        return overfit(subject.leaf_of, train, test)
    ours, others = (subject.numbers(pair[1]) for pair in (train, test))
    halves = [numbers > np.median(ours) for numbers in (ours, others)]
    if not all(half.any() and not half.all() for half in halves):
        return None
    rows = [(pair[0], half.astype(np.int64)) for pair, half in zip((train, test), halves, strict=True)]
    apply = apply_of(subject.leaf_of)
    return overfit(lambda X: apply(X), *rows)


def _of(subject: Subject) -> str:  # what somebody who knows a row knows of it besides its leaf
    return "class" if subject.number is None else "side of the median of the training rows"


def membership(subject: Subject, found: Attacked | None, leaves: Overfit | None) -> Section:
    facts, grids = list[SheetLine](), list[Grid]()
    if leaves is not None:
        v, chance, most = leaves.vulnerability, leaves.vulnerability_by_chance, _bound(subject, leaves)
        name, p_value = f"right guesses from {_of(subject)} and leaf", leaves.p_value
        facts.append(SheetLine("right_guesses", name, f"{100 * v:.1f} %", v))
        facts.append(SheetLine("right_guesses_by_chance", "right guesses by chance", f"{100 * chance:.1f} %", chance))
        facts.append(SheetLine("p_value", "p-value of so many right guesses", f"{p_value:.3f}", p_value))
        name = "right guesses on new rows, at most (95 % confidence)"
        facts.append(SheetLine("right_guesses_at_most", name, f"{100 * most:.1f} %", most))
    exact, worst = None, 0.0
    if isinstance(found, ExactMembership):
        exact, worst, loss = found, float(found.advantage.max()), float(found.realised_loss.max())
        facts.append(
            SheetLine("largest_advantage", "largest advantage of the best attack on any row", f"{worst:.4f}", worst)
        )
        facts.append(SheetLine("largest_loss", "largest privacy loss of any row", f"{loss:.4f}", loss))
    elif found is not None:
        low, high = found.auc_interval
        is_shadow = isinstance(found, ShadowMembership)
        interval, confidence = ("95 % confidence", 0.95) if is_shadow else ("90 % of splits", 0.9)
        text = f"{found.auc:.3f} ({interval}: {low:.3f} to {high:.3f})"
        facts.append(SheetLine("attack", "attack", f"{found.attack}, on {found.target}"))
        facts.append(SheetLine("auc", "AUC", text, found.auc, (low, high), confidence))
        grids.append(_beside(subject, found))
    values: dict[str, Any] = {"leaves": leaves, "found": found, "exact": exact, "worst": worst, "known": _of(subject)}
    return section("membership", facts, grids, is_bound=False, **values)


def _beside(subject: Subject, found: Membership | ShadowMembership) -> Grid:
    rows = list[tuple[GridValue, ...]]()
    for fpr in RATES:
        reached, ends = Cell("too few rows to measure"), (Cell(""), Cell(""))
        if fpr >= found.finest_fpr:
            tpr = found.tpr_at(fpr)
            between = found.tpr_interval(fpr) if isinstance(found, ShadowMembership) else None
            reached = Cell(f"{100 * tpr:.2g} %", tpr, between)
            ends = tuple(Cell(f"{100 * end:.2g} %", end) for end in between) if between else (Cell("not known"),) * 2
        rows.append((Cell(f"{100 * fpr:g} %", fpr), reached, *ends, Cell(*_permitted(subject, fpr))))
    columns = (
        Column("fpr", "false positive rate"),
        Column("tpr", "true positive rate"),
        Column("tpr_low", "interval, 95 %: from"),
        Column("tpr_high", "to"),
        Column("permitted", "epsilon permits at most"),
    )
    return Grid("rates", "Members found at few false alarms, beside what epsilon permits", columns, tuple(rows))


def membership_checks(subject: Subject, found: Attacked | None, leaves: Overfit | None) -> Iterator[Check]:
    if leaves is not None:
        yield _separated(subject, leaves)
    if isinstance(found, ExactMembership):
        loss = float(found.realised_loss.max())
        sentence = f"The largest exact privacy loss of a row is {loss:.4f}; epsilon allows {found.epsilon:g}."
        yield check("loss", "pass" if loss <= found.epsilon * (1 + 1e-9) else "fail", sentence, loss)
    elif found is not None:
        yield from _tried(subject, found)


def _bound(subject: Subject, leaves: Overfit) -> float:
    unit = None if subject.schema is None else subject.schema.unit
    return leaves.upper_bound(1 if unit is None else unit.max_rows)


def _separated(subject: Subject, leaves: Overfit) -> Check:
    v, chance, most = leaves.vulnerability, leaves.vulnerability_by_chance, _bound(subject, leaves)
    guessed = f"Knowing {_of(subject)} and leaf, an attacker guesses membership right in {100 * v:.1f} % of cases"
    by_chance = f"{guessed} ({100 * chance:.1f} % by chance; p = {leaves.p_value:.3f})"
    at_most = f"On new rows it is at most {100 * most:.1f} % with 95 % confidence."
    is_beyond = leaves.p_value <= 1 - CONFIDENCE
    words = "beyond chance" if is_beyond else "which chance can explain"
    is_close = not is_beyond and most <= subject.appetite.most_guessed
    return check("separation", "pass" if is_close else "review", f"{by_chance}, {words}. {at_most}", v)


def _tried(subject: Subject, found: Membership | ShadowMembership) -> Iterator[Check]:
    low, high = _auc_interval(found)
    is_above, is_close = low > 0.5, high <= subject.appetite.most_guessed
    words = "better than guessing" if is_above else "not shown to be better than guessing"
    interval = f"95 % interval {low:.3f} to {high:.3f}"
    sentence = f"The AUC of the attack is {found.auc:.3f} ({interval}): {words}, which has 0.5."
    yield check("auc", "pass" if is_close and not is_above else "review", sentence, found.auc)
    if isinstance(found, ShadowMembership):
        yield from _violated(subject, found)
        rows, grave = len(found.significant_rows()), "review" if subject.is_private else "fail"
        none: Status = "pass"
        sentence = f"Fits with and without the row differ significantly (Holm) for {number_of(rows, 'row')}."
        if found.repeats < found.fewest_repeats:
            none, few = (
                "review",
                f"{number_of(found.repeats, 'split')} can show it of no row; {found.fewest_repeats} can",
            )
            sentence = f"Whether fits with and without a row differ is not known: {few}."
        yield check("rows", grave if rows else none, sentence, rows)


def _auc_interval(found: Membership | ShadowMembership) -> tuple[float, float]:
    """Return a 95 % interval of the AUC: over splits, or over rows if one model is attacked, by Hanley and McNeil."""
    if isinstance(found, ShadowMembership):
        return found.auc_interval
    auc, (_, _, members, others) = found.auc, found.sizes  # of one split: on average over several, it is off by less
    both, pairs = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    squared = auc * (1 - auc) + (members - 1) * (both - auc**2) + (others - 1) * (pairs - auc**2)
    half = _NORMAL * sqrt(squared / (members * others))
    return max(auc - half, 0.0), min(auc + half, 1.0)


def _violated(subject: Subject, found: ShadowMembership) -> Iterator[Check]:
    """Yield the lowest rate at which an attack does what the claimed guarantee rules out, at 95 % for all rates."""
    confidence = 1 - (1 - CONFIDENCE) / len(RATES)
    for fpr in RATES if subject.bound is not None else ():
        low, _ = found.tpr_interval(fpr, confidence) if fpr >= found.finest_fpr else (0.0, 1.0)
        if subject.bound is not None and low > largest_rate(fpr, *subject.bound):
            found_at = f"At a false positive rate of {100 * fpr:g} %, the attack finds at least {100 * low:.2g} %"
            permitted = f"of the members; the claimed epsilon permits {_permitted(subject, fpr)[0]}."
            yield check("claim", "fail", f"{found_at} {permitted}", low)
            return
