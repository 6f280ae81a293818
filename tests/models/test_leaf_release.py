"""Releases about leaves: probabilities by hand and by enumeration, rows, what is shown of them, and what is refused."""

from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.leaf_groups import LeafGroup
from hedgerow.models.leaf_release import LeafRelease, row_numbers, shown_share
from hedgerow.privacy import PrivacyCard
from hedgerow.schema import Boolean, Label, Literal, Number, Schema
from hedgerow.schema.targets import Target
from tests.models.large_models import counted as card

CLASSES = ("a", "b", "c")

LABEL = Label("y", CLASSES)


def released(leaves: Sequence[Leaf], target: Target, name: str = "leaf") -> LeafRelease:
    return LeafRelease(tuple(leaves), target, None, name)


def shares(*leaves: Leaf) -> list[list[float]]:
    return released(leaves, LABEL).probabilities.tolist()


def predicted(*leaves: Leaf) -> tuple:
    return released(leaves, LABEL).predictions


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        (Leaf((1, 2)), r"expected 3 counts per leaf, got 2\."),
        (Leaf(label="d"), r"expected the label of a leaf to be one of the schema's classes a, b, c; got 'd'\."),
    ],
)
def test_a_leaf_must_fit_the_classes(leaf: Leaf, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        released([Leaf(label="a"), leaf], LABEL, "leaf")


@pytest.mark.parametrize(("classes", "label"), [((0, 1), True), ((False, True), 1), ((0, 1), "1")])
def test_a_label_that_only_equals_a_class_is_refused(classes: tuple, label: str | int) -> None:
    with pytest.raises(ValueError, match="label of a leaf"):
        released([Leaf(label=label)], Label("y", tuple(classes)), "leaf")
    released([Leaf(label=classes[1])], Label("y", tuple(classes)), "leaf")


def test_the_mean_of_a_number_is_within_its_bounds() -> None:
    for mean in (0.0, 30.0):
        released([Leaf(mean=mean)], Number("days", 0, 30), "leaf")
    for leaf in (Leaf(mean=-0.5), Leaf(mean=30.5), Leaf((1, 1), sums=(1, 2))):
        with pytest.raises(ValueError, match="expected a mean of a leaf from"):
            released([leaf], Number("days", 0, 30, 2), "leaf")
    with pytest.raises(ValueError, match="no mean or sums"):
        released([Leaf(mean=0.5)], LABEL, "leaf")


def test_a_table_of_probabilities_that_no_memory_holds_is_refused() -> None:
    label = Label("y", tuple(range(2**16)))
    released([Leaf(label=1)] * 64, label, "leaf")
    with pytest.raises(ValueError, match=r"^expected at most 4,194,304 probabilities, .* got 65 × "):
        released([Leaf(label=1)] * 65, label, "leaf")


def test_the_message_for_an_unknown_label_lists_few_classes() -> None:
    with pytest.raises(ValueError, match=r"classes 0, 1, .*, 11, … \(70000 values\); got 'x{60}'…\.$"):
        released([Leaf(label="x" * 10**6)], Label("y", tuple(range(70_000))), "leaf")


def test_a_label_without_counts_is_certain() -> None:
    assert shares(Leaf(label="b"), Leaf((1, 0, 3))) == [[0, 1, 0], [0.25, 0, 0.75]]


def test_a_leaf_with_zero_counts_takes_the_shares_of_the_other_leaves() -> None:
    # whole: 1 : 0 : 3; neither the label nor negative counts change it
    result = shares(Leaf((1, 0, 3)), Leaf((0, -2, 0)), Leaf(label="b"), Leaf((0, 0, 0), "c"))
    assert result == [[0.25, 0, 0.75], [0.25, 0, 0.75], [0, 1, 0], [0.25, 0, 0.75]]


def test_without_any_count_at_all_classes_are_equally_probable() -> None:
    assert shares(Leaf((0, -1, 0)), Leaf(label="c")) == [[1 / 3] * 3, [0, 0, 1]]


@given(counts=st.lists(st.integers(-3, 20), min_size=2, max_size=5), data=st.data())
def test_a_label_does_not_change_the_shares_of_counts(counts: list[int], data: st.DataObject) -> None:
    """A label by costs, or by the distance of ordered classes, is often not the most frequent class."""
    label = Label("y", tuple(range(len(counts))))
    drawn = data.draw(st.sampled_from(label.classes))
    positive = [max(count, 0) for count in counts]
    expected = [count / sum(positive) if any(positive) else 1 / len(counts) for count in positive]
    assert released([Leaf(tuple(counts), drawn)], label).probabilities[0] == pytest.approx(expected)


@given(st.lists(st.tuples(*[st.integers(0, 2**60)] * 3), min_size=1, max_size=4), st.sampled_from(CLASSES))
def test_the_displayed_probability_is_that_of_the_prediction(counts: list[tuple[int, ...]], label: str) -> None:
    exact = LeafRelease(tuple(Leaf(own, label) for own in counts), LABEL, CountNoise(0.0))
    for place, own in enumerate(exact.probabilities):
        shown = exact.support(place, place + 1)
        assert shown.is_too_few or shown.probability == own[CLASSES.index(label)]


def test_a_label_decides_and_otherwise_the_counts() -> None:
    assert predicted(Leaf((9, 1, 0), "c"), Leaf((1, 5, 5)), Leaf(label="a")) == ("c", "b", "a")


def test_probabilities_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        released([Leaf((1, 2, 3))], LABEL).probabilities[0, 0] = 1


def note(leaf: Leaf) -> str:
    """Return the note on the only leaf of a tree whose counts are exact."""
    tree = Tree(Schema({"x": Boolean()}, LABEL), leaf, PrivacyCard.none("example"))
    return str(tree).splitlines()[0].partition("# ")[2]


def test_only_leaves_with_counts_have_a_note() -> None:
    assert note(Leaf((9, 1, 0))) == "90.0 % of 10"
    assert note(Leaf((1, 2_000, 0))) == "100.0 % of 2,001"
    assert not note(Leaf(label="a"))


LIKELY = Leaf(label="b", probabilities=(0.25, 0.5, 0.25))


def test_drawn_probabilities_of_a_leaf_do_not_depend_on_counts() -> None:
    counted = Leaf((90, 5, 5), "b", (0.25, 0.5, 0.25))
    assert shares(LIKELY, counted, Leaf((2, 0, 0))) == [[0.25, 0.5, 0.25], [0.25, 0.5, 0.25], [1, 0, 0]]
    assert predicted(LIKELY, counted) == ("b", "b")


def test_counts_with_drawn_probabilities_do_not_affect_other_leaves() -> None:
    """A leaf without positive counts has the share of all released counts but those of drawn leaves."""
    assert shares(Leaf((0, 0, 0)), Leaf((9, 0, 0), "b", (0.25, 0.5, 0.25)), Leaf((0, 2, 2)))[0] == [0, 0.5, 0.5]


def test_a_note_shows_drawn_probabilities_only_of_a_leaf_without_counts() -> None:
    assert note(LIKELY) == "50 %"
    assert note(Leaf((90, 5, 5), "b", (0.25, 0.5, 0.25))) == "5.0 % of 100"
    assert note(Leaf(label="a", probabilities=(13 / 15, 1 / 15, 1 / 15))) == "86.7 %"


def test_probabilities_come_with_the_label_that_they_make_most_probable() -> None:
    with pytest.raises(ValueError, match="must have a label"):
        Leaf((1, 2, 3), probabilities=(0.25, 0.5, 0.25))
    for label, result in (("a", (0.25, 0.5, 0.25)), ("b", (0.4, 0.4, 0.2))):
        with pytest.raises(ValueError, match=r"most probable class, '[ab]', got "):
            released([Leaf(label=label, probabilities=result)], LABEL, "rule")
    with pytest.raises(ValueError, match=r"^expected 3 probabilities per rule, got 2\.$"):
        released([Leaf(label="a", probabilities=(0.5, 0.5))], LABEL, "rule")
    released([LIKELY, Leaf(label="a", probabilities=(0.4, 0.4, 0.2))], LABEL, "rule")


def test_a_leaf_of_a_number_has_no_probabilities() -> None:
    target = Number("y", 0, 32, 2)
    released([Leaf(label=8.0)], target, "leaf")
    with pytest.raises(ValueError, match="no probabilities"):
        released([Leaf(label=8.0, probabilities=(1.0, 0.0))], target, "leaf")


SCHEMA = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))
YES = pd.DataFrame({"smoker": [True]})


