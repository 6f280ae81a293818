"""Units of a report: persons with several rows, what the guarantee is for all their rows, and households."""

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
from hedgerow.privacy.wording import noun, protected
from hedgerow.report.checks import Check, Status, check
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject
from hedgerow.schema.contributions import names_person, repeats
from hedgerow.schema.schema import Schema
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table
from hedgerow.text.messages import capitalised, number_of
from hedgerow.text.values import quoted_text


@dataclass(frozen=True)
class PersonBound:
    """The guarantee for all rows of one person, from the guarantee for the unit of the card.

    Attributes
    ----------
    steps : int
        How many neighbouring tables lie between a table with a person and the same table without the person.
    epsilon, delta : Fraction
        The guarantee for the person.
    rho : Fraction or None
        The same in ρ; None if it is not known of all charges.
    """

    steps: int
    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None


def steps_of(subject: Subject, unit: Unit | None) -> int | None:
    """Return the number of neighbouring tables between with and without one person; None if nothing states it.

    If one row is the unit, each row of the person is a step. If the unit is the person, all rows are one step. Rows of
    a person in other units, such as visits, change as many units at most, and a unit changes by removing it and adding
    it again: two steps each.
    """
    rows = subject.form.rows_per_unit
    if unit is None:
        return rows
    if subject.person_unit in (None, unit.column):
        return 1
    return None if rows is None else 2 * rows


def person_bound(subject: Subject) -> PersonBound | None:
    """Return the guarantee for all rows of one person; None without a guarantee, or if nothing states their number."""
    steps = steps_of(subject, subject.card.unit)
    if subject.bound is None or steps is None:
        return None
    return PersonBound(steps, *group_privacy(*subject.bound, total_rho(subject.card.planned), steps))


def group_bound(subject: Subject) -> PersonBound | None:
    """Return the guarantee for all rows of one person if it is weaker than the guarantee of the card, else None."""
    bound = person_bound(subject)
    return None if bound is None or bound.steps == 1 else bound


def person_epsilon(subject: Subject, releases: Releases) -> Fraction | None:
    """Return the ε of all releases on record for all rows of one person; None if nothing states their number.

    Releases with a guarantee for different units have one for a person each, and these add up.
    """
    amounts = [(one.epsilon, steps_of(subject, unit)) for unit, one in releases.by_unit.items()]
    known = [epsilon * steps for epsilon, steps in amounts if steps is not None]
    return total(known) if len(known) == len(amounts) else None


def judged_bound(subject: Subject) -> tuple[Fraction, Fraction] | None:
    """Return ε and δ for all rows of one person; for the unit of the card if their number is not stated."""
    bound = person_bound(subject)
    return subject.bound if bound is None else (bound.epsilon, bound.delta)


def judged_epsilon(subject: Subject) -> Fraction:
    """Return the ε by which the guarantee is judged: for a person, or for a row if their rows are not stated."""
    bound = person_bound(subject)
    return (subject.card.epsilon or Fraction(0)) if bound is None else bound.epsilon


def person_checks(subject: Subject) -> Iterator[Check]:
    """Yield whether the guarantee is for persons, or for rows of which a person has a stated number."""
    if not subject.is_private:
        return
    card, form, bound = subject.card, subject.form, person_bound(subject)
    if bound is None:
        unknown = "how many rows one person can have is not stated (rows_per_unit in the form)"
        column = f"The column {quoted_text(form.unit_column)} identifies persons, and {unknown}"
        limit = f"the guarantee is for one {noun(card.unit)}, and weaker for a person who has several"
        stated = column if form.unit_column else capitalised(unknown)
        yield check("rows-per-person", "not_run", f"{stated}: {limit}.")
    elif card.unit is not None and bound.steps == 1:
        sentence = f"{protected(card.unit)} protected: the guarantee is for all rows of one {noun(card.unit)}."
        yield check("rows-per-person", "pass", sentence, bound.steps)
    else:
        rows = number_of(form.rows_per_unit or 1, "row")
        words = f"epsilon = {amount_text(bound.epsilon)}"
        yield check("rows-per-person", "pass", f"One person has at most {rows}: for a person, {words}.", bound.steps)


def row_unit_checks(subject: Subject, train: tuple[Any, Any] | None) -> Iterator[Check]:
    """Yield what the training rows say of persons with several rows, and of second units in leaves. **Private**."""
    if train is None:
        return
    yield from _identifiers(subject, train[0])
    found = second_units(subject, train[0])
    if found is not None:
        yield _second(subject, found)


