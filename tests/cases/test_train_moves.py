"""The contract moves under a train: rules that break, a class that goes, another owner; nothing is lost, and each is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cases.test_train_holes import go, held
from tests.integration.watching import wait_until

from interlock.app import decide
from interlock.app.sign_off import sign_off
from interlock.app.status import status
from interlock.core.job.lifecycle import State
from interlock.core.problems import Refused

pytestmark = pytest.mark.long

RULES = "train: {checks: ['true'], sign_off: none}\nclasses: {feature: {kind: parallel}}\n"
CAPS = "feature 5\nvertical-slice 5\n"


def agent(slug: str) -> str:
    return f"mkdir -p {slug}; echo x > {slug}/x"


def ready(world, town, *slugs: str, rules: str = RULES) -> None:
    """Changes of one class that are verified, and held."""
    world.write("interlock.yaml", rules)
    world.write("tasks/caps.txt", CAPS)
    for slug in slugs:
        world.card(slug, command=agent(slug), klass="feature")
    world.push()
    held(town, *slugs)


def push(world, path: str, text: str) -> None:
    """Somebody else changes a file on the default branch, whatever landed there meanwhile."""
    other = world.root / "other"
    if not other.exists():
        world.git("clone", "-q", str(world.remote), str(other), at=world.root)
    world.git("pull", "-q", at=other)
    (other / path).write_text(text)
    world.git("add", "-A", at=other)
    world.git("commit", "-q", "-m", f"change {path}", at=other)
    world.git("push", "-q", at=other)


BROKEN = {
    "interlock.yaml": RULES + "train: [\n",
    "tasks/caps.txt": "feature many\n",
}


@pytest.mark.parametrize("path", BROKEN)
def test_rules_that_cannot_be_read_put_nobody_out_and_are_told_with_file_line_and_fix(world, town, path):
    """A signed train stays signed; what is told names the place; mended, the same run lands it, and nobody is resumed."""
    ready(world, town, "a", "b", rules=RULES.replace("none", "owner"))
    good = (world.repo / path).read_text()
    go(town, "a", "b")
    sign_off(town().ports, "@ana")
    push(world, path, BROKEN[path])
    shape = world.ask("run", code=1)
    (item,) = [each for each in shape["needs_a_person"] if each["rule"] == "broken-rules"]
    assert path in item["what"]
    assert {path} == {each["file"] for each in item["problems"]}
    assert all(each["line"] and each["fix"] for each in item["problems"])
    told = world.cli("status").stdout
    assert path in told
    assert "next: interlock inbox" in told
    assert "interlock run" in world.cli("inbox", code=None).stdout
    assert [State.READY, State.READY] == [town().job(slug).state for slug in "ab"]
    assert "signed" == town().ports.store.train().phase
    assert {"a/x", "b/x"}.isdisjoint(world.main_files())
    push(world, path, good)
    assert 0 == world.cli("run").returncode
    assert not [each for each in status(town().ports).asked if each["rule"] == "broken-rules"]
    assert {"a/x", "b/x"} <= world.main_files()


def run_until(world, begun: Path, meanwhile, end: Path) -> str:
    """``interlock run``, in which something begins, something else happens meanwhile, and the first one ends; gives what it said."""
    said: Path = world.root / "said"
    words = [sys.executable, "-m", "interlock", "run"]
    with said.open("w") as out, subprocess.Popen(words, cwd=world.repo, env=world.env, stdout=out, stderr=out) as run:
        try:
            wait_until(begun.exists, 90)
            meanwhile()
        finally:
            end.touch()
        assert run.wait(timeout=200) == 1, said.read_text()
    return said.read_text()


def test_a_train_in_test_whose_rules_break_stays_as_it_is_and_lands_when_they_are_mended(world, town):
    begun, end = world.root / "begun", world.root / "end"
    world.root.chmod(0o777)
    rules = RULES.replace("'true'", f"'touch {begun}; until test -e {end}; do sleep 0.1; done'")
    ready(world, town, "a", rules=rules)
    decide.hold(town().ports, "a", "ana", None)
    said = run_until(world, begun, lambda: push(world, "interlock.yaml", "train: [\n"), end)
    assert "Nothing is started, checked or landed" in said
    assert ("ready", None) == (town().job("a").state, town().job("a").waiting)
    assert "a/x" not in world.main_files()
    push(world, "interlock.yaml", rules)
    world.cli("run")
    assert "a/x" in world.main_files()


def test_work_that_goes_on_while_the_rules_are_broken_is_not_lost(world):
    """The agent ends while nothing can be read: its work is taken over by the first run after they are mended."""
    begun, end = world.root / "begun", world.root / "end"
    world.root.chmod(0o777)
    slow = f"touch {begun}; until test -e {end}; do sleep 0.1; done; {agent('a')}"
    world.card("a", command=slow)
    world.push()
    world.cli("dispatch", "a")
    good = (world.repo / "interlock.yaml").read_text()

    def breaks() -> None:
        push(world, "interlock.yaml", "train: [\n")
        world.cli("dispatch", "a", code=1)

    said = run_until(world, begun, breaks, end)
    (job,) = world.ask("status")["jobs"]
    assert job["state"] in ("running", "worked"), said
    assert (job["waits_for"], job["attempt"]) == (None, 1)
    push(world, "interlock.yaml", good)
    world.cli("run")
    assert "a/x" in world.main_files()
    (job,) = world.ask("status", "--all")["jobs"]
    assert ("landed", 1) == (job["state"], job["attempt"])


def test_a_class_that_goes_while_its_changes_are_in_test_is_told_by_the_same_run(world, town):
    ready(world, town, "a")
    push(world, "interlock.yaml", RULES.partition("classes")[0])
    go(town, "a")
    assert "class" == town().rule("a")
    assert "a/x" not in world.main_files()


def test_the_owner_whom_the_card_names_now_is_asked_and_the_earlier_one_is_not(world, town):
    """The signature of who owned it before counts no more, and is no longer taken."""
    ready(world, town, "a", "b", rules=RULES.replace("none", "owner"))
    go(town, "a", "b")
    sign_off(town().ports, "@ana")
    card = world.git("show", "HEAD:tasks/a.yaml", at=world.remote)
    push(world, "tasks/a.yaml", card.replace('"@ana"', '"@ben"') + "\n")
    town().run()
    town().run()
    assert {"@ana", "@ben"} == {each["owner"] for each in status(town().ports).asked}
    sign_off(town().ports, "@ana")
    town().run()
    assert [State.READY, State.LANDED] == [town().job(slug).state for slug in "ab"]
    for stranger in ("@ana", "@Ben", "@bеn", "@ben ", "ben"):
        with pytest.raises(Refused, match="is not asked to sign off"):
            sign_off(town().ports, stranger)
    sign_off(town().ports, "@ben")
    town().run()
    assert State.LANDED == town().job("a").state
