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
        (BOMB, "DOCTYPE is not allowed"),
        (OUTSIDE, "DOCTYPE is not allowed"),
        ('<!DOCTYPE b SYSTEM "https://example.org/ddi.dtd"><codeBook/>', "DOCTYPE is not allowed"),
        ("<codeBook>", r"not well-formed XML \(line 1\)"),
        ("<codeBook><var name='&x;'/></codeBook>", "not well-formed XML"),
        (b"<?xml version='1.0' encoding='klingon'?><a/>", "the encoding is not supported"),
        ("", "not well-formed XML"),
        ("<codeBook/>", "no variables .var elements."),
        ("<a>" * 200 + "</a>" * 200, "nested at most 100 deep"),
    ],
)
def test_xml_that_could_expand_or_load_data_is_an_error(codebook, text, message):
    with pytest.raises(SchemaError, match=message) as error:
        codebook_draft(codebook(text))
    assert "xxxx" not in str(error.value)


def test_a_codebook_is_read_within_bounds(codebook, monkeypatch):
    monkeypatch.setattr(ddi, "LARGEST_CODEBOOK", 100)
    with pytest.raises(SchemaError, match="at most 100 bytes"):
        codebook_draft(codebook(CODEBOOK))
    monkeypatch.setattr(ddi, "LARGEST_CODEBOOK", 10**5)
    monkeypatch.setattr(ddi, "_MOST_VARIABLES", 3)
    with pytest.raises(SchemaError, match="at most 3 variables"):
        codebook_draft(codebook(CODEBOOK))


def test_long_texts_are_cut(codebook):
    text = CODEBOOK.replace("Age at", "x" * 100_000)
    assert len(codebook_draft(codebook(text)).columns[0].description) == 1_000


VARIABLES = {
    "two ranges": ("<valrng><range min='0' max='5'/><range min='90' max='99'/></valrng>", ("integer", 0, 99, (), ())),
    "a range and an item": ("<valrng><range min='0' max='5'/><item VALUE='9'/></valrng>", ("integer", 0, 9, (), ())),
    "an excluded end": ("<valrng><range minExclusive='0' max='5'/></valrng>", ("integer", 1, 5, (), ())),
    "invalid codes": (
        "<valrng><range min='0' max='9'/></valrng><invalrng><range min='97' max='99'/></invalrng>",
        ("integer", 0, 9, (), (97, 98, 99)),
    ),
    "one labelled value": (
        "<valrng><range min='0' max='99'/></valrng><catgry><catValu>0</catValu><labl>none</labl></catgry>",
        ("integer", 0, 99, (), ()),
    ),
    "one labelled value alone": ("<catgry><catValu>0</catValu></catgry>", (None, None, None, (), ())),
    "all values labelled": (
        "<valrng><range min='1' max='2'/></valrng><catgry><catValu>1</catValu></catgry><catgry><catValu>2</catValu>"
        "</catgry>",
        ("categorical", None, None, (1, 2), ()),
    ),
}


@pytest.mark.parametrize("case", VARIABLES)
def test_a_domain_is_the_union_of_valid_ranges(codebook, case):
    """Of two ranges the last was the domain, and of a range with one labelled value that value."""
    text, expected = VARIABLES[case]
    (result,) = codebook_draft(codebook(f"<codeBook><var name='a'>{text}</var></codeBook>")).columns
    assert (result.kind, result.low, result.high, result.values, result.missing_values) == expected


def test_decimals_make_a_real_number(codebook):
    text = "<codeBook><var name='a' dcml='{}'><valrng><range min='0' max='9'/></valrng></var></codeBook>"
    assert [codebook_draft(codebook(text.format(n))).columns[0].kind for n in ("2", "0", "")] == [
        "real",
        "integer",
        "integer",
    ]


@pytest.mark.parametrize("ends", ["max='-1'", "min='-9' max='-1' UNITS='REAL'", "min='900' max='99999'"])
def test_invalid_values_that_cannot_be_listed_leave_a_variable_out(codebook, ends):
    text = f"<codeBook><var name='a'><invalrng><range {ends}/></invalrng></var><var name='b'/></codeBook>"
    draft = codebook_draft(codebook(text))
    assert [column.name for column in draft.columns] == ["b"]
    assert "at most 1,000 whole numbers" in draft.left_out[0][1]


@pytest.mark.parametrize("ends", ["min='97' max='99'", "min='9.5' max='9.9'"])
def test_a_range_of_invalid_values_with_decimals_leaves_a_variable_out(codebook, ends):
    """97.5 was valid where 97 to 99 are not, and a range between two whole numbers was not seen."""
    ranges = f"<valrng><range min='0' max='100'/></valrng><invalrng><range {ends}/></invalrng>"
    text = f"<codeBook><var name='a' intrvl='contin' dcml='1'>{ranges}</var><var name='b'/></codeBook>"
    assert [name for name, _ in codebook_draft(codebook(text)).left_out] == ["a"]


def test_a_single_invalid_value_with_decimals_means_missing(codebook):
    ranges = "<valrng><range min='0' max='9'/></valrng><invalrng><range min='99' max='99'/></invalrng>"
    text = f"<codeBook><var name='a' intrvl='contin' dcml='1'>{ranges}</var></codeBook>"
    (result,) = codebook_draft(codebook(text)).columns
    assert (result.kind, result.low, result.high, result.missing_values) == ("real", 0, 9, (99,))


@pytest.mark.parametrize(("nature", "kind"), [("ordinal", "ordered"), ("nominal", "categorical")])
def test_categories_of_an_ordinal_variable_are_in_an_order(codebook, nature, kind):
    categories = "".join(f"<catgry><catValu>{code}</catValu></catgry>" for code in ("low", "mid", "high"))
    text = f"<codeBook><dataDscr><var name='a' nature='{nature}'>{categories}</var></dataDscr></codeBook>"
    (result,) = codebook_draft(codebook(text)).columns
    assert (result.kind, result.values) == (kind, ("low", "mid", "high"))
