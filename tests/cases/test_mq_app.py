"""Merge queue cases, the half that the use cases decide; the git half is in test_mq_git."""

import stat
from pathlib import Path

import pytest

from interlock.app import decide
from interlock.app.integrate import land_train, open_train
from interlock.app.integrate import prove_train as run_train
from interlock.app.sign_off import sign_off
from interlock.core.job.lifecycle import State

pytestmark = pytest.mark.long

OWNER = "train: {checks: ['true']}\n"


def agent(path: str) -> str:
    return f"mkdir -p $(dirname {path}) && echo x > {path}"


def ready(world, town, *slugs: str, policy: str = OWNER) -> None:
    world.write("interlock.yaml", policy)
    for slug in slugs:
        world.card(slug, command=agent(f"{slug}/x"))
    world.push()
    town().dispatch(*slugs)
    town().run()


def test_mq_03_a_hold_after_the_test_keeps_the_change_from_landing(world, town):
    ready(world, town, "a", "b")
    ports = town().ports
    sign_off(ports, "@ana")
    decide.hold(ports, "a", "ana", "wait for the release")
    town().run()
    assert [State.READY, State.READY] == [town().job(slug).state for slug in "ab"]
    assert "tested" == ports.store.train().phase, "what is left was tested anew and is asked for again"
    sign_off(ports, "@ana")
    town().run()
    assert [State.READY, State.LANDED] == [town().job(slug).state for slug in "ab"]
    assert {"b/x"} == {path for path in world.main_files() if path.endswith("/x")}


def test_mq_03_a_card_that_changes_after_the_test_is_verified_again(world, town):
    ready(world, town, "a")
    ports = town().ports
    sign_off(ports, "@ana")
    world.card("a", command=agent("a/x"), checks=("false",))
    world.push("stricter")
    town().run()
    assert "check-failed" == town().rule("a")
    assert "a/x" not in world.main_files()


def test_mq_03_the_default_branch_moves_between_test_and_landing(world, town):
    ready(world, town, "a")
    ports = town().ports
    sign_off(ports, "@ana")
    train = ports.store.train()
    world.write("other.txt", "by hand")
    world.push("by hand")
    assert {"landed": False} == land_train(ports, train.number)
    assert "testing" == ports.store.train().phase
    town().run()
    (row,) = ports.store.landings()
    assert row.tree == row.tested_tree == world.git("rev-parse", "HEAD^{tree}", at=world.remote)


def test_mq_05_a_change_that_fails_by_itself_is_put_out_and_the_others_land(world, town):
    ready(world, town, "a", "b", "c", policy="train: {checks: ['test ! -e a/x'], sign_off: none}\n")
    assert "red-alone" == town().rule("a")
    assert [State.LANDED, State.LANDED] == [town().job(slug).state for slug in "bc"]
    before = len(town().ports.store.trains())
    town().run()
    assert before == len(town().ports.store.trains()), "it is not queued again by itself"


def test_mq_07_a_remote_that_refuses_blocks_with_its_words_and_keeps_everything(world, town):
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: none}\n")
    world.card("a", command=agent("a/x"))
    world.push()
    hook = world.remote / "hooks" / "update"
    hook.write_text('#!/bin/sh\ntest "$1" != refs/heads/main || { echo "the freeze is on"; exit 1; }\n')
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    town().dispatch("a")
    town().run()
    job = town().job("a")
    assert "push-rejected" == town().rule("a")
    assert "the freeze is on" in job.waiting.what
    assert Path(job.workspace).exists()
    assert job.head == world.git("rev-parse", "agent/a")
    assert 1 == job.attempt, "the agent is not run again"
    hook.unlink()
    decide.resume(town().ports, "a", "ana")
    town().run()
    assert State.LANDED == town().job("a").state


def test_mq_08_the_main_checkout_with_its_edits_is_left_alone(world, town):
    world.write("notes.txt", "one\n")
    ready_before = world.push()
    world.write("notes.txt", "edited\n")
    world.write("a/x", "an untracked file in the way")
    world.card("a", command=agent("a/x"))
    world.git("add", "tasks")
    world.git("commit", "-qm", "card")
    world.git("push", "-q", "origin", "HEAD")
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: none}\n")
    town().dispatch("a")
    town().run()
    assert State.LANDED == town().job("a").state
    assert "edited\n" == (world.repo / "notes.txt").read_text()
    assert "an untracked file in the way" == (world.repo / "a/x").read_text()
    assert ready_before == world.git("rev-parse", "main^")


def test_mq_05_the_view_tells_a_failing_change_from_one_that_waits(world, town):
    ready(world, town, "a", "b", policy="train: {checks: ['test ! -e a/x']}\n")
    from interlock.app.status import status

    now = {job["slug"]: job["waits_for"] for job in status(town().ports).as_json()["jobs"]}
    assert {"a": "red-alone", "b": "train"} == now


def test_a_train_is_opened_once(world, town):
    ready(world, town, "a")
    assert {"opened": False} == open_train(town().ports, 7)
    assert {"tested": None} == run_train(town().ports, 7)


def test_mq_03_a_change_that_is_landing_is_not_taken_out(world, town):
    import pytest

    from interlock.core.problems import Refused

    ready(world, town, "a")
    sign_off(town().ports, "@ana")
    for leave in (decide.stop,):  # given up, it leaves a train of which nothing is on the remote
        with pytest.raises(Refused) as refused:
            leave(town().ports, "a", "ana", "changed my mind")
        assert ("landing", ("a",)) == (refused.value.refusal.rule, refused.value.refusal.holders)
    town().run()
    assert State.LANDED == town().job("a").state


@pytest.mark.parametrize(("style", "commits"), [("merge", 1), ("squash", 2), ("rebase", 2)])
def test_mq_02_the_landed_commits_say_what_for_and_which_proof_and_are_found_again(world, town, style, commits):
    ready(world, town, "a", "b", policy=f"train: {{checks: ['true'], sign_off: none, style: {style}}}\n")
    ports = town().ports
    base = ports.repo.refresh()
    rows = ports.store.landings()
    assert {"a", "b"} == {row.slug for row in rows}
    assert {world.git("rev-parse", "HEAD^{tree}", at=world.remote)} == {row.tree for row in rows}
    start = world.git("rev-list", "--first-parent", "HEAD", at=world.remote).splitlines()[commits]
    text = world.git("log", "--first-parent", "--format=%B", f"{start}..HEAD", at=world.remote)
    for slug in "ab":
        assert f"Do {slug}" in text
        assert f"Interlock-Job: {town().job(slug).id}" in text
        assert f"Interlock-Card: {slug}@" in text
        assert style == "rebase" or f"Interlock-Evidence: {slug} " in text
    assert ports.repo.landed_slugs(base.oid) >= {"a", "b"}
    (evidence,) = {row.evidence for row in rows}
    train = f"train:{rows[0].train}"
    found = dict(ports.store.evidence(train))[evidence]
    assert found.base_tree == world.git("rev-parse", f"{start}^{{tree}}", at=world.remote)
