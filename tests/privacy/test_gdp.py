"""μ and (ε, δ) in Gaussian differential privacy, against 80-digit values and exact probabilities of discrete noise."""

import math
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hedgerow.errors import ArgumentError
from hedgerow.privacy import gdp
from hedgerow.privacy.gdp import LARGEST_MU, certifies, delta_of_shift, gdp_noise, largest_mu
from hedgerow.privacy.noise import GaussianCounts
from hedgerow.privacy.zcdp import largest_rho

# With mpmath 1.3 at 80 digits: ncdf(m/2 - e/m) - exp(e) * ncdf(-m/2 - e/m), which quad(lambda x: npdf(x, m, 1) -
# exp(e) * npdf(x, 0, 1), [e/m + m/2, inf]) equals to 60 digits.
DELTAS = [
    ("0.1", "0.03", "0.00000353437604951114835183691135011"),
    ("1", "0.2", "1.75463333189623269475532242236E-8"),
    ("4", "0.9", "0.00000551059088681480976831163918549"),
    ("4", "3", "0.440429762786311924275799402546"),
    ("20", "2.5", "1.94645622827788568406120452333E-12"),
    ("1e-9", "1e-10", "7.47456025832660816478884862901E-35"),
    ("0", "0.5", "0.197412651365847448481707583162"),
    ("0.001", "1e-4", "7.47829846001954321827672787443E-29"),
    ("1000", "40", "2.53629651495655087539205107278E-7"),
    ("-0.5", "1", "0.538079416212226236783332778136"),
]
# The same solved for m by bisection
LARGEST = [
    ("0.1", "1e-5", 0.0325207840562039100158672),
    ("1", "1e-6", 0.2367043806634357096481234),
    ("4", "1e-5", 0.924930897666936342591089),
    ("1", "1e-300", 0.02712563391581753612948421),
    ("1e-9", "0.5", 1.348979501178879756278441),
    ("1000", "1e-5", 40.68053101333280739574973),
]
EPSILONS = st.fractions(Fraction(1, 1000), 20)
SMALL = st.sampled_from([Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**6), Fraction(1, 10**12)])


@pytest.mark.parametrize(("epsilon", "mu", "delta"), DELTAS)
def test_delta_is_bounded_from_above_within_the_digits_of_a_reference(epsilon, mu, delta):
    result, wanted = Fraction(delta_of_shift(Fraction(epsilon), Fraction(mu))), Fraction(delta)
    assert abs(result / wanted - 1) < Fraction(1, 10**28)


@given(st.decimals(Decimal("0.001"), 100, places=6))
@example(Decimal(6))  # from here on a continued fraction takes the place of a series
@example(Decimal("5.999999"))
def test_bounds_of_the_ratio_of_mills_enclose_it_tightly(x):
    low, high = gdp._mills(x)
    assert 0 < low < high < low * (1 + Decimal("1e-25"))
    if x < 30:
        assert float(low) == pytest.approx(math.erfc(float(x) / math.sqrt(2)) / 2 / _density(float(x)), rel=1e-9)


@pytest.mark.parametrize("x", ["5", "5.5", "6", "7", "8"])
def test_series_and_continued_fraction_of_the_ratio_of_mills_agree(x):
    series, fraction = gdp._mills_series(Decimal(x)), gdp._mills_fraction(Decimal(x))
    low, high = max(series[0], fraction[0]), min(series[1], fraction[1])
    with localcontext(prec=60):
        assert 0 <= high - low < Decimal("1e-40")


def _density(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(("epsilon", "delta", "mu"), LARGEST)
def test_the_largest_mu_is_just_below_that_of_a_reference(epsilon, delta, mu):
    result = largest_mu(Fraction(epsilon), Fraction(delta))
    assert mu * (1 - 1e-9) < float(result) <= mu
    assert certifies(result, Fraction(epsilon), Fraction(delta))
    assert not certifies(result * (1 + Fraction(1, 10**8)), Fraction(epsilon), Fraction(delta))


@settings(max_examples=15)
@given(EPSILONS, SMALL)
def test_mu_grows_with_epsilon_and_delta_and_allows_more_than_rho(epsilon, delta):
    mu = largest_mu(epsilon, delta)
    assert mu <= largest_mu(epsilon * Fraction(101, 100), delta)
    assert mu <= largest_mu(epsilon, delta * Fraction(101, 100))
    assert mu**2 / 2 > largest_rho(epsilon, delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "less"),
    [("0.1", "1e-5", 0.095), ("1", "1e-6", 0.0676), ("4", "1e-5", 0.066), ("10", "1e-5", 0.056)],
)
def test_the_noise_is_smaller_than_in_rho_as_the_pages_state(epsilon, delta, less):
    in_rho, in_mu = (GaussianCounts(Fraction(epsilon), Fraction(delta), 1, 1, 10**6, adds_up_rho=it) for it in (1, 0))
    assert 1 - in_mu.scale / in_rho.scale == pytest.approx(less, abs=0.0005)


