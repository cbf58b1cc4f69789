"""The durable history in SQLite or PostgreSQL; what an event means is decided in core."""

from __future__ import annotations

from interlock.adapters.store.engine import sqlite_url
from interlock.adapters.store.store import SqlStore

__all__ = ["SqlStore", "sqlite_url"]
