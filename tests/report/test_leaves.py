"""The section on leaves, held against counts written out."""

import re
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.tree import DecisionTreeRegressor

from hedgerow.audit import LeafRisk, leaf_risk
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree, read_model
from hedgerow.models.readers.pmml import model_of_pmml
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.unit import Unit
from hedgerow.report import Appetite, Form, PastRelease, Releases, Report, Subject, disclosure, leaves
from hedgerow.report.contents import text_of
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Number, Schema
from tests.models.pmml_files import COUNTED as PMML_TREE
from tests.report.subjects import (
    CARD,
    COUNTED,
    OF_COUNTS,
    SCHEMA,
    a_table,
    a_tree,
    overfitted,
    rows_of,
    without_privacy,
)


def of(model, train=None, form=None, **more):
    subject = Subject(model, form or Form(), **more)
    risk = subject.leaves(train)
    result = list(leaves.leaf_checks(subject, risk))
    section = leaves.leaves(subject, risk)
    return section, {fact.key: fact.value for fact in section.facts}, {item.key: item for item in result}


def test_an_overfitted_tree_of_another_library_is_red():
    tree, schema = overfitted()
    section, values, result = of(tree, schema=schema)
    assert values["leaves"] == 86
    assert values["single_leaves"] == 31
    assert (result["small-leaves"].status, result["small-leaves"].value) == ("fail", 86)
    assert (result["pure-leaves"].status, result["pure-leaves"].value) == ("fail", 86)
    assert "31 leaves have only 1 row" in result["small-leaves"].sentence
    assert section.grids[0].rows[0][2] == 1  # the smallest first


def test_exact_counts_without_a_guarantee():
    section, values, result = of(without_privacy())
    assert values == {
        "leaves": 3,
        "smallest_leaf": 25,
        "small_leaves": 0,
        "single_leaves": 0,
        "rows_in_small_leaves": 0,
        "pure_leaves": 1,
        "rows_in_pure_leaves": 25,
        "few_of_class_leaves": 1,
        "sensitive_leaves": None,
    }
    buckets = {"small-leaves": "pass", "pure-leaves": "fail", "few-of-class": "review"}
    assert {key: item.status for key, item in result.items()} == buckets
    assert result["few-of-class"].sentence == "1 of 3 leaves has 1 to 9 rows of a class."
    assert result["few-of-class"].threshold == "at least 10 rows of every class that a leaf has"
    _, _, result = of(without_privacy(counts=((10, 30), (40, 12), (25, 0))))
    assert (result["few-of-class"].status, result["few-of-class"].value) == ("pass", 0)
    assert [text_of(row[-1]) for row in section.grids[0].rows] == ["only one class", "few rows of a class", ""]
    assert "1 of 3 leaves has rows of only one class." in section.answer
    section, _, _ = of(without_privacy(counts=((3, 30), (40, 12), (25, 1))))
    assert section.answer.endswith("No leaf has rows of only one class.")


@pytest.mark.parametrize(("threshold", "bucket"), [(25, "pass"), (26, "fail")])
def test_the_threshold_is_the_fewest_rows_that_are_safe(threshold, bucket):
    _, _, result = of(without_privacy(), appetite=Appetite(fewest_rows=threshold))
    assert result["small-leaves"].status == bucket
    assert f"at least {threshold} rows" in result["small-leaves"].threshold


def test_noisy_counts_of_a_private_model_disclose_what_is_promised():
    section, values, result = of(a_tree())
    assert {key: item.status for key, item in result.items()} == dict.fromkeys(
        ("small-leaves", "pure-leaves", "few-of-class"), "pass"
    )
    assert values["small_leaves"] == 1
    assert values["single_leaves"] == 0  # not a row that is known to be alone
    assert "noisy" in section.notes[0]
    assert section.answer.startswith("1 of 3 leaves has a released count of fewer than 10 rows.")


