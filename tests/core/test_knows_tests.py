"""Product code that newly asks whether it is tested: each way is named; what a project does already, or has to do, is not."""

from __future__ import annotations

import pytest

from interlock.core.gate.changes import Change
from interlock.core.gate.knows_tests import judge_knowing, knows_tests

Files = dict[str, str]


def asked(after: Files, before: Files | None = None) -> tuple[str, ...]:
    base = before or {}

    def both(path: str) -> tuple[bytes | None, bytes | None]:
        old, new = base.get(path), after[path] if path in after else base.get(path)
        return old.encode() if old is not None else None, new.encode() if new else None

    changes = [Change(path=each, status="M" if each in base else "A", old_mode=0, new_mode=0o100644) for each in after]
    return knows_tests(
        changes, both, files=lambda: list(base), read_many=lambda paths: [both(path)[0] for path in paths]
    )


PYTHON = {
    "variable": "import os\n\n\ndef f():\n    return os.environ.get('PYTEST_CURRENT_TEST')\n",
    "version": "import os\nX = 'PYTEST_VERSION' in os.environ\n",
    "modules": "import sys\nX = 'pytest' in sys.modules\n",
    "modules of its own": "import sys\nX = '_pytest.python' in sys.modules.keys()\n",
    "got": "import sys\nX = sys.modules.get('unittest')\n",
    "taken": "import sys\nsys.modules['_pytest.python'].Function.runtest = print\n",
    "arguments": "import sys\nX = any('pytest' in each for each in sys.argv)\n",
    "first argument": "import sys\nX = sys.argv[0].endswith('pytest')\n",
    "is it there": "import importlib.util as u\nX = u.find_spec('pytest')\n",
    "tried": "try:\n    import pytest\n    X = 1\nexcept ImportError:\n    X = 0\n",
    "in a function": "def f():\n    import _pytest\n    return 1\n",
    "callers": "import inspect\n\n\ndef f():\n    return any('test_' in each.function for each in inspect.stack())\n",
    "caller": "import sys\n\n\ndef f():\n    return sys._getframe(1).f_code.co_name.startswith('test_')\n",
    "sets itself aside": "import unittest\n\n\ndef f():\n    raise unittest.SkipTest('x')\n",
    "its judge": "import unittest\nunittest.TestCase.assertEqual = print\n",
}
SCRIPT = {
    "NODE_ENV": "export const a = process.env.NODE_ENV === 'test' ? 1 : 0\n",
    "turned": "if ('test' != process.env.NODE_ENV) start()\n",
    "worker": "const x = process.env.JEST_WORKER_ID\n",
    "vitest": "const x = process.env['VITEST']\n",
    "meta": "const x = import.meta.vitest ? 1 : 0\n",
    "node": "const x = process.env.NODE_TEST_CONTEXT\n",
    "names": "const x = typeof jest !== 'undefined'\n",
    "global": "const x = globalThis.describe\n",
}
OTHER = {
    "a.go": 'package a\n\nimport "testing"\n\nfunc f() bool { return testing.Testing() }\n',
    "b.go": 'package a\n\nfunc f() bool { return strings.HasSuffix(os.Args[0], ".test") }\n',
    "c.go": 'package a\n\nfunc f() bool { return flag.Lookup("test.v") != nil }\n',
    "src/main/java/A.java": 'class A { boolean f(String name) { return name.startsWith("org.junit"); } }\n',
    "app/a.rb": "def f\n  defined?(RSpec)\nend\n",
    "app/b.rb": "def f\n  Rails.env.test?\nend\n",
}


@pytest.mark.parametrize("name", PYTHON)
def test_each_way_of_python_is_named_and_again_in_no_changed_file(name: str) -> None:
    (first, *_) = asked({"calc/__init__.py": PYTHON[name]})
    assert first.startswith("calc/__init__.py:")
    assert asked({"calc/other.py": PYTHON[name], "calc/__init__.py": ""}, {"calc/__init__.py": PYTHON[name]}) == ()


@pytest.mark.parametrize("name", SCRIPT)
def test_each_way_of_scripts_is_named(name: str) -> None:
    assert asked({"src/a.ts": SCRIPT[name]})
    assert not asked({"src/a.test.ts": SCRIPT[name]}), "A test may know that it is one."
    assert not asked({"src/a.ts": SCRIPT[name] + "go()\n"}, {"src/a.ts": SCRIPT[name]})


@pytest.mark.parametrize("path", OTHER)
def test_each_way_of_other_languages_is_named(path: str) -> None:
    assert asked({path: OTHER[path]})
    assert not asked({path: f"{OTHER[path]}\n"}, {path: OTHER[path]})


