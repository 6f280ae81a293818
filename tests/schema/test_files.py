import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.schema.files import mapping_text, read_mapping

# PyYAML folds the line breaks of Unicode, where they stand unescaped, into spaces
text = st.text(st.characters(exclude_categories=["Cs", "Zl", "Zp"], exclude_characters="\x85"), max_size=8)
scalars = text | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none()
mappings = st.dictionaries(
    text,
    st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize("name", ["a.yaml", "a.yml", "a.json", "A.JSON", "a"])
@given(data=mappings)
@settings(max_examples=60, deadline=None)
def test_plain_data_comes_back_as_written(folder, name, data):
    (folder / name).write_text(mapping_text(name, data), encoding="utf-8")
    back = read_mapping(folder / name)
    assert back == data
    assert repr(back) == repr(data)  # 1, 1.0 and True are equal, and not the same


def test_the_ending_chooses_the_format():
    assert mapping_text("a.JSON", {"à": [1, 2]}).startswith('{\n  "à": [')
    assert mapping_text("a.yml", {"à": [1, 2]}) == "à: [1, 2]\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.yaml", b"a: 1\nb: 2\na: 3\n", r"key 'a': given more than once \(line 1\)"),
        ("a.yaml", b"x:\n  a: 1\n  a: 1\n", r"key 'a': given more than once \(line 2\)"),
        ("a.json", b'{"a": 1, "b": 2, "a": 1}', "the same key given more than once among a, a, b"),
        ("a.yaml", b"a: [1", "a.yaml: not well formed: .*line"),
        ("a.yaml", b"a: 2020-13-45", "a.yaml: not well formed: month must be in"),
        (
            "a.yaml",
            b"a: !!python/object/apply:os.getcwd []",
            "a.yaml: not well formed: could not determine a constructor",
        ),
        ("a.yaml", b"{[1]: 2}", "a.yaml: not well formed: .*unhashable key"),
        ("a.yaml", b"a: 1\n---\nb: 2\n", "a.yaml: not well formed: expected a single document"),
        ("a.json", b"{'a': 1}", "a.json: not well formed: .*line 1 column 2"),
        ("a.json", b"", "a.json: not well formed"),
        ("a.yaml", b"\xff\xfe\x00PK", "a.yaml: expected a YAML or JSON schema, found a file that is not text"),
        ("a.json", b"\x80", "a.json: expected a YAML or JSON schema, found a file that is not text"),
    ],
)
def test_a_file_that_is_not_well_formed_is_an_error_that_says_where(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SchemaError, match=f"(?s){message}"):
        read_mapping(tmp_path / name)


def test_an_absent_file_is_the_systems_own_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_mapping(tmp_path / "nowhere.yaml")
