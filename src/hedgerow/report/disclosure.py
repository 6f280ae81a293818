"""Sections on disclosure: the model itself, its leaves, reconstruction and membership. **Private** where exact.

Without a guarantee, what a model says and stores is for the board; with one, it is public.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from hedgerow.audit import LabelledRows
from hedgerow.audit.attack_record import RATES
from hedgerow.audit.entropy.measure import are_steps_read, reconstruction_of, totals
from hedgerow.audit.entropy.result import VIEWS, Reconstruction, count_text
from hedgerow.audit.inference.count_comparison import CountComparison, compare_bins, compare_counts
from hedgerow.audit.inference.labelled import unit_numbers
from hedgerow.audit.inference.output_cells import number_cells
from hedgerow.audit.inference.overfitting import Overfit, apply_of, leaf_overfit
from hedgerow.audit.readers.read import unnamed_leaves
from hedgerow.boundary.arrays import Floats, Index
from hedgerow.errors import HedgerowError
from hedgerow.models.model import Listing
from hedgerow.models.released import released_scorecard
from hedgerow.report.checks import Check, Status, check
from hedgerow.report.comparisons import alarm_share, clusters_of
from hedgerow.report.contents import Column, Grid, Section, SheetLine, section, shortened
from hedgerow.report.leaves import leaf_names
from hedgerow.report.promises import largest_rate, percent_up
from hedgerow.report.subject import Subject
from hedgerow.report.units import judged_bound, leaf_places
from hedgerow.text.messages import number_of
from hedgerow.text.values import shown_text

_MOST_POINTS = 20  # rows of a scorecard on a page


def model(subject: Subject) -> Section:
    released = subject.released
    grids = [] if released is None else [_listing(subject, i, one) for i, one in enumerate(released.listings(), 1)]
    facts = [SheetLine("loss", "loss that the draw keeps small", subject.loss, subject.loss)] if subject.loss else []
    is_shown = bool(grids or subject.conditions)
    return section(
        "model", facts, grids, is_shown=is_shown, is_own=released is not None, is_ensemble=subject.is_ensemble
    )


def _listing(subject: Subject, place: int, one: Listing) -> Grid:
    """Return a listing of the model as people read it; the model's file has its numbers."""
    columns = tuple(Column(f"column_{i}", name, is_text=True) for i, name in enumerate(one.columns, 1))
    if not subject.conditions:
        return Grid(f"model_{place}", one.title, columns, one.rows, _MOST_POINTS)
    rows = zip(leaf_names(subject), one.rows, strict=True)
    return Grid(f"model_{place}", one.title, columns, tuple((name, *row[1:]) for name, row in rows))


def compared_rows(subject: Subject, train: tuple[Any, Any] | None) -> CountComparison | None:
    """Compare the numbers of rows that the model stores with the training rows; None without rows. **Private**."""
    if train is None:
        return None
    LabelledRows.of_pair("train", train)
    if subject.released is not None and subject.released.has_points:
        return compare_bins(released_scorecard(subject.released), train[0])
    if subject.is_ensemble or subject.is_opaque:
        return None  # `ensembles.checks` compares the rows with all trees
    if subject.paths is None:
        stored = unnamed_leaves(subject.last)
        if stored is None:
            return CountComparison(obstacle="no_paths")
        place = {node: i for i, node in enumerate(stored.nodes)}
        nodes = np.asarray(apply_of(subject.leaf_of)(train[0])).tolist()
        return compare_counts(subject.last, stored, np.array([place[node] for node in nodes]), *train)
    refined, _, domain = subject.refined
    return compare_counts(subject.own, refined, refined.apply(train[0], domain.schema), *train)


def row_checks(subject: Subject, train: tuple[Any, Any] | None, compared: CountComparison | None) -> Iterator[Check]:
    """Yield what the training rows say of the counts and the numbers of the leaves. **Private**."""
    if compared is not None:
        status: Status = "fail" if compared.is_mismatch else "not_run" if compared.obstacle else "pass"
        yield check("counts", status, compared.sentence)
    if train is not None and subject.number is not None and not subject.is_private and subject.has_leaves:
        yield from _dominated(subject, train)


