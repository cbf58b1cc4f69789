"""Attacks on what is judged and what lands: trees that checks change, branches that go back, acceptances that spread."""

import sys

import pytest

from interlock.app import decide
from interlock.app.integrate import land_train
from interlock.app.sign_off import sign_off
from interlock.core.job.lifecycle import State

pytestmark = pytest.mark.long

PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q -p no:cacheprovider"


def test_a_check_that_changes_the_tree_does_not_help_the_next_one(world, town):
    world.write("a/f", "0\n")
    world.card("a", command="echo 1 > a/f", checks=("sed -i s/1/2/ a/f", "grep 2 a/f"))
    world.push()
    town().dispatch("a")
    town().run()
    assert "check-failed" == town().rule("a")


def test_a_check_that_changes_the_task_s_own_tree_is_not_taken_for_the_agent_s_work(world, town):
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: none}\ncaches: ['cache/**']\n")
    world.write("other/keep", "1\n")
    world.card(
        "a", command="mkdir -p a; echo $INTERLOCK_ATTEMPT_NUMBER > a/x", checks=("echo 2 > other/keep; grep 2 a/x",)
    )
    world.push()
    town().dispatch("a")
    town().run()
    assert "check-failed" == town().rule("a")
    decide.retry(town().ports, "a", "the second number", "ana")
    town().run()
    assert State.LANDED == town().job("a").state
    assert "1" == world.git("show", "HEAD:other/keep", at=world.remote)


def test_what_was_taken_off_the_default_branch_does_not_come_back(world, town):
    good = world.push("good")
    world.card("a", command="mkdir -p a; echo x > a/x")
    carded = world.push("card")
    world.write("evil/x", "leaked")
    world.push("evil")
    town().dispatch("a")
    decide.hold(town().ports, "a", "ana", "wait")
    town().run()
    world.git("push", "-q", "--force", "origin", f"{carded}:main")
    decide.hold(town().ports, "a", "ana", None)
    town().run()
    assert "base-rewound" == town().rule("a")
    assert good
    assert "evil/x" not in world.main_files()


def test_one_member_s_acceptance_lets_no_test_of_another_go(world, town):
    for slug in "ab":
        tests = "def test_one():\n    assert True\n\n\ndef test_two():\n    assert True\n"
        world.write(f"{slug}/test_{slug}.py", tests)
    world.write("interlock.yaml", f"train: {{checks: ['{PYTEST} a b'], sign_off: none}}\n")
    drop = "sed -i '/^def test_two/,$d' {0}/test_{0}.py"
    world.card("a", command=drop.format("a"), checks=(f"{PYTEST} a",))
    world.card("b", command=drop.format("b"), checks=(f"{PYTEST} a",))  # a report, and nothing of b in it
    world.push()
    town().dispatch("a", "b")
    decide.hold(town().ports, "b", "ana", "together with a")
    town().run()
    assert "tests-removed" == town().rule("a")
    decide.accept(town().ports, "a", "ana")
    decide.hold(town().ports, "a", "ana", "together with b")
    town().run()
    assert [State.READY, State.READY] == [town().job(slug).state for slug in "ab"]
    for slug in "ab":
        decide.hold(town().ports, slug, "ana", None)
    town().run()
    assert State.LANDED == town().job("a").state
    assert "red-alone" == town().rule("b")
    assert "test_two" in world.git("show", "HEAD:b/test_b.py", at=world.remote)


@pytest.mark.parametrize("held", [True, False])
def test_a_train_that_landed_before_a_crash_is_written_down_and_not_landed_twice(world, town, held):
    world.write("interlock.yaml", "train: {checks: ['true']}\n")
    world.card("a", command="mkdir -p a; echo x > a/x")
    world.push()
    town().dispatch("a")
    town().run()
    ports = town().ports
    sign_off(ports, "@ana")
    train = ports.store.train()
    mirror = ports.repo.mirror.path
    world.git("push", "-q", str(world.remote), f"{train.candidate}:refs/heads/main", at=mirror)
    if held:
        decide.hold(ports, "a", "ana", "too late")
    assert {"landed": True} == land_train(ports, train.number)
    town().run()
    assert State.LANDED == town().job("a").state
    assert train.candidate == world.git("rev-parse", "HEAD", at=world.remote)
    assert [train.candidate] == [row.commit for row in ports.store.landings()]


def test_a_remote_that_goes_away_leaves_a_signed_train_signed(world, town):
    world.write("interlock.yaml", "train: {checks: ['true']}\n")
    world.card("a", command="mkdir -p a; echo x > a/x")
    world.push()
    town().dispatch("a")
    town().run()
    sign_off(town().ports, "@ana")
    away = world.remote.with_suffix(".away")
    world.remote.rename(away)
    town().run()
    assert "signed" == town().ports.store.train().phase
    away.rename(world.remote)
    town().run()
    assert State.LANDED == town().job("a").state


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("open_questions", "open_questions: [who pays]\n"), "not-ready"),
        (("integration_owner", "integration_owner: TBD\n"), "not-ready"),
        (("class", "class: tests\n"), "class"),
    ],
)
def test_a_card_that_changed_after_dispatch_is_judged_like_a_new_one(world, town, change, rule):
    key, line = change
    world.card("a", command="mkdir -p a; echo x > a/x")
    world.push()
    town().dispatch("a")
    text = (world.repo / "tasks/a.yaml").read_text()
    rest = "".join(each for each in text.splitlines(keepends=True) if not each.startswith(f"{key}:"))
    world.write("tasks/a.yaml", rest + line)
    world.push("another card")
    town().run()
    assert rule == town().rule("a")
    world.write("tasks/a.yaml", text)
    world.push("back")
    decide.again(town().ports, "a", "ana")
    town().run()
    assert State.LANDED == town().job("a").state


def test_an_artifact_has_to_be_brought_by_the_work_itself(world, town):
    world.write("a/shot.png", "old")
    world.card("a", command="echo x > a/x", extra="artifacts: [{path: a/shot.png, kind: screenshot}]\n")
    world.push()
    town().dispatch("a")
    town().run()
    assert "artifact" == town().rule("a")
