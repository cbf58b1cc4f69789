"""Conflicts between open changes, in the life of jobs: what is not committed, checkers, notes, and that no fault of it stops work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from interlock.app.base import last_view
from interlock.app.conflicts import Asked, predict
from interlock.app.diagnosing import diagnoser
from interlock.app.foreseen import foresee, suspects
from interlock.app.open_changes import of_tasks
from interlock.app.scope import Against
from interlock.core.merge.facts import FileFacts

LINES = "".join(f"line {number}\n" for number in range(20))
CHECKER = """\
import pathlib, re, sys
known = {m for f in pathlib.Path('.').rglob('*.def') for m in f.read_text().split()}
bad = 0
for f in sorted(pathlib.Path('.').rglob('*.use')):
    for number, word in enumerate(f.read_text().split(), start=1):
        if word not in known:
            print(f"{f}:{number}: error: \\"{word}\\" is not defined")
            bad = 1
sys.exit(bad)
"""


class NoFacts:
    """Reads no file: where text alone is looked at."""

    def looks_at(self, path):
        return False

    def known(self, path, oid):
        return None

    def read(self, path, oid, data):
        return FileFacts(language="other")


def against(ports):
    view = last_view(ports)
    return view, Against(ref=view.base.ref, oid=view.base.oid)


def look(ports, **more):
    _, base = against(ports)
    return predict(ports.repo, Asked(base=base, changes=of_tasks(ports, base), facts=NoFacts(), **more))


def test_work_that_is_not_committed_joins_the_matrix_and_nothing_is_written(world, town):
    world.write("both/a.txt", LINES)
    world.card("one", owns='["both/**"]')
    world.card("other")
    world.push()
    world.git("switch", "-q", "-c", "agent/outside")
    world.write("both/a.txt", LINES.replace("line 3\n", "line three\n"))
    world.git("commit", "-qam", "outside")
    world.git("switch", "-q", "main")
    ports = town().ports
    town().dispatch("one")
    job = town().job("one")
    tree = world.root / "repo-tasks" / "one"
    assert look(ports).pairs == ()
    (tree / "both" / "a.txt").write_text(LINES.replace("line 3\n", "line 3 as one has it\n"))
    (tree / "one-new.txt").write_text("new\n")
    status = world.git("status", "--porcelain", at=tree)
    objects = sorted(path for path in (ports.repo.common_dir).rglob("objects/??/*"))
    found = look(ports)
    (pair,) = found.pairs
    assert {pair.a, pair.b} == {"one (uncommitted)", "agent/outside"}
    assert (pair.kind, pair.path, pair.line) == ("textual", "both/a.txt", 4)
    assert found.order
    assert sorted(path for path in (ports.repo.common_dir).rglob("objects/??/*")) == objects
    assert world.git("status", "--porcelain", at=tree) == status
    assert job.branch == "agent/one"


def test_a_checker_finds_what_only_both_together_show(world, town):
    world.write("check.py", CHECKER)
    world.write("a.def", "alpha beta\n")
    world.write("b.use", "alpha\n")
    world.write(
        "interlock.yaml",
        "train: {checks: ['true'], sign_off: none}\n"
        "diagnostics: [{name: words, run: python3 check.py, timeout: 60s}]\n",
    )
    world.push()
    for name, path, text in (("gone", "a.def", "alpha\n"), ("uses", "b.use", "alpha beta\n")):
        world.git("switch", "-q", "-c", f"agent/{name}", "main")
        world.write(path, text)
        world.git("commit", "-qam", name)
    world.git("switch", "-q", "main")
    ports = town().ports
    ports.repo.refresh()
    _, base = against(ports)
    diagnose, why = diagnoser(ports.repo, ports.files, base, ports)
    assert why == ""
    for found in (look(ports, diagnose=diagnose), look(ports, diagnose=diagnose, whole=True)):
        (pair,) = found.pairs
        assert (pair.kind, pair.rule, pair.path, pair.line, pair.symbol) == ("semantic", "words", "b.use", 2, "beta")
        assert not found.skipped, "a checker looked at what no reader reads"


SLOPPY = """\
import pathlib, sys
known = pathlib.Path("a.def").read_text().split()
sys.stdout.buffer.write(b"caf\\xe9 is checked\\n")
for number, word in enumerate(pathlib.Path("b.use").read_text().split(), start=1):
    if word not in known:
        sys.stdout.buffer.write(b"%s/b.use:%d: \\xff %s is gone\\n" % (str(pathlib.Path.cwd()).encode(), number, word.encode()))
