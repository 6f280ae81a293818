from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb, log2

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import joint_reconstruction, reconstruction
from hedgerow.errors import DomainError, SchemaError
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Real, Schema
from hedgerow.tables.frames import Table
from hedgerow.tally import Tally
from tests.audit.counting.boxes import contains
from tests.models.strategies import cases, literals_of, rule_lists, trees

EXACT = PrivacyCard.none("example", software="hedgerow")
NOISY = PrivacyCard((Charge("counts", 1),), noise="OpenDP", software="hedgerow")
LABEL = Label("y", (False, True))
BITS = Schema({name: Boolean() for name in ("a1", "a2", "a3")}, LABEL)
A1, A2, A3 = (Literal(name, "true") for name in BITS)
FIGURE_1 = Tree(  # PDR, Figure 1
    Schema({"a1": Integer(10, 15, cuts=(11,)), "a2": Boolean(), "a3": Integer(1, 3, cuts=(1,))}, LABEL),
    Split(Literal("a3", "<=", (1,)), Leaf((0, 1)), Split(Literal("a1", "<=", (11,)), Leaf((0, 1)), Leaf((2, 0)))),
    EXACT,
)
LIST_1 = RuleList(BITS, (Rule((A1, A2), (0, 2)), Rule((A3,), (2, 0)), Rule((), (0, 1))), EXACT)  # PDR, Rule List 1


def stump(names, schema):
    return Tree(schema, Split(Literal(names, "true"), Leaf((10, 5)), Leaf((3, 2))), EXACT)


def test_tree_of_figure_1():
    result = reconstruction(FIGURE_1)
    assert dict(zip(result.conditions, result.possible_rows, strict=True)) == {
        "a3 <= 1": 16 // 4 * 3,
        "a3 > 1 and a1 <= 11": 8,
        "a3 > 1 and a1 > 11": 16,
    }


def test_unplaced_entropy_exceeds_placed_entropy():
    """All tables of 8 rows of two booleans, 4 in each leaf of one split: in order and placed, in order, and neither."""
    schema = Schema({"a1": Boolean(), "a2": Boolean()}, LABEL)
    result = reconstruction(Tree(schema, Split(A1, Leaf((2, 2)), Leaf((2, 2))), EXACT))
    tables = list(product(product((0, 1), repeat=2), repeat=8))
    fit = [table for table in tables if sum(row[0] for row in table) == 4]
    placed = [table for table in fit if all(row[0] for row in table[:4])]
    assert result.entropy_bits == pytest.approx(log2(len(placed)))
    assert result.unplaced_bits == pytest.approx(log2(len(fit)))
    before, after = (bits(Counter(tuple(sorted(table)) for table in some)) for some in (tables, fit))
    shares = result.uncertainty, result.unplaced_uncertainty, after / before
    assert [f"{share:.3f}" for share in shares] == ["0.500", "0.883", "0.626"]


def bits(counts):
    """The entropy of outcomes that come so often."""
    total = sum(counts.values())
    return sum(n / total * log2(total / n) for n in counts.values())


@pytest.mark.parametrize("supports", [(10, 0), (5, 5), (3, 40_000), (10**6, 10**9)])
def test_unplaced_entropy_is_between_placed_and_prior_entropy(supports):
    result = replace(reconstruction(stump("a1", BITS)), supports=supports)
    assert result.uncertainty <= result.unplaced_uncertainty + 1e-12 <= 1 + 2e-12
    if sum(supports) < 10**6:
        assert result.unplaced_bits == pytest.approx(result.entropy_bits + log2(comb(sum(supports), supports[0])))


def test_table_2_of_the_paper():
    # PDR, Table II: {12..15} x {0,1} x {2,3} twice; {10,11} x {0,1} x {2,3}; {10..15} x {0,1} x {1}: Dist = 0.736
    result = reconstruction(FIGURE_1)
    assert result.supports == (1, 1, 2)
    assert result.dist() == pytest.approx(0.736, abs=5e-4)
    assert result.uncertainty == pytest.approx((2 * log2(16) + log2(8) + log2(12)) / (4 * log2(36)))
    assert result.view == "exact"


def test_rule_list_1_of_the_paper():
    result = reconstruction(LIST_1)
    assert (result.possible_rows, result.supports) == ((2, 3, 3), (2, 2, 1))
    assert result.entropy_bits == pytest.approx(2 * 1 + 3 * log2(3))
    assert result.uncertainty == pytest.approx((2 + 3 * log2(3)) / 15)
    with pytest.raises(ValueError, match="uncertainty"):
        result.dist()


