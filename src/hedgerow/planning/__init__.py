"""Forecasts of private fits from public information, before any budget is spent."""

from hedgerow.planning.constant import ConstantRisk
from hedgerow.planning.curve import Curve, LeftOut, Trial
from hedgerow.planning.expected import Expected, RareClass
from hedgerow.planning.forecast import Forecast
from hedgerow.planning.planner import plan

__all__ = ["ConstantRisk", "Curve", "Expected", "Forecast", "LeftOut", "RareClass", "Trial", "plan"]
