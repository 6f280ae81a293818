"""The real path, from `fit(X, y)` to the release, satisfies the declared ε: no seed, and nothing replaced.

Every release is drawn many times on pairs of neighbouring tables that are as revealing as possible. The outcomes must
not refute the declared ε, at one false alarm in a million for all cases together, and they must refute a stated share
of it. A mechanism with a loss of 1.3 times its declared ε behaves like a correct mechanism at 1.3 ε, so a share of
1/1.3 means that this test rejects such a mechanism. That share applies if a mechanism spends all of its ε on a pair of
these tables: greedy lists, exact draws, an oracle's counts. Gaussian answers with noise 30 % too small are rejected,
too. Other mechanisms have the share that they spend, minus an allowance for chance at that number of draws. The reduced
form covers some of the releases and detects a loss of six to fourteen times the declared ε: missing noise, or noise in
wrong units.
"""

import pytest

from tests.adversarial.end_to_end import CASES, FULL, QUICK, RELEASES, examine

pytestmark = pytest.mark.statistics


@pytest.mark.parametrize("name", [name for name, release in RELEASES.items() if release.quick])
@pytest.mark.claim("for any two neighbouring tables D and D′, including the table without rows")
def test_few_draws_refute_about_epsilon(name):
    release = RELEASES[name]
    assert release.quick
    pair, share = release.quick
    result = examine(name, pair, QUICK)
    assert share * release.epsilon < result.bound <= release.epsilon


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pair"), CASES)
def test_many_draws_refute_about_epsilon(name, pair):
    release = RELEASES[name]
    result = examine(name, pair, FULL)
    assert release.seen[pair] * release.epsilon < result.bound <= release.epsilon
