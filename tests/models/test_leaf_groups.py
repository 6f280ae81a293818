"""Folded models against the whole ones: their lines are true of every row, and they fit a page."""

import re
from time import process_time

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.leaf_groups import MOST_LINES, LeafGroup, groups_of, tree_outline
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.schema import Label, Literal, Schema
from tests.models.large_models import ATTRIBUTES, CARDS, NAMES, OF_NUMBERS, SCHEMA, lines_of, rows, rule_list, tree

SIZES = st.integers(1, 12) | st.integers(1, 300)
MODELS = st.builds(
    lambda make, *given, few: make(*given, few=few),
    st.sampled_from([tree, rule_list]),
    st.integers(0, 2**32),
    SIZES,
    st.sampled_from(list(CARDS)),
    few=st.sampled_from([0.5, 0.9, 1.0]),
)


def holds(condition: str, row: dict[str, bool], model: LeafModel) -> bool:
    between = re.fullmatch(r"any of rules (\d+) to (\d+)", condition)
    if between:
        return any(holds(rule, row, model) for rule in model.conditions[int(between[1]) - 1 : int(between[2])])
    return all(row[item.removeprefix("not ")] != item.startswith("not ") for item in condition.split(" and "))


def read(model: LeafModel, lines: list[str], row: dict[str, bool]) -> tuple[str, str]:
    """Follow a text as a reader does, and return what it predicts of a row, and the note on that line."""
    indent = 0
    for line in lines:
        text, _, note = line.partition("  # ")
        if len(text) - len(text.lstrip()) != indent:
            continue
        if isinstance(model, Tree):
            head, _, said = text.strip().partition(":")
        else:
            head, _, said = text.strip().rpartition(" then ")
            head, said = (head.removeprefix("else "), said) if head else (said.split(" ")[0], said.partition(" ")[2])
        test = head.removeprefix("else ").removeprefix("if ")
        if head in ("else", "always") or holds(test, row, model):
            if said:
                return said.strip(), note.strip()
            indent += 4
    raise AssertionError("the text decides nothing for this row")


@given(model=MODELS, seed=st.integers(0, 99))
def test_the_line_of_a_group_states_predictions_and_folded_leaves(model: LeafModel, seed: int) -> None:
    lines, full, table = lines_of(str(model)), lines_of(model.to_text()), rows(seed)
    groups = {place: group for group in model._shown_groups(is_full=False) for place in range(group.first, group.stop)}
    for row, place in zip(table, model.apply(pd.DataFrame(table)).tolist(), strict=True):
        (said, note), group = read(model, lines, row), groups[place]
        leaves = model.leaves[group.first : group.stop]
        assert set(re.split(", | or ", said)) == {*map(str, model.predictions[group.first : group.stop])}
        assert read(model, full, row)[0] == model.predictions[place]
        if group.size > 1:
            assert note.startswith(f"{group.size} {'leaves' if isinstance(model, Tree) else 'rules'}")
            most = re.search(r"together at most ([\d,]+) row", note)
            if most:
                assert sum(sum(leaf.counts or ()) for leaf in leaves) <= int(most[1].replace(",", ""))


@given(model=MODELS)
def test_a_page_holds_every_model_and_the_whole_text_every_leaf(model: LeafModel) -> None:
    groups = model._shown_groups(is_full=False)
    assert [place for group in groups for place in range(group.first, group.stop)] == list(range(len(model)))
    lines = lines_of(str(model))
    assert len(lines) <= MOST_LINES
    assert sum(not line.endswith(":") for line in lines_of(model.to_text())) == len(model)
    assert model.to_html().count("<tr>") - 1 == len(groups)
    if any(group.size > 1 for group in groups):
        folded = sum(group.size for group in groups if group.size > 1)
        for text in (str(model), model.to_html()):
            assert f"{folded} of {len(model)} " in text
            assert "to_text()" in text
    else:
        assert str(model) == model.to_text()


