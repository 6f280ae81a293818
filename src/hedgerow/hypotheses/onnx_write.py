"""ONNX files of hypotheses: the data that an oracle reads of a classifier, in operators that predict the same.

All is in float64. Trees get numbers that are float32, as scikit-learn compares them, and thresholds as they are. A row
for which a step has no result gets 0/0 as scores.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.errors import HypothesisError, MissingPackageError
from hedgerow.hypotheses.classifiers import Forest, Network, Prepared
from hedgerow.hypotheses.features import Chain, Fill, OneHot, ParallelSteps, RowTransformer, Scale
from hedgerow.hypotheses.hypothesis import Always, held_hypothesis
from hedgerow.hypotheses.read import READABLE, TargetColumns, model_of, read_classifier

_OPSETS = {"": 19, "ai.onnx.ml": 3}  # the first that compares text, and the first whose trees have float64 weights
_IR_VERSION = 9
_MIN_MAX = (-np.inf, np.inf)


def write_onnx(prepared: Prepared, names: Sequence[str], kinds: Sequence[str], classes: Sequence[Any]) -> bytes:
    """Return a classifier, as it was read for columns of these names and kinds, as an ONNX file.

    Its inputs are the columns, of shape ``[rows, 1]``; its output the labels, of shape ``[rows]``. The same classifier
    always gives the same bytes.
    """
    file = _File(_prefix(names))
    features = [file.column(name, kind) for name, kind in zip(names, kinds, strict=True)]
    features = file.step(prepared.steps, features)
    scores = file.scores(prepared.classifier, features)
    for known in file.refusals:
        scores = file.node("Mul", [scores, known])
    place = file.node("ArgMax", [scores], axis=1, keepdims=0)
    labels = file.constant([classes[code] for code in prepared.codes])
    return file.content(file.node("Gather", [labels, place], axis=0), classes)


def _prefix(names: Sequence[str]) -> str:
    """Return what the name of no column begins with."""
    prefix = "_"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        onnx = None
    if onnx is None:
        raise MissingPackageError("a hypothesis of this type needs onnx; run pip install 'hedgerow[client]'.")
    return onnx


@dataclass(frozen=True)
class _Feature:
    """A column of a value: the value's name and width, and the column's number in it."""

    value: str
    width: int
    place: int
    is_text: bool
    fill: str | None = None  # what replaces its missing text: nothing where it is None or empty


def _columns(value: str, width: int) -> list[_Feature]:
    return [_Feature(value, width, place, is_text=False) for place in range(width)]


@dataclass
class _File:
    """An ONNX file in the making."""

    prefix: str  # what the names of its values begin with, and those of columns do not
    onnx: Any = field(default_factory=_onnx)
    nodes: list[Any] = field(default_factory=list)  # its parts
    constants: list[Any] = field(default_factory=list)  # its parts
    inputs: list[Any] = field(default_factory=list)  # its parts
    refusals: list[str] = field(default_factory=list)  # values that are 1, or missing where a row has no class

    def column(self, name: str, kind: str) -> _Feature:
        """Add a column of the table as an input."""
        types = self.onnx.TensorProto
        self.inputs.append(
            self.onnx.helper.make_tensor_value_info(name, types.STRING if kind == "text" else types.DOUBLE, ["rows", 1])
        )
        return _Feature(name, 1, 0, is_text=kind == "text")

    def node(self, operator: str, inputs: list[str], before: int = 0, **attributes: Any) -> str:
        """Add a node; return the name of its output, before which it has others."""
        outputs = [f"{self.prefix}{len(self.nodes)}_{i}" for i in range(before + 1)]
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, outputs, **attributes))
        return outputs[-1]

    def constant(self, values: Any) -> str:
        """Add a constant of numbers, whole numbers, booleans or text; return its name."""
        name, array = f"{self.prefix}c{len(self.constants)}", np.array(values)
        array = array.astype(object) if array.dtype.kind == "U" else array
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def matrix(self, features: list[_Feature]) -> str:
        """Return a value of these features side by side, all of numbers."""
        parts, at = list[str](), 0
        while at < len(features):
            end = at + 1
            while end < len(features) and features[end].value == features[at].value:
                end += 1
            run, at = features[at:end], end
            whole = [one.place for one in run] == list(range(run[0].width))
            places = self.constant(np.array([one.place for one in run])) if not whole else ""
            parts.append(run[0].value if whole else self.node("Gather", [run[0].value, places], axis=1))
        return parts[0] if len(parts) == 1 else self.node("Concat", parts, axis=1)

    def step(self, step: RowTransformer, features: list[_Feature]) -> list[_Feature]:
        """Add what a step does."""
        if isinstance(step, Chain):
            for one in step.steps:
                features = self.step(one, features)
            return features
        if isinstance(step, ParallelSteps):
            made = [self.step(one, [features[i] for i in numbers]) for numbers, one in step.parts]
            return [feature for part in made for feature in part]
        if isinstance(step, Scale):
            return self._scaled(step, features) if features else []
        if isinstance(step, Fill):
            return self._filled(step, features)
        assert isinstance(step, OneHot)
        return self._encoded(step, features)

    def _scaled(self, step: Scale, features: list[_Feature]) -> list[_Feature]:
        value = self.matrix(features)
        for operator, numbers, nothing in (
            ("Sub", step.shift, 0.0),
            ("Div", step.divisor, 1.0),
            ("Mul", step.factor, 1.0),
            ("Add", step.offset, 0.0),
        ):
            if any(number != nothing for number in numbers):
                value = self.node(operator, [value, self.constant([numbers])])
        if step.bounds != _MIN_MAX:
            value = self.node("Clip", [value, *(self.constant(bound) for bound in step.bounds)])
        return _columns(value, len(features))

    def _filled(self, step: Fill, features: list[_Feature]) -> list[_Feature]:
        numbers = [i for i, feature in enumerate(features) if not feature.is_text]
        found = list(features)
        if numbers:
            value = self.matrix([features[i] for i in numbers])
            is_gap, filled = self.node("IsNaN", [value]), self.constant([[step.values[i] for i in numbers]])
            made = self.node("Where", [is_gap, filled, value])
            for i, feature in zip(numbers, _columns(made, len(numbers)), strict=True):
                found[i] = feature
        for i, feature in enumerate(features):
            word = step.values[i]
            if feature.is_text and isinstance(word, str) and not feature.fill:
                found[i] = self._filled_text(feature, word) if word else replace(feature, fill=word)
        return found

    def _filled_text(self, feature: _Feature, word: str) -> _Feature:
        is_gap = self.node("Equal", [feature.value, self.constant([[""]])])
        return replace(feature, value=self.node("Where", [is_gap, self.constant([[word]]), feature.value]), fill=word)

    def _encoded(self, step: OneHot, features: list[_Feature]) -> list[_Feature]:
        found = list[_Feature]()
        for feature, values, dropped in zip(features, step.categories, step.dropped, strict=True):
            if not values or len(set(values)) < len(values):
                raise HypothesisError("expected different categories of a OneHotEncoder to send it, got one twice.")
            value = self._words(feature, values) if feature.is_text else self._numbers(feature, values)
            if step.refuse_others:
                known = self.node("ReduceSum", [value, self.constant(np.array([1]))], keepdims=1)
                self.refusals.append(self.node("Div", [known, known]))
            found += [one for one in _columns(value, len(values)) if one.place != dropped]
        return found

    def _words(self, feature: _Feature, values: Sequence[Any]) -> str:
        """Return a column of 0 and 1 a category; missing text is empty, and no text is white space alone."""
        missing = "" if feature.fill == "" else None
        words = ["" if value == missing else value or "\t" for value in values]
        one_hot = self.node("OneHotEncoder", [feature.value], domain="ai.onnx.ml", cats_strings=words, zeros=1)
        flat = self.node("Reshape", [one_hot, self.constant(np.array([-1, len(words)]))])
        return self.node("Cast", [flat], to=self.onnx.TensorProto.DOUBLE)

    def _numbers(self, feature: _Feature, values: Sequence[Any]) -> str:
        column, parts = self.matrix([feature]), list[str]()
        for value in values:
            inputs = [column] if value is None else [column, self.constant([[float(value)]])]
            parts.append(self.node("IsNaN" if value is None else "Equal", inputs))
        is_value = parts[0] if len(parts) == 1 else self.node("Concat", parts, axis=1)
        return self.node("Cast", [is_value], to=self.onnx.TensorProto.DOUBLE)

    def scores(self, classifier: Any, features: list[_Feature]) -> str:
        """Return the scores of the classes."""
        if not features:
            raise HypothesisError("expected a classifier of one column or more, got one of none.")
        value = self.matrix(features)
        if isinstance(classifier, Network):
            return self._network(classifier, value)
        assert isinstance(classifier, Forest)
        return self._forest(classifier, value)

    def _network(self, network: Network, value: str) -> str:
        activation = {"relu": "Relu", "logistic": "Sigmoid", "tanh": "Tanh", "identity": "Identity"}[network.activation]
        *hidden, (weights, bias) = zip(network.weights, network.biases, strict=True)
        for inner, inner_bias in hidden:
            value = self.node("Gemm", [value, self.constant(inner), self.constant(inner_bias)])
            value = self.node(activation, [value])
        both = [np.hstack([np.zeros_like(one), one]) for one in (weights, bias)]
        return self.node("Gemm", [value, *map(self.constant, both)])

    def _forest(self, forest: Forest, value: str) -> str:
        types = self.onnx.TensorProto
        value = self.node("Cast", [self.node("Cast", [value], to=types.FLOAT)], to=types.DOUBLE)
        parts = [_tree_lists(number, tree) for number, tree in enumerate(forest.trees)]
        lists = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        helper = self.onnx.numpy_helper
        values = helper.from_array(lists.pop("nodes_values"), "values")
        weights = helper.from_array(lists.pop("class_weights"), "weights")
        modes = np.where(lists.pop("leaves"), "LEAF", "BRANCH_LEQ").tolist()
        scores = self.node(
            "TreeEnsembleClassifier",
            [value],
            before=1,
            domain="ai.onnx.ml",
            classlabels_int64s=list(range(forest.n_classes)),
            nodes_values_as_tensor=values,
            class_weights_as_tensor=weights,
            nodes_modes=modes,
            **{name: part.tolist() for name, part in lists.items()},
        )
        return self.node("Cast", [scores], to=types.DOUBLE)

    def content(self, label: str, classes: Sequence[Any]) -> bytes:
        """Return the file."""
        helper, types = self.onnx.helper, self.onnx.TensorProto
        kinds = {str: types.STRING, bool: types.BOOL, int: types.INT64}
        output = helper.make_tensor_value_info(label, kinds[type(classes[0])], ["rows"])
        graph = helper.make_graph(self.nodes, "hypothesis", self.inputs, [output], self.constants)
        versions = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(graph, opset_imports=versions, ir_version=_IR_VERSION, producer_name="hedgerow")
        return model.SerializeToString(deterministic=True)


def _tree_lists(number: int, tree: Any) -> dict[str, Any]:
    """Return the nodes of a tree as ONNX lists them, one column an attribute."""
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
    """Return a hypothesis as JSON-ready data: a class, a model as its file has it, or an ONNX file in base64."""
    hypothesis = held_hypothesis(hypothesis)
    if type(hypothesis) is Always:
        return {"always": hypothesis.label}
    model = model_of(hypothesis)
    if model is not None:
        return {"model": model.to_dict()}
    found = None if columns is None else read_classifier(hypothesis, columns, classes)
    if columns is not None and isinstance(found, Prepared):
        return {"onnx": base64.b64encode(write_onnx(found, columns.names, columns.kinds, classes)).decode()}
    raise HypothesisError(
        f"expected as a hypothesis to send a constant, or {READABLE}; got {type(hypothesis).__name__}."
    )
