"""Data that a fitted estimator stores in addition to its predictions: training rows, statistics of rows, and values."""

import sys
from collections.abc import Iterator
from datetime import date, time, timedelta
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError
from hedgerow.models.extra_contents import Content, ContentKind, text_content
from hedgerow.models.released import released_model
from hedgerow.schema import Boolean, Schema
from hedgerow.text.values import plain_word, printable


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PARAMETERS = _names(
    "classes_ n_classes_ coef_ intercept_ coefs_ intercepts_ feature_names_in_ feature_names_ feature_names "
    "feature_placeholders estimators_features_ feature_importances_ n_iter_ output_indices_ drop_idx_ n_bins_ "
    "dual_coef_ _dual_coef_ _intercept_ _n_support class_weight_ class_weight classes transformer_weights "
    "feature_range ngram_range quantile_range estimator_params _seeds active_features_ n_categories_ shape_fit_ "
    "_num_iter _n_features_outs n_bins_non_missing_ is_categorical_ constant_value_bounds length_scale_bounds "
    "noise_level_bounds supports rules_ rules features final_itemsets feature_dict_ params param_grid "
    "param_distributions _columns ColumnTransformer.transformers ColumnTransformer.transformers_ "
    "ColumnTransformer._transformer_to_input_indices"
)
"""Attributes with the model's predictions or settings."""
_ROWS = _names(
    "_y y_ _y_train y_train_ train_y_ labels_ oob_prediction_ oob_decision_function_ embedding_ support_ "
    "transduction_ label_distributions_ row_labels_ training_data_ sample_weight _sample_weight support_vectors_ "
    "DBSCAN.components_ Nystroem.components_ AffinityPropagation.cluster_centers_"
)
"""Attributes with rows, or with a number for each row; with the class if other classes store statistics there."""
_EXTREMES = _names("data_min_ data_max_ max_abs_ bin_edges_ quantiles_ X_min_ X_max_ X_thresholds_")
_STATISTICS = _names(
    "mean_ var_ scale_ min_ data_range_ center_ statistics_ theta_ sigma_ means_ covariances_ precisions_ "
    "precisions_cholesky_ cluster_centers_ components_ class_count_ feature_count_ class_prior_ class_log_prior_ "
    "feature_log_prob_ covariance_ xbar_ scalings_ rotations_ singular_values_ explained_variance_ encodings_ "
    "target_mean_ X_offset_ X_scale_ bin_thresholds_ idf_ location_ precision_"
)
_MOST_OBJECTS, _DEEPEST, _LONGEST_NAME = 100_000, 40, 100
_CELLS = (str, bytes, int, float, complex, np.generic, date, time, timedelta)
_PLAIN = (*_CELLS, type(None), type, np.dtype)
_UNSHOWN = (np.random.RandomState, np.random.Generator)


def stored_contents(model: Any, schema: Schema | None = None) -> tuple[Content, ...]:
    """Return the rows, statistics, values and texts that a model file or a fitted estimator stores. **Private**.

    The file of a model can disclose more than its predictions. A nearest-neighbour model stores its training rows, a
    PMML file may contain a table of rows for verification, and a scaler stores means.

    Parameters
    ----------
    model : Model, or fitted estimator
        A model of `hedgerow.read_model`, or any object. Its attributes are followed without calling its code.
    schema : Schema, optional
        The public schema. Its categories are not reported.

    Returns
    -------
    tuple of Content
        The contents; empty if there are none.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> contents = stored_contents(KNeighborsClassifier(1, algorithm="brute").fit([[19.0], [97.0]], [0, 1]))
    >>> sorted((content.place, content.kind, content.amount) for content in contents)
    [('_fit_X', 'rows', 2), ('_y', 'rows', 2)]
    """
    own = released_model(model)
    if own is not None:
        return own.contents
    known = set[str]()
    for _, attribute in () if schema is None else schema.attributes:
        known |= {plain_word(value) for value, _ in attribute.spellings}
        known |= {plain_word(value) for value in (0, 1)} if isinstance(attribute, Boolean) else set()
    return tuple(_Walk(known).of(model))


