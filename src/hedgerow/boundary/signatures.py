"""Statements that a curator signed (Ed25519, as a JSON Web Signature), and the public keys that tell so."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hedgerow.errors import MissingPackageError, ReceiptError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_END = "-----END PUBLIC KEY-----"
_LARGEST = 2**14


def public_keys(text: str) -> tuple[Ed25519PublicKey, ...]:
    """Return the public keys of a PEM text, one or several: a curator's present key, and earlier ones."""
    if not (find_spec("jwt") and find_spec("cryptography")):
        raise MissingPackageError.of("checking a receipt", "PyJWT and cryptography", "client")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    parts = text.split(_END)[:-1] if isinstance(text, str) and len(text) <= _LARGEST else []
    keys = list[Any]()
    with suppress(ValueError, UnsupportedAlgorithm):
        keys = [load_pem_public_key((part + _END).encode()) for part in parts]
    found = [key for key in keys if isinstance(key, Ed25519PublicKey)]
    if not found or len(found) < len(parts):
        raise ReceiptError("expected public Ed25519 keys as PEM, got another text.")
    return tuple(found)


def read_signed(text: str, keys: tuple[Ed25519PublicKey, ...]) -> dict[str, Any]:
    """Return the statement of a receipt that one of the keys signed; without keys, whoever signed it, or nobody."""
    import jwt

    options: Any = {"verify_aud": False, "verify_iat": False, "verify_signature": bool(keys)}
    for key in keys or ("",):
        with suppress(jwt.InvalidTokenError):
            found = jwt.decode_complete(text.strip()[:_LARGEST], key, algorithms=["EdDSA"], options=options)
            if found["header"].get("typ") == "hedgerow-receipt":
                return found["payload"]
            raise ReceiptError("expected a receipt of hedgerow's, got another statement signed with this key.")
    raise ReceiptError("the receipt is not signed with this key: it was changed, or is another curator's.")
