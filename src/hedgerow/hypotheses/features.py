"""Feature transformers before a classifier, row by row: imputation, scaling, one-hot encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arithmetic import Floats
from hedgerow.errors import ArgumentError
from hedgerow.tables.columns import Column

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Text:
    """A column of text, and the text that replaces missing values."""

    column: Column  # the column
    fill: str | None = None  # the text; None where missing stays missing


Feature = Floats | Text
"""One value per row: a number, NaN where it is missing, or text."""


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features of some rows, and which rows have been refused."""

    features: tuple[Feature, ...]  # the columns
    refused: Mask  # rows for which a step has no result, so that no class is predicted

    @classmethod
    def of(cls, columns: Sequence[Column], n_rows: int) -> FeatureTable:
        """Take columns of a table as they are read: text as text, numbers and booleans as float64."""
        return cls(tuple(map(_feature, columns)), np.zeros(n_rows, dtype=bool))

    def matrix(self) -> Floats:
        """Return the numbers, shape ``(n_rows, n_features)``, one column after the other."""
        columns = [feature for feature in self.features if not isinstance(feature, Text)]
        return np.stack(columns, axis=1) if columns else np.empty((len(self.refused), 0))


def _feature(column: Column) -> Feature:
    if column.is_text:
        return Text(column)
    values = column.values.astype(np.float64)
    return values if column.missing is None else np.where(column.missing, np.nan, values)


class RowTransformer(Protocol):
    """A step before the classifier: its result for a row depends on that row and on public parameters alone."""

    def of_kinds(self, text: tuple[bool, ...]) -> tuple[bool, ...]:
        """Return which features are text after the step, given those before; ValueError if they do not fit."""
        ...

    def __call__(self, rows: FeatureTable) -> FeatureTable:
        """Return the rows after the step."""
        ...


@dataclass(frozen=True, eq=False)
class Scale:
    """``(x − shift) ÷ divisor × factor + offset``, clipped to two bounds, for each feature."""

    shift: tuple[float, ...]  # one a feature
    divisor: tuple[float, ...]  # one a feature
    factor: tuple[float, ...]  # one a feature
    offset: tuple[float, ...]  # one a feature
    bounds: tuple[float, float] = (-np.inf, np.inf)  # what results are clipped to

    def __post_init__(self) -> None:
        if {len(part) for part in (self.divisor, self.factor, self.offset)} != {len(self.shift)}:
            raise ArgumentError("expected one scale for each feature")

    def of_kinds(self, text: tuple[bool, ...]) -> tuple[bool, ...]:
        """All are numbers, before and after."""
        return _all_numbers(text, len(self.shift), "scaled")

    def __call__(self, rows: FeatureTable) -> FeatureTable:
        """Scale."""
        parts = zip(rows.features, self.shift, self.divisor, self.factor, self.offset, strict=True)
        scaled = tuple(
            np.clip((x - shift) / divisor * factor + offset, *self.bounds)
            for x, shift, divisor, factor, offset in parts
            if not isinstance(x, Text)
        )
        return replace(rows, features=scaled)


@dataclass(frozen=True)
class Fill:
    """Replace missing values by a constant."""

    values: tuple[float | str, ...]  # one a feature

    def of_kinds(self, text: tuple[bool, ...]) -> tuple[bool, ...]:
        """Text replaces missing text, numbers missing numbers."""
        if text != tuple(isinstance(value, str) for value in self.values):
            raise ArgumentError("it replaces missing text by a number, or missing numbers by text")
        return text

    def __call__(self, rows: FeatureTable) -> FeatureTable:
        """Fill."""
        filled = tuple(map(_filled, rows.features, self.values))
        return replace(rows, features=filled)


def _filled(feature: Feature, value: float | str) -> Feature:
    if isinstance(feature, Text):
        return replace(feature, fill=feature.fill if isinstance(value, float) else feature.fill or value)
    return np.where(np.isnan(feature), value, feature) if isinstance(value, float) else feature


