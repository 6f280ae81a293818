"""The keys by which the service knows who asks."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    roles = "role IN ('analyst', 'auditor', 'curator')"
    op.create_table(
        "keys",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("role", sa.String(8), sa.CheckConstraint(roles), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
    )
