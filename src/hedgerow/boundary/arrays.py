"""Types of arrays, by what their entries are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Index = NDArray[np.intp]  # places in another array
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Whole = NDArray[np.integer]  # whole numbers of any width
