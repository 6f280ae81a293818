"""Steps before a classifier, as data, make of frames what they make themselves."""

import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
)

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
