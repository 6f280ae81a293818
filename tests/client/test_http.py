"""Whoever answers, a connection reads a bounded part of it, sends its key to its curator alone, and pays once."""

import gzip
import json
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import repeat

import httpx2
import pytest

from hedgerow.client import http
from hedgerow.client.http import Connection
from hedgerow.errors import ArgumentError, ServiceError


@pytest.fixture
def connected(monkeypatch):
    """Return what connects to a service that answers as a function does."""
    real = httpx2.Client
    monkeypatch.setattr(http, "_FIRST_PAUSE", 0)

    def connect(answering, timeout=5):
        transport = httpx2.MockTransport(answering)
        monkeypatch.setattr("httpx2.Client", lambda **given: real(transport=transport, **given))
        return Connection("https://curator.example", "hr_x", timeout)

    return connect


def test_an_endless_answer_is_read_up_to_the_maximum_size(connected, monkeypatch):
    monkeypatch.setattr(http, "_LARGEST", 2**20)
    read = []

    def body():
        for part in repeat(b" " * 2**16):
            read.append(len(part))
            yield part

    for status in (200, 500):
        read.clear()
        with pytest.raises(ServiceError, match="more than 1,048,576 bytes"):
            connected(lambda _, status=status: httpx2.Response(status, content=body())).get("/v1/datasets")
        assert 2**20 < sum(read) <= 2**20 + 2**16


def test_certificate_errors_are_recognised_by_cause_and_not_by_text(connected):
    tries = []

    def answering(_):
        tries.append(1)
        if len(tries) == 1:
            raise httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] as a text")
        try:
            raise ssl.SSLCertVerificationError("in other words")
        except ssl.SSLCertVerificationError:
            raise httpx2.ConnectError("lost")  # noqa: B904 (with the context alone, as the client raises it)

    with pytest.raises(ServiceError, match="SSL_CERT_FILE"):
        connected(answering).get("/v1/datasets")
    assert len(tries) == 2


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "identity, gzip", "zstd", "br"])
def test_a_compressed_answer_is_refused_unread(connected, encoding):
    asked, read = [], []

    def body():
        read.append(1)
        yield gzip.compress(b"[]")

    def answering(request):
        asked.append(request.headers["Accept-Encoding"])
        return httpx2.Response(200, content=body(), headers={"Content-Encoding": encoding})

    with pytest.raises(ServiceError, match="compressed response"):
        connected(answering).get("/v1/datasets")
    assert (asked, read) == (["identity"], [])


def test_an_answer_that_takes_too_long_is_asked_for_again(connected):
    asked = []

    def body():
        for part in repeat(b" "):
            threading.Event().wait(0.01)
            yield part

    def answering(_):
        asked.append(1)
        return httpx2.Response(200, content=body() if len(asked) < 3 else b"[]")

    assert connected(answering, timeout=0.05).get("/v1/datasets") == []
    assert len(asked) == 3


@pytest.mark.parametrize("charset", ["zlib", "bz2", "rot13", "idna", "undefined", "utf-16"])
def test_answers_are_read_as_utf_8_despite_their_headers(connected, charset):
    headers = {"Content-Type": f"application/json; charset={charset}"}
    for status in (200, 500):
        connection = connected(lambda _, status=status: httpx2.Response(status, content=b'["a"]', headers=headers))
        if status == 200:
            assert connection.get("/v1/datasets") == ["a"]
        else:
            with pytest.raises(ServiceError, match="status 500"):
                connection.get("/v1/datasets")


@pytest.mark.parametrize("name", ["\0", "x" * 10**6])
def test_a_name_that_fits_no_url_is_refused(connected, name):
    with pytest.raises(ServiceError, match="not valid in a URL"):
        connected(lambda _: httpx2.Response(200, json=[])).get(f"/v1/jobs/{name}")


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:80@elsewhere.example/",
        "http://127.0.0.1:x@elsewhere.example",
        "http://[::1]:8@elsewhere.example",
        "http://localhost:80\\@elsewhere.example/",
        "http://localhost.elsewhere.example",
        "https:///path",
        "https://\0",
        "curator.example",
    ],
)
def test_a_key_travels_unencrypted_to_this_machine_alone(url):
    with pytest.raises(ArgumentError, match="https://"):
        Connection(url, "hr_x", 1)


@contextmanager
def listening(answer):
    """Yield the URL of a server, and the keys that it was sent."""
    keys = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            keys.append(self.headers["Authorization"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", keys
        server.shutdown()


def test_a_key_for_this_machine_goes_by_no_proxy(monkeypatch):
    with listening("here") as (url, _), listening("a proxy") as (proxy, keys):
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("no_proxy", "")
        assert Connection(url, "hr_x", 5).get("/") == "here"
        assert keys == []


def test_threads_use_separate_keys_and_an_unanswered_key_is_reused(connected):
    keys, both = [], threading.Barrier(2, timeout=10)

    def answering(request):
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) <= 2:
            both.wait()
            return httpx2.Response(404, content=b"")
        return httpx2.Response(200, json=[])

    connection = connected(answering)

    def ask():
        return connection.ask("/v1/datasets/a/marginals", b"{}", lambda send: connection.json(send()))

    def fails():
        with pytest.raises(ServiceError, match="status 404"):
            ask()

    threads = [threading.Thread(target=fails) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in range(3):
        ask()
    assert len(set(keys[:2])) == 2
    assert set(keys[:2]) == set(keys[2:4])
    assert keys[4] not in keys[:4]


PENDING = {"type": "urn:hedgerow:problem:unavailable", "title": "Not now", "detail": "It is pending.", "charged": True}


def test_a_pending_question_is_resent_with_its_key_after_retry_after(connected, monkeypatch):
    pauses, keys = [], []
    monkeypatch.setattr("time.sleep", pauses.append)

    def answering(request):
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) < 3:
            return httpx2.Response(503, json=PENDING, headers={"Retry-After": "2"})
        return httpx2.Response(200, json=[])

    connection = connected(answering, timeout=5)
    assert connection.ask("/v1/datasets/a/marginals", b"{}", lambda send: connection.json(send())) == []
    assert (pauses, len(keys), len(set(keys))) == ([2, 2], 3, 1)


@pytest.mark.parametrize(("asked", "sent"), [("60", 1), ("0", 4), ("Sat, 28 Nov 2026 22:00:00 GMT", 1), ("-1", 1)])
def test_the_client_waits_for_a_service_no_longer_than_its_time_limit(connected, monkeypatch, asked, sent):
    now, keys = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", lambda seconds: now.append(now.pop() + seconds))

    def answering(request):
        keys.append(request.headers["Idempotency-Key"])
        return httpx2.Response(503, json=PENDING, headers={"Retry-After": asked})

    connection = connected(answering, timeout=3)
    with pytest.raises(ServiceError, match="It is pending") as raised:
        connection.ask("/v1/datasets/a/marginals", b"{}", lambda send: connection.json(send()))
    assert (raised.value.charged, raised.value.kind, len(keys)) == (True, "unavailable", sent)
    with pytest.raises(ServiceError):
        connection.ask("/v1/datasets/a/marginals", b"{}", lambda send: connection.json(send()))
    assert len(set(keys)) == 1  # asked anew, it goes on under the same charge
