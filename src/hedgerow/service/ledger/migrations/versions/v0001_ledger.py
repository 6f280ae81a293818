"""The first tables, and triggers that keep entries as they are."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_AMOUNT = "{0} NOT LIKE '-%' AND {0} NOT LIKE '%.%'"
_SQLITE = """
CREATE TRIGGER entries_no_{0} BEFORE {0} ON entries
BEGIN SELECT RAISE(ABORT, 'the entries of a ledger are only added to'); END
"""
_POSTGRES = """
CREATE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the entries of a ledger are only added to'; END $$
"""


def upgrade() -> None:
    """Make the tables."""
    _entries()
    _amounts()
    _requests()
    op.execute("INSERT INTO head VALUES (1, 0, '')")
    if op.get_bind().dialect.name == "sqlite":
        for what in ("update", "delete"):
            op.execute(_SQLITE.format(what))
    else:
        op.execute(_POSTGRES)
        op.execute(
            "CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE ON entries "
            "FOR EACH ROW EXECUTE FUNCTION entries_stay()"
        )


def _entries() -> None:
    op.create_table(
        "entries",
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
    )
    op.create_table(
        "head",
        sa.Column("place", sa.Integer, sa.CheckConstraint("place = 1"), primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )


def _amounts() -> None:
    def owner() -> list[sa.Column[object]]:
        return [
            sa.Column("dataset", sa.String(200), primary_key=True),
            sa.Column("epoch", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("analyst", sa.String(200), primary_key=True),
        ]

    op.create_table("caps", *owner(), sa.Column("caps", sa.Text, nullable=False))
    op.create_table(
        "totals",
        *owner(),
        sa.Column("epsilon", sa.Text, sa.CheckConstraint(_AMOUNT.format("epsilon")), nullable=False),
        sa.Column("delta", sa.Text, sa.CheckConstraint(_AMOUNT.format("delta")), nullable=False),
        sa.Column("rho", sa.Text, sa.CheckConstraint(f"rho IS NULL OR ({_AMOUNT.format('rho')})")),
    )


def _requests() -> None:
    op.create_table(
        "requests",
        sa.Column("request", sa.String(36), primary_key=True),
        sa.Column("analyst", sa.String(200), nullable=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("body", sa.String(64), nullable=False),
        sa.Column("dataset", sa.String(200), nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column(
            "state", sa.String(8), sa.CheckConstraint("state IN ('reserved', 'answered', 'failed')"), nullable=False
        ),
        sa.Column("attempt", sa.Integer, sa.CheckConstraint("attempt IN (1, 2)"), nullable=False),
        sa.Column("run", sa.String(36), nullable=False),
        sa.UniqueConstraint("analyst", "key"),
    )
    op.create_table(
        "answers",
        sa.Column("request", sa.String(36), primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
