"""Matplotlib's axes as a type, without waiting for it to be imported: pictures are few, and it takes long."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any

__all__ = ["Axes"]
