"""The whole life of tasks at level sealed, through the command line, with agents that look for a way out on the way."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.needs import needs_sandbox

from interlock.testing.world import World

pytestmark = [needs_sandbox, pytest.mark.timeout(240)]

PROWLER = """\
mkdir -p prowler
id -u > prowler/uid
pwd > prowler/cwd
env > prowler/env
cat '{secret}' > prowler/secret 2> prowler/secret-error
echo pwned > '{repo}/escaped' 2> prowler/escape-error
ls '{home}' > prowler/home 2>&1
git add -A && git -c user.name=a -c user.email=a@b commit -qm work
git push -q origin HEAD:main > prowler/push-main 2>&1 || true
git push -q origin HEAD:agent/prowler > prowler/push-own 2>&1; echo $? > prowler/push-own-code
echo done > prowler/done
"""

POLICY = """\
train: {checks: ['true'], sign_off: none}
"""


def at(world: World, path: str) -> str:
    """A file of the remote's default branch."""
    return world.git("show", f"HEAD:{path}", at=world.remote)


def write_agent(world: World, slug: str, script: str, **more) -> None:
    """A card whose agent is a script of the repository."""
    world.write(f"agents/{slug}.sh", script)
    world.card(slug, command=f"bash agents/{slug}.sh", **more)


@pytest.fixture
def world(tmp_path):
    return World.make(tmp_path / "w", policy=POLICY, level="sealed")


def test_a_sealed_agent_finds_no_way_out_and_its_work_lands(world, monkeypatch):
    secret = world.root / "home" / "secret"
    secret.write_text("s3cret")
    monkeypatch.setenv("HOST_SECRET", "s3cret")
    write_agent(world, "prowler", PROWLER.format(secret=secret, repo=world.repo, home=world.root / "home"))
    main = world.push()
    admitted = world.ask("dispatch", "prowler")
    assert admitted["level"] == "sealed"
    world.cli("run")
    assert at(world, "prowler/done") == "done"
    assert at(world, "prowler/uid") != "0"
    assert at(world, "prowler/cwd") == "/ws"
    assert at(world, "prowler/secret") == ""
    assert "s3cret" not in at(world, "prowler/env")
    assert not (world.repo / "escaped").exists()
    assert "not your branch" in at(world, "prowler/push-main") or "main" in at(world, "prowler/push-main")
    assert at(world, "prowler/push-own-code") == "0", at(world, "prowler/push-own")
    assert world.git("rev-list", "--first-parent", "--count", f"{main}..HEAD", at=world.remote) == "1"
    shown = world.ask("show", "prowler")
    assert {(each["level"], each["same_user"]) for each in shown["evidence"]} == {("sealed", False)}


@pytest.mark.long
def test_an_agent_that_writes_into_a_neighbours_tree_does_not_reach_it(world):
    world.card("quiet", command="true")
    world.push()
    neighbour = Path(world.ask("dispatch", "quiet")["workspace"])
    write_agent(world, "loud", f"mkdir -p loud; echo x > loud/a; echo x > '{neighbour}/planted' || true")
    world.push("a second card")
    world.ask("dispatch", "loud")
    world.cli("run", code=None)
    assert "loud/a" in world.main_files()
    assert not (neighbour / "planted").exists()


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *args):
        pass


@pytest.fixture
def page():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


GET = """\
mkdir -p {slug}
python3 - > {slug}/got 2>&1 <<'P'
import urllib.request
for url in ({urls}):
    try:
        print(url, urllib.request.urlopen(url, timeout=10).read())
    except Exception as fault:
        print(url, 'refused', type(fault).__name__, getattr(fault, 'code', ''))
import socket
try:
    socket.create_connection(('127.0.0.1', {port}), 2); print('direct open')
except OSError:
    print('direct closed')
try:
    socket.getaddrinfo('pypi.org', 443); print('name open')
except OSError:
    print('name closed')
P
"""


@pytest.mark.long
def test_network_is_closed_but_for_the_hosts_of_the_card(world, page):
    world.write(
        "interlock.yaml",
        f"{POLICY}network: [{{host: allowed.example, address: 127.0.0.1, port: {page}}}, other.example]\n",
    )
    urls = f"'http://allowed.example:{page}/', 'http://other.example/'"
    write_agent(
        world, "open", GET.format(slug="open", urls=urls, port=page), extra="needs: {network: [allowed.example]}\n"
    )
    write_agent(world, "closed", GET.format(slug="closed", urls=urls, port=page), extra="needs: {network: []}\n")
    world.push()
    world.ask("dispatch", "open", "closed")
    world.cli("run")
    got = at(world, "open/got").splitlines()
    assert got[0].endswith("b'hello'")
    assert "refused HTTPError 403" in got[1]
    assert got[2:] == ["direct closed", "name closed"]
    closed = at(world, "closed/got").splitlines()
    assert all("refused" in line for line in closed[:2])
    assert closed[2:] == ["direct closed", "name closed"]


