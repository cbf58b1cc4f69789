"""What verification does beside running checks: base copies, acceptances by name, failures of the base, flakes that are remembered."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager

import pytest
from tests.app.conftest import Town
from tests.needs import needs_sandbox

from interlock.app.decide import accept, again
from interlock.app.rooms import Furnished
from interlock.app.running import Bench, key_of
from interlock.app.suite import run_suite
from interlock.core.contract.card import Check
from interlock.testing.world import World

PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONDONTWRITEBYTECODE=1 {sys.executable} -m pytest -q -p no:cacheprovider"
CI = ".gitlab-ci.yml"


def evidence(town, slug):
    rows = town.ports.store.evidence(town.job(slug).id)
    return rows[-1][1]


def test_checks_find_what_is_protected_as_on_the_base_and_the_evidence_says_so(world, town):
    world.write(CI, "base\n")
    world.card(
        "a",
        owns=f'["a/**", "{CI}"]',
        command=f"mkdir -p a; echo x > a/x; echo mine > {CI}",
        checks=(f"cat {CI} >> {world.root}/seen",),
    )
    world.push()
    town().dispatch("a")
    town().run()
    job = town().job("a")
    assert str(job.state) == "landed"
    assert (world.root / "seen").read_text().splitlines() == ["base", "mine"], "The train tests what lands."
    found = evidence(town(), "a")
    assert found.grafted == (CI,)
    assert found.tree == job.tree
    assert found.base_tree == town().ports.repo.tree_of(job.base)
    assert f"Judged with {CI} as on the base." in found.verdicts[0].notes


def test_what_judges_is_let_go_by_a_person_for_exactly_these_files(world, town):
    world.write("check.sh", "test -e a/x\n")
    world.card(
        "a", owns='["a/**", "*"]', command="mkdir -p a; echo x > a/x; echo true > check.sh", checks=("bash check.sh",)
    )
    world.push()
    town().dispatch("a")
    town().run()
    assert town().rule("a") == "judge-changed"
    accept(town().ports, "a", "ana")
    town().run()
    assert str(town().job("a").state) == "landed"
    assert evidence(town(), "a").waived == {"judge-changed": "ana"}


RED = "def test_red():\n    assert 0\n"


def test_failures_of_the_base_are_named_and_let_go_one_by_one(world, town):
    world.write("a/test_old.py", RED)
    world.card("a", command="echo x > a/x; echo 'def test_new(): pass' > a/test_new.py", checks=(f"{PYTEST} a",))
    world.card("b", owns='["a/**"]', command="echo 'def test_new(): assert 0' > a/test_new.py", checks=(f"{PYTEST} a",))
    world.push()
    town().dispatch("a")
    town().run()
    assert town().rule("a") == "base-fails"
    (check,) = town().job("a").waiting.detail["checks"]
    assert check["named"] == ["a.test_old::test_red"]
    accept(town().ports, "a", "ana")
    town().run()
    assert str(town().job("a").state) == "landed"
    town().dispatch("b")
    town().run()
    assert town().rule("b") == "tests-failed"
    assert (
        "New: a.test_new::test_new; failing on the base as well: a.test_old::test_red." in town().job("b").waiting.what
    )


SHAKY = """
from pathlib import Path
def test_shaky():
    mark = Path(__file__).resolve().parents[2] / "shaken"
    first = not mark.exists()
    mark.touch()
    assert not first
"""


def test_a_flaky_test_of_the_work_is_refused_and_stays_so_when_it_is_judged_again(world, town):
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: none}\nflakes: {reruns: 1}\n")
    world.write("a/test_old.py", "def test_old(): pass\n")
    world.card("a", command=f"cat > a/test_new.py <<'X'\n{SHAKY}X", checks=(f"{PYTEST} a",))
    world.push()
    town().dispatch("a")
    town().run()
    assert town().rule("a") == "flaky"
    assert evidence(town(), "a").verdicts[0].flaky == ("a.test_new::test_shaky",)
    assert [run.exit_code for run in evidence(town(), "a").verdicts[0].reruns] == [1]
    again(town().ports, "a", "ana")
    town().run()
    assert town().rule("a") == "flaky", "That it passed at last is no reason to forget that it failed."
    accept(town().ports, "a", "ana")
    town().run()
    assert str(town().job("a").state) == "landed"


def test_without_reruns_a_failure_is_believed_at_once(world, town):
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: none}\nflakes: {reruns: 0}\n")
    world.card("a", command=f"mkdir -p a; cat > a/test_new.py <<'X'\n{SHAKY}X", checks=(f"{PYTEST} a",))
    world.push()
    town().dispatch("a")
    town().run()
    assert town().rule("a") == "tests-failed"


def test_two_runs_of_one_tree_at_once_run_it_once(world, town, tmp_path):
    """The one that waited for the tree looks once more at what is known."""
    world.push()
    ports = town().ports
    commit = ports.repo.refresh().oid

    @contextmanager
    def bare(room):
        yield Furnished(room=room, env={}, redact=())

    counted = tmp_path / "counted"
    check = Check(run=f"echo run >> {counted}; sleep 0.3")
    logs = ports.records.job("x") / "checks"
    bench = Bench(commit=commit, tree=ports.repo.tree_of(commit), level="worktree", logs=logs, furnish=bare)
    threads = [threading.Thread(target=run_suite, args=(ports, [check], bench, None)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted.read_text() == "run\n"
    assert ports.store.cached_run(key_of(check, bench)) is not None


@pytest.mark.long
@needs_sandbox
def test_what_is_protected_is_found_so_behind_walls_as_well(tmp_path, monkeypatch):
    made = World.make(tmp_path / "w", level="sealed")
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    made.write(CI, "base\n")
    command = f"mkdir -p a; echo x > a/x; echo mine > {CI}"
    made.card("a", owns=f'["a/**", "{CI}"]', command=command, checks=(f"cat {CI}",))
    made.push()
    there = Town(made)
    there.dispatch("a")
    there.run()
    found = evidence(there, "a")
    assert (found.level, found.grafted, found.verdicts[0].run.tail) == ("sealed", (CI,), "base")
