"""docs/mathematics.md on evaluations: one histogram, whose counts move by one together, tried on the real path.

The adversary chooses model, groups and the added row. With the noise frozen, both tables give the same evaluation, and
what is counted differs by one row. Draws with secure noise refute no more than the ε that is charged, and would refute
it if the noise were half as much.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.privacy.noise import SeededNoise
from tests.adversarial.neighbours import ASKED, PAIRS
from tests.adversarial.refute import refuted
from tests.evaluation.models import CASES, fitted, rows
from tests.learn.replay import Recorder, Replayer

EPSILON, DRAWS, ALARM = 2.0, 800, 1e-6
GROUPS = (None, "sex", "age", {"ward": ["n"]})


@pytest.mark.claim("A row is in one cell and changes one count by 1")
@pytest.mark.parametrize(("target", "family"), CASES)
def test_frozen_noise_gives_the_same_evaluation_on_neighbouring_tables(target, family):
    learner, frame = fitted(target, family), rows(120, target)

    @settings(max_examples=12)
    @given(st.integers(0, 40), st.integers(40, 119), st.sampled_from(GROUPS), st.booleans())
    def same(size, row, by, is_removed):
        tables = [frame.iloc[[*range(size)]], frame.iloc[[*range(size), row]]]
        item, other = tables[::-1] if is_removed else tables
        recorder = Recorder(SeededNoise(np.random.default_rng(size)))
        result = hr.evaluate(learner, item, epsilon=1, by=by, random_state=recorder)
        replayer = Replayer(recorder.trace)
        again = hr.evaluate(learner, other, epsilon=1, by=by, random_state=replayer)
        replayer.finish(1)
        assert (again.counts, again.numbers) == (result.counts, result.numbers)
        assert again.privacy.charges == result.privacy.charges
        assert (again.bands, again.errors) == (result.bands, result.errors)

    same()


@pytest.mark.claim("A row is in one cell and changes one count by 1")
@pytest.mark.statistics
def test_draws_do_not_refute_epsilon_and_half_the_noise_does():
    pair = PAIRS["five and six"]
    row = ASKED.predict(pair.X)[-1]
    cell = 2 * int(pair.y[-1]) + int(row)
    before = int((ASKED.predict(pair.X[:-1]) == row)[pair.y[:-1] == pair.y[-1]].sum())

    def draws(epsilon):
        sides = [[hr.evaluate(ASKED, *side, epsilon=epsilon) for _ in range(DRAWS)] for side in pair.sides]
        return [[item.counts[0][cell] > before for item in side] for side in sides]

    assert EPSILON / 2 < refuted(*draws(EPSILON), delta=0.0, alarm=ALARM).bound <= EPSILON
    assert refuted(*draws(2 * EPSILON), delta=0.0, alarm=ALARM).bound > EPSILON


@pytest.mark.claim("A row is in one cell and changes one count by 1")
def test_models_with_their_own_code_are_refused_without_running_it():
    class Spy(type(ASKED)):
        def outcomes_of(self, bins, n_rows):
            raise AssertionError(bins, n_rows)

    spy = Spy(ASKED.schema, ASKED.rules, ASKED.privacy)
    budget, pair = hr.Budget(1), PAIRS["five and six"]
    with pytest.raises(TypeError, match="got Spy"):
        hr.evaluate(spy, pair.X, pair.y, epsilon=1, budget=budget)
    assert not budget.charges
