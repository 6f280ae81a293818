"""Statements signed by a curator (Ed25519, as a JSON Web Signature), and the public keys to verify them."""

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
    """Return the public keys in a PEM text: a curator's current key, and earlier keys if there are any."""
    if not (find_spec("jwt") and find_spec("cryptography")):
        raise MissingPackageError.of("checking a receipt", "PyJWT and cryptography", "client")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    parts = text.split(_END)[:-1] if isinstance(text, str) and len(text) <= _LARGEST else []
    keys = list[Any]()
    with suppress(ValueError, UnsupportedAlgorithm):
        keys = [load_pem_public_key((part + _END).encode()) for part in parts]
    ed25519 = [key for key in keys if isinstance(key, Ed25519PublicKey)]
    if not ed25519 or len(ed25519) < len(parts):
        raise ReceiptError("expected public Ed25519 keys in PEM format; the text is something else.")
    return tuple(ed25519)


def read_signed(text: str, keys: tuple[Ed25519PublicKey, ...]) -> dict[str, Any]:
    """Return the statement of a receipt that is signed with one of the keys; without keys, no signature is checked."""
    import jwt

    options: Any = {"verify_aud": False, "verify_iat": False, "verify_signature": bool(keys)}
    for key in keys or ("",):
        with suppress(jwt.InvalidTokenError):
            decoded = jwt.decode_complete(text.strip()[:_LARGEST], key, algorithms=["EdDSA"], options=options)
            if decoded["header"].get("typ") == "hedgerow-receipt":
                return decoded["payload"]
            raise ReceiptError("expected a hedgerow receipt; the key signed another kind of statement.")
    raise ReceiptError("the receipt is not signed with this key: it was changed, or another curator signed it.")
