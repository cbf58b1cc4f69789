"""ACP agents under the real runner, at both levels: permissions and their answers, denials, waits, stops, deaths."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.integration.host.boxes import a_box
from tests.integration.watching import wait_until

from interlock.adapters.agents.acp import AcpAgent
from interlock.adapters.agents.known import KnownAgents
from interlock.core.agent.usage import UNKNOWN
from interlock.core.contract.card import AgentChoice, Budget, Card, Check
from interlock.core.problems import Misuse
from interlock.host.attempts import HostRuns
from interlock.host.sandbox import toolchains
from interlock.ports.agents import Assignment, Reading
from interlock.ports.isolation import Room
from interlock.ports.processes import End
from interlock.testing.acp_agent import command


@dataclass(frozen=True)
class Place:
    """A tree and a folder for attempts, behind walls or not."""

    root: Path
    room: Room
    tree: Path

    def agents(self) -> KnownAgents:
        return KnownAgents(self.root / "locks", {"acp": AcpAgent()})

    def run(
        self,
        name: str,
        script: Mapping[str, object],
        meanwhile: Callable[[Path], None] = lambda _: None,
        *,
        budget: Budget | None = None,
        line: str = "",
        **more: object,
    ) -> tuple[End, Reading]:
        """One attempt from its launch to its reading; ``meanwhile`` goes on beside it."""
        choice = AgentChoice(
            use="acp", command=line or command(script), model=str(more.pop("model", "")) or None, effort="high"
        )
        card = Card(
            slug="a",
            class_name="tests",
            owned_paths=("a/**",),
            checks=(Check(run="true"),),
            stop_when=("x",),
            integration_owner="@ana",
            agent=choice,
            budget=budget or Budget(wall=60.0, idle=30.0),
        )
        folder = self.root / "attempts" / name
        env = {"INTERLOCK_JOB": "j1", "INTERLOCK_ATTEMPT_NUMBER": "1"}
        given = Assignment(card=card, choice=choice, prompt="Do it.", room=self.room, env=env, folder=folder)
        launch = self.agents().launch(replace(given, **more))  # type: ignore[arg-type]
        with ThreadPoolExecutor(1) as beside:
            doing = beside.submit(meanwhile, folder)
            end = HostRuns().run(folder, launch)
            doing.result()
        return end, self.agents().read("acp", folder, end, before=UNKNOWN, usd_before=None)

    def waits(self, folder: Path) -> str:
        """Wait until a permission is asked for; gives its id."""
        wait_until(lambda: self.agents().watch("acp", folder).asked, seconds=30)
        return self.agents().watch("acp", folder).asked[0].id

    def answering(self, choice: str) -> Callable[[Path], None]:
        return lambda folder: self.agents().answer(folder, self.waits(folder), choice, "ana")


@pytest.fixture(params=[pytest.param("worktree", marks=pytest.mark.long), "sealed"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "worktree":
        tree = tmp_path / "tree"
        tree.mkdir()
        yield Place(tmp_path, Room(path=tree, written=tree), tree)
        return
    with a_box() as box:
        tree = box.root / "tree"
        walls = replace(box.sandbox, tools=toolchains.tools())
        yield Place(box.root, Room(path=tree, written=tree, sandbox=walls), tree)


@pytest.fixture
def bare(tmp_path: Path) -> Place:
    tree = tmp_path / "tree"
    tree.mkdir()
    return Place(tmp_path, Room(path=tree, written=tree), tree)


TROUBLE = {"sessionUpdate": "session_info_update", "_meta": {"codex": {"threadStatus": {"type": "systemError"}}}}
"""What codex-acp tells before it ends a turn without a model as if all were well."""

ASKING = {"edit": "a/new.txt", "text": "done\n", "ask": True}


def test_what_a_person_allows_is_done_and_what_a_person_denies_is_shown(place: Place) -> None:
    """The greeting comes after 300 kB of errors, a message has 200 kB, and the answer is given once."""
    refused: list[str] = []
    begun = time.time()

    def allow(folder: Path) -> None:
        agents, number = place.agents(), place.waits(folder)
        (open_one,) = agents.watch("acp", folder).asked
        assert open_one.at is not None
        assert begun <= open_one.at <= time.time()
        assert not (place.tree / "a").exists(), "nothing is answered by itself"
        for asked, choice in (("p7", "allow"), ("../../exit", "allow"), (number, "perhaps")):
            with pytest.raises(Misuse) as caught:
                agents.answer(folder, asked, choice, "ana")
            refused.append(str(caught.value))
        agents.answer(folder, number, "allow", "ana")
        with pytest.raises(Misuse):
            agents.answer(folder, number, "reject", "bob")

    usage = {"totalTokens": 3150, "inputTokens": 2400, "cachedReadTokens": 600, "outputTokens": 150}
    steps = [
        {"say": "x", "times": 200_000},
        {"noise": "a banner"},
        ASKING,
        {"run": "echo hi > a/ran.txt"},
        {"say": "Done."},
    ]
    script = {"name": "claude-agent-acp", "stderr": 300_000, "steps": steps, "usage": usage, "models": ["m1", "m2"]}
    end, found = place.run("allowed", script, allow, model="m2")
    assert (end.how, end.exit_code, found.outcome.kind) == ("exited", 0, "completed"), end
    assert (place.tree / "a" / "new.txt").read_text() == "done\n"
    assert (place.tree / "a" / "ran.txt").read_text() == "hi\n"
    seen = found.seen
    assert (seen.session, seen.models, seen.last_text) == ("s-1", ("m2",), "Done.")
    assert dict(seen.tools) == {"edit": 1, "command": 1}
    assert (seen.usage.total, seen.usage.cache_read, seen.asked, seen.denied) == (3150, 600, (), ())
    assert seen.unknown == 0
    assert len(seen.warnings) == 1, "the effort is offered once the model is set"
    assert "a banner" in seen.warnings[0]
    assert len(refused) == 3

    end, found = place.run(
        "denied", {"steps": [{**ASKING, "edit": "a/other.txt"}, {"say": "All done."}]}, place.answering("deny")
    )
    assert (end.how, end.exit_code, found.outcome.kind) == ("exited", 0, "denied")
    assert "edit: a/other.txt" in found.outcome.message
    assert found.seen.denied[0].why == "ana denied it."
    assert not (place.tree / "a" / "other.txt").exists()


@pytest.mark.long
def test_without_an_answer_it_waits_beyond_its_idle_limit_until_somebody_stops_it(bare: Place) -> None:
    def stop(folder: Path) -> None:
        bare.waits(folder)
        log = folder / "output.log"
        wait_until(lambda: log.read_bytes().count(b"interlock.waiting") >= 4, seconds=80)
        assert HostRuns().alive(folder)
        HostRuns().cancel(folder)

    end, found = bare.run("1", {"steps": [ASKING]}, stop, budget=Budget(wall=110.0, idle=4.0))
    assert (end.how, found.outcome.kind) == ("cancelled", "cancelled"), end
    assert end.leftovers == ()
    assert [each.what for each in found.seen.asked] == ["edit: a/new.txt"]
    assert not (bare.tree / "a").exists()
    last = json.loads((bare.root / "attempts" / "1" / "output.log").read_bytes().splitlines()[-1])
    assert (last["type"], last["reason"], last["asked"]) == ("interlock.ended", "cancelled", True)


def test_a_stop_gets_the_agents_usage_and_ends_one_that_is_deaf_to_it(bare: Place) -> None:
    def stop(folder: Path) -> None:
        wait_until(lambda: (folder / "output.log").exists() and b"began" in (folder / "output.log").read_bytes())
        HostRuns().cancel(folder)

    usage = {"totalTokens": 110, "inputTokens": 100, "outputTokens": 10}
    end, found = bare.run("1", {"name": "codex-acp", "steps": [{"hang": True}], "usage": usage}, stop)
    assert (end.how, found.outcome.kind, found.seen.usage.total) == ("cancelled", "cancelled", 110)
    end, found = bare.run("2", {"steps": [{"hang": True}], "deaf": True}, stop)
    assert (end.how, found.outcome.kind, end.leftovers) == ("cancelled", "cancelled", ())


@pytest.mark.long
def test_deaths_silence_and_errors_have_their_names(bare: Place) -> None:
    short = Budget(wall=60.0, idle=2.0, startup=1.5)
    runs: dict[str, dict[str, object]] = {
        "dies": {"script": {"steps": [{"say": "I begin."}, {"die": 7}]}},
        "no-greeting": {"script": {"silent": "initialize"}, "budget": short},
        "no-answer": {"script": {"silent": "session/prompt"}, "budget": replace(short, startup=None)},
        "auth": {"script": {"steps": [{"fail": {"code": -32000, "message": "Authentication required"}}]}},
        "lies": {
            "script": {"steps": [{"update": TROUBLE}, {"say": "exceeded retry limit, last status: 429 Too Many"}]}
        },
        "leaves": {"script": {"steps": [{"run": "sleep 600 >/dev/null 2>&1 & true"}]}},
        "model": {"script": {"models": ["m1"]}, "model": "m9"},
        "protocol": {"script": {"protocol": 9}},
        "no-command": {"script": {}, "line": "no-such-agent"},
        "resumed": {
            "script": {"sessions": "load", "steps": [{"say": "Again."}], "modes": ["default", "plan"]},
            "resume": "s-7",
            "writable": False,
        },
        "denied": {
            "script": {"steps": [ASKING], "reject_cancels": True},
            "meanwhile": bare.answering("reject"),
        },
        "not-resumed": {"script": {}, "resume": "s-7"},
    }

    def one(name: str) -> tuple[End, Reading]:
        return bare.run(name, **runs[name])  # type: ignore[arg-type]

    with ThreadPoolExecutor(3) as pool:
        found = dict(zip(runs, pool.map(one, runs), strict=True))
    outcomes = {name: reading.outcome.kind for name, (_, reading) in found.items()}
    assert outcomes == {
        "dies": "crashed",
        "no-greeting": "limit",
        "no-answer": "limit",
        "auth": "api-error",
        "lies": "api-error",
        "leaves": "completed",
        "model": "crashed",
        "protocol": "crashed",
        "no-command": "crashed",
        "resumed": "completed",
        "denied": "denied",
        "not-resumed": "crashed",
    }, {name: reading.outcome for name, (_, reading) in found.items()}
    assert "ended with 7 in the middle" in found["dies"][1].outcome.message
    assert found["no-greeting"][1].outcome.limit == "startup"
    assert found["no-answer"][1].outcome.limit == "idle"
    assert found["auth"][1].outcome.fault == "auth"
    assert found["lies"][1].outcome.fault == "rate"
    assert "sleep" in str(found["leaves"][0].leftovers)
    assert "no effort high" in found["auth"][1].seen.warnings[0]
    assert "it offers m1" in found["model"][1].outcome.message
    assert "ended with 127" in found["no-command"][1].outcome.message
    assert (found["resumed"][1].seen.session, found["resumed"][1].seen.last_text) == ("s-7", "Again.")
    assert "earlier session" in found["not-resumed"][1].outcome.message
    shapes = map(json.loads, (bare.root / "attempts" / "resumed" / "output.log").read_bytes().splitlines())
    assert [shape["mode"] for shape in shapes if shape["type"] == "interlock.began"] == ["plan"]
