"""The tier of diagnostics: the project's own checkers on two changes together and on each alone, behind the walls of checks.

Reading what a checker said is an adapter's work, comparing it core's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from interlock.app.base import POLICY_FILE
from interlock.app.conflicts import Diagnosed
from interlock.app.isolate import INHERIT
from interlock.app.rooms import Wanted, checking
from interlock.app.scope import read_policy
from interlock.core.contract.card import Needs
from interlock.core.contract.paths import decider, parse
from interlock.core.contract.policy import Diagnostics, Policy
from interlock.core.merge.conflicts import Pair, Skipped, Spot
from interlock.core.merge.differential import Diagnostic, only_together
from interlock.core.problems import BadInput, InterlockError, Problem
from interlock.core.sandbox import AT
from interlock.ports.bundle import Ports
from interlock.ports.contract import ContractFiles
from interlock.ports.meeting import Melting
from interlock.ports.repository import Reader, TextConflict

if TYPE_CHECKING:
    from interlock.app.conflicts import Diagnose, Looked, Named
    from interlock.app.scope import Against

NAME: Final = "diagnostics"
PAIRS: Final = 30
"""So many pairs are looked at unless all are asked for: each is up to three runs of each checker."""
_NOT_THERE: Final = 126
"""From this exit code on a shell says that it could not start the command, or that a signal ended it."""


class Failed(Exception):
    """A checker gave nothing that could be compared; the text says why."""


def diagnoser(reader: Reader, files: ContractFiles, base: Against, ports: Ports | None) -> tuple[Diagnose | None, str]:
    """What runs the checkers of the policy on the base; or nothing, and why configured ones cannot be run.

    The reason is empty where no checker is configured: then nothing was skipped.
    """
    try:
        policy = read_policy(files, reader.read_many([(base.oid, POLICY_FILE)])[0])
    except BadInput as fault:
        return None, f"{POLICY_FILE} on {base.ref} cannot be read. {' '.join(map(_problem, fault.problems))}"
    if not policy.diagnostics:
        return None, ""
    if ports is None:
        names = ", ".join(each.name for each in policy.diagnostics)
        return None, f"{names}: checkers run behind the walls of a set-up repository; run interlock doctor here once."
    return Checkers(ports=ports, policy=policy, base=base.oid).look, ""


def _problem(problem: Problem) -> str:
    """A problem of the policy with its place, as a check of cards tells it, in one line."""
    place = f"{problem.where}: " if problem.where else ""
    return f"{place}{problem.what} [{problem.kind}] {problem.why} {problem.fix}"


@dataclass(slots=True, kw_only=True)
class Checkers:
    """Where checkers run; each tree is looked at once by each of them."""

    ports: Ports
    policy: Policy
    base: str
    known: dict[tuple[str, str], tuple[Diagnostic, ...] | Failed] = field(default_factory=dict)

    def look(self, pot: Melting, looked: Looked) -> Diagnosed:
        """What only both sides of a flagged pair together show; a checker that cannot tell is skipped, never clear."""
        del pot  # checkers need a tree of files, which the mirror's own merge gives
        found: list[Pair] = []
        skipped: list[Skipped] = []
        pairs = looked.flagged if looked.whole else looked.flagged[:PAIRS]
        if len(pairs) < len(looked.flagged):
            why = f"Only {len(pairs)} of {len(looked.flagged)} pairs that share something were looked at; --all looks at all."
            skipped.append(Skipped(tier="diagnostics", why=why, pairs=looked.flagged[len(pairs) :]))
        skipped += self._apart(looked)
        covered: set[Named] = set()
        for checker in self.policy.diagnostics:
            for pair in pairs:
                if not _concerns(checker, looked, pair):
                    continue
                try:
                    found += self._pair(checker, looked, pair)
                    if _covers(checker, looked, pair):
                        covered.add(pair)
                except (Failed, InterlockError, OSError) as fault:
                    why = f"{checker.name}: {str(fault).rstrip('.')}."
                    skipped.append(Skipped(tier="diagnostics", why=why, pairs=(pair,)))
        return Diagnosed(pairs=found, skipped=_gathered(skipped), covered=frozenset(covered))

    def _apart(self, looked: Looked) -> list[Skipped]:
        """The pairs that share nothing, on which no checker is run unless all are asked for."""
        names = dict.fromkeys(name for pair in looked.free for name in pair)
        concerned = {
            name for name in names if any(_touches(each, _changed(looked, name)) for each in self.policy.diagnostics)
        }
        flagged = set(looked.flagged)
        count = sum(1 for pair in looked.free if pair not in flagged and not concerned.isdisjoint(pair))
        if not count:
            return []
        many = "1 pair that shares" if count == 1 else f"{count} pairs that share"
        why = f"Checkers were not run on {many} no file; --all runs them."
        return [Skipped(tier="diagnostics", why=why, limit=True)]

    def _pair(self, checker: Diagnostics, looked: Looked, pair: Named) -> list[Pair]:
        if uncommitted := [name for name in pair if name.endswith(" (uncommitted)")]:
            raise Failed(f"what is not committed ({uncommitted[0]}) is not given to checkers")
        heads = [looked.heads[name] for name in pair]
        sides = [self._findings(checker, [head]) for head in heads]
        together = self._findings(checker, heads)
        return [_found(checker, looked, pair, each) for each in only_together(together, *sides)]

    def _findings(self, checker: Diagnostics, heads: Sequence[str]) -> tuple[Diagnostic, ...]:
        merged = self.ports.repo.merge(self.base, heads, message="Looked at together\n")
        if isinstance(merged, TextConflict):
            raise Failed("the two do not merge")
        key = (checker.name, merged.tree)
        if key not in self.known:
            try:
                self.known[key] = self._run(checker, merged.commit, merged.tree)
            except Failed as fault:
                self.known[key] = fault
        known = self.known[key]
        if isinstance(known, Failed):
            raise known
        return known

    def _run(self, checker: Diagnostics, commit: str, tree: str) -> tuple[Diagnostic, ...]:
        """Run a checker in a fresh tree of a commit, behind the walls that checks have.  Raises Failed."""
        ports = self.ports
        level = ports.workspaces.level_for(self.policy.isolation)
        record = ports.records.job(NAME)
        values = {INHERIT: " ".join(self.policy.environment)}
        wanted = Wanted(name=NAME, needs=Needs(), policy=self.policy, values=values, record=record)
        name = hashlib.sha256(f"{checker.name} {checker.run}".encode()).hexdigest()[:8]
        log = record / f"{name}-{tree[:12]}.log"
        with (
            ports.records.lock(f"{NAME}-tree", wait=None),
            ports.workspaces.fresh(commit, record / f"tree-{tree[:12]}", level) as room,
            checking(ports, wanted, room, commit, level) as done,
        ):
            ports.narrate(f"{checker.name} on {tree[:12]}")
            ended = ports.commands.run(
                checker.run, done.room, done.env, log, seconds=checker.timeout, redact=done.redact
            )
        if ended.timed_out:
            raise Failed(f"it did not end within {checker.timeout:g} s")
        if ended.code is None or ended.code >= _NOT_THERE:
            raise Failed(f"it could not be run (exit code {ended.code}): {_last(ended.tail)}")
        text = log.read_text(encoding="utf-8", errors="replace")
        found = ports.diagnosing.read(text, checker.reads, (str(room.path), AT))
        if found is None or (ended.code != 0 and not found):
            raise Failed(f"it ended with {ended.code} and said nothing that can be read: {_last(ended.tail)}")
        return found


def _last(tail: str) -> str:
    lines = tail.strip().splitlines()
    return lines[-1].strip() if lines else "no output"


def _concerns(checker: Diagnostics, looked: Looked, pair: Named) -> bool:
    """Whether a side changes a path of the checker; one without paths is for all."""
    return any(_touches(checker, _changed(looked, name)) for name in pair)


def _covers(checker: Diagnostics, looked: Looked, pair: Named) -> bool:
    """Whether a checker is for the files of both sides that nothing else reads."""
    return all(_touches(checker, looked.unread.get(name, ())) for name in pair)


def _changed(looked: Looked, name: str) -> list[str]:
    return [change.path for change in looked.matrix.changes[looked.heads[name]]]


def _touches(checker: Diagnostics, paths: Sequence[str]) -> bool:
    """Whether one of the paths is the checker's; one without paths is for all."""
    patterns = [parse(each) for each in checker.paths]
    return not patterns or any(decider(patterns, path) is not None for path in paths)


def _found(checker: Diagnostics, looked: Looked, pair: Named, finding: Diagnostic) -> Pair:
    one, other = pair
    touched = [name for name in pair if any(c.path == finding.path for c in looked.matrix.changes[looked.heads[name]])]
    place = Spot(change=touched[-1] if touched else other, path=finding.path, line=finding.line, text=finding.text)
    return Pair(
        a=one,
        b=other,
        kind="semantic",
        tier="diagnostics",
        rule=checker.name,
        path=finding.path,
        line=finding.line,
        symbol=finding.symbol,
        why=f"{checker.name} finds this in both together and in neither alone: {finding.text}",
        places=(place,),
        action=f"Land {one} first; {other} then mends it on top of it.",
    )


def _gathered(skipped: Sequence[Skipped]) -> list[Skipped]:
    """What was skipped for one reason, once, with all its pairs."""
    found: dict[str, Skipped] = {}
    for each in skipped:
        known = found.get(each.why)
        found[each.why] = replace(known, pairs=(*known.pairs, *each.pairs)) if known else each
    return list(found.values())
