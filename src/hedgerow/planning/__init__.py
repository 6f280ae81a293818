"""What a private fit can be expected to do, before anything is spent: of public numbers alone."""

from hedgerow.planning.expected import Expected
from hedgerow.planning.forecast import Forecast, plan
from hedgerow.planning.simulation import Simulated

__all__ = ["Expected", "Forecast", "Simulated", "plan"]
