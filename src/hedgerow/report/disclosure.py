"""Sections on disclosure: the model itself, its leaves, reconstruction and membership. **Private** if exact.

With a guarantee, all predictions and contents of a model are public; otherwise they are for the board.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hedgerow.audit import LabelledRows
from hedgerow.audit.attack_record import RATES
from hedgerow.audit.entropy.measure import are_steps_read, reconstruction_of
from hedgerow.audit.entropy.measure import reconstruction as reconstruct
from hedgerow.audit.entropy.result import Reconstruction, count_text
from hedgerow.audit.entropy.totals import TotalEntropy, totals
from hedgerow.audit.inference.count_comparison import CountComparison, compare_bins, compare_counts
from hedgerow.audit.inference.labelled import joined, unit_numbers
from hedgerow.audit.inference.output_cells import number_cells
from hedgerow.audit.inference.overfitting import Overfit, apply_of, leaf_overfit
from hedgerow.audit.readers.read import unnamed_leaves
from hedgerow.boundary.arrays import Floats, Index
from hedgerow.errors import ArgumentError, HedgerowError
from hedgerow.models.model import Listing
from hedgerow.models.released import released_scorecard
from hedgerow.report.checks import Check, Status, check, short
from hedgerow.report.comparisons import alarm_share, clusters_of
from hedgerow.report.contents import Column, Grid, Section, SheetLine, section, shortened
from hedgerow.report.leaves import leaf_names
from hedgerow.report.promises import largest_rate, percent_up
from hedgerow.report.subject import Subject
from hedgerow.report.units import judged_bound, leaf_places
from hedgerow.text.language import N_, _, decimal, ngettext, number, percent, percentage
from hedgerow.text.messages import capitalised
from hedgerow.text.values import shown_text

_MOST_POINTS = 20  # the maximum number of rows of a scorecard on a page


def model(subject: Subject) -> Section:
    released = subject.released
    listings = () if released is None else released.listings()
    grids = [_listing(subject, place, listing) for place, listing in enumerate(listings, 1)]
    facts = (
        [SheetLine("loss", _("loss by which the model was drawn"), subject.loss, subject.loss)] if subject.loss else []
    )
    is_shown = bool(grids or subject.conditions)
    return section(
        "model", facts, grids, is_shown=is_shown, is_own=released is not None, is_ensemble=subject.is_ensemble
    )


def _listing(subject: Subject, place: int, listing: Listing) -> Grid:
    """Return a listing of the model as people read it; the model's file has its numbers."""
    columns = tuple(Column(f"column_{i}", name, is_text=True) for i, name in enumerate(listing.columns, 1))
    if not subject.conditions:
        points = Grid(f"model_{place}", listing.title, columns, listing.rows, _MOST_POINTS)
        is_cut = place == 1 and len(points.first) < len(points.rows)
        return _by_size(subject, points) if is_cut else points
    rows = zip(leaf_names(subject), listing.rows, strict=True)
    return Grid(f"model_{place}", listing.title, columns, tuple((name, *row[1:]) for name, row in rows))


def _by_size(subject: Subject, points: Grid) -> Grid:
    """Return a scorecard's table of points, the largest points first, so that a page cuts off the smallest."""
    lines = released_scorecard(subject.released).lines
    order = sorted(range(len(lines)), key=lambda place: -max(map(abs, lines[place].points)))
    title = _("{title}, largest points first", title=points.title)
    return replace(points, title=title, rows=tuple(points.rows[place] for place in order))


def compared_rows(
    subject: Subject, train: tuple[Any, Any] | None, test: tuple[Any, Any] | None = None
) -> CountComparison | None:
    """Compare the numbers of rows that the model stores with the training rows; None without rows. **Private**.

    If they differ, the stored numbers are also compared with the training rows and the held-out rows together.
    """
    compared = None if train is None else _compared(subject, train)
    if compared is None or not compared.is_mismatch or train is None or test is None:
        return compared
    together = joined(train, test)
    with_test = None if together is None else _compared(subject, together)
    is_of_both = with_test is not None and not with_test.is_mismatch and not with_test.obstacle
    return replace(compared, is_of_both=is_of_both)


