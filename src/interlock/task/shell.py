"""Reading a shell command line as far as words tell: its simple commands, and the files that redirections write; nothing is expanded.

It is no shell: what it cannot tell (variables, patterns, what stands in a here-document) it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_HERE: Final = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z0-9_]+)\1([^\n]*)\n.*?\n[ \t]*\2[ \t]*(?=\n|$)", re.DOTALL)
_PIECE: Final = re.compile(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|([^\s;&|<>()'"\\]+)""", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\n|\#[^\n]*)
      | (?P<operator>&>>|&>|>>|>\||>&|<>|<<<|<<-?|<&|&&|\|\||;;|\|&|[;&|<>()\n])
      | (?P<word>(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s;&|<>()'"\\])+)""",
    re.DOTALL | re.VERBOSE,
)
_REDIRECTING: Final = frozenset("<>")
_WRITING: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
_COPYING: Final = ">&"
_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_OPENING: Final = frozenset({"!", "{", "do", "elif", "else", "if", "then", "until", "while"})
_BEFORE: Final = frozenset({"builtin", "command", "env", "exec", "nice", "nohup", "sudo", "time"})
_SHELLS: Final = frozenset({"bash", "dash", "ksh", "sh", "zsh"})


class Simple(NamedTuple):
    """One simple command: its words, and the files that its redirections write.

    ``told`` when none of its words needs expanding; a file whose name does is left out.
    """

    words: tuple[str, ...]
    written: tuple[str, ...]
    told: bool


def commands(line: str) -> Iterator[Simple]:
    """The simple commands of a line, in their order; those before a quote that never ends.  Goes into ``sh -c``."""
    for each in _simple(line):
        inner = _inner(each.words)
        if inner is None:
            yield each
        else:
            yield from commands(inner)
            if each.written:
                yield Simple((), each.written, each.told)


def _simple(line: str) -> Iterator[Simple]:
    words: list[str] = []
    written: list[str] = []
    told, into = True, ""
    for word, operator, plain in _tokens(_HERE.sub(r"<<\2\3", line)):
        if operator and not _REDIRECTING & set(operator):
            yield Simple(_program(words), tuple(written), told)
            words, written, told, into = [], [], True, ""
        elif operator:
            into = operator
        elif into:
            copied = into == _COPYING and not (word.isdecimal() or word == "-")
            written += [word] if plain and (into in _WRITING or copied) else []
            into = ""
        else:
            words.append(word)
            told = told and plain
    yield Simple(_program(words), tuple(written), told)


def _program(words: list[str]) -> tuple[str, ...]:
    """The words from the program's name on, without what may stand before it."""
    at = 0
    while at < len(words) and (words[at] in _OPENING or words[at] in _BEFORE or _ASSIGNED.match(words[at])):
        options = words[at] in _BEFORE
        at += 1
        while options and at < len(words) and words[at].startswith("-"):
            at += 1
    return tuple(words[at:])


def _inner(words: tuple[str, ...]) -> str | None:
    """What a shell is told on its command line."""
    if len(words) < 3 or words[0].rpartition("/")[2] not in _SHELLS:
        return None
    for at, word in enumerate(words[1:-1], 1):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return words[at + 1]
    return None


def _tokens(line: str) -> Iterator[tuple[str, str, bool]]:
    """(word, "", whether it stands as it is) or ("", operator, True); a descriptor's number is no word."""
    at = 0
    while found := _TOKEN.match(line, at):
        at = found.end()
        if found["operator"]:
            yield "", found["operator"], True
        elif (word := found["word"]) and not (word.isdecimal() and line[at : at + 1] in _REDIRECTING):
            yield _unquoted(word)


def _unquoted(word: str) -> tuple[str, str, bool]:
    parts: list[str] = []
    plain = True
    for single, double, escaped, bare in _PIECE.findall(word):
        plain = plain and not (set("$`") & set(double) or set("$`*?[") & set(bare))
        parts.append(single or re.sub(r'\\([$`"\\])', r"\1", double) or escaped or bare)
    return "".join(parts), "", plain
