"""Findings of cards, records and forms: each threshold from both sides."""

from dataclasses import replace
from fractions import Fraction

import pytest

from hedgerow.models import Leaf, Tree
from hedgerow.privacy.card import NO_NOISE, PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.unit import Unit
from hedgerow.report import Report, card_checks
from hedgerow.report.form import Form
from hedgerow.report.releases import PastRelease, Releases
from hedgerow.report.subject import Subject
from tests.report.subjects import CARD, SCHEMA, a_table, a_tree, no_guarantee_reason, without_privacy

STATED = Form(purpose="x", curator="x", unit="x", rows_per_unit=1, tuning="x")


def buckets(card, releases=None, form=STATED):
    subject = Subject(a_tree(card), form)
    result = card_checks.card_checks(subject, "public", releases)
    return {item.key: item.status for item in result if item.key != "rows-per-person"}


def a_constant(card):
    return Tree(SCHEMA, Leaf((50, 40)), card)


def costing(epsilon, delta="0", **more):
    return replace(CARD, charges=(Charge("draw", Fraction(epsilon), Fraction(delta)),), **more)


@pytest.mark.parametrize(
    ("epsilon", "bucket"),
    [("1/10", "pass"), ("1", "pass"), ("1001/1000", "review"), ("10", "review"), ("11", "fail")],
)
def test_tiers_of_epsilon_for_a_model_and_for_all_releases(epsilon, bucket):
    record = Releases((PastRelease(costing(epsilon).charges[0]),), None)
    assert buckets(costing(epsilon), record) == {"guarantee": bucket, "releases": bucket}


def test_a_delta_needs_a_look_and_one_of_the_order_of_one_row_is_rejected():
    subject = Subject(a_tree(costing("1", "1/1000")), STATED)
    result = {n: next(card_checks.delta(subject, n)) for n in (None, 999, 1000)}
    assert [item.status for item in result.values()] == ["review", "review", "fail"]
    assert result[1000].sentence.endswith("1/1,000, one divided by the number of rows.")
    assert "1000" not in result[None].sentence.replace("0.001", "")


def test_the_delta_of_a_person_is_judged():
    """By hand: 3 e^2 / 1,000 = 0.0222; and with six rows at epsilon = 2, 6 e^10 / 1,000 is more than 1."""
    result = next(card_checks.delta(Subject(a_tree(costing("1", "1/1000")), replace(STATED, rows_per_unit=3))))
    assert (result.status, round(result.value, 4)) == ("review", 0.0222)
    assert "0.0221672 for all rows of one person" in result.sentence
    result = next(card_checks.delta(Subject(a_tree(costing("2", "1/1000")), replace(STATED, rows_per_unit=6))))
    assert (result.status, result.value) == ("fail", 1)


def test_a_claim_without_noise_is_rejected():
    assert buckets(replace(CARD, noise=NO_NOISE))["noise"] == "fail"
    assert "noise" not in buckets(CARD)


def test_a_card_that_was_charged_and_is_void_is_rejected():
    assert buckets(no_guarantee_reason())["guarantee"] == "fail"
    subject = Subject(without_privacy(), STATED)
    assert [(check.key, check.status) for check in card_checks.card_checks(subject, "public", None)] == [
        ("guarantee", "not_applicable")
    ]


def test_a_loss_that_a_schema_declares_needs_a_look():
    card = replace(CARD, charges=(Charge("cuts", Fraction(1), declared=True),))
    assert buckets(card)["declared"] == "review"


def test_records_that_are_not_there_incomplete_or_void():
    public = Report.of(a_tree(), form=STATED).public
    (missing,) = [check for check in public.checks if check.key == "releases"]
    assert (missing.status, missing.essential, public.status) == ("not_run", True, "not_run")
    assert "all releases of the table" in public.verdict
    half = Releases((PastRelease(CARD.charges[0]),), None)
    assert buckets(CARD, half)["record"] == "fail"
    both = Releases(tuple(map(PastRelease, CARD.charges)), None)
    assert buckets(CARD, both) == {"guarantee": "pass", "releases": "pass"}
    broken = Releases(
        (*both.releases, PastRelease(Charge("seeded", Fraction(0), no_guarantee="seeded"))),
        None,
    )
    assert buckets(CARD, broken)["releases"] == "fail"


def test_a_file_that_the_record_does_not_have_is_found_by_its_digest():
    """A card that claims less than was charged has all of its charges in the record; its file is another one."""
    released, forged = a_tree(), a_tree(costing("1/10"))
    digest = released.to_dict()["digest"]
    named, unnamed = (PastRelease(CARD.charges[0], models=item) for item in ((digest,), ()))

    def found(model, *releases):
        said = card_checks.card_checks(Subject(model, STATED), "public", Releases(releases, None))
        return [item.status for item in said if item.key == "record" and "digest" in item.sentence]

    assert found(forged, named, named) == ["fail"]
    assert found(forged, named, unnamed) == ["review"]  # it may be what the second charge was for
    assert found(forged, unnamed) == []  # charged in Python: no digest was entered
    assert found(released, named, unnamed) == []
    assert found(without_privacy(), named) == []


