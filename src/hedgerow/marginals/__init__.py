"""Learning from noisy marginals of a private table that never leaves its curator."""

from hedgerow.marginals.expril import ExprilClassifier
from hedgerow.marginals.logistic import MarginalLogisticClassifier

__all__ = ["ExprilClassifier", "MarginalLogisticClassifier"]
