"""The parts of a message are counted before it is parsed, whatever they are."""

import pytest

from hedgerow.errors import HypothesisError
from hedgerow.hypotheses.onnx_plain import MOST_PARTS, check_parts
from tests.hypotheses.hostile_onnx import field
from tests.hypotheses.onnx_examples import ML, T, model, node, onnx

GRAPH = onnx.ModelProto.DESCRIPTOR


@pytest.mark.parametrize("number", [7, 20])
def test_more_than_the_most_parts_are_not_taken(number):
    part = field(1, b"")
    check_parts(field(number, part * (MOST_PARTS - 10)), GRAPH)
    with pytest.raises(HypothesisError, match="limit of 100,000 parts"):
        check_parts(field(number, part * (MOST_PARTS + 1)), GRAPH)


def test_a_large_forest_is_taken_in_time():
    size = 150_000
    lists = {"nodes_nodeids": list(range(size)), "nodes_treeids": [0] * size, "class_ids": [-1] * size}
    words = {"nodes_modes": ["BRANCH_LEQ"] * size}
    floats = {"nodes_values": [0.25] * size}
    made = node("TreeEnsembleClassifier", ["x"], ["y"], domain=ML, **lists, **words, **floats)
    check_parts(model([made]).SerializeToString(), GRAPH)


def test_lists_of_numbers_are_passed_over_as_they_are_written():
    made = node("Squeeze", ["x"], ["y"], axes=[0, 1, -1, 2**62, 127, 128])
    floats = node("Scaler", ["x"], ["y"], domain=ML, scale=[float(i) for i in range(300)])
    for item in (made, floats):
        check_parts(model([item]).SerializeToString(), GRAPH)
    truncated = model([made]).SerializeToString()
    for end in range(1, len(truncated)):
        parsed = onnx.ModelProto()
        try:
            parsed.ParseFromString(truncated[:end])
        except Exception:
            with pytest.raises(HypothesisError):
                check_parts(truncated[:end], GRAPH)
        else:
            check_parts(truncated[:end], GRAPH)


def test_kinds_of_data_types_are_those_of_the_package():
    assert (T.FLOAT, T.INT32, T.INT64, T.STRING, T.BOOL, T.DOUBLE) == (1, 6, 7, 8, 9, 11)
