"""Oracles: private rows that answer questions about marginals with noise."""

from hedgerow.hypotheses.hypothesis import Always, Hypothesis
from hedgerow.oracle.answer_noise import AnswerNoise
from hedgerow.oracle.answers import ClassCounts, ErrorCounts, ErrorRatios, LevelSums, RowCounts, RowShares
from hedgerow.oracle.binning import choose_bins
from hedgerow.oracle.federated import FederatedOracle
from hedgerow.oracle.oracle import Oracle
from hedgerow.oracle.protocol import MarginalOracle

__all__ = [
    "Always",
    "AnswerNoise",
    "ClassCounts",
    "ErrorCounts",
    "ErrorRatios",
    "FederatedOracle",
    "Hypothesis",
    "LevelSums",
    "MarginalOracle",
    "Oracle",
    "RowCounts",
    "RowShares",
    "choose_bins",
]  # fmt: skip
