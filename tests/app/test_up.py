"""``up`` and ``down`` as whole commands: what is refused, doing it twice, a kill half-way, two tasks side by side."""

from __future__ import annotations

import http.client
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.integration.services.serving import free_base, server
from tests.integration.watching import seen, wait_until

from interlock.app.down import down
from interlock.app.running_services import ended
from interlock.app.up import up
from interlock.core.problems import Misuse, Refused
from interlock.host import sockets
from interlock.testing.world import World

SLOW = pytest.mark.long


class Side:
    """A world with services; each test says which."""

    def __init__(self, world: World, open_town) -> None:
        self.world = world
        self._open = open_town

    @property
    def town(self):
        return self._open()

    def begin(self, services: str, *slugs: str, more: str = "", extra: str = "") -> None:
        text = f"train: {{checks: ['true'], sign_off: none}}\nports: {{APP_PORT: {free_base()}}}\n"
        self.world.write("interlock.yaml", f"{text}services: {services}\n{more}")
        for slug in slugs or ("one",):
            self.world.card(slug, extra=extra)
        self.world.push()
        self.town.dispatch(*(slugs or ("one",)))

    def refused(self, slug: str = "one"):
        with pytest.raises(Refused) as refused:
            up(self.town.ports, slug, "ana")
        return refused.value.refusal

    def up(self, slug: str = "one", **words) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(json.dumps(up(self.town.ports, slug, "ana", **words).as_json()))
        return answer

    def down(self, slug: str = "one") -> list[str]:
        return list(down(self.town.ports, slug, "ana")[1])

    def tree(self, slug: str = "one") -> Path:
        return Path(self.town.job(slug).workspace)

    def port(self, slug: str = "one") -> int:
        return int(self.town.job(slug).ports["APP_PORT"])

    def notes(self, slug: str = "one") -> list[tuple[str, str]]:
        events = self.town.ports.store.events(self.town.job(slug).id)
        return [(each.actor, str(each.data.get("text"))) for each in events if each.kind == "job.note"]


def states(answer: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["state"] for each in answer["services"]}


def get(port: int) -> str:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        connection.request("GET", "/")
        return connection.getresponse().read().decode()


@pytest.fixture
def side(world: World, town):
    made = Side(world, town)
    yield made
    for job in made.town.ports.store.jobs():
        made.down(job.slug)


def entry(run: str, **keys: object) -> str:
    return json.dumps({"run": run, **keys})


WEB = entry(server(), port="APP_PORT", ready={"http": "/health"})


def test_a_circle_and_a_service_that_is_none_are_refused_before_anything_starts(side: Side) -> None:
    token = f"early-{os.getpid()}"
    early = entry(f"exec -a {token} sleep 300", infrastructure=True)
    side.begin(f"{{a: {entry('true', after=['b'])}, b: {entry('true', after=['a'])}, early: {early}}}")
    assert side.town.job("one") is None
    assert "a → b → a" in side.world.cli("dispatch", "one", code=None).stdout
    for slug in ("one", "two"):
        with pytest.raises(Misuse, match=f"{slug} has no task"):
            side.up(slug)
    assert seen(token) == []


def test_the_one_that_fails_is_told_and_those_before_it_stay_up(side: Side) -> None:
    side.begin(f"{{web: {WEB}, api: {entry('echo no ledger; test -e ledger && exec sleep 300', after=['web'])}}}")
    refusal = side.refused()
    assert refusal.what == "The service api ended before it was ready. It ended with 1.\nno ledger"
    assert get(side.port()) == "hello"
    (side.tree() / "ledger").touch()
    answer = side.up()
    assert states(answer) == {"web": "ready", "api": "ready"}


def test_a_template_that_fails_keeps_services_from_starting(side: Side) -> None:
    side.world.write("app.j2", "port={{ APP_PORT }}\nkey={{ API_KEY }}\n")
    side.begin(f"{{web: {WEB}}}", more="templates: {app.env: app.j2}\n")
    refusal = side.refused()
    assert refusal.rule == "template"
    assert [str(each.where) for each in refusal.problems] == ["app.j2:2"]
    assert not (side.tree() / "app.env").exists()
    (side.tree() / "app.j2").write_text("port={{ APP_PORT }}\n")
    answer = side.up()
    port = answer["services"][0]["port"]
    assert (side.tree() / "app.env").read_text() == f"port={port}\n"


