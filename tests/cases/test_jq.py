"""Cases of the job queue that concern slots: the cap under a race, and locks whose holder dies."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from tests.integration.store import build

from interlock.adapters.store import SqlStore
from interlock.core.contract.policy import TaskClass
from interlock.core.problems import Refused

pytest_plugins = ("tests.integration.store.fixtures",)

DISPATCH = """
import json, sys
from interlock.adapters.store import SqlStore
from interlock.core.problems import Refused
from tests.integration.store import build
url, slug, name = sys.argv[1:]
store = SqlStore.open(url)
print("ready", flush=True)
sys.stdin.readline()
try:
    proof = store.admit(build.request(slug, name))
    print(json.dumps({"slug": slug, "class": name, "slot": proof.slot}))
except Refused as refused:
    print(json.dumps({"slug": slug, "class": name, **refused.refusal.as_json()}))
"""

# Dies (or stands still with its locks held) before the statement of that number of the admission's transaction.
HALT = """
import os, signal, sys, time
from sqlalchemy import event
from sqlalchemy.engine import Engine
left, how = int(sys.argv[2]), sys.argv[3]
@event.listens_for(Engine, "before_cursor_execute")
def count(connection, cursor, statement, *rest):
    global left
    if counting:
        left -= 1
        if left == 0 and how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if left == 0:
            print("holding", flush=True)
            time.sleep(60)
counting = False
from interlock.adapters.store import SqlStore
from tests.integration.store import build
store = SqlStore.open(sys.argv[1])
counting = True
store.admit(build.request("a", "migration"))
print("admitted")
"""


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def at_once(url: str, asked: list[tuple[str, str]]) -> list[dict[str, object]]:
    """Dispatch each (slug, class) in a process of its own, all let go at the same moment."""
    children = [python(DISPATCH, url, slug, name) for slug, name in asked]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "ready"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    return [json.loads(child.communicate(timeout=60)[0]) for child in children]


def test_jq_06_ten_processes_take_one_and_three_slots(store_url: str) -> None:
    store = SqlStore.open(store_url)
    build.set_caps(store, {"migration": 1, "slice": 3})
    asked = [(f"m{number}", "migration") for number in range(5)] + [(f"s{number}", "slice") for number in range(5)]
    answers = at_once(store_url, asked)
    for name, cap in (("migration", 1), ("slice", 3)):
        admitted = [answer for answer in answers if answer["class"] == name and "slot" in answer]
        refused = [answer for answer in answers if answer["class"] == name and "rule" in answer]
        slugs = {answer["slug"] for answer in admitted}
        assert {answer["slot"] for answer in admitted} == set(range(1, cap + 1))
        assert len(refused) == 5 - cap
        for answer in refused:
            assert (answer["rule"], answer["number"], set(answer["holders"])) == ("cap", cap, slugs)  # type: ignore[call-overload]
    assert {job.slug for job in store.jobs()} == {answer["slug"] for answer in answers if "slot" in answer}
    store.close()


@pytest.mark.long
def test_jq_06_ten_processes_meet_the_ceiling(store_url: str) -> None:
    store = SqlStore.open(store_url)
    build.set_caps(store, {"fix": 9, "slice": 9}, ceiling=3)
    answers = at_once(store_url, [(f"t{number}", "fix" if number % 2 else "slice") for number in range(10)])
    slugs = {answer["slug"] for answer in answers if "slot" in answer}
    assert len(slugs) == 3
    for answer in answers:
        if "slot" not in answer:
            assert (answer["rule"], set(answer["holders"])) == ("ceiling", slugs)  # type: ignore[call-overload]
    store.close()


@pytest.mark.parametrize("statement", [1, 4, 7, 8, 9, 10])
@pytest.mark.long
def test_jq_06_a_dispatch_that_dies_half_way_holds_nothing(store_url: str, statement: int) -> None:
    """Slot, job row, draft and event are one write: whoever dies before its end leaves none of them."""
    store = SqlStore.open(store_url)
    build.set_caps(store, {"migration": 1})
    before = store.events()
    child = python(HALT, store_url, str(statement), "die")
    out, _ = child.communicate(timeout=60)
    if child.returncode == 0:
        pytest.skip(f"The admission has fewer than {statement} statements on this database.")
    assert (child.returncode, out) == (-signal.SIGKILL, "")
    assert store.events() == before
    assert store.jobs() == ()
    assert store.admit(build.request("b", "migration")).slot == 1
    store.close()


def test_jq_02_a_lock_ends_with_its_holder(store_url: str) -> None:
    """The one that stands still while it admits is killed; the next one gets the lock at once and nobody's leftovers."""
    store = SqlStore.open(store_url)
    build.set_caps(store, {"migration": 1})
    child = python(HALT, store_url, "6", "hold")
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "holding"
    child.kill()
    child.communicate()
    began = time.monotonic()
    assert store.admit(build.request("b", "migration")).slot == 1
    assert time.monotonic() - began < 30, "it waits for nobody's leftovers"
    store.close()


def test_jq_07_classes_whose_names_differ_in_case_alone_are_two_classes_to_the_store(store: SqlStore) -> None:
    """The reader of caps.txt refuses such a pair; the store never mixes one's slots with the other's."""
    build.set_caps(store, {"slice": 1, "Slice": 0}, kinds={"slice": "parallel", "Slice": "parallel"})
    store.admit(build.request("a"))
    asked = build.request("b")
    other = TaskClass(name="Slice", kind="parallel")
    with pytest.raises(Refused) as caught:
        store.admit(replace(asked, task_class=other))
    assert caught.value.refusal.holders == ()