def test_lists_of_single_literals_have_boxes_too():
    model = RuleList(BITS, (Rule((A1,), (0, 2)), Rule((A3,), (2, 0)), Rule((), (0, 1))), EXACT)
    assert reconstruction(model).dist() == pytest.approx((2 * 2 + 2 * 1 + 1 * 1) / 15)


def test_a_stump_on_the_27_bits_of_compas_leaves_26():
    data = hr.datasets.load("compas_binary")
    clf = hr.OptimalTreeClassifier(max_depth=1, schema=None).fit(data.frame, data.labels)
    result = reconstruction(clf, independent_bits=True)
    assert result.domain.bits == 27
    assert result.uncertainty == pytest.approx(26 / 27) == result.dist()
    assert result.entropy_bits == pytest.approx(26 * 7214)


def test_a_constant_discloses_nothing_and_all_splits_everything():
    nothing = reconstruction(Tree(BITS, Leaf((3, 4)), EXACT))
    assert (nothing.uncertainty, nothing.dist(), nothing.conditions) == (1, 1, ("always",))
    split = Split(A1, Leaf((1, 0)), Leaf((2, 0)))
    everything = reconstruction(Tree(Schema({"a1": Boolean()}, LABEL), split, EXACT))
    assert (everything.uncertainty, everything.dist(), everything.entropy_bits) == (0, 0, 0)
    assert "3 rows exactly" in everything.summary


def usual(case):
    """Leave out bounds that mean "missing" and that numbers beyond them are clipped to: such a bin has no value.

    Leave out counts of as many rows, too, which are those of other rows.
    """
    if sum(rows or 0 for rows in case.model.leaf_release.rows) == len(case.rows):
        return False
    return not any(
        getattr(attribute, "outside", None) == "clip"
        and {str(n) for n in attribute.missing_values} & {str(attribute.low), str(attribute.high)}
        for _, attribute in case.model.schema.attributes
    )


def encoded(schema, data):
    bins = schema.encode(Table.of(data))
    return np.column_stack([bins[name] for name in schema])


@given(cases(rule_lists() | trees()).filter(usual), st.booleans())
def test_the_true_table_is_a_possible_world(case, bits):
    result = reconstruction(case.model, data=case.pandas(), independent_bits=bits)
    assert 0 <= result.uncertainty <= 1 + 1e-12
    assert sum(result.possible_rows) == result.domain.possible_rows
    assert result.n_rows == len(case.rows)
    assert result.entropy_bits == pytest.approx(result.row_ratios.sum() * result.domain.bits)
    if not bits:
        for row, leaf in zip(encoded(case.model.schema, case.pandas()), case.model.apply(case.pandas()), strict=True):
            region = result.regions[leaf]
            assert contains(region.box, row)
            assert not any(contains(box, row) for box in region.earlier)


@given(cases(rule_lists()).filter(usual), st.data())
def test_a_rule_more_before_the_default_never_raises_the_entropy(case, data):
    literals = literals_of(case.model.schema)
    assume(literals)
    antecedent = tuple(data.draw(st.lists(st.sampled_from(literals), min_size=1, max_size=3)))
    leaf = Rule(antecedent, label=case.model.schema.classes[0])
    longer = RuleList(case.model.schema, (*case.model.rules[:-1], leaf, case.model.rules[-1]), EXACT)
    fewer, more = (reconstruction(model, data=case.pandas()) for model in (case.model, longer))
    assert more.entropy_bits <= fewer.entropy_bits + 1e-9


@given(cases(trees()).filter(usual), st.data())
def test_a_split_more_never_raises_the_entropy(case, data):
    literals = literals_of(case.model.schema)
    assume(literals)
    leaf = Leaf(label=case.model.schema.classes[0])

    def split(node):
        return (
            Split(data.draw(st.sampled_from(literals)), leaf, leaf)
            if isinstance(node, Leaf)
            else Split(node.literal, split(node.true), split(node.false))
        )

    deeper = Tree(case.model.schema, split(case.model.root), EXACT)
    fewer, more = (reconstruction(model, data=case.pandas()) for model in (case.model, deeper))
    assert more.entropy_bits <= fewer.entropy_bits + 1e-9


