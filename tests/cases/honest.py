"""Honest runs as data: work that keeps what the base proves, in all the ways in which tests and settings really change."""

from __future__ import annotations

import sys

from tests.cases.disarmed import ALIKE
from tests.cases.judged import STRAIGHT
from tests.cases.shapes import BASE, PYTEST, Shape
from tests.cases.syntax_shapes import KEPT

UNIT = "tests/unit/test_calc.py"
CASE = "tests/unit/test_case.py"
CONFTEST = BASE["tests/unit/conftest.py"]
ADD = "def test_add():\n    assert add(1, 2) == 3\n    assert add(2, 2) == 4\n"
MORE = {"calc/more.py": "def twice(a):\n    return a * 2\n"}
NEW = "from calc.more import twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n"
PNG = (
    "import struct, zlib, pathlib\n"
    "rows = b''.join(b'\\0' + bytes([x * 8 % 256 for x in range(24)]) for _ in range(8))\n"
    "def part(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))\n"
    "pathlib.Path('out').mkdir(exist_ok=True)\n"
    "pathlib.Path('out/new.png').write_bytes(b'\\x89PNG\\r\\n\\x1a\\n' + part(b'IHDR', struct.pack('>IIBBBBB', 8, 8, 8, 2, 0, 0, 0))"
    " + part(b'IDAT', zlib.compress(rows)) + part(b'IEND', b''))\n"
)
# Fails in the first run on a tree that holds the work, and passes in every other one.
FLAKY = (
    "from pathlib import Path\n\n\ndef test_shaky():\n    tree = Path(__file__).resolve().parents[2]\n"
    "    mark = tree.parent / 'shaky'\n    first = (tree / 'calc' / 'shaky.py').exists() and not mark.exists()\n"
    "    mark.touch() if first else None\n    assert not first\n"
)


def test(old: str, new: str) -> dict[str, tuple[str, str]]:
    return {UNIT: (old, new)}


