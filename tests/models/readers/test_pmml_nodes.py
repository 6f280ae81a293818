"""Counts of leaves: rows, or shares of rows, as exporters write them."""

import re
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.models.readers.pmml import model_of_pmml
from hedgerow.report import Report
from tests.models.pmml_files import COUNTED as TREE

GOLDEN = Path(__file__).parents[1] / "pmml"
OF_50 = ' recordCount="50.0"'
ONE = ' recordCount="1"'


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        (("", "", 3, 1, 0, 2), ((3, 1), (0, 2))),  # rows
        ((' recordCount="4"', ' recordCount="2"', 3, 1, 0, 2), ((3, 1), (0, 2))),
        ((OF_50, OF_50, "1.0", "0.0", "0.0", "1.0"), ((50, 0), (0, 50))),  # shares, by Nyoka
        ((OF_50, OF_50, "0.58", "0.42", "0.0", "1.0"), ((29, 21), (0, 50))),
        ((ONE, ONE, "1", "0", "0.25", "0.75"), None),  # shares, by sklearn2pmml
        ((ONE, ONE, "1", "0", "0", "1"), None),
        (("", "", "1", "0", "0", "1"), None),  # one row each, or shares
        (("", "", "1", "0", "0.25", "0.75"), None),
        ((OF_50, OF_50, "0.333", "0.667", "0", "1"), None),  # shares that are rounded
        ((OF_50, "", "0.333", "0.667", "0", "1"), None),
        ((OF_50, OF_50, "3", "1", "0", "2"), None),  # neither
        (("", "", "-3", "1", "0", "2"), None),
        ((' recordCount="0"', ' recordCount="0"', "1", "0", "0", "1"), None),
        (("", "", "100", "0", "25", "75"), None),  # rows, or percentages
        ((' recordCount="100"', ' recordCount="100"', "100", "0", "25", "75"), ((100, 0), (25, 75))),
    ],
)
def test_counts_are_rows_only_if_the_document_states_so(given, counts):
    model = model_of_pmml(TREE.format(*given), None)
    assert [leaf.counts for leaf in model.leaves] == (list(counts) if counts else [None, None])
    kinds = [content.kind for content in model.contents]
    assert kinds == ([] if counts else ["counts"])  # numbers of rows that are not read are reported


def test_a_leaf_without_its_number_of_rows_hides_no_other():
    """0.2.0 read no counts at all if a leaf had shares without a number of rows, or no numbers by class."""
    model = model_of_pmml(TREE.format(OF_50, "", "1", "0", "0", "1"), None)
    assert [leaf.counts for leaf in model.leaves] == [(50, 0), None]
    assert [(content.kind, content.amount) for content in model.contents] == [
        ("counts", 2)
    ]  # the shares of the second leaf
    text = TREE.format("", ' recordCount="7"', 3, 1, 0, 2)
    alone = '<ScoreDistribution value="a" recordCount="0"/><ScoreDistribution value="b" recordCount="2"/>'
    model = model_of_pmml(text.replace(alone, ""), None)
    assert [leaf.counts for leaf in model.leaves] == [(3, 1), None]
    assert [(content.kind, content.amount) for content in model.contents] == [("counts", 1)]


@pytest.mark.parametrize(("size", "is_read"), [("6", True), ("90", False)])
def test_counts_that_contradict_their_parent_are_not_read(size, is_read):
    text = TREE.format("", "", 3, 1, 0, 2).replace("<Node><True/>", f'<Node recordCount="{size}"><True/>')
    model = model_of_pmml(text, None)
    assert [leaf.counts is not None for leaf in model.leaves] == [is_read] * 2
    assert [content.kind for content in model.contents] == ([] if is_read else ["counts"])


def test_shares_without_numbers_of_rows_are_no_counts_and_are_reported():
    model = model_of_pmml(TREE.format("", "", 1, 0, 0, 1).replace("recordCount", "probability"), None)
    assert [leaf.counts for leaf in model.leaves] == [None, None]
    assert [content.kind for content in model.contents] == ["counts"]


@pytest.mark.parametrize(
    ("name", "counts"),
    [("nyoka.pmml", [(8, 0), (24, 26), (12, 32), (31, 39), (20, 8)]), ("sklearn2pmml.pmml", [None, None, None])],
)
def test_counts_of_files_of_exporters(name, counts):
    """Made from the same 200 rows, by Nyoka 5.5.0 and sklearn2pmml 0.133.1."""
    assert [leaf.counts for leaf in hr.read_model(GOLDEN / name).leaves] == counts


CLASSES = '"categorical" dataType="string"><Value value="a"/><Value value="b"/></DataField>'


def number_tree(root, left, right):
    """Return a tree of a number, whose nodes state their rows."""
    text = TREE.replace('functionName="classification"', 'functionName="regression"')
    text = text.replace(CLASSES, '"continuous" dataType="double"/>')
    text = re.sub(
        "<ScoreDistribution[^>]*>", "", text.replace('score="a"', 'score="1"').replace('score="b"', 'score="2"')
    )
    sizes = [f' recordCount="{size}"' if size else "" for size in (root, left, right)]
    return text.format(*sizes[1:]).replace("<Node><True/>", f"<Node{sizes[0]}><True/>")


@pytest.mark.parametrize(
    ("sizes", "smallest"),
    [
        (("43", "3", "40"), 3),
        (("50", "30", "20"), 20),
        (("44", "3", "40"), None),  # no sums
        (("", "3", "40"), None),
        (("1", "0.25", "0.75"), None),  # shares
        (("100", "25", "75"), None),  # rows, or percentages
        (("1", "1", "1"), None),
        (("2", "1", "1"), 1),
        (("40.5", "20", "20.5"), None),
    ],
)
def test_the_smallest_leaf_of_a_number_tree_is_known_if_counts_add_up(sizes, smallest):
    (content,) = model_of_pmml(number_tree(*sizes), None).contents
    assert (content.kind, content.amount, content.smallest) == ("counts", len([x for x in sizes if x]), smallest)
    board = Report.of(model_of_pmml(number_tree(*sizes), None)).board
    (check,) = [item for item in board.checks if item.key == "file-counts"]
    assert check.status == ("fail" if smallest is not None and smallest < 10 else "review")
    assert board.status == ("fail" if check.status == "fail" else "not_run")


def test_rows_without_classes_of_one_leaf_are_compared_with_the_whole():
    text = TREE.format("", ' recordCount="7"', 30, 10, 0, 2).replace("<Node><True/>", '<Node recordCount="47"><True/>')
    alone = '<ScoreDistribution value="a" recordCount="0"/><ScoreDistribution value="b" recordCount="2"/>'
    model = model_of_pmml(text.replace(alone, ""), None)
    assert [leaf.counts for leaf in model.leaves] == [(30, 10), None]
    assert [(content.amount, content.smallest) for content in model.contents] == [
        (2, 7)
    ]  # of the whole, and of this leaf
