"""Records of attacks: every result makes one, files bring it back, and no other file is read."""

import json
import stat
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import (
    AttackMeasure,
    AttackRecord,
    AttackSubject,
    Membership,
    empirical_epsilon,
    exact_inference,
    exact_membership,
    lira,
    membership,
    one_run_epsilon,
)
from hedgerow.audit.attack_record import record_of
from hedgerow.models.envelope import seal

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "attack-1.schema.json"
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
Y = X[:, 0] ^ (np.arange(40) == 7)
LEARNER = hr.PrivateTreeClassifier(epsilon=0.5, max_depth=1, release_counts=False)
PLAIN = DecisionTreeClassifier(max_depth=2)
RESULTS = {
    "membership": lambda: membership(PLAIN, X, Y, repeats=2, random_state=0),
    "lira": lambda: lira(PLAIN, X, Y, repeats=5, random_state=0),
    "exact-membership": lambda: exact_membership(LEARNER, X, Y),
    "exact-inference": lambda: exact_inference(LEARNER, X, Y, candidates=(X[:2], Y[:2])),
    "one-run": lambda: one_run_epsilon(PLAIN, X, Y, random_state=0),
    "empirical": lambda: empirical_epsilon(PLAIN, (X, Y), (X[1:], Y[1:]), runs=20, random_state=0),
}


def record(**changes):
    subject = AttackSubject(
        "Tree", (("depth", "2"),), Fraction(1, 3), Fraction(0), "a" * 64, "tree", None, 4, ("b" * 64,)
    )
    measures = AttackMeasure("auc", 0.5, 0.4, 0.6, 0.95), AttackMeasure("tpr", 0.1, at=0.1)
    return replace(AttackRecord("lira", "an attack", subject, 4, measures), **changes)


@pytest.mark.parametrize("kind", RESULTS)
def test_every_result_makes_a_record_that_a_file_brings_back(kind, tmp_path):
    result = RESULTS[kind]()
    path = tmp_path / "attack.PRIVATE.json"
    result.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    outcome = AttackRecord.load(path)
    assert outcome == result.record == record_of(result) == record_of(outcome)
    assert outcome.kind == kind
    private = isinstance(LEARNER, hr.PrivateTreeClassifier) and kind.startswith("exact")
    assert outcome.subject.epsilon == (Fraction(1, 2) if private else None)
    assert outcome.subject.rows == (0 if kind == "empirical" else 40)
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(outcome.to_dict())) == []


def test_the_record_has_the_measures_of_the_result():
    attacked = RESULTS["lira"]()
    result = attacked.record
    assert result.measure("auc").interval == attacked.auc_interval
    assert result.measure("tpr", 0.1).value == attacked.tpr_at(0.1)
    exact = RESULTS["exact-membership"]()
    assert exact.record.measure("privacy_loss").value == exact.realised_loss.max()
    assert exact.record.measure("auc") is None
    assert attacked.by("rmia").record.subject == result.subject


def test_the_subject_does_not_depend_on_the_seed():
    item, other = (membership(PLAIN, X, Y, repeats=1, random_state=seed).record for seed in (0, 1))
    assert item.subject == other.subject
    assert item != other


def test_a_result_made_by_hand_has_no_record():
    result = Membership("Tree", "guess", (7, 8, 3, 4), np.ones((1, 201)), np.array([0.5]))
    with pytest.raises(ValueError, match="has no subject"):
        _ = result.record
    with pytest.raises(TypeError, match="got float"):
        record_of(0.5)


def test_the_file_name_must_contain_private(tmp_path):
    with pytest.raises(ValueError, match=r"use attack\.PRIVATE\.json"):
        record().save(tmp_path / "attack.json")
    assert list(tmp_path.iterdir()) == []


def changed(*path, to):
    """Return the data of a record with one entry replaced, and a digest that matches."""
    data = json.loads(record().to_json())
    del data["digest"]
    place = data
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = to
    return seal(data)


HOSTILE = "\x1b[31mevil\n"


@pytest.mark.parametrize(
    "data",
    [
        changed("private", to=False),
        changed("attack", "kind", to=HOSTILE),
        changed("attack", "method", to=["a"]),
        changed("attack", "method", to="a" * 3000),
        changed("attack", "repeats", to=True),
        changed("attack", "repeats", to=0),
        changed("attack", HOSTILE, to=1),
        changed(HOSTILE, to=1),
        changed("subject", "learner", to=["Tree"]),
        changed("subject", "parameters", to={"depth": 2}),
        changed("subject", "parameters", to=[["depth", "2"]]),
        changed("subject", "epsilon", to="0x1"),
        changed("subject", "epsilon", to="2/6"),
        changed("subject", "epsilon", to=None),
        changed("subject", "kind", to=HOSTILE),
        changed("subject", "rows", to=-1),
        changed("subject", "rows", to=4.0),
        changed("subject", "tables", to=["B" * 64]),
        changed("subject", "tables", to=[1]),
        changed("subject", HOSTILE, to=1),
        changed("measures", to=[]),
        changed("measures", to={}),
        changed("measures", 0, "code", to=HOSTILE),
        changed("measures", 0, "value", to="0.5"),
        changed("measures", 0, "value", to=True),
        changed("measures", 0, "value", to=0.7),
        changed("measures", 0, "high", to=1.5),
        changed("measures", 1, "at", to=None),
        changed("measures", 1, "at", to=2),
        changed("measures", 0, HOSTILE, to=1),
        changed("measures", to=[{"code": "mu", "value": 1.0}] * 200),
        changed("version", to=2),
        changed("format", to="hedgerow/tree"),
        record().to_dict() | {"software": "edited"},
        [1],
    ],
)
def test_no_other_file_is_read_and_none_is_quoted(data, tmp_path):
    path = tmp_path / "attack.PRIVATE.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=r"attack\.PRIVATE\.json") as caught:
        AttackRecord.load(path)
    assert "evil" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_files_are_refused_in_one_line(tmp_path):
    path = tmp_path / "attack.PRIVATE.json"
    texts = ["", "{", "[" * 5000, '{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}', "\x00", "9" * 5000]
    for content in [*(text.encode() for text in texts), b"\xff\xfe", b" " * (2**23 + 1)]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"attack\.PRIVATE\.json: ") as caught:
            AttackRecord.load(path)
        assert "\n" not in str(caught.value)


def test_the_published_schema_refuses_other_forms():
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(record().to_dict())
    for data in (
        changed("private", to=False),
        changed("attack", "kind", to="other"),
        changed("subject", "epsilon", to=1.0),
        changed("subject", "extra", to=1),
        changed("measures", 0, "code", to="other"),
        changed("measures", to=[]),
    ):
        assert not validator.is_valid(data)


def test_a_record_is_printed_as_text_without_control_characters():
    subject = replace(record().subject, learner=HOSTILE)
    text = str(record(subject=subject))
    assert "\x1b" not in text + repr(record(subject=subject))
    assert "0.5 (95 % confidence: 0.4 to 0.6)" in text