def mismatch(subject: Subject, train: tuple[Any, Any]) -> Grid | None:
    """Return the stored and the counted rows of each leaf, the largest difference first; None without stored leaves."""
    stored = subject.stored_leaves
    places = None if subject.paths is None else next(leaf_places(subject, train[0]), None)
    if stored is None or places is None or stored.view == "weighted":
        return None
    counted = np.bincount(places, minlength=len(stored.leaves)).tolist()
    if len(counted) != len(stored.leaves):
        return None
    differences = [None if rows is None else n - rows for n, rows in zip(counted, stored.rows, strict=True)]
    columns = (
        (Column("leaf", _("leaf"), is_text=True), stored.leaves),
        (Column("stored", _("rows stored in the model")), stored.rows),
        (Column("counted", _("rows counted in the training rows")), counted),
        (Column("difference", _("difference")), differences),
    )
    order = sorted(range(len(counted)), key=lambda i: -abs(differences[i] or 0))
    return Grid.of_columns("mismatch", _("Stored and counted rows, largest difference first"), columns, order)


def _compared(subject: Subject, train: tuple[Any, Any]) -> CountComparison | None:
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
    refined, _schema, domain = subject.refined
    return compare_counts(subject.own, refined, refined.apply(train[0], domain.schema), *train)


def row_checks(subject: Subject, train: tuple[Any, Any] | None, compared: CountComparison | None) -> Iterator[Check]:
    """Yield the checks of the stored counts and of dominance, computed from the training rows. **Private**."""
    if compared is not None:
        status: Status = "fail" if compared.is_mismatch else "not_run" if compared.obstacle else "pass"
        yield check("counts", status, compared.sentence)
    if train is not None and subject.number is not None and not subject.is_private and subject.has_leaves:
        yield from _dominated(subject, train)


def _dominated(subject: Subject, train: tuple[Any, Any]) -> Iterator[Check]:
    """Yield the check of the p % rule: the second largest number and a leaf's sum or mean disclose the largest."""
    assert subject.number is not None
    leaves, share, numbers = 0, subject.appetite.dominance, np.abs(subject.numbers(train[1]))
    persons = unit_numbers(subject.schema, train[0], subject.person_unit)
    whose = np.arange(len(numbers)) if persons is None else persons
    for places in leaf_places(subject, train[0]):
        leaves += dominated_leaves(places, whose, numbers, share)
    if not leaves:
        return
    values = {"column": shown_text(subject.number.name), "percent": short(100 * share)}
    sentence = ngettext(
        "In {count} leaf, one row dominates the sum of {column}: others can estimate it to within {percent} %.",
        "In {count} leaves, one row dominates the sum of {column}: others can estimate it to within {percent} %.",
        leaves,
        **values,
    )
    if persons is not None:
        sentence = ngettext(
            "In {count} leaf, one person dominates the sum of {column}: others can estimate the person's share to "
            "within "
            "{percent} %.",
            "In {count} leaves, one person dominates the sum of {column}: others can estimate the person's share to "
            "within {percent} %.",
            leaves,
            **values,
        )
    yield check("dominance", "fail", sentence, leaves, limit=0, percent=values["percent"])


def dominated_leaves(places: Index, whose: Index, numbers: Floats, share: float) -> int:
    """Return the number of leaves in which all but the two largest persons have less than a share of the largest."""
    held, inverse = np.unique(np.column_stack([places, whose]), axis=0, return_inverse=True)
    sums, leaves = np.bincount(inverse.reshape(-1), numbers), held[:, 0]
    order = np.lexsort((-sums, leaves))
    ranked, starts = sums[order], np.flatnonzero(np.diff(leaves[order], prepend=-1))
    rank = np.arange(len(ranked)) - np.repeat(starts, np.diff(starts, append=len(ranked)))
    others = np.add.reduceat(np.where(rank > 1, ranked, 0.0), starts)
    return int((others < share * ranked[starts]).sum())


