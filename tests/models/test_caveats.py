"""Caveats of released models: by hand, and those leaves that no row reaches by going through all rows."""

import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import hedgerow as hr
from hedgerow.errors import LabelsOnlyWarning, UselessModelWarning
from hedgerow.learn.private_base import model_caveats
from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree, caveats
from hedgerow.privacy import Charge, PrivacyCard
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema import Boolean, Integer, Label, Literal, Number, Schema

SCHEMA = Schema({"age": Integer(0, 9, cuts=(2, 5)), "smoker": Boolean()}, Label("ill", ("no", "yes")))
COUNTED = Charge(Fact("leaf_counts", of="leaves"), Fraction(1), mechanism=DiscreteLaplace(Fraction(1)).record)
CARD = PrivacyCard((COUNTED,), noise="OpenDP", software="hedgerow")
SMOKER = Literal("smoker", "true")


def kinds(model):
    return [caveat.kind for caveat in model.caveats]


def tree_of(*leaves, schema=SCHEMA):
    return Tree(schema, Split(SMOKER, *leaves), CARD)


def test_a_constant_model_has_a_caveat_in_text_and_pages():
    model = tree_of(Leaf(label="no"), Leaf(label="no"))
    (caveat,) = model.caveats
    assert (caveat.kind, caveat.is_of_model) == ("constant", True)
    assert str(model).endswith("caveat: The model predicts no for every row, whatever the values of the attributes.")
    assert "Caveat: The model predicts no for every row" in model.to_html()
    assert "Caveat: The model predicts no for every row" in model._repr_html_().split("<details")[0]  # not folded
    assert not kinds(tree_of(Leaf(label="no"), Leaf(label="yes")))
    number = Schema({"smoker": Boolean()}, Number("y", 0, 8, 4))
    assert kinds(Tree(number, Leaf(label=3.0), CARD)) == ["constant"]


def test_a_model_that_was_not_charged_for_has_no_caveats():
    free = PrivacyCard.none("not private")
    assert not Tree(SCHEMA, Leaf(label="no"), free).caveats


@pytest.mark.parametrize(
    ("counts", "found", "said"),
    [
        ((30, 34), [], ""),
        ((30, 33), ["unclear"], "the gain in accuracy is −0.5 to 4.7 percentage points (95 % interval)."),
        ((30, 30), ["no-better"], "the gain in accuracy is −2.7 to 2.7 percentage points (95 % interval)."),
        ((30, 26), ["no-better"], "is probably useful only to rank rows, or if errors have different costs."),
    ],
)
def test_a_model_not_shown_to_beat_the_most_frequent_class_has_a_caveat(counts, found, said):
    """Of smokers `counts`, of others 70 and 10. The gain is the second count less the first, with noise of scale 1:

    their difference is off by 1.96·√2·1.357 = 3.8 rows, where 1.357 = 1/(√2·sinh(1/2)).
    """
    model = tree_of(Leaf(counts, label="yes"), Leaf((70, 10)))
    assert kinds(model) == found
    if found:
        is_hidden = "gain" in said  # the noise hides the difference, so the two shares are not stated
        right, always = 100 * (70 + counts[1]) / (80 + sum(counts)), 100 * (70 + counts[0]) / (80 + sum(counts))
        words = f"{right:.1f} % of the rows correctly; always predicting the most frequent class predicts {always:.1f}"
        assert (words in str(model)) != is_hidden
        assert str(model).endswith(said)
        assert model.caveats[0].is_of_model
        assert model.caveats[0].is_useless == (found == ["no-better"])


@pytest.mark.parametrize(
    ("costs", "found"),
    [
        (None, ["no-better"]),
        (((0.0, 1.0), (5.0, 0.0)), []),  # of 131 rows, 30 cost 1 and 10 cost 5; always yes, 100 cost 1
        (((0.0, 1.0), (1.2, 0.0)), ["unclear"]),
        (((0.0, 3.0), (1.0, 0.0)), ["no-better"]),
    ],
)
def test_a_model_learned_by_costs_is_judged_by_them(costs, found):
    counts = ((30, 21), (70, 10)) if costs is None or costs[1][0] != 1.2 else ((30, 26), (70, 10))
    model = replace(tree_of(Leaf(counts[0], label="yes"), Leaf(counts[1])), costs=costs)
    assert kinds(model) == found
    if found and costs:
        is_hidden = found == ["unclear"]
        assert ("By the released counts, the model costs" in str(model)) != is_hidden
        assert ("the saving is −0.02172 to 0.03937 per row (95 % interval)." in str(model)) == is_hidden


