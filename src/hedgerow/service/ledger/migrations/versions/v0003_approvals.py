"""The questions that a curator is to approve, or has."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "approvals",
        sa.Column("dataset", sa.String(200), primary_key=True),
        sa.Column("analyst", sa.String(200), primary_key=True),
        sa.Column("asked", sa.String(64), primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False, unique=True),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("state", sa.String(8), sa.CheckConstraint("state IN ('pending', 'approved', 'refused')")),
    )
