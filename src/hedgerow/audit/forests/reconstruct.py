"""Reconstruction of a table from a forest, or from several models of it."""

from __future__ import annotations

from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.entropy.prior import Marginals, Prior
from hedgerow.audit.forests.evidence import classes_of, evidence_of, rows_of
from hedgerow.audit.forests.search import Cells, SolverResult, SolverSettings, most_likely
from hedgerow.audit.forests.table import GuessedTable
from hedgerow.audit.readers.read import Features
from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument


def reconstruct(
    models: Any,
    schema: Schema | None = None,
    *,
    rows: int | tuple[int, int] | None = None,
    noise: float | tuple[float, ...] | None = None,
    prior: Marginals | None = None,
    features: Features | None = None,
    seconds: float = 60,
    n_jobs: int = -1,
    random_state: int = 0,
) -> GuessedTable:
    """Find the most likely table of rows behind the leaf counts of a forest, or of several models of one table.

    The trees of a forest partition the same rows in many ways, and each stores how many rows of each class are in each
    part: few tables have all these counts, and often there is one. What is known of a count is

    - that it is true, of trees that were grown on all rows, and of hedgerow's models without privacy;
    - that it is of a bootstrap sample: draws with replacement, of which scikit-learn stores the number and how many
      different rows they were. Their likelihood is that of the multinomial distribution;
    - that it has Laplace noise, discrete or not, of a known scale.

    The search is over numbers of rows of each pattern that the models distinguish, by an integer program. Of values
    that no model distinguishes, the most probable one is guessed, and the median of numbers. No row is read: the result
    is as public as the models. Needs ``pip install 'hedgerow[forests]'``.

    Parameters
    ----------
    models : forest, model, Paths, or list of them
        Each a ``RandomForestClassifier`` or an ``ExtraTreesClassifier`` of scikit-learn, a ``Pipeline`` that ends in
        one, or any model with leaf counts that `reconstruction` reads: hedgerow's lists and trees, a decision tree.
        `Paths` are for forests of others: decision paths with their counts, and with ``view="noisy"`` where these have
        noise.
    schema : Schema, optional
        The values that each attribute can have. Default: the models' own, if they are hedgerow's.
    rows : int or tuple of two int, optional
        The number of rows, or the least and the largest. Default: as the models count it; those with noise do not.
    noise : float or list of float, optional
        The scale of the noise in released counts, which the privacy card has: 1/ε for counts released at ε by one tree.
        A list has one for each model; models with true counts take none.
    prior : mapping, optional
        For some attributes, the public probability of each bin, in order or by name; ``{}`` for a uniform prior on all
        values. The result is then the most likely table given the counts, whatever the order of its rows. Default:
        the table that makes the counts most likely, as DRAFT finds it.
    features : sequence of str or Literal, or fitted transformer, optional
        The meaning of each column that the models were fitted on, as for `reconstruction`.
    seconds : float, default=60
        When to stop with the best table so far.
    n_jobs : int, default=-1
        Threads of the search; -1 for all processors. With one, and enough time, the result is always the same.
    random_state : int, default=0
        The seed of the search, which chooses between tables that are equally likely.

    Returns
    -------
    GuessedTable
        The table, in no particular order of rows; whether it is optimal; `error` for how wrong it is about some rows.

    Raises
    ------
    ImportError
        If OR-Tools is not installed.
    TypeError
        If a model is none of those supported, such as a regression forest.
    SchemaError
        If the schema lacks an attribute that a model uses, or a model compares with a number outside its bounds.
    SearchTooLargeError
        If the models distinguish too many patterns; says how many.
    ValueError
        If a model has no leaf counts, or weighted ones, or several outputs; the number of rows or the scale of noise is
        needed and not given; no table has these counts; or none was found in time.

    References
    ----------
    Ferry, Fukasawa, Pascal and Vidal (DRAFT), *Trained Random Forests Completely Reveal your Dataset*, ICML 2024.
    Gorgé, Ferry, Gambs and Vidal (DRAFT-DP), *Training Set Reconstruction from Differentially Private Forests: How
    Effective is DP?*, SaTML 2026. Their variables are rows; here they are numbers of rows.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from hedgerow.schema import Boolean, Schema
    >>> schema = Schema({name: Boolean() for name in ("smoker", "female", "old")})
    >>> X, y = np.array([[0, 0, 1], [0, 1, 0], [1, 1, 0], [1, 1, 1]]), np.array([0, 1, 0, 1])
    >>> forest = RandomForestClassifier(20, bootstrap=False, max_features=1, random_state=0).fit(X, y)
    >>> guess = reconstruct(forest, schema, n_jobs=1)
    >>> guess.status, guess.error(X, y)
    ('optimal', 0.0)
    """
    settings = _settings(seconds, n_jobs, random_state)
    if not (schema is None or isinstance(schema, Schema)):
        raise ArgumentTypeError(f"expected a Schema or None as schema, got {type(schema).__name__}.")
    evidence, known = evidence_of(models, schema, features, noise)
    classes = classes_of(evidence, known)
    size = rows_of(evidence, rows, has_prior=prior is not None)
    domain = Domain.of(known, chain.from_iterable(one.paths.literals for one in evidence))
    masses = domain.weights if prior is None else Prior.of(prior, known, domain).masses
    cells = Cells.of(domain, [one.paths for one in evidence], masses, len(classes or (None,)))
    found = most_likely(cells, evidence, classes, size, settings, has_prior=prior is not None)
    return GuessedTable(
        cells.schema,
        np.repeat(cells.bins, found.rows.sum(axis=1), axis=0),
        None if classes is None else _labels(found, classes),
        "optimal" if found.is_optimal else "feasible",
        found.gap,
        found.seconds,
    )


def _settings(seconds: Any, n_jobs: Any, seed: Any) -> SolverSettings:
    if isinstance(seconds, bool) or not isinstance(seconds, Real) or not 0 < float(seconds) < 1e9:
        raise ArgumentError(f"seconds must be a number above 0 and below 1e9, got {describe_argument(seconds)}.")
    jobs = check_integer("n_jobs", n_jobs, -1)
    if jobs == 0 or jobs > 1024:
        raise ArgumentError(f"n_jobs must be -1 or a whole number from 1 to 1024, got {jobs}.")
    return SolverSettings(float(seconds), max(jobs, 0), check_integer("random_state", seed, 0) % 2**31)


def _labels(found: SolverResult, classes: tuple[Any, ...]) -> NDArray[Any]:
    """Return the class of each row, in the order of cells and, within them, of classes."""
    return np.array(
        [label for counts in found.rows.tolist() for label, n in zip(classes, counts, strict=True) for _ in range(n)]
    )
