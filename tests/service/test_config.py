"""A configuration is read strictly, declares what is new, grants who is new, and changes no cap."""

import os
import shutil
import signal
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction

import pytest
import yaml

from hedgerow.engines.time_limits import TimeLimits
from hedgerow.errors import ArgumentError, LedgerError, SchemaError, ServiceBusyError
from hedgerow.privacy.unit import Unit
from hedgerow.service.config import Config, declare_epoch
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.receipts import Signer
from hedgerow.service.requests import Request
from hedgerow.service.rows import open_rows
from tests.service.ledger.asking import asked
from tests.service.wards import ANA, MARGINALS, SCHEMA, table

DATASET = {
    "table": "wards.csv",
    "schema": "wards.yaml",
    "cap": {"epsilon": 4},
    "analysts": {"ana": {"epsilon": 0.1}, "bob": {"epsilon": "1/3"}},
    "reason": "the rows of 2026",
}


@pytest.fixture
def folder(tmp_path):
    frame, labels = table()
    frame.assign(ill=labels).to_csv(tmp_path / "wards.csv", index=False)
    SCHEMA.save(tmp_path / "wards.yaml")
    Signer.new().save(tmp_path / "curator.key")
    return tmp_path


def write(folder, dataset=None, **top):
    path = folder / "curator.yaml"
    whole = {"ledger": "ledger.db", "signing_key": "curator.key", "datasets": {"wards": DATASET | (dataset or {})}}
    path.write_text(yaml.safe_dump(whole | top))
    return path


def opened(path):
    """Open a configuration, with a new ledger if there is no mark of one."""
    return Config.read(path).open(new_ledger=not (path.parent / "curator.key-ledger").exists())


def test_a_configuration_opens_a_curator_who_answers(folder):
    curator = opened(write(folder, {"analysts": {"ana": {"epsilon": 0.1}, "bob": {"epsilon": 2}}}))
    with curator.ledger as ledger:
        assert {name: float(cap.epsilon) for name, cap in ledger.shares("wards").items()} == {
            "": 4,
            "ana": 0.1,
            "bob": 2,
        }
        assert str(ledger.shares("wards")["ana"].epsilon) == "1/10"
        assert not curator.cost(ANA, "wards", "marginals", MARGINALS)["allowed"]
        assert curator.ask(Request(ANA, "wards", "marginals", "1", MARGINALS.replace(b"1/4", b"1/10"))).receipt
    with opened(write(folder, {"analysts": {"ana": {"epsilon": "1/10"}, "bob": {"epsilon": 2}}})).ledger as ledger:
        assert len(list(ledger.entries())) == 3


def test_the_head_of_a_ledger_is_outside_its_database(folder):
    assert Config.read(write(folder)).head == folder / "ledger.db-head"
    postgres = {"ledger": "postgresql://curator@127.0.0.1:1/none"}
    assert Config.read(write(folder, **postgres)).head == folder / "ledger.head"
    assert Config.read(write(folder, **postgres, head="elsewhere/h")).head == folder / "elsewhere" / "h"
    with opened(write(folder, head="h", ledger="other.db")).ledger:
        assert (folder / "h").is_file()


def test_who_is_new_gets_a_cap_and_no_cap_changes(folder):
    with opened(write(folder)).ledger:
        pass
    more = {**DATASET["analysts"], "eve": {"epsilon": 3}}
    with opened(write(folder, {"analysts": more})).ledger as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["declared", "granted"]
        assert ledger.verify().entries == 2
    for change in (
        {"cap": {"epsilon": 5}},
        {"analysts": {"ana": {"epsilon": 1}}},
        {"analysts": {"ana": {"epsilon": 0.1, "delta": 1e-6}}},
    ):
        with pytest.raises(LedgerError, match="Caps cannot change"):
            opened(write(folder, change))
    with pytest.raises(
        LedgerError,
        match=r"'ana' in dataset 'wards' is epsilon [0-9/]+ with basic accounting in the ledger, but epsilon 1 with",
    ):
        opened(write(folder, {"analysts": {"ana": {"epsilon": 1}}}))
    with pytest.raises(ArgumentError, match="add up to"):
        opened(write(folder, {"analysts": {**more, "kim": {"epsilon": 3}}}))


