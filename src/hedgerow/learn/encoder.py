"""The tests of a schema as columns of 0 and 1: a step of a pipeline that learns nothing from rows."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from hedgerow.boundary.arrays import Mask
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.search.space import Space
from hedgerow.schema.attributes import Literal
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table


class SchemaEncoder(TransformerMixin, BaseEstimator):
    """Encode rows as answers to the tests of a declared schema: ``age <= 30``, ``ward = surgery``, ``dose is missing``.

    A row's answers depend on the schema and on the row alone, so what holds of neighbouring tables holds of the encoded
    ones, and a private estimator behind it keeps its guarantee without a `PreparationWarning`. For learners that take
    numbers: logistic regression beside a scorecard, boosting beside a tree, on the same tests.

    Parameters
    ----------
    schema : Schema
        What is public of the columns, as it was declared. Its label is not used.

    Attributes
    ----------
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str, shape (n_columns,)
        The columns that the schema needs; set where the table's have names.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> encoder = hr.SchemaEncoder(hr.Schema({"age": hr.Integer(0, 120, (30, 60)), "smoker": hr.Boolean()}))
    >>> encoder.fit_transform(np.array([[25, 1], [70, 0]])).astype(int)
    array([[1, 1, 1],
           [0, 0, 0]])
    >>> list(encoder.get_feature_names_out())
    ['age <= 30', 'age <= 60', 'smoker']
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 -- scikit-learn's signature
        """Check the columns of `X`, a frame, or an array in the schema's order; no row is looked at.

        Raises
        ------
        TypeError
            If the schema is none.
        ValueError
            If the schema was learned under a charge, has no guarantee, or declares a unit or a weight: a private
            estimator behind the encoder would know nothing of it. Or if two tests read alike.
        DomainError
            If the table lacks a column.
        """
        table = self._checked(X)
        names = self.get_feature_names_out().tolist()
        if len(set(names)) < len(names):
            raise ArgumentError("expected tests that read differently, got two written alike; rename a column.")
        self.n_features_in_ = table.width
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        return self

    def transform(self, X: Any) -> Mask:
        """Return the answers, shape ``(n_samples, n_tests)``; DomainError for a value that the schema refuses."""
        table, tests = self._checked(X), self._tests
        codes = self.schema.encode(table, sorted({literal.attribute for literal in tests}))
        answers = [self.schema[one.attribute].truth(one)[codes[one.attribute]] for one in tests]
        return np.column_stack(answers) if answers else np.zeros((len(table), 0), dtype=np.bool_)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the tests as text, in the order of the columns."""
        self._check_schema()
        return np.array([str(one) for one in self._tests], dtype=object)

    @property
    def _tests(self) -> list[Literal]:
        return [literal for (literal,) in Space.of_trees(self.schema).antecedents]

    def _check_schema(self) -> None:
        if not isinstance(self.schema, Schema):
            raise ArgumentTypeError(f"schema must be a Schema, got {type(self.schema).__name__}.")
        if self.schema.charges or self.schema.no_guarantee or self.schema.unit or self.schema.weight:
            problem = "expected a schema without charges, unit and weight, of which no later step would know; got one"
            raise ArgumentError(f"{problem} with some. Fit a private estimator with this schema on the table itself.")

    def _checked(self, X: Any) -> Table:
        self._check_schema()
        table = Table.of(X)
        self.schema.check_columns(table)
        return table

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags
