"""The service over HTTP in this process, for tests."""

import threading
import time
from contextlib import contextmanager
from functools import partial

import pytest
import uvicorn

from hedgerow.service.app import create_app
from hedgerow.service.jobs import Jobs
from hedgerow.service.keys import Keys
from hedgerow.service.server import ServedConnection, ServedConnections
from tests.service.wards import curator_of

JSON = {"Content-Type": "application/json"}


class Web:
    """A running app, with the curator behind it and a client for each caller."""

    def __init__(self, url, curator, app, keys):
        self.url, self.curator, self.app, self.keys = url, curator, app, keys
        self.tokens = {name: keys.add(name, role) for name, role in ROLES.items()}

    def client(self, name="ana", **headers):
        """Return a client of a caller; of nobody for ""."""
        testing = pytest.importorskip("starlette.testclient")
        bearer = {"Authorization": f"Bearer {self.tokens[name]}"} if name else {}
        return testing.TestClient(self.app, headers=bearer | headers, raise_server_exceptions=False)


ROLES = {"ana": "analyst", "bob": "analyst", "eve": "analyst", "kim": "auditor"}


@contextmanager
def web(folder, rows=None, url=None, **more):
    """Open the service of one dataset."""
    url = url or f"sqlite:///{folder}/ledger.db"
    with curator_of(url, rows, **more) as curator, Keys(url) as keys:
        jobs = Jobs(curator)
        try:
            yield Web(url, curator, create_app(curator, keys.caller, jobs), keys)
        finally:
            jobs.close()


@contextmanager
def served(app, most=1000, tls=None):
    """Serve an app at a port of this machine, with so many connections at most, and yield its URL."""
    protocol = partial(ServedConnection, ServedConnections(most), tls)
    server = uvicorn.Server(uvicorn.Config(app, http=protocol, ws="none", port=0, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def running(folder, rows=None, **more):
    """Open the service, and serve it at a port of this machine: its `url` is there."""
    with web(folder, rows, **more) as service, served(service.app) as service.url:
        yield service
