import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Literal, Ordered, Real
from hedgerow.tables.frames import column_of
from hedgerow.text.days import Day
from tests.schema import enumerate_literals
from tests.schema.values import WORDS, attributes, bin_of, holds

HALVES = st.integers(-16, 16).map(lambda x: x / 2)
DAYS = st.integers(-10, 10).map(Day)
TOKENS = st.sampled_from(["?", "-9", "none"])
ROWS = {  # the columns that each kind may meet, each of one type
    Boolean: [st.booleans(), st.sampled_from([0, 1, 0.5, -9]), st.sampled_from(["TRUE", "False", "1", "0", "?", "2"])],
    Categorical: [st.sampled_from(WORDS), st.sampled_from([0, 1, 2.0, 7, -9])],
    Date: [
        DAYS.map(lambda day: day.date),
        DAYS.map(" {} ".format) | TOKENS,
        st.sampled_from(["1970-01-32", "1970-1-1", "3"]),
    ],
    Integer: [st.integers(-10, 10), HALVES, st.integers(-10, 10).map(" {} ".format) | TOKENS, HALVES.map(str) | TOKENS],
    Ordered: [st.sampled_from([*WORDS, "2020-01-31"]), st.sampled_from([0, 1, 2.0, 7, -9])],
    Real: [st.integers(-10, 10), HALVES, HALVES.map(str) | TOKENS, st.sampled_from(["1", "x"])],
}


@st.composite
def attributes_and_rows(draw):
    attribute = draw(attributes)
    rows = draw(st.sampled_from(ROWS[type(attribute)]))
    rows = rows | st.sampled_from([None, math.nan]) if draw(st.booleans()) else rows
    return attribute, draw(st.lists(rows, max_size=5))


def column(rows, name="c"):
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return column_of(array, name)


@given(attributes_and_rows())
@settings(max_examples=4 * settings.default.max_examples)
def test_every_value_has_the_bin_of_a_row_by_row_reader(case):
    attribute, rows = case
    expected = [bin_of(attribute, row) for row in rows]
    if None not in expected:
        assert attribute.encode(column(rows)).tolist() == expected
        return
    with pytest.raises(DomainError, match=r"^column 'c': ") as error:
        attribute.encode(column(rows))
    assert error.value.column == "c"
    assert error.value.__context__ is None


@given(attributes_and_rows(), st.booleans())
@settings(max_examples=4 * settings.default.max_examples)
def test_a_literal_is_true_of_the_bins_whose_values_satisfy_it(case, negations):
    attribute, rows = case
    for row in rows:
        bin = bin_of(attribute, row)
        for literal in attribute.literals("c", negations=negations) if bin is not None else ():
            assert attribute.truth(literal)[bin] == holds(attribute, literal, row), str(literal)


@given(attributes, st.booleans())
def test_no_literal_is_vacuous_and_no_two_hold_on_the_same_bins(attribute, negations):
    literals = attribute.literals("c", negations=negations)
    truths = {tuple(attribute.truth(literal)) for literal in literals}
    assert len(truths) == len(literals)
    assert all(len(truth) == len(attribute.bins) and {*truth} == {False, True} for truth in truths)


@pytest.mark.parametrize(
    ("attribute", "negations", "texts"),
    [
        (Boolean(), True, ["c", "not c"]),
        (Boolean(), False, ["c"]),
        (Boolean(missing="bin"), True, ["c", "not c", "c is missing", "c is not missing"]),
        (Boolean(missing="bin"), False, ["c", "c is missing"]),
        (Categorical(("x", "y")), True, ["c = x", "c = y"]),
        (Categorical((1, 2, 3)), True, ["c = 1", "c = 2", "c = 3", "c != 1", "c != 2", "c != 3"]),
        (Categorical((1, 2, 3)), False, ["c = 1", "c = 2", "c = 3"]),
        (Categorical(("x",)), True, []),
        (Categorical(("x",), outside="bin"), True, ["c = x", "c != x"]),
        (Ordered(("x", "y")), True, ["c <= x", "c > x"]),
        (Ordered((1, 2, 3)), False, ["c <= 1", "c <= 2", "c > 1", "c > 2", "c = 2"]),
        (Ordered((1, 2), outside="bin"), True, ["c <= 1", "c > 1", "c is outside its domain"]),
        (Integer(0, 9, ()), True, []),
        (Integer(0, 9, (3,)), True, ["c <= 3", "c > 3"]),
        (Integer(0, 9, (3, 5)), False, ["c <= 3", "c <= 5", "c > 3", "c > 5", "3 < c <= 5"]),
        (Real(0, 9, (0.5,), outside="bin"), True, ["c <= 0.5", "c > 0.5", "c is outside its domain"]),
    ],
)
def test_literals_are_those_a_person_would_list(attribute, negations, texts):
    assert [str(literal) for literal in attribute.literals("c", negations=negations)] == texts


