"""What is known of a row against all rows that are possible, one by one."""

from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import log2

import numpy as np
import pytest

from hedgerow.audit.entropy.values import Values
from hedgerow.audit.probabilistic.row import RowDistribution
from hedgerow.errors import SchemaError
from tests.audit.probabilistic.worlds import outcomes

DOMAINS = [Values.listed("age", (10, 20, 30)), Values.listed("sex", ("F", "M")), Values.listed("ill", (False, True))]
KNOWN = {"age": {10: Fraction(1, 4), 30: Fraction(3, 4)}, ("sex", "ill"): [("F", True), ("M", False), ("M", True)]}


def test_row_probabilities_are_products_of_factors():
    row = RowDistribution.of(KNOWN, DOMAINS)
    ages, pairs = KNOWN["age"], KNOWN["sex", "ill"]
    expected = {(age, *pair): chance / 3 for (age, chance), pair in product(ages.items(), pairs)}
    assert dict(outcomes(row, DOMAINS)) == expected
    assert row.possible_rows == len(expected) == 6
    assert row.entropy_bits == pytest.approx(-sum(float(p) * log2(p) for p in expected.values()))
    shares = dict(row.marginals())
    assert shares[0] == (Fraction(1, 4), 0, Fraction(3, 4))
    assert (shares[1], shares[2]) == ((Fraction(1, 3), Fraction(2, 3)), (Fraction(1, 3), Fraction(2, 3)))
    every = np.array(list(product(range(3), range(2), range(2))))
    values = [tuple(domain.bins[bin][0] for domain, bin in zip(DOMAINS, bins, strict=True)) for bins in every]
    assert row.allows(every).tolist() == [value in expected for value in values]


def test_attributes_that_are_not_mentioned_are_uniform():
    row = RowDistribution.of({"sex": "F"}, DOMAINS)
    assert row.possible_rows == 6
    assert row.entropy_bits == pytest.approx(log2(6))
    assert RowDistribution.of({}, DOMAINS).possible_rows == 12


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"height": 1}, "height"),
        ({"age": 10, ("age", "sex"): [(10, "F")]}, "age"),
        ({("age", "age"): [(10, 10)]}, "age"),
        ({"age": []}, "at least one"),
        ({"age": 40}, "domain"),
        ({("age", "sex"): [10]}, "2 values"),
        ({"age": [10, 10]}, "duplicate"),
        ({"age": {10: 0.5}}, "probabilities"),
        ({"age": {10: 1.5, 20: -0.5}}, "probabilities"),
        ({"age": {10: 10**400}}, "probabilities"),
        ({"age": {10: Decimal("sNaN")}}, "probabilities"),
    ],
)
def test_invalid_row_distributions_raise(known, message):
    with pytest.raises(SchemaError, match=message):
        RowDistribution.of(known, DOMAINS)
