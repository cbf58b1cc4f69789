"""Test files of both sides by the language of their name (ports.TestSyntax); what cannot be read is left out and said."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from interlock.adapters.tests_syntax import python
from interlock.core.gate.test_code import TestFile

_MOST_BYTES = 4 << 20


class SyntaxReader:
    """Python by ``ast``, TypeScript and JavaScript by tree-sitter, the names of tests in Go, Java and Ruby."""

    def __init__(self, platform: str = sys.platform) -> None:
        self._platform = platform

    def read(self, files: Mapping[str, bytes], *, head: bool) -> dict[str, TestFile]:
        """The tests of the files that can be read, with calls between them resolved."""
        usable = {path: data for path, data in files.items() if len(data) <= _MOST_BYTES}
        pythons = {
            path: python.parse(path, data, self._platform) for path, data in usable.items() if path.endswith(".py")
        }
        found = python.resolve({path: each for path, each in pythons.items() if each is not None}, head=head)
        rest = {path: data for path, data in usable.items() if not path.endswith(".py")}
        return found | (_scripts(rest, head=head) if rest else {})


def _scripts(files: Mapping[str, bytes], *, head: bool) -> dict[str, TestFile]:
    from interlock.adapters.tests_syntax import other_tests, scripts

    parsed = {path: scripts.parse(path, data) for path, data in files.items() if path.endswith(scripts.SUFFIXES)}
    others = {path: other_tests.read(path, data) for path, data in files.items() if path not in parsed}
    known = {path: each for path, each in others.items() if each is not None}
    return scripts.resolve({path: each for path, each in parsed.items() if each is not None}, head=head) | known
