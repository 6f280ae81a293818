"""The columns of the array that a model was fitted on: what each says of a row, and what a test of it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, nextafter
from typing import Self

from sklearn.base import BaseEstimator

from hedgerow.audit.readers.coded import Coded, Feature, Rescaled
from hedgerow.audit.readers.encoders import made_by
from hedgerow.audit.readers.names import finite_number, meaning, meanings, whole_number
from hedgerow.audit.readers.paths import Path
from hedgerow.columns import plain_word
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.guard import guarded
from hedgerow.schema.attributes import Attribute, Boolean, Categorical
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.values import Value, quoted_text

Features = Sequence[Feature] | BaseEstimator
"""What each column of the array that a model was fitted on is: an attribute, or 1 where a literal holds and else 0; or
the fitted transformer of scikit-learn that made them."""


@dataclass(frozen=True)
class Columns:
    """What each column of an array is, and what a comparison with it means for a row of the schema.

    Attributes
    ----------
    schema : Schema
        The public schema of the rows.
    features : tuple of str, Literal, Coded or Rescaled
        For each column the attribute whose value it holds, the literal where it is 1 and else 0, or what a transformer
        made of an attribute.
    """

    schema: Schema
    features: tuple[Feature, ...]

    @classmethod
    def of(cls, schema: Schema, features: Features | None, names: Sequence[str] | None, width: int) -> Self:
        """Return the columns as the caller says, else as the model names them, else the schema's attributes in order.

        Columns of other names than an attribute's are taken for literals if they are called as ``pandas.get_dummies``
        and ``OneHotEncoder`` do, ``{attribute}_{value}``, or ``{attribute}={value}``, or as the literal is written.

        Raises
        ------
        SchemaError
            If a column is neither an attribute nor one literal of the schema, by name or at all.
        ValueError
            If there is not one feature a column.
        """
        if isinstance(features, str):
            raise ArgumentTypeError(
                f"features must be a sequence, one entry for each column, got the text {features!r}."
            )
        known = schema.names if names is None else names
        chosen = tuple(known) if features is None else _given(schema, features)
        if len(chosen) != width:
            given = "entries" if features is not None else "names" if names is not None else "attributes of the schema"
            raise ArgumentError(
                f"expected one entry for each of the {width} columns that the model was fitted on, got {len(chosen)} "
                f"{given}; give features=: for each column the name of an attribute, or the Literal that it is 1 for."
            )
        if features is None:
            return cls(schema, meanings(known, schema))
        return cls(schema, tuple(x if isinstance(x, (Coded, Rescaled)) else meaning(x, schema) for x in chosen))

    @classmethod
    def of_bits(cls, schema: Schema, features: Features | None) -> Self:
        """Return the columns of a model that does not tell how many columns of 0 and 1 it was fitted on.

        Raises
        ------
        SchemaError
            If the caller does not say what they are, and some attribute is not 0 or 1.
        """
        if features is None:
            other = next((name for name, attribute in schema.attributes if not _is_bit(attribute)), None)
            if other is not None:
                raise SchemaError(
                    "is not 0 or 1, and the model does not tell how many columns it was fitted on; give features=: for "
                    "each column the name of an attribute, or the Literal that it is 1 for.",
                    attribute=other,
                )
            return cls.of(schema, None, None, len(schema))
        chosen = _given(schema, features)
        return cls.of(schema, chosen, None, len(chosen))

    def at_most(self, column: int, number: float, *, holds: bool, missing_holds: bool | None = None) -> Path:
        """Return the steps that say that a column is at most a number, or that it is not.

        Parameters
        ----------
        column : int
            The column, counted from 0.
        number : float
            The number; infinity for a test of whether there is a value.
        holds : bool
            Whether the column is at most the number, or else.
        missing_holds : bool, optional
            Where missing values go: with those at most the number, or with the others. Default: the model has no way
            for them.

        Raises
        ------
        SchemaError
            If the test is the same for all values of the attribute, or cannot be told of some.
        """
        feature, number = self.features[column], float(number)
        if not isfinite(number) and (number != inf or missing_holds is not False):
            raise SchemaError(f"the model compares column {column} ({feature}) with {number}, which is no number.")
        if isinstance(feature, Coded):
            return feature.at_most(number, holds=holds, missing_holds=missing_holds)
        if isinstance(feature, Literal):
            _check_splits_bit(feature.attribute, str(feature), number)
            return ((feature, not holds),)
        if isinstance(feature, Rescaled):
            number, feature = feature.last_at_most(number, self.schema), feature.attribute
        attribute = self.schema[feature]
        _check_tellable(feature, attribute, number, missing_holds)
        missing_here = None if attribute.missing != "bin" else missing_holds == holds
        if missing_here is not None and _side_of_all(attribute, number) is (not missing_holds):
            return ((Literal(feature, "missing"), missing_here),)
        if number == inf:
            raise SchemaError(
                "the model parts missing values from others, but the schema allows none; declare `missing: bin`.",
                attribute=feature,
            )
        if isinstance(attribute, Categorical):
            return _codes_at_most(feature, attribute, number, holds=holds, missing_here=missing_here)
        low, high = Literal(feature, "<=", (number,)), Literal(feature, ">", (number,))
        if isinstance(attribute, Boolean):
            _check_splits_bit(feature, f"the boolean {feature}", number)
            low, high = Literal(feature, "false"), Literal(feature, "true")
        # A missing value satisfies neither, so its side is where the literal of the other side fails.
        by_high = isinstance(attribute, Boolean) if missing_here is None else missing_holds
        return ((high, not holds) if by_high else (low, holds),)

    def less(self, column: int, number: float, *, holds: bool) -> Path:
        """Return the steps that say that a column is less than a number, or that it is not."""
        return self.at_most(column, nextafter(number, -inf), holds=holds)

    def among(self, column: int, values: Sequence[Value], *, holds: bool) -> Path:
        """Return the steps that say that a column is one of some values, or that it is none of them.

        Raises
        ------
        SchemaError
            If the column is no categorical attribute, or can be missing or outside.
        """
        feature = self.features[column]
        attribute = self.schema[feature] if isinstance(feature, str) else None
        if not isinstance(feature, str) or not isinstance(attribute, Categorical):
            raise SchemaError(f"the model compares column {column} ({feature}) with words; expected a categorical one.")
        _check_tellable(feature, attribute, None, None)
        chosen = {plain_word(value) for value in values}
        here = [value for value in attribute.values if (plain_word(value) in chosen) == holds]
        return _one_of(feature, attribute, here, missing_here=None)

    def is_one(self, column: int, *, holds: bool) -> Path:
        """Return the steps that say that a column of 0 and 1 is 1, or that it is 0.

        Raises
        ------
        SchemaError
            If the column is an attribute with other values than 0 and 1.
        """
        if column >= len(self.features):
            raise ArgumentError(
                f"the model uses column {column}, counted from 0, but was said to have {len(self.features)}; give "
                "features= with an entry for each."
            )
        feature = self.features[column]
        if isinstance(feature, str) and not _is_bit(self.schema[feature]):
            raise SchemaError(
                f"the model asks whether it is 1, but it is {self.schema[feature].domain}; give features= with the "
                "Literal that each column of 0 and 1 stands for.",
                attribute=feature,
            )
        return self.at_most(column, 0.5, holds=not holds)


def _given(schema: Schema, features: Features) -> tuple[Feature, ...]:
    """Return the columns as they are given, or as the transformer that is given makes them."""
    if isinstance(features, BaseEstimator):
        return made_by(features, schema)
    return guarded(
        lambda: tuple(features), ArgumentTypeError("features must be a sequence, one entry for each column.")
    )


def _check_splits_bit(attribute: str, text: str, number: float) -> None:
    if not 0 <= number < 1:
        raise SchemaError(
            f"the model compares {text}, which is 0 or 1, with {number:g}, outside its domain; check what each column "
            "is, or give features=.",
            attribute=attribute,
        )


def _check_tellable(name: str, attribute: Attribute, number: float | None, missing_holds: bool | None) -> None:
    """Raise SchemaError if the side that some row goes to, by a number or by words, cannot be told from its bins."""
    if attribute.outside == "bin":
        raise SchemaError(
            "the model compares its values, and those outside the domain could be on either side; declare a domain "
            "that all rows are in, without `outside: bin`.",
            attribute=name,
        )
    if attribute.missing != "bin":
        return
    if missing_holds is None or number is None:
        raise SchemaError(
            "can be missing by the schema, but the model takes no missing values; declare it as it was given to the "
            "model, without `missing: bin`.",
            attribute=name,
        )
    spelled = [
        value for value in (finite_number(str(token)) for token in attribute.missing_values) if value is not None
    ]
    if any((value <= number) != missing_holds for value in spelled):
        raise SchemaError(
            f"the model compares it with {number:g} and sends missing values elsewhere than the numbers "
            f"{', '.join(map(quoted_text, spelled))}, which mean missing by the schema; if the model was given NaN for "
            "them, declare it without these `missing_values`.",
            attribute=name,
        )


def _side_of_all(attribute: Attribute, number: float) -> bool | None:
    """Return whether all values that are not missing are at most a number, False if above; None if it parts them."""
    low, high = -inf, inf
    if isinstance(attribute, Boolean):
        low, high = 0, 1
    elif isinstance(attribute, Categorical):
        codes = [code for code in map(whole_number, attribute.values) if code is not None]
        low, high = (min(codes), max(codes)) if len(codes) == len(attribute.values) else (low, high)
    elif isinstance(attribute, (Integer, Real)) and attribute.outside != "clip":
        low, high = attribute.low, attribute.high
    return True if number >= high else False if number < low else None


def _is_bit(attribute: Attribute) -> bool:
    if isinstance(attribute, Categorical):
        return {str(value) for value in attribute.values} == {"0", "1"}
    return isinstance(attribute, Boolean) or (
        isinstance(attribute, Integer) and (attribute.low, attribute.high) == (0, 1)
    )


def _codes_at_most(name: str, attribute: Categorical, number: float, *, holds: bool, missing_here: bool | None) -> Path:
    """Return the steps that say that a category, a whole number, is at most a number, or that it is not."""
    codes = {value: whole_number(value) for value in attribute.values}
    if None in codes.values():
        raise SchemaError(
            f"the model compares it with {number:g}, but its values are {attribute.domain}; give features= with the "
            f"Literal that each column stands for, as of one-hot columns: Literal({name!r}, '=', (value,)).",
            attribute=name,
        )
    here = [value for value, code in codes.items() if code is not None and (code <= number) == holds]
    return _one_of(name, attribute, here, missing_here=missing_here)


def _one_of(name: str, attribute: Categorical, here: Sequence[Value], *, missing_here: bool | None) -> Path:
    """Return the steps that say that a category is one of some values; `missing_here` if it can be missing."""
    there = [value for value in attribute.values if value not in here]
    if not here or not there:
        raise SchemaError(
            f"the model parts values that are not in the declared domain ({attribute.domain}) from those that are; "
            "declare the values that the training rows had.",
            attribute=name,
        )
    if len(here) == 1 and not missing_here:
        return ((Literal(name, "=", (here[0],)), True),)
    steps = tuple((Literal(name, "=", (value,)), False) for value in there)
    return (*steps, (Literal(name, "missing"), False)) if missing_here is False else steps
