"""Whose model an object is."""

from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit.readers.others import is_made_by, own_names


def test_numbers_that_a_library_gave_are_no_names():
    assert own_names(["feature1", "feature2"], "feature{}", first=1) is None
    assert own_names(["feature2", "feature1"], "feature{}", first=1) == ["feature2", "feature1"]


def test_a_model_is_told_by_the_library_and_class_of_any_of_its_bases():
    class Own(DecisionTreeClassifier):
        pass

    assert is_made_by(Own(), "sklearn", "DecisionTreeClassifier")
    assert not is_made_by(Own(), "sklearn", "RandomForestClassifier")
    assert not is_made_by(Own(), "sklearnex", "DecisionTreeClassifier")
    assert not is_made_by(Own(), "learn", "DecisionTreeClassifier")
