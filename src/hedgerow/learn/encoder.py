"""Transformer that encodes rows by the tests of a schema and learns nothing from rows."""

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
    """Encoder of rows as binary columns: a column for each test of a declared schema.

    Tests are, for example, ``age <= 30``, ``ward = surgery`` and ``dose is missing``. The encoding of a row depends on
    the schema and on this row only. Neighbouring tables therefore stay neighbouring, and a private estimator later in
    the pipeline keeps its guarantee without a `PreparationWarning`. Use it to train other learners on the same tests,
    such as logistic regression to compare with a scorecard, or boosting to compare with a tree.

    Parameters
    ----------
    schema : Schema
        The declared schema of the columns. Its label is not used.

    Attributes
    ----------
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str, shape (n_columns,)
        The names of the columns that the schema needs. Set only if the columns of the table have names.

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
        """Check the columns of a table. No row is read.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            The table. The columns of an array are in the schema's order.
        y : object, optional
            Ignored.

        Returns
        -------
        SchemaEncoder
            The encoder itself.

        Raises
        ------
        TypeError
            If `schema` is not a `Schema`.
        ValueError
            If the schema was learned under a charge, has no guarantee, or declares a unit or a weight, because a
            private estimator later in the pipeline would not know of it; or if two tests have the same text.
        DomainError
            If the table lacks a column of the schema.
        """
        table = self._checked(X)
        names = self.get_feature_names_out().tolist()
        if len(set(names)) < len(names):
            raise ArgumentError("two tests of the schema have the same text; rename a column.")
        self.n_features_in_ = table.width
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        return self

    def transform(self, X: Any) -> Mask:
        """Return the result of each test for each row.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            The table.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_tests)
            Whether the row satisfies the test.

        Raises
        ------
        DomainError
            If the schema does not allow a value.
        """
        table, tests = self._checked(X), self._tests
        codes = self.schema.encode(table, sorted({test.attribute for test in tests}))
        columns = [self.schema[test.attribute].truth(test)[codes[test.attribute]] for test in tests]
        return np.column_stack(columns) if columns else np.zeros((len(table), 0), dtype=np.bool_)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the tests as text, in the order of the columns of `transform`."""
        self._check_schema()
        return np.array([str(test) for test in self._tests], dtype=object)

    @property
    def _tests(self) -> list[Literal]:
        return [literal for (literal,) in Space.of_trees(self.schema).antecedents]

    def _check_schema(self) -> None:
        if not isinstance(self.schema, Schema):
            raise ArgumentTypeError(f"schema must be a Schema, got {type(self.schema).__name__}.")
        if self.schema.charges or self.schema.no_guarantee or self.schema.unit or self.schema.weight:
            problem = "the schema must have no charge, unit, weight or missing guarantee: later steps would ignore them"
            advice = "Fit a private estimator with this schema on the table itself, or encode without a guarantee"
            raise ArgumentError(f"{problem}. {advice} by Schema(schema.attributes, schema.label).")

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