@pytest.mark.parametrize("draws", [300, pytest.param(5000, marks=pytest.mark.statistics)])
@pytest.mark.parametrize("costs", [None, ((0.0, 1.0), (3.0, 0.0))])
def test_a_model_that_is_no_better_passes_for_better_in_at_most_5_percent(draws, costs):
    """The rows give no gain over "no", nor over "yes"; a false alarm of the test has a chance of 10^-4."""
    true = np.array([[30, 30], [70, 10]] if costs is None else [[30, 10], [70, 10]])
    noise, rng = DiscreteLaplace(Fraction(1)), np.random.default_rng(0)

    def share(rows):
        drawn = np.reshape([noise.simulate(rows.ravel(), rng) for _ in range(draws)], (draws, 2, 2)).tolist()
        models = (tree_of(Leaf(tuple(yes), label="yes"), Leaf(tuple(no), label="no")) for yes, no in drawn)
        result = [kinds(replace(model, costs=costs)) for model in models]
        return sum("no-better" not in item and "unclear" not in item for item in result)

    assert share(true) <= binom.ppf(1 - 1e-4, draws, 0.05)
    assert share(true + np.array([[0, 12], [0, 0]])) > 0.9 * draws


@pytest.mark.parametrize(("rows", "found"), [(8, []), (2, ["unclear"]), (-5, ["unclear"])])
def test_a_model_whose_counts_are_all_within_the_noise_has_a_caveat(rows, found):
    """The sum of four counts with noise of scale 1 is at most 6 from its mean in 95 % of the cases."""
    number = Schema({"smoker": Boolean()}, Number("days", 0, 8, 2))
    of_classes = tree_of(Leaf((0, rows), label="yes"), Leaf((rows, 0), label="no"))
    of_number = Tree(number, Split(SMOKER, Leaf((0, rows), mean=6.0), Leaf((rows, 0), mean=2.0)), CARD)
    for model in (of_classes, of_number):
        assert [kind for kind in kinds(model) if kind != "empty"] == found
        assert ("the noise alone can produce their total." in str(model)) == bool(found)


def test_leaves_whose_counts_are_within_the_noise_have_a_caveat():
    """By the exact chances of a sum of two counts with noise of scale 1: at most so far from 0 in 95 of 100."""
    chances = np.exp(-np.abs(np.arange(-60, 61)))
    chances = np.convolve(chances, chances) / chances.sum() ** 2
    most = next(w for w in range(60) if chances[120 - w : 121 + w].sum() >= 0.95)
    for rows, result in ((most + 1, []), (most, ["empty"]), (-2, ["empty"])):
        model = tree_of(Leaf((rows - 50, 50)), Leaf((170, 10)))
        assert kinds(model) == result
        said = ["Leaf 1 may contain no rows: the noise alone can produce such counts."] if result else []
        assert [caveat.sentence for caveat in model.caveats] == said
        for text in (str(model), model.to_html()):  # where the note on the leaf says so
            assert ("possibly none" in text) == bool(result)
            assert "aveat" not in text


def test_all_leaves_that_may_be_empty_are_listed():
    """0.2.0 listed the first ten, and three dots."""
    literals = [Literal("age", op, (cut,)) for op, cut in product(("<=", ">"), (2, 5))]
    empty = [*range(2, 26), 28, 29, 31]
    leaves = [Leaf((1, -8)) if number in empty else Leaf((90, 10)) for number in range(1, 33)]
    rules = [Rule.of((literals[place % 4], SMOKER), leaf) for place, leaf in enumerate(leaves[:-1])]
    model = RuleList(SCHEMA, (*rules, Rule.of((), leaves[-1])), CARD)
    (caveat,) = [item for item in model.caveats if item.kind == "empty"]
    assert caveat.leaves == tuple(empty)
    assert caveat.sentence.startswith("Rules 2 to 25, 28, 29, 31 may contain no rows: ")
    assert [item["rule"] for item in model.get_rules() if item["probability"] is None] == empty


