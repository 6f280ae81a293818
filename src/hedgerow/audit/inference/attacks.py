"""Membership inference attacks: the protocol, and the random forest on predictions and labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from hedgerow.audit.inference.labelled import Index, Rows
from hedgerow.schema.schema import Schema


@dataclass(frozen=True, repr=False, eq=False)
class Attempt:
    """What an attacker has to work with.

    Attributes
    ----------
    rows : Rows
        All rows with their labels. The attacker may look at those below only.
    predict : callable
        The model as a black box: the predicted class of each row of a table.
    predictions : ndarray of shape (n_rows,)
        The predicted class of all rows.
    members, others : ndarray of int
        Rows of which the attacker knows that the model was fitted on them, and that it was not.
    suspects : ndarray of int
        Rows to score.
    schema : Schema or None
        The schema of the model, if it has one.
    rng : numpy.random.Generator
        For whatever the attack draws.
    """

    rows: Rows
    predict: Callable[[Any], NDArray[Any]]
    predictions: NDArray[Any]
    members: Index
    others: Index
    suspects: Index
    schema: Schema | None
    rng: np.random.Generator


class Attack(Protocol):
    """A way to score rows: the higher, the more likely the model was fitted on them. `str` of it goes into reports."""

    def scores(self, attempt: Attempt) -> NDArray[np.float64]:
        """Return the score of each of ``attempt.suspects``."""
        ...


@dataclass(frozen=True)
class RandomForestAttack:
    """A random forest that learns from known rows how (prediction, true label) of members and others differ.

    Prediction and label enter one-hot. This is the black-box attack of the Adversarial Robustness Toolbox with
    ``attack_model_type="rf"``, which SSRL used; with the same seed, its scores are the same.

    Attributes
    ----------
    trees : int, default=100
        Trees in the forest.

    References
    ----------
    Shokri et al., *Membership Inference Attacks Against Machine Learning Models*, S&P 2017. SSRL, Appendix C.2.
    """

    trees: int = 100

    def scores(self, attempt: Attempt) -> NDArray[np.float64]:
        """Return the share of members that the forest expects among rows like each suspect."""
        rows, known = attempt.rows, np.concatenate([attempt.members, attempt.others])
        classes = np.unique(np.concatenate([rows.values, attempt.predictions]))
        features = np.column_stack([attempt.predictions[:, None] == classes, rows.values[:, None] == classes])
        member = np.repeat([1, 0], [len(attempt.members), len(attempt.others)])
        seed = int(attempt.rng.integers(2**31))
        forest = RandomForestClassifier(self.trees, random_state=seed).fit(features[known].astype(np.float32), member)
        return forest.predict_proba(features[attempt.suspects].astype(np.float32))[:, 1]

    def __str__(self) -> str:
        return "random forest on (prediction, true label)"
