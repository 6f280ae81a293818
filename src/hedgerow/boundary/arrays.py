"""Types of arrays, by the type of their entries."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Index = NDArray[np.intp]  # indices of another array
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Whole = NDArray[np.integer]  # whole numbers of any width
