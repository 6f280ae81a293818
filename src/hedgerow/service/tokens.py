"""Bearer tokens of an identity provider (OpenID Connect), in place of API keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import jwt

from hedgerow.errors import AccessError, ArgumentError
from hedgerow.service.curator import Caller
from hedgerow.service.keys import PREFIX, Keys
from hedgerow.untrusted_text import read_text

_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]  # signatures alone: no shared secret, and never "none"
_LEEWAY = 30  # seconds that clocks may differ
_REFRESH = 300  # seconds for which keys are kept


@dataclass(frozen=True, repr=False)
class Tokens:
    """What a curator believes of tokens: who issues them, for whom, and who their subjects are here.

    Attributes
    ----------
    issuer, audience : str
        What a token must say.
    keys : str
        Where the issuer's public keys are (JWKS): a URL that starts with ``https://``, or the path of a file.
    claim : str
        The claim that names the subject.
    callers : mapping of str to Caller
        Who a subject is. Others are not known, whatever their token says of their role.

    Raises
    ------
    ValueError
        If `keys` is neither.
    """

    issuer: str
    audience: str
    keys: str
    claim: str
    callers: Mapping[str, Caller]

    def __post_init__(self) -> None:
        if urlsplit(self.keys).scheme not in ("https", ""):
            raise ArgumentError("expected the issuer's keys at a URL that starts with https://, or in a file.")
        if urlsplit(self.keys).scheme:
            object.__setattr__(self, "_client", jwt.PyJWKClient(self.keys, lifespan=_REFRESH, timeout=5))

    def caller(self, token: str) -> Caller:
        """Return whose token this is.

        Raises
        ------
        AccessError
            If it is not signed by the issuer, has expired, is for another audience, or of an unknown subject.
        """
        subject = None
        try:
            claims = jwt.decode(
                token,
                self._key(token),
                algorithms=_ALGORITHMS,
                issuer=self.issuer,
                audience=self.audience,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud", self.claim]},
            )
            subject = claims[self.claim]
        except (jwt.PyJWTError, OSError, ValueError, LookupError):
            pass
        found = self.callers.get(subject) if isinstance(subject, str) else None
        if found is None:
            raise AccessError("expected a valid token of the identity provider, for somebody who is known here.")
        return found

    def _key(self, token: str) -> jwt.PyJWK:
        """Return the issuer's key that a token says it is signed with; raises if there is none."""
        client: jwt.PyJWKClient | None = getattr(self, "_client", None)
        if client is not None:
            return client.get_signing_key_from_jwt(token)
        return jwt.PyJWKSet.from_json(read_text(self.keys))[jwt.get_unverified_header(token)["kid"]]


def caller_by(keys: Keys, tokens: Tokens | None) -> Callable[[str], Caller]:
    """Return what tells who has a key, or, where a provider is believed, whose token something is."""

    def caller(text: str) -> Caller:
        return keys.caller(text) if tokens is None or text.startswith(PREFIX) else tokens.caller(text)

    return caller
