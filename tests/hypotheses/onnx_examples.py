"""ONNX files made by hand, and their evaluation by the package onnx, one row at a time."""

import base64
import warnings

import numpy as np
import pytest

from hedgerow.hypotheses import read_classifier, read_onnx
from hedgerow.tables.frames import Table
from tests.hypotheses.hypotheses import inputs

onnx = pytest.importorskip("onnx")
helper, T = onnx.helper, onnx.TensorProto
ML = "ai.onnx.ml"
node = helper.make_node


def tensor(values, name="", kind=None):
    """Return a constant."""
    array = np.array(values)
    array = array.astype(object) if array.dtype.kind == "U" else array
    return onnx.numpy_helper.from_array(array if kind is None else array.astype(kind), name)


def value(name="x", kind=T.DOUBLE, shape=("rows", 3)):
    """Return a declared value."""
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, *, takes=None, gives="y", constants=None, opset=19, ml=3, **more):
    """Return a file of nodes, before it is written: by default of the input x of three columns, and the output y."""
    taken = [value()] if takes is None else takes
    given = [value(name, T.DOUBLE, None) for name in gives.split()]
    kept = [tensor(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", taken, given, kept)
    versions = [helper.make_opsetid("", opset), helper.make_opsetid(ML, ml)]
    return helper.make_model(graph, opset_imports=versions, ir_version=9, **more)


def text_of(made):
    """Return a file as the service gets it."""
    return base64.b64encode(made if isinstance(made, bytes) else made.SerializeToString()).decode()


def predicted(made, data, classes=(0, 1)):
    """Return the class of each row, as the service reads the file."""
    public, columns = inputs(data)
    result = read_classifier(read_onnx(text_of(made)), public, classes)
    return result(columns, len(data))


def evaluated(made, data):
    """Return the first output for each row, one at a time, as the package onnx evaluates the file."""
    from onnx.reference import ReferenceEvaluator

    table = Table.of(data)
    evaluator, rows = ReferenceEvaluator(made), []
    kinds = {item.name: item.type.tensor_type.elem_type for item in made.graph.input}
    for i in range(len(table)):
        if list(kinds) == ["x"]:
            taken = {"x": np.asarray(data)[i : i + 1].astype(helper.tensor_dtype_to_np_dtype(kinds["x"]))}
        else:
            taken = {name: cell(data[name].iloc[i], kind) for name, kind in kinds.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.append(np.asarray(evaluator.run(None, taken)[0]).ravel())
    return rows


def cell(found, kind):
    if kind == T.STRING:
        return np.array([[found if isinstance(found, str) else ""]], dtype=object)
    return np.array([[found]], dtype=helper.tensor_dtype_to_np_dtype(kind))