@pytest.mark.parametrize(
    ("counts", "epsilon", "note"),
    [
        ((229, 496), "1/5", "65 to 71 % of about 720"),
        ((3, 697), "1/50", "73 to 100 % of about 700"),
        ((-2, 5), "1/5", "at most 30 rows, possibly none"),
        ((-9, 1), "1/5", "at most 20 rows, possibly none"),
        ((-90, 1), "1/5", "probably no rows"),
        ((9, 20), "1/5", "about 30 rows"),  # its share is 20 to 100 %
        ((-1, 1), "4", "at most 1 row, possibly none"),
        ((-1, 1), "5", "0 rows"),
        ((0, 8417376124), "1/10000000000", "at most 50,000,000,000 rows, possibly none"),
        ((229, 496), "10", "68 to 69 % of 725"),
    ],
)
def test_notes_are_rounded_by_the_noise(counts, epsilon, note):
    assert str(Tree(SCHEMA, Leaf(counts), card(epsilon))).splitlines()[0].partition("# ")[2] == note


def test_a_share_is_shown_only_if_it_excludes_half_of_all_shares():
    for yes in range(-60, 200, 7):
        ends, shown = CountNoise(5.0).share((40, yes), 1), shown_share((40, yes), 1, CountNoise(5.0))
        may_be_none = 40 + yes <= CountNoise(5.0).spread(2)
        assert shown == (None if may_be_none or ends[1] - ends[0] >= 0.5 else ends)
    assert shown_share((40, 4000), 1, None) is None


