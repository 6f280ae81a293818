import time
from contextlib import suppress

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hedgerow.boundary.untrusted_text import UnreadableError
from hedgerow.schema.files import LARGEST_YAML, parse_yaml

WORDS = [
    "0x1F",
    "010",
    "1_0",
    "1:30",
    "2020-01-01",
    ".inf",
    ".nan",
    "1.5",
    "-7",
    "+1",
    "-.5e+3",
    "1.0e+999",
    "~",
    "yes",
]
WORDS += ["<<", "=", "é", "a", "\\U00110000", "\\x41"]
SIGNS = [
    *" \n\t\x85\u2028[]{}, \"'|>#@`",
    "  ",
    "- ",
    ": ",
    "? ",
    "&a ",
    "*a ",
    "!b ",
    "!!str ",
    "%YAML 1.1\n",
    "---\n",
]
TEXTS = st.lists(st.sampled_from(WORDS + SIGNS), max_size=12).map("".join)


class DatesAsText(yaml.SafeLoader):
    """Reads what YAML means, but leaves a date as it is written."""


DatesAsText.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)


@given(TEXTS)
@example("a: 2020-01-01")
@settings(max_examples=4 * settings.default.max_examples)
def test_data_is_read_as_in_yaml(text: str) -> None:
    with suppress(UnreadableError):
        assert repr(parse_yaml(text)) == repr(yaml.load(text, DatesAsText))


PLAIN = {
    "{a: [1, -2, +3, 0, 1.5, .5, -1.0e+3, true, off, ~, '', 08, 1e3, x y]}": {
        "a": [1, -2, 3, 0, 1.5, 0.5, -1000.0, True, False, None, "", "08", "1e3", "x y"]
    },
    "'0x1F': \"010\"": {"0x1F": "010"},
    "a: |\n  1\n": {"a": "1\n"},
    "&here [1]": [1],
    "%YAML 1.1\n---\na: 1\n...\n": {"a": 1},
    "": None,
    "# nothing": None,
}


@pytest.mark.parametrize("text", PLAIN)
def test_plain_values(text: str) -> None:
    assert repr(parse_yaml(text)) == repr(PLAIN[text])


REFUSED = {
    "a: &x 1\nb: *x": r"aliases are not supported \(line 2, column 4\)",
    "!!str 1": r"tags are not supported \(line 1, column 1\)",
    "a: !!python/object/apply:os.getcwd []": r"tags are not supported \(line 1, column 4\)",
    "! a": "tags are not supported",
    "a: 1\nb: 2\na: 3\n": r"a key occurs twice in a mapping \(line 3, column 1\)",
    "x:\n  a: 1\n  a: 1\n": r"occurs twice in a mapping \(line 3, column 3\)",
    "{1: a, 1.0: b}": "occurs twice in a mapping",
    "{[1]: 2}": r"a key must be text, got a list or mapping \(line 1, column 2\)",
    "? {a: b}\n: c": "got a list or mapping",
    "a: 1\n---\nb: 2\n": r"one YAML document, got two \(line 2, column 1\)",
    "<<: {a: 1}": "YAML types",
    "a: '": r"the text is not valid YAML \(line 1, column 5\)",
    "a: \x01b": r"a character that YAML does not allow \(line 1\)",
    "a: 1\nb: \x1b": r"a character that YAML does not allow \(line 2\)",
    '"\\U99999999"': "the text is not valid YAML",
    "%YAML " + "9" * 5000 + ".1\n--- a": "the text is not valid YAML",
    '"\\uD800"': "surrogate",
    "9" * 401: "YAML types",
    "1.0e+999": "finite",
    "[" * 5000 + "]" * 5000: "lists and mappings can be nested",
    "- " * 5000 + "a": "lists and mappings can be nested",
    "a" * (LARGEST_YAML + 1): "at most 262,144 characters, got 262,145",
}
NO_DECIMALS = [
    *("2020-01-01 10:00:00", "2020-13-45", "0x1F", "0b1", "010", "007", "1_000", "1:30", "1:30.5", ".inf", ".nan", "="),
]
REFUSED |= dict.fromkeys(NO_DECIMALS, r"such as times.* put it in quotes \(line 1, column 1\)")


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_the_rest_of_yaml_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(UnreadableError, match=REFUSED[text]) as caught:
        parse_yaml(text)
    assert caught.value.__context__ is None  # PyYAML's own error quotes the text
    assert len(str(caught.value)) < 300


LARGE = {
    "keys": "".join(f"k{i}: v\n" for i in range(5_000)),  # each was counted among all others
    "sexagesimal": "1:30" + ":30" * 60_000,
    "hexadecimal": "0x" + "F" * 200_000,
    "anchors": "&a [" + ",".join(["&b [x]"] * 5_000) + "]",
}


@pytest.mark.parametrize("name", LARGE)
def test_time_is_in_proportion_to_the_text(name: str) -> None:
    start = time.process_time()
    with suppress(UnreadableError):
        parse_yaml(LARGE[name])
    assert time.process_time() - start < 3
