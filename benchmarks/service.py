"""Load on a service.

Answers, refusals and cost calls per second on this machine, compared with the ledger alone.

{results/service.csv}

The server runs in its own process; a bounded number of threads of this process sends requests. The ledger alone
performs only the transactions of an answered question (reserve and answer), so no service can be faster. Each figure is
the median of three rounds.

    python service.py [postgresql://user@host/database]
"""

import json
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from uuid import uuid4

import httpx2
import numpy as np
import pandas as pd
from measure import RESULTS, use_all_cores

from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Boolean, Integer, Label, Schema
from hedgerow.service.app import create_app
from hedgerow.service.curator import Curator, HostedDataset
from hedgerow.service.jobs import Jobs
from hedgerow.service.keys import Keys
from hedgerow.service.ledger.ledger import ChargeRequest, Ledger
from hedgerow.service.rows import FrameRows
from hedgerow.service.server import Address
from hedgerow.service.server import serve as run

QUESTIONS, ROUNDS, CLIENTS = 300, 3, 8
SCHEMA = Schema({"age": Integer(18, 90, cuts=(40, 60)), "smoker": Boolean()}, Label("ill", ("no", "yes")))
BINS = {
    "age": {"kind": "integer", "low": 18, "high": 90, "cuts": [40, 60], "missing": "bin", "outside": "clip"},
    "smoker": {"kind": "boolean", "missing": "bin"},
}
COST = "1/1000"
ASKED = json.dumps({"epsilon": COST, "bins": BINS}).encode()
DEAR = json.dumps({"epsilon": "1000000", "bins": BINS}).encode()
FREE = json.dumps({"question": "marginals", "epsilon": COST, "bins": BINS}).encode()


def opened(url):
    """Open the ledger; the head of one in PostgreSQL is in a folder of this machine's for what is temporary."""
    head = Path(tempfile.gettempdir()) / f"hedgerow-{url.rpartition('/')[2]}.head"
    head = Path(f"{url.removeprefix('sqlite:///')}-head") if url.startswith("sqlite") else head
    return Ledger(url, head, new_ledger=not head.exists())


def serve(url, ready):
    """Serve a table of 1,000 rows; send where, and a key."""
    use_all_cores()
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 91, 1000), "smoker": rng.random(1000) < 0.3})
    labels = pd.Series(rng.choice(["no", "yes"], 1000), name="ill")
    ledger, keys = opened(url), Keys(url)
    ledger.declare("wards", Account(Fraction(10_000)), {"ana": Account(Fraction(10_000))}, reason="a benchmark")
    curator = Curator(ledger, {"wards": HostedDataset(SCHEMA, FrameRows.of(frame, labels, SCHEMA))})
    jobs, key = Jobs(curator), keys.add("ana", "analyst")
    apps = [create_app(curator, keys.caller, jobs) for _ in range(2)]
    run(apps[0], Address(port=0), apps[1], Address(port=0), lambda url, _: ready.send((url, key)))


def rates(client, path, body, status):
    """Return requests a second, and the 50th and 99th percentile of their milliseconds, of several clients at once."""
    headers = {"Content-Type": "application/json"}
    taken = []

    def one(_):
        began = time.perf_counter()
        response = client.post(path, content=body, headers=headers | {"Idempotency-Key": str(uuid4())})
        taken.append(1000 * (time.perf_counter() - began))
        assert response.status_code == status, response.text

    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(one, range(QUESTIONS)))
    return QUESTIONS / (time.perf_counter() - began), *np.percentile(taken, [50, 99])


def bare(url):
    """Return the ledger's own rate: reserve and answer, as many, from as many threads, in this process."""
    with opened(url) as ledger:
        ledger.declare("bare", Account(Fraction(10_000)), {"ana": Account(Fraction(10_000))}, reason="a benchmark")
        taken = []

        def one(_):
            began = time.perf_counter()
            charge = Charge("rows by bin", Fraction(COST))
            ledger.answer(ledger.reserve(ChargeRequest("bare", "ana", str(uuid4()), "0" * 64, charge)), b"x" * 1500)
            taken.append(1000 * (time.perf_counter() - began))

        began = time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(one, range(QUESTIONS)))
        return QUESTIONS / (time.perf_counter() - began), *np.percentile(taken, [50, 99])


def measured(name, url):
    """Yield a row for each kind of request."""
    context = get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    server = context.Process(target=serve, args=(url, sending), daemon=True)
    server.start()
    url_served, key = receiving.recv()
    calls = {
        "answered question": ("marginals", ASKED, 200),
        "refused, budget": ("marginals", DEAR, 403),
        "cost call": ("cost", FREE, 200),
    }
    result = {kind: [] for kind in (*calls, "bare ledger")}
    with httpx2.Client(
        base_url=f"{url_served}/v1/datasets/wards/", headers={"Authorization": f"Bearer {key}"}, timeout=60
    ) as client:
        rates(client, *calls["cost call"])
        for _ in range(ROUNDS):
            for kind, call in calls.items():
                result[kind].append(rates(client, *call))
            result["bare ledger"].append(bare(url))
    server.terminate()
    for kind, rounds in result.items():
        rate, middle, late = (statistics.median(column) for column in zip(*rounds, strict=True))
        yield {"ledger": name, "request": kind, "a second": rate, "ms (median)": middle, "ms (99 %)": late}


if __name__ == "__main__":
    use_all_cores()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rows += measured("SQLite", f"sqlite:///{Path(folder) / 'ledger.db'}")
    if len(sys.argv) > 1:
        rows += measured("PostgreSQL", sys.argv[1])
    table = pd.DataFrame(rows)
    limit = table[table["request"] == "bare ledger"].set_index("ledger")["a second"]
    table["of the bare ledger"] = table["a second"] / table["ledger"].map(limit)
    table = table.round(2)
    table.to_csv(RESULTS / "service.csv", index=False, lineterminator="\n")
    print(table.to_string(index=False))
