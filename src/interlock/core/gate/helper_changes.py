"""Whether a changed helper of tests may let them pass, told by its text alone: it judges otherwise, or takes what is not its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final

_MOST_LINES: Final = 2000
_COMMENT: Final = re.compile(r"\s*(?:#(?:\s.*)?|//.*|(?:/\*|\*(?=\s|/|$))(?:(?!\*/).)*(?:\*/\s*)?|\*/\s*)")
_LAYOUT: Final = re.compile(r"(\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`)|((?<=\w)\s+(?=\w))|\s+")
_RUNNERS: Final = r"(?:assert|refute|expect|test|it|describe|context|is|ok|not_ok|run|fail|flunk|skip|check|verify)"
# What a line decides by, when it is another one: it compares, gives something back, ends something, or comes from elsewhere.
_DECIDES: Final = re.compile(
    r"assert|refute|expect|should|fail|flunk|throw|raise|panic|die\b|skip|\bonly\b|todo|exit|abort|retr(?:y|ies)|rescue|catch|equal|match|compar"
    r"|toler|epsilon|delta|round|\btrue\b|\bfalse\b|[=!]==?|[<>]=|=~|\[\s|\btest\b|\|\||&&|\bstatus\b|\boutput\b|\brun\b|\btrap\b|\bset [+-]"
    r"|\breturn\b(?!\s*(?:\(?\{|new\b|;|$))|=>\s*(?![\s({])|\b(?:import|require|source|load|include|use|from)\b",
    re.IGNORECASE,
)
# What a line takes into its hands, also where it is only added.
_TAKES: Final = re.compile(
    rf"mock|stub|\bspy|\bfake|\ballow\b|receive|skip|\bexit\b|abort|\bretr(?:y|ies)|\btrap\b|\bset \+|\balias|\beval\b|prototype|defineProperty|Object\.assign"
    rf"|define_method|class_eval|instance_eval|prepend|refine\b|\bputenv|\bstatus\s*=[^=]|\boutput\s*=[^=]"
    rf"|(?:function|def|const|let|var|func|fun|void|\.)\s+{_RUNNERS}\w*\b|\b{_RUNNERS}\w*\s*\(\)\s*\{{|[{{,]\s*{_RUNNERS}\s*[,}}].*\bfrom\b"
    r"|^\s*(?!this\b|self\b)\w+(?:\.\w+)+\s*=[^=>]"
    r"|\bdef\s+(?:==|eql|equal|!=)|\bequals\s*\(|^\s*class\s+[A-Z]\w*\s*$",
    re.IGNORECASE,
)
_CLOSES: Final = re.compile(r"\s*(?:end|[)\]}]+;?)\s*")
_NAMED: Final = re.compile(
    r"(?:\b(?:function|def|func|fun|class|module|const|let|var)\s+([\w.]+)|^\s*(\w+)\s*\(\)\s*\{)", re.MULTILINE
)


def may_let_pass(before: str, after: str) -> bool:
    """Whether what changed between two texts of a helper may let a test pass that would fail.

    Comments, another layout, fields of what it builds and helpers that nothing had are its own matter.
    """
    old, new = _code(before), _code(after)
    if _bare(old) == _bare(new):
        return False
    if len(old) + len(new) > _MOST_LINES:
        return True
    known = _names(old)
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = old[a:b], new[c:d]
        if tag != "equal" and _bare(gone) != _bare(come) and _tells(gone, come, known):
            return True
    return False


def _tells(gone: Sequence[str], come: Sequence[str], known: frozenset[str]) -> bool:
    if any(map(_TAKES.search, come)) or (not gone and known & _names(come)):
        return True
    return not (not gone and _is_helper(come)) and any(map(_DECIDES.search, (*gone, *come)))


def _is_helper(lines: Sequence[str]) -> bool:
    """Whether lines begin with a helper; those that close the one before may stand first."""
    first = next((line for line in lines if not _CLOSES.fullmatch(line)), "")
    return bool(_NAMED.search(first))


def _code(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not _COMMENT.fullmatch(line)]


def _bare(lines: Iterable[str]) -> str:
    """Lines without their layout, texts as they are; a comma before a bracket that closes is of the layout too."""
    plain = _LAYOUT.sub(lambda found: found[1] or (" " if found[2] else ""), "\n".join(lines))
    return re.sub(r",(?=[)\]}])", "", plain)


def _names(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(name for found in _NAMED.findall("\n".join(lines)) for name in found if name)
