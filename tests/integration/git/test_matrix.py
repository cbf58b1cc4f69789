"""The matrix of textual conflicts against git itself, in tangled repositories and in small ones made to be looked at."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.git import tangle
from tests.integration.git.build import ENV, git
from tests.integration.git.tangle import Judge, Tree

from interlock.adapters.git import scratch
from interlock.adapters.git.matrix import melting_pot
from interlock.adapters.git.matrix_known import Known
from interlock.adapters.git.reader import open_reader
from interlock.core.merge.melted import Matrix

TEXT = tangle.lines(5)


def repository(folder: Path, *words: str) -> Path:
    top = folder / "r"
    git(folder, "init", "-q", "-b", "main", *words, str(top))
    git(top, "config", "user.name", "a")
    git(top, "config", "user.email", "a@b")
    return top


def matrix_of(top: Path, heads: list[str], base: str = "main", known: Known | None = None) -> Matrix:
    reader = open_reader(top)
    with melting_pot(reader.git, reader.resolve(base), known=known) as pot:
        return pot.matrix(heads)


def agree(top: Path, found: Matrix, heads: list[str]) -> tuple[int, int]:
    """Compare all pairs with git's own answers; gives how many there were, and how many of them clash."""
    own, pairs = Judge(top, found.base).matrix(heads)
    assert {head for head, clean in own.items() if not clean} == set(found.with_base)
    clashing = {pair for pair, (clean, _) in pairs.items() if not clean}
    wrong = sorted(clashing ^ set(found.pairs))
    assert not wrong, [(git(top, "diff", "--stat", *pair), pairs[pair], found.pairs.get(pair)) for pair in wrong[:2]]
    for pair, clashes in found.pairs.items():
        if all(clash.triple or clash.why.startswith("The one") for clash in clashes):
            assert {clash.path for clash in clashes} == pairs[pair][1]
    return len(pairs), len(clashing)


def built(top: Path, base: Tree, branches: dict[str, Tree]) -> list[str]:
    """A repository of a base and branches on it, its main checked out; gives the branches' commits, each once."""
    oids = tangle.commits(top, [("main", base, []), *((name, tree, ["main"]) for name, tree in branches.items())])
    git(top, "reset", "-q", "--hard", "main")
    return list(dict.fromkeys(oids[name] for name in branches))


def tangled(folder: Path, seed: int, count: int, *words: str) -> tuple[Path, list[str]]:
    dice = random.Random(seed)
    top = repository(folder, *words)
    base = tangle.base_tree(dice)
    moved = tangle.branch_tree(dice, base, 2)
    trees: list[tuple[str, Tree, list[str]]] = [("fork", base, []), ("main", moved, ["fork"])]
    for number in range(count):
        start = dice.choice(["fork", "main", "main"])
        tree = tangle.branch_tree(dice, base if start == "fork" else moved, dice.randrange(1, 5))
        trees.append((f"agent/b{number}", tree, [start]))
    oids = tangle.commits(top, trees)
    git(top, "reset", "-q", "--hard", "main")
    return top, list(dict.fromkeys(oid for name, oid in oids.items() if name.startswith("agent/")))


@pytest.mark.long
def test_every_pair_is_what_git_says(tmp_path: Path) -> None:
    """Renames of files and folders, modes, links, submodules, clashing folders, attributes, line ends, both making, both removing."""
    counts = []
    for seed in range(3):
        (tmp_path / str(seed)).mkdir()
        top, heads = tangled(tmp_path / str(seed), seed, 26)
        counts.append(agree(top, matrix_of(top, heads), heads))
    assert sum(pairs for pairs, _ in counts) > 500
    assert all(0 < clashing < pairs for pairs, clashing in counts)


def test_pairs_of_a_tangle_are_what_git_says(tmp_path: Path) -> None:
    top, heads = tangled(tmp_path, 77, 9)
    pairs, clashing = agree(top, matrix_of(top, heads), heads)
    assert 0 < clashing < pairs


