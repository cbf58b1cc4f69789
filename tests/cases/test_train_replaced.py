"""A branch that its author replaced after it was judged: neither what was judged nor what stands there now lands, and neither is lost."""

from __future__ import annotations

import pytest

from interlock.app import decide
from interlock.app.dispatch import dispatch
from interlock.app.sign_off import sign_off
from interlock.app.status import status
from interlock.app.supervise import supervise
from interlock.core.job.lifecycle import State
from interlock.testing.engine import DirectEngine

pytestmark = pytest.mark.long

ASKED = "train: {checks: ['true'], sign_off: owner}\n"


def work(world, *slugs: str) -> None:
    world.write("interlock.yaml", ASKED)
    for slug in slugs:
        world.card(slug, command=f"mkdir -p {slug}; echo x > {slug}/x")
    world.push()


def by_hand(world, name: str, *, on: str = "main", force: bool = True) -> str:
    """Somebody's own work on agent/a, from another clone; gives its commit."""
    other = world.root / f"by-{name}"
    world.git("clone", "-q", "-b", on, str(world.remote), str(other), at=world.root)
    (other / "a").mkdir(exist_ok=True)
    (other / "a" / name).write_text(f"{name}\n")
    world.git("add", "-A", at=other)
    world.git("commit", "-qm", name, at=other)
    world.git("push", "-q", *(["--force"] if force else []), "origin", "HEAD:refs/heads/agent/a", at=other)
    return str(world.git("rev-parse", "HEAD", at=other))


def tip(world) -> str:
    return str(world.git("rev-parse", "refs/heads/agent/a", at=world.remote))


def back(world, commit: str) -> None:
    world.git("push", "-q", "--force", str(world.remote), f"{commit}:refs/heads/agent/a")


def check_refused(world, town, stands: str) -> None:
    assert "branch-replaced" == town().rule("a")
    waiting = town().job("a").waiting
    assert stands[:12] in waiting.what
    (asked,) = [each for each in status(town().ports).asked if each["rule"] == "branch-replaced"]
    assert "interlock decide a --again" in [each["command"] for each in asked["options"]]
    assert not {"a/x", "a/first", "a/second"} & world.main_files(), "Neither of the two is landed."
    assert stands == tip(world), "And what stands there is left as it is."


def emptied(world) -> str:
    """Somebody puts agent/a back to the default branch: there is nothing to land any more."""
    world.git("update-ref", "refs/heads/agent/a", "main", at=world.remote)
    return tip(world)


@pytest.mark.parametrize("replace", [lambda world: by_hand(world, "second"), emptied], ids=["other-work", "emptied"])
def test_a_branch_that_was_replaced_after_the_signature_stops_the_landing_of_what_was_judged(world, town, replace):
    work(world, "a", "b")
    town().dispatch("a", "b")
    town().run()
    sign_off(town().ports, "@ana")
    judged = town().job("a").head
    assert judged == tip(world)
    stands = replace(world)
    town().run()
    check_refused(world, town, stands)
    sign_off(town().ports, "@ana")
    town().run()
    assert State.LANDED == town().job("b").state, "It holds up nobody else."
    decide.again(town().ports, "a", "ana")
    town().run()
    check_refused(world, town, stands)
    back(world, judged)
    decide.again(town().ports, "a", "ana")
    town().run()
    sign_off(town().ports, "@ana")
    town().run()
    assert "a/x" in world.main_files()


@pytest.mark.parametrize("on", ["main", "agent/a"], ids=["another", "one-more-commit"])
def test_an_adopted_branch_that_is_not_any_more_what_was_taken_over_stops_it_too(world, town, on):
    work(world, "a")
    first = by_hand(world, "first", force=False)
    dispatch(town().ports, ("a",), "ana", adopt="agent/a")
    town().run()
    assert first == tip(world), "What was adopted stays on its branch."
    sign_off(town().ports, "@ana")
    stands = by_hand(world, "second", on=on)
    town().run()
    check_refused(world, town, stands)
    said = town().job("a").waiting
    assert ("replaced" in said.what, "further commits" in said.what) == (
        (True, False) if on == "main" else (False, True)
    )
    assert said.ask.startswith("To land what was judged" if on == "main" else "To land what stands there now")
    decide.again(town().ports, "a", "ana")
    town().run()
    check_refused(world, town, stands)
    back(world, first)
    decide.again(town().ports, "a", "ana")
    town().run()
    sign_off(town().ports, "@ana")
    town().run()
    assert "a/first" in world.main_files()


class Before(DirectEngine):
    """Something happens before the first action of a kind."""

    def __init__(self, ports, kind, happens) -> None:
        super().__init__(ports)
        self.kind, self.happens = kind, happens

    def start(self, action) -> None:
        if action.kind == self.kind:
            self.happens()
            self.kind = ""
        super().start(action)


@pytest.mark.parametrize("on", ["main", "agent/a"], ids=["another", "one-more-commit"])
def test_an_adopted_branch_that_is_replaced_before_it_is_published_is_not_published(world, town, on):
    work(world, "a")
    by_hand(world, "first", force=False)
    dispatch(town().ports, ("a",), "ana", adopt="agent/a")
    stands = []
    supervise(town().ports, Before(town().ports, "publish", lambda: stands.append(by_hand(world, "second", on=on))))
    check_refused(world, town, *stands)
    assert ("replaced" in town().job("a").waiting.what) == (on == "main")


def test_a_branch_that_is_made_again_at_the_same_commit_or_whose_remote_is_away_lands_what_was_judged(world, town):
    work(world, "a")
    town().dispatch("a")
    town().run()
    judged = tip(world)
    away = world.remote.with_name("away")
    world.remote.rename(away)
    supervise(town().ports, DirectEngine(town().ports))
    sign_off(town().ports, "@ana")
    supervise(town().ports, DirectEngine(town().ports))
    assert State.READY == town().job("a").state
    away.rename(world.remote)
    world.git("update-ref", "-d", "refs/heads/agent/a", at=world.remote)
    world.git("update-ref", "refs/heads/agent/a", judged, at=world.remote)
    town().run()
    assert "a/x" in world.main_files()


def test_a_new_attempt_after_it_lands_and_what_stands_on_the_branch_is_kept(world, town):
    work(world, "a")
    town().dispatch("a")
    town().run()
    sign_off(town().ports, "@ana")
    stands = by_hand(world, "second")
    town().run()
    check_refused(world, town, stands)
    decide.retry(town().ports, "a", "write it in another way", "ana")
    town().run()
    sign_off(town().ports, "@ana")
    town().run()
    assert "a/x" in world.main_files()
    assert stands == tip(world)


def test_a_branch_that_was_deleted_replaces_nothing_and_what_was_judged_lands(world, town):
    work(world, "a")
    town().dispatch("a")
    town().run()
    sign_off(town().ports, "@ana")
    world.git("update-ref", "-d", "refs/heads/agent/a", at=world.remote)
    town().run()
    assert "a/x" in world.main_files()
