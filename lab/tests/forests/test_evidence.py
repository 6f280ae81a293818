import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from hedgerow.audit import Paths
from hedgerow.errors import ArgumentError
from hedgerow.models import Leaf, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Literal, Number, Schema
from lab.forests.guess import evidence_of
from lab.tests.forests.twin import SCHEMA, drawn


@pytest.mark.parametrize("bagging", [False, True])
def test_numbers_are_those_of_the_rows_that_a_tree_was_grown_on(bagging):
    """By scikit-learn's own account of its samples: draws of each class in each leaf, and the different rows."""
    X, y = drawn(np.random.default_rng(0), 60)
    forest = RandomForestClassifier(5, max_depth=2, bootstrap=bagging, random_state=0).fit(X, y)
    result, schema = evidence_of(forest, SCHEMA, None, None)
    assert schema is SCHEMA
    for item, tree, rows in zip(result, forest.estimators_, forest.estimators_samples_, strict=True):
        leaves = tree.apply(X[rows].astype(np.float32))
        places = item.paths.apply(X[rows], SCHEMA)
        assert len(set(zip(leaves.tolist(), places.tolist(), strict=True))) == len(set(leaves.tolist()))
        for place in range(len(item.paths)):
            assert item.numbers[place].tolist() == np.bincount(y[rows][places == place], minlength=2).tolist()
            if bagging:
                assert item.distinct[place] == len(np.unique(rows[places == place]))
        assert item.is_exact is not bagging


def test_rows_that_follow_from_noisy_sums_are_refused():
    """Both sums have noise: their total, of which the rows are a part, has not the noise that `noise=` is taken for."""
    schema = Schema(SCHEMA.attributes, Number("days", 0, 32, 8))
    leaves = (Leaf(sums=(40, 30), mean=12.0), Leaf(sums=(7, 0), mean=2.0))
    tree = Tree(schema, Split(Literal("a", "true"), *leaves), PrivacyCard.none("made up", software="hedgerow"))
    for model in (tree, [tree]):
        with pytest.raises(ArgumentError, match=r"got sums of a number.*release_counts=True"):
            evidence_of(model, None, None, 1.0)


def test_noise_belongs_to_noisy_counts_alone():
    counts, exact = ((1, 2),), Paths(((),), counts=((1, 2),), classes=(0, 1))
    noisy = Paths(((),), counts=counts, classes=(0, 1), view="noisy")
    result, _ = evidence_of([exact, noisy], SCHEMA, None, (None, 2))
    assert [item.scale for item in result] == [None, 2.0]
    weighted = Paths(((),), counts=counts, classes=(0, 1), view="weighted")
    with pytest.raises(ArgumentError, match="got weighted ones"):
        evidence_of(weighted, SCHEMA, None, None)
