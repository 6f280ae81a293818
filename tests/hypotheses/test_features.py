"""Steps before a classifier, as data, make of frames what they make themselves."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from tests.hypotheses.hypotheses import (
    FRAME,
    IN_FRAME,
    IN_FRAMES,
    WORDS,
    N,
    read,
    ridge,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


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


def test_a_sparse_table_is_scaled_as_the_scaler_does():
    # The standard deviation is 49. 49m / 49 is m, half way between two float32; 49m · (1 / 49) is less.
    m = next(m for m in range(2**25 - 41, 2**25, 2) if 49 * m * (1 / 49) < m and float(np.float32(m)) > m)
    frame = pd.DataFrame({"v": [49.0 * (m - 1), 49.0 * (m + 1)] * 6, "h": [*"aabbcc"] * 2})
    rows = pd.DataFrame({"v": 49.0 * m + np.arange(-3, 4), "h": "a"})
    for threshold, expected in ((0, 4), (1, 3)):
        steps = make_column_transformer((OneHotEncoder(), ["h"]), remainder="passthrough", sparse_threshold=threshold)
        tree = DecisionTreeClassifier(max_depth=1, random_state=0)
        model = make_pipeline(steps, StandardScaler(with_mean=False), tree).fit(frame, frame["v"] > 49 * m)
        assert model.predict(rows).sum() == expected
        assert read(model, rows, (False, True))().tolist() == model.predict(rows).tolist()
