from itertools import product
from math import inf, log2, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit.counting.regions import Region, count_rows
from hedgerow.audit.entropy.domain import Domain, RowPrior
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Real, Schema
from tests.audit.counting.boxes import contains

SCHEMA = Schema({"a": Boolean(), "c": Categorical(("u", "v", "w")), "i": Integer(0, 5, cuts=(1, 3))})
DOMAIN = Domain.of(SCHEMA)


def enumerated(region, chances, weights):
    """Return the entropy of a row in a region by looking at every row: too simple to be wrong."""
    result = []
    for row in product(*(range(len(bins)) for bins in weights)):
        if contains(region.box, row) and not any(contains(box, row) for box in region.earlier):
            number, chance = 1, 1.0
            for bin, bins, shares in zip(row, weights, chances, strict=True):
                number, chance = number * bins[bin], chance * shares[bin]
            result += [chance / number] * number
    total = sum(result)
    return -sum(p / total * log2(p / total) for p in result if p) if total else nan


@st.composite
def cases(draw):
    def chances(size):
        counts = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any))
        return [count / sum(counts) for count in counts]

    def box():
        return tuple(draw(st.integers(0, 2 ** len(bins) - 1)) for bins in DOMAIN.weights)

    marginals = {name: chances(len(attribute.bins)) for name, attribute in SCHEMA.attributes}
    return marginals, Region(box(), tuple(box() for _ in range(draw(st.integers(0, 3)))))


@given(cases())
def test_entropy_equals_enumeration(case):
    marginals, region = case
    prior = RowPrior.of(marginals, SCHEMA, DOMAIN)
    expected = enumerated(region, list(marginals.values()), DOMAIN.weights)
    assert prior.entropy_bits(region) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(cases())
def test_no_prior_knowledge_is_the_logarithm_of_the_worlds(case):
    region = case[1]
    count = count_rows(region, DOMAIN.weights)
    expected = log2(count) if count else nan
    assert RowPrior.of({}, SCHEMA, DOMAIN).entropy_bits(region) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(cases())
def test_knowing_more_never_leaves_more_than_all_worlds_alike(case):
    marginals, region = case
    count = count_rows(region, DOMAIN.weights)
    bits = RowPrior.of(marginals, SCHEMA, DOMAIN).entropy_bits(region)
    assert not bits > log2(count) + 1e-9 if count else True


def test_entropy_before_the_model_by_hand():
    # a: -(.25 log2 .25 + .75 log2 .75) = 0.8113; c: one of two = 1; i: six values alike = 2.585
    prior = RowPrior.of({"a": [0.25, 0.75], "c": {"u": 0.5, "w": 0.5}}, SCHEMA, DOMAIN)
    assert prior.bits == pytest.approx(0.8112781 + 1 + log2(6))
    assert prior.entropy_bits(Region((0b11, 0b111, 0b111))) == pytest.approx(prior.bits)


def test_cut_points_of_a_model_share_out_a_bin_by_its_values():
    finer = Domain.of(SCHEMA, [Literal("i", "<=", (4,))])  # bins of 2, 2, 1 and 1 values
    prior = RowPrior.of({"i": [0.2, 0.2, 0.6]}, SCHEMA, finer)
    shares = [mass / sum(prior.masses[2]) for mass in prior.masses[2]]
    assert shares == pytest.approx([0.2, 0.2, 0.3, 0.3])


@given(st.data())
def test_finer_bins_change_no_entropy(data):
    marginals, region = data.draw(cases())
    low, rest = region.box[2] & 0b011, region.box[2] >> 2
    finer = Domain.of(SCHEMA, [Literal("i", "<=", (4,))])

    def widened(box):
        return (*box[:2], box[2] & 0b011 | (0b1100 if box[2] & 0b100 else 0))

    assert rest < 2
    assert low < 4
    wide = Region(widened(region.box), tuple(map(widened, region.earlier)))
    ours, theirs = RowPrior.of(marginals, SCHEMA, DOMAIN), RowPrior.of(marginals, SCHEMA, finer)
    assert ours.entropy_bits(region) == pytest.approx(theirs.entropy_bits(wide), abs=1e-9, nan_ok=True)


def test_missing_bins_keep_their_probability_in_finer_bins():
    schema = Schema({"r": Real(0, 1, cuts=(), missing="bin")})
    prior = RowPrior.of({"r": [0.5, 0.5]}, schema, Domain.of(schema, [Literal("r", "<=", (0.3,))]))
    assert [mass / sum(prior.masses[0]) for mass in prior.masses[0]] == [0.25, 0.25, 0.5]


@pytest.mark.parametrize(
    ("marginals", "message"),
    [
        ({"q": [1.0]}, "attribute 'q'"),
        ({"a": [1.0]}, r"'a'.* 2 .* got 1"),
        ({"a": [0.5, 0.4]}, r"'a'.* 0.9"),
        ({"a": [1.5, -0.5]}, "finite"),
        ({"a": [nan, 1.0]}, "finite"),
        ({"a": [inf, 1.0]}, "finite"),
        ({"c": {"u": 0.5, "x": 0.5}}, r"'c'.*'x'.* u, v, w"),
        ({"a": ["half", "half"]}, r"'a'.* sequence"),
    ],
)
def test_bad_priors_are_refused(marginals, message):
    with pytest.raises(SchemaError, match=message):
        RowPrior.of(marginals, SCHEMA, DOMAIN)


def test_a_prior_needs_attributes_and_values():
    with pytest.raises(TypeError, match=r"prior.* got list"):
        RowPrior.of([0.5, 0.5], SCHEMA, DOMAIN)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="independent_bits"):
        RowPrior.of({}, SCHEMA, Domain.of(SCHEMA, independent_bits=True))
    empty = Schema({"i": Integer(0, 1, cuts=(0,), missing="bin", missing_values=(1,))})
    with pytest.raises(SchemaError, match="probability"):
        RowPrior.of({"i": [0.5, 0.5, 0.0]}, empty, Domain.of(empty))
