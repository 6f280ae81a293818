import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from hedgerow.audit.readers.encoders import last_step

SCALER, OTHER = StandardScaler(), MinMaxScaler()


@pytest.mark.parametrize(
    ("steps", "before"),
    [
        ((SCALER, "tree"), [SCALER]),
        ((SCALER, make_pipeline(OTHER, "tree")), [SCALER, OTHER]),
        ((make_pipeline(SCALER, "passthrough"), None, make_pipeline(make_pipeline("tree"))), [SCALER]),
    ],
    ids=str,
)
def test_nested_pipelines_are_flattened(steps, before):
    model, features = last_step(make_pipeline(*steps), None)
    assert model == "tree"
    assert [step for _, step in features.steps] == before
    with pytest.raises(ValueError, match="features"):
        last_step(make_pipeline(*steps), ["age"])


def test_a_model_without_steps_keeps_its_features():
    assert last_step("tree", ["age"]) == ("tree", ["age"])
    assert last_step(make_pipeline(None, "passthrough", "tree"), ["age"]) == ("tree", ["age"])
