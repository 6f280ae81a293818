"""Views of a ledger of a million entries.

Pages and verification of a long ledger, with their memory use, on two processors shared with one to three other
programs (medians of five calls, and one verification). A verification takes about 150 µs of processor time per entry.

{long_ledgers}

On SQLite, or on PostgreSQL at the given URL. The entries are bulk-inserted in the form that the ledger writes: each
charge with its answer, nine in ten of them for the same analyst.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from uuid import UUID

import pandas as pd
import sqlalchemy as sa
from measure import RESULTS
from starlette.testclient import TestClient

from hedgerow.boundary.canonical import digest
from hedgerow.datasets import load
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.service.app import create_app
from hedgerow.service.curator import Curator, HostedDataset
from hedgerow.service.dashboard import mount_dashboard
from hedgerow.service.jobs import Jobs
from hedgerow.service.keys import Keys
from hedgerow.service.ledger.accounts import all_so_far, set_total
from hedgerow.service.ledger.entry import Entry
from hedgerow.service.ledger.ledger import ChargeRequest, Ledger
from hedgerow.service.ledger.log import LogMark
from hedgerow.service.ledger.tables import ANSWERS, ENTRIES, ENTRY_INDEX, HEAD, REQUESTS
from hedgerow.service.ledger.verify import index_row
from hedgerow.service.pages.views import draw
from hedgerow.service.rows import FrameRows

NAME, ANALYSTS = "breast_cancer", ("ana", "bob", "eve")  # eve asks nothing
COST = Fraction(1, 10**6)
AT_ONCE = 20_000
ROUNDS = 5
MILLION = 10**6
OUTPUT = RESULTS / "ledger.csv"


def resident():
    """Return the megabytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def question(key):
    return ChargeRequest(NAME, "ana", key, "0" * 64, Charge("rows by bin", COST, mechanism="discrete Laplace noise"))


