"""DDI codebooks as drafts; documents that would expand or load something are refused."""

import pytest

from hedgerow.errors import SchemaError
from hedgerow.schema import Categorical, Integer, Schema
from hedgerow.schema.imports import ddi
from hedgerow.schema.imports.ddi import codebook_draft
from tests.schema.imports.descriptions import CODEBOOK

SOURCE = {"source": "DDI codebook"}


@pytest.fixture
def codebook(tmp_path):
    def write(text):
        path = tmp_path / "codebook.xml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_variables_are_attributes_with_what_they_declare_and_no_statistics(codebook):
    draft = codebook_draft(codebook(CODEBOOK))
    gaps = [("town", "values"), ("weight", "low"), ("weight", "high"), ("odd", "kind")]
    assert draft.gaps == tuple(gaps)
    assert "SECRET" not in repr(draft)
    known = type(draft)(draft.columns[:2]).schema()
    assert known == Schema(
        {
            "age": Integer(
                17, 90, missing="bin", missing_values=(-9,), description="Age at interview", unit="years", **SOURCE
            ),
            "sex": Categorical(
                (1, 2), missing="bin", missing_values=(9,), description="Sex (1 = Female; 2 = Male)", **SOURCE
            ),
        }
    )


def test_ranges_with_a_fraction_are_of_real_numbers(codebook):
    text = CODEBOOK.replace('UNITS="INT" min="17"', 'min="17.5"')
    assert codebook_draft(codebook(text)).columns[0].kind == "real"
    text = CODEBOOK.replace('UNITS="INT"', 'UNITS="REAL"')
    assert codebook_draft(codebook(text)).columns[0].kind == "real"


BOMB = '<!DOCTYPE b [<!ENTITY a "xxxxxxxxxx"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><codeBook>&b;</codeBook>'
OUTSIDE = '<!DOCTYPE b [<!ENTITY x SYSTEM "file:///etc/passwd">]><codeBook><var name="&x;"/></codeBook>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "a document without DOCTYPE"),
        (OUTSIDE, "a document without DOCTYPE"),
        ('<!DOCTYPE b SYSTEM "https://example.org/ddi.dtd"><codeBook/>', "a document without DOCTYPE"),
        ("<codeBook>", r"not well formed \(line 1\)"),
        ("<codeBook><var name='&x;'/></codeBook>", "not well formed"),
        (b"<?xml version='1.0' encoding='klingon'?><a/>", "expected XML"),
        ("", "not well formed"),
        ("<codeBook/>", "with variables .var., got none"),
        ("<a>" * 200 + "</a>" * 200, "nested too deep"),
    ],
)
def test_what_could_expand_or_load_something_is_refused(codebook, text, message):
    with pytest.raises(SchemaError, match=message) as error:
        codebook_draft(codebook(text))
    assert "xxxx" not in str(error.value)


def test_a_codebook_is_read_within_bounds(codebook, monkeypatch):
    monkeypatch.setattr(ddi, "LARGEST_CODEBOOK", 100)
    with pytest.raises(SchemaError, match="at most 100 bytes"):
        codebook_draft(codebook(CODEBOOK))
    monkeypatch.setattr(ddi, "LARGEST_CODEBOOK", 10**5)
    monkeypatch.setattr(ddi, "_MOST_VARIABLES", 3)
    with pytest.raises(SchemaError, match="too many variables"):
        codebook_draft(codebook(CODEBOOK))


def test_long_texts_are_cut(codebook):
    text = CODEBOOK.replace("Age at", "x" * 100_000)
    assert len(codebook_draft(codebook(text)).columns[0].description) == 1_000
