"""Approvals over the whole life of a job: a change that touches such paths waits, a person lets it go on, an agent cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from interlock.app import approvals, decide
from interlock.app.base import fresh_view
from interlock.app.redacting import Redaction
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import State
from interlock.core.problems import Misuse, Refused
from interlock.host import spool

pytestmark = pytest.mark.long

POLICY = """\
train: {checks: ['true'], sign_off: none}
approvals:
  deploy: {paths: [infra/**]}
  dns: {paths: [infra/dns/**]}
secrets:
  TOKEN: {variable: TOKEN_OF_A_TEST, approval: vault}
"""


COMMAND = "mkdir -p a infra/dns && echo x > infra/dns/z.tf && echo x > a/x"
OWNS = json.dumps(["a/**", "infra/**"])


@pytest.fixture
def waiting(world, town):
    """A job whose work touches infra and waits for something else, so that it stays open."""
    world.write("interlock.yaml", POLICY)
    world.card("a", command=COMMAND, owns=OWNS, checks=("false",))
    world.card("b", command="true")
    world.push()
    town().dispatch("a")
    town().run()
    assert town().rule("a") == "check-failed"
    return town()


def test_a_change_of_such_a_path_waits_by_name_until_each_is_approved(waiting):
    job, ports = waiting.job("a"), waiting.ports
    with pytest.raises(Refused) as caught:
        approvals.check_approved(ports, fresh_view(ports), job)
    refusal = caught.value.refusal
    assert refusal.rule == "approval"
    assert refusal.holders == ("deploy", "dns")
    assert "infra/dns/z.tf" in refusal.what
    assert "--approve deploy, then interlock decide a --approve dns" in refusal.would_change
    decide.approve(ports, "a", "deploy", "ana")
    with pytest.raises(Refused) as caught:
        approvals.check_approved(ports, fresh_view(ports), waiting.job("a"))
    assert caught.value.refusal.holders == ("dns",)
    decide.approve(ports, "a", "dns", "bo")
    approvals.check_approved(ports, fresh_view(ports), waiting.job("a"))
    assert waiting.job("a").approved == {"deploy": "ana", "dns": "bo"}


def test_an_approval_is_one_jobs_alone_and_its_giver_is_in_the_history(waiting):
    ports = waiting.ports
    waiting.dispatch("b")
    decide.approve(ports, "a", "deploy", "ana")
    notes = [event for event in ports.store.events(waiting.job("a").id) if "approved" in event.data]
    assert [(event.kind, event.actor, event.data["approved"]) for event in notes] == [("job.note", "ana", "deploy")]
    assert waiting.job("b").approved == {}


def test_a_verified_change_is_published_only_when_what_it_touches_is_approved(world, town):
    world.write("interlock.yaml", POLICY)
    world.card("a", command=COMMAND, owns=OWNS)
    world.push()
    town().dispatch("a")
    town().run()
    assert town().rule("a") == "approval"
    assert "agent/a" not in world.git("branch", at=world.remote)
    assert "infra/dns/z.tf" not in world.main_files()
    decide.approve(town().ports, "a", "deploy", "ana")
    town().run()
    assert town().rule("a") == "approval"
    decide.approve(town().ports, "a", "dns", "ana")
    town().run()
    assert town().job("a").state is State.LANDED
    assert "infra/dns/z.tf" in world.main_files()


def test_a_job_that_waits_for_an_approval_goes_on_when_it_is_given(waiting):
    ports, job = waiting.ports, waiting.job("a")
    data = {"rule": "approval", "what": "It changes infra.", "ask": "Approve it."}
    ports.store.record(NewEvent(subject=job.id, step="wait", kind="job.waits", data=data))
    assert waiting.rule("a") == "approval"
    assert decide.approve(ports, "a", "dns", "ana").state is State.WORKED


def test_an_unknown_name_is_refused_with_the_nearest_one(waiting):
    with pytest.raises(Misuse, match="No approval is called deplyo") as caught:
        decide.approve(waiting.ports, "a", "deplyo", "ana")
    assert "deploy" in caught.value.hint
    assert waiting.job("a").approved == {}
    decide.approve(waiting.ports, "a", "vault", "ana")
    assert waiting.job("a").approved == {"vault": "ana"}


def test_an_agent_cannot_approve(world, waiting):
    line = [sys.executable, "-m", "interlock", "decide", "a", "--approve", "deploy", "--as", "ana"]
    inside = subprocess.run(
        line, cwd=world.repo, env={**world.env, "INTERLOCK_JOB": "j1"}, capture_output=True, text=True
    )
    assert inside.returncode == 1
    assert "from inside a task" in inside.stderr
    assert waiting.job("a").approved == {}
    outside = subprocess.run(line, cwd=world.repo, env=world.env, capture_output=True, text=True)
    assert outside.returncode == 0, outside.stderr
    assert waiting.job("a").approved == {"deploy": "ana"}


def test_what_the_guards_refused_goes_on_the_record_once_without_secrets_and_approves_nothing(waiting):
    ports, job = waiting.ports, waiting.job("a")
    folder = ports.records.spool(job.id)
    spool.write(
        folder, 1, "note", "rm -rf / was refused, token s3cr3t-value.", {"guard": "guard", "approved": "deploy"}
    )
    spool.write(
        folder, 1, "note", "It needs deploy.", {"guard": "approval", "approval": "deploy", "approved": "deploy"}
    )
    spool.write(folder, 1, "note", "a remark", {})
    for _ in range(2):
        assert approvals.record_refusals(ports, job, 1, Redaction(texts=("s3cr3t-value",))) == ("deploy",)
    notes = [dict(event.data) for event in ports.store.events(job.id) if "guard" in event.data]
    assert notes == [
        {"text": "rm -rf / was refused, token [redacted].", "guard": "guard"},
        {"text": "It needs deploy.", "guard": "approval", "asked": "deploy"},
    ]
    assert waiting.job("a").approved == {}


def test_db_04_a_tasks_tree_never_gets_the_main_checkouts_env_file(world, town):
    world.write(".gitignore", ".env\n.env.*\n")
    world.card("a", command="mkdir -p a; cat .env ../.env > a/x 2>&1; env > a/env; ls -A > a/ls")
    world.push()
    for name in (".env", ".env.local"):
        (world.repo / name).write_text("DATABASE_URL=postgres://s3cr3t@main\n")
    town().dispatch("a")
    town().run()
    job = town().job("a")
    tree = world.repo if job.workspace is None else os.fspath(job.workspace)
    assert str(tree) != str(world.repo)
    for name in ("a/x", "a/env", "a/ls"):
        text = world.git("show", f"{job.head}:{name}", at=town().ports.repo.common_dir)
        assert "s3cr3t" not in text
        assert ".env.local" not in text