def _dominated(subject: Subject, train: tuple[Any, Any]) -> Iterator[Check]:
    """Yield the leaves whose largest number can be told by the sum or mean and the second largest (p % rule)."""
    assert subject.number is not None
    found, share, numbers = 0, subject.appetite.dominance, np.abs(subject.numbers(train[1]))
    persons = unit_numbers(subject.schema, train[0], subject.person_unit)
    whose = np.arange(len(numbers)) if persons is None else persons
    for places in leaf_places(subject, train[0]):
        found += dominated_leaves(places, whose, numbers, share)
    if found:
        largest_of = "row" if persons is None else "person"
        dominance = f"one {largest_of} has so much of the sum of {number_of(found, 'leaf', 'leaves')}"
        sentence = (
            f"Of {shown_text(subject.number.name)}, {dominance} that others can tell it to within {100 * share:g} %."
        )
        yield check("dominance", "fail", sentence, found, limit=0, percent=100 * share)


def dominated_leaves(places: Index, whose: Index, numbers: Floats, share: float) -> int:
    """Return the number of leaves in which all but the two largest persons have less than a share of the largest."""
    held, inverse = np.unique(np.column_stack([places, whose]), axis=0, return_inverse=True)
    sums, leaves = np.bincount(inverse.reshape(-1), numbers), held[:, 0]
    order = np.lexsort((-sums, leaves))
    ranked, starts = sums[order], np.flatnonzero(np.diff(leaves[order], prepend=-1))
    rank = np.arange(len(ranked)) - np.repeat(starts, np.diff(starts, append=len(ranked)))
    others = np.add.reduceat(np.where(rank > 1, ranked, 0.0), starts)
    return int((others < share * ranked[starts]).sum())


MOST_RULES = 200
"""The most rules of a list whose possible rows are counted for a report; their regions can be many more."""


def reconstructed(subject: Subject, data: Any = None) -> Reconstruction | str:
    if subject.paths is None:
        return f"The decision paths of this model are not known. {subject.unread}".rstrip()
    if not subject.paths.exclusive and len(subject.paths) > MOST_RULES:
        return f"A list of more than {MOST_RULES} rules may take long to count: hedgerow audit does."
    if data is None and subject.paths.complete_supports is None:
        some = "" if subject.paths.supports is None else "some of "
        return f"The model stores no numbers of rows in {some}its leaves."
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
    values["place"] = "its leaves in all trees are" if subject.is_ensemble else "its leaf is"
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
    if isinstance(found, str) or found.view != "data" or not by:
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
    if not known:
        return
    rows = number_of(known, "row")
    if subject.is_ensemble:  # the model does not tell which combinations have rows
        sentence = f"Whoever learns the combinations of leaves that rows lie in knows {rows} completely."
        yield check("known-rows", "review", sentence, known)
    else:
        sentence = f"The model discloses {rows} completely: no other row is possible in its leaf."
        yield check("known-rows", "review" if subject.is_private else "fail", sentence, known)


def membership(subject: Subject, leaves: Overfit | None = None, *, is_public: bool = True) -> Section:
    """Return what ε permits any attack on a person, and what leaves show of membership, which is **private**."""
    facts, bound = list[SheetLine](), judged_bound(subject)
    rates = {} if bound is None else {fpr: largest_rate(fpr, *bound) for fpr in RATES}
    for fpr, rate in rates.items():
        name = f"TPR at an FPR of {100 * fpr:g} %, at most"
        facts.append(SheetLine(f"largest_tpr_at_{fpr:g}", name, percent_up(rate), rate))
    best = facts[1].text if facts else None
    facts += [] if leaves is None else separation_facts(subject, leaves)
    return section("membership", facts, best=best, leaves=leaves, known=_of(subject), is_public=is_public)


