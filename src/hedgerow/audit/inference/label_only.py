"""Label-only membership inference: whether a row is still predicted right when some attributes change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.inference.attacks import Attempt
from hedgerow.audit.inference.labelled import Index
from hedgerow.audit.inference.perturb import Neighbours
from hedgerow.errors import ArgumentError
from hedgerow.messages import shown_argument
from hedgerow.schema.schema import Schema

_MOST_ROWS = 100_000  # changed at a time, to bound memory


@dataclass(frozen=True)
class LabelOnlyAttack:
    """Takes a row for a member if its prediction is right, and stays right when some of its attributes change.

    A row that is predicted wrongly scores 0. Any other scores ½ and half the share of its changed copies that are still
    predicted right: `draws` copies at each distance from 1 to `max_distance`, where a copy at distance d has other
    values in d attributes drawn at random. A value is another one if it falls into another bin of the schema; it is
    drawn from the rows that the attacker knows, each other bin that occurs there being equally likely. Attributes with
    one bin in these rows stay.

    Without a schema, every column is one bit, and changing it flips it. That is what SSRL tried on one-hot columns,
    where most changed rows cannot exist; it names changing the original attributes and binarising again as future work.
    This is what a schema does: changed rows are rows of the original table, which the model puts into bins itself.

    Attributes
    ----------
    schema : Schema, optional
        What an attribute is. Default: the schema of the model attacked; if it has none, all columns must be booleans
        or 0/1, and each is a bit.
    max_distance : int, default=4
        How many attributes are changed at most.
    draws : int, default=10
        Changed copies of each row at each distance.

    References
    ----------
    Choquette-Choo, Tramèr, Carlini and Papernot, *Label-Only Membership Inference Attacks*, ICML 2021. SSRL, Appendix
    C.2.
    """

    schema: Schema | None = None
    max_distance: int = 4
    draws: int = 10

    def __post_init__(self) -> None:
        for name in ("max_distance", "draws"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ArgumentError(f"{name} must be a whole number >= 1, got {shown_argument(value)}.")

    def scores(self, attempt: Attempt) -> NDArray[np.float64]:
        """Return how robustly each suspect is predicted right, from 0 to 1."""
        rows = attempt.rows
        known = np.concatenate([attempt.members, attempt.others])
        neighbours = Neighbours.of(rows, known, self.schema or attempt.schema)
        right = attempt.predictions[attempt.suspects] == rows.values[attempt.suspects]
        scores = np.zeros(len(attempt.suspects))
        if right.any():
            scores[right] = 0.5 + self._robustness(attempt, neighbours, attempt.suspects[right]) / 2
        return scores

    def _robustness(self, attempt: Attempt, neighbours: Neighbours, index: Index) -> NDArray[np.float64]:
        """Return the share of changed copies of each row that are predicted right, many copies at a time."""
        truth, still = attempt.rows.values[index], np.zeros(len(index))
        distances = range(1, min(self.max_distance, len(neighbours)) + 1)
        at_once = max(_MOST_ROWS // len(index), 1)
        for distance in distances:
            for start in range(0, self.draws, at_once):
                copies = min(at_once, self.draws - start)
                changed = neighbours.draw(np.tile(index, copies), distance, attempt.rng)
                still += (attempt.predict(changed).reshape(copies, -1) == truth).sum(axis=0)
        return still / (self.draws * len(distances))

    def __str__(self) -> str:
        return f"label only, up to {self.max_distance} attributes changed, {self.draws} times each"
