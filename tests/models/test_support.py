"""What is shown of the released rows of a leaf, by hand."""

from dataclasses import replace

import pytest

from hedgerow.models import Leaf, Tree
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.support import shown_share
from hedgerow.schema import Boolean, Label, Schema
from tests.models.large_models import counted as card

SCHEMA = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))


@pytest.mark.parametrize(
    ("counts", "epsilon", "note"),
    [
        ((229, 496), "1/5", "65 to 71 % of about 720"),
        ((3, 697), "1/50", "73 to 100 % of about 700"),
        ((-2, 5), "1/5", "at most 30 rows: too few to tell"),
        ((-9, 1), "1/5", "at most 20 rows: too few to tell"),
        ((-90, 1), "1/5", "probably no rows"),
        ((9, 20), "1/5", "about 30 rows"),  # its share is 20 to 100 %
        ((-1, 1), "4", "at most 1 row: too few to tell"),
        ((-1, 1), "5", "0 rows"),
        ((0, 8417376124), "1/10000000000", "at most 50,000,000,000 rows: too few to tell"),
        ((229, 496), "10", "68 to 69 % of 725"),
    ],
)
def test_a_note_says_what_the_noise_leaves(counts, epsilon, note):
    assert str(Tree(SCHEMA, Leaf(counts), card(epsilon))).splitlines()[0].partition("# ")[2] == note


def test_a_share_is_shown_only_if_it_excludes_half_of_all_shares():
    for yes in range(-60, 200, 7):
        ends, shown = CountNoise(5.0).share((40, yes), 1), shown_share((40, yes), 1, CountNoise(5.0))
        may_be_none = 40 + yes <= CountNoise(5.0).spread(2)
        assert shown == (None if may_be_none or ends[1] - ends[0] >= 0.5 else ends)
    assert shown_share((40, 4000), 1, None) is None


def test_a_drawn_probability_is_none_of_the_counts():
    leaf = Leaf((229, 496), "yes", (0.2, 0.8))
    assert "# 80 %; about 720 rows\n" in str(Tree(SCHEMA, leaf, card("1/5")))
    assert "# 80 %; at most 30 rows\n" in str(Tree(SCHEMA, replace(leaf, counts=(-2, 5)), card("1/5")))
