"""The ledger's tables.

`ENTRIES` is the record: append-only, with each entry chained to the previous entry. `ENTRY_INDEX` locates the entries
of an analyst, a dataset, a request or a kind. The other tables follow from the entries, except the answers,
whose digests are in the entries. They make decisions fast, and `Ledger.verify` compares them with the entries. `KEYS`,
waiting `APPROVALS`, and `RETRIES` (attempts to evaluate a request) are independent of the entries.
"""

import sqlalchemy as sa
from sqlalchemy import event

VERSION = 2  # version of these tables; ledgers of other versions are not opened
METADATA = sa.MetaData()

ENTRIES = sa.Table(
    "entries",
    METADATA,
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),
)
HEAD = sa.Table(
    "head",
    METADATA,
    sa.Column("place", sa.Integer, sa.CheckConstraint("place = 1"), primary_key=True, autoincrement=False),
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
)
ENTRY_INDEX = sa.Table(
    "entry_index",
    METADATA,
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("dataset", sa.String(200)),
    sa.Column("analyst", sa.String(200)),
    sa.Column("request", sa.String(36)),
    sa.Column("epsilon", sa.Double),  # the totals of the analyst and of the dataset after a charge, rounded, for charts
    sa.Column("rho", sa.Double),
    sa.Column("whole_epsilon", sa.Double),
    sa.Column("whole_rho", sa.Double),
    sa.Index("entries_of_analyst", "analyst", "sequence"),
    sa.Index("entries_of_request", "request", "sequence"),
    sa.Index("entries_of_dataset", "kind", "dataset", "sequence"),
    sa.Index("entries_of_share", "kind", "dataset", "analyst", "sequence"),
)
CAPS = sa.Table(
    "caps",
    METADATA,
    sa.Column("dataset", sa.String(200), primary_key=True),
    sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("analyst", sa.String(200), primary_key=True),  # empty for the dataset itself
    sa.Column("caps", sa.Text, nullable=False),
)
TOTALS = sa.Table(
    "totals",
    METADATA,
    sa.Column("dataset", sa.String(200), primary_key=True),
    sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("analyst", sa.String(200), primary_key=True),
    sa.Column(
        "epsilon", sa.Text, sa.CheckConstraint("epsilon NOT LIKE '-%' AND epsilon NOT LIKE '%.%'"), nullable=False
    ),
    sa.Column("delta", sa.Text, sa.CheckConstraint("delta NOT LIKE '-%' AND delta NOT LIKE '%.%'"), nullable=False),
    sa.Column("rho", sa.Text, sa.CheckConstraint("rho IS NULL OR (rho NOT LIKE '-%' AND rho NOT LIKE '%.%')")),
)
REQUESTS = sa.Table(
    "requests",
    METADATA,
    sa.Column("request", sa.String(36), primary_key=True),
    sa.Column("analyst", sa.String(200), nullable=False),
    sa.Column("key", sa.String(200), nullable=False),
    sa.Column("body", sa.String(64), nullable=False),
    sa.Column("dataset", sa.String(200), nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("state", sa.String(8), sa.CheckConstraint("state IN ('reserved', 'answered', 'failed')"), nullable=False),
    sa.Column("attempt", sa.Integer, sa.CheckConstraint("attempt IN (1, 2)"), nullable=False),
    sa.Column("run", sa.String(36), nullable=False),
    sa.UniqueConstraint("analyst", "key"),
)
ANSWERS = sa.Table(
    "answers",
    METADATA,
    sa.Column("request", sa.String(36), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
RETRIES = sa.Table(
    "retries",
    METADATA,
    sa.Column("request", sa.String(36), primary_key=True),
    sa.Column("attempts", sa.Integer, nullable=False),  # that were started
)
SIZES = sa.Table(  # sizes of answers, for quotas
    "sizes",
    METADATA,
    sa.Column("request", sa.String(36), primary_key=True),
    sa.Column("analyst", sa.String(200), nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),  # the answer's size, or its maximum size while it is unfinished
    sa.Column("is_unfinished", sa.Boolean, nullable=False),  # neither answered nor failed
    sa.Index("sizes_of_analyst", "analyst", "bytes"),
    sa.Index("sizes_unfinished", "is_unfinished", "bytes"),
)
KEYS = sa.Table(
    "keys",
    METADATA,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("role", sa.String(8), sa.CheckConstraint("role IN ('analyst', 'auditor', 'curator')"), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),
    sa.Column("ends", sa.BigInteger),  # seconds since 1970; NULL: does not expire
)
APPROVALS = sa.Table(
    "approvals",
    METADATA,
    sa.Column("dataset", sa.String(200), primary_key=True),
    sa.Column("analyst", sa.String(200), primary_key=True),
    sa.Column("asked", sa.String(64), primary_key=True),  # empty for all questions of the analyst
    sa.Column("number", sa.BigInteger, nullable=False, unique=True),
    sa.Column("charge", sa.Text, nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("state", sa.String(8), sa.CheckConstraint("state IN ('pending', 'approved', 'refused')")),
)

_WHY = "'the entries of a ledger are only added to'"
_REFUSED = f"BEGIN SELECT RAISE(ABORT, {_WHY}); END"
_MADE = [
    (
        SIZES,  # created after the tables from which it is filled, in the order of their names
        None,
        "INSERT INTO sizes SELECT requests.request, requests.analyst, COALESCE(LENGTH(answers.content), 0), "
        "requests.state = 'reserved' FROM requests LEFT JOIN answers ON answers.request = requests.request",
    ),
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
    event.listen(_table, "after_create", sa.DDL(_statement).execute_if(dialect=_dialect))
