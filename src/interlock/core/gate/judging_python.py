"""What of a Python file of the work judges it: conftest.py and what is loaded with it, stand-ins, values that are equal to everything."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from interlock.core.gate import conftests
from interlock.core.gate.changes import Change
from interlock.core.gate.shadows import (
    Both,
    Trees,
    asserting_helpers,
    equals_everything,
    imported_by_tests,
    looks_for_the_report,
    shadows,
)
from interlock.core.gate.test_code import is_test_side


def python_judges(change: Change, both: Both, trees: Trees, roots: Sequence[str]) -> Iterator[str]:
    """What is new in a Python file and can change what passes, in words; ``roots`` are folders from which modules are imported."""
    path, (before, after) = change.path, both(change.path)
    name = posixpath.basename(path)

    def module(dotted: str) -> bytes | None:
        return _module(dotted, path, both)

    if name == "conftest.py":
        yield from conftests.weaker(before, after, module, _above(path, both))
    elif is_test_side(path):
        yield from conftests.new_hooks(before, after)
        yield from conftests.plugins_taken(before, after, module)
        if not re.fullmatch(r"test_.*|.*_test\.py", name):
            yield from conftests.replaced(before, after, module)
    else:
        if looks_for_the_report(before, after):
            yield "it looks for the report of the tests"
        if equals_everything(after) and not equals_everything(before):
            yield "it has what is equal to everything, so that no comparison with it shows anything"
        lost = list(asserting_helpers(path, before, after)) if b"assert" in (before or b"") else []
        if lost and imported_by_tests(path, trees):
            yield from lost
    yield from shadows(change, trees, roots)


def _above(path: str, both: Both) -> frozenset[str]:
    """The fixtures of the base in the folders above."""
    found: frozenset[str] = frozenset()
    folder = posixpath.dirname(path)
    while folder:
        folder = posixpath.dirname(folder)
        found |= conftests.fixtures(both(posixpath.join(folder, "conftest.py"))[0])
    return found


def _module(name: str, path: str, both: Both) -> bytes | None:
    """A module as a conftest.py would find it: beside it, in a folder above, at the top or in src, on the head."""
    folder = posixpath.dirname(path)
    plain = name.lstrip(".").replace(".", "/")
    places = [folder, *(("", "src", "lib") if not name.startswith(".") else ())]
    for _ in range(len(name) - len(name.lstrip(".")) - 1):
        places = [posixpath.dirname(places[0])]
    for place in dict.fromkeys(places):
        for each in (f"{plain}.py", f"{plain}/__init__.py"):
            data = both(posixpath.normpath(posixpath.join(place, each)))[1]
            if data is not None:
                return data
    return None
