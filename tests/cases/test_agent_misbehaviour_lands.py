"""Misbehaving clients through the whole product: what each comes to, what lands, and what is left of it; see test_agent_misbehaviour."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.cases.misbehaving import PRELUDE

from interlock.app import decide
from interlock.app.show import show
from interlock.testing.world import World

STANDIN = """\
#!{python}
import os, sys
if "--version" in sys.argv:
    print("{version}"); sys.exit(0)
sys.stdin.read()
sys.argv = [sys.argv[0], "token"]
SLUG = os.path.basename(os.getcwd())
{prelude}
def work(): os.makedirs(SLUG, exist_ok=True); open(SLUG + "/f", "w").write("1\\n")
exec(open({folder!r} + "/" + SLUG).read())
"""

# Slug → the client, what it does, and the rule that it then waits with, or ``landed``.
CASES = {
    "good": ("claude", "begin(); work(); result()", "landed"),
    "good-codex": ("codex", "thread(); work(); turn(input_tokens=5, output_tokens=1)", "landed"),
    "stays": ("claude", "begin(); work(); result(); stay()", "landed"),
    "folders": (
        "codex",
        "thread(); work(); [os.makedirs(each) for each in ('.agents', '.aws', '.codex')]; turn(input_tokens=5)",
        "landed",
    ),
    "no-end": ("claude", "begin(); work()", "no-end"),
    "nothing": ("claude", "begin(); text('All done.'); result()", "empty-diff"),
    "refused": ("claude", "begin(); result(permission_denials=[{'tool_name': 'Write'}])", "denied"),
    "outside": ("claude", "begin(); work(); open('kept', 'a').write('2'); result()", "outside"),
    "card": ("claude", "begin(); work(); open('tasks/card.yaml', 'a').write('# mine'); result()", "protected"),
    "model": (
        "codex",
        "thread(); work(); say(type='turn.failed', error={'message': 'last status: 429 Too Many Requests'}); sys.exit(1)",
        "api-rate",
    ),
}
AFTER = {
    "leaks": ("claude", "begin(); open(os.environ['MAIN'] + '/elsewhere', 'w').close(); result()", "leaked"),
    "into-git": (
        "claude",
        "begin(); work(); subprocess.run(['git', 'config', 'core.hooksPath', os.getcwd()], check=True); result()",
        "leaked",
    ),
    "leaks-too": (
        "claude",
        "begin(); work(); p = os.environ['MAIN'] + '/leaks-too'; os.mkdir(p); open(p + '/f', 'w').close(); result()",
        "leaked",
    ),
}
BESIDE = {
    "beside": ("claude", "begin(); work(); open(os.environ['MAIN'] + '/kept', 'a').write('3'); result()", "landed"),
}


@pytest.fixture
def clients(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins of the clients on PATH; what each does stands in a file of the task's name."""
    folder, scripts = world.root / "bin", world.root / "scripts"
    for each in (folder, scripts):
        each.mkdir()
    for name, version in (("claude", "2.1.332 (Claude Code)"), ("codex", "codex-cli 0.163.0")):
        words = STANDIN.format(python=sys.executable, version=version, prelude=PRELUDE, folder=str(scripts))
        (folder / name).write_text(words)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("MAIN", str(world.repo))
    for slug, (_, script, _) in {**CASES, **AFTER, **BESIDE}.items():
        (scripts / slug).write_text(script)
    return folder


def card(world: World, slug: str, use: str) -> None:
    world.card(slug)
    path = world.repo / "tasks" / f"{slug}.yaml"
    path.write_text(path.read_text().replace("agent: {use: command, command: true}", "").replace('command: "true"', ""))
    lines = [line for line in path.read_text().splitlines() if not line.startswith("agent:")]
    path.write_text("\n".join([*lines, f"agent: {{use: {use}}}", "budget: {wall: 2m, startup: 60s}", ""]))


@pytest.mark.long
def test_what_clients_do_wrong_comes_out_right_and_only_good_work_lands(world, town, clients):
    world.write("kept", "1\n")
    policy = {"train": {"checks": ["true"], "sign_off": "none"}, "environment": ["MAIN"]}
    world.write("interlock.yaml", json.dumps(policy))
    everyone = {**CASES, **AFTER, **BESIDE}
    for slug, (use, _, _) in everyone.items():
        card(world, slug, use)
    world.write("tasks/caps.txt", f"vertical-slice {len(everyone)}\n")
    world.push()
    before = world.git("rev-parse", "HEAD"), (world.repo / ".git" / "index").read_bytes()
    town().dispatch(*CASES)
    town().run()
    assert {slug: rule for slug, (_, _, rule) in CASES.items()} == {slug: town().rule(slug) for slug in CASES}
    assert before == (world.git("rev-parse", "HEAD"), (world.repo / ".git" / "index").read_bytes())
    landed = {slug for slug, (_, _, rule) in CASES.items() if rule == "landed"}
    assert {f"{slug}/f" for slug in landed} == {path for path in world.main_files() if path.endswith("/f")}
    assert not [path for path in world.main_files() if path.startswith((".agents", ".aws", ".codex"))]
    _whole_records(town, CASES)
    _leaks(world, town)


def _whole_records(town, slugs) -> None:
    """Each attempt has the files of its run, and no private HOME below the temporary folder's own name."""
    for slug in slugs:
        folder = town().ports.records.attempt(town().job(slug).id, 1)
        names = {path.name for path in folder.iterdir()}
        assert names >= {"spec.json", "started.json", "exit.json", "output.log", "errors.log", "home", "prompt.md"}, (
            slug
        )
        env = json.loads((folder / "spec.json").read_bytes())["env"]
        assert env["HOME"] == str(folder / "home")
        assert "TMPDIR" in env
        assert not Path(env["HOME"]).is_relative_to(env["TMPDIR"])


def _leaks(world, town) -> None:
    """Case AI-01: written through an absolute path into the main checkout; told with the paths, and good work is kept."""
    for slug in AFTER:
        town().dispatch(slug)
        town().run()
        assert "leaked" == town().rule(slug), town().job(slug).waiting
    assert "git settings" in town().job("into-git").waiting.what
    assert str(world.repo / "elsewhere") in town().job("leaks").waiting.what
    assert str(world.repo / "leaks-too/f") in town().job("leaks-too").waiting.what
    decide.resume(town().ports, "leaks-too", "ana")
    town().run()
    assert "landed" == town().rule("leaks-too"), "what it did in its own tree is worth something all the same"
    town().dispatch("beside")
    town().run()
    assert "landed" == town().rule("beside"), "a person may work in the main checkout while agents run"
    (row,) = show(town().ports, "beside").attempts
    assert [str(world.repo / "kept")] == row["beside"]
