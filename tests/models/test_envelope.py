import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import ModelFormatError
from hedgerow.models import Rule, RuleList
from hedgerow.models.envelope import LARGEST_MODEL, format_of, parse, read_text, seal, unseal
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Categorical, Integer, Label, Literal, Schema

CARD = PrivacyCard((Charge("counts", Fraction(3, 2), mechanism="geometric"),), noise="OpenDP", software="hedgerow")
SCHEMA = Schema({"age": Integer(0, 90, cuts=(30,)), "sex": Categorical(("F", "M"))}, Label("y", ("no", "yes")))
MODEL = RuleList(SCHEMA, (Rule((Literal("age", "<=", (30,)),), (90, -2)), Rule((), (40, 60))), CARD)
TEXT = MODEL.to_json()


def resealed(change: Callable[[dict[str, Any]], Any]) -> str:
    """Return the model's file after a change by someone who computed a new digest."""
    data = json.loads(TEXT)
    del data["digest"]
    change(data)
    return json.dumps(seal(data))


def refused(text: str, match: str) -> None:
    with pytest.raises(ModelFormatError, match=match) as caught:
        RuleList.from_json(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_what_was_sealed_comes_back() -> None:
    data = seal({"format": "f", "version": 1, "é": [1, None, 0.5, True, "x"]})
    assert unseal(parse(json.dumps(data)), format="f", version=1) == data
    assert unseal(parse(json.dumps(data, indent=7, ensure_ascii=False)), format="f", version=1) == data


def test_layout_is_not_content() -> None:
    assert RuleList.from_json(json.dumps(json.loads(TEXT), separators=(",", ":"))) == MODEL


def test_a_truncated_file_is_refused() -> None:
    match = r"^not a hedgerow model: the text is truncated or not JSON \(line \d+: "
    for length in range(0, len(TEXT.rstrip()) - 1, 7):
        refused(TEXT[:length], match)


def test_a_file_with_one_character_changed_is_refused_or_means_the_same() -> None:
    for position, other in product(range(0, len(TEXT), 5), ("7", "x", " ", '"')):
        edited = TEXT[:position] + other + TEXT[position + 1 :]
        try:
            read = RuleList.from_json(edited)
        except ModelFormatError:
            continue
        assert read == MODEL, (position, other)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("90,\n", "91,\n"),  # a count
        ("30\n", "31\n"),  # a cut point
        ('"epsilon": 1.5', '"epsilon": 0.5'),
        ('"3/2"', '"1/2"'),
        ('"then": "no"', '"then": "yes"'),
        ('"age"', '"ages"'),
        ('"<="', '">"'),
        ("OpenDP", "openDP"),
        ('"pure"', '"none"'),
    ],
)
def test_an_edited_file_is_refused(before: str, after: str) -> None:
    assert before in TEXT
    refused(TEXT.replace(before, after, 1), "^the file was changed .* digest .* ask for the original file")


@pytest.mark.parametrize("key", [key for key in json.loads(TEXT) if key not in ("format", "version")])
def test_a_file_without_one_of_its_keys_is_refused(key: str) -> None:
    data = json.loads(TEXT)
    del data[key]
    refused(json.dumps(data), "^the file was changed after it was written")
    if key != "digest":
        refused(resealed(lambda data: data.pop(key)), "^not a valid rule list: ")


def test_columns_in_another_order_are_another_model() -> None:
    # arrays are read by position: the same keys in another order would give other predictions
    data = json.loads(TEXT)
    data["schema"]["attributes"] = dict(reversed(data["schema"]["attributes"].items()))
    refused(json.dumps(data), "^the file was changed after it was written")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "the text is truncated or not JSON"),
        ("age <= 30", "the text is truncated or not JSON"),
        ("\ufeff" + TEXT, "the text is truncated or not JSON"),
        (TEXT + TEXT, r"the text is truncated or not JSON \(line \d+: Extra data\)"),
        ("[" * 100_000, "not a hedgerow model: lists and mappings are nested"),
        ("9" * 10_000, "more than 400 digits"),
        ("[]", "expected the format 'hedgerow/rule-list', got a list"),
        ("null", "expected the format 'hedgerow/rule-list', got a NoneType"),
        ("{}", "expected the format 'hedgerow/rule-list', got a mapping without a format"),
        ('{"format": "patients of ward 7"}', "expected the format 'hedgerow/rule-list', got an unknown format"),
        ('{"format": ["hedgerow/tree"]}', "got an unknown format"),
        (f'{{"format": "hedgerow/{"x" * 10**6}"}}', "got 'hedgerow/x+'…"),
        (" " * (LARGEST_MODEL + 1), "at most 8,388,608 bytes, got 8,388,609"),
        ('{"format": "hedgerow/marginals"}', "got 'hedgerow/marginals'"),
    ],
)
def test_text_that_is_not_a_rule_list_fails(text: str, match: str) -> None:
    refused(text, match)


def test_files_that_are_nested_too_deeply_fail() -> None:
    nested: list = []
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(ModelFormatError, match="nested"):
        unseal({"format": "f", "version": 1, "x": nested}, format="f", version=1)


