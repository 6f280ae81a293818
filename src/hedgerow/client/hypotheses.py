"""Hypotheses as the data that a curator's service takes."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from hedgerow.client.onnx_files import write_onnx
from hedgerow.errors import HypothesisError
from hedgerow.marginals.expril import ExprilClassifier
from hedgerow.marginals.oracle.hypothesis import Always
from hedgerow.marginals.oracle.rowwise.classifiers import Prepared
from hedgerow.marginals.oracle.rowwise.read import READABLE, TargetColumns, model_of, read_classifier


def hypothesis_data(
    hypothesis: Any, columns: TargetColumns | None = None, classes: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return a hypothesis as JSON-ready data: a class, a model as its file has it, or an ONNX file in base64."""
    if type(hypothesis) is ExprilClassifier and hasattr(hypothesis, "hypothesis_"):
        return hypothesis_data(hypothesis.hypothesis_, columns, classes)
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
