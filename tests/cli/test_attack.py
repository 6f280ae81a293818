"""`hedgerow attack`, and its results in `hedgerow report`."""

import json
import stat

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.audit import AttackRecord
from tests.cli.table import FIT

LEARNER = ("data.csv", "--schema", "schema.yaml", "--epsilon", "5", "--max-rules", "2")
KINDS = {
    "membership": ("--repeats", "2", "--seed", "0", "--method", "label-only"),
    "lira": ("--repeats", "5", "--seed", "0", "--method", "offline"),
    "exact-membership": (),
    "exact-inference": ("--candidates", "candidates.csv", "--no-release-counts"),
    "one-run": ("--canaries", "50", "--seed", "0"),
}


@pytest.fixture
def candidates(folder):
    pd.read_csv(folder / "data.csv", dtype=str).iloc[:2].to_csv(folder / "candidates.csv", index=False)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_each_attack_writes_a_private_record_of_the_learner_and_the_rows(candidates, run, kind):
    code, out, err = run("attack", kind, *LEARNER, *KINDS[kind], "-o", "a.PRIVATE.json")
    assert (code, "written to a.PRIVATE.json" in err) == (0, True)
    assert "not for release" in out or kind == "one-run"
    path = candidates / "a.PRIVATE.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    record = AttackRecord.load(path)
    assert (record.kind, record.subject.learner) == (kind, "PrivateRuleListClassifier")
    assert (record.subject.epsilon, record.subject.rows) == (5, 600)
    assert record.subject.schema == hr.Schema.load(candidates / "schema.yaml").digest
    code, out, _ = run("attack", "exact-membership", *LEARNER, "--json")
    assert json.loads(out) == AttackRecord.load(candidates / "attack.PRIVATE.json").to_dict()


def test_the_record_is_that_of_python_whatever_reads_the_rows(folder, run):
    run("attack", "exact-membership", *LEARNER)
    data = pd.read_csv(folder / "data.csv", na_values=[])
    schema = hr.Schema.load(folder / "schema.yaml")
    learner = hr.PrivateRuleListClassifier("5", max_rules=2, schema=schema)
    expected = hr.audit.exact_membership(learner, data.drop(columns="ill"), data["ill"]).record
    assert AttackRecord.load(folder / "attack.PRIVATE.json") == expected


def test_a_report_takes_attacks_on_its_own_learner_alone(folder, run):
    assert run(*FIT)[0] == 0
    run("attack", "exact-membership", *LEARNER, "-o", "exact.PRIVATE.json")
    run("attack", "one-run", *LEARNER, "-o", "one.PRIVATE.json")
    both = ("--attack", "exact.PRIVATE.json", "--attack", "one.PRIVATE.json")
    code, _, err = run("report", "model.json", "--data", "data.csv", *both, "-o", "r.json")
    assert (code, err.splitlines()[:2]) == (0, ["written to r.json", "written to r.PRIVATE.json"])
    (section,) = [
        load for load in json.loads((folder / "r.PRIVATE.json").read_text())["sections"] if load["id"] == "attacks"
    ]
    assert [row[4] for row in section["tables"][0]["rows"]] == ["training", "training"]
    assert '"attack_measures"' not in (folder / "r.json").read_text()
    run("attack", "one-run", *LEARNER[:4], "0.01", "--max-rules", "2", "-o", "weak.PRIVATE.json")
    code, out, err = run("report", "model.json", "--attack", "weak.PRIVATE.json", "-o", "s.html")
    assert (code, out) == (2, "")
    assert "epsilon = 1/100" in err
    assert "epsilon = 5" in err
    pd.read_csv(folder / "data.csv", dtype=str).iloc[1:].to_csv(folder / "fewer.csv", index=False)
    code, _, err = run("report", "model.json", "--data", "fewer.csv", "--attack", "one.PRIVATE.json", "-o", "s.html")
    assert (code, "600 rows" in err) == (2, True)
    code, _, err = run("report", "model.json", "--attack", "model.json", "-o", "s.html")
    assert (code, err.count("\n"), "expected the format 'hedgerow/attack'" in err) == (2, 1, True)
    assert not (folder / "s.html").exists()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (("lira", *LEARNER[:3]), "--epsilon missing"),
        (("lira", *LEARNER, "-o", "a.json"), "use a.PRIVATE.json"),
        (("lira", *LEARNER, "--repeats", "4"), "--repeats must be a whole number >= 5"),
        (("lira", *LEARNER, "--canaries", "4"), "--canaries requires attack one-run"),
        (("one-run", *LEARNER, "--method", "rmia"), "--method requires attack membership or lira"),
        (("lira", *LEARNER, "--method", "best"), "offline, online"),
        (("lira", *LEARNER, "--jobs", "0"), "expected --jobs to be a positive number"),
        (("exact-inference", *LEARNER), "--candidates FILE is missing"),
        (("exact-inference", "-", *LEARNER[1:], "--candidates", "-"), "DATA and --candidates cannot both be read"),
        (("lira", *LEARNER, "--max-depth", "2"), "--max-depth requires --model tree"),
        (("exact-membership", *LEARNER, "--search", "greedy"), "greedy"),
    ],
)
def test_other_options_are_refused_before_anything_is_written(folder, run, given, problem):
    code, out, err = run("attack", *given)
    assert (code, out) == (2, "")
    assert problem in err
    assert not list(folder.glob("*PRIVATE*"))
