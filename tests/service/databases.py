"""New databases for ledgers, of both kinds.

All tests read this file, and most need neither SQLAlchemy nor a ledger: these are imported where they are used.
"""

import secrets
from pathlib import Path
from tempfile import gettempdir

import pytest

from tests.engines.servers import POSTGRES


@pytest.fixture(params=["sqlite", POSTGRES])
def ledger_url(request, tmp_path):
    """A new database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ledger.db"
        return
    import sqlalchemy as sa

    server = sa.make_url(request.getfixturevalue("postgres_url")).set(drivername="postgresql+psycopg")
    name = f"ledger_{secrets.token_hex(6)}"
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    url = server.set(database=name).render_as_string(hide_password=False)
    yield url
    head_of(url).unlink(missing_ok=True)


def head_of(url):
    """Return the file with the head of a ledger."""
    from sqlalchemy import make_url

    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return Path(f"{parsed.database}-head")
    return Path(gettempdir()) / f"hedgerow-{parsed.database}.head"


def ledger_at(url, **more):
    """Open a ledger of either kind, a new one if there is no head."""
    from hedgerow.service.ledger.ledger import Ledger

    new_ledger = not (more.get("accept_rollback") or head_of(url).exists())
    return Ledger(url, head_of(url), **({"new_ledger": new_ledger} | more))
