"""Membership inference by shadow fits: the likelihood-ratio attack and RMIA on any learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.arguments import check_whole
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.inference.shadow_result import ShadowMembership, shadow_attack
from hedgerow.audit.inference.shadows import ShadowAttack, shadow_fits
from hedgerow.audit.inference.targets import factory_of
from hedgerow.errors import ArgumentError
from hedgerow.randomness import RandomState, generator

_FEWEST = 4  # splits: three to learn an attack from
_FEWEST_ROWS = 20


def lira(
    target: Any,
    X: Any,
    y: Any,
    *,
    attack: str | ShadowAttack = "online",
    repeats: int = 32,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> ShadowMembership:
    """Attack a learner by likelihood ratios: fit it on both sides of random splits, and infer who was in which.

    The attacker knows the rows, their labels and the learner, refits it at will, and sees the model under attack as a
    black box. Each time, a coin for each row decides on which side of a split it is, with a fit on each side; every fit
    is attacked once, with the fits of all *other* splits as shadows, so every row is in half of the shadow fits.
    `ShadowMembership` has the ROC curve, and what each row shows by itself; its `by` tries another attack by the same
    fits.

    An attack that fails proves nothing: others may succeed. Differential privacy bounds all of them, and
    `exact_membership` computes the best one where a model is drawn as a whole.

    **The result is private**: a function of the rows, for the curator's eyes only. So are the models fitted meanwhile;
    they are not released, so pass the target no shared `Budget`.

    Parameters
    ----------
    target : estimator or callable
        The learner to attack: an unfitted estimator, which is cloned, or a function that returns one. Its
        `predict_proba` is attacked, or, if it has none, its `predict`.
    X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
        The rows, as the target's `fit` accepts them.
    y : series or array of shape (n_rows,)
        Their labels.
    attack : {"online", "offline", "rmia", "rmia-offline"} or ShadowAttack, default="online"
        The likelihood ratio of shadow fits with the row and without it, `OnlineLira`, or a test by those without it
        alone, `OfflineLira`; `Rmia` and `OfflineRmia` compare a row with other rows.
    repeats : int, default=32
        The number of splits, each with two fits; at least 4. A row that every split tells apart has the p-value
        ``2**-repeats``: of 1,000 rows, fewer than 15 splits show none beyond chance.
    random_state : int, RandomState, Generator or None, default=None
        Makes the result reproducible, whatever `n_jobs` is. With a seed, parameters of the target named
        ``random_state`` that are None are set, too: the noise of private learners is then seeded.
    n_jobs : int, optional
        The number of processes, as in scikit-learn: None is one, -1 is all processors.
    verbose : bool, default=False
        Whether to show progress on stderr.

    Returns
    -------
    ShadowMembership
        Areas and rates with intervals over splits, and the rows' separation; `plot()` draws the curve.

    Raises
    ------
    ValueError
        If a parameter is out of range, lengths disagree, there are fewer than 20 rows, or labels are missing, of one
        class, or never predicted by the target. Errors of `fit` are passed on.
    TypeError
        If the target has no `fit` and `predict`, or the attack no `scores`.

    References
    ----------
    Carlini, Chien, Nasr, Song, Terzis and Tramèr, *Membership Inference Attacks From First Principles*, S&P 2022.
    Zarifzadeh, Liu and Shokri, *Low-Cost High-Power Membership Inference Attacks*, ICML 2024; its authors' code, too,
    leaves out the other fit of a split.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import hedgerow as hr
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    >>> found = hr.audit.lira(DecisionTreeClassifier(), X, y, repeats=8, random_state=0)
    >>> found.auc > 0.7, found.by("rmia").auc > 0.7  # a fully grown tree memorises its training rows
    (True, True)
    """
    make, how = factory_of(target), shadow_attack(attack)
    check_whole("repeats", repeats, _FEWEST)
    rows = LabelledRows.of(X, y)
    if len(np.unique(rows.values)) < 2:
        raise ArgumentError("expected two or more classes in y, got one.")
    if len(rows) < _FEWEST_ROWS:
        raise ArgumentError(
            f"expected {_FEWEST_ROWS} rows or more, got {len(rows)}: coins could leave a fit without any."
        )
    shadows = shadow_fits(
        make,
        rows,
        generator(random_state).spawn(repeats),
        seeded=random_state is not None,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    return ShadowMembership.of(type(make()).__name__, how, shadows)
