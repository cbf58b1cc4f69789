"""Sign-off that holds up nobody else: each owner signs their own combined result, may take it back, and is asked again only when it changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from interlock.app import decide
from interlock.app.integrate import land_train
from interlock.app.sign_off import sign_off, withdraw
from interlock.app.status import status
from interlock.app.train_show import trains_json
from interlock.core.job.lifecycle import State
from interlock.core.problems import Misuse, Refused

pytestmark = pytest.mark.long

ASKED = "train: {checks: ['true'], sign_off: owner}\nclasses: {tests: {sign_off: none}}\n"


def agent(path: str) -> str:
    return f"mkdir -p $(dirname {path}) && echo x > {path}"


def card(world, slug: str, owner: str = "@ana", klass: str = "vertical-slice") -> None:
    world.card(slug, command=agent(f"{slug}/x"), klass=klass)
    path = world.repo / f"tasks/{slug}.yaml"
    path.write_text(path.read_text().replace('"@ana"', f'"{owner}"'))


def test_g5_nobody_waits_for_the_sign_off_of_another_owner(world, town):
    """One owner is away: what needs nobody lands, another owner's lands, and the first signature later still holds."""
    world.write("interlock.yaml", ASKED)
    card(world, "a")
    card(world, "b", "@ben")
    card(world, "free", klass="tests")
    world.push()
    town().dispatch("a", "b", "free")
    town().run()
    ports = town().ports
    assert State.LANDED == town().job("free").state
    assert ["@ana", "@ben"] == sorted(asked["owner"] for asked in status(ports).asked)
    with pytest.raises(Refused) as refused:
        sign_off(ports, "@zoe")
    assert ("sign-off", ("@ana", "@ben")) == (refused.value.refusal.rule, tuple(sorted(refused.value.refusal.holders)))
    sign_off(ports, "@ben")
    town().run()
    assert [State.READY, State.LANDED] == [town().job(slug).state for slug in "ab"]
    sign_off(ports, "@ana")
    town().run()
    assert State.LANDED == town().job("a").state, "The difference that was signed is the one that landed."
    assert all(row.tree == row.tested_tree for row in ports.store.landings())
    assert {"a/x", "b/x", "free/x"} <= world.main_files()


def test_g5_a_signature_is_asked_again_when_the_merged_difference_changes(world, town):
    world.write("interlock.yaml", ASKED)
    world.write("a/x", "".join(f"{number}\n" for number in range(30)))
    card(world, "a")
    world.card("a", command="sed -i s/^3$/three/ a/x")
    world.push()
    town().dispatch("a")
    town().run()
    sign_off(town().ports, "@ana")
    world.write("a/x", "".join(f"{number}\n" for number in [*range(29), "twenty-nine"]))
    world.push("the same file, elsewhere")
    town().run()
    assert State.READY == town().job("a").state
    (asked,) = status(town().ports).asked
    assert "sign-off" == asked["rule"]
    sign_off(town().ports, "@ana")
    town().run()
    assert State.LANDED == town().job("a").state


def test_mq_03_a_sign_off_that_is_taken_back_keeps_the_change_from_landing(world, town):
    world.write("interlock.yaml", ASKED)
    card(world, "a")
    world.push()
    town().dispatch("a")
    town().run()
    ports = town().ports
    with pytest.raises(Misuse):
        withdraw(ports, "@ana")
    sign_off(ports, "@ana")
    assert "tested" == withdraw(ports, "@ana").phase
    town().run()
    assert State.READY == town().job("a").state
    assert "a/x" not in world.main_files()
    sign_off(ports, "@ana")
    train = ports.store.train()
    world.git("push", "-q", str(world.remote), f"{train.candidate}:refs/heads/main", at=ports.repo.mirror.path)
    with pytest.raises(Refused) as refused:
        withdraw(ports, "@ana")
    assert "landing" == refused.value.refusal.rule, "It is on the default branch already."
    assert {"landed": True} == land_train(ports, train.number)


def test_mq_03_a_new_head_after_the_test_is_not_landed_and_the_old_one_neither(world, town):
    world.write("interlock.yaml", ASKED)
    card(world, "a")
    card(world, "b")
    world.push()
    town().dispatch("a", "b")
    town().run()
    ports = town().ports
    sign_off(ports, "@ana")
    decide.hold(ports, "a", "ana", "more commits come")
    town().run()
    assert not ports.store.landings()
    assert ["b"] == [member.slug for member in ports.store.train().members]


def test_stalled_what_waits_too_long_is_told_with_the_reason(world, town):
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: owner, stalled: 60s}\n")
    card(world, "a")
    world.card("b", command=agent("b/x"), needs='["a"]')
    world.push()
    town().dispatch("a")
    town().run()
    ports = town().ports
    assert "stalled" not in [asked["rule"] for asked in status(ports).asked]
    now = ports.clock.now()

    class Later:
        def now(self) -> float:
            return float(now + 61)

    late = replace(ports, clock=Later())
    (stall,) = [asked for asked in status(late).asked if asked["rule"] == "stalled"]
    assert "a: waits for the sign-off of @ana." in stall["what"]
    assert {"a": "waits for the sign-off of @ana"} == status(late).as_json()["stalled"]["why"]
    (member,) = trains_json(late)["members"]
    assert ("a", "tested", [], "waits for the sign-off of @ana") == tuple(
        member[key] for key in ("slug", "state", "tested_with", "why")
    )


def test_landed_otherwise_stops_every_train_until_a_person_has_answered(world, town):
    """The remote takes the commit and puts its branch back: nothing is recorded as landed, and nobody else lands meanwhile."""
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: none}\n")
    card(world, "a")
    card(world, "b")
    base = world.push()
    town().dispatch("a")
    hook = world.remote / "hooks" / "post-receive"
    hook.write_text(f"#!/bin/sh\ntest -e done || {{ touch done; git update-ref refs/heads/main {base}; }}\n")
    hook.chmod(0o755)
    decide.hold(town().ports, "a", "ana", "first")
    town().run()
    (world.remote / "done").unlink(missing_ok=True)
    decide.hold(town().ports, "a", "ana", None)
    town().run()
    assert "landed-otherwise" == town().rule("a")
    assert not town().ports.store.landings()
    town().dispatch("b")
    town().run()
    assert State.READY == town().job("b").state
    assert any("ALARM" in said for said in town().said)
    decide.resume(town().ports, "a", "ana")
    town().run()
    assert [State.LANDED, State.LANDED] == [town().job(slug).state for slug in "ab"]


def test_mq_03_commits_that_somebody_pushes_onto_the_branch_are_neither_landed_nor_dropped(world, town):
    """The remote is asked at the moment of the landing, whatever was fetched before."""
    world.write("interlock.yaml", ASKED)
    card(world, "a")
    card(world, "b")
    world.push()
    town().dispatch("a", "b")
    town().run()
    ports = town().ports
    sign_off(ports, "@ana")
    other = world.root / "other"
    world.git("clone", "-q", "-b", "agent/a", str(world.remote), str(other))
    (other / "a" / "more").write_text("by hand")
    world.git("add", "-A", at=other)
    world.git("commit", "-qm", "more", at=other)
    world.git("push", "-q", at=other)
    town().run()
    assert "head-moved" == town().rule("a")
    assert "a/x" not in world.main_files()
    assert "a/more" in world.git("ls-tree", "-r", "--name-only", "agent/a", at=world.remote)
    sign_off(ports, "@ana")
    town().run()
    assert State.LANDED == town().job("b").state
