"""States in a dictionary and in arrays against the rows of small boxes, one by one."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit.counting import regions as first_match
from hedgerow.audit.counting.regions import Extension, FewMatchingSets, ManyMatchingSets

BOXES = 70  # more than one word holds
MASKS = st.sets(st.integers(0, BOXES - 1), max_size=6).map(lambda boxes: sum(1 << box for box in boxes))
STATES = st.dictionaries(MASKS, st.integers(1, 9), min_size=1, max_size=6)
VALUES = st.dictionaries(MASKS, st.integers(1, 5), min_size=1, max_size=4)
STEPS = st.builds(Extension, VALUES, st.lists(st.tuples(MASKS.filter(bool), MASKS), max_size=2).map(tuple))


def many(rows):
    words = np.array([[mask >> (64 * i) & (1 << 64) - 1 for mask in rows] for i in range(2)], np.uint64)
    return ManyMatchingSets(words, np.array(list(rows.values()), object))


def one_by_one(rows, step):
    result = Counter()
    for state, number in rows.items():
        for closed, values in step.values.items():
            left = state & ~closed
            for together, late in step.preempted:
                if left & together == together:
                    left &= ~late
            result[left] += number * values
    return result


def added_up(states):
    result = Counter()
    for mask, rows in states.items():
        result[mask] += rows
    return result


@given(STATES, STEPS)
def test_dictionary_and_array_steps_lead_to_the_same_states(rows, step):
    expected = one_by_one(rows, step)
    assert added_up(FewMatchingSets(rows, object).after(step)) == expected
    assert added_up(many(rows).after(step)) == expected


@given(STATES.filter(any))
def test_open_boxes_agree_in_both_representations(rows):
    opened = 0
    for mask in rows:
        opened |= mask
    for states in (FewMatchingSets(rows, object), many(rows)):
        assert states.opened() == opened
        counts = states.sample()
        assert counts[:BOXES] == [sum(mask >> box & 1 for mask in rows) for box in range(len(counts[:BOXES]))]


@given(STATES, st.integers(0, 3))
def test_groups_hold_all_states_once(rows, few):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_FEW", few), ("_MOST", 2), ("_SEPARATE", 1)):
            patch.setattr(first_match, name, value)
        for states in (FewMatchingSets(rows, object), many(rows)):
            groups = states.blocks()
            assert sum((added_up(group) for group in groups), Counter()) == Counter(rows)