class _Walk:
    """Walk over the attributes of an object and of all objects in it, each once."""

    def __init__(self, known: set[str]) -> None:
        self.known, self.seen, self.kept = known, set[int](), list[Any]()

    def of(self, model: Any) -> Iterator[Content]:
        waiting: list[tuple[Any, str, str, int, int]] = [(model, "", "", 0, 0)]  # object, path, name, columns, depth
        unread = 0
        while waiting:
            value, path, name, width, depth = waiting.pop()
            if _is(value, *_UNSHOWN) or id(value) in self.seen:
                continue
            if _is(value, *_PLAIN):
                yield from _written(value, path)
                unread += _is(value, bytes) and bytes.__len__(value) > 0
                parts = _extra_parts(value)
            else:
                self.seen.add(id(value))
                self.kept.append(value)  # keeps the object alive, so that no other object gets its id
                shape = None if {name, _own_name(name)} & _PARAMETERS else _shape(value)
                if shape is not None:
                    yield from self._content(value, path, name, width, shape)
                    parts = _extra_parts(value)
                else:
                    parts = _parts(value) if len(self.seen) <= _MOST_OBJECTS and depth <= _DEEPEST else None
            unread += parts is None
            width = _width(value) or width
            for key, is_attribute, part in reversed(parts or []):
                below = f"{path}.{key}" if path and is_attribute else f"{path}{key}"
                own = f"{_class(value)[1]}.{key}" if is_attribute else name
                waiting.append((part, below, own, width, depth + 1))
        if unread:
            yield Content("unread", "objects whose content cannot be read", unread)

    def _content(self, container: Any, path: str, name: str, width: int, shape: tuple[int, ...]) -> Iterator[Content]:
        """Yield the content of an array, a table or a list of plain values."""
        is_table = len(shape) == 2 and (_is_records(container, name) or _kind(name, shape, width) == "rows")
        if not is_table and (_own_name(name) in ("categories_", "categories") or _is_text(container)):
            new = [value for value in _values(container) if plain_word(value) not in self.known]
            if new:
                yield Content("values", path, len(new))
        elif 0 not in shape:
            kind = "rows" if is_table else _kind(name, shape, width)
            yield Content(kind, path, shape[0] if kind == "rows" else int(np.prod(shape)))


def _own_name(name: str) -> str:
    return name.rpartition(".")[2]


def _kind(name: str, shape: tuple[int, ...], width: int) -> ContentKind:
    own = _own_name(name)
    if own in _ROWS or name in _ROWS:
        return "rows"
    if own in _EXTREMES:
        return "extremes"
    if own in _STATISTICS or len(shape) == 1:
        return "statistics"
    is_of_columns = shape[1] == width != shape[0]
    is_of_pairs = shape[0] == shape[1] > max(width, 1)  # such as distances between rows
    return (
        "rows" if is_of_columns or is_of_pairs or own.lower().lstrip("_").startswith(("x", "fit_x")) else "statistics"
    )


def _is(value: Any, *kinds: type) -> bool:
    """Return whether an object has one of some types; unlike `isinstance`, this runs no code of the object."""
    return issubclass(type(value), kinds)


def _class(value: Any) -> tuple[str, str]:
    """Return the module and name of an object's class, without running code of a metaclass."""
    kind = type(value)
    module, name = (vars(type)[key].__get__(kind) for key in ("__module__", "__name__"))
    return (module if type(module) is str else "", name)


def _is_of_library(value: Any, *libraries: str) -> bool:
    """Return whether an object's class is the class of that name in a module of some libraries."""
    module, name = _class(value)
    is_named = module.partition(".")[0] in libraries
    return is_named and vars(sys.modules.get(module, sys)).get(name) is type(value)