@pytest.mark.parametrize(("epsilon", "bucket"), [(1, "pass"), (9, "review")])
def test_what_a_weak_guarantee_allows_of_small_leaves_supports_nothing(epsilon, bucket):
    _, _, result = of(a_tree(replace(CARD, charges=(Charge("draw", Fraction(epsilon)),))))
    assert result["small-leaves"].status == bucket
    card = replace(CARD, charges=(Charge("draw", epsilon - Fraction(1, 2)), OF_COUNTS))
    _, _, result = of(a_tree(card, counts=((30, 30),) * 3))
    assert result["small-leaves"].status == "pass"
    for within_noise in (
        a_tree(card, counts=((30, 30), (30, 30), (8, 5))),
        a_tree(replace(CARD, charges=(Charge("draw", Fraction(epsilon)),)), counts=((30, 30),) * 3),  # noise unknown
    ):
        _, _, result = of(within_noise)
        assert result["small-leaves"].status == bucket
        assert "at least 10 rows. Given the noise, the true number" in result["small-leaves"].sentence


def test_a_leaf_whose_count_is_within_its_noise_has_no_class_to_disclose():
    """0.2.0 said of a leaf with the counts (1, -8) that its rows are of one class alone."""
    counts = ((1, -8), (40, 12), (25, 1))
    section, values, _ = of(a_tree(COUNTED, counts=counts))  # noise of scale 2: a count is off by at most 6 at 95 %
    assert values["empty_leaves"] == 1
    assert values["pure_leaves"] == 1
    assert "1 of 3 leaves may have rows of only one class" in section.answer
    assert [text_of(row[-1]) for row in section.grids[0].rows] == [
        "may have no rows",
        "only one class, few rows of a class",
        "",
    ]
    risk = leaf_risk(a_tree(COUNTED, counts=counts))
    assert (risk.empty, risk.pure, risk.small) == ((0,), (2,), (0,))
    assert "1 may have rows of one class only (26 in total)" in str(risk)


@pytest.mark.parametrize("draws", [400, pytest.param(10_000, marks=pytest.mark.statistics)])
def test_small_leaves_pass_for_safe_ones_in_at_most_5_percent(draws):
    """Three leaves of 9 rows each; and leaves of 40 rows are found to be safe. False alarm: 10^-4."""
    rng, noise = np.random.default_rng(0), DiscreteLaplace(Fraction(1, 2))
    names = ("a", "b", "c")

    def safe(rows):
        result = 0
        for _ in range(draws):
            drawn = np.reshape(noise.simulate(np.array([rows, 0] * 3), rng), (3, 2))
            release = a_tree(COUNTED, counts=tuple(map(tuple, drawn.tolist()))).leaf_release
            held = tuple(drawn.sum(axis=1).tolist())
            result += LeafRisk(names, held, None, None, "noisy", release=release).has_safe_rows
        return result

    assert safe(9) <= binom.ppf(1 - 1e-4, draws, 0.05)
    assert safe(40) > 0.95 * draws


def test_own_thresholds_have_their_own_source_and_one_row_is_unsafe():
    (_, _, ten), (_, _, own) = (
        of(without_privacy(), appetite=Appetite(fewest_rows=threshold)) for threshold in (10, 3)
    )
    assert ten["small-leaves"].source.startswith("safe_threshold of ACRO, 10; the rule of 10")
    assert own["small-leaves"].source == "the project's risk appetite; ACRO's threshold is 10"
    _, _, result = of(without_privacy(counts=((0, 1), (30, 20), (9, 9))), appetite=Appetite(fewest_rows=1))
    assert result["small-leaves"].status == "fail"


def board_checks(subject, train):
    """Return the checks of training rows, as the sheet for the board has them."""
    return list(disclosure.row_checks(subject, train, disclosure.compared_rows(subject, train)))


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
    income = pd.Series([10.0] * 12 + [float(number) for number in numbers], name="income")
    grown = DecisionTreeRegressor(random_state=0).fit(frame.astype(float), income)
    result = board_checks(Subject(grown, schema=schema), (frame, income))[1:]
    is_split = len(set(income)) > 1
    assert [(number.key, number.status, number.value) for number in result] == (
        [("dominance", "fail", 1)] if is_split and any(numbers) and dominated(numbers) else []
    )


