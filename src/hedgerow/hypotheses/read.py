"""Readers of hypotheses: objects of known types become data; none of their code runs on a row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from hedgerow.errors import ArgumentError, HypothesisError
from hedgerow.hypotheses.classifiers import NO_CLASS, ByModel, Constant, Prepared, RowClassifier
from hedgerow.hypotheses.features import Chain, widest
from hedgerow.hypotheses.graph import GraphClassifier
from hedgerow.hypotheses.hypothesis import Always, class_codes, held_hypothesis
from hedgerow.hypotheses.scikit_learn import CLASSIFIERS, plain_values, read_step
from hedgerow.learn.base import TallyEstimator
from hedgerow.models.files import KINDS, rebuilt
from hedgerow.models.model import Model
from hedgerow.models.released import released_model, released_models
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge, renewed
from hedgerow.schema.schema import Schema
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown

READABLE = (
    "hedgerow's rule lists, trees, scorecards and ExprilClassifier; scikit-learn's linear classifiers, MLPClassifier, "
    "decision trees and forests, alone or in a Pipeline after scalers, SimpleImputer, OneHotEncoder and "
    "ColumnTransformer"
)
_MOST_NESTED = 20  # pipelines in pipelines


@dataclass(frozen=True)
class TargetColumns:
    """Public properties of the target's columns."""

    names: tuple[str, ...]  # their names
    kinds: tuple[str, ...]  # ``boolean``, ``numbers`` or ``text``
    named: bool  # whether columns are selected by name; else by position

    def place(self, name: str) -> int:
        """Return the index of a column; ValueError if there is none of that name."""
        if name not in self.names:
            raise ArgumentError(f"it uses the column {shown(name)}, which the target does not have")
        return self.names.index(name)


def read_classifier(hypothesis: Any, columns: TargetColumns, classes: Sequence[Any]) -> RowClassifier | None:
    """Return a hypothesis as data; None if its type is not supported.

    Only objects of exactly the known types are read, not of types derived from them: those can have other code.
    """
    try:
        found = _read(hypothesis, columns, classes)
        if found is not None:
            check_data(found)
            _try_out(found, columns, len(classes))
        return found
    except HypothesisError:
        raise
    except NotFittedError:
        problem = f"the {type(hypothesis).__name__} is not fitted"
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        problem = f"the {type(hypothesis).__name__} cannot be used as a hypothesis: {error}"
    raise HypothesisError(f"{problem}. Expected a fitted classifier for the columns {', '.join(columns.names)}.")


def _try_out(found: RowClassifier, columns: TargetColumns, n_classes: int) -> None:
    """Evaluate probe rows: a hypothesis that fails on every row must fail now, even if the target is empty."""
    codes = found(probe_columns(columns.names, columns.kinds), 2)
    if codes.shape != (2,) or (codes < NO_CLASS).any() or (codes >= n_classes).any():
        raise ArgumentError("it does not predict one class for each row")


def _read(hypothesis: Any, columns: TargetColumns, classes: Sequence[Any]) -> RowClassifier | None:
    hypothesis = held_hypothesis(hypothesis)
    if type(hypothesis) is Always:
        return Constant(class_codes([hypothesis.label], classes)[0])
    if type(hypothesis) is GraphClassifier:
        check_data(hypothesis)
        return hypothesis.bound(columns.names, columns.kinds, classes)
    model = model_of(hypothesis)
    if model is not None:
        return _by_model(model, columns, classes)
    return _prepared(hypothesis, columns, classes)


def model_of(hypothesis: Any) -> Model | None:
    """Return the model of a hypothesis, rebuilt from its file's text; None if it has none.

    Rebuilt, it runs the code of hedgerow only, even if other code was attached to the object.
    """
    if isinstance(hypothesis, TallyEstimator):
        hypothesis = released_model(hypothesis)
        if hypothesis is None:
            raise NotFittedError
    return rebuilt(hypothesis)


@dataclass(frozen=True)
class Paid:
    """What a hypothesis's own cards say: charges, each with a copy; reserves, each with the card's charges; denials."""

    charges: Sequence[tuple[Charge, Charge]] = ()
    reserves: Sequence[tuple[Charge, Sequence[Charge]]] = ()
    denials: Sequence[str] = ()

    def foreign(self, known: Collection[int]) -> list[Charge]:
        """Return the reserves of cards with a charge that is none of `known`, by identity, nor on an earlier card."""
        seen, found = {*known}, list[Charge]()
        for reserve, beside in self.reserves:
            found += [reserve] if {*map(id, beside)} - seen else []
            seen |= {*map(id, beside)}
        return found


