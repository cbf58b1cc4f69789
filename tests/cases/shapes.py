"""The repository that faked successes and honest runs are tried in, and how one of them is written down; no test lives here."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from interlock.testing.world import World

# Without the plug-ins of our own environment, whose start takes longer than these tests.
QUICK = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONDONTWRITEBYTECODE=1"
PYTEST = f"{QUICK} {sys.executable} -m pytest -q -p no:cacheprovider"

CALC = """\
def add(a, b):
    return a + b


def div(a, b):
    if b == 0:
        raise ValueError("no zero")
    return a / b


def slug(text):
    return text.lower()
"""
TESTS = """\
import sys

import pytest

from calc import add, div, slug


def test_add():
    assert add(1, 2) == 3
    assert add(2, 2) == 4


@pytest.mark.parametrize(("a", "b", "c"), [(4, 2, 2), (9, 3, 3), (8, 2, 4)])
def test_div(a, b, c):
    assert div(a, b) == c


def test_no_zero():
    with pytest.raises(ValueError):
        div(1, 0)


def test_slug(base):
    assert slug(base) == "abc"


@pytest.mark.skipif(sys.platform == "win32", reason="paths differ there")
def test_here():
    assert slug("X") == "x"
"""
BASE = {
    "calc/__init__.py": CALC,
    "tests/unit/test_calc.py": TESTS,
    "tests/unit/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef base():\n    return 'ABC'\n",
    "tests/unit/test_case.py": (
        "import unittest\n\nfrom calc import add\n\n\nclass TestSums(unittest.TestCase):\n    def test_sums(self):\n"
        "        self.assertEqual(add(1, 1), 2)\n        self.assertEqual(add(1, 2), 3)\n"
    ),
    "pyproject.toml": (
        '[project]\nname = "calc"\nversion = "1"\ndependencies = []\n\n[tool.pytest.ini_options]\n'
        'testpaths = ["tests"]\npythonpath = ["."]\naddopts = "--strict-markers"\nmarkers = ["slow: takes long"]\n\n'
        "[tool.coverage.report]\nfail_under = 80\n"
    ),
    "check.sh": f"#!/bin/bash\nset -euo pipefail\n{PYTEST} --junitxml=r.xml\n",
    "Makefile": f"PYTHON = {sys.executable}\n\ntest: build\n\t{QUICK} $(PYTHON) -m pytest -q -p no:cacheprovider\n\nbuild:\n\t@true\n",
    "package.json": json.dumps(
        {"name": "calc", "scripts": {"test": "jest", "build": "tsc"}, "dependencies": {}}, indent=1
    )
    + "\n",
    ".gitlab-ci.yml": "test:\n  script: make test\n",
    "out/old.txt": "seen\n",
    ".gitignore": "r.xml\n__pycache__/\n",
}
BROKEN = ("return a + b", "return a + b + (a == 2)")
"""The work breaks this, and one assertion sees it: whoever passes with it fooled the gate."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One way to work: what the agent writes, replaces, deletes or runs, by which checks, and the rule that refuses (None: none).

    ``extra`` are further lines of the card; ``base`` files that the base has besides; ``owns`` what the card owns.
    """

    name: str
    rule: str | None = None
    write: dict[str, str] = field(default_factory=dict)
    replace: dict[str, tuple[str, str]] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    run: str = ""
    check: str = PYTEST
    report: Mapping[str, object] | None = None
    extra: str = ""
    base: dict[str, str] = field(default_factory=dict)
    owns: tuple[str, ...] = ("calc/**", "tests/**", "*", "out/**", "bin/**", "attic/**", "node_modules/**")
    breaks: bool = False

    def agent(self, folder: Path) -> str:
        """The scripted agent's command; what it does stands in a file of its own."""
        folder.mkdir(parents=True, exist_ok=True)
        script = folder / f"{self.name}.py"
        changes = dict(self.replace)
        script.write_text(
            "import os, pathlib, subprocess\n"
            f"breaks, write, replace, delete, run = {self.breaks!r}, {self.write!r}, {changes!r}, {self.delete!r}, {self.run!r}\n"
            "def put(path, text):\n    p = pathlib.Path(path); p.parent.mkdir(parents=True, exist_ok=True); p.write_text(text)\n"
            f"if breaks: put('calc/__init__.py', pathlib.Path('calc/__init__.py').read_text().replace(*{BROKEN!r}))\n"
            "for path, text in write.items(): put(path, text)\n"
            "for path, (old, new) in replace.items():\n    text = pathlib.Path(path).read_text(); assert old in text, (path, old)\n"
            "    put(path, text.replace(old, new))\n"
            "for path in delete: os.remove(path)\n"
            "if run: subprocess.run(['bash', '-ec', run], check=True)\n",
            encoding="utf-8",
        )
        return f"{sys.executable} {shlex.quote(str(script))}"

    def card(self, world: World) -> None:
        check: dict[str, object] = {"run": self.check} | (
            {"report": dict(self.report)} if self.report is not None else {}
        )
        world.card(
            self.name,
            owns=json.dumps(list(self.owns)),
            command=self.agent(world.root / "agents"),
            checks=(check,),  # type: ignore[arg-type]  # a card's check may be a mapping
            extra=self.extra,
        )


def town_of(root: Path, shapes: tuple[Shape, ...]) -> World:
    """A world whose base holds the files and one card for each shape."""
    world = World.make(root, policy="train: {checks: ['true'], sign_off: owner}\n")
    for path, text in {**BASE, **{path: text for shape in shapes for path, text in shape.base.items()}}.items():
        world.write(path, text)
    for shape in shapes:
        shape.card(world)
    world.push()
    return world
