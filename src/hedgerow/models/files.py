"""Model files of any kind."""

import sys
from dataclasses import fields
from fractions import Fraction
from os import PathLike
from typing import Any, cast

from hedgerow.errors import ArgumentError, ArgumentTypeError, ModelFormatError
from hedgerow.models.envelope import format_of, parse, read
from hedgerow.models.model import Model
from hedgerow.models.rule_list import RuleList
from hedgerow.models.scorecard import Scorecard
from hedgerow.models.tree import Tree
from hedgerow.schema.schema import Schema
from hedgerow.text.days import Day

KINDS: tuple[type[Model], ...] = (RuleList, Tree, Scorecard)  # the kinds of models; each has its own file format


def load_model(path: str | PathLike[str]) -> Model:
    """Return the model in a JSON file, of any kind.

    Parameters
    ----------
    path : str or path
        A file that the method `save` of a model or ``hedgerow fit`` wrote.

    Raises
    ------
    ModelFormatError
        If the file is not a model file, is truncated, or was edited.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hedgerow.models import Rule
    >>> from hedgerow.privacy.card import PrivacyCard
    >>> from hedgerow.schema import Boolean, Label, Schema
    >>> schema = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))
    >>> path = Path(tempfile.mkdtemp(), "model.json")
    >>> RuleList(schema, (Rule((), label="no"),), PrivacyCard.none("example", software="hedgerow")).save(path)
    >>> load_model(path)
    <RuleList of 1 rule; guarantee: none (example)>
    """
    return read(path, lambda text: model_from_dict(parse(text)))


def read_model(path: str | PathLike[str], schema: Schema | None = None) -> Model:
    r"""Return a model that other software wrote, without a guarantee.

    Supported files are rules as text, PMML, and SQL that `Model.to_sql` wrote. PMML may have a ``TreeModel``,
    ``RuleSetModel`` or ``Scorecard`` without transformations. Every element, attribute or value that is not on an
    allow-list raises an error that names it. JSON files are read as by `load_model`. `Model.contents` lists the rows,
    statistics and free text that the file contains in addition to the model.

    Parameters
    ----------
    path : str or path
        The file, of at most 8 MiB.
    schema : Schema, optional
        The public schema of the rows, with the label. Numbers get cut points at the constants of the model's tests.
        Default: a schema derived from the tests of the model, which is sufficient for predictions but does not describe
        the domain of the rows. SQL needs the schema of the model that was exported.

    Returns
    -------
    RuleList, Tree or Scorecard
        The model, with the predictions and counts of the file, and a privacy card without a guarantee.

    Raises
    ------
    ModelFormatError
        If the file has another form, is too large, or uses unsupported features; the message states the line.
    SchemaError
        If the schema does not fit the model.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "rules.txt")
    >>> _ = path.write_text("if age <= 40 and sex = f then yes (yes 12, no 3)\nelse no (yes 1, no 9)")
    >>> print(read_model(path))
    if age <= 40 and sex = f then yes    # 15 rows (noise unknown)
    else no                              # 10 rows (noise unknown)
    (the privacy card does not state the noise on the counts, so they may not be exact)
    <BLANKLINE>
    age, sex: (source: derived from the tests of the model; not the domain of the rows)
    """
    if not (schema is None or isinstance(schema, Schema)):
        raise ArgumentTypeError(f"schema must be a Schema or None, got {type(schema).__name__}.")
    return read(path, lambda text: _of_text(text, schema))


def _of_text(text: str, schema: Schema | None) -> Model:
    start = text.lstrip()[:5].upper()
    if start.startswith(("{", "[")):
        if schema is not None:
            raise ModelFormatError("a hedgerow model file contains its own schema; leave out schema (--schema).")
        return model_from_dict(parse(text))
    if start == "SELEC":
        raise ModelFormatError("expected SQL that Model.to_sql wrote, which begins with /*, got a SELECT statement.")
    from hedgerow.models.readers.pmml import model_of_pmml  # the readers take long to import
    from hedgerow.models.readers.rules_text import rules_of_text
    from hedgerow.models.readers.sql_case import model_of_sql

    if start.startswith("<"):
        return model_of_pmml(text, schema)
    return model_of_sql(text, schema) if start.startswith("/*") else rules_of_text(text, schema)


def model_from_dict(data: Any) -> Model:
    for kind in KINDS:
        if isinstance(data, dict) and data.get("format") == kind.format:
            return kind.from_dict(data)
    expected = ", ".join(kind.format for kind in KINDS)
    raise ModelFormatError(f"expected one of the formats {expected}, got {format_of(data)}.")


def rebuilt(model: object) -> Model | None:
    """Return a copy of a model that was written as JSON and read back; None if its type is not exactly a known kind."""
    # Only declared fields of hedgerow's classes and plain values are copied, so code attached to the object is not run.
    kind = next((kind for kind in KINDS if type(model) is kind), None)
    return None if kind is None else kind.from_json(_plain_copy(cast("Model", model)).to_json())


_PLAIN = (str, int, float, bool, type(None), Day)


def _plain_copy(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN or (kind is Fraction and type(value.numerator) is type(value.denominator) is int):
        return value
    if kind is tuple:
        return tuple(map(_plain_copy, value))
    if kind is dict:
        return {_plain_copy(key): _plain_copy(part) for key, part in value.items()}
    if not getattr(getattr(kind, "__dataclass_params__", None), "frozen", False) or not _is_ours(kind):
        raise ArgumentError(f"the model contains an object of type {kind.__name__}, which could run its own code")
    copied = object.__new__(kind)
    for field in fields(cast("Any", kind)):
        object.__setattr__(copied, field.name, _plain_copy(object.__getattribute__(value, field.name)))
    return copied


def _is_ours(kind: type) -> bool:
    """Return whether a module of hedgerow defines this class under its name."""
    module = kind.__module__
    return module.startswith("hedgerow.") and vars(sys.modules.get(module, sys)).get(kind.__name__) is kind