_OF_HELD_OUT_ROWS = ("accuracy", "groups", "separation")
_IN_DOUBT = N_(
    "The training rows do not match the counts that the model stores, so the held-out rows may be training rows."
)


def in_doubt(measured: Section) -> Section:
    """Return a section on held-out rows with a note that they may be training rows."""
    return replace(measured, notes=(_(_IN_DOUBT), *measured.notes))


def doubted(own: Check) -> Check:
    """Return a check; a check of held-out rows that may be training rows was not run."""
    if own.key not in _OF_HELD_OUT_ROWS:
        return own
    sentence = _("{check}: not run. {reason}", check=capitalised(own.title), reason=_(_IN_DOUBT))
    return replace(own, status="not_run", sentence=sentence, threshold="", value=None, interval=None)


MOST_RULES = 200
"""The most rules of a list whose possible rows are counted for a report; their regions can be many more."""


def reconstructed(subject: Subject, data: Any = None) -> Reconstruction | str:
    """Return the residual entropies given the model, or a sentence that states why they are unknown."""
    if subject.paths is None:
        return _without_paths(subject, data)
    if not subject.paths.exclusive and len(subject.paths) > MOST_RULES:
        return _(
            "Counting the possible rows of a list of more than {rules} rules can take long: use hedgerow audit.",
            rules=MOST_RULES,
        )
    if data is None and subject.paths.complete_supports is None:
        if subject.paths.supports is None:
            return _("The model does not store the numbers of rows in its leaves.")
        return _("The model does not store the numbers of rows in some of its leaves.")
    try:
        return reconstruction_of(*subject.refined, data=data, steps=are_steps_read(subject.own, subject.features))
    except HedgerowError as error:
        if data is not None:  # the curator must correct the rows
            raise
        return f"{error}"


def _without_paths(subject: Subject, data: Any) -> Reconstruction | str:
    if subject.released is not None and subject.released.has_points:
        return _of_points(subject, data)
    return " ".join(filter(None, (_("The decision paths of this model are not known."), subject.unread)))


def _of_points(subject: Subject, data: Any) -> Reconstruction | str:
    """Return the residual entropies given a scorecard's totals of the rows, or else its stored rows by bin."""
    try:
        return reconstruct(subject.released, data=data)
    except HedgerowError as error:
        if data is not None and _by_total(subject) is not None:
            raise
        return f"{error}"


def _by_total(subject: Subject) -> TotalEntropy | None:
    """Return the possible rows of each total of a scorecard; None if there are too many totals."""
    try:
        return totals(subject.released)
    except ArgumentError:
        return None


def reconstruction_section(subject: Subject, reconstruction: Reconstruction | str) -> Section:
    values: dict[str, Any] = {"totals": None, "problem": "", "view": "", "is_ensemble": subject.is_ensemble}
    values["has_too_many"] = False
    facts: Iterable[SheetLine] = ()
    if subject.released is not None and subject.released.has_points:
        return _points_section(subject, reconstruction)
    if isinstance(reconstruction, str):
        values["problem"] = reconstruction
    else:
        facts = _entropy_facts(reconstruction)
        values |= _shares_left(reconstruction)
        values |= {
            "possible": number(count_text(reconstruction.domain.possible_rows)),
            "view": _(reconstruction.origin),
        }
    return section("reconstruction", facts, **values)


def _shares_left(result: Reconstruction) -> dict[str, str]:
    return {"mean": percent(result.uncertainty), "least": percent(result.curve()[0][0])}


