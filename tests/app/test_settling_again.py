"""A fault while an attempt is settled loses nothing: it is settled again, and its agent is not paid for twice."""

from __future__ import annotations

import json

import pytest

from interlock.app import decide
from interlock.app.costs import spent
from interlock.app.show import show
from interlock.app.status import status
from interlock.app.usage import report
from interlock.core.job.events import NewEvent
from interlock.core.problems import Misuse, Refused

ANSWERS = """#!/bin/sh
cat >/dev/null
printf '\\n[GNUPG:] SIG_CREATED \\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\nx\\n'
"""


def test_an_attempt_that_could_not_be_settled_is_settled_by_resume_and_not_run_again(world, town):
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: none}\nsign_commits: true\n")
    gpg = world.root / "gpg"
    gpg.write_text("#!/bin/sh\nexit 1\n")
    gpg.chmod(0o755)
    world.git("config", "gpg.program", str(gpg))
    ran = world.root / "ran"
    world.card("one", command=f"echo x >> {ran}; mkdir -p one; echo 1 > one/f")
    world.git("-c", "commit.gpgsign=false", "add", "-A")
    world.push()
    town().dispatch("one")
    town().run()
    waiting = town().job("one").waiting
    assert waiting is not None
    assert waiting.rule in ("git", "signing")
    (item,) = status(town().ports).asked
    assert item["options"][0]["command"] == "interlock resume one"
    assert [row["state"] for row in show(town().ports, "one").attempts] == ["not settled"]

    gpg.write_text(ANSWERS)
    decide.resume(town().ports, "one", "ana")
    assert town().job("one").state == "running", "its agent has ended; what it left is not judged yet"
    town().run()
    assert town().rule("one") == "landed"
    assert (town().job("one").attempt, ran.read_text()) == (1, "x\n")
    kinds = [event.kind for event in town().ports.store.events(town().job("one").id)]
    assert kinds.count("attempt.started") == kinds.count("attempt.worked") == kinds.count("attempt.resumed") == 1


def test_what_is_not_settled_is_counted_by_its_calls(world, town):
    world.write(
        "interlock.yaml", "train: {checks: ['true'], sign_off: none}\nprices: {cheap: {input: 1, output: 10}}\n"
    )
    world.card("one")
    world.push()
    town().dispatch("one")
    ports, job = town().ports, town().job("one").id
    begun = {"agent": "command", "phase": "implement", "model": "cheap"}
    ports.store.record(NewEvent(subject=job, attempt=1, step="start", kind="attempt.started", data=begun))
    fault = {"rule": "git", "what": "git failed.", "ask": "Mend it."}
    ports.store.record(NewEvent(subject=job, step="fault:1", kind="job.waits", data=fault))
    call = {"at": 1.0, "upstream": "v", "model": "cheap", "usage": {"uncached_input": 1_000_000}, "seconds": 1.0}
    call |= {"status": 200, "refused": "", "estimated": False, "metered": True}
    (ports.records.attempt(job, 1) / "models.jsonl").write_text(json.dumps(call) + "\n")

    assert (spent(ports, town().job("one")).known, spent(ports, town().job("one")).usage.total) == (1.0, 1_000_000)
    (row, total) = report(ports, "class", since=0.0)
    assert (row.usd, row.attempts, row.unsettled, total.unsettled) == (1.0, 1, 1, 1)
    assert "1 (1 not settled)" in world.cli("usage").stdout


@pytest.mark.parametrize("rule", ["empty-diff", "agent-failed", "wall-limit"])
def test_an_answer_is_no_way_round_a_new_hypothesis(world, town, rule):
    world.card("one", extra="budget: {attempts: 9}\n")
    world.push()
    town().dispatch("one")

    def answer(text):
        job = town().job("one")
        data = {"rule": rule, "what": "It came to nothing.", "ask": "Retry."}
        town().ports.store.record(NewEvent(subject=job.id, step=f"w:{job.rev}", kind="job.waits", data=data))
        decide.answer(town().ports, "one", text, "ana")

    for empty in ("", "  ", "?!"):
        with pytest.raises(Misuse, match="needs words"):
            answer(empty)
    answer("Use the other file.")
    for said in ("Use the other file.", "use THE other file"):
        with pytest.raises(Refused) as refused:
            answer(said)
        assert refused.value.refusal.rule == "hypothesis"
        assert "SLUG" not in refused.value.refusal.would_change
    with pytest.raises(Refused):
        decide.retry(town().ports, "one", "Use the other file!", "ana")
    decide.retry(town().ports, "one", "a third way", "ana")
    with pytest.raises(Refused):
        answer("A third way")
    rule = "agent-stopped"
    answer("Use the other file.")  # what an agent asks may have the same answer twice
    with pytest.raises(Misuse):
        answer("...")
