"""Sets of rows against dictionaries of the rows themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.search.states import Cache, States, distinct


def test_a_cache_forgets_the_oldest_states_first():
    cache, masks = Cache(4), np.arange(6, dtype=np.uint8)[:, None]
    states = States(masks, np.ones(6), np.ones(6), np.zeros(6, dtype=np.intp))
    for i in range(6):
        values, is_known, keys = cache.find(states[[i]])
        assert (values.tolist(), is_known.tolist()) == ([1.0], [False])
        cache.add(keys, np.array([7.0 + i]), np.array([10.5]))
    values, is_known, _ = cache.find(states)
    assert values.tolist() == [1, 1, 1, 10, 11, 12]
    assert is_known.tolist() == [False, False, False, True, False, False]


def group_by_bytes(masks):  # reference: a dictionary of the rows themselves
    groups = {}
    return [groups.setdefault(mask.tobytes(), len(groups)) for mask in masks], len(groups)


def made(seed):
    """Masks of up to 30 bytes that agree in most of them, often in all of the first eight."""
    rng = np.random.default_rng(seed)
    masks = np.tile(rng.integers(0, 256, rng.integers(1, 31), dtype=np.uint8), (rng.integers(1, 40), 1))
    masks[:, rng.integers(masks.shape[1], size=2)] = rng.integers(0, 3, (len(masks), 2))
    return masks


masks = st.integers(0, 2**32 - 1).map(made)


def same_partition(one, other):
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


@given(masks)
def test_equal_masks_are_one_state_and_different_ones_are_not(masks):
    first, group = distinct(masks)
    expected, n_groups = group_by_bytes(masks)
    assert len(first) == n_groups
    assert same_partition(group.tolist(), expected)
    assert (masks[first][group] == masks).all()


@given(masks)
def test_masks_with_the_same_hash_are_kept_apart(masks):
    """With one hash for all, equal masks may come in two groups; different ones never share one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "argsort", lambda key, **_: np.arange(len(key)))
        first, group = distinct(masks)
    assert (masks[first][group] == masks).all()


def test_masks_made_to_have_the_same_hash_are_kept_apart():
    def step(key, word):
        key = (key ^ word) * np.uint64(0x9E3779B97F4A7C15)
        return key ^ (key >> np.uint64(29))

    with np.errstate(over="ignore"):
        item, other = step(np.uint64(0), np.array([1, 2], dtype=np.uint64))
    second = np.uint64(12345)
    words = np.array([[1, second], [2, second ^ item ^ other]] * 3, dtype=np.uint64)
    with np.errstate(over="ignore"):
        assert step(item, words[0, 1]) == step(other, words[1, 1])
    masks = words.view(np.uint8)
    first, group = distinct(masks)
    assert (masks[first][group] == masks).all()
