import numpy as np
import pytest
from scipy.stats import beta, binom, binomtest

from hedgerow.audit import ShadowMembership
from hedgerow.audit.inference.shadow_membership import SHADOW_ATTACKS
from tests.audit.inference.shadow_tables import ignoring, leaky, made_up, overfit

KINDS = ("labels", "probabilities", "both")


@pytest.mark.statistics
@pytest.mark.parametrize("name", SHADOW_ATTACKS)
def test_a_learner_that_ignores_its_rows_is_within_the_intervals(name):
    """Of 12 tables, 4 or more intervals of 95 % miss with a chance below 0.003."""
    missed_by(name, tables=12, n_splits=6, n_rows=30, most=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHADOW_ATTACKS)
def test_so_it_is_on_many_tables(name):
    """Of 120 tables, 13 or more intervals of 95 % miss with a chance below 0.01."""
    missed_by(name, tables=120, n_splits=12, n_rows=60, most=12)


def missed_by(name, *, tables, n_splits, n_rows, most):
    missed, aucs = np.zeros(2), []
    for seed in range(tables):
        result = ShadowMembership.of("none", name, ignoring(n_splits, n_rows, kind=KINDS[seed % 3], seed=seed))
        (low, high), (below, above) = result.auc_interval, result.tpr_interval(0.05)
        missed += [not low <= 0.5 <= high, not below <= 0.05 <= above]
        aucs.append(result.auc)
    assert (missed <= most).all()
    assert abs(np.mean(aucs) - 0.5) < 3 * np.std(aucs) / tables**0.5


def test_excluding_only_the_attacked_fit_would_leak_membership():
    """The trap that pairs avoid: of a constant model, shadows less the target alone order members below the others."""
    shadows = ignoring(10, 40, kind="constant", seed=0)
    result = ShadowMembership.of("constant", "online", shadows)
    assert result.auc == 0.5
    assert result.tpr_at(0.01) == pytest.approx(0.01)
    ours = np.log((9 + 0.5) / (10 + 0.5))  # of a member: nine other fits with the row, and ten without it
    theirs = np.log((10 + 0.5) / (9 + 0.5))
    assert ours < theirs


@pytest.mark.statistics
@pytest.mark.parametrize("name", SHADOW_ATTACKS)
def test_a_leaky_learner_is_caught(name):
    result = ShadowMembership.of("leaky", name, overfit(16, 100, strength=3))
    assert result.auc_interval[0] > 0.8
    low, high = result.tpr_interval(0.01)
    assert 0.05 < low < result.tpr_at(0.01) < high
    assert len(result.significant_rows()) > 0


@pytest.mark.statistics
def test_the_standard_error_is_the_jackknife_over_splits():
    shadows = leaky(6, 30, strength=0.3)
    result = ShadowMembership.of("leaky", "rmia", shadows)
    without = [ShadowMembership.of("leaky", "rmia", shadows.without(k)).auc for k in range(6)]
    assert result.aucs.tolist() == without
    assert result.auc_standard_error == pytest.approx(
        (5 / 6 * sum((x - np.mean(without)) ** 2 for x in without)) ** 0.5
    )


@pytest.mark.statistics
def test_the_standard_error_matches_repeated_splits():
    """Over 30 draws of all splits; a ratio of two standard deviations beyond 1.6 has a chance of about 1 %."""
    result = [ShadowMembership.of("leaky", "online", leaky(8, 40, strength=0.3, seed=seed)) for seed in range(30)]
    spread = np.std([item.auc for item in result], ddof=1)  # of other rows, too
    assert 1 / 1.6 < np.mean([item.auc_standard_error for item in result]) / spread < 1.6


def test_equal_splits_have_the_interval_of_their_number():
    result = ShadowMembership.of("sure", "online", made_up(np.ones((8, 20)), np.zeros((8, 20))))
    assert result.auc == 1
    assert result.tpr_at(0.01) == 1
    low, high = result.tpr_interval(0.01)
    assert (low, high) == (pytest.approx(0.025 ** (1 / 8)), 1.0)  # Clopper and Pearson: 8 of 8
    assert result.tpr_interval(0.01, 0.5)[0] == pytest.approx(beta.ppf(0.25, 8, 1))


def test_rows_are_separated_by_sign_tests():
    inside, outside = np.full((10, 3), 0.5), np.full((10, 3), 0.5)
    inside[:8, 0], inside[8, 0] = 0.9, 0.1  # more confident in eight, less in one, equal in one
    inside[:, 1] = 0.6
    result = ShadowMembership.of("made up", "online", made_up(inside, outside))
    rows = result.by_row()
    assert rows["separation"].tolist() == pytest.approx([0.7, 1.0, 0.0])
    assert rows["confidence_in"].tolist() == pytest.approx([0.78, 0.6, 0.5])
    expected = [binomtest(8, 9, alternative="greater").pvalue, 2**-10, 1.0]
    assert rows["p_value"].tolist() == pytest.approx(expected)
    assert result.worst(2).index.tolist() == [1, 0]
    assert result.significant_rows().index.tolist() == [1, 0]  # Holm: 0.001 <= 0.05/3, 0.0195 <= 0.05/2
    assert result.significant_rows(0.03).index.tolist() == [1]


