"""Values that a regular expression lists."""

import pytest

from hedgerow.schema.imports.plain import listed_values


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
