"""Everyday commands pass the guards as if there were none: same effect, same exit code, and hardly slower."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.integration.task.guarded import World, bubblewrap


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> World:
    found = bubblewrap()
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("bubblewrap is missing.")
        pytest.skip("bubblewrap cannot be used here")
    return World.make(tmp_path_factory.mktemp("first") / "w", found)


@pytest.fixture
def world(tmp_path: Path, first: World) -> World:
    return first.copy(tmp_path / "w")


# A line, and what is gone or changed afterwards (None: nothing).
HARMLESS = (
    ("rm -rf build", "build"),
    ("rm -rf ./build/", "build"),
    ('rm -rf "$PWD/build"', "build"),
    ("rm -r build/out build/y.o", "build/out"),
    ("cd src && rm -rf ../build", "build"),
    ("cd src && rm -f *.py", "src/a.py"),
    ("rm -f README.md src/a.py", "README.md"),
    ("rm to-home", "to-home"),
    ("rm -rf -- build", "build"),
    ("rm -rf build/*", "build/out"),
    ("rm -rf ~/.cache/pip", "../../home/.cache/pip"),
    ("rm -f ~/.cache/pip/x", "../../home/.cache/pip/x"),
    ("mkdir d && rmdir d", None),
    ("rm -f nothing-there", None),
    ("rm nothing-there", None),
    ("unlink build/y.o", "build/y.o"),
    ("mv build out", "build"),
    ("mv src/a.py tests/", "src/a.py"),
    ("find . -name '*.o' -delete", "build/y.o"),
    ("find build -delete", "build"),
    ("find . -name y.o -exec rm {} ';'", "build/y.o"),
    ("find / -maxdepth 0 -print", None),
    ("find . -type f -exec grep -l rm {} +", None),
    ("dd if=/dev/zero of=build/y.o count=1", "build/y.o"),
    ("dd if=README.md of=/dev/null", None),
    ("truncate -s 0 build/y.o", "build/y.o"),
    ("shred -u build/y.o", "build/y.o"),
    ("chmod -R a+rX .", None),
    ("chmod -R 755 build", "build/y.o"),
    ("chmod +x README.md", "README.md"),
    ("chmod 600 README.md", "README.md"),
    ("git status --short", None),
    ("git log -1 --format=%s", None),
    ("git reset -q --hard", None),
    ("git checkout -q -- .", None),
    ("git restore .", None),
    ("git clean -fdxq build", "build"),
    ("git clean -ndx ../two", None),
    ("git rm -q README.md", "README.md"),
    ("git checkout -q -b spike && git checkout -q agent/one && git branch -D spike", None),
    ("git stash -u -q && git stash pop -q", None),
    ("git -C ../two status --short", None),
    ("git push -q --dry-run origin agent/one", None),
    ("git commit -q --allow-empty -m 'push --force, clean and reset'", None),
)


@pytest.mark.parametrize(("line", "gone"), HARMLESS)
def test_it_passes_with_the_same_effect_and_code(world: World, tmp_path: Path, line: str, gone: str | None) -> None:
    other = world.copy(tmp_path / "b")
    before = world.all()
    guarded, bare = world.shell(line), other.shell(line, guarded=False)
    assert "interlock" not in guarded.stderr
    assert guarded.returncode == bare.returncode, guarded.stderr
    assert _plain(guarded.stdout, world) == _plain(bare.stdout, other)
    after = world.all()
    if gone is not None:
        name = os.path.normpath(f"trees/one/{gone}")
        assert after.get(name) != before[name]
    assert {key for key in after if ".git" not in key} == {key for key in other.all() if ".git" not in key}
    assert world.notes() == []


def _plain(text: str, world: World) -> str:
    return text.replace(str(world.root), "")


def test_words_with_blanks_quotes_and_newlines_arrive_as_they_are(world: World) -> None:
    name = 'it\'s "a" file\nwith * $HOME `x` \\ and -r'
    (world.tree / name).write_text("x")
    (world.tree / "-dash").write_text("x")
    (world.tree / "README.md").write_text("keep")
    done = world.shell("rm -f -- ./it*r -dash")
    assert done.returncode == 0, done.stderr
    assert not (world.tree / name).exists()
    assert not (world.tree / "-dash").exists()
    assert (world.tree / "README.md").read_text() == "keep"


def test_standard_input_reaches_the_real_program(world: World) -> None:
    assert world.shell("echo y | rm -i build/y.o").returncode == 0
    assert not (world.tree / "build/y.o").exists()
    assert world.shell("printf 'src/a.py\\0' | xargs -0 rm").returncode == 0
    assert not (world.tree / "src/a.py").exists()


def test_a_scratch_folder_is_the_tasks_own(world: World) -> None:
    done = world.shell(
        "mkdir -p /dev/shm/x/y && cd /dev/shm/x && rm -rf y && cd .. && rm -rf /dev/shm/x && ls -d /dev/shm/x 2>/dev/null || true"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_program_that_is_not_there_stays_so(world: World) -> None:
    there = world.guard(search=str(world.root / "nothing"))
    assert there == ()
    assert world.shell("rm --version").stdout.startswith("rm (GNU")
    (world.bin / "rm").symlink_to(".interlock-guard")
    done = world.shell(f"PATH={world.bin}; rm x")
    assert done.returncode == 127
    assert "not found" in done.stderr


def test_two_folders_of_guards_do_not_call_each_other_for_ever(world: World) -> None:
    other = world.root / "bin2"
    from interlock.host import guards

    guards.write(other, tree=str(world.tree), home=str(world.home))
    done = world.shell(f"PATH={other}:$PATH; rm -rf build; PATH={world.bin}:{other}:/usr/bin:/bin; rm -f README.md")
    assert done.returncode == 0, done.stderr
    assert not (world.tree / "build").exists()
    assert not (world.tree / "README.md").exists()


def test_the_environment_of_the_real_program_is_unchanged(world: World) -> None:
    real = world.root / "real"
    real.mkdir()
    (real / "truncate").write_text("#!/bin/sh\nenv | sort\n")
    (real / "truncate").chmod(0o755)
    line = f"cd build; {{bin}}PATH={world.bin}:{real}:$PATH; export PATH; truncate -s 0 y.o"
    assert (
        world.shell(line.format(bin="")).stdout
        == world.shell(f"cd build; PATH={world.bin}:{real}:$PATH; export PATH; {real}/truncate -s 0 y.o").stdout
    )


def test_a_harmless_call_starts_no_python(world: World) -> None:
    """The guards' Python is not even there, and everyday calls do not miss it."""
    script = world.bin / ".interlock-guard"
    script.write_text(script.read_text().replace(" -I -S -c ", " -I -S -missing -c "))
    lines = ["rm -rf build", "rm -f src/a.py", 'rm "$PWD/README.md"', "cd tests && rm t.py", "mv src tests/"]
    lines += [
        "git status -s",
        "git log -1",
        "git add -A",
        "git -c user.name=x commit -qm y",
        "chmod 600 tests/src/b.py",
    ]
    lines += ["find . -name x", "dd if=/dev/null of=z", "git branch spike", "rm -f nothing"]
    for line in lines:
        done = world.shell(line)
        assert done.returncode == 0, (line, done.stderr)
    assert world.shell("rm -rf ../two").returncode == 1


@pytest.mark.long
def test_a_loop_of_removals_is_hardly_slower(world: World) -> None:
    def seconds(*, guarded: bool) -> float:
        line = "i=0; while [ $i -lt 300 ]; do rm -f build/none.$i; i=$((i+1)); done"
        begin = time.perf_counter()
        assert world.shell(line, guarded=guarded).returncode == 0
        return time.perf_counter() - begin

    bare = min(seconds(guarded=False) for _ in range(3))
    guarded = min(seconds(guarded=True) for _ in range(3))
    print(f"rm: {bare / 300 * 1000:.2f} ms bare, {guarded / 300 * 1000:.2f} ms guarded")
    assert guarded - bare < max(300 * 0.010, 3 * bare), "10 ms each, or what this machine makes of that"