def filled(ledger, entries):
    """Append copies of a charge with its answer in bulk, until the ledger has the required number of entries."""
    ledger.answer(ledger.reserve(question("the first")), b"12")
    charge = next(entry.data["charge"] for entry in ledger.entries() if entry.kind == "reserved")
    rho = Fraction(charge["rho"])
    spent = {"ana": 1, "bob": 0, "": 1}
    with ledger.log.database.reading() as connection:
        last = LogMark(*connection.execute(sa.select(HEAD.c.sequence, HEAD.c.hash)).one())
    number = 0
    while last.sequence < entries:
        rows = {table: [] for table in (ENTRIES, ENTRY_INDEX, REQUESTS, ANSWERS)}
        for _ in range(min(AT_ONCE, entries) // 2):
            number += 1
            analyst = "bob" if number % 10 == 0 else "ana"
            request = str(UUID(int=number))
            about = {"dataset": NAME, "analyst": analyst}
            for name in (analyst, ""):
                spent[name] += 1
            asked = {"request": request, "epoch": 1, **about, "key": str(number), "body": "0" * 64}
            totals = [(spent[name] * COST, spent[name] * rho) for name in (analyst, "")]
            for kind, data, of in (
                ("reserved", {**asked, "charge": charge}, totals),
                ("answered", {"request": request, "answer": digest(b"12")}, ()),
            ):
                stamp = datetime.now(UTC).isoformat()
                entry = Entry.after(last.hash, last.sequence + 1, kind, stamp, {**data, "salt": f"{number:032x}"})
                last = LogMark(entry.sequence, entry.hash)
                rows[ENTRIES].append({"sequence": entry.sequence, "content": entry.content, "hash": entry.hash})
                rows[ENTRY_INDEX].append(index_row(entry.sequence, kind, about, data, of))
            rows[REQUESTS].append({**asked, "state": "answered", "attempt": 1, "run": ""})
            rows[ANSWERS].append({"request": request, "content": b"12"})
        with ledger.log.database.writing() as connection:
            for table, some in rows.items():
                connection.execute(table.insert(), some)
            connection.execute(HEAD.update(), last._asdict())
            for name in ("ana", "bob", ""):
                charges = all_so_far(spent[name] * COST, Fraction(0), spent[name] * rho)
                set_total(connection, NAME, 1, name, Account(Fraction(100), charges=charges))
        ledger.log._head.keep(last)


@contextmanager
def opened(url, head, **more):
    """Open a ledger, and its service and dashboard in this process; yield it with the seconds until it was open."""
    began = time.perf_counter()
    ledger = Ledger(url, head, **more)
    taken = time.perf_counter() - began
    if more:
        ledger.declare(
            NAME, Account(Fraction(100)), dict.fromkeys(ANALYSTS, Account(Fraction(33))), reason="a benchmark"
        )
    data = load(NAME)
    curator = Curator(ledger, {NAME: HostedDataset(data.schema, FrameRows.of(data.frame, data.labels, data.schema))})
    with ledger, Keys(url) as keys:
        jobs = Jobs(curator)
        app = create_app(curator, keys.caller, jobs)
        mount_dashboard(app, ledger, keys, secure=False)
        yield ledger, app, keys, taken
        jobs.close()


def clients(app, keys):
    """Return a client of each caller: with a key, and logged in."""
    result = {}
    for name, role in (("ana", "analyst"), ("eve", "analyst"), ("kim", "auditor")):
        key = keys.add(name, role)
        result[name] = TestClient(app, headers={"Authorization": f"Bearer {key}"})
        response = result[name].post("/dashboard/login", data={"key": key})
        assert response.status_code in (200, 303), response.text
    return result


def seconds(client, path):
    """Return the median time of some calls, after a first call that loads modules as a service would."""
    taken = []
    for _ in range(ROUNDS + 1):
        draw.cache_clear()
        began = time.perf_counter()
        response = client.get(path)
        taken.append(time.perf_counter() - began)
        assert response.status_code == 200, response.text
    return statistics.median(taken[1:])


def pages(ledger, app, keys, entries):
    """Yield the time of each page."""
    by, middle = clients(app, keys), next(ledger.entries(entries // 2)).hash
    for what, name, path in (
        ("GET /v1/ledger, an analyst without an entry", "eve", "/v1/ledger"),
        ("GET /v1/ledger, an analyst with most entries", "ana", "/v1/ledger"),
        ("GET /v1/ledger, an auditor", "kim", "/v1/ledger"),
        ("GET /v1/ledger, an auditor, from the middle", "kim", f"/v1/ledger?after={middle}"),
        ("budgets, an auditor", "kim", "/dashboard/"),
        ("budgets, an analyst", "ana", "/dashboard/"),
        ("chart", "kim", f"/dashboard/chart.svg?dataset={NAME}"),
        ("chart, an analyst", "ana", f"/dashboard/chart.svg?dataset={NAME}"),
        ("requests, all", "kim", "/dashboard/requests"),
        ("requests, of an analyst", "kim", "/dashboard/requests?analyst=bob"),
        ("requests, of a dataset", "kim", f"/dashboard/requests?dataset={NAME}"),
        ("requests, an analyst", "ana", "/dashboard/requests"),
        ("ledger, newest", "kim", "/dashboard/ledger"),
        ("ledger, in the middle", "kim", f"/dashboard/ledger?before={entries // 2}"),
    ):
        yield what, seconds(by[name], path)


def commit():
    """Return the commit that is measured."""
    return subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()


def measured(url, head, entries):
    """Yield the rows of a database."""
    with opened(url, head, new_ledger=True) as (ledger, *_):
        filled(ledger, entries)
    with opened(url, head) as (ledger, app, keys, taken):
        before = resident()
        yield "opening", taken, "s"
        for what, taken in pages(ledger, app, keys, entries):
            yield what, taken, "s"
        yield "memory after all pages", resident() - before, "MB more"
        peak, began = [0.0], time.perf_counter()
        result = ledger.verify(progress=lambda *_: peak.append(resident() - before))
        yield "verification of all entries", time.perf_counter() - began, "s"
        yield "memory during the verification", max(peak), "MB more"
        assert result.entries >= entries
        assert result.is_compared
        began = time.perf_counter()
        ledger.answer(ledger.reserve(question("one more")), b"12")
        yield "a charge and its answer", time.perf_counter() - began, "s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("postgres", nargs="?", help="URL of an empty database of PostgreSQL, to measure it")
    parser.add_argument("--entries", type=int, default=MILLION)
    given = parser.parse_args()
    rows, name = [], "PostgreSQL" if given.postgres else "SQLite"
    with tempfile.TemporaryDirectory() as folder:
        url = given.postgres or f"sqlite:///{folder}/ledger.db"
        for what, value, unit in measured(url, Path(folder) / "head", given.entries):
            rows.append(
                {"ledger": name, "entries": given.entries, "what": what, "value": round(value, 3), "unit": unit}
            )
            print(*rows[-1].values(), flush=True)
    table = pd.DataFrame(rows).assign(day=datetime.now(UTC).date().isoformat(), commit=commit())
    earlier = pd.read_csv(OUTPUT) if OUTPUT.exists() else table[:0]
    whole = pd.concat([earlier[earlier["ledger"] != name], table]).sort_values("ledger", kind="stable")
    whole.to_csv(OUTPUT, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