@pytest.mark.parametrize("drawn", [None, (0.2, 0.8)])
@pytest.mark.parametrize(
    ("counts", "epsilon", "note", "probability"),
    [
        ((229, 496), "1/5", "65 to 71 % of about 720", 496 / 725),
        ((9, 20), "1/5", "about 30 rows", 20 / 29),
        ((-2, 5), "1/5", "at most 30 rows, possibly none", None),
        ((-8, 1), "1/5", "at most 20 rows, possibly none", None),  # 0.2.0 had a probability of 1 in records
    ],
)
def test_counts_take_precedence_over_drawn_probabilities_in_display(counts, epsilon, note, probability, drawn):
    """Text, page, picture and records of a tree and a list show no share of a leaf that may have no rows."""
    leaf, other = Leaf(counts, "yes", drawn), Leaf((400, 30), "no", drawn and (0.8, 0.2))
    for model in (
        Tree(SCHEMA, Split(Literal("smoker", "true"), leaf, other), card(epsilon)),
        RuleList(SCHEMA, (Rule.of((Literal("smoker", "true"),), leaf), Rule.of((), other)), card(epsilon)),
    ):
        assert str(model).splitlines()[0].partition("# ")[2] == note
        record = model.get_rules()[0]
        expected = drawn[1] if drawn and probability is not None else probability
        assert record["probability"] == (None if expected is None else pytest.approx(expected))
        assert record["counts"] == dict(zip(("no", "yes"), counts, strict=True))
        assert model.decisions(YES).explained()["probability"].to_pylist() == [record["probability"]]
        shown = " ".join([str(model), model.to_html(), *map(str, model.listings()[0].rows[0])])
        assert "80 %" not in shown
        assert "100 %" not in shown
        assert ("possibly none" in shown) == ("possibly none" in note)


@pytest.mark.parametrize("counts", [(-2, 5), (1, -8), (0, 0)])
def test_pictures_have_no_bar_for_a_leaf_that_may_have_no_rows(counts):
    other = Leaf((400, 30), "no", (0.8, 0.2))
    leaf = Leaf(counts, "yes", (0.2, 0.8))
    with mpl.rc_context({"backend": "Agg"}):
        tree = Tree(SCHEMA, Split(Literal("smoker", "true"), leaf, other), card("1/5"))
        assert [tree._drawn_leaf(LeafGroup(place, place + 1), ("no", "yes")).shares for place in (0, 1)] == [
            (),
            (0.8, 0.2),
        ]
        rules = RuleList(SCHEMA, (Rule.of((Literal("smoker", "true"),), leaf), Rule.of((), other)), card("1/5"))
        assert [bar.get_width() for bar in rules.plot().patches] == [0, 400, 0, 30]
        plt.close("all")


