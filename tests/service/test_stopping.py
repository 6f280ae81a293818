"""A service that is told to end does so in time, although a query hangs; the question is answered after the restart."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx2
import pytest
import yaml

from tests.service.wards import MARGINALS, SCHEMA, table
from tests.service.web import JSON

VIEW = """
CREATE TABLE pause AS SELECT 0 AS seconds;
CREATE VIEW slow AS SELECT w.* FROM stopped w CROSS JOIN LATERAL (SELECT pg_sleep(seconds) FROM pause WHERE w.age > 0) p
"""


@pytest.fixture
def connection(postgres_url):
    import psycopg

    frame, labels = table(50)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE stopped (age integer, smoker boolean, ward text, ill text)")
        for row in zip(frame.age, frame.smoker, frame.ward, labels, strict=True):
            connection.execute("INSERT INTO stopped VALUES (%s, %s, %s, %s)", [int(row[0]), bool(row[1]), *row[2:]])
        connection.execute(VIEW)
        yield connection
        connection.execute("DROP TABLE stopped, pause CASCADE")


def hedgerow(*words):
    return subprocess.run([sys.executable, "-m", "hedgerow", *words], check=True, capture_output=True, text=True)


@contextmanager
def serving():
    process = subprocess.Popen(
        [sys.executable, "-m", "hedgerow", "serve", "--config", "curator.yaml", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process, json.loads(process.stdout.readline())["url"]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.statistics  # a kill
def test_a_service_ends_in_time_although_a_query_hangs(connection, postgres_url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hedgerow("serve", "init")
    SCHEMA.save("wards.yaml")
    caps = {"cap": {"epsilon": 1}, "analysts": {"ana": {"epsilon": 1}}}
    config = yaml.safe_load((tmp_path / "curator.yaml").read_text())
    config |= {"datasets": {"wards": {"table": f"{postgres_url}::slow", "schema": "wards.yaml", **caps}}}
    (tmp_path / "curator.yaml").write_text(yaml.safe_dump(config | {"timeouts": {"stop": 1}}))
    os.chmod(tmp_path / "curator.yaml", 0o600)
    hedgerow("serve", "check")
    headers = {"Authorization": f"Bearer {hedgerow('serve', 'key', 'add', 'ana').stdout.strip()}", **JSON}
    headers["Idempotency-Key"] = "one"

    def spent(url):
        return httpx2.get(f"{url}/v1/datasets/wards/budget", headers=headers).json()["epsilon"]["spent"]

    def ask(url):
        return httpx2.post(f"{url}/v1/datasets/wards/marginals", headers=headers, content=MARGINALS, timeout=60)

    with serving() as (process, url):
        connection.execute("UPDATE pause SET seconds = 60")
        told = []
        asking = threading.Thread(target=lambda: told.append(ask(url).status_code))
        asking.start()
        until = time.monotonic() + 30
        while spent(url) == "0" and time.monotonic() < until:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        process.wait(20)
        assert time.monotonic() - began < 10
        asking.join(10)
    connection.execute("UPDATE pause SET seconds = 0")
    with serving() as (_, url):
        assert spent(url) == "1/4"
        assert ask(url).status_code == 200
        assert spent(url) == "1/4"