@pytest.mark.parametrize("epsilon", ["1e-15", "1", "1e6", "1e300"])
@pytest.mark.parametrize("delta", ["1e-2400", "1e-300", "1e-5", "0.999999"])
def test_extremes_of_epsilon_and_delta_are_answered(epsilon, delta):
    mu = largest_mu(Fraction(epsilon), Fraction(delta))
    assert 0 < mu <= LARGEST_MU
    assert certifies(mu, Fraction(epsilon), Fraction(delta))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1e-300", "1e-5"), ("1e-300", "1e-300"), ("1e-18", "1e-300"), ("1", "0")]
)
def test_amounts_that_no_noise_is_made_for_are_refused_in_words(epsilon, delta):
    with pytest.raises(ArgumentError, match="minimum"):
        largest_mu(Fraction(epsilon), Fraction(delta))


@pytest.mark.parametrize("digits", [1, 2, 5])
@pytest.mark.parametrize("epsilon", ["0.1", "4", "30"])
def test_mu_does_not_depend_on_the_digits_that_a_caller_computes_with(epsilon, digits):
    asked = Fraction(epsilon), Fraction(1, 10**5)
    of, of_delta = largest_mu.__wrapped__, certifies.__wrapped__
    with localcontext(Context(prec=digits, rounding=ROUND_FLOOR, Emin=-2, Emax=2, traps=[])):
        certifies.cache_clear()
        result = of(*asked)
        assert of_delta(result, *asked)
        assert not of_delta(result * (1 + Fraction(1, 10**8)), *asked)
    assert result == of(*asked)


# Noise on whole numbers


def test_the_variance_margin_covers_all_changed_counts_of_all_releases():
    """The law of noise on a whole number is within e^±η of rounded continuous noise; v·η is at most what is kept."""

    def kept(v):
        theta = 2 * sum(
            math.exp(-2 * math.pi**2 * k**2 * (gdp.MARGIN + float(gdp.RELATIVE_MARGIN) * v)) for k in (1, 2)
        )
        return v * 2 * math.atanh(theta)

    most = max(kept(10 ** (power / 100)) for power in range(-300, 1200))
    assert 0.8 * float(gdp._EXCESS) < most < float(gdp._EXCESS)


def law(sigma, reach=9):
    """Exact chances of discrete Gaussian noise on whole numbers from −n to n (Canonne, Kamath and Steinke 2020)."""
    n = math.ceil(reach * sigma)
    weights = np.exp(-(np.arange(-n, n + 1.0) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


def tail(chances, above):
    """Return the chance of more than `above`."""
    n = len(chances) // 2
    return chances[max(math.floor(above) + n + 1, 0) :].sum()


def delta_of_one(sigma, change, epsilon):
    """Return the exact δ of a count with discrete Gaussian noise (Canonne, Kamath and Steinke 2020, Theorem 7)."""
    chances, at = law(sigma), epsilon * sigma**2 / change
    return tail(chances, at - change / 2) - math.exp(epsilon) * tail(chances, at + change / 2)


def delta_of_several(sigma, changes, epsilon):
    """Return the exact δ of independent counts: by the chances of Σ change·noise, on which the log-ratio depends."""
    total = np.array([1.0])
    for change in changes:
        chances = law(sigma)
        spread = np.zeros((len(chances) - 1) * change + 1)
        spread[::change] = chances
        total = np.convolve(total, spread)
    squares, n = sum(change**2 for change in changes), len(total) // 2
    # P / Q at noise x of P is exp((2·Σ change·x + Σ change²) / 2σ²)
    ratio = (2 * np.arange(-n, n + 1) + squares) / (2 * sigma**2)
    return float((total * np.maximum(-np.expm1(epsilon - ratio), 0)).sum())


def test_one_count_by_two_ways_has_the_same_delta():
    assert delta_of_several(4.2, [3], 0.7) == pytest.approx(delta_of_one(4.2, 3, 0.7), rel=1e-9)


@pytest.mark.parametrize("changes", [[1], [1, 1], [1] * 5, [2, 1], [3, 2, 2]])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "1e-5"), ("1", "1e-6"), ("4", "1e-5"), ("4", "0.01")])
def test_the_exact_delta_of_discrete_noise_is_at_most_the_charge(epsilon, delta, changes):
    squares, mu = sum(change**2 for change in changes), largest_mu(Fraction(epsilon), Fraction(delta))
    sigma, grid = gdp_noise(squares / mu**2)
    result = delta_of_several(sigma, [change * grid for change in changes], float(epsilon))
    assert result <= float(delta)
    assert result > 0.9 * float(delta)


def test_without_the_margin_discrete_noise_has_a_larger_delta_than_charged():
    mu = float(largest_mu(Fraction(1), Fraction(1, 10**6)))
    assert delta_of_one(1 / mu, 1, 1.0) == pytest.approx(1.0197e-6, rel=1e-3)
    assert delta_of_one(math.sqrt(1 / mu**2 + 2), 1, 1.0) < 1e-6


@given(EPSILONS, SMALL, st.integers(1, 2**40), st.integers(1, 1000))
def test_noise_has_the_needed_variance_and_margin_in_exact_arithmetic(epsilon, delta, changes, answers):
    needed = changes * answers / largest_mu(epsilon, delta) ** 2
    sigma, grid = gdp_noise(needed)
    assert grid % 2 == 1
    assert Fraction(sigma) ** 2 >= needed * grid**2 * (1 + Fraction(1, 10**6)) + 2
    assert Fraction(sigma) ** 2 <= needed * grid**2 * (1 + Fraction(1, 400)) + 2 * (grid == 1)
