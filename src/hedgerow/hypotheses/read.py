"""Readers of hypotheses: objects of known types become data, and none of their code runs on rows."""

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
    """Return a hypothesis as data if its type is exactly a known type; None for other types, including subclasses."""
    try:
        classifier = _read(hypothesis, columns, classes)
        if classifier is None:
            return None
        check_data(classifier)
        # An error that does not depend on rows must occur now, even if the target is empty.
        probes = [_PROBES[kind](name) for name, kind in zip(columns.names, columns.kinds, strict=True)]
        codes = classifier(probes, 2)
        if codes.shape != (2,) or (codes < NO_CLASS).any() or (codes >= len(classes)).any():
            raise ArgumentError("it does not predict a class for each row")
        return classifier
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
        constant = Graph((), (), (Step(ConstantRow(np.zeros((1, 1))), (), 1),))
        return BoundClassifier(constant, class_codes([plain_value(hypothesis.label)], classes))
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
    """A hedgerow model as a hypothesis. A row with a value that the schema does not allow has no class."""

    model: Model
    places: Mapping[str, int]  # the column index of each attribute that the model uses
    codes: tuple[int, ...]  # the class index of each outcome of the model

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Integers:
        is_invalid, bins = np.zeros(n_rows, dtype=bool), dict[str, Whole]()
        for name, place in self.places.items():
            codes = bins_or_outside(self.model.schema[name], columns[place])
            is_invalid |= codes == OUTSIDE
            bins[name] = np.maximum(codes, 0)
        return np.where(is_invalid, NO_CLASS, np.array(self.codes)[self.model.outcomes_of(bins, n_rows)])


def bins_or_outside(attribute: Attribute, column: Column) -> Integers:
    """Return the bin of each row, independent of other rows; `OUTSIDE` for rows for which `encode` would raise."""
    column = attribute.prepared(column)
    codes = _codes_by_row(attribute, column)
    if column.missing is not None:
        codes = np.where(column.missing, MISSING, codes)
    is_invalid = (codes == MISSING) & (attribute.missing == "error")
    is_invalid |= ((codes == OUTSIDE) & (attribute.outside != "bin")) | (codes == _NO_VALUE)
    bins = bins_of_codes(attribute, np.where(is_invalid, 0, codes), column.name)
    return np.where(is_invalid, OUTSIDE, bins.astype(np.int64))


_NO_VALUE = -3  # text for a numeric attribute: an error under every policy


def _codes_by_row(attribute: Attribute, column: Column) -> Codes:
    """Return the codes of a column, with `_NO_VALUE` for rows without a code, which are found by bisection."""
    try:
        return attribute.codes(column)
    except DomainError:
        if len(column) == 1:
            return np.array([_NO_VALUE], dtype=np.int32)
    half = len(column) // 2
    return np.concatenate([_codes_by_row(attribute, part) for part in (column[:half], column[half:])])


def model_of(hypothesis: Any) -> Model | None:
    """Return the model of a hypothesis, rebuilt from the text of its file without foreign code, or None."""
    if isinstance(hypothesis, TallyEstimator):
        hypothesis = released_model(hypothesis)
        if hypothesis is None:
            raise NotFittedError
    return rebuilt(hypothesis)


def _places(schema: Schema, used: Collection[str], columns: TargetColumns) -> dict[str, int]:
    names = schema.names
    if not columns.named and len(names) != len(columns.names):
        raise ArgumentError(f"the model has {len(names)} attributes, but there are {len(columns.names)} columns")
    places = {name: columns.place(name) if columns.named else names.index(name) for name in names if name in used}
    for name, place in places.items():
        if columns.kinds[place] == "boolean" and schema[name].kind != "boolean":
            raise ArgumentError(f"its attribute {shown(name)} is {schema[name].kind}, but the column is boolean")
    return places


@dataclass(frozen=True)
class HypothesisCharges:
    """The charges on the cards of a hypothesis with copies, the reserves with the charges of their cards, and denials.

    A denial has the reasons why a card without charges has no guarantee.
    """

    charges: Sequence[tuple[Charge, Charge]] = ()
    reserves: Sequence[tuple[Charge, Sequence[Charge]]] = ()
    denials: Sequence[tuple[Fact, ...]] = ()

    def foreign(self, known: Collection[int]) -> list[Charge]:
        """Return the reserves of cards with a charge that is not in `known` (by identity) or on an earlier card."""
        seen, reserves = {*known}, list[Charge]()
        for reserve, charges in self.reserves:
            reserves += [reserve] if {*map(id, charges)} - seen else []
            seen |= {*map(id, charges)}
        return reserves


def charges_of(hypothesis: Any) -> HypothesisCharges:
    """Return the charges on the cards of a hypothesis, whether or not it was learned from the oracle's rows."""
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
    inner = getattr(hypothesis, "hypothesis_", None)
    learners = [hypothesis, inner] if is_model(inner) or isinstance(inner, TallyEstimator) else [hypothesis]
    models = [model for learner in learners for model in released_models(learner) if model is not learner]
    return learners + models


_PLAIN = (str, int, float, bool, type(None))
_REBUILT = (Schema, *KINDS)  # rebuilt from the text of a file
_ARRAYS = (Floats, Integers, Mask)  # the annotations of array fields
_OURS = __name__.rpartition(".")[0]


def check_data(value: Any) -> None:
    """Raise ArgumentError unless a value consists of plain values, arrays, and dataclasses of this package.

    A subclass could run its own code on rows, such as a hash of a text or a comparison of a number. An array in place
    of a number would be combined with rows by position, so arrays are allowed only in fields that are declared as
    arrays.
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
                raise ArgumentError("an array is not numeric")
    else:
        raise ArgumentError(f"it contains an object of type {kind.__name__}, which could run its own code")


_GAP = np.array([False, True])
_PROBES = {  # two rows for each kind of column, with a missing value if the kind allows it
    "boolean": lambda name: Column(name, np.array([True, False]), None),
    "numbers": lambda name: Column(name, np.array([0.0, np.nan]), _GAP),
    "text": lambda name: Column(name, pa.array(["a", None], pa.large_string()), _GAP),
}