@SLOW
def test_up_gives_urls_and_the_shape_that_is_promised(side: Side) -> None:
    side.begin(f"{{web: {entry(server(), port='APP_PORT', url='/moved')}, quiet: {entry('exec sleep 300')}}}")
    answer = side.up()
    port = side.port()
    assert set(answer) == {"job", "slug", "services", "urls"}
    assert answer["urls"] == {"web": f"http://localhost:{port}/moved"}
    web = next(each for each in answer["services"] if each["name"] == "web")
    assert set(web) == {"name", "state", "url", "port", "log", "why"}
    assert (web["state"], web["port"], web["why"]) == ("ready", port, "")
    assert Path(web["log"]).is_file()
    assert side.world.ask("up", "one") == answer
    assert f"web: ready  http://localhost:{port}/moved" in side.world.cli("up", "one").stdout
    assert side.world.ask("down", "one") == {"job": answer["job"], "slug": "one", "ended": ["quiet", "web"]}
    assert side.world.cli("down", "one").stdout == "one: no service runs.\n"


def test_up_twice_starts_nothing_twice_and_says_so_once(side: Side) -> None:
    token = f"once-{os.getpid()}"
    side.begin(f"{{web: {entry(f'(exec -a {token} sleep 300) & {server()}', port='APP_PORT')}}}")
    first = side.up()
    wait_until(lambda: seen(token))
    pids = seen(token)
    assert len(pids) == 1
    assert side.up() == first
    assert seen(token) == pids
    assert [note for note in side.notes() if "Up:" in note[1]] == [("ana", "Up: services ready: web.")]