def test_all_rows_of_a_person_count_for_dominance():
    """Of 40 equal rows of a leaf one person has 36: without the second largest, the others have 3, less than 3.6."""
    schema = Schema({"old": Boolean()}, Number("income", 0, 100))
    frame = pd.DataFrame({"old": [False] * 12 + [True] * 40, "person": [*range(12), *[50] * 36, *range(60, 64)]})
    income = pd.Series([10.0] * 12 + [2.0] * 40, name="income")
    grown = DecisionTreeRegressor(random_state=0).fit(frame[["old"]].astype(float), income)

    def dominance(form):
        result = disclosure.row_checks(Subject(grown, form, schema=schema), (frame, income), None)
        return [(item.status, item.sentence) for item in result if item.key == "dominance"]

    assert dominance(Form()) == []
    ((status, sentence),) = dominance(Form(unit_column="person"))
    assert (status, "In 1 leaf, one person dominates" in sentence) == ("fail", True)


def test_exact_rows_of_a_private_model_need_a_look():
    _, values, result = of(a_tree(), a_table())
    assert values["small_leaves"] == 0
    assert values["pure_leaves"] == 2  # nobody under 60 is ill
    buckets = {"small-leaves": "pass", "pure-leaves": "review", "few-of-class": "review"}
    assert {key: item.status for key, item in result.items()} == buckets


def test_leaves_that_ask_for_a_sensitive_attribute_are_counted():
    section, values, _ = of(without_privacy(), form=Form(sensitive=("smoker",)))
    assert values["sensitive_leaves"] == 2
    assert [text_of(row[-1]) for row in section.grids[0].rows] == [
        "only one class, sensitive attribute",
        "few rows of a class",
        "",
    ]
    with pytest.raises(ValueError, match="sensitive in the form"):
        of(without_privacy(), form=Form(sensitive=("religion",)))


def test_where_nothing_is_known_it_says_how_to_measure():
    tree, _ = overfitted()
    section, values, result = of(SimpleNamespace(apply=tree.apply, predict=tree.predict))
    assert section.answer.startswith("Not measured")
    assert "--data" in section.measure
    assert (values, result) == ({"sensitive_leaves": None}, {})


def of_households(model):
    return replace(model, schema=replace(SCHEMA, unit=Unit("hh", 3)))


def test_twelve_rows_of_one_household_are_no_ten_units():
    counts = ((3, 30), (40, 12), (12, 0))
    (frame, labels), model = rows_of(counts), of_households(without_privacy(counts))
    frame["hh"] = [*range(85), *[85] * 12]  # the last leaf is one household
    section, values, result = of(model, (frame, labels))
    assert (result["small-leaves"].status, result["small-leaves"].value) == ("fail", 1)
    assert result["small-leaves"].sentence.endswith("1 leaf has only 1 unit (hh).")
    assert result["small-leaves"].threshold == "at least 10 units (hh) in every leaf"
    assert (values["smallest_leaf"], values["single_leaves"]) == (1, 1)
    assert tuple(column.name for column in section.grids[0].columns) == (
        "leaf",
        "prediction",
        "units (hh)",
        "units (hh) of class no",
        "units (hh) of class yes",
        "reason",
    )
    assert section.notes[0].startswith("Each unit counts once in every leaf")
    assert "units" not in result
    _, _, result = of(model, (frame.drop(columns="hh"), labels))
    assert (result["small-leaves"].status, result["units"].status) == ("pass", "review")
    several = "Rows are counted, not units: one hh may have several rows."
    assert result["units"].sentence == f"{several} A leaf of 10 rows may have fewer units."


def test_trees_of_other_libraries_are_counted_in_units():
    tree, schema = overfitted()
    frame = pd.DataFrame({"code": np.arange(86), "hh": 0})
    _, values, _ = of(tree, (frame, pd.Series(np.arange(86) % 2)), schema=replace(schema, unit=Unit("hh", 3)))
    assert (values["leaves"], values["single_leaves"]) == (86, 86)
    _, values, result = of(tree, schema=replace(schema, unit=Unit("hh", 3)))
    assert (values["single_leaves"], result["units"].status) == (31, "review")


@pytest.mark.parametrize(
    ("epsilon", "most", "smallest", "bucket"),
    [(9, 3, 29, "review"), (9, 3, 30, None), (9, 1, 9, None), (1, 3, 29, None)],
)
def test_stored_counts_say_how_many_rows_a_unit_may_have(epsilon, most, smallest, bucket):
    unit = Unit("hh", most)
    card = replace(CARD, charges=(Charge("draw", Fraction(epsilon), unit=unit),))
    model = replace(a_tree(card, counts=((30, 30), (40, 12), (smallest, 0))), schema=replace(SCHEMA, unit=unit))
    section, _, result = of(model)
    assert (result["units"].status if "units" in result else None) == bucket
    assert ("one hh may have up to 3 rows" in section.notes[0]) == (most > 1)


