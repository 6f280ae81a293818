"""Readers of hypotheses: objects of known types become data; none of their code runs on a row."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_type_hints

import numpy as np
import pyarrow as pa
from sklearn.exceptions import NotFittedError

from hedgerow.boundary.arrays import Floats, Integers, Mask, Whole
from hedgerow.boundary.plain import plain_value
from hedgerow.errors import ArgumentError, DomainError, HypothesisError
from hedgerow.hypotheses.graph import BoundClassifier, Graph, GraphClassifier, Step
from hedgerow.hypotheses.hypothesis import (
    NO_CLASS,
    Always,
    RowClassifier,
    TargetColumns,
    class_codes,
    unwrap_hypothesis,
)
from hedgerow.hypotheses.operators import ConstantRow
from hedgerow.hypotheses.scikit_learn import read_pipeline
from hedgerow.learn.contract import TallyEstimator
from hedgerow.models.files import KINDS, rebuilt
from hedgerow.models.model import Model
from hedgerow.models.released import is_model, released_model, released_models
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge, renewed
from hedgerow.privacy.facts import Fact
from hedgerow.schema.attributes import MISSING, OUTSIDE, Attribute, Codes, bins_of_codes
from hedgerow.schema.schema import Schema
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown

READABLE = (
    "hedgerow's rule lists, trees, scorecards and ExprilClassifier; scikit-learn's linear classifiers, MLPClassifier, "
    "decision trees and forests, alone or in a Pipeline after scalers, SimpleImputer, OneHotEncoder and "
    "ColumnTransformer"
)


def read_classifier(hypothesis: Any, columns: TargetColumns, classes: Sequence[Any]) -> RowClassifier | None:
    """Return a hypothesis as data, if it is of exactly a known type; None for others, whose code could be theirs."""
    try:
        found = _read(hypothesis, columns, classes)
        if found is None:
            return None
        check_data(found)
        # what fails on every row must fail now, even if the target is empty
        codes = found([_PROBES[kind](name) for name, kind in zip(columns.names, columns.kinds, strict=True)], 2)
        if codes.shape != (2,) or (codes < NO_CLASS).any() or (codes >= len(classes)).any():
            raise ArgumentError("it does not predict one class for each row")
        return found
    except HypothesisError:
        raise
    except NotFittedError:
        problem = f"the {type(hypothesis).__name__} is not fitted"
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        problem = f"the {type(hypothesis).__name__} cannot be used as a hypothesis: {error}"
    raise HypothesisError(f"{problem}. Expected a fitted classifier for the columns {', '.join(columns.names)}.")


def _read(hypothesis: Any, columns: TargetColumns, classes: Sequence[Any]) -> RowClassifier | None:
    hypothesis = unwrap_hypothesis(hypothesis)
    if type(hypothesis) is Always:
        only = Graph((), (), (Step(ConstantRow(np.zeros((1, 1))), (), 1),))
        return BoundClassifier(only, class_codes([plain_value(hypothesis.label)], classes))
    if type(hypothesis) is GraphClassifier:
        check_data(hypothesis)
        return hypothesis.bound(columns.names, columns.kinds, classes)
    model = model_of(hypothesis)
    if model is not None:
        places = _places(model.schema, model.used_attributes, columns)
        return ModelClassifier(model, places, class_codes(model.outcomes, classes))
    return read_pipeline(hypothesis, columns, classes)


@dataclass(frozen=True, eq=False)
class ModelClassifier:
    """A model of hedgerow's. A row with a value that its schema refuses has no class."""

    model: Model
    places: Mapping[str, int]  # the number of the column of each attribute that it uses
    codes: tuple[int, ...]  # the number of the class of each of its outcomes

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Integers:
        refused, bins = np.zeros(n_rows, dtype=bool), dict[str, Whole]()
        for name, place in self.places.items():
            found = bins_or_refused(self.model.schema[name], columns[place])
            refused |= found == OUTSIDE
            bins[name] = np.maximum(found, 0)
        return np.where(refused, NO_CLASS, np.array(self.codes)[self.model.outcomes_of(bins, n_rows)])


def bins_or_refused(attribute: Attribute, column: Column) -> Integers:
    """Return the bin of each row, `OUTSIDE` for a row that `encode` would refuse; independent of other rows."""
    column = attribute.prepared(column)
    codes = _codes_of_each(attribute, column)
    if column.missing is not None:
        codes = np.where(column.missing, MISSING, codes)
    refused = (codes == MISSING) & (attribute.missing == "error")
    refused |= ((codes == OUTSIDE) & (attribute.outside != "bin")) | (codes == _NO_VALUE)
    bins = bins_of_codes(attribute, np.where(refused, 0, codes), column.name)
    return np.where(refused, OUTSIDE, bins.astype(np.int64))


_NO_VALUE = -3  # text where a number is declared: refused under every policy


