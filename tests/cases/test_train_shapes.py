"""Odd shapes on the train's whole way, two changes at once: modes, names, links, submodules, drivers, and who is told what."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from interlock.app import decide
from interlock.app.isolate import place_of
from interlock.core.job.lifecycle import State

pytestmark = pytest.mark.long

LINES = "".join(f"line {number}\n" for number in range(1, 31))
ODD = 'a/n\nl\t"q\udcff'
OWN = "git -c user.name=x -c user.email=x commit -q --allow-empty -m x"


def held(world, town, command: str, owns: list[str]) -> None:
    """Two changes that are ready and held: ``a`` by the command, ``b`` elsewhere."""
    world.card("a", owns=json.dumps(owns), command=command)
    world.card("b", command="mkdir b; echo 1 > b/x")
    world.push()
    town().dispatch("a", "b")
    for slug in "ab":
        decide.hold(town().ports, slug, "ana", "together")
    town().run()
    assert [State.READY, State.READY] == [town().job(slug).state for slug in "ab"]


def outside(world, script: str) -> None:
    """Somebody else changes the default branch meanwhile."""
    other = world.root / "outside"
    world.git("clone", "-q", str(world.remote), str(other), at=world.root)
    more = "\ngit add -A\ngit commit -qm outside\ngit push -q origin HEAD:main"
    subprocess.run(["sh", "-ec", script + more], cwd=other, env=world.env, check=True)


def go(town) -> None:
    for slug in "ab":
        decide.hold(town().ports, slug, "ana", None)
    town().run()


def landed(world) -> dict[str, str]:
    """Paths of the default branch with their modes."""
    out = world.git("ls-tree", "-r", "-z", "--full-tree", "main", at=world.remote)
    return {path: meta.split(" ")[0] for meta, _, path in (each.partition("\t") for each in out.split("\0") if each)}


def test_a_file_with_a_driver_clashes_and_the_driver_is_named(world, town):
    """As text the two changes would go together: nobody but the driver knows whether the file then still works."""
    ran = world.root / "ran"
    world.write(".gitattributes", "*.lock merge=mine\n*.md merge=union\n")
    world.write("a/f.lock", LINES)
    world.write("a/log.md", LINES)
    world.git("config", "merge.mine.driver", f"touch {ran}; true")
    held(world, town, "sed -i 's/^line 3$/mine/' a/f.lock; echo by a >> a/log.md", ["a/**"])
    outside(world, "sed -i 's/^line 25$/theirs/' a/f.lock; echo by another >> a/log.md")
    go(town)
    assert "text-conflict" == town().rule("a")
    what = town().job("a").waiting.what
    assert "does not merge with the default branch: a/f.lock. The attributes give a/f.lock to mine to merge" in what
    assert State.LANDED == town().job("b").state
    assert not ran.exists()


def test_a_change_of_attributes_lands_by_those_of_the_base(world, town):
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: none}\nprotected_paths: [CODEOWNERS]\n")
    world.write("a/f.txt", LINES)
    attributes = "printf 'f.txt merge=union\\n' > a/.gitattributes"
    held(world, town, f"{attributes}; sed -i 's/^line 3$/mine/' a/f.txt", ["a/**"])
    outside(world, "sed -i 's/^line 3$/theirs/' a/f.txt")
    go(town)
    assert "text-conflict" == town().rule("a")
    assert "line 3" not in world.git("show", "main:a/f.txt", at=world.remote).splitlines()


def test_odd_names_modes_and_links_land_as_they_were_tested(world, town):
    world.write("a/run", "x\n")
    world.write("a/was", "x\n")
    name = (
        os.fsencode(ODD).decode("latin-1").encode("unicode_escape").decode().replace('"', '\\"').replace("xff", "377")
    )
    held(
        world,
        town,
        f"chmod +x a/run; rm a/was; ln -s run a/was; mv a/run a/RUN; echo 1 > \"$(printf '{name}')\"",
        ["a/**"],
    )
    go(town)
    assert [State.LANDED, State.LANDED] == [town().job(slug).state for slug in "ab"]
    found = landed(world)
    assert {"a/RUN": "100755", "a/was": "120000", ODD: "100644"}.items() <= found.items()
    assert "a/run" not in found


def test_a_name_that_clashes_can_be_told_and_retried(world, town):
    name = "a/n\\nl\\t\\377"
    subprocess.run(["sh", "-ec", f"mkdir a; seq 30 > \"$(printf '{name}')\""], cwd=world.repo, check=True)
    held(world, town, f"sed -i s/^5/mine/ \"$(printf '{name}')\"", ["a/**"])
    outside(world, f"sed -i s/^5/theirs/ \"$(printf '{name}')\"")
    go(town)
    assert "text-conflict" == town().rule("a")
    for words in (["show", "a"], ["inbox"], ["status"]):
        assert world.cli(*words, code=None).returncode in (0, 1), "a fault of ours ends with 3"
    world.cli("retry", "a", "--hypothesis", "again")
    (left,) = place_of(town().job("a")).path.joinpath("a").iterdir()
    assert "<<<<<<<" in left.read_text()


def test_a_submodule_that_both_move_clashes_by_name_and_one_alone_lands(world, town):
    world.write(".gitmodules", '[submodule "lib"]\n\tpath = lib\n\turl = https://example.invalid/lib\n')
    (world.repo / "lib").mkdir()
    world.git("add", "-A")
    world.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    held(world, town, f"git update-index --cacheinfo 160000,{'2' * 40},lib", ["lib"])
    outside(world, f"git update-index --cacheinfo 160000,{'3' * 40},lib")
    go(town)
    assert "text-conflict" == town().rule("a")
    assert town().job("a").waiting.what.endswith("the default branch: lib.")
    assert State.LANDED == town().job("b").state


def test_a_repository_that_nobody_else_could_fetch_does_not_land(world, town):
    world.card("a", owns='["lib"]', command=f"mkdir lib; cd lib; git init -q; {OWN}")
    world.push()
    town().dispatch("a")
    town().run()
    assert "submodule" == town().rule("a")
    assert ".gitmodules does not name" in town().job("a").waiting.what
