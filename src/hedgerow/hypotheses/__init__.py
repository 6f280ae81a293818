"""Hypotheses as data: classifiers evaluated in arithmetic whose result for a row does not depend on other rows."""

from hedgerow.hypotheses.classifiers import RowClassifier
from hedgerow.hypotheses.onnx_read import LARGEST_ONNX, read_onnx
from hedgerow.hypotheses.read import read_classifier

__all__ = ["LARGEST_ONNX", "RowClassifier", "read_classifier", "read_onnx"]
