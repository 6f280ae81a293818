"""Reading methods of fitted estimators: pictures, rules, leaves and exports of the released model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.models.decisions import ClassWeight, Costs
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.model import DialectName, Model
from hedgerow.models.plot import check_matplotlib
from hedgerow.models.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Readable:
    """A classifier that holds a released model once it is fitted. Every method raises NotFittedError before that."""

    classes_: NDArray[Any]

    @property
    def _model(self) -> Any:
        """The released model."""
        raise NotImplementedError

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted  # takes long to import

        check_is_fitted(self)

    def _checked(self, X: Any) -> Any:
        """Return the rows as the model takes them."""
        self._check_fitted()
        return X

    @property
    def _read(self) -> Model:
        self._check_fitted()
        return self._model

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the model, and return the axes.

        Raises
        ------
        MissingPackageError
            Where matplotlib is not installed.
        """
        model = self._read
        check_matplotlib()
        return model.plot(ax)

    def to_sql(self, dialect: DialectName = "duckdb") -> str:
        """Return an expression in an engine's SQL that gives the predicted class; see `Model.to_sql`."""
        return self._read.to_sql(dialect)

    def to_html(self) -> str:
        """Return the model and its privacy card as an HTML fragment; names and values are escaped."""
        return self._read.to_html()

    def to_page(self) -> str:
        """Return a whole HTML page to be read and printed; see `RuleList.to_page`."""
        return self._read.to_page()

    def decide(self, X: Any, *, class_weight: ClassWeight | None = None, costs: Costs | None = None) -> NDArray[Any]:
        """Return the class of the least expected cost of each row, shape ``(n_samples,)``; see `RuleList.decide`."""
        rows = self._checked(X)
        return self._read.decide(rows, class_weight=class_weight, costs=costs).astype(self.classes_.dtype)

    def _repr_mimebundle_(self, **given: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**given)  # pyright: ignore -- BaseEstimator's
        if "text/html" in bundle:
            bundle["text/html"] = self._shown + bundle["text/html"]
        return bundle

    @property
    def _repr_html_(self) -> Any:
        diagram = super()._repr_html_  # pyright: ignore -- BaseEstimator's, which has none where text is displayed
        return lambda: self._shown + diagram()

    @property
    def _shown(self) -> str:
        """The fitted model, above scikit-learn's diagram of the parameters."""
        from sklearn.exceptions import NotFittedError  # takes long to import

        try:
            self._check_fitted()
        except NotFittedError:
            return ""
        return self._model._repr_html_()


class ReadableLeaves(Readable):
    """A classifier whose model has leaves: the rules of a list, or the leaves of a tree."""

    @property
    def _leaves(self) -> LeafModel:
        self._check_fitted()
        return self._model

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Return the rule or leaf of each row, shape ``(n_samples,)``, counted from 0 in the order of `get_rules`.

        For `X` and errors see `predict_proba`.
        """
        rows = self._checked(X)
        return self._leaves.apply(rows)

    def get_rules(self) -> list[dict[str, Any]]:
        """Return one record a rule or leaf: its number from 1, condition, prediction, probability, released counts.

        Probability and counts are None where none were released. ``pandas.DataFrame(clf.get_rules())`` makes a frame
        of it.
        """
        return self._leaves.get_rules()


class ReadablePoints(Readable):
    """A classifier whose model is a scorecard, which has points and no rules or leaves."""

    @property
    def _card(self) -> Scorecard:
        self._check_fitted()
        return self._model

    def get_points(self) -> list[dict[str, Any]]:
        """Return one record a bin: attribute, bin, points; see `Scorecard.get_points`."""
        return self._card.get_points()
