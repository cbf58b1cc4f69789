"""The trusted pre-receive: every commit that a push brings against the card's paths; it runs outside, for the gate alone.

Git runs it with the push in quarantine.  Its order stands in the file that ``GATE_ORDER`` names; its verdict goes to
the one that ``GATE_VERDICT`` names.  Whatever goes wrong here is a no.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from interlock.core.contract.paths import PatternError, parse
from interlock.core.contract.spelling import visible
from interlock.core.counting import some
from interlock.core.gate.scope import Scope, Violation, judge_change
from interlock.core.sandbox import Gate
from interlock.host.gate import pushed
from interlock.host.gate.packets import BadPacket, Command, commands
from interlock.host.gate.rules import RULE, TRACKED, Objection, judge_refs

ORDER: Final = "GATE_ORDER"
VERDICT: Final = "GATE_VERDICT"
_SHOWN: Final = 5


def main() -> None:
    """Read the push from standard input; end with 0 when it is taken and 1 when it is not, with the reason in words."""
    objection: Objection | None
    try:
        objection = judge(read_gate(Path(os.environ[ORDER])), _commands(sys.stdin.buffer.read(1 << 16)))
    except pushed.Unclear as fault:
        objection = _unclear(str(fault))
    except (OSError, ValueError, LookupError, TypeError, PatternError, BadPacket) as fault:
        objection = _unclear(f"The gate could not look at it: {type(fault).__name__}.")
    verdict = {
        "allowed": objection is None,
        "rule": objection.rule if objection else None,
        "why": f"{objection.what} {objection.why}" if objection else "Every commit is inside the card's paths.",
    }
    Path(os.environ[VERDICT]).write_text(json.dumps(verdict), encoding="utf-8")
    if objection is not None:
        sys.stderr.write(objection.message.encode("utf-8", "backslashreplace").decode())
        sys.exit(1)


def read_gate(path: Path) -> Gate:
    """The order that the server wrote.  Raises OSError, ValueError, TypeError."""
    shape = json.loads(path.read_bytes())
    return Gate(**{**shape, "owned": tuple(shape["owned"]), "protected": tuple(shape["protected"])})


def judge(gate: Gate, found: Sequence[Command]) -> Objection | None:
    """The first objection to a push in this quarantine, or None.  Raises Unclear, and what git's texts may hold."""
    objection = judge_refs(gate, found)
    if objection is not None or not found:
        return objection or _unclear("It moves nothing.")
    old, new = found[0].old, found[0].new
    commit, tip = pushed.commits(new, f"{TRACKED}{gate.default}")
    if commit is None or tip is None:
        return _unclear("A branch leads to a commit and to nothing else.")
    upstream = tuple(dict.fromkeys((gate.base, tip)))
    bases = pushed.bases(new, upstream)
    if not found[0].creates and old not in bases and not pushed.follows(old, new):
        return Objection(
            rule=RULE,
            what=f"{gate.branch} would not move forward.",
            why="What was pushed stays in the history; work that was looked at is never replaced.",
            change=f"Add commits to what is there: git pull --rebase origin {gate.branch}, then push without force.",
        )
    seen = upstream if found[0].creates else (*upstream, old)
    return _judge_history(gate, bases) or _judge_objects(gate, new, seen)


def _judge_history(gate: Gate, bases: Mapping[str, str | None]) -> Objection | None:
    """Each commit against where it left the default branch: a file that is changed and put back is found as well."""
    pairs = {commit: base for commit, base in bases.items() if base is not None}
    if len(pairs) < len(bases):
        lost = next(commit for commit, base in bases.items() if base is None)
        return Objection(
            rule=RULE,
            what=f"{lost[:12]} has no common history with {gate.default}.",
            why="What does not stand on the default branch cannot be compared with it.",
            change=f"Start from where the task began: git checkout -B {gate.branch} {gate.base[:12]}.",
        )
    scope = Scope(
        owned=tuple(map(parse, gate.owned)), read_only=(), prohibited=(), protected=tuple(map(parse, gate.protected))
    )
    judged = [
        (commit, violation)
        for commit, changed in pushed.changes(pairs).items()
        for change in changed
        if (violation := judge_change(scope, change)) is not None
    ]
    return _out_of_scope(gate, judged) if judged else None


def _out_of_scope(gate: Gate, judged: Sequence[tuple[str, Violation]]) -> Objection:
    commit, first = judged[0]  # the oldest: later ones may show the same again
    paths = list(dict.fromkeys(violation.path for _, violation in judged))
    named = some([visible(path) for path in paths], _SHOWN)
    return Objection(
        rule=first.rule,
        what=f"{named} may not be changed by this task (first in {commit[:12]}).",
        why=visible(first.why),
        change=(
            f"Begin anew from {gate.base[:12]} without that change, in no commit of the branch, and push; "
            "or have the path added to owned_paths of the card."
        ),
    )


def _judge_objects(gate: Gate, new: str, seen: Sequence[str]) -> Objection | None:
    found = pushed.sizes(new, seen)
    if found.absent:
        return Objection(
            rule=RULE,
            what=f"The object {found.absent[0][:12]} is used and not part of the push.",
            why="A task builds on its own work and the default branch, and on nothing that it knows by name alone.",
            change="Push from a repository that holds all of its history.",
        )
    if found.total > gate.most_bytes:
        return Objection(
            rule=RULE,
            what=f"The push is {found.total} bytes when unpacked.",
            why=f"A task may push {gate.most_bytes} bytes at once.",
            change="Keep generated and large files out of the commits.",
        )
    return None


def _unclear(why: str) -> Objection:
    return Objection(
        rule=RULE, what=why, why="Without an answer there is no pass.", change="Push fewer and plainer commits."
    )


def _commands(data: bytes) -> list[Command]:
    return commands(data.splitlines())[0]


if __name__ == "__main__":
    main()
