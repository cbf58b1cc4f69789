"""What attackers of the train found: runs made twice by a crash, a remote that is away, needs taken back, a branch forced back."""

from __future__ import annotations

import json

import pytest

from interlock.app import decide
from interlock.app.integrate import land_train, run_train
from interlock.app.lost_landings import rewound
from interlock.app.sign_off import sign_off
from interlock.app.status import status
from interlock.app.waiting import or_wait, passed_at
from interlock.core.job.lifecycle import State
from interlock.core.problems import InterlockError, Refused
from interlock.wiring import open_ports

pytestmark = pytest.mark.long

FOUND = "f" * 40


def policy(world, *, slots: int = 1, check: str = "true", sign: str = "none") -> None:
    train = f"checks: [{json.dumps(check)}], slots: {slots}, sign_off: {sign}"
    world.write("interlock.yaml", f"train: {{{train}}}\n")


def ready(world, town, *slugs: str, needs: dict[str, str] | None = None) -> None:
    """Changes that are verified and held, on the present default branch."""
    if world.git("ls-remote", "origin", "main"):
        world.git("pull", "-q", "origin", "main")
    for slug in slugs:
        after = (needs or {}).get(slug)
        more = {"needs": f'["{after}"]'} if after else {}
        world.card(slug, command=f"mkdir -p {slug}; echo x > {slug}/x", **more)
    world.push()
    held(town, *slugs)


def held(town, *slugs: str) -> None:
    town().dispatch(*slugs)
    for slug in slugs:
        decide.hold(town().ports, slug, "ana", "together")
    town().run()


def go(town, *slugs: str) -> None:
    for slug in slugs:
        decide.hold(town().ports, slug, "ana", None)
    town().run()


def signed(world, town):
    """A train of one change that owners signed, and has not landed."""
    policy(world, sign="owner")
    ready(world, town, "a")
    go(town, "a")
    sign_off(town().ports, "@ana")
    return town().ports.store.train()


def again(ports, train, *, state: str) -> None:
    """The evidence of the sealed commit once more, newer, as a run that a crash cut off leaves it."""
    from dataclasses import replace

    _, last = ports.store.evidence(f"train:{train.number}", commit=train.candidate)[-1]
    verdicts = tuple(
        replace(verdict, state=state, rule=None if state == "passed" else "check-failed") for verdict in last.verdicts
    )
    ports.store.add_evidence(replace(last, verdicts=verdicts))


# ---------------------------------------------------------------- a crash after the evidence
def test_newer_evidence_that_fails_keeps_the_commit_from_the_remote(world, town):
    train = signed(world, town)
    before = world.git("rev-parse", "HEAD", at=world.remote)
    again(town().ports, train, state="refused")
    assert {"landed": False} == land_train(town().ports, train.number)
    assert before == world.git("rev-parse", "HEAD", at=world.remote)
    assert "check-failed" == town().rule("a")


def test_newer_evidence_of_the_same_commit_that_passes_lands(world, town):
    train = signed(world, town)
    again(town().ports, train, state="passed")
    assert {"landed": True} == land_train(town().ports, train.number)
    assert State.LANDED == town().job("a").state


def test_what_is_on_the_remote_and_unproven_is_told_with_a_way_out(world, town):
    train = signed(world, town)
    again(town().ports, train, state="refused")
    world.git("push", "-q", str(world.remote), f"{train.candidate}:refs/heads/main", at=town().ports.repo.mirror.path)
    assert {"landed": False} == land_train(town().ports, train.number)
    assert "landed-otherwise" == town().rule("a")
    assert not town().ports.store.open_trains()


def test_a_run_that_is_written_down_already_is_not_made_again(world, town):
    policy(world, slots=2, sign="owner")
    ready(world, town, "a")
    go(town, "a")
    ports = town().ports
    train = ports.store.train()
    sign_off(ports, "@ana")
    rows = ports.store.evidence("train:1")
    run = train.ran[-1]
    assert {"ran": False} == run_train(ports, f"run:1:{run.base}:1:{'+'.join(run.members)}")
    assert rows == ports.store.evidence("train:1")


# ---------------------------------------------------------------- a remote that is away
@pytest.mark.parametrize("slots", [1, 2])
def test_a_remote_that_is_away_during_the_test_puts_nobody_out(world, town, slots):
    policy(world, slots=slots)
    ready(world, town, "a", "b")
    away = world.remote.with_suffix(".away")
    world.remote.rename(away)
    go(town, "a", "b")
    assert [State.READY, State.READY] == [town().job(slug).state for slug in "ab"]
    assert any("Nothing is put out; interlock run tries again." in line for line in town().said)
    away.rename(world.remote)
    town().run()
    assert {"a", "b"} == {row.slug for row in town().ports.store.landings()}


def test_a_fault_that_a_person_has_to_mend_still_waits(world, town):
    policy(world)
    ready(world, town, "a")
    decide.hold(town().ports, "a", "ana", None)
    ports = town().ports
    from interlock.app.integrate import open_train

    open_train(ports, 1)

    def turned_away(*_: object) -> None:
        from interlock.adapters.git.errors import GitFailed

        raise GitFailed(["git", "ls-remote"], 128, "git@host: Permission denied (publickey).")

    or_wait(turned_away)(ports, "train:1", 1)
    assert "git" == town().rule("a")
    assert passed_at(ports, "train:1") is None


