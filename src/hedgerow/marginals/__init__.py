"""Estimators that learn from noisy marginals of a private table, which stays with its curator."""

from hedgerow.marginals.expril import ExprilClassifier
from hedgerow.marginals.expril_regressor import ExprilRegressor
from hedgerow.marginals.linear import MarginalLinearRegressor
from hedgerow.marginals.logistic import MarginalLogisticClassifier

__all__ = ["ExprilClassifier", "ExprilRegressor", "MarginalLinearRegressor", "MarginalLogisticClassifier"]
