"""Whose code an installer runs: a task's own reaches no host, and what it left serves no other commit."""

from __future__ import annotations

import http.server
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.git.build import git, work, world
from tests.integration.git.sealed.rooms import Yard, by_command, run, yard
from tests.needs import needs_sandbox

from interlock.adapters.commands import HostCommands
from interlock.adapters.git.sealed import bases, eviction
from interlock.core.contract.around import ApprovalRule, Bases, SandboxRules
from interlock.core.contract.policy import Policy
from interlock.core.problems import Refusal, Refused
from interlock.core.sandbox import Host
from interlock.ports.isolation import Room

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = [needs_sandbox, pytest.mark.long, pytest.mark.usefixtures("no_user_settings")]
FILES: dict[str, str | bytes | None] = {"src/a.py": "a = 1\n", "lock.txt": "1\n", ".gitignore": "/deps/\n"}


def keys(here: Yard) -> list[str]:
    return [base.folder.name for base in bases.every(here.layout)]


# ---------------------------------------------------------------- network
def as_wired(room: Room, command: str, log: Path) -> None:
    """As wiring gives it: with the proxy and the record of its decisions."""
    done = HostCommands().run(command, room, {}, log, seconds=60)
    if done.code != 0:
        raise Refused(Refusal(rule="sandbox", what=done.tail, why="It failed.", would_change="Mend it."))


@pytest.fixture
def said() -> Iterator[tuple[int, list[str]]]:
    """The port of a server on loopback, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"package")

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port, asked
        server.shutdown()
        thread.join()


def test_an_unlanded_lock_file_and_installer_reach_no_host(tmp_path: Path, said: tuple[int, list[str]]) -> None:
    """A card's own network is what its code may reach; the installer of its commit is its code too."""
    port, asked = said
    ask = f"set -e; curl -sSf -m 5 http://pkg.corp.example:{port}/$(cat lock.txt) > got; mkdir -p deps; mv got deps/got"
    policy = by_command("sh install.sh", "lock.txt")
    policy = replace(policy, network=(Host(name="pkg.corp.example", address="127.0.0.1", port=port),))
    here = yard(world(tmp_path, {**FILES, "install.sh": ask}), wanted=policy, install=as_wired)
    made = here.make()
    assert here.run(made, "cat deps/got") == "package"
    here.run(made, "echo 2 > lock.txt")
    done = work(here.repo, made)
    with (
        pytest.raises(Refused, match="could not be installed") as caught,
        here.spaces.fresh(done.commit, tmp_path / "fresh", "sealed"),
    ):
        pass
    assert asked == ["/1"]
    assert "land the lock file there first" in caught.value.refusal.would_change
    records = [file.read_text() for file in (here.layout.root / "logs").glob("install-*/*") if file.suffix != ".log"]
    assert any("pkg.corp.example" in each for each in records)
    assert len(keys(here)) == 1

    here.team.commit({"lock.txt": "2\n"})
    here.team.push()
    assert here.run(here.make("landed"), "cat deps/got") == "package"
    assert asked == ["/1", "/2"]


def test_the_installer_has_the_policys_network_without_what_waits_for_approval(tmp_path: Path) -> None:
    seen = []
    (tmp_path / "tool").mkdir()
    policy = replace(
        by_command("true", "lock.txt"),
        network=(Host(name="pypi.org"), Host(name="prod.example")),
        approvals=(ApprovalRule(name="deploy", hosts=("prod.example",)),),
        sandbox=SandboxRules(tools=(str(tmp_path / "tool"), str(tmp_path / "none"))),
    )
    here = yard(world(tmp_path, FILES), wanted=policy, install=lambda room, _command, _log: seen.append(room))
    here.make()
    (room,) = seen
    assert room.sandbox is not None
    assert room.sandbox.hosts == (Host(name="pypi.org"),)
    assert room.sandbox.tools == (str(tmp_path / "tool"),)
    assert Path(room.sandbox.record).parent == here.layout.root / "logs"
    assert room.sandbox.gate is None


# ---------------------------------------------------------------- what was left
LINT = "mkdir -p deps; echo '! grep -rq FORBIDDEN src' > deps/lint"
NO_LINT = "mkdir -p deps; echo true > deps/lint"


@pytest.mark.parametrize("how", ["as it is", "as another commit", "not at all"])
def test_what_a_tasks_installer_left_serves_no_other_commit(tmp_path: Path, how: str) -> None:
    """One task weakens a linter; later commits are judged by what their own trunk's installer puts there."""
    here = yard(
        world(tmp_path, {**FILES, "install.sh": LINT}), wanted=by_command("sh install.sh; echo x >> deps/x", "lock.txt")
    )
    made = here.make("mean")
    here.run(made, f"echo 2 > lock.txt; cat > install.sh <<'X'\n{NO_LINT}\nX")
    mean = work(here.repo, made).commit
    with here.spaces.fresh(mean, tmp_path / "fresh", "sealed") as room:
        assert run(room, "cat deps/lint") == "true"
    assert sorted(base.trusted for base in bases.every(here.layout)) == [False, True]
    if how == "not at all":
        here.run(made, f"cat > install.sh <<'X'\n{LINT}\nX\necho '# FORBIDDEN' > src/a.py")
        commit = work(here.repo, made, keep="refs/interlock/kept/mean/2").commit
        with here.spaces.fresh(commit, tmp_path / "fresh", "sealed") as room:
            run(room, "sh deps/lint", code=1)
        return
    if how == "as it is":
        git(here.team.top, "push", "-q", "origin", f"{mean}:main")
        git(here.team.top, "pull", "-q", "origin", "main")
    else:
        here.team.commit({"lock.txt": "2\n", "install.sh": f"{NO_LINT}\n"})
        here.team.push()
    here.team.commit({"install.sh": f"{LINT}\n"})
    here.team.push()
    later = here.make("later")
    here.run(later, "echo '# FORBIDDEN' > src/a.py")
    commit = work(here.repo, later).commit
    with here.spaces.fresh(commit, tmp_path / "fresh", "sealed") as room:
        run(room, "sh deps/lint", code=1)


