"""Draws conditioned on values of leaves, against all models one by one."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hedgerow.learn.search.sampler import ModelSampler, conditioned
from tests.learn.draws import SIZES, plan_of, quiet
from tests.learn.enumerate_models import all_worlds, models, tables
from tests.learn.objectives import ALL_OBJECTIVES
from tests.learn.search.known_chances import whole_tally


@pytest.mark.parametrize("examples", SIZES)
def test_chances_are_those_of_the_models_with_these_values(examples):
    @settings(max_examples=examples)
    @given(
        st.sampled_from([name for name in ALL_OBJECTIVES if name not in ("brier", "mixed")]).flatmap(
            lambda name: models(100, name)
        ),
        st.data(),
        st.sampled_from([Fraction(1, 100), Fraction(1), Fraction(20)]),
    )
    def same(found, data, weight):
        table, worlds = data.draw(tables(found.schema)), all_worlds(found.schema)
        places = data.draw(st.lists(st.integers(0, len(worlds) - 1), min_size=1, max_size=2, unique=True))
        some = st.lists(st.booleans(), min_size=found.n_values, max_size=found.n_values).filter(any)
        values = {place: np.array(data.draw(some)) for place in places}
        chances, log_chances = {}, found.log_probabilities(table, weight)
        for model, value in log_chances.items():
            if all(free[found.value_of(model, worlds[place])] for place, free in values.items()):
                chances[model] = float(value.exp())
        total = sum(chances.values())
        assume(total > 1e-60)
        expected = np.zeros((len(worlds), found.n_values))
        for model, chance in chances.items():
            for place, world in enumerate(worlds):
                expected[place, found.value_of(model, world)] += chance / total
        tally, plan = conditioned(whole_tally(table), plan_of(found), weight, values)
        seen = ModelSampler(tally, plan, plan.valued_states(), quiet).chances(float(weight))
        np.testing.assert_allclose(seen.values, expected, rtol=1e-9, atol=1e-30)
        np.testing.assert_array_equal(seen.values[places][~np.array(list(values.values()))] < 1e-40, True)

    same()
