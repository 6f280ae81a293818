"""Units of a report: persons with several rows, the guarantee for all rows of a person, and households."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.audit.inference.labelled import unit_numbers
from hedgerow.audit.inference.overfitting import apply_of
from hedgerow.audit.readers.ensembles import leaf_nodes
from hedgerow.boundary.arrays import Index, Integers
from hedgerow.errors import DomainError
from hedgerow.privacy.amounts import amount_text, total
from hedgerow.privacy.charge import total_rho
from hedgerow.privacy.unit import Unit, group_privacy
from hedgerow.privacy.wording import noun
from hedgerow.report.checks import Check, Status, check, rows_text, short
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject
from hedgerow.schema.contributions import names_person, repeats
from hedgerow.schema.schema import Schema
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table
from hedgerow.text.language import _, ngettext, number
from hedgerow.text.values import quoted_text


@dataclass(frozen=True)
class PersonBound:
    """The guarantee for all rows of one person, from the guarantee for the unit of the card.

    Attributes
    ----------
    steps : int
        The number of neighbouring tables from a table with a person to the same table without the person.
    epsilon, delta : Fraction
        The guarantee for the person.
    rho : Fraction or None
        The guarantee in ρ; None if the ρ of a charge is unknown.
    """

    steps: int
    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None


def steps_of(subject: Subject, unit: Unit | None) -> int | None:
    """Return the number of steps between the tables with and without a person; None if nothing states it.

    A step leads to a neighbouring table. If the unit is one row, each row of the person is a step. If the unit is the
    person, all rows together are one step. For other units, such as visits, k rows of a person change at most k units.
    A unit changes by removing it and adding it again, which takes two steps.
    """
    rows = subject.form.rows_per_unit
    if unit is None:
        return rows
    if subject.person_unit in (None, unit.column):
        return 1
    return None if rows is None else 2 * rows


def person_bound(subject: Subject) -> PersonBound | None:
    """Return the guarantee for all rows of one person; None without a guarantee or a stated number of rows."""
    steps = steps_of(subject, subject.card.unit)
    if subject.bound is None or steps is None:
        return None
    return PersonBound(steps, *group_privacy(*subject.bound, total_rho(subject.card.planned), steps))


def group_bound(subject: Subject) -> PersonBound | None:
    """Return the guarantee for all rows of one person if it is weaker than the guarantee of the card, else None."""
    bound = person_bound(subject)
    return None if bound is None or bound.steps == 1 else bound


def person_epsilon(subject: Subject, releases: Releases) -> Fraction | None:
    """Return the ε of all recorded releases for all rows of one person; None without a stated number of rows.

    Each release has a guarantee for a person, regardless of its unit of privacy, and these guarantees add up.
    """
    amounts = [(own.epsilon, steps_of(subject, unit)) for unit, own in releases.by_unit.items()]
    known = [epsilon * steps for epsilon, steps in amounts if steps is not None]
    return total(known) if len(known) == len(amounts) else None


def judged_bound(subject: Subject) -> tuple[Fraction, Fraction] | None:
    """Return ε and δ for all rows of one person, or for the card's unit if the number of rows is not stated."""
    bound = person_bound(subject)
    return subject.bound if bound is None else (bound.epsilon, bound.delta)


def judged_epsilon(subject: Subject) -> Fraction:
    """Return the ε by which the guarantee is judged: for a person, or for a row without a stated number of rows."""
    bound = person_bound(subject)
    return (subject.card.epsilon or Fraction(0)) if bound is None else bound.epsilon


def person_checks(subject: Subject) -> Iterator[Check]:
    """Yield the check of whether the guarantee covers persons, directly or by their stated number of rows."""
    if not subject.is_private:
        return
    card, form, bound = subject.card, subject.form, person_bound(subject)
    if bound is None:
        sentence = _("The form does not state how many rows one person can have (rows_per_unit).")
        if form.unit_column:
            sentence = _(
                "The column {column} identifies persons, but the form does not state how many rows one person can have "
                "(rows_per_unit).",
                column=quoted_text(form.unit_column),
            )
        limit = _("The guarantee covers one row, and is weaker for a person with several rows.")
        if card.unit is not None:
            limit = _(
                "The guarantee covers one {unit}, and is weaker for a person with several of them.",
                unit=noun(card.unit),
            )
        yield check("rows-per-person", "not_run", f"{sentence} {limit}")
    elif card.unit is not None and bound.steps == 1:
        sentence = _("The guarantee covers all rows of each {unit} together.", unit=noun(card.unit))
        yield check("rows-per-person", "pass", sentence, bound.steps)
    else:
        sentence = ngettext(
            "By the form, one person has at most {count} row, so that a person is protected with epsilon = {epsilon}.",
            "By the form, one person has at most {count} rows, so that a person is protected with epsilon = {epsilon}.",
            form.rows_per_unit or 1,
            epsilon=number(amount_text(bound.epsilon)),
        )
        yield check("rows-per-person", "pass", sentence, bound.steps)


