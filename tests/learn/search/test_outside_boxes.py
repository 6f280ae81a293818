"""The outside pass over boxes, against a list of all models with their probabilities."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hedgerow.learn.search.boxes import Boxes
from tests.learn.draws import EPSILONS, SIZES, plan_of
from tests.learn.enumerate_models import coarse_grid, models, tables
from tests.learn.objectives import KINDS_OF_LOSS
from tests.learn.search.known_chances import check


@pytest.mark.parametrize("objective", KINDS_OF_LOSS)
@pytest.mark.parametrize("examples", SIZES)
def test_chances_are_those_of_all_models(examples, objective):
    @settings(max_examples=examples)
    @given(models(100 if objective == "errors" else 1000, objective), st.data(), st.sampled_from(EPSILONS))
    def same(found, data, weight):
        states = Boxes.of(found.space, plan_of(found).depth) if found.depth else None
        assume(states is not None)
        check(found, data.draw(tables(found.schema)), weight, states)

    with coarse_grid():
        same()