def test_a_host_that_the_policy_does_not_list_keeps_the_card_from_being_ready(world):
    world.write("interlock.yaml", f"{POLICY}network: [pypi.org]\n")
    world.card("one", extra="needs: {network: [evil.example]}\n")
    world.push()
    answer = world.ask("dispatch", "one", code=1)
    assert "evil.example" in json.dumps(answer["refusal"])


@pytest.mark.long
def test_a_big_tree_is_an_overlay_with_its_dependencies_and_lands_the_same(world):
    for number in range(1200):
        world.write(f"src/{number % 40}/{number}.txt", f"{number}\n")
    world.write("deps.lock", "v1\n")
    world.write(".gitignore", "deps/\n")
    world.write(
        "interlock.yaml",
        f"{POLICY}dependencies: [{{use: command, lock: [deps.lock], install: 'mkdir -p deps && cp deps.lock deps/installed'}}]\n",
    )
    script = "mkdir -p big && cp deps/installed big/seen && rm src/0/0.txt && echo more >> src/1/1.txt\n"
    write_agent(
        world, "big", script, owns='["big/**", "src/**"]', checks=("test -f deps/installed && ! test -e src/0/0.txt",)
    )
    world.push()
    admitted = world.ask("dispatch", "big")
    assert (Path(admitted["workspace"]) / "SEALED.md").is_file()
    world.cli("run")
    assert at(world, "big/seen") == "v1"
    assert "src/0/0.txt" not in world.main_files()
    assert at(world, "src/1/1.txt") == "1\nmore"
    assert not any(path.startswith("deps/") for path in world.main_files())


@pytest.mark.long
def test_root_runs_no_agent_where_there_is_no_sandbox(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root is refused")
    world = World.make(tmp_path / "w", policy=POLICY, level="worktree")
    world.card("one", command="touch one-ran")
    world.push()
    env = {name: value for name, value in world.env.items() if name != "INTERLOCK_ROOT_AGENTS"}
    for words in (("dispatch", "one"), ("run",)):
        subprocess.run(
            [sys.executable, "-m", "interlock", *words], cwd=world.repo, env=env, check=False, capture_output=True
        )
    waiting = world.ask("status")["needs_a_person"]
    assert [each["rule"] for each in waiting] == ["root"]
    assert "INTERLOCK_ROOT_AGENTS" in waiting[0]["ask"]


def test_a_level_that_is_demanded_is_refused_where_it_cannot_be_had(tmp_path):
    world = World.make(tmp_path / "w", policy=POLICY, level="worktree")
    world.card("one", extra="isolation: sealed\n")
    world.push()
    answer = world.ask("dispatch", "one", code=None)
    # The machine can do it, so a demand is met although the default is kept lower.
    assert answer["admitted"]
    assert answer["level"] == "sealed"


@pytest.mark.long
def test_ai_01_work_that_went_into_the_main_checkout_is_not_there_and_not_finished(world):
    write_agent(world, "one", f"mkdir -p '{world.repo}/one' && echo x > '{world.repo}/one/x' || true; echo success\n")
    world.push()
    world.ask("dispatch", "one")
    world.cli("run", code=None)
    assert not (world.repo / "one").exists()
    assert [each["rule"] for each in world.ask("status")["needs_a_person"]] == ["empty-diff"]


@pytest.mark.long
def test_ai_06_new_files_that_nobody_committed_are_the_work_and_are_not_lost(world):
    write_agent(world, "one", "mkdir -p one; echo new > one/file\n")
    world.push()
    world.ask("dispatch", "one")
    world.cli("run")
    assert at(world, "one/file") == "new"


@pytest.mark.long
def test_open_writes_the_present_tree_for_an_editor(world, tmp_path):
    write_agent(world, "one", "mkdir -p one; echo here > one/a; exit 1")
    world.push()
    world.ask("dispatch", "one")
    world.cli("run", code=None)
    answer = world.ask("open", "one", "--to", str(tmp_path / "look"))
    assert (tmp_path / "look" / "one" / "a").read_text() == "here\n", answer


@pytest.mark.long
def test_clean_and_restore_bring_back_what_was_not_committed(world):
    write_agent(world, "one", "mkdir -p one; echo kept > one/a; interlock-task stop 'which one?'")
    world.push()
    tree = Path(world.ask("dispatch", "one")["workspace"])
    world.cli("run", code=None)
    world.cli("decide", "one", "--abandon", "--reason", "enough")
    world.cli("clean", "one", "--approve")
    assert not tree.exists()
    world.cli("restore", "one")
    assert "kept" in world.cli("shell", "one", "--", "cat", "one/a").stdout
