"""What a person must approve by name before it happens: which commands, hosts and changed paths; asking is app.approvals' work."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from interlock.core.contract.around import ApprovalRule
from interlock.core.contract.paths import parse
from interlock.core.gate.changes import Change
from interlock.core.sandbox import Host

if TYPE_CHECKING:  # the guards start with every judged command, and need no policy
    from interlock.core.contract.policy import Policy

_PROGRAM: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
LOOKS: Final = frozenset(
    {"--help", "--version", "--dry-run", "--dry-run=client", "--dry-run=server", "--dryrun", "--syntax-check"}
)
"""Options with which a command only shows what it would do; whoever says them needs no approval."""


def rules_of(policy: Policy) -> tuple[ApprovalRule, ...]:
    """The rules that hold: the policy's own, all of them, or the built-in ones where it has none."""
    from interlock.core.gate.approval_defaults import DEFAULT_APPROVALS

    return policy.approvals or DEFAULT_APPROVALS


def names_of(policy: Policy) -> tuple[str, ...]:
    """Every approval that can be given: those of the rules, and those that a secret waits for."""
    names = [rule.name for rule in rules_of(policy)]
    return tuple(dict.fromkeys([*names, *(each.approval for each in policy.secrets if each.approval)]))


def rules_from(shapes: Iterable[Mapping[str, Any]]) -> tuple[ApprovalRule, ...]:
    """Rules as ``rules_to`` wrote them.  Raises KeyError or TypeError for anything else."""
    return tuple(ApprovalRule(name=shape["name"], commands=tuple(shape["commands"])) for shape in shapes)


def rules_to(rules: Iterable[ApprovalRule]) -> list[dict[str, Any]]:
    """Rules for the guards inside a task: names and command patterns, which is all that they judge."""
    return [{"name": rule.name, "commands": list(rule.commands)} for rule in rules if rule.commands]


# ---------------------------------------------------------------- commands
def programs(rules: Iterable[ApprovalRule]) -> tuple[str, ...]:
    """The programs that the rules' commands begin with; a pattern without a plain program's name cannot be guarded."""
    firsts = {pattern.split()[0] for rule in rules for pattern in rule.commands if pattern.split()}
    return tuple(sorted(first for first in firsts if _PROGRAM.fullmatch(first)))


def signs(rules: Iterable[ApprovalRule], program: str) -> tuple[str, ...]:
    """Patterns of which a call of the program must hold one as a word before any rule can match it; ``*``: every call."""
    found = set()
    for pattern in (pattern.split() for rule in rules for pattern in rule.commands):
        if pattern and pattern[0] == program:
            found.add(next((word for word in pattern[1:] if word != "*"), "*"))
    return tuple(sorted(found))


def command_needing(rules: Iterable[ApprovalRule], approved: Collection[str], argv: Sequence[str]) -> str | None:
    """The name of an approval that a command needs and that is not there, or None.

    A pattern is words: the program, then words in their order, between which only options and their values may
    stand; ``*`` alone is any number of words.  A word that begins with ``-`` or ``*`` may stand anywhere.
    """
    said = argv[: argv.index("--")] if "--" in argv else argv
    if LOOKS & set(said):
        return None
    for rule in rules:
        if rule.name not in approved and any(_matches(pattern.split(), argv) for pattern in rule.commands):
            return rule.name
    return None


def _matches(pattern: Sequence[str], argv: Sequence[str]) -> bool:
    if not pattern or argv[0].rpartition("/")[2] != pattern[0]:
        return False
    loose = [word for word in pattern[1:] if word.startswith(("-", "*")) and word != "*"]
    words = tuple(word for word in pattern[1:] if word not in loose)
    rest = tuple(argv[1:])
    return all(any(fnmatchcase(each, word) for each in rest) for word in loose) and _in_order(words, rest)


def _in_order(words: tuple[str, ...], rest: tuple[str, ...]) -> bool:
    """Whether the words come in this order with nothing but options, and one value behind each, between them."""
    if not words or words == ("*",):
        return True
    if not rest:
        return False
    if words[0] == "*":
        return _in_order(words[1:], rest) or _in_order(words, rest[1:])
    if fnmatchcase(rest[0], words[0]) and _in_order(words[1:], rest[1:]):
        return True
    if not rest[0].startswith("-"):
        return False
    return _in_order(words, rest[1:]) or _in_order(words, rest[2:])


# ---------------------------------------------------------------- hosts
def hosts_needing(
    rules: Iterable[ApprovalRule], approved: Collection[str], hosts: Iterable[Host]
) -> tuple[tuple[str, str], ...]:
    """Each host that waits for an approval, as (approval, host); a wildcard waits when anything below it does."""
    open_rules = [rule for rule in rules if rule.name not in approved]
    return tuple(
        (rule.name, host.name)
        for host in hosts
        for rule in open_rules
        if any(_meets(pattern, host.name) for pattern in rule.hosts)
    )


def hosts_allowed(rules: Iterable[ApprovalRule], approved: Collection[str], hosts: Iterable[Host]) -> tuple[Host, ...]:
    """The hosts that need no approval, or have it: what a task's allow-list may hold."""
    hosts = tuple(hosts)
    waiting = {name for _, name in hosts_needing(rules, approved, hosts)}
    return tuple(host for host in hosts if host.name not in waiting)


def _meets(one: str, other: str) -> bool:
    """Whether some host is meant by both names; ``*.`` stands for everything below."""
    one, other = one.lower().rstrip("."), other.lower().rstrip(".")
    if one == other:
        return True
    if one.startswith("*.") and other.startswith("*."):
        return one[1:].endswith(other[1:]) or other[1:].endswith(one[1:])
    wild, plain = (one, other) if one.startswith("*.") else (other, one)
    return wild.startswith("*.") and plain.endswith(wild[1:])


# ---------------------------------------------------------------- paths
def paths_needing(
    rules: Iterable[ApprovalRule], approved: Collection[str], changes: Iterable[Change]
) -> tuple[tuple[str, str], ...]:
    """Each changed path that waits for an approval, as (approval, path), in the order of the rules, then of the changes."""
    paths = [change.path for change in changes]
    return tuple(
        (rule.name, path)
        for rule in rules
        if rule.name not in approved
        for path in paths
        if any(parse(pattern).matches(path) for pattern in rule.paths)
    )
