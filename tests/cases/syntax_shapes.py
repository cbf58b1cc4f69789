"""Tests that were changed so that they see less, and refactors that only look so, as data for faked and honest; no test lives here."""

from __future__ import annotations

import sys

from tests.cases.shapes import Shape

UNIT = "tests/unit/test_calc.py"
CASE = "tests/unit/test_case.py"
UNITTEST = f"PYTHONPATH=. {sys.executable} -m unittest discover -s tests/unit -p 'test_case.py'"
ADD = "def test_add():\n    assert add(1, 2) == 3\n    assert add(2, 2) == 4\n"
LAST = "    assert add(2, 2) == 4"


def _test(old: str, new: str) -> dict[str, tuple[str, str]]:
    return {UNIT: (old, new)}


WEAKENED = (
    Shape(
        name="under-an-environment",
        rule="tests-weakened",
        breaks=True,
        replace=_test(LAST, f"    import os\n    if os.environ.get('FULL'):\n    {LAST}"),
    ),
    Shape(
        name="test-bound-again",
        rule="tests-weakened",
        breaks=True,
        replace=_test(ADD, f"{ADD}\n\ntest_add = lambda: None\n"),
    ),
    Shape(
        name="subject-of-its-own",
        rule="tests-weakened",
        breaks=True,
        replace=_test("import add, div, slug\n", "import div, slug\n\n\ndef add(a, b):\n    return a + b\n"),
    ),
    Shape(
        name="case-that-runs-itself",
        rule="tests-weakened",
        check=UNITTEST,
        replace={
            CASE: ("    def test_sums", "    def run(self, result=None):\n        return None\n\n    def test_sums")
        },
        run="sed -i 's/return a + b/return a + b + (a == 1)/' calc/__init__.py",
    ),
    Shape(
        name="go-tests-deleted",
        rule="tests-removed",
        base={"sum_test.go": 'package x\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\n'},
        check="true",
        delete=("sum_test.go",),
    ),
)
"""Each takes away what would have seen the fault."""

KEPT = (
    Shape(
        name="renamed-with-its-test",
        run="sed -i 's/\\bslug\\b/to_slug/g;s/test_slug/test_to_slug/' calc/__init__.py tests/unit/test_calc.py",
    ),
    Shape(
        name="method-renamed-with-its-test",
        base={
            "calc/acc.py": "class Acc:\n    def total(self):\n        return 3\n",
            "tests/unit/test_acc.py": "from calc.acc import Acc\n\n\ndef test_total():\n    acc = Acc()\n    assert acc.total() == 3\n",
        },
        run="sed -i 's/total/sum_of_all/g' calc/acc.py tests/unit/test_acc.py",
    ),
    Shape(
        name="expected-by-hand",
        replace=_test(
            "    with pytest.raises(ValueError):\n        div(1, 0)",
            "    try:\n        div(1, 0)\n    except ValueError:\n        return\n    pytest.fail('no error')",
        ),
    ),
)
"""Each demands as much as before in another way."""
