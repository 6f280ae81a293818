"""Columns of the array that a model was fitted on, and tests of them as literals of the schema."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, nextafter
from typing import Any, Self

from sklearn.base import BaseEstimator

from hedgerow.audit.readers.encoders import EncodedFeature, Feature, ScaledFeature, transformer_features
from hedgerow.audit.readers.names import finite_number, meaning, meanings
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.models.conditions import Path
from hedgerow.schema import Literal, Schema
from hedgerow.schema.attributes import Attribute, CellType
from hedgerow.schema.spellings import check_no_spellings
from hedgerow.tables.frames import Table
from hedgerow.text.values import Value, plain_word, quoted_text

Features = Sequence[Feature] | BaseEstimator
"""Meaning of each column of the array that a model was fitted on: an attribute, or a literal for which the column is 1
(and 0 otherwise); or the fitted transformer of scikit-learn that computed the columns."""


@dataclass(frozen=True)
class Columns:
    """Meaning of each column of an array, and of comparisons with it, in terms of the schema."""

    schema: Schema
    features: tuple[Feature, ...]  # the meaning of each column

    @classmethod
    def of(cls, schema: Schema, features: Features | None, names: Sequence[str] | None, width: int) -> Self:
        """Return the columns from `features`, the model's column names, or the schema's attributes, in this order."""
        check_no_spellings(schema.attributes, "the model")
        if isinstance(features, str):
            raise ArgumentTypeError(f"features must have one entry for each column, got the text {features!r}.")
        known = schema.names if names is None else names
        chosen = tuple(known) if features is None else _meanings(schema, features)
        if len(chosen) != width:
            source = "entries" if features is not None else "names" if names is not None else "attributes of the schema"
            problem = f"the model was fitted on {width} columns, got {len(chosen)} {source}"
            advice = "pass as `features=`, for each column, the name of an attribute, or the Literal for which it is 1."
            raise ArgumentError(f"{problem}; {advice}")
        if features is None:
            return cls(schema, meanings(known, schema))
        return cls(
            schema, tuple(x if isinstance(x, (EncodedFeature, ScaledFeature)) else meaning(x, schema) for x in chosen)
        )

    @classmethod
    def of_bits(cls, schema: Schema, features: Features | None) -> Self:
        """Return the columns of a model that uses columns of 0 and 1 and does not store their number."""
        if features is None:
            other = next((name for name, attribute in schema.attributes if not attribute.is_bit), None)
            if other is not None:
                raise SchemaError(
                    "is not a column of 0 and 1, and the model does not store the number of its columns; pass as "
                    "`features=`, for each column, the name of an attribute, or the Literal for which it is 1.",
                    attribute=other,
                )
            return cls.of(schema, None, None, len(schema))
        chosen = _meanings(schema, features)
        return cls.of(schema, chosen, None, len(chosen))

    def at_most(self, column: int, number: float, *, holds: bool, missing_holds: bool | None = None) -> Path:
        """Return the literals of "a column is at most a number", or of its negation."""
        feature, number = self.features[column], float(number)
        if not isfinite(number) and (number != inf or missing_holds is not False):
            problem = f"the model compares column {column} ({feature}) with {number}, which is not finite"
            raise SchemaError(f"{problem}; check the model.")
        if isinstance(feature, EncodedFeature):
            return feature.at_most(number, holds=holds, missing_holds=missing_holds)
        if isinstance(feature, Literal):
            _check_splits_bit(feature.attribute, str(feature), number)
            return ((feature, not holds),)
        if isinstance(feature, ScaledFeature):
            number, feature = feature.last_at_most(number, self.schema), feature.attribute
        attribute = self.schema[feature]
        _check_determined(feature, attribute, number, missing_holds)
        missing_here = None if attribute.missing != "bin" else missing_holds == holds
        low, high = attribute.span
        if missing_here is not None and (number < low if missing_holds else number >= high):  # no value splits off
            return ((Literal(feature, "missing"), missing_here),)
        if number == inf:
            problem = "the model splits on missing values, but the schema does not allow missing values"
            raise SchemaError(f"{problem}; declare `missing: bin`.", attribute=feature)
        if attribute.cell_type is CellType.VALUE:
            return _codes_at_most(feature, attribute, number, holds=holds, missing_here=missing_here)
        below, above = Literal(feature, "<=", (number,)), Literal(feature, ">", (number,))
        is_truth = "true" in attribute.operators
        if is_truth:
            _check_splits_bit(feature, f"the boolean {feature}", number)
            below, above = Literal(feature, "false"), Literal(feature, "true")
        # A missing value satisfies neither literal. So its branch is described by the negation of the other literal.
        by_above = is_truth if missing_here is None else missing_holds
        return ((above, not holds) if by_above else (below, holds),)

    def less(self, column: int, number: float, *, holds: bool) -> Path:
        return self.at_most(column, nextafter(number, -inf), holds=holds)

    def among(self, column: int, values: Sequence[Value], *, holds: bool) -> Path:
        feature = self.features[column]
        attribute = self.schema[feature] if isinstance(feature, str) else None
        if not isinstance(feature, str) or attribute is None or attribute.cell_type is not CellType.VALUE:
            raise SchemaError(f"the model compares column {column} ({feature}) with text, but it is not a category.")
        _check_determined(feature, attribute, None, None)
        chosen = {plain_word(value) for value in values}
        here = [value for value in attribute.listed if (plain_word(value) in chosen) == holds]
        return _membership(feature, attribute, here, missing_here=None)

    def is_one(self, column: int, *, holds: bool) -> Path:
        if column >= len(self.features):
            problem = f"the model uses column {column} (counted from 0), but features has {len(self.features)} entries"
            raise ArgumentError(f"{problem}; pass `features=` with an entry for each column.")
        feature = self.features[column]
        if isinstance(feature, str) and not self.schema[feature].is_bit:
            problem = f"the model tests whether it is 1, but it is declared as {self.schema[feature].domain}"
            advice = "pass as `features=`, for each column, the Literal for which it is 1."
            raise SchemaError(f"{problem}; {advice}", attribute=feature)
        return self.at_most(column, 0.5, holds=not holds)


def fitted_columns(model: Any, X: Any) -> Any:
    """Return the columns of a frame that an estimator was fitted on, without additional columns such as the unit's.

    Arrays, frames that lack a column, and frames for an estimator that stores no names are returned unchanged.
    """
    names, frame = getattr(model, "feature_names_in_", None), Table.of_frame(X)
    if names is None or frame is None or frame.names is None:
        return X
    used = [str(name) for name in names]
    return frame.data.select(used).to_native() if set(used) < set(frame.names) else X


def _meanings(schema: Schema, features: Features) -> tuple[Feature, ...]:
    if isinstance(features, BaseEstimator):
        return transformer_features(features, schema)
    problem = f"features must be a sequence with one entry for each column, got {type(features).__name__}."
    return guarded(lambda: tuple(features), ArgumentTypeError(problem))


def _check_splits_bit(attribute: str, text: str, number: float) -> None:
    if not 0 <= number < 1:
        problem = f"the model compares {text}, which is 0 or 1, with {number:g}, outside its domain"
        raise SchemaError(f"{problem}; check the columns, or pass `features=`.", attribute=attribute)


def _check_determined(name: str, attribute: Attribute, number: float | None, missing_holds: bool | None) -> None:
    if attribute.outside == "bin":
        problem = "values outside the domain can be on either side of the model's threshold"
        advice = "declare a domain that contains all rows, without `outside: bin`."
        raise SchemaError(f"{problem}; {advice}", attribute=name)
    if attribute.missing != "bin":
        return
    if missing_holds is None or number is None:
        problem = "the schema allows missing values, but the model does not"
        raise SchemaError(f"{problem}; declare it without `missing: bin`.", attribute=name)
    spelled = [value for value in map(finite_number, map(str, attribute.missing_values)) if value is not None]
    if any((value <= number) != missing_holds for value in spelled):
        raise SchemaError(
            f"the model compares it with {number:g}, and missing values take another branch than the numbers "
            f"{', '.join(map(quoted_text, spelled))}, which mean missing in the schema. If the model was fitted with "
            "NaN instead of these numbers, remove them from `missing_values`.",
            attribute=name,
        )


def _codes_at_most(name: str, attribute: Attribute, number: float, *, holds: bool, missing_here: bool | None) -> Path:
    """Return the literals of "a category that is a whole number is at most a number", or of its negation."""
    codes = dict(zip(attribute.listed, attribute.number_codes, strict=True))
    if None in codes.values():
        raise SchemaError(
            f"the model compares it with {number:g}, but its values are {attribute.domain}; pass as `features=`, for "
            f"each column, the Literal for which it is 1, such as Literal({name!r}, '=', (value,)).",
            attribute=name,
        )
    here = [value for value, code in codes.items() if code is not None and (code <= number) == holds]
    return _membership(name, attribute, here, missing_here=missing_here)


def _membership(name: str, attribute: Attribute, here: Sequence[Value], *, missing_here: bool | None) -> Path:
    """Return the literals of "a category is among some values"; `missing_here` is the branch of missing values."""
    there = [value for value in attribute.listed if value not in here]
    if not here or not there:
        problem = f"a split of the model has all declared values ({attribute.domain}) on the same side"
        raise SchemaError(f"{problem}; declare the values of the training rows.", attribute=name)
    places = [attribute.listed.index(value) for value in (there if missing_here else here)]
    start, stop = places[0], places[-1] + 1
    if len(places) == 1 or (attribute.ordered and len(places) == stop - start):
        return ((attribute.run_literal(name, start, stop), not missing_here),)
    literals = tuple((Literal(name, "=", (value,)), False) for value in there)
    return (*literals, (Literal(name, "missing"), False)) if missing_here is False else literals
