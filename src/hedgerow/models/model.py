"""Base class of released models: leaves, their predictions, and the model file."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.columns import Table
from hedgerow.durable import write_whole
from hedgerow.errors import HedgerowError, ModelFormatError
from hedgerow.models import envelope
from hedgerow.models.dialects import DialectName
from hedgerow.models.leaf import Leaf, leaf_note, leaf_predictions, leaf_probabilities
from hedgerow.models.paths import Path, first_that_holds, literals_of
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.schema import Schema
from hedgerow.values import printable, shown_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_TWO_RELEASES = "probabilities were drawn with the model; counts are another, noisy release"


class Model(ABC):
    """A released model that routes every row to one leaf. Subclasses are dataclasses, which define its fields."""

    schema: Schema
    privacy: PrivacyCard

    kind: ClassVar[str]
    """The kind of model in messages and titles."""
    leaf_name: ClassVar[str]
    """The name of a leaf, in records and in columns of predictions."""
    format: ClassVar[str]
    """The format of its files."""

    @property
    @abstractmethod
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves, with what was released about their rows."""

    @property
    @abstractmethod
    def conditions(self) -> tuple[str, ...]:
        """The condition of each leaf, in words."""

    @property
    @abstractmethod
    def paths(self) -> tuple[Path, ...]:
        """The decision path of each leaf: literals, each with whether it holds; the first path that fits decides."""

    @abstractmethod
    def to_sql(self, dialect: DialectName = "duckdb") -> str:
        """Return an expression in an engine's SQL that gives the predicted class from the raw columns."""

    @abstractmethod
    def to_python(self) -> str:
        """Return the source of a Python function ``predict(row)`` that needs nothing installed."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the model, and return the axes."""

    @abstractmethod
    def _structure(self) -> dict[str, Any]:
        """Return the entries of the file that are specific to this kind of model, JSON-ready."""

    @classmethod
    @abstractmethod
    def _assemble(cls, schema: Schema, data: Mapping[str, Any], privacy: PrivacyCard) -> Self:
        """Return the model of the entries that `_structure` wrote."""

    def __len__(self) -> int:
        return len(self.leaves)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Class probabilities of each leaf, from the release alone, shape ``(n_leaves, n_classes)``.

        Those drawn with the model where there are any, whether counts were released too or not. Otherwise negative
        counts count as 0; a leaf whose counts are then all 0 has the share of each class in the whole model. A leaf's
        label without counts has probability 1; where counts contradict it, its class and the largest others are
        averaged until the label is among the most probable classes.
        """
        return leaf_probabilities(self.leaves, self.schema.classes)

    @cached_property
    def predictions(self) -> tuple[Any, ...]:
        """The class each leaf predicts: its label, or else the most probable class, the first of equals."""
        return leaf_predictions(self.leaves, self.schema.classes, self.probabilities)

    @property
    def has_counts(self) -> bool:
        """Whether counts were released of any leaf."""
        return any(leaf.counts is not None for leaf in self.leaves)

    @property
    def has_probabilities(self) -> bool:
        """Whether probabilities of any leaf were drawn with the model."""
        return any(leaf.probabilities is not None for leaf in self.leaves)

    @property
    def _notes(self) -> list[str | None]:
        return [leaf_note(*both) for both in zip(self.leaves, self.probabilities, strict=True)]

    @property
    def _guarantee(self) -> str:
        return f"guarantee: {printable(self.privacy.headline)}"

    @property
    def _caption(self) -> str:
        headline = printable(self.privacy.headline)
        if not self.has_counts:
            return f"{headline}; no counts were released"
        return f"{headline}; {_TWO_RELEASES}" if self.has_probabilities else headline

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Return the leaf of each row, shape ``(n_rows,)``, counted from 0 in the order of `leaves`.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows. Of a frame only the columns that the model uses are needed.

        Raises
        ------
        DomainError
            If a column that the model uses is absent or holds values the schema does not allow.
        """
        table, paths = Table.of(X), self.paths
        used = {literal.attribute for literal in literals_of(paths)}
        bins = self.schema.encode(table, [name for name in self.schema.names if name in used])
        return first_that_holds(paths, self.schema, bins, len(table))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each row, shape ``(n_rows,)``; see `apply` for `X` and errors."""
        return np.array(self.predictions)[self.apply(X)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of each row, shape ``(n_rows, n_classes)``; see `apply` for `X` and errors.

        They are those of the row's leaf (`probabilities`): where they were drawn with the model, counts that were
        released too do not change them.
        """
        return self.probabilities[self.apply(X)]

    def get_rules(self) -> list[dict[str, Any]]:
        """Return one record a leaf: number, condition, prediction, its probability, released counts by class.

        The counts are None where none were released; so is the probability, unless it was drawn. A drawn
        probability is no share of the counts, which are a release of their own. ``pandas.DataFrame(model.get_rules())``
        makes a frame of it.
        """
        classes = self.schema.classes
        return [
            {
                self.leaf_name: number,
                "condition": condition,
                "prediction": prediction,
                "probability": None if note is None else float(shares.max()),
                "counts": None if leaf.counts is None else dict(zip(classes, leaf.counts, strict=True)),
            }
            for number, (leaf, condition, prediction, shares, note) in enumerate(
                zip(self.leaves, self.conditions, self.predictions, self.probabilities, self._notes, strict=True), 1
            )
        ]

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
        return cls.from_json(envelope.read_text(path))

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """Return the leaves and the card as an HTML fragment; names and values are escaped."""
        shares = ["probability"] if self.has_counts or self.has_probabilities else []
        classes = list(map(shown_text, self.schema.classes)) if self.has_counts else []
        head = "".join(f"<th>{escape(name)}</th>" for name in ["", "if", "then", *shares, *classes])
        records = self.get_rules()
        rows = "".join(_html_row(*row.values(), shares=len(shares), classes=len(classes)) for row in records)
        note = f"<p>{_TWO_RELEASES}</p>" if self.has_counts and self.has_probabilities else ""
        card = f"<pre>{escape(str(self.privacy))}</pre>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}{card}"


def _contradiction(schema: Schema, card: PrivacyCard) -> str | None:
    """Return how a card contradicts its schema; None if they agree."""
    if card.void is not None:
        return None
    if schema.void:
        return "its card claims a guarantee, but its schema has none"
    declared = sum((charge.epsilon for charge in schema.charges), Fraction(0))
    if card.epsilon is not None and card.epsilon < declared:
        return "its card claims less privacy loss than the cut points of its schema cost"
    return None


def _html_row(
    number: int, condition: str, prediction: Any, probability: float | None, counts: Any, *, shares: int, classes: int
) -> str:
    released = [""] * shares if probability is None else [f"{100 * probability:.1f} %"]
    released += [""] * classes if counts is None else map(str, counts.values())
    return (
        f"<tr><td>{number}</td><td style='text-align:left'>{escape(condition)}</td>"
        f"<td><b>{escape(shown_text(prediction))}</b></td>{''.join(f'<td>{text}</td>' for text in released)}</tr>"
    )
