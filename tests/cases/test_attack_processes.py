"""Processes that will not end: agents and checks that leave something behind in another session leave nothing."""

from __future__ import annotations

import time
from pathlib import Path

WORK = "mkdir -p {0}; echo 1 > {0}/f"
AGENTS = {
    "other-session": "setsid -f env -i bash -c 'trap \"\" TERM INT HUP; sleep 1; touch other-session/late'",
    "deaf": "trap '' TERM INT HUP; (trap '' TERM; while :; do sleep 0.1; date >> deaf/loop.log; done) & exit 0",
}


def test_what_an_agent_leaves_running_is_ended_before_its_work_is_judged(world, town):
    world.write(".gitignore", "*.log\n")
    for slug, leaves in AGENTS.items():
        world.card(slug, command=f"{WORK.format(slug)}; {leaves}")
    world.push()
    town().dispatch(*AGENTS)
    town().run()
    assert {"landed"} == {town().rule(slug) for slug in AGENTS}
    trees = {slug: Path(town().job(slug).workspace) for slug in AGENTS}
    log = trees["deaf"] / "deaf/loop.log"
    size = log.stat().st_size if log.exists() else 0
    time.sleep(1.2)
    assert not (trees["other-session"] / "other-session/late").exists()
    assert size == (log.stat().st_size if log.exists() else 0)


def test_a_server_that_a_check_leaves_is_ended_and_named(world, town):
    world.card("a", command=WORK.format("a"), checks=("setsid -f sleep 97",))
    world.push()
    town().dispatch("a")
    town().run()
    assert town().rule("a") == "landed"
    (verdict,) = [verdict for _, row in town().ports.store.evidence(town().job("a").id) for verdict in row.verdicts]
    assert any(name.endswith("sleep") for name in verdict.run.leftovers)
