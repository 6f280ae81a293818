import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import ArgumentError, ModelFormatError
from hedgerow.privacy.account import Account
from hedgerow.privacy.budget_chain import Record
from hedgerow.privacy.charge import Charge
from tests.privacy.rewriting import chain, sha

CHARGES = st.builds(
    Charge,
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.fractions(0, 1),
    st.fractions(0, "1/2"),
    no_guarantee=st.sampled_from([None, "seeded"]),
    declared=st.booleans(),
    rho=st.none() | st.fractions(0, 1),
)
CAPS = st.sampled_from([Account(Fraction(1)), Account(None, rho=Fraction(1, 3)), Account(1, "1/9", accounting="zcdp")])


def grown(account, charges, model="a" * 64):
    record = Record.opened(account, "wards")
    for number in range(1, len(charges) + 1):
        record = record.after(Account(**vars_of(account), charges=charges[:number])).released(number, model)
    return record


def vars_of(account):
    return {name: getattr(account, name) for name in ("epsilon", "delta", "rho", "accounting")}


@given(CAPS, st.lists(CHARGES, max_size=4).map(tuple))
def test_records_round_trip_and_each_entry_has_the_previous_hash(account, charges):
    record = grown(account, charges)
    assert json.loads(record.to_json()) == record.to_dict()
    assert record.to_json().startswith("{\n")  # by which `Releases.load` knows a budget from a ledger
    result = Record.from_dict(json.loads(record.to_json()))
    assert result == record
    assert result.to_json() == record.to_json()  # whose lines were added one by one
    assert result.account.charges == charges
    assert [charge.declared for charge in result.account.charges] == [charge.declared for charge in charges]
    assert result.hashes == tuple(map(sha, result.entries))
    assert [entry["previous"] for entry in result.entries] == ["", *result.hashes[:-1]]
    assert result.head == result.hashes[-1]


@given(CAPS, st.lists(CHARGES, max_size=3).map(tuple), st.data())
@pytest.mark.claim("A file whose hashes do not agree is refused")
def test_no_change_of_any_value_goes_unseen(account, charges, data):
    whole = json.loads(json.dumps(grown(account, charges).to_dict()))
    entry = data.draw(st.sampled_from(whole["entries"]))
    key = data.draw(st.sampled_from(sorted(entry)))
    entry[key] = [] if entry[key] != [] else {}
    with pytest.raises(ModelFormatError, match=r"entry \d+ of its record"):
        Record.from_dict(whole)


def test_a_charge_that_turns_void_is_an_entry_of_its_own():
    account = Account(Fraction(1), charges=(Charge("a", Fraction(1, 2)),))
    record = Record.opened(Account(Fraction(1))).after(account).after(account.marked(0, "seeded"))
    assert [entry["kind"] for entry in record.entries] == ["opened", "charged", "void"]
    assert Record.from_dict(record.to_dict()).account.no_guarantee_reason == "seeded"


@pytest.mark.parametrize("version", [1, 2, 4, "3", None, True])
def test_a_record_of_another_version_is_refused(version):
    data = Record.opened(Account(Fraction(1))).to_dict() | {"version": version}
    with pytest.raises(ArgumentError, match="version 3 of hedgerow/budget"):
        Record.from_dict(data)


@pytest.mark.parametrize("table", ["", "x" * 201, "a\nb", 7])
def test_a_tables_name_is_short_printable_text(table):
    with pytest.raises(ArgumentError, match="table must be a name of 1 to 200"):
        Record.opened(Account(Fraction(1)), table)


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_digest_belongs_to_a_charge(number):
    record = Record.opened(Account(Fraction(1))).after(Account(Fraction(1), charges=(Charge("a", Fraction(1)),)))
    with pytest.raises(ArgumentError, match="must be 1 to 1, got"):
        record.released(number, "a" * 64)


@pytest.mark.parametrize("charge", [0, 2, True, "1", None])
def test_no_entry_is_about_a_charge_that_was_not_made(charge):
    account = Account(Fraction(1), charges=(Charge("a", Fraction(1)),))
    data = Record.opened(Account(Fraction(1))).after(account).released(1, "a" * 64).to_dict()
    data["entries"][-1]["charge"] = charge
    with pytest.raises(ArgumentError, match="a charge that does not exist"):
        Record.from_dict(data | {"head": chain(data["entries"])})
