"""Classifiers of hedgerow's own models, and of one class."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.hypothesis import NO_CLASS, Codes, TargetColumns, class_codes
from hedgerow.learn.base import TallyEstimator
from hedgerow.models.files import rebuilt
from hedgerow.models.model import Model
from hedgerow.models.released import released_model
from hedgerow.schema.attributes import OUTSIDE
from hedgerow.schema.schema import Schema
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown


@dataclass(frozen=True)
class ConstantClassifier:
    """A classifier that predicts one class."""

    code: int  # its number

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Codes:  # noqa: ARG002 -- of any columns
        """Return it for every row."""
        return np.full(n_rows, self.code)


@dataclass(frozen=True, eq=False)
class ModelClassifier:
    """A model of hedgerow's. A row with a value that its schema refuses has no class."""

    model: Model
    places: Mapping[str, int]  # the number of the column of each attribute that it uses
    codes: tuple[int, ...]  # the number of the class of each of its outcomes

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Codes:
        """Return the class of each row."""
        refused, bins = np.zeros(n_rows, dtype=bool), dict[str, NDArray[np.integer]]()
        for name, place in self.places.items():
            found = self.model.schema[name].bins_or_refused(columns[place])
            refused |= found == OUTSIDE
            bins[name] = np.maximum(found, 0)
        return np.where(refused, NO_CLASS, np.array(self.codes)[self.model.outcomes_of(bins, n_rows)])


def model_of(hypothesis: Any) -> Model | None:
    """Return the model of a hypothesis, rebuilt from its file's text; None if it has none.

    Rebuilt, it runs the code of hedgerow only, even if other code was attached to the object.
    """
    if isinstance(hypothesis, TallyEstimator):
        hypothesis = released_model(hypothesis)
        if hypothesis is None:
            raise NotFittedError
    return rebuilt(hypothesis)


def model_classifier(model: Model, columns: TargetColumns, classes: Sequence[Any]) -> ModelClassifier:
    """Return a rebuilt model as a classifier of these columns."""
    places = _places(model.schema, model.used_attributes, columns)
    return ModelClassifier(model, places, class_codes(model.outcomes, classes))


def _places(schema: Schema, used: Collection[str], columns: TargetColumns) -> dict[str, int]:
    """Return the number of the column of each attribute that a model uses."""
    names = schema.names
    if not columns.named and len(names) != len(columns.names):
        raise ArgumentError(f"it is a model of {len(names)} columns, and there are {len(columns.names)}")
    places = {name: columns.place(name) if columns.named else names.index(name) for name in names if name in used}
    for name, place in places.items():
        if columns.kinds[place] == "boolean" and schema[name].kind != "boolean":
            raise ArgumentError(f"its attribute {shown(name)} is {schema[name].kind}, and the column is boolean")
    return places