def separation(subject: Subject, train: tuple[Any, Any] | None, test: tuple[Any, Any] | None) -> Overfit | None:
    """Return how far the leaves of training rows and of others differ, class by class.

    The classes of a number are the sides of the median of the training rows. None without both sets of rows, without
    leaves, or if a set has no row of a class.
    """
    if train is None or test is None or not subject.has_leaves:
        return None
    if subject.number is None:
        classes = [subject.class_words(pair[1]) for pair in (train, test)]
        model, rows = subject.leaf_of, (train, test)
    else:
        ours, others = (subject.numbers(pair[1]) for pair in (train, test))
        classes = [(numbers > np.median(ours)).astype(np.int64) for numbers in (ours, others)]
        has_leaves = not (subject.is_ensemble or subject.is_opaque)
        apply = apply_of(subject.leaf_of) if has_leaves else number_cells(subject.predict, [train[0], test[0]])
        model, rows = lambda X: apply(X), tuple(zip((train[0], test[0]), classes, strict=True))
    present = [set(of_set.tolist()) for of_set in classes]
    if present[0] != present[1] or len(present[0]) < 2:
        return None
    return leaf_overfit(model, rows[0], rows[1], partial(clusters_of, subject))


def _of(subject: Subject) -> str:
    """Return what the attacker knows of a row: its class, and its leaf or what the model predicts for it."""
    own = "class" if subject.number is None else "side of the median of the training rows"
    return f"{own} and {'prediction' if subject.is_ensemble or subject.is_opaque else 'leaf'}"


def separation_facts(subject: Subject, leaves: Overfit) -> list[SheetLine]:
    facts = list[SheetLine]()
    v, chance, most = leaves.vulnerability, leaves.vulnerability_by_chance, leaves.upper_bound()
    name, p_value = f"right guesses from {_of(subject)}", leaves.p_value
    facts.append(SheetLine("right_guesses", name, f"{100 * v:.1f} %", v))
    facts.append(SheetLine("right_guesses_by_chance", "right guesses by chance", f"{100 * chance:.1f} %", chance))
    facts.append(SheetLine("p_value", "p-value of so many right guesses", f"{p_value:.3f}", p_value))
    name = "right guesses on new rows, at most (95 % confidence)"
    facts.append(SheetLine("right_guesses_at_most", name, f"{100 * most:.1f} %", most))
    return facts


def separation_checks(subject: Subject, leaves: Overfit | None) -> Iterator[Check]:
    if leaves is not None:
        yield _separated(subject, leaves)


def _separated(subject: Subject, leaves: Overfit) -> Check:
    """Return whether training rows and others reach different leaves.

    If more success than the limit is excluded, the check passes, even if a smaller excess is significant. If it is not
    excluded, an excess beyond chance needs review; otherwise the rows are too few to show either.
    """
    v, chance, most = leaves.vulnerability, leaves.vulnerability_by_chance, leaves.upper_bound()
    limit, is_beyond = subject.appetite.most_guessed, leaves.p_value <= alarm_share("separation")
    status: Status = "pass" if most <= limit else "review" if is_beyond else "not_run"
    needed = leaves.test_rows_needed(limit) if status == "not_run" else None
    sentence = (
        f"Knowing {_of(subject)}, an attacker guesses membership right in {100 * v:.1f} % of cases "
        f"({100 * chance:.1f} % by chance; p = {leaves.p_value:.3f}), "
        f"{'beyond chance' if is_beyond else 'which chance can explain'}. "
        f"On new rows it is at most {100 * most:.1f} % with 95 % confidence."
    )
    if needed is not None:
        sentence += f" About {needed:,} held-out rows are needed to exclude more than {100 * limit:g} %."
    elif status == "not_run":
        sentence += f" With these training rows, no number of held-out rows can exclude more than {100 * limit:g} %."
    return check("separation", status, sentence, v, interval=(0.5, most), limit=limit, most=100 * limit)
