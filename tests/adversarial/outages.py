"""Real outages of databases, files and the process, at each step of a question to a curator's service.

    python -m tests.adversarial.outages      # writes benchmarks/results/outages.csv, in about ten minutes

Each case is a new service with one question. The outage begins at one step, the analyst is answered, the outage ends,
and the same question is asked twice more with the same key.
"""

import csv
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

from hedgerow.engines.time_limits import TimeLimits
from hedgerow.privacy.account import Account
from hedgerow.service.app import create_app
from hedgerow.service.curator import Curator, HostedDataset
from hedgerow.service.jobs import Jobs
from hedgerow.service.keys import Keys
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.requests import Request
from hedgerow.service.rows import FrameRows, open_rows
from tests.engines.servers import _free_port, _postgres_programs, _unprivileged
from tests.service.wards import MARGINALS, SCHEMA, table
from tests.service.web import JSON

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "outages.csv"
STEPS = (
    "before the charge",
    "before the rows are opened",
    "while they are open",
    "before the noise",
    "before the answer is stored",
    "before it is sent",
)
COLUMNS = ("what fails", "how", "step", "status", "problem", "said charged", "charges", "then", "charges then")
LIMITS = TimeLimits(connect=2, query=1, lock=0.5)
COST = Fraction(1, 4)
Row = dict[str, str]


