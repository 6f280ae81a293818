"""The subject of a report: a released model or a model of another library, as the sections need it."""

from dataclasses import KW_ONLY, InitVar, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor

from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.inference.labelled import LabelledRows, declared_unit, distinct, label_values
from hedgerow.audit.inference.leaf_risk import LeafRisk, counted_risk, single_risk, stored_risk, unnamed_risk
from hedgerow.audit.readers.columns import Features, fitted_columns
from hedgerow.audit.readers.ensembles import PREDICTORS, WITHOUT_TREES, final_model, is_ensemble
from hedgerow.audit.readers.paths import HasRegions, Paths
from hedgerow.audit.readers.read import paths_of
from hedgerow.audit.readers.stored import stored_contents
from hedgerow.boundary.arrays import Array, Floats
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.decisions import ClassWeight, Costs, cost_matrix
from hedgerow.models.extra_contents import Content
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.models.model import Model
from hedgerow.models.released import released_model
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.facts import Fact
from hedgerow.report.appetite import DEFAULT, Appetite
from hedgerow.report.files import FileDigest
from hedgerow.report.form import Form
from hedgerow.schema import Number, Schema
from hedgerow.tables.frames import column_of
from hedgerow.text.language import _
from hedgerow.text.values import listed, quoted_text, value_text


