"""The section on leaves, held against counts written out."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.tree import DecisionTreeRegressor

from hedgerow.audit import LeafRisk, leaf_risk
from hedgerow.models import AttributePoints
from hedgerow.models.count_noise import CountNoise
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.unit import Unit
from hedgerow.report import Appetite, Form, Subject, disclosure
from hedgerow.report.contents import text_of
from hedgerow.schema import Boolean, Number, Schema
from tests.cli.table import a_scorecard
from tests.models.scorecards import NOISY, TWO
from tests.models.scorecards import NONE as OPEN
from tests.report.subjects import CARD, COUNTED, OF_COUNTS, SCHEMA, a_table, a_tree, overfitted, without_privacy


def of(model, train=None, form=None, **more):
    subject = Subject(model, form or Form(), **more)
    risk = subject.leaves(train)
    found = list(disclosure.leaf_checks(subject, risk))
    section = disclosure.leaves(subject, risk)
    return section, {fact.name: fact.value for fact in section.facts}, {one.key: one for one in found}


def test_an_overfitted_tree_of_another_library_is_red():
    tree, schema = overfitted()
    section, values, found = of(tree, schema=schema)
    assert values["leaves"] == 86
    assert values["leaves of one row"] == 31
    assert (found["small-leaves"].status, found["small-leaves"].value) == ("fail", 86)
    assert (found["pure-leaves"].status, found["pure-leaves"].value) == ("fail", 86)
    assert "31 of them have one row alone" in found["small-leaves"].sentence
    assert section.grids[0].rows[0][2] == 1  # the smallest first


def test_exact_counts_without_a_guarantee():
    section, values, found = of(without_privacy())
    assert values == {
        "leaves": 3,
        "rows in the smallest leaf": 25,
        "leaves with fewer than 10 rows": 0,
        "leaves of one row": 0,
        "rows in leaves below the threshold": 0,
        "leaves of one class (class disclosure)": 1,
        "rows in leaves of one class": 25,
        "leaves in which a class has 1 to 9 rows": 1,
        "leaves whose rule asks for a sensitive attribute": None,
    }
    buckets = {"small-leaves": "pass", "pure-leaves": "fail", "few-of-class": "review"}
    assert {key: one.status for key, one in found.items()} == buckets
    assert found["few-of-class"].sentence == "1 of 3 leaves has fewer than 10 rows of a class found there."
    assert found["few-of-class"].threshold == "at least 10 rows of every class that a leaf has"
    _, _, found = of(without_privacy(counts=((10, 30), (40, 12), (25, 0))))
    assert (found["few-of-class"].status, found["few-of-class"].value) == ("pass", 0)
    assert [text_of(row[-1]) for row in section.grids[0].rows] == ["one class", "few of a class", ""]
    assert (
        "1 of 3 leaves has rows of one class alone: if somebody is known to be there, so is the class" in section.answer
    )
    section, _, _ = of(without_privacy(counts=((3, 30), (40, 12), (25, 1))))
    assert section.answer.endswith("No leaf has rows of one class alone.")


@pytest.mark.parametrize(("threshold", "bucket"), [(25, "pass"), (26, "fail")])
def test_the_threshold_is_the_fewest_rows_that_are_safe(threshold, bucket):
    _, _, found = of(without_privacy(), appetite=Appetite(fewest_rows=threshold))
    assert found["small-leaves"].status == bucket
    assert f"at least {threshold} rows" in found["small-leaves"].threshold


def test_noisy_counts_of_a_private_model_disclose_what_is_promised():
    section, values, found = of(a_tree())
    assert {key: one.status for key, one in found.items()} == dict.fromkeys(
        ("small-leaves", "pure-leaves", "few-of-class"), "pass"
    )
    assert values["leaves with fewer than 10 rows"] == 1
    assert "noisy" in section.notes[0]
    assert section.answer.startswith("By the released noisy counts: 1 of 3 leaves has fewer than 10 rows.")


@pytest.mark.parametrize(("epsilon", "bucket"), [(1, "pass"), (9, "review")])
def test_what_a_weak_guarantee_allows_of_small_leaves_supports_nothing(epsilon, bucket):
    _, _, found = of(a_tree(replace(CARD, charges=(Charge("draw", Fraction(epsilon)),))))
    assert found["small-leaves"].status == bucket
    card = replace(CARD, charges=(Charge("draw", epsilon - Fraction(1, 2)), OF_COUNTS))
    _, _, found = of(a_tree(card, counts=((30, 30),) * 3))
    assert found["small-leaves"].status == "pass"
    for within_noise in (
        a_tree(card, counts=((30, 30), (30, 30), (8, 5))),
        a_tree(replace(CARD, charges=(Charge("draw", Fraction(epsilon)),)), counts=((30, 30),) * 3),  # noise unknown
    ):
        _, _, found = of(within_noise)
        assert found["small-leaves"].status == bucket
        assert "10 rows by the released noisy counts, but not beyond their noise" in found["small-leaves"].sentence


def test_a_leaf_whose_count_is_within_its_noise_has_no_class_to_disclose():
    """0.2.0 said of a leaf with the counts (1, -8) that its rows are of one class alone."""
    counts = ((1, -8), (40, 12), (25, 1))
    section, values, _ = of(a_tree(COUNTED, counts=counts))  # noise of scale 2: a count is off by at most 6 at 95 %
    assert values["leaves that may have no rows"] == 1
    assert values["leaves that may be of one class (class disclosure)"] == 1
    assert "1 of 3 leaves may have rows of one class alone, given the noise" in section.answer
    assert [text_of(row[-1]) for row in section.grids[0].rows] == ["may have no rows", "one class, few of a class", ""]
    risk = leaf_risk(a_tree(COUNTED, counts=counts))
    assert (risk.empty, risk.pure, risk.small) == ((0,), (2,), (0,))
    assert "1 may have rows of one class only, 26 together" in str(risk)


@pytest.mark.parametrize("draws", [400, pytest.param(10_000, marks=pytest.mark.statistics)])
def test_small_leaves_pass_for_safe_ones_in_at_most_5_percent(draws):
    """Three leaves of 9 rows each; and leaves of 40 rows are found to be safe. False alarm: 10^-4."""
    rng, noise = np.random.default_rng(0), DiscreteLaplace(Fraction(1, 2))
    names = ("a", "b", "c")

    def safe(rows):
        found = 0
        for _ in range(draws):
            drawn = np.reshape(noise.simulate(np.array([rows, 0] * 3), rng), (3, 2))
            release = a_tree(COUNTED, counts=tuple(map(tuple, drawn.tolist()))).leaf_release
            held = tuple(drawn.sum(axis=1).tolist())
            found += LeafRisk(names, held, None, None, "noisy", release=release).has_safe_rows
        return found

    assert safe(9) <= binom.ppf(1 - 1e-4, draws, 0.05)
    assert safe(40) > 0.95 * draws


def test_a_threshold_of_ones_own_is_not_that_of_others_and_one_row_is_never_safe():
    (_, _, ten), (_, _, own) = (
        of(without_privacy(), appetite=Appetite(fewest_rows=threshold)) for threshold in (10, 3)
    )
    assert ten["small-leaves"].source.startswith("safe_threshold of ACRO, 10; the rule of 10")
    assert own["small-leaves"].source == "who made this report; ACRO's is 10"
    _, _, found = of(without_privacy(counts=((0, 1), (30, 20), (9, 9))), appetite=Appetite(fewest_rows=1))
    assert found["small-leaves"].status == "fail"


def rows_of(counts):
    """Return rows that fill the leaves of the tree: those over 60, then smokers, then the others, by class."""
    ages, smokers = (80, 20, 20), (False, True, False)
    rows = [
        (age, smoker, label)
        for age, smoker, both in zip(ages, smokers, counts, strict=True)
        for label, n in zip(("no", "yes"), both, strict=True)
        for _ in range(n)
    ]
    frame = pd.DataFrame(rows, columns=["age", "smoker", "ill"])
    return frame.drop(columns="ill"), frame["ill"]


def stored(model, counts):
    return [one.status for one in disclosure.row_checks(Subject(model), rows_of(counts)) if one.key == "counts"]


def test_rows_that_do_not_make_the_exact_counts_of_a_model_are_others():
    counts = ((3, 30), (40, 12), (25, 0))
    assert stored(without_privacy(counts), counts) == []
    assert stored(without_privacy(counts), ((3, 30), (40, 11), (26, 0))) == ["fail"]
    assert stored(without_privacy(counts), ((3, 30), (40, 12), (0, 0))) == ["fail"]
    assert list(disclosure.row_checks(Subject(without_privacy(counts)), None)) == []


def test_noise_explains_no_more_than_it_can():
    """Of scale 2, two counts together are off by more than 81 with less than one chance in a million."""
    mechanism = DiscreteLaplace(Fraction(1, 2)).record
    noised = Charge(Fact("leaf_counts", of="leaves"), Fraction(1, 2), mechanism=mechanism)
    counts, card = ((30, 30), (40, 12), (25, 9)), replace(CARD, charges=(CARD.charges[0], noised))
    assert stored(a_tree(card, counts=counts), counts) == []
    assert stored(a_tree(card, counts=counts), ((30, 40), (40, 2), (35, 9))) == []
    assert stored(a_tree(card, counts=counts), ((30, 112), (40, 12), (25, 9))) == ["fail"]
    assert stored(a_tree(counts=counts), ((30, 112), (40, 12), (25, 9))) == []  # its card names no scale
    noise, spread = np.random.default_rng(0), CountNoise(2.0).spread(2, 1 - 1e-6 / 3)
    stay = 1 - np.exp(-1 / 2)
    drawn = noise.geometric(stay, (2, 10**6)) - noise.geometric(stay, (2, 10**6))
    assert np.quantile(abs(drawn.sum(axis=0)), 1 - 1e-4) < spread < 82


def dominated(numbers):
    """Return whether the p % rule fails, by definition: the others but the two largest are less than a tenth."""
    largest, *others = sorted(numbers, reverse=True)
    return sum(others) - (others[0] if others else 0) < largest / 10


@pytest.mark.parametrize(
    "numbers",
    [[90, *[1] * 9], [90, *[1] * 10], [90, *[1] * 11], [50, 50, 4], [50, 50, 6], [7], [9, 9], [3] * 12, [0] * 3],
)
def test_a_row_that_has_most_of_the_sum_of_its_leaf_is_found(numbers):
    schema = Schema({"old": Boolean()}, Number("income", 0, 100))
    frame = pd.DataFrame({"old": [False] * 12 + [True] * len(numbers)})
    income = pd.Series([10.0] * 12 + [float(one) for one in numbers], name="income")
    grown = DecisionTreeRegressor(random_state=0).fit(frame.astype(float), income)
    found = list(disclosure.row_checks(Subject(grown, schema=schema), (frame, income)))
    is_split = len(set(income)) > 1
    assert [(one.key, one.status, one.value) for one in found] == (
        [("dominance", "fail", 1)] if is_split and any(numbers) and dominated(numbers) else []
    )


def test_exact_rows_of_a_private_model_need_a_look():
    _, values, found = of(a_tree(), a_table())
    assert values["leaves with fewer than 10 rows"] == 0
    assert values["leaves of one class (class disclosure)"] == 2  # nobody under 60 is ill
    buckets = {"small-leaves": "pass", "pure-leaves": "review", "few-of-class": "review"}
    assert {key: one.status for key, one in found.items()} == buckets


def test_leaves_that_ask_for_a_sensitive_attribute_are_counted():
    section, values, _ = of(without_privacy(), form=Form(sensitive=("smoker",)))
    assert values["leaves whose rule asks for a sensitive attribute"] == 2
    assert [text_of(row[-1]) for row in section.grids[0].rows] == ["one class, sensitive", "few of a class", ""]
    with pytest.raises(ValueError, match="expected names as sensitive in the form"):
        of(without_privacy(), form=Form(sensitive=("religion",)))


def test_where_nothing_is_known_it_says_how_to_measure(tmp_path):
    tree, _ = overfitted()
    section, values, found = of(tree)
    assert section.answer.startswith("Not measured.")
    assert "--data" in section.measure
    assert (values, found) == ({"leaves whose rule asks for a sensitive attribute": None}, {})
    (tmp_path / "schema.yaml").write_text(_SCHEMA)
    section, values, found = of(replace(a_scorecard(tmp_path), parts=()))
    assert section.answer.endswith("It has no leaves, and stores no number of rows.")
    assert (values, found) == ({}, {})


def test_a_scorecard_states_how_many_bins_have_too_few_rows():
    section, values, found = of(NOISY)
    assert section.answer.endswith("It has no leaves. Its table of points has the released rows of each bin.")
    assert values == {"bins with released rows": 11, "bins without rows, or within noise of none": 1}
    assert found == {}


@pytest.mark.parametrize(("card", "bucket"), [(OPEN, "fail"), (CARD, "review")], ids=["without", "with a guarantee"])
def test_exact_rows_of_small_bins_are_a_finding(card, bucket):
    part = AttributePoints("smoker", ((0,), (2,), (1,)), rows=(40, 9, 0), rows_error=0)
    _, values, found = of(replace(TWO, parts=(part,), privacy=card))
    assert values["bins with exactly 1 to 9 rows"] == 1
    assert {key: one.status for key, one in found.items()} == {"small-bins": bucket}


_SCHEMA = """\
label: {name: ill, classes: ["no", "yes"]}
attributes:
  age: {kind: integer, low: 0, high: 120, cuts: [30, 60]}
  sex: {kind: categorical, values: [F, M], missing: bin}
