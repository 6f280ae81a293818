"""Private synthetic data: the source's rows, weighted and labelled by an oracle's answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arguments import check_whole
from hedgerow.frames import Table
from hedgerow.randomness import RandomState, generator


@dataclass(frozen=True, repr=False, eq=False)
class Synthetic:
    """The source with weights and labels. As public as the source: of the target it uses released answers only."""

    frame: Any  # the source's rows
    labels: NDArray[Any]  # the estimated labels
    weights: NDArray[np.float64]  # the weights; they sum to 1
    soft: NDArray[np.float64]  # the labels before they were rounded: the share of the positive class, in [0, 1]

    def __len__(self) -> int:
        return len(self.weights)

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Any, NDArray[Any]]:
        """Draw n rows by their weights, with replacement, and return them with their labels."""
        check_whole("n", n, 1)
        rows = generator(random_state).choice(len(self), size=int(n), p=self.weights)
        return Table.of(self.frame).take(rows), self.labels[rows]

    def __repr__(self) -> str:
        return f"<Synthetic of {len(self)} weighted rows>"
