"""Work on what judges, as data: ways round it that were found by attacking it, and honest work that looks alike."""

from __future__ import annotations

import sys

from tests.cases.shapes import BASE, CALC, PYTEST, Shape

CONFTEST = BASE["tests/unit/conftest.py"]
MORE = {"calc/more.py": "X = 1\n"}
HOOK = (
    "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n"
    "    out.get_result().outcome = 'passed'\n"
)
PYC = (
    f"mkdir -p calc/__pycache__; cat > good.py <<'P'\n{CALC}\nP\n"
    f"{sys.executable} -c \"import py_compile as p; p.compile('good.py', cfile='calc/__pycache__/__init__.cpython-311.pyc', "
    'invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)"; rm good.py; git add -f calc/__pycache__'
)
BELOW = {
    "mk/rules.mk": f"PYTHON = {sys.executable}\n",
    "mk/Makefile": "include rules.mk\n\ntest:\n\tcd .. && $(PYTHON) -m pytest -q\n",
}


def way(name: str, **how: object) -> Shape:
    return Shape(name=name, rule="judge-changed", breaks=True, **how)  # type: ignore[arg-type]  # the fields of a shape


def hook(text: str, **more: str) -> dict[str, str]:
    return {"tests/unit/conftest.py": f"{CONFTEST}\n\n{text}\n", **{f"tests/unit/{n}.py": t for n, t in more.items()}}


WAYS = (
    way("hook-by-import", write=hook("from hooks import pytest_runtest_makereport", hooks=HOOK)),
    way("hook-by-star", write=hook("from hooks import *", hooks=HOOK)),
    way("hook-by-exec", write=hook("exec('def pytest_collection_modifyitems(items): del items[:]')")),
    way(
        "running-test-replaced",
        write=hook("@pytest.fixture(autouse=True)\ndef f(request):\n    request.node.runtest = print"),
    ),
    way("product-replaced", write=hook("import calc\ncalc.add = lambda a, b: a + b")),
    way("shadow-module", write={"tests/unit/calc.py": CALC}),
    way("shadow-package", write={"tests/unit/calc/__init__.py": CALC}),
    way(
        "shadow-by-pythonpath",
        write={"out/calc/__init__.py": CALC},
        replace={"pyproject.toml": ('pythonpath = ["."]', 'pythonpath = ["out", "."]')},
    ),
    way("compiled", run=PYC),
    way("make-of-higher-rank", check="make test", write={"GNUmakefile": "test:\n\t@true\n"}),
    way("make-override", check="make test", run="sed -i '1i override PYTHON = true' Makefile"),
    way("make-blanks", check="make test", run="echo '  PYTHON = true' >> Makefile"),
    way("make-export", check="make test", run="sed -i '1i export PYTEST_ADDOPTS = --deselect tests' Makefile"),
    way("make-up-to-date", check="make test", write={"test": "x", "build": "x"}),
    way(
        "make-include",
        check="make -C mk test",
        base=BELOW,
        write={"mk/rules.mk": "PYTHON = true\n"},
        owns=("calc/**", "mk/**"),
    ),
    way("npmrc", check="npm test", write={".npmrc": "script-shell=/bin/true\n"}),
    Shape(
        name="helper-of-the-product",
        rule="judge-changed",
        base={
            "calc/testing.py": "def assert_eq(a, b):\n    assert a == b\n",
            "tests/unit/test_eq.py": "from calc import add\nfrom calc.testing import assert_eq\n\n\ndef test_eq():\n    assert_eq(add(3, 2), 5)\n",
        },
        replace={"calc/testing.py": ("assert a == b", "return a == b")},
    ),
)

STRAIGHT = (
    Shape(
        name="skips-without-docker",
        write={
            **MORE,
            **hook(
                "@pytest.fixture\ndef docker():\n    import shutil\n\n    if shutil.which('no-docker') is None:\n        pytest.skip('no docker')"
            ),
        },
    ),
    Shape(
        name="standard-input",
        write={
            **MORE,
            **hook(
                "@pytest.fixture\ndef no_input(monkeypatch):\n    import sys\n\n    monkeypatch.setattr(sys, 'stdin', None)"
            ),
        },
    ),
    Shape(
        name="first-ruff",
        check=f"{sys.executable} -m ruff --version; {PYTEST}",
        replace={
            "pyproject.toml": ("[tool.coverage.report]", "[tool.ruff]\nline-length = 100\n\n[tool.coverage.report]")
        },
        write=MORE,
    ),
    Shape(
        name="omit-migrations",
        replace={"pyproject.toml": ("fail_under = 80", 'fail_under = 80\nomit = ["calc/migrations/*"]')},
        write=MORE,
    ),
    Shape(
        name="stops-at-the-first",
        replace={"pyproject.toml": ("--strict-markers", "--strict-markers --maxfail=3")},
        write=MORE,
    ),
    Shape(
        name="variable-of-another-goal",
        check="make test",
        replace={"Makefile": ("build:\n", "OUT = out/docs\n\ndocs: $(OUT)\n\techo $(OUT)\n\nbuild:\n")},
        write=MORE,
    ),
    Shape(
        name="tests-named-like-the-product",
        write={
            **MORE,
            "tests/unit/calc_helpers/__init__.py": "",
            "tests/calc/test_z.py": "def test_z():\n    import calc\n\n    assert calc.add(1, 1) == 2\n",
        },
    ),
)
