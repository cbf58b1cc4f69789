"""Ways to word a destructive command: each is refused inside the task, with nothing lost and the refusal on the record (C9)."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.integration.task.guarded import World, bubblewrap

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """One for all: an attack that is refused leaves it as it was, and each test looks."""
    bwrap = bubblewrap()
    if bwrap is None:
        if os.environ.get("CI") == "true":
            pytest.fail("bubblewrap is missing: without it a failing guard would destroy this machine.")
        pytest.skip("bubblewrap cannot be used here, and without it a failing guard would destroy this machine")
    return World.make(tmp_path_factory.mktemp("guard"), bwrap)


DESTROY = (
    "rm -rf /",
    "rm -rf /*",
    "rm -r --no-preserve-root /",
    "rm -rf --no-preserve-root -- /",
    "rm -fr //",
    "rm -rf /usr",
    "rm -rf /etc/..",
    "rm --recursive --force /",
    "rm --rec /",
    "cd / && rm -rf *",
    "cd / && rm -rf usr",
    "cd /usr && rm -rf ./lib",
    'rm -rf "$HOME"',
    "rm -rf ~",
    "rm -rf ~/",
    'rm -rf "$HOME"/*',
    "rm -rf ~/.ssh",
    "rm ~/.ssh/id_ed25519",
    "rm -f ~/notes.txt",
    "rm -rf ~/code/other",
    "cd ~ && rm -rf work",
    "cd && rm notes.txt",
    "rm -rf to-home/",
    "rm -rf to-home/*",
    "rm -rf to-home/work",
    "rm -rf build/../to-home/work",
    "cd to-home && rm -rf work",
    "cd -P to-home && rm -rf work",
    "ln -s ../../repo build/l; rm -rf build/l/src; e=$?; /bin/rm build/l; exit $e",
    "rm -rf to-repo/src",
    'rm -rf -- "$PWD"',
    'rm -rf -- "$PWD"/..',
    "rm -rf .",
    "rm -rf ..",
    "rm -rf ../one",
    "rm -rf ../two",
    "rm -rf ../../repo/.git",
    "rm -rf -- ../../repo/src",
    "rm -rf *",
    "rm -r README.md build src tests to-home to-repo",
    'rm -rf "$PWD"/*',
    "cd src && rm -rf ../*",
    "cd src && rm -rf ../../one",
    "rm .git",
    "rm -f ./.git",
    'rm -rf "$PWD/.git"',
    "env rm -rf /",
    "command rm -rf ~",
    'sh -c "rm -rf ~"',
    "echo ~ | xargs rm -rf",
    'HOME=/nowhere; export HOME; rm -rf "$PWD"/../../home',
    "rmdir ~/.cache/..",
    "unlink ~/notes.txt",
    "find / -delete",
    "find ~ -delete",
    "find ~ -name '*.txt' -delete",
    "find . -delete",
    "find -type f -delete",
    "find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +",
    "find ../../repo -name '*.py' -exec rm {} ';'",
    "find to-home/ -exec rm -rf {} ';'",
    "find ~ -type f -exec sh -c 'rm \"$1\"' _ {} ';'",
    "mv ~ build/",
    "mv ~/work build/",
    "mv .git build/",
    "mv ../two build/",
    "mv -t build ~/work",
    "mv build/y.o /dev/null",
    "mv build/y.o ../two/",
    "mv README.md build src tests to-home to-repo ../../",
    "dd if=/dev/zero of=/dev/sda",
    "dd if=/dev/zero of=$HOME/notes.txt count=1",
    "dd if=/dev/null of=../../repo/README.md",
    "ln -s ~/notes.txt build/n; dd if=/dev/null of=build/n; e=$?; /bin/rm build/n; exit $e",
    "mkfs.ext4 -F /dev/sda1",
    "mke2fs /dev/sda",
    "shred -u ~/notes.txt",
    "shred /dev/sda",
    "truncate -s 0 ~/notes.txt",
    "ln -s ~/notes.txt build/n; truncate -s 0 build/n; e=$?; /bin/rm build/n; exit $e",
    "truncate --size 0 ../../repo/README.md",
    "chmod -R 777 /",
    "chmod -R 000 ~",
    "chmod -R a-w .",
    "chmod -R 0 .",
    "chmod --recursive u= .",
    "chmod -vR o+w ../two",
    "chmod -R -w ../../repo",
    "chmod -R go-w to-home/",
    "chown -R nobody /",
    "chown -Rv nobody ~",
    "chgrp -R nogroup ../../repo",
)
GIT = (
    "git push -f",
    "git push --force origin main",
    "git push --forc origin main",
    "git push --force-with-lease origin main",
    "git push origin +main",
    "git push origin +agent/one:main",
    "git push origin :main",
    "git push --delete origin main",
    "git push -d origin main",
    "git push -uf origin main",
    "git push --mirror",
    "git push --prune origin 'refs/heads/*'",
    "git -c alias.p='push --force' p origin main",
    "git -C ../../repo push origin :main",
    "git clean -fdx ../two",
    "git -C ../two clean -fdx",
    "cd ../../repo && git clean -fd",
    "cd ../two && git reset --hard HEAD",
    "git -C ../../repo reset --hard",
    "git --work-tree=../../repo checkout -f",
    "git -C ../two checkout -- .",
    "git -C ../two restore .",
    "git filter-branch --force --index-filter 'git rm -r --cached .' HEAD",
    "git worktree remove --force ../two",
    "git worktree prune",
    "git reflog expire --expire=now --all",
    "git gc --prune=now",
    "git prune",
    "git stash clear",
    "git branch -D agent/two",
    "git branch -M agent/one main",
    "git branch -f main HEAD",
    "git update-ref -d refs/heads/main",
    "git update-ref refs/heads/agent/two HEAD",
)


def refused(world: World, lines: Sequence[str]) -> None:
    """Each line in a shell of its own, all within one set of walls: every one is refused, and the world is as before."""
    before, said = world.all(), len(world.notes())
    errors = world.root / "spool" / "errors"
    script = [f"sh -c {shlex.quote(line)} 2>{errors}.{number}; echo $?" for number, line in enumerate(lines)]
    done = world.shell("\n".join(script))
    answers = {line: Path(f"{errors}.{number}").read_text() for number, line in enumerate(lines)}
    assert {line: text for line, text in answers.items() if "was refused." not in text} == {}
    assert "0" not in done.stdout.split()
    assert world.all() == before
    notes = world.notes()[said:]
    assert len(notes) >= len(lines)
    assert all("was refused." in str(note["text"]) and note["data"]["guard"] == "guard" for note in notes)  # type: ignore[index]


def some(lines: Sequence[str]) -> list[tuple[str, ...]]:
    """The lines in groups: starting the walls costs more than the guards do."""
    there = [
        line for line in lines if not line.startswith("mk") or shutil.which(line.split(maxsplit=1)[0], path="/usr/sbin")
    ]
    return [tuple(there[at : at + 8]) for at in range(0, len(there), 8)]


@pytest.mark.parametrize("lines", some(DESTROY), ids=lambda lines: lines[0])
def test_destructive_commands_are_refused_and_nothing_is_lost(world: World, lines: tuple[str, ...]) -> None:
    refused(world, lines)


@pytest.mark.parametrize("lines", some(GIT), ids=lambda lines: lines[0])
def test_git_commands_that_destroy_what_others_have_are_refused(world: World, lines: tuple[str, ...]) -> None:
    refused(world, lines)


def test_a_refusal_tells_what_why_and_what_would_change_it(world: World) -> None:
    done = world.shell("rm -rf ~")
    what, why, change = done.stderr.splitlines()
    assert what == f"interlock: rm -rf {world.home} was refused."
    assert why == "interlock: It is the home folder."
    assert "interlock-task stop" in change
    assert done.returncode == 1


def test_the_harm_is_real_without_the_guards(tmp_path: Path, world: World) -> None:
    """What these tests would see if a guard were missing: the same lines do destroy."""
    bare = world.copy(tmp_path / "w")
    assert bare.shell("rm -rf ~/work", guarded=False).returncode == 0
    assert not (bare.home / "work").exists()
    assert bare.shell("git push -q origin :main", guarded=False).returncode != 0 or not bare.git(
        "-C", str(bare.root / "remote.git"), "branch"
    )
    bare.shell("rm -rf *", guarded=False)
    assert not (bare.tree / "src").exists()


def test_a_guard_that_cannot_judge_refuses(tmp_path: Path, world: World) -> None:
    broken = world.copy(tmp_path / "w")
    (broken.bin / "guards.json").write_text("{")
    done = broken.shell("rm -rf ../two")
    assert done.returncode == 1
    assert "cannot judge" in done.stderr
    assert (broken.root / "trees/two/src").exists()


def test_a_refusal_stands_where_it_cannot_be_written_down(world: World) -> None:
    before = world.all()
    done = world.shell(f'env -i PATH="$PATH" rm -rf {world.home}')
    assert done.returncode == 1
    assert "could not be put on the record" in done.stderr
    assert world.all() == before


def test_in_a_tree_that_shares_nothing_git_may_clean_its_own_store(tmp_path: Path, world: World) -> None:
    alone = World.make(tmp_path / "w", world.bwrap, shared=False)
    own = alone.root / "trees" / "one" / "own"
    alone.git("init", "-q", str(own))
    done = alone.shell("git -C own gc --prune=now -q")
    assert done.returncode == 0, done.stderr
