"""What was abandoned holds nobody up: a train goes on without it, and it is not started again by itself."""

from __future__ import annotations

from interlock.app import decide
from interlock.app.base import fresh_view
from interlock.app.dispatch import abandon, given_up, ready_slugs
from interlock.app.sign_off import sign_off
from interlock.app.status import status
from interlock.core.job.lifecycle import State
from interlock.mcp.tools import call


def test_an_abandoned_member_leaves_the_train_and_the_next_run_heals_one_that_is_blocked(world, town):
    world.write("interlock.yaml", "train: {checks: ['true'], batch: 2}\n")
    for slug in "abc":
        world.card(slug, command=f"mkdir -p {slug} && echo x > {slug}/x")
    world.push()
    town().dispatch("a", "b")
    town().run()
    ports = town().ports
    (asked,) = status(ports).asked
    assert "a, b" in asked["what"]
    assert [each["command"] for each in asked["options"]] == ["interlock sign-off --as @ana"]
    decide.abandon(ports, "a", "ana", "not needed")
    assert not status(ports).asked, "Nobody is asked to sign what cannot land."
    town().dispatch("c")
    town().run()
    asked, further = status(ports).asked
    assert asked["what"] == "The combined result of b is green."
    assert further["what"] == "The combined result of c is green.", "It waits for nobody else's sign-off."
    assert [each["command"] for each in further["options"]] == ["interlock sign-off --as @ana --train 2"]
    abandon(ports, town().job("b"), "ana", "closed by itself, as before trains were told of it")
    town().run()
    (asked,) = status(ports).asked
    assert asked["what"] == "The combined result of c is green."
    sign_off(ports, "@ana")
    town().run()
    assert (town().job("c").state, world.main_files() & {"a/x", "b/x", "c/x"}) == (State.LANDED, {"c/x"})


def test_what_a_person_abandoned_is_not_started_by_itself_until_its_card_changes_or_it_is_named(
    world, town, monkeypatch
):
    monkeypatch.chdir(world.repo)
    for slug in "ab":
        world.card(slug)
    world.push()
    town().dispatch("a")
    decide.abandon(town().ports, "a", "ana", "not needed")
    world.cli("clean", "a")
    checked = world.cli("card", "check")
    assert "abandoned: a. Change the card, or name it: interlock dispatch a" in checked.stdout
    assert checked.stdout.splitlines()[-1] == "next: interlock dispatch b"
    assert call("list", {}, "boss")[0]["abandoned"] == ["a"]
    assert call("card_check", {}, "boss")[0]["abandoned"] == ["a"]
    done = world.cli("dispatch", "--ready")
    assert "a was abandoned and is left out" in done.stderr
    assert [job.slug for job in town().ports.store.jobs()] == ["b"]
    assert call("list", {}, "boss")[0]["cards"] == []
    world.card("a", checks=("true", "test -e a"))
    world.push()
    assert given_up(town().ports, town().ports.repo.refresh().oid) == ()
    assert ready_slugs(town().ports, fresh_view(town().ports)) == ("a",)
    assert town().dispatch("a").job is not None
