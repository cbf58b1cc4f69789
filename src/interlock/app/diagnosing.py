"""The tier of diagnostics: what the project's own checkers find in changes together and in none alone; running one is its neighbour's.

Reading what a checker said is an adapter's work, comparing it core's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from interlock.app.base import POLICY_FILE
from interlock.app.checker_runs import Apart, Failed, Runs
from interlock.app.conflicts import Diagnosed
from interlock.app.scope import read_policy
from interlock.core.contract.paths import decider, parse
from interlock.core.contract.policy import Diagnostics, Policy
from interlock.core.counting import count, some
from interlock.core.merge.checker_settings import is_shared, judges_by
from interlock.core.merge.conflicts import Pair, Skipped, Spot
from interlock.core.merge.differential import Diagnostic, groups, only_together
from interlock.core.problems import BadInput, InterlockError, Problem
from interlock.ports.bundle import Ports
from interlock.ports.contract import ContractFiles
from interlock.ports.meeting import Melting
from interlock.ports.repository import Reader

if TYPE_CHECKING:
    from interlock.app.conflicts import Diagnose, Looked, Named
    from interlock.app.scope import Against

PAIRS: Final = 30
"""So many pairs are looked at one by one unless all are asked for: each is up to three runs of each checker."""


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
    return Checkers(runs=Runs(ports=ports, policy=policy, base=base.oid), policy=policy).look, ""


def _problem(problem: Problem) -> str:
    """A problem of the policy with its place, as a check of cards tells it, in one line."""
    place = f"{problem.where}: " if problem.where else ""
    return f"{place}{problem.what} [{problem.kind}] {problem.why} {problem.fix}"


@dataclass(slots=True, kw_only=True)
class Checkers:
    """The checkers of the policy, and how they are run."""

    runs: Runs
    policy: Policy

    def look(self, pot: Melting, looked: Looked) -> Diagnosed:
        """What only changes together show; a checker that cannot tell is skipped, never clear.

        Pairs that are flagged are looked at one by one.  The others are first looked at as groups: what a whole group does not show is
        clear for all its pairs, and what it does show is looked for in the pairs that have to do with it.
        """
        del pot  # checkers need a tree of files, which the mirror's own merge gives
        flagged = looked.flagged if looked.whole else looked.flagged[:PAIRS]
        seen = _Seen()
        if len(flagged) < len(looked.flagged):
            why = f"Only {len(flagged)} of {len(looked.flagged)} pairs that share something were looked at; --all looks at all."
            seen.skipped.append(Skipped(tier="diagnostics", why=why, pairs=looked.flagged[len(flagged) :]))
        known = set(looked.flagged)
        others = [pair for pair in looked.free if pair not in known]
        for checker in self.policy.diagnostics:
            mine = [pair for pair in flagged if _concerns(checker, looked, pair)]
            for pair in mine:
                self._pair(checker, looked, pair, seen)
            rest = [pair for pair in others if _concerns(checker, looked, pair)]
            if not looked.whole:
                self._grouped(checker, looked, rest, PAIRS - len(mine), seen)
            self._settings(checker, looked, [*mine, *rest], seen)
        if seen.apart:
            many = count(len(seen.apart), "pair that shares", "pairs that share")
            why = f"Checkers were not run on {many} no file; --all runs them."
            seen.skipped.append(Skipped(tier="diagnostics", why=why, limit=True))
        return Diagnosed(pairs=seen.found, skipped=_gathered(seen.skipped), covered=frozenset(seen.covered))

    def _pair(self, checker: Diagnostics, looked: Looked, pair: Named, seen: _Seen) -> bool:
        """Look at one pair; says whether something of it was told, be it that it could not be looked at."""
        if uncommitted := [name for name in pair if _uncommitted(name)]:
            seen.skip(checker, f"what is not committed ({uncommitted[0]}) is not given to checkers", pair)
            return True
        try:
            new = self._new(checker, [looked.heads[name] for name in pair], seen)
        except (Failed, InterlockError, OSError) as fault:
            seen.skip(checker, str(fault), pair)
            return True
        seen.found += [_found(checker, looked, pair, each) for each in new]
        if _covers(checker, looked, pair):
            seen.covered.add(pair)
        return bool(new)

    def _grouped(self, checker: Diagnostics, looked: Looked, rest: Sequence[Named], most: int, seen: _Seen) -> None:
        """Look at pairs that share nothing, as groups; ``most`` are the pairs that may be looked at one by one."""
        seen.apart.update(pair for pair in rest if any(map(_uncommitted, pair)))
        rest = [pair for pair in rest if not any(map(_uncommitted, pair))]
        told = {frozenset((pair.a, pair.b)) for pair in seen.found}
        merging = [pair for pair in looked.free if frozenset(pair) not in told]
        for group, inside in islice(groups(rest, merging), PAIRS):
            try:
                new = self._new(checker, [looked.heads[name] for name in group], seen)
            except Apart:
                continue
            except (Failed, InterlockError, OSError) as fault:
                rest = [pair for pair in rest if pair not in inside]
                seen.skip(checker, str(fault), *inside)
                continue
            known = {(pair.path, place.text) for pair in seen.found for place in pair.places}
            new = tuple(each for each in new if (each.path, each.text) not in known)
            near = _near(looked, inside, new)
            now, later = near[: max(most, 0)], near[max(most, 0) :]
            most -= len(now)
            rest = [pair for pair in rest if pair not in inside or pair in later]
            seen.covered.update(pair for pair in inside if pair not in near and _covers(checker, looked, pair))
            said = [self._pair(checker, looked, pair, seen) for pair in now]
            if new and not any(said) and not later:
                why = f"it finds what no two of {some(group, 5)} show: {new[0].path}:{new[0].line}: {new[0].text}"
                seen.skip(checker, why, *inside)
        seen.apart.update(rest)

    def _new(self, checker: Diagnostics, heads: Sequence[str], seen: _Seen) -> tuple[Diagnostic, ...]:
        """What the heads together show and none alone.  Raises Failed where that cannot be told."""
        together = self.runs.on(checker, heads)
        if together.code == 0 and not together.found:
            return ()
        sides = [self.runs.on(checker, [head]) for head in heads]
        for side in sides:
            if side.mute:
                raise side.unreadable()
        if new := only_together(together.found, *(side.found for side in sides)):
            return new
        if together.code != 0 and not any(side.code for side in sides):
            why = f"it ended with {together.code} on them together and with 0 on each alone, and names no place that says why"
            raise Failed(f"{why}: {together.last}")
        if together.mute:
            raise together.unreadable()
        if together.stopped:
            raise Failed(f"it stopped before it had looked at all, at faults that are there already: {together.last}")
        if together.code != 0:
            why = f"{checker.name}: it fails on a change alone already; what such a fault hides is not seen."
            seen.skipped.append(Skipped(tier="diagnostics", why=why, limit=True))
        return ()

    def _settings(self, checker: Diagnostics, looked: Looked, pairs: Sequence[Named], seen: _Seen) -> None:
        """Say which changes are judged by settings of their own."""
        for name in dict.fromkeys(name for pair in pairs for name in pair):
            paths = _changed(looked, name)
            theirs = [path for path in paths if judges_by(checker.run, path)]
            shared = [] if _uncommitted(name) else [path for path in paths if is_shared(path)]
            asked = [(commit, path) for path in shared for commit in (self.runs.base, looked.heads[name])]
            texts = [blob.data if blob else None for blob in self.runs.ports.repo.read_many(asked)]
            both = zip(shared, texts[::2], texts[1::2], strict=True)
            theirs += [path for path, before, after in both if judges_by(checker.run, path, before, after)]
            if theirs:
                why = f"{checker.name}: {name} changes {some(theirs, 3)}, by which it judges; what it no longer sees is not told."
                seen.skipped.append(Skipped(tier="diagnostics", why=why, limit=True))


@dataclass(slots=True)
class _Seen:
    """What came of a look so far; ``apart`` are pairs that a checker was not run on since they share nothing."""

    found: list[Pair] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    covered: set[Named] = field(default_factory=set)
    apart: set[Named] = field(default_factory=set)

    def skip(self, checker: Diagnostics, why: str, *pairs: Named) -> None:
        self.skipped.append(Skipped(tier="diagnostics", why=f"{checker.name}: {why.rstrip('.')}.", pairs=pairs))


def _uncommitted(name: str) -> bool:
    return name.endswith(" (uncommitted)")


def _near(looked: Looked, pairs: Sequence[Named], new: Sequence[Diagnostic]) -> list[Named]:
    """The pairs that have to do with findings: those that changed such a file; all of them where nobody did."""
    paths = {each.path for each in new}
    names = {name for pair in pairs for name in pair if not paths.isdisjoint(_changed(looked, name))}
    return [pair for pair in pairs if new and (not names or not names.isdisjoint(pair))]


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