def _identifiers(subject: Subject, X: Any) -> Iterator[Check]:
    stated, named, columns = subject.form.rows_per_unit, subject.form.unit_column, Table.of(X).names or ()
    if named and named in columns:
        yield from _rows_of_persons(subject, most_rows(Table.of(X).exact_column(named)))
    elif named:
        sentence = f"The rows do not have the column {quoted_text(named)}, which identifies persons by the form."
        yield check("identifiers", "not_run", sentence)
    elif subject.schema is None and columns:
        sentence = "Identifiers of persons among the columns: not examined. It needs the schema of the model."
        yield check("identifiers", "not_run", sentence)
    for name, most in undeclared_identifiers(subject, X):
        if most > (stated or 1):
            looks = f"The column {quoted_text(name)} looks like an identifier of persons, of whom one has {most:,} rows"
            advice = (
                "name it in the form, as unit_column with rows_per_unit, or as second_unit if it has households or "
                "institutions; or leave it out of the rows"
            )
            yield check("identifiers", "review", f"{looks}: {advice}.", most, limit=stated or 1)


def _rows_of_persons(subject: Subject, most: int) -> Iterator[Check]:
    """Yield whether the most rows of a person are more than stated, or are several and not stated."""
    stated = subject.form.rows_per_unit
    words = f"One value of {quoted_text(subject.form.unit_column)} has {number_of(most, 'row')}"
    if stated is not None and most > stated:
        sentence = f"{words}; the form states at most {number_of(stated, 'row')} a person."
        yield check("identifiers", "fail", sentence, most, limit=stated)
    elif stated is None and most > 1 and subject.card.unit is None:
        sentence = f"{words}; the form does not state how many rows one person can have (rows_per_unit)."
        yield check("identifiers", "review", sentence, most)


def _second(subject: Subject, found: "SecondUnits") -> Check:
    """Return the check of second units: fail if a leaf is of one unit, and review if it has few or a dominant one."""
    fewest, most = subject.appetite.fewest_rows, subject.appetite.largest_unit
    units, percent = f"{fewest} units ({quoted_text(found.column)})", 100 * most
    alone = sum(number == 1 for number in found.numbers)
    few = sum(number < fewest or share > most for number, share in zip(found.numbers, found.largest, strict=True))
    whole = number_of(len(found.numbers), "leaf", "leaves")
    if alone:
        status: Status = "review" if subject.is_private else "fail"
        sentence = f"In {alone:,} of {whole} all persons are of one unit ({quoted_text(found.column)})."
    elif few:
        status = "review"
        sentence = (
            f"In {few:,} of {whole} persons are of fewer than {units}, or one has more than {percent:g} % of them."
        )
    else:
        status = "pass"
        sentence = f"Every leaf has persons of at least {units}, and none has more than {percent:g} % of them."
    return check("second-units", status, sentence, min(found.numbers), limit=fewest, fewest=fewest, share=percent)


def undeclared_identifiers(subject: Subject, X: Any) -> Iterator[tuple[str, int]]:
    """Yield columns of rows that look like identifiers of persons with several rows, and their most rows. **Private**.

    Only columns outside of the schema are looked at, if the rows do not have a column of persons that form or schema
    names: columns with the name of an identifier of persons, and columns whose values repeat as identifiers do
    (`schema.contributions.repeats`: at least 20 values of text or 200 whole numbers, one in 20 rows at least, of which
    half repeat, none more than 10 times the mean), and agree in an attribute. Dates, real numbers, ages, years and
    measurements are not taken for identifiers.
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


def _agrees(schema: Schema, table: Table, column: Column) -> bool:
    """Return whether rows with the same value of a column agree in an attribute as rows of a person do.

    They agree if kappa, the agreement beyond chance as a share of the most that is possible, is at least 80 % in an
    attribute. True if no attribute can show it.
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
_LARGEST_CHANCE = 0.9  # of two rows to agree in an attribute, above which agreement shows little


def _codes(column: Column) -> Integers:
    """Return the number of each row's value."""
    values = column.words() if column.is_text else column.values
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def most_rows(column: Column) -> int:
    """Return the most rows that have the same value in a column, missing values left out; 0 if all are missing."""
    return int(np.unique(column.present(), return_counts=True)[1].max(initial=0))


@dataclass(frozen=True)
class SecondUnits:
    """The second units, such as households, in each leaf with rows. **Private**.

    Attributes
    ----------
    column : str
        The column of the second unit.
    numbers : tuple of int
        How many second units have persons in each leaf, of the leaves that have rows.
    largest : tuple of float
        The largest share of the persons of a leaf that one second unit has.
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
    """Yield a number of the leaf of each row: once for each tree of an ensemble, and never if no leaf is known."""
    if subject.is_ensemble:
        yield from leaf_nodes(subject.model, X).T
    elif subject.paths is None and not subject.is_opaque:
        yield np.unique(np.asarray(apply_of(subject.leaf_of)(X)), return_inverse=True)[1]
    elif subject.paths is not None:
        paths, _, domain = subject.refined
        yield paths.apply(X, domain.schema)
