"""Whatever a job or the train waited for, going on really goes on; with the real engine, where an id is used once."""

import sys

import pytest
from tests.integration.watching import wait_until

from interlock.testing.world import World

pytestmark = pytest.mark.long

WRITE = "mkdir -p a; echo x > a/x"


@pytest.fixture
def world(tmp_path):
    return World.make(tmp_path / "w")


def state(world: World, slug: str) -> tuple[str, str | None, int]:
    (job,) = [job for job in world.ask("status", "--all")["jobs"] if job["slug"] == slug]
    return job["state"], job["waits_for"], job["attempt"]


def test_a_job_without_an_agent_starts_once_it_has_one(world):
    world.card("a", command=WRITE)
    text = (world.repo / "tasks/a.yaml").read_text()
    world.write("tasks/a.yaml", "\n".join(line for line in text.splitlines() if not line.startswith("agent:")) + "\n")
    world.push()
    world.cli("dispatch", "a")
    world.cli("run")
    assert ("waiting", "no-agent", 0) == state(world, "a")
    agent = f'agent: {{use: command, command: "{WRITE}"}}'
    world.write("interlock.yaml", f"train: {{checks: ['true'], sign_off: none}}\n{agent}\n")
    world.push("an agent for all")
    world.cli("resume", "a")
    world.cli("run")
    assert ("landed", None, 1) == state(world, "a")


def test_an_agent_named_on_the_card_later_is_used(world):
    world.card("a", command=WRITE)
    text = (world.repo / "tasks/a.yaml").read_text()
    world.write("tasks/a.yaml", "\n".join(line for line in text.splitlines() if not line.startswith("agent:")) + "\n")
    world.push()
    world.cli("dispatch", "a")
    world.cli("run")
    world.write("tasks/a.yaml", text)
    world.push("name the agent")
    world.cli("resume", "a")
    world.cli("run")
    assert ("landed", None, 1) == state(world, "a")


def test_a_folder_that_is_gone_is_made_again(world):
    world.card("a", command=WRITE)
    world.push()
    path = world.ask("dispatch", "a")["workspace"]
    import shutil

    shutil.rmtree(path)
    world.cli("resume", "a")
    world.cli("run")
    assert ("landed", None, 1) == state(world, "a")


def test_a_class_that_left_the_policy_holds_up_nobody_else(world):
    special = "classes: {special: {kind: parallel}}\ntrain: {checks: ['true']}\n"
    world.write("interlock.yaml", special)
    world.write("tasks/caps.txt", "vertical-slice 3\nspecial 3\n")
    world.card("a", klass="special", command=WRITE)
    world.card("b", command="mkdir -p b; echo x > b/x")
    world.push()
    world.cli("dispatch", "a", "b")
    world.cli("train", "hold", "a", "--reason", "later")
    world.cli("train", "hold", "b", "--reason", "later")
    world.cli("run")
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: none}\n")
    world.write("tasks/caps.txt", "vertical-slice 3\n")
    world.push("no special work any more")
    world.cli("train", "add", "a")
    world.cli("train", "add", "b")
    world.cli("run")
    assert "landed" == state(world, "b")[0]
    assert ("waiting", "class") == state(world, "a")[:2]


def test_a_check_that_failed_for_the_machine_is_run_again(world):
    tool = world.root / "tool"
    world.card("a", command=WRITE, checks=(f"test -e {tool}",))
    world.push()
    world.cli("dispatch", "a")
    world.cli("run")
    assert ("waiting", "check-failed") == state(world, "a")[:2]
    tool.touch()
    world.cli("decide", "a", "--again")
    world.cli("run")
    assert ("landed", None, 1) == state(world, "a")


def test_a_card_that_goes_back_and_forth_is_followed_each_time(world):
    world.write("interlock.yaml", "train: {checks: ['true']}\n")
    world.card("a", command=WRITE)
    first = (world.repo / "tasks/a.yaml").read_text()
    world.push()
    world.cli("dispatch", "a")
    world.cli("run")
    for text in (first + "# again\n", first, first + "# again\n"):
        world.write("tasks/a.yaml", text)
        world.push("another card")
        world.cli("sign-off", "--as", "@ana")
        world.cli("run")
        assert ("ready", "train") == state(world, "a")[:2], "judged by the new card, it is asked for again"
    world.cli("sign-off", "--as", "@ana")
    world.cli("run")
    assert "landed" == state(world, "a")[0]


def test_a_branch_that_the_remote_cannot_lock_is_a_refusal_and_no_loop(world):
    world.card("a", command=WRITE)
    world.push()
    world.cli("dispatch", "a")
    lock = world.remote / "refs" / "heads" / "main.lock"
    lock.touch()
    world.cli("run")
    assert ("waiting", "push-rejected") == state(world, "a")[:2]
    lock.unlink()
    world.cli("resume", "a")
    world.cli("run")
    assert ("landed", None, 1) == state(world, "a")


def test_a_default_branch_that_moves_each_time_ends_the_train_with_its_rule(world):
    push = (
        f"git clone -q {world.remote} c && cd c && date +%N > busy && git add busy && git -c user.name=b -c user.email=b@c commit -qam busy"
        " && git push -q origin HEAD"
    )
    world.write(
        "interlock.yaml", f'train: {{checks: ["test -z \\"$INTERLOCK_TRAIN\\" || {{ {push}; }}"], sign_off: none}}\n'
    )
    world.card("a", command=WRITE)
    world.push()
    world.cli("dispatch", "a")
    world.cli("run")
    assert ("waiting", "base-moves") == state(world, "a")[:2]


def test_stopping_during_the_checks_is_heard(world):
    import subprocess

    begun, go = world.root / "begun", world.root / "go"
    world.card("a", command=WRITE, checks=(f"touch {begun}; until test -e {go}; do sleep 0.1; done",))
    world.push()
    world.cli("dispatch", "a")
    words = [sys.executable, "-m", "interlock", "run"]
    running = subprocess.Popen(
        words, cwd=world.repo, env=world.env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_until(begun.exists, 60)
    world.cli("stop", "a", "--reason", "wrong way")
    go.touch()
    assert 0 == running.wait(60)
    assert ("waiting", "cancelled") == state(world, "a")[:2]
    world.cli("resume", "a")
    world.cli("run")
    assert ("landed", None, 1) == state(world, "a")


def test_what_landed_elsewhere_counts_as_landed_here(world):
    world.card("a", command=WRITE)
    world.card("b", needs="[a]", command="mkdir -p b; echo x > b/x")
    world.push()
    world.cli("dispatch", "a")
    world.cli("run")
    other = world.root / "other"
    world.git("clone", "-q", str(world.remote), str(other), at=world.root)
    world.cli("dispatch", "b", at=other)
    world.cli("run", at=other)
    assert {"a/x", "b/x"} <= world.main_files()
    refused = world.cli("dispatch", "a", "--json", at=other, code=1)
    assert '"already-landed"' in refused.stdout
