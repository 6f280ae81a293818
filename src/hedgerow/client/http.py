"""Requests to a curator's service, sent again with the same key until they are answered."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from hedgerow._version import __version__
from hedgerow.boundary.canonical import digest
from hedgerow.boundary.untrusted_text import parse_json
from hedgerow.errors import ArgumentError, MissingPackageError, ServiceError, UnreadableError
from hedgerow.privacy.process import ProcessBound

if TYPE_CHECKING:
    import httpx2

RECEIPT = "Hedgerow-Receipt"
_AnswerT = TypeVar("_AnswerT")
_TRIES = 6
_FIRST_PAUSE = 0.25  # seconds, then twice as long each time
_LARGEST = 2**26  # bytes of an answer
_LONGEST = 400  # characters of each part of a problem
_HERE = ("127.0.0.1", "localhost", "::1")
_AGAIN = ("still-running", "busy")  # problems that another try may solve
_OUTAGES = ("unavailable", "ledger-unavailable")  # faults of the service, after which the question is sent again
_LONGEST_PAUSE = 3600  # seconds that a service may ask to wait
UNREACHABLE = "unreachable"  # the kind of an error without a response
SETTLED = ("evaluation-failed", "key-reused")
"""Problems that the same key would meet again. After any other the question is sent with its key: it may be charged."""


class Connection(ProcessBound):
    """A connection to a curator's service."""

    def __init__(self, url: str, key: str, timeout: float, job_timeout: float = 3600.0) -> None:
        super().__init__()
        if not find_spec("httpx2"):
            raise MissingPackageError.of("connecting to a service", "httpx2", "client")
        import httpx2

        headers = {"Authorization": f"Bearer {key}", "User-Agent": f"hedgerow {__version__}"}
        headers["Accept-Encoding"] = "identity"  # a few compressed bytes may be many
        proxies = _check_url(url)
        self._client = httpx2.Client(base_url=url, headers=headers, timeout=timeout, trust_env=proxies)
        self.timeout, self.job_timeout = timeout, job_timeout
        self._pending = defaultdict[str, list[str]](list)

    def close(self) -> None:
        self._client.close()

    def get(self, path: str) -> Any:
        return self.json(self.read(path))

    def post(self, path: str, question: dict[str, Any]) -> Any:
        return self.json(self._until_answered("POST", path, json=question))

    def ask(
        self, path: str, body: bytes, read: Callable[[Callable[[], httpx2.Response]], _AnswerT], key: str | None = None
    ) -> _AnswerT:
        """Return what `read` makes of a charged question: it is given a function that sends it, always with one key.

        While the service reports a fault of its own, the question is sent again after the time that it asks for, until
        that would take longer than `timeout` seconds altogether.
        """
        # Asked again after it went unanswered, it is sent with the same key; while it is being asked, it is another.
        unanswered = self._pending[digest(path.encode() + body)]
        with suppress(IndexError):
            key = unanswered.pop()
        key = key or str(uuid4())
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        ends = time.monotonic() + self.timeout
        try:
            send = partial(self._until_answered, "POST", path, content=body, headers=headers)
            while True:
                try:
                    return read(send)
                except ServiceError as error:
                    pause = error.retry_after
                    if error.kind not in _OUTAGES or pause is None or time.monotonic() + pause > ends:
                        raise
                time.sleep(pause)
        except BaseException as error:
            if getattr(error, "kind", None) not in SETTLED:
                unanswered.append(key)
            raise

    def read(self, path: str) -> httpx2.Response:
        return self._until_answered("GET", path)

    def json(self, response: httpx2.Response) -> Any:
        with suppress(UnreadableError, UnicodeDecodeError):
            return parse_json(response.content.decode())
        raise ServiceError("expected JSON from the service, got another answer.", status=response.status_code)

    def _until_answered(self, method: str, path: str, **sent: Any) -> httpx2.Response:
        import httpx2

        self.check_process()
        problem = ServiceError("the service cannot be reached; is it running, and is the URL right?")
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                response = self._received(method, path, **sent)
            except httpx2.InvalidURL:
                raise ServiceError("expected names that fit a URL from the service, got another answer.") from None
            except httpx2.TransportError as error:
                if _is_certificate_refused(error):
                    problem = ServiceError(
                        "the service's certificate is of no authority that is trusted here, so nothing was sent; name "
                        "the file of yours in SSL_CERT_FILE."
                    )
                    break
                problem = ServiceError(
                    f"the service did not answer ({type(error).__name__}). If it was asked a question, that may be "
                    "charged; ask the same again on this connection, which costs nothing twice.",
                    kind=UNREACHABLE,
                )
                continue
            if response.is_success:
                return response
            problem = self._problem(response)
            if problem.kind not in _AGAIN:
                break
        raise problem

    def _received(self, method: str, path: str, **sent: Any) -> httpx2.Response:
        """Return a response, read no further, and no longer, than an answer may be and take."""
        import httpx2

        body, ends = bytearray(), time.monotonic() + self.timeout
        with self._client.stream(method, path, **sent) as response:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise ServiceError("expected an answer that is not compressed from the service, got another answer.")
            for part in response.iter_bytes():
                body += part
                if len(body) > _LARGEST:
                    raise ServiceError(f"expected at most {_LARGEST:,} bytes from the service, got a longer answer.")
                if time.monotonic() > ends:
                    raise httpx2.ReadTimeout("the answer takes too long")
        kept = {name: response.headers.get(name, "") for name in (RECEIPT, "Retry-After")}
        return httpx2.Response(response.status_code, content=bytes(body), headers=kept)

    def _problem(self, response: httpx2.Response) -> ServiceError:
        try:
            data = self.json(response)
            kind, charged = str(data["type"])[:_LONGEST].rpartition(":")[2], data["charged"]
            charged = charged if isinstance(charged, bool) else None
            text = f"{str(data['title'])[:_LONGEST]}: {str(data['detail'])[:_LONGEST]}{_amounts(data)}"
            pause = _pause(response.headers["Retry-After"])
            return ServiceError(text, status=response.status_code, kind=kind, charged=charged, retry_after=pause)
        except (ServiceError, KeyError, TypeError):
            return ServiceError(
                f"the service answered with the status {response.status_code}; is it a hedgerow service?",
                status=response.status_code,
            )


def _is_certificate_refused(error: BaseException | None) -> bool:
    """Return whether a failure comes from a certificate that is not trusted; the client keeps its cause as context."""
    import ssl

    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


def _pause(given: str) -> int | None:
    """Return the seconds of a Retry-After header; None for a date or any other text."""
    return min(max(int(given), 1), _LONGEST_PAUSE) if given.isascii() and given.isdigit() and len(given) < 10 else None


def _amounts(data: dict[str, Any]) -> str:
    if "asked" not in data:
        return ""
    asked, left = (str(data[name]["epsilon"])[:_LONGEST] for name in ("asked", "left"))
    uncharged = " Nothing was charged." if data["charged"] is False else ""
    return f" Asked: epsilon {asked}; left: {left}.{uncharged}"


def _check_url(url: str) -> bool:
    """Return whether requests may go by a proxy of the environment: none to this machine, unencrypted."""
    import httpx2

    with suppress(httpx2.InvalidURL):
        found = httpx2.URL(url)  # as it is read where it is used: http://localhost:1@elsewhere is elsewhere
        if (found.scheme == "https" and found.host) or (found.scheme == "http" and found.host in _HERE):
            return found.scheme == "https"
    problem = "expected a URL that starts with https://, or with http:// for a service on this machine, got another"
    raise ArgumentError(f"{problem}: a key must not travel in the open.")