def row_unit_checks(subject: Subject, train: tuple[Any, Any] | None) -> Iterator[Check]:
    """Yield the checks of persons with several rows, and of second units in leaves. **Private**."""
    if train is None:
        return
    yield from _identifiers(subject, train[0])
    second = second_units(subject, train[0])
    if second is not None:
        yield _second(subject, second)


def _identifiers(subject: Subject, X: Any) -> Iterator[Check]:
    stated, named, columns = subject.form.rows_per_unit, subject.form.unit_column, Table.of(X).names or ()
    if named and named in columns:
        yield from _rows_of_persons(subject, most_rows(Table.of(X).exact_column(named)))
    elif named:
        sentence = _(
            "The rows lack the column {column}, which identifies persons according to the form.",
            column=quoted_text(named),
        )
        yield check("identifiers", "not_run", sentence)
    elif subject.schema is None and columns:
        sentence = _("Columns that identify persons: not run. Required: the schema of the model.")
        yield check("identifiers", "not_run", sentence)
    for name, most in undeclared_identifiers(subject, X):
        if most > (stated or 1):
            sentence = _(
                "The column {column} looks like an identifier of persons, one of whom has {most} rows. Name it in the "
                "form as unit_column, with rows_per_unit, or as second_unit if it contains households or institutions; "
                "or remove it from the rows.",
                column=quoted_text(name),
                most=most,
            )
            yield check("identifiers", "review", sentence, most, limit=stated or 1)


def _rows_of_persons(subject: Subject, most: int) -> Iterator[Check]:
    """Yield the check of whether a person has more rows than stated, or several rows without a stated number."""
    stated = subject.form.rows_per_unit
    values = {"column": quoted_text(subject.form.unit_column), "rows": rows_text(most)}
    if stated is not None and most > stated:
        sentence = _(
            "A value of {column} has {rows}; the form states at most {stated} per person.",
            stated=rows_text(stated),
            **values,
        )
        yield check("identifiers", "fail", sentence, most, limit=stated)
    elif stated is None and most > 1 and subject.card.unit is None:
        sentence = _(
            "A value of {column} has {rows}; the form does not state how many rows one person can have "
            "(rows_per_unit).",
            **values,
        )
        yield check("identifiers", "review", sentence, most)


def _second(subject: Subject, second: "SecondUnits") -> Check:
    """Return the check of second units: fail for leaves of one unit, review for few units or a dominant unit."""
    fewest, most = subject.appetite.fewest_rows, subject.appetite.largest_unit
    alone = sum(units == 1 for units in second.numbers)
    few = sum(units < fewest or share > most for units, share in zip(second.numbers, second.largest, strict=True))
    share = short(100 * most)
    values = {"column": quoted_text(second.column), "all": len(second.numbers)}
    if alone:
        status: Status = "review" if subject.is_private else "fail"
        sentence = ngettext(
            "In {count} of {all} leaves, all persons belong to the same unit ({column}).",
            "In {count} of {all} leaves, all persons belong to the same unit ({column}).",
            alone,
            **values,
        )
    elif few:
        status = "review"
        sentence = ngettext(
            "In {count} of {all} leaves, the persons belong to fewer than {fewest} units ({column}), or one unit has "
            "more than {share} % of them.",
            "In {count} of {all} leaves, the persons belong to fewer than {fewest} units ({column}), or one unit has "
            "more than {share} % of them.",
            few,
            fewest=fewest,
            share=share,
            **values,
        )
    else:
        status = "pass"
        sentence = _(
            "Every leaf has persons of at least {fewest} units ({column}), and no unit has more than {share} % of "
            "them.",
            column=values["column"],
            fewest=fewest,
            share=share,
        )
    return check("second-units", status, sentence, min(second.numbers), limit=fewest, fewest=fewest, share=share)


