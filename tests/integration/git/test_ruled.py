"""Merges of the train by the attributes of the base: what git in a checkout of the base says, and no program's word."""

from __future__ import annotations

import random
import re
from itertools import permutations
from pathlib import Path
from typing import Literal

import pytest
from tests.integration.git import tangle
from tests.integration.git.build import AUTHOR, World, git, place, work, world, write
from tests.integration.git.tangle import Judge, Tree

from interlock.adapters.git.attributes import is_driver, merged_how, without_drivers
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.scratch import scratch
from interlock.ports.repository import Inverse, Merged, TextConflict

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")

LINES = "".join(f"line {number}\n" for number in range(1, 31))
STYLES: tuple[Literal["merge", "squash", "rebase"], ...] = ("merge", "squash", "rebase")


def changed(line: int, by: str) -> str:
    return LINES.replace(f"line {line}\n", f"line {line} by {by}\n")


def two(team: World, name: str, first: str, second: str) -> tuple[GitRepo, list[str]]:
    """Two tasks that each give a file another content."""
    repo = team.repo()
    heads = []
    for slug, text in (("one", first), ("two", second)):
        made = place(team, slug, f"job-{slug}", repo)
        write(made.path, {name: text})
        done = work(repo, made, message=f"{slug}\n\nInterlock-Job: job-{slug}\n", keep=f"refs/interlock/kept/{slug}/1")
        heads.append(done.commit)
    return repo, heads


def merged(
    repo: GitRepo, heads: list[str], style: Literal["merge", "squash", "rebase"] = "merge"
) -> Merged | TextConflict:
    return repo.merge(repo.last_base().oid, heads, message="Land", style=style, each=["one", "two"])


# ---------------------------------------------------------------- refused where the text would fit
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("attribute", ["*.lock -merge", "*.lock binary", "*.lock merge=binary", "*.lock merge=mine"])
def test_a_file_that_may_not_be_merged_as_text_clashes(tmp_path: Path, attribute: str, style: str) -> None:
    """The two changes are far apart: as text they would go together."""
    team = world(tmp_path, {"a.lock": LINES, ".gitattributes": f"{attribute}\n"})
    repo, heads = two(team, "a.lock", changed(3, "one"), changed(25, "two"))
    found = merged(repo, heads, style)  # type: ignore[arg-type]
    assert found == TextConflict(head=heads[1], paths=("a.lock",))
    named = {"a.lock": "mine"} if "mine" in attribute else {}
    assert repo.drivers(repo.last_base().oid, ["a.lock", "other"]) == named


@pytest.mark.parametrize("how", ["named", "by default", "in place of text"])
def test_a_driver_of_a_configuration_is_never_run(tmp_path: Path, how: str) -> None:
    ran = tmp_path / "ran"
    team = world(tmp_path, {"a.lock": LINES, ".gitattributes": "*.lock merge=mine\n" if how == "named" else "x y\n"})
    name = "text" if how == "in place of text" else "mine"
    git(team.top, "config", f"merge.{name}.driver", f"touch {ran}; true")
    if how == "by default":
        git(team.top, "config", "merge.default", "mine")
    repo, heads = two(team, "a.lock", changed(3, "one"), changed(25, "two"))
    assert isinstance(merged(repo, heads), TextConflict if how == "named" else Merged)
    assert not ran.exists()
    Judge(team.top, repo.last_base().oid).merge(*heads)
    assert ran.exists() is (how != "in place of text"), "git itself runs it, so the test shows something"


def test_a_task_that_changes_attributes_does_not_change_how_it_is_merged(tmp_path: Path) -> None:
    """Neither of its own merge nor of one that stands behind it: the base's count until the change has landed."""
    team = world(tmp_path, {"a.txt": LINES, "b.lock": LINES, ".gitattributes": "*.lock -merge\n"})
    repo = team.repo()
    heads = []
    for slug, line in (("one", 3), ("two", 25)):
        made = place(team, slug, f"job-{slug}", repo)
        files: dict[str, str | bytes | None] = {"a.txt": changed(9, slug), "b.lock": changed(line, slug)}
        write(made.path, files | {".gitattributes": "*.lock merge\n*.txt merge=union\n"})
        heads.append(work(repo, made, keep=f"refs/interlock/kept/{slug}/1").commit)
    found = merged(repo, heads)
    assert found == TextConflict(head=heads[1], paths=("a.txt", "b.lock"))


def test_a_file_of_attributes_that_is_a_link_counts_for_nothing(tmp_path: Path) -> None:
    team = world(tmp_path, {"a.txt": LINES})
    (team.top / ".gitattributes").symlink_to("x\n*.txt merge=union")
    team.commit({})
    team.push()
    repo, heads = two(team, "a.txt", changed(9, "one"), changed(9, "two"))
    assert isinstance(merged(repo, heads), TextConflict)


