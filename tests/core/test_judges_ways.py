"""The ways round what judges that were found by attacking it, each named; beside each, honest work that looks alike and is not."""

from __future__ import annotations

import pytest
from tests.core.test_judges import BASE, CONFTEST, hook, touched

MAKE = "PY = python\nFLAGS = -O1\n.PHONY: test build\n\ntest: build\n\t$(PY) -m pytest -q\n\nbuild:\n\tcc $(FLAGS) a.c\n\nclean:\n\trm -rf $(OUT)\n"
UNPHONY = "test: build\n\tpytest\n\nbuild:\n\ttrue\n"
INCLUDES = "include rules.mk\n\ntest:\n\t$(PY) -m pytest\n"
NESTED = "test:\n\t$(MAKE) -C web unit\n"
PYTEST = "[tool.pytest.ini_options]\naddopts = '-q'\nfilterwarnings = ['error']\npythonpath = ['.']\n\n[tool.coverage.report]\nfail_under = 80\n"
PRODUCT = {"calc/__init__.py": "def add(a, b): return a + b\n", "tests/unit/test_a.py": "from calc import add\n"}
HELPER = {
    "calc/testing.py": "def assert_eq(a, b):\n    assert a == b\n",
    "tests/unit/test_h.py": "from calc.testing import assert_eq\n",
}
SCRIPTS = {"package.json": "{}", "web/package.json": '{"scripts": {"test": "jest"}}'}
VITE = "export default {\n  resolve: { alias: { '@': './src' } },\n  test: { include: ['a'] },\n}\n"
GRADLE = "dependencies {\n    implementation 'a:b:1'\n}\ntest {\n    useJUnitPlatform()\n}\n"
POM = "<project><version>1</version><dependencies><dependency>a</dependency></dependencies><build><plugins/></build></project>"
RUFF = "[tool.ruff.lint]\nselect = ['E']\n"
MYPY = "[tool.mypy]\nwarn_unused_ignores = true\n"
GOOD = "func TestMain(m *testing.M) {\n\tsetup()\n\tcode := m.Run()\n\tos.Exit(code)\n}\n"
CARGO = "[package]\nname = 'x'\n\n[dependencies]\n\n[lib]\npath = 'a.rs'\n"
HOOKS = "def pytest_runtest_makereport(item, call): ...\n"

Way = tuple[str, dict[str, str], dict[str, str | None]]


def change(base: str, old: str, new: str) -> str:
    assert old in base, old
    return base.replace(old, new, 1)


def make(old: str, new: str) -> Way:
    return "make test", {"Makefile": MAKE}, {"Makefile": change(MAKE, old, new)}


def setting(base: str, old: str, new: str, command: str = "pytest") -> Way:
    return command, {"pyproject.toml": base}, {"pyproject.toml": change(base, old, new)}


def conftest(text: str, **more: str) -> Way:
    files = {path.replace("__", "/") + ".py": data for path, data in more.items()}
    return "pytest", {**BASE, **PRODUCT}, {**hook(text), **files}