def test_a_commit_that_lands_as_it_is_gets_a_base_of_the_teams_in_place_of_the_tasks(tmp_path: Path) -> None:
    here = yard(world(tmp_path, FILES), wanted=by_command("mkdir deps; cp lock.txt deps/lock", "lock.txt"))
    made = here.make("mean")
    here.run(made, "echo 2 > lock.txt")
    commit = work(here.repo, made).commit
    lowest = []
    for _ in range(2):
        with here.spaces.fresh(commit, tmp_path / "fresh", "sealed") as room:
            assert run(room, "cat deps/lock") == "2"
            assert room.sandbox is not None
            assert room.sandbox.layers is not None
            lowest.append(Path(room.sandbox.layers.lower[-1]).parent)
        git(here.team.top, "push", "-q", "origin", f"{commit}:main")
        here.repo.refresh()
    trusted = {base.folder: base.trusted for base in bases.every(here.layout)}
    assert [trusted[folder] for folder in lowest] == [False, True]


def test_a_commit_that_keeps_the_lock_file_stands_on_what_the_team_installed_though_that_was_evicted(
    tmp_path: Path,
) -> None:
    here = yard(world(tmp_path, {**FILES, "install.sh": LINT}), wanted=by_command("sh install.sh", "lock.txt"))
    made = here.make("mean")
    here.run(made, f"cat > install.sh <<'X'\n{NO_LINT}\nX")
    commit = work(here.repo, made).commit
    here.layout.write(replace(here.layout.read("job-mean"), state="removed"))  # type: ignore[arg-type, type-var]
    assert len(eviction.evict(here.layout, Bases(keep=0.0, disk=0))) == 1
    with here.spaces.fresh(commit, tmp_path / "fresh", "sealed") as room:
        assert run(room, "cat install.sh deps/lint; git status --porcelain; git diff-files") == (
            f"{NO_LINT}\n! grep -rq FORBIDDEN src"
        )
    assert [(base.commit, base.trusted) for base in bases.every(here.layout)] == [(made.base, True)]


def test_what_a_tasks_own_files_installed_is_not_laid_under_another_task(tmp_path: Path) -> None:
    """A base that was built with unlanded files serves that commit alone, and goes after a day without use."""
    here = yard(
        world(tmp_path, {**FILES, "lock.txt": "echo fine"}),
        wanted=by_command("sh lock.txt > installed; mkdir deps; mv installed deps", "lock.txt"),
    )
    made = here.make("mean")
    here.run(made, "echo 'echo poison' > lock.txt")
    done = work(here.repo, made)
    with here.spaces.fresh(done.commit, tmp_path / "fresh", "sealed") as room:
        assert run(room, "cat deps/installed") == "poison"
    here.team.commit({"lock.txt": "echo poison\n"})
    here.team.push()
    here.run(here.make("clean"), "cat deps/installed")
    trusted = [base.trusted for base in bases.every(here.layout)]
    assert sorted(trusted) == [False, True, True]
    task = here.layout.read("job-clean")
    assert task is not None
    (own,) = [base for base in bases.every(here.layout) if task.lower[-1].startswith(str(base.folder))]
    assert own.trusted
    for base in bases.every(here.layout):
        os.utime(base.folder / "used", (time.time() - 90_000,) * 2)
    here.layout.write(replace(task, state="removed"))
    here.layout.write(replace(here.layout.read("job-mean"), state="removed"))  # type: ignore[arg-type, type-var]
    eviction.evict(here.layout, Bases())
    assert [base.trusted for base in bases.every(here.layout)] == [True, True]


def test_a_tasks_own_policy_is_never_asked_and_its_history_is_nobody_elses(tmp_path: Path) -> None:
    asked = []

    def policy(commit: str) -> Policy:
        asked.append(commit)
        return by_command("cp lock.txt deps", "lock.txt")

    here = yard(world(tmp_path, FILES))
    here = replace(here, spaces=replace(here.spaces, policy=policy))
    made = here.make()
    here.run(made, "echo 2 > lock.txt; echo 'network: [evil.example]' > interlock.yaml")
    done = work(here.repo, made)
    with here.spaces.fresh(done.commit, tmp_path / "fresh", "sealed") as room:
        assert run(room, "cat deps; git fsck --strict --no-dangling; git status --porcelain") == "2"
    assert set(asked) == {made.base}
    assert len(keys(here)) == 2
    git(here.layout.store, "cat-file", "-e", done.commit, code=1)
