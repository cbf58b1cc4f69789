"""Which checks are one plain pytest command, and that a report option changes nothing else of them."""

from __future__ import annotations

import shlex

import pytest

from interlock.core.gate.recognise import pytest_command, with_report

PLAIN = [
    "pytest",
    "  pytest -q  ",
    "pytest -q tests/billing",
    'pytest -k "a and (b or c)" tests',
    "pytest -k 'x; y | z'",
    "pytest 'tests/test_a.py::test_b[1-x]'",
    "pytest -- tests",
    "python -m pytest -q",
    "python3 -m pytest",
    "python3.11 -W -m pytest tests",
    "python -X -m pytest",
    ".venv/bin/pytest tests",
    "./.venv/bin/python -m pytest",
    "/usr/bin/python3 -m pytest",
    "uv run pytest -q",
    "uv run --frozen --no-sync pytest",
    "uv run python -m pytest",
    "py.test",
    r"pytest tests/a\ b",
    "pytest $TESTS",
    "FOO=1 pytest",
    "PYTHONPATH=src A=b python -m pytest -q",
    "A='b c' B=\"d e\"f pytest -q",
    "pytest --junit-prefix=p tests",
    "pytest --junitprefix p",
    "pytest -o junit_family=xunit1",
    "pytest -k no:junitxml",
    "PYTEST_ADDOPTS=--junitxml=x pytest",
    "pytest -- --junitxml=x",
]
OTHER = [
    "",
    "make test",
    "pytest && true",
    "pytest || true",
    "pytest; echo ok",
    "pytest | tee log",
    "pytest > log",
    "pytest 2>&1",
    "pytest &",
    "pytest\necho",
    "pytest $(echo tests)",
    "pytest `echo tests`",
    "(pytest)",
    "cd x && pytest",
    "FOO=$(date) pytest",
    "FOO=1; pytest",
    "FOO='1'; pytest",
    "FOO='1 pytest",
    "FOO='pytest' make",
    "time pytest",
    "pytester",
    "pytest-watch",
    "python -m pytester",
    "python -m pytest_cov",
    "python pytest",
    "echo pytest",
    "npm test -- pytest",
    "pytest 'open",
    'pytest "open',
    "uv run --with x pytest",
]


@pytest.mark.parametrize("run", PLAIN)
def test_a_plain_pytest_command_takes_a_report_and_stays_what_it_was(run: str) -> None:
    command = pytest_command(run)
    assert command is not None
    assert command.takes_report
    words = shlex.split(with_report(run, shlex.quote("/a b/r.xml")))
    assert words.count("--junitxml=/a b/r.xml") == 1
    assert "--" not in words or words.index("--junitxml=/a b/r.xml") < words.index("--")
    words.remove("--junitxml=/a b/r.xml")
    assert words == shlex.split(run)


@pytest.mark.parametrize("run", OTHER)
def test_anything_else_is_left_alone(run: str) -> None:
    assert pytest_command(run) is None
    with pytest.raises(ValueError, match="no report"):
        with_report(run, "r.xml")


@pytest.mark.parametrize(
    ("run", "path"),
    [
        ("pytest --junitxml=out/r.xml", "out/r.xml"),
        ("pytest -q --junit-xml out/r.xml tests", "out/r.xml"),
        ("pytest --junitxml='out/r.xml' tests", "out/r.xml"),
        ('pytest --junitxml="out/r.xml"', "out/r.xml"),
        ("pytest --junit-xml 'a b.xml'", "a b.xml"),
        (r"pytest --junit-xml a\ b.xml", "a b.xml"),
        ("pytest '--junitxml=r.xml'", "r.xml"),
        ('pytest --junit"xml"=./out//r.xml', "out/r.xml"),
        ("pytest \\\n --junitxml=r.xml", "r.xml"),
        ("A=b pytest --junitxml=first.xml --junitxml=r.xml", "r.xml"),
        ("pytest --junitxml=/tmp/r.xml", "/tmp/r.xml"),
        ("pytest -pno:junitxml", None),
        ("pytest -p no:junitxml", None),
    ],
)
def test_a_report_that_the_command_names_itself_is_used_and_not_overridden(run: str, path: str | None) -> None:
    command = pytest_command(run)
    assert command is not None
    assert (command.own_report, command.takes_report) == (path, False)
    assert command.unclear_report is None


@pytest.mark.parametrize(
    ("run", "named"),
    [
        ("pytest --junitxml=$OUT", "$OUT"),
        ("pytest --junitxml=$PWD/out.xml tests", "$PWD/out.xml"),
        ('pytest --junitxml "${PWD}/out.xml"', "${PWD}/out.xml"),
        ("pytest --junit-xml='$OUT'", "$OUT"),
        ("pytest --junitxml=~/out.xml", "~/out.xml"),
        ("pytest --junitxml=$'out.xml'", "$out.xml"),
        ("pytest --junit-xml out*.xml", "out*.xml"),
        ("pytest --junitxml=a.xml --junitxml={b,c}.xml", "{b,c}.xml"),
        ("pytest --junitxml=", ""),
        ("pytest --junitxml=r.xml --junitxml ''", ""),
        ("pytest tests --junitxml", ""),
    ],
)
def test_a_report_whose_file_the_text_does_not_tell_is_unclear_and_not_absent(run: str, named: str) -> None:
    command = pytest_command(run)
    assert command is not None
    assert (command.own_report, command.takes_report, command.unclear_report) == (None, False, named)