def test_a_scorecard_is_constant_if_all_totals_are_on_one_side():
    def card(base, *points):
        parts = (AttributePoints("smoker", points),) if points else ()
        return Scorecard(SCHEMA, (base,), parts, 0.1, None, CARD)

    assert kinds(card(3)) == kinds(card(3, (-2,), (1,))) == kinds(card(-1, (0,), (1,))) == ["constant"]
    assert not kinds(card(3, (-3,), (1,)))  # 0 is no, 4 is yes
    number = Schema({"smoker": Boolean()}, Number("y", 0, 8, 4))
    assert kinds(Scorecard(number, (3,), (), 0.5, None, CARD)) == ["constant"]
    assert not kinds(Scorecard(number, (3,), (AttributePoints("smoker", ((0,), (1,))),), 0.5, None, CARD))
    part = AttributePoints("smoker", ((0,), (1,)))
    assert kinds(Scorecard(number, (-9,), (part,), 0.5, None, CARD)) == ["constant"]  # always the lower bound
    assert kinds(Scorecard(number, (99,), (part,), 0.5, None, CARD)) == ["constant"]  # always the upper bound


@pytest.mark.parametrize(
    ("base", "no", "yes", "always"),
    [
        ((9, 0, 0), (-6, 0, 5), (6, 20, 8), False),  # 15, 20, 8 for yes
        ((9, 0, 0), (-6, 0, 2), (6, 14, 8), True),  # totals of classes overlap, but never in the same row
        ((0, 3, 0), (0, -3, 0), (0, 5, 0), False),  # of equal totals the first class is predicted
        ((3, 0, 0), (0, 3, 0), (1, 0, 0), True),
    ],
)
def test_a_scorecard_is_constant_if_one_class_leads_in_every_row(base, no, yes, always):
    schema = Schema({"smoker": Boolean()}, Label("stage", ("I", "II", "III")))
    model = Scorecard(schema, base, (AttributePoints("smoker", (no, yes)),), 0.1, None, CARD)
    assert (len(set(model.predict(pd.DataFrame({"smoker": [False, True]})))) == 1) is always
    assert kinds(model) == (["constant"] if always else [])


LITERALS = [Literal("age", op, (cut,)) for op, cut in product(("<=", ">"), (2, 5))]
LITERALS += [Literal("smoker", op) for op in ("true", "false")]
ROWS = pd.DataFrame(list(product((0, 4, 9), (False, True))), columns=["age", "smoker"])


@given(st.lists(st.lists(st.sampled_from(LITERALS), min_size=1, max_size=3, unique=True), min_size=1, max_size=4))
def test_rules_reported_as_unreachable_have_no_row(antecedents):
    """Whoever goes through all rows finds none there; of lists, rules that several others cover are not all found."""
    rules = [Rule(tuple(antecedent), label="no") for antecedent in antecedents]
    model = RuleList(SCHEMA, (*rules, Rule((), label="yes")), CARD)
    reached = set((model.apply(ROWS) + 1).tolist())
    for caveat in model.caveats:
        if caveat.kind == "unreachable":
            assert not reached & set(caveat.leaves)
    lists = [RuleList(SCHEMA, (rule, Rule((), label="yes")), CARD) for rule in rules]
    assert all(0 in listed.apply(ROWS) for listed in lists) or "unreachable" in kinds(model)


def test_a_model_too_large_to_examine_has_a_caveat(monkeypatch):
    rules = (Rule((LITERALS[0],), label="no"), Rule((LITERALS[0],), label="no"), Rule((), label="yes"))
    model = RuleList(SCHEMA, rules, CARD)
    assert "unreachable" in kinds(model)
    monkeypatch.setattr(caveats, "_MOST_WORK", 1)
    assert kinds(RuleList(SCHEMA, rules, CARD)) == ["unexamined"]
    assert "Whether rows can reach every rule was not checked" in str(RuleList(SCHEMA, rules, CARD))


