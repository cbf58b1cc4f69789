"""What the doctor says of agents: whether each can be started here, and how it comes to its models."""

from __future__ import annotations

import os
import sys

import pytest

from interlock.app.doctor import agent_probes, examine


@pytest.fixture
def told(world, town, monkeypatch):
    """What the doctor says of each agent under a policy; the clients are stand-ins that tell a version."""
    (world.root / "bin").mkdir()
    for name in ("claude", "codex"):
        client = world.root / "bin" / name
        client.write_text("#!/bin/sh\necho 0.163.0\n")
        client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{world.root}/bin:{os.environ['PATH']}")

    def tell(policy: str = "") -> dict[str, tuple[bool, str]]:
        world.write("interlock.yaml", f"train: {{checks: ['true'], sign_off: none}}\n{policy}")
        world.push()
        town().ports.repo.refresh()
        report = examine(agent_probes(town().ports), "worktree")
        return {each.name.removeprefix("agent "): (each.ok, each.why) for each in report.features}

    return tell


def test_what_its_login_or_its_key_names_and_is_not_there_is_told(told, world, monkeypatch):
    monkeypatch.delenv("KEY", raising=False)
    ok, why = told("logins: {codex: {file: /nope/auth.json}}\n")["codex"]
    assert (ok, "/nope/auth.json, which is not there" in why) == (False, True)
    models = "models: {anthropic: {key: KEY}}\n"
    for source in ("variable: KEY", "file: /nope/key"):
        given = told(f"secrets: {{KEY: {{{source}}}}}\n{models}")
        assert not given["claude"][0]
        assert "The secret KEY cannot be handed out" in given["claude"][1]
        ok, why = given["acp"]
        assert (ok, "without the models anthropic: The secret KEY" in why) == (True, True)
    ran = world.root / "ran"
    assert told(f"secrets: {{KEY: {{command: 'touch {ran}'}}}}\n{models}")["claude"][0]
    assert not ran.exists()


def test_how_each_comes_to_its_models_is_told_as_it_is(told, world, monkeypatch):
    monkeypatch.setenv("KEY", "k")
    login = world.root / "x.json"
    login.write_text("{}")
    bare = told()
    assert "of its budget it keeps dollars alone, by itself" in bare["claude"][1]
    assert "nothing keeps its budget" in bare["codex"][1]
    given = told(
        "secrets: {KEY: {variable: KEY}}\nmodels: {anthropic: {key: KEY}}\n"
        f"logins: {{claude: {{file: ~/c.json}}, codex: {{file: {login}}}}}\n"
    )
    assert "its login is not used" in given["claude"][1]
    assert "can be read" not in given["claude"][1]
    assert "its credentials can be read in the task" in given["codex"][1]
    assert "no models:" not in given["acp"][1]


def test_acp_is_off_without_the_sdk_of_its_protocol(told, monkeypatch):
    assert told()["acp"][0]
    monkeypatch.setitem(sys.modules, "acp", None)
    ok, why = told()["acp"]
    assert not ok
    assert "pip install 'interlock[acp]'" in why
