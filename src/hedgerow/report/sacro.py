"""Models as targets of SACRO-ML's attacks: encoded columns, shadow fits without a budget, and the guarantee."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.boundary.arrays import Array, Floats, Whole
from hedgerow.errors import ArgumentError, ArgumentTypeError, LabelsOnlyWarning, SeededNoiseWarning
from hedgerow.models.model import Model
from hedgerow.models.released import is_model, released_model
from hedgerow.report.comparisons import Pair
from hedgerow.schema import Schema
from hedgerow.tables.frames import Table

if TYPE_CHECKING:
    from sacroml.attacks.target import Target  # pyright: ignore[reportMissingImports]

_PLAIN = (str, int, float, bool, type(None))  # the types of parameters that a target's YAML file can hold


def sacro_target(model: Any, train: Pair, test: Pair, *, name: str = "") -> "Target":
    """Return a model with its rows as a target of SACRO-ML. **Private**: it holds the rows.

    SACRO-ML's worst-case, structural, LiRA and attribute attacks run on it; ``Target.save`` writes it for ``sacroml
    run``. Text columns are encoded as whole numbers, and classes as their indices. Attacks that fit shadow models, such
    as LiRA, need a fitted estimator. Shadow models are charged to no budget, since none is released.
    ``target.model.model`` has the attributes `epsilon` and `delta`, and reports of attacks list both in
    ``target_model_params``. The values are from the privacy card; they are None without a guarantee.

    Parameters
    ----------
    model : fitted estimator, or Model
        A model of classes that hedgerow learned or read from a file.
    train, test : tuple of (X, y)
        The training rows, and held-out rows of the same kind.
    name : str, optional
        The name of the dataset.

    Raises
    ------
    ImportError
        If SACRO-ML is not installed: ``pip install 'hedgerow[sacro]'``.
    TypeError
        If the model is not a model of hedgerow, is not fitted, or predicts a number.
    ValueError
        If rows and labels do not belong together, columns are absent, or a label is not a class of the model. If the
        estimator has a budget in ρ, with which other noise is drawn.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.report import sacro_target
    >>> data = hr.datasets.load("breast_cancer")
    >>> train, test = (data.frame[:400], data.labels[:400]), (data.frame[400:], data.labels[400:])
    >>> clf = hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=data.schema).fit(*train)
    >>> target = sacro_target(clf, train, test)  # doctest: +SKIP
    >>> target.model.model.epsilon  # doctest: +SKIP
    1.0
    """
    released = released_model(model)
    if released is None:
        raise ArgumentTypeError(f"model must be a hedgerow model or a fitted estimator, got {type(model).__name__}.")
    if released.schema.target.as_number is not None:
        raise ArgumentTypeError("SACRO-ML attacks classifiers only; this model predicts a number.")
    from sacroml.attacks.target import Target  # pyright: ignore[reportMissingImports]  # it loads PyTorch

    schema, pairs = released.schema, {"train": train, "test": test}
    rows = {part: LabelledRows.of_pair(part, pair) for part, pair in pairs.items()}
    frames = {part: _frame(labelled.table, schema) for part, labelled in rows.items()}
    card = released.privacy
    epsilon, delta = (float(card.epsilon or 0), float(card.delta or 0)) if card.is_private else (None, None)
    classifier = CodedClassifier(_learner(model), ColumnCoding.of(pd.concat(frames.values())), epsilon, delta)
    classifier.model_ = released
    arrays = dict[str, Any]()
    for part, labelled in rows.items():
        arrays[f"X_{part}"] = arrays[f"X_{part}_orig"] = classifier.coding.encode(frames[part])
        arrays[f"y_{part}"] = arrays[f"y_{part}_orig"] = _class_places(labelled, schema)
    target = Target(model=classifier, dataset_name=name, model_params=classifier.get_params(), **arrays)
    for place, column in enumerate(schema.columns()):
        target.add_feature(column, [place], "float" if classifier.coding.values[place] is None else "int")
    return target


def _learner(model: Any) -> Any:
    """Return an estimator like the model's, without a budget; None for a model without its estimator."""
    if is_model(model):
        return None
    learner: Any = clone(model)
    if "budget" not in learner.get_params():
        return learner
    if learner.budget is not None and learner.budget.remaining_rho is not None:  # a budget in ρ needs other noise
        raise ArgumentError(
            "Shadow models cannot be learned with a budget in rho; pass the fitted model, for attacks without shadow "
            "models, or an estimator with a budget in epsilon."
        )
    return learner.set_params(budget=None)


