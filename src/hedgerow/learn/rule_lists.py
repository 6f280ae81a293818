"""Rule list estimators for scikit-learn: greedy without privacy, and private."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow._version import __version__
from hedgerow.columns import Table, column_of, is_frame, label_name
from hedgerow.errors import SchemaError
from hedgerow.learn.greedy import ExactChoice, PrivateChoice, grow, release_leaf_counts
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.privacy.budget import Budget, exact
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.noise import DiscreteLaplace, NoiseSource, PermuteAndFlip, SecureNoise, SeededNoise
from hedgerow.privacy.release import Gate
from hedgerow.privacy.selection import SENSITIVITY
from hedgerow.schema.booleans import boolean_schema
from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.schema.label import Label
from hedgerow.schema.public import public_attribute, public_classes
from hedgerow.schema.schema import Schema
from hedgerow.tally import Counts, Tally

SOFTWARE = f"hedgerow {__version__}"
FROM_DATA = "from-data"
MECHANISMS = ("permute-and-flip",)
LEAF_SHARE = Fraction(1, 5)  # of epsilon, for the counts of the leaves
BINS = 5  # intervals of a number whose domain is taken from the data
_NOTES = (
    "the names, types and order of the columns count as public, like the schema",
    "one row is one protected unit: a person with k rows in the table is protected with k times the epsilon",
    "errors about values outside the schema, and run time, are for the curator's eyes only: neither is noised",
)


class _RuleListClassifier(ClassifierMixin, BaseEstimator):
    """What both estimators share: from a table to a tally, and predictions from the fitted list."""

    max_rules: int
    max_literals: int
    negations: bool
    schema: Schema | str | None

    def fit(self, X: Any, y: Any) -> Self:
        """Learn a rule list from rows and labels.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            The rows. With a schema, a frame's columns are found by name and others ignored; an array's by position.
        y : series or array of shape (n_samples,)
            The labels.

        Returns
        -------
        self
            The fitted estimator; it holds released values only, no row and no tally.

        Raises
        ------
        ValueError
            If a parameter is out of range or, as `DomainError`, a value does not fit the schema (names the column,
            never the value), or, as `BudgetExceededError`, the shared budget has too little left.
        """
        self._check_parameters()
        if isinstance(y, str):
            raise TypeError(f"y must be the labels, not the name of a column: fit(X, X[{y!r}]).")
        if isinstance(self.schema, str):
            X, y, schema = self._schema_from_data(X, y)
        else:
            table = Table.of(X)
            schema = boolean_schema(table.column_names, y) if self.schema is None else self.schema
            _check_usable(schema)
            schema.check_columns(table)
            _check_labels(table, y)
        return self._learn(
            schema, lambda: Tally.count(X, y, schema if isinstance(self.schema, (Schema, str)) else None)
        )

    def fit_tally(self, tally: Tally) -> Self:
        """Learn a rule list from a tally counted elsewhere; its schema takes the place of the parameter `schema`.

        Parameters
        ----------
        tally : Tally
            The counted table. What learning it costs, and what is guaranteed, is as for `fit`.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        TypeError
            If `tally` is not a Tally.
        ValueError
            As `fit` does.
        """
        self._check_parameters()
        if not isinstance(tally, Tally):
            raise TypeError(f"Expected a Tally, got {type(tally).__name__}.")
        if not tally.schema.void:
            _check_usable(tally.schema)
        return self._learn(tally.schema, lambda: tally)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each row, shape ``(n_samples,)``; see `predict_proba` for `X` and errors."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities from the released counts, shape ``(n_samples, n_classes)``.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            Rows. Of a frame only the columns that the rules use are needed.

        Raises
        ------
        NotFittedError
            Before `fit`.
        DomainError
            If a column that the rules use is absent or holds values the schema does not allow.
        """
        check_is_fitted(self)
        if self.schema == FROM_DATA and self.rule_list_.schema.void:
            X = validate_data(self, X, reset=False, **_array_checks(X))
        return self.rule_list_.predict_proba(X)

    def _schema_from_data(self, X: Any, y: Any) -> tuple[Any, Any, Schema]:
        """Validate as scikit-learn does and cut the schema out of the rows themselves, which voids any guarantee."""
        name = label_name(y)
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
        else:
            X, y = validate_data(self, X, y, **_array_checks(X))
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        check_classification_targets(y)
        table, labels = Table.of(X), column_of(y, name)
        classes = public_classes(labels)
        if len(classes) < 2:
            raise ValueError("y holds one class only; expected two or more.")
        attributes = {
            column: public_attribute(table.column(column, position), BINS)
            for position, column in enumerate(table.column_names)
            if column != name
        }
        return X, y, Schema(tuple(attributes.items()), Label(name, classes), void="domain taken from the data")

    def _check_parameters(self) -> None:
        for name, low in (("max_rules", 1), ("max_literals", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
                raise ValueError(f"{name} must be a whole number >= {low}, got {value!r}.")
        if not isinstance(self.negations, (bool, np.bool_)):
            raise ValueError(f"negations must be True or False, got {self.negations!r}.")
        if not (self.schema is None or isinstance(self.schema, Schema) or self.schema == FROM_DATA):
            raise ValueError(
                f"schema must be a Schema (Schema.load reads a file), None or {FROM_DATA!r}, got {self.schema!r}."
            )

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        raise NotImplementedError

    def _publish(self, schema: Schema, antecedents: tuple[Antecedent, ...], counts: Counts, card: PrivacyCard) -> Self:
        rules = tuple(
            Rule(antecedent, tuple(map(int, row))) for antecedent, row in zip([*antecedents, ()], counts, strict=True)
        )
        if not schema.void:  # else scikit-learn has seen to them
            self.n_features_in_ = len(schema)
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        self.classes_ = np.array(schema.classes)
        self.privacy_ = card
        self.rule_list_ = RuleList(schema, rules, card)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class GreedyRuleListClassifier(_RuleListClassifier):
    """A rule list grown greedily by Gini impurity. **Not private**: the list and its counts are exact.

    Parameters
    ----------
    max_rules : int, default=5
        Rules in the list, the default rule included.
    max_literals : int, default=2
        Literals in a rule.
    negations : bool, default=True
        Whether ``not a`` and ``a != v`` are literals too.
    min_support : float, default=0.05
        The share of all rows that a rule must catch.
    schema : Schema, None or "from-data", default="from-data"
        The public schema; None for columns that are all booleans or 0/1; "from-data" cuts one out of the rows.

    Attributes
    ----------
    rule_list_ : RuleList
        The model.
    privacy_ : PrivacyCard
        Says that there is no guarantee.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Ly et al., *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, Section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> print(GreedyRuleListClassifier(schema=None).fit(X, X[:, 0] & X[:, 1]).rule_list_)
    if x0 and x1 then 1    # 100.0 % of 10
    else 0                 # 100.0 % of 30
    """

    def __init__(
        self,
        *,
        max_rules: int = 5,
        max_literals: int = 2,
        negations: bool = True,
        min_support: float = 0.05,
        schema: Schema | str | None = FROM_DATA,
    ) -> None:
        self.max_rules = max_rules
        self.max_literals = max_literals
        self.negations = negations
        self.min_support = min_support
        self.schema = schema

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.min_support, Real) or not 0 <= self.min_support < 1:
            raise ValueError(f"min_support must be in [0, 1), got {self.min_support!r}.")

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        candidates = Candidates.of(schema, self.max_literals, negations=bool(self.negations))
        tally = count()
        choose = ExactChoice(float(self.min_support), int(tally.total().sum()))
        antecedents = grow(tally, candidates, int(self.max_rules) - 1, choose)
        card = PrivacyCard.none("not private", software=SOFTWARE)
        return self._publish(schema, antecedents, tally.leaf_counts(antecedents), card)


class PrivateRuleListClassifier(_RuleListClassifier):
    """A rule list learned and released under pure ε-differential privacy.

    Neighbouring tables differ by adding or removing one row. Each of up to ``max_rules - 1`` rules is chosen by
    permute-and-flip on the negated Gini impurity in rows, a monotone score of sensitivity 2; 80 % of ε is shared
    equally by the choices. The rest of ε, and what unused choices leave, buys one histogram of rules by class
    (sensitivity 1), which gives all predictions and displayed counts. The total is exactly `epsilon`, and the card
    adds to it what the schema's cut points cost where they were learned.

    Parameters
    ----------
    epsilon : float
        The privacy loss of the whole model, > 0. Must be chosen.
    max_rules : int, default=5
        Rules in the list, the default rule included (SSRL's K).
    max_literals : int, default=2
        Literals in a rule.
    negations : bool, default=True
        Whether ``not a`` and ``a != v`` are literals too.
    mechanism : {"permute-and-flip"}, default="permute-and-flip"
        How rules are chosen.
    schema : Schema, None or "from-data", default=None
        The public schema. None: all columns and the label are booleans or 0/1, whose domain is public. "from-data" cuts
        the domain out of the rows, which voids the guarantee; the card says so.
    budget : Budget, optional
        A budget to charge `epsilon` to, shared with other releases; a fit that would overdraw it is refused. Default: a
        budget of its own for every fit.
    random_state : int, RandomState or None, default=None
        None: secure noise. Anything else: a seeded generator, for research and tests, which voids the guarantee.

    Attributes
    ----------
    rule_list_ : RuleList
        The released model.
    privacy_ : PrivacyCard
        What was spent, on what, and what is guaranteed.
    classes_ : ndarray of shape (n_classes,)
        The class labels, from the schema.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    McKenna and Sheldon, *Permute-and-Flip: A New Mechanism for Differentially Private Selection*, NeurIPS 2020.
    Ly et al., *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, 2024, for the task.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> clf = PrivateRuleListClassifier(epsilon=1.0, max_rules=2).fit(X, X[:, 0] & X[:, 1])
    >>> [len(clf.rule_list_), float(clf.privacy_.epsilon), clf.privacy_.is_private]
    [2, 1.0, True]
    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        max_rules: int = 5,
        max_literals: int = 2,
        negations: bool = True,
        mechanism: str = "permute-and-flip",
        schema: Schema | str | None = None,
        budget: Budget | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.max_rules = max_rules
        self.max_literals = max_literals
        self.negations = negations
        self.mechanism = mechanism
        self.schema = schema
        self.budget = budget
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.epsilon is None:
            raise ValueError("epsilon must be chosen: the privacy loss to spend on this model, such as epsilon=1.0.")
        if exact(self.epsilon, "epsilon") == 0:
            raise ValueError("epsilon must be a number > 0, got 0.")
        if self.mechanism not in MECHANISMS:
            raise ValueError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {self.mechanism!r}.")
        if not (self.budget is None or isinstance(self.budget, Budget)):
            raise ValueError(f"budget must be a Budget or None, got {type(self.budget).__name__}.")

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        assert self.epsilon is not None
        candidates = Candidates.of(schema, self.max_literals, negations=bool(self.negations))
        noise, share, most = self._noise(), Budget(self.epsilon), int(self.max_rules) - 1
        each = share.epsilon * (1 - LEAF_SHARE) / max(most, 1)
        for mechanism in (PermuteAndFlip(each, SENSITIVITY), DiscreteLaplace(share.epsilon * LEAF_SHARE)):
            noise.prepare(mechanism)  # an epsilon too small to be of use is refused before it is charged
        if self.budget is not None:
            share = self.budget.allocate(share.epsilon, purpose=f"{type(self).__name__}: one rule list")
        gate, tally = Gate(share, noise), count()
        antecedents = grow(tally, candidates, most, PrivateChoice(gate, each))
        counts = release_leaf_counts(tally, antecedents, gate, share.remaining)
        card = PrivacyCard(
            schema.charges + share.charges,
            noise=noise.description,
            software=SOFTWARE,
            void="; ".join(filter(None, [schema.void, noise.void])) or None,
            notes=_NOTES,
        )
        return self._publish(schema, antecedents, counts, card)

    def _noise(self) -> NoiseSource:
        if self.random_state is None:
            return SecureNoise()
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return SeededNoise(np.random.default_rng(seed))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


def _check_usable(schema: Schema) -> None:
    """Check that a schema has classes, and that every number can stand in a rule."""
    schema.classes  # noqa: B018 -- raises where the schema declares no label
    for name, attribute in schema.attributes:
        if getattr(attribute, "cuts", None) == ():
            raise SchemaError(
                "a number without cut points cannot stand in a rule; give it cut points (`hedgerow schema learn` and "
                "Schema.learn find them under a charge) or leave the attribute out.",
                attribute=name,
                key="cuts",
            )


def _check_labels(table: Table, y: Any) -> None:
    shape = np.shape(y)
    if len(shape) != 1:
        raise ValueError(f"y must be one column of labels, got {len(shape)} dimensions.")
    if shape[0] != len(table):
        raise ValueError("y must have as many labels as X has rows.")


def _array_checks(X: Any) -> dict[str, Any]:
    """Return how scikit-learn should validate: frames keep their columns' types, arrays become numbers."""
    return {"skip_check_array": True} if is_frame(X) else {"ensure_all_finite": "allow-nan"}
