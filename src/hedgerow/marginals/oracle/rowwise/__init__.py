"""Hypotheses as data: classifiers evaluated in arithmetic whose result for a row does not depend on other rows."""

from hedgerow.marginals.oracle.rowwise.classifiers import RowClassifier
from hedgerow.marginals.oracle.rowwise.read import read_classifier

__all__ = ["RowClassifier", "read_classifier"]