def undeclared_identifiers(subject: Subject, X: Any) -> Iterator[tuple[str, int]]:
    """Yield columns that look like identifiers of persons, and the largest number of rows of a value. **Private**.

    Only columns outside the schema are examined, and only if the rows lack the column of persons that form or schema
    name. A column is yielded if it has the name of an identifier of persons. It is also yielded if its values repeat as
    identifiers do and their rows agree in an attribute. Identifiers repeat as in `schema.contributions.repeats`: there
    are at least 20 different texts or 200 whole numbers, and at least one value for 20 rows. At least half of the
    values repeat, and none repeats more than 10 times the mean. Dates, real numbers, ages, years and measurements are
    not taken for identifiers.
    """
    table = Table.of(X)
    if subject.schema is None or table.names is None or subject.person_unit in table.names:
        return
    known = {*subject.schema.columns(), *subject.schema.extra_columns, subject.second_unit}
    for name in (name for name in table.names if name not in known):
        with suppress(DomainError):  # a column that is not read, such as a column of times, is not an identifier
            column = table.exact_column(name)
            most = most_rows(column)
            if most > 1 and (names_person(name) or (repeats(column) and _agrees(subject.schema, table, column))):
                yield name, most


def has_undeclared_columns(subject: Subject, X: Any) -> bool:
    """Return whether a table has columns in which an undeclared identifier of persons could be."""
    names = Table.of(X).names
    if subject.schema is None or names is None:
        return True  # the check of identifiers states the reason why it was not run, or examines what it can
    return not {*subject.schema.columns(), *subject.schema.extra_columns}.issuperset(names)


def _agrees(schema: Schema, table: Table, column: Column) -> bool:
    """Return whether rows with the same value of a column agree in an attribute as rows of a person do.

    They agree if kappa is at least 80 % in an attribute. Kappa is the agreement beyond chance, divided by its largest
    possible value. True if no attribute can show agreement.
    """
    whose = _codes(column)
    order = np.argsort(whose, kind="stable")
    is_same, kappas = np.diff(whose[order]) == 0, list[float]()
    for name in (name for name in schema.columns() if name in (table.names or ())):
        codes = _codes(table.exact_column(name))
        chance = float(((np.bincount(codes) / len(codes)) ** 2).sum())
        if chance <= _LARGEST_CHANCE:
            agreement = float((np.diff(codes[order])[is_same] == 0).mean())
            kappas.append((agreement - chance) / (1 - chance))
    return max(kappas, default=1.0) >= _LEAST_KAPPA


_LEAST_KAPPA = 0.8
_LARGEST_CHANCE = 0.9  # the probability that two rows agree in an attribute, above which agreement shows little


def _codes(column: Column) -> Integers:
    """Return the number of each row's value."""
    values = column.words() if column.is_text else column.values
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def most_rows(column: Column) -> int:
    """Return the largest number of rows with the same value in a column; 0 if all values are missing."""
    return int(np.unique(column.present(), return_counts=True)[1].max(initial=0))


@dataclass(frozen=True)
class SecondUnits:
    """The second units, such as households, in each leaf with rows. **Private**.

    Attributes
    ----------
    column : str
        The column of the second unit.
    numbers : tuple of int
        The number of second units with persons in each leaf that has rows.
    largest : tuple of float
        The largest share of a second unit among the persons of each leaf.
    """

    column: str
    numbers: tuple[int, ...]
    largest: tuple[float, ...]


def second_units(subject: Subject, X: Any) -> SecondUnits | None:
    """Return the second units in each leaf; None without leaves, or if the rows do not have the column."""
    column = subject.second_unit
    second = None if column is None else unit_numbers(subject.schema, X, column)
    if column is None or second is None or not subject.has_leaves:
        return None
    persons = unit_numbers(subject.schema, X, subject.person_unit)
    persons = np.arange(len(second)) if persons is None else persons
    numbers, largest = list[int](), list[float]()
    for leaves in leaf_places(subject, X):
        pairs = np.unique(np.column_stack([leaves, second, persons]), axis=0)[:, :2]
        places, held = np.unique(pairs, axis=0, return_counts=True)
        starts = np.flatnonzero(np.diff(places[:, 0], prepend=-1))
        numbers += np.diff(starts, append=len(places)).tolist()
        largest += np.divide(np.maximum.reduceat(held, starts), np.add.reduceat(held, starts)).tolist()
    return SecondUnits(column, tuple(numbers), tuple(largest)) if numbers else None


def leaf_places(subject: Subject, X: Any) -> Iterator[Index]:
    """Yield the number of each row's leaf: once for each tree of an ensemble, and never if no leaf is known."""
    if subject.is_ensemble:
        yield from leaf_nodes(subject.model, X).T
    elif subject.paths is None and not subject.is_opaque:
        yield np.unique(np.asarray(apply_of(subject.leaf_of)(X)), return_inverse=True)[1]
    elif subject.paths is not None:
        paths, _schema, domain = subject.refined
        yield paths.apply(X, domain.schema)