def _codes_of_each(attribute: Attribute, column: Column) -> Codes:
    """Return the codes of a column, `_NO_VALUE` for a row that has none, which bisection finds."""
    try:
        return attribute.codes(column)
    except DomainError:
        if len(column) == 1:
            return np.array([_NO_VALUE], dtype=np.int32)
    half = len(column) // 2
    return np.concatenate([_codes_of_each(attribute, part) for part in (column[:half], column[half:])])


def model_of(hypothesis: Any) -> Model | None:
    """Return the model of a hypothesis, rebuilt from its file's text, so that no other code is left; None if none."""
    if isinstance(hypothesis, TallyEstimator):
        hypothesis = released_model(hypothesis)
        if hypothesis is None:
            raise NotFittedError
    return rebuilt(hypothesis)


def _places(schema: Schema, used: Collection[str], columns: TargetColumns) -> dict[str, int]:
    names = schema.names
    if not columns.named and len(names) != len(columns.names):
        raise ArgumentError(f"it is a model of {len(names)} columns, and there are {len(columns.names)}")
    places = {name: columns.place(name) if columns.named else names.index(name) for name in names if name in used}
    for name, place in places.items():
        if columns.kinds[place] == "boolean" and schema[name].kind != "boolean":
            raise ArgumentError(f"its attribute {shown(name)} is {schema[name].kind}, and the column is boolean")
    return places


@dataclass(frozen=True)
class HypothesisCharges:
    """Charges of a hypothesis's own cards, each with a copy; reserves, each with the card's charges; denials."""

    charges: Sequence[tuple[Charge, Charge]] = ()
    reserves: Sequence[tuple[Charge, Sequence[Charge]]] = ()
    denials: Sequence[tuple[Fact, ...]] = ()

    def foreign(self, known: Collection[int]) -> list[Charge]:
        """Return the reserves of cards with a charge that is none of `known`, by identity, nor on an earlier card."""
        seen, found = {*known}, list[Charge]()
        for reserve, beside in self.reserves:
            found += [reserve] if {*map(id, beside)} - seen else []
            seen |= {*map(id, beside)}
        return found


def charges_of(hypothesis: Any) -> HypothesisCharges:
    """Return what a hypothesis's own cards say; whether it was learned from the oracle's rows it does not show."""
    paid, reserves, denials = (
        list[tuple[Charge, Charge]](),
        list[tuple[Charge, Sequence[Charge]]](),
        list[tuple[Fact, ...]](),
    )
    for part in _parts(hypothesis):
        for card in (getattr(part, name, None) for name in ("privacy", "privacy_")):
            if type(card) is PrivacyCard:
                why = card.no_guarantee
                paid += [(charge, renewed(charge, no_guarantee=why)) for charge in card.charges]
                reserves += [] if card.reserve is None else [(renewed(card.reserve), card.charges)]
                denials += [why] if why and not card.charges else []
        schema = getattr(part, "schema", None)
        if is_model(part) and not part.privacy.charges and type(schema) is Schema:
            paid += [(charge, renewed(charge)) for charge in schema.charges]
    return HypothesisCharges(paid, reserves, denials)


def _parts(hypothesis: Any) -> list[Any]:
    held = getattr(hypothesis, "hypothesis_", None)
    wholes = [hypothesis, held] if is_model(held) or isinstance(held, TallyEstimator) else [hypothesis]
    models = [model for whole in wholes for model in released_models(whole) if model is not whole]
    return wholes + models


_PLAIN = (str, int, float, bool, type(None))
_REBUILT = (Schema, *KINDS)  # rebuilt from the text of a file
_ARRAYS = (Floats, Integers, Mask)  # as fields are annotated
_OURS = __name__.rpartition(".")[0]


def check_data(value: Any) -> None:
    """Check that a value runs no code but hedgerow's: plain values, arrays, and dataclasses of this package.

    An object of a derived type could run code of its own on rows: a text with its own hash, a number with its own
    comparison. An array that stands for a number would be combined with rows by their positions: it is taken where a
    field is declared as one.
    """
    kind = type(value)
    if kind in _PLAIN or kind in _REBUILT:
        return
    if kind is tuple:
        for part in value:
            check_data(part)
    elif kind is dict:
        check_data((*value.keys(), *value.values()))
    elif is_dataclass(value) and kind.__module__.rpartition(".")[0] == _OURS:
        types = get_type_hints(kind)
        for field in fields(value):
            part = getattr(value, field.name)
            if type(part) is not np.ndarray or types[field.name] not in _ARRAYS:
                check_data(part)
            elif part.dtype.kind not in "fib":
                raise ArgumentError("one of its arrays does not hold numbers")
    else:
        raise ArgumentError(f"it holds an object of type {kind.__name__}, which could run code of its own")


_GAP = np.array([False, True])
_PROBES = {  # two rows of each kind of column: a value, and a missing one if the kind allows it
    "boolean": lambda name: Column(name, np.array([True, False]), None),
    "numbers": lambda name: Column(name, np.array([0.0, np.nan]), _GAP),
    "text": lambda name: Column(name, pa.array(["a", None], pa.large_string()), _GAP),
}
