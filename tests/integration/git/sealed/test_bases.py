"""Warm bases: refused without a trace when an installer fails, never changed by tasks, shared by near commits, evicted when unused."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.git.build import git, snapshot_of, work, world
from tests.integration.git.sealed.rooms import Yard, by_command, installer, owner, yard
from tests.needs import needs_sandbox

from interlock.adapters.git.sealed import bases, deltas, eviction
from interlock.core.contract.around import Bases, Dependency
from interlock.core.contract.policy import Policy
from interlock.core.problems import Refused

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = [needs_sandbox, pytest.mark.long, pytest.mark.usefixtures("no_user_settings")]
FILES: dict[str, str | bytes | None] = {
    "src/a.py": "a = 1\n",
    "src/b.py": "b = 2\n",
    "old/x.md": "x\n",
    "old/y.md": "y\n",
    "lock.txt": "1\n",
    ".gitignore": "/deps/\n",
}
INSTALL = "mkdir -p deps && cp lock.txt deps/installed && echo /ws > deps/where"


def layered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "SMALL_FILES", 0)


def keys(here: Yard) -> list[str]:
    return [base.folder.name for base in bases.every(here.layout)]


# ---------------------------------------------------------------- installers
def test_a_failed_install_refuses_and_leaves_nothing(tmp_path: Path) -> None:
    here = yard(world(tmp_path, FILES), wanted=by_command("touch deps; echo no such package >&2; exit 3", "lock.txt"))
    before = git(here.team.top, "for-each-ref")
    with pytest.raises(Refused, match="no such package") as caught:
        here.make()
    assert caught.value.refusal.rule == "sandbox"
    assert "dependencies could not be installed" in caught.value.refusal.what
    assert here.left("job-t") == []
    assert list(here.layout.bases.iterdir()) == []
    assert git(here.team.top, "for-each-ref") == before
    assert here.layout.read("job-t") is None


def test_a_lock_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    here = yard(world(tmp_path, FILES), wanted=by_command("true", "other.lock", folder="src"))
    with pytest.raises(Refused, match=r"src/other\.lock is not in the commit"):
        here.make()
    assert here.left("job-t") == []


def test_dependencies_are_in_place_at_the_path_that_every_task_has(tmp_path: Path) -> None:
    here = yard(world(tmp_path, FILES), wanted=by_command(INSTALL, "lock.txt"))
    one, other = here.make("one"), here.make("other")
    for made in (one, other):
        assert here.run(made, "cat deps/installed deps/where; git status --porcelain; git diff-files") == "1\n/ws"
    assert len(keys(here)) == 1


def test_what_an_installer_changes_is_put_back_and_what_it_adds_is_not_taken_for_work(tmp_path: Path) -> None:
    install = "echo 2 > lock.txt; rm src/a.py; mkdir -p 'egg [x]'; touch 'egg [x]/i' 'src/#made'"
    here = yard(world(tmp_path, FILES), wanted=by_command(install, "lock.txt"))
    made = here.make()
    assert here.run(made, "git status --porcelain; cat lock.txt src/a.py; ls -d egg*") == "1\na = 1\negg [x]"
    assert work(here.repo, made).empty


def test_uv_installs_a_project_with_a_local_dependency(tmp_path: Path) -> None:
    root = Path(__file__).parents[4]
    places = [os.environ.get("PATH", ""), str(Path(sys.executable).parent), *map(str, root.glob(".tools/uv-*/bin"))]
    uv = shutil.which("uv", path=os.pathsep.join(places))
    if uv is None:
        if os.environ.get("CI") == "true":
            pytest.fail("uv is not there")
        pytest.skip("uv is not there")
    project = '[project]\nname = "{}"\nversion = "1"\nrequires-python = ">=3.9"\ndependencies = {}\n'
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    team = world(
        tmp_path,
        {
            "pyproject.toml": project.format("app", '["lib"]') + '[tool.uv.sources]\nlib = {path = "lib"}\n',
            "lib/pyproject.toml": project.format("lib", "[]") + build,
            "lib/backend.py": BACKEND,
            ".gitignore": ".venv/\n",
        },
    )
    env = {**os.environ, "UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_CACHE_DIR": str(tmp_path / "cache")}
    import subprocess

    subprocess.run(
        [uv, "lock", "--offline", "-p", "/usr/bin/python3"], cwd=team.top, env=env, check=True, capture_output=True
    )
    team.commit({}, "lock")
    team.push()
    install = f"{uv} sync --locked --offline -p /usr/bin/python3"
    wanted = Policy(dependencies=(Dependency(use="uv", lock=("uv.lock",), install=install),))
    here = yard(team, wanted=wanted, install=installer(str(Path(uv).resolve().parent), uv))
    made = here.make()
    assert here.run(made, ".venv/bin/python -c 'import lib; print(lib.__file__)'").startswith("/ws/.venv/lib/python3")
    assert here.run(made, "git status --porcelain") == ""


BACKEND = """
import zipfile
from pathlib import Path

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "lib-1-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w") as wheel:
        wheel.writestr("lib.py", "there = True")
        wheel.writestr("lib-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: lib\\nVersion: 1\\nRequires-Python: >=3.9\\n")
        wheel.writestr("lib-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("lib-1.dist-info/RECORD", "lib.py,,\\nlib-1.dist-info/METADATA,,\\nlib-1.dist-info/WHEEL,,\\nlib-1.dist-info/RECORD,,\\n")
    return name
"""


def test_npm_installs_a_project_with_a_local_dependency(tmp_path: Path) -> None:
    if shutil.which("npm", path="/usr/bin:/usr/local/bin:/bin") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("npm is not there")
        pytest.skip("npm is not there")
    lock = (
        '{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {'
        '"": {"name": "app", "version": "1.0.0", "dependencies": {"lib": "file:lib"}},'
        '"lib": {"version": "1.0.0"}, "node_modules/lib": {"resolved": "lib", "link": true}}}'
    )
    team = world(
        tmp_path,
        {
            "web/package.json": '{"name": "app", "version": "1.0.0", "dependencies": {"lib": "file:lib"}}',
            "web/package-lock.json": lock,
            "web/lib/package.json": '{"name": "lib", "version": "1.0.0", "main": "i.js"}',
            "web/lib/i.js": "module.exports = 7",
            ".gitignore": "node_modules/\n",
        },
    )
    wanted = Dependency(use="npm", lock=("package-lock.json",), install="npm ci --offline --no-audit", folder="web")
    here = yard(team, wanted=Policy(dependencies=(wanted,)))
    made = here.make()
    assert here.run(made, "cd web; node -e 'console.log(require(\"lib\"))'; git status --porcelain") == "7"


# ---------------------------------------------------------------- never changed
def test_a_base_is_not_changed_by_its_tasks(tmp_path: Path) -> None:
    here = yard(world(tmp_path, FILES), wanted=by_command(INSTALL, "lock.txt"))
    one, other = here.make("one"), here.make("other")
    (base,) = bases.every(here.layout)
    before = snapshot_of(base.folder)
    here.run(
        one, "echo mine > src/a.py; rm -r old deps; chmod 600 src/b.py; ln -sf /etc/passwd lock.txt; touch src/b.py"
    )
    here.run(one, "git add -A; git commit -qm x; git gc -q --prune=now; git clean -fdxq")
    assert snapshot_of(base.folder) == before
    assert here.run(other, "git status --porcelain; git diff-files; cat deps/installed src/a.py") == "1\na = 1"


# ---------------------------------------------------------------- near commits
def test_a_near_commit_stands_on_the_same_base_with_a_layer_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layered(monkeypatch)
    here = yard(world(tmp_path, {**FILES, "link": "x", "dir/in/file": "f", "file": "was a file"}))
    here.make("first")
    os.remove(here.team.top / "link")
    (here.team.top / "link").symlink_to("src/a.py")
    shutil.rmtree(here.team.top / "dir")
    here.team.commit(
        {"src/a.py": "a = 9\n", "old/x.md": None, "old/y.md": None, "new/n.md": "n\n", "dir": "now a file"}
    )
    os.remove(here.team.top / "file")
    os.chmod(here.team.top / "src/b.py", 0o755)
    here.team.commit({"file/now": "a folder"})
    here.team.push()
    made = here.make("second")
    assert len(keys(here)) == 1
    assert len(here.layout.read("job-second").lower) == 2  # type: ignore[union-attr]
    assert (
        here.run(made, "git rev-parse HEAD; git status --porcelain; git diff-files; git diff HEAD --stat") == made.base
    )
    assert here.run(made, "find . -path ./.git -prune -o -print | sort") == (
        ".\n./.gitignore\n./dir\n./file\n./file/now\n./link\n./lock.txt\n./new\n./new/n.md\n./src\n./src/a.py\n./src/b.py"
    )
    assert here.run(made, "cat src/a.py dir file/now; readlink link; stat -c %a src/b.py") == (
        "a = 9\nnow a filea foldersrc/a.py\n755"
    )
    written = {path.lstat().st_uid for path in (bases_folder(here) / "deltas").rglob("*") if "tree" in path.parts}
    assert written == {owner()}


def bases_folder(here: Yard) -> Path:
    (base,) = bases.every(here.layout)
    return base.folder


def test_a_folder_of_which_only_installed_files_are_left_keeps_them(tmp_path: Path) -> None:
    here = yard(
        world(tmp_path, FILES),
        wanted=by_command("touch old/installed; echo old/installed >> .git/info/exclude", "lock.txt"),
    )
    here.make("first")
    here.team.commit({"old/x.md": None, "old/y.md": None})
    here.team.push()
    made = here.make("second")
    assert here.run(made, "ls old; git status --porcelain") == "installed"


def test_a_commit_that_is_too_far_gets_a_base_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layered(monkeypatch)
    monkeypatch.setattr(deltas, "MOST", 2)
    here = yard(world(tmp_path, FILES))
    here.make("first")
    here.team.commit({f"n{number}": "x" for number in range(3)})
    here.team.push()
    made = here.make("second")
    assert len(keys(here)) == 2
    assert here.run(made, "git status --porcelain; git diff-files; ls n*") == "n0\nn1\nn2"


def test_attributes_that_change_other_files_bytes_get_a_base_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layered(monkeypatch)
    here = yard(world(tmp_path, FILES))
    here.make("first")
    here.team.commit({".gitattributes": "*.md eol=crlf\n"})
    here.team.push()
    made = here.make("second")
    assert len(keys(here)) == 2
    assert here.run(made, "git status --porcelain; od -c old/x.md | head -1") == "0000000   x  \\r  \\n"


def test_other_lock_files_get_a_base_of_their_own_and_other_files_do_not(tmp_path: Path) -> None:
    here = yard(world(tmp_path, FILES), wanted=by_command(INSTALL, "lock.txt"))
    here.make("first")
    here.team.commit({"src/a.py": "a = 2\n"})
    here.team.push()
    assert here.run(here.make("near"), "cat deps/installed src/a.py; git diff-files") == "1\na = 2"
    assert len(keys(here)) == 1
    here.team.commit({"lock.txt": "2\n"})
    here.team.push()
    assert here.run(here.make("far"), "cat deps/installed src/a.py; git diff-files") == "2\na = 2"
    assert len(keys(here)) == 2


# ---------------------------------------------------------------- killed, evicted
def test_leftovers_of_a_killed_build_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layered(monkeypatch)
    here = yard(world(tmp_path, FILES))
    here.make("first")
    (key,) = keys(here)
    shutil.rmtree(here.layout.bases / key)
    torn = here.layout.bases / f".making-{key}-x"
    (torn / "tree").mkdir(parents=True)
    here.make("second")
    assert [each.name for each in here.layout.bases.iterdir()] == [key]


def test_unused_bases_are_evicted_and_used_ones_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layered(monkeypatch)
    monkeypatch.setattr(deltas, "MOST", 0)
    here = yard(world(tmp_path, FILES))
    made = []
    for number in range(3):
        here.team.commit({"src/a.py": f"a = {number + 5}\n"})
        here.team.push()
        made.append(here.make(f"s{number}"))
    by_commit = {base.commit: base.folder for base in bases.every(here.layout)}
    names = [by_commit[place.base].name for place in made]
    everything, nothing = Bases(keep=0.0, disk=0), Bases(keep=3600.0, disk=10**12)
    assert eviction.evict(here.layout, everything) == (), "each is a task's"
    for place in made[:2]:
        here.layout.write(replace(here.layout.read(place.job), state="removed"))  # type: ignore[arg-type, type-var]
    assert eviction.evict(here.layout, nothing) == (), "each was used just now"
    with here.spaces.fresh(made[0].base, tmp_path / "fresh", "sealed"):
        assert eviction.evict(here.layout, everything) == (names[1],), "the other one is used by a check"
    old = time.time() - 7200
    os.utime(by_commit[made[0].base] / "used", (old, old))
    assert eviction.evict(here.layout, nothing) == (names[0],)
    assert keys(here) == [names[2]]
    assert [each.name for each in here.layout.bases.iterdir()] == [names[2]]
    assert here.run(made[2], "git diff-files; cat src/a.py") == "a = 7"


def test_a_layer_of_one_commit_goes_after_a_day_unless_a_task_stands_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layered(monkeypatch)
    here = yard(world(tmp_path, FILES))
    here.make("first")
    made = []
    for number in range(2):
        here.team.commit({"src/a.py": f"a = {number + 5}\n"})
        here.team.push()
        made.append(here.make(f"s{number}"))
    here.layout.write(replace(here.layout.read("job-s0"), state="removed"))  # type: ignore[arg-type, type-var]
    layers = here.layout.bases.glob("*/deltas/*")
    for each in layers:
        os.utime(each, (time.time() - 90_000,) * 2)
    assert eviction.evict(here.layout, Bases()) == ()
    assert [each.name for each in here.layout.bases.glob("*/deltas/*")] == [made[1].base]
    assert here.run(made[1], "git diff-files; cat src/a.py") == "a = 6"


def test_the_longest_unused_goes_first_until_the_rest_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layered(monkeypatch)
    monkeypatch.setattr(deltas, "MOST", 0)
    here = yard(world(tmp_path, {**FILES, "big": "x" * 100_000}))
    folders = []
    for number in range(3):
        here.team.commit({"src/a.py": f"a = {number + 5}\n"})
        base = here.team.push()
        here.repo.refresh()
        with here.spaces.fresh(base, tmp_path / "fresh", "sealed"):
            pass
        folders.append(next(each.folder for each in bases.every(here.layout) if each.commit == base))
        moment = time.time() - 100 + number * 10
        os.utime(folders[-1] / "used", (moment, moment))
    gone = eviction.evict(here.layout, Bases(keep=3600.0, disk=300_000))
    assert gone == (folders[0].name,)
