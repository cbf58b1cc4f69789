"""Stores for tests, on SQLite and on PostgreSQL alike; a module that uses them says ``pytest_plugins`` with this name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.store.build import Kept, Ticks

from interlock.adapters.signing import KeySigner
from interlock.adapters.store import SqlStore, sqlite_url
from interlock.testing.postgres import PostgresServer, Unavailable

_servers: dict[str, PostgresServer] = {}


def postgres_server(config: pytest.Config) -> PostgresServer:
    """The one server of this process, ended with it.  Skips, or fails on CI, where there can be none."""
    if not _servers:
        try:
            server = PostgresServer.start()
        except Unavailable as reason:
            if os.environ.get("CI") == "true":
                pytest.fail(f"PostgreSQL must be there on CI: {reason}")
            pytest.skip(str(reason))
        _servers["one"] = server
        config.add_cleanup(server.stop)
    return _servers["one"]


@pytest.fixture
def sqlite_store_url(tmp_path: Path) -> str:
    return sqlite_url(tmp_path / "history" / "store.sqlite3")


@pytest.fixture
def postgres_store_url(request: pytest.FixtureRequest) -> str:
    return postgres_server(request.config).new_database()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database, once of each kind."""
    url: str = request.getfixturevalue(f"{request.param}_store_url")
    return url


@pytest.fixture
def signer(tmp_path: Path) -> KeySigner:
    """Who signs the evidence of a store: a key of this test alone."""
    return KeySigner(tmp_path / "keys", runner="a-machine")


@pytest.fixture
def anchors() -> Kept:
    """What a store wanted to be kept elsewhere."""
    return Kept()


@pytest.fixture
def store(store_url: str, signer: KeySigner, anchors: Kept) -> Iterator[SqlStore]:
    """An empty store whose clock counts one second for each look."""
    opened = SqlStore.open(store_url, Ticks(), signer=signer, anchor=anchors)
    yield opened
    opened.close()