"""


def of_households(model):
    return replace(model, schema=replace(SCHEMA, unit=Unit("hh", 3)))


def test_twelve_rows_of_one_household_are_no_ten_units():
    counts = ((3, 30), (40, 12), (12, 0))
    (frame, labels), model = rows_of(counts), of_households(without_privacy(counts))
    frame["hh"] = [*range(85), *[85] * 12]  # the last leaf is one household
    section, values, found = of(model, (frame, labels))
    assert (found["small-leaves"].status, found["small-leaves"].value) == ("fail", 1)
    assert (
        found["small-leaves"].sentence
        == "1 of 3 leaves has fewer than 10 units (hh), and 1 of them has one unit (hh) alone."
    )
    assert found["small-leaves"].threshold == "at least 10 units (hh) in every leaf"
    assert (values["units (hh) in the smallest leaf"], values["leaves of one unit (hh)"]) == (1, 1)
    assert tuple(one.name for one in section.grids[0].columns) == (
        "leaf",
        "predicts",
        "units (hh)",
        "units (hh) of no",
        "units (hh) of yes",
        "why",
    )
    assert section.notes[0].startswith("Each unit is counted once in every leaf")
    assert "units" not in found
    _, _, found = of(model, (frame.drop(columns="hh"), labels))
    assert (found["small-leaves"].status, found["units"].status) == ("pass", "review")
    several = "Rows are counted, of which one hh may have several."
    assert found["units"].sentence == f"{several} A leaf of 10 rows may have fewer units."


def test_a_tree_of_another_library_is_counted_in_units_where_rows_are_given():
    tree, schema = overfitted()
    frame = pd.DataFrame({"code": np.arange(86), "hh": 0})
    _, values, _ = of(tree, (frame, pd.Series(np.arange(86) % 2)), schema=replace(schema, unit=Unit("hh", 3)))
    assert (values["leaves"], values["leaves of one unit (hh)"]) == (86, 86)
    _, values, found = of(tree, schema=replace(schema, unit=Unit("hh", 3)))
    assert (values["leaves of one row"], found["units"].status) == (31, "review")


@pytest.mark.parametrize(
    ("epsilon", "most", "smallest", "bucket"),
    [(9, 3, 29, "review"), (9, 3, 30, None), (9, 1, 9, None), (1, 3, 29, None)],
)
def test_stored_counts_say_how_many_rows_a_unit_may_have(epsilon, most, smallest, bucket):
    unit = Unit("hh", most)
    card = replace(CARD, charges=(Charge("draw", Fraction(epsilon), unit=unit),))
    model = replace(a_tree(card, counts=((30, 30), (40, 12), (smallest, 0))), schema=replace(SCHEMA, unit=unit))
    section, _, found = of(model)
    assert (found["units"].status if "units" in found else None) == bucket
    assert ("Rows are counted, of which one hh may have up to 3." in section.notes[0]) == (most > 1)
