"""Membership inference attacks on a learner, over repeated random splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from hedgerow.audit.inference.attacks import Attack, Attempt, LabelOnlyAttack, RandomForestAttack
from hedgerow.audit.inference.labelled import LabelledRows, label_values
from hedgerow.audit.inference.roc import Array, Membership, curve
from hedgerow.audit.inference.targets import check_known, factory_of, fitted_on
from hedgerow.boundary.arguments import check_integer, check_probability
from hedgerow.boundary.randomness import RandomState, generator
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.released import released_model
from hedgerow.text.messages import describe_argument
from hedgerow.text.progress import tracked

ATTACKS: Mapping[str, Callable[[], Attack]] = {"random-forest": RandomForestAttack, "label-only": LabelOnlyAttack}
"""The attacks that have a name."""


def membership(
    target: Any,
    X: Any,
    y: Any,
    *,
    attack: str | Attack = "random-forest",
    repeats: int = 100,
    train_share: float = 0.5,
    attack_share: float = 0.7,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Membership:
    """Attack a learner by membership inference: fit it on random halves of a table, and infer the training rows.

    Each time, the rows are split at random into members and non-members (`train_share`), and the target is fitted on
    all members. The attacker knows the membership of `attack_share` of the members and of the non-members, and scores
    the rest; the ROC curve is that of the rest. These are the splits of SSRL's Figure 5, whose shares are in the
    released code only: a half, and 70 %.

    An attack that fails proves nothing: others may succeed. Differential privacy bounds all of them.

    **The result is private**: a function of the rows, for the curator's eyes only. So are the models fitted meanwhile;
    they are not released, so pass the target no shared `Budget`.

    Parameters
    ----------
    target : estimator or callable
        The learner to attack: an unfitted estimator, which is cloned, or a function that returns one.
    X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
        The rows, as the target's `fit` accepts them.
    y : series or array of shape (n_rows,)
        Their labels.
    attack : {"random-forest", "label-only"} or Attack, default="random-forest"
        The attack. `RandomForestAttack` and `LabelOnlyAttack` describe theirs and have options.
    repeats : int, default=100
        The number of splits, each with a fit and an attack.
    train_share : float, default=0.5
        The share of the rows that the target is fitted on.
    attack_share : float, default=0.7
        The share of members, and of non-members, that the attacker knows.
    random_state : int, RandomState, Generator or None, default=None
        Makes the result reproducible, whatever `n_jobs` is. With a seed, parameters of the target named
        ``random_state`` that are None are set, too: the noise of private learners is then seeded.
    n_jobs : int, optional
        The number of processes, as in scikit-learn: None is one, -1 is all processors.
    verbose : bool, default=False
        Whether to show progress on stderr.

    Returns
    -------
    Membership
        The curves and areas over the splits; `plot()` draws them.

    Raises
    ------
    ValueError
        If a parameter is out of range, lengths disagree, labels are missing, of one class, or never predicted by the
        target, or there are too few rows to split. Errors of `fit` are passed on.
    TypeError
        If the target has no `fit` and `predict`, or the attack no `scores`.

    Notes
    -----
    SSRL's released code swaps the two rates of every point below the diagonal before it averages, which lifts the mean
    above the diagonal for any attack, including random guessing. Here curves are not changed.

    References
    ----------
    Shokri et al., *Membership Inference Attacks Against Machine Learning Models*, S&P 2017. Carlini et al., *Membership
    Inference Attacks From First Principles*, S&P 2022, for rates in logarithmic scale. Ly et al. (SSRL), *Smooth
    Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, Appendix C.2, Figures 5 and 6.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import hedgerow as hr
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 5)), rng.integers(2, size=400)
    >>> found = hr.audit.membership(DecisionTreeClassifier(), X, y, repeats=3, random_state=0)
    >>> found.auc > 0.6  # a fully grown tree memorises its training rows
    True
    """
    make = factory_of(target)
    how = _attack(attack)
    check_integer("repeats", repeats, 1)
    rows = LabelledRows.of(X, y)
    if len(np.unique(rows.values)) < 2:
        raise ArgumentError("expected two or more classes in y, got one.")
    check_probability("train_share", train_share)
    check_probability("attack_share", attack_share)
    shares = float(train_share), float(attack_share)
    sizes = _sizes(len(rows), *shares)
    seeded = random_state is not None
    trials = [Trial(make, rows, how, sizes, rng, seeded) for rng in generator(random_state).spawn(repeats)]
    done = Parallel(n_jobs=n_jobs, return_as="generator")(map(delayed(_run), trials))
    found = list(tracked(done, "membership inference", repeats, verbose=verbose))
    curves, aucs = np.array([one for one, _ in found]), np.array([auc for _, auc in found])
    for array in (curves, aucs):
        array.setflags(write=False)
    return Membership(type(make()).__name__, str(how), sizes, curves, aucs)


@dataclass(frozen=True, repr=False, eq=False)
class Trial:
    """One random split of the rows, with one fit and one attack."""

    make: Callable[[], Any]
    rows: LabelledRows
    attack: Attack
    sizes: tuple[int, int, int, int]
    rng: np.random.Generator
    seeded: bool

    def run(self) -> tuple[Array, float]:
        """Split, fit and attack; return the curve and the area under it."""
        sets = np.split(self.rng.permutation(len(self.rows)), np.cumsum(self.sizes)[:-1])
        known, known_others, members, others = sets
        fitted = fitted_on(self.make, self.rows, np.concatenate([known, members]), self.rng, seeded=self.seeded)

        def predict(table: Any) -> Any:
            return label_values(fitted.predict(table))

        predictions = predict(self.rows.X(np.arange(len(self.rows))))
        check_known(fitted, self.rows, predictions)
        model = released_model(fitted)
        schema = None if model is None else model.schema
        suspects = np.concatenate([members, others])
        attempt = Attempt(self.rows, predict, predictions, known, known_others, suspects, schema, self.rng)
        scores = np.asarray(self.attack.scores(attempt), dtype=np.float64)
        return curve(scores[: len(members)], scores[len(members) :])


def _run(trial: Trial) -> tuple[Array, float]:
    return trial.run()


def _attack(attack: Any) -> Attack:
    if isinstance(attack, str):
        if attack not in ATTACKS:
            names = ", ".join(sorted(ATTACKS))
            raise ArgumentError(f"expected one of {names}, or an Attack, as attack, got {describe_argument(attack)}.")
        return ATTACKS[attack]()
    if isinstance(attack, type) or not callable(getattr(attack, "scores", None)):
        raise ArgumentTypeError(
            f"expected a name, or an object with scores(attempt), as attack, got {describe_argument(attack)}."
        )
    return attack


def _sizes(n: int, train_share: float, attack_share: float) -> tuple[int, int, int, int]:
    """Return the number of known members, known non-members, members to score, and non-members to score."""
    members = int(n * train_share)
    known, known_others = int(members * attack_share), int((n - members) * attack_share)
    sizes = known, known_others, members - known, n - members - known_others
    if min(sizes) < 1:
        raise ArgumentError("expected at least one row in each of the four sets of a split, got fewer; pass more rows.")
    return sizes