@pytest.mark.parametrize(
    ("attribute", "bins"),
    [
        (Boolean(missing="bin"), ("false", "true", "missing")),
        (Categorical((1, "b"), missing="bin", outside="bin"), ("1", "b", "missing", "outside")),
        (Integer(0, 90, (30, 45), outside="clip"), ("[0, 30]", "(30, 45]", "(45, 90]")),
        (Real(0, 1, ()), ("[0, 1]",)),
        (Integer(0, 2), ("[0, 0]", "(0, 1]", "(1, 2]")),
    ],
)
def test_bins_are_in_words_with_missing_and_outside_last(attribute, bins):
    assert attribute.bins == bins


@given(attributes, st.booleans())
@settings(max_examples=4 * settings.default.max_examples)
def test_literals_and_their_extents_match_enumeration(attribute, negations):
    expected = enumerate_literals.literals("c", attribute, negations=negations)
    assert attribute.literals("c", negations=negations) == expected
    assert attribute.count_literals(negations=negations) == len(expected)
    for literal in expected:
        assert attribute.truth(literal).tolist() == enumerate_literals.truth(literal, attribute).tolist()
        assert not negations or attribute.literal_on("c", attribute.extent(literal)) == literal


def test_the_literal_of_an_extent_is_fast_with_many_bins():
    cuts = Integer(0, 10**6, tuple(range(50_000)))
    values = Categorical(tuple(range(50_000)), missing="bin")
    start = time.process_time()
    assert cuts.count_literals(negations=True) == 2 * 50_000  # no intervals: more than ten cut points
    assert values.count_literals(negations=True) == 2 * 50_000 + 2
    for place in range(0, 50_000, 50):
        assert cuts.literal_on("c", cuts.extent(Literal("c", "<=", (place,))).complement()).operator == ">"
        assert values.literal_on("c", values.extent(Literal("c", "=", (place,))).complement()) is None
    assert time.process_time() - start < 1  # it was 20 s


@pytest.mark.parametrize("size", [255, 256, 257, 65_536, 65_537])
def test_many_bins_keep_their_numbers(size):
    attribute = Categorical(tuple(range(size)))
    assert attribute.encode(column([str(size - 1)])).tolist() == [size - 1]


@pytest.mark.parametrize(
    ("attribute", "rows", "message"),
    [
        (Boolean(), ["secret"], r"outside the declared domain \(true or false, 0 or 1\); correct them"),
        (
            Categorical(("a",)),
            ["secret"],
            r"\(a\); .* declare a wider domain or `outside: bin` in the",
        ),
        (Integer(0, 9), [77], r"domain \(0 to 9\); .* `outside: clip` or `outside: bin` in the schema\.$"),
        (Real(0, 9), [None, 1], "some values are missing; fill them in, or declare `missing: bin`"),
        (Real(0, 9), ["secret"], "some cells are text that is not a number"),
    ],
)
def test_the_error_for_a_value_outside_the_domain_quotes_no_value(attribute, rows, message):
    with pytest.raises(DomainError, match=f"column 'c': .*{message}") as error:
        attribute.encode(column(rows))
    assert not any(bin in str(error.value) for bin in ("secret", "77"))


def test_infinity_is_an_error_even_with_a_bin_for_outside_values():
    with pytest.raises(DomainError, match="column 'c': some numbers are infinite"):
        Real(0, 9, outside="bin").encode(column_of(np.array([math.inf]), "c"))


