"""What init writes for a forge: a change cannot edit, skip or outrun its judge, and the scripts in it are run for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.core.test_branch_rules import CLOSED

from interlock.testing.world import World

FILE = ".github/workflows/interlock-scope.yml"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World.make(tmp_path_factory.mktemp("forge"))
    world.card("one")
    world.push()
    done = world.cli("init", "--yes", "--forge", "github", "--owner", "@ana", "--json")
    assert done.returncode == 0, done.stderr
    return world


def workflow(world: World) -> dict[Any, Any]:
    shape: dict[Any, Any] = yaml.safe_load((world.repo / FILE).read_text())
    return shape


def steps(world: World) -> dict[str, dict[str, Any]]:
    return {step.get("name", step.get("uses", "")): step for step in workflow(world)["jobs"]["scope"]["steps"]}


# ---------------------------------------------------------------- what the file says
def test_the_job_always_runs_on_changes_and_merge_groups_alike(world: World) -> None:
    shape = workflow(world)
    events = shape[True]  # YAML 1.1 reads "on" so, and forges do not
    assert set(events) == {"pull_request_target", "merge_group"}
    assert not {"branches", "paths", "branches-ignore", "paths-ignore"} & set(events["pull_request_target"])
    (job,) = shape["jobs"].values()
    assert job["name"] == "interlock-scope"
    assert "if" not in job
    assert "needs" not in job
    assert not any("if" in step or step.get("continue-on-error") for step in job["steps"])


def test_only_the_default_branch_is_checked_out_with_its_history_and_no_credentials(world: World) -> None:
    checkout = steps(world)["Check out the default branch, and nothing else"]
    assert checkout["with"] == {
        "ref": "${{ github.event.repository.default_branch }}",
        "fetch-depth": 0,
        "persist-credentials": False,
    }


def test_it_may_read_and_nothing_else_and_knows_no_secret(world: World) -> None:
    shape = workflow(world)
    assert shape["permissions"] == {}
    assert shape["jobs"]["scope"]["permissions"] == {"contents": "read"}
    assert "secrets." not in (world.repo / FILE).read_text()


def test_actions_are_pinned_by_commit_and_no_expression_stands_in_a_script(world: World) -> None:
    for step in workflow(world)["jobs"]["scope"]["steps"]:
        assert "@" not in step.get("uses", "") or len(step["uses"].partition("@")[2]) == 40
        assert "${{" not in step.get("run", "")


def test_init_names_what_a_person_must_require_and_code_owners_keep_the_gates(world: World) -> None:
    owners = (world.repo / ".github" / "CODEOWNERS").read_text()
    for path in ("/tasks/", "/.github/", "/interlock.yaml"):
        assert f"\n{path} @ana\n" in owners


# ---------------------------------------------------------------- what its scripts do
class Forge:
    """The remote as a forge has it, with a change at its pull ref, and a runner's checkout of the default branch."""

    def __init__(self, world: World, root: Path) -> None:
        self.world = world
        self.root = root
        self.checkout = root / "checkout"

    def change(self, number: int, path: str, *, branch: str, trailer: str = "", push: bool = False) -> str:
        clone = self.root / f"author-{number}"
        self.world.git("clone", "-q", f"file://{self.world.remote}", str(clone), at=self.root)
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text("new\n")
        self.world.git("add", "-A", at=clone)
        self.world.git("commit", "-q", "-m", f"Work\n\n{trailer}", at=clone)
        self.world.git("push", "-q", "origin", f"+HEAD:refs/pull/{number}/head", at=clone)
        if push:
            self.world.git("push", "-q", "origin", f"HEAD:refs/heads/{branch}", at=clone)
        return self.world.git("rev-parse", "HEAD", at=clone).strip()

    def run(self, **event: str) -> subprocess.CompletedProcess[str]:
        """The two scripts of the workflow, as a runner runs them, with the values of an event."""
        if not self.checkout.exists():
            self.world.git("clone", "-q", f"file://{self.world.remote}", str(self.checkout), at=self.root)
        output = self.root / "output"
        output.write_text("")
        env = {
            **self.world.env,
            "GITHUB_OUTPUT": str(output),
            "TOKEN": "ghs_hidden",
            "DEFAULT": "main",
            "BRANCH": "",
            "GITHUB_SERVER_URL": "https://forge.invalid",
        }
        env |= {"NUMBER": "", "GROUP": "", "EXPECTED": "", **event}
        env["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        fetched = self._script("Fetch the change's head as data", env)
        if fetched.returncode:
            return fetched
        env["HEAD_OID"] = output.read_text().partition("=")[2].strip()
        judged = self._script("Judge it", env)
        judged.stderr = fetched.stdout + fetched.stderr + judged.stderr
        return judged

    def _script(self, name: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        script = steps(self.world)[name]["run"]
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(
            words, cwd=self.checkout, env=env, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture
def forge(world: World, tmp_path: Path) -> Forge:
    return Forge(world, tmp_path)


def test_a_change_outside_its_card_is_refused_and_one_inside_passes(forge: Forge) -> None:
    outside = forge.change(11, "two/x", branch="agent/one")
    done = forge.run(NUMBER="11", EXPECTED=outside, BRANCH="agent/one")
    assert (done.returncode, "outside" in done.stdout) == (1, True), done.stderr
    inside = forge.change(12, "one/x", branch="agent/one")
    done = forge.run(NUMBER="12", EXPECTED=inside, BRANCH="agent/one")
    assert done.returncode == 0, done.stdout + done.stderr


def test_another_name_of_the_branch_gets_it_round_nothing(forge: Forge) -> None:
    head = forge.change(21, "two/x", branch="feature/x", trailer="Interlock-Card: one@abc")
    assert forge.run(NUMBER="21", EXPECTED=head, BRANCH="feature/x").returncode == 1


def test_a_merge_group_is_judged_by_its_change_not_by_its_own_name(forge: Forge) -> None:
    forge.change(31, "two/x", branch="agent/one", push=True)
    group = f"refs/heads/gh-readonly-queue/main/pr-31-{'a' * 40}"
    assert forge.run(GROUP=group).returncode == 1
    assert forge.run(GROUP="refs/heads/main").returncode == 1
    forge.world.git("push", "-q", "origin", ":refs/heads/agent/one", at=forge.checkout)


def test_a_persons_change_passes_with_the_words_that_nobody_judged_it(forge: Forge) -> None:
    head = forge.change(41, "two/x", branch="fix")
    done = forge.run(NUMBER="41", EXPECTED=head, BRANCH="fix")
    assert (done.returncode, "no task's" in done.stdout) == (0, True), done.stderr


def test_a_head_that_moved_since_the_event_is_not_judged_in_its_name(forge: Forge) -> None:
    forge.change(51, "one/x", branch="agent/one")
    done = forge.run(NUMBER="51", EXPECTED="b" * 40, BRANCH="agent/one")
    assert (done.returncode, "moved" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    "branch", ["agent/$(touch pwned)", "agent/one;touch pwned", "agent/../one", "--help", "agent/one\n"]
)
def test_a_hostile_branch_name_runs_nothing_and_passes_nothing(forge: Forge, branch: str) -> None:
    head = forge.change(61, "two/x", branch="x", trailer="Interlock-Card: one@abc")
    done = forge.run(NUMBER="61", EXPECTED=head, BRANCH=branch)
    assert done.returncode in (1, 2)
    assert not (forge.checkout / "pwned").exists()


def test_the_token_is_masked_and_written_nowhere(forge: Forge) -> None:
    head = forge.change(71, "one/x", branch="agent/one")
    done = forge.run(NUMBER="71", EXPECTED=head, BRANCH="agent/one")
    assert "::add-mask::" in done.stderr
    assert "extraheader" not in (forge.checkout / ".git" / "config").read_text()
    assert "ghs_hidden" not in done.stdout + done.stderr


def test_without_a_common_history_there_is_no_verdict(forge: Forge) -> None:
    head = forge.change(81, "one/x", branch="agent/one")
    forge.change(82, "later", branch="main", push=True)
    forge.world.git("clone", "-q", "--depth", "1", f"file://{forge.world.remote}", str(forge.checkout), at=forge.root)
    done = forge.run(NUMBER="81", EXPECTED=head, BRANCH="agent/one")
    assert done.returncode == 1
    assert "shallow" in done.stdout + done.stderr


# ---------------------------------------------------------------- init's manners
def test_an_existing_codeowners_is_completed_by_hand_and_never_overwritten(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.write("CODEOWNERS", "* @all\n")
    world.push()
    done = world.cli("init", "--yes", "--forge", "github", "--owner", "@ana", "--json")
    shape = json.loads(done.stdout)
    assert (world.repo / "CODEOWNERS").read_text() == "* @all\n"
    assert "/tasks/ @ana" in shape["add"]["CODEOWNERS"]
    assert not (world.repo / ".github" / "CODEOWNERS").exists()


def test_an_owner_that_no_forge_knows_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.push()
    done = world.cli("init", "--yes", "--forge", "github", "--owner", "ana", code=None)
    assert done.returncode == 2
    assert not (world.repo / ".github").exists()


def test_a_repository_without_a_forge_gets_no_workflow(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.push()
    assert world.cli("init", "--yes").returncode == 0
    assert not (world.repo / ".github").exists()


# ---------------------------------------------------------------- the forge's answers
def test_policy_branch_and_policy_checks_end_with_1_until_all_is_closed(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.push()
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps({"message": "Branch not protected"}))
    done = world.cli("policy", "branch", str(bare), code=None)
    assert (done.returncode, "Nothing protects" in done.stdout) == (1, True)
    closed = tmp_path / "closed.json"
    closed.write_text(json.dumps(CLOSED))
    told = world.cli("policy", "branch", str(closed)).stdout
    assert "only what passed its gates" in told
    assert "whoever may push a branch can forge it" in told, "what no setting of the branch closes is said all the same"
    runs = tmp_path / "runs.json"
    runs.write_text(
        json.dumps(
            {"check_runs": [{"name": "ci", "head_sha": "a" * 40, "status": "completed", "conclusion": "skipped"}]}
        )
    )
    words = ("policy", "checks", str(runs), "--commit", "a" * 40, "--require", "ci")
    refused = world.cli(*words, code=None)
    assert (refused.returncode, "skipped, which is not success" in refused.stdout) == (1, True)
    assert world.cli(*words, "--allow", "ci=skipped").returncode == 0
    assert world.cli("policy", "checks", str(bare), "--commit", "a" * 40, "--require", "ci", code=None).returncode == 2
