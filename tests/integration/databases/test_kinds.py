"""The table of kinds: what is missing is told with what installs it, and nothing is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.databases.fixtures import Team, server, team

from interlock.adapters.databases.kinds import Later, exposed, kinds
from interlock.adapters.databases.sqlite import SqliteDatabases
from interlock.core.contract.around import Database
from interlock.core.problems import Refused
from interlock.ports.isolation import Baseline

__all__ = ["server", "team"]


def test_a_missing_package_is_refused_with_what_installs_it(tmp_path: Path) -> None:
    kind = Later(SqliteDatabases, extra="postgres", packages=("a_package_that_is_not_there",))
    database = Database(name="app", use="postgres")
    baseline = Baseline(database=database, digest="", prepare=lambda branch: None, folder=tmp_path)
    for call in (kind.branch, kind.release):
        with pytest.raises(Refused, match="a-package-that-is-not-there is not installed") as caught:
            call(baseline, "task", tmp_path)
        assert "interlock[postgres]" in caught.value.refusal.would_change
    with pytest.raises(Refused):
        kind.owned(baseline)


def test_the_table_loads_no_driver() -> None:
    code = "import sys; from interlock.adapters.databases.kinds import kinds; kinds(60999); print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert set(kinds()) == {"sqlite", "postgres", "postgres-server"}


@pytest.mark.postgres
def test_what_a_task_may_enter_beside_its_own_is_asked_of_the_server_alone(team: Team) -> None:
    assert "postgres" in exposed(team.databases, team.baseline().database)
    assert exposed(kinds()["sqlite"], Database(name="app", use="sqlite")) == ()
