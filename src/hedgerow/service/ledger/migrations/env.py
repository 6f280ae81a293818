"""How Alembic runs the ledger's migrations: on the connection that the ledger hands over."""

from alembic import context

from hedgerow.service.ledger.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
