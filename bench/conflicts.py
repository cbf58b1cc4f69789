"""The matrix of conflicts at 200 and 1,000 branches, one more head, and 435 pairs with facts; beside git pair by pair in the same run."""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._git import ENV, SCRATCH, branches, git
from bench._measure import Report, median

from interlock.adapters.git.matrix import melting_pot
from interlock.adapters.git.matrix_known import Known
from interlock.adapters.git.reader import Reader, open_reader
from interlock.app.conflicts import Asked, Open, predict
from interlock.app.scope import Against
from interlock.core.merge.conflicts import Prediction
from interlock.core.merge.melted import Matrix
from interlock.wiring import facts_reader

FILES = 20_000
GOALS = {200: 0.5, 1_000: 3.0}
ROUNDS = 5
SAMPLE = 2_000
PROCESSES = 100
OF_FACTS = 30


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall time, and user and system time with all children's, in seconds."""
    began, before = time.perf_counter(), _cpu()
    work()
    return time.perf_counter() - began, _cpu() - before


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def goal(report: Report, name: str, samples: Sequence[tuple[float, float]], most: float) -> None:
    """The median in wall and CPU time; met is said of the CPU time, since others may use the machine meanwhile."""
    wall, cpu = (median([each[kind] for each in samples]) for kind in (0, 1))
    report.figure(f"{name}, wall", round(wall, 3), "s")
    report.figure(f"{name}, cpu", round(cpu, 3), "s", goal=f"at most {most} s", met=cpu <= most)


def placed(top: Path, base: str, heads: Sequence[str]) -> dict[str, str]:
    """The heads merged with the base as commits on it, as git alone makes them; those that clash are left out."""
    found = {}
    for head in heads:
        done = subprocess.run(
            ["git", "merge-tree", "--write-tree", base, head], cwd=top, env=ENV, capture_output=True, check=False
        )
        if done.returncode == 0:
            tree = done.stdout.decode().split("\n")[0]
            found[head] = git(
                top, "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", tree, "-p", base, "-m", "x"
            )
    return found


