"""Credentials of a subscription: who gets them, who renews them, and that nothing of them stays when the run is over."""

from __future__ import annotations

import os
import shlex
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.agents.codexes import needs_codex
from tests.integration.host.boxes import a_box

from interlock.adapters.agents.catalogue import adapter_of
from interlock.adapters.agents.command import CommandAgent
from interlock.adapters.agents.known import KnownAgents
from interlock.core.contract.agents import AGENTS, DIALECTS, KEEPS_DOLLARS, KEEPS_TURNS, LOGGED_IN, Login
from interlock.core.contract.card import AgentChoice, Card, Check
from interlock.core.problems import Refused
from interlock.host import locks, logins
from interlock.host.attempts import HostRuns
from interlock.host.sandbox import toolchains
from interlock.ports.agents import Assignment
from interlock.ports.isolation import Room
from interlock.ports.processes import Launch

CARD = Card(
    slug="a",
    class_name="tests",
    owned_paths=("**",),
    checks=(Check(run="true"),),
    stop_when=("x",),
    integration_owner="@ana",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    (tmp_path / "auth.json").write_text("secret")
    (tmp_path / "spool").mkdir()
    return tmp_path


def launch(place: Path, use: str, *, folder: str = "1", **login: object) -> Launch:
    given = Assignment(
        card=CARD,
        choice=AgentChoice(use=use, command="true" if use in ("command", "acp") else None),
        prompt="Do it.",
        room=Room(path=place / "tree", written=place / "tree"),
        env={"INTERLOCK_JOB": "j1", "INTERLOCK_ATTEMPT_NUMBER": "1", "INTERLOCK_SPOOL": str(place / "spool")},
        folder=place / folder,
        login=Login(agent=use, file=str(place / "auth.json"), **login),  # type: ignore[arg-type]
    )
    return KnownAgents(place / "locks").launch(given)


def where(place: Path, text: str = "secret") -> list[str]:
    """The files of an attempt that hold the text."""
    found = [path for path in (place / "1").rglob("*") if path.is_file() and not path.is_symlink()]
    return sorted(str(path.relative_to(place / "1")) for path in found if text in path.read_text(errors="replace"))


@needs_codex
def test_nothing_of_them_is_left_when_the_run_is_over(place: Path) -> None:
    agents = KnownAgents(place / "locks")
    launch(place, "codex")
    assert where(place) == ["home/.codex/auth.json", "login/auth.json"]
    assert (place / "1" / "home" / ".codex" / "auth.json").stat().st_mode & 0o777 == 0o400
    assert agents.forget(place / "1") == ()
    assert where(place) == []
    assert agents.forget(place / "1") == ()
    assert agents.forget(place / "none") == ()


@needs_codex
def test_a_link_that_the_agent_put_there_takes_nothing_of_the_users_away(place: Path) -> None:
    own = place / "own"
    own.mkdir()
    (own / "auth.json").write_text("the user's")
    launch(place, "codex")
    codex = place / "1" / "home" / ".codex"
    codex.rename(codex.with_name("moved"))
    codex.symlink_to(own)
    assert KnownAgents(place / "locks").forget(place / "1") == (str(codex / "auth.json"),)
    assert (own / "auth.json").read_text() == "the user's"
    assert not (place / "1" / "login").exists()


@pytest.mark.parametrize("use", ["command", "acp"])
def test_an_agent_without_one_is_refused_and_does_not_ignore_it(place: Path, use: str) -> None:
    with pytest.raises(Refused) as caught:
        launch(place, use)
    assert (caught.value.refusal.rule, where(place)) == ("login", [])


def test_the_policys_reader_and_the_adapters_mean_the_same_agents() -> None:
    assert {name for name in AGENTS if (known := adapter_of(name)) and known.login} == LOGGED_IN
    adapters = {name: known for name in AGENTS if (known := adapter_of(name))}
    assert {name: known.dialects for name, known in adapters.items()} == DIALECTS
    can = {name: known.probe("1.0.0") for name, known in adapters.items()}
    assert {name for name, each in can.items() if each.own_budget} == KEEPS_DOLLARS
    assert {name for name, each in can.items() if each.turn_limit} == KEEPS_TURNS


def test_one_process_of_the_user_renews_them_whatever_they_are_called(place: Path) -> None:
    """Two repositories, of which one names the file by a link: parallel renewal logs everybody out."""
    (place / "link.json").symlink_to(place / "auth.json")
    mark = shlex.quote(str(place / "in"))
    once = f"mkdir {mark} && sleep 0.2 && rmdir {mark} && echo x >> {shlex.quote(str(place / 'ran'))}"
    os.utime(place / "auth.json", (1, 1))
    faults: list[Exception] = []

    def renew(name: str) -> None:
        try:
            logins.ready(Login(agent="codex", file=str(place / name), refresh=once, every=60), place / "locks")
        except Refused as fault:
            faults.append(fault)

    both = [threading.Thread(target=renew, args=(name,)) for name in ("auth.json", "link.json")]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert faults == []
    assert (place / "ran").read_text() == "x\n"
    assert time.time() - (place / "auth.json").stat().st_mtime < 60


def test_the_locks_are_the_users_and_no_repositorys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert logins.locks_folder() == tmp_path / "interlock" / "locks"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/somewhere")
    assert logins.locks_folder() == Path("/somewhere/.local/state/interlock/locks")


def test_who_renews_them_for_too_long_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "_SECONDS", 0.05)
    login = Login(agent="codex", file=str(place / "auth.json"), refresh="true", every=0)
    os.utime(place / "auth.json", (1, 1))
    logins.ready(login, place / "locks")
    (lock,) = (place / "locks").iterdir()
    os.utime(place / "auth.json", (1, 1))
    with locks.held(lock), pytest.raises(Refused) as caught:
        logins.ready(login, place / "locks")
    assert caught.value.refusal.rule == "login"
    assert caught.value.refusal.holders == (str(os.getpid()),)


