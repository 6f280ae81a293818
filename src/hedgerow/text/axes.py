"""The type of Matplotlib's axes, without importing Matplotlib, which takes long."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any

__all__ = ["Axes"]
