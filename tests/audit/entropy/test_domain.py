from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit.counting.regions import count_rows_each
from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.readers.paths import Paths
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Literal, Real, Schema
from tests.models.strategies import literals_of, schemas

ALL = Schema(
    {
        "b": Boolean(missing="bin"),
        "c": Categorical(("u", "v", "w"), outside="bin"),
        "i": Integer(0, 9, cuts=(2, 6)),
        "r": Real(0, 1, cuts=(0.5,), missing="bin"),
    }
)


def counted(domain, *paths):
    return count_rows_each(domain.regions(Paths(paths, exclusive=True)), domain.weights)


def one_hot(schema, row):
    """Write a row of bins as PDR's columns of 0 and 1: a category each, a cut point each, missing, outside."""
    bits = []
    for (_, attribute), bin in zip(schema.attributes, row, strict=True):
        known = len(attribute.known_bins)
        if isinstance(attribute, Boolean):
            bits.append(bin == 1)
        elif isinstance(attribute, Categorical) and not attribute.ordered:
            bits += [bin == i for i in range(known)]
        else:
            bits += [bin <= i for i in range(known - 1)]
        bits += [bin == i for i in range(known, len(attribute.bins))]
    return bits


def test_bits_of_every_kind_are_counted():
    assert Domain.of(ALL).possible_rows == 3 * 4 * 10 * 3
    bits = Domain.of(ALL, independent_bits=True)
    assert bits.possible_rows == 2 ** (2 + 4 + 2 + 2)
    assert bits.bits == 10


def test_a_category_of_seven_values_counts_as_7_or_as_128_rows():
    schema = Schema({"day": Categorical(tuple("abcdefg"))})
    yes, no = ((Literal("day", "=", ("a",)), holds) for holds in (True, False))
    assert counted(Domain.of(schema), (yes,), (no,)) == (1, 6)
    assert counted(Domain.of(schema, independent_bits=True), (yes,), (no,)) == (2**6, 2**6)


@given(schemas(), st.data())
def test_bits_agree_with_the_literals_on_rows_that_exist(schema, data):
    domain = Domain.of(schema, independent_bits=True)
    literals = literals_of(schema)
    if not literals:
        return
    literal = data.draw(st.sampled_from(literals))
    (region,) = domain.regions(Paths((((literal, True),),)))
    truth = schema[literal.attribute].truth(literal)
    place = schema.names.index(literal.attribute)
    for row in product(*(range(len(a.bins)) for _, a in schema.attributes)):
        inside = all(mask >> bit & 1 for mask, bit in zip(region.box, one_hot(schema, row), strict=True))
        assert inside == truth[row[place]]


@given(schemas(), st.data())
def test_a_literal_and_its_failing_share_out_the_domain(schema, data):
    literals = literals_of(schema)
    if not literals:
        return
    literal = data.draw(st.sampled_from(literals))
    for bits in (False, True):
        domain = Domain.of(schema, independent_bits=bits)
        assert sum(counted(domain, ((literal, True),), ((literal, False),))) == domain.possible_rows


def test_between_that_fails_is_no_box_of_bits():
    between = Literal("i", "between", (2, 6))
    domain = Domain.of(Schema({"i": ALL["i"]}), independent_bits=True)
    assert counted(domain, ((between, True),), ((between, False),)) == (1, 3)
    with pytest.raises(ValueError, match="independent_bits=False"):
        domain.regions(Paths((((between, False),), ())))


def test_numbers_that_a_model_compares_with_become_cut_points():
    literals = [Literal("i", "<=", (3.5,)), Literal("i", ">", (2,)), Literal("r", "<=", (0.25,))]
    domain = Domain.of(ALL, literals)
    assert (domain.schema["i"].cuts, domain.schema["r"].cuts) == ((2, 3, 6), (0.25, 0.5))
    assert counted(domain, ((literals[0], True),), ((literals[0], False),)) == (4 * 3 * 4 * 4, 6 * 3 * 4 * 4)
    assert normalised(Paths((((literals[0], True),),)), domain.schema).paths == (((Literal("i", "<=", (3,)), True),),)


def test_a_real_number_is_counted_in_the_steps_of_its_resolution():
    assert Domain.of(
        Schema({"r": Real(0, 1, cuts=())}), [Literal("r", "<=", (0.3,))], resolution={"r": 0.1}
    ).weights == ((4, 7),)


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        (
            Literal("age", "<=", (3,)),
            "attribute 'age': is used by the model but not declared; the schema declares b, c, i, r",
        ),
        (
            Literal("i", "<=", (12,)),
            r"attribute 'i': the model compares it with 12, which is outside the declared domain \(0 to 9",
        ),
        (Literal("i", "<=", (9.5,)), "the model compares it with 9, which is outside"),
        (Literal("i", ">", (-0.5,)), "the model compares it with -1, which is outside"),
        (Literal("i", "<=", ("two",)), "the model compares it with 'two', which is outside"),
        (Literal("c", "=", ("x",)), "attribute 'c': literals must compare with one of the values"),
        (Literal("b", "<=", (1,)), "attribute 'b': operators of boolean attributes"),
    ],
)
def test_literals_outside_the_schema_raise(literal, message):
    with pytest.raises(SchemaError, match=message):
        Domain.of(ALL, [literal])


@pytest.mark.parametrize("threshold", [5e8, -1e6, 4.3e17])
def test_thresholds_in_seconds_raise_for_dates(threshold):
    dates = Schema({"born": Date("1970-01-01", "1999-12-31", cuts=())})
    with pytest.raises(
        SchemaError, match=r"compares it with '-?[0-9]+ days since 1970-01-01', which is outside the declared"
    ):
        Domain.of(dates, [Literal("born", "<=", (threshold,))])
    assert Domain.of(dates, [Literal("born", "<=", (30.5,))]).weights == ((31, 10_926),)


def test_bits_have_no_resolution():
    with pytest.raises(ValueError, match="resolution"):
        Domain.of(ALL, independent_bits=True, resolution={"r": 0.1})
