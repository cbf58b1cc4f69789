"""What verification does beside running checks: base copies, acceptances by name, failures of the base, flakes that are remembered."""

from __future__ import annotations

import shlex
import sys
import threading
from contextlib import contextmanager

import pytest
from tests.app.conftest import Town
from tests.needs import needs_sandbox

from interlock.app.decide import accept, again
from interlock.app.rooms import Furnished
from interlock.app.running import Bench, key_of
from interlock.app.status import status
from interlock.app.suite import run_suite
from interlock.app.train_show import trains_json
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


@pytest.mark.long
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


ADDS = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_add.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
    "pytest.ini": "[pytest]\npythonpath = .\n",
}


def test_product_code_that_asks_for_its_test_is_let_go_by_a_person_for_exactly_these_places(world, town):
    for path, text in ADDS.items():
        world.write(path, text)
    asks = "import sys\n\nQUIET = 'pytest' in sys.modules\n"
    world.card(
        "a", owns='["quiet.py"]', command=f"printf '%s' {shlex.quote(asks)} > quiet.py", checks=(f"{PYTEST} tests",)
    )
    world.push()
    town().dispatch("a")
    town().run()
    waiting = town().job("a").waiting
    assert waiting.rule == "knows-tests"
    assert "newly asks whether it is being tested: quiet.py:3: it asks for pytest in sys.modules." in waiting.what
    assert waiting.ask.startswith("Have the question taken out by a retry, or accept exactly these places")
    accept(town().ports, "a", "ana")
    town().run()
    assert str(town().job("a").state) == "landed"
    assert evidence(town(), "a").waived == {"knows-tests": "ana"}


def test_an_expected_value_that_changed_with_the_product_is_shown_to_the_owner_before_the_sign_off(
    tmp_path, monkeypatch
):
    world = World.make(tmp_path / "w", policy="train: {checks: ['true'], sign_off: owner}\n")
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    for path, text in ADDS.items():
        world.write(path, text)
    change = "sed -i 's/a + b/a + b + 1/' calc.py; sed -i 's/== 4/== 5/' tests/test_add.py"
    world.card("a", owns='["calc.py", "tests/**"]', command=change, checks=(f"{PYTEST} tests",))
    world.push()
    town = Town(world)
    town.dispatch("a")
    town.run()
    note = "tests/test_add.py:4: test_add expects add(2, 2) == 5, the base add(2, 2) == 4."
    (question,) = status(town.ports).asked
    assert (question["kind"], question["tail"]) == ("sign-off", f"a: {note}")
    assert "worth a look stands below" in question["what"]
    assert [each["look_at"] for each in trains_json(town.ports)["members"]] == [[note]]


def test_a_protected_path_is_given_by_no_card_and_by_the_policy_alone(tmp_path, monkeypatch):
    def worked(root, policy):
        world = World.make(root, policy=f"train: {{checks: ['true'], sign_off: none}}\n{policy}")
        for name, value in world.env.items():
            monkeypatch.setenv(name, value)
        world.write("tests/conftest.py", "")
        world.write("tests/test_a.py", "def test_a():\n    assert True is not False\n")
        hook = "def pytest_collection_modifyitems(items):\n    items.reverse()\n"
        command = f"printf '%s' {shlex.quote(hook)} > tests/conftest.py"
        world.card("a", owns='["tests/conftest.py"]', command=command, checks=(f"{PYTEST} tests",))
        world.push()
        town = Town(world)
        town.dispatch("a")
        town.run()
        return town

    refused = worked(tmp_path / "one", "").job("a").waiting
    assert refused.rule == "protected"
    assert "The policy protects it by tests/conftest.py" in refused.what
    assert "take its pattern out of protected_paths there" in refused.ask
    assert refused.ask.endswith("No card gives it to the work, not by its exact path either.")
    assert str(worked(tmp_path / "two", "protected_paths: []\n").job("a").state) == "landed", (
        "Its exact path gives it then."
    )


def test_whoever_owns_the_card_that_is_taken_over_signs_off_and_nobody_else(tmp_path, monkeypatch):
    world = World.make(tmp_path / "w", policy="train: {checks: ['true'], sign_off: owner}\n")
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    world.card("a", command="mkdir -p a; echo x > a/x", checks=("false",))
    world.push()
    town = Town(world)
    town.dispatch("a")
    town.run()
    assert (town.rule("a"), town.job("a").owner) == ("check-failed", "@ana")
    card = (world.repo / "tasks/a.yaml").read_text().replace("@ana", "@bob").replace("false", "true")
    world.write("tasks/a.yaml", card)
    world.push()
    again(town.ports, "a", "ana")
    town.run()
    assert town.job("a").owner == "@bob"
    assert [each["owner"] for each in status(town.ports).asked] == ["@bob"]
