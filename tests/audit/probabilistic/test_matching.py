from importlib import import_module
from itertools import permutations
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.audit.probabilistic.dataset import ProbabilisticDataset, align
from hedgerow.errors import DomainError
from tests.audit.probabilistic.examples import FIGURE_1, RULE_LIST_1, TABLE_I, TABLE_III, table_ii
from tests.audit.probabilistic.worlds import outcomes

DOMAINS = {"n": (0, 1, 2, 5), "w": ("p", "q")}


def distance(one, other):
    """Return how far values are apart: too simple to be wrong."""
    return abs(one - other) / 5 if isinstance(one, int) else float(one != other)


def cost(row, values):
    """Return whether a row is impossible, and its mean distance from what is known, over all its outcomes."""
    result = outcomes(row, ProbabilisticDataset(DOMAINS, [{}]).domains)
    mean = sum(float(p) * sum(map(distance, outcome, values)) for outcome, p in result.items())
    return int(values not in result), mean


def total(known, rows, labels, order):
    result = [cost(row, rows[place]) for row, place in zip(known.rows, order, strict=True)]
    wrong = sum(
        bool(bad) or (labels is not None and known.labels is not None and labels[place] != label)
        for (bad, _), place, label in zip(result, order, known.labels or order, strict=True)
    )
    return wrong, sum(mean for _, mean in result)


def best(known, rows, labels):
    return min(total(known, rows, labels, order) for order in permutations(range(len(rows))))


@st.composite
def problems(draw):
    rows = st.tuples(st.sampled_from(DOMAINS["n"]), st.sampled_from(DOMAINS["w"]))
    subsets = st.sets(rows, min_size=1)
    kinds = st.one_of(
        st.fixed_dictionaries({"n": st.sets(st.sampled_from(DOMAINS["n"]), min_size=1)}),
        st.fixed_dictionaries({"w": st.sampled_from(["p", "q", {"p": 0.25, "q": 0.75}])}),
        subsets.map(lambda pairs: {("n", "w"): pairs}),
    )
    n = draw(st.integers(1, 5))
    labels = st.none() | st.lists(st.integers(0, 1), min_size=n, max_size=n)
    known = ProbabilisticDataset(DOMAINS, draw(st.lists(kinds, min_size=n, max_size=n)), draw(labels))
    return known, draw(st.lists(rows, min_size=n, max_size=n)), draw(labels)


@given(problems(), st.sampled_from([0, 10**6]))
def test_no_permutation_is_better(problem, largest):
    known, rows, labels = problem
    table = pd.DataFrame(rows, columns=list(DOMAINS))
    table = table if labels is None else table.assign(label=labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("hedgerow.audit.probabilistic.dataset"), "_LARGEST", largest)
        order = align(known, table)
    assert sorted(order) == list(range(len(rows)))
    result, expected = total(known, rows, labels, order), best(known, rows, labels)
    assert result[0] == expected[0]
    assert result[1] == pytest.approx(expected[1], abs=1e-6)


@pytest.mark.parametrize(("model", "table"), [(FIGURE_1, TABLE_I), (RULE_LIST_1, TABLE_III)])
def test_the_papers_tables_are_aligned_however_they_are_shuffled(model, table):
    known = ProbabilisticDataset.of(model)
    for seed in range(5):
        shuffled = table.sample(frac=1, random_state=seed)
        assert known.is_compatible(shuffled.iloc[align(known, shuffled)])


def test_known_rows_may_stand_in_any_order():
    known = ProbabilisticDataset.of(FIGURE_1)
    places = [3, 0, 2, 1]
    mixed = ProbabilisticDataset(
        known.domains, [known.rows[i] for i in places], [known.labels[i] for i in places], label=known.label
    )
    assert mixed.is_compatible(TABLE_I.iloc[align(mixed, TABLE_I)])


def test_an_impossible_pair_is_never_better_than_a_possible_matching():
    # 9 is nearer to {8, 0} on average than 0 is, yet only 0 and 8 are possible for it
    known = ProbabilisticDataset({"a": range(10)}, [{"a": {0, 8}}, {"a": {0, 9}}])
    table = pd.DataFrame({"a": [9, 0]})
    assert align(known, table).tolist() == [1, 0]


def test_the_label_decides_between_equal_values():
    known = ProbabilisticDataset({"a": (0, 1)}, [{}, {}, {}], labels=("y", "n", "y"))
    order = align(known, pd.DataFrame({"a": [0, 0, 1], "label": ["n", "y", "y"]}))
    assert order[1] == 0


def test_five_thousand_rows_take_seconds():
    data = hr.datasets.load("compas")
    X, y = data.frame[:5000], data.labels[:5000]
    known = ProbabilisticDataset.of(hr.OptimalTreeClassifier(schema=data.schema, max_depth=2).fit(X, y))
    table = X.assign(**{known.label: np.asarray(y)}).sample(frac=1, random_state=0)
    start = perf_counter()
    order = align(known, table)
    assert perf_counter() - start < 20  # about 1 s on two cores; a minute as one assignment
    assert known.is_compatible(table.iloc[order])


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="4 rows"):
        align(table_ii(), TABLE_I[:3])
    with pytest.raises(DomainError, match="column"):
        align(table_ii(), TABLE_I[["a1"]])
    with pytest.raises(DomainError, match="domain"):
        align(table_ii(), TABLE_I.assign(a1=99))