def test_a_branch_that_contradicts_an_earlier_one_is_out_of_reach():
    inner = Split(Literal("age", ">", (5,)), Leaf(label="no"), Leaf(label="yes"))
    model = Tree(SCHEMA, Split(Literal("age", "<=", (2,)), inner, Leaf(label="no")), CARD)
    assert [caveat.sentence for caveat in model.caveats] == ["No row that fits the schema reaches leaf 1."]


X = np.arange(1600).reshape(800, 2) // 4 % 2
LABELS = np.arange(800) % 16 == 0  # of both values of a column


def test_a_constant_from_noise_warns_and_a_requested_constant_does_not():
    with pytest.warns(UselessModelWarning, match="for every row, whatever") as told:
        hr.PrivateTreeClassifier(50.0, max_depth=1).fit(X, LABELS)
    assert told[0].filename == __file__
    for clf in (hr.PrivateTreeClassifier(50.0, max_depth=0), hr.PrivateRuleListClassifier(50.0, max_rules=1)):
        assert not clf.fit(X, LABELS).caveats


def test_a_non_constant_model_keeps_its_caveats_at_every_requested_size():
    model = Tree(SCHEMA, Split(SMOKER, Leaf((90, 10)), Leaf((80, 20))), CARD)
    assert [caveat.sentence for caveat in model_caveats(model, hr.PrivateTreeClassifier(1, max_depth=model.depth))] == [
        "The model predicts no for every row, whatever the values of the attributes."
    ]


def test_a_model_that_was_paid_for_stays_where_warnings_are_errors():
    budget = hr.Budget(50)
    clf = hr.PrivateTreeClassifier(50.0, max_depth=1, budget=budget)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UselessModelWarning)
        with pytest.raises(UselessModelWarning, match="for every row"):
            clf.fit(X, LABELS)
    assert budget.remaining == 0
    assert set(clf.tree_.predictions) == {0}


def test_drawn_probabilities_without_counts_have_one_remark():
    leaves = [Leaf(label=item, probabilities=shares) for item, shares in (("no", (0.9, 0.1)), ("yes", (0.05, 0.95)))]
    rules = (Rule((SMOKER,), label="yes", probabilities=(0.05, 0.95)), Rule((), label="no", probabilities=(0.9, 0.1)))
    said = "(probabilities were drawn with the model; no counts were released, so small leaves cannot be recognised)"
    for model in (Tree(SCHEMA, Split(SMOKER, *leaves), CARD), RuleList(SCHEMA, rules, CARD)):
        assert str(model).splitlines()[-1] == said
        assert said[1:-1] in model.to_page()
        assert said not in str(replace(model, privacy=PrivacyCard.none("public", software="hedgerow")))
    counted = Leaf((9, 1), label="no", probabilities=(0.9, 0.1))
    assert said not in str(Tree(SCHEMA, Split(SMOKER, counted, leaves[1]), CARD))


def test_probabilities_of_labels_alone_come_with_a_warning():
    rows = np.arange(80).reshape(40, 2) % 4 // 2
    model = hr.PrivateTreeClassifier(50.0, max_depth=1, release_counts=False).fit(rows, rows[:, 0])
    for ask in (model.predict_proba, model.tree_.predict_proba):
        with pytest.warns(LabelsOnlyWarning, match=r"labels only, .*0 or 1"):
            ask(pd.DataFrame(rows, columns=["x0", "x1"]))


POINTS = ((-4,), (0,), (4,))
AGES = Schema({"age": Integer(0, 9, cuts=(2, 5))}, Number("days", 0, 30))


