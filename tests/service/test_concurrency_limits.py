"""Questions of one analyst wait for one another, and nobody else for them."""

import asyncio
import threading
from functools import partial

import anyio
import httpx2
import pytest

from hedgerow.errors import ServiceBusyError
from hedgerow.service import jobs as turns
from hedgerow.service.jobs import MOST_AT_ONCE, MOST_TURNS_WAITING, ConcurrencyLimits
from tests.service.wards import ANA, BOB, MARGINALS, WatchedRows
from tests.service.web import JSON, running


def test_an_analyst_has_limited_turns_and_each_call_takes_a_turn():
    ana, running_now, most, lock = ConcurrencyLimits(MOST_AT_ONCE), [], [], threading.Lock()
    full = threading.Barrier(MOST_AT_ONCE)

    def call(number):
        with lock:
            running_now.append(number)
            most.append(len(running_now))
        full.wait(10)
        with lock:
            running_now.remove(number)
        return number

    result = []

    async def one(number):
        async with ana.of(ANA) as turn:
            result.append(await turn.run(partial(call, number)))

    async def all_of_them():
        async with anyio.create_task_group() as group:
            for number in range(3 * MOST_AT_ONCE):
                group.start_soon(one, number)

    anyio.run(all_of_them)
    assert sorted(result) == list(range(3 * MOST_AT_ONCE))
    assert max(most) == MOST_AT_ONCE


def test_questions_that_take_long_hold_up_neither_others_nor_free_calls(tmp_path):
    rows = WatchedRows(waits=True)
    path = "/v1/datasets/wards"
    with running(tmp_path, rows) as service:

        def client(caller):
            bearer = {"Authorization": f"Bearer {service.tokens[caller.name]}"}
            return httpx2.Client(base_url=service.url, headers={**JSON, **bearer}, timeout=20)

        def ask(of, key):
            body = MARGINALS.replace(b"1/4", b"1/100")
            statuses.append(of.post(f"{path}/marginals", headers={"Idempotency-Key": key}, content=body).status_code)

        statuses, ana, bob = [], client(ANA), client(BOB)  # with more questions than the pool has threads
        threads = [threading.Thread(target=ask, args=(ana, f"{number}")) for number in range(46)]
        for thread in threads:
            thread.start()
        assert rows.begun.wait(10)
        assert [bob.get(path).status_code for _ in range(3)] == [200] * 3
        other = threading.Thread(target=ask, args=(bob, "one"))
        other.start()
        while rows.touched < MOST_AT_ONCE + 1:
            assert bob.get(f"{path}/budget").status_code == 200
        assert rows.touched == MOST_AT_ONCE + 1
        rows.go.set()
        for thread in (*threads, other):
            thread.join(30)
        ana.close()
        bob.close()
    assert statuses == [200] * 47


def test_a_slow_free_call_keeps_its_turn_but_does_not_block_process_exit(monkeypatch):
    monkeypatch.setattr(turns, "FREE_SECONDS", 0.05)
    go, result = threading.Event(), []

    def long():
        result.append(threading.current_thread().daemon)
        go.wait(10)
        raise ValueError("a text that nobody is told")

    async def once(own, call):
        async with own.of(ANA) as turn:
            return await turn.run_free(call)

    async def check():
        own = ConcurrencyLimits(1)
        first = asyncio.create_task(once(own, long))
        await asyncio.sleep(0.2)
        second = asyncio.create_task(once(own, lambda: "quick"))
        await asyncio.sleep(0.2)
        assert not second.done()
        go.set()
        assert await second == "quick"
        with pytest.raises(ServiceBusyError, match="answered within"):
            await first

    asyncio.run(check())
    assert result == [True]


def test_a_caller_with_too_many_waiting_requests_gets_an_error():
    async def hold(own, until):
        async with own.of(ANA) as turn:
            await turn.run(until.wait)

    async def check():
        own, until = ConcurrencyLimits(1), threading.Event()
        waiting = [asyncio.create_task(hold(own, until)) for _ in range(1 + MOST_TURNS_WAITING)]
        await asyncio.sleep(0.1)
        with pytest.raises(ServiceBusyError, match="was not processed"):
            await hold(own, until)
        async with own.of(BOB):
            until.set()
        await asyncio.gather(*waiting)

    asyncio.run(check())
