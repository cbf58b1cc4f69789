"""What the tier of checkers tells of pairs and groups, and that what it cannot tell is said as skipped: runs are given, none is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from interlock.app.checker_runs import Apart, Failed, Ran
from interlock.app.conflicts import Looked
from interlock.app.diagnosing import Checkers
from interlock.core.contract.policy import Diagnostics, Policy
from interlock.core.merge.differential import Diagnostic

OLD = Diagnostic(path="old.py", line=3, text="error: old")
NEW = Diagnostic(path="b.py", line=7, text='error: "load" is not defined')


def ran(*found: Diagnostic, code: int | None = None, stopped: bool = False) -> Ran:
    return Ran(code=int(bool(found)) if code is None else code, found=found, stopped=stopped, last="the last line")


CLEAN = ran()


@dataclass
class Runs:
    """What a checker says by the heads it is given; what is not said is clean."""

    said: dict[str, Ran | Failed]
    blobs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    base: str = "base"
    asked: list[str] = field(default_factory=list)

    @property
    def ports(self):
        def read_many(asked):
            found = [self.blobs.get(each) for each in asked]
            return [data and SimpleNamespace(data=data) for data in found]

        return SimpleNamespace(repo=SimpleNamespace(read_many=read_many))

    def on(self, checker, heads):
        key = "+".join(heads)
        self.asked.append(key)
        told = self.said.get(key, CLEAN)
        if isinstance(told, Failed):
            raise told
        return told


def look(said, *, names="ab", flagged=(), free=None, changed=None, whole=False, blobs=None, run="mypy ."):
    pairs = tuple((one, other) for number, other in enumerate(names) for one in names[:number])
    changes = {
        name: [SimpleNamespace(path=path) for path in (changed or {}).get(name, (f"{name}.py",))] for name in names
    }
    matrix: Any = SimpleNamespace(changes=changes)
    looked = Looked(
        heads={name: name for name in names},
        matrix=matrix,
        free=pairs if free is None else free,
        flagged=flagged,
        whole=whole,
    )
    runs: Any = Runs(said, blobs or {})
    pot: Any = None
    policy = Policy(diagnostics=(Diagnostics(name="types", run=run),))
    found = Checkers(runs=runs, policy=policy).look(pot, looked)
    told = [(pair.a, pair.b, pair.path, pair.line) for pair in found.pairs]
    return told, [(each.why, each.limit) for each in found.skipped], runs.asked


def test_what_many_do_not_show_together_is_clear_for_each_two_by_one_run() -> None:
    assert look({}, names="abcdef") == ([], [], ["a+b+c+d+e+f"])


def test_what_many_show_together_is_looked_for_in_the_pairs_that_have_to_do_with_it() -> None:
    told, skipped, asked = look({"a+b+c+d": ran(NEW), "b+c": ran(NEW)}, names="abcd")
    assert (told, skipped) == ([("b", "c", "b.py", 7)], [])
    assert "c+d" not in asked
    assert "a+d" not in asked


def test_a_pair_that_shows_nothing_is_one_run() -> None:
    assert look({}, flagged=(("a", "b"),)) == ([], [], ["a+b"])
    assert look({}, whole=True, flagged=(("a", "b"),))[2] == ["a+b"]


def test_what_no_two_of_many_show_is_said() -> None:
    told, ((why, limit),), _ = look({"a+b+c": ran(NEW)}, names="abc")
    assert (told, limit) == ([], False)
    assert why.startswith("types: it finds what no two of a, b, c show: b.py:7: ")


def test_an_old_finding_that_moved_is_nothing_new_and_that_it_may_hide_some_is_said() -> None:
    moved = Diagnostic(path="old.py", line=30, text="error: old")
    said = {"a": ran(OLD), "b": ran(moved), "a+b": ran(moved)}
    told, skipped, _ = look(said, flagged=(("a", "b"),))
    assert told == []
    assert skipped == [
        ("types: it fails on a change alone already; what such a fault hides is not seen.", True),
    ]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"a+b": ran(code=1)}, "ended with 1 on them together and with 0 on each alone"),
        ({"a+b": ran(OLD), "a": ran(OLD, code=0), "b": ran(OLD, code=0)}, "ended with 1 on them together"),
        ({"a+b": ran(code=1), "a": ran(code=1)}, "said nothing that can be read: the last line"),
        ({"a+b": ran(code=1), "a": ran(OLD), "b": ran(OLD)}, "said nothing that can be read: the last line"),
        ({"a+b": ran(NEW), "a": ran(code=2)}, "said nothing that can be read"),
        ({"a+b": ran(OLD, stopped=True), "a": ran(OLD), "b": ran(OLD)}, "stopped before it had looked at all"),
        ({"a+b": Failed("it did not end within 1 s")}, "did not end"),
        ({"a+b": ran(NEW), "b": Failed("it could not be run")}, "could not be run"),
    ],
)
@pytest.mark.parametrize("flagged", [True, False])
def test_what_cannot_be_told_is_skipped_and_never_clear(said, words: str, flagged: bool) -> None:
    told, ((why, limit),), _ = look(said, flagged=(("a", "b"),) if flagged else ())
    assert (told, limit) == ([], False)
    assert words in why


def test_what_is_printed_counts_whatever_the_exit_code() -> None:
    assert look({"a+b": ran(NEW, code=0)})[:2] == ([("a", "b", "b.py", 7)], [])
    assert look({"a+b": ran(NEW, OLD), "a": ran(OLD), "b": ran(OLD)})[:2] == ([("a", "b", "b.py", 7)], [])


def test_changes_that_do_not_merge_all_together_are_said_as_not_looked_at() -> None:
    told, skipped, _ = look({"a+b+c": Apart("the two do not merge")}, names="abc")
    assert told == []
    assert skipped == [("Checkers were not run on 3 pairs that share no file; --all runs them.", True)]


def test_pairs_beyond_the_limit_are_said() -> None:
    names = [f"n{number:02}" for number in range(40)]
    told, skipped, asked = look({"+".join(names): ran(NEW)}, names=names, changed={"n00": ("b.py",)})
    assert told == []
    assert skipped == [("Checkers were not run on 9 pairs that share no file; --all runs them.", True)]
    assert sum(each.count("+") == 1 for each in asked) == 30


def test_a_change_of_what_a_checker_judges_by_is_said() -> None:
    blobs = {("base", "pyproject.toml"): b"[tool.mypy]\nstrict = true\n", ("b", "pyproject.toml"): b"[tool.mypy]\n"}
    changed = {"a": ("a.py", "mypy.ini"), "b": ("pyproject.toml",), "c": ("tsconfig.json",)}
    told, skipped, _ = look({}, names="abc", changed=changed, blobs=blobs)
    assert told == []
    assert skipped == [
        ("types: a changes mypy.ini, by which it judges; what it no longer sees is not told.", True),
        ("types: b changes pyproject.toml, by which it judges; what it no longer sees is not told.", True),
    ]
    blobs["b", "pyproject.toml"] = blobs["base", "pyproject.toml"] + b"[project]\n"
    assert look({}, names="bc", changed=changed, blobs=blobs)[1] == []


def test_each_checker_looks_only_where_a_change_has_paths_of_its_own() -> None:
    policy = Policy(
        diagnostics=(
            Diagnostics(name="web", run="tsc -p web", paths=("web/**",)),
            Diagnostics(name="api", run="tsc -p api", paths=("api/**",)),
        )
    )
    changes = {"a": "web/a.ts", "b": "web/b.ts", "c": "doc/c.md", "d": "doc/d.md"}
    matrix: Any = SimpleNamespace(changes={name: [SimpleNamespace(path=path)] for name, path in changes.items()})
    free = tuple((one, other) for one in "abcd" for other in "abcd" if one < other)
    looked = Looked(heads={name: name for name in "abcd"}, matrix=matrix, free=free)
    runs: Any = Runs({})
    pot: Any = None
    assert not Checkers(runs=runs, policy=policy).look(pot, looked).skipped
    assert runs.asked == ["a+b+c+d"], "what web does to c and d is looked at as well, and nothing is there for api"


def test_a_pair_that_was_told_is_not_put_into_a_group_and_the_rest_is_looked_at() -> None:
    said = {"a+b": ran(NEW), "a+b+c": ran(NEW), "a+b+c+d": ran(NEW)}
    told, skipped, asked = look(said, names="abcd", flagged=(("a", "b"),))
    assert (told, skipped) == ([("a", "b", "b.py", 7)], [])
    assert [each for each in asked if "+" in each] == ["a+b", "a+c+d", "c+b+d"]


def test_what_is_not_committed_is_given_to_no_checker_and_that_is_said() -> None:
    names = ["a", "b", "c (uncommitted)"]
    told, skipped, asked = look({}, names=names)
    assert (told, asked) == ([], ["a+b"])
    assert skipped == [("Checkers were not run on 2 pairs that share no file; --all runs them.", True)]


def test_what_an_earlier_group_told_is_not_told_of_a_later_one() -> None:
    free = (("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"))
    said = {"a+b+c": ran(NEW), "a+b": ran(NEW), "a+d+b": ran(NEW), "a+b+d": ran(NEW)}
    told, skipped, asked = look(said, names="abcd", free=free)
    assert (told, skipped) == ([("a", "b", "b.py", 7)], [])
    assert {"a", "b", "d"} in [set(each.split("+")) for each in asked]