@dataclass(frozen=True, repr=False, eq=False)
class Subject:
    """A model with its card, its schema and its form; it takes the arguments of `Report.of`.

    `released` is the model if it is a model of hedgerow. A model of another library has the card of a model without
    privacy. Its schema is None if no schema was given, and `features` is the meaning of its columns. `last` is the
    model, or the last step of a pipeline. Decision paths are None for a scorecard, an ensemble, or a model without a
    schema. `unread` is the reason why the paths of a tree in a pipeline could not be read in spite of a schema.
    `appetite` has the thresholds of checks, and `files` has the digests of the given files. ValueError if the content
    of a model file differs from the model. `cost_matrix` has the cost of each prediction (column) for each true class
    (row); None if no costs are known.
    """

    model: Any
    form: Form = field(default_factory=Form)
    _only: KW_ONLY
    schema: Schema | None = None
    features: Features | None = None
    appetite: Appetite = DEFAULT
    files: tuple[FileDigest, ...] = ()
    costs: InitVar[Costs | None] = None
    class_weight: InitVar[ClassWeight | None] = None
    released: Model | None = field(init=False)
    card: PrivacyCard = field(init=False)
    paths: Paths | None = field(init=False)
    unread: str = field(init=False)
    last: Any = field(init=False)
    cost_matrix: Floats | None = field(init=False)

    def __post_init__(self, costs: Costs | None, class_weight: ClassWeight | None) -> None:
        model, schema = self.model, self.schema
        check_optional(self.appetite, Appetite, "an Appetite", "appetite")
        check_optional(schema, Schema, "a Schema", "schema")
        check_optional(self.form, Form, "a Form", "form")
        released = released_model(model)
        known = schema if schema is not None or released is None else released.schema
        last = model if released is not None else final_model(model)[1]
        paths, unread = None, ""
        if released is not None or not is_ensemble(last):
            paths, known, unread = _paths(model, released, known, self.features)
        maker = f"{type(last).__module__.partition('.')[0]} ({type(last).__name__})"
        unprotected = PrivacyCard.none(Fact("learned_by", library=maker), software=Fact("library", name=maker))
        card = unprotected if released is None else released.privacy
        own = {"released": released, "card": card, "schema": known, "paths": paths, "unread": unread, "last": last}
        _check_files(self.files, released)
        for name, value in {**own, "cost_matrix": _costs(model, known, costs, class_weight)}.items():
            object.__setattr__(self, name, value)
        if released is None and self.number is None and isinstance(model, BaseEstimator) and is_regressor(model):
            raise ArgumentError(
                "A report on a regressor needs a schema with a numeric label; pass schema= with "
                "`label: {name: ..., low: ..., high: ...}`."
            )
        _check_columns(self.form, known)

    @property
    def is_private(self) -> bool:
        """True if its card has a guarantee, so that its content may be on the public sheet."""
        return self.card.is_private

    @property
    def kind(self) -> str:
        """The kind of model, in words."""
        if self.released is not None:
            return _(self.released.kind)
        name = type(self.last).__name__
        return name if self.last is self.model else _("{model} in a pipeline", model=name)

    @property
    def title(self) -> str:
        """The title of the form, or the kind of model if there is none."""
        return self.form.title or _("untitled model ({kind})", kind=self.kind)

    @property
    def number(self) -> Number | None:
        """The number that it predicts; None for classes, or without a schema."""
        return None if self.schema is None or self.schema.label is None else self.schema.label.as_number

    @property
    def predicted(self) -> str | None:
        """The name of the column that is predicted; None without a schema that declares it."""
        return None if self.schema is None or self.schema.label is None else self.schema.label.name

    @property
    def sensitive_attributes(self) -> tuple[str, ...]:
        """The sensitive columns of the form, except the predicted column."""
        return tuple(name for name in self.form.sensitive if name != self.predicted)

    @property
    def person_unit(self) -> str | None:
        """The column that identifies a person: from the form, or else the schema's unit; None without either."""
        return self.form.unit_column or declared_unit(self.schema)

    @property
    def second_unit(self) -> str | None:
        """The column of a second unit, such as a household: the form's, or the schema's if the form names persons."""
        declared = declared_unit(self.schema)
        return self.form.second_unit or (declared if declared != self.person_unit else None)

    @property
    def loss(self) -> str:
        """The code of the loss by which it was drawn; empty if the card states none."""
        drawn = (charge.mechanism for charge in self.card.charges)
        return next((how["loss"].code for how in drawn if how is not None and how.code == "model_draw"), "")

    @property
    def has_schema(self) -> bool:
        """True if the model's file contains the schema, with bounds and cut points, as files of hedgerow do."""
        return self.released is not None and self.card.software.code == "hedgerow"

    @property
    def has_own_thresholds(self) -> bool:
        """True if another library chose its thresholds on numbers independently of the schema's cut points."""
        if self.card.software.code == "hedgerow":
            return False
        if self.schema is None or self.paths is None:
            return self.schema is None or bool(self.schema.numbers)
        return any(literal.attribute in self.schema.numbers for literal in self.paths.literals)

    @property
    def own(self) -> Any:
        """The model that is audited: hedgerow's own, or the given model."""
        return self.model if self.released is None else self.released

    @property
    def has_leaves(self) -> bool:
        """True if it routes each row to a leaf, as all supported models of other libraries do."""
        return self.released is None or bool(self.released.leaves)

    @property
    def stores_bins(self) -> bool:
        """True if the model has released rows of its bins."""
        return self.released is not None and bool(self.released.bin_supports)

    @property
    def is_ensemble(self) -> bool:
        """True if it is an ensemble whose trees are examined together."""
        return self.released is None and isinstance(self.last, PREDICTORS)

    @property
    def is_opaque(self) -> bool:
        """True if it is an ensemble whose library publishes no structure of its trees: no leaf can be examined."""
        return self.released is None and isinstance(self.last, WITHOUT_TREES)

    @cached_property
    def tags(self) -> set[str]:
        """The properties of the model that decide which checks apply."""
        applies = {
            "guarantee": self.is_private,
            "no-guarantee": not self.is_private,
            "leaves": self.has_leaves,
            "ensemble": self.is_ensemble or self.is_opaque,
            "points": not self.has_leaves,
            "bins": self.released is not None and not self.has_leaves and (not self.is_private or self.stores_bins),
            "classes": self.number is None,
            "number": self.number is not None,
            "comparable": self.loss != "quantile",
            "schema": self.schema is not None,
            "unit": self.person_unit is not None or (self.form.rows_per_unit or 1) > 1,
            "second-unit": self.second_unit is not None,
            "own-thresholds": self.has_own_thresholds,
            "declared-numbers": self.has_schema and self.schema is not None and bool(self.schema.number_columns),
        }
        return {name for name, holds in applies.items() if holds}

    @property
    def bound(self) -> tuple[Fraction, Fraction] | None:
        """The ε and δ of its guarantee; None without a guarantee."""
        epsilon, delta = self.card.epsilon, self.card.delta
        return None if epsilon is None or not self.is_private else (epsilon, delta or Fraction(0))

    @cached_property
    def refined(self) -> tuple[Paths, Schema, Domain]:
        """Its decision paths, its schema, and the domain with all thresholds of the paths; requires paths."""
        assert self.paths is not None
        assert self.schema is not None  # paths are read in a schema
        domain = Domain.of(self.schema, self.paths.literals)
        return normalised(self.paths, domain.schema), self.schema, domain

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The decision path to each leaf in words; empty if paths are not known."""
        if self.paths is None:
            return ()
        paths, _schema, domain = self.refined
        return paths.conditions(domain.schema)

    @property
    def leaf_of(self) -> Any:
        """The model, or a function that follows its paths, by which audits find the leaf of each row."""
        if self.paths is None or callable(getattr(self.own, "apply", None)):
            return self.own
        paths, _schema, domain = self.refined
        return lambda X: paths.apply(X, domain.schema)

    @cached_property
    def contents(self) -> tuple[Content, ...]:
        """The data in the model's file, or in the estimator, apart from its predictions."""
        return self.released.contents if self.released is not None else stored_contents(self.model, self.schema)

    @cached_property
    def stored_leaves(self) -> LeafRisk | None:
        """The rows of the leaves by the counts that the model stores; None without leaves or counts."""
        least, unit = self.appetite.fewest_rows, self.form.unit_column or None
        if self.paths is None:
            risk = None if self.released is not None else unnamed_risk(self.last, least, self.schema)
            return None if risk is None else replace(risk, unit=unit)
        if not self.has_leaves or self.paths.supports is None:
            return None
        release = None if self.released is None else self.released.leaf_release
        return replace(stored_risk(self.paths, self.conditions, least, self.schema, release), unit=unit)

    def leaves(self, train: tuple[Any, Any] | None = None) -> LeafRisk | None:
        """Return the rows of the leaves, from the training rows if given; None without leaves or counts.

        Persons are counted instead of rows if the rows have the column that identifies them. The counts that another
        library's model stores are counts of its training rows, if it stores all of them.
        """
        stored = self.stored_leaves
        is_exact = self.released is None and stored is not None and stored.is_complete and not stored.several
        if train is None or is_exact or not self.has_leaves:
            return stored
        rows = train if self.number is None else (train[0], self.levels(train[1]))
        least, unit = self.appetite.fewest_rows, self.form.unit_column or None
        if self.paths is None or self.released is not None:
            return single_risk(self.leaf_of, rows, schema=self.schema, threshold=least, unit=unit)
        paths, schema, domain = self.refined  # include leaves without rows
        classes, places = distinct(LabelledRows.of(*rows).values), paths.apply(rows[0], domain.schema)
        names = tuple(f"{i}. {text}" for i, text in enumerate(self.conditions, 1))
        return counted_risk(names, places, classes, rows[0], schema, least, unit)

    def predict(self, X: Any) -> Array:
        """Return the predicted class, or number, of each row."""
        if self.released is not None:
            return self.released.predict(X)
        problem = ArgumentError("The model's predict failed, or did not return one value for each row of X.")
        predictions = guarded(lambda: np.asarray(self.model.predict(fitted_columns(self.model, X))), problem)
        if predictions.shape != (len(X),):
            raise problem
        return predictions

    def class_words(self, labels: Any) -> Array:
        """Return the class of each label in words; DomainError if a label is missing or not a class of the schema."""
        label = None if self.released is None or self.schema is None else self.schema.class_label
        if label is None:
            # True, 1 and 1.0 are the same key of a dictionary, so the model's own word for the class is used.
            words = {value: value_text(value) for value in np.asarray(getattr(self.model, "classes_", ())).tolist()}
            values = label_values(labels).tolist()
            return np.array([words.get(value, value_text(value)) for value in values], dtype=object)
        names = np.array([value_text(value) for value in label.classes], dtype=object)
        return names[label.encode(column_of(labels, label.name)).astype(np.intp)]

    def numbers(self, values: Any) -> Floats:
        """Return the values of the predicted number; DomainError if a value is missing, or outside the schema's domain.

        A value beyond a bound at which the schema clips is not clipped: errors refer to the number itself.
        """
        assert self.number is not None
        column = column_of(values, self.number.name)
        self.number.encode(column)
        return column.numbers()

    def levels(self, values: Any) -> Floats:
        """Return the middle of the level of each value of the number, with the same errors as `numbers`."""
        assert self.number is not None
        return np.array(self.number.values)[self.number.encode(column_of(values, self.number.name))]

    @cached_property
    def sensitive_leaves(self) -> tuple[int, ...]:
        """The leaves whose decision path uses a sensitive attribute, counted from 0."""
        if self.paths is None:
            return ()
        names = set(self.sensitive_attributes)
        paths = enumerate(self.paths.paths)
        return tuple(i for i, path in paths if any(literal.attribute in names for literal, _holds in path))