def test_what_is_known_gives_the_same_and_a_new_head_its_own_row(tmp_path: Path) -> None:
    top, heads = tangled(tmp_path, 5, 10)
    fresh = matrix_of(top, heads)
    kept = tmp_path / "kept"
    matrix_of(top, heads[:-1], known=Known(kept))
    before = {file: file.read_bytes() for file in kept.iterdir()}
    again = matrix_of(top, heads, known=Known(kept))
    assert (again.pairs.keys(), again.with_base, again.changes) == (fresh.pairs.keys(), fresh.with_base, fresh.changes)
    (file,) = kept.iterdir()
    added = file.read_bytes().removeprefix(before[file])
    assert added.count(b"\n") == 1
    assert heads[-1].encode() in added
    file.write_bytes(file.read_bytes()[:-30] + b"\xff{broken\n")
    assert matrix_of(top, heads, known=Known(kept)).pairs.keys() == fresh.pairs.keys()


def test_a_repository_with_the_longer_object_names(tmp_path: Path) -> None:
    top, heads = tangled(tmp_path, 3, 5, "--object-format=sha256")
    agree(top, matrix_of(top, heads), heads)


def test_nothing_is_written_to_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(scratch, "SCRATCH", tmp_path / "memory")
    monkeypatch.setattr(scratch, "_ROOM", 0)
    top, heads = tangled(tmp_path, 8, 8)
    before = everything(top / ".git")
    assert matrix_of(top, heads).pairs
    assert everything(top / ".git") == before
    assert not list((tmp_path / "memory").iterdir())


def test_what_a_killed_call_left_is_taken_away_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "SCRATCH", tmp_path / "none")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, age in (("old", 2 * 86400), ("new", 60)):
        (tmp_path / f"interlock-merge-{name}").mkdir()
        os.utime(tmp_path / f"interlock-merge-{name}", (time.time() - age,) * 2)
    top = repository(tmp_path)
    (head,) = built(top, {"a.txt": ("100644", TEXT)}, {"agent/one": {"b.txt": ("100644", TEXT)}})
    matrix_of(top, [head])
    assert [path.name for path in tmp_path.glob("interlock-merge-*")] == ["interlock-merge-new"]


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def edited(line: int, text: bytes) -> bytes:
    parts = TEXT.split(b"\n")
    parts[line] = text
    return b"\n".join(parts)


@pytest.mark.parametrize(
    ("attribute", "clashes"), [("", True), ("*.txt merge=union", False), ("*.txt -merge", True), ("*.txt binary", True)]
)
def test_the_attributes_of_the_base_decide_how_files_are_merged(tmp_path: Path, attribute: str, clashes: bool) -> None:
    top = repository(tmp_path)
    base: Tree = {"a.txt": ("100644", TEXT), ".gitattributes": ("100644", attribute.encode() + b"\n")}
    heads = built(top, base, {f"agent/{n}": {**base, "a.txt": ("100644", edited(4, b"by %d" % n))} for n in range(2)})
    found = matrix_of(top, heads)
    assert bool(found.pairs) is clashes
    agree(top, found, heads)


def test_that_one_base_has_no_attributes_says_nothing_of_another(tmp_path: Path) -> None:
    """What is known spares the listing of the base's files, for exactly the tree that it was found in."""
    top = repository(tmp_path)
    base: Tree = {"a.txt": ("100644", TEXT)}
    united: Tree = {**base, ".gitattributes": ("100644", b"*.txt merge=union\n")}
    sides: dict[str, Tree] = {f"agent/{n}": {"a.txt": ("100644", edited(4, b"by %d" % n))} for n in range(2)}
    other = tangle.commits(top, [("main", base, []), ("united", united, ["main"])])["united"]
    heads = built(top, base, sides)
    kept = tmp_path / "kept"
    for known in (Known(kept), Known(kept), Known(), *[Known()] * 2):
        for on, clashes in (("main", True), (other, False), ("main", True)):
            found = matrix_of(top, heads, on, known)
            assert bool(found.pairs) is clashes
    reader = open_reader(top)
    with melting_pot(reader.git, reader.resolve("main"), known=Known(kept)) as pot:
        pot.matrix(heads)
        assert pot._listed is None


