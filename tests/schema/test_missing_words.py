"""Words and codes that other programs write for a missing value."""

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import Boolean, Categorical, Integer, Label, Schema
from hedgerow.schema.fits import fit_of
from hedgerow.schema.from_public import public_missing_words, public_notes, typed_table
from hedgerow.schema.missing_words import missing_words, suspected_codes
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table, column_of
from hedgerow.tables.table_files import TextFormat

OF_PROGRAMS = {
    "R": ["NA", "NaN"],
    "pandas": ["nan", "<NA>", "NaT", "None"],
    "SQL": ["NULL", "null"],
    "spreadsheets": ["#N/A", "N/A", "n/a", "#DIV/0!"],
    "SPSS": ["#NULL!", "."],
    "SAS and Stata": [".", ".a", ".Z", "._"],
    "people": ["-", "?", "--", "missing", "n.a."],
}
TYPED = {
    "integer": ["40", "0", "7"],
    "real": ["0.5", "-1e3"],
    "date": ["2020-01-31", "2019-12-01"],
    "date of a format": ["31.1.2020", "1.2.2020"],
    "boolean": ["TRUE", "false"],
}


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("program", OF_PROGRAMS)
def test_words_among_values_of_another_type_are_recognised(program, kind):
    words = OF_PROGRAMS[program]
    table = pa.table({"a": [*TYPED[kind], *words, ""]})
    result = public_missing_words(table)
    assert set(result["a"]) == set(words)
    if kind != "date of a format":
        typed = typed_table(table, result)["a"]
        assert not pa.types.is_large_string(typed.type)
        assert typed.null_count == len(words) + 1


@pytest.mark.parametrize(
    "values",
    [["F", "M", "NA"], ["NA", "?"], ["NA", "", " "], ["007", "012", "NA"], ["40", "41", "unknown"], ["40", "41"]],
    ids=["categories", "words alone", "words and blanks", "codes", "another word", "none"],
)
def test_words_that_may_be_values_are_not_recognised(values):
    assert public_missing_words(pa.table({"a": values})) == {}


def test_decimal_commas_and_declared_words_are_distinguished():
    table = pa.table({"a": ["0,5", "1,25", "NA", "?"]})
    assert public_missing_words(table, TextFormat(decimal=","), ["?"]) == {"a": ("NA",)}
    assert public_missing_words(table) == {}


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([18, 40, -99], (-99,)),
        ([0.5, -9, -999], (-9, -999)),
        ([18, 90, 999], (999,)),
        ([-5, 18, -99], ()),
        ([100, 900, 999], ()),
        ([-9, -99], ()),
        ([True, False], ()),
    ],
)
def test_numbers_far_from_other_values_are_suspected(values, codes):
    assert suspected_codes(column_of(np.array(values), "a")) == codes
    assert suspected_codes(column_of(np.array(list(map(str, values))), "a")) == ()


def test_possible_missing_values_are_noted_with_their_option():
    texts = {"n": ["1", "2", "NA"], "sex": ["F", "M", "NA"], "y": ["0", "1", "."], "c": [*map(str, range(20)), "x'y"]}
    texts = {name: pa.array((values * 21)[:21]) for name, values in texts.items()} | {"age": [18, 40, -99] * 7}
    table = pa.table(texts)
    result = public_missing_words(table)
    assert result == {"n": ("NA",), "y": (".",)}
    notes = public_notes(typed_table(table, result), result, "y")
    assert notes == (
        "n: NA is read as a missing value",
        "sex: NA is read as a category; if it means missing, add --missing=NA",
        "y: . is read as a missing value; remove these rows, which have no label",
        """c: "x'y" is read as a category; if it means missing, add --missing='x'"'"'y'""",
        "age: -99 is read as a number; if it means missing, add --missing=-99",
    )


def test_a_check_proposes_missing_words_and_decimal_commas_that_occur():
    schema = Schema(
        {
            "age": Integer(0, 120),
            "known": Integer(0, 120, missing="bin", missing_values=("NA",)),
            "sex": Categorical(("F", "M")),
            "land": Categorical(("NA", "DE")),
            "ok": Boolean(),
            "dose": Integer(0, 9),
        },
        Label("y", ("no", "yes", "None")),
    )
    columns = {
        "age": ["40", "NA", "."],
        "known": ["40", "NA", "-"],
        "sex": ["F", "null", "F"],
        "land": ["NA", "DE", "FR"],
        "ok": ["true", "?", "x"],
        "dose": ["1,5", "2", "3"],
        "y": ["no", "None", "NA"],
    }
    result = fit_of(Table.of(pa.table(columns)), schema)
    words = {"age": ("NA", "."), "known": ("-",), "sex": ("null",), "ok": ("?",), "y": ("NA",)}
    assert dict(result.missing_words) == words
    assert result.number_marks == (("dose", ("`--decimal ,`",)),)
    assert result.to_dict()["decimal_commas"] == ["dose"]
    assert any("age contains NA, .; " in line and '["NA", "."]' in line for line in result.advice)
    assert any("y contains NA; " in line and "remove these rows" in line for line in result.advice)
    assert result.to_dict()["missing_words"] == {name: list(result) for name, result in words.items()}


def test_words_are_found_whatever_their_case_and_white_space():
    assert missing_words(Column.from_arrow(pa.array([" na ", "Null", "nA", "NAN"]), "a")) == ("na", "Null", "NAN")
