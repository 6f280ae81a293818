"""`hedgerow serve`: one command to a running service, keys shown once, and refusals that say what to do next."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

import hedgerow as hr
from hedgerow.errors import ApprovalError, ArgumentError
from hedgerow.privacy.charge import Charge
from hedgerow.service.approvals import Approvals
from hedgerow.service.config import Config
from hedgerow.service.server import Address
from tests.service.certificates import certificate
from tests.service.wards import SCHEMA, table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table, its schema and a configuration, as the working directory."""
    monkeypatch.chdir(tmp_path)
    frame, labels = table()
    frame.assign(ill=labels).to_csv("wards.csv", index=False)
    SCHEMA.save("wards.yaml")
    return tmp_path


def configure(**more):
    config = yaml.safe_load(Path("curator.yaml").read_text())
    (dataset,) = config["datasets"].values()
    dataset |= {"table": "wards.csv", "schema": "wards.yaml", "answer_after": None} | more
    Path("curator.yaml").write_text(yaml.safe_dump(config | {"datasets": {"wards": dataset}}))


def started(*words):
    """Start the service, and return the process with what it printed when it was ready."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "hedgerow", "serve", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return process, json.loads(line)


@pytest.mark.slow  # the README's commands are tested, too
def test_the_demo_answers_a_client_and_ends_cleanly():
    process, ready = started("--demo", "--port", "0")
    try:
        with hr.connect(ready["url"], key=ready["analyst_key"]) as curator:
            assert curator.datasets == ("breast_cancer",)
            assert curator.fit(hr.PrivateTreeClassifier(epsilon=0.5, max_depth=1)).privacy.epsilon == 0.5
            assert curator.receipts
        assert ready["curator_url"].startswith("http://127.0.0.1:")
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert (out, err) == ("", "")
    assert not os.path.exists(ready["ledger"])


def test_keys_are_added_listed_and_revoked(folder, run):
    code, out, _ = run("serve", "init")
    assert code == 0
    assert "next: edit" in out
    assert (folder / "curator.key").stat().st_mode & 0o777 == 0o600
    assert run("serve", "init")[0] == 2
    configure()
    code, out, _ = run("serve", "check")
    assert (code, "0 of 4 spent" in out) == (0, True)
    assert "no problem was found.\nnext: hedgerow serve key add NAME" in out
    assert run("serve", "key", "add", "ana")[1].strip()
    assert run("serve", "key", "list")[1] == "ana  analyst\n"
    assert run("serve", "key", "revoke", "ana")[:2] == (0, "the key of ana was revoked; the charges of ana stay\n")
    assert run("serve", "key", "revoke", "ana")[0] == 2


@pytest.mark.statistics  # a kill
@pytest.mark.usefixtures("folder")
def test_a_service_answers_until_it_is_stopped(run):
    run("serve", "init")
    configure()
    checked = run("serve", "check")[1]
    key = run("serve", "key", "add", "ana")[1].strip()
    process, ready = started("--config", "curator.yaml", "--port", "0")
    try:
        with urlopen(f"{ready['url']}/healthz") as health:
            policy = json.load(health)["policy"]
        with hr.connect(ready["url"], key=key) as curator:
            assert curator.budget["epsilon"] == {"cap": "2", "spent": "0", "left": "2"}
            oracle = curator.oracle(1, epsilon=1)
            bins = hr.Schema({"smoker": hr.Boolean(missing="bin")})
            assert len(oracle.marginals(bins).rows) == 3
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    start, line = map(json.loads, err.splitlines())
    assert (start["event"], start["address"], start["epochs"]) == ("started", ready["url"], {"wards": 1})
    assert (start["version"], start["unfinished"]) == (hr.__version__, 0)
    assert start["policy"] == policy
    assert f"policy: {policy}\n" in checked
    assert start["ledger"] == f"SQLite at {Path.cwd() / 'ledger.db'}"
    assert (line["name"], line["address"], line["outcome"]) == ("ana", "127.0.0.1", "done")
    code, out, _ = run("ledger", "verify", "ledger.db")
    assert (code, out.startswith("3 entries, complete")) == (0, True)


@pytest.mark.usefixtures("folder")
def test_only_a_new_epoch_with_a_reason_changes_caps(run):
    run("serve", "init")
    configure()
    assert run("serve", "check")[0] == 0
    configure(cap={"epsilon": 6})
    code, _, err = run("serve", "check")
    assert (code, "hedgerow serve epoch" in err) == (2, True)
    assert run("serve", "epoch", "wards", "--reason", " ")[0] == 2
    assert run("serve", "epoch", "other", "--reason", "the rows of 2027")[0] == 2
    code, out, _ = run("serve", "epoch", "wards", "--reason", "the rows of 2027")
    assert (code, "0 of 4 spent" in out, "0 of 6 spent" in out, "unspent" in out) == (2, True, True, True)
    code, out, _ = run("serve", "epoch", "wards", "--reason", "the rows of 2027", "--yes")
    assert (code, "epoch 2 of wards" in out) == (0, True)
    assert "0 of 6 spent" in run("serve", "check")[1]
    assert "epoch 2 of wards: the rows of 2027" in run("ledger", "show", "ledger.db")[1]


@pytest.mark.usefixtures("folder")
def test_a_ledger_that_is_lost_with_its_head_is_no_new_budget(run):
    run("serve", "init")
    configure()
    assert run("serve", "check")[0] == 0
    for path in (*Path().glob("ledger.db*"),):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for words in (("check",), ("--config", "curator.yaml"), ("key", "add", "ana"), ("check", "--accept-rollback")):
        code, out, err = run("serve", *words)
        assert (code, out, "hedgerow serve check --new-ledger" in err) == (2, "", True)
        assert not list(Path().glob("ledger.db*")) or words[-1] == "--accept-rollback"
    assert run("serve", "check", "--new-ledger")[0] == 0
    assert "a new ledger replaced one" in run("ledger", "show", "ledger.db")[1]
    assert run("serve", "check", "--new-ledger")[2] == (
        "error: the ledger already exists; start without --new-ledger.\n"
    )


@pytest.mark.usefixtures("folder")
def test_init_begins_the_ledger_that_is_named(run):
    assert run("serve", "init", "--ledger", "charges.db")[0] == 0
    assert Path("charges.db").exists()
    assert yaml.safe_load(Path("curator.yaml").read_text())["ledger"] == "charges.db"
    Path("other").mkdir()
    Path("other/ledger.db").touch()
    assert "ledger.db already exists" in run("serve", "init", "other")[2]
    assert [path.name for path in Path("other").iterdir()] == ["ledger.db"]
    code, out, err = run("serve", "init", "third", "--ledger", "postgresql://curator:SECRET@127.0.0.1:1/none")
    assert (code, out, "$PGPASSWORD" in err, "SECRET" in err, Path("third").exists()) == (2, "", True, False, False)


@pytest.mark.usefixtures("folder")
def test_decisions_that_do_not_fit_together_decide_nothing(run):
    run("serve", "init")
    configure()
    run("serve", "check")
    charge = Charge("rows by bin", Fraction(1))
    with Config.read("curator.yaml").open_ledger() as ledger:
        for key in ("one", "two"):
            with pytest.raises(ApprovalError, match="idempotency key"):
                Approvals(ledger.log).require("wards", "ana", key, charge, "{}")
    for words in (
        ("--approve", "1", "--refuse", "1"),
        ("--approve", "1", "--approve", "1"),
        ("--approve", "1", "--refuse", "3"),
    ):
        code, out, err = run("serve", "approvals", *words)
        assert (code, out, "othing was decided" in err) == (2, "", True)
    assert run("serve", "approvals")[1].count("ana asks wards") == 2
    assert run("serve", "approvals", "--approve", "1", "--refuse", "2")[:2] == (0, "")
    assert "  1  ana asks wards" in run("serve", "approvals", "--approved")[1]
    assert run("serve", "approvals", "--withdraw", "1")[:2] == (0, "")
    assert run("serve", "approvals", "--approved")[1] == ""
    assert run("ledger", "show", "ledger.db")[1].count(f"by the command line, uid {os.getuid()}: ana asks") == 3


@pytest.mark.usefixtures("folder")
def test_a_check_that_fails_names_the_dataset(run):
    run("serve", "init")
    configure(table="absent.csv")
    code, _, err = run("serve", "check")
    assert (code, "absent.csv" in err, "dataset wards" in err) == (2, True, True)


@pytest.mark.usefixtures("folder")
def test_a_ledger_whose_totals_were_edited_is_found_by_the_check(run):
    run("serve", "init")
    configure()
    assert run("serve", "check")[0] == 0
    with sqlite3.connect("ledger.db") as database:
        database.execute("UPDATE totals SET epsilon = '1'")
    code, _, err = run("serve", "check")
    assert (code, "broken" in err) == (2, True)


@pytest.mark.usefixtures("folder")
def test_a_signing_key_that_others_can_read_is_not_used(run):
    run("serve", "init")
    configure()
    Path("curator.key").chmod(0o644)
    for words in (("check",), ("rotate",)):
        code, _, err = run("serve", *words)
        assert (code, "chmod 600" in err) == (2, True)
    Path("curator.key").chmod(0o640)  # a group's may be meant
    assert run("serve", "check")[0] == 0


@pytest.mark.parametrize("name", ["curator.yaml", "ledger.db"])
@pytest.mark.usefixtures("folder")
def test_a_configuration_or_ledger_that_others_can_write_is_not_used(run, name):
    run("serve", "init")
    configure()
    assert run("serve", "check")[0] == 0
    Path(name).chmod(0o646)
    for words in (("check",), ("key", "list"), ("--config", "curator.yaml")):
        code, out, err = run("serve", *words)
        assert (code, out, f"{name}: expected" in err, "that other users cannot write" in err) == (2, "", True, True)
        assert "Run chmod o-w" in err
    assert run("ledger", "verify", "ledger.db")[0] == 0  # to look at it harms nothing
    Path(name).chmod(0o664)
    assert run("serve", "check")[0] == 0


@pytest.mark.usefixtures("folder")
def test_a_tls_key_that_others_can_read_is_not_used():
    pem = certificate(Path())
    pem.chmod(0o604)
    with pytest.raises(
        ArgumentError, match=r"expected a TLS key that other users cannot read, got mode 604. Run chmod 600"
    ):
        Address("0.0.0.0", certificate=pem, private_key=pem)
    pem.chmod(0o640)
    assert Address("0.0.0.0", certificate=pem, private_key=pem).secure


@pytest.mark.usefixtures("folder")
def test_a_rolled_back_ledger_is_served_only_after_acceptance(run):
    run("serve", "init")
    configure()
    run("serve", "check")
    run("serve", "key", "add", "ana")
    run("ledger", "backup", "ledger.db", "backup.db")
    assert run("serve", "key", "revoke", "ana")[0] == 0
    assert run("serve", "epoch", "wards", "--reason", "the rows of 2027", "--yes")[0] == 0
    os.replace("backup.db", "ledger.db")
    assert "has lost entries" in run("serve", "check")[2]
    code, out, _ = run("serve", "check", "--accept-rollback")
    assert (code, "lower the caps" in out, "serve epoch" in out, "serve key revoke" in out) == (0, True, True, True)
    assert (
        "a rollback was accepted, which may have lost charges: the head was entry 2"
        in run("ledger", "show", "ledger.db")[1]
    )
    assert "start without" in run("serve", "check", "--accept-rollback")[2]
    assert run("serve", "key", "list")[1] == "ana  analyst\n"  # as docs/service.md warns
    assert run("serve", "check")[0] == 0


@pytest.mark.usefixtures("folder")
def test_the_signing_key_is_replaced_with_an_entry_and_is_not_set_back(run):
    run("serve", "init")
    configure()
    run("serve", "check")
    old = Path("curator.key").read_bytes()
    assert run("serve", "rotate")[0] == 0
    assert run("serve", "check")[0] == 0
    assert "signing key" in run("ledger", "show", "ledger.db")[1]
    assert Path("curator.pub").read_text().count("BEGIN PUBLIC KEY") == 2
    new, _ = Path("curator.key").read_bytes(), Path("curator.key").write_bytes(old)
    assert "the signing key is" in run("serve", "check")[2]
    Path("curator.key").write_bytes(new)
    assert run("serve", "rotate")[0] == 0
    assert run("ledger", "verify", "ledger.db")[0] == 0
    Path("curator.pub").unlink()
    before = run("ledger", "show", "ledger.db")
    assert "curator.pub" in run("serve", "rotate")[2]
    assert run("ledger", "show", "ledger.db") == before  # nothing is replaced by a key that could not be published
    assert run("serve", "check")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "expected --demo or --config FILE"),
        (("--demo", "--config", "curator.yaml"), "expected --demo or --config FILE"),
        (("--demo", "--host", "0.0.0.0"), "requires TLS"),
        (("--demo", "--curator-host", "0.0.0.0"), "requires TLS"),
        (("--demo", "--tls-key", "key.pem"), "requires both"),
        (("--config", "curator.yaml"), "curator.yaml"),
        (("key", "add", "ana"), "curator.yaml"),
        (("check",), "curator.yaml"),
        (("--demo", "--port", "99999999"), "port"),
    ],
)
def test_what_is_missing_is_told(tmp_path, monkeypatch, run, words, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("serve", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_a_key_for_an_unknown_role_is_refused(run):
    run("serve", "init")
    configure()
    code, _, err = run("serve", "key", "add", "ana", "--role", "king")
    assert (code, "role must be" in err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("serve", "--demo"),
        ("serve", "init"),
        ("answer", "q", "--analyst", "a", "-o", "x"),
        ("verify", "a", "--key", "k"),
    ],
)
def test_without_the_extra_it_says_what_to_install(run, monkeypatch, words):
    monkeypatch.setattr("hedgerow.cli.serve.find_spec", lambda _: None)
    code, _, err = run(*words)
    assert (code, "'.[service]'" in err) == (2, True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_only_this_machine_is_reached_without_tls(host):
    assert Address(host).scheme == "http"
    with pytest.raises(ArgumentError, match=r"keys must not be sent unencrypted.*--tls-certificate.*--behind-proxy"):
        Address("192.0.2.1")
    assert Address("192.0.2.1", behind_proxy=True).scheme == "http"
