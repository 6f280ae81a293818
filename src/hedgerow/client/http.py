"""Requests to a curator's service, sent again with the same key until they are answered."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from hedgerow._version import __version__
from hedgerow.errors import ArgumentError, MissingPackageError, ServiceError, UnreadableError
from hedgerow.privacy.process import OfOneProcess
from hedgerow.untrusted_text import parse_json

if TYPE_CHECKING:
    import httpx2

RECEIPT = "Hedgerow-Receipt"
Answer = TypeVar("Answer")
_TRIES = 6
_FIRST_PAUSE = 0.25  # seconds, then twice as long each time
_LARGEST = 2**26  # bytes of an answer
_AGAIN = ("still-running", "busy")
"""Problems that another try may solve."""
SETTLED = ("evaluation-failed", "key-reused")
"""Problems that the same key would meet again. After any other the question is sent with its key: it may be charged."""


class Connection(OfOneProcess):
    """A connection to a curator's service.

    Parameters
    ----------
    url : str
        ``https://…``; ``http://`` for this machine only.
    key : str
        The API key, or a token of the identity provider.
    timeout : float
        Seconds to wait for an answer.

    Raises
    ------
    ValueError
        If the URL is another one.
    ImportError
        If the client's extra is not installed.
    """

    def __init__(self, url: str, key: str, timeout: float) -> None:
        super().__init__()
        _check_url(url)
        if not find_spec("httpx2"):
            raise MissingPackageError("a curator's service needs httpx2; run pip install 'hedgerow[client]'.")
        import httpx2

        headers = {"Authorization": f"Bearer {key}", "User-Agent": f"hedgerow {__version__}"}
        self._client = httpx2.Client(base_url=url, headers=headers, timeout=timeout, follow_redirects=False)
        self._pending = dict[str, str]()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def get(self, path: str) -> Any:
        """Return what is at a path; raises ServiceError."""
        return self.json(self._until_answered(lambda: self._client.get(path)))

    def post(self, path: str, question: dict[str, Any]) -> Any:
        """Return the answer to a question that is free; raises ServiceError."""
        return self.json(self._until_answered(lambda: self._client.post(path, json=question)))

    def ask(self, path: str, body: bytes, read: Callable[[httpx2.Response], Answer], key: str | None = None) -> Answer:
        """Return the answer to a question that is charged: once, however often it has to be sent.

        The same question, asked again after it went unanswered, is sent with the same key.

        Parameters
        ----------
        path : str
            Where it is asked.
        body : bytes
            The question, as JSON.
        read : callable
            Returns the answer that the response holds, or its job; raises ServiceError for what is none.
        key : str, optional
            The idempotency key, where it is kept elsewhere.

        Raises
        ------
        ServiceError
            If it is refused, or not answered within several tries.
        """
        asked = hashlib.sha256(path.encode() + body).hexdigest()
        key = self._pending.setdefault(asked, key or str(uuid4()))
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        try:
            response = self._until_answered(lambda: self._client.post(path, content=body, headers=headers))
            answer = read(response)
        except ServiceError as error:
            if error.kind in SETTLED:
                del self._pending[asked]
            raise
        del self._pending[asked]
        return answer

    def read(self, path: str) -> httpx2.Response:
        """Return the response of a path, as it is; raises ServiceError."""
        return self._until_answered(lambda: self._client.get(path))

    def json(self, response: httpx2.Response) -> Any:
        """Return the data of a response; raises ServiceError if they are too large or not JSON."""
        if len(response.content) <= _LARGEST:
            try:
                return parse_json(response.text)
            except UnreadableError:
                pass
        raise ServiceError("expected JSON from the service, got another answer.", status=response.status_code)

    def _until_answered(self, send: Callable[[], httpx2.Response]) -> httpx2.Response:
        import httpx2

        self.check_process()
        problem = ServiceError("the service cannot be reached; is it running, and is the URL right?")
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                response = send()
            except httpx2.TransportError as error:
                problem = ServiceError(
                    f"the service did not answer ({type(error).__name__}). If it was asked a question, that may be "
                    "charged; ask the same again on this connection, which costs nothing twice."
                )
                continue
            if response.is_success:
                return response
            problem = self._problem(response)
            if problem.kind not in _AGAIN:
                break
        raise problem

    def _problem(self, response: httpx2.Response) -> ServiceError:
        try:
            data = parse_json(response.text[:_LARGEST])
            kind, charged = str(data["type"]).rpartition(":")[2], data["charged"]
            text = f"{data['title']}: {data['detail']}{_amounts(data)}"
            return ServiceError(text, status=response.status_code, kind=kind, charged=charged)
        except (UnreadableError, KeyError, TypeError):
            return ServiceError(
                f"the service answered with the status {response.status_code}; is it a hedgerow service?",
                status=response.status_code,
            )


def _amounts(data: dict[str, Any]) -> str:
    if "asked" not in data:
        return ""
    return f" Asked: epsilon {data['asked']['epsilon']}; left: {data['left']['epsilon']}. Nothing was charged."


def _check_url(url: str) -> None:
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0]
    local = host.rpartition(":")[0] or host
    if scheme == "https" and host:
        return
    if scheme == "http" and local in ("127.0.0.1", "localhost", "[::1]"):
        return
    raise ArgumentError(
        "expected a URL that starts with https://, or with http:// for a service on this machine, got another: a key "
        "must not travel in the open."
    )