@pytest.mark.parametrize(
    ("kind", "arguments", "key", "message"),
    [
        (Boolean, {"missing": "drop"}, "missing", "one of error, bin, got 'drop'"),
        (Boolean, {"outside": "bin"}, "outside", "one of error, got 'bin'"),
        (Boolean, {"missing_values": ("?",)}, "missing_values", "add `missing: bin`"),
        (Boolean, {"missing": "bin", "missing_values": "?"}, "missing_values", "a list of text or numbers, got '[?]'"),
        (Boolean, {"missing": "bin", "missing_values": (None,)}, "missing_values", "a list of text or numbers"),
        (Categorical, {"values": ()}, "values", "at least one value"),
        (Categorical, {"values": "abc"}, "values", "a list of text or numbers"),
        (Categorical, {"values": (True, False)}, "values", "quote the words yes, no"),
        (Categorical, {"values": (0.5, 1.5)}, "values", "text or whole numbers"),
        (Categorical, {"values": (1, "1")}, "values", "listed (once|twice)"),
        (Categorical, {"values": ("a",), "outside": "clip"}, "outside", "one of error, bin"),
        (
            Categorical,
            {"values": ("?", "a"), "missing": "bin", "missing_values": ("?",)},
            "missing_values",
            "values and under missing_values",
        ),
        (Ordered, {"values": ("a",)}, "values", "at least two values"),
        (Ordered, {"values": ("a", "b"), "outside": "clip"}, "outside", "one of error, bin"),
        (Integer, {"low": 0, "high": 9.0}, "high", r"a whole number, got 9\.0"),
        (Integer, {"low": True, "high": 9}, "low", "a whole number, got True"),
        (Integer, {"low": 0, "high": 9, "cuts": (2.5,)}, "cuts", "a whole number"),
        (Integer, {"low": 9, "high": 9}, "high", "high must be l"),
        (Integer, {"low": 0, "high": 9, "cuts": (3, 3)}, "cuts", "cut points must increase"),
        (Integer, {"low": 0, "high": 9, "cuts": (9,)}, "cuts", ">= 0 and < 9"),
        (Integer, {"low": 0, "high": 9, "cuts": (-1,)}, "cuts", ">= 0 and < 9"),
        (Integer, {"low": 0, "high": 9, "cuts": 3.5}, "cuts", "got 3.5"),
        (Integer, {"low": 0, "high": 9, "cuts": "default"}, "cuts", "such as 5 or log 5; got 'default'"),
        (Real, {"low": 2, "high": 1, "cuts": "auto"}, "high", "high must be l"),
        (Real, {"low": 0, "high": math.inf}, "high", "a finite number, got inf"),
        (Real, {"low": math.nan, "high": 1}, "low", "a finite number, got nan"),
        (Real, {"low": "0", "high": 1}, "low", "a finite number, got '0'"),
        (Real, {"low": 0, "high": 10**400}, "high", "a finite number, got a whole number of 1329 bits"),
        (Real, {"low": -(10**299), "high": 1.7e308, "cuts": (10**309,)}, "cuts", "a finite number"),
        (Integer, {"low": 0, "high": 10**400}, "high", "below 2.53 in size, got a whole number of 1329 bits"),
        (
            Integer,
            {"low": 0, "high": 99, "cuts": tuple(range(50, 0, -1))},
            "cuts",
            r"got \(50, 49, 48, 47, 46, 45, …\)",
        ),
        (Categorical, {"values": (10**400, "a")}, "values", "a list of text or numbers"),
        (Categorical, {"values": ("a\0",)}, "values", "NUL characters"),
        (Categorical, {"values": ("a" * 1001,)}, "values", "at most 1,000 characters, got 1,001"),
        (Categorical, {"values": ("\ud800",)}, "values", "valid Unicode"),
        (Categorical, {"values": (" a",)}, "values", "begin or end with spaces"),
        (Boolean, {"missing": "bin", "missing_values": (math.nan,)}, "missing_values", "a list of text or numbers"),
    ],
)
def test_a_bad_declaration_is_an_error_that_names_the_key(kind, arguments, key, message):
    with pytest.raises(SchemaError, match=f"key '{key}': .*{message}") as error:
        kind(**arguments)
    assert error.value.key == key