def charges_of(hypothesis: Any) -> Paid:
    """Return what a hypothesis's own cards say: its charges, what an oracle may still charge, and denials.

    A hypothesis does not show whether it was learned from the oracle's rows; its charges count as if it was. Where a
    card has no guarantee, its charges have none; where it has no charges either, its reason is returned: the hypothesis
    counts as public, except for the charges of its cut points.
    """
    paid, reserves, denials = list[tuple[Charge, Charge]](), list[tuple[Charge, Sequence[Charge]]](), list[str]()
    for part in _parts(hypothesis):
        for card in (getattr(part, name, None) for name in ("privacy", "privacy_")):
            if type(card) is PrivacyCard:
                paid += [
                    (charge, renewed(charge, no_guarantee_reason=card.no_guarantee_reason)) for charge in card.charges
                ]
                reserves += [] if card.reserve is None else [(renewed(card.reserve), card.charges)]
                denials += [str(card.no_guarantee_reason)] if card.no_guarantee_reason and not card.charges else []
        schema = getattr(part, "schema", None)
        if isinstance(part, Model) and not part.privacy.charges and type(schema) is Schema:
            paid += [(charge, renewed(charge)) for charge in schema.charges]
    return Paid(paid, reserves, denials)


def _parts(hypothesis: Any) -> list[Any]:
    """Return a hypothesis, the models that it was fitted as, and those of the hypothesis that it holds."""
    held = getattr(hypothesis, "hypothesis_", None)
    wholes = [hypothesis, held] if isinstance(held, (Model, TallyEstimator)) else [hypothesis]
    models = [model for whole in wholes for model in released_models(whole) if model is not whole]
    return wholes + models


def _by_model(model: Model, columns: TargetColumns, classes: Sequence[Any]) -> ByModel:
    places = _places(model.schema, model.used_attributes, columns)
    return ByModel(model, places, class_codes(model.outcomes, classes))


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


def _prepared(hypothesis: Any, columns: TargetColumns, classes: Sequence[Any]) -> Prepared | None:
    names: tuple[str, ...] | None = columns.names if columns.named else None
    steps, classifier = [], hypothesis
    for _ in range(_MOST_NESTED):
        if type(classifier) is not Pipeline:
            break
        *before, (_, classifier) = classifier.steps
        steps += [step for _, step in before]
    else:
        raise ArgumentError(f"expected at most {_MOST_NESTED} nested pipelines, got more")
    if type(classifier) not in CLASSIFIERS:
        return None
    check_is_fitted(classifier)
    read = []
    for step in (*steps, classifier):
        _check_columns(step, names, len(columns.names) if not read else None)
        if step is not classifier:
            made = read_step(step, names)
            if made is None:
                return None
            read.append(made)
            names = None
    chain, text = Chain(tuple(read)), tuple(kind == "text" for kind in columns.kinds)
    after = chain.of_kinds(text)
    if any(after):
        raise ArgumentError("it takes numbers, and some columns are of text")
    scored = CLASSIFIERS[type(classifier)](classifier)
    if scored.width != len(after):
        raise ArgumentError(f"it takes {scored.width} columns, and there are {len(after)}")
    codes = class_codes(plain_values(classifier.classes_), classes)
    return Prepared(chain, scored, codes, max(scored.widest, widest(chain, text)))


def _check_columns(step: Any, names: tuple[str, ...] | None, width: int | None) -> None:
    """Check that the first fitted step was fitted on the target's columns in order, as scikit-learn would."""
    if width is None or step is None or isinstance(step, str):
        return
    met = getattr(step, "feature_names_in_", None)
    if names is not None and met is not None and type(step) is not ColumnTransformer and tuple(met) != names:
        raise ArgumentError(f"it was fitted on the columns {', '.join(map(str, met))}")
    fitted = getattr(step, "n_features_in_", width)
    if fitted != width:
        raise ArgumentError(f"it was fitted on {fitted} columns, and there are {width}")


_PLAIN = (str, int, float, bool, type(None))
_REBUILT = (Schema, *KINDS)  # rebuilt from the text of a file
_OURS = __name__.rpartition(".")[0]


def check_data(value: Any) -> None:
    """Check that a value runs no code but hedgerow's: plain values, arrays, and dataclasses of this package.

    An object of a derived type could run code of its own on rows: a text with its own hash, a number with its own
    comparison.
    """
    kind = type(value)
    if kind in _PLAIN or kind in _REBUILT:
        return
    if kind is np.ndarray:
        if value.dtype.kind not in "fib":
            raise ArgumentError("one of its arrays does not hold numbers")
    elif kind is tuple:
        for part in value:
            check_data(part)
    elif kind is dict:
        check_data((*value.keys(), *value.values()))
    elif is_dataclass(value) and kind.__module__.rpartition(".")[0] == _OURS:
        for field in fields(value):
            check_data(getattr(value, field.name))
    else:
        raise ArgumentError(f"it holds an object of type {kind.__name__}, which could run code of its own")


def probe_columns(names: Sequence[str], kinds: Sequence[str]) -> list[Column]:
    """Return two probe rows in columns of these kinds: a value, and a missing one if the kind allows it."""
    return [_PROBES[kind](name) for name, kind in zip(names, kinds, strict=True)]


_GAP = np.array([False, True])
_PROBES = {
    "boolean": lambda name: Column(name, np.array([True, False]), None),
    "numbers": lambda name: Column(name, np.array([0.0, np.nan]), _GAP),
    "text": lambda name: Column(name, pa.array(["a", None], pa.large_string()), _GAP),
}
