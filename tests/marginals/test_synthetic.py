"""Draws from weighted rows."""

import numpy as np
import pandas as pd
import pytest

from hedgerow.marginals.expril import Synthetic

FRAME = pd.DataFrame({"a": [0, 1, 2, 3]})
MADE = Synthetic(FRAME, np.array(["p", "q", "r", "s"]), np.array([0.0, 0.25, 0.75, 0.0]), np.full(4, 0.5))


def test_rows_are_drawn_by_their_weights_with_their_labels():
    rows, labels = MADE.sample(4000, random_state=0)
    assert [MADE.labels[i] for i in rows["a"]] == labels.tolist()
    counts = np.bincount(rows["a"], minlength=4)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert abs(counts[1] - 1000) < 170  # six standard deviations
    again, _ = MADE.sample(4000, random_state=0)
    assert rows["a"].tolist() == again["a"].tolist()


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3"])
def test_a_number_of_rows_is_a_whole_number_from_1_on(n):
    with pytest.raises(ValueError, match="n must be a whole number >= 1, got"):
        MADE.sample(n)


def test_it_tells_how_many_rows_it_has_and_none_of_them():
    assert (len(MADE), repr(MADE)) == (4, "<Synthetic of 4 weighted rows>")
