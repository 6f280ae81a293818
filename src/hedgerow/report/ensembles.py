"""The leaves of ensembles of trees: the worst tree, and all trees together. **Private**.

No ensemble states a guarantee that hedgerow can read, so all results are for the board.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.entropy.measure import joint_reconstruction
from hedgerow.audit.entropy.result import Reconstruction
from hedgerow.audit.inference.ensemble_risk import EnsembleRisk, counted_ensemble_risk, stored_ensemble_risk
from hedgerow.audit.inference.labelled import LabelledRows, distinct
from hedgerow.audit.inference.leaf_risk import FEWEST_SAFE_ROWS
from hedgerow.audit.readers.ensembles import leaf_order, members, trees_of
from hedgerow.audit.readers.paths import Paths
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.report.checks import Check, Status, check, rows_text, short
from hedgerow.report.contents import MOST_SHOWN, Column, Grid, GridValue, Section, SheetLine, section
from hedgerow.report.leaves import counted_column, fewer_units, noun_of, rows_of_persons, why_cell
from hedgerow.report.subject import Subject
from hedgerow.text.language import _, ngettext, number
from hedgerow.text.messages import capitalised
from hedgerow.text.values import quoted_text, shown_text

MOST_LEAVES, MOST_PLACES = 1_500, 500_000
"""The most leaves of all trees, and the most rows times trees, whose possible rows are counted for a report."""


def examined(subject: Subject, train: tuple[Any, Any] | None) -> EnsembleRisk | str:
    """Return the leaves of an ensemble, from its training rows if given, or the reason why they cannot be examined."""
    if subject.is_opaque:
        kind = type(subject.last).__name__
        return _("scikit-learn does not publish the structure of the trees of {kind}", kind=kind)
    least = subject.appetite.fewest_rows
    if train is None:
        try:
            return stored_ensemble_risk(subject.model, least, subject.schema)
        except ArgumentError as error:
            return f"{error}".rstrip(".")
    rows = train if subject.number is None else (train[0], subject.levels(train[1]))
    by = distinct(LabelledRows.of(*rows).values)
    unit = subject.form.unit_column or None
    return counted_ensemble_risk(subject.model, train[0], by, least, subject.schema, unit)


def leaves(subject: Subject, risk: EnsembleRisk | str) -> Section:
    question = _("Does a leaf of any tree describe few people, or only people of one class?")
    if subject.number is not None:
        question = _(
            "Does a leaf of any tree describe few people, or only people of one level of the predicted number?"
        )
    if isinstance(risk, str):
        return section("leaves", template="ensemble", problem=risk, title=question)
    values: dict[str, Any] = {"risk": risk, "small": _small(risk), "pure": _pure(subject, risk), "alone": _alone(risk)}
    values["smallest"] = rows_text(risk.fewest, counted_column(risk))
    grids = (_trees(subject, risk), _worst(subject, risk))
    return section("leaves", _facts(subject, risk), grids, template="ensemble", problem="", title=question, **values)


def _small(risk: EnsembleRisk) -> str:
    column = counted_column(risk)
    least, rows = rows_text(risk.threshold, column), noun_of(column)
    if not risk.small:
        return _("Every leaf of every tree has at least {least}.", least=least)
    sentence = ngettext(
        "{count} of {all} leaves, in {trees} of {members} trees, has fewer than {least}.",
        "{count} of {all} leaves, in {trees} of {members} trees, have fewer than {least}.",
        sum(risk.small_leaves),
        all=risk.leaves,
        trees=len(risk.small),
        members=len(risk.members),
        least=least,
    )
    if risk.rows is None:
        held = _("At least {some} {rows} are in such a leaf of some tree.", some=risk.certain_in_small, rows=rows)
    else:
        values = {"some": risk.certain_in_small, "all": risk.rows, "rows": rows}
        held = _("{some} of {all} {rows} are in such a leaf of some tree.", **values)
    return f"{sentence} {held}"


def _pure(subject: Subject, risk: EnsembleRisk) -> str:
    has_classes = subject.number is None
    if risk.pure_leaves is None:
        if has_classes:
            return _("Whether a leaf has rows of only one class is not known.")
        return _("Whether a leaf has rows of only one level is not known.")
    if not risk.pure:
        if has_classes:
            return _("No leaf of any tree has rows of only one class.")
        return _("No leaf of any tree has rows of only one level.")
    values = {"all": risk.leaves, "trees": len(risk.pure), "members": len(risk.members)}
    if has_classes:
        return ngettext(
            "{count} of {all} leaves, in {trees} of {members} trees, has rows of only one class.",
            "{count} of {all} leaves, in {trees} of {members} trees, have rows of only one class.",
            sum(risk.pure_leaves),
            **values,
        )
    return ngettext(
        "{count} of {all} leaves, in {trees} of {members} trees, has rows of only one level.",
        "{count} of {all} leaves, in {trees} of {members} trees, have rows of only one level.",
        sum(risk.pure_leaves),
        **values,
    )


def _alone(risk: EnsembleRisk) -> str:
    rows = noun_of(counted_column(risk))
    if risk.rows is None:
        return _("Which rows share their leaves in all trees is not known without the training rows.")
    if not risk.alone:
        return _("None of {all} {rows} is alone in its combination of leaves.", all=risk.rows, rows=rows)
    values = {"alone": risk.alone, "all": risk.rows, "rows": rows}
    return _("{alone} of {all} {rows} are alone in their combination of leaves.", **values)


def _facts(subject: Subject, risk: EnsembleRisk) -> Iterator[SheetLine]:
    column, has_classes, members = counted_column(risk), subject.number is None, len(risk.members)
    rows, least = noun_of(column), rows_text(risk.threshold, column)
    yield _line("trees", _("trees"), members)
    yield _line("leaves", _("leaves of all trees"), risk.leaves)
    yield _line("smallest_leaf", _("{rows} in the smallest leaf of any tree", rows=rows), risk.fewest)
    yield _in_trees("small_leaves", _("leaves with fewer than {least}", least=least), risk.small_leaves, members)
    name = _("{rows} in a leaf below the threshold, in any tree", rows=rows)
    text = _("at least {some}", some=risk.certain_in_small)
    if risk.rows is not None:
        text = _("{some} of {all}", some=risk.certain_in_small, all=risk.rows)
    yield SheetLine("rows_in_small_leaves", name, text, risk.certain_in_small)
    if risk.pure_leaves is not None:
        name = _("leaves with rows of only one class") if has_classes else _("leaves with rows of only one level")
        yield _in_trees("pure_leaves", name, risk.pure_leaves, members)
    if risk.in_pure is not None:
        name = _("{rows} in a leaf with only one level, in any tree", rows=rows)
        if has_classes:
            name = _("{rows} in a leaf with only one class, in any tree", rows=rows)
        yield _some("rows_in_pure_leaves", name, risk.in_pure, risk.rows)
    if risk.few_leaves is not None and has_classes:
        few = _("1 to {most} {rows}", most=risk.threshold - 1, rows=rows)
        yield _line("few_of_class_leaves", _("leaves with {few} of a class", few=few), sum(risk.few_leaves))
    if risk.cells is not None and risk.alone is not None:
        yield _line("combinations", _("combinations of leaves that have rows"), risk.cells)
        yield _some("rows_alone", _("{rows} alone in their combination", rows=rows), risk.alone, risk.rows)


def _line(key: str, name: str, count: int) -> SheetLine:
    return SheetLine(key, name, number(count), count)


def _some(key: str, name: str, some: int, rows: int | None) -> SheetLine:
    text = number(some) if rows is None else _("{some} of {all}", some=some, all=rows)
    return SheetLine(key, name, text, some)


def _in_trees(key: str, name: str, leaves: Sequence[int], members: int) -> SheetLine:
    count, trees = sum(leaves), sum(own > 0 for own in leaves)
    text = _("{count}, in {trees} of {members} trees", count=count, trees=trees, members=members)
    return SheetLine(key, name, text, count)


def _trees(subject: Subject, risk: EnsembleRisk) -> Grid:
    members, has_classes = risk.members, subject.number is None
    name = _("{rows} in the smallest leaf", rows=noun_of(counted_column(risk)))
    columns: list[tuple[Column, Sequence[GridValue]]] = [
        (Column("tree", _("tree")), range(len(members))),
        (Column("leaves", _("leaves")), [len(member.nodes) for member in members]),
        (Column("smallest_leaf", name), [int(member.rows.min()) for member in members]),
        (Column("small_leaves", _("small leaves")), risk.small_leaves),
    ]
    if risk.pure_leaves is not None:
        name = _("leaves with only one class") if has_classes else _("leaves with only one level")
        columns.append((Column("pure_leaves", name), risk.pure_leaves))
    if risk.few_leaves is not None and has_classes:
        columns.append((Column("few_of_class_leaves", _("leaves with few rows of a class")), risk.few_leaves))
    order = sorted(range(len(members)), key=lambda i: (int(members[i].rows.min()), -risk.small_leaves[i], i))
    return Grid.of_columns("trees", _("Trees, smallest leaf first"), columns, order)


def _worst(subject: Subject, risk: EnsembleRisk) -> Grid:
    """Return the smallest leaves of the worst tree, with their conditions if they can be read."""
    member, rows, has_classes = risk.members[risk.worst], noun_of(counted_column(risk)), subject.number is None
    pure = np.zeros(len(member.nodes), dtype=bool) if member.pure is None else member.pure
    few = member.few(risk.threshold) if has_classes else None
    single = _("only one class") if has_classes else _("only one level")
    flags = [("few_rows", _("few {rows}", rows=rows), member.small(risk.threshold)), ("pure", single, pure)]
    flags += [] if few is None else [("few_of_class", _("few rows of a class"), few)]
    rank = np.lexsort((member.nodes, ~pure, member.rows))[:MOST_SHOWN].tolist()
    names = _conditions(subject, risk.worst, member.nodes[rank].tolist())
    columns: list[tuple[Column, Sequence[GridValue]]] = [
        (Column("leaf", _("leaf"), is_text=True), names),
        (Column("rows", rows), member.rows[rank].tolist()),
    ]
    if member.counts is not None and has_classes:
        by_class = zip(risk.classes or (), member.counts[rank].T.tolist(), strict=True)
        for place, (name, counts) in enumerate(by_class, 1):
            title = _("{rows} of class {name}", rows=rows, name=shown_text(name))
            columns.append((Column(f"rows_class_{place}", title), counts))
    whys = [{code: word for code, word, flag in flags if flag[i]} for i in rank]
    columns.append((Column("why", _("reason")), [why_cell(why) for why in whys]))
    title = _("The smallest leaves of tree {tree}, which has the smallest leaf", tree=risk.worst)
    return Grid.of_columns("worst_tree", title, columns, range(len(rank)))


def _conditions(subject: Subject, tree: int, nodes: Sequence[int]) -> list[str]:
    """Return the decision paths of some leaves of a tree in words; their numbers if they cannot be read."""
    numbers = [_("leaf {number}", number=str(node)) for node in nodes]
    if subject.schema is None:
        return numbers
    try:
        member, features = trees_of(subject.model, subject.schema, subject.features)[tree]
        paths, schema = paths_of(member, subject.schema, features)
    except ArgumentTypeError:  # the columns come from steps that cannot be read
        return numbers
    place = {node: i for i, node in enumerate(leaf_order(member))}
    chosen = Paths(tuple(paths.paths[place[node]] for node in nodes), exclusive=True)
    domain = Domain.of(schema, chosen.literals)
    words = normalised(chosen, domain.schema).conditions(domain.schema)
    return [f"{node}. {text}" for node, text in zip(nodes, words, strict=True)]


def checks(subject: Subject, risk: EnsembleRisk | str) -> Iterator[Check]:
    yield from _not_examined(subject, risk) if isinstance(risk, str) else _examined(subject, risk)


def _not_examined(subject: Subject, problem: str) -> Iterator[Check]:
    least, percent = rows_text(subject.appetite.fewest_rows), short(100 * subject.appetite.dominance)
    by_kind, sentence = "few-of-class" if subject.number is None else "dominance", f"{capitalised(problem)}."
    for rule in ("small-leaves", "pure-leaves", "joint-cells", "counts", by_kind):
        yield check(rule, "not_run", sentence, least=least, percent=percent)


def _examined(subject: Subject, risk: EnsembleRisk) -> Iterator[Check]:
    column, small, has_classes = counted_column(risk), sum(risk.small_leaves), subject.number is None
    least, limit = rows_text(risk.threshold, column), risk.threshold
    rule = "small-leaves" if risk.threshold == FEWEST_SAFE_ROWS else "small-leaves/own"
    if small or risk.view != "weighted":
        yield check(rule, "fail" if small else "pass", _small(risk), small, limit=limit, least=least)
    else:
        drawn = _("But a row counts once for each time that it was drawn: give the training rows.")
        yield check(rule, "not_run", f"{_small(risk)} {drawn}", small, limit=limit, least=least)
    if risk.pure_leaves is not None:
        pure = sum(risk.pure_leaves)
        disclosed = (
            _("This is class disclosure.") if has_classes else _("This discloses the number to within one level.")
        )
        rule = "pure-leaves" if has_classes else "pure-leaves/number"
        sentence = f"{_pure(subject, risk)} {disclosed}" if pure else _pure(subject, risk)
        yield check(rule, "fail" if pure else "pass", sentence, pure, limit=0)
    if risk.few_leaves is not None and has_classes:
        few = sum(risk.few_leaves)
        sentence = ngettext(
            "{count} of {all} leaves has {few} of a class.",
            "{count} of {all} leaves have {few} of a class.",
            few,
            all=risk.leaves,
            few=_("1 to {most} {rows}", most=risk.threshold - 1, rows=noun_of(column)),
        )
        yield check("few-of-class", "review" if few else "pass", sentence, few, least=least)
    if subject.person_unit is not None and risk.view != "units":
        several = _("Rows are counted, and one {unit} may have several of them.", unit=quoted_text(subject.person_unit))
        yield check("units", "review", f"{several} {fewer_units(least)}", risk.fewest)
    elif (several := rows_of_persons(subject)) and risk.fewest < risk.threshold * (subject.form.rows_per_unit or 1):
        yield check("units", "review", f"{several} {fewer_units(least)}", risk.fewest)
    if risk.alone is not None:
        status: Status = "review" if risk.alone else "pass"
        yield check("joint-cells", status, _alone(risk), risk.alone, limit=0)
    if risk.contradicted:
        sentence = _(
            "The given rows cannot have produced the numbers of rows that the trees store: they are not the training "
            "rows."
        )
        yield check("counts", "fail", sentence, risk.contradicted, limit=0)


def tags(risk: EnsembleRisk | str) -> set[str]:
    """Return which numbers of rows are known, as the tags that checks require."""
    if isinstance(risk, str):
        return set()
    known = {
        "counts": True,
        "class-counts": risk.few_leaves is not None,
        "stored-counts": risk.view != "weighted",
    }
    return {name for name, holds in known.items() if holds}


def reconstructed(subject: Subject, risk: EnsembleRisk | str, data: Any) -> Reconstruction | str:
    """Return the residual entropies given all trees, or a sentence that states why they are unknown."""
    if subject.is_opaque or subject.schema is None:
        return _("The decision paths of this model are not known.")
    if data is None or isinstance(risk, str) or risk.contradicted:
        return _("Which combinations of leaves have rows is known only with the training rows.")
    leaves = sum(tree.get_n_leaves() for tree in members(subject.last))
    if leaves > MOST_LEAVES or len(data) * len(members(subject.last)) > MOST_PLACES:
        return _(
            "The possible rows of the combinations of leaves are counted only for at most {leaves} leaves, and at most "
            "{rows} rows times trees; audit.joint_reconstruction has no limit.",
            leaves=MOST_LEAVES,
            rows=MOST_PLACES,
        )
    try:
        return joint_reconstruction([subject.model], data, subject.schema)
    except ArgumentTypeError as error:
        return f"{error}"