def _paths(
    model: Any, released: Model | None, schema: Schema | None, features: Features | None
) -> tuple[Paths | None, Schema | None, str]:
    """Return the decision paths of a single model, its schema, and why the paths of a tree in a pipeline are not read.

    The leaves of such a tree can still be counted from the rows.
    """
    last = final_model(model)[1]
    can_apply = callable(getattr(last, "apply", None))
    if released is not None and not released.leaves:
        return None, schema, ""
    if schema is not None:
        try:
            return *paths_of(model if released is None else released, schema, features), ""
        except ArgumentTypeError as error:
            if last is model or not can_apply:
                raise
            return None, schema, f"{error}"
    if not (can_apply or isinstance(model, HasRegions)):
        raise ArgumentTypeError(
            f"A report cannot read {type(last).__name__}; pass a model of hedgerow, a model that "
            "reconstruction audits read (with schema=), or a model with apply(X)."
        )
    return None, schema, ""


def check_optional(given: object, kind: Any, what: str, name: str) -> None:
    if not (given is None or isinstance(given, kind)):
        raise ArgumentTypeError(f"{name} must be {what} or None, got {type(given).__name__}.")


def _check_files(files: object, released: Model | None) -> None:
    """Check that files are digests, and that the content of a model file equals the model's content."""
    if not isinstance(files, tuple) or not all(isinstance(file, FileDigest) for file in files):
        raise ArgumentTypeError(f"files must be the result of report.file_digests, got {type(files).__name__}.")
    for file in files:
        is_own = file.content is not None or (released is not None and released.privacy.is_private)
        if file.role == "model" and is_own and (released is None or file.content != released.to_dict()["digest"]):
            advice = "Load the model from this file, or pass its own file to file_digests."
            raise ArgumentError(f"{file.name}: this is not the file of the model: its content differs. {advice}")


