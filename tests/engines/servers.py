"""The engines that tests need, started when first asked for and stopped at the end of the session.

Each is a fixture, skipped with a reason where the machine lacks what it needs:

``postgres_url``
    URL, with password, of a new PostgreSQL cluster on loopback, whose user may do everything.
``spark``
    A `SparkSession` in local mode. One process can have only one: leave it as you found it, and do not stop it.
``spark_master``
    URL of a standalone Spark master with two workers. As this process may hold the session above, let another process
    be the driver: ``run_driver(source, spark_master)``.

Tests that name a fixture run on the one worker of pytest-xdist that has it. Parametrised over engines, where the
fixture is only asked for by ``request.getfixturevalue``, they take `POSTGRES` and `SPARK` as parameters, which are
marked so.
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

POSTGRES = pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))
SPARK = pytest.param("spark", marks=pytest.mark.xdist_group("spark"))
JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # starts soonest, which is most of the time of a test
_GROUPS = {"spark": "spark", "spark_master": "spark", "postgres_url": "postgres"}
_PATIENCE = 120  # seconds until a server that has not started never will


def group_by_engine(items: list[pytest.Item]) -> None:
    """Mark the tests that name an engine's fixture, so that pytest-xdist starts the engine on one worker only."""
    for item in items:
        groups = [group for name, group in _GROUPS.items() if name in getattr(item, "fixturenames", ())]
        if groups and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(groups[0]))
        if _engine_of(item) == "postgres":
            item.add_marker(pytest.mark.postgres)
        if uses_spark(item):
            item.add_marker(pytest.mark.spark)
            # PySpark leaves sockets to the garbage collector, and knows no pandas 3
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning"))


def name_groups(items: list[pytest.Item], *, by_worker: bool) -> None:
    """Write the groups into the tests' ids for pytest-xdist, whose own way pytest 9.2 ignores (pytest-xdist#1386)."""
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        if by_worker and mark and not item.nodeid.endswith(f"@{mark.args[0]}"):
            item._id = type(item.id).parse(f"{item.nodeid}@{mark.args[0]}")


def uses_spark(item: pytest.Item) -> bool:
    """Return whether the test runs on Spark."""
    return _engine_of(item) == "spark"


def _engine_of(item: pytest.Item) -> str | None:
    mark = item.get_closest_marker("xdist_group")
    return None if mark is None else mark.args[0]


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    programs = _postgres_programs()
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        pytest.skip(f"needs psycopg ({error}): pip install 'hedgerow[postgres]'")
    with tempfile.TemporaryDirectory(prefix="hedgerow-pg-") as folder, _postgres(programs, Path(folder)) as url:
        yield url


def _postgres_programs() -> Path:
    on_path = shutil.which("initdb")
    result = [Path(on_path).parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not result or not (result[-1] / "postgres").exists():
        pytest.skip("needs the server programs of PostgreSQL (Debian: apt install postgresql)")
    return result[-1]


@contextmanager
def _postgres(programs: Path, folder: Path) -> Iterator[str]:
    """Run a cluster in a folder, as another user where this is root, whom PostgreSQL refuses."""
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        owner = _unprivileged()
        other = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    port, password = _free_port(), secrets.token_hex(8)
    (folder / "password").write_text(password)
    (folder / "password").chmod(0o644)  # the folder is closed to others
    made = [programs / "initdb", "-D", folder / "data", "-U", "hedgerow", "--pwfile", folder / "password"]
    settings = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]
    subprocess.run([*made, *settings], check=True, stdout=subprocess.DEVNULL, cwd=folder, **other)
    command = [programs / "postgres", "-D", folder / "data", "-k", folder, "-h", "127.0.0.1", "-p", str(port)]
    # what ends PostgreSQL without waiting for its clients is SIGINT
    with _process(command, folder / "log", end=signal.SIGINT, cwd=folder, **other) as wait_for:
        wait_for("ready to accept connections")
        yield f"postgresql://hedgerow:{password}@127.0.0.1:{port}/postgres"


