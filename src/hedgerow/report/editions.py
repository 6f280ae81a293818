"""Editions of a table in a comparison: the differences between exact counts of several models. **Private**."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.inference.editions import CountChange, EditionChanges, edition_changes
from hedgerow.errors import SchemaError
from hedgerow.report.appetite import Appetite
from hedgerow.report.checks import Check, Status, check, rows_text
from hedgerow.report.contents import MOST_SHOWN, Column, Grid, GridValue, Sheet, section
from hedgerow.report.leaves import leaf_names
from hedgerow.report.subject import Subject
from hedgerow.text.language import _, enumerated, ngettext, number
from hedgerow.text.values import shown_text

_NAMED = 3  # the maximum number of changes that a sentence names


class Pair(NamedTuple):
    """Two models with exact counts, the earlier first, and the differences of their counts."""

    old: str
    new: str
    changes: EditionChanges
    subject: Subject  # of the later model
    earlier: Subject


def pairs_of(subjects: Mapping[str, Subject]) -> tuple[Pair, ...]:
    """Return all pairs of models whose exact counts can be subtracted, in the order in which they are given."""
    return tuple(
        Pair(old, new, changes, subjects[new], subjects[old])
        for old, new in combinations(subjects, 2)
        if (changes := _changes(subjects[old], subjects[new])) is not None
    )


def _changes(old: Subject, new: Subject) -> EditionChanges | None:
    if old.schema is None or new.schema is None or old.paths is None or new.paths is None:
        return None
    literals = (*old.paths.literals, *new.paths.literals)
    try:  # a model that was read from a file has cut points at its own constants only
        schema, other = (Domain.of(own, literals).schema for own in (new.schema, old.schema))
    except SchemaError:  # a constant outside the bounds of the other schema
        return None
    return edition_changes(old.paths, new.paths, schema) if schema.attributes == other.attributes else None


def edition_checks(pairs: Sequence[Pair], appetite: Appetite) -> Iterator[Check]:
    """Yield whether the difference of two models' counts has few rows, or rows of only one class."""
    for pair in pairs:
        changed = pair.changes.disclosive(appetite.fewest_rows)
        least = rows_text(appetite.fewest_rows)
        status: Status = "fail" if changed else "pass" if pair.changes.is_complete else "not_run"
        if changed:
            rest = len(changed) - _NAMED
            more = [ngettext("{count} more", "{count} more", rest)] if rest > 0 else []
            texts = enumerated([*(_change_text(pair, change) for change in changed[:_NAMED]), *more])
            sentence = _(
                "The counts differ by few rows, or by rows of only one class: {changes}. Anyone who has both models "
                "can subtract the counts, and often knows whose rows were added or removed.",
                changes=texts,
            )
        elif status == "not_run":
            sentence = _("The models have too many leaves for a comparison of their counts by leaf.")
        elif pair.changes.total.rows or any(change.rows for change in pair.changes.leaves):
            sentence = _("Every difference of counts has at least {least}, and rows of several classes.", least=least)
        else:
            sentence = _("Equal leaves and all rows together have equal counts.")
        result = check("editions", status, sentence, len(changed), limit=0, least=least)
        yield replace(result, model=f"{pair.old}, {pair.new}", sentence=f"{pair.old}, {pair.new}: {sentence}")


def _change_text(pair: Pair, change: CountChange) -> str:
    place = _place(pair, change)
    sizes, classes = change.differences, pair.changes.classes
    if change.is_pure and classes is not None:
        name, amount = next((shown_text(k), n) for k, n in zip(classes, sizes, strict=True) if n)
        rows = rows_text(abs(amount))
        if amount > 0:
            return _("{leaf}: {rows} more, all of class {name}", leaf=place, rows=rows, name=name)
        return _("{leaf}: {rows} fewer, all of class {name}", leaf=place, rows=rows, name=name)
    if classes is None:
        rows = rows_text(abs(sizes[0]))
        message = _("{leaf}: {rows} more", leaf=place, rows=rows)
        return message if sizes[0] > 0 else _("{leaf}: {rows} fewer", leaf=place, rows=rows)
    signed = (f"{shown_text(k)} {_signed(n)}" for k, n in zip(classes, sizes, strict=True) if n)
    return _("{leaf}: {rows}", leaf=place, rows=", ".join(signed))


def _place(pair: Pair, change: CountChange) -> str:
    """Return the name of a leaf of the later model, or the numbers of several leaves."""
    if change.leaves is None:
        return _("all rows")
    names, places = leaf_names(pair.subject), change.leaves[1]
    if len(places) == 1:
        return names[places[0]]
    return _("leaves {numbers} together", numbers=", ".join(str(place + 1) for place in places))


