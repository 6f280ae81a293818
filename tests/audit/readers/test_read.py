import pytest
from sklearn.base import BaseEstimator

from hedgerow import GreedyRuleListClassifier
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
    with pytest.raises(ValueError, match="expected a schema, as the model has none of its own"):
        paths_of(Scorecard())


def test_an_estimator_that_is_not_fitted_says_so():
    with pytest.raises(ValueError, match="GreedyRuleListClassifier instance is not fitted yet"):
        paths_of(GreedyRuleListClassifier())


@pytest.mark.parametrize("model", [3, "tree", Scorecard, None])
def test_anything_else_is_refused_with_the_protocol(model):
    with pytest.raises(TypeError, match=r"supported are .*STreeD.* and any object with\n    supports = \(40, 60\)"):
        paths_of(model, SCHEMA)
