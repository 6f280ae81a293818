"""The leaves of ensembles of trees: the worst tree, and all trees together. **Private**.

No ensemble has a guarantee that hedgerow knows of, so that all of this is for the board.
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
from hedgerow.report.checks import Check, Status, check
from hedgerow.report.contents import MOST_SHOWN, Column, Grid, GridValue, Section, SheetLine, section
from hedgerow.report.leaves import rows_of_persons, why_cell
from hedgerow.report.subject import Subject
from hedgerow.text.messages import capitalised, number_of
from hedgerow.text.values import quoted_text, shown_text

MOST_LEAVES, MOST_PLACES = 1_500, 500_000
"""The most leaves of all trees, and the most rows times trees, whose possible rows are counted for a report."""


def examined(subject: Subject, train: tuple[Any, Any] | None) -> EnsembleRisk | str:
    """Return the leaves of an ensemble, by its training rows if given; or the reason why they cannot be examined."""
    if subject.is_opaque:
        kind = type(subject.last).__name__
        return f"scikit-learn publishes no structure of the trees of a {kind}, so that no leaf can be examined"
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
    if isinstance(risk, str):
        return section("leaves", template="ensemble", problem=risk, part=subject.part)
    values: dict[str, Any] = {"risk": risk, "small": _small(risk), "pure": _pure(subject, risk), "alone": _alone(risk)}
    grids = (_trees(subject, risk), _worst(subject, risk))
    return section("leaves", _facts(subject, risk), grids, template="ensemble", problem="", part=subject.part, **values)


def _small(risk: EnsembleRisk) -> str:
    few, (_, rows) = number_of(risk.threshold, *risk.counted), risk.counted
    if not risk.small:
        return f"Every leaf of every tree has at least {few}"
    lie = f"{risk.certain_in_small:,} {rows} lie in such a leaf of some tree"
    lie = f"at least {lie}" if risk.rows is None else lie.replace(f" {rows}", f" of {risk.rows:,} {rows}", 1)
    leaves = f"{sum(risk.small_leaves):,} of {risk.leaves:,} leaves"
    return f"{leaves}, in {_of_trees(risk, risk.small)}, have fewer than {few}, and {lie}"


def _of_trees(risk: EnsembleRisk, chosen: Sequence[int]) -> str:
    return f"{len(chosen)} of {number_of(len(risk.members), 'tree')}"


def _pure(subject: Subject, risk: EnsembleRisk) -> str:
    if risk.pure_leaves is None:
        return f"Whether their rows are of one {subject.part} is not known"
    if not risk.pure:
        return f"No leaf of any tree has rows of one {subject.part} alone"
    count = sum(risk.pure_leaves)
    verb = "has" if count == 1 else "have"
    trees = _of_trees(risk, risk.pure)
    return f"{count:,} of {risk.leaves:,} leaves, in {trees}, {verb} rows of one {subject.part} alone"


def _alone(risk: EnsembleRisk) -> str:
    if risk.rows is None:
        return "Which rows share their leaves in all trees is not known without the training rows"
    one, rows = risk.counted
    if not risk.alone:
        return f"No {one} is alone in its combination of leaves"
    return f"{risk.alone:,} of {risk.rows:,} {rows} are alone in their combination of leaves"


def _facts(subject: Subject, risk: EnsembleRisk) -> Iterator[SheetLine]:
    (_, rows), few = risk.counted, number_of(risk.threshold, *risk.counted)
    yield SheetLine("trees", "trees", f"{len(risk.members):,}", len(risk.members))
    yield SheetLine("leaves", "leaves of all trees", f"{risk.leaves:,}", risk.leaves)
    yield SheetLine("smallest_leaf", f"{rows} in the smallest leaf of any tree", f"{risk.fewest:,}", risk.fewest)
    small, part = sum(risk.small_leaves), subject.part
    where = f"{small:,}, in {_of_trees(risk, risk.small)}"
    yield SheetLine("small_leaves", f"leaves with fewer than {few}", where, small)
    whole = "" if risk.rows is None else f" of {risk.rows:,}"
    held = f"{'at least ' if risk.rows is None else ''}{risk.certain_in_small:,}{whole}"
    name = f"{rows} in a leaf below the threshold, in any tree"
    yield SheetLine("rows_in_small_leaves", name, held, risk.certain_in_small)
    if risk.pure_leaves is not None:
        count = sum(risk.pure_leaves)
        yield SheetLine("pure_leaves", f"leaves of one {part}", f"{count:,}, in {_of_trees(risk, risk.pure)}", count)
    if risk.in_pure is not None:
        name = f"{rows} in a leaf of one {part}, in any tree"
        yield SheetLine("rows_in_pure_leaves", name, f"{risk.in_pure:,}{whole}", risk.in_pure)
    if risk.few_leaves is not None and subject.number is None:
        count, name = sum(risk.few_leaves), f"leaves in which a class has 1 to {risk.threshold - 1} {rows}"
        yield SheetLine("few_of_class_leaves", name, f"{count:,}", count)
    if risk.cells is not None and risk.alone is not None:
        yield SheetLine("combinations", "combinations of leaves that rows lie in", f"{risk.cells:,}", risk.cells)
        yield SheetLine("rows_alone", f"{rows} alone in their combination", f"{risk.alone:,}{whole}", risk.alone)


def _trees(subject: Subject, risk: EnsembleRisk) -> Grid:
    members = risk.members
    columns: list[tuple[Column, Sequence[GridValue]]] = [
        (Column("tree", "tree"), range(len(members))),
        (Column("leaves", "leaves"), [len(member.nodes) for member in members]),
        (
            Column("smallest_leaf", f"{risk.counted[1]} in the smallest leaf"),
            [int(member.rows.min()) for member in members],
        ),
        (Column("small_leaves", "small leaves"), risk.small_leaves),
    ]
    if risk.pure_leaves is not None:
        columns.append((Column("pure_leaves", f"leaves of one {subject.part}"), risk.pure_leaves))
    if risk.few_leaves is not None and subject.number is None:
        columns.append((Column("few_of_class_leaves", "leaves with few of a class"), risk.few_leaves))
    order = sorted(range(len(members)), key=lambda i: (int(members[i].rows.min()), -risk.small_leaves[i], i))
    return Grid.of_columns("trees", "Trees, the worst first", columns, order)


def _worst(subject: Subject, risk: EnsembleRisk) -> Grid:
    """Return the worst leaves of the worst tree, with their conditions if they can be read."""
    member, rows = risk.members[risk.worst], risk.counted[1]
    pure = np.zeros(len(member.nodes), dtype=bool) if member.pure is None else member.pure
    few = None if subject.number is not None else member.few(risk.threshold)
    flags = [("few_rows", f"few {rows}", member.small(risk.threshold)), ("pure", f"one {subject.part}", pure)]
    flags += [] if few is None else [("few_of_class", "few of a class", few)]
    rank = np.lexsort((member.nodes, ~pure, member.rows))[:MOST_SHOWN].tolist()
    names = _conditions(subject, risk.worst, member.nodes[rank].tolist())
    columns: list[tuple[Column, Sequence[GridValue]]] = [
        (Column("leaf", "leaf", is_text=True), names),
        (Column("rows", rows), member.rows[rank].tolist()),
    ]
    if member.counts is not None and subject.number is None:
        by_class = zip(risk.classes or (), member.counts[rank].T.tolist(), strict=True)
        for place, (name, counts) in enumerate(by_class, 1):
            columns.append((Column(f"rows_class_{place}", f"{rows} of {shown_text(name)}"), counts))
    whys = [{code: word for code, word, flag in flags if flag[i]} for i in rank]
    columns.append((Column("why", "why"), [why_cell(why) for why in whys]))
    title = f"The smallest leaves of tree {risk.worst}, the worst"
    return Grid.of_columns("worst_tree", title, columns, range(len(rank)))


def _conditions(subject: Subject, tree: int, nodes: Sequence[int]) -> list[str]:
    """Return the decision paths of some leaves of a tree in words; their numbers if they cannot be read."""
    numbers = [f"leaf {node}" for node in nodes]
    if subject.schema is None:
        return numbers
    try:
        member, features = trees_of(subject.model, subject.schema, subject.features)[tree]
        paths, schema = paths_of(member, subject.schema, features)
    except ArgumentTypeError:  # of steps that cannot be read
        return numbers
    place = {node: i for i, node in enumerate(leaf_order(member))}
    chosen = Paths(tuple(paths.paths[place[node]] for node in nodes), exclusive=True)
    domain = Domain.of(schema, chosen.literals)
    words = normalised(chosen, domain.schema).conditions(domain.schema)
    return [f"{node}. {text}" for node, text in zip(nodes, words, strict=True)]


def checks(subject: Subject, risk: EnsembleRisk | str) -> Iterator[Check]:
    yield from _not_examined(subject, risk) if isinstance(risk, str) else _examined(subject, risk)


def _not_examined(subject: Subject, problem: str) -> Iterator[Check]:
    least, percent = number_of(subject.appetite.fewest_rows, "row"), 100 * subject.appetite.dominance
    by_kind = "few-of-class" if subject.number is None else "dominance"
    for rule in ("small-leaves", "pure-leaves", "joint-cells", "counts", by_kind):
        yield check(rule, "not_run", f"{capitalised(problem)}.", least=least, percent=percent)


def _examined(subject: Subject, risk: EnsembleRisk) -> Iterator[Check]:
    least, small = number_of(risk.threshold, *risk.counted), sum(risk.small_leaves)
    rule = "small-leaves" if risk.threshold == FEWEST_SAFE_ROWS else "small-leaves/own"
    if small or risk.view != "weighted":
        yield check(rule, "fail" if small else "pass", f"{_small(risk)}.", small, limit=risk.threshold, least=least)
    else:
        sentence = f"{_small(risk)}, but rows are counted once for each time that they were drawn; give the rows."
        yield check(rule, "not_run", sentence, small, limit=risk.threshold, least=least)
    if risk.pure_leaves is not None:
        pure = sum(risk.pure_leaves)
        what = "class disclosure" if subject.number is None else "the number is disclosed to within a level"
        rule = "pure-leaves" if subject.number is None else "pure-leaves/number"
        sentence = f"{_pure(subject, risk)}{f': {what}' if pure else ''}."
        yield check(rule, "fail" if pure else "pass", sentence, pure, limit=0)
    if risk.few_leaves is not None and subject.number is None:
        few = sum(risk.few_leaves)
        sentence = f"{few:,} of {risk.leaves:,} leaves have a class with 1 to {risk.threshold - 1} {risk.counted[1]}."
        yield check("few-of-class", "review" if few else "pass", sentence, few, least=least)
    if subject.person_unit is not None and risk.view != "units":
        whose = quoted_text(subject.person_unit)
        sentence = f"Rows are counted, of which one {whose} may have several. A leaf of {least} may have fewer units."
        yield check("units", "review", sentence, risk.fewest)
    elif (several := rows_of_persons(subject)) and risk.fewest < risk.threshold * (subject.form.rows_per_unit or 1):
        yield check("units", "review", f"{several} A leaf of {least} may have fewer units.", risk.fewest)
    if risk.alone is not None:
        status: Status = "review" if risk.alone else "pass"
        yield check("joint-cells", status, f"{_alone(risk)}.", risk.alone, limit=0)
    if risk.contradicted:
        sentence = "The rows given cannot have made the numbers of rows that the trees store: they are other rows."
        yield check("counts", "fail", sentence, risk.contradicted, limit=0)


def tags(risk: EnsembleRisk | str) -> set[str]:
    """Return which numbers of rows are known, as checks name what they need."""
    if isinstance(risk, str):
        return set()
    known = {
        "counts": True,
        "class-counts": risk.few_leaves is not None,
        "stored-counts": risk.view != "weighted",
    }
    return {name for name, holds in known.items() if holds}


def reconstructed(subject: Subject, risk: EnsembleRisk | str, data: Any) -> Reconstruction | str:
    """Return what all trees of an ensemble together leave uncertain of each row, or the reason why it is not known."""
    if subject.is_opaque or subject.schema is None:
        return "The decision paths of this model are not known."
    if data is None or isinstance(risk, str) or risk.contradicted:
        return "It depends on the training rows which combinations of leaves have rows."
    leaves = sum(tree.get_n_leaves() for tree in members(subject.last))
    if leaves > MOST_LEAVES or len(data) * len(members(subject.last)) > MOST_PLACES:
        return (
            f"The possible rows of the combinations of leaves are counted for at most {MOST_LEAVES:,} leaves, and "
            f"{MOST_PLACES:,} rows times trees; audit.joint_reconstruction has no limit."
        )
    try:
        return joint_reconstruction([subject.model], data, subject.schema)
    except ArgumentTypeError as error:
        return f"{error}"
