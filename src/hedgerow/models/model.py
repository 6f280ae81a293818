"""Base class of released models: the model file, and what every model does."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.durable import write_whole
from hedgerow.errors import ArgumentTypeError, HedgerowError, ModelFormatError
from hedgerow.models import envelope
from hedgerow.models.decisions import ClassWeight, Costs, cost_matrix, decisions
from hedgerow.models.dialects import DialectName
from hedgerow.models.page import page_of
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.schema import Schema
from hedgerow.text.markup import Html, element
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_SHOWN = 2**20  # characters of HTML in a notebook, which keeps all that it has shown


class Model(ABC):
    """A released model with its schema and privacy card. Subclasses are dataclasses, which define its fields."""

    schema: Schema
    privacy: PrivacyCard

    kind: ClassVar[str]
    """The kind of model in messages and titles."""
    format: ClassVar[str]
    """The format of its files."""

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each row, shape ``(n_rows,)``.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows. Of a frame only the columns that the model uses are needed.

        Raises
        ------
        DomainError
            If a column that the model uses is absent or holds values the schema does not allow.
        """

    @abstractmethod
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of each row, shape ``(n_rows, n_classes)``; see `predict`."""

    @property
    @abstractmethod
    def _has_shares(self) -> bool:
        """Whether its probabilities say more than its labels."""

    def decide(self, X: Any, *, class_weight: ClassWeight | None = None, costs: Costs | None = None) -> NDArray[Any]:
        """Return the class of the least expected cost of each row, shape ``(n_rows,)``.

        A decision reads the released probabilities and public costs alone: it is post-processing, and costs no ε.
        `predict`, and what is exported as SQL or Python, decide as if all errors cost the same.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows. Of a frame only the columns that the model uses are needed.
        class_weight : mapping of class to float, optional
            The cost of any error about a row of the class, > 0; 1 for classes that are left out.
        costs : mapping of class to mapping of class to float, optional
            ``costs[actual][decided]``: what it costs to decide for one class where the row is of another. Those of
            errors must be given; of a correct decision it is 0 where it is left out. Either this or `class_weight`.

        Raises
        ------
        DomainError
            If a column that the model uses is absent or holds values the schema does not allow.
        TypeError
            If the model has labels alone, whose probabilities are 0 or 1.
        ValueError
            If a class is none of the model's, or a cost is missing or not finite.

        References
        ----------
        Elkan, *The Foundations of Cost-Sensitive Learning*, IJCAI 2001, Section 1.
        """
        classes = self.schema.classes
        matrix = cost_matrix(classes, class_weight=class_weight, costs=costs)
        if not self._has_shares:
            raise ArgumentTypeError(
                f"expected a {self.kind} with probabilities or counts, got one with labels alone, which no cost can "
                "change; learn it with objective='mixed' or release_counts=True."
            )
        numbers = {value: number for number, value in enumerate(classes)}
        predicted = np.array([numbers[value] for value in self.predict(X).tolist()], dtype=np.intp)
        return np.array(classes)[decisions(self.predict_proba(X), predicted, matrix)]

    @abstractmethod
    def to_sql(self, dialect: DialectName = "duckdb") -> str:
        """Return an expression in an engine's SQL that gives the predicted class from the raw columns."""

    @abstractmethod
    def to_python(self) -> str:
        """Return the source of a Python function ``predict(row)`` that needs nothing installed."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the model, and return the axes."""

    @property
    @abstractmethod
    def _body_html(self) -> str:
        """The parts of the model as an HTML fragment; names and values are escaped."""

    def to_html(self) -> str:
        """Return the model and its card as an HTML fragment; names and values are escaped."""
        return self._body_html + self._card_html

    def to_page(self) -> str:
        """Return a whole HTML page to be read and printed: the picture of the model, its parts in words, the card.

        It is one file that loads nothing and runs nothing; names and values are escaped. A model that is too large to
        be drawn has no picture.
        """
        return page_of(self, Html(self._body_html), Html(self.privacy.to_html()))

    @abstractmethod
    def _structure(self) -> dict[str, Any]:
        """Return the entries of the file that are specific to this kind of model, JSON-ready."""

    @classmethod
    @abstractmethod
    def _assemble(cls, schema: Schema, data: Mapping[str, Any], privacy: PrivacyCard) -> Self:
        """Return the model of the entries that `_structure` wrote."""

    @property
    def _guarantee(self) -> str:
        return f"guarantee: {printable(self.privacy.headline)}"

    @property
    def _card_html(self) -> str:
        return element("pre", str(self.privacy))

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON-ready data, sealed with a digest of its content."""
        return envelope.seal(
            {
                "format": self.format,
                "version": 1,
                "schema": self.schema.to_dict(),
                "schema_digest": self.schema.digest,
                **self._structure(),
                "privacy": self.privacy.to_dict(),
            }
        )

    def to_json(self) -> str:
        """Return the model as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what `to_json` wrote; raises as `from_dict` does, and where the text is truncated or too large."""
        return cls.from_dict(envelope.parse(text))

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read back what `to_dict` wrote.

        Raises
        ------
        ModelFormatError
            If it was edited, or is of another format or version.
        """
        sealed = envelope.unseal(data, format=cls.format, version=1)
        try:
            model = cls._assemble(Schema.from_dict(sealed["schema"]), sealed, PrivacyCard.from_dict(sealed["privacy"]))
            problem = _contradiction(model.schema, model.privacy)
            if model.to_dict()["digest"] != sealed["digest"]:
                problem = "its parts contradict one another"
        except HedgerowError as error:
            model, problem = None, str(error).rstrip(".")
        except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError) as error:
            model, problem = None, f"{type(error).__name__}: {error}".rstrip(".")
        if model is None or problem:
            raise ModelFormatError(f"not a valid {cls.kind}: {problem}.")
        return model

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a JSON file, atomically.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model from a JSON file; raises as `from_json` does, and OSError."""
        return envelope.read(path, cls.from_json)

    def _repr_html_(self) -> str:
        html = self.to_html()
        if len(html) <= _MOST_SHOWN:
            return html
        note = f"{self!r}: too large to show here; write to_page() to a file."
        return element("p", note) + self._card_html


def _contradiction(schema: Schema, card: PrivacyCard) -> str | None:
    """Return how a card contradicts its schema; None if they agree."""
    if card.no_guarantee_reason is not None:
        return None
    if schema.no_guarantee_reason:
        return "its card claims a guarantee, but its schema has none"
    declared = sum((charge.epsilon for charge in schema.charges), Fraction(0))
    if card.epsilon is not None and card.epsilon < declared:
        return "its card claims less privacy loss than the cut points of its schema cost"
    return None
