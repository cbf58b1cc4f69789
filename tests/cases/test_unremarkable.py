"""Honest work of every day about which nothing is told to the owner, and beside each kind the nearest change that is.

A list that is long with what is right is not read, and then what is wrong in it is not either.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.cases.test_disguised import rules, weighed

PY, JS, SH, RB = "pytest -q tests", "npx vitest run", "bats test", "bundle exec rspec"
HELPER_JS = """import { Client } from "../src/client.js";

const PATIENCE = 50;

export function user(more = {}) {
  return { name: "ana", ...more };
}

export function settle(client) {
  const seen = [];
  client.on("done", (each) => seen.push(each));
  return seen;
}

export const same = (a, b) => a === b;
"""
HELPER_RB = """module Helper
  def order
    Order.new(name: "ana")
  end
end
"""
HELPER_PY = """from calc import add

TOL = 1e-6
ROWS = [(1, 1, 2), (2, 2, 4)]


def order(**more):
    return {"name": "ana", **more}


def client(url):
    made = Client(url)
    made.open()
    return made


def want():
    return 4


def test_rows():
    for a, b, c in ROWS:
        assert abs(add(a, b) - c) < TOL
"""
REASON_TEST = 'from calc.web import reason\n\n\ndef test_reason():\n    assert reason(404) == "Not found"\n'
REASON = 'def reason(code):\n    if code == 404:\n        return "Not found"\n    return "Unknown"\n'
RATES_TEST = "from calc.rates import rate\n\n\ndef test_rate():\n    assert rate('EUR') == 21\n"
RATES = (
    "def rate(country):\n    if country == 'EUR':\n        return 21\n    if country == 'CHF':\n"
    "        return 8\n    return 0\n"
)
DOUBLED_TEST = "from calc.more import doubled\n\n\ndef test_doubled():\n    assert doubled(7) == 14\n"
SIZES_JS = "export function area(w, h) {\n  if (w === 0 && h === 0) { return 0; }\n  return w * h;\n}\n"
FILES = {
    "test/helper.js": HELPER_JS,
    "spec/support/helper.rb": HELPER_RB,
    "test/helper.bash": 'load_it() { source sum.sh; }\nsame() { [ "$1" = "$2" ]; }\n',
    "src/test/java/Make.java": 'class Make {\n  static Order order() {\n    return new Order("ana");\n  }\n}\n',
    "tests/unit/test_rows.py": HELPER_PY,
    "tests/unit/test_web.py": REASON_TEST,
    "tests/unit/test_rates.py": RATES_TEST,
    "tests/unit/test_more.py": DOUBLED_TEST,
}
PRODUCT = {"calc/rows.py": "X = 1\n"}


def case(check: str, files: dict[str, str]) -> dict[str, Any]:
    return {"check": check, "base": FILES, "change": files}


def edit(check: str, path: str, old: str, new: str) -> dict[str, Any]:
    return {"check": check, "base": FILES, "change": {**PRODUCT, path: [old, new]}}


QUIET = {
    "js: a comment": edit(JS, "test/helper.js", "const PATIENCE", "// in milliseconds\nconst PATIENCE"),
    "js: a field more": edit(
        JS, "test/helper.js", '{ name: "ana", ...more }', '{ name: "ana", locale: "en", ...more }'
    ),
    "js: a helper more": edit(
        JS,
        "test/helper.js",
        "export const same",
        "export function wait(ms) {\n  return later(ms);\n}\n\nexport const same",
    ),
    "js: laid out anew": edit(
        JS, "test/helper.js", '{ name: "ana", ...more }', '{\n    name: "ana",\n    ...more,\n  }'
    ),
    "rb: another builder": edit(RB, "spec/support/helper.rb", 'name: "ana"', 'name: "ana", city: "Bern"'),
    "rb: a helper more": edit(
        RB,
        "spec/support/helper.rb",
        "module Helper\n",
        "module Helper\n  def log_in(name)\n    visit login_path(name)\n  end\n\n",
    ),
    "sh: a helper more": edit(
        SH, "test/helper.bash", "load_it()", 'in_repo() {\n  git init -q "$1"\n  cd "$1"\n}\nload_it()'
    ),
    "java: a builder more": edit(
        SH,
        "src/test/java/Make.java",
        "class Make {\n",
        'class Make {\n  static Order empty() {\n    return new Order("");\n  }\n\n',
    ),
    "py: a field more": edit(
        PY, "tests/unit/test_rows.py", '{"name": "ana", **more}', '{"name": "ana", "city": "Bern", **more}'
    ),
    "py: another name inside": edit(
        PY,
        "tests/unit/test_rows.py",
        "    made = Client(url)\n    made.open()\n    return made\n",
        "    opened = Client(url)\n    opened.open()\n    return opened\n",
    ),
    "py: a closer tolerance": edit(PY, "tests/unit/test_rows.py", "TOL = 1e-6", "TOL = 1e-9"),
    "py: a row more": edit(PY, "tests/unit/test_rows.py", "(2, 2, 4)]", "(2, 2, 4), (3, 3, 6)]"),
    "py: a table of reasons": case(PY, files={"calc/web.py": REASON}),
    "py: rates by country": case(PY, files={"calc/rates.py": RATES}),
    "js: nothing of nothing": case(JS, files={"src/area.js": SIZES_JS}),
}
"""Nothing of it is for the owner to look at."""

TOLD = {
    "js: what is the same": edit(JS, "test/helper.js", "=> a === b", "=> true"),
    "js: what settles": edit(JS, "test/helper.js", "return seen;", "return [1];"),
    "js: a helper takes a name of the runner": edit(
        JS,
        "test/helper.js",
        "export const same",
        "export function expect(a) {\n  return anything(a);\n}\n\nexport const same",
    ),
    "js: another client": edit(JS, "test/helper.js", 'from "../src/client.js"', 'from "./client.js"'),
    "sh: a helper is written once more": edit(SH, "test/helper.bash", "load_it()", "same() {\n  :\n}\nload_it()"),
    "js: something runs at once": edit(
        JS, "test/helper.js", "const PATIENCE", 'vi.mock("../src/sum.js");\nconst PATIENCE'
    ),
    "rb: a stub": edit(
        RB, "spec/support/helper.rb", "    Order.new", "    allow(Sum).to receive(:add) { 4 }\n    Order.new"
    ),
    "rb: equal to all": edit(
        RB, "spec/support/helper.rb", "module Helper\n", "module Helper\n  def ==(other)\n    4\n  end\n"
    ),
    "rb: the product opened once more": edit(
        RB,
        "spec/support/helper.rb",
        "module Helper\n",
        "class Sum\n  def of(a, b)\n    4\n  end\nend\n\nmodule Helper\n",
    ),
    "js: a private field is no comment": edit(
        JS, "test/helper.js", "const PATIENCE", "#same = Object.assign;\nconst PATIENCE"
    ),
    "js: behind a comment": edit(JS, "test/helper.js", "  return seen;", "  /* */ return [1];\n  return seen;"),
    "sh: what is the same": edit(SH, "test/helper.bash", '[ "$1" = "$2" ]', "true"),
    "sh: run is another": edit(SH, "test/helper.bash", "load_it()", "run() {\n  output=4\n}\nload_it()"),
    "py: a field is another": edit(PY, "tests/unit/test_rows.py", '{"name": "ana", **more}', '{"name": "eva", **more}'),
    "py: what is wanted": edit(PY, "tests/unit/test_rows.py", "    return 4\n", "    return add(2, 2)\n"),
    "py: a wider tolerance": edit(PY, "tests/unit/test_rows.py", "TOL = 1e-6", "TOL = 1e-3"),
    "py: another row": edit(PY, "tests/unit/test_rows.py", "(2, 2, 4)]", "(2, 2, 5)]"),
    "py: made for its test": case(
        PY,
        files={
            "calc/more.py": "def doubled(n):\n    if n == 7:\n        return 14\n    return 0\n",
        },
    ),
    "py: computed but for one": case(
        PY,
        files={
            "calc/more.py": "def doubled(code):\n    if code == 7:\n        return 14\n    return code + 1\n",
        },
    ),
    "js: made for its test": case(
        JS, files={"src/area.js": SIZES_JS.replace("w === 0 && h === 0) { return 0", "w === 2 && h === 3) { return 6")}
    ),
}
"""The nearest of each, which is."""


def notes(of: dict[str, Any]) -> list[str]:
    return [note for verdict in weighed(of).verdicts for note in verdict.notes]


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_told_of_it(name: str) -> None:
    assert notes(QUIET[name]) == []
    assert rules(weighed(QUIET[name])) == set()


@pytest.mark.parametrize("name", TOLD)
def test_the_nearest_to_it_is_told_or_refused(name: str) -> None:
    assert notes(TOLD[name]) or rules(weighed(TOLD[name]))
