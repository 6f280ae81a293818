"""How likely a draw is to give each value to each pattern: the outside half of the inside-outside algorithm.

The search values all models below every state, the deepest states first. Here the chance that a draw comes to a state
is passed on in the other direction, from the root down:

    P(option taken at a state) = P(state) · go ⊗ value(caught) ⊗ value(left) ⊘ value(state)

and each branch of the option is come to with that chance. Where a branch is a leaf, its value is drawn by its rows. A
pattern's chance of a value is the sum over all leaves that it is in: one pass for all patterns and values, which is the
derivative of the logarithm of the root's value by the rows of each.

References
----------
Baker, *Trainable Grammars for Speech Recognition*, 1979; Eisner, *Inside-Outside and Forward-Backward Algorithms Are
Just Backprop*, 2016.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.semirings import Floats

MOST_WEIGHT = 500
"""The largest weight of draws whose chances are known: e⁻⁵⁰⁰ leaves room in float64 for `LeafShares.negligible`."""


@dataclass(frozen=True, eq=False, repr=False)
class DrawChances:
    """Exact chances of one draw over one table. **Private**: functions of the rows."""

    values: Floats  # the chance that the leaf of each pattern has each value of the loss
    sizes: Floats  # the chance of each size that can be drawn, the smallest first
    first: Floats  # the chance that the root is a leaf, then that of each option there
    uses: Floats  # how often each option is taken, on average


@dataclass(frozen=True)
class LeafShares:
    """The chances of a leaf's values, by its rows."""

    loss: Loss  # the loss of a row
    weight: float  # the weight of a loss of 1

    @property
    def negligible(self) -> float:
        """States that a draw comes to with a smaller chance, ``1e-45·e^(−weight)``, are left out.

        A row more or less makes no state likelier than ``e^weight`` times. So with that row or without it, all that is
        left out of 10⁹ states has a chance below 10⁻³⁶.
        """
        return float(1e-45 * np.exp(-self.weight))

    def __call__(self, counts: Floats) -> Floats:
        """Return the chance of each value in leaves of these rows of each class.

        From shape ``(n_classes, ...)`` to ``(n_values, ...)``.
        """
        losses = self.loss.totals(np.asarray(counts, dtype=np.float64).reshape(len(counts), -1))
        losses -= losses.min(axis=0)
        losses *= -self.weight / self.loss.steps
        shares = np.exp(losses, out=losses)
        shares /= shares.sum(axis=0)
        return shares.reshape(-1, *counts.shape[1:])


def size_chances(totals: Floats) -> Floats:
    """Return the chance of each size from the logarithms of the weights of all models of each size."""
    shares = np.exp(totals - totals.max())
    return shares / shares.sum()


def last_choices(log_each: Floats, weight: float, totals: Floats, more: Floats) -> tuple[Floats, Floats]:
    """Return the chances of the labels of an option's two leaves, of errors of two classes, where no more follows.

    Where both have the same label, all options of a state are alike. Where they have not, the loss is half of the
    state's rows, less half of how many more rows have the label that one branch has there than have the other one.
    """
    log_each = log_each - 2 * np.log(2)
    alike = np.exp(log_each - weight * totals[::-1])
    half, more = (log_each - weight / 2 * totals.sum(axis=0))[..., None], weight / 2 * more.astype(np.float64)
    return alike, np.exp(np.stack([half + more, half - more]))