def _points_section(subject: Subject, known: Reconstruction | str) -> Section:
    """Return the section for a scorecard: a published total, its stored rows by bin, and the totals of its rows."""
    left, facts, values = _by_total(subject), list[SheetLine](), dict[str, Any]()
    problem = known if isinstance(known, str) else ""
    if left is None:
        problem = _("The scorecard has too many different totals to count the possible rows of each.")
    else:
        values |= {"bits": decimal(left.bits, 1), "left": decimal(left.residual_bits, 1)}
        facts.append(SheetLine("bits_without_total", _("bits of uncertainty about a row"), values["bits"], left.bits))
        name = _("bits that remain for someone who knows the row's total, on average")
        facts.append(SheetLine("bits_left_by_total", name, values["left"], left.residual_bits))
    stored = _of_points(subject, None) if _stores_rows(subject) else None
    if isinstance(stored, Reconstruction):
        mean = stored.entropy_bits / stored.n_rows
        name = _("bits that remain for a reader of the rows by bin in the file, on average over rows")
        facts.append(SheetLine("bits_left_by_bins", name, decimal(mean, 1), mean))
        name = _("Dist_G for a reader of the rows by bin in the file")
        facts.append(SheetLine("dist_g_by_bins", name, decimal(stored.uncertainty, 3), stored.uncertainty))
    by_rows = known if isinstance(known, Reconstruction) and known.known == "totals" else None
    views = [_(result.origin) for result in (stored, by_rows) if isinstance(result, Reconstruction)]
    if by_rows is not None:
        facts += _total_facts(by_rows)
        values |= _shares_left(by_rows)
    return section(
        "reconstruction",
        facts,
        **values,
        totals=left,
        has_too_many=left is None,
        problem=problem,
        by_bins=percent(stored.uncertainty) if isinstance(stored, Reconstruction) else "",
        is_by_rows=by_rows is not None,
        view=" ".join(views),
    )


def _stores_rows(subject: Subject) -> bool:
    return any(part.rows is not None for part in released_scorecard(subject.released).parts)


def _total_facts(result: Reconstruction) -> Iterator[SheetLine]:
    """Yield the residual entropy for someone who knows the total of each training row. **Private**."""
    mean, least = result.entropy_bits / result.n_rows, result.curve()[0][0]
    name = _("bits that remain for someone who knows the total of each training row, on average over rows")
    yield SheetLine("bits_left", name, decimal(mean, 1), mean)
    name = _("Dist_G for someone who knows the total of each training row")
    yield SheetLine("dist_g", name, decimal(result.uncertainty, 3), result.uncertainty)
    yield SheetLine("least_share_left", _("smallest share of bits that remains"), decimal(least, 3), float(least))
    known = _known(result)
    yield SheetLine("known_rows", _("rows that their totals disclose completely"), number(known), known)


def _entropy_facts(result: Reconstruction) -> Iterator[SheetLine]:
    mean, least, domain = result.entropy_bits / result.n_rows, result.curve()[0][0], result.domain
    lost, known = result.loss_of_most_exposed(), _known(result)
    worst = min((i for i, n in enumerate(result.supports) if n), key=lambda i: result.bits[i])
    which = f"{worst + 1}. {shortened(result.conditions[worst])}"
    yield SheetLine(
        "bits_without_model", _("bits of uncertainty without the model"), decimal(domain.bits, 1), domain.bits
    )
    yield SheetLine("bits_left", _("bits that remain, on average over rows"), decimal(mean, 1), mean)
    yield SheetLine("dist_g", "Dist_G", decimal(result.uncertainty, 3), result.uncertainty)
    yield SheetLine("least_share_left", _("smallest share of bits that remains"), decimal(least, 3), float(least))
    name = _("share of bits lost by each of the most exposed 5 % of rows, at least")
    yield SheetLine("bits_lost_by_most_exposed", name, percent(lost), lost)
    text = _("{leaf} ({bits} bits remain)", leaf=which, bits=decimal(result.bits[worst], 1))
    yield SheetLine("most_exposed_leaf", _("most exposed leaf"), text, worst + 1)
    yield SheetLine("known_rows", _("rows that are disclosed completely"), number(known), known)