PARTIAL = """\
if region = island then yes (yes 3, no 0)
else if age <= 45 then no (no 2000, yes 100)
else no{rest}
"""


def text_list(tmp_path, rest):
    (tmp_path / "list.txt").write_text(PARTIAL.format(rest=rest))
    schema = Schema(
        {"region": Categorical(("north", "island")), "age": Integer(0, 99, cuts=(45,))}, Label("care", ("no", "yes"))
    )
    return read_model(tmp_path / "list.txt", schema=schema)


def test_a_leaf_without_counts_hides_no_other(tmp_path):
    """0.2.0 found that nothing speaks against a release of this list, and rejected it with the default's counts."""
    whole = Report.of(text_list(tmp_path, " (no 500, yes 500)")).board
    board = Report.of(text_list(tmp_path, "")).board
    assert (whole.status, board.status) == ("fail", "fail")
    result = {check.key: check for check in board.checks}
    assert [result[key].status for key in ("small-leaves", "pure-leaves", "few-of-class")] == ["fail", "fail", "review"]
    assert result["small-leaves"].sentence.startswith("1 of 3 leaves has fewer than 10 rows. 1 leaf was not examined")
    assert '("3. otherwise")' in result["small-leaves"].sentence
    assert "1 leaf was not examined" in board.section("leaves").answer
    rows = {row[0]: text_of(row[-1]) for row in board.section("leaves").grids[0].rows}
    assert rows["3. otherwise"] == "not examined"


def test_safe_leaves_support_no_release_if_others_are_not_examined():
    counts = ((30, 30), (40, 12), None)
    section, values, result = of(partial(counts, PrivacyCard.none("none")))
    assert {key: item.status for key, item in result.items()} == dict.fromkeys(KEYS, "not_run")
    assert "Every leaf whose number of rows is known has at least 10 rows" in result["small-leaves"].sentence
    assert values["leaves_not_examined"] == 1
    assert "--data" in section.measure
    board = Report.of(partial(counts, PrivacyCard.none("none"))).board
    assert board.status == "not_run"
    assert "number of rows in each leaf" in board.verdict


KEYS = ("small-leaves", "pure-leaves", "few-of-class")
GRAVITY = {status: place for place, status in enumerate(reversed(("fail", "not_run", "review", "pass")))}


def partial(counts, card, kind="tree"):
    """Return a tree or a list of three leaves; a leaf whose counts are None has a label alone."""
    leaves = [Leaf(label="no") if own is None else Leaf(own) for own in counts]
    old, smoker = Literal("age", ">", (60,)), Literal("smoker", "true", ())
    if kind == "tree":
        return Tree(SCHEMA, Split(old, leaves[0], Split(smoker, leaves[1], leaves[2])), card)
    rules = zip(((old,), (smoker,), ()), leaves, strict=True)
    return RuleList(SCHEMA, tuple(Rule.of(literals, leaf) for literals, leaf in rules), card)


WEAK = replace(COUNTED, charges=(Charge("draw", Fraction(5)), OF_COUNTS))
UNKNOWN_NOISE = replace(CARD, charges=(Charge("draw", Fraction(5)),))
CARDS = [PrivacyCard.none("none"), COUNTED, WEAK, UNKNOWN_NOISE, replace(COUNTED, no_guarantee="seeded noise")]
COUNT = st.integers(0, 25) | st.integers(0, 500)
FILLED = Form(purpose="x", curator="x", unit="x", rows_per_unit=1, tuning="x")


def statuses(model):
    """Return the statuses of the checks of leaves, and of the sheet that decides."""
    report = Report.of(model, form=FILLED, releases=Releases(tuple(map(PastRelease, model.privacy.charges)), None))
    result = {check.key: check.status for check in report.deciding.checks if check.key in KEYS}
    return result, report.deciding.status


