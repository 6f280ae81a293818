"""Steps before a classifier, as data, make of frames what they make themselves."""

import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from hedgerow.marginals.network import network
from tests.marginals.oracle.rowwise.hypotheses import (
    FRAME,
    IN_FRAME,
    WORDS,
    N,
    read,
    ridge,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

IN_FRAMES = {
    "the default network": network(WORDS, 0),
    "one-hot": make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "n"]),
            (OneHotEncoder(), ["b", "n"]),
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="first")), ["w"]),
        ),
        LogisticRegression(),
    ),
    "missing words have a category": make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["w"]), ("drop", ["a"]), remainder="passthrough"
        ),
        DecisionTreeClassifier(max_depth=4),
    ),
    "filled with a word": make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder()), ["w"]),
            remainder=SimpleImputer(strategy="median"),
        ),
        RandomForestClassifier(10, random_state=0),
    ),
    "binary categories": make_pipeline(
        make_column_transformer((OneHotEncoder(drop="if_binary"), ["b", "n"])), LogisticRegression()
    ),
}


@pytest.mark.parametrize("name", IN_FRAMES)
def test_pipelines_on_frames_predict_what_they_predict_themselves(name):
    model = IN_FRAMES[name].fit(WORDS[:400], IN_FRAME[:400])
    expected = model.predict(WORDS)
    assert 0 < expected.sum() < N
    assert read(model, WORDS)().tolist() == expected.tolist()
    assert read(model, FRAME)().tolist() == expected.tolist()


def test_an_unknown_word_is_ignored_or_has_no_class_as_the_encoder_says():
    new = pd.DataFrame({"w": ["red", "lilac", "green"]})
    for how, expected in (("ignore", 1), ("error", -1)):
        steps = make_column_transformer((OneHotEncoder(handle_unknown=how), ["w"]))
        model = make_pipeline(steps, ridge()).fit(pd.DataFrame({"w": ["red", "green"] * 9}), [1, 0] * 6 + [1] * 6)
        assert read(model, new)().tolist() == [1, expected, 0]
        if how == "ignore":
            assert model.predict(new).tolist() == [1, expected, 0]
