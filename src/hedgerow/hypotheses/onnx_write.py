"""Writers of ONNX files, whose operators make the same predictions as the graph that an oracle reads.

All values are float64. Trees receive numbers rounded to float32, as in scikit-learn, and unchanged thresholds. If a
step has no result for a row, the scores of the row are 0/0.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from hedgerow.errors import HypothesisError
from hedgerow.hypotheses import operators
from hedgerow.hypotheses.graph import BoundClassifier, Graph, Step
from hedgerow.hypotheses.hypothesis import Always, TargetColumns, unwrap_hypothesis
from hedgerow.hypotheses.onnx_plain import onnx_package
from hedgerow.hypotheses.read import READABLE, model_of, read_classifier

_OPSETS = {"": 19, "ai.onnx.ml": 3}  # the first with comparisons of text, and the first with float64 weights of trees
_IR_VERSION = 9
# The functions that classifiers and transformers of scikit-learn need
_FUNCTIONS = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "relu": "Relu", "tanh": "Tanh"}
_FUNCTIONS |= {"is missing": "IsNaN", "where": "Where", "logistic": "Sigmoid"}


def write_onnx(
    classifier: BoundClassifier, names: Sequence[str], kinds: Sequence[str], classes: Sequence[Any]
) -> bytes:
    """Return a classifier as a reproducible ONNX file, with inputs ``[rows, 1]`` per column and labels ``[rows]``."""
    if classifier.graph.places != tuple((i,) for i in range(len(names))):
        raise _not_from_scikit_learn()
    prefix = "_"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    file = _OnnxFile(prefix, classifier.graph)
    for name, kind in zip(names, kinds, strict=True):
        file.add_input(name, kind)
    for step in classifier.graph.steps:
        file.values.append(file.written(step))
    place = file.node("ArgMax", [file.values[-1]], axis=1, keepdims=0)
    labels = file.constant([classes[code] for code in classifier.codes])
    return file.content(file.node("Gather", [labels, place], axis=0), classes)


def _not_from_scikit_learn() -> HypothesisError:
    return HypothesisError("only classifiers that were read from scikit-learn can be written as ONNX.")


@dataclass
class _OnnxFile:
    """A builder of an ONNX file."""

    prefix: str  # the prefix of the names of values, which no column name has
    graph: Graph
    onnx: Any = field(default_factory=partial(onnx_package, "sending a hypothesis of this type", "client"))
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    values: list[str] = field(default_factory=list)  # the name of each value of the graph
    texts: set[int] = field(default_factory=set)  # text values
    of_empty_text: set[int] = field(default_factory=set)  # values whose missing text is replaced by empty text

    def add_input(self, name: str, kind: str) -> None:
        types = self.onnx.TensorProto
        if kind == "text":
            self.texts.add(len(self.values))
        stored = types.STRING if kind == "text" else types.DOUBLE
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, stored, ["rows", 1]))
        self.values.append(name)

    def node(self, operator: str, inputs: list[str], before: int = 0, **attributes: Any) -> str:
        """Add a node and return the name of its last output; `before` is the number of other outputs."""
        outputs = [f"{self.prefix}{len(self.nodes)}_{i}" for i in range(before + 1)]
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, outputs, **attributes))
        return outputs[-1]

    def constant(self, values: Any) -> str:
        name, array = f"{self.prefix}c{len(self.constants)}", np.array(values)
        array = array.astype(object) if array.dtype.kind == "U" else array
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def written(self, step: Step) -> str:
        write = _WRITERS.get(type(step.operator))
        if write is None:
            raise _not_from_scikit_learn()
        return write(self, step.operator, [self.values[value] for value in step.inputs], step.inputs)

    def double(self, value: str) -> str:
        return self.node("Cast", [value], to=self.onnx.TensorProto.DOUBLE)

    def function(self, function: operators.Elementwise, inputs: list[str], _: Any) -> str:
        if function.name == "single":
            return self.double(self.node("Cast", inputs, to=self.onnx.TensorProto.FLOAT))
        if function.name not in _FUNCTIONS:
            raise _not_from_scikit_learn()
        return self.node(_FUNCTIONS[function.name], inputs)

    def of_rows(self, function: operators.Rowwise, inputs: list[str], _: Any) -> str:
        match function.name:
            case "join":
                return self.node("Concat", inputs, axis=1)
            case "sum":
                return self.node("ReduceSum", [*inputs, self.constant([1])], keepdims=1)
            case _:
                raise _not_from_scikit_learn()

    def filled(self, fill: operators.FillText, inputs: list[str], _: Any) -> str:
        """Add the replacement of missing text, which ONNX represents as empty text."""
        self.texts.add(len(self.values))
        if not fill.word:
            self.of_empty_text.add(len(self.values))
            return inputs[0]
        is_gap = self.node("Equal", [inputs[0], self.constant([[""]])])
        return self.node("Where", [is_gap, self.constant([[fill.word]]), inputs[0]])

    def encoded(self, encode: operators.Encode, inputs: list[str], values_before: tuple[int, ...]) -> str:
        values, (name,), (value,) = encode.categories, inputs, values_before
        if encode.refuse_others or len(set(values)) < len(values) or self.graph.widths[value] != 1:
            raise HypothesisError("a OneHotEncoder with duplicate categories cannot be sent to a service.")
        if value in self.texts:
            return self._words(name, values, of_empty_text=value in self.of_empty_text)
        parts = list[str]()
        for number in values:
            inputs = [name] if number is None else [name, self.constant([[float(number)]])]
            parts.append(self.node("IsNaN" if number is None else "Equal", inputs))
        return self.double(parts[0] if len(parts) == 1 else self.node("Concat", parts, axis=1))

    def _words(self, name: str, values: Sequence[Any], *, of_empty_text: bool) -> str:
        """Return an indicator column per category. Missing text is empty; a tab stands for a category of no row."""
        missing = "" if of_empty_text else None
        words = ["" if value == missing else value or "\t" for value in values]
        one_hot = self.node("OneHotEncoder", [name], domain="ai.onnx.ml", cats_strings=words, zeros=1)
        return self.double(self.node("Reshape", [one_hot, self.constant(np.array([-1, len(words)]))]))

    def summed(self, scores: operators.TreeScores, inputs: list[str], _: Any) -> str:
        if any(scores.base):
            raise _not_from_scikit_learn()
        parts = [_tree_lists(number, tree) for number, tree in enumerate(scores.trees)]
        lists = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        helper = self.onnx.numpy_helper
        values = helper.from_array(lists.pop("nodes_values"), "values")
        weights = helper.from_array(lists.pop("class_weights"), "weights")
        modes = np.where(lists.pop("leaves"), "LEAF", "BRANCH_LEQ").tolist()
        label = self.node(
            "TreeEnsembleClassifier",
            inputs,
            before=1,
            domain="ai.onnx.ml",
            classlabels_int64s=list(range(len(scores.base))),
            nodes_values_as_tensor=values,
            class_weights_as_tensor=weights,
            nodes_modes=modes,
            **{name: part.tolist() for name, part in lists.items()},
        )
        return self.double(label)

    def content(self, label: str, classes: Sequence[Any]) -> bytes:
        helper, types = self.onnx.helper, self.onnx.TensorProto
        kinds = {str: types.STRING, bool: types.BOOL, int: types.INT64}
        output = helper.make_tensor_value_info(label, kinds[type(classes[0])], ["rows"])
        graph = helper.make_graph(self.nodes, "hypothesis", self.inputs, [output], self.constants)
        versions = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(graph, opset_imports=versions, ir_version=_IR_VERSION, producer_name="hedgerow")
        return model.SerializeToString(deterministic=True)


_WRITERS: Mapping[type, Callable[[_OnnxFile, Any, list[str], tuple[int, ...]], str]] = {
    operators.ConstantRow: lambda file, number, _inputs, _: file.constant(number.values),
    operators.Affine: lambda file, layer, inputs, _: file.node(
        "Gemm", [*inputs, file.constant(layer.weights), file.constant(layer.bias)]
    ),
    operators.Clip: lambda file, clip, inputs, _: file.node(
        "Clip", [*inputs, file.constant(clip.low), file.constant(clip.high)]
    ),
    operators.Pick: lambda file, pick, inputs, _: file.node(
        "Gather", [*inputs, file.constant(np.array(pick.places))], axis=1
    ),
    operators.Rowwise: _OnnxFile.of_rows,
    operators.Elementwise: _OnnxFile.function,
    operators.FillText: _OnnxFile.filled,
    operators.Encode: _OnnxFile.encoded,
    operators.TreeScores: _OnnxFile.summed,
}
"""The operators that classifiers and transformers of scikit-learn need."""


def _tree_lists(number: int, tree: operators.BinaryTree) -> dict[str, Any]:
    """Return the nodes of a tree as ONNX lists them, with a list per attribute."""
    size, n_classes = tree.shares.shape
    leaf, nodes = tree.left < 0, np.arange(size)
    leaves = np.flatnonzero(leaf)
    return {
        "nodes_treeids": np.full(size, number),
        "nodes_nodeids": nodes,
        "nodes_featureids": np.where(leaf, 0, tree.feature),
        "leaves": leaf,
        "nodes_values": np.where(leaf, 0.0, tree.threshold),
        "nodes_truenodeids": np.where(leaf, 0, tree.left),
        "nodes_falsenodeids": np.where(leaf, 0, tree.right),
        "nodes_missing_value_tracks_true": tree.missing_left.astype(np.int64),
        "class_treeids": np.full(len(leaves) * n_classes, number),
        "class_nodeids": np.repeat(leaves, n_classes),
        "class_ids": np.tile(np.arange(n_classes), len(leaves)),
        "class_weights": tree.shares[leaves].ravel(),
    }


def hypothesis_data(
    hypothesis: Any, columns: TargetColumns | None = None, classes: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return a hypothesis as JSON-ready data: a class, the data of a model file, or an ONNX file in base64."""
    hypothesis = unwrap_hypothesis(hypothesis)
    if type(hypothesis) is Always:
        return {"always": hypothesis.label}
    model = model_of(hypothesis)
    if model is not None:
        return {"model": model.to_dict()}
    classifier = None if columns is None else read_classifier(hypothesis, columns, classes)
    if columns is not None and isinstance(classifier, BoundClassifier):
        return {"onnx": base64.b64encode(write_onnx(classifier, columns.names, columns.kinds, classes)).decode()}
    kind = type(hypothesis).__name__
    raise HypothesisError(
        f"an object of type {kind} cannot be sent as a hypothesis. Supported are constants and {READABLE}."
    )
