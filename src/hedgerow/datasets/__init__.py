"""Named public datasets, each with a schema written by hand.

Bounds and cut points are constants in the packaged YAML files, which state their sources; loading a dataset computes
none of them from rows. NOTICE.md lists the sources and licences of the tables.
"""

import hashlib
import io
import lzma
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from types import MappingProxyType
from typing import Any

import pandas as pd

from hedgerow.errors import ArgumentError, UnreadableError
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument

__all__ = ["NAMES", "SENSITIVE", "Dataset", "load"]

_SHA256 = {
    "adult": "6f8f2babc5ee744afd03f6d978d8d6b3e3b0aae240d931c4976a9cce7af0d347",
    "adult_binary": "933f173cf3f67b9da098b155c13c93650d43a45e6b80a05621adf03bd6531b69",
    "compas": "e1261f763eb378f5d04201d867dda3f3cb7530a9a70b6ef8b0aab369b1ca5388",
    "compas_binary": "df5eccc8e4468568b1e1d28859f9c2b33925e3cc1c8eaacb5e479609e088fbf4",
    "ctg": "7081f3411cc7aaa11141c7961f707fb28822dcfdc59a1c0669919a0214574437",
    "german": "d5f580dff0e9763b99ba1c568441dbe2cc7e81d180ebb74565dc5f04a7d41507",
    "german_binary": "55c708ab2ef5bf68160d424620475287fd5231e3d149f601ba3b691c861896fa",
}
_FOLDER = files("hedgerow") / "datasets"

NAMES: tuple[str, ...] = tuple(sorted(("breast_cancer", *_SHA256)))  # the names that `load` accepts

SENSITIVE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "adult": ("age", "marital-status", "relationship", "race", "sex", "native-country"),
        "adult_binary": ("gender_Female", "gender_Male", "age_high", "age_low"),
        "breast_cancer": (),
        "compas": ("sex", "age", "age_cat", "race"),
        "compas_binary": (
            *("Age=18-20", "Age=18-22", "Age=18-25", "Age=24-30", "Age=24-40", "Age>=30", "Age<=40", "Age<=45"),
            "Gender=Male",
            *("Race=African-American", "Race=Caucasian", "Race=Asian", "Race=Hispanic", "Race=Native-American"),
            "Race=Other",
        ),
        "ctg": (),
        "german": ("personal_status_sex", "age", "foreign_worker"),
        "german_binary": (),
    }
)
"""The columns of each dataset that state sex, age, race, origin or family status."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A public table, named in `NAMES`, with its labels and its schema.

    The `frame`, of shape ``(n_rows, n_columns)``, has every column except the label, including columns that the schema
    does not use. `labels` has shape ``(n_rows,)``. The `schema` has the usable attributes and the label.
    """

    name: str
    frame: pd.DataFrame = field(repr=False)
    labels: pd.Series = field(repr=False)
    schema: Schema

    def __post_init__(self) -> None:
        _check_name(self.name)

    def without_sensitive(self) -> "Dataset":
        """Return the dataset without the columns listed in `SENSITIVE`; SchemaError if no attribute remains."""
        sensitive = SENSITIVE[self.name]
        attributes = tuple((name, kind) for name, kind in self.schema.attributes if name not in sensitive)
        frame = self.frame.drop(columns=[column for column in sensitive if column in self.frame])
        return replace(self, frame=frame, schema=replace(self.schema, attributes=attributes))


def load(name: str) -> Dataset:
    """Return a named dataset.

    The tables are part of the package, except `breast_cancer`, which is part of scikit-learn; no network is needed. The
    SHA-256 of each packaged file is checked.

    Parameters
    ----------
    name : {"adult", "adult_binary", "breast_cancer", "compas", "compas_binary", "ctg", "german", "german_binary"}
        The dataset. ValueError if there is no dataset of this name, or if its file was changed.

    Notes
    -----
    The label of ``compas_binary`` keeps the name ``Recidivate-Within-Two-Years`` from its file, but equals ``is_recid``
    of ``compas`` in every row: charged again at any time. It differs from ``two_year_recid`` in 220 rows. Its columns
    ``Age<=40`` and ``Age<=45`` are true for ages of *at least* 40 and 45 years.

    The frame of ``compas`` also contains columns that are not features: ``is_recid``, ``decile_score`` and
    ``score_text``. Its schema does not use them, so learn with the schema and not from all columns.

    Examples
    --------
    >>> from hedgerow import datasets
    >>> data = datasets.load("breast_cancer")
    >>> data.frame.shape
    (569, 30)
    >>> data.schema["mean radius"].bins
    ('[0, 12]', '(12, 15]', '(15, 18]', '(18, 50]')
    """
    _check_name(name)
    with as_file(_FOLDER / f"{name}.yaml") as path:
        schema = Schema.load(path)
    assert schema.label is not None
    if name == "breast_cancer":
        from sklearn.datasets import load_breast_cancer  # takes long to import; other tables do not need it

        bunch: Any = load_breast_cancer(as_frame=True)
        frame = bunch.data.assign(diagnosis=bunch.target.map({0: "malignant", 1: "benign"}))
    else:  # only empty fields are missing, not words such as "NA" or "?"
        frame = pd.read_csv(io.BytesIO(_content(name)), keep_default_na=False, na_values=[""])
    labels = frame.pop(schema.label.name)
    return Dataset(name, frame, labels, schema)


def _check_name(name: str) -> None:
    if name not in NAMES:
        raise ArgumentError(f"name must be one of {', '.join(NAMES)}, got {describe_argument(name)}.")


def _content(name: str) -> bytes:
    content = lzma.decompress((_FOLDER / f"{name}.csv.xz").read_bytes())
    digest = hashlib.sha256(content).hexdigest()
    if digest != _SHA256[name]:
        problem = f"{name}.csv.xz: expected SHA-256 {_SHA256[name]}, got {digest}"
        raise UnreadableError(f"{problem}. Install hedgerow again.")
    return content
