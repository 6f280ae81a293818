"""A curator's table in which a person has many rows: what analysts are told, charged and answered."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import LedgerError
from hedgerow.privacy.account import Account
from hedgerow.privacy.card import PrivacyCard
from hedgerow.service.curator import Curator, HostedDataset
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.receipts import Receipt, Signer
from hedgerow.service.requests import Request
from hedgerow.service.rows import FrameRows, open_rows
from tests.service.wards import ANA, BINS, EXAMPLES, MARGINALS, SCHEMA, SHARES, Exact, example, table
from tests.service.web import running

UNIT = hr.Unit("name", 2)
OF_PERSONS = replace(SCHEMA, unit=UNIT)


@pytest.fixture
def visits():
    """A hundred persons with four rows each."""
    frame, labels = table()
    return frame.assign(name=[f"CANARY{n % 100}" for n in range(len(frame))]), labels


@pytest.fixture
def ledger(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/ledger.db", new_ledger=True) as ledger:
        yield ledger


def curator_of(ledger, rows, **more):
    return Curator(ledger, {"wards": HostedDataset(OF_PERSONS, rows)}, **more)


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("kind", EXAMPLES)
def test_answers_are_charged_for_persons(ledger, visits, kind, delta):
    cap = Account(Fraction(3), Fraction(1, 10**5))
    ledger.declare("wards", cap, {"ana": cap}, reason="rows of 2026", unit=UNIT)
    curator = curator_of(ledger, FrameRows.of(*visits, OF_PERSONS))
    assert curator.describe(ANA, "wards")["unit"] == UNIT.to_dict() == {"column": "name", "max_rows": 2}
    scorecard = {"model": "scorecard", "parameters": {}} if kind == "fits" and delta != "0" else {}
    body = example(kind, epsilon="1/2", delta=delta, **scorecard)
    cost = curator.cost(ANA, "wards", kind, body)
    answer = json.loads(curator.ask(Request(ANA, "wards", kind, "one", body)).body)
    card = PrivacyCard.from_dict(answer["model"]["privacy"] if kind == "fits" else answer["card"])
    assert (card.unit, card.epsilon, cost["epsilon"]) == (UNIT, Fraction(1, 2), "1/2")
    assert ledger.account("wards").spent == Fraction(1, 2)
    (entry,) = [entry for entry in ledger.entries() if entry.kind == "reserved"]
    assert entry.data["charge"]["unit"] == UNIT.to_dict()
    assert "CANARY" not in json.dumps(answer) + json.dumps([entry.data for entry in ledger.entries()])
    ledger.verify()


def test_two_rows_of_each_person_are_counted(ledger, visits, tmp_path):
    ledger.declare("wards", Account(Fraction(3)), SHARES, reason="rows of 2026", unit=UNIT)
    frame, labels = visits
    frame.assign(ill=labels).to_csv(tmp_path / "visits.csv", index=False)
    frame.assign(ill=labels).to_parquet(tmp_path / "visits.parquet")
    for key, rows in enumerate(
        [
            FrameRows.of(frame, labels, OF_PERSONS),
            open_rows(str(tmp_path / "visits.csv"), OF_PERSONS),
            open_rows(str(tmp_path / "visits.parquet"), OF_PERSONS),
        ]
    ):
        curator = curator_of(ledger, rows, noise=Exact())
        answer = json.loads(curator.ask(Request(ANA, "wards", "marginals", f"{key}", MARGINALS)).body)
        assert np.sum(answer["rows"]["age"]) == 200
        assert rows.target.columns == ("age", "smoker", "ward")


def test_a_receipt_states_the_unit_of_privacy(ledger, visits):
    ledger.declare("wards", Account(Fraction(3)), SHARES, reason="rows of 2026", unit=UNIT)
    signer = Signer.new()
    curator = curator_of(ledger, FrameRows.of(*visits, OF_PERSONS), signer=signer)
    answer = curator.ask(Request(ANA, "wards", "marginals", "one", MARGINALS))
    receipt = Receipt.verify(answer.receipt, signer.public)
    assert receipt.statement["unit"] == UNIT.to_dict()
    assert f"for {UNIT.neighbours}\n" in str(receipt)


@pytest.mark.claim("no budget, card or epoch of a service takes both")
def test_an_epoch_has_a_single_unit_of_privacy(ledger, visits):
    """What was charged for rows says nothing of a person with many: charges for persons are not added to it."""
    ledger.declare("wards", Account(Fraction(3)), SHARES, reason="rows of 2026")
    curator = curator_of(ledger, FrameRows.of(*visits, OF_PERSONS))
    with pytest.raises(LedgerError, match=r"'wards' .*unit"):
        curator.ask(Request(ANA, "wards", "marginals", "one", MARGINALS))
    assert ledger.account("wards").spent == 0


def test_dummy_rows_have_units(ledger, visits):
    ledger.declare("wards", Account(Fraction(3)), SHARES, reason="rows of 2026", unit=UNIT)
    dummy = curator_of(ledger, FrameRows.of(*visits, OF_PERSONS)).dummy(ANA, "wards", 5)
    assert dummy["name"] == ["0", "1", "2", "3", "4"]


def test_over_http_a_remote_oracle_and_a_fit_are_those_of_persons(tmp_path, visits):
    rows = FrameRows.of(*visits, OF_PERSONS)
    with running(tmp_path, rows, schema=OF_PERSONS) as service:
        curator = hr.connect(service.url, key=service.tokens["ana"])
        outside = curator.oracle(2, epsilon="1/2")
        inside = hr.Oracle(visits[0], visits[1], hr.Budget("1/2"), 2, classes=("no", "yes"), unit=UNIT)
        bins = hr.Schema.from_dict({"attributes": BINS})
        assert outside.noise_scale(bins.sizes) == inside.noise_scale(bins.sizes)
        assert outside.marginals(bins).noise == inside.marginals(bins).noise
        assert outside.privacy.unit == UNIT
        model = curator.fit(hr.PrivateTreeClassifier("1/2", max_depth=1))
        assert (model.privacy.unit, model.privacy.epsilon) == (UNIT, Fraction(1, 2))
        paid = hr.Schema(bins.attributes, charges=(hr.privacy.Charge("cut points", Fraction(1)),))
        with pytest.raises(ValueError, match="unit"):
            outside.marginals(paid)
        assert curator.schema.unit == UNIT
        curator.close()
