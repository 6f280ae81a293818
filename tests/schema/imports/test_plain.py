"""Plain data of descriptions from elsewhere, and values that a regular expression lists."""

import pytest

from hedgerow.schema.imports.json_formats import list_in, listed_values, mapping_in, mappings_in, text_in


def test_entries_of_another_type_are_ignored():
    data = {"m": {"a": 1}, "l": [1, {"b": 2}], "t": " x ", "n": 7, "langs": {"en": ["e", "f"]}, "many": ["", "y"]}
    assert (mapping_in(data, "m"), mapping_in(data, "l"), mapping_in([], "m")) == ({"a": 1}, {}, {})
    assert (list_in(data, "l"), list_in(data, "n"), list_in(data, "no"), list_in(3, "l")) == (
        [1, {"b": 2}],
        [7],
        [],
        [],
    )
    assert mappings_in(data, "l") == [{"b": 2}]
    assert [text_in(data, key) for key in ("t", "n", "langs", "many", "m")] == ["x", None, "e", "y", None]
    assert text_in(data, "no", "t") == "x"


@pytest.mark.parametrize(
    ("pattern", "values"),
    [
        ("^(red|green)$", ("red", "green")),
        ("red|dark green", ("red", "dark green")),
        ("(?:a|b|c)", ("a", "b", "c")),
        ("a", ()),
        ("a|b+", ()),
        ("a|b.", ()),
        ("a|(b)", ()),
        ("[ab]|c", ()),
        (None, ()),
        ("a|" * 6_000 + "a", ()),
    ],
)
def test_only_a_plain_list_of_words_has_values(pattern, values):
    assert listed_values(pattern) == values