@pytest.mark.parametrize("is_killed", [True, False])
@pytest.mark.claim(
    "A database that has lost entries, for example because a backup or snapshot was restored, is not served"
)
def test_an_older_copy_under_the_log_of_sqlite_is_not_served(folder, is_killed):
    """SQLite applied the log to the copy: the head was the latest, and a charge was missing in the totals."""
    names = [f"analyst{number:04}" for number in range(300)]  # their totals fill several pages
    path = write(folder, {"analysts": {name: {"epsilon": "1/100"} for name in names}})
    child = os.fork()
    if not child:
        ledger = opened(path).ledger
        ledger.log.database.backup(folder / "copy.db")
        ledger.reserve(asked("lost", Fraction(1, 100), names[-1]))
        ledger.log.database.settle()
        ledger.reserve(asked("kept", Fraction(1, 100), names[0]))
        if is_killed:
            os.kill(os.getpid(), signal.SIGKILL)
        shutil.copy(folder / "copy.db", folder / "ledger.db")  # under the running service
        ledger.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == (signal.SIGKILL if is_killed else 0)
    if is_killed:
        shutil.copy(folder / "copy.db", folder / "ledger.db")
    for _ in range(2):  # the first attempt writes the log to the file
        with pytest.raises(LedgerError, match="table of totals does not follow"):
            Config.read(path).open()


def test_processes_with_different_settings_have_different_policies(folder):
    """The policy is public: it must not contain caps or other settings that name analysts."""

    def policy(dataset=None, **top):
        curator = opened(write(folder, dataset, **top))
        curator.ledger.close()
        return curator.policy

    first = policy()
    assert policy() == first
    assert policy(analyst_quotas={"ana": {"questions": 5}}, timeouts={"query": 9}) == first
    assert policy({"analysts": DATASET["analysts"] | {"carl": {"epsilon": 1}}}) == first
    changes = [{"min_epsilon": 1}, {"approval": "every"}, {"answer_after": 5}, {"min_epsilon": 0.5}]
    others = [*map(policy, changes), policy(timeouts={"search": 1}), policy(quotas={"questions": 5})]
    assert len({first, *others}) == 1 + len(others)


def test_a_schema_with_another_unit_than_was_declared_is_not_opened(folder):
    """Every question would fail, and nobody would be told why."""
    path = write(folder)
    opened(path).ledger.close()
    frame, labels = table()
    frame.assign(ill=labels, name=range(len(frame))).to_csv(folder / "wards.csv", index=False)
    replace(SCHEMA, unit=Unit("name", 2)).save(folder / "wards.yaml")
    with pytest.raises(LedgerError, match="the epoch of 'wards' was declared with a different unit of privacy"):
        opened(path)
    with Config.read(path).open_ledger() as ledger:
        declare_epoch(ledger, "wards", Config.read(path).datasets["wards"], "the rows of 2027", Unit("name", 2))
    opened(path).ledger.close()
    replace(SCHEMA, unit=Unit("name", 3)).save(folder / "wards.yaml")
    with pytest.raises(LedgerError, match="different unit of privacy"):
        opened(path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"more": 1}, "more"),
        ({"cap": None}, "cap"),
        ({"cap": {"epsilon": [1]}}, "cap"),
        ({"answer_after": 0}, "answer_after"),
        ({"answer_after": "5"}, "answer_after"),
        ({"analysts": ["ana"]}, "analysts"),
        ({"oversubscribed": "no"}, "oversubscribed"),
    ],
)
def test_an_entry_at_fault_is_named(folder, change, named):
    with pytest.raises(ArgumentError, match=named):
        Config.read(write(folder, change))


def test_a_misplaced_configuration_key_is_reported_with_its_place(folder):
    with pytest.raises(ArgumentError, match=r"wards\.quotas' is not a key of this section; move it to the top level"):
        Config.read(write(folder, {"quotas": {"questions": 2}}))
    with pytest.raises(ArgumentError, match="'min_epsilon' is not a key of this section; move it into each dataset"):
        Config.read(write(folder, min_epsilon=1))
    with pytest.raises(ArgumentError, match=r"cap': expected keys with values, as in cap: \{epsilon: 4\}"):
        Config.read(write(folder, {"cap": "epsilon 4"}))
    with pytest.raises(ArgumentError, match="'min_epsilom' is not a known key; correct its spelling"):
        Config.read(write(folder, min_epsilom=1))


