import numpy as np
import pytest

from hedgerow.boundary.arguments import generator


def test_a_seed_gives_a_generator_and_other_values_an_unquoted_error():
    assert generator(3).integers(1000) == np.random.default_rng(3).integers(1000)
    with pytest.raises(ValueError, match=r"^random_state must be None, a whole number, .*, got <ndarray>\.$"):
        generator(np.array(["value"]))


def test_generators_of_both_kinds_are_taken():
    rng = np.random.default_rng(1)
    assert generator(rng) is rng
    item, other = (generator(np.random.RandomState(5)).integers(2**40) for _ in range(2))
    assert item == other != generator(np.random.RandomState(6)).integers(2**40)
