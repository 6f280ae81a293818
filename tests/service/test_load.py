"""Many analysts at once: nothing is overspent, lost, or answered uncharged; and the service's memory stays flat."""

import gc
import http.client
import json
import os
import random
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from fractions import Fraction
from itertools import pairwise
from multiprocessing import get_context

import pytest

from hedgerow.privacy.account import Account
from tests.service.wards import MARGINALS
from tests.service.web import running, web

pytestmark = pytest.mark.statistics

COST = Fraction(1, 1000)
BODY = MARGINALS.replace(b"1/4", b"1/1000")
FREE = json.dumps({"question": "marginals", **json.loads(BODY)}).encode()
LOADS = [(8, 12), pytest.param(50, 200, marks=pytest.mark.slow)]


@contextmanager
def sender(url, token):
    """Open a connection, and yield what sends a question under a key on it, and returns status and body."""
    connection = http.client.HTTPConnection(*url.removeprefix("http://").split(":"), timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def send(key, path="marginals", body=BODY):
        connection.request("POST", f"/v1/datasets/wards/{path}", body, headers | {"Idempotency-Key": key})
        response = connection.getresponse()
        return response.status, response.read()

    with closing(connection):
        yield send


@pytest.mark.parametrize(("analysts", "requests"), LOADS)
def test_concurrent_analysts_neither_overspend_nor_lose_answers(tmp_path, analysts, requests):
    names = [f"analyst {number}" for number in range(analysts)]
    share = COST * (requests // 2)
    cap = share * analysts * 3 / 4  # fewer than the shares: both caps are reached
    got, lock = {}, threading.Lock()
    with running(tmp_path, shares=dict.fromkeys(names, Account(share)), cap=cap, oversubscribed=True) as service:
        ledger = service.curator.ledger
        service.tokens |= {name: service.keys.add(name, "analyst") for name in names}

        def ask(name):
            dice = random.Random(name)
            with sender(service.url, service.tokens[name]) as send:
                for _ in range(requests):
                    key = f"{dice.randrange(requests)}"
                    status, body = send(key)
                    with lock:
                        got.setdefault((name, key), []).append((status, body))

        with ThreadPoolExecutor(analysts) as pool:
            list(pool.map(ask, names))
        ledger.verify()
        charged = {(entry.data["analyst"], entry.data["key"]) for entry in ledger.entries() if entry.kind == "reserved"}
        answered = {asked for asked, result in got.items() if any(status == 200 for status, _ in result)}
        assert {status for result in got.values() for status, _ in result} == {200, 403}
        assert answered == charged  # none lost, none uncharged
        for result in got.values():
            assert len({body for status, body in result if status == 200}) <= 1
        assert ledger.account("wards").spent == COST * len(charged) <= cap
        for name in names:
            assert ledger.account("wards", name).spent <= share
        assert ledger.account("wards").remaining < COST or len(charged) == analysts * (requests // 2)


def resident(pid):
    """Return how many bytes of a process are in memory."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def serve(folder, ready):
    """Serve until the end of the test."""
    with running(folder, cap=10**6, shares={"ana": Account(Fraction(10**6))}) as service:
        ready.send((service.url, service.tokens["ana"]))
        threading.Event().wait()


def four(send, number):
    """Send a new question, an old one, one that is refused, and one that is free."""
    assert send(f"{number}")[0] == send(f"{number}")[0] == 200
    assert send(f"dear {number}", body=MARGINALS.replace(b"1/4", b"9999999"))[0] == 403
    assert send("", "cost", FREE)[0] == 200


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_stays_flat_over_many_requests(tmp_path):
    context = get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    server = context.Process(target=serve, args=(tmp_path, sending), daemon=True)
    server.start()
    try:
        with sender(*receiving.recv()) as send:
            for number in range(2_000):
                four(send, number)
            before = resident(server.pid)
            for number in range(2_000, 10_000):
                four(send, number)
        assert resident(server.pid) - before < 8 * 2**20  # 32,000 requests; the memory grows in single steps of 4 MiB
    finally:
        server.kill()
        server.join()


def test_no_request_leaves_anything_behind(tmp_path, caplog):
    caplog.set_level("CRITICAL", "hedgerow.service")  # pytest keeps records, if a test before turned them on
    with web(tmp_path, cap=10**6, shares={"ana": Account(Fraction(10**6))}) as service, service.client() as client:

        def send(key, path="marginals", body=BODY):
            headers = {"Content-Type": "application/json", "Idempotency-Key": key}
            response = client.post(f"/v1/datasets/wards/{path}", content=body, headers=headers)
            return response.status_code, response.content

        def traced(numbers):
            for number in numbers:
                four(send, number)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            kept = [traced(range(start, start + 20)) for start in range(0, 80, 20)]
            assert min(after - before for before, after in pairwise(kept)) / 80 < 500  # a leak is there each time
        finally:
            tracemalloc.stop()
