"""The ledger's tables.

`ENTRIES` is the record: append-only, each entry chained to the one before. The other tables follow from it, but for the
answers themselves, of which it has the digests; they are there to decide quickly, and `Ledger.verify` compares them.
`KEYS` stands beside it: who may ask is no part of what was charged; so do `APPROVALS` that wait.
"""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    BigInteger,
    CheckConstraint,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
)

VERSION = 1
"""Of these tables: a ledger of another one is refused, and left as it is."""
METADATA = MetaData()

ENTRIES = Table(
    "entries",
    METADATA,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
)
HEAD = Table(
    "head",
    METADATA,
    Column("place", Integer, CheckConstraint("place = 1"), primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("version", Integer, nullable=False),
)
CAPS = Table(
    "caps",
    METADATA,
    Column("dataset", String(200), primary_key=True),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("analyst", String(200), primary_key=True),  # empty for the dataset itself
    Column("caps", Text, nullable=False),
)
TOTALS = Table(
    "totals",
    METADATA,
    Column("dataset", String(200), primary_key=True),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("analyst", String(200), primary_key=True),
    Column("epsilon", Text, CheckConstraint("epsilon NOT LIKE '-%' AND epsilon NOT LIKE '%.%'"), nullable=False),
    Column("delta", Text, CheckConstraint("delta NOT LIKE '-%' AND delta NOT LIKE '%.%'"), nullable=False),
    Column("rho", Text, CheckConstraint("rho IS NULL OR (rho NOT LIKE '-%' AND rho NOT LIKE '%.%')")),
)
REQUESTS = Table(
    "requests",
    METADATA,
    Column("request", String(36), primary_key=True),
    Column("analyst", String(200), nullable=False),
    Column("key", String(200), nullable=False),
    Column("body", String(64), nullable=False),
    Column("dataset", String(200), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("state", String(8), CheckConstraint("state IN ('reserved', 'answered', 'failed')"), nullable=False),
    Column("attempt", Integer, CheckConstraint("attempt IN (1, 2)"), nullable=False),
    Column("run", String(36), nullable=False),
    UniqueConstraint("analyst", "key"),
)
ANSWERS = Table(
    "answers",
    METADATA,
    Column("request", String(36), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
KEYS = Table(
    "keys",
    METADATA,
    Column("name", String(200), primary_key=True),
    Column("role", String(8), CheckConstraint("role IN ('analyst', 'auditor', 'curator')"), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("ends", BigInteger),  # seconds since 1970; none: when it is revoked
)
APPROVALS = Table(
    "approvals",
    METADATA,
    Column("dataset", String(200), primary_key=True),
    Column("analyst", String(200), primary_key=True),
    Column("asked", String(64), primary_key=True),  # empty for all that the analyst asks
    Column("number", BigInteger, nullable=False, unique=True),
    Column("purpose", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("state", String(8), CheckConstraint("state IN ('pending', 'approved', 'refused')")),
)

_WHY = "'the entries of a ledger are only added to'"
_REFUSED = f"BEGIN SELECT RAISE(ABORT, {_WHY}); END"
_MADE = [
    (HEAD, None, f"INSERT INTO head VALUES (1, 0, '', {VERSION})"),
    (ENTRIES, "sqlite", f"CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries {_REFUSED}"),
    (ENTRIES, "sqlite", f"CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries {_REFUSED}"),
    (
        ENTRIES,
        "postgresql",
        f"CREATE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION {_WHY}; END $$",
    ),
    (
        ENTRIES,
        "postgresql",
        "CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE ON entries FOR EACH ROW EXECUTE FUNCTION entries_stay()",
    ),
]
for _table, _dialect, _statement in _MADE:
    event.listen(_table, "after_create", DDL(_statement).execute_if(dialect=_dialect))
