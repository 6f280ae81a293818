"""Extents: the bins of an attribute on which a literal is true, stored as one run of bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Extent:
    """A set of an attribute's bins; equal sets are equal extents.

    Attributes
    ----------
    n_known : int
        How many bins there are of values inside the domain.
    start, stop : int
        The run of known bins from `start` up to and without `stop`.
    inverted : bool
        Whether the set has all known bins but those of the run.
    missing, outside : bool or None
        Whether the set has the bin of missing values, and that of values outside the domain. None: there is no such
        bin.

    Examples
    --------
    >>> Extent(4, 0, 3).complement() == Extent(4, 3, 4)
    True
    >>> Extent(3, 1, 2, inverted=True, missing=False).truth()
    array([ True, False,  True, False])
    """

    n_known: int
    start: int
    stop: int
    inverted: bool = False
    missing: bool | None = None
    outside: bool | None = None

    def __post_init__(self) -> None:
        start, stop = self.start, self.stop
        if start >= stop:
            start = stop = 0
        flipped = self.inverted and (start == 0 or stop == self.n_known)
        if flipped:  # the complement of a run at an end is a run
            start, stop = (stop, self.n_known) if start == 0 else (0, start)
        if start >= stop:
            start = stop = 0
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "stop", stop)
        object.__setattr__(self, "inverted", self.inverted and not flipped)

    @property
    def only_known(self) -> int | None:
        """The one known bin in the set; None if there are more, or none."""
        return self.start if self.stop - self.start == 1 and not self.inverted else None

    @property
    def is_trivial(self) -> bool:
        """True if the set is empty, or has all bins."""
        others = {flag for flag in (self.missing, self.outside) if flag is not None}
        size = self.stop - self.start
        return not self.inverted and size in (0, self.n_known) and others <= {size > 0}

    def complement(self) -> Extent:
        """Return the set of all other bins."""
        missing, outside = (None if flag is None else not flag for flag in (self.missing, self.outside))
        return Extent(self.n_known, self.start, self.stop, not self.inverted, missing, outside)

    def truth(self) -> NDArray[np.bool_]:
        """Return for each bin whether it is in the set, those of missing and outside values last."""
        known = np.full(self.n_known, self.inverted)
        known[self.start : self.stop] = not self.inverted
        return np.append(known, [flag for flag in (self.missing, self.outside) if flag is not None]).astype(bool)
