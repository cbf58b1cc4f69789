"""Git commands that destroy what others have: pushes that rewrite, history that is thrown away, another tree's files."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from interlock.core.gate.guard_places import Scene, covers, danger
from interlock.core.gate.guard_words import Blocked, operands, short_flags

_VALUED: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix"})
_FORCES: Final = ("--force", "--mirror", "--delete", "--prune")
_SHORTEST: Final = 5
"""Characters from which on git takes a shortened option for one of those."""
SCRATCH: Final = ("/tmp", "/var/tmp", "/private/tmp", "/dev/shm")  # noqa: S108
_LOSING_VERBS: Final = {
    "reflog": ("expire", "delete"),
    "stash": ("clear", "drop"),
    "worktree": ("remove", "prune", "move"),
}
_SHARED_NAMES: Final = frozenset({"main", "master", "trunk", "develop", "release", "production"})


class _Call(NamedTuple):
    """One git command: its name, its words, and the folders that it works on."""

    name: str
    words: tuple[str, ...]
    places: tuple[str, ...]


def judge(words: tuple[str, ...], scene: Scene) -> Blocked | None:
    """Why this call of git must not happen, or None."""
    call = _read(words, scene)
    rule = _RULES.get(call.name)
    reason = rule(call, scene) if rule else None
    if reason is None:
        return None
    why, would_change = reason
    line = shlex.join(("git", *words)).replace("\n", " ")
    return Blocked(what=f"{line[:160]} was refused.", why=why, would_change=would_change)


def _read(words: Sequence[str], scene: Scene) -> _Call:
    """The command behind git's own options; an alias that is given on the spot is taken for what it says."""
    cwd, places, aliases = scene.cwd, [], {}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option, has_value, value = words[at].partition("=")
        if option in _VALUED and not has_value:
            at += 1
            value = words[at] if at < len(words) else ""
        if option == "-C":
            cwd = posixpath.join(cwd, value)
        elif option in ("--git-dir", "--work-tree"):
            places.append(posixpath.join(cwd, value))
        elif option == "-c" and value.lower().startswith("alias."):
            name, _, meaning = value[len("alias.") :].partition("=")
            aliases[name] = meaning
        at += 1
    rest = tuple(words[at:])
    if rest and rest[0] in aliases:
        meaning = aliases[rest[0]].lstrip("!").removeprefix("git ")
        inner = _read((*shlex.split(meaning), *rest[1:]), scene._replace(cwd=cwd)) if _can_split(meaning) else None
        return inner._replace(places=(*places, *inner.places)) if inner else _Call(name="", words=(), places=())
    return _Call(name=rest[0] if rest else "", words=rest[1:], places=(*places, cwd))


def _can_split(text: str) -> bool:
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


Reason = tuple[str, str]


def _push(call: _Call, _: Scene) -> Reason | None:
    flags = short_flags(call.words)
    named = operands(call.words, valued=frozenset({"-o", "--push-option", "--repo", "--receive-pack", "--exec"}))
    said = [word for word in named if word.startswith(("+", ":"))]
    said += [word for word in call.words if _is_force(word)]
    said += [f"-{flag}" for flag in "df" if flag in flags]
    if not said:
        return None
    return (
        f"{said[0]} would overwrite or delete on the remote what others may have built on.",
        "Push your commits as they are: git push. The harness takes the work of the task from its tree anyway.",
    )


def _is_force(word: str) -> bool:
    """Whether an option is one that rewrites, as a whole or as git's shortened spelling of it."""
    name = word.partition("=")[0]
    if name.startswith("--force-if-includes"):
        return False
    return any(name.startswith(force) or (len(name) >= _SHORTEST and force.startswith(name)) for force in _FORCES)


def _elsewhere(call: _Call, scene: Scene) -> str | None:
    """A folder that the call works on and that is not the task's."""
    return next((path for path in map(scene.real, call.places) if not _is_own(path, scene)), None)


def _is_own(path: str, scene: Scene) -> bool:
    """Whether a repository is the task's: its tree, or something that it made for itself beside it."""
    if covers(scene.tree, path):
        return True
    return any(covers(each, path) for each in SCRATCH) and danger(path, scene, deep=True) is None


def _hard(call: _Call, scene: Scene) -> Reason | None:
    """Commands that throw away uncommitted work."""
    if not _discards(call):
        return None
    foreign = _elsewhere(call, scene)
    if foreign is None and call.name == "clean":
        named = [scene.target(word, follow=True) for word in operands(call.words, valued=frozenset({"-e"}))]
        foreign = next((path for path in named if not _is_own(path, scene)), None)
    if foreign is None:
        return None
    return (
        f"It would throw away work in {foreign}, which is not the task's tree.",
        f"Run it in {scene.tree}, or leave the other tree alone.",
    )


def _discards(call: _Call) -> bool:
    words, flags = set(call.words), short_flags(call.words)
    match call.name:
        case "reset":
            return bool({"--hard", "--merge", "--keep"} & words)
        case "clean":
            return "n" not in flags and "--dry-run" not in words
        case "restore":
            return True
        case _:
            return bool({"--force", "--discard-changes", "--", "."} & words) or "f" in flags


def _history(call: _Call, _: Scene) -> Reason | None:
    return (
        f"{call.name} rewrites every commit, and what others have no longer fits to it.",
        "Change files and leave history as it is; the harness makes one commit of the task's work.",
    )


def _shared_store(call: _Call, scene: Scene) -> Reason | None:
    """What all trees of a repository share at level worktree: objects, reflogs, refs, the stash, the list of trees."""
    if not _throws_away(call) or (not scene.shared and _elsewhere(call, scene) is None):
        return None
    return (
        f"git {call.name} would take objects, refs or trees away that every task of this repository uses.",
        "Leave it to the harness; nothing of the task needs it.",
    )


def _throws_away(call: _Call) -> bool:
    words, verb = set(call.words), call.words[0] if call.words else ""
    if call.name in _LOSING_VERBS:
        return verb in _LOSING_VERBS[call.name]
    named = any(_is_shared(word) for word in operands(call.words))
    match call.name:
        case "gc":
            return any(word.startswith("--prune") for word in words)
        case "prune":
            return not {"-n", "--dry-run"} & words
        case "update-ref":
            return named or bool({"-d", "--stdin"} & words)
        case _:
            return named and bool(short_flags(call.words) & set("dDmMfC") or {"--delete", "--move", "--force"} & words)


def _is_shared(ref: str) -> bool:
    name = ref.removeprefix("refs/heads/")
    return name in _SHARED_NAMES or name.startswith(("agent/", "refs/remotes/", "refs/interlock/", "origin/"))


_RULES: Final[dict[str, Callable[[_Call, Scene], Reason | None]]] = {
    "push": _push,
    "send-pack": _push,
    "clean": _hard,
    "reset": _hard,
    "checkout": _hard,
    "restore": _hard,
    "switch": _hard,
    "filter-branch": _history,
    "filter-repo": _history,
    "gc": _shared_store,
    "prune": _shared_store,
    "reflog": _shared_store,
    "stash": _shared_store,
    "worktree": _shared_store,
    "update-ref": _shared_store,
    "branch": _shared_store,
}
