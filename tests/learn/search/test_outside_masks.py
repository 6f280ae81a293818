"""The outside pass by masks, against a list of all models with their probabilities."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.learn.search.lattice import exhaustive_levels
from tests.learn.draws import EPSILONS, SIZES
from tests.learn.enumerate_models import coarse_grid, models, tables
from tests.learn.objectives import KINDS_OF_LOSS
from tests.learn.search.known_chances import check


@pytest.mark.parametrize("objective", KINDS_OF_LOSS)
@pytest.mark.parametrize("examples", SIZES)
def test_chances_are_those_of_all_models(examples, objective):
    @settings(max_examples=examples)
    @given(models(100, objective), st.data(), st.sampled_from(EPSILONS))
    def same(found, data, weight):
        check(found, data.draw(tables(found.schema)), weight, exhaustive_levels(found.space, found.depth))

    with coarse_grid():
        same()
