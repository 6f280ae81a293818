"""Files of somebody who means harm, or of another tool: each is refused, in bounded time and memory."""

from itertools import pairwise

import numpy as np

from tests.hypotheses.onnx_examples import ML, T, helper, model, node, onnx, tensor, value

WEIGHTS = {"w": np.ones((3, 2))}
GOOD = [node("MatMul", ["x", "w"], ["y"])]


def edited(change, nodes=GOOD, **more):
    """Return a file after a change."""
    made = model(nodes, constants=WEIGHTS, **more)
    change(made)
    return made


def with_graph(operator, *names):
    inner = helper.make_graph([node("Identity", ["x"], ["z"])], "inner", [], [value("z")])
    return model([node(operator, ["x"], ["y"], **dict.fromkeys(names, inner))])


def with_function():
    made = helper.make_function("mine", "F", ["a"], ["b"], [node("Identity", ["a"], ["b"])], [])
    return model([node("F", ["x"], ["y"], domain="mine")], functions=[made])


def unused_function():
    made = helper.make_function("mine", "F", ["a"], ["b"], [node("Identity", ["a"], ["b"])], [])
    return model(GOOD, constants=WEIGHTS, functions=[made])


def external(made):
    item = made.graph.initializer[0]
    item.data_location = T.EXTERNAL
    item.external_data.add(key="location", value="/etc/passwd")
    item.ClearField("raw_data")


def external_quietly(made):
    made.graph.initializer[0].external_data.add(key="location", value="../../ledger.db")


def set_(path, found):
    """Return a change that sets an entry of the first constant."""

    def change(made):
        item = made.graph.initializer[0]
        item.ClearField(path)
        getattr(item, path).extend(found) if isinstance(found, list) else setattr(item, path, found)

    return change


def wide(times):
    """Return nodes that double their columns so often."""
    names = ["x", *(f"v{i}" for i in range(times)), "y"]
    return [node("Concat", [a, a], [b], axis=1) for a, b in pairwise(names)]


def products(times):
    """Return nodes that each multiply with the same weights."""
    names = ["x", *(f"v{i}" for i in range(times)), "y"]
    return [node("MatMul", [a, "w"], [b]) for a, b in pairwise(names)]