@pytest.mark.parametrize("fewest", range(16))
def test_of_equally_deep_splits_the_one_of_fewest_rows_folds(fewest: int) -> None:
    leaves = iter([Leaf((300, 300 - 9 * (place // 2 == fewest), 0)) for place in range(32)])

    def node(level: int) -> Split | Leaf:
        return Split(Literal(NAMES[level], "true"), node(level + 1), node(level + 1)) if level < 5 else next(leaves)

    groups = Tree(SCHEMA, node(0), CARDS["noisy"])._shown_groups(is_full=False)
    assert [group[:2] for group in groups if group.size > 1] == [(2 * fewest, 2 * fewest + 2)]


@given(model=MODELS)
def test_leaves_fold_only_if_each_and_all_are_within_the_noise(model: LeafModel) -> None:
    """Held against plain sums of the released counts. At least one leaf of the model has support then."""
    noise = model.leaf_release.noise
    has_rows = [noise is None or leaf.rows is None or sum(leaf.counts) > noise.spread(3) for leaf in model.leaves]
    for group in model._shown_groups(is_full=False):
        if not group.is_unsupported:
            continue
        counts = [sum(leaf.counts) for leaf in model.leaves[group.first : group.stop]]
        assert not any(has_rows[group.first : group.stop])
        assert sum(counts) <= noise.spread(3 * group.size)
        assert any(has_rows) or sum(sum(leaf.counts) for leaf in model.leaves) > noise.spread(3 * len(model))


@given(seed=st.integers(0, 2**32), size=SIZES, make=st.sampled_from([tree, rule_list]))
def test_no_number_is_shown_as_exact_if_the_noise_is_unknown(seed, size, make) -> None:
    model = make(seed, size, "unknown")
    for text in (str(model), model.to_text(), model.to_html()):
        assert "%" not in text.replace("95 %", "")
        assert "possibly none" not in text
        assert " of about " not in text
    for line in lines_of(str(model)):
        note = line.partition("  # ")[2]
        assert not note or note.endswith("(noise unknown)")


@pytest.mark.parametrize("make", [tree, rule_list])
def test_folded_leaves_of_a_number_show_the_range_of_predictions(make) -> None:
    for seed in range(5):
        model = make(seed, 90, "noisy", schema=OF_NUMBERS)
        table, lines = rows(seed), lines_of(str(model))
        for row, value in zip(table, model.predict(pd.DataFrame(table)).tolist(), strict=True):
            low, _, high = read(model, lines, row)[0].partition(" to ")
            assert float(low) - 0.05 <= value <= float(high or low) + 0.05


def test_a_model_of_which_the_noise_leaves_nothing_is_not_folded_for_that() -> None:
    model = tree(3, 9, "noisy", few=1.0)
    assert not any(group.is_unsupported for group in model._shown_groups(is_full=False))
    assert str(model) == model.to_text()


def test_many_classes_of_a_folded_group_are_named_in_one_short_line() -> None:
    schema = Schema(ATTRIBUTES, Label("y", tuple("abcdef")))
    rules = [Rule((Literal(NAMES[place], "true"),), (0,) * place + (1,) + (0,) * (5 - place)) for place in range(5)]
    model = RuleList(schema, (*rules, Rule((), (900, 0, 0, 0, 0, 0))), CARDS["noisy"])
    assert lines_of(str(model))[0].startswith("if any of rules 1 to 5 then a, b, c or 2 more classes    # 5 rules, ")


@pytest.mark.parametrize("kind", ["noisy", "uncounted"])
def test_a_large_tree_is_printed_at_once(kind) -> None:
    model = tree(0, 2**14, kind)
    start = process_time()
    assert len(str(model).split("\n")) < MOST_LINES + 9
    assert process_time() - start < 3  # about 0.2


LEAF = Leaf(label="no")


def split(name: str, true: Split | Leaf, false: Split | Leaf) -> Split:
    return Split(Literal(name, "true"), true, false)


def outline(root: Split | Leaf, most: int | None, rows: list[int] | None = None) -> list[LeafGroup]:
    """Return the groups that are shown, of a tree of two classes with these rows in its leaves and noise of scale 5."""
    leaves = [LEAF] * 5 if rows is None else [Leaf((own, 0)) for own in rows]
    release = LeafRelease(tuple(leaves), Label("y", ("no", "yes")), CountNoise(5.0))
    return groups_of(tree_outline(root, release, most))


SMALL, LARGE = split("b", LEAF, LEAF), split("c", split("d", LEAF, LEAF), LEAF)
ROOT = split("a", SMALL, LARGE)


def test_the_deepest_and_then_the_smallest_splits_are_folded_first() -> None:
    assert [group[:2] for group in outline(ROOT, None)] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert [group[:2] for group in outline(ROOT, 3)] == [(0, 1), (1, 2), (2, 4), (4, 5)]
    assert [group[:2] for group in outline(ROOT, 2)] == [(0, 2), (2, 4), (4, 5)]
    assert [group[:2] for group in outline(ROOT, 1)] == [(0, 2), (2, 5)]
    assert not any(group.is_unsupported for group in outline(ROOT, 1))
    assert outline(LEAF, 1) == [LeafGroup(0, 1)]


def test_a_subtree_folds_if_its_counts_are_within_the_noise() -> None:
    """The noise on two counts of one leaf together is at most 21 at 95 %, and on four of two leaves at most 28."""
    assert (CountNoise(5.0).spread(2), CountNoise(5.0).spread(4)) == (21, 28)
    assert outline(ROOT, 30, [20, 8, 90, 0, 0])[0] == LeafGroup(0, 2, is_unsupported=True)
    assert outline(ROOT, 30, [20, 9, 90, 0, 0])[0] == LeafGroup(0, 1)  # 29 together
    assert outline(ROOT, 30, [-90, 22, 90, 0, 0])[0] == LeafGroup(0, 1)  # one leaf has rows
    assert outline(ROOT, None, [20, 8, 90, 0, 0])[0] == LeafGroup(0, 1)  # all is shown
    assert len(outline(ROOT, 30, [0, 0, 0, 0, 0])) == 5  # nothing is known of any leaf: all are shown


def test_a_subtree_that_stands_twice_in_a_tree_is_shown_twice() -> None:
    assert [group[:2] for group in outline(split("a", SMALL, SMALL), 3)] == [(0, 1), (1, 2), (2, 3), (3, 4)]