def test_one_more_of_two_is_named_and_one_of_a_habit_is_not() -> None:
    one = "import sys\nX = 'pytest' in sys.modules\n"
    assert asked({"calc/c.py": one}, {"calc/a.py": one})
    assert not asked({"calc/c.py": one}, {"calc/a.py": one, "calc/b.py": one})
    assert asked({"calc/c.py": one}, {"calc/a.py": one, "calc/tests/b.py": one}), "A test is no habit of the product."
    assert asked({"calc/a.py": one + one}, {"calc/a.py": one}), "Twice is one more than once."


def test_settings_that_the_base_has_may_ask_and_those_of_build_tools() -> None:
    one = "import sys\nTESTING = 'pytest' in sys.modules\n"
    assert asked({"calc/settings.py": one})
    assert not asked({"calc/settings.py": one}, {"calc/settings.py": "DEBUG = True\n"})
    assert not asked({"babel.config.js": SCRIPT["NODE_ENV"], "config/test.js": SCRIPT["NODE_ENV"]})


def test_tools_of_a_runner_may_ask() -> None:
    plugin = {"pyproject.toml": '[project.entry-points.pytest11]\ncalc = "calc.plugin"\n'}
    assert not asked({"calc/a.py": PYTHON["variable"]}, plugin)
    assert not asked({"calc/a.py": PYTHON["variable"]}, {"pyproject.toml": '[project]\ndependencies = ["pytest>=8"]\n'})
    assert asked({"calc/a.py": PYTHON["variable"]}, {"pyproject.toml": '[project]\ndependencies = ["pytest-like"]\n'})
    assert not asked({"src/a.ts": SCRIPT["worker"]}, {"package.json": '{"peerDependencies": {"jest": "*"}}'})
    assert asked({"src/a.ts": SCRIPT["worker"]}, {"package.json": '{"devDependencies": {"jest": "*"}}'})
    now = {"calc/a.py": PYTHON["variable"], "pyproject.toml": plugin["pyproject.toml"]}
    assert asked(now, {"pyproject.toml": ""}), "What the work says of itself counts for nothing."


@pytest.mark.parametrize(
    "text",
    [
        "# PYTEST_CURRENT_TEST, 'pytest' in sys.modules\nX = 1\n",
        '"""Says nothing of PYTEST_CURRENT_TEST."""\n',
        "import os\nX = os.environ.get('CI')\n",
        "import sys\nX = 'numpy' in sys.modules\n",
        "DEV = ['pytest', 'ruff']\n",
        "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pytest', *sys.argv[1:]])\n",
        "def run():\n    import pytest\n    return pytest.main([])\n",
        "import inspect\n\n\ndef caller():\n    return inspect.stack()[1].function\n",
        "MODES = ('dev', 'test')\n\n\ndef is_test(mode):\n    return mode == 'test'\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pytest\n",
    ],
)
def test_python_that_only_looks_alike_is_not_named(text: str) -> None:
    assert asked({"calc/a.py": text}) == ()


def test_helpers_for_tests_may_set_aside_and_may_not_ask() -> None:
    assert not asked({"calc/testing.py": "import pytest\n\n\ndef f():\n    pytest.skip('x')\n"})
    assert asked({"calc/testing.py": PYTHON["variable"]})


@pytest.mark.parametrize(
    "text",
    [
        "// NODE_ENV === 'test', JEST_WORKER_ID\nexport const a = 1\n",
        "/* typeof jest\n globalThis.describe */\nexport const a = 1\n",
        "export const quiet = process.env.NODE_ENV === 'production'\n",
        "if (import.meta.vitest) {\n  const { it } = import.meta.vitest\n}\n",
        "export const kinds = ['dev', 'test']\n",
    ],
)
def test_scripts_that_only_look_alike_are_not_named(text: str) -> None:
    assert asked({"src/a.ts": text}) == ()


def test_a_url_in_quotes_is_no_comment() -> None:
    assert asked({"src/a.ts": "const u = 'http://x'; const x = process.env.JEST_WORKER_ID\n"})


def test_the_verdict_names_every_place_and_three_in_words() -> None:
    places = tuple(f"a.py:{number}: it asks for x" for number in range(5))
    verdict = judge_knowing(places)
    assert verdict is not None
    assert (verdict.rule, verdict.state, verdict.tests) == ("knows-tests", "refused", places)
    assert verdict.what.startswith("Code of the product newly asks whether it is being tested: a.py:0")
    assert "and 2 more. What behaves otherwise for its tests is not shown by them." in verdict.what
    assert judge_knowing(()) is None
