"""Digests of files: the SHA-256 of the bytes of a report's input files, as sheets and records list them.

They are not content digests. The content digest of a model is stored in its file. It does not change if the bytes
change but the content does not, for example with another indentation.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from hedgerow.errors import ModelFormatError
from hedgerow.models.files import load_model

FileRole = Literal["model", "training_rows", "held_out_rows", "ledger", "evaluation", "form", "appetite", "attack"]
PRIVATE_ROLES: frozenset[FileRole] = frozenset(("training_rows", "held_out_rows", "attack"))
"""The roles of files whose digests confirm guesses at rows: they are for the board alone."""


@dataclass(frozen=True)
class FileDigest:
    """The SHA-256 of a file's bytes, and the role of the file in a report.

    Attributes
    ----------
    role : str
        The role of the file: the model, rows, or another input.
    name : str
        The name of the file without its folder.
    bytes : int
        The size of the file.
    sha256 : str
        The digest in hexadecimal digits.
    content : str, optional
        The content digest of a model file of hedgerow.
    """

    role: FileRole
    name: str
    bytes: int
    sha256: str
    content: str | None = None

    @classmethod
    def of(cls, role: FileRole, path: str | PathLike[str]) -> Self:
        """Return the digest of a file on the disk; OSError if it cannot be read."""
        with Path(path).open("rb") as file:
            sha256, size = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
        return cls(role, Path(path).name, size, sha256, _content_digest(Path(path)) if role == "model" else None)

    def to_dict(self) -> dict[str, Any]:
        """Return the digest as JSON-ready data."""
        return {"role": self.role, "name": self.name, "bytes": self.bytes, "sha256": self.sha256}


def sha256_of(content: str | bytes) -> str:
    """Return the SHA-256 of a file with this content, text in UTF-8, in hexadecimal digits."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


Paths = str | PathLike[str] | Sequence[str | PathLike[str]] | None


def file_digests(
    *,
    model: Paths = None,
    training_rows: Paths = None,
    held_out_rows: Paths = None,
    ledger: Paths = None,
    evaluation: Paths = None,
    form: Paths = None,
    appetite: Paths = None,
    attack: Paths = None,
) -> tuple[FileDigest, ...]:
    """Return the digests of the files from which a report is made; each role has one file, several files, or none.

    A path that is not a regular file, such as a pipe, has no digest. OSError if a file cannot be read.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.report import file_digests
    >>> data = hr.datasets.load("breast_cancer")
    >>> clf = hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=data.schema).fit(data.frame, data.labels)
    >>> clf.tree_.save("model.json")  # doctest: +SKIP
    >>> report = hr.Report.of(clf, files=file_digests(model="model.json"))  # doctest: +SKIP
    """
    given: dict[FileRole, Paths] = {
        "model": model,
        "training_rows": training_rows,
        "held_out_rows": held_out_rows,
        "ledger": ledger,
        "evaluation": evaluation,
        "form": form,
        "appetite": appetite,
        "attack": attack,
    }
    every: list[tuple[FileRole, Path]] = [
        (role, Path(path)) for role, paths in given.items() for path in _several(paths)
    ]
    return tuple(FileDigest.of(role, path) for role, path in every if path.is_file())


def _several(paths: Paths) -> Sequence[str | PathLike[str]]:
    if paths is None:
        return ()
    return (paths,) if isinstance(paths, (str, PathLike)) else paths


def _content_digest(path: Path) -> str | None:
    """Return the content digest of a model file of hedgerow; None for a file of another format."""
    with path.open("rb") as file:
        if not file.read(64).lstrip().startswith(b"{"):
            return None
    try:
        return load_model(path).to_dict()["digest"]
    except ModelFormatError:
        return None
