"""A real Codex before scripted models, through adapter, gateway and runner, at both levels: what it does well, and what goes wrong."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.agents.codexes import KEY, MODEL, a_bare, a_sealed, needs_codex
from tests.integration.runner.attempt import runner_pid
from tests.integration.watching import seen, wait_until
from tests.needs import needs_sandbox

from interlock.core.agent.gateway import Ceiling
from interlock.core.agent.usage import Usage
from interlock.core.contract.card import AgentChoice
from interlock.host.attempts import HostRuns
from interlock.testing.models import Big, Cut, Fault, Loop, Run, Say, ScriptedModels, Step, Write

pytestmark = needs_codex

ONE_CALL = Usage(uncached_input=800, cache_read=200, cache_write=0, output=50, reasoning=10)
LOOK = """
p=sk-scripted
cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' > /tmp/seen
grep -c "$p-key" /tmp/seen
grep -c -m1 INTERLOCK_MODEL_KEY= /tmp/seen
grep -rla "$p-key" /ws /home/agent /run/interlock /tmp 2>/dev/null
env | grep -c -e MODEL_KEY -e API_KEY
id -u
command -v interlock-task
"""
"""Looks for the key without naming it in one piece, since a client writes its own commands down.

That it sees the client's own environment is shown by the word for the gateway, which is there.
"""


@pytest.fixture(scope="module")
def models() -> Iterator[ScriptedModels]:
    with ScriptedModels() as server:
        yield server


@needs_sandbox
@pytest.mark.long
def test_six_sealed_at_once_land_their_edits_and_none_of_them_finds_the_key(models: ScriptedModels) -> None:
    """With one of the newest models among them, whose commands come as scripts of another process of the client."""
    with ExitStack() as stack:
        codexes = []
        for number in range(6):
            models.play(f"six-{number}", Write(f"{number}.md", "hello\n"), Run(LOOK), Say(f"I am {number}."), key=KEY)
            codexes.append(stack.enter_context(a_sealed(models, f"six-{number}")))
        choices = [AgentChoice(use="codex", model=each) for each in (*[MODEL] * 5, "gpt-6-sol")]
        with ThreadPoolExecutor(6) as pool:
            ends = list(pool.map(lambda codex, choice: codex.run(choice=choice), codexes, choices))
        for number, (codex, end) in enumerate(zip(codexes, ends, strict=True)):
            found = codex.read(end)
            assert (end.how, end.exit_code, end.leftovers) == ("exited", 0, ()), end
            assert (found.outcome.kind, found.seen.last_text) == ("completed", f"I am {number}.")
            assert found.seen.usage == ONE_CALL + ONE_CALL + ONE_CALL
            assert found.seen.unknown == 0
            assert [path.name for path in codex.tree.iterdir()] == [f"{number}.md"]
            assert (codex.tree / f"{number}.md").read_text() == "hello\n"
            assert b'"0\\n1\\n0\\n60999\\n/run/interlock/bin/interlock-task\\n"' in codex.output()
            assert KEY.encode() not in codex.output()
            assert {each.auth for each in models.journal.of(f"six-{number}")} == {KEY}


def test_what_is_outside_of_the_card_is_refused_early_and_told(models: ScriptedModels) -> None:
    models.play("denied", Write("b/notes.md", "x\n"), Run("echo x > ../outside; echo y > a.md"), Say("All done."))
    with a_bare(models, "denied", owns="a/**") as codex:
        end = codex.run()
        found = codex.read(end)
        assert (end.how, end.exit_code) == ("exited", 0)
        assert (found.seen.ended and found.seen.ended.how, found.seen.last_text) == ("completed", "All done.")
        assert found.outcome.kind == "denied"
        assert found.seen.denied[0].what.startswith("apply_patch was refused: b/notes.md is not this task's.")
        assert not (codex.tree / "b").exists()
        assert not (codex.root / "outside").exists()


def test_at_level_worktree_it_writes_its_tree_its_messages_and_its_own_temporary_files_alone(
    models: ScriptedModels, tmp_path: Path
) -> None:
    command = (
        f"interlock-task note hello; mktemp -q > t; touch ../out {tmp_path}/out .git/out; echo k=$INTERLOCK_MODEL_KEY"
    )
    models.play(
        "bare", Run("mkdir -p a; " + command + "; true"), Say("Done."), Run("touch more; interlock-task note again")
    )
    with a_bare(models, "bare") as codex:
        (codex.tree / ".git").mkdir()
        first = codex.read(codex.run())
        assert first.outcome.kind == "completed"
        assert Path((codex.tree / "t").read_text().strip()).is_relative_to(codex.folder() / "home")
        assert not (codex.root / "out").exists()
        assert not (tmp_path / "out").exists()
        assert not (codex.tree / ".git" / "out").exists()
        assert b"k=\\n" in codex.output()
        assert len(list((codex.root / "spool" / "1").glob("*-note.json"))) == 1

        again = {"resume": first.seen.session, "resume_home": codex.folder() / "home", "writable": False}
        end = codex.run(2, **again)
        second = codex.read(end, 2, before=first.seen.session_usage)
        assert second.seen.session == first.seen.session
        assert second.seen.usage == ONE_CALL + ONE_CALL
        assert not (codex.tree / "more").exists()
        assert len(list((codex.root / "spool" / "2").glob("*-note.json"))) == 1


WRONG: dict[str, tuple[Step, str, str | None]] = {
    "wrong-429": (Fault(429), "api-error", "rate"),
    "wrong-500": (Fault(500), "api-error", "overload"),
    "wrong-401": (Fault(401), "api-error", "auth"),
    "wrong-cut": (Cut(200), "api-error", "network"),
    "wrong-loop": (Loop(Run("true")), "limit", "tokens"),
    "wrong-size": (Big(300_000), "completed", None),
}


@pytest.mark.long
def test_what_goes_wrong_at_the_models_has_its_name_and_its_end(models: ScriptedModels) -> None:
    """Six at once: faults, a stream that is cut, a loop that meets its budget, and a line of 300 kB."""
    with ExitStack() as stack:
        codexes = []
        for name, (step, _, _) in WRONG.items():
            models.play(name, step)
            codexes.append(stack.enter_context(a_bare(models, name)))
        limit = Ceiling(scope="attempt", text="2000 tokens for the attempt", tokens=2000)
        limits = [(limit,) if codex.scenario == "wrong-loop" else () for codex in codexes]
        with ThreadPoolExecutor(len(codexes)) as pool:
            ends = list(
                pool.map(lambda codex, own: codex.run(gateway=replace(codex.gateway(1), ceilings=own)), codexes, limits)
            )
        for codex, end in zip(codexes, ends, strict=True):
            found = codex.read(end)
            _, kind, why = WRONG[codex.scenario]
            assert found.outcome.kind == kind, (codex.scenario, end, found.outcome)
            assert (found.outcome.fault or found.outcome.limit) == why
            assert end.leftovers == ()
        by = {codex.scenario: codex for codex in codexes}
        assert len(models.journal.of("wrong-loop")) == 2
        assert len(models.journal.of("wrong-500")) <= 12
        assert max(len(line) for line in by["wrong-size"].output().splitlines()) > 300_000


@needs_sandbox
def test_a_stop_ends_all_of_it_and_the_session_goes_on_later(models: ScriptedModels) -> None:
    token = f"interlock-test-{secrets.token_hex(6)}"
    models.play("stop", Run(f"setsid --wait bash -c 'exec -a {token} sleep 600'"), Say("Went on."))
    with a_sealed(models, "stop") as codex:
        order = codex.launch()
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(codex.runs.run, codex.folder(), order)
            wait_until(lambda: seen(token))
            other = pool.submit(HostRuns().attach, codex.folder())
            codex.runs.cancel(codex.folder())
            end = first.result(60)
            assert other.result(60) == end
        assert seen(token) == []
        stopped = codex.read(end)
        assert (end.how, stopped.outcome.kind, stopped.seen.ended) == ("cancelled", "cancelled", None)
        assert stopped.seen.usage == ONE_CALL
        codex.agents.tidy(codex.folder(), codex.tree)
        assert list(codex.tree.iterdir()) == []

        resumed = codex.run(2, resume=stopped.seen.session, resume_home=codex.folder() / "home")
        later = codex.read(resumed, 2, before=stopped.seen.session_usage)
        assert (later.outcome.kind, later.seen.last_text) == ("completed", "Went on.")
        assert later.seen.usage == ONE_CALL


def test_a_killed_runner_leaves_nothing_and_its_usage_is_known(models: ScriptedModels) -> None:
    token = f"interlock-test-{secrets.token_hex(6)}"
    models.play("crash", Run(f"setsid --wait bash -c 'exec -a {token} sleep 600'"))
    with a_bare(models, "crash") as codex, ThreadPoolExecutor(1) as pool:
        running = pool.submit(codex.run)
        wait_until(lambda: seen(token))
        assert HostRuns().alive(codex.folder())
        pid = runner_pid(codex.folder())
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        end = running.result(60)
        wait_until(lambda: seen(token) == [])
        found = codex.read(end)
        assert (end.how, found.outcome.kind) == ("interrupted", "interrupted")
        assert found.seen.usage == ONE_CALL
        assert HostRuns().attach(codex.folder()) == end