@given(cases(rule_lists() | trees()).filter(usual), st.data())
def test_two_models_allow_the_rows_that_both_allow(case, data):
    schema = case.model.schema
    literals = literals_of(schema)
    assume(literals)
    leaf = Leaf(label=schema.classes[0])
    other = Tree(schema, Split(data.draw(st.sampled_from(literals)), leaf, leaf), EXACT)
    both = joint_reconstruction([case.model, other], case.pandas())
    rows = list(product(*(range(len(bins)) for bins in both.domain.weights)))
    item, two = (reconstruction(model, data=case.pandas()) for model in (case.model, other))
    weight = {row: np.prod([w[c] for w, c in zip(both.domain.weights, row, strict=True)], dtype=object) for row in rows}

    def inside(region, row):
        return contains(region.box, row) and not any(contains(box, row) for box in region.earlier)

    expected = 0.0
    for i, j in zip(case.model.apply(case.pandas()), other.apply(case.pandas()), strict=True):
        expected += log2(
            sum(weight[row] for row in rows if inside(item.regions[i], row) and inside(two.regions[j], row))
        )
    assert both.entropy_bits == pytest.approx(expected)
    assert both.entropy_bits <= min(item.entropy_bits, two.entropy_bits) + 1e-9


def test_a_model_joined_with_itself_discloses_no_more():
    frame = pd.DataFrame({"a1": [1, 1, 0, 1, 1], "a2": [1, 1, 1, 0, 0], "a3": [1, 0, 1, 1, 0]})  # PDR, Table III
    alone = reconstruction(LIST_1, data=frame)
    both = joint_reconstruction([LIST_1, LIST_1], frame)
    assert alone.supports == (2, 2, 1)
    assert both.uncertainty == alone.uncertainty == reconstruction(LIST_1).uncertainty
    assert both.conditions[0] == "a1 and a2; a1 and a2"


@pytest.mark.parametrize("kind", [ExtraTreesClassifier, RandomForestClassifier, GradientBoostingClassifier])
def test_an_ensemble_stands_for_all_of_its_trees(kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(2, size=(60, 3)), columns=["a1", "a2", "a3"])
    ensemble = kind(n_estimators=3, max_depth=2, random_state=0).fit(frame, rng.integers(2, size=60))
    both = joint_reconstruction([ensemble, LIST_1], frame, BITS)
    trees = [tree for tree, _ in hr.audit.trees_of(ensemble, BITS)]
    expected = joint_reconstruction([*trees, LIST_1], frame, BITS)
    assert (both.supports, both.possible_rows) == (expected.supports, expected.possible_rows)
    assert both.entropy_bits < reconstruction(trees[0], BITS, data=frame).entropy_bits


def test_models_on_different_schemas_need_a_common_one():
    other = Tree(Schema({"a1": Boolean()}, LABEL), Leaf((1, 1)), EXACT)
    with pytest.raises(ValueError, match="schema"):
        joint_reconstruction([LIST_1, other], pd.DataFrame({"a1": [1], "a2": [1], "a3": [1]}))
    with pytest.raises(ValueError, match="models"):
        joint_reconstruction([], pd.DataFrame({"a1": [1]}))
    frame = pd.DataFrame({"a1": [1], "a2": [1], "a3": [0]})
    assert joint_reconstruction([LIST_1, other], frame, BITS).entropy_bits == 1


def test_a_wider_schema_than_the_models_has_more_worlds():
    wide = Schema({**dict(BITS.attributes), "town": Categorical(("u", "v", "w", "x"))}, LABEL)
    assert reconstruction(LIST_1, wide).possible_rows == (8, 12, 12)


def test_one_hot_groups_on_the_true_domain_and_as_in_the_paper():
    schema = Schema({"day": Categorical(tuple("abcdefg")), "age": Integer(0, 99, cuts=(9, 49))}, LABEL)
    tree = Tree(schema, Split(Literal("day", "=", ("a",)), Leaf((1, 0)), Leaf((0, 1))), EXACT)
    assert reconstruction(tree).possible_rows == (100, 600)
    assert reconstruction(tree, independent_bits=True).possible_rows == (
        2**8,
        2**8,
    )  # 7 categories and 2 cut points: 9 bits


def test_a_resolution_makes_worlds_of_real_numbers():
    schema = Schema({"bmi": Real(10, 60, cuts=(25,))}, LABEL)
    tree = Tree(schema, Split(Literal("bmi", "<=", (25,)), Leaf((1, 0)), Leaf((0, 1))), EXACT)
    assert reconstruction(tree).possible_rows == (1, 1)
    assert reconstruction(tree, resolution={"bmi": 0.1}).possible_rows == (151, 350)


