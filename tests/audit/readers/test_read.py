import numpy as np
import pytest
from sklearn.base import BaseEstimator

from hedgerow import GreedyRuleListClassifier
from hedgerow.audit import leaf_risk, reconstruction
from hedgerow.audit.readers.read import paths_of
from hedgerow.schema import Boolean, Label, Literal, Schema

SCHEMA = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (False, True)))


class Scorecard(BaseEstimator):
    """A model of the protocol, which scikit-learn cannot tell to be fitted."""

    supports = (40, 60)

    def regions(self):
        return [[Literal("a", "true")], []]


def test_any_model_of_the_protocol_is_read():
    paths, schema = paths_of(Scorecard(), SCHEMA)
    assert schema is SCHEMA
    assert paths.paths == (((Literal("a", "true"), True),), ())
    assert (paths.supports, paths.counts, paths.exclusive) == ((40, 60), None, False)


def test_the_schema_is_needed():
    with pytest.raises(ValueError, match="schema"):
        paths_of(Scorecard())


def test_an_unfitted_estimator_raises():
    with pytest.raises(ValueError, match="not fitted"):
        paths_of(GreedyRuleListClassifier())


@pytest.mark.parametrize("model", [3, "tree", Scorecard, None])
def test_unsupported_models_raise_with_the_protocol(model):
    with pytest.raises(TypeError, match=r"STreeD.*\n    supports = \(40, 60\)"):
        paths_of(model, SCHEMA)


class WeightedRules:
    """What imodels stores of a rule list whose rows were weighted: rows, and the share of the second class."""

    rules_ = (
        {"index_col": 0, "cutoff": 0.5, "flip": False, "num_pts_right": 7, "val_right": 1.0},
        {"index_col": 1, "cutoff": 0.5, "flip": False, "num_pts_right": 30, "val_right": 0.123},
        {"num_pts": 40, "val": 0.0},
    )
    feature_names_, classes_ = ("a", "b"), np.array([False, True])


WeightedRules.__module__, WeightedRules.__name__ = "imodels.lists", "GreedyRuleListClassifier"


def test_pure_leaves_are_found_despite_weighted_shares():
    paths, _ = paths_of(WeightedRules(), SCHEMA)
    assert (paths.supports, paths.counts) == ((7, 30, 40), ((0, 7), None, (40, 0)))
    assert paths.complete_supports == (7, 30, 40)
    risk = leaf_risk(WeightedRules(), schema=SCHEMA)
    assert (risk.pure, risk.classes_not_examined, risk.not_examined) == ((0, 2), (1,), ())


class HalfKnown(Scorecard):
    supports = (None, 60)


def test_supports_of_some_regions_are_read():
    paths, _ = paths_of(HalfKnown(), SCHEMA)
    assert (paths.supports, paths.complete_supports) == ((None, 60), None)
    assert leaf_risk(HalfKnown(), schema=SCHEMA).not_examined == (0,)
    with pytest.raises(ValueError, match="1 of 2 leaves"):
        reconstruction(HalfKnown(), SCHEMA)