def _unprivileged() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("needs a user that is not root, such as `postgres`, to run PostgreSQL as")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    _require_spark()
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="hedgerow-spark-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # not the first of the PATH, which may be another
        builder = SparkSession.builder.master("local[2]").appName("hedgerow tests")
        for key, value in _settings(folder).items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        yield session
        java = session.sparkContext._gateway
        session.stop()
        java.shutdown()
        java.proc.stdin.close()  # which ends it
        java.proc.wait()


def _settings(folder: str) -> dict[str, str]:
    return {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": JAVA,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.local.dir": folder,
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def _require_spark() -> None:
    """Skip where PySpark or Java 17, the oldest that Spark 4 runs on, is absent."""
    if find_spec("pyspark") is None:
        pytest.skip("needs PySpark: pip install 'hedgerow[spark]'")
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java" if home else "java")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr if java else ""
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version[1]) < 17:
        pytest.skip("needs Java 17 or newer (Debian: apt install default-jre-headless)")


@pytest.fixture(scope="session")
def spark_master() -> Iterator[str]:
    _require_spark()
    home = _spark_home()
    with tempfile.TemporaryDirectory(prefix="hedgerow-cluster-") as name, ExitStack() as servers:
        folder = Path(name)

        def start(role: str, log: str, *arguments: str) -> Callable[[str], re.Match[str]]:
            command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{role}"]
            ports = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
            return servers.enter_context(_process([*command, *ports, *arguments], folder / log, env=_daemon(folder)))

        url = start("master.Master", "master.log")(r"Starting Spark master at (spark://\S+)")[1]
        of_worker = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"))
        waits = [start("worker.Worker", f"worker-{i}.log", *of_worker, url) for i in (1, 2)]
        for wait_for in waits:
            wait_for("Successfully registered with master")
        yield url


def _spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def _daemon(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "SPARK_HOME": str(_spark_home()),
        "SPARK_CONF_DIR": str(folder),  # none
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": JAVA,
        "SPARK_DAEMON_MEMORY": "256m",
    }


def run_driver(source: str, master: str) -> str:
    """Run Python source in another process, where ``spark`` is a session on the master; return what it prints.

    Each worker has one executor of half a gigabyte. The executors are there when the source begins.
    """
    with tempfile.TemporaryDirectory(prefix="hedgerow-driver-") as folder:
        settings = {
            **_settings(folder),
            "spark.cores.max": "2",
            "spark.executor.extraJavaOptions": JAVA,
            "spark.executor.memory": "512m",
            "spark.scheduler.minRegisteredResourcesRatio": "1",
        }
        begin = (
            "from pyspark import SparkConf\nfrom pyspark.sql import SparkSession\n"
            f"conf = SparkConf().setAll({list(settings.items())!r})\n"
            f"spark = SparkSession.builder.master({master!r}).config(conf=conf).getOrCreate()\n"
        )
        path = Path(folder) / "driver.py"
        path.write_text(f"{begin}{source}\nspark.stop()\n", encoding="utf-8")
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        ended = subprocess.run(
            [sys.executable, path], capture_output=True, text=True, timeout=2 * _PATIENCE, check=False, env=environment
        )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@contextmanager
def _process(
    command: list[Any], log: Path, *, end: signal.Signals = signal.SIGTERM, **options: Any
) -> Iterator[Callable[[str], re.Match[str]]]:
    """Run a server until the end of the block, which gets a function that waits until the log matches a pattern."""
    with log.open("w") as written:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=written, stderr=written, **options)

    def wait_for(pattern: str) -> re.Match[str]:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and process.poll() is None:
            result = re.search(pattern, log.read_text(errors="replace"))
            if result:
                return result
            time.sleep(0.05)
        raise RuntimeError(f"{command[0]} did not start:\n{log.read_text(errors='replace')}")

    try:
        yield wait_for
    finally:
        process.send_signal(end)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
