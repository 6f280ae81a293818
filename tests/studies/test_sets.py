"""The Rashomon set of the study: the trees of two tests with the fewest errors, and what they leave to guess."""

from itertools import permutations

import numpy as np
import pandas as pd

import hedgerow as hr
from hedgerow.audit import joint_reconstruction, reconstruction
from studies.sets import rashomon


def test_the_trees_are_those_with_the_fewest_errors_and_have_their_counts():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (60, 3)) == 1, columns=list("abc"))
    labels = pd.Series(np.where(frame["a"] ^ (rng.random(60) < 0.2), "yes", "no"), name="y")
    schema = hr.Schema(dict.fromkeys("abc", hr.Boolean()), hr.Label("y", ("no", "yes")))
    trees = rashomon(frame, labels, schema, 4)

    def fewest(one, other):
        cells = (frame[one], ~frame[one] & frame[other], ~frame[one] & ~frame[other])
        return sum(labels[rows].value_counts().reindex(["no", "yes"], fill_value=0).min() for rows in cells)

    expected = sorted(fewest(one, other) for one, other in permutations("abc", 2))[:4]
    assert [int((tree.predict(frame) != labels).sum()) for tree in trees] == expected
    together = joint_reconstruction(trees, frame).uncertainty
    assert together < min(reconstruction(tree).uncertainty for tree in trees)
    assert all(sum(sum(leaf.counts) for leaf in tree.leaves) == 60 for tree in trees)