@given(
    st.lists(st.tuples(COUNT, COUNT), min_size=3, max_size=3),
    st.sampled_from(CARDS),
    st.sampled_from(["tree", "list"]),
    st.lists(st.booleans(), min_size=3, max_size=3).filter(lambda kept: any(kept) and not all(kept)),
)
@settings(max_examples=25, deadline=None)
def test_deleting_counts_of_a_leaf_improves_no_verdict(counts, card, kind, kept):
    """No check becomes better than not run, except what it was before; and what a kept leaf fails, it still fails.

    From the best: pass, review, not run, fail. A failed check of which the failing leaf lost its counts is not run.
    """
    before, whole = statuses(partial(counts, card, kind))
    after, part = statuses(partial([own if keep else None for own, keep in zip(counts, kept, strict=True)], card, kind))
    for key in KEYS:
        assert GRAVITY[after[key]] >= min(GRAVITY[before[key]], GRAVITY["not_run"])
    assert part != "pass" or whole == "pass"
    assert whole != "fail" or part in ("fail", "not_run")
    if not card.is_private:
        small = any(sum(own) < 10 for own, keep in zip(counts, kept, strict=True) if keep)
        exact = card.noise == PrivacyCard.none("none").noise
        assert (after["small-leaves"] == "fail") == small
        assert not exact or (after["pure-leaves"] == "fail") == any(
            sum(n > 0 for n in own) == 1 for own, keep in zip(counts, kept, strict=True) if keep
        )


@pytest.mark.parametrize("deletions", [15, pytest.param(1500, marks=pytest.mark.slow)])
def test_deleting_counts_of_pmml_improves_no_verdict(deletions):
    """Numbers of rows of nodes and classes, in any combination; see the test of trees and lists."""
    rng = np.random.default_rng(0)
    for _ in range(deletions):
        counts = rng.choice([0, 1, 3, 9, 10, 12, 50, 200], 4)
        counts[[1, 3]] += counts[[0, 2]] == 0  # every leaf has rows
        sizes = [f' recordCount="{sum(own)}"' if rng.random() < 0.5 else "" for own in (counts[:2], counts[2:])]
        text = PMML_TREE.format(*sizes, *counts)
        if rng.random() < 0.5:
            text = text.replace("<Node><True/>", f'<Node recordCount="{sum(counts)}"><True/>')
        numbers = re.findall(r' recordCount="[0-9]+"', text)
        deleted = rng.random(len(numbers)) < 0.3
        deleted[rng.integers(len(numbers))] = True
        parts = re.split(r' recordCount="[0-9]+"', text)
        kept = ["" if gone else number for number, gone in zip(numbers, deleted, strict=True)]
        fewer = "".join(part + number for part, number in zip(parts, [*kept, ""], strict=True))
        (before, whole), (after, part) = (statuses(model_of_pmml(item, None)) for item in (text, fewer))
        assert all(GRAVITY[after[key]] >= min(GRAVITY[before[key]], GRAVITY["not_run"]) for key in KEYS)
        assert part != "pass" or whole == "pass"
        assert whole != "fail" or part in ("fail", "not_run")


def test_the_class_of_a_pure_leaf_can_be_called_sensitive():
    """0.2.0 refused the predicted column as sensitive."""
    section, _, result = of(without_privacy(), form=Form(sensitive=("ill",)))
    assert "the class of ill, which the form lists as sensitive" in result["pure-leaves"].sentence
    assert "The form lists the predicted column as sensitive." in section.answer
    report = Report.of(without_privacy(), train=rows_of(((3, 30), (40, 12), (25, 0))), form=Form(sensitive=("ill",)))
    assert report.board.status == "fail"  # and its groups are not asked for


def test_persons_are_counted_if_the_form_names_their_column():
    counts = ((3, 30), (40, 12), (12, 0))
    frame, labels = rows_of(counts)
    frame["person"] = [*range(85), *[85] * 12]
    _, values, result = of(without_privacy(counts), (frame, labels), Form(unit_column="person"))
    assert (result["small-leaves"].status, values["single_leaves"]) == ("fail", 1)
    _, _, result = of(without_privacy(counts), None, Form(unit_column="person"))
    assert (result["small-leaves"].status, result["units"].status) == ("pass", "review")
    _, _, result = of(without_privacy(counts), None, Form(unit_column="person", rows_per_unit=1))
    assert "units" not in result


def households(model, numbers, form=None):
    """Return the checks of the rows of persons in three leaves, by the household of each person."""
    frame, labels = rows_of(((15, 15), (20, 20), (15, 15)))
    frame = frame.assign(hh=numbers, person=range(100))
    given = form or Form(second_unit="hh", unit_column="person", rows_per_unit=1)
    report = Report.of(model, form=given, train=(frame, labels))
    return report, {check.key: check for check in report.board.checks}