# ---------------------------------------------------------------- merged where the text would clash
@pytest.mark.parametrize("style", STYLES)
def test_a_file_whose_lines_are_united_goes_together_and_is_whole(tmp_path: Path, style: str) -> None:
    team = world(tmp_path, {"docs/log.md": LINES, "docs/.gitattributes": "*.md merge=union\n"})
    repo, heads = two(team, "docs/log.md", LINES + "by one\n", LINES + "by two\n")
    base = repo.last_base()
    found = merged(repo, heads, style)  # type: ignore[arg-type]
    assert isinstance(found, Merged)
    clean, tree, _ = Judge(team.top, base.oid).merge(*heads)
    assert (clean, tree) == (True, found.tree), "as git in a checkout of the base"
    assert git(repo.mirror.path, "show", f"{found.commit}:docs/log.md") == (LINES + "by one\nby two").rstrip()
    assert repo.lacking(base.oid, found.commit, heads) == ((), ())
    assert repo.land(base, found.commit).state == "landed"


def test_attributes_of_the_repository_alone_count_and_a_person_s_own_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    write(tmp_path / "own" / "git", {"attributes": "*.md merge=union\n"})
    team = world(tmp_path, {"log.md": LINES, "log.txt": LINES})
    git(team.top, "config", "core.attributesFile", str(tmp_path / "own" / "git" / "attributes"))
    write(team.top / ".git" / "info", {"attributes": "*.txt merge=union\n"})
    repo, heads = two(team, "log.md", LINES + "by one\n", LINES + "by two\n")
    assert isinstance(merged(repo, heads), TextConflict)
    with repo.melting(repo.last_base().oid) as pot:
        assert pot.matrix(heads).pairs, "and conflicts says the same"
    (tmp_path / "b").mkdir()
    team = world(tmp_path / "b", {"log.txt": LINES})
    write(team.top / ".git" / "info", {"attributes": "*.txt merge=union\n"})
    repo, heads = two(team, "log.txt", LINES + "by one\n", LINES + "by two\n")
    assert isinstance(merged(repo, heads), Merged)


# ---------------------------------------------------------------- taking back, taking out, a new base
def test_taking_a_change_back_obeys_the_attributes_of_what_it_is_taken_from(tmp_path: Path) -> None:
    team = world(tmp_path, {"a.lock": LINES, ".gitattributes": "*.lock merge=mine\n"})
    repo, (one, _) = two(team, "a.lock", changed(3, "one"), changed(25, "two"))
    landed = repo.merge(
        repo.last_base().oid,
        [one],
        message="one\n\nInterlock-Job: job-one\n",
        style="squash",
        each=["one\n\nInterlock-Job: job-one\n"],
    )
    assert isinstance(landed, Merged)
    repo.land(repo.last_base(), landed.commit)
    later = team.outsider({"a.lock": changed(3, "one").replace("line 25\n", "line 25 later\n")})
    base = repo.refresh()
    words = {"message": "back", "author": AUTHOR}
    assert repo.inverse(base.oid, "job-one", **words) == TextConflict(head=landed.commit, paths=("a.lock",))  # type: ignore[arg-type]
    assert repo.taken_out(later, landed.commit) is None
    team.outsider({"a.lock": changed(3, "one"), ".gitattributes": "*.lock merge\n"})
    found = repo.inverse(repo.refresh().oid, "job-one", **words)  # type: ignore[arg-type]
    assert isinstance(found, Inverse)
    assert found.paths == ("a.lock",)


def test_what_a_combination_says_of_itself_does_not_count_when_a_change_is_taken_out(tmp_path: Path) -> None:
    team = world(tmp_path, {"a.lock": LINES, ".gitattributes": "*.lock -merge\n"})
    repo, (one, _) = two(team, "a.lock", changed(3, "one"), changed(25, "two"))
    base = repo.last_base()
    made = place(team, "both", "job-both", repo)
    write(made.path, {"a.lock": changed(3, "one").replace("line 25\n", "25\n"), ".gitattributes": "*.lock merge\n"})
    both = work(repo, made, keep="refs/interlock/kept/both/1").commit
    assert repo.taken_out(both, one) is None
    assert base.oid != both


def test_work_on_a_new_base_clashes_where_the_base_says_so(tmp_path: Path) -> None:
    team = world(
        tmp_path, {"a.lock": LINES, "log.md": LINES, ".gitattributes": "*.lock merge=mine\n*.md merge=union\n"}
    )
    repo = team.repo()
    made = place(team, "one", "job-one", repo)
    write(made.path, {"a.lock": changed(3, "one"), "log.md": LINES + "by one\n", ".gitattributes": "*.lock merge\n"})
    head = work(repo, made).commit
    team.outsider({"a.lock": changed(25, "other"), "log.md": LINES + "by other\n"})
    onto = repo.refresh().oid
    assert repo.rebase_place(made, head=head, onto=onto, keep="refs/interlock/kept/j/b") == ("a.lock",)
    assert (made.path / "log.md").read_text() == LINES + "by other\nby one\n"
    stages = git(made.path, "ls-files", "-u").splitlines()
    assert [line.split("\t")[0][-1] for line in stages] == ["1", "2", "3"]