def _known(result: Reconstruction) -> int:
    return sum(n for n, possible in zip(result.supports, result.possible_rows, strict=True) if possible == 1)


def groups(result: Reconstruction | str, by: Sequence[str]) -> tuple[Section, ...]:
    """Return the residual entropy of each group, and the group with the lowest entropy. **Private**."""
    if isinstance(result, str) or result.view != "data" or not by:
        return ()
    tables = [(name, result.by_group(name)) for name in by]
    name, worst = min(((name, groups[0]) for name, groups in tables), key=lambda entry: entry[1]["uncertainty"])
    columns = (
        Column("rows", _("rows")),
        Column("mean_left", _("mean share of bits that remains")),
        Column("least_left", _("smallest share of bits that remains")),
    )
    grids = list[Grid]()
    for column, groups in tables:
        rows = ((shown_text(own["group"]), own["rows"], own["uncertainty"], own["lowest"]) for own in groups)
        title, names = _("By {column}", column=column), (Column("group", column, True), *columns)
        grids.append(Grid(f"by_{len(grids) + 1}", title, names, tuple(rows)))
    mean, least = percent(worst["uncertainty"]), percent(worst["lowest"])
    by_total = result.known == "totals"
    group = shown_text(worst["group"])
    return (section("groups", grids=grids, name=name, group=group, mean=mean, least=least, by_total=by_total),)


def reconstruction_checks(subject: Subject, result: Reconstruction | str) -> Iterator[Check]:
    """Yield the check of completely disclosed rows; a mean entropy supports no release."""
    known = 0 if isinstance(result, str) or result.known != "regions" else _known(result)
    if not known:
        return
    if subject.is_ensemble:  # the model does not show which combinations have rows
        sentence = ngettext(
            "Anyone who learns which combinations of leaves have rows knows {count} row completely.",
            "Anyone who learns which combinations of leaves have rows knows {count} rows completely.",
            known,
        )
        yield check("known-rows", "review", sentence, known)
    else:
        sentence = ngettext(
            "The model discloses {count} row completely: no other row is possible in its leaf.",
            "The model discloses {count} rows completely: no other row is possible in their leaves.",
            known,
        )
        yield check("known-rows", "review" if subject.is_private else "fail", sentence, known)


def membership(subject: Subject, leaves: Overfit | None = None, *, is_public: bool = True) -> Section:
    """Return the limits of ε for any attack on a person, and results from the leaves, which are **private**."""
    facts, bound = list[SheetLine](), judged_bound(subject)
    rates = {} if bound is None else {fpr: largest_rate(fpr, *bound) for fpr in RATES}
    for fpr, rate in rates.items():
        name = _("TPR at an FPR of {fpr}, at most", fpr=percentage(f"{100 * fpr:g}"))
        facts.append(SheetLine(f"largest_tpr_at_{fpr:g}", name, percent_up(rate), rate))
    best = facts[1].text if facts else None
    values: dict[str, Any] = {"best": best, "leaves": leaves, "is_public": is_public}
    if leaves is not None:
        facts += _separation_facts(subject, leaves)
        share, chance = leaves.vulnerability, leaves.vulnerability_by_chance
        values |= {"known": _known_of(subject), "share": percent(share, 1), "chance": percent(chance, 1)}
    return section("membership", facts, **values)


