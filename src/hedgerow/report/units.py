"""Units of a report: persons with several rows, what the guarantee is for all their rows, and households."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.audit.inference.labelled import unit_numbers
from hedgerow.audit.inference.overfitting import apply_of
from hedgerow.boundary.arrays import Index
from hedgerow.errors import DomainError
from hedgerow.privacy.charge import total_rho
from hedgerow.privacy.unit import Unit, group_privacy
from hedgerow.report.subject import Subject
from hedgerow.schema.contributions import names_person, repeats
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table


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
    if subject.form.unit_column in ("", unit.column):
        return 1
    return None if rows is None else 2 * rows


def person_bound(subject: Subject) -> PersonBound | None:
    """Return the guarantee for all rows of one person; None without a guarantee, or if nothing states their number."""
    steps = steps_of(subject, subject.card.unit)
    if subject.bound is None or steps is None:
        return None
    return PersonBound(steps, *group_privacy(*subject.bound, total_rho(subject.card.planned), steps))


def undeclared_identifiers(subject: Subject, X: Any) -> Iterator[tuple[str, int]]:
    """Yield columns of rows that look like identifiers of persons with several rows, and their most rows. **Private**.

    Only columns outside of the schema are looked at, if neither form nor schema names the column of persons: columns
    whose name is that of an identifier of persons, and columns whose values repeat as those of persons do
    (`schema.contributions.repeats`: at least 20 values of text or 200 whole numbers, one in 20 rows at least, of which
    half repeat, none more than 10 times the mean). Dates, real numbers, ages and years are not taken for identifiers.
    """
    table = Table.of(X)
    if subject.person_unit is not None or subject.schema is None or table.names is None:
        return
    known = {*subject.schema.columns(), *subject.schema.beside, subject.second_unit}
    for name in (name for name in table.names if name not in known):
        with suppress(DomainError):  # a column that is not read, such as a column of times, is not an identifier
            column = table.exact_column(name)
            most = most_rows(column)
            if most > 1 and (names_person(name) or repeats(column)):
                yield name, most


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
    leaves = leaf_places(subject, X)
    rows = np.column_stack([leaves, second, np.arange(len(second)) if persons is None else persons])
    places, held = np.unique(np.unique(rows, axis=0)[:, :2], axis=0, return_counts=True)
    by_leaf = [held[places[:, 0] == leaf] for leaf in np.unique(places[:, 0])]
    return SecondUnits(column, tuple(map(len, by_leaf)), tuple(float(own.max() / own.sum()) for own in by_leaf))


def leaf_places(subject: Subject, X: Any) -> Index:
    """Return a number of the leaf of each row."""
    if subject.paths is None:
        return np.unique(np.asarray(apply_of(subject.leaf_of)(X)), return_inverse=True)[1]
    paths, _, domain = subject.refined
    return paths.apply(X, domain.schema)
