"""Learning from noisy marginals of a private table that never leaves its curator."""

from hedgerow.marginals.binning import choose_bins
from hedgerow.marginals.expril import ExprilClassifier
from hedgerow.marginals.logistic import MarginalLogisticClassifier
from hedgerow.marginals.oracle.answers import ClassCounts, ErrorCounts, ErrorRatios, RowCounts, RowShares
from hedgerow.marginals.oracle.hypothesis import Always, Hypothesis
from hedgerow.marginals.oracle.oracle import Oracle
from hedgerow.marginals.oracle.protocol import MarginalOracle

__all__ = [
    "Always",
    "ClassCounts",
    "ErrorCounts",
    "ErrorRatios",
    "ExprilClassifier",
    "Hypothesis",
    "MarginalLogisticClassifier",
    "MarginalOracle",
    "Oracle",
    "RowCounts",
    "RowShares",
    "choose_bins",
]
