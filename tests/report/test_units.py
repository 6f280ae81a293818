"""Persons with several rows, and households: the guarantee for a person, identifiers in rows, units in leaves."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from hedgerow.privacy.charge import Charge
from hedgerow.privacy.unit import Unit
from hedgerow.report import Form, Report, Subject
from hedgerow.report.releases import PastRelease, Releases
from hedgerow.report.units import person_bound, person_epsilon, second_units, undeclared_identifiers
from tests.report.subjects import CARD, SCHEMA, a_table, a_tree, without_privacy


def private(epsilon=1, delta=0, unit=None):
    charge = Charge("draw", Fraction(epsilon), Fraction(delta), unit=unit)
    schema = SCHEMA if unit is None else replace(SCHEMA, unit=unit)
    return replace(a_tree(replace(CARD, charges=(charge,))), schema=schema)


def test_a_person_with_six_rows_has_six_times_the_epsilon_of_a_row():
    bound = person_bound(Subject(private(), Form(rows_per_unit=6)))
    assert (bound.steps, bound.epsilon, bound.delta) == (6, 6, 0)
    assert person_bound(Subject(private(), Form(rows_per_unit=1))).epsilon == 1
    assert person_bound(Subject(private(), Form())) is None
    assert person_bound(Subject(without_privacy(), Form(rows_per_unit=6))) is None


def test_a_guarantee_for_a_person_is_not_multiplied_by_the_rows():
    unit = Unit("patient_id", 6)
    for form in (Form(), Form(rows_per_unit=9), Form(rows_per_unit=6, unit_column="patient_id")):
        assert person_bound(Subject(private(unit=unit), form)).epsilon == 1


def test_a_guarantee_for_visits_holds_for_two_steps_a_visit_of_a_person():
    """A visit whose rows change, as those of one person are removed, is removed and added again."""
    visits = private(unit=Unit("visit", 3))
    assert person_bound(Subject(visits, Form(unit_column="patient_id", rows_per_unit=4))).epsilon == 8
    assert person_bound(Subject(visits, Form(unit_column="patient_id"))) is None


def test_the_delta_of_a_person_grows_with_epsilon():
    bound = person_bound(Subject(private(delta=Fraction(1, 10**6)), Form(rows_per_unit=3)))
    assert float(bound.delta) == pytest.approx(3 * np.exp(2) * 1e-6)


def table(**columns):
    frame, labels = a_table()
    return frame.assign(**columns), labels


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        ({"patient_id": np.arange(90) // 3}, [("patient_id", 3)]),
        ({"patient_id": np.arange(90)}, []),  # a number of the row
        ({"code": [f"c{i // 2}" for i in range(90)]}, [("code", 2)]),
        ({"code": [f"c{i}" for i in range(90)]}, []),
        ({"city": [f"city {i % 8}" for i in range(90)]}, []),
        ({"income": np.round(np.linspace(0, 9, 90), 1)}, []),
        ({"year": 1980 + np.arange(90) // 3}, []),
        ({"when": pd.date_range("2020-01-01", periods=45).repeat(2)}, []),
        ({"when": pd.date_range("2020-01-01", periods=90, tz="UTC")}, []),
        ({"note": [None, "x"] * 45}, []),
    ],
)
def test_columns_that_look_like_identifiers_of_persons(columns, expected):
    assert list(undeclared_identifiers(Subject(without_privacy()), table(**columns)[0])) == expected


def test_a_declared_identifier_is_not_undeclared():
    X, _ = table(patient_id=np.arange(90) // 3, hh=np.arange(90) // 9)
    assert list(undeclared_identifiers(Subject(without_privacy(), Form(unit_column="patient_id")), X)) == []
    declared = replace(without_privacy(), schema=replace(SCHEMA, unit=Unit("patient_id", 3)))
    assert list(undeclared_identifiers(Subject(declared), X)) == []
    assert (
        list(undeclared_identifiers(Subject(without_privacy(), Form(second_unit="hh")), X[["age", "smoker", "hh"]]))
        == []
    )
    assert list(undeclared_identifiers(Subject(without_privacy()), X.drop(columns="patient_id"))) == []  # hh has no ...
    assert list(undeclared_identifiers(Subject(without_privacy()), X[["age", "smoker"]].to_numpy(dtype=float))) == []


@pytest.mark.parametrize("kind", ["numbers", "ages", "cities", "money"])
def test_other_columns_are_rarely_taken_for_identifiers(kind):
    """Numbers drawn at random repeat, too, but fewer than half of them: no false alarm in 30 tables of each kind."""
    rng, result = np.random.default_rng(0), 0
    for _ in range(30):
        drawn = {
            "numbers": rng.integers(0, 10**6, 90),
            "ages": rng.integers(18, 99, 90),
            "cities": [f"city {i}" for i in rng.zipf(2, 90)],
            "money": np.round(rng.lognormal(10, 1, 90), -2).astype(int),
        }[kind]
        result += bool(list(undeclared_identifiers(Subject(without_privacy()), table(column=drawn)[0])))
    assert result == 0


@pytest.mark.parametrize("rows", [1, 6])
def test_values_that_repeat_by_chance_are_no_identifiers(rows):
    """Measurements and codes repeat as identifiers do, but rows that share them agree in no attribute."""
    rng, n = np.random.default_rng(0), 1800
    X = pd.DataFrame({"age": rng.integers(0, 99, n // rows), "smoker": rng.random(n // rows) < 0.3})
    X = X.loc[np.repeat(X.index, rows)].reset_index(drop=True)
    X = X.assign(dose=rng.integers(0, 1000, n), diagnosis=[f"A{code}" for code in rng.integers(100, 300, n)])
    X = X.assign(nr=1000 + np.arange(n) // rows, code=[f"p{i // rows}" for i in range(n)])
    result = list(undeclared_identifiers(Subject(without_privacy()), X))
    assert result == ([] if rows == 1 else [("nr", 6), ("code", 6)])
    assert list(undeclared_identifiers(Subject(without_privacy()), X.assign(age=1, smoker=True)))  # none can show it


def test_second_units_are_counted_by_persons():
    """By hand: the young are of 10 households, those in between of 2, of which one has 24 of 30, and the old of one."""
    households = [*(np.arange(30) % 10), *([20] * 24 + [21] * 6), *[30] * 30]
    X, _ = table(hh=households, person=np.arange(90))
    result = second_units(Subject(without_privacy(), Form(second_unit="hh", unit_column="person")), X)
    assert sorted(zip(result.numbers, result.largest, strict=True)) == by_hand(X)
    few = X.assign(person=[*range(60), *[60] * 30])  # the last leaf is one person
    result = second_units(Subject(without_privacy(), Form(second_unit="hh", unit_column="person")), few)
    assert result.numbers[0] == 1
    assert second_units(Subject(without_privacy(), Form(second_unit="hh")), X.drop(columns="hh")) is None
    assert second_units(Subject(without_privacy()), X) is None


def by_hand(X):
    leaf = np.where(X.age > 60, 0, np.where(X.smoker, 1, 2))
    result = []
    for number in range(3):
        households = X.hh[leaf == number].value_counts()
        result.append((len(households), households.max() / households.sum()))
    return sorted(result)


def test_visits_on_record_are_other_units_than_the_persons_of_the_schema():
    """A person of the schema's unit has one step; their visits, another unit of the record, have two a row."""
    persons, visits = Unit("patient_id", 6), Unit("visit", 3)
    charges = [Charge("draw", Fraction(1), unit=unit) for unit in (persons, visits, None)]
    releases = Releases(tuple(map(PastRelease, charges)), None)
    assert person_epsilon(Subject(private(unit=persons), Form(rows_per_unit=4)), releases) == 1 + 8 + 4
    assert person_epsilon(Subject(private(unit=persons)), releases) is None


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestClassifier])
def test_leaves_are_judged_by_the_stated_rows_per_person(kind):
    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    y = np.where((X[:, 0] > 0.5) ^ (rng.random(400) < 0.3), "yes", "no")
    model = kind(max_depth=1, min_samples_leaf=50, random_state=0).fit(X, y)
    for rows, status in ((1, "not_applicable"), (2, "pass"), (40, "review")):
        board = Report.of(model, train=(X, y), form=Form(rows_per_unit=rows)).board
        (result,) = [check for check in board.checks if check.key == "units"]
        assert result.status == status
    assert "one person may have up to 40" in result.sentence


def test_second_units_are_counted_in_trees_whose_paths_are_not_known():
    """Without a schema, the leaves of rows are those that the tree returns: by hand, two of 45 rows."""
    X = pd.DataFrame({"age": np.arange(90) // 45})
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, np.arange(90) // 45)
    counted = second_units(Subject(tree, Form(second_unit="hh")), X.assign(hh=[*range(45), *[99] * 45]))
    assert (counted.numbers, counted.largest) == ((45, 1), (1 / 45, 1.0))


def test_a_table_without_undeclared_columns_has_no_identifiers_to_examine():
    X, y = a_table()
    for frame, status in ((X, "not_applicable"), (X.assign(height=170.5), "pass")):
        board = Report.of(without_privacy(), train=(frame, y)).board
        assert [check.status for check in board.checks if check.key == "identifiers"] == [status]
