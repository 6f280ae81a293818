"""Strangers who open connections, send slowly, or do not read, push out each other, and nobody who asks."""

import socket
import ssl
import time
from contextlib import ExitStack, contextmanager, suppress

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import hedgerow as hr
from hedgerow.errors import ServiceError
from hedgerow.service import server
from tests.service.certificates import certificate
from tests.service.web import served

MOST = 8
SOON = 0.3  # seconds


async def echo(request):
    return PlainTextResponse(await request.body())


async def long(request):  # noqa: ARG001
    return PlainTextResponse(b"x" * 100_000)


@pytest.fixture
def app():
    return Starlette(routes=[Route("/", echo, methods=["GET", "POST"]), Route("/long", long)])


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(server, "SECONDS", dict.fromkeys(server.SECONDS, SOON))


@contextmanager
def opened(url):
    """Open a connection that says nothing yet."""
    host, port = url.partition("://")[2].split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        yield connection


def is_closed(one, within=3.0):
    """Return whether the other side closes a connection in time, whatever it sends before."""
    one.settimeout(within)
    with suppress(ConnectionError):
        try:
            while one.recv(65536):
                pass
        except TimeoutError:
            return False
    return True


def test_silent_connections_push_out_each_other_and_no_request(app):
    with served(app, MOST) as url, ExitStack() as strangers:
        silent = []
        for number in range(6 * MOST):
            silent.append(strangers.enter_context(opened(url)))
            if number % MOST == 0:
                began = time.monotonic()
                assert httpx2.post(url, content=b"x" * 100_000).status_code == 200
                assert time.monotonic() - began < 2
        assert all(is_closed(connection) for connection in silent[: 4 * MOST])
        assert not is_closed(silent[-1], within=0.1)


UNREAD = {
    "pipelined": 100 * b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n",
    "the last": 60 * b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n"
    + b"GET /long HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    "no HTTP": 60 * b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n" + b"nonsense\r\n\r\n",
}


@contextmanager
def unread(url, asked):
    """Open a connection that asks and does not read."""
    host, port = url.partition("://")[2].split(":")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.connect((host, int(port)))
        connection.sendall(asked)
        yield connection


@pytest.mark.parametrize("asked", UNREAD.values(), ids=UNREAD)
def test_who_does_not_read_is_pushed_out(app, asked):
    with served(app, MOST) as url, ExitStack() as strangers:
        for _ in range(2 * MOST):
            strangers.enter_context(unread(url, asked))
        for _ in range(3):
            assert httpx2.post(url, content=b"x" * 100_000, timeout=2).status_code == 200


@pytest.mark.usefixtures("impatient")
def test_who_does_not_read_is_ended_in_time(app):
    with served(app) as url, unread(url, UNREAD["pipelined"]) as connection:
        time.sleep(5 * SOON)
        taken = 0
        with suppress(ConnectionError):
            while part := connection.recv(65536):
                taken += len(part)
        assert taken < 100 * 100_000


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "begun",
    [b"", b"GET / HTTP/1.1\r\nhost: x\r\nx-", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n"],
    ids=["silence", "a header", "a body"],
)
def test_a_request_that_is_sent_slowly_is_ended(app, begun):
    with served(app) as url, opened(url) as slow, suppress(ConnectionError):
        slow.sendall(begun)
        began = time.monotonic()
        while time.monotonic() - began < 10 * SOON:
            slow.sendall(b"a" if begun else b"")
            time.sleep(SOON / 10)
            if is_closed(slow, within=0.001):
                break
        assert time.monotonic() - began < 5 * SOON


@pytest.mark.usefixtures("impatient")
def test_each_request_on_a_connection_has_its_own_time_limit(app):
    with served(app) as url, httpx2.Client(timeout=5) as client:
        for _ in range(4):
            assert client.post(url, content=b"abc").text == "abc"
            time.sleep(SOON / 2)


@pytest.fixture
def encrypted(tmp_path):
    """The two sides of TLS."""
    path = certificate(tmp_path)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cafile=path)


def test_with_tls_silence_and_nonsense_are_ended_and_requests_answered(app, encrypted, impatient):  # noqa: ARG001
    server, client = encrypted
    with served(app, MOST, server) as url, ExitStack() as strangers:
        silent = [strangers.enter_context(opened(url)) for _ in range(3 * MOST)]
        silent[-1].sendall(b"GET / HTTP/1.1\r\n\r\n")
        for size in (1, 1_000_000):
            assert len(httpx2.post(url, content=b"x" * size, verify=client).content) == size
        assert all(is_closed(connection) for connection in silent)
        assert httpx2.post(url, content=b"abc", verify=client).text == "abc"


def test_an_untrusted_certificate_raises_an_error_with_advice(app, encrypted):
    server, _ = encrypted
    with served(app, MOST, server) as url, pytest.raises(ServiceError, match="nothing was sent; set SSL_CERT_FILE"):
        hr.connect(url, key="hr_x")
