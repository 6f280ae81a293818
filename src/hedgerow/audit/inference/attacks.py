"""Membership inference attacks: the protocol, and the random forest on predictions and labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from hedgerow.audit.inference.labelled import Index, LabelledRows
from hedgerow.schema.schema import Schema


@dataclass(frozen=True, repr=False, eq=False)
class Attempt:
    """The knowledge of an attacker, and the rows to score.

    Attributes
    ----------
    rows : LabelledRows
        All rows with their labels. The attacker may read the rows below only.
    predict : callable
        The model as a black box: the predicted class of each row of a table.
    predictions : ndarray of shape (n_rows,)
        The predicted class of all rows.
    members, non_members : ndarray of int
        Training rows, and held-out rows, that the attacker knows to be such.
    suspects : ndarray of int
        Rows to score, of unknown membership.
    schema : Schema or None
        The schema of the model, if it has one.
    rng : numpy.random.Generator
        The source of randomness of the attack.
    """

    rows: LabelledRows
    predict: Callable[[Any], NDArray[Any]]
    predictions: NDArray[Any]
    members: Index
    non_members: Index
    suspects: Index
    schema: Schema | None
    rng: np.random.Generator


class Attack(Protocol):
    """A scoring of rows: a higher score means that membership is more likely. Reports contain `str` of it."""

    def scores(self, attempt: Attempt) -> NDArray[np.float64]:
        """Return the score of each of ``attempt.suspects``."""
        ...


@dataclass(frozen=True)
class RandomForestAttack:
    """A random forest on (prediction, true label), fitted on known members and non-members.

    Prediction and label are one-hot encoded. This is the black-box attack of the Adversarial Robustness Toolbox with
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
        """Return the membership probability of each suspect by the forest."""
        rows, known = attempt.rows, np.concatenate([attempt.members, attempt.non_members])
        classes = np.unique(np.concatenate([rows.values, attempt.predictions]))
        features = np.column_stack([attempt.predictions[:, None] == classes, rows.values[:, None] == classes])
        member = np.repeat([1, 0], [len(attempt.members), len(attempt.non_members)])
        seed = int(attempt.rng.integers(2**31))
        forest = RandomForestClassifier(self.trees, random_state=seed).fit(features[known].astype(np.float32), member)
        return forest.predict_proba(features[attempt.suspects].astype(np.float32))[:, 1]

    def __str__(self) -> str:
        return "random forest on (prediction, true label)"
