"""Label-only membership inference: robustness of a row's prediction to perturbed attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.arguments import check_whole
from hedgerow.audit.inference.attacks import Attempt
from hedgerow.audit.inference.labelled import Index
from hedgerow.audit.inference.perturb import Perturber
from hedgerow.schema.schema import Schema

_MOST_ROWS = 100_000  # perturbed at a time, to bound memory


@dataclass(frozen=True)
class LabelOnlyAttack:
    """Membership inference from predicted labels of perturbed copies of a row: robust correct predictions score high.

    A misclassified row scores 0. Any other scores ½ plus half the share of its perturbed copies that are classified
    correctly: `draws` copies at each distance from 1 to `max_distance`, where a copy at distance d has other values in
    d attributes drawn at random. Other values lie in other bins of the schema; they are drawn from the rows that the
    attacker knows, each other bin that occurs there being equally likely. Attributes with a single bin in these rows
    are not perturbed.

    Without a schema, every column is one bit, and a perturbation flips it. SSRL did this on one-hot columns, where most
    perturbed rows cannot exist; it names perturbing the original attributes and binarising again as future work. With a
    schema, perturbed rows are rows of the original table, which the model discretises itself.

    Attributes
    ----------
    schema : Schema, optional
        The attributes. Default: the schema of the model attacked; if it has none, all columns must be booleans or 0/1,
        and each is a bit.
    max_distance : int, default=4
        The largest number of perturbed attributes.
    draws : int, default=10
        Perturbed copies of each row at each distance.

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
            object.__setattr__(self, name, check_whole(name, getattr(self, name), 1))

    def scores(self, attempt: Attempt) -> NDArray[np.float64]:
        """Return the robustness of the correct prediction of each suspect, from 0 to 1."""
        rows = attempt.rows
        known = np.concatenate([attempt.members, attempt.non_members])
        perturber = Perturber.of(rows, known, self.schema or attempt.schema)
        right = attempt.predictions[attempt.suspects] == rows.values[attempt.suspects]
        scores = np.zeros(len(attempt.suspects))
        if right.any():
            scores[right] = 0.5 + self._robustness(attempt, perturber, attempt.suspects[right]) / 2
        return scores

    def _robustness(self, attempt: Attempt, perturber: Perturber, index: Index) -> NDArray[np.float64]:
        """Return the share of perturbed copies of each row that are classified correctly, many copies at a time."""
        truth, correct = attempt.rows.values[index], np.zeros(len(index))
        distances = range(1, min(self.max_distance, len(perturber)) + 1)
        at_once = max(_MOST_ROWS // len(index), 1)
        for distance in distances:
            for start in range(0, self.draws, at_once):
                copies = min(at_once, self.draws - start)
                perturbed = perturber.draw(np.tile(index, copies), distance, attempt.rng)
                correct += (attempt.predict(perturbed).reshape(copies, -1) == truth).sum(axis=0)
        return correct / (self.draws * len(distances))

    def __str__(self) -> str:
        return f"label-only, up to {self.max_distance} attributes perturbed, {self.draws} copies each"
