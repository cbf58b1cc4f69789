"""Is a command about to destroy what is not the task's: judged from its words and where they lead; asking the disk is task.guard's."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Final

from interlock.core.gate import guard_git
from interlock.core.gate.guard_places import SYSTEM, Scene, covers, danger, whole_tree
from interlock.core.gate.guard_words import Blocked, operands, short_flags

__all__ = ["PROGRAMS", "Blocked", "judge", "shown"]

_SHOWN: Final = 160
_MODE: Final = re.compile(r"-[rwxXst]+")
_REMOVERS: Final = frozenset({"rm", "rmdir", "shred", "truncate", "unlink"})
_SHELLS: Final = frozenset({"bash", "busybox", "dash", "env", "ksh", "nice", "sh", "xargs", "zsh"})
_CALLS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WIDE: Final = frozenset(
    {"-a", "-and", "-d", "-delete", "-depth", "-follow", "-maxdepth", "-mindepth", "-mount", "-not", "-o", "-or"}
    | {"-print", "-print0", "-true", "-type", "-xdev"}
    | _CALLS
)
"""Words of find that do not narrow what it finds."""


def judge(
    argv: Sequence[str],
    *,
    cwd: str,
    home: str,
    tree: str,
    shared: tuple[str, ...] = (),
    entries: frozenset[str] = frozenset(),
    real: Callable[[str], str] = posixpath.normpath,
) -> Blocked | None:
    """Why a command must not run here, or None; ``argv[0]`` is the program's name, the rest as core.gate.guard_places.Scene.

    Judges the programs of ``PROGRAMS``; anything else passes.
    """
    program = posixpath.basename(argv[0])
    rule = _RULES.get("mkfs" if program.startswith("mkfs") else program)
    if rule is None:
        return None
    scene = Scene(cwd=cwd, home=home, tree=tree, shared=shared, entries=entries, real=real)
    why = rule(tuple(argv[1:]), scene)
    if why is None:
        return None
    if isinstance(why, Blocked):
        return why
    return Blocked(
        what=f"{shown(argv)} was refused.",
        why=why,
        would_change="Name what you mean inside the task's own tree; if it really has to go, ask a person: "
        "interlock-task stop --reason … --question ….",
    )


def shown(argv: Sequence[str]) -> str:
    """A command as one short line."""
    line = shlex.join((posixpath.basename(argv[0]), *argv[1:])).replace("\n", " ")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


# ---------------------------------------------------------------- one rule a program
def _rm(words: tuple[str, ...], scene: Scene) -> str | None:
    deep = bool(short_flags(words) & {"r", "R"}) or any(word.startswith("--r") for word in words)
    return _destroyed(operands(words), scene, deep=deep)


def _rmdir(words: tuple[str, ...], scene: Scene) -> str | None:
    return _destroyed(operands(words), scene, deep=False)


def _overwritten(words: tuple[str, ...], scene: Scene) -> str | None:
    named = operands(words, valued=frozenset({"-n", "-s", "-r", "--size", "--reference", "--iterations"}))
    return _first(named, scene, deep=False, follow=True)


def _mv(words: tuple[str, ...], scene: Scene) -> str | None:
    named = operands(words, valued=frozenset({"-t", "-S", "--target-directory", "--suffix"}))
    targets = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-t", "--target-directory")]
    targets += [word.partition("=")[2] for word in words if word.startswith("--target-directory=")]
    sources = named if targets else named[:-1]
    moved = _destroyed(sources, scene, deep=True)
    return moved or next((why for each in targets or named[-1:] if (why := _put_into(each, scene))), None)


def _put_into(operand: str, scene: Scene) -> str | None:
    """Why nothing is moved to a place: it is the system's or shared; the home and the tree take files."""
    path = scene.target(operand, follow=True)
    if path in ("/dev/null", "/"):
        return f"{path} would be replaced or changed for everybody on this machine."
    if covers(path, scene.tree) or covers(path, scene.home) or covers(scene.home, path):
        return None
    if posixpath.dirname(path) == "/" and path not in SYSTEM:
        return None
    return danger(path, scene, deep=False)


def _dd(words: tuple[str, ...], scene: Scene) -> str | None:
    return _first([word[3:] for word in words if word.startswith("of=")], scene, deep=False, follow=True)


def _mkfs(words: tuple[str, ...], scene: Scene) -> str | None:
    return _first(operands(words), scene, deep=True, follow=True)


