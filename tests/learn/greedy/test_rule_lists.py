from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.greedy import exact_choice, grow
from hedgerow.schema import Boolean, Candidates, Label, Schema


def gini(rows):
    n = len(rows)
    return n - Fraction(sum(rows.count(k) ** 2 for k in set(rows)), n) if n else Fraction(0)


def naive_greedy(X, y, candidates, most, min_support):
    """Return the greedy list by going through the rows: SSRL §3.1, ties to the purer caught side, then the earlier."""
    schema = candidates.schema
    rows, chosen = list(zip(X.tolist(), y.tolist(), strict=True)), []

    def holds(antecedent, x):
        return all(bool(x[schema.names.index(lit.attribute)]) == (lit.operator == "true") for lit in antecedent)

    while len(chosen) < most:
        best = None
        for antecedent in candidates:
            caught = [label for x, label in rows if holds(antecedent, x)]
            left = [label for x, label in rows if not holds(antecedent, x)]
            if not caught or len(caught) / len(X) < min_support:
                continue
            score = (gini(caught) + gini(left), gini(caught))
            if score[0] < gini(caught + left) and (best is None or score < best[0]):
                best = (score, antecedent)
        if best is None:
            break
        chosen.append(best[1])
        rows = [(x, label) for x, label in rows if not holds(best[1], x)]
    return tuple(chosen)


@given(st.integers(0, 2**32), st.integers(2, 3), st.sampled_from([0.0, 0.05, 0.2]), st.booleans())
def test_exact_growth_is_the_naive_greedy_algorithm(seed, n_classes, min_support, negations):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (40, 4)), rng.integers(0, n_classes, 40)
    schema = Schema({f"x{i}": Boolean() for i in range(4)}, Label("y", tuple(range(n_classes))))
    candidates = Candidates.of(schema, 2, negations=negations)
    tally = hr.Tally.count(X, y, schema)
    grown = grow(tally, candidates, 3, exact_choice(min_support, 40))
    assert grown == naive_greedy(X, y, candidates, 3, min_support)


def test_growth_stops_when_no_rule_helps():
    schema = Schema({"x": Boolean(), "z": Boolean()}, Label("y", (0, 1)))
    tally = hr.Tally.count(np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5), np.array([0, 1, 1, 0] * 5), schema)
    assert grow(tally, Candidates.of(schema, 1), 4, exact_choice(0.05, 20)) == ()
    assert grow(tally, Candidates.of(schema, 2), 0, exact_choice(0.05, 20)) == ()


def test_a_rule_that_implies_a_chosen_one_is_closed_whatever_the_rows_say():
    schema = Schema({"x": Boolean(), "z": Boolean()}, Label("y", (0, 1)))
    candidates = Candidates.of(schema, 2)
    tally = hr.Tally.count(np.array([[0, 0], [1, 1]]), np.array([0, 1]), schema)
    seen = []

    def first(query, _position, n_open):
        caught, _ = query()
        assert len(caught) == n_open
        seen.append(n_open)
        return 0

    grow(tally, candidates, 3, first)
    assert seen == [8, 5, 2]  # choosing x closes x, x & z, x & not z; choosing not x the like; z and not z are left


@pytest.mark.parametrize("positions", [0, 1, 2])
def test_choosing_to_stop_ends_the_list(positions):
    schema = Schema({f"x{i}": Boolean() for i in range(3)}, Label("y", (0, 1)))
    tally = hr.Tally.count(np.eye(3), np.array([0, 1, 1]), schema)

    def choose(_, position, n_open):
        return 0 if position < positions else n_open

    assert len(grow(tally, Candidates.of(schema, 1), 5, choose)) == positions