@SLOW
def test_two_at_once_start_nothing_twice(side: Side) -> None:
    token = f"race-{os.getpid()}"
    side.begin(f"{{web: {entry(f'(exec -a {token} sleep 300) & {server()}', port='APP_PORT')}}}")
    words = [sys.executable, "-m", "interlock", "up", "one", "--json"]
    children = [
        subprocess.Popen(words, cwd=side.world.repo, env=side.world.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    answers = [json.loads(child.communicate(timeout=100)[0]) for child in children]
    assert [child.returncode for child in children] == [0] * 3, answers
    assert len({json.dumps(answer) for answer in answers}) == 1
    wait_until(lambda: seen(token))
    assert len(seen(token)) == 1


@SLOW
@pytest.mark.parametrize("written", ["unit.json", "spec.json", "started.json", "output.log", "ready.json"])
def test_a_kill_half_way_is_healed_by_the_same_command(side: Side, written: str) -> None:
    token = f"half-{os.getpid()}-{written}"
    slow = f"(exec -a {token} sleep 300) & sleep 0.5; {server()}"
    side.begin(f"{{web: {entry(slow, port='APP_PORT')}, api: {entry('exec sleep 300', after=['web'])}}}")
    seen_at = side.town.ports.records.job(side.town.job("one").id) / "services" / "web" / "1" / written
    child = subprocess.Popen(
        [sys.executable, "-m", "interlock", "up", "one"],
        cwd=side.world.repo,
        env=side.world.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(seen_at.exists)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert states(side.up()) == {"web": "ready", "api": "ready"}
    wait_until(lambda: seen(token))
    assert len(seen(token)) == 1
    side.down()
    assert seen(token) == []


@SLOW
def test_one_that_dies_later_is_told_and_started_again(side: Side) -> None:
    token = f"later-{os.getpid()}"
    side.begin(f"{{quiet: {entry(f'echo last words; exec -a {token} sleep 300')}}}")
    side.up()
    wait_until(lambda: seen(token))
    os.kill(seen(token)[0], signal.SIGKILL)
    wait_until(lambda: [each.name for each in ended(side.town.ports, side.town.job("one"))] == ["quiet"])
    side.up()
    told = next(each for each in side.town.said if "quiet had ended and is started again" in each)
    assert "last words" in told
    wait_until(lambda: len(seen(token)) == 1)


def test_down_ends_everything_and_can_be_said_twice(side: Side) -> None:
    token = f"down-{os.getpid()}"
    slow = f"(trap '' TERM INT; exec -a {token} sleep 300) & {server()}"
    side.begin(f"{{web: {entry(slow, port='APP_PORT')}, api: {entry('exec sleep 300', after=['web'])}}}")
    port = next(each["port"] for each in side.up()["services"] if each["name"] == "web")
    wait_until(lambda: seen(token))
    assert side.down() == ["api", "web"]
    assert seen(token) == []
    assert sockets.is_free(port)
    assert side.tree().is_dir()
    assert side.port() == port, "the block stays the task's"
    assert side.down() == []
    assert [note for note in side.notes() if "ended:" in note[1]] == [("ana", "Services ended: api, web.")]


@SLOW
def test_pt_05_two_tasks_side_by_side_and_one_goes_down(side: Side) -> None:
    says = server().replace("exec ", 'SAYS="$COMPOSE_PROJECT_NAME" exec ')
    side.begin(f"{{web: {entry(says, port='APP_PORT')}}}", "one", "two")
    one, two = (side.up(slug)["services"][0]["port"] for slug in ("one", "two"))
    assert one != two
    assert get(one).startswith("interlock-one-")
    assert get(two).startswith("interlock-two-")
    side.down("one")
    assert get(two).startswith("interlock-two-")
    assert sockets.is_free(one)


@SLOW
def test_a_card_takes_what_it_names_with_what_that_needs(side: Side) -> None:
    services = (
        f"{{web: {entry('exec sleep 300', after=['api'])}, api: {entry('exec sleep 300')}, mail: {entry('exit 1')}}}"
    )
    side.begin(services, extra="needs: {services: [web]}\n")
    assert states(side.up()) == {"web": "ready", "api": "ready"}


@SLOW
def test_migrations_run_once_for_each_state_of_their_files(side: Side) -> None:
    with closing(sqlite3.connect(side.world.repo / "dev.sqlite3")) as made:
        made.execute("create table t(x)")
    side.world.write(".gitignore", "dev.sqlite3\n")
    side.world.write("migrations/1.sql", "one")
    run = 'cat migrations/*.sql; echo ran >> "$PWD/../ran-$INTERLOCK_SLUG"; ! grep -q broken migrations/*.sql'
    database = json.dumps({"use": "sqlite", "baseline": "dev.sqlite3", "migrate": run, "files": ["migrations/**"]})
    side.begin("{}", more=f"databases: {{app: {database}}}\n", extra="needs: {database: app}\n")
    marks = side.tree().parent / "ran-one"
    before = marks.read_text().count("ran") if marks.exists() else 0

    def count() -> int:
        return (marks.read_text().count("ran") if marks.exists() else 0) - before

    side.up()
    side.up()
    assert count() == 1
    (side.tree() / "migrations" / "2.sql").write_text("broken")
    refusal = side.refused()
    assert refusal.rule == "database"
    assert "broken" in refusal.what
    (side.tree() / "migrations" / "2.sql").write_text("mended")
    side.up()
    side.up()
    assert count() == 3


@SLOW
def test_shell_runs_one_command_in_the_task_and_hands_its_code_on(side: Side) -> None:
    side.begin("{}")
    done = side.world.cli("shell", "one", "--", "bash", "-c", 'pwd; echo "$INTERLOCK_SLUG"; exit 7', code=7)
    assert done.stdout.split() == [str(side.tree()), "one"]
    assert side.world.ask("shell", "two", "true", code=2)["code"] == "misuse"


@SLOW
def test_open_tells_the_tree_or_writes_a_copy(side: Side) -> None:
    side.begin("{}")
    (side.tree() / "fresh").write_text("not committed")
    answer = side.world.ask("open", "one")
    assert (Path(answer["path"]), answer["kind"]) == (side.tree(), "tree")
    target = side.world.root / "copy"
    answer = side.world.ask("open", "one", "--to", str(target))
    assert (Path(answer["path"]), answer["kind"]) == (target, "copy")
    assert (target / "fresh").read_text() == "not committed"
    assert side.world.ask("open", "one", "--to", str(target), code=1)["code"] == "name-taken"
