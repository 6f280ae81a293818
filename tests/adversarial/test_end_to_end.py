"""docs/privacy.md: "for any two such tables and any set of models S, P(model ∈ S) under one is at most e^ε times that
under the other", tried on the real path, from `fit(X, y)` to what is released, with no seed and nothing replaced.

Every release is drawn again and again on pairs of neighbouring tables, as revealing as they can be. Its outcomes must
not refute the declared ε, at one false alarm in a million for all cases together; and they must refute a stated share
of it. Draws at ε are draws at 1.3 times ε/1.3, so that a share of 1/1.3 says: what loses 1.3 times as much as it
declares is rejected by this test. That is the share where a mechanism spends all of its ε on a pair of these tables:
greedy lists, exact draws, an oracle's counts. Gaussian answers with noise 30 % too small are
rejected too. Where less is spent than declared, the share is what is spent there, less what chance can take at that
number of draws. The reduced form, of some of the releases, sees what loses six to fourteen times what it
declares: noise that was forgotten, or in wrong units.
"""

import pytest

from tests.adversarial.end_to_end import CASES, FULL, QUICK, RELEASES, examine

pytestmark = pytest.mark.statistics


@pytest.mark.parametrize("name", [name for name, release in RELEASES.items() if release.quick])
@pytest.mark.claim("for any two such tables, one without rows among them")
def test_few_draws_refute_no_more_than_epsilon_and_no_less_than_they_must(name):
    release = RELEASES[name]
    assert release.quick
    pair, share = release.quick
    found = examine(name, pair, QUICK)
    assert share * release.epsilon < found.bound <= release.epsilon


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pair"), CASES)
def test_many_draws_refute_no_more_than_epsilon_and_no_less_than_they_must(name, pair):
    release = RELEASES[name]
    found = examine(name, pair, FULL)
    assert release.seen[pair] * release.epsilon < found.bound <= release.epsilon