pathlib.Path("b.use").write_text("")
pathlib.Path("left").write_text("x")
"""


def test_odd_bytes_whole_paths_a_wrong_exit_code_and_what_a_checker_writes_change_nothing(world, town):
    world.write("check.py", SLOPPY)
    world.write("a.def", "alpha beta\n")
    world.write("b.use", "old alpha\n")
    policy = "train: {checks: ['true'], sign_off: none}\ndiagnostics: [{name: words, run: python3 check.py}]\n"
    world.write("interlock.yaml", policy)
    world.push()
    for name, path, text in (("gone", "a.def", "alpha\n"), ("uses", "b.use", "old alpha beta\n"), ("apart", "c", "\n")):
        world.git("switch", "-q", "-c", f"agent/{name}", "main")
        world.write(path, text)
        world.git("add", "-A")
        world.git("commit", "-qm", name)
    world.git("switch", "-q", "main")
    ports = town().ports
    ports.repo.refresh()
    _, base = against(ports)
    diagnose, _ = diagnoser(ports.repo, ports.files, base, ports)
    found = look(ports, diagnose=diagnose)
    assert [({pair.a, pair.b}, pair.path, pair.line) for pair in found.pairs] == [
        ({"agent/gone", "agent/uses"}, "b.use", 3),
    ]
    assert world.git("status", "--porcelain") == ""
    assert not [each for each in found.skipped if each.tier == "diagnostics"]


@pytest.mark.parametrize(
    ("run", "timeout", "said"),
    [
        ("no-such-checker", "60s", "could not be run"),
        ("sleep 30", "1s", "did not end within"),
        ("exit 3", "60s", "ended with 3"),
    ],
)
def test_a_checker_that_cannot_tell_is_skipped_and_never_clear(world, town, run, timeout, said):
    world.write("a.txt", LINES)
    world.write(
        "interlock.yaml",
        "train: {checks: ['true'], sign_off: none}\n"
        f"diagnostics: [{{name: broken, run: {run}, timeout: {timeout}}}]\n",
    )
    world.push()
    for number in (2, 15):
        world.git("switch", "-q", "-c", f"agent/at{number}", "main")
        world.write("a.txt", LINES.replace(f"line {number}\n", "changed\n"))
        world.git("commit", "-qam", "x")
    world.git("switch", "-q", "main")
    ports = town().ports
    ports.repo.refresh()
    _, base = against(ports)
    diagnose, _ = diagnoser(ports.repo, ports.files, base, ports)
    found = look(ports, diagnose=diagnose)
    assert found.pairs == ()
    (skipped,) = found.skipped
    assert skipped.tier == "diagnostics"
    assert said in skipped.why
    ((one, other),) = skipped.pairs
    assert {one, other} == {"agent/at15", "agent/at2"}


def test_a_fault_of_prediction_is_told_and_stops_nothing(world, town):
    class Broken(NoFacts):
        def looks_at(self, path):
            raise RuntimeError("the reader broke")

    for slug in ("one", "two"):
        world.card(slug, command=f"mkdir -p {slug}; echo x > {slug}/x.py")
    world.push()
    made = town()
    made.ports = replace(made.ports, facts=Broken())
    made.dispatch("one", "two")
    made.run()
    assert {made.rule("one"), made.rule("two")} == {"landed"}
    assert any("conflicts were not predicted" in said for said in made.said)


CORE = "def load(path):\n    return path\n\n\ndef other():\n    return 1\n"
RENAMES = "sed -i 's/def load/def read/' core/core.py"
USES = "printf 'from core.core import load\\n\\nprint(load(1))\\n' > use/use.py"


@pytest.fixture
def meeting(world):
    """Two cards whose work merges and does not go together: one renames what the other begins to use."""
    world.write("core/core.py", CORE)
    world.write("use/use.py", "print(1)\n")
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: owner}\n")
    world.card("rename", owns='["core/**"]', command=RENAMES)
    world.card("user", owns='["use/**"]', command=USES)
    world.push()
    return world


def noted(ports, slug):
    events = ports.store.events(ports.store.find(slug).id)
    return [event for event in events if "foreseen" in event.data]


def test_a_meeting_is_noted_on_both_jobs_and_once(meeting, town):
    made = town()
    made.dispatch("rename", "user")
    made.run()
    assert {made.rule("rename"), made.rule("user")} == {"ready"}
    ports = made.ports
    for slug, other in (("rename", "user"), ("user", "rename")):
        told = noted(ports, slug)
        assert {event.data["foreseen"]["with"] for event in told} == {f"agent/{other}"}
        assert len({event.step for event in told}) == len(told)
        assert "load" in told[0].data["text"]
        assert "use/use.py:1" in told[0].data["text"]
    before = [len(noted(ports, slug)) for slug in ("rename", "user")]
    view, _ = against(ports)
    foresee(ports, view, made.job("user"))
    assert [len(noted(ports, slug)) for slug in ("rename", "user")] == before
    assert "Predicted semantic conflict" in meeting.cli("show", "user").stdout


def test_what_prediction_could_not_look_at_is_noted_and_shown(world, town):
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: owner}\n")
    for slug in ("one", "two"):
        world.card(slug, owns=f'["{slug}/**"]', command=f"mkdir -p {slug}; echo x > {slug}/x.c")
    world.push()
    made = town()
    made.dispatch("one", "two")
    made.run()
    assert {made.rule("one"), made.rule("two")} == {"ready"}
    told = [event for slug in ("one", "two") for event in noted(made.ports, slug)]
    assert told
    for event in told:
        (skipped,) = event.data["foreseen"]["skipped"]
        assert (event.data["foreseen"]["pairs"], event.data["foreseen"]["with"]) == ([], "")
        assert (skipped["tier"], skipped["limit"]) == ("facts", True)
    slug = "one" if noted(made.ports, "one") else "two"
    said = world.cli("show", slug).stdout
    assert "Conflicts were not looked for everywhere (facts). Nothing reads .c: 1 pair was looked at" in said


def test_pairs_that_are_suspected_are_told_by_their_jobs(meeting, town):
    made = town()
    made.dispatch("rename", "user")
    made.run()
    ports = made.ports
    view, _ = against(ports)
    ids = [made.job(slug).id for slug in ("rename", "user")]
    found = suspects(ports, view, ids)
    assert set(found) == {frozenset(ids)}
    (pair,) = found.values()
    assert (pair.kind, pair.symbol, pair.path) == ("semantic", "load", "use/use.py")
    assert suspects(ports, view, ids[:1]) == {}


@pytest.mark.parametrize(("line", "said"), [(3, True), (17, False)])
def test_an_overlap_that_waits_says_whether_git_can_put_it_together(world, town, line, said):
    world.write("both/a.txt", LINES)
    world.card("one", owns='["both/**"]', command="sed -i 's/line 3$/one/' both/a.txt")
    world.push()
    world.git("switch", "-q", "-c", "agent/far")
    world.write("both/a.txt", LINES.replace(f"line {line}\n", "far\n"))
    world.git("commit", "-qam", "far")
    world.git("push", "-q", "origin", "agent/far")
    world.git("switch", "-q", "main")
    made = town()
    made.dispatch("one")
    made.run()
    assert made.rule("one") == "file-overlap"
    assert ("Git cannot put it together with agent/far." in made.job("one").waiting.what) is said


@pytest.mark.parametrize("style", ["squash", "rebase", "merge"])
def test_a_branch_that_landed_is_not_open_in_any_style(world, town, style):
    world.write("interlock.yaml", f"train: {{checks: ['true'], sign_off: none, style: {style}}}\n")
    world.card("one", command="mkdir -p one; echo x > one/x.py")
    world.push()
    made = town()
    made.dispatch("one")
    made.run()
    assert made.rule("one") == "landed"
    ports = made.ports
    _, base = against(ports)
    assert "agent/one" in world.git("branch", "-a", "--list", "*agent/one")
    assert dict(ports.repo.branches(base.oid)) == {}
    assert dict(ports.repo.agent_branches()) == {}
    world.git("fetch", "-q", "origin")
    assert world.ask("overlap", "--base", "origin/main")["refs"] == []
    assert world.ask("conflicts")["changes"] == []