NAMED: dict[str, Way] = {
    "a Makefile of higher rank": ("make test", {"Makefile": MAKE}, {"GNUmakefile": "test:\n\t@true\n"}),
    "override": make("PY = python\n", "PY = python\noverride PY = true\n"),
    "leading blanks": make("FLAGS =", "  PY = true\nFLAGS ="),
    "exported": make("FLAGS =", "export PYTEST_ADDOPTS = -k none\nFLAGS ="),
    "handed on unexported": make("FLAGS =", "PATH = bin:/bin\nFLAGS ="),
    "of one goal": make("FLAGS =", "test: PY = true\nFLAGS ="),
    "define": make("FLAGS =", "define PY\ntrue\nendef\nFLAGS ="),
    "eval": make("FLAGS =", "$(eval PY = true)\nFLAGS ="),
    "run while read": make("FLAGS =", "X := $(shell rm -r tests)\nFLAGS ="),
    "flags that turn asserts off": make("-O1", "-DNDEBUG"),
    "a command among the flags": make("-O1", "-O1; rm -r tests;"),
    "a new need that acts": make(
        "test: build\n\t$(PY) -m pytest -q\n", "test: build b\n\t$(PY) -m pytest -q\n\nb:\n\trm -r tests\n"
    ),
    "included file": ("make test", {"Makefile": INCLUDES, "rules.mk": "PY = python\n"}, {"rules.mk": "PY = true\n"}),
    "new included file": ("make test", {"Makefile": f"-{INCLUDES}"}, {"rules.mk": "PY = true\n"}),
    "make below": (
        "make test",
        {"Makefile": NESTED, "web/Makefile": "unit:\n\tpytest\n"},
        {"web/Makefile": "unit:\n\ttrue\n"},
    ),
    "up to date": ("make test", {"Makefile": UNPHONY}, {"test": "x"}),
    "a folder that is up to date": ("make test", {"Makefile": UNPHONY}, {"test/x.txt": "x"}),
    "gradle": (
        "./gradlew test",
        {"build.gradle": GRADLE},
        {"build.gradle": change(GRADLE, "use", "ignoreFailures = true; use")},
    ),
    "maven": (
        "mvn -q test",
        {"pom.xml": POM},
        {"pom.xml": change(POM, "<plugins/>", "<testFailureIgnore>true</testFailureIgnore>")},
    ),
    "maven property": (
        "mvn test",
        {"pom.xml": POM},
        {"pom.xml": change(POM, "<build>", "<properties><skipTests>true</skipTests></properties><build>")},
    ),
    "justfile": ("just test", {"justfile": "a"}, {"justfile": "b"}),
    "Taskfile": ("task test", {"Taskfile.yml": "a"}, {"Taskfile.yml": "b"}),
    "Rakefile": ("rake test", {"Rakefile": "a"}, {"Rakefile": "b"}),
    "invoke": ("invoke test", {"tasks.py": "a"}, {"tasks.py": "b"}),
    "tox.toml": ("tox", {"tox.toml": "a = 1"}, {"tox.toml": "a = 2"}),
    "turbo": ("npx turbo run test", {"turbo.json": "{}"}, {"turbo.json": "[]"}),
    "compose": ("docker compose run test", {"compose.yaml": "a"}, {"compose.yaml": "b"}),
    "cargo": ("cargo test", {"Cargo.toml": CARGO}, {"Cargo.toml": f"{CARGO}test = false\n"}),
    "cargo runner": ("cargo test", {}, {".cargo/config.toml": "[target.x]\nrunner = 'true'\n"}),
    **{
        command: (command, SCRIPTS, {"web/package.json": '{"scripts": {"test": "true"}}'})
        for command in (
            "npm --prefix web test",
            "npm test -w web",
            "npm test --workspaces",
            "yarn workspace web test",
            "pnpm -C web test",
            "pnpm -r test",
            "pnpm --filter web test",
        )
    },
    ".npmrc": ("npm test", {"package.json": "{}"}, {".npmrc": "script-shell=/bin/true\n"}),
    "python -m": ("python -m tools.check", {"tools/check.py": "a"}, {"tools/check.py": "b"}),
    "python -W": ("python3 -W error run.py", {"run.py": "a"}, {"run.py": "b"}),
    "bash -c": ("bash -euc 'cd ci && ./x.sh'", {"ci/x.sh": "a"}, {"ci/x.sh": "b"}),
    "bash -euo": ("bash -euo pipefail x.sh", {"x.sh": "a"}, {"x.sh": "b"}),
    "taken in by jest": (
        "npx jest",
        {"jest.config.js": "require('./jest.base')", "jest.base.js": "a"},
        {"jest.base.js": "b"},
    ),
    "vite's tests": ("npx vitest run", {"vite.config.ts": VITE}, {"vite.config.ts": change(VITE, "['a']", "[]")}),
    "TestMain": ("go test ./...", {}, {"main_test.go": "func TestMain(m *testing.M) { os.Exit(0) }"}),
    "TestMain forgets": (
        "go test ./...",
        {},
        {"main_test.go": change(GOOD, "os.Exit(code)", "code = 0\n\tos.Exit(code)")},
    ),
    "fail-under in addopts": setting(PYTEST, "'-q'", "'-q --cov-fail-under=1'"),
    "warnings in addopts": setting(PYTEST, "'-q'", "'-q -W ignore'"),
    "all warnings": setting(PYTEST, "['error']", "['error', 'ignore']"),
    "pythonpath": setting(PYTEST, "['.']", "['out', '.']"),
    "ruff ignores": setting(RUFF, "['E']", "['E']\nignore = ['E501']", "ruff check ."),
    "ruff selects less": setting(RUFF, "['E']", "[]", "ruff check ."),
    "mypy for a module": setting(
        MYPY, "true", "true\n[[tool.mypy.overrides]]\nmodule = 'x'\nignore_errors = true", "mypy ."
    ),
    "mypy off": setting(MYPY, "true", "false", "mypy ."),
    "requirements": ("pip install -r requirements.txt", {}, {"requirements.txt": "./fakepytest\n"}),
    "no longer phony": make(".PHONY: test build", ".PHONY: build"),
    "the product forges the report": (
        "pytest",
        PRODUCT,
        {"calc/__init__.py": "import atexit, sys\nR = '--junitxml=' in sys.argv[1]\n"},
    ),
    "shadow": ("pytest", PRODUCT, {"tests/unit/calc.py": "x"}),
    "shadow of a package": ("pytest", PRODUCT, {"tests/unit/calc/__init__.py": "x"}),
    "shadow of a folder": (
        "pytest",
        {"calc/core.py": "x", "tests/unit/test_a.py": "from calc import core\n"},
        {"tests/unit/calc/core.py": "x"},
    ),
    "unittest among the tests": ("pytest", PRODUCT, {"tests/unit/unittest.py": "x"}),
    "compiled": ("pytest", PRODUCT, {"calc/__pycache__/__init__.cpython-311.pyc": "x"}),
    "helper of the product": ("pytest", HELPER, {"calc/testing.py": "def assert_eq(a, b):\n    return a == b\n"}),
    "hook by import": conftest("from hooks import pytest_runtest_makereport"),
    "hook under another name": conftest("from hooks import x as pytest_runtest_makereport"),
    "all of a module that is not here": conftest("from hooks import *"),
    "annotated": conftest("pytest_plugins: list = ['hooks']"),
    "unpacked": conftest("pytest_plugins, x = ['hooks'], 1"),
    "exec": conftest("exec('x')"),
    "exec under another name": conftest("run = exec"),
    "globals": conftest("globals()['x'] = 1"),
    "exit under another name": conftest("from os import _exit as done\ndone(0)"),
    "exit by name": conftest("import os\ngetattr(os, '_exit')(0)"),
    "the running test": conftest("@pytest.fixture(autouse=True)\ndef f(request):\n    request.node.runtest = print"),
    "the running test by setattr": conftest(
        "@pytest.fixture\ndef f(request):\n    setattr(request.node, 'obj', print)"
    ),
    "the product": conftest("import calc\ncalc.add = lambda a, b: 3"),
    "the product by a part": conftest("from calc import Client\nClient.send = lambda *a: 3"),
    "the product for all": conftest(
        "@pytest.fixture(autouse=True)\ndef f(monkeypatch):\n    monkeypatch.setattr('calc.add', lambda a, b: 3)"
    ),
    "the product for a fixture of the base": conftest(
        "import calc\n@pytest.fixture\ndef base(monkeypatch):\n    monkeypatch.setattr(calc, 'add', print)"
    ),
    "another module": conftest("import sys\nsys.modules['calc'] = print"),
    "a name for the running test": conftest(
        "@pytest.fixture(autouse=True)\ndef f(request):\n    n = request.node\n    n.obj = print"
    ),
    "a name for the runner's class": conftest("import _pytest.python as p\nF = p.Function\nF.runtest = print"),
    "plugin by the manager": conftest(
        "@pytest.fixture\ndef f(pytestconfig):\n    pytestconfig.pluginmanager.import_plugin('hooks')"
    ),
    "options by the environment": conftest("import os\nos.environ['PYTEST_ADDOPTS'] = '-k x'"),
    "names of a module": conftest("import calc\nvars(calc)['add'] = print"),
    "skips under no condition": conftest("@pytest.fixture\ndef f():\n    pytest.skip('x')"),
    "skips a fixture of the base": conftest("@pytest.fixture\ndef base():\n    if True:\n        pytest.skip('x')"),
    "skips for all": conftest("@pytest.fixture(autouse=True)\ndef f():\n    if True:\n        pytest.skip('x')"),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_way_round_is_named(name: str) -> None:
    command, base, after = NAMED[name]
    assert touched(after, commands=(command,), base=base, told=True), name


def test_a_hook_in_a_module_among_the_tests_is_named_where_it_stands() -> None:
    command, base, after = conftest("from tests.hooks import *", tests__hooks=HOOKS)
    found = touched(after, commands=(command,), base=base, told=True)
    assert found == {
        "tests/conftest.py": "pytest_runtest_makereport comes from tests.hooks",
        "tests/hooks.py": "pytest_runtest_makereport is new",
    }


def test_a_folder_put_on_the_path_may_not_hold_another_product() -> None:
    command, base, after = conftest("import sys\nsys.path.insert(0, 'out')")
    after = {**after, "out/calc/__init__.py": "x"}
    found = touched(after, commands=(command,), base=base, told=True)
    assert found == {"out/calc/__init__.py": "the tests would import it in place of calc/__init__.py"}


FREE: dict[str, Way] = {
    "flag of a build": make("-O1", "-O2 -Wall"),
    "variable of another goal": make("FLAGS =", "OUT = out\nFLAGS ="),
    "need of another goal": make("clean:", "clean: docs\n\ndocs:\n\ttrue\n\nclean:"),
    "a need that does nothing": make(
        "test: build\n\t$(PY) -m pytest -q\n", "test: build b\n\t$(PY) -m pytest -q\n\nb:\n\ttrue\n"
    ),
    "phony": make(".PHONY: test", ".PHONY: docs test"),
    "a file of that name beside a phony goal": ("make test", {"Makefile": MAKE}, {"build/a.txt": "x"}),
    "a file in a folder that is there": ("make test", {"Makefile": UNPHONY, "build/a": "x"}, {"build/b": "x"}),
    "gradle dependency": (
        "gradle test",
        {"build.gradle": GRADLE},
        {"build.gradle": change(GRADLE, "impl", "testImplementation 'c:d:2'\n    impl")},
    ),
    "maven dependency": (
        "mvn test",
        {"pom.xml": POM},
        {"pom.xml": change(POM, "<dependency>a", "<dependency>b</dependency><dependency>a")},
    ),
    "cargo dependency": (
        "cargo test",
        {"Cargo.toml": CARGO},
        {"Cargo.toml": change(CARGO, "[dependencies]", "[dependencies]\nserde = '1'")},
    ),
    "npm script below": (
        "npm test -w web",
        SCRIPTS,
        {"web/package.json": '{"scripts": {"test": "jest", "lint": "x"}}'},
    ),
    "registry": ("npm test", {"package.json": "{}"}, {".npmrc": "registry=https://r.example/\n"}),
    "vite alias": (
        "npx vitest run",
        {"vite.config.ts": VITE},
        {"vite.config.ts": change(VITE, "'@'", "'~': './lib', '@'")},
    ),
    "TestMain that ends so": ("go test ./...", {}, {"main_test.go": GOOD}),
    "maxfail": setting(PYTEST, "'-q'", "'-q --maxfail=1 --strict-config'"),
    "fail-under in addopts": setting(PYTEST, "'-q'", "'-q --cov-fail-under=85'"),
    "one warning": setting(PYTEST, "'-q'", "'-q -W ignore::DeprecationWarning'"),
    "omit migrations": setting(PYTEST, "= 80", "= 80\nomit = ['calc/migrations/*']"),
    "pythonpath behind": setting(PYTEST, "['.']", "['.', 'tools']"),
    "first pythonpath": setting(RUFF, "['E']", "['E']\n[tool.pytest.ini_options]\npythonpath = ['src']"),
    "ruff selects more": setting(RUFF, "['E']", "['E', 'B']", "ruff check ."),
    "first ruff": setting(PYTEST, "[tool.cov", "[tool.ruff]\nline-length = 100\n[tool.cov", "ruff check ."),
    "mypy stricter": setting(MYPY, "true", "true\nstrict = true", "mypy ."),
    "types that are not there": setting(
        MYPY, "true", "true\n[[tool.mypy.overrides]]\nmodule = 'x'\nignore_missing_imports = true", "mypy ."
    ),
    "a package of tests of that name": (
        "pytest",
        {**PRODUCT, "tests/__init__.py": "", "tests/unit/__init__.py": ""},
        {"tests/calc/__init__.py": "", "tests/calc/test_b.py": ""},
    ),
    "a folder of that name": ("pytest", PRODUCT, {"tests/calc/test_b.py": ""}),
    "a helper of another name": ("pytest", PRODUCT, {"tests/unit/helping.py": "x"}),
    "a module that no test imports": ("pytest", {**PRODUCT, "utils.py": "x"}, {"tests/unit/utils.py": "x"}),
    "moved into src": ("pytest", PRODUCT, {"src/calc/__init__.py": "x", "calc/__init__.py": None}),
    "helper asks for more": (
        "pytest",
        HELPER,
        {"calc/testing.py": "def assert_eq(a, b, c=1):\n    assert a == b\n    assert c\n"},
    ),
    "helper in other words": (
        "pytest",
        HELPER,
        {
            "calc/testing.py": "def assert_eq(x, y, why=''):\n    _same(x, y)\n\n\ndef _same(x, y):\n    assert x == y, 'why'\n"
        },
    ),
    "a runner of the tests": ("pytest", PRODUCT, {"tools/run.py": "subprocess.run(['pytest', '--junitxml=r.xml'])"}),
    "skips where docker is absent": conftest(
        "@pytest.fixture\ndef docker():\n    import shutil\n    if not shutil.which('docker'):\n        pytest.skip('no docker')"
    ),
    "standard input": conftest(
        "@pytest.fixture\ndef f(monkeypatch):\n    import sys\n    monkeypatch.setattr(sys, 'stdin', None)\n    monkeypatch.setattr('sys.argv', [])"
    ),
    "a stand-in that is asked for": conftest(
        "@pytest.fixture\ndef f(monkeypatch):\n    monkeypatch.setattr('calc.send', print)"
    ),
    "a setting": conftest("import calc\ncalc.DEBUG = True"),
    "the class of a test": conftest("@pytest.fixture\ndef f(request):\n    request.cls.driver = 1"),
    "all of a module of fixtures": conftest("from tests.helps import *", tests__helps="import pytest\n"),
    "path": conftest("import sys\nsys.path.insert(0, 'src')"),
    "an application": conftest(
        "from calc import app\n@pytest.fixture\ndef client():\n    app.config['TESTING'] = True\n    app.dependency_overrides = {}\n    app.state.db = 1"
    ),
    "a reader": conftest("@pytest.fixture\ndef f(reader):\n    reader.skip(3)\n    reader.session.exec('x')"),
    "settings for all": conftest(
        "import calc\n@pytest.fixture(autouse=True)\ndef s(monkeypatch, tmp_path):\n    monkeypatch.setattr(calc, 'DATA_DIR', tmp_path)"
    ),
    "input": conftest("@pytest.fixture\ndef i(monkeypatch):\n    monkeypatch.setattr('builtins.input', lambda _: 'y')"),
    "stopwatch": conftest("import re\nX = re.compile('x')\nimport pytest_asyncio"),
}


@pytest.mark.parametrize("name", FREE)
def test_honest_work_that_looks_alike_is_free(name: str) -> None:
    command, base, after = FREE[name]
    assert touched(after, commands=(command,), base=base, told=True) == {}


def test_first_testpaths_are_free_where_they_leave_out_no_test() -> None:
    base = {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q'\n", "tests/test_a.py": "", "calc/x.py": ""}
    after: dict[str, str | None] = {"pyproject.toml": f"{base['pyproject.toml']}testpaths = ['tests']\n"}
    assert touched(after, base=base, told=True) == {}
    assert touched(after, base=base)
    assert touched(after, base={**base, "calc/test_b.py": ""}, told=True)


def test_the_conftest_of_these_tests_is_whole() -> None:
    assert CONFTEST in hook("x = 1")["tests/conftest.py"]  # type: ignore[operator]  # it is text
