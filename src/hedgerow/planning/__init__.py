"""Forecasts of private fits from public numbers alone, before anything is spent."""

from hedgerow.planning.expected import Constant, Expected
from hedgerow.planning.forecast import Forecast, plan
from hedgerow.planning.simulation import Simulated

__all__ = ["Constant", "Expected", "Forecast", "Simulated", "plan"]
