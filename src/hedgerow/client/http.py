"""HTTP requests to a service, repeated with the same idempotency key until they are answered."""

from __future__ import annotations

import re
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
from hedgerow.text.messages import shown

if TYPE_CHECKING:
    import httpx2

RECEIPT = "Hedgerow-Receipt"
_AnswerT = TypeVar("_AnswerT")
_TRIES = 6
_FIRST_PAUSE = 0.25  # seconds, then twice as long each time
_LARGEST = 2**26  # bytes of an answer
_LONGEST = 400  # characters of each part of a problem
_PROBLEM = re.compile(r"urn:hedgerow:problem:([a-z-]{1,100})")  # the type of problems, as in service/problems.py
_HERE = ("127.0.0.1", "localhost", "::1")
_AGAIN = ("still-running", "busy")  # problems that a repetition may solve
_OUTAGES = ("unavailable", "ledger-unavailable")  # outages, after which the question is sent again
_LONGEST_PAUSE = 3600  # seconds that a service may ask to wait
UNREACHABLE = "unreachable"  # the kind of an error without a response
SETTLED = ("evaluation-failed", "key-reused")
"""Final problems of an idempotency key. After any other problem the key is used again, since it may be charged."""


class Connection(ProcessBound):
    """Connection to a service."""

    def __init__(self, url: str, key: str, timeout: float, job_timeout: float = 3600.0) -> None:
        super().__init__()
        if not find_spec("httpx2"):
            raise MissingPackageError.of("connecting to a service", "httpx2", "client")
        import httpx2

        headers = {"Authorization": f"Bearer {key}", "User-Agent": f"hedgerow {__version__}"}
        headers["Accept-Encoding"] = "identity"  # a small compressed response could be huge
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
        """Send a charged question with an idempotency key, and return the result of `read`.

        `read` receives a function that sends the question. During an outage of the service, the question is sent again
        after the requested pause, for at most `timeout` seconds in total.
        """
        # A question without an answer is repeated with its key; a question in progress gets a new key.
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
        raise ServiceError("the service sent a response that is not JSON.", status=response.status_code)

    def _until_answered(self, method: str, path: str, **sent: Any) -> httpx2.Response:
        import httpx2

        self.check_process()
        problem = ServiceError("the service cannot be reached; check that it is running and that the URL is correct.")
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                response = self._received(method, path, **sent)
            except httpx2.InvalidURL:
                raise ServiceError("the service sent a name that is not valid in a URL.") from None
            except httpx2.TransportError as error:
                if _is_certificate_refused(error):
                    problem = ServiceError(
                        "the certificate of the service is not trusted on this machine, and nothing was sent; set "
                        "SSL_CERT_FILE to the certificate file of your authority."
                    )
                    break
                problem = ServiceError(
                    f"the service did not answer ({type(error).__name__}). A question may have been charged; send the "
                    "same question again on this connection, which is not charged twice.",
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
        """Return a response of limited size and duration."""
        import httpx2

        body, ends = bytearray(), time.monotonic() + self.timeout
        with self._client.stream(method, path, **sent) as response:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise ServiceError("the service sent a compressed response, which is not supported.")
            for part in response.iter_bytes():
                body += part
                if len(body) > _LARGEST:
                    raise ServiceError(f"the service sent a response of more than {_LARGEST:,} bytes.")
                if time.monotonic() > ends:
                    raise httpx2.ReadTimeout("the response takes too long")
        headers = {name: response.headers.get(name, "") for name in (RECEIPT, "Retry-After")}
        return httpx2.Response(response.status_code, content=bytes(body), headers=headers)

    def _problem(self, response: httpx2.Response) -> ServiceError:
        try:
            data = self.json(response)
            kind, charged = _problem_kind(data), data["charged"]
            charged = charged if isinstance(charged, bool) else None
            text = f"{str(data['title'])[:_LONGEST]}: {str(data['detail'])[:_LONGEST]}{_amounts(data)}"
            pause = _pause(response.headers["Retry-After"])
            return ServiceError(text, status=response.status_code, kind=kind, charged=charged, retry_after=pause)
        except (ServiceError, KeyError, TypeError):
            return ServiceError(
                f"the service sent status {response.status_code} without a problem description; check the URL.",
                status=response.status_code,
            )


def _is_certificate_refused(error: BaseException | None) -> bool:
    """Return whether an error was caused by an untrusted certificate."""
    import ssl

    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


def _problem_kind(problem: dict[str, Any]) -> str:
    """Return the kind in the type of a problem, ``urn:hedgerow:problem:KIND``; raise `ServiceError` for other types."""
    known = _PROBLEM.fullmatch(str(problem["type"]))
    if known is None:
        raise ServiceError("the service sent a problem of another type.")
    return known[1]


def _pause(given: str) -> int | None:
    """Return the seconds of a Retry-After header, or None for other values."""
    return min(max(int(given), 1), _LONGEST_PAUSE) if given.isascii() and given.isdigit() and len(given) < 10 else None


def _amounts(data: dict[str, Any]) -> str:
    if "asked" not in data:
        return ""
    requested, left = (str(data[name]["epsilon"])[:_LONGEST] for name in ("asked", "left"))
    uncharged = " Nothing was charged." if data["charged"] is False else ""
    return f" Requested: epsilon {requested}; remaining: {left}.{uncharged}"


def _check_url(url: str) -> bool:
    """Check a URL; return whether a proxy of the environment may be used, as only for https."""
    import httpx2

    with suppress(httpx2.InvalidURL):
        parsed = httpx2.URL(url)  # by the parser of the client: http://localhost:1@example.org is not this machine
        if (parsed.scheme == "https" and parsed.host) or (parsed.scheme == "http" and parsed.host in _HERE):
            return parsed.scheme == "https"
    problem = f"expected a URL that starts with https://, or with http:// on this machine, got {shown(url)}"
    raise ArgumentError(f"{problem}: an API key must not be sent unencrypted.")