# ---------------------------------------------------------------- every shape, against git itself
def trees(seed: int, count: int) -> list[tuple[str, Tree, list[str]]]:
    dice = random.Random(seed)
    base = tangle.base_tree(dice)
    told: list[tuple[str, Tree, list[str]]] = [("main", base, [])]
    return told + [(f"b{n}", tangle.branch_tree(dice, base, dice.randrange(1, 5)), ["main"]) for n in range(count)]


@pytest.mark.long
def test_every_merge_is_what_git_in_a_checkout_of_the_base_says(tmp_path: Path) -> None:
    """Renames, modes, links, submodules, clashing folders, attributes in several folders: tree and paths, in three styles."""
    seen = {True: 0, False: 0}
    for seed in (11, 12):
        (tmp_path / str(seed)).mkdir()
        team = world(tmp_path / str(seed))
        oids = tangle.commits(team.top, trees(seed, 14))
        git(team.top, "reset", "-q", "--hard", "main")
        git(team.top, "push", "-q", "--force", "origin", "main")
        repo = team.repo()
        base = repo.refresh().oid
        heads = list(repo.resolve_many([oid for name, oid in oids.items() if name != "main"]))
        judge = Judge(team.top, base)
        for one, other in list(permutations(heads, 2))[::4]:
            for head in (one, other):
                if not judge.merge(base, head)[0]:
                    break
            else:
                clean, tree, paths = judge.merge(one, other)
                seen[clean] += 1
                for style in STYLES:
                    found = repo.merge(base, [one, other], message="x", style=style, each=["x", "y"])
                    if clean:
                        assert isinstance(found, Merged)
                        assert (found.tree, repo.lacking(base, found.commit, [one, other])) == (tree, ((), ()))
                    else:
                        assert isinstance(found, TextConflict)
                        assert set(found.paths) == {re.sub("~[0-9a-f]{40}$", "", path) for path in paths}
    assert min(seen.values()) > 10, seen


def test_conflicts_and_the_train_say_the_same(tmp_path: Path) -> None:
    team = world(tmp_path)
    oids = tangle.commits(team.top, trees(21, 8))
    git(team.top, "reset", "-q", "--hard", "main")
    git(team.top, "push", "-q", "--force", "origin", "main")
    repo = team.repo()
    base = repo.refresh().oid
    heads = list(dict.fromkeys(repo.resolve_many([oid for name, oid in oids.items() if name != "main"])))
    with repo.melting(base) as pot:
        found = pot.matrix(heads)
    assert found.pairs
    for number, one in enumerate(heads):
        for other in heads[number + 1 :]:
            made = repo.merge(base, [one, other], message="x")
            assert isinstance(made, TextConflict) is bool({(one, other), (other, one)} & found.pairs.keys())


# ---------------------------------------------------------------- what a line of attributes says
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b"*.lock merge=mine", b"*.lock -merge    "),
        (b"*.lock\tmerge=mine eol=lf", b"*.lock\t-merge     eol=lf"),
        (b"  *.lock text merge=mine\r", b"  *.lock text -merge    \r"),
        (b"[attr]gen merge=mine -diff", b"[attr]gen -merge     -diff"),
        (b'"a merge=b.lock" merge=mine', b'"a merge=b.lock" -merge    '),
        (b'"a"merge=mine', b'"a"-merge    '),
        (b'"a\\q merge=mine" x', b'"a\\q -merge      x'),
        (b"merge=mine merge=mine", b"merge=mine -merge    "),
        (b"*.lock merge=mi\0ne merge=x", b"*.lock -merge  \0ne merge=x"),
        (b"# *.lock merge=mine", b"# *.lock merge=mine"),
        (b"*.lock -merge=mine xmerge=mine merge=union", b"*.lock -merge=mine xmerge=mine merge=union"),
        (b"*.lock merge=text", b"*.lock merge=text"),
        (b"*.lock merge=", b"*.lock merge="),
        (b"merge", b"merge"),
        (b"", b""),
    ],
)
def test_a_driver_is_taken_out_of_a_line_and_nothing_else(tmp_path: Path, line: bytes, wanted: bytes) -> None:
    assert without_drivers(line) == wanted
    assert without_drivers(b"x y\n" + line + b"\nz merge=w") == b"x y\n" + wanted + b"\nz -merge "


