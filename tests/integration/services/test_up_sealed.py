"""``up`` for sealed tasks: templates, migrations and services behind their walls, reached by their own rooms alone."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.app.conftest import Town
from tests.app.test_up import get, states
from tests.integration.services.serving import free_base, server
from tests.integration.watching import seen, wait_until

from interlock.app.base import last_view
from interlock.app.cardjson import from_json
from interlock.app.down import down
from interlock.app.rooms import room_of
from interlock.app.running_services import ended
from interlock.app.up import up
from interlock.core.contract.defaults import with_defaults
from interlock.core.problems import Refused
from interlock.host import sockets
from interlock.host.sandbox import bwrap
from interlock.testing.world import World

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are Linux alone")]
SERVER = server(python="/usr/bin/python3").replace("exec ", 'SAYS="$INTERLOCK_SLUG" exec ')
BASE = free_base()
ASK = f"/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:{BASE}/\", timeout=5).read().decode())'"


class Sealed:
    """A world of sealed tasks, and commands in their rooms."""

    def __init__(self, world: World) -> None:
        self.world = world

    def begin(self, *slugs: str, services: Mapping[str, object] | None = None, more: str = "", extra: str = "") -> None:
        entries = (
            {"web": {"run": SERVER, "port": "APP_PORT", "ready": {"http": "/health"}}} if services is None else services
        )
        text = f"train: {{checks: ['true'], sign_off: none}}\nports: {{APP_PORT: {BASE}}}\n"
        text += f"services: {json.dumps(entries)}\n{more}"
        self.world.write("interlock.yaml", text)
        for slug in slugs:
            self.world.card(slug, extra=f"isolation: sealed\n{extra}")
        self.world.push()
        self.town = Town(self.world)
        self.town.dispatch(*slugs)

    def up(self, slug: str, **words) -> dict[str, Any]:
        return up(self.town.ports, slug, "ana", **words).as_json()

    def down(self, slug: str) -> tuple[str, ...]:
        return down(self.town.ports, slug, "ana")[1]

    def run(self, slug: str, command: str) -> str:
        """What a command says in another room of the task, with all that such a room has."""
        ports, job = self.town.ports, self.town.job(slug)
        view = last_view(ports)
        record = ports.records.job(job.id) / "tried"
        record.mkdir(exist_ok=True)
        done = room_of(ports, job, with_defaults(from_json(job.card), view.policy), view, record=record)
        assert done.room.sandbox is not None, "this task is not sealed"
        ran = ports.commands.run(command, done.room, done.env, record / "log", seconds=30)
        return ran.tail if ran.code == 0 else f"ended with {ran.code}: {ran.tail}"


@pytest.fixture
def sealed(tmp_path, monkeypatch):
    lacks = [] if bwrap.find(overlay=False) else ["no bubblewrap"]
    lacks += [] if shutil.which("python3", path="/usr/bin") else ["no /usr/bin/python3"]
    if lacks and os.environ.get("CI") == "true":
        pytest.fail(f"{', '.join(lacks)} on this machine, and CI must run this")
    if lacks:
        pytest.skip(f"{', '.join(lacks)} on this machine")
    world = World.make(tmp_path / "w", level="sealed")
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    made = Sealed(world)
    yield made
    for job in made.town.ports.store.jobs():
        made.down(job.slug)


def test_two_tasks_have_the_same_ports_inside_and_none_sees_the_others(sealed: Sealed) -> None:
    sealed.begin("one", "two")
    first = sealed.up("one")
    assert "ended with" in sealed.run("two", ASK), "nothing of the first is in reach of the second"
    second = sealed.up("two")
    ports = [answer["services"][0]["port"] for answer in (first, second)]
    assert len(set(ports)) == 2
    assert [get(port) for port in ports] == ["one", "two"]
    assert (sealed.run("one", ASK), sealed.run("two", ASK)) == ("one", "two")
    assert "refused" in sealed.run("two", f"(exec 3<>/dev/tcp/127.0.0.1/{ports[0]}) 2>&1 || echo refused")
    assert sealed.down("one") == ("web",)
    assert get(ports[1]) == "two"
    assert sockets.is_free(ports[0])
    assert "ended with" in sealed.run("one", ASK)
    assert sealed.run("two", ASK) == "two"


def test_without_being_exposed_only_its_own_task_reaches_it(sealed: Sealed) -> None:
    sealed.begin("one")
    answer = sealed.up("one", expose=False)
    assert answer["urls"] == {}
    assert answer["services"][0]["port"] is None
    assert sockets.is_free(sealed.town.job("one").ports["APP_PORT"])
    assert sealed.run("one", ASK) == "one"


def test_a_later_service_reaches_an_earlier_one_and_a_dead_one_is_told(sealed: Sealed) -> None:
    token = f"caller-{os.getpid()}"
    services = {
        "web": {"run": f'test "$({ASK})" = one && exec -a {token} sleep 300', "after": ["api"]},
        "api": {"run": SERVER, "port": "APP_PORT"},
    }
    sealed.begin("one", services=services)
    assert states(sealed.up("one")) == {"web": "ready", "api": "ready"}
    wait_until(lambda: seen(token))
    os.kill(seen(token)[0], 9)
    wait_until(lambda: [each.name for each in ended(sealed.town.ports, sealed.town.job("one"))] == ["web"])
    assert states(sealed.up("one")) == {"web": "ready", "api": "ready"}
    wait_until(lambda: len(seen(token)) == 1)
    sealed.down("one")
    assert seen(token) == []


def test_templates_are_rendered_inside_and_see_no_secret(sealed: Sealed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "hunter2-hunter2")
    sealed.world.write("conf/app.j2", "port={{ APP_PORT }} of {{ INTERLOCK_SLUG }}\n")
    sealed.world.write("conf/bad.j2", "\n{{ TOKEN }}\n")
    more = "templates: {conf/app.env: conf/app.j2}\nsecrets: {TOKEN: {variable: SHOP_TOKEN}}\n"
    services = {"web": {"run": "echo token is $TOKEN; exec sleep 300"}}
    sealed.begin("one", services=services, more=more, extra="needs: {secrets: [TOKEN]}\n")
    answer = sealed.up("one")
    assert sealed.run("one", "cat conf/app.env") == f"port={BASE} of one"
    log = Path(answer["services"][0]["log"]).read_text()
    assert "token is" in log
    assert "hunter2" not in log
    sealed.run("one", "cp conf/bad.j2 conf/app.j2")
    with pytest.raises(Refused) as refused:
        sealed.up("one")
    assert [str(each.where) for each in refused.value.refusal.problems] == ["conf/app.j2:2"]
    assert "TOKEN" in refused.value.refusal.what
    assert sealed.run("one", "rm conf/app.j2 conf/app.env; ln -s /etc/passwd conf/app.j2") == ""
    with pytest.raises(Refused, match="not a plain file"):
        sealed.up("one")


def test_migrations_run_inside_on_the_tasks_own_database(sealed: Sealed) -> None:
    with closing(sqlite3.connect(sealed.world.repo / "dev.sqlite3")) as made:
        made.execute("create table ran(x)")
        made.commit()
    sealed.world.write(".gitignore", "dev.sqlite3\n")
    sealed.world.write("migrations/1.sql", "insert into ran values (1);")
    code = 'import os,sqlite3,glob; d=sqlite3.connect(os.environ["DATABASE_URL"][10:]); '
    run = f"/usr/bin/python3 -c '{code}[d.executescript(open(f).read()) for f in sorted(glob.glob(\"migrations/*.sql\"))]'"
    count = f"/usr/bin/python3 -c '{code}print(d.execute(\"select count(*) from ran\").fetchone()[0])'"
    database = json.dumps({"use": "sqlite", "baseline": "dev.sqlite3", "migrate": run, "files": ["migrations/**"]})
    sealed.begin("one", services={}, more=f"databases: {{app: {database}}}\n", extra="needs: {database: app}\n")
    before = int(sealed.run("one", count))
    sealed.up("one")
    sealed.up("one")
    assert int(sealed.run("one", count)) == before + 1
    sealed.run("one", "echo 'insert into ran values (2);' > migrations/2.sql")
    sealed.up("one")
    sealed.up("one")
    assert int(sealed.run("one", count)) == before + 3
    with closing(sqlite3.connect(sealed.world.repo / "dev.sqlite3")) as made:
        assert made.execute("select count(*) from ran").fetchone() == (0,)
