"""Forecasts of private fits from public numbers alone, before anything is spent."""

from hedgerow.planning.constant import Constant
from hedgerow.planning.expected import Expected
from hedgerow.planning.forecast import Forecast
from hedgerow.planning.planner import plan
from hedgerow.planning.simulation import Simulated

__all__ = ["Constant", "Expected", "Forecast", "Simulated", "plan"]