@pytest.mark.parametrize("own", [False, True])
def test_a_driver_is_never_run_and_two_changes_of_its_file_clash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    """The changes are far apart: as text they would go together.  Who names the driver is all the same."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    monkeypatch.setitem(ENV, "XDG_CONFIG_HOME", str(tmp_path / "own"))
    (tmp_path / "own" / "git").mkdir(parents=True)
    (tmp_path / "own" / "git" / "attributes").write_text("*.lock merge=mine\n" if own else "")
    top = repository(tmp_path)
    ran = tmp_path / "ran"
    base: Tree = {"a.lock": ("100644", TEXT), ".gitattributes": ("100644", b"" if own else b"*.lock merge=mine\n")}
    sides = {f"agent/{n}": {**base, "a.lock": ("100644", edited(2 + 12 * n, b"by %d" % n))} for n in range(2)}
    heads = built(top, base, sides)
    git(top, "config", "merge.mine.driver", f"touch {ran}; true")
    git(top, "config", "core.fsmonitor", f"touch {ran}")
    git(top, "config", "filter.x.clean", f"touch {ran}")
    (found,) = [matrix_of(top, heads)]
    ((clash,),) = found.pairs.values()
    assert (clash.path, clash.driver) == ("a.lock", "mine")
    assert not ran.exists()
    Judge(top, found.base).matrix(heads)
    assert ran.exists(), "git itself runs it, so the test shows something"


def test_a_folder_that_one_moves_and_another_adds_to(tmp_path: Path) -> None:
    top = repository(tmp_path)
    base: Tree = {f"old/{n}.txt": ("100644", tangle.lines(n)) for n in range(3)} | {"other.txt": ("100644", TEXT)}
    moved = {name.replace("old/", "new/"): entry for name, entry in base.items()}
    heads = built(top, base, {"agent/moves": moved, "agent/adds": {**base, "old/more.txt": ("100644", b"more\n")}})
    found = matrix_of(top, heads)
    (clashes,) = found.pairs.values()
    assert clashes[0].kind == "directory rename suggested"
    assert "old/more.txt" in clashes[0].why
    agree(top, found, heads)


def test_a_file_in_the_way_of_a_folder_is_named_as_its_side_calls_it(tmp_path: Path) -> None:
    """Git moves the file aside under the name of a commit that is gone afterwards: that is no path to look at."""
    top = repository(tmp_path)
    base: Tree = {"lib/a.txt": ("100644", TEXT), "other.txt": ("100644", TEXT)}
    file: Tree = {"lib": ("100644", b"a file\n"), "other.txt": ("100644", TEXT)}
    edits: Tree = {**base, "lib/a.txt": ("100644", edited(3, b"edited"))}
    heads = built(top, base, {"agent/file": file, "agent/edits": edits})
    found = matrix_of(top, heads)
    (clashes,) = found.pairs.values()
    assert {(clash.path, clash.kind) for clash in clashes} == {
        ("lib/a.txt", "modify/delete"),
        ("lib", "file/directory"),
    }
    agree(top, found, heads)


def test_two_changes_of_one_submodule_are_told_once(tmp_path: Path) -> None:
    top = repository(tmp_path)
    base, one, other = ({"sub": ("160000", digit.encode() * 40)} for digit in "123")
    heads = built(top, base, {"agent/one": one, "agent/other": other})
    found = matrix_of(top, heads)
    (clashes,) = found.pairs.values()
    assert [clash.path for clash in clashes] == ["sub"]
    assert "submodule" in clashes[0].kind
    agree(top, found, heads)


def test_lines_are_those_of_each_side(tmp_path: Path) -> None:
    top = repository(tmp_path)
    base: Tree = {"a.txt": ("100644", TEXT)}
    one = b"new first line\n" + edited(9, b"nine by one")
    heads = built(
        top,
        base,
        {"agent/one": {"a.txt": ("100644", one)}, "agent/two": {"a.txt": ("100644", edited(9, b"nine by two"))}},
    )
    reader = open_reader(top)
    with reader.melting(reader.resolve("main")) as pot:
        found = pot.matrix(heads)
        ((pair, clashes),) = found.pairs.items()
        (placed,) = pot.placed(clashes)
    assert placed.lines is not None
    by_head = dict(zip(pair, placed.lines, strict=True))
    assert (by_head[heads[0]].line, by_head[heads[0]].text) == (11, "nine by one")
    assert (by_head[heads[1]].line, by_head[heads[1]].text) == (10, "nine by two")


def test_stacked_branches_do_not_clash_with_what_they_stand_on(tmp_path: Path) -> None:
    top = repository(tmp_path)
    base: Tree = {"a.txt": ("100644", TEXT)}
    low: Tree = {"a.txt": ("100644", edited(4, b"low"))}
    high: Tree = {"a.txt": ("100644", edited(4, b"high"))}
    oids = tangle.commits(
        top,
        [
            ("main", base, []),
            ("agent/low", low, ["main"]),
            ("agent/high", high, ["agent/low"]),
            ("agent/side", high, ["main"]),
        ],
    )
    heads = [oids["agent/low"], oids["agent/high"], oids["agent/side"]]
    found = matrix_of(top, heads)
    assert tuple(sorted(heads[:2])) in found.related
    assert set(found.pairs) == {tuple(sorted((heads[0], heads[2])))}


def test_no_common_ancestor_and_a_shallow_clone_are_refused_head_by_head(tmp_path: Path) -> None:
    top = repository(tmp_path)
    base: Tree = {"a.txt": ("100644", TEXT)}
    heads = built(top, base, {f"agent/{n}": {"a.txt": ("100644", edited(4, b"by %d" % n))} for n in range(2)})
    lone = tangle.commits(top, [("agent/lone", {"b.txt": ("100644", TEXT)}, [])])["agent/lone"]
    found = matrix_of(top, [*heads, lone])
    assert found.refused[lone].refusal.rule == "no-merge-base"
    assert set(found.pairs) == {tuple(sorted(heads))}
    git(top, "commit", "-q", "--allow-empty", "-m", "main goes on")
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{top}", "shallow")
    clone = tmp_path / "shallow"
    found = matrix_of(clone, heads, base="origin/main")
    assert {refused.refusal.rule for refused in found.refused.values()} == {"shallow"}
    assert not found.pairs


def test_no_head_one_head_the_base_itself_and_the_same_twice(tmp_path: Path) -> None:
    top = repository(tmp_path)
    base: Tree = {"a.txt": ("100644", TEXT)}
    (head,) = built(top, base, {"agent/one": {"a.txt": ("100644", edited(4, b"x"))}})
    main = git(top, "rev-parse", "main")
    for heads, asked in (([], 0), ([head], 0), ([head, head], 0), ([head, main], 1), ([main], 0)):
        found = matrix_of(top, heads)
        assert (found.asked, dict(found.pairs), dict(found.with_base), dict(found.refused)) == (asked, {}, {}, {})


def test_a_tree_that_no_git_would_write_spoils_its_own_pairs_alone(tmp_path: Path) -> None:
    top = repository(tmp_path)
    base: Tree = {"a.txt": ("100644", TEXT), "sub": ("160000", b"1" * 40)}
    heads = built(top, base, {f"agent/{n}": {**base, "a.txt": ("100644", edited(4, b"by %d" % n))} for n in range(2)})
    entries = git(top, "ls-tree", "main").replace("1" * 40, "0" * 40)
    made = subprocess.run(["git", "mktree", "--missing"], cwd=top, env=ENV, input=entries.encode(), capture_output=True)
    bad = git(top, "commit-tree", made.stdout.decode().strip(), "-p", "main", "-m", "x")
    found = matrix_of(top, [*heads, bad])
    assert tuple(sorted(heads)) in found.pairs
    assert bad in found.with_base or any(bad in pair for pair in found.pairs)


NAMES = st.sampled_from(["a", "a/b", "a/b/c", "d/e", "d/f", "g"])
ENTRIES = st.tuples(
    st.sampled_from(["100644", "100755", "120000"]), st.sampled_from([TEXT, edited(2, b"x"), edited(3, b"y"), b"z"])
)
TREES = st.dictionaries(NAMES, ENTRIES, min_size=1, max_size=4).map(tangle.tidy)


@pytest.mark.long
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(base=TREES, sides=st.lists(TREES, min_size=2, max_size=4))
def test_small_trees_are_what_git_says(base: Tree, sides: list[Tree]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = repository(Path(folder))
        heads = built(top, base, {f"agent/{number}": tree for number, tree in enumerate(sides)})
        agree(top, matrix_of(top, heads), heads)
