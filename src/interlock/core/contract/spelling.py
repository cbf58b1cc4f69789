"""How a path of the contract may be written, with the exact correction where it may not; what patterns match is paths' work."""

from __future__ import annotations

from interlock.core.problems import InterlockError

MAX_LENGTH = 1024
"""Characters of a path or pattern; longer ones are refused, so that no comparison can be made to take long."""


class PatternError(InterlockError):
    """A path or pattern that cannot be used: what is wrong, why, how to write it, and the corrected text if there is one."""

    code = "path"
    exit_code = 2

    def __init__(self, *, what: str, why: str, fix: str, better: str | None = None) -> None:
        super().__init__(f"{what} {why}", hint=fix)
        self.what = what
        self.why = why
        self.fix = fix
        self.better = better


def visible(text: str) -> str:
    """The text with every character that cannot be seen written as an escape."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode() for char in text
    )


def check_spelling(text: str) -> None:
    """Refuse a path or pattern that is not a plain path below the root of the repository.

    Nothing is cleaned: what was checked is what is used (case SB-07).  Raises PatternError.
    """
    if not text:
        raise PatternError(
            what="The path is empty.",
            why="An empty path names nothing.",
            fix="Name a path from the root of the repository, such as src/billing/**.",
        )
    if len(text) > MAX_LENGTH:
        raise PatternError(
            what=f"The path has {len(text)} characters.",
            why=f"A path may have {MAX_LENGTH} at most.",
            fix="Name a folder above it.",
        )
    _check_characters(text)
    _check_start(text)
    _check_segments(text)


def _check_characters(text: str) -> None:
    shown = visible(text)
    hidden = next((char for char in text if not char.isprintable()), None)
    if hidden is not None:
        raise _refused(
            text,
            f'"{shown}" holds a character that cannot be seen.',
            "Such a character can make a check decide on another path than the one that is used.",
            extra="A name that really holds it is matched by ? in its place.",
        )
    if text != text.strip(" "):
        raise _refused(
            text,
            f'"{shown}" begins or ends with a space.',
            "A space at the edge is nearly always a slip, and no file would match.",
            extra="A name that really ends with a space is matched by ? in its place.",
        )
    if "\\" in text:
        raise _refused(
            text,
            f'"{shown}" holds a backslash.',
            "Folders are separated by /, and a backslash escapes nothing here.",
            extra="To take [ literally, write [[].",
        )


def _check_start(text: str) -> None:
    if text.startswith("!"):
        raise PatternError(
            what=f'"{text}" begins with "!".',
            why="There is no negation: patterns say what they name, and exceptions stand in a list of their own.",
            fix=f"List {text[1:] or 'the exception'} under prohibited_paths instead.",
        )
    if text.startswith("~"):
        raise _refused(
            text,
            f'"{text}" begins with "~".',
            "Paths start at the root of the repository, never at a home folder.",
            better=_tidy(text.partition("/")[2]) if "/" in text else None,
        )
    if text.startswith("/"):
        raise _refused(text, f'"{text}" begins with "/".', "Paths already start at the root of the repository.")


def _check_segments(text: str) -> None:
    for segment in text.removesuffix("/").split("/"):
        if segment == "..":
            raise _refused(text, f'"{text}" holds "..".', "A path may not leave the repository or go back in it.")
        if segment == ".":
            raise _refused(text, f'"{text}" holds the part ".".', "Paths already start at the root of the repository.")
        if not segment:
            raise _refused(text, f'"{text}" holds "//".', "There is no folder without a name.")


def _refused(text: str, what: str, why: str, *, better: str | None = None, extra: str = "") -> PatternError:
    better = better or _tidy(text)
    if better is not None and (better == text or not _usable(better)):
        better = None
    fix = f"Write {better}." if better else "Name a path from the root of the repository, such as src/billing/**."
    return PatternError(what=what, why=why, fix=f"{fix} {extra}".strip(), better=better)


def _usable(text: str) -> bool:
    try:
        check_spelling(text)
    except PatternError:
        return False
    return True


def _tidy(text: str) -> str | None:
    """What was probably meant, or None when the path leaves the repository or nothing remains."""
    text = "".join(char for char in text if char.isprintable()).strip(" ").replace("\\", "/")
    kept: list[str] = []
    for segment in text.split("/"):
        if segment == "..":
            if not kept:
                return None
            kept.pop()
        elif segment not in ("", ".", "~"):
            kept.append(segment)
    if not kept:
        return None
    return "/".join(kept) + ("/" if text.endswith("/") else "")
