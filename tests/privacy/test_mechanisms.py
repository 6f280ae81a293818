"""Every mechanism has an exact loss in its charges, and tests of its noise: at another scale, and at zeros.

A new mechanism needs an entry in `MECHANISMS`; CONTRIBUTING.md lists the rest.
"""

import ast
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import ArgumentError
from hedgerow.learn.ssrl.mechanisms import Exponential, global_laplace
from hedgerow.oracle.release_forms import PublishedRatios
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.facts import FORMS
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts, GumbelChoice, PermuteAndFlip
from hedgerow.privacy.peeling import GumbelPeeling
from hedgerow.privacy.shared_histograms import SharedHistograms

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Entry:
    """A mechanism with the tests of its noise, as file and name."""

    example: Any
    exact: str  # draws compared with exact probabilities, and with those of a scale that is off by `FACTORS`
    zeros: str  # draws at counts of zero, or at equal scores
    unproven: bool = False  # published without a valid proof: its charges have no guarantee, and may state any ε


LOSS, SERIES = Fraction(1, 3), (Fraction(1, 3), Fraction("1e-6"), 1, 1, 1)
NOISE, SSRL = "privacy/test_noise.py", "learn/ssrl/test_mechanisms.py"
ZEROS = "privacy/test_noise_of_zeros.py"
CHOICES_AT_ZERO = f"{ZEROS}::test_choices_are_exact_for_zero_and_for_equal_scores"
PUBLISHED_AT_ZERO = f"{ZEROS}::test_published_mechanisms_choose_evenly_among_zero_and_equal_scores"
VECTORS_AT_ZERO = f"{ZEROS}::test_noise_on_a_vector_is_the_same_for_each_of_its_values"
MECHANISMS = {
    "permute_and_flip": Entry(
        PermuteAndFlip(LOSS, 7), f"{NOISE}::test_permute_and_flip_draws_its_exact_probabilities", CHOICES_AT_ZERO
    ),
    "gumbel_choice": Entry(
        GumbelChoice(LOSS, 7),
        f"{NOISE}::test_choices_for_budgets_in_rho_are_the_exponential_mechanism",
        CHOICES_AT_ZERO,
    ),
    "discrete_laplace": Entry(
        DiscreteLaplace(LOSS), f"{NOISE}::test_discrete_laplace_draws_its_exact_probabilities", VECTORS_AT_ZERO
    ),
    "shared_histograms": Entry(
        SharedHistograms(LOSS, (2, 3)),
        "privacy/test_shared_histograms.py::test_points_have_their_exact_chances",
        f"{ZEROS}::test_noise_that_histograms_share_is_the_same_for_each_of_their_values",
    ),
    "discrete_gaussian": Entry(
        GaussianCounts(*SERIES),
        "privacy/test_gaussian.py::test_noise_has_the_exact_probabilities_of_the_discrete_gaussian",
        VECTORS_AT_ZERO,
    ),
    "gumbel_peeling": Entry(
        GumbelPeeling(*SERIES),
        "privacy/test_peeling.py::test_sets_have_the_probabilities_of_consecutive_exponential_mechanisms",
        f"{ZEROS}::test_sets_of_candidates_with_zero_or_equal_scores_are_as_likely",
    ),
    "model_draw": Entry(
        ModelDraw(LOSS, Fraction(1, 4)),
        "learn/search/test_sampler.py::test_secure_noise_draws_models_with_their_exact_probabilities",
        f"{ZEROS}::test_a_model_of_a_table_without_rows_is_drawn_by_chance",
    ),
    "joint_quantiles": Entry(
        JointQuantiles(LOSS, 6, 100),
        "privacy/test_joint_quantiles.py::test_draws_have_the_exact_distribution",
        f"{ZEROS}::test_quantiles_of_a_column_without_rows_are_drawn_evenly",
    ),
    "noisy_min": Entry(
        global_laplace(LOSS),
        f"{SSRL}::test_the_smallest_noisy_score_has_its_exact_probabilities",
        PUBLISHED_AT_ZERO,
        unproven=True,
    ),
    "exponential_choice": Entry(
        Exponential(LOSS),
        f"{SSRL}::test_the_exponential_mechanism_has_its_exact_probabilities",
        PUBLISHED_AT_ZERO,
    ),
    "clipped_ratio": Entry(
        PublishedRatios(LOSS, 3),
        "oracle/test_expril_ratios.py::test_ratios_are_drawn_with_their_exact_probabilities",
        f"{ZEROS}::test_published_ratios_of_bins_with_rows_are_noised_at_zero_too",
        unproven=True,
    ),
}
NO_NOISE = {"text", "as_stated"}
"""Codes for releases whose noise hedgerow does not draw."""


def test_every_mechanism_has_an_entry_here():
    codes = {code for code, form in FORMS.items() if "mechanism" in form.kinds} - NO_NOISE
    assert codes == set(MECHANISMS), (
        f"Add an entry for {sorted(codes - set(MECHANISMS))} to MECHANISMS in tests/privacy/test_mechanisms.py: an "
        "example, the test of its exact probabilities, and its test in tests/privacy/test_noise_of_zeros.py."
    )
    assert {code: entry.example.record.code for code, entry in MECHANISMS.items()} == {code: code for code in codes}


@pytest.mark.parametrize("code", MECHANISMS)
def test_charges_with_half_of_the_loss_of_a_mechanism_are_refused(code):
    """Otherwise a file could state a smaller ε than the noise of its releases costs."""
    mechanism = MECHANISMS[code].example

    def accepts(share):
        rho = None if mechanism.rho is None else mechanism.rho * share
        try:
            Charge("query", mechanism.epsilon * share, mechanism.delta, mechanism.record, rho=rho)
        except ArgumentError:
            return False
        return True

    assert accepts(Fraction(1))
    assert accepts(Fraction(1, 2)) == MECHANISMS[code].unproven, (
        f"Add a case for {code!r} to `row_loss` in src/hedgerow/privacy/charge.py: the ε for one row that follows from "
        "the scale or weight of the mechanism."
    )


def source_of(test):
    """Return the source of a test, or an empty text if the file or the test does not exist."""
    path, _, name = test.partition("::")
    source = (TESTS / path).read_text(encoding="utf-8") if (TESTS / path).is_file() else ""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name]
    return "".join(ast.get_source_segment(source, node) or "" for node in functions)


@pytest.mark.parametrize("code", MECHANISMS)
def test_every_mechanism_has_a_test_that_rejects_another_scale(code):
    test = MECHANISMS[code].exact
    assert "FACTORS" in source_of(test), (
        f"tests/{test} must compare draws of {code!r} with exact probabilities, and reject those of a scale that is "
        "off by each of `FACTORS` of tests/privacy/chances.py."
    )


@pytest.mark.parametrize("code", MECHANISMS)
def test_every_mechanism_has_a_test_of_its_noise_at_zeros(code):
    test = MECHANISMS[code].zeros
    assert source_of(test), f"tests/{test} must draw {code!r} at counts of zero, or at equal scores."
