"""Columns of the array that a model was fitted on, and tests of them as literals of the schema."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, nextafter
from typing import Any, Self

from sklearn.base import BaseEstimator

from hedgerow.audit.readers.encoders import EncodedFeature, Feature, ScaledFeature, made_by
from hedgerow.audit.readers.names import finite_number, meaning, meanings
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.models.conditions import Path
from hedgerow.schema import Literal, Schema
from hedgerow.schema.attributes import Attribute, CellType
from hedgerow.schema.spellings import refuse_spellings
from hedgerow.tables.frames import Table
from hedgerow.text.values import Value, plain_word, quoted_text

Features = Sequence[Feature] | BaseEstimator
"""Meaning of each column of the array that a model was fitted on: an attribute, or 1 where a literal holds and else 0;
or the fitted transformer of scikit-learn that computed the columns."""


@dataclass(frozen=True)
class Columns:
    """The meaning of each column of an array, and of comparisons with it, in terms of the schema."""

    schema: Schema  # of the rows
    features: tuple[Feature, ...]  # of each column

    @classmethod
    def of(cls, schema: Schema, features: Features | None, names: Sequence[str] | None, width: int) -> Self:
        """Return the columns from `features`, else from the model's names, else the schema's attributes in order."""
        refuse_spellings(schema.attributes, "the model")
        if isinstance(features, str):
            raise ArgumentTypeError(f"features must have one entry for each column, got the text {features!r}.")
        known = schema.names if names is None else names
        chosen = tuple(known) if features is None else _given(schema, features)
        if len(chosen) != width:
            given = "entries" if features is not None else "names" if names is not None else "attributes of the schema"
            problem = f"expected one entry for each of the {width} columns that the model was fitted on"
            advice = "pass as `features=`, for each column, the name of an attribute, or the Literal for which it is 1."
            raise ArgumentError(f"{problem}, got {len(chosen)} {given}; {advice}")
        if features is None:
            return cls(schema, meanings(known, schema))
        return cls(
            schema, tuple(x if isinstance(x, (EncodedFeature, ScaledFeature)) else meaning(x, schema) for x in chosen)
        )

    @classmethod
    def of_bits(cls, schema: Schema, features: Features | None) -> Self:
        """Return the columns of a model on columns of 0 and 1 that does not store their number."""
        if features is None:
            other = next((name for name, attribute in schema.attributes if not attribute.is_bit), None)
            if other is not None:
                raise SchemaError(
                    "is not 0 or 1, and the model does not store the number of its columns; pass as `features=`, for "
                    "each column, the name of an attribute, or the Literal for which it is 1.",
                    attribute=other,
                )
            return cls.of(schema, None, None, len(schema))
        chosen = _given(schema, features)
        return cls.of(schema, chosen, None, len(chosen))

    def at_most(self, column: int, number: float, *, holds: bool, missing_holds: bool | None = None) -> Path:
        """Return the literals of "a column is at most a number", or of its negation."""
        feature, number = self.features[column], float(number)
        if not isfinite(number) and (number != inf or missing_holds is not False):
            raise SchemaError(f"expected a finite cut of column {column} ({feature}), got {number}; check the model.")
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
            problem = "the model splits on missingness, but the schema allows no missing values"
            raise SchemaError(f"{problem}; declare `missing: bin`.", attribute=feature)
        if attribute.cell_type is CellType.VALUE:
            return _codes_at_most(feature, attribute, number, holds=holds, missing_here=missing_here)
        below, above = Literal(feature, "<=", (number,)), Literal(feature, ">", (number,))
        is_truth = "true" in attribute.operators
        if is_truth:
            _check_splits_bit(feature, f"the boolean {feature}", number)
            below, above = Literal(feature, "false"), Literal(feature, "true")
        # A missing value satisfies neither literal, so its branch is where the literal of the other branch fails.
        by_above = is_truth if missing_here is None else missing_holds
        return ((above, not holds) if by_above else (below, holds),)

    def less(self, column: int, number: float, *, holds: bool) -> Path:
        return self.at_most(column, nextafter(number, -inf), holds=holds)

    def among(self, column: int, values: Sequence[Value], *, holds: bool) -> Path:
        feature = self.features[column]
        attribute = self.schema[feature] if isinstance(feature, str) else None
        if not isinstance(feature, str) or attribute is None or attribute.cell_type is not CellType.VALUE:
            raise SchemaError(f"the model compares column {column} ({feature}) with text; expected a category.")
        _check_determined(feature, attribute, None, None)
        chosen = {plain_word(value) for value in values}
        here = [value for value in attribute.listed if (plain_word(value) in chosen) == holds]
        return _one_of(feature, attribute, here, missing_here=None)

    def is_one(self, column: int, *, holds: bool) -> Path:
        if column >= len(self.features):
            problem = f"the model uses column {column}, counted from 0, but features have {len(self.features)} entries"
            raise ArgumentError(f"{problem}; pass `features=` with an entry for each column.")
        feature = self.features[column]
        if isinstance(feature, str) and not self.schema[feature].is_bit:
            problem = f"the model tests whether it is 1, but it is declared as {self.schema[feature].domain}; pass"
            raise SchemaError(f"{problem} as `features=` the Literal for which each column is 1.", attribute=feature)
        return self.at_most(column, 0.5, holds=not holds)


def fitted_columns(model: Any, X: Any) -> Any:
    """Return the columns of a frame that an estimator was fitted on, without others, such as the unit's column.

    Arrays, frames that lack a column, and frames for an estimator that stores no names are returned as they are.
    """
    names, frame = getattr(model, "feature_names_in_", None), Table.of_frame(X)
    if names is None or frame is None or frame.names is None:
        return X
    used = [str(name) for name in names]
    return frame.data.select(used).to_native() if set(used) < set(frame.names) else X


def _given(schema: Schema, features: Features) -> tuple[Feature, ...]:
    if isinstance(features, BaseEstimator):
        return made_by(features, schema)
    return guarded(
        lambda: tuple(features),
        ArgumentTypeError("expected a sequence with one entry for each column as features, got no sequence."),
    )


def _check_splits_bit(attribute: str, text: str, number: float) -> None:
    if not 0 <= number < 1:
        problem = f"the model compares {text}, which is 0 or 1, with {number:g}, outside its domain"
        raise SchemaError(f"{problem}; check the columns, or pass `features=`.", attribute=attribute)


def _check_determined(name: str, attribute: Attribute, number: float | None, missing_holds: bool | None) -> None:
    if attribute.outside == "bin":
        problem = "the model compares its values"
        advice = "declare a domain that contains all rows, without `outside: bin`."
        raise SchemaError(f"{problem}, and those outside the domain can be on either side; {advice}", attribute=name)
    if attribute.missing != "bin":
        return
    if missing_holds is None or number is None:
        problem = "can be missing by the schema, but the model accepts no missing values"
        raise SchemaError(f"{problem}; declare it without `missing: bin`.", attribute=name)
    spelled = [value for value in map(finite_number, map(str, attribute.missing_values)) if value is not None]
    if any((value <= number) != missing_holds for value in spelled):
        raise SchemaError(
            f"the model compares it with {number:g} and sends missing values to another branch than the numbers "
            f"{', '.join(map(quoted_text, spelled))}, which mean missing by the schema; if the model was fitted with "
            "NaN for them, declare it without these `missing_values`.",
            attribute=name,
        )


def _codes_at_most(name: str, attribute: Attribute, number: float, *, holds: bool, missing_here: bool | None) -> Path:
    """Return the literals of "a category, a whole number, is at most a number", or of its negation."""
    codes = dict(zip(attribute.listed, attribute.number_codes, strict=True))
    if None in codes.values():
        raise SchemaError(
            f"the model compares it with {number:g}, but its values are {attribute.domain}; pass as `features=` the "
            f"Literal for which each column is 1, such as Literal({name!r}, '=', (value,)) for one-hot columns.",
            attribute=name,
        )
    here = [value for value, code in codes.items() if code is not None and (code <= number) == holds]
    return _one_of(name, attribute, here, missing_here=missing_here)


def _one_of(name: str, attribute: Attribute, here: Sequence[Value], *, missing_here: bool | None) -> Path:
    """Return the literals of "a category is one of some values"; `missing_here` if it can be missing."""
    there = [value for value in attribute.listed if value not in here]
    if not here or not there:
        problem = f"the model splits values inside the declared domain ({attribute.domain}) from values outside of it"
        raise SchemaError(f"{problem}; declare the values of the training rows.", attribute=name)
    places = [attribute.listed.index(value) for value in (there if missing_here else here)]
    start, stop = places[0], places[-1] + 1
    if len(places) == 1 or (attribute.ordered and len(places) == stop - start):
        return ((attribute.run_literal(name, start, stop), not missing_here),)
    literals = tuple((Literal(name, "=", (value,)), False) for value in there)
    return (*literals, (Literal(name, "missing"), False)) if missing_here is False else literals