def _shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array, a table, or a list of plain values; None for other objects."""
    if _class(value)[1].rstrip("0123456789") in ("KDTree", "BallTree") and _is_of_library(value, "sklearn", "scipy"):
        return guarded(lambda: np.asarray(value.data).shape, ArgumentError("the tree has no data."))
    if _is(value, np.ndarray) and np.ndarray.dtype.__get__(value).kind != "O":
        return np.asarray(value).shape or None
    if _is(value, *_TABLES):
        return tuple(value.shape) if _is_of_library(value, "pandas", "scipy") else None
    if _is(value, dict) and dict.__len__(value) > 1:
        return (dict.__len__(value),) if _are(list(dict.values(value)), int, float) else None
    values = _listed(value)
    return None if values is None else _shape_of_list(value, values)


def _shape_of_list(container: Any, values: list[Any]) -> tuple[int, ...] | None:
    """Return the shape of a list of plain values, or of records of equal length; None for other lists."""
    if len(values) > 1 and _are(values, *_CELLS):
        whole = np.asarray(container).shape if _is(container, np.ndarray) else ()
        return whole if len(whole) == 2 else (len(values),)
    records = [_cells(value) for value in values]
    sizes = {0 if record is None else len(record) for record in records}
    is_table = len(sizes) == 1 and len(records) * min(sizes) > 1
    return (len(records), sizes.pop()) if is_table else None


def _cells(record: Any) -> list[Any] | None:
    cells = list(dict.values(record)) if _is(record, dict) else None if _is(record, np.ndarray) else _listed(record)
    return cells if cells and _are(cells, *_CELLS, type(None)) else None


def _are(values: list[Any], *kinds: type) -> bool:
    """Return whether all values have one of some types."""
    types = {id(type(value)): type(value) for value in values}  # a class may define its own hash, which is not called
    return all(issubclass(own, kinds) for own in types.values())


def _is_records(value: Any, name: str) -> bool:
    """Return whether an object is a list of mappings, such as rows; in results of a search they are parameters."""
    return (
        _own_name(name) != "cv_results_"
        and not _is(value, np.ndarray)
        and all(_is(item, dict) for item in _listed(value) or [None])
    )


def _listed(value: Any) -> list[Any] | None:
    """Return the values of a list, tuple, set or array of objects; None for other objects."""
    if _is(value, np.ndarray):
        return np.asarray(value).ravel().tolist()
    kind = next((kind for kind in (list, tuple, set, frozenset) if _is(value, kind)), None)
    return None if kind is None else list(kind.__iter__(value))


def _values(container: Any) -> list[Any]:
    """Return the texts and numbers of a list, or of a mapping's keys, as Python's own types."""
    values = list(dict.keys(container)) if _is(container, dict) else _listed(container) or []
    parts = [part for value in values for part in (_listed(value) or [value])]
    exact = [next((kind(part) for base, kind in _EXACT if _is(part, base)), None) for part in parts]
    return [value for value in exact if value is not None and value == value]


def _is_text(container: Any) -> bool:
    values = list(dict.keys(container)) if _is(container, dict) else _listed(container) or []
    return any(_is(part, str) for value in values for part in (_listed(value) or [value]))


def _written(value: Any, path: str) -> Iterator[Content]:
    """Yield the content of a text that is longer than a parameter or looks like rows."""
    content = text_content(str.__str__(value), path) if _is(value, str) else None
    if content is not None and (content.kind == "rows" or content.amount > _LONGEST_NAME):
        yield content


def _parts(container: Any) -> list[tuple[str, bool, Any]] | None:
    """Return the parts of an object, with their names and whether they are attributes; None if they are unknown."""
    extra = _extra_parts(container)
    if _is(container, dict):
        keys = [key for key in dict.keys(container) if not _is(key, str, int)]
        parts = [("[…]", False, part) for part in (*dict.values(container), keys)]  # a key can be a value of a row
        return parts + extra
    values = _listed(container)
    if values is not None:
        return [(f"[{place}]", False, value) for place, value in enumerate(values)] + extra
    if _class(container)[0].startswith(_COUNTED) or _is(container, slice):
        return []
    if _is(container, FunctionType, BuiltinFunctionType, MethodType, ModuleType, np.ufunc, partial):
        return _parts_of_code(container)
    own = _attributes(container)
    return None if own is None else _named(own)


def _parts_of_code(value: Any) -> list[tuple[str, bool, Any]] | None:
    """Return the objects that a function refers to; None if its code does not belong to a known library."""
    if _is(value, partial):
        parts = (vars(partial)[name].__get__(value) for name in ("func", "args", "keywords"))
        return [("", False, part) for part in parts]
    if _is(value, BuiltinFunctionType, MethodType):
        self = value.__self__
        return [] if self is None or _is(self, ModuleType, type) else [("", False, self)]
    if not _is(value, FunctionType):
        return []
    module = value.__module__
    return [] if type(module) is str and module.partition(".")[0] in ("sklearn", "numpy", "scipy") else None


def _extra_parts(value: Any) -> list[tuple[str, bool, Any]]:
    """Return the attributes of an instance of a subclass of a plain value, list, mapping or array."""
    if _is(value, type):
        return []
    own = _attributes(value) or {}
    if _is(value, *_TABLES):
        own = {name: part for name, part in own.items() if name == "_attrs"}
    return _named(own)


def _named(own: dict[str, Any]) -> list[tuple[str, bool, Any]]:
    return [(printable(name)[:40], True, part) for name, part in own.items() if name != "__doc__"]


def _attributes(value: Any) -> dict[str, Any] | None:
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return {str.__str__(name): part for name, part in dict.items(own) if _is(name, str)} if _is(own, dict) else None


_EXACT = ((str, str.__str__), (float, float.__float__), (int, int.__int__))
"""Functions that convert instances of subclasses to Python's own types, without running code of the subclass."""
_TABLES = (pd.DataFrame, pd.Series, pd.Index, sparse.spmatrix, sparse.sparray)
_COUNTED = ("sklearn.tree._tree", "sklearn._loss", "sklearn.linear_model._sgd_fast")
"""Modules whose objects store only leaf counts, or no data."""


def _width(value: Any) -> int:
    """Return the number of columns that an estimator was fitted on; 0 if unknown."""
    width = (_attributes(value) or {}).get("n_features_in_", 0)
    return width if type(width) is int else 0