def _check_columns(form: Form, schema: Schema | None) -> None:
    """Check that the columns that a form names can have their roles."""
    if schema is None:
        return
    target = None if schema.label is None else schema.label.name
    if any(name not in schema and name != target for name in form.sensitive):
        known = listed((*schema.names, *([target] if target else [])))
        raise ArgumentError(f"sensitive in the form must list names of {known}; it has another name.")
    if form.unit_column and (form.unit_column in schema or form.unit_column == target):
        raise ArgumentError(
            f"unit_column in the form must identify persons; {quoted_text(form.unit_column)} is a column that the "
            f"model "
            "uses or predicts."
        )
    if form.second_unit and form.second_unit == target:
        raise ArgumentError("second_unit in the form must not be the predicted column.")


def _costs(model: Any, schema: Schema | None, costs: Costs | None, class_weight: ClassWeight | None) -> Floats | None:
    """Return the given costs, or the costs that the fit minimised; None if there are none."""
    if costs is None and class_weight is None:
        released = released_model(model)
        return None if released is None or released.costs is None else np.array(released.costs)
    if schema is None:
        raise ArgumentError("costs and class_weight need a schema; pass schema=.")
    return cost_matrix(schema.classes, class_weight=class_weight, costs=costs)


def public_release(subject: Subject) -> LeafRelease | None:
    """Return the released numbers of the leaves of a model with a guarantee; None without a guarantee."""
    return subject.released.leaf_release if subject.released is not None and subject.is_private else None