def test_a_prior_takes_the_place_of_equally_likely_worlds():
    result = reconstruction(LIST_1, prior={"a3": [0.25, 0.75]})
    h = -(0.25 * log2(0.25) + 0.75 * log2(0.75))
    assert result.bits[0] == pytest.approx(h)  # a3 alone is open
    assert result.bits[1] == pytest.approx(log2(3))  # a3 is known; (a1, a2) is one of three
    assert result.prior_bits == pytest.approx(2 + h)
    assert f"public marginals alone leave {2 + h:.1f} bits" in result.summary
    with pytest.raises(ValueError, match="prior"):
        result.dist()


def test_rows_of_prior_probability_0_are_impossible():
    with pytest.raises(ValueError, match="no possible row"):
        reconstruction(LIST_1, prior={"a1": [1.0, 0.0]})


class TestSupports:
    def test_released_noisy_counts_are_the_readers_view(self):
        rules = Rule((A1,), (-5, 2)), Rule((A1, A2), (40, 9)), Rule((), (3, 4))
        result = reconstruction(RuleList(BITS, rules, NOISY))
        assert result.view == "noisy"
        assert result.supports == (0, 0, 7)  # none below 0, and none where no row can be
        assert "noisy counts released with the model" in str(result)

    def test_exact_counts_of_impossible_regions_raise(self):
        rules = Rule((A1,), (5, 2)), Rule((A1, A2), (40, 9)), Rule((), (3, 4))
        with pytest.raises(ValueError, match="no possible row"):
            reconstruction(RuleList(BITS, rules, EXACT))

    def test_rows_give_the_curators_view(self):
        frame = pd.DataFrame({"a1": [1, 0, 0], "a2": [1, 1, 0], "a3": [1, 1, 0]})
        noisy = RuleList(BITS, tuple(Rule(r.antecedent, (50, 50)) for r in LIST_1.rules), NOISY)
        result = reconstruction(noisy, data=frame)
        assert (result.supports, result.view) == ((1, 1, 1), "data")
        assert result.row_ratios == pytest.approx([1 / 3, log2(3) / 3, log2(3) / 3])
        assert "for the curator's eyes only" in str(result)

    def test_given_supports_take_the_place_of_the_models(self):
        assert reconstruction(LIST_1, supports=[5, 0, 0]).uncertainty == pytest.approx(1 / 3)
        assert reconstruction(LIST_1, supports=np.array([1, 2, 2])).view == "given"

    @pytest.mark.parametrize(
        ("supports", "message"),
        [
            ([2, 2], "3 regions, got 2"),
            ([2, 2, 2], r"5.* got .* 6"),
            ([6, 0, -1], "supports"),
            ([2.5, 2.5, 0], "supports"),
            ([float("nan"), 3, 2], "supports"),
            ([float("inf"), 3, 2], "supports"),
            (["2", 2, 1], "supports"),
        ],
    )
    def test_bad_supports_are_refused(self, supports, message):
        with pytest.raises(ValueError, match=message):
            reconstruction(LIST_1, supports=supports)

    def test_supports_must_be_a_sequence(self):
        with pytest.raises(TypeError, match="supports"):
            reconstruction(LIST_1, supports=5)  # type: ignore[arg-type]

    def test_supports_must_sum_to_the_rows_given(self):
        frame = pd.DataFrame({"a1": [1, 0], "a2": [1, 1], "a3": [1, 1]})
        with pytest.raises(ValueError, match="sum of 5"):
            reconstruction(LIST_1, supports=[2, 2, 1], data=frame)

    def test_a_model_without_counts_needs_them(self):
        drawn = Tree(BITS, Split(A1, Leaf(label=True), Leaf((3, 4))), NOISY)
        with pytest.raises(ValueError, match="1 of 2 leaves"):
            reconstruction(drawn)
        with pytest.raises(ValueError, match="supports"):
            reconstruction(Tree(BITS, Leaf(label=True), NOISY))
        assert reconstruction(drawn, supports=[1, 1]).uncertainty == pytest.approx(2 / 3)

    def test_no_rows_at_all(self):
        with pytest.raises(ValueError, match="supports"):
            reconstruction(Tree(BITS, Leaf((0, 0)), EXACT))


def test_schemas_and_data_that_do_not_fit_the_model_raise():
    with pytest.raises(SchemaError, match=r"attribute 'a3'.* a1, a2"):
        reconstruction(LIST_1, Schema({"a1": Boolean(), "a2": Boolean()}))
    with pytest.raises(DomainError, match="column 'a3'"):
        reconstruction(LIST_1, data=pd.DataFrame({"a1": [1], "a2": [0]}))
    with pytest.raises(DomainError, match=r"'a3'.* missing"):
        reconstruction(LIST_1, data=pd.DataFrame({"a1": [1], "a2": [0], "a3": [np.nan]}))
    with pytest.raises(ValueError, match="domain"):
        reconstruction(Tree(Schema({"c": Categorical(("u",))}, LABEL), Leaf((1, 0)), EXACT))


