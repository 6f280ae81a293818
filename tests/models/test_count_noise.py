"""What a noisy count is worth, against the plain convolution of the noise."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from hedgerow import PrivateRuleListClassifier, PrivateTreeClassifier, read_model
from hedgerow.audit.readers.read import paths_of
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.leaf_release import interval_text, rows_text, shown_share
from hedgerow.privacy.card import NO_NOISE, PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.shared_histograms import SharedHistograms
from hedgerow.schema import Number, Schema
from tests.models.noisy_counts import SCHEMA, SMOKER, card


def chances(scale, number, reach=400):
    """The distribution of a sum of discrete Laplace variables on -reach..reach, one convolution after the other."""
    stay = math.exp(-1 / scale)
    item = np.array([(1 - stay) / (1 + stay) * stay ** abs(x) for x in range(-reach, reach + 1)])
    result = np.array([1.0])
    for _ in range(number):
        result = np.convolve(result, item)
    middle = len(result) // 2
    return result[middle : middle + reach]


@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0, 12.5])
@pytest.mark.parametrize("number", [1, 2, 3, 7])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.975])
def test_the_spread_is_the_least_that_covers_the_noise(scale, number, confidence):
    half = chances(scale, number)
    within = list(accumulate([half[0], *(2 * half[1:])]))
    assert CountNoise(scale).spread(number, confidence) == next(w for w, p in enumerate(within) if p >= confidence)


@pytest.mark.parametrize("number", [1, 2, 7])
def test_a_large_scale_only_stretches_the_noise(number):
    wide, wider = CountNoise(1e4).spread(number), CountNoise(1e10).spread(number)
    assert wider / wide == pytest.approx(1e6, rel=2e-3)
    if number == 1:
        assert wider == pytest.approx(1e10 * math.log(20), rel=2e-3)  # Laplace: P(|noise| > w) = exp(-w/scale)


def test_no_count_and_no_noise_are_off_by_nothing():
    assert CountNoise(5.0).spread(0) == CountNoise(0.0).spread(3) == 0
    assert rows_text(1234, 2, CountNoise(0.0)) == "1,234"
    assert CountNoise(0.0).share((1, 3), 1) == (0.75, 0.75)


def test_the_interval_of_a_share_has_its_stated_coverage():
    """20,000 draws at a true share of 30 %: fewer than 94 % covered has a chance below 10^-9."""
    rng, noise, true = np.random.default_rng(1), CountNoise(5.0), (30, 70)
    drawn = np.array(true) + np.reshape(DiscreteLaplace(Fraction(1, 5)).simulate(np.zeros(40_000, int), rng), (-1, 2))
    result = [noise.share(tuple(map(int, counts)), 0) for counts in drawn]
    assert np.mean([low <= 0.3 <= high for low, high in result]) > 0.94
    assert np.mean([shown_share(tuple(map(int, counts)), 0, noise) is not None for counts in drawn]) > 0.9


def test_noise_on_many_classes_hides_the_share_of_a_class():
    assert CountNoise(30.0).share((40, *[50] * 40), 0)[1] < 0.9
    assert interval_text((0.0, 0.0)) == "0 %"


@pytest.mark.parametrize(
    ("charge", "scale"),
    [
        (
            Charge(
                Fact("leaf_counts", of="rules", number=2),
                Fraction(1, 5),
                mechanism=DiscreteLaplace(Fraction(1, 5)).record,
            ),
            5.0,
        ),
        (
            Charge(
                Fact("leaf_counts", of="rule", number=3),
                Fraction(1, 2),
                mechanism=DiscreteLaplace(Fraction(1, 2), 3).record,
            ),
            6.0,
        ),
        (Charge(Fact("leaf_counts", of="rule", number=3), Fraction(1), mechanism="permute-and-flip"), None),
        (
            Charge(Fact("leaf_sums", of="leaves"), Fraction(1, 2), mechanism=DiscreteLaplace(Fraction(1, 2), 3).record),
            None,
        ),
        (Charge(Fact("leaf_counts", of="leaves"), Fraction(9), mechanism=DiscreteLaplace(Fraction(1)).record), 1.0),
        (
            Charge(
                Fact("leaf_counts", of="leaves"),
                Fraction(1),
                mechanism=SharedHistograms(Fraction(1), (2, 3)).record,
            ),
            None,
        ),
        (Charge("row count", Fraction(1), mechanism=DiscreteLaplace(Fraction(1)).record), None),
        (
            Charge(
                Fact("leaf_counts", of="leaves"),
                Fraction(1, 2**80),
                mechanism=DiscreteLaplace(Fraction(1, 2**80)).record,
            ),
            2.0**62,
        ),
        (
            Charge(
                Fact("leaf_counts", of="leaves"),
                Fraction(0),
                mechanism=DiscreteLaplace(Fraction(1)).record,
                no_guarantee="x",
            ),
            2.0**62,
        ),
    ],
)
def test_the_scale_is_read_from_the_charge_for_the_counts(charge, scale):
    result = CountNoise.of(PrivacyCard((charge,), noise="OpenDP", software="hedgerow"))
    assert result == (None if scale is None else CountNoise(scale))


def test_the_largest_of_several_scales_counts():
    charges = (*card("1/5").charges, *card("1/10").charges)
    assert CountNoise.of(PrivacyCard(charges, noise="OpenDP", software="hedgerow")) == CountNoise(10.0)


def test_a_rule_list_shows_ranges_and_its_file_the_numbers():
    model = RuleList(SCHEMA, (Rule((SMOKER,), (229, 496)), Rule((), (-2, 5))), card("1/5"))
    assert str(model).splitlines() == [
        "if smoker then yes    # 65 to 71 % of about 720",
        "else yes              # at most 30 rows, possibly none",
        "(%: share of the predicted class, as a 95 % interval given the noise; the file has the released counts)",
        "",
        "caveat: The model predicts yes for every row, whatever the values of the attributes.",
    ]
    assert [rule["counts"] for rule in model.to_dict()["rules"]] == [[229, 496], [-2, 5]]
    assert [rule["counts"]["no"] for rule in model.get_rules()] == [229, -2]
    exact = RuleList(SCHEMA, model.rules, PrivacyCard.none("exact", software="hedgerow"))
    assert str(exact).splitlines() == ["if smoker then yes    # 68.4 % of 725", "else yes              # 100.0 % of 3"]


def test_a_tree_shows_ranges():
    model = Tree(SCHEMA, Split(SMOKER, Leaf((229, 496)), Leaf((0, 8417376124))), card("1/5"))
    assert "if smoker: yes    # 65 to 71 % of about 720" in str(model)
    vague = Tree(SCHEMA, model.root, card("1/10000000000"))
    assert str(vague).count("rows, possibly none") == 2
    assert "8417376124" not in str(vague)


@pytest.mark.parametrize("html", [lambda model: model.to_html(), lambda model: model._repr_html_()])
def test_html_and_notebooks_show_ranges(html):
    rules = (Rule((SMOKER,), (229, 496)), Rule((), (-2, 5)))
    cells = html(RuleList(SCHEMA, rules, card("1/5", Fact("leaf_counts", of="rules", number=2))))
    assert "<td>65 to 71 %</td><td>about 230</td><td>about 500</td>" in cells
    assert '<td colspan="3">at most 30 rows, possibly none</td>' in cells
    assert "as a 95 % interval given the noise" in cells
    assert "<td>-2</td>" not in cells
    exact = html(RuleList(SCHEMA, rules, PrivacyCard.none("exact", software="hedgerow")))
    assert "<td>68.4 %</td><td>229</td><td>496</td>" in exact
    assert "ranges" not in exact


def test_exact_counts_of_no_row_are_no_share():
    model = RuleList(SCHEMA, (Rule((SMOKER,), (0, 0)), Rule((), (1, 3))), PrivacyCard.none("x", software="hedgerow"))
    assert str(model).splitlines()[0].endswith("# 0 rows")


@pytest.mark.parametrize("estimator", [PrivateRuleListClassifier, PrivateTreeClassifier])
@pytest.mark.parametrize("search", ["exact", "greedy"])
def test_the_cards_of_our_learners_name_the_noise(estimator, search):
    X = np.array([[0, 1], [1, 0]] * 50)
    given = {"release_counts": True} if search == "exact" else {}
    model = estimator(1, search=search, random_state=0, **given).fit(X, [0, 1] * 50)
    released = model.tree_ if estimator is PrivateTreeClassifier else model.rule_list_
    assert CountNoise.of(released.privacy) == CountNoise(5.0)
    assert "interval given the noise" in str(released)


REWORDED = "geometric, sensitivity 1, scale 5"


def unknown(model):
    """The same model, with one word of the mechanism of its counts replaced on the card."""
    charges = tuple(replace(charge, mechanism=charge.mechanism and REWORDED) for charge in model.privacy.charges)
    return replace(model, privacy=replace(model.privacy, charges=charges))


@pytest.mark.parametrize(
    "model",
    [
        RuleList(SCHEMA, (Rule((SMOKER,), (229, 496)), Rule((), (-2, 5))), card("1/5")),
        Tree(SCHEMA, Split(SMOKER, Leaf((229, 496)), Leaf((-2, 5))), card("1/5")),
        Tree(
            SCHEMA,
            Split(SMOKER, Leaf((229, 496), "yes", (0.25, 0.75)), Leaf((-2, 5), "yes", (0.4, 0.6))),
            card("1/5"),
        ),
    ],
)
def test_counts_of_unknown_noise_are_never_shown_as_exact(model):
    """In text, HTML and pictures; before, "65 to 71 % of about 720" became "68.4 % of 725" with one word replaced."""
    model = unknown(model)
    assert CountNoise.of(model.privacy) is None
    text, html = str(model), model.to_html()
    assert "725 rows (noise unknown)" in text
    assert "3 rows (noise unknown)" in text
    assert "<td>229 (noise unknown)</td><td>496 (noise unknown)</td>" in html
    for shown in (text, html):
        assert "does not state the noise on the counts, so they may not be exact" in shown
        assert "68.4" not in shown
        assert "allow for the noise" not in shown
    assert not {"no-better", "empty"} & {caveat.kind for caveat in model.caveats}


def test_bars_and_rows_of_a_number_do_not_hide_unknown_noise():
    rules = (Rule((SMOKER,), (229, 496)), Rule((), (-2, 5)))
    axes = unknown(RuleList(SCHEMA, rules, card("1/5"))).plot()
    assert axes.get_xlabel() == "released rows (the noise is not stated on the privacy card)"
    number = unknown(RuleList(Schema(SCHEMA.attributes, Number("days", 0, 32, 2)), rules, card("1/5")))
    assert str(number).splitlines()[0].endswith("# 725 rows (noise unknown)")


def test_noise_of_which_one_charge_is_unreadable_is_unknown():
    read, reworded = card("1/5").charges[1], replace(card("1/5").charges[1], mechanism=REWORDED)
    assert CountNoise.of(PrivacyCard((read, reworded), noise="OpenDP", software="hedgerow")) is None


def test_only_a_consistent_card_without_privacy_means_exact_counts():
    assert CountNoise.of(PrivacyCard.none("not private")) == CountNoise(0.0)
    charges = (Charge("draw of the tree", Fraction(1)),)
    assert CountNoise.of(PrivacyCard(charges, noise=NO_NOISE, software="hedgerow")) is None


def test_counts_read_from_pmml_have_unknown_noise_and_audits_assume_none(tmp_path):
    """PMML has no place for the noise; before, "65 to 71 % of about 720" came back as "68.4 % of 725"."""
    tree = Tree(SCHEMA, Split(SMOKER, Leaf((229, 496)), Leaf((20, 5))), card("1/5"))
    (tmp_path / "tree.pmml").write_text(tree.to_pmml(), "utf-8")
    result = read_model(tmp_path / "tree.pmml", SCHEMA)
    assert "725 rows (noise unknown)" in str(result)
    assert "68.4" not in str(result)
    assert CountNoise.of(result.privacy) is None
    assert paths_of(result, SCHEMA)[0].view == "exact"
    assert paths_of(tree, SCHEMA)[0].view == "noisy"


def test_a_remark_explains_rounded_rows_of_a_number():
    schema = Schema(SCHEMA.attributes, Number("days", 0, 32, 2))
    model = RuleList(schema, (Rule((SMOKER,), (229, 496)), Rule((), (-2, 5))), card("1/5"))
    assert str(model).splitlines()[2].startswith("(numbers of rows are rounded to the precision that the noise allows")
    assert "share of the predicted" not in f"{model}{model._repr_html_()}"


def test_the_axis_of_bars_states_the_noise():
    axes = RuleList(SCHEMA, (Rule((SMOKER,), (229, 496)), Rule((), (-2, 5))), card("1/5")).plot()
    assert axes.get_xlabel() == "released rows per class (± 15 due to the noise, 95 %)"


def test_charges_for_other_kinds_of_numbers_do_not_state_the_noise():
    """A card that charges counts leaves the noise on sums unknown, and the other way round."""
    counts, sums = card("1/5"), card("1/5", Fact("leaf_sums", of="leaves"))
    assert CountNoise.of(counts, "counts") == CountNoise.of(sums, "sums") == CountNoise(5.0)
    assert CountNoise.of(counts, "sums") is CountNoise.of(sums, "counts") is None
    schema = Schema(SCHEMA.attributes, Number("days", 0, 32, 2))
    root = Split(SMOKER, Leaf(sums=(229, 496), mean=20.0), Leaf(sums=(3, 5), mean=4.0))
    assert "725 rows (noise unknown)" in str(Tree(schema, root, counts))
    assert "about 720 rows" in str(Tree(schema, root, sums))