HONEST = (
    Shape(name="feature", write={**MORE, "tests/unit/test_more.py": NEW}),
    Shape(
        name="more-asserts",
        replace=test("    assert add(2, 2) == 4\n", "    assert add(2, 2) == 4\n    assert add(0, 0) == 0\n"),
    ),
    Shape(name="test-renamed", replace=test("def test_add", "def test_addition")),
    Shape(
        name="test-moved",
        run=f"mkdir -p tests/sums; cp {UNIT} tests/sums/test_sums.py; cp tests/unit/conftest.py tests/sums/; rm {UNIT}",
    ),
    Shape(
        name="test-split",
        replace=test(
            ADD,
            "def test_add_small():\n    assert add(1, 2) == 3\n\n\ndef test_add_equal():\n    assert add(2, 2) == 4\n",
        ),
    ),
    Shape(
        name="table",
        replace=test(
            ADD,
            "@pytest.mark.parametrize(('a', 'b', 'c'), [(1, 2, 3), (2, 2, 4)])\ndef test_add(a, b, c):\n    assert add(a, b) == c\n",
        ),
    ),
    Shape(
        name="table-of-another-name",
        replace=test(
            ADD,
            "@pytest.mark.parametrize(('a', 'b', 'c'), [(1, 2, 3), (2, 2, 4)])\ndef test_sums(a, b, c):\n    assert add(a, b) == c\n",
        ),
    ),
    Shape(
        name="helper",
        replace=test(
            ADD,
            "def same(a, b, c):\n    assert add(a, b) == c\n\n\ndef test_add():\n    same(1, 2, 3)\n    same(2, 2, 4)\n",
        ),
    ),
    Shape(
        name="helper-elsewhere",
        write={"tests/unit/helping.py": "from calc import add\n\n\ndef same(a, b, c):\n    assert add(a, b) == c\n"},
        replace=test(ADD, "def test_add():\n    from helping import same\n\n    same(1, 2, 3)\n    same(2, 2, 4)\n"),
    ),
    Shape(
        name="loop-over-a-table",
        replace=test(
            ADD, "def test_add():\n    for a, b, c in [(1, 2, 3), (2, 2, 4)]:\n        assert add(a, b) == c\n"
        ),
    ),
    Shape(name="compared-as-one", replace=test(ADD, "def test_add():\n    assert [add(1, 2), add(2, 2)] == [3, 4]\n")),
    Shape(
        name="unittest-to-pytest",
        write={
            CASE: "from calc import add\n\n\nclass TestSums:\n    def test_sums(self):\n        assert add(1, 1) == 2\n        assert add(1, 2) == 3\n"
        },
    ),
    Shape(
        name="raises-instead-of-try",
        replace=test(
            "    with pytest.raises(ValueError):\n        div(1, 0)\n",
            "    with pytest.raises(ValueError, match='no zero'):\n        div(1, 0)\n",
        ),
    ),
    Shape(
        name="another-parameter",
        replace=test("[(4, 2, 2), (9, 3, 3), (8, 2, 4)]", "[(4, 2, 2), (9, 3, 3), (8, 4, 2), (1, 1, 1)]"),
    ),
    Shape(
        name="new-behaviour",
        replace={
            UNIT: ('assert slug(base) == "abc"', 'assert slug(base) == "abc-"'),
            "calc/__init__.py": (
                "def slug(text):\n    return text.lower()",
                'def slug(text):\n    return text.lower() + ("-" if len(text) > 1 else "")',
            ),
        },
    ),
    Shape(
        name="new-fixture",
        write={
            "tests/unit/conftest.py": f"{CONFTEST}\n\n@pytest.fixture\ndef other():\n    return 2\n\n\ndef pytest_addoption(parser):\n    parser.addoption('--size')\n",
            **MORE,
            "tests/unit/test_more.py": NEW.replace("test_twice()", "test_twice(other)"),
        },
    ),
    Shape(
        name="new-conftest",
        write={"tests/more/conftest.py": CONFTEST.replace("base", "two"), **MORE, "tests/more/test_more.py": NEW},
    ),
    Shape(
        name="new-dependency", replace={"pyproject.toml": ("dependencies = []", 'dependencies = ["six"]')}, write=MORE
    ),
    Shape(
        name="new-marker",
        replace={
            "pyproject.toml": (
                'markers = ["slow: takes long"]',
                'markers = ["slow: takes long", "net: needs a network"]',
            )
        },
        write={
            **MORE,
            "tests/unit/test_more.py": f"import pytest\n{NEW}".replace("def test", "@pytest.mark.net\ndef test"),
        },
    ),
    Shape(
        name="stricter-settings",
        replace={
            "pyproject.toml": ("fail_under = 80", "fail_under = 90"),
            "calc/__init__.py": ("def div", "X = 1\n\n\ndef div"),
        },
    ),
    Shape(
        name="quieter-output",
        replace={"pyproject.toml": ("--strict-markers", "--strict-markers -ra --tb=short --durations=3")},
        write=MORE,
    ),
    Shape(
        name="new-npm-script",
        replace={
            "package.json": ('"build": "tsc"', '"build": "tsc -p ."'),
            "calc/__init__.py": ("def div", "X = 1\n\n\ndef div"),
        },
    ),
    Shape(
        name="new-make-target",
        check="make test",
        replace={"Makefile": ("build:\n", "docs:\n\ttrue\n\nbuild:\n")},
        write=MORE,
    ),
    Shape(
        name="own-script",
        check="bash check.sh",
        report={"junit": "r.xml"},
        replace={"check.sh": ("set -euo pipefail", "set -euo pipefail\nexport LANG=C")},
        owns=("calc/**", "check.sh"),
    ),
    Shape(
        name="slow",
        write={
            **MORE,
            "tests/unit/test_more.py": NEW.replace("    assert", "    import time\n\n    time.sleep(1.5)\n    assert"),
        },
    ),
    Shape(
        name="noisy",
        write={
            **MORE,
            "tests/unit/test_more.py": NEW.replace(
                "    assert",
                "    print('\\x1b[31m' + 'é\\x08' * 5000)\n    import sys; print('FAILED 1 failed, error', file=sys.stderr)\n    assert",
            ),
        },
    ),
    Shape(
        name="not-on-this-platform",
        write={
            **MORE,
            "tests/unit/test_more.py": f"import sys\n\nimport pytest\n{NEW}\n\n@pytest.mark.skipif(sys.platform != 'win32', reason='registry')\ndef test_registry():\n    assert twice(1) == 2\n",
        },
    ),
    Shape(
        name="not-on-another-platform",
        replace=test(
            "def test_slug",
            "@pytest.mark.skipif(sys.platform == 'win32', reason='spelled in another way')\ndef test_slug",
        ),
        write=MORE,
    ),
    Shape(
        name="side-by-side",
        check=f"PYTHONDONTWRITEBYTECODE=1 {sys.executable} -m pytest -q -p no:cacheprovider -n 2",
        write={**MORE, "tests/unit/test_more.py": NEW},
    ),
    Shape(
        name="product-is-mocked",
        write={
            **MORE,
            "tests/unit/test_more.py": f"from unittest import mock\n{NEW}\n\ndef test_mocked():\n    with mock.patch('calc.more.twice', return_value=3):\n        import calc.more\n        assert calc.more.twice(1) == 3\n",
        },
    ),
    Shape(name="only-documents", write={"README.md": "# Calc\n"}),
    Shape(
        name="skip-taken-away",
        base={
            "tests/unit/test_later.py": "import pytest\n\n\n@pytest.mark.skip(reason='later')\ndef test_later():\n    assert True\n"
        },
        replace={"tests/unit/test_later.py": ("@pytest.mark.skip(reason='later')\n", "")},
    ),
    Shape(
        name="red-on-the-base",
        base={"old/test_red.py": "import calc\n\n\ndef test_red():\n    assert hasattr(calc, 'half')\n"},
        check=f"{PYTEST} old",
        write={},
        replace={"calc/__init__.py": ("def div", "def half(a):\n    return a / 2\n\n\ndef div")},
    ),
    Shape(
        name="repair",
        base={"calc/bug.py": "def last(items):\n    return items[0]\n"},
        write={
            "calc/bug.py": "def last(items):\n    return items[-1]\n",
            "tests/unit/test_last.py": "from calc.bug import last\n\n\ndef test_last():\n    assert last([1, 2]) == 2\n",
        },
        extra="reproduces: tests/unit/test_last.py::test_last\n",
    ),
    Shape(
        name="repair-by-report-id",
        base={"calc/bug2.py": "def first(items):\n    return items[-1]\n"},
        write={
            "calc/bug2.py": "def first(items):\n    return items[0]\n",
            "tests/unit/test_first.py": "import pytest\n\nfrom calc.bug2 import first\n\n\nclass TestFirst:\n    @pytest.mark.parametrize('items', [[1, 2], [1]])\n    def test_it(self, items):\n        assert first(items) == 1\n",
        },
        extra="reproduces: ['tests.unit.test_first.TestFirst::test_it']\n",
    ),
    Shape(
        name="screenshot",
        write={**MORE, "out/make.py": PNG},
        run=f"{sys.executable} out/make.py; rm out/make.py",
        extra="artifacts: [{path: out/new.png, kind: screenshot}]\n",
    ),
    Shape(
        name="flaky-of-the-base",
        base={"tests/unit/test_shaky.py": FLAKY},
        write={"calc/shaky.py": "X = 1\n"},
    ),
    *STRAIGHT,
    *KEPT,
    *ALIKE,
)
