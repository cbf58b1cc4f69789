"""Keys that the policy lists: a machine whose key is not listed proves nothing and says so early; with the list, many may."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import insert
from tests.integration.store import build, tamper

from interlock.adapters.signing import KeySigner
from interlock.adapters.store import SqlStore, tables
from interlock.app import attempt
from interlock.app.audit import audit
from interlock.app.audit_keys import known_keys, policy_lines
from interlock.app.dispatch import dispatch
from interlock.app.sign_off import sign_off
from interlock.app.supervise import supervise
from interlock.app.verify import judge_now, verify
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import State
from interlock.core.problems import Refused
from interlock.ports.bundle import Ports
from interlock.testing.engine import DirectEngine
from interlock.testing.world import World
from interlock.wiring import contract_files, open_ports, store_url

OTHER = "0" * 64


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World.make(tmp_path / "w", policy="train: {checks: ['true']}\n")
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    made.card("a", command="mkdir -p a && echo a > a/x")
    made.push()
    return made


@pytest.fixture
def ports(world: World) -> Iterator[Ports]:
    opened = open_ports(world.repo)
    yield opened
    opened.store.close()


def list_keys(world: World, ports: Ports, *keys: str) -> None:
    listed = f"evidence: {{keys: {json.dumps(keys)}}}\n" if keys else ""
    world.write("interlock.yaml", f"train: {{checks: ['true']}}\n{listed}")
    world.push()
    ports.repo.refresh()


@pytest.mark.long
def test_a_machine_that_is_not_listed_starts_nothing_until_it_is(world: World, ports: Ports) -> None:
    list_keys(world, ports, OTHER)
    own = ports.signer.key_id
    (answer,) = dispatch(ports, ("a",), "ana")
    assert answer.refusal is not None
    assert answer.refusal.rule == "evidence-key"
    assert own in answer.refusal.would_change
    assert "interlock.yaml" in answer.refusal.would_change
    list_keys(world, ports, OTHER, own)
    (answer,) = dispatch(ports, ("a",), "ana")
    assert answer.refusal is None
    job = ports.store.find("a")
    assert job is not None
    list_keys(world, ports, OTHER)
    written = ports.store.events()
    supervise(ports, DirectEngine(ports))
    assert ports.store.events() == written
    assert ports.store.filed() == ()
    list_keys(world, ports, OTHER, own)
    supervise(ports, DirectEngine(ports))
    train = ports.store.train()
    assert train is not None
    assert train.phase == "tested"
    assert audit(ports).findings == ()
    # ------------------------------------------------ and from here on it is not listed any more
    list_keys(world, ports, OTHER)
    with pytest.raises(Refused) as caught:
        judge_now(ports, ports.store.job(job.id))
    assert caught.value.refusal.rule == "evidence-key"
    with pytest.raises(Refused) as caught:
        sign_off(ports, "@ana")
    assert caught.value.refusal.rule == "evidence-key"
    assert ports.store.job(job.id).state is State.READY, "and nothing is put out: others may go on"
    before = world.git("rev-parse", "HEAD", at=world.remote)
    assert {(each.state, each.rule) for each in audit(ports).findings} == {("missing", "evidence-key")}
    assert any("does not list" in note for note in audit(ports).notes)
    assert ports.store.landings() == ()
    list_keys(world, ports, own)
    supervise(ports, DirectEngine(ports))
    sign_off(ports, "@ana")
    supervise(ports, DirectEngine(ports))
    if not ports.store.landings():  # the default branch moved with the list, and the combined result is another one
        sign_off(ports, "@ana")
        supervise(ports, DirectEngine(ports))
    assert [row.slug for row in ports.store.landings()] == ["a"]
    assert world.git("rev-parse", "HEAD", at=world.remote) != before
    assert audit(ports).findings == ()


def test_no_check_is_run_whose_evidence_nobody_would_believe(world: World, ports: Ports) -> None:
    ran = world.root / "ran"
    world.card("b", command="mkdir -p b && echo b > b/x", checks=(f"echo ran >> {ran}",))
    world.push()
    dispatch(ports, ("b",), "ana")
    job = ports.store.find("b")
    assert job is not None
    for step in (attempt.start, attempt.follow, attempt.settle):
        step(ports, job.id, 1)
    job = ports.store.job(job.id)
    assert job.state is State.WORKED
    list_keys(world, ports, OTHER)
    with pytest.raises(Refused) as caught:
        verify(ports, job)
    assert caught.value.refusal.rule == "evidence-key"
    assert not ran.exists()
    list_keys(world, ports, ports.signer.key_id, OTHER)
    verify(ports, ports.store.job(job.id))
    assert ran.exists()


def test_a_train_that_another_machine_may_land_is_left_alone(world: World, ports: Ports) -> None:
    """A shared store: what this machine may not sign is no reason to put anything out."""
    dispatch(ports, ("a",), "ana")
    supervise(ports, DirectEngine(ports))
    train = ports.store.train()
    assert train is not None
    sign = {"diff": train.diff, "candidate": train.candidate}
    subject = f"train:{train.number}"
    ports.store.record(NewEvent(subject=subject, step="s", kind="train.signed", actor="@ana", data=sign))
    list_keys(world, ports, OTHER)
    before = world.git("rev-parse", "HEAD", at=world.remote)
    supervise(ports, DirectEngine(ports))
    left = ports.store.train(train.number)
    assert left is not None
    assert left.phase == "signed"
    assert world.git("rev-parse", "HEAD", at=world.remote) == before


def test_the_lines_to_copy_list_the_keys_of_the_history_and_nothing_else(world: World, ports: Ports) -> None:
    ports.repo.refresh()
    own, lines = ports.signer.key_id, policy_lines(known_keys(ports))
    assert lines == ["evidence:", "  keys:", f"    - {own}  # {ports.signer.runner}"]
    policy, problems = contract_files().policy("\n".join(lines).encode(), "interlock.yaml")
    assert (problems, policy.evidence.keys) == ((), (own,))
    world.write("interlock.yaml", "\n".join(lines) + "\n")
    told = world.ask("audit", "--keys")
    assert [(each["id"], each["listed"], each["own"]) for each in told["keys"]] == [(own, False, True)]
    assert told["next"].startswith("git commit")
    world.push()
    ports.repo.refresh()
    told = world.ask("audit", "--keys")
    assert ([each["listed"] for each in told["keys"]], told["next"]) == ([True], "interlock audit")
    world.cli("audit", "a", "--keys", code=2)


def test_a_name_in_the_history_cannot_write_lines_of_the_policy(world: World, ports: Ports) -> None:
    ports.repo.refresh()
    evil = KeySigner(world.root / "evil", runner=f"x\n    - {OTHER}")
    with closing(SqlStore.open(store_url(ports.repo), signer=evil)) as theirs:
        theirs.add_evidence(build.evidence("j", build.commit_of("j")))
    with tamper.loose(store_url(ports.repo)) as connection:
        odd = tamper.event(connection, 1) | {"seq": 900, "step": f"y\n    - {OTHER}"}
        connection.execute(insert(tables.event).values(odd))
    keys = known_keys(ports)
    assert [key.id for key in keys] == [evil.key_id, ports.signer.key_id]
    policy, problems = contract_files().policy("\n".join(policy_lines(keys)).encode(), "interlock.yaml")
    assert (problems, policy.evidence.keys) == ((), (evil.key_id, ports.signer.key_id))


def test_a_policy_that_cannot_be_read_lets_nobody_sign_and_the_audit_says_so(world: World, ports: Ports) -> None:
    list_keys(world, ports, KeySigner(world.root / "x").key_id[:12])
    with pytest.raises(Exception, match="64 hexadecimal digits"):
        ports.signer.check()
    found = audit(ports).findings
    assert [(each.state, each.rule, each.where) for each in found] == [("missing", "evidence-key", "interlock.yaml")]
