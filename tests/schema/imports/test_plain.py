"""Plain data of descriptions from elsewhere."""

import pytest

from hedgerow.errors import SchemaError
from hedgerow.schema.imports.plain import json_of, list_in, mapping_in, mappings_in, text_in


def test_what_is_of_another_type_is_not_there():
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


@pytest.mark.parametrize("text", ["{", '{"a": 1, "a": 2}', '{"a": NaN}', "[" * 200 + "]" * 200])
def test_a_file_is_read_within_bounds(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(SchemaError, match=r"a.json: expected"):
        json_of(tmp_path / "a.json")
