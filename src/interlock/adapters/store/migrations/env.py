"""What Alembic runs around the revisions: on the connection and in the transaction that it is handed."""

from __future__ import annotations

from alembic import context

from interlock.adapters.store.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
context.run_migrations()
