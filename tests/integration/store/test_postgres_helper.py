"""The server helper itself: behind a socket only, under another user, and ended although its starter was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.integration.store.fixtures import postgres_server

from interlock.testing import postgres

pytestmark = pytest.mark.postgres

START = """
import sys, time
from interlock.testing.postgres import PostgresServer
server = PostgresServer.start()
print(server.folder, flush=True)
time.sleep(60)
"""


def postmaster(folder: Path) -> psutil.Process:
    return psutil.Process(int((folder / "data" / "postmaster.pid").read_text().split()[0]))


def test_it_listens_on_a_socket_alone_and_is_not_run_by_root(request: pytest.FixtureRequest) -> None:
    server = postgres_server(request.config)
    process = postmaster(server.folder)
    assert process.net_connections("inet") == []
    assert process.uids().real == (postgres.NOBODY if os.geteuid() == 0 else os.geteuid())
    assert len(str(server.folder / ".s.PGSQL.5432")) < 100


def test_two_databases_are_two(request: pytest.FixtureRequest) -> None:
    server = postgres_server(request.config)
    assert server.new_database() != server.new_database()


def test_a_server_whose_starter_was_killed_is_ended_by_the_next_start() -> None:
    child = subprocess.Popen([sys.executable, "-c", START], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    folder = Path(child.stdout.readline().strip())
    orphan = postmaster(folder)
    postgres.sweep(postgres.find_programs())
    assert orphan.is_running(), "A server in use is left alone."
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    postgres.sweep(postgres.find_programs())
    deadline = time.monotonic() + 10
    while orphan.is_running() and orphan.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert not folder.exists()


def test_stopping_twice_is_nothing() -> None:
    server = postgres.PostgresServer.start()
    server.stop()
    server.stop()
    assert not server.folder.exists()