def _signed(amount: int) -> str:
    return f"{'+' if amount > 0 else '-'}{number(abs(amount))}"


def _grid(pair: Pair, place: int, appetite: Appetite) -> Grid:
    """Return the counts of equal groups of leaves in both models: disclosive changes first."""
    classes, threshold = pair.changes.classes, appetite.fewest_rows
    changes = [pair.changes.total, *pair.changes.leaves]
    columns: list[tuple[Column, Sequence[GridValue]]] = [
        (
            Column("leaf", _("leaf"), is_text=True),
            [_place(pair, own) for own in changes],
        ),
        (Column("rows_old", _("rows in {model}", model=pair.old)), [sum(own.before) for own in changes]),
        (Column("rows_new", _("rows in {model}", model=pair.new)), [sum(own.after) for own in changes]),
    ]
    titles = [_("difference")]
    if classes is not None:
        titles = [_("difference, class {name}", name=shown_text(label)) for label in classes]
    for k, title in enumerate(titles):
        columns.append((Column(f"difference_{k + 1}", title), [own.differences[k] for own in changes]))
    columns.append((Column("predicts", _("prediction"), is_text=True), [_prediction(pair, own) for own in changes]))
    order = sorted(
        range(len(changes)), key=lambda i: (not changes[i].is_disclosive(threshold), not changes[i].rows, i == 0, i)
    )
    title = _("{old} and {new}: leaves with the same rows", old=pair.old, new=pair.new)
    return Grid.of_columns(f"editions_{place}", title, columns, order, MOST_SHOWN)


def _prediction(pair: Pair, change: CountChange) -> str:
    """Return the prediction of a leaf, or both predictions if the later model predicts something else."""
    paths, leaves = (pair.earlier.paths, pair.subject.paths), change.leaves
    if leaves is None or max(map(len, leaves)) > 1 or any(own is None or own.predictions is None for own in paths):
        return ""
    both = (own.predictions[i] for own, (i,) in zip(paths, leaves, strict=True) if own and own.predictions)
    old, new = (shown_text(value) for value in both)
    return new if old == new else _("{old}, then {new}", old=old, new=new)


def of_editions(sheets: Mapping[str, Sheet], pairs: Sequence[Pair]) -> Mapping[str, Sheet]:
    """Return the sheets of models, in which rows of one edition are not compared with the counts of another."""
    matches = _other_editions(pairs, sheets)
    return {name: _without_other_edition(sheet, name, matches[name]) for name, sheet in sheets.items()}


def _other_editions(pairs: Sequence[Pair], sheets: Mapping[str, Sheet]) -> Mapping[str, list[str]]:
    """Return, for each model, the models that share a leaf with it and whose counts the given rows match."""
    checks = ((name, own) for name, sheet in sheets.items() for own in sheet.by_status("pass"))
    matching = {name for name, own in checks if own.key == "counts"}
    matches: dict[str, list[str]] = {name: [] for name in sheets}
    for pair in (pair for pair in pairs if pair.changes.leaves):
        for name, other in ((pair.old, pair.new), (pair.new, pair.old)):
            matches[name] += [other] if other in matching else []
    return matches


def _without_other_edition(sheet: Sheet, name: str, matching: Sequence[str]) -> Sheet:
    if not matching:
        return sheet
    sentence = _(
        "The given rows match the counts of {names}, and not of {model}. If they are editions of a table, only the "
        "differences of their counts show what both disclose.",
        names=enumerated(matching),
        model=name,
    )
    return replace(
        sheet,
        checks=tuple(
            replace(own, status="not_run", sentence=sentence) if (own.key, own.status) == ("counts", "fail") else own
            for own in sheet.checks
        ),
    )


def with_editions(sheet: Sheet, pairs: Sequence[Pair]) -> Sheet:
    """Return a comparison with the differences between exact counts, if two models have them."""
    if not pairs:
        return sheet
    grids = [_grid(pair, place, sheet.appetite) for place, pair in enumerate(pairs, 1)]
    is_disclosive = any(pair.changes.disclosive(sheet.appetite.fewest_rows) for pair in pairs)
    own = section("editions", (), grids, is_disclosive=is_disclosive)
    checks = (*edition_checks(pairs, sheet.appetite), *sheet.checks)
    return replace(sheet, checks=checks, sections=(own, *sheet.sections))