def test_steps_of_ordinal_codes_are_no_bits():
    schema = Schema({"grade": Categorical((1, 2, 3, 4))})
    tree = DecisionTreeClassifier().fit([[1], [2], [3], [4]], [0, 0, 1, 1])
    assert reconstruction(tree, schema, features=["grade"]).possible_rows == (2, 2)
    with pytest.raises(ValueError, match="independent_bits=False"):
        reconstruction(tree, schema, features=["grade"], independent_bits=True)


def test_regions_that_do_not_cover_the_domain_raise():
    class Partial:
        supports = (3,)

        def regions(self):
            return [[A1]]

    with pytest.raises(ValueError, match="last region"):
        reconstruction(Partial(), BITS)


def test_the_picture_and_the_words_say_the_same():
    mpl.use("Agg")
    result = reconstruction(LIST_1)
    axes = result.plot()
    assert "Dist_G = 0.450" in axes.get_title(loc="left")
    for number in ("5 rows", "8 possible rows (3.0 bits)", "1.4 bits", "45.0 %", "Dist_G = 0.450", "77.7 %", "67 %"):
        assert number in result.summary
    assert repr(result) == "<Reconstruction: Dist_G = 0.450 of 5 rows>"


def test_a_tally_gives_the_same_result_as_its_rows():
    data = hr.datasets.load("breast_cancer")
    tree = hr.OptimalTreeClassifier(schema=data.schema, max_depth=2).fit(data.frame, data.labels).tree_
    rows = reconstruction(tree, data=data.frame)
    tally = reconstruction(tree, data=Tally.count(data.frame, data.labels, data.schema))
    assert tally.to_dict() == rows.to_dict()
    assert tally.view == "data"
    assert sorted(tally.row_ratios) == sorted(rows.row_ratios)
    for name in data.schema.names[:3]:
        for result, expected in zip(tally.by_group(name), rows.by_group(name), strict=True):
            assert result == pytest.approx(expected)
    with pytest.raises(DomainError, match="column 'town'"):
        tally.by_group("town")
    with pytest.raises(DomainError, match="attributes") as error:
        tally.by_group(["secret"])
    assert "secret" not in str(error.value)


def test_a_tally_gives_the_same_joint_result_as_its_rows():
    data = hr.datasets.load("breast_cancer")
    fit = hr.OptimalTreeClassifier
    models = [fit(schema=data.schema, max_depth=depth).fit(data.frame, data.labels) for depth in (1, 2)]
    rows = joint_reconstruction(models, data.frame)
    tally = joint_reconstruction(models, Tally.count(data.frame, data.labels, data.schema))
    assert tally.to_dict() == rows.to_dict()
    assert sorted(tally.row_ratios) == sorted(rows.row_ratios)


def test_a_tally_of_another_schema_is_refused():
    tally = Tally.count(np.array([[0, 1]]), np.array([0]))
    with pytest.raises(ValueError, match="tally"):
        reconstruction(FIGURE_1, data=tally)


@pytest.mark.parametrize(("more", "said"), [(0, False), (1, True), (-1, True)])
def test_a_different_number_of_rows_is_detected(more, said):
    frame = pd.DataFrame({"a1": [True] * (15 + more) + [False] * 5, "a2": False, "a3": True})
    result = reconstruction(stump("a1", BITS), data=frame)
    told = "The rows do not match the counts that the model stores."
    assert (told in " ".join(str(result).split())) == said
    assert (told in result.to_dict()["summary"]) == bool(result.note) == said
    assert not reconstruction(stump("a1", BITS), data=frame, supports=(15 + more, 5)).note


def test_differences_beyond_the_noise_are_detected():
    """Of scale 2, the noise of two counts together is above 81 with less than one chance in a million."""
    noised = Charge(Fact("leaf_counts", of="leaves"), Fraction(1, 2), mechanism=DiscreteLaplace(Fraction(1, 2)).record)
    tree = replace(stump("a1", BITS), privacy=replace(NOISY, charges=(noised,)))
    frames = (pd.DataFrame({"a1": [True] * n + [False] * 5, "a2": False, "a3": True}) for n in (15 + 20, 15 + 82))
    assert [bool(reconstruction(tree, data=frame).note) for frame in frames] == [False, True]