@pytest.mark.parametrize(
    ("attribute", "literal", "message"),
    [
        (Boolean(), Literal("c", "<=", (1,)), "boolean attributes are true, false; got '<='"),
        (Categorical(("a", "b")), Literal("c", "=", ("z",)), "the values a, b; got c = z"),
        (Integer(0, 9, (3,)), Literal("c", "<=", (4,)), r"compare with the cut points \[3\]; got c <= 4"),
        (Categorical(("a",)), Literal("c", "=", ("a",)), "true on all bins or on no bin"),
        (Boolean(), Literal("c", "missing"), "true on all bins or on no bin"),
        (Integer(0, 9, (1, 3)), Literal("c", "between", (3, 1)), "true on all bins or on no bin"),
        (Integer(0, 9, (1, 3)), Literal("c", "<=", (True,)), r"with the cut points \[1, 3\]; got c <= True"),
        (Integer(0, 9, (1, 3)), Literal("c", "<=", ("1",)), r"with the cut points \[1, 3\]; got c <= 1"),
    ],
)
def test_a_literal_that_does_not_fit_is_an_error_that_names_the_attribute(attribute, literal, message):
    with pytest.raises(SchemaError, match=f"attribute 'c': .*{message}") as error:
        attribute.truth(literal)
    assert error.value.attribute == "c"


def test_lists_are_stored_as_tuples():
    assert hash(Categorical(["a", "b"])) == hash(Categorical(("a", "b")))
    assert Integer(0, 9, [3]) == Integer(0, 9, (3,))


@pytest.mark.parametrize(
    ("words", "key", "message"),
    [
        ({"true_values": ("yes",)}, "false_values", "both true_values and false_values"),
        ({"false_values": ("no",)}, "true_values", "both true_values and false_values"),
        ({"true_values": (True,), "false_values": (False,)}, "true_values", "quote the words yes, no"),
        ({"true_values": "yes", "false_values": ("no",)}, "true_values", "a list of text or numbers"),
        ({"true_values": (1.0,), "false_values": (2,)}, "true_values", "text or whole numbers"),
        ({"true_values": ("a",), "false_values": ("b", "a")}, "true_values", "listed (once|twice)"),
        ({"true_values": (1,), "false_values": ("1.0",)}, "true_values", "listed (once|twice)"),
        (
            {"true_values": (1,), "false_values": (2,), "missing": "bin", "missing_values": (2,)},
            "true_values",
            "listed (once|twice)",
        ),
    ],
)
def test_ambiguous_words_of_a_boolean_are_errors(words, key, message):
    with pytest.raises(SchemaError, match=message) as error:
        Boolean(**words)
    assert error.value.key == key


def test_declared_words_replace_true_and_false():
    declared = Boolean(true_values=("yes", "Y"), false_values=("no", 0))
    assert declared.domain == "true (yes, Y) or false (no, 0)"
    assert [str(literal) for literal in declared.literals("a", negations=True)] == ["a", "not a"]
    assert (declared.listed, Boolean().listed) == (("no", "yes"), (False, True))
    column = column_of(np.array(["yes", "Y", "no", "0"]), "a")
    assert declared.encode(column).tolist() == [1, 1, 0, 0]
    for other in (["true"], ["YES"], ["1"], [1], [True]):
        with pytest.raises(DomainError, match=r"outside the declared domain \(true \(yes, Y\)"):
            declared.encode(column_of(np.array(other), "a"))
    read_as_bool = Boolean(true_values=("true", "yes"), false_values=("false", "no"))
    assert read_as_bool.encode(column_of(np.array([True, False]), "a")).tolist() == [1, 0]


@given(st.lists(attributes, min_size=2, max_size=12), st.booleans())
def test_attributes_of_equal_form_have_equivalent_literals(found, negations):
    truths = {}
    for item in found:
        own = [item.truth(literal).tolist() for literal in item.literals("x", negations=negations)]
        assert truths.setdefault(item.form, own) == own