@pytest.mark.parametrize(
    ("error", "rows", "found"),
    [
        (1.0, (100, 100, 100), []),  # the variance of the points is 32/3, above 2
        (2.3, (100, 100, 100), []),  # 10.58 < 32/3
        (2.4, (100, 100, 100), ["unclear"]),  # 11.52 > 32/3
        (2.3, (0, 100, 100), ["unclear"]),  # the variance of 0 and 4 is 4
        (2.3, (-9, 0, 0), []),  # without rows, bins have equal weights
    ],
)
def test_a_scorecard_of_a_number_whose_points_may_be_noise_has_a_caveat(error, rows, found):
    part = AttributePoints("age", POINTS, ((error,),) * 3, (), rows, 1.0)
    card = Scorecard(AGES, (10,), (part,), 1.0, 0.5, CARD)
    assert kinds(card) == found
    assert ("noise is too large" in str(card)) == bool(found)
    unknown = AttributePoints("age", POINTS)
    assert not kinds(Scorecard(AGES, (10,), (unknown,), 1.0, 0.5, CARD))


NUMBER = Number("days", 0, 8, 4)  # levels 1, 3, 5 and 7
SUMS = Charge(Fact("leaf_sums", of="leaves"), Fraction(1), mechanism=DiscreteLaplace(Fraction(1), 3).record)


@pytest.mark.parametrize(("rows", "found"), [(2000, []), (30, ["unclear"])])
@pytest.mark.parametrize("kind", ["counts", "sums"])
def test_a_tree_of_a_number_not_shown_to_beat_the_mean_has_a_caveat(kind, rows, found):
    """Two leaves have `rows` each, with half a level between their means."""
    shares = [(1, 3, 1, 1), (1, 1, 3, 1)]
    numbers = [tuple(rows * share // 6 for share in leaf) for leaf in shares]
    exact = [sum(k * n for k, n in zip((1, 3, 5, 7), leaf, strict=True)) / sum(leaf) for leaf in numbers]
    sums = [(sum(k * n for k, n in enumerate(leaf)), sum((3 - k) * n for k, n in enumerate(leaf))) for leaf in numbers]
    released = [
        {"counts": own} if kind == "counts" else {"sums": both} for own, both in zip(numbers, sums, strict=True)
    ]
    leaves = [Leaf(**own, mean=mean) for own, mean in zip(released, exact, strict=True)]
    card = CARD if kind == "counts" else PrivacyCard((SUMS,), noise="OpenDP", software="hedgerow")
    model = Tree(Schema({"smoker": Boolean()}, NUMBER), Split(SMOKER, *leaves), card)
    assert kinds(model) == found
    assert ("the reduction of the mean squared error is −" in str(model)) == bool(found)


def test_a_split_that_predicts_worse_than_the_mean_is_of_no_use():
    leaves = Leaf((100, 0, 0, 500), mean=1.0), Leaf((500, 0, 0, 100), mean=7.0)
    (caveat,) = Tree(Schema({"smoker": Boolean()}, NUMBER), Split(SMOKER, *leaves), CARD).caveats
    assert (caveat.kind, caveat.is_useless) == ("no-better", True)


def test_the_text_names_the_weights_of_errors_and_missing_counts():
    weighted = replace(tree_of(Leaf(label="no"), Leaf(label="yes")), costs=((0.0, 1.0), (10.0, 0.0)))
    assert "(weights of errors in the fit, by class: no: 1, yes: 10)" in str(weighted)
    assert "weights of errors in the fit, by class: no: 1, yes: 10" in weighted.to_html()
    assert "no counts or class shares were released; release_counts=True" in str(weighted)
    counted = replace(tree_of(Leaf((50, 9), "yes"), Leaf((70, 1))), costs=((0.0, 1.0), (10.0, 0.5)))
    assert "costs that differ between errors" in str(counted)
    assert "no counts" not in str(counted)


def test_a_warning_of_a_useless_model_names_the_weights_of_classes():
    with pytest.warns(UselessModelWarning, match="If a class is rare, set class_weight, and see .*class_share"):
        hr.PrivateTreeClassifier(50.0, max_depth=1).fit(X, LABELS)
    with pytest.warns(UselessModelWarning, match="may still rank rows"):
        hr.PrivateScorecardClassifier(50.0).fit(X, LABELS)
