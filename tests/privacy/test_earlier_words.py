"""Files and services that name a unit in earlier words: read as before, shown in today's, and nothing else accepted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.boundary.signatures import public_keys
from hedgerow.client.answers import SentQuestion
from hedgerow.client.connect import _described
from hedgerow.errors import ModelFormatError, ServiceError
from hedgerow.evaluation import Evaluation
from hedgerow.models import envelope
from hedgerow.models.files import model_from_dict, rebuilt
from hedgerow.privacy import FileBudget, PrivacyCard
from hedgerow.privacy.unit import Unit, neighbours_of, reworded
from hedgerow.service.receipts import Receipt
from tests.service.wards import BINS, question

EARLIER = json.loads(Path(__file__).with_name("earlier_words.json").read_text())
"""What the release before the change of words wrote: model, evaluation, budget, description, and a signed receipt."""
CARD, UNIT = EARLIER["model"]["privacy"], Unit("patient id", 2)
NEW = 'tables that differ by adding or removing all rows of one "patient id"; at most 2 of its rows, drawn at random'
OLD = "of which at most 2, drawn at random, count"


def test_a_card_in_earlier_words_is_shown_in_todays_and_written_as_it_was():
    card = PrivacyCard.from_dict(CARD)
    assert card.guarantee == (
        'epsilon-differential privacy with epsilon = 2: adding or removing any one "patient id" changes the '
        "probability of any model by a factor of at most e^2; at most 2 of its rows, drawn at random, are used"
    )
    assert card.neighbours == NEW + ", are used"
    assert OLD not in str(card) + card.to_html() + repr(card)
    assert card.to_dict() == CARD
    now = replace(card)
    assert now == card
    assert OLD not in json.dumps(now.to_dict())
    assert PrivacyCard.from_dict(now.to_dict()) == card


def test_void_cards_of_a_unit_in_earlier_words_are_read():
    charge = {**CARD["charges"][0], "void": "for a test"}
    void = {**CARD, "charges": [charge], "void": "for a test", "guarantee": "none (for a test)"}
    assert PrivacyCard.from_dict(void).to_dict() == void


def test_models_and_evaluations_keep_their_digests():
    """Else a budget's record, an evaluation and a receipt would no longer be of the model that they name."""
    model, found = model_from_dict(EARLIER["model"]), Evaluation.from_dict(EARLIER["evaluation"])
    assert model.to_dict() == EARLIER["model"]
    assert rebuilt(model).to_dict() == EARLIER["model"]
    assert found.to_dict() == EARLIER["evaluation"]
    assert found.model == model.to_dict()["digest"]
    assert OLD not in str(model) + str(found) + model.to_sql() + model.to_html()


def test_a_budget_file_of_before_is_charged_on(tmp_path):
    (tmp_path / "budget.json").write_text(json.dumps(EARLIER["budget"]))
    budget = FileBudget(tmp_path / "budget.json")
    assert (budget.spent, {charge.unit for charge in budget.charges}) == (3, {UNIT})
    budget.charge(1, purpose="more", unit=UNIT)
    assert 'losses of one "patient id" (at most 2 of its rows, drawn at random, are used)' in str(budget)


def test_descriptions_and_receipts_of_earlier_services_are_read():
    schema, epoch = _described(EARLIER["description"], "wards")
    assert (schema.unit, epoch) == (UNIT, 1)
    receipt = Receipt.verify(EARLIER["receipt"], EARLIER["key"])
    assert f"for {NEW}, are used\n" in str(receipt)
    for other in (neighbours_of(None), EARLIER["description"]["neighbours"].replace("2", "3"), 3, None):
        with pytest.raises(ServiceError, match="expected the description of the dataset"):
            _described(EARLIER["description"] | {"neighbours": other}, "wards")


GUARANTEE, NEIGHBOURS = CARD["guarantee"], CARD["neighbours"]
TODAY = PrivacyCard.from_dict(CARD)
HOSTILE = {
    "more rows": {"guarantee": GUARANTEE.replace("at most 2", "at most 3")},
    "more rows in both": {
        "guarantee": GUARANTEE.replace("at most 2", "at most 3"),
        "neighbours": NEIGHBOURS.replace("at most 2", "at most 3"),
    },
    "one row": {"neighbours": NEIGHBOURS.replace("at most 2", "one")},
    "another column": {"neighbours": NEIGHBOURS.replace("patient id", "visit id")},
    "another loss": {"guarantee": GUARANTEE.replace("e^2", "e^1")},
    "today's guarantee": {"guarantee": TODAY.guarantee},
    "today's neighbours": {"neighbours": TODAY.neighbours},
    "the words of rows": {"neighbours": neighbours_of(None)},
    "other spaces": {"neighbours": NEIGHBOURS.replace("at most 2", "at most  2")},
    "a zero before": {"neighbours": NEIGHBOURS.replace("at most 2", "at most 02")},
    "no text": {"neighbours": [NEIGHBOURS]},
}


@pytest.mark.parametrize("change", HOSTILE)
def test_a_card_that_mixes_or_changes_the_words_is_refused(change):
    with pytest.raises(ValueError, match="does not follow from its charges"):
        PrivacyCard.from_dict(CARD | HOSTILE[change])
    sealed = {key: value for key, value in EARLIER["model"].items() if key != "digest"}
    with pytest.raises(ModelFormatError, match="does not follow from its charges"):
        model_from_dict(envelope.seal(sealed | {"privacy": CARD | HOSTILE[change]}))


def test_cards_of_rows_have_no_earlier_words():
    row = PrivacyCard((hr.privacy.Charge("a", 1),), "noise", "software").to_dict()
    for key in ("guarantee", "neighbours"):
        with pytest.raises(ValueError, match=f"the card's {key} does not follow"):
            PrivacyCard.from_dict(row | {key: CARD[key]})


@pytest.mark.parametrize("column", ["id", "patient id", 'a", of which one, drawn at random, count', "x; y", "1\n2"])
@pytest.mark.parametrize("rows", [1, 2, 10_000])
def test_two_texts_and_no_third_have_the_words_of_a_unit(column, rows):
    unit = Unit(column, rows)
    earlier = f"tables that differ by adding or removing all rows of {unit.earlier_name}"
    assert reworded(earlier) == reworded(unit.neighbours) == unit.neighbours
    others = {
        Unit(column, rows - 1 or 3),
        Unit(column + ", of which one, drawn at random, count", 1),
        Unit("other", rows),
    }
    for other in others:
        assert reworded(f"tables that differ by adding or removing all rows of {other.earlier_name}") != unit.neighbours


def asked():
    """Return the question that the stored answer is of."""
    body = question(epsilon="1/4", bins=BINS)
    schema, epoch = _described(EARLIER["description"], "wards")
    return SentQuestion("wards", epoch, schema, "marginals", json.loads(body), body, public_keys(EARLIER["key"]))


def test_an_answer_of_an_earlier_service_is_believed_with_its_receipt():
    content = json.dumps(EARLIER["counts"], separators=(",", ":")).encode()
    found = asked().read(EARLIER["counts"], content, EARLIER["receipt"])
    assert OLD not in str(found.found.card)
    for unit in (Unit("patient id", 3), Unit("visit id", 2), None):
        of_another = replace(asked(), schema=replace(asked().schema, unit=unit))
        with pytest.raises(ServiceError, match=r"a receipt of this answer \(neighbours\)"):
            of_another._check_receipt(EARLIER["receipt"], content, EARLIER["counts"])