def test_charges_for_rows_and_persons_add_up_for_a_person():
    unit = Unit("who", 3)
    of_unit = [replace(charge, unit=unit) for charge in CARD.charges]
    card, of_rows = replace(CARD, charges=tuple(of_unit)), Charge("counts", Fraction(1, 4))
    both = Releases(tuple(map(PastRelease, [*of_unit, of_rows])), None, "ledger")
    result = {check.key: check for check in card_checks.card_checks(Subject(a_tree(card), STATED), "public", both)}
    assert result["releases"].status == "review"
    assert "epsilon = 1 for one who" in result["releases"].sentence
    assert "For all rows of one person it is 1.25." in result["releases"].sentence
    assert result["releases"].value == 1.25
    form = replace(STATED, rows_per_unit=40)  # 1 for the person, and 40 times 1/4
    result = {check.key: check for check in card_checks.card_checks(Subject(a_tree(card), form), "public", both)}
    assert (result["releases"].value, result["releases"].status) == (11, "fail")
    form = replace(STATED, rows_per_unit=None)
    result = {check.key: check for check in card_checks.card_checks(Subject(a_tree(card), form), "public", both)}
    assert result["releases"].status == "review"
    assert "do not add up" in result["releases"].sentence
    assert "record" not in result
    rows_alone = Releases((PastRelease(Charge("counts", Fraction(9))),), None, "ledger")
    assert buckets(card, rows_alone)["record"] == "fail"
    with pytest.raises(ValueError, match="unit"):
        _ = both.epsilon


@pytest.mark.parametrize(
    ("epsilon", "rows", "status"), [("1/6", 6, "pass"), ("1", 6, "review"), ("1", 1, "pass"), ("8", 6, "fail")]
)
def test_a_guarantee_is_judged_by_the_rows_that_one_person_can_have(epsilon, rows, status):
    """0.2.0 called epsilon = 1 for one of up to six rows of a person a strong guarantee."""
    record, form = (
        Releases((PastRelease(costing(epsilon).charges[0]),), None),
        replace(STATED, rows_per_unit=rows),
    )
    result = {
        check.key: check for check in card_checks.card_checks(Subject(a_tree(costing(epsilon)), form), "public", record)
    }
    assert (result["guarantee"].status, result["releases"].status) == (status, status)
    assert result["guarantee"].value == result["releases"].value == float(rows * Fraction(epsilon))
    assert result["rows-per-person"].status == "pass"
    assert (f"All rows of one person (up to {rows} rows)" in result["guarantee"].sentence) == (rows > 1)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (Form(), "The form does not state how many rows one person can have"),
        (Form(unit="a visit; one person can have up to six"), "(rows_per_unit)"),
        (
            Form(unit_column="patient_id"),
            "The column patient_id identifies persons",
        ),
    ],
)
def test_an_unknown_number_of_rows_per_person_supports_no_release(form, words):
    (result,) = [check for check in Report.of(a_tree(), form=form).public.checks if check.key == "rows-per-person"]
    assert (result.status, result.essential) == ("not_run", True)
    assert words in result.sentence
    assert Report.of(a_tree(), form=form).public.status in ("not_run", "fail")


def test_a_guarantee_for_persons_needs_no_statement_and_is_not_multiplied():
    unit = Unit("patient_id", 6)
    card = replace(CARD, charges=(Charge("draw", Fraction(1), unit=unit),))
    model = replace(a_tree(card), schema=replace(SCHEMA, unit=unit))
    for form in (Form(), Form(rows_per_unit=9)):
        result = {check.key: check for check in card_checks.card_checks(Subject(model, form), "public", None)}
        assert (result["guarantee"].status, result["guarantee"].value) == ("pass", 1)
        assert result["rows-per-person"].status == "pass"
    (plain,) = [check for check in Report.of(without_privacy()).public.checks if check.key == "rows-per-person"]
    assert plain.status == "not_applicable"


def test_what_is_not_stated_needs_a_look():
    assert buckets(CARD, form=Form())["form"] == "review"
    (result,) = [
        check
        for check in card_checks.card_checks(Subject(a_tree(), Form(purpose="x", unit="x")), "public", None)
        if check.key == "form"
    ]
    assert result.sentence.startswith("The form does not state: the curator of the table; whether")
    assert "form" not in buckets(CARD, form=STATED)


@pytest.mark.parametrize("model", [a_constant(CARD), a_constant(PrivacyCard.none("learned without privacy"))])
def test_a_constant_model_is_found_on_every_sheet_that_may_say_so(model):
    report = Report.of(model, train=a_table())
    said = [
        [check.status for check in sheet.checks if "for every row" in check.sentence]
        for sheet in (report.public, report.board)
    ]
    assert said == [["review"] if model.privacy.is_private else [], ["review"]]


def test_every_finding_prints_its_rule_and_the_rules_source():
    for card in (CARD, costing("11", "1/9"), no_guarantee_reason(), replace(CARD, noise=NO_NOISE)):
        for finding in card_checks.card_checks(Subject(a_tree(card)), "public", None):
            assert finding.sentence.endswith(".")
            assert finding.threshold
            assert finding.source