def test_significant_rows_have_the_stated_false_alarm_rate():
    """At most 5 % of 200 tables: 20 or more have a chance below 0.003."""
    rates = np.zeros(201)
    result = [
        ShadowMembership("none", "any", ignoring(8, 30, kind="probabilities", seed=k), 0.5, rates, rates, rates, rates)
        for k in range(200)
    ]
    assert sum(len(item.significant_rows()) > 0 for item in result) < 20


def test_another_attack_uses_the_same_fits():
    result = ShadowMembership.of("leaky", "online", leaky(6, 30, strength=0.3))
    other = result.by("rmia")
    assert other.shadows is result.shadows
    assert other.auc == ShadowMembership.of("leaky", "rmia", result.shadows).auc
    assert other.attack == "relative likelihood ratio (RMIA), online"


def test_the_text_explains_its_numbers_and_is_marked_private():
    result = ShadowMembership.of("Tree", "online", leaky(6, 200, strength=0.3))
    text = str(result)
    low, high = result.auc_interval
    assert f"95 % interval {low:.3f} to {high:.3f}" in text
    assert "at FPR 0.1 %" in text
    assert "6 random splits of 200 rows into halves, with 12 fits" in text
    assert "eyes only" in text
    assert "at FPR 0.1 %" not in str(ShadowMembership.of("Tree", "online", leaky(6, 100, strength=0.3)))
    assert repr(result) == f"<ShadowMembership of Tree by likelihood ratio, online: AUC {result.auc:.3f} over 6 splits>"


def test_rates_below_one_score_are_refused():
    result = ShadowMembership.of("Tree", "online", leaky(6, 100, strength=0.3))
    assert result.finest_fpr == 1 / 600
    for call in (result.tpr_at, result.tpr_interval):
        with pytest.raises(ValueError, match=r"fpr .*0\.00167"):
            call(0.001)
    with pytest.raises(ValueError, match="confidence"):
        result.tpr_interval(0.1, 1)
    with pytest.raises(ValueError, match="alarm"):
        result.significant_rows(0)
    with pytest.raises(ValueError, match=r"^n "):
        result.worst(0)


def test_the_plot_has_logarithmic_axes_and_the_band():
    result = ShadowMembership.of("Tree", "online", leaky(6, 100, strength=0.3))
    axes = result.plot()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert "95 % intervals over splits" in {text.get_text() for text in axes.get_legend().get_texts()}
    low, high = result.tpr_band
    assert ((low <= result.tpr + 1e-12) & (result.tpr <= high + 1e-12)).all()
    assert result.tpr_interval(0.1) == pytest.approx((low[150], high[150]))


@pytest.mark.parametrize(
    ("attack", "error", "match"),
    [
        ("guess", ValueError, "ShadowAttack"),
        (SHADOW_ATTACKS["rmia"], TypeError, "scores"),
        (3, TypeError, "scores"),
    ],
)
def test_bad_attacks_are_refused(attack, error, match):
    with pytest.raises(error, match=match):
        ShadowMembership.of("Tree", attack, leaky(6, 10, strength=0.3))


@pytest.mark.parametrize("draws", [30, pytest.param(100, marks=pytest.mark.statistics)])
@pytest.mark.parametrize("kind", ["probabilities", "labels"])
def test_few_splits_find_no_leak_in_a_constant_learner(kind, draws):
    """With 4 splits the online attack was above .5 in 52 % of 150 such results; at most 5 %, false alarm 10^-4."""
    results = [
        ShadowMembership.of("none", "online", ignoring(5, 100, kind=kind, seed=5000 + seed)) for seed in range(draws)
    ]
    most = binom.ppf(1 - 1e-4, draws, 0.05)
    assert sum(result.auc_interval[0] > 0.5 for result in results) <= most
    assert sum(result.auc_p_value < 0.01 for result in results) <= binom.ppf(1 - 1e-4, draws, 0.01)


def test_the_p_value_of_an_auc_is_at_least_2_to_minus_repeats():
    result = ShadowMembership.of("all", "online", made_up(np.ones((6, 30)), np.zeros((6, 30))))
    assert (result.auc, result.auc_standard_error, result.auc_p_value) == (1, 0, 2**-6)
    assert ShadowMembership.of("none", "online", made_up(np.ones((6, 30)), np.ones((6, 30)))).auc_p_value >= 0.5