def floors(report: Report, top: Path, base: str, heads: Sequence[str], seconds: float, matrix: Matrix) -> None:
    """What the same answer costs when git is asked for each pair, by one process each and all by one."""
    dice = random.Random(3)
    commits = placed(top, base, dice.sample(list(heads), min(len(heads), 120)))
    pairs = dice.sample(list(combinations(sorted(commits), 2)), min(SAMPLE, len(commits) * (len(commits) - 1) // 2))
    count = len(heads) * (len(heads) - 1) // 2
    one = [["git", "merge-tree", "--write-tree", commits[a], commits[b]] for a, b in pairs[:PROCESSES]]
    alone, _ = timed(
        lambda: [subprocess.run(words, cwd=top, env=ENV, capture_output=True, check=False) for words in one]
    )
    asked = "".join(f"{commits[a]} {commits[b]}\n" for a, b in pairs).encode()
    words = ["git", "merge-tree", "--write-tree", "--stdin", "--name-only", "--no-messages"]
    began = time.perf_counter()
    out = subprocess.run(words, cwd=top, env=ENV, input=asked, capture_output=True, check=False).stdout.split(b"\0")
    together = time.perf_counter() - began
    for name, each in (
        ("one process a pair", alone / len(one) * count),
        ("one process for all pairs", together / len(pairs) * count),
    ):
        report.figure(f"{name}, {count} pairs (from a sample)", round(each, 1), "s")
        report.figure(f"  the matrix against it, {len(heads)} branches", round(seconds / each, 5), "x")
    clashing = _clashing(out, pairs)
    wrong = {pair for pair in pairs if (pair in matrix.pairs) != (pair in clashing)}
    report.figure(f"disagreements with git, {len(pairs)} pairs", len(wrong), "", goal="0", met=not wrong)


def _clashing(tokens: list[bytes], pairs: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set()
    at = 0
    for pair in pairs:
        if tokens[at].strip() == b"0":
            found.add(pair)
        at += 2
        while tokens[at]:
            at += 1
        at += 1
    return found


def textual(report: Report, top: Path, count: int) -> None:
    reader: Reader = open_reader(top)
    base = reader.resolve("main")
    heads = reader.resolve_many([f"agent/s{number}" for number in range(count)])
    found: list[Matrix] = []

    def whole() -> None:
        with reader.melting(base) as pot:
            found.append(pot.matrix(heads))

    samples = [timed(whole) for _ in range(ROUNDS)]
    goal(report, f"matrix of {count} branches", samples, GOALS[count])
    kept = Path(tempfile.mkdtemp(dir=SCRATCH))
    with melting_pot(reader.git, base, known=Known(kept)) as pot:
        pot.matrix(heads[:-ROUNDS])

    def one_more(number: int) -> None:
        """As the next call has it: what is known is read from its file."""
        with melting_pot(reader.git, base, known=Known(kept)) as pot:
            found.append(pot.matrix(heads[: len(heads) - ROUNDS + number + 1]))

    more = [timed(partial(one_more, number)) for number in range(ROUNDS)]
    goal(report, f"one more head on {count}", more, 0.05)
    shutil.rmtree(kept)
    first, last = found[0], found[-1]
    if last.pairs != first.pairs:
        report.note("ONE MORE HEAD GIVES ANOTHER MATRIX")
    report.note(
        f"{count} branches: {first.asked} pairs, {len(first.pairs)} clash, {len(first.with_base)} clash with the base"
    )
    floors(report, top, base, heads, median([wall for wall, _ in samples]), first)


def code(folder: Path) -> Path:
    """A repository of this product's own source with branches that each change a few of its files."""
    dice = random.Random(11)
    source = Path(__file__).resolve().parent.parent / "src" / "interlock"
    files = {str(path.relative_to(source.parent)): path.read_text() for path in sorted(source.rglob("*.py"))}
    top = folder / "code"
    git(folder, "init", "-q", "-b", "main", "code")
    lines: list[bytes] = []

    def commit(ref: str, mark: int, start: str, content: dict[str, str]) -> None:
        lines.append(
            f"commit {ref}\nmark :{mark}\ncommitter A <a@b> {1_700_000_000 + mark} +0000\ndata 1\nx{start}".encode()
        )
        for path, text in content.items():
            lines.append(b"M 100644 inline %s\ndata %d\n%s" % (path.encode(), len(text.encode()), text.encode()))

    commit("refs/heads/main", 1, "", files)
    for number in range(OF_FACTS):
        content = {}
        for path in dice.sample(sorted(files), 5):
            text = files[path]
            names = [line.split("(")[0].removeprefix("def ") for line in text.splitlines() if line.startswith("def ")]
            if names and dice.random() < 0.3:
                text = text.replace(f"def {names[0]}(", f"def {names[0]}_anew(")
            content[path] = f"{text}\n\ndef added_by_{number}() -> int:\n    return {number}\n"
        commit(f"refs/heads/agent/s{number}", 2 + number, "\nfrom :1", content)
    git(top, "fast-import", "--quiet", stdin=b"\n".join(lines) + b"\n")
    return top


def with_facts(report: Report, top: Path) -> None:
    reader = open_reader(top)
    base = Against(ref="main", oid=reader.resolve("main"))
    names = [f"agent/s{number}" for number in range(OF_FACTS)]
    changes = tuple(Open(name=name, head=head) for name, head in zip(names, reader.resolve_many(names), strict=True))
    facts = facts_reader()
    found: list[Prediction] = []
    for name in ("nothing known", "facts known"):
        seconds = timed(lambda: found.append(predict(reader, Asked(base=base, changes=changes, facts=facts))))
        goal(report, f"435 pairs with facts, {name}", [seconds], 10)
    kinds = [pair.kind for pair in found[-1].pairs]
    semantic = kinds.count("semantic")
    report.note(f"{kinds.count('textual')} textual, {semantic} semantic findings; {len(found[-1].skipped)} skipped")


def main() -> None:
    """Measure everything in repositories of their own, in memory where that is possible."""
    report = Report(f"conflicts between open branches, {FILES} files")
    for count in GOALS:
        with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="interlock-bench-") as folder:
            textual(report, branches(Path(folder), files=FILES, count=count), count)
    with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="interlock-bench-") as folder:
        with_facts(report, code(Path(folder)))
    report.end()


if __name__ == "__main__":
    main()
