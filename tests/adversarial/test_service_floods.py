"""Floods of a running service: strangers' connections and an analyst's free calls. Another analyst is answered."""

import base64
import json
import resource
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import pairwise
from multiprocessing import get_context

import duckdb
import httpx2
import pytest

from hedgerow.privacy.account import Account
from hedgerow.service.app import create_app
from hedgerow.service.jobs import Jobs
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.rows import TableRows
from hedgerow.service.server import Address, serve
from tests.hypotheses.onnx_examples import model, node
from tests.service.wards import BINS, MARGINALS, SCHEMA, table
from tests.service.web import JSON, web

pytestmark = [
    pytest.mark.statistics,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]
LIMIT = 640
"""Open files that the service may have: it takes 128 connections."""
SECONDS, WITHIN = 5, 2
PATH = "/v1/datasets/wards"
ASKED = MARGINALS.replace(b"1/4", b"1/100")


def run(folder, ready):
    """Serve a table of DuckDB until the process is told to end."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
    frame, labels = table()
    with duckdb.connect(f"{folder}/wards.duckdb") as connection:
        connection.register("given", frame.assign(ill=labels))
        connection.execute("CREATE TABLE wards AS SELECT * FROM given")
    rows = TableRows.of(f"duckdb:///{folder}/wards.duckdb::wards", SCHEMA)
    with web(folder, rows, cap=100, shares=dict.fromkeys(("ana", "bob"), Account(50))) as service:
        jobs = Jobs(service.curator)
        app = create_app(service.curator, service.keys.caller, jobs)
        own = create_app(service.curator, service.keys.caller, jobs)
        serve(app, Address(port=0), own, Address(port=0), lambda url, _: ready.send((url, service.tokens)))
        jobs.close()


@pytest.fixture
def flooded(tmp_path):
    """A service in a process of its own: the process, its URL and a client for each analyst."""
    receiving, sending = get_context("spawn").Pipe(duplex=False)
    process = get_context("spawn").Process(target=run, args=(tmp_path, sending), daemon=True)
    process.start()
    url, tokens = receiving.recv()

    def ask(name, method, path, **more):
        bearer = {"Authorization": f"Bearer {tokens[name]}"}
        return httpx2.request(
            method, url + path, headers={**JSON, **bearer, "Idempotency-Key": f"{time.time_ns()}"}, **more
        )

    yield process, url, ask
    process.kill()
    process.join()


def answered_throughout(ask, seconds=SECONDS):
    """Check that an analyst is answered in time, free calls and questions, for so long; return how many questions."""
    until, questions = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        for method, path, body in (("GET", f"{PATH}/budget", None), ("POST", f"{PATH}/marginals", ASKED)):
            began = time.monotonic()
            response = ask("bob", method, path, content=body, timeout=WITHIN)
            assert response.status_code == 200, response.text
            assert time.monotonic() - began < WITHIN
        questions += 1
    return questions


def check_integer(folder, questions):
    """Check that each question was charged, and answered."""
    with Ledger(f"sqlite:///{folder}/ledger.db") as ledger:
        ledger.verify()
        kinds = [entry.kind for entry in ledger.entries()]
    assert (kinds.count("reserved"), kinds.count("answered")) == (questions, questions)


@pytest.mark.parametrize("begun", [b"", b"POST /v1/datasets HTTP/1.1\r\nhost: x\r\n"], ids=["descriptors", "headers"])
@pytest.mark.claim("cannot delay other analysts")
def test_unauthenticated_connections_delay_no_question(tmp_path, flooded, begun):
    process, url, ask = flooded
    host, port = url.removeprefix("http://").split(":")
    ended = threading.Event()

    def open_more():
        with ExitStack() as kept:
            for number in range(3 * LIMIT):
                if ended.is_set():
                    return
                with suppress(OSError):
                    item = kept.enter_context(socket.create_connection((host, int(port)), timeout=1))
                    item.sendall(begun)
                time.sleep(SECONDS / (4 * LIMIT))
                if begun and number % 20 == 0:
                    with suppress(OSError):
                        item.sendall(b"x-slow: 1\r\n")

    with ThreadPoolExecutor(1) as pool:
        flood = pool.submit(open_more)
        questions = answered_throughout(ask)
        ended.set()
        flood.result()
    assert process.is_alive()
    check_integer(tmp_path, questions)


@pytest.mark.claim("cannot delay other analysts")
def test_uncharged_calls_delay_nobody_and_end_with_the_process(tmp_path, flooded):
    process, _, ask = flooded
    names = ["x", *(f"v{i}" for i in range(15_000)), "y"]
    made = model([node("Neg", [a], [b]) for a, b in pairwise(names)])
    outputs = model([node("Identity", ["x"], ["y"])], gives=" ".join(["y"] * 20_000))
    bodies = [
        json.dumps({"question": "error-marginals", "epsilon": "1", "bins": BINS, "hypothesis": {"onnx": text}}).encode()
        for text in (base64.b64encode(item.SerializeToString()).decode() for item in (made, outputs))
    ]
    bodies.append(b'{"question": "marginals", "epsilon": "1", "bins": {"age": [' + b"[]," * 2_500_000 + b"[]]}}")
    ended = threading.Event()

    def flood(number):
        while not ended.is_set():
            with suppress(httpx2.TransportError):
                ask("ana", "POST", f"{PATH}/cost", content=bodies[number % 3], timeout=30)

    with ThreadPoolExecutor(40) as pool:
        floods = [pool.submit(flood, number) for number in range(40)]
        questions = answered_throughout(ask)
        process_ended = time.monotonic()
        ended.set()
        process.terminate()
        process.join(40)
        process_ended = time.monotonic() - process_ended
        for item in floods:
            item.result()
    assert process.exitcode in (0, -signal.SIGTERM)
    assert process_ended < 40
    check_integer(tmp_path, questions)
