import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.schema.files import LARGEST_SCHEMA, check_ending, mapping_text, read_mapping

# PyYAML folds the line breaks of Unicode, where they stand unescaped, into spaces
text = st.text(st.characters(exclude_categories=["Cs", "Zl", "Zp"], exclude_characters="\x85"), max_size=8)
scalars = text | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none()
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


@pytest.mark.parametrize("name", ["a.yaml", "a.yml", "A.YAML", "a.json", "A.JSON"])
@given(data=mappings)
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
        ("a.yaml", b"a: [1", r"the text is not valid YAML \(line 1, column 6\)\."),
        ("a.json", b"{'a': 1}", r"the text is truncated or not JSON \(line 1: "),
        ("a.json", b"", "the text is truncated or not JSON"),
        ("a.json", b'{"a": 1, "b": 2, "a": 1}', "a mapping has a duplicate key"),
        ("a.yaml", b"\xff\xfe\x00PK", "the file is not text in UTF-8"),
        ("a.json", b"\x80", "the file is not text in UTF-8"),
        ("a.json", b" " * (LARGEST_SCHEMA + 1), "the file is larger than the limit of 4,194,304 bytes"),
    ],
)
def test_a_malformed_file_is_an_error_that_names_the_place(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SchemaError, match=f"{name}: {message}"):
        read_mapping(tmp_path / name)


@pytest.mark.parametrize("name", ["patients.csv", "patients", "patients.yaml.bak", "schema.txt", ".yaml"])
def test_the_name_of_a_schema_file_determines_its_format(tmp_path, name):
    path = tmp_path / name
    path.write_text("name,ill\nAlice,yes\n")
    for act in (read_mapping, check_ending, lambda path: mapping_text(path, {})):
        with pytest.raises(SchemaError, match=r"\.yaml, \.yml, \.json") as it:
            act(path)
        assert "Alice" not in str(it.value)
    with pytest.raises(SchemaError, match="check the order of the arguments"):
        read_mapping(tmp_path / "there is none.csv")


def test_an_absent_file_is_the_systems_own_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_mapping(tmp_path / "nowhere.yaml")