def field(number, content):
    """Return a field of bytes of a protobuf message."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number):
    low = number & 127
    return bytes([low | 128]) + _varint(number >> 7) if number > 127 else bytes([low])


def long_chain(nodes, outputs):
    """Return a file whose outputs are all the end of one chain."""
    names = ["x", *(f"v{i}" for i in range(nodes - 1)), "y"]
    return model([node("Identity", [a], [b]) for a, b in pairwise(names)], gives=" ".join(["y"] * outputs))


MANY = 2_000_000
BYTES = {
    "nothing": b"",
    "no file": b"\x80\x02}q\x00.",
    "text": b"not a file at all",
    "truncated": model(GOOD, constants=WEIGHTS).SerializeToString()[:-20],
    "cut in a node": model(GOOD, constants=WEIGHTS).SerializeToString()[:40],
    "a length beyond the end": b"\x3a\xff\xff\xff\xff\x0f",
    "a number without end": b"\x08" + b"\xff" * 30,
    "empty nodes": field(7, field(1, b"") * MANY),
    "empty attributes": field(7, field(1, field(5, b"") * MANY)),
    "empty graphs": field(7, field(1, field(5, field(11, b"") * MANY))),
    "empty tensors": field(7, field(5, b"") * MANY),
    "empty shapes": field(7, field(13, field(2, field(1, field(2, field(1, b"") * MANY))))),
    "empty words": field(7, field(5, field(6, b"") * MANY)),
    "unknown fields": field(99, b"") * MANY,
    "deep": b"",
}
for _ in range(3_000):
    BYTES["deep"] = field(1, field(5, field(6, BYTES["deep"])))
BYTES["deep"] = field(7, BYTES["deep"])

FILES = {
    "a loop": with_graph("Loop", "body"),
    "a scan": with_graph("Scan", "body"),
    "a branch": with_graph("If", "then_branch", "else_branch"),
    "a graph in a known operator": with_graph("Identity", "body"),
    "a function": with_function(),
    "a function that nothing calls": unused_function(),
    "an operator of others": model([node("Leak", ["x"], ["y"], domain="com.evil")]),
    "a known name of others": model([node("Identity", ["x"], ["y"], domain="com.microsoft")]),
    "code": model([node("PyFunc", ["x"], ["y"], domain="ai.onnx.contrib", code=b"import os")]),
    "random numbers": model([node("RandomNormalLike", ["x"], ["y"])]),
    "noise beside the output": model([*GOOD, node("RandomNormalLike", ["x"], ["z"])], constants=WEIGHTS),
    "a mean over rows": model([node("ReduceMean", ["x"], ["y"])]),
    "a sorted batch": model([node("TopK", ["x", "w"], ["y", "i"])], constants=WEIGHTS),
    "a normalised batch": model([node("BatchNormalization", ["x", *"wwww"], ["y"])], constants=WEIGHTS),
    "data in another file": edited(external),
    "data in another file, quietly": edited(external_quietly),
    "a huge shape": edited(set_("dims", [2**40, 2**40])),
    "a negative shape": edited(set_("dims", [-3, -2])),
    "many dimensions": edited(set_("dims", [1] * 60 + [6])),
    "too few numbers": edited(set_("dims", [3, 3])),
    "another type of numbers": edited(set_("data_type", T.FLOAT16)),
    "no type": edited(set_("data_type", 99)),
    "weights that are missing": model(GOOD, constants={"w": np.full((3, 2), np.nan)}),
    "infinite weights": model(GOOD, constants={"w": np.full((3, 2), np.inf)}),
    "large weights": model(GOOD, constants={"w": np.full((3, 2), 1e200)}),
    "an infinite factor": model([node("Gemm", ["x", "w"], ["y"], alpha=np.inf)], constants=WEIGHTS),
    "a factor of text": model([node("Gemm", ["x", "w"], ["y"], alpha="two")], constants=WEIGHTS),
    "a scale of text": model([node("Scaler", ["x"], ["y"], domain=ML, offset=[0.0], scale=["one"])]),
    "an axis of numbers": model([node("Concat", ["x", "x"], ["y"], axis=[1])]),
    "axes of text": model([node("Squeeze", ["x"], ["y"], axes=["one"])], opset=11),
    "a bound of text": model([node("Clip", ["x"], ["y"], min="low")], opset=10),
    "categories of another type": model([node("OneHotEncoder", ["x"], ["y"], domain=ML, cats_int64s=["a"])]),
    "weights of another shape": model(GOOD, constants={"w": np.ones((2, 3))}),
    "a cycle": model([node("Add", ["x", "b"], ["a"]), node("Add", ["x", "a"], ["b"]), node("Identity", ["b"], ["y"])]),
    "a node of itself": model([node("Add", ["x", "y"], ["y"])]),
    "a later node": model([node("Identity", ["z"], ["y"]), node("Identity", ["x"], ["z"])]),
    "an input that is not there": model([node("Add", ["x", "nobody"], ["y"])]),
    "an output that is not there": model([node("Identity", ["x"], ["z"])]),
    "no output": edited(lambda made: made.graph.ClearField("output")),
    "an output of text": model([node("Identity", ["x"], ["y"])], takes=[value("x", T.STRING, (None, 1))]),
    "a constant output": model([node("Constant", [], ["y"], value=tensor([[1.0]]))]),
    "a name twice": model([node("Identity", ["x"], ["y"]), node("Neg", ["x"], ["y"])]),
    "an input twice": model([node("Identity", ["x"], ["y"])], takes=[value(), value()]),
    "a constant twice": edited(lambda made: made.graph.initializer.append(made.graph.initializer[0])),
    "an input as output of a node": model([node("Neg", ["x"], ["x"]), node("Identity", ["x"], ["y"])]),
    "many nodes": model([node("Identity", ["x"], [f"v{i}"]) for i in range(30_000)] + [node("Identity", ["x"], ["y"])]),
    "many inputs": model(GOOD, constants=WEIGHTS, takes=[value(f"x{i}", shape=(None, 1)) for i in range(10_001)]),
    "many outputs": long_chain(8_000, 4_000),
    "many steps of one node": model(
        [node("Sum", ["x"] * 900, [f"v{i}"]) for i in range(300)]
        + [node("Sum", ["x"] + [f"v{i}" for i in range(300)], ["y"])]
    ),
    "columns by doubling": model(wide(40)),
    "large products": model(products(30), takes=[value(shape=("n", 400))], constants={"w": np.eye(400)}),
    "an input of a thousand dimensions": model(GOOD, constants=WEIGHTS, takes=[value(shape=("n", *(1,) * 1_000))]),
    "an input without columns": model(GOOD, constants=WEIGHTS, takes=[value(shape=("n", "m"))]),
    "an input of a billion columns": model(GOOD, constants=WEIGHTS, takes=[value(shape=("n", 10**9))]),
    "an input of one batch": model(GOOD, constants=WEIGHTS, takes=[value(shape=(64, 3))]),
    "a sequence": edited(lambda made: made.graph.input[0].type.sequence_type.elem_type.tensor_type.SetInParent()),
    "complex numbers": model(GOOD, constants=WEIGHTS, takes=[value(kind=T.COMPLEX128)]),
    "an old version": model(GOOD, constants=WEIGHTS, opset=6),
    "a version to come": model(GOOD, constants=WEIGHTS, opset=999),
    "no version": edited(lambda made: made.ClearField("opset_import")),
    "two versions": edited(lambda made: made.opset_import.append(helper.make_opsetid("", 7))),
    "an attribute of others": model([node("Neg", ["x"], ["y"], also=1)]),
    "an attribute twice": model(
        [onnx.NodeProto(op_type="Flatten", input=["x"], output=["y"], attribute=[helper.make_attribute("axis", 1)] * 2)]
    ),
    "text for a number": model([node("Flatten", ["x"], ["y"], axis="one")]),
    "a word that is no text": edited(
        lambda made: made.graph.node[0].attribute.append(helper.make_attribute("name", b"\xff\xfe"))
    ),
    "training": edited(lambda made: made.training_info.add()),
    "sparse weights": edited(lambda made: made.graph.sparse_initializer.add()),
    "categories without end": model(
        [node("OneHotEncoder", ["x"], ["y"], domain=ML, cats_strings=[f"{i}" for i in range(70_000)])],
        takes=[value("x", T.STRING, (None, 1))],
    ),
    "a text of megabytes": edited(
        lambda made: made.graph.node.append(node("Neg" + "g" * 4_000_000, ["x"], ["z"])),
    ),
}
