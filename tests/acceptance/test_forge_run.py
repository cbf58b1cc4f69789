"""The generated workflow, run from its first step to its last on every event that a forge has for it: who passes, who does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from tests.acceptance.forge import BASIC, TOKEN, Forge, environment, serving

from interlock.testing.world import World

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

WORKFLOW = ".github/workflows/interlock-scope.yml"
AGENTS = "Work\n\nInterlock-Card: one@abc"
HOSTILE = (
    "agent/$(touch${IFS}pwned)",
    'agent/one";`touch${IFS}pwned`;"',
    "agent/one';touch${IFS}pwned;'",
    "--help",
    "agent/-x",
    "refs/heads/main",
    "main",
    "origin/main",
    "agent/one/more",
    "agent/Öne",
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    return environment(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory, programs: tuple[Path, dict[str, str]]) -> Iterator[Forge]:
    with made(tmp_path_factory.mktemp("forge"), programs) as forge:
        yield forge


@contextmanager
def made(root: Path, programs: tuple[Path, dict[str, str]]) -> Iterator[Forge]:
    """A private repository on a forge, with one card and all that init writes for it.

    A folder of its default branch has the name of a module of Python's own.
    """
    world = World.make(root)
    world.card("one")
    world.write("logging/__init__.py", "raise SystemExit('this is no module of Python')\n")
    world.push()
    world.cli("init", "--yes", "--forge", "github", "--owner", "@ana")
    world.push()
    with serving(root) as (address, refused):
        yield Forge(world, root, address, *programs)
    assert refused == [], "the token was shown each time"


def inside(forge: Forge, number: int, **more: str) -> str:
    return forge.change(number, {"one/x": "new\n"}, **more)


def outside(forge: Forge, number: int, **more: str) -> str:
    return forge.change(number, {"one/x": "new\n", "two/x": "new\n"}, **more)


def test_a_change_of_this_repository_passes_inside_its_card_and_not_outside(forge: Forge) -> None:
    head = inside(forge, 1)
    with forge.branch("agent/one", head):
        done = forge.pull_request(1, head, ref="agent/one")
    assert (done.code, "in scope, 1 changed file" in done.said) == (0, True), done.said
    head = outside(forge, 1)
    with forge.branch("agent/one", head):
        done = forge.pull_request(1, head, ref="agent/one")
    assert (done.code, "two/x [outside]" in done.said) == (1, True), done.said


def test_a_change_of_a_fork_is_judged_though_its_branch_is_nowhere_here(forge: Forge) -> None:
    done = forge.pull_request(2, outside(forge, 2), ref="agent/one")
    assert (done.code, "two/x [outside]" in done.said) == (1, True), done.said
    done = forge.pull_request(3, inside(forge, 3), ref="agent/one")
    assert done.code == 0, done.said
    done = forge.pull_request(4, outside(forge, 4), ref="my-fix")
    assert (done.code, "no task's" in done.said) == (0, True), done.said


def test_no_name_of_a_branch_runs_anything_or_gets_an_agents_work_past(forge: Forge) -> None:
    head = outside(forge, 5, message=AGENTS)
    for ref in HOSTILE:
        forge.world.git("check-ref-format", f"refs/heads/{ref}", at=forge.world.remote)
        with forge.branch(ref, head) if ref != "main" else nullcontext():
            done = forge.pull_request(5, head, ref=ref)
        assert (done.code, "Traceback" in done.said) == (1, False), done.said
        assert "two/x [outside]" in done.said
        assert not list(forge.machine.rglob("pwned")), ref


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (WORKFLOW, "name: interlock-scope\non: pull_request_target\njobs: {}\n"),
        (".github/workflows/another.yml", "on: push\njobs: {}\n"),
        (".github/CODEOWNERS", "* @mallory\n"),
        ("tasks/one.yaml", None),
        ("tasks/one.yaml", "slug: one\nowned_paths: ['**']\n"),
        ("tasks/caps.txt", "vertical-slice 99\n"),
        ("interlock.yaml", "train: {checks: ['true']}\nprotected_paths: []\n"),
    ],
    ids=["workflow", "new-workflow", "codeowners", "card-gone", "card-wider", "caps", "policy"],
)
def test_a_change_of_its_own_judge_is_refused_by_the_judge_as_it_was(forge: Forge, path: str, text: str | None) -> None:
    head = forge.change(6, {"one/x": "new\n", path: text}, message=AGENTS)
    done = forge.pull_request(6, head, ref="agent/one")
    assert (done.code, f"{path} [protected]" in done.said) == (1, True), done.said


def test_a_card_that_is_gone_from_the_default_branch_allows_nothing(
    tmp_path: Path, programs: tuple[Path, dict[str, str]]
) -> None:
    with made(tmp_path, programs) as forge:
        head = inside(forge, 7)
        (forge.world.repo / "tasks" / "one.yaml").unlink()
        forge.world.push()
        done = forge.pull_request(7, head, ref="agent/one")
    assert (done.code, "unknown-card" in done.said) == (1, True), done.said


def test_a_merge_group_is_judged_by_its_last_change_whatever_else_is_in_it(forge: Forge) -> None:
    head = outside(forge, 8, message=AGENTS)
    group = forge.change(9, {"three/x": "a person's, before it\n"})
    assert forge.merge_group(8, group).code == 1
    head = forge.change(10, {"one/y": "new\n"}, message=AGENTS)
    assert forge.merge_group(10, head).code == 0
    done = forge.merge_group(99, head)
    assert (done.code, "refs/pull/99/head" in done.said) == (128, True), "What is not there passes nothing."


def test_a_change_into_another_branch_is_judged_against_the_default_branch(forge: Forge) -> None:
    with forge.branch("release", forge.change(11, {"old/x": "only on the release\n"})):
        head = forge.change(12, {"one/x": "new\n"}, base="release")
        done = forge.pull_request(12, head, ref="agent/one", into="release")
        assert (done.code, "old/x [outside]" in done.said) == (1, True), done.said
        done = forge.pull_request(13, inside(forge, 13), ref="agent/one", into="release")
        assert done.code == 0, done.said


def test_thousands_of_files_are_judged_one_by_one(forge: Forge) -> None:
    many = {f"one/{number % 40}/{number}": f"{number}\n" for number in range(3000)}
    done = forge.pull_request(14, forge.change(14, many, message=AGENTS), ref="agent/one")
    assert (done.code, "3000 changed files" in done.said) == (0, True), done.said
    done = forge.pull_request(14, forge.change(14, {"zz": "the last one\n"}, message=AGENTS), ref="agent/one")
    assert (done.code, "zz [outside]" in done.said) == (1, True), done.said


def test_a_head_that_was_pushed_over_after_the_event_is_left_to_its_own_run(forge: Forge) -> None:
    first = inside(forge, 15)
    second = outside(forge, 15)
    done = forge.pull_request(15, first, ref="agent/one")
    assert (done.code, "moved" in done.said) == (1, True), done.said
    assert forge.pull_request(15, second, ref="agent/one").code == 1


def test_the_token_goes_to_the_forge_by_the_environment_of_git_and_stays_nowhere(forge: Forge) -> None:
    done = forge.pull_request(16, inside(forge, 16), ref="agent/one")
    assert done.code == 0, done.said
    told = done.said.replace(f"::add-mask::{BASIC}", "", 1)
    assert "::add-mask::" in done.said
    assert not {secret for secret in (BASIC, TOKEN) if secret in told}
    words = (forge.machine / "git.log").read_text().splitlines()
    fetches = [number for number, line in enumerate(words) if line.startswith("fetch ")]
    assert [words[number + 1] for number in fetches] == ["1"], "the one fetch has it"
    judged = words[fetches[0] + 4 :]
    assert "1" not in judged, "the judge has no token, and needs none"
    left = [path for path in forge.machine.rglob("*") if path.is_file() and path.name != "git"]
    assert {"config", "FETCH_HEAD"} <= {path.name for path in left}
    assert not [path for path in left if any(secret.encode() in path.read_bytes() for secret in (BASIC, TOKEN))]


def test_nothing_of_a_change_stands_in_the_checkout(forge: Forge) -> None:
    files = {"one/x": "new\n", "sitecustomize.py": "raise SystemExit(0)\n", ".gitattributes": "* filter=x\n"}
    done = forge.pull_request(17, forge.change(17, files, message=AGENTS), ref="agent/one")
    assert (done.code, "sitecustomize.py [outside]" in done.said) == (1, True), done.said
    assert not (forge.machine / "work" / "one").exists()
    assert not (forge.machine / "work" / "sitecustomize.py").exists()