def _chmod(words: tuple[str, ...], scene: Scene) -> str | None:
    if "R" not in short_flags(words) and "--recursive" not in words:
        return None
    plain = [word for word in words if not _MODE.fullmatch(word)]
    named = operands(plain, valued=frozenset({"--from", "--reference"}))
    if len(plain) == len(words) and not any(word.startswith("--reference") for word in words):
        mode, named = next(iter(named), ""), named[1:]
    else:
        mode = next((word for word in words if _MODE.fullmatch(word)), "")
    return _first(named, scene, deep=True, follow=True, whole=_takes_away(mode))


def _takes_away(mode: str) -> bool:
    """Whether a mode keeps the owner from reading, writing or entering."""
    if mode.isdecimal():
        return int(mode[-3:].rjust(3, "0")[0], 8) & 7 != 7 if set(mode) <= set("01234567") else False
    for clause in mode.split(","):
        who, sign, what = re.match(r"([ugoa]*)([-+=]?)(.*)", clause, re.DOTALL).groups()  # type: ignore[union-attr]
        of_owner = not who or bool(set(who) & set("ua"))
        if of_owner and ((sign == "-" and set(what) & set("rwxX")) or (sign == "=" and not {"r", "w"} <= set(what))):
            return True
    return False


def _find(words: tuple[str, ...], scene: Scene) -> str | None:
    at = next((place for place, word in enumerate(words) if _is_expression(word)), len(words))
    starts, expression = [word for word in words[:at] if not word.startswith("-")], words[at:]
    if not _finds_to_destroy(expression):
        return None
    narrow = any(word.startswith("-") and len(word) > 2 and word not in _WIDE for word in _tests(expression))
    return _first(starts or ["."], scene, deep=True, follow=True, whole=not narrow)


def _is_expression(word: str) -> bool:
    return word in ("(", "!", ")", ",") or (word.startswith("-") and word[:2] not in ("-H", "-L", "-P", "-O", "-D"))


def _finds_to_destroy(expression: Sequence[str]) -> bool:
    if "-delete" in expression:
        return True
    calls = [expression[at + 1 :] for at, word in enumerate(expression) if word in _CALLS]
    return any(
        _removes(call[: next((end for end, each in enumerate(call) if each in (";", "+")), len(call))])
        for call in calls
    )


def _removes(call: Sequence[str]) -> bool:
    """Whether a command that find runs removes files: by its own name, or somewhere in what a shell is told."""
    program = posixpath.basename(call[0]) if call else ""
    if program in _REMOVERS:
        return True
    return program in _SHELLS and any(re.search(rf"\b(?:{'|'.join(_REMOVERS)})\b", word) for word in call[1:])


def _tests(expression: Sequence[str]) -> list[str]:
    """The expression without the commands in it, whose own options are no tests."""
    kept: list[str] = []
    inside = False
    for word in expression:
        if not inside:
            kept.append(word)
        inside = (inside or word in _CALLS) and word not in (";", "+")
    return kept


def _rsync(words: tuple[str, ...], scene: Scene) -> str | None:
    if not any(word.startswith("--del") for word in words):
        return None
    last = operands(words)[-1:]
    return _first([each for each in last if ":" not in each.partition("/")[0]], scene, deep=True, follow=True)


# ---------------------------------------------------------------- what they share
def _destroyed(named: Sequence[str], scene: Scene, *, deep: bool) -> str | None:
    if why := _first(named, scene, deep=deep, follow=False):
        return why
    if whole_tree([scene.target(each, follow=False) for each in named], scene):
        return "Together that is the task's whole tree."
    return None


def _first(named: Sequence[str], scene: Scene, *, deep: bool, follow: bool, whole: bool = True) -> str | None:
    """Why the first of the operands that must stay must stay."""
    for operand in named:
        path = scene.target(operand, follow=follow)
        why = danger(path, scene, deep=deep, whole=whole)
        if why is not None:
            return why if path == operand else f"{operand} is {path}. {why}"
    return None


_RULES: Final[dict[str, Callable[[tuple[str, ...], Scene], str | Blocked | None]]] = {
    "rm": _rm,
    "unlink": _rmdir,
    "rmdir": _rmdir,
    "shred": _overwritten,
    "truncate": _overwritten,
    "mv": _mv,
    "dd": _dd,
    "mkfs": _mkfs,
    "mke2fs": _mkfs,
    "mkswap": _mkfs,
    "wipefs": _mkfs,
    "chmod": _chmod,
    "chown": _chmod,
    "chgrp": _chmod,
    "find": _find,
    "rsync": _rsync,
    "git": guard_git.judge,
}
PROGRAMS: Final = tuple(
    sorted(set(_RULES) | {f"mkfs.{kind}" for kind in ("btrfs", "ext2", "ext3", "ext4", "fat", "vfat", "xfs")})
)
"""The programs that a guard stands before."""