class Cluster:
    """A PostgreSQL cluster that can be stopped, restarted and made to hang."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._programs = folder, _postgres_programs()
        self._other: dict[str, Any] = {}
        if os.geteuid() == 0:
            owner = _unprivileged()
            self._other = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        self.port = _free_port()
        self._run(
            "initdb", "-D", "data", "-U", "hedgerow", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"
        )
        self.url = f"postgresql://hedgerow@127.0.0.1:{self.port}/postgres"
        self.start()

    def _run(self, program: str, *words: str) -> None:
        log = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        subprocess.run([self._programs / program, *words], check=True, stdin=subprocess.DEVNULL, **log, **self._other)

    def start(self) -> None:
        options = f"-k {self.folder} -h 127.0.0.1 -p {self.port}"
        self._run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", "data", "-w", "-m", "immediate", "stop")

    def restart(self) -> None:
        self.stop()
        self.start()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all processes of the cluster."""
        first = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        for pid in (first, *_children(first)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def execute(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)


def _children(parent: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                yield int(path.parent.name)


@dataclass(frozen=True)
class Outage:
    """An outage that begins at one step of a question, and ends."""

    what: str  # what fails
    how: str
    begin: Callable[[], object]
    end: Callable[[], object]
    steps: tuple[str, ...] = STEPS  # those at which it can begin


@dataclass(frozen=True)
class Place:
    """Where rows and ledger are."""

    rows: str | None  # the address of the rows; None for rows in memory
    ledger: str
    head: Path


class Steps:
    """A curator's parts, watched: at one step of the first question, something happens."""

    def __init__(self, step: str, begin: Callable[[], object]) -> None:
        self._waiting, self._begin = step, begin

    def reach(self, step: str) -> None:
        if step == self._waiting:
            self._waiting = ""
            self._begin()

    def watch(self, ledger: Ledger) -> None:
        answer = ledger.answer

        def answering(reserved: Any, content: bytes) -> None:
            self.reach(STEPS[4])
            answer(reserved, content)
            self.reach(STEPS[5])

        ledger.answer = answering


class WatchedRows:
    """Rows that note when they are open."""

    def __init__(self, rows: Any, steps: Steps) -> None:
        self._rows, self._steps, self.target, self.probe = rows, steps, rows.target, rows.probe

    @contextmanager
    def opened(self) -> Iterator[Any]:
        self._steps.reach(STEPS[1])
        with self._rows.opened() as target:
            self._steps.reach(STEPS[2])
            yield WatchedTarget(target, self._steps)


class WatchedTarget:
    """Open rows, which note when they were counted."""

    def __init__(self, target: Any, steps: Steps) -> None:
        self._target, self._steps = target, steps

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._target, name)
        if not name.endswith("_by_bin"):
            return result

        def counting(*given: Any) -> Any:
            counts = result(*given)
            self._steps.reach(STEPS[3])
            return counts

        return counting


@contextmanager
def curator(place: Place, steps: Steps) -> Iterator[Curator]:
    with Ledger(place.ledger, place.head, new_ledger=not place.head.exists(), limits=LIMITS) as ledger:
        if ledger.epoch("wards") is None:
            ledger.declare("wards", Account(Fraction(1)), {"ana": Account(Fraction(1))}, reason="rows")
        steps.watch(ledger)
        rows = open_rows(place.rows, SCHEMA, limits=LIMITS) if place.rows else FrameRows.of(*table(), SCHEMA)
        held = HostedDataset(SCHEMA, WatchedRows(rows, steps))
        yield Curator(ledger, {"wards": held})


def outcome(outage: Outage, step: str, place: Place) -> Row:
    """Return what an analyst is told at an outage and after it, and what is charged."""
    from starlette.testclient import TestClient

    steps = Steps(step, outage.begin)
    with ExitStack() as stack:
        for name, value in (("_FRESH", 0), ("SECONDS", 3)):
            stack.enter_context(mock.patch(f"hedgerow.service.availability.{name}", value))
        stack.enter_context(mock.patch("hedgerow.service.ledger.database._WAIT", 1))
        held = stack.enter_context(curator(place, steps))
        keys = stack.enter_context(Keys(place.ledger, LIMITS))
        jobs = Jobs(held)
        stack.callback(jobs.close)
        bearer = {"Authorization": f"Bearer {keys.add('ana', 'analyst')}", "Idempotency-Key": "one"}
        client = TestClient(create_app(held, keys.caller, jobs), headers=bearer | JSON, raise_server_exceptions=False)
        try:
            steps.reach(STEPS[0])
            told = client.post("/v1/datasets/wards/marginals", content=MARGINALS)
        finally:
            outage.end()
        charges = held.ledger.account("wards").spent / COST
        then, again = (client.post("/v1/datasets/wards/marginals", content=MARGINALS) for _ in range(2))
        assert then.content == again.content
        assert told.status_code != 200 or told.content == then.content
        held.ledger.verify()
        charges_then = held.ledger.account("wards").spent / COST
    result = (outage.what, outage.how, step, *_told(told), charges, then.status_code, charges_then)
    return dict(zip(COLUMNS, map(str, result), strict=True))


def _told(response: Any) -> tuple[Any, str, str]:
    if response.status_code == 200:
        return 200, "", "yes"
    problem = response.json()
    assert response.headers.get("retry-after"), response.text  # else a client does not ask again
    said = {True: "yes", False: "no", None: "unknown"}[problem["charged"]]
    return response.status_code, problem["type"].rpartition(":")[2], said


class Other:
    """Another process that does something and keeps what it has, until it ends."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._process: subprocess.Popen[str] | None = None

    def begin(self) -> None:
        program = f"{self._source}\nprint('ready', flush=True)\ninput()"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen([sys.executable, "-c", program], **pipes)
        assert self._process.stdout.readline() == "ready\n"

    def end(self) -> None:
        if self._process is not None:
            self._process.communicate("\n")
            self._process = None


class FullDisk:
    """A limit of this process on the size of files, which a full disk resembles."""

    def __init__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def begin(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, self._before[1]))

    def end(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)


def fail(error: BaseException) -> Callable[[], None]:
    def failing() -> None:
        raise error

    return failing


def written(folder: Path, cluster: Cluster | None) -> dict[str, str]:
    """Write the rows to a place of each kind; return the addresses."""
    import duckdb

    frame, labels = table()
    frame.assign(ill=labels).to_parquet(folder / "wards.parquet")
    with duckdb.connect(folder / "wards.duckdb") as connection:
        connection.execute(f"CREATE TABLE wards AS SELECT * FROM '{folder / 'wards.parquet'}'")
    result = {
        "DuckDB": f"duckdb:///{folder}/wards.duckdb::wards",
        "Parquet": f"{folder}/wards.parquet",
    }
    if cluster is not None:
        rows = zip(frame.age, frame.smoker, frame.ward, labels, strict=True)
        values = ", ".join(f"({age}, {smoker}, '{ward}', '{ill}')" for age, smoker, ward, ill in rows)
        create = "CREATE TABLE wards (age integer, smoker boolean, ward text, ill text)"
        cluster.execute("DROP TABLE IF EXISTS wards", create, f"INSERT INTO wards VALUES {values}")
        result["PostgreSQL"] = f"{cluster.url}::wards"
    return result


def moved(path: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    away = path.with_name(f"{path.name}.away")
    return lambda: path.rename(away), lambda: away.rename(path) if away.exists() else None


def truncated(path: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    whole = path.read_bytes()
    return lambda: path.write_bytes(whole[: len(whole) // 2]), lambda: path.write_bytes(whole)


def file_outages(folder: Path) -> Iterator[Outage]:
    """Yield the outages of files and of this process."""
    database, parquet = folder / "wards.duckdb", folder / "wards.parquet"
    reader = Other(f"import duckdb\nconnection = duckdb.connect({str(database)!r})")
    closed = (*STEPS[:2], *STEPS[4:])  # in between, the service has a lock itself
    yield Outage("rows in DuckDB", "locked by another process", reader.begin, reader.end, closed)
    yield Outage("rows in DuckDB", "file is missing", *moved(database))
    yield Outage("rows in Parquet", "file is missing", *moved(parquet))
    yield Outage("rows in Parquet", "file is truncated", *truncated(parquet))
    yield Outage("service", "out of memory", fail(MemoryError()), bool, STEPS[1:5])


def ledger_outages(folder: Path) -> Iterator[Outage]:
    path = folder / "ledger.db"
    writer = Other(f"import sqlite3\nc = sqlite3.connect({str(path)!r})\nc.execute('BEGIN IMMEDIATE')")
    disk = FullDisk()
    yield Outage("ledger in SQLite", "locked by another process", writer.begin, writer.end)
    yield Outage("ledger in SQLite", "disk is full", disk.begin, disk.end)


def server_outages(cluster: Cluster, what: str) -> Iterator[Outage]:
    def hang() -> None:
        cluster.signal(signal.SIGSTOP)

    def go_on() -> None:
        cluster.signal(signal.SIGCONT)

    yield Outage(what, "refuses connections", cluster.stop, lambda: _is_up(cluster) or cluster.start())
    yield Outage(what, "restarts", cluster.restart, bool)
    yield Outage(what, "hangs (SIGSTOP)", hang, go_on)
    if what.startswith("rows"):
        lock = f"import psycopg\nc = psycopg.connect({cluster.url!r})\nc.execute('LOCK TABLE wards')"
        holder = Other(lock)
        yield Outage(what, "table is locked", holder.begin, holder.end)
        rename = ("ALTER TABLE wards RENAME TO away", "ALTER TABLE IF EXISTS away RENAME TO wards")
        yield Outage(what, "table is missing", *(lambda s=s: cluster.execute(s) for s in rename))


def _is_up(cluster: Cluster) -> bool:
    return (cluster.folder / "data" / "postmaster.pid").exists()


def killed(step: str, place: Place) -> Row:
    """Return what comes of a question whose service is killed; what the analyst sees is a lost connection."""

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        try:
            steps = Steps(step, die)
            from tests.service.wards import ANA

            with curator(place, steps) as held:
                steps.reach(STEPS[0])
                held.ask(Request(ANA, "wards", "marginals", "one", MARGINALS))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    result = outcome(Outage("service", "killed (SIGKILL)", bool, bool), STEPS[0], place)
    before = "0" if step == STEPS[0] else "1"
    lost = {"step": step, "status": "none", "problem": "", "said charged": "unknown", "charges": before}
    return result | {"then": result["status"]} | lost


def cases(folder: Path, cluster: Cluster | None) -> Iterator[tuple[Outage, str, Callable[[], Row]]]:
    """Yield each outage with each step, and what runs it."""
    addresses, number = written(folder, cluster), 0

    def sqlite() -> Place:
        for path in folder.glob("ledger.db*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return Place(None, f"sqlite:///{folder}/ledger.db", folder / "ledger.db-head")

    def on_server() -> Place:
        nonlocal number
        number += 1
        cluster.execute(f"CREATE DATABASE ledger_{number}")
        url = f"{cluster.url.rpartition('/')[0]}/ledger_{number}"
        return Place(None, url, folder / f"ledger_{number}.head")

    def run(outage: Outage, step: str, address: str | None, make: Callable[[], Place]) -> Callable[[], Row]:
        def running() -> Row:
            place = make()
            return outcome(outage, step, Place(address, place.ledger, place.head))

        return running

    for outage in file_outages(folder):
        address = next((addresses[kind] for kind in addresses if outage.what.endswith(kind)), None)
        yield from ((outage, step, run(outage, step, address, sqlite)) for step in outage.steps)
    for outage in ledger_outages(folder):
        yield from ((outage, step, run(outage, step, None, sqlite)) for step in outage.steps)
    of_process = Outage("service", "killed (SIGKILL)", bool, bool)
    yield from ((of_process, step, lambda step=step: killed(step, sqlite())) for step in STEPS)
    if cluster is not None:
        for outage in server_outages(cluster, "rows in PostgreSQL"):
            yield from ((outage, step, run(outage, step, addresses["PostgreSQL"], sqlite)) for step in outage.steps)
        for outage in server_outages(cluster, "ledger in PostgreSQL"):
            yield from ((outage, step, run(outage, step, None, on_server)) for step in outage.steps)


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="hedgerow-outages-") as folder:
        cluster = Cluster(Path(folder))
        try:
            yield cluster
        finally:
            cluster.signal(signal.SIGCONT)
            cluster.stop()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, running_cluster() as cluster:
        rows = list[Row]()
        for outage, step, run in cases(Path(folder), cluster):
            began = time.monotonic()
            rows.append(run())
            sys.stderr.write(f"{outage.what}, {outage.how}, {step}: {time.monotonic() - began:.1f} s\n")
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
