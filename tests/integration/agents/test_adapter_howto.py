"""The adapter that the how-to shows: as a plug-in, and through gateway and runner with a client that speaks to scripted models."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.agents.codexes import KEY, Codex, a_bare

from interlock.adapters.agents.catalogue import adapter_of
from interlock.adapters.agents.known import KnownAgents
from interlock.adapters.agents.names import agent_names
from interlock.core.agent.adapter import AgentAdapter
from interlock.core.agent.gateway import ModelGateway, Upstream
from interlock.core.agent.seen import Unknown
from interlock.core.agent.usage import UNKNOWN
from interlock.core.contract.agents import AGENTS
from interlock.core.contract.card import AgentChoice
from interlock.core.problems import Refused
from interlock.ports.processes import End
from interlock.testing.models import Fault, Say, ScriptedModels
from interlock.testing.models.fixture import scripted_models as scripted_models  # noqa: PLC0414 - used by pytest

END = End(how="exited", exit_code=0, seconds=0.1, tail="")
PAGE = Path(__file__).parents[3] / "docs" / "howto" / "write-an-agent-adapter.md"
CLIENT = """\
#!{python}
import json, os, sys, urllib.request
if "--version" in sys.argv:
    sys.exit(print("mine 2.4"))
asked = {{"model": sys.argv[-1], "messages": [{{"role": "user", "content": sys.stdin.read()}}],
         "tools": [{{"type": "function", "function": {{"name": "shell"}}}}]}}
request = urllib.request.Request(
    os.environ["MINE_BASE_URL"] + "/chat/completions",
    json.dumps(asked).encode(),
    {{"authorization": "Bearer " + os.environ["MINE_KEY"], "content-type": "application/json"}},
)
try:
    answer = json.load(urllib.request.urlopen(request))
    print(json.dumps({{"type": "text", "text": answer["choices"][0]["message"]["content"]}}))
    print(json.dumps({{"type": "finished", "ok": True}}))
except OSError:
    print(json.dumps({{"type": "finished", "ok": False}}))
"""


@pytest.fixture
def written() -> str:
    """The page's first block of Python."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found.group(1)


@pytest.fixture
def adapter(written: str) -> AgentAdapter:
    space: dict[str, object] = {}
    exec(written, space)
    made: AgentAdapter = space["MyAgent"]()  # type: ignore[operator]
    return made


@pytest.fixture
def place(
    adapter: AgentAdapter, tmp_path: Path, scripted_models: ScriptedModels, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Codex]:
    client = tmp_path / "bin" / "mine"
    client.parent.mkdir()
    client.write_text(CLIENT.format(python=sys.executable))
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{client.parent}:{os.environ['PATH']}")
    with a_bare(scripted_models, tmp_path.name) as made:
        made.agents = KnownAgents(tmp_path / "locks", {"mine": adapter})
        yield made


def gateway(place: Codex) -> ModelGateway:
    upstream = Upstream(name="v", dialects=("chat",), url=f"{place.models.url}/{place.scenario}", key=KEY)
    return replace(place.gateway(1), upstreams=(upstream,))


def test_it_runs_through_gateway_and_runner(place: Codex) -> None:
    place.models.play(place.scenario, Say("Hello there."), key=KEY)
    choice = AgentChoice(use="mine", model="m1")
    assert place.agents.capabilities(choice).known_good
    end = place.run(choice=choice, gateway=gateway(place))
    found = place.agents.read("mine", place.folder(), end, before=UNKNOWN, usd_before=None)
    assert (found.outcome.kind, found.seen.last_text, found.seen.unknown) == ("completed", "Hello there.", 0)
    (call,) = place.models.journal.of(place.scenario)
    assert (call.model, call.auth) == ("m1", KEY)


def test_what_fails_is_no_success_though_it_ends_with_0(place: Codex) -> None:
    place.models.play(place.scenario, Fault(500), key=KEY)
    end = place.run(choice=AgentChoice(use="mine"), gateway=gateway(place))
    found = place.agents.read("mine", place.folder(), end, before=UNKNOWN, usd_before=None)
    assert (end.exit_code, found.outcome.kind) == (0, "crashed")


@pytest.mark.parametrize("line", [b"", b"\xff", b"[]", b"{}", b'{"type": 1}', b'{"type": "text"}', b'"text"'])
def test_no_line_breaks_it(adapter: AgentAdapter, line: bytes) -> None:
    adapter.decode(line)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str, str], None]]:
    """Installs a package of plug-ins: its name, what its one module says, and its entry points."""

    def install(name: str, text: str, points: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n")
        (about / "entry_points.txt").write_text(f"[interlock.agents]\n{points}")

    monkeypatch.syspath_prepend(tmp_path)
    for each in (adapter_of, agent_names):
        each.cache_clear()
    yield install
    for each in (adapter_of, agent_names):
        each.cache_clear()


def test_a_plug_in_is_found_and_takes_no_name_of_ours(
    written: str, tmp_path: Path, installed: Callable[[str, str, str], None]
) -> None:
    installed("my_package", written, "mine = my_package:MyAgent\ncodex = my_package:MyAgent\n")
    assert KnownAgents(tmp_path / "locks").names() == (*AGENTS, "mine")
    mine, codex = adapter_of("mine"), adapter_of("codex")
    assert mine is not None
    assert mine.programs == ("mine",)
    assert type(codex).__name__ == "CodexAgent"


def test_a_broken_plug_in_stops_nobody_else_and_is_named(
    tmp_path: Path, installed: Callable[[str, str, str], None]
) -> None:
    installed("broken_package", "import not_there\n", "broken = broken_package:Agent\n")
    installed("leaving_package", "raise SystemExit(3)\n", "leaving = leaving_package:Agent\n")
    installed("hollow_package", "class Agent:\n    name = 'hollow'\n", "hollow = hollow_package:Agent\n")
    agents = KnownAgents(tmp_path / "locks")
    assert agents.capabilities(AgentChoice(use="command", command="true")).known_good
    assert agents.names() == (*AGENTS, "broken", "hollow", "leaving")
    for name, why in (("broken", "ModuleNotFoundError"), ("leaving", "SystemExit"), ("hollow", "has no programs")):
        with pytest.raises(Refused) as caught:
            agents.capabilities(AgentChoice(use=name))
        refusal = caught.value.refusal
        assert (refusal.rule, refusal.holders) == ("no-agent", (f"{name}_package",))
        assert why in refusal.what
        assert agents.dialects(name) == ()
        # What it wrote before it broke is read as what nobody understands, and its end as no success.
        folder = tmp_path / name
        folder.mkdir()
        (folder / "output.log").write_text("done\n")
        found = agents.read(name, folder, END, before=UNKNOWN, usd_before=None)
        assert (found.outcome.kind, found.seen.unknown) == ("protocol-error", 1)
        assert agents.told(name, b"done\n") == (Unknown(),)
