"""Receipts: signed statements that link an answer to an entry of the ledger (Ed25519, JSON Web Signature)."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hedgerow.boundary.canonical import FIRST, digest, imported
from hedgerow.boundary.durable import check_closed, sync_folder, write_synced, write_whole
from hedgerow.boundary.signatures import public_keys, read_signed
from hedgerow.boundary.untrusted_text import parse_json, read_text
from hedgerow.errors import LedgerError, ReceiptError, UnreadableError
from hedgerow.models.files import model_from_dict
from hedgerow.privacy import wording
from hedgerow.privacy.unit import Unit
from hedgerow.service.ledger.entry import Entry
from hedgerow.text.values import printable

LARGEST_ANSWER = 2**26  # bytes
_LARGEST = 2**14  # bytes of a key or receipt
_REQUIRED = (
    "dataset",
    "epoch",
    "analyst",
    "request",
    "entry",
    "question",
    "answer",
    "query",
    "unit",
    "epsilon",
    "delta",
    "rho",
)


@dataclass(frozen=True, repr=False)
class Signer:
    """Private signing key of a curator."""

    key: Ed25519PrivateKey

    @classmethod
    def new(cls) -> Self:
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            key = serialization.load_pem_private_key(read_text(path, _LARGEST).encode(), None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise ReceiptError(
                f"{path} is not a PEM file with a private Ed25519 key; create a key with: hedgerow serve init"
            )
        check_closed(path, "a key")
        return cls(key)

    def save(self, path: str | Path) -> None:
        """Write the key to a new PEM file with owner-only permissions, and the public key to a ``.pub`` file."""
        _write_private(Path(path), self.key)
        Path(path).with_suffix(".pub").write_text(self.public)

    def prepare(self, path: str | Path) -> Path:
        """Write the key next to the PEM file that it replaces, and add its public key before earlier keys."""
        fresh, published = Path(path).with_suffix(".new"), Path(path).with_suffix(".pub")
        fresh.unlink(missing_ok=True)
        _write_private(fresh, self.key)
        write_whole(published, self.public + read_receipt(published).replace(self.public, ""))
        sync_folder(fresh)
        return fresh

    @property
    def public(self) -> str:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self.key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()

    @property
    def name(self) -> str:
        """The id of the key in receipts: the first half of the SHA-256 of the public key."""
        return digest(self.key.public_key().public_bytes_raw())[:32]

    def sign(self, statement: dict[str, Any]) -> str:
        headers = {"typ": "hedgerow-receipt", "kid": self.name}
        return jwt.encode(statement, self.key, algorithm="EdDSA", headers=headers)


@dataclass(frozen=True)
class Receipt:
    """Statement with a verified signature."""

    statement: dict[str, Any]  # dataset, epoch, analyst and request

    @classmethod
    def verify(cls, text: str, public: str) -> Self:
        statement = read_signed(text, public_keys(public))
        if set(_REQUIRED) - set(statement):
            problem = "the signed statement is not a receipt of hedgerow, or not a receipt of this version"
            raise ReceiptError(f"{problem}. Verify receipts of 0.2.0 with hedgerow 0.2.0.")
        return cls(statement)

    def check(self, path: str | Path) -> None:
        text = read_text(path, LARGEST_ANSWER)
        if digest(text) == self.statement["answer"]:
            return
        data = parse_json(text)
        if not isinstance(data, dict) or "digest" not in data or data["digest"] != self.statement["model"]:
            raise ReceiptError(f"{path} is not the answer or model of this receipt.")
        model_from_dict(data)  # raises an error if the digest is wrong

    def check_ledger(self, path: str | Path) -> bool:
        """Check that an export contains the entry of this charge; return whether it is a complete chain."""
        previous, is_found, whole = FIRST, False, True
        with Path(path).open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                data, content, hashed = _imported(line, number)
                whole = whole and "previous" in data
                previous = Entry.read(number, content, hashed, previous).hash if whole else hashed
                is_found |= hashed == self.statement["entry"] and _charged(data) == _charged(self.statement)
        if not is_found:
            raise ReceiptError(f"{path}: the export does not contain the entry {self.statement['entry']}.")
        return whole

    def __str__(self) -> str:
        statement = self.statement
        rho = "" if statement["rho"] is None else f", rho {statement['rho']}"
        unit = None if statement["unit"] is None else Unit.from_dict(statement["unit"])
        between = printable(wording.neighbours(unit))
        return (
            f"dataset {statement['dataset']}, epoch {statement['epoch']}, asked by {statement['analyst']}\n"
            f"charged epsilon {statement['epsilon']}, delta {statement['delta']}{rho}, for {between}\n"
            f"request {statement['request']}, ledger entry {statement['entry']}"
        )


def read_receipt(path: str | Path) -> str:
    """Return the text of a receipt or public key, of bounded size."""
    return read_text(path, _LARGEST)


def _imported(line: str, number: int) -> tuple[dict[str, Any], str, str]:
    try:
        return imported(line)
    except (UnreadableError, KeyError, TypeError, AttributeError, LedgerError):
        pass
    raise LedgerError(f"the ledger is broken at entry {number}: it is not a line of `hedgerow ledger export`.")


def _charged(data: dict[str, Any]) -> list[Any]:
    """Return the charge that an entry or a receipt states."""
    charge = data.get("charge")
    stated = {**data, **(charge if isinstance(charge, dict) else {})}
    return [stated.get(name) for name in ("request", "dataset", "epoch", "analyst", "epsilon", "delta", "rho")]


def _write_private(path: Path, key: Ed25519PrivateKey) -> None:
    form = serialization.PrivateFormat.PKCS8
    private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        write_synced(file.fileno(), private)
