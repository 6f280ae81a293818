"""Hypotheses as data: classifiers that are evaluated so that the result for a row does not depend on other rows."""

from hedgerow.hypotheses.hypothesis import Always, Hypothesis, RowClassifier, TargetColumns
from hedgerow.hypotheses.onnx_plain import LARGEST_ONNX
from hedgerow.hypotheses.onnx_read import read_onnx
from hedgerow.hypotheses.read import read_classifier

__all__ = ["LARGEST_ONNX", "Always", "Hypothesis", "RowClassifier", "TargetColumns", "read_classifier", "read_onnx"]