def test_the_format_of_data_is_described() -> None:
    said = ["'hedgerow/f'", "an unknown format", "a mapping without a format", "a list", "a int"]
    texts = ['{"format": "hedgerow/f"}', '{"format": "f"}', "{}", "[]", "1"]
    assert [format_of(parse(text)) for text in texts] == said


@pytest.mark.parametrize("version", [0, 1, 3, 2.0, True, "2", None, [2]])
def test_another_version_is_refused_with_advice(version: object) -> None:
    message = r"^expected version 2 of hedgerow/rule-list, got .*; read it with the release"
    refused(resealed(lambda data: data.update(version=version)), message)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: data["rules"][0].update(then="yes"), id="prediction contradicts counts"),
        pytest.param(lambda data: data.update(schema_digest="0" * 64), id="digest of another schema"),
        pytest.param(lambda data: data.update(extra=1), id="key that is unknown"),
        pytest.param(lambda data: data["rules"][0].update(label=None), id="label that is none"),
        pytest.param(lambda data: data["rules"][0].update(label="yes"), id="label that is not predicted"),
        pytest.param(lambda data: data["rules"][0].update(counts=[True, -2]), id="count that is a boolean"),
        pytest.param(lambda data: data["rules"][0]["if"][0].update(more=1), id="key of a literal that is unknown"),
    ],
)
def test_a_consistent_digest_does_not_excuse_contradictions(change: Callable[[dict[str, Any]], Any]) -> None:
    refused(resealed(change), r"^not a valid rule list: its parts are inconsistent\.$")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda data: data["rules"][0]["if"][0].update(attribute="height"), "attribute 'height': is used"),
        (lambda data: data["rules"][0]["if"][0].update(operator="~"), "operator must be one of"),
        (
            lambda data: data["rules"][0]["if"][0].update(operands=[31]),
            "attribute 'age': literals must compare with the cut points",
        ),
        (lambda data: data["rules"][0]["if"][0].update(operands=[[30]]), "operands must be text"),
        (lambda data: data["rules"][0]["if"][0].update(operands=["a" * 10**6]), "attribute 'age': .*; got age <= a"),
        (lambda data: data["rules"][0]["if"][0].update(operator=["<="]), "operator must be one of"),
        (lambda data: data["rules"][0]["if"][0].update(attribute=7), "attribute must be text"),
        (lambda data: data["rules"][0].update(counts=[1]), "expected 2 counts per rule, got 1"),
        (lambda data: data["rules"][0].update(counts=[90.0, -2]), "TypeError: 'float' object cannot be interpreted as"),
        (lambda data: data["rules"][0].update(counts=["90", "-2"]), "TypeError: 'str' object cannot be interpreted as"),
        (lambda data: data["rules"][0].update(counts=[2**63, 1]), r"counts must be below 2\^63"),
        (lambda data: data["rules"][0].update(label="maybe"), "expected the label of a rule to be one of"),
        (lambda data: data["rules"][0].update(label=1), "expected the label of a rule to be one of"),
        (lambda data: data["rules"][0].update(counts=None), "a leaf must have counts, a label, or a mean"),
        (lambda data: data["rules"][0].pop("counts"), "KeyError: 'counts'"),
        (lambda data: data["rules"].pop(), "the last rule, and no other rule, must be a default rule"),
        (lambda data: data.update(rules="abc"), "TypeError: "),
        (lambda data: data.update(rules=None), "TypeError: "),
        (lambda data: data["schema"]["attributes"]["age"].update(kind="date"), "attribute 'age'"),
        (lambda data: data["schema"].update(attributes=[]), "expected attributes to be a mapping"),
        (lambda data: data["privacy"].update(epsilon=0.1), "the card's epsilon does not follow"),
        (
            lambda data: data["privacy"]["charges"][0].update(epsilon_exact="3/4"),
            "the entries of a charge contradict each other",
        ),
        (lambda data: data["privacy"]["charges"][0].update(epsilon_exact="1/0"), "expected an amount"),
        (lambda data: data["privacy"]["charges"][0].update(epsilon_exact="one"), "expected an amount"),
        (lambda data: data["privacy"].pop("charges"), "KeyError: 'charges'"),
        (lambda data: data.update(privacy=[]), "TypeError: "),
        (lambda data: data["privacy"].update(charges=["x"]), "TypeError: "),
    ],
)
def test_a_consistent_digest_does_not_excuse_nonsense(change: Callable[[dict[str, Any]], Any], match: str) -> None:
    refused(resealed(change), f"^not a valid rule list: {match}")


def test_the_error_on_a_pickle_leads_to_python(tmp_path: Path) -> None:
    path = tmp_path / "model.joblib"
    path.write_bytes(b"\x80\x04\x95\x00")
    with pytest.raises(ModelFormatError, match=r"model\.joblib: .*a pickle runs its code.*hedgerow\.Report\.of"):
        read_text(path)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x93NUMPY\x01\x00", b"PK\x03\x04\xe9"])
def test_a_file_that_is_not_text_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(ModelFormatError, match=r"model\.json: .*not text"):
        read_text(path)
    with pytest.raises(ModelFormatError, match="not text in UTF-8"):
        RuleList.load(path)