@pytest.mark.parametrize(
    ("refresh", "file", "told"),
    [
        ("echo no >&2; exit 3", "auth.json", "ended with 3. no"),
        ("sleep 9", "auth.json", "took longer than"),
        (None, "none.json", "is not there"),
    ],
)
def test_what_cannot_be_had_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, refresh: str | None, file: str, told: str
) -> None:
    monkeypatch.setattr(logins, "_SECONDS", 0.3)
    if file == "auth.json":
        os.utime(place / file, (1, 1))
    with pytest.raises(Refused) as caught:
        logins.ready(Login(agent="codex", file=str(place / file), refresh=refresh, every=1), place / "locks")
    assert caught.value.refusal.rule == "login"
    assert told in caught.value.refusal.what


class Reader(CommandAgent):
    """A command whose client keeps a login."""

    name = "reader"
    login = (".reader/auth.json",)


def test_inside_of_walls_they_can_be_read_and_not_written_and_are_gone_afterwards(place: Path) -> None:
    with a_box() as box:
        (box.root / "spool").mkdir()
        agents, folder = KnownAgents(place / "locks", {"reader": Reader()}), box.root / "1"
        line = 'cat "$HOME/.reader/auth.json"; echo more >> "$HOME/.reader/auth.json" || echo kept'
        given = Assignment(
            card=CARD,
            choice=AgentChoice(use="reader", command=line),
            prompt="Do it.",
            room=Room(
                path=box.root / "tree",
                written=box.root / "tree",
                sandbox=replace(box.sandbox, tools=toolchains.tools()),
            ),
            env={"INTERLOCK_JOB": "j1", "INTERLOCK_ATTEMPT_NUMBER": "1", "INTERLOCK_SPOOL": str(box.root / "spool")},
            folder=folder,
            login=Login(agent="reader", file=str(place / "auth.json")),
        )
        end = HostRuns().run(folder, agents.launch(given))
        output = (folder / "output.log").read_text()
        assert (end.exit_code, output.startswith("secret"), "kept" in output) == (0, True, True), output
        assert (folder / "login" / "auth.json").read_text() == "secret"
        assert agents.forget(folder) == ()
        assert not (folder / "login").exists()
        assert not (folder / "home" / ".reader" / "auth.json").exists()
