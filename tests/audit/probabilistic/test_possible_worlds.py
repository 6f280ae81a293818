from fractions import Fraction
from math import log2

import numpy as np
import pandas as pd
import pytest

from hedgerow.audit.probabilistic.possible_worlds import PossibleWorlds
from hedgerow.errors import DomainError, SchemaError

BITS = {"a": (0, 1), "b": (0, 1)}
TABLES = [[(0, 0), (1, 1)], [(0, 1), (1, 0)], [(1, 1), (1, 1)]]


def test_entropy_is_that_of_the_probabilities():
    assert PossibleWorlds(TABLES, domains=BITS).entropy_bits == log2(3)
    known = PossibleWorlds(TABLES, [0.5, 0.25, 0.25], domains=BITS)
    assert known.entropy_bits == 1.5
    assert known.uncertainty == 1.5 / 4  # two rows of two bits
    assert known.probabilities == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))


def test_rounded_probabilities_are_made_to_sum_to_1():
    known = PossibleWorlds(TABLES, [0.1, 0.2, 0.7], domains=BITS)
    assert sum(known.probabilities) == 1
    assert known.entropy_bits == pytest.approx(-sum(p * log2(p) for p in (0.1, 0.2, 0.7)))


def test_rows_may_depend_on_each_other():
    # two rows that differ: one bit of two is left, though each row alone could be anything
    known = PossibleWorlds([[(0,), (1,)], [(1,), (0,)]], domains={"a": (0, 1)})
    assert known.uncertainty == 0.5
    assert not known.is_deterministic


def test_one_table_is_known():
    known = PossibleWorlds(TABLES[:1], domains=BITS)
    assert known.is_deterministic
    assert known.entropy_bits == known.uncertainty == 0
    assert repr(known) == "<PossibleWorlds: 1 tables of 2 rows, 0.000 bits>"


def test_a_table_is_compatible_if_it_is_one_of_them():
    known = PossibleWorlds(TABLES, domains=BITS)
    assert known.is_compatible(pd.DataFrame({"b": [1, 0], "a": [0, 1]}))
    assert not known.is_compatible(pd.DataFrame({"a": [1, 0], "b": [0, 1]}))
    assert known.is_compatible(np.array(TABLES[2]))
    with pytest.raises(DomainError, match="expected this column"):
        known.is_compatible(pd.DataFrame({"a": [1, 0]}))


def test_bad_arguments_are_refused():
    for worlds, chances, message in (
        ([], None, "one or more possible tables"),
        ([[]], None, "one or more possible tables"),
        ([[(0, 0)], [(0, 0), (1, 1)]], None, "tables of 1 rows of 2 values"),
        ([[(0,)]], None, "tables of 1 rows of 2 values"),
        ([[(0, 2)]], None, "attribute 'b': expected values of its domain, got others"),
        ([TABLES[0], TABLES[0]], None, "each possible table once"),
        (TABLES, [0.5, 0.5], "one probability for each of 3 tables, got 2"),
        (TABLES, [0.5, 0.5, 0], "above 0 that sum to 1"),
        (TABLES, [0.5, 0.5, 0.5], "above 0 that sum to 1"),
        (TABLES, [0.5, 0.5, float("nan")], "above 0 that sum to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            PossibleWorlds(worlds, chances, domains=BITS)
    with pytest.raises(ValueError, match="one or more attributes"):
        PossibleWorlds(TABLES, domains={})
    with pytest.raises(SchemaError, match="each once"):
        PossibleWorlds(TABLES, domains={"a": (0, 0), "b": (0, 1)})
    with pytest.raises(ValueError, match="expected domains of two or more rows, got one"):
        PossibleWorlds([[(0,)]], domains={"a": (0,)}).uncertainty  # noqa: B018
