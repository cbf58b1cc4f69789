"""Names of files and branches made fit for a terminal; JSON carries them unchanged."""

from __future__ import annotations


def shown(name: str) -> str:
    r"""The name itself when it can be printed, else quoted with its odd characters escaped, bytes as ``\xNN``."""
    if name.isprintable():
        return name
    return '"' + "".join(map(_one, name)) + '"'


def _one(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as surrogateescape carries it
        return f"\\x{code - 0xDC00:02x}"
    return letter.encode("unicode_escape").decode("ascii")
