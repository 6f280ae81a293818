"""New databases for ledgers, of both kinds."""

import secrets

import pytest
import sqlalchemy as sa

from tests.engines.servers import POSTGRES


@pytest.fixture(params=["sqlite", POSTGRES])
def ledger_url(request, tmp_path):
    """A new database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    server = sa.make_url(request.getfixturevalue("postgres_url")).set(drivername="postgresql+psycopg")
    name = f"ledger_{secrets.token_hex(6)}"
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return server.set(database=name).render_as_string(hide_password=False)