DAYS = Number("days", 0, 40, levels=5)
KINDS = {
    "none": (Leaf(label=4.0), Leaf(label=12.0)),
    "counts": (Leaf((5, 0, 3, 0, 0), 4.0), Leaf((0, 1, -2, 0, 4), 12.0)),
    "sums": (Leaf(None, 4.0, sums=(6, 26), mean=12.0), Leaf(None, 12.0, sums=(-9, 1), mean=0.0)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_numbers_decides_what_follows_from_them(kind: str) -> None:
    release = LeafRelease(KINDS[kind], DAYS, CountNoise(2.0))
    rows = {"none": (None, None), "counts": (8, 3), "sums": (8, -2)}[kind]
    assert (release.kind, release.rows, release.width) == (kind, rows, {"none": 0, "counts": 5, "sums": 2}[kind])
    assert release.has_rows == release.is_complete == (kind != "none")
    assert release.is_histogram == (kind == "counts")
    assert (release.smallest_share() is None) == (kind == "none")
    assert release.support(0, 2).rows == {"none": None, "counts": 11, "sums": 6}[kind]


@given(levels=st.lists(st.integers(0, 4), max_size=20))
def test_sums_and_counts_of_the_same_rows_give_the_same_number_of_rows(levels: list[int]) -> None:
    counts = tuple(levels.count(level) for level in range(5))
    sums = (sum(levels), sum(4 - level for level in levels))
    for leaf in (Leaf(counts), Leaf(None, 4.0, sums=sums, mean=4.0)):
        assert LeafRelease((leaf,), DAYS, None).rows == (len(levels),)


@pytest.mark.parametrize("kind", ["counts", "sums"])
@pytest.mark.parametrize("level", range(5))
def test_a_row_of_any_level_is_one_row_by_what_it_adds(kind: str, level: int) -> None:
    added = row_numbers(kind, DAYS.n_levels)  # type: ignore[arg-type]
    numbers = tuple(added[level].tolist())
    leaf = Leaf(numbers) if kind == "counts" else Leaf(None, 4.0, sums=numbers, mean=4.0)
    release = LeafRelease((leaf,), DAYS, None)
    assert (release.rows, release.width) == ((1,), added.shape[1])


@pytest.mark.parametrize(("kind", "got"), [("none", "without counts"), ("sums", "with sums")])
def test_counts_that_were_not_released_are_refused(kind: str, got: str) -> None:
    release = LeafRelease(KINDS[kind], DAYS, None, "rule")
    with pytest.raises(TypeError, match=rf"counts for every rule, got a model {got}; fit it with release_counts=True"):
        _ = release.counts


def test_counts_of_some_leaves_are_not_enough_for_the_count_matrix() -> None:
    partial = LeafRelease((Leaf((1, 2, 3)), Leaf(label="a")), LABEL, None)
    assert (partial.kind, partial.rows, partial.is_complete) == ("counts", (6, None), False)
    with pytest.raises(TypeError, match="some leaves only"):
        _ = partial.counts
    assert LeafRelease((Leaf((1, 2, 3)), Leaf((4, 5, 6))), LABEL, None).counts.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_model_has_counts_or_sums_and_not_both() -> None:
    with pytest.raises(ValueError, match="got both"):
        LeafRelease((KINDS["counts"][0], KINDS["sums"][1]), DAYS, None)


def test_the_smallest_share_needs_rows_of_every_leaf_and_known_noise() -> None:
    leaves = (Leaf((30, 10, 0)), Leaf((5, 5, 50)))
    assert LeafRelease(leaves, LABEL, CountNoise(0.0)).smallest_share().share == 0.4  # type: ignore[union-attr]
    assert LeafRelease(leaves, LABEL, None).smallest_share() is None
    assert LeafRelease((leaves[0], Leaf(label="a")), LABEL, CountNoise(0.0)).smallest_share() is None
