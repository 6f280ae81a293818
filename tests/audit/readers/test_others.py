"""Whose model an object is."""

import pytest

from hedgerow.audit.readers.read import other_paths, own_names
from hedgerow.schema import Boolean, Schema

SCHEMA = Schema({"a": Boolean()})


def test_numbers_that_a_library_gave_are_no_names():
    assert own_names(["feature1", "feature2"], "feature{}", first=1) is None
    assert own_names(["feature2", "feature1"], "feature{}", first=1) == ["feature2", "feature1"]


def test_models_are_recognised_by_library_and_base_class():
    model = type("CorelsClassifier", (), {"__module__": "corels.corels"})
    own = type("Own", (model,), {"__module__": "own"})
    with pytest.raises(ValueError, match="Own"):
        other_paths(own(), SCHEMA, None)
    for name, module in [("CorelsClassifier", "corelsex"), ("CorelsClassifier", "els"), ("Corels", "corels.corels")]:
        assert other_paths(type(name, (), {"__module__": module})(), SCHEMA, None) is None