def test_the_mark_of_an_encoding_counts_before_the_first_line_alone() -> None:
    assert without_drivers(b'x\n\xef\xbb\xbf"a merge=mine"') == b'x\n\xef\xbb\xbf"a -merge     '
    assert without_drivers(b'\xef\xbb\xbf"a merge=x" merge=x') == b'\xef\xbb\xbf"a merge=x" -merge '


@pytest.mark.parametrize("value", ["", "=", "=x"])
def test_odd_values_stop_no_train(tmp_path: Path, value: str) -> None:
    """An empty one is none of git's ways and no program: the text is merged."""
    team = world(tmp_path, {"a.lock": LINES, ".gitattributes": f"*.lock merge={value}\n"})
    repo, heads = two(team, "a.lock", changed(3, "one"), changed(25, "two"))
    assert isinstance(merged(repo, heads), TextConflict if value else Merged)
    assert repo.drivers(repo.last_base().oid, ["a.lock", "other"]) == ({"a.lock": value} if value else {})
    with repo.melting(repo.last_base().oid) as pot:
        assert bool(pot.matrix(heads).pairs) == bool(value)


def test_attributes_at_a_path_that_no_disk_holds_stop_no_merge(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "g")
    with scratch(GitDir(path=tmp_path / "g")) as made:
        long, odd = "/".join(["d" * 250] * 17), "x" * 300
        made.dress(
            {
                f"{long}/.gitattributes": b"* -merge\n",
                f"{odd}/.gitattributes": b"* -merge\n",
                ".gitattributes": b"* merge=x\n",
            }
        )
        assert made.how(["a"]) == {"a": "x"}


def test_every_odd_line_means_without_its_driver_what_it_means_with_it(tmp_path: Path) -> None:
    """Patterns in quotes, blanks, marks of encodings, macros, NULs and lines too long for git, in several folders."""
    git(tmp_path, "init", "-q", "--bare", "g")
    source, chance = GitDir(path=tmp_path / "g"), random.Random(3)
    kinds = {"set": "text", "unspecified": "text", "unset": "binary"}
    seen = 0
    for _ in range(60):
        folders = chance.sample(["", "d/", "d/f/", "D/"], chance.randint(1, 3))
        files = {f"{folder}.gitattributes": b"\n".join(odd_line(chance) for _ in range(6)) for folder in folders}
        with scratch(source) as made:
            made.dress(files)
            said, real = made.how(ODD_PATHS), merged_how(made.git, ODD_PATHS, {})
            for path in ODD_PATHS:
                wanted = "binary" if is_driver(said[path]) else kinds.get(said[path], said[path])
                assert kinds.get(real[path], real[path]) == wanted, (path, said[path], real[path], files)
                seen += is_driver(said[path])
    assert seen > 10, seen


ODD_PATHS = ["a.py", "b c.py", "d/e.py", "d/a.py", "D/A.PY", "d/#x", "é.txt", "d/f/g.lock", '"q.py', "[attr]x", "!z"]
ODD_PATTERNS = (
    rb'* *.py /a.py d/** "b\040c.py" "a.py a".py "\303\251.txt" d/f/ [attr]mine [attr]-bad !a.py #x \#x [ [a- *.lock "\9" "\400" "[attr]q"'
).split()
ODD_WORDS = (
    b"merge -merge !merge merge=union merge=binary merge=text merge=own merge= merge=-x -merge=x mine -mine binary text "
    b'eol=crlf ident filter=x q merge=a=b xmerge=x merge="x" merge=x\x0b \0merge=h merge=x\0 merge=x\xa0'
).split(b" ")


def odd_line(chance: random.Random) -> bytes:
    start = chance.choice([b"", b"", b"", b" ", b"\t", b"\xef\xbb\xbf"])
    words = (
        chance.choice([b" ", b" ", b"\t", b"\r", b"\x0b"]) + chance.choice(ODD_WORDS)
        for _ in range(chance.randint(0, 4))
    )
    long = b" merge=" + b"y" * chance.choice([2010, 2030, 2048]) + b" text" if chance.random() < 0.1 else b""
    return start + chance.choice(ODD_PATTERNS) + b"".join(words) + long


def test_a_kept_object_is_whole_or_not_there_however_its_writing_ended(tmp_path: Path, monkeypatch) -> None:
    """What is there is never written again, so half of one that a kill left would stop every later merge."""
    git(tmp_path, "init", "-q", "--bare", "g")
    source = GitDir(path=tmp_path / "g")

    def cut(_: int) -> None:
        raise OSError("the power failed")

    with scratch(source, keep=True) as made:
        with monkeypatch.context() as failing:
            failing.setattr("os.fsync", cut)
            with pytest.raises(OSError, match="power"):
                made.put("blob", b"one")
        assert not list((tmp_path / "g" / "objects").glob("??/" + "?" * 38))
        oid = made.put("blob", b"one")
    assert "one" == source.text("cat-file", "blob", oid)