@dataclass(frozen=True)
class OneHot:
    """A feature of 0 and 1 for each category of each feature."""

    categories: tuple[tuple[str | float | None, ...], ...]  # the categories of each feature
    dropped: tuple[int, ...]  # the category of each feature that gets no feature; -1 for none
    refuse_others: bool  # whether a row with another value has no result. False: all its features are 0.

    def __post_init__(self) -> None:
        if len(self.dropped) != len(self.categories):
            raise ArgumentError("expected one dropped category, or none, for each column")
        if any(not -1 <= dropped < len(values) for dropped, values in zip(self.dropped, self.categories, strict=True)):
            raise ArgumentError("a dropped category is not among the categories")

    def of_kinds(self, text: tuple[bool, ...]) -> tuple[bool, ...]:
        """Text has categories of text, numbers have numbers; after it all are numbers."""
        if len(text) != len(self.categories):
            raise ArgumentError(f"it has categories for {len(self.categories)} columns, and there are {len(text)}")
        for is_text, values in zip(text, self.categories, strict=True):
            if any(value is not None and isinstance(value, str) != is_text for value in values):
                raise ArgumentError(
                    "it has text categories for a column of numbers, or numeric ones for a column of text"
                )
        kept = (len(values) - (dropped >= 0) for values, dropped in zip(self.categories, self.dropped, strict=True))
        return (False,) * sum(kept)

    def __call__(self, rows: FeatureTable) -> FeatureTable:
        """Encode."""
        refused, features = rows.refused, list[Feature]()
        for feature, values, dropped in zip(rows.features, self.categories, self.dropped, strict=True):
            which = _which(feature, values)
            refused = refused | ((which < 0) & self.refuse_others)
            features += [(which == i).astype(np.float64) for i in range(len(values)) if i != dropped]
        return FeatureTable(tuple(features), refused)


def _which(feature: Feature, values: tuple[str | float | None, ...]) -> NDArray[np.int64]:
    """Return the number of each row's category, -1 for none."""
    missing = values.index(None) if None in values else -1
    if not isinstance(feature, Text):
        found = np.full(len(feature), -1)
        for number, value in enumerate(values):
            found[np.isnan(feature) if value is None else feature == value] = number
        return found
    words = [value for value in values if isinstance(value, str)]
    places = np.array([values.index(word) for word in words] + [-1])
    found = places[feature.column.index_in(words)]
    if feature.column.missing is None:
        return found
    filled = values.index(feature.fill) if feature.fill in values and feature.fill is not None else -1
    return np.where(feature.column.missing, missing if feature.fill is None else filled, found)


@dataclass(frozen=True)
class Chain:
    """Steps one after the other."""

    steps: tuple[RowTransformer, ...]

    def of_kinds(self, text: tuple[bool, ...]) -> tuple[bool, ...]:
        """As the steps do, one after the other."""
        for step in self.steps:
            text = step.of_kinds(text)
        return text

    def __call__(self, rows: FeatureTable) -> FeatureTable:
        """Take the steps."""
        for step in self.steps:
            rows = step(rows)
        return rows


@dataclass(frozen=True)
class ParallelSteps:
    """Steps for some of the features each; their results side by side."""

    parts: tuple[tuple[tuple[int, ...], RowTransformer], ...]  # the numbers of the features, and what is done with them

    def of_kinds(self, text: tuple[bool, ...]) -> tuple[bool, ...]:
        """As the parts do, side by side."""
        return tuple(kind for numbers, step in self.parts for kind in step.of_kinds(tuple(text[i] for i in numbers)))

    def __call__(self, rows: FeatureTable) -> FeatureTable:
        """Take each part's step."""
        made = [
            step(FeatureTable(tuple(rows.features[i] for i in numbers), rows.refused)) for numbers, step in self.parts
        ]
        refused = np.logical_or.reduce([rows.refused, *(part.refused for part in made)])
        return FeatureTable(tuple(feature for part in made for feature in part.features), refused)


def widest(step: RowTransformer, text: tuple[bool, ...]) -> int:
    """Return the most features that a row has within a step."""
    if isinstance(step, Chain):
        found = len(text)
        for one in step.steps:
            found, text = max(found, widest(one, text)), one.of_kinds(text)
        return found
    if isinstance(step, ParallelSteps):
        return sum(widest(one, tuple(text[i] for i in numbers)) for numbers, one in step.parts)
    return max(len(text), len(step.of_kinds(text)))


def _all_numbers(text: tuple[bool, ...], expected: int, done: str) -> tuple[bool, ...]:
    if any(text) or len(text) != expected:
        raise ArgumentError(f"{expected} columns of numbers are {done}, and other columns come")
    return text
