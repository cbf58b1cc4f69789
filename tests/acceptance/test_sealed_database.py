"""Two sealed tasks whose migrations conflict, side by side on a real PostgreSQL, through the command line."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass

import pytest
from tests.integration.databases.fixtures import server
from tests.needs import needs_sandbox

from interlock.testing.world import World

pytestmark = [needs_sandbox, pytest.mark.long, pytest.mark.timeout(300)]
__all__ = ["server"]

SQL = """\
import os, sys, psycopg
with psycopg.connect(os.environ['DATABASE_URL'], autocommit=True) as connection:
    for statement in sys.argv[1:]:
        rows = connection.execute(statement)
        if rows.description:
            print(rows.fetchall())
"""
POLICY = """\
train: {{checks: ['true'], sign_off: none}}
databases:
  app: {{use: {use}, {server} migrate: "{python} sql.py \\"CREATE TABLE t (id int, word text)\\" \\"INSERT INTO t VALUES (1, 'seed')\\"",
        files: [sql.py], probe: 'echo $DATABASE_NAME', on_clean: archive}}
"""


@dataclass(frozen=True)
class Team(World):
    """A world whose harness knows the administrator of the team's server."""

    admin: str = ""

    @property
    def env(self) -> dict[str, str]:
        return {**World.env.__get__(self), "TEAM_SERVER": self.admin}


def begin(tmp_path, use: str, admin: str = "") -> World:
    made = World.make(tmp_path / "w", level="sealed")
    world = Team(made.root, level="sealed", admin=admin)
    world.write("sql.py", SQL)
    named = "server: TEAM_SERVER," if admin else ""
    world.write("interlock.yaml", POLICY.format(use=use, server=named, python=sys.executable))
    run = f"{sys.executable} sql.py"
    for slug, change in (("one", "ALTER TABLE t ADD COLUMN age int"), ("two", "ALTER TABLE t DROP COLUMN word")):
        script = (
            f"mkdir -p {slug}\n"
            f'{run} "{change}" "INSERT INTO t (id) VALUES ({len(slug)})" > {slug}/out 2>&1\n'
            f"{run} \"SELECT column_name FROM information_schema.columns WHERE table_name = 't' ORDER BY 1\" > {slug}/columns 2>&1\n"
            f"env | grep -c TEAM_SERVER > {slug}/leak || true\n"
        )
        world.write(f"agents/{slug}.sh", script)
        world.card(slug, command=f"bash agents/{slug}.sh", extra="needs: {database: app}\n")
    world.push()
    return world


def at(world: World, path: str) -> str:
    return world.git("show", f"HEAD:{path}", at=world.remote)


def test_conflicting_migrations_do_not_see_each_other(tmp_path, server):
    world = begin(tmp_path, "postgres", server.url("postgres"))
    answers = world.ask("dispatch", "one", "two")["results"]
    assert [each["level"] for each in answers] == ["sealed", "sealed"], json.dumps(answers)
    world.cli("run")
    assert at(world, "one/columns") == "[('age',), ('id',), ('word',)]"
    assert at(world, "two/columns") == "[('id',)]"
    assert at(world, "one/leak") == at(world, "two/leak") == "0"
    history = json.dumps([world.ask("show", slug) for slug in ("one", "two")])
    assert server.password not in history
    for slug in ("one", "two"):
        world.cli("clean", slug, "--approve")
    record = world.repo / ".git" / "interlock" / "jobs"
    assert len(list(record.glob("*/data/*.gz"))) == 2


def test_sqlite_of_one_task_is_not_anothers(tmp_path):
    world = World.make(tmp_path / "w", level="sealed")
    world.write(
        "make.py", "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('create table t (w)'); c.commit()\n"
    )
    world.write(
        "interlock.yaml",
        "train: {checks: ['true'], sign_off: none}\ndatabases: {app: {use: sqlite, baseline: dev.sqlite3}}\n",
    )
    os.system(f"cd {world.repo} && {sys.executable} make.py dev.sqlite3 && echo '*.sqlite3' > .gitignore")
    for slug in ("one", "two"):
        script = (
            "import sqlite3, os, pathlib\n"
            "c = sqlite3.connect(os.environ['DATABASE_URL'].removeprefix('sqlite:///'))\n"
            f"c.execute('insert into t values (?)', ('{slug}',)); c.commit()\n"
            f"pathlib.Path('{slug}').mkdir()\n"
            f"pathlib.Path('{slug}/rows').write_text(str(c.execute('select w from t').fetchall()))\n"
        )
        world.write(f"agents/{slug}.py", script)
        world.card(slug, command=f"python3 agents/{slug}.py", extra="needs: {database: app}\n")
    world.push()
    world.ask("dispatch", "one", "two")
    world.cli("run")
    assert (at(world, "one/rows"), at(world, "two/rows")) == ("[('one',)]", "[('two',)]")
