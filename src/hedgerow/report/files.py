"""Digests of files: the SHA-256 of the bytes of a model file and of data snapshots, as sheets and records name them.

They are not content digests. The content digest of a model is in its file, and is the same for other bytes with the
same content, such as another indentation.
"""

import hashlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

from hedgerow.errors import ModelFormatError
from hedgerow.models.files import load_model


@dataclass(frozen=True)
class FileDigest:
    """The name of a file without its folder, its size in bytes, and the SHA-256 of its bytes in hexadecimal digits."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: str | PathLike[str]) -> Self:
        """Return the digest of a file as it lies on the disk; OSError if it cannot be read."""
        with Path(path).open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            return cls(Path(path).name, file.tell(), sha256)

    @classmethod
    def of_content(cls, name: str, content: str | bytes) -> Self:
        """Return the digest of a file with this content, text in UTF-8, before or without writing it."""
        data = content.encode() if isinstance(content, str) else content
        return cls(name, len(data), hashlib.sha256(data).hexdigest())

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {"name": self.name, "bytes": self.size, "sha256": self.sha256}


@dataclass(frozen=True)
class Files:
    """The files that a report is made of; None where no file was given.

    The digest of a file of rows confirms guesses at the rows, and so does that of a model file without a guarantee:
    these are for the board alone. `model_content` is the content digest of a model file of hedgerow.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.report import Files
    >>> data = hr.datasets.load("breast_cancer")
    >>> clf = hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=data.schema).fit(data.frame, data.labels)
    >>> clf.tree_.save("model.json")  # doctest: +SKIP
    >>> report = hr.Report.of(clf, files=Files.of(model="model.json"))  # doctest: +SKIP
    """

    model: FileDigest | None = None
    train: FileDigest | None = None
    test: FileDigest | None = None
    model_content: str | None = None

    @classmethod
    def of(
        cls,
        *,
        model: str | PathLike[str] | None = None,
        train: str | PathLike[str] | None = None,
        test: str | PathLike[str] | None = None,
    ) -> Self:
        """Compute the digests of a model file and of the files of training rows and held-out rows.

        A path that is no regular file, such as a pipe, has no digest.

        OSError if a file cannot be read.
        """
        files = {"model": model, "train": train, "test": test}
        paths = {part: Path(path) for part, path in files.items() if path is not None and Path(path).is_file()}
        content = _content_digest(paths["model"]) if "model" in paths else None
        return cls(**{part: FileDigest.of(path) for part, path in paths.items()}, model_content=content)


def _content_digest(path: Path) -> str | None:
    """Return the content digest of a model file of hedgerow; None for a file of another format."""
    with path.open("rb") as file:
        if not file.read(64).lstrip().startswith(b"{"):
            return None
    try:
        return load_model(path).to_dict()["digest"]
    except ModelFormatError:
        return None
