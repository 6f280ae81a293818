"""Sections on privacy, of cards."""

import hashlib
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.unit import Unit
from hedgerow.report import disclosure, promises
from hedgerow.report.files import FileDigest, file_digests
from hedgerow.report.form import Form
from hedgerow.report.releases import PastRelease, Releases
from hedgerow.report.report import Report
from hedgerow.report.subject import Subject
from hedgerow.schema import Integer, Schema
from tests.report.subjects import CARD, SCHEMA, a_table, a_tree, no_guarantee_reason, overfitted, without_privacy


def texts(section):
    return {fact.key: fact.text for fact in section.facts}


def test_the_guarantee_is_stated_before_any_number():
    result = promises.guarantee(Subject(a_tree()))
    assert "50 % sure that" in result.answer
    assert "at most 73.2 % sure" in result.answer  # e / (1 + e) = .73106, rounded up
    assert texts(result)["epsilon"] == "1"
    assert texts(result)["largest_belief_0.5"] == "73.2 %"
    assert any("twice epsilon" in note for note in result.notes)


def test_the_bound_on_beliefs_is_for_someone_who_knows_the_other_rows():
    """If two rows are in the table together or not at all, a count with geometric noise raises 1/2 beyond e/(1 + e)."""
    count = 100.0  # far above both true counts, 0 and 2: the ratio of its probabilities is exp(2 epsilon)
    ratio = np.exp(abs(count - 0) - abs(count - 2))
    assert ratio / (1 + ratio) > 0.88 > 0.732
    assert "knows all other rows" in promises.guarantee(Subject(a_tree())).answer


def test_delta_is_stated_as_an_exception():
    card = replace(CARD, charges=(Charge("draw", Fraction(1), Fraction(1, 1000)),))
    assert (
        "discloses everything with probability 0.001 and otherwise" in promises.guarantee(Subject(a_tree(card))).answer
    )


def test_without_a_guarantee_nothing_is_promised():
    for model in (without_privacy(), a_tree(no_guarantee_reason())):
        result = promises.guarantee(Subject(model))
        assert result.answer.startswith("It guarantees nothing")
        assert result.grids == ()


def test_the_schema_states_the_source_of_its_cut_points():
    result = promises.unprotected(Subject(a_tree()), "public")
    assert texts(result)["schema_digest"].endswith(SCHEMA.digest)
    assert texts(result)["card_notes"] == "columns are public"
    assert [row[2].text for row in result.grids[0].rows] == ["declared", "none: categories are declared"]
    grid, learned = Schema({"a": Integer(0, 9)}), Schema({"a": Integer(0, 9, cuts=(4,))}, charges=(CARD.charges[0],))
    sources = [
        promises._sources(schema)[0][2].text
        for schema in (grid, learned, Schema(learned.attributes, no_guarantee="from data"))
    ]
    assert sources == [
        "the default grid of the declared bounds",
        "learned from the rows under a charge, or declared",
        "no guarantee: from data",
    ]


def test_thresholds_of_other_libraries_need_review():
    tree, schema = overfitted()
    frame = pd.DataFrame({"code": np.arange(86)})
    rules = replace(without_privacy(), privacy=PrivacyCard.none("read from PMML", software="unknown"))
    for model, given, verb in ((tree, schema, "are"), (rules, None, "may be")):
        report = Report.of(model, schema=given, train=None if given is None else (frame, pd.Series(np.arange(86) % 2)))
        sentence = f"The numeric thresholds of the model {verb} computed from the rows"
        for sheet in (report.public, report.board):
            (result,) = (check for check in sheet.checks if check.key == "thresholds")
            assert (result.sentence.startswith(sentence), result.status) == (True, "review")
        assert "the default grid" not in report.to_html()
        own = report.public if given is not None else report.board  # the schema of a file has the model's thresholds
        assert own.section("unprotected").grids[0].columns[-1].key == "domain"
    report = Report.of(without_privacy())
    statuses = {
        check.status for sheet in (report.public, report.board) for check in sheet.checks if check.key == "thresholds"
    }
    assert statuses == {"not_applicable"}


def test_form_entries_are_on_the_public_sheet():
    subject = Subject(a_tree(), Form(unit="a visit", limits="not for triage"))
    result = promises.stated(subject, "public")
    assert (texts(result)["unit"], texts(result)["limits"]) == ("a visit", "not for triage")
    assert texts(result)["not_stated"].startswith("purpose of the model; population; rows of the table; ")
    assert texts(promises.stated(subject, "board")) == {
        "limits": "not for triage",
        "not_stated": "residual risk",
    }
    assert "hedgerow report --new-form" in result.measure


def test_the_guarantee_for_a_person_is_stated_beside_that_for_a_row():
    """By hand: six rows at epsilon = 1 are e^6 = 403.43 and 1 / (1 + e^-6) = 99.8 %."""
    form = Form(rows_per_unit=6)
    result = promises.guarantee(Subject(a_tree(), form))
    values = {fact.key: fact.value for fact in result.facts}
    assert (values["epsilon"], values["epsilon_person"]) == (1, 6)
    assert texts(result)["largest_factor"] == "403.43"
    assert texts(result)["largest_belief_0.5"] == "99.8 %"
    assert "One person can have up to 6 rows. For all of them together epsilon is 6 times as large" in result.notes[0]
    assert "the table contains the rows of a certain person" in result.answer
    unknown = promises.guarantee(Subject(a_tree()))
    assert "The form does not state how many rows one person can have" in unknown.notes[0]
    assert "epsilon_person" not in texts(unknown)
    single = promises.guarantee(Subject(a_tree(), Form(rows_per_unit=1)))
    assert "One person has one row." in single.notes[0]
    rate = texts(disclosure.membership(Subject(a_tree(), form)))["largest_tpr_at_0.001"]
    assert rate == "40.4 %"  # e^6 / 1,000