LEAF_OF_100 = [*[0] * 30, *[1] * 40, *[2] * 30]


@pytest.mark.parametrize(
    ("numbers", "status"),
    [
        ([*range(70), *[99] * 30], "fail"),  # 30 persons of one household
        (range(100), "pass"),
        ([i // 2 for i in range(100)], "pass"),  # couples: 15 households or more in each leaf
        ([*range(70), *([97] * 20), *range(200, 210)], "review"),  # one has 20 of 30 persons
        ([*range(70), *(200 + i % 9 for i in range(30))], "review"),  # nine households
        ([*range(70), *(200 + i % 10 for i in range(30))], "pass"),
    ],
)
def test_leaves_of_one_household_are_rejected(numbers, status):
    report, result = households(without_privacy(((15, 15), (20, 20), (15, 15))), list(numbers))
    assert (result["second-units"].status, result["second-units"].essential) == (status, True)
    assert result["small-leaves"].status == "pass"
    assert (report.board.status == "fail") == (status == "fail")


def test_households_of_a_private_model_are_for_information():
    numbers = [*range(70), *[99] * 30]
    report, result = households(a_tree(), numbers)
    assert (result["second-units"].status, result["second-units"].informative) == ("review", True)
    assert not any(check.key == "second-units" for check in report.public.checks)


def test_a_second_unit_needs_its_column():
    model = without_privacy(((15, 15), (20, 20), (15, 15)))
    for train in (None, rows_of(((15, 15), (20, 20), (15, 15)))):
        report = Report.of(model, form=Form(second_unit="hh"), train=train)
        (result,) = [check for check in report.board.checks if check.key == "second-units"]
        assert (result.status, result.essential, report.board.status) == ("not_run", True, "not_run")
    (result,) = [check for check in Report.of(model).board.checks if check.key == "second-units"]
    assert result.status == "not_applicable"


@pytest.mark.parametrize(
    ("form", "status"),
    [
        (Form(), "review"),
        (Form(rows_per_unit=1), "review"),
        (Form(rows_per_unit=3), "pass"),
        (Form(unit_column="patient_id"), "review"),
        (Form(unit_column="patient_id", rows_per_unit=3), "pass"),
        (Form(unit_column="patient_id", rows_per_unit=2), "fail"),
    ],
)
@pytest.mark.parametrize("private", [False, True])
def test_identifiers_that_repeat_need_a_declared_unit(form, status, private):
    counts = ((15, 15), (20, 20), (15, 15))
    frame, labels = rows_of(counts)
    frame["patient_id"] = np.arange(100) // 3
    report = Report.of(a_tree() if private else without_privacy(counts), form=form, train=(frame, labels))
    (result,) = [check for check in report.board.checks if check.key == "identifiers"]
    assert (result.status, result.informative) == (status, private)
    assert not any(check.key == "identifiers" for check in report.public.checks)


def test_identifiers_that_cannot_be_looked_at_are_not_examined():
    counts = ((15, 15), (20, 20), (15, 15))
    frame, labels = rows_of(counts)
    for form, extra, status in (
        (Form(unit_column="person"), {}, "not_run"),
        (Form(unit_column="person"), {"patient_id": np.arange(100) // 3}, "review"),
    ):
        report = Report.of(without_privacy(counts), form=form, train=(frame.assign(**extra), labels))
        assert status in [check.status for check in report.board.checks if check.key == "identifiers"]
    tree, _ = overfitted()
    rows = pd.DataFrame({"code": np.arange(86)}), pd.Series(np.arange(86) % 2)
    (result,) = [check for check in Report.of(tree, train=rows).board.checks if check.key == "identifiers"]
    assert (result.status, "the schema of the model" in result.sentence) == ("not_run", True)


def test_a_sensitive_predicted_column_is_not_a_missing_entry():
    section, values, _ = of(without_privacy(), form=Form(sensitive=("ill",)))
    text = next(fact.text for fact in section.facts if fact.key == "sensitive_leaves")
    assert text == "none: the form lists only the predicted column as sensitive"
    assert values["sensitive_leaves"] == 0
