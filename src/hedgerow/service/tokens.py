"""Bearer tokens of an identity provider (OpenID Connect), as an alternative to API keys."""

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import jwt

from hedgerow.boundary.untrusted_text import read_text
from hedgerow.errors import AccessError, ArgumentError
from hedgerow.service.keys import PREFIX, Keys
from hedgerow.service.requests import Caller

_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]  # signatures only: no shared secrets, and never "none"
_LEEWAY = 30  # seconds of tolerated clock difference
_REFRESH = 300  # seconds for which keys are cached
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (jwt.ExpiredSignatureError, "it has expired (exp)"),
    (jwt.ImmatureSignatureError, "it is not valid yet (nbf, iat)"),
    (jwt.InvalidAudienceError, "its audience (aud) is not the configured audience"),
    (jwt.InvalidIssuerError, "its issuer (iss) is not the configured issuer"),
    (jwt.InvalidAlgorithmError, "its algorithm (alg) is not allowed"),
    (jwt.InvalidSignatureError, "its signature does not fit the issuer's key"),
    (jwt.MissingRequiredClaimError, "a required claim is missing"),
    (jwt.PyJWKClientError, "the issuer's keys cannot be read"),
    (OSError, "the issuer's keys cannot be read"),
    (LookupError, "the issuer has no key with its id (kid)"),
    (Exception, "it is malformed"),
)
_PAUSE = 10  # seconds between two downloads of keys


class _Published:
    """Public keys of an issuer at a URL, downloaded rarely, since anybody can send unknown key ids."""

    def __init__(self, url: str) -> None:
        self._client = jwt.PyJWKClient(url, cache_jwk_set=False, timeout=5)
        self._lock = threading.Lock()
        self._keys = dict[str, jwt.PyJWK]()
        self._tried = self._fetched = -math.inf

    def __getitem__(self, kid: str) -> jwt.PyJWK:
        if (self._stale or kid not in self._keys) and self._lock.acquire(blocking=self._stale):
            try:
                now = time.monotonic()
                if (self._stale or kid not in self._keys) and now >= self._tried + _PAUSE:
                    self._tried = now
                    self._keys = {str(key.key_id): key for key in self._client.get_signing_keys()}
                    self._fetched = now
            finally:
                self._lock.release()
        if self._stale:
            raise ConnectionError
        return self._keys[kid]

    @property
    def _stale(self) -> bool:
        return time.monotonic() >= self._fetched + _REFRESH


@dataclass(frozen=True, repr=False)
class Tokens:
    """Trust in tokens of an issuer, with the callers of their subjects."""

    issuer: str  # required in a token
    audience: str  # required in a token
    keys: str  # public keys of the issuer (JWKS): an ``https://`` URL or the path of a file
    claim: str  # the claim with the subject
    callers: Mapping[str, Caller]  # callers by subject; other subjects are rejected, and roles in tokens are ignored

    def __post_init__(self) -> None:
        if urlsplit(self.keys).scheme not in ("https", ""):
            raise ArgumentError("tokens: keys must be a URL that starts with https://, or a file.")
        if urlsplit(self.keys).scheme:
            object.__setattr__(self, "_published", _Published(self.keys))

    def caller(self, token: str) -> Caller:
        subject, reason = None, f"its subject ({self.claim}) is not a caller in the configuration"
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
        except (jwt.PyJWTError, OSError, ValueError, LookupError) as error:
            reason = next(text for kind, text in _REASONS if isinstance(error, kind))
        caller = self.callers.get(subject) if isinstance(subject, str) else None
        if caller is None:
            raise AccessError(f"the token is not valid: {reason}.")
        return caller

    def _key(self, token: str) -> jwt.PyJWK:
        published: _Published | None = getattr(self, "_published", None)
        kid = jwt.get_unverified_header(token)["kid"]
        return jwt.PyJWKSet.from_json(read_text(self.keys))[kid] if published is None else published[kid]


def caller_by(keys: Keys, tokens: Tokens | None) -> Callable[[str], Caller]:
    """Return a function that authenticates API keys and, if configured, tokens."""

    def caller(text: str) -> Caller:
        return keys.caller(text) if tokens is None or text.startswith(PREFIX) else tokens.caller(text)

    return caller