def separation(subject: Subject, train: tuple[Any, Any] | None, test: tuple[Any, Any] | None) -> Overfit | None:
    """Return the distance between the leaf distributions of training rows and held-out rows within each class.

    For a number, the classes are the sides of the median of the training rows. None without both sets of rows, without
    leaves, or if a set has no row of a class.
    """
    if train is None or test is None or not subject.has_leaves:
        return None
    if subject.number is None:
        classes = [subject.class_words(pair[1]) for pair in (train, test)]
        model, rows = subject.leaf_of, (train, test)
    else:
        own, held_out = (subject.numbers(pair[1]) for pair in (train, test))
        classes = [(numbers > np.median(own)).astype(np.int64) for numbers in (own, held_out)]
        has_leaves = not (subject.is_ensemble or subject.is_opaque)
        apply = apply_of(subject.leaf_of) if has_leaves else number_cells(subject.predict, [train[0], test[0]])
        model, rows = lambda X: apply(X), tuple(zip((train[0], test[0]), classes, strict=True))
    present = [set(of_set.tolist()) for of_set in classes]
    if present[0] != present[1] or len(present[0]) < 2:
        return None
    return leaf_overfit(model, rows[0], rows[1], partial(clusters_of, subject))


def _known_of(subject: Subject) -> str:
    """Return the attacker's knowledge of a row, as the object of "knows"."""
    has_prediction = subject.is_ensemble or subject.is_opaque
    if subject.number is None:
        return _("a row's class and prediction") if has_prediction else _("a row's class and leaf")
    if has_prediction:
        return _("a row's prediction and its side of the median of the training rows")
    return _("a row's leaf and its side of the median of the training rows")


def _separation_facts(subject: Subject, leaves: Overfit) -> Iterator[SheetLine]:
    share, chance, most = leaves.vulnerability, leaves.vulnerability_by_chance, leaves.upper_bound()
    name = _("correct guesses of an attacker who knows {known}", known=_known_of(subject))
    yield SheetLine("right_guesses", name, percent(share, 1), share)
    yield SheetLine("right_guesses_by_chance", _("correct guesses by chance"), percent(chance, 1), chance)
    name = _("p-value of this number of correct guesses")
    yield SheetLine("p_value", name, decimal(leaves.p_value, 3), leaves.p_value)
    name = _("correct guesses on new rows, at most (95 % confidence)")
    yield SheetLine("right_guesses_at_most", name, percent(most, 1), most)


def separation_checks(subject: Subject, leaves: Overfit | None) -> Iterator[Check]:
    if leaves is not None:
        yield _separated(subject, leaves)


def _separated(subject: Subject, leaves: Overfit) -> Check:
    """Return whether training rows and held-out rows reach different leaves.

    The check passes if success above the limit is excluded, even if a smaller excess is significant. If it is not
    excluded, an excess beyond chance needs review; otherwise there are too few rows to show either.
    """
    share, most = leaves.vulnerability, leaves.upper_bound()
    limit, is_beyond = subject.appetite.most_guessed, leaves.p_value <= alarm_share("separation")
    status: Status = "pass" if most <= limit else "review" if is_beyond else "not_run"
    message = _BEYOND_CHANCE if is_beyond else _BY_CHANCE
    sentences = [
        _(
            message,
            known=_known_of(subject),
            share=percent(share, 1),
            chance=percent(leaves.vulnerability_by_chance, 1),
            p=decimal(leaves.p_value, 3),
        ),
        _("On new rows the share is at most {most} with 95 % confidence.", most=percent(most, 1)),
    ]
    if status == "not_run":
        rows, excluded = leaves.test_rows_needed(limit), percentage(f"{100 * limit:g}")
        if rows is None:
            sentences.append(
                _("With these training rows, no number of held-out rows can exclude more than {most}.", most=excluded)
            )
        else:
            sentences.append(
                _("About {rows} held-out rows are needed to exclude more than {most}.", rows=rows, most=excluded)
            )
    sentence, interval = " ".join(sentences), (0.5, most)
    return check("separation", status, sentence, share, interval=interval, limit=limit, most=short(100 * limit))


_BEYOND_CHANCE = N_(
    "An attacker who knows {known} guesses membership correctly in {share} of cases ({chance} by chance; p = {p}): "
    "more "
    "than chance explains."
)
_BY_CHANCE = N_(
    "An attacker who knows {known} guesses membership correctly in {share} of cases ({chance} by chance; p = {p}): "
    "chance can explain this."
)