def test_timeouts_are_the_curators_to_set_and_have_defaults(folder):
    assert Config.read(write(folder)).timeouts.rows == TimeLimits(10, 600, 10)
    for wrong in ({"query": 0}, {"query": "5"}, {"other": 1}, {"stop": -1}, {"search": 601}):
        with pytest.raises(ArgumentError, match="timeouts"):
            Config.read(write(folder, timeouts=wrong))
    timeouts = Config.read(write(folder, timeouts={"query": 1.5, "ledger": 3})).timeouts
    assert (timeouts.rows, timeouts.of_ledger) == (TimeLimits(10, 1.5, 10), TimeLimits(3, 3, 3))


def test_what_is_not_there_or_does_not_fit_is_told(folder):
    for change, error in (
        ({"table": "other.csv"}, FileNotFoundError),
        ({"schema": "other.yaml"}, FileNotFoundError),
        ({"schema": "wards.csv"}, SchemaError),
        ({"cap": {"epsilon": -1}}, ArgumentError),
        ({"cap": {"epsilon": "1/10"}}, ArgumentError),
    ):
        with pytest.raises(error):
            opened(write(folder, change))
    for datasets in ({}, {"a/b": DATASET}, {"": DATASET}, {"x" * 101: DATASET}):
        with pytest.raises(ArgumentError):
            Config.read(write(folder, datasets=datasets))
    with pytest.raises(SchemaError):
        Config.read(folder / "wards.csv")
    with pytest.raises(FileNotFoundError):
        opened(write(folder, signing_key="other.key"))


@pytest.mark.parametrize(
    "top",
    [
        {"ledger": "postgresql://curator:SECRET@127.0.0.1:1/none"},
        {"ledger": "postgresql://curator@127.0.0.1:1/none?password=SECRET"},
        {"ledger": "postgresql://curator@server:SEC/RET@127.0.0.1:1/none"},
        {"datasets": {"wards": DATASET | {"table": "postgresql://a:SECRET@127.0.0.1/b::c"}}},
        {"tokens": {"issuer": "a", "audience": "b", "keys": "https://a:SECRET@127.0.0.1/keys", "callers": {}}},
    ],
)
def test_a_configuration_with_a_password_is_not_for_everybody(folder, top):
    path = write(folder, **top)
    path.chmod(0o644)
    with pytest.raises(ArgumentError, match=r"a configuration with a password that other users cannot read") as raised:
        Config.read(path)
    assert "SECRET" not in str(raised.value)
    path.chmod(0o640)
    assert Config.read(path)
    (path := write(folder)).chmod(0o644)
    assert Config.read(path)


def test_an_error_names_the_dataset_that_it_is_about(folder):
    other = {"table": "wards.csv", "schema": "wards.yaml", "cap": {"epsilon": 1}, "analysts": {}}
    for change in ({"table": "absent.csv"}, {"cap": {"epsilon": -1}}, {"schema": "wards.csv"}):
        with pytest.raises((ArgumentError, OSError, SchemaError)) as raised:
            opened(write(folder, datasets={"first": other, "second": deepcopy(other) | change}))
        assert raised.value.__notes__ == ["dataset second"]


def test_an_epoch_declared_while_rows_are_read_is_not_charged_for_them(folder, monkeypatch):
    path = write(folder, {"analysts": {"ana": {"epsilon": 2}}})
    opened(path).ledger.close()

    def reading(*given):
        result = open_rows(*given)
        with Ledger(Config.read(path).ledger) as ledger:
            declare_epoch(ledger, "wards", Config.read(path).datasets["wards"], "the rows of 2027", None)
        return result

    monkeypatch.setattr("hedgerow.service.config.open_rows", reading)
    curator = opened(path)
    with curator.ledger, pytest.raises(ServiceBusyError, match="epoch"):
        curator.ask(Request(ANA, "wards", "marginals", "1", MARGINALS))