def test_the_total_of_all_releases_is_stated_for_a_person():
    record = Releases(tuple(map(PastRelease, CARD.charges)), None)
    values = {fact.key: fact.value for fact in promises.earlier(Subject(a_tree(), Form(rows_per_unit=6)), record).facts}
    assert (values["epsilon"], values["epsilon_person"]) == (1, 6)


def test_every_charge_is_listed():
    result = promises.charges(Subject(a_tree()), "public")
    assert result.answer.startswith("This model uses 2 releases of the rows")
    assert [tuple(cell.text for cell in row[:3]) for row in result.grids[0].rows] == [
        ("draw of a tree", "exponential", "0.5"),
        ("counts", "not named", "0.5"),
    ]
    declared = PrivacyCard((Charge("cuts", Fraction(1), declared=True),), noise="OpenDP", software="hedgerow")
    assert (
        promises.charges(Subject(a_tree(declared)), "public").grids[0].rows[0][-1].text
        == "declared by the schema's file"
    )
    assert "No mechanism" in promises.charges(Subject(without_privacy()), "public").answer


def test_charges_without_a_guarantee_are_not_compared_with_a_guarantee():
    section = promises.charges(Subject(a_tree(no_guarantee_reason())), "public")
    assert "no guarantee" in section.answer
    assert "guarantee above" not in section.answer


def test_earlier_releases_add_up_and_are_not_measured_without_a_record():
    assert promises.earlier(Subject(a_tree()), None).answer.startswith("Unknown")
    assert "--ledger" in promises.earlier(Subject(a_tree()), None).measure
    record = Releases((PastRelease(CARD.charges[0], "2026-01-02T03:04:05Z"), PastRelease(CARD.charges[1])), None)
    result = promises.earlier(Subject(a_tree()), record)
    assert texts(result)["epsilon"] == "1"
    assert [row[1].text for row in result.grids[0].rows] == ["2026-01-02 03:04:05", "not recorded"]


def test_losses_of_different_units_are_listed_separately():
    persons = Charge("counts", Fraction(2), unit=Unit("who", 1))
    record = Releases((*map(PastRelease, (*CARD.charges, persons)),), None)
    result = promises.earlier(Subject(a_tree()), record)
    assert "Losses for different units add up only for a person" in result.answer
    assert "epsilon_person" not in texts(result)
    stated = promises.earlier(Subject(a_tree(), Form(rows_per_unit=3)), record)
    assert texts(stated)["epsilon_person"] == "5"  # 3 times 1, and 2
    assert texts(result)["epsilon_unit_1"] == "1"
    assert texts(result)["epsilon_unit_2"] == "2"


def test_the_noise_and_why_there_is_no_guarantee():
    assert texts(promises.noise(Subject(a_tree())))["noise"] == "OpenDP"
    assert texts(promises.noise(Subject(a_tree(no_guarantee_reason()))))["no_guarantee"] == "seeded noise"


def test_a_loss_above_epsilon_is_more_likely_than_delta_says():
    """Of Gaussian noise, the largest belief is exceeded more often than with a probability of δ: no sheet says so."""
    epsilon, mu = 1.0, 0.3
    exceeded = norm.cdf(-epsilon / mu + mu / 2)
    delta = exceeded - np.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)  # Balle and Wang, 2018, Theorem 5
    assert exceeded > 4 * delta
    card = replace(CARD, charges=(Charge("all", 1, Fraction(1, 1000)),))
    section = promises.guarantee(Subject(a_tree(card)))
    assert not re.search("may fail|chance of at most", " ".join((section.answer, *section.notes, *section.words)))


def identified(model, kind, /, **files):
    return {line.key: line for line in promises.identity(Subject(model, files=file_digests(**files)), kind).facts}


def test_a_sheet_names_the_digest_of_the_bytes_and_that_of_the_content(tmp_path):
    (tmp_path / "model.json").write_text(a_tree().to_json(), encoding="utf-8")
    lines = identified(a_tree(), "public", model=tmp_path / "model.json")
    assert lines["model_sha256"].value == hashlib.sha256((tmp_path / "model.json").read_bytes()).hexdigest()
    assert lines["content_digest"].value == a_tree().to_dict()["digest"]
    assert identified(a_tree(), "public")["model_sha256"].text == "no file was given"


def test_digests_that_confirm_guesses_at_rows_are_for_the_board(tmp_path):
    (tmp_path / "model.json").write_text(without_privacy().to_json(), encoding="utf-8")
    (tmp_path / "rows.csv").write_text("age,smoker\n3,true\n")
    given = {"model": tmp_path / "model.json", "training_rows": tmp_path / "rows.csv"}
    public, board = (identified(without_privacy(), kind, **given) for kind in ("public", "board"))
    assert {line.value for line in public.values()} == {None}
    assert board["model_sha256"].value == FileDigest.of("model", given["model"]).sha256
    assert board["training_rows_sha256"].value == FileDigest.of("training_rows", given["training_rows"]).sha256
    assert board["held_out_rows_sha256"].value is None
    assert "training_rows_sha256" not in identified(a_tree(), "public", training_rows=tmp_path / "rows.csv")


@pytest.mark.parametrize("ending", ["html", "json"])
def test_the_sheet_for_the_board_names_the_public_sheet(tmp_path, ending):
    public, board = Report.of(a_tree(), train=a_table()).save(tmp_path / f"report.{ending}")
    digest = hashlib.sha256(public.read_bytes()).hexdigest()
    assert digest in board.read_text("utf-8")
    assert hashlib.sha256(board.read_bytes()).hexdigest() not in public.read_text("utf-8")