def _frame(table: Table, schema: Schema) -> pd.DataFrame:
    """Return the columns that a schema reads: attributes first, then units and weights."""
    names = schema.columns()
    if table.names is None:
        if table.width != len(names):
            raise ArgumentError(f"The array must have the {len(names)} columns of the schema, got {table.width}.")
        return pd.DataFrame(table.data, columns=pd.Index(names)).infer_objects()
    table.require(names)
    beside = [name for name in schema.extra_columns if name in table.names and name != schema.target.name]
    return table.data.select(*names, *beside).to_pandas()


def _class_places(rows: LabelledRows, schema: Schema) -> Whole:
    """Return the index of each label among the classes."""
    places = {label: place for place, label in enumerate(schema.classes)}
    labels = rows.typed(schema).values.tolist()
    if not places.keys() >= set(labels):
        raise ArgumentError("Some labels are not classes of the model.")
    return np.array([places[label] for label in labels], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ColumnCoding:
    """Encoding of columns as numbers: other values by their index in `values`, missing values as −1.

    `values` is None for a column of numbers; `whole` states whether these are whole numbers.
    """

    names: tuple[str, ...]
    values: tuple[Array | None, ...]
    whole: tuple[bool, ...]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Self:
        """Return the coding of all columns of a frame."""
        kinds = [dtype.kind if isinstance(dtype, np.dtype) else "O" for dtype in frame.dtypes]
        values = (
            None if kind in "iuf" else column.astype(object).astype("category").cat.categories.to_numpy()
            for kind, (_, column) in zip(kinds, frame.items(), strict=True)
        )
        return cls(tuple(frame), tuple(values), tuple(kind in "iu" for kind in kinds))

    def encode(self, frame: pd.DataFrame) -> Floats:
        """Return the columns of a frame as one array."""
        columns = (
            frame[name] if values is None else pd.Categorical(frame[name].astype(object), categories=values).codes
            for name, values in zip(self.names, self.values, strict=True)
        )
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])

    def decode(self, X: Floats) -> pd.DataFrame:
        """Return the frame that an array encodes; numbers of whole columns are rounded."""
        columns = dict[str, Any]()
        for name, values, whole, codes in zip(self.names, self.values, self.whole, X.T, strict=True):
            if values is not None:
                columns[name] = pd.Categorical.from_codes(codes.astype(np.int64), pd.Index(values)).astype(object)
            else:
                columns[name] = np.rint(codes).astype(np.int64) if whole else codes
        return pd.DataFrame(columns)


class CodedClassifier(ClassifierMixin, BaseEstimator):
    """A model of hedgerow that takes encoded columns and predicts indices of classes, as SACRO-ML expects.

    Parameters
    ----------
    learner : estimator or None
        The estimator for shadow models; None for a model without its estimator.
    coding : ColumnCoding
        The meaning of the columns.
    epsilon, delta : float or None
        The guarantee of the attacked model; None without a guarantee. Shadow models have no guarantee.
    random_state : int, optional
        The seed of a shadow model.

    Attributes
    ----------
    model_ : Model
        The model that predicts.
    """

    model_: Model

    def __init__(
        self,
        learner: Any,
        coding: ColumnCoding,
        epsilon: float | None = None,
        delta: float | None = None,
        random_state: int | None = None,
    ) -> None:
        self.learner = learner
        self.coding = coding
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep` is True, only parameters that a YAML file can hold, for `Target.save`.

        The parameter ε of the learner is omitted, since it is no guarantee if a seed was given.
        """
        params = super().get_params(deep)
        if not deep:
            return params
        plain = {name: value for name, value in params.items() if isinstance(value, _PLAIN)}
        return {name: value for name, value in plain.items() if name != "learner__epsilon"}

    @property
    def classes_(self) -> Whole:
        """The indices of the classes, from 0."""
        return np.arange(len(self.model_.schema.classes))

    def fit(self, X: Floats, y: Whole) -> Self:
        """Learn a shadow model, which is never released; ValueError without an estimator."""
        if self.learner is None:
            raise ArgumentError("Shadow models need the fitted estimator, not only its model; pass the estimator.")
        learner: Any = clone(self.learner)
        if "random_state" in learner.get_params():
            learner.set_params(random_state=self.random_state)
        classes = np.array(learner.schema.classes, dtype=object)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeededNoiseWarning)  # nothing is released
            learner.fit(self.coding.decode(X), pd.Series(classes[y], name=learner.schema.target.name).infer_objects())
        released = released_model(learner)
        assert released is not None
        self.model_ = released
        return self

    def predict(self, X: Floats) -> Whole:
        """Return the index of the predicted class of each row."""
        places = {label: place for place, label in enumerate(self.model_.schema.classes)}
        return np.array([places[label] for label in self.model_.predict(self.coding.decode(X)).tolist()])

    def predict_proba(self, X: Floats) -> Floats:
        """Return the probabilities of the classes; 1 or 0 for a model without released probabilities."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelsOnlyWarning)  # an attack on labels alone is intended
            return self.model_.predict_proba(self.coding.decode(X))
