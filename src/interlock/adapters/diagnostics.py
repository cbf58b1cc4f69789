"""What a checker said, as findings: lines with a place each, or SARIF; running one and comparing are others' work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

from interlock.core.merge.differential import Diagnostic

_LINE: Final = re.compile(
    r"(?:vet: |\[(?:ERROR|WARNING)\] +|[ew]: (?:file://)?)?"  # go vet, Maven, Kotlin
    r"(?P<path>(?=[^:(]*[^\W\d_])[^\s:()\[][^:()]*?)"
    r"(?::(?P<kt>\d+):\d+ (?!- )|:(?P<line>\d+)(?::\d+)?(?::| - )|\((?P<at>\d+)(?:,\d+)?\):|:\[(?P<mvn>\d+),\d+\])"
    r"\s*(?P<text>\S.*)"
)
_UNDER: Final = re.compile(r"\s+(?P<line>\d+):\d+\s+(?P<text>(?:error|warning)\s.*)")
"""A finding under the line of its file, as ESLint prints them."""
_FILE: Final = re.compile(r"[^\s:][^:]*\.\w+")
_COLOUR: Final = re.compile(r"\x1b\[[\d;]*[mK]")
_TALK: Final = ("note:", "Note:", "help:", "information:")
_LEVELS: Final = frozenset({"error", "warning", ""})


class CheckerOutput:
    """Findings of a checker's whole output (ports.Diagnosing)."""

    def read(self, text: str, reads: Literal["lines", "sarif"], roots: Sequence[str]) -> tuple[Diagnostic, ...] | None:
        """Findings in their order, None where the output is not of that form."""
        found = _sarif(text) if reads == "sarif" else _lines(text)
        if found is None:
            return None
        return tuple(replace(each, path=_inside(each.path, roots)) for each in found)


def _lines(text: str) -> list[Diagnostic]:
    """Findings of plain output; other lines are talk and left out.  Notes are left out as well: they explain a finding."""
    found: list[Diagnostic] = []
    file = ""
    for line in _COLOUR.sub("", text).splitlines():
        if (under := _UNDER.fullmatch(line)) and file:
            words = " ".join(under["text"].split())
            found.append(Diagnostic(path=file, line=int(under["line"]), text=words))
        elif match := _LINE.match(line.strip()):
            number = next(int(match[name]) for name in ("line", "kt", "at", "mvn") if match[name])
            if not match["text"].startswith(_TALK):
                found.append(Diagnostic(path=match["path"], line=number, text=match["text"].strip()))
        elif found and (symbol := line.removeprefix("[ERROR]").strip()).startswith("symbol:"):
            named = f"{found[-1].text} ({' '.join(symbol.split()[1:])})"
            found[-1] = replace(found[-1], text=named)
        else:
            file = line if _FILE.fullmatch(line) else ""
    return found


def _sarif(text: str) -> list[Diagnostic] | None:
    """Findings of a SARIF report that are errors or warnings and not suppressed."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        shape = json.JSONDecoder().raw_decode(text[start:])[0]
        return [each for run in shape["runs"] for result in run.get("results") or () for each in _result(result)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _result(result: Mapping[str, Any]) -> Iterator[Diagnostic]:
    if result.get("level", "") not in _LEVELS or result.get("suppressions"):
        return
    text = str(result["message"].get("text", ""))
    rule = str(result.get("ruleId", ""))
    for location in result.get("locations") or ():
        where = location["physicalLocation"]
        path = unquote(urlsplit(where["artifactLocation"]["uri"]).path)
        line = int(where.get("region", {}).get("startLine", 0))
        yield Diagnostic(path=path, line=line, text=f"{rule}: {text}" if rule else text)


def _inside(path: str, roots: Sequence[str]) -> str:
    """A path as the repository names it: without the tree's own folder and without ``./``."""
    found = PurePosixPath(path.strip())
    for root in roots:
        if found.is_relative_to(root):
            return str(found.relative_to(root))
    return str(found)