@pytest.mark.parametrize(
    ("words", "text", "passes"),
    [
        (["git", "ls-remote"], "fatal: unable to access 'https://host/': Could not resolve host: host", True),
        (["git", "fetch"], "it did not end within 600 s", True),
        (["git", "update-ref"], "fatal: cannot lock ref 'refs/remotes/origin/main'", True),
        (["git", "push"], "remote: Repository not found.", False),
        (["git", "push"], "fatal: Authentication failed for 'https://host/'", False),
        (["git", "merge-tree"], "fatal: not a tree object", False),
    ],
)
def test_which_faults_of_git_pass_by_themselves(words, text, passes):
    from interlock.adapters.git.errors import GitFailed

    assert passes is GitFailed(words, 128, text).passing
    assert not InterlockError("another").passing


# ---------------------------------------------------------------- needs that are taken back
def outside(world):
    other = world.root / "outside"
    world.git("clone", "-q", str(world.remote), str(other), at=world.root)
    return other


def take_back(world, slug: str) -> None:
    """Somebody else takes a landed change back, on the default branch."""
    other = outside(world)
    world.git("rm", "-q", "-r", slug, at=other)
    trailer = f"Interlock-Reverts: {slug}@{FOUND[:12]}"
    world.git("commit", "-q", "-m", f"Revert {slug}\n\n{trailer}", at=other)
    world.git("push", "-q", "origin", "HEAD:main", at=other)


@pytest.mark.parametrize("slots", [1, 2])
def test_a_change_does_not_land_without_what_it_needs(world, town, slots):
    policy(world, slots=slots)
    ready(world, town, "a")
    go(town, "a")
    ready(world, town, "b", "c", needs={"b": "a"})
    take_back(world, "a")
    town().ports.repo.refresh()
    go(town, "b", "c")
    assert "depends-on" == town().rule("b")
    assert "a" in town().job("b").waiting.what
    assert State.LANDED == town().ports.store.jobs(open_only=False)[-1].state
    assert "b/x" not in world.main_files()


def test_a_need_that_is_taken_back_while_its_train_is_in_test_puts_the_member_out(world, town):
    policy(world, sign="owner")
    ready(world, town, "a")
    go(town, "a")
    sign_off(town().ports, "@ana")
    town().run()
    ready(world, town, "b", needs={"b": "a"})
    go(town, "b")
    sign_off(town().ports, "@ana")
    take_back(world, "a")
    town().run()
    assert "depends-on" == town().rule("b")
    assert "b/x" not in world.main_files()


# ---------------------------------------------------------------- a default branch that is forced back
def test_a_landing_that_is_forced_off_the_branch_is_told_and_may_be_done_again(world, town):
    policy(world)
    ready(world, town, "a")
    go(town, "a")
    assert () == rewound(town().ports)
    world.git("update-ref", "refs/heads/main", "main~1", at=world.remote)
    assert "base-rewound: a landed as" in world.cli("run").stdout
    assert "base-rewound" in [each["rule"] for each in status(open_ports(world.repo)).asked]
    assert ["a"] == [each["slug"] for each in world.ask("train", "show")["rewound"]]
    world.cli("clean", "a")
    world.git("branch", "-D", "agent/a", at=world.remote)
    world.cli("dispatch", "a")
    world.cli("run")
    assert "a/x" in world.main_files()
    assert () == rewound(open_ports(world.repo))


def test_what_landed_and_stands_is_not_done_twice(world, town):
    policy(world)
    ready(world, town, "a")
    go(town, "a")
    refused = town().dispatch("a").refusal
    assert refused is not None
    assert "already-landed" == refused.rule


# ---------------------------------------------------------------- what a run's end says, and giving up after a signature
def test_a_run_that_could_not_do_what_is_due_ends_with_1(world, town):
    signed(world, town)
    hook = world.remote / "hooks" / "pre-receive"
    away = world.remote.with_suffix(".away")
    hook.write_text(f"#!/bin/sh\nmv {world.remote} {away}\nkill -9 $PPID\n")
    hook.chmod(0o755)
    done = world.cli("run", code=None)
    assert 1 == done.returncode
    assert "still due: train-land:1" in done.stdout
    away.rename(world.remote)
    hook.unlink()
    assert 0 == world.cli("run").returncode
    assert "a/x" in world.main_files()


def test_a_signed_change_may_be_given_up_as_long_as_nothing_of_it_is_on_the_remote(world, town):
    train = signed(world, town)
    decide.abandon(town().ports, "a", "ana", "too late")
    town().run()
    assert train.number == town().ports.store.trains()[-1].number
    assert "a/x" not in world.main_files()
    assert not town().ports.store.open_trains()


def test_a_signed_change_whose_commit_is_on_the_remote_is_not_given_up(world, town):
    train = signed(world, town)
    world.git("push", "-q", str(world.remote), f"{train.candidate}:refs/heads/main", at=town().ports.repo.mirror.path)
    with pytest.raises(Refused, match="on the default branch already"):
        decide.abandon(town().ports, "a", "ana", "too late")
    town().run()
    assert {"a"} == {row.slug for row in town().ports.store.landings()}
