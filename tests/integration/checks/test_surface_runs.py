"""Checks of real surfaces as they are run: what is removed before, what is read and kept after, and what is then judged.

Cases VG-02, VG-03 and VG-05 for every format: no report, one from before, half of one, a link, a folder, one of another tree.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.integration.host.boxes import Box, a_box

from interlock.adapters.checks import runner
from interlock.adapters.checks.runner import CheckRunner
from interlock.adapters.store.codec import plain, run_from
from interlock.core.contract.card import Check, Report
from interlock.core.contract.surfaces import CoverageLimits, Limit, Picture, Wait, given_document
from interlock.core.gate.judge import judge_check
from interlock.core.job.evidence import CheckRun, Verdict
from interlock.host import processes
from interlock.ports.isolation import Room

ENV = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
TAP = "1..2\nok 1 - a\nok 2 - b\n"
SARIF: dict[str, Any] = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "lint"}}, "results": []}]}
COBERTURA = (
    '<coverage><packages><package><classes><class filename="a.py"><lines><line number="1" hits="1"/></lines></class>'
    "</classes></package></packages></coverage>"
)
LCOV = "SF:a.js\nDA:1,1\nend_of_record\n"
API = {"openapi": "3.0.0", "paths": {"/a": {"get": {"responses": {"200": {"description": "x"}}}}}}
FORMATS = {
    "tap": TAP,
    "sarif": json.dumps(SARIF),
    "cobertura": COBERTURA,
    "lcov": LCOV,
    "benchmark": '{"parse": 0.5}',
    "document": json.dumps(API),
}


class Tree:
    """A tree to run checks in, with its record beside it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "tree"
        self.path.mkdir()
        self.record = folder / "interlock" / "jobs" / "j1"
        self.log = self.record / "checks" / "one.log"

    def write(self, path: str, text: str | bytes) -> None:
        (self.path / path).parent.mkdir(parents=True, exist_ok=True)
        (self.path / path).write_bytes(text.encode() if isinstance(text, str) else text)

    def run(self, check: Check, env: dict[str, str] | None = None, redact: tuple[str, ...] = ()) -> CheckRun:
        room = Room(path=self.path, written=self.path)
        return CheckRunner().run(check, room, {**ENV, **(env or {})}, self.log, redact)

    def judge(self, check: Check, base: CheckRun | None = None) -> Verdict:
        return judge_check(check, self.run(check), base)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def asks(form: str, run: str) -> Check:
    """A check that demands what a format shows, and nothing that a whole report of it would not pass."""
    if form == "document":
        return Check(run=run, kind="api", document="out/r")
    limits = (Limit(name="parse", at_most=1.0),) if form == "benchmark" else ()
    coverage = CoverageLimits(at_least=50) if form in ("cobertura", "lcov") else None
    places: dict[str, Any] = {form: "out/r"}
    return Check(run=run, report=Report(**places), limits=limits, coverage=coverage)


# ---------------------------------------------------------------- VG-02, VG-03, VG-05 for every format
@pytest.mark.parametrize("form", FORMATS)
def test_a_whole_report_of_this_run_passes_and_is_kept(tree: Tree, form: str) -> None:
    tree.write("kept", FORMATS[form])
    run = tree.run(asks(form, "mkdir -p out; cp kept out/r"))
    assert judge_check(asks(form, "mkdir -p out; cp kept out/r"), run, None).state == "passed", run
    name = f"checks/one.log.kept/{form}"
    digest = hashlib.sha256(FORMATS[form].encode()).hexdigest()
    assert (run.reports, run.report_digest) == ({name: digest}, digest)
    assert (tree.record / name).read_text() == FORMATS[form]
    assert run_from(json.loads(json.dumps(plain(run)))) == run


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("script", "rule"),
    [
        ("true", "no-report"),
        ("ln -s ../kept out/r", "bad-report"),
        ("rmdir out; ln -s elsewhere out", "bad-report"),
        ("mkdir out/r", "bad-report"),
        ("mkfifo out/r", "bad-report"),
        (": > out/r", "bad-report"),
        ("head -c 12 kept > out/r", "bad-report"),
        ("tr a-z '\\000-\\031' < kept > out/r", "bad-report"),
    ],
)
def test_what_is_no_whole_report_of_this_run_is_refused(tree: Tree, form: str, script: str, rule: str) -> None:
    for path in ("kept", "elsewhere/r", "out/r"):
        tree.write(path, FORMATS[form])
    verdict = tree.judge(asks(form, script))
    assert verdict.rule == rule, verdict.what


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("tap", "1..0\n"),
        ("tap", "1..1\nok 1 - a # SKIP no net\n"),
        ("cobertura", "<coverage/>"),
        ("lcov", "TN:\n"),
        ("benchmark", "{}"),
    ],
)
def test_a_report_of_nothing_is_no_success(tree: Tree, form: str, text: str) -> None:
    tree.write("kept", text)
    assert tree.judge(asks(form, "mkdir -p out; cp kept out/r")).rule == "no-tests"


def test_control_characters_hide_no_failure(tree: Tree) -> None:
    tree.write("kept", "1..2\nok 1 - a\x1b[31m\x00\nnot ok 2 - b\xff\n".encode("latin-1"))
    assert tree.judge(asks("tap", "mkdir -p out; cp kept out/r")).rule == "report-conflict"


def test_findings_and_coverage_of_another_tree(tree: Tree) -> None:
    there = json.loads(json.dumps(SARIF))
    place = {"physicalLocation": {"artifactLocation": {"uri": "file:///elsewhere/a.py"}}}
    there["runs"][0]["results"] = [{"ruleId": "E1", "message": {"text": "x"}, "locations": [place]}]
    tree.write("kept", json.dumps(there))
    assert tree.judge(asks("sarif", "mkdir -p out; cp kept out/r; exit 1")).rule == "bad-report"
    tree.write("kept", LCOV.replace("a.js", "/elsewhere/a.js"))
    assert tree.judge(asks("lcov", "mkdir -p out; cp kept out/r")).rule == "bad-report"


def test_copies_of_an_earlier_run_are_its_own_and_no_later_ones(tree: Tree) -> None:
    tree.write("kept", TAP)
    tree.run(asks("tap", "mkdir -p out; cp kept out/r"))
    assert tree.run(asks("tap", "true")).reports == {}
    assert (tree.record / "checks" / "one.log.kept").exists(), "evidence of that run rests on them"
    assert not (tree.record / "checks" / "one-2.log.kept").exists()


# ---------------------------------------------------------------- what is written down of a run
def test_what_was_run_when_and_with_what(tree: Tree) -> None:
    run = tree.run(Check(run="echo hi"))
    assert run.argv == ("bash", "-eo", "pipefail", "-c", "echo hi")
    assert 0 < run.started <= run.ended
    assert run.log_digest == hashlib.sha256(b"hi\n").hexdigest()
    assert len(run.environment) == 64
    same = tree.run(Check(run="echo other"))
    other = tree.run(Check(run="echo hi"), {"APP_PORT": "1"})
    assert (same.environment == run.environment, other.environment == run.environment) == (True, False)


def test_a_secret_is_neither_in_the_words_nor_in_the_digest_of_the_environment(tree: Tree) -> None:
    runs = [
        tree.run(Check(run=f"echo {secret}"), {"TOKEN": secret}, (secret,)) for secret in ("hunter2-one", "hunter2-two")
    ]
    assert runs[0].environment == runs[1].environment
    assert runs[0].argv[-1] == "echo [redacted]"


def test_a_secret_is_in_no_copy_of_a_report(tree: Tree) -> None:
    tree.write("kept", "1..1\nok 1 - hunter2-hunter2\n")
    run = tree.run(asks("tap", "mkdir -p out; cp kept out/r"), redact=("hunter2-hunter2",))
    assert run.report is not None
    assert dict(run.report.cases) == {"[redacted]": "passed"}
    assert "hunter2" not in (tree.record / "checks/one.log.kept/tap").read_text()
    tree.write("test_a.py", "def test_a():\n    print('hunter2-hunter2')\n    assert 0\n")
    run = tree.run(Check(run="pytest -q -p no:cacheprovider"), redact=("hunter2-hunter2",))
    assert run.report_digest == hashlib.sha256((tree.record / "checks/one-2.log.kept/junit").read_bytes()).hexdigest()
    for file in tree.record.rglob("*"):
        assert file.is_dir() or b"hunter2" not in file.read_bytes(), file


# ---------------------------------------------------------------- lint and types
def test_a_linter_that_ends_with_1_for_known_findings_passes(tree: Tree) -> None:
    line = "src/a.py:%d: error: Bad  [bad]"
    check = Check(run="cat said; exit 1", kind="types")
    tree.write("said", f"{line % 3}\nFound 1 error in 1 file (checked 1 source file)\n")
    base = tree.run(check)
    tree.write("said", f"{line % 9}\nFound 1 error in 1 file (checked 1 source file)\n")
    assert tree.judge(check, base).state == "passed"
    tree.write(
        "said", f"{line % 9}\nsrc/b.py:1: error: Bad  [bad]\nFound 2 errors in 2 files (checked 2 source files)\n"
    )
    verdict = tree.judge(check, base)
    assert (verdict.rule, verdict.tests) == ("findings", ("src/b.py:1 bad: Bad",))


@pytest.mark.parametrize(
    ("run", "rule"),
    [
        ("true", "no-tests"),
        ("echo done", "no-tests"),
        ("echo 'All checks passed!'", None),
        ("echo 'All checks passed!'; exit 2", "check-failed"),
        ("no-such-linter", "check-failed"),
        ("echo 'Found 3 errors.'; exit 1", "bad-report"),
    ],
)
def test_a_linter_has_to_show_that_it_looked(tree: Tree, run: str, rule: str | None) -> None:
    assert tree.judge(Check(run=run, kind="lint")).rule == rule


def test_a_silent_checker_shows_it_by_a_line(tree: Tree) -> None:
    check = Check(run="echo Files: 12", kind="types", expects=("Files: [1-9]",))
    assert tree.judge(check).state == "passed"
    assert tree.judge(replace(check, run="echo Files: 0")).rule == "log-line"


# ---------------------------------------------------------------- lines
def test_lines_of_the_output_and_of_a_file(tree: Tree) -> None:
    check = Check(run=r"printf '\033[32mserver up\033[0m\n'", kind="log", expects=("server up",), refuses=("panic",))
    assert tree.judge(check).state == "passed"
    assert tree.judge(replace(check, run="echo server up; echo panic: x")).rule == "log-line"
    assert tree.judge(replace(check, run="echo nothing")).rule == "log-line"
    file = replace(check, run="echo server up > app.log; echo panic", report=Report(log="app.log"))
    assert tree.judge(file).state == "passed"
    assert tree.judge(replace(file, run="true")).rule == "no-report"


def test_lines_that_were_cut_away_are_not_said_to_be_absent(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_CAP", processes.Cap(head=2000, tail=2000))
    loud = Check(run="seq 5000; echo end", kind="log", expects=("end",))
    assert tree.judge(loud).state == "passed"
    assert tree.judge(replace(loud, refuses=("panic",))).rule == "bad-report"


# ---------------------------------------------------------------- migrations and fixtures
MIGRATE = """
import pathlib, sqlite3
db = sqlite3.connect("app.db")
db.execute("create table if not exists done (name text)")
for path in sorted(pathlib.Path("migrations").glob("*.sql")):
    if not db.execute("select 1 from done where name = ?", (path.name,)).fetchone():
        db.executescript(path.read_text())
        db.execute("insert into done values (?)", (path.name,))
db.commit()
"""
SHOW = "import sqlite3; print(*(row[0] for row in sqlite3.connect('app.db').execute('select sql from sqlite_master')), sep='\\n')"


def migrations(tree: Tree, **files: str) -> Check:
    tree.write("migrate.py", MIGRATE)
    tree.write("show.py", SHOW)
    for name, text in files.items():
        tree.write(f"migrations/{name.removeprefix('m')}.sql", text)
    return Check(
        run="python migrate.py",
        kind="migrations",
        state="python show.py",
        files=("migrations/**/*.sql", "migrations/*.py"),
    )


def test_migrations_run_up_and_again_without_a_change(tree: Tree) -> None:
    run = tree.run(migrations(tree, m0001_a="create table a (x);", m0002_b="create table b (y);"))
    assert run.surface is not None
    assert run.surface.schema is not None
    assert "create table b" in run.surface.schema[0].lower()
    assert tree.judge(migrations(tree)).state == "passed"


def test_migrations_that_change_something_each_time(tree: Tree) -> None:
    check = migrations(tree, m0001_a="create table a (x);")
    tree.write("migrate.py", MIGRATE + "import time; db.execute(f'create table t{time.time_ns()} (x)')\n")
    assert tree.judge(check).rule == "migrations"


def test_migrations_with_one_number_twice_or_two_heads(tree: Tree) -> None:
    verdict = tree.judge(migrations(tree, m0001_a="create table a (x);", m0001_b="create table b (x);"))
    assert "has the number 1 twice: 0001_a, 0001_b" in verdict.what
    shutil.rmtree(tree.path / "migrations")
    for name, down in (("a1", "None"), ("b2", "'a1'"), ("c3", "'a1'")):
        tree.write(f"migrations/{name}.py", f"revision: str = '{name}'\ndown_revision = {down}\n")
    verdict = tree.judge(migrations(tree))
    assert "There are 2 heads: b2 in migrations/b2.py, c3 in migrations/c3.py." in verdict.what
    tree.write("migrations/d4.py", "revision = 'd4'\ndown_revision = ('b2', 'c3')\n")
    assert tree.judge(migrations(tree)).state == "passed"
    two = replace(migrations(tree), heads="printf 'b2\\nc3\\n'")
    assert "2 heads" in tree.judge(two).what


def test_migrations_that_fail_or_are_not_there(tree: Tree) -> None:
    assert tree.judge(migrations(tree, m0001_a="create nonsense;")).rule == "check-failed"
    (tree.path / "app.db").unlink()
    (tree.path / "migrations" / "0001_a.sql").unlink()
    assert "No migration" in tree.judge(migrations(tree)).what


def test_fixtures_are_counted(tree: Tree) -> None:
    check = Check(
        run="echo 3 > users",
        kind="fixtures",
        state="echo users $(cat users)",
        limits=(Limit(name="users", at_least=3),),
    )
    assert tree.judge(check).state == "passed"
    assert tree.judge(replace(check, run="echo 2 > users")).rule == "too-low"
    assert tree.judge(replace(check, state="true")).rule == "no-tests"
    assert tree.judge(replace(check, state="echo orders 9")).rule == "too-low"


# ---------------------------------------------------------------- smoke
SERVER = """
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(sys.argv[2]) if self.path == "/health?x=1" else 404)
        self.end_headers()
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer)
print("listening", flush=True)
server.serve_forever()
"""
UP = Wait(line="listening", url="http://127.0.0.1:$APP_PORT/health?x=1", stays=0.2)


@pytest.fixture
def port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def test_a_program_that_comes_up_is_ended_and_passes(tree: Tree, port: str) -> None:
    tree.write("server.py", SERVER)
    check = Check(run="python server.py $APP_PORT 200", kind="smoke", wait=UP, timeout=30)
    run = tree.run(check, {"APP_PORT": port})
    assert judge_check(check, run, None).state == "passed", run
    assert (run.exit_code, run.leftovers) == (0, ())
    assert "was ended" in run.tail
    with socket.socket() as free:
        assert free.connect_ex(("127.0.0.1", int(port))) != 0


@pytest.mark.parametrize(
    ("run", "rule"),
    [
        ("true", "service"),
        ("echo listening", "service"),
        ("echo listening; exit 3", "check-failed"),
        ("python server.py $APP_PORT 500", "check-timeout"),
        ("no-such-program", "check-failed"),
    ],
)
def test_a_program_that_does_not_come_up(tree: Tree, port: str, run: str, rule: str) -> None:
    tree.write("server.py", SERVER)
    check = Check(run=run, kind="smoke", wait=UP, timeout=1.5)
    assert judge_check(check, tree.run(check, {"APP_PORT": port}), None).rule == rule


def test_a_command_that_says_its_line_and_ends_well_passes(tree: Tree) -> None:
    check = Check(run="printf 'version 1.2'", kind="smoke", wait=Wait(line="version [0-9]"))
    assert tree.judge(check).state == "passed"


def test_a_line_of_an_earlier_run_is_not_this_ones(tree: Tree) -> None:
    check = Check(run="echo listening; sleep 30", kind="smoke", wait=Wait(line="listening", stays=0.1), timeout=20)
    assert tree.judge(check).state == "passed"
    assert tree.judge(replace(check, run="sleep 0.4")).rule == "service"


def test_a_program_that_falls_over_after_its_line_does_not(tree: Tree) -> None:
    check = Check(run="echo listening; sleep 0.3; exit 4", kind="smoke", wait=Wait(line="listening", stays=20))
    assert tree.judge(check).rule == "check-failed"


class _Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_url_that_somebody_else_answers_is_no_proof(tree: Tree) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), _Answer) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{other.server_port}/"
        verdict = tree.judge(Check(run="touch ran; sleep 9", kind="smoke", wait=Wait(url=url), timeout=20))
        other.shutdown()
    assert (verdict.rule, (tree.path / "ran").exists()) == ("service", False)


@pytest.mark.parametrize("url", ["http://127.0.0.1:$NOT_SET/", "http://127.0.0.1:99999/", "https://localhost/"])
def test_a_url_that_cannot_be_asked_is_refused_before_anything_runs(tree: Tree, url: str) -> None:
    assert tree.judge(Check(run="touch ran", kind="smoke", wait=Wait(url=url))).rule == "service"
    assert not (tree.path / "ran").exists()


# ---------------------------------------------------------------- interfaces
def test_an_interface_that_stands_in_the_tree_and_one_that_is_made(tree: Tree) -> None:
    check = Check(run=given_document("api.json"), kind="api", document="api.json")
    tree.write("api.json", json.dumps(API))
    base = tree.run(check)
    assert judge_check(check, base, base).state == "passed"
    tree.write("api.json", json.dumps({**API, "paths": {"/b": API["paths"]["/a"]}}))  # type: ignore[index]
    assert tree.judge(check, base).rule == "api-broken"
    (tree.path / "api.json").unlink()
    assert tree.judge(check, base).rule == "check-failed"
    tree.write("kept", json.dumps(API))
    assert tree.judge(replace(check, run="cp kept api.json"), base).state == "passed"


def test_what_an_interface_is_held_against_is_read_before_the_run(tree: Tree) -> None:
    tree.write("v1.json", json.dumps(API))
    tree.write("v2.json", json.dumps({**API, "paths": {"/b": API["paths"]["/a"]}}))  # type: ignore[index]
    check = Check(run="cp v2.json out.json; cp v2.json v1.json", kind="api", document="out.json", against="v1.json")
    base = tree.run(replace(check, run="cp v1.json out.json"))
    assert tree.judge(check, base).rule == "api-broken"
    assert tree.judge(replace(check, against="gone.json"), base).rule == "no-report"


# ---------------------------------------------------------------- pictures
DRAW = """
import sys
from PIL import Image
image = Image.new("RGB", (10, 10), "white")
for at in range(int(sys.argv[2])):
    image.putpixel((at, 0), (0, 0, 0))
image.save(sys.argv[1])
"""


def test_pictures_are_new_show_something_and_look_as_expected(tree: Tree) -> None:
    pytest.importorskip("PIL")
    tree.write("draw.py", DRAW)
    tree.run(Check(run="python draw.py expected.png 3"))
    home = Picture(image="home.png", against="expected.png", tolerance=0.02)
    check = Check(run="python draw.py home.png 3", kind="visual", pictures=(home,))
    base = tree.run(check)
    assert judge_check(check, base, base).state == "passed", base
    assert set(base.reports) == {"checks/one-2.log.kept/picture-0.png"}
    for run, rule in (
        ("python draw.py home.png 5", None),
        ("python draw.py home.png 6", "picture"),
        ("python draw.py home.png 0", "picture"),
        ("python draw.py home.png 9; cp home.png expected.png", "picture"),
        ("true", "no-report"),
        ("echo x > home.png", "bad-report"),
        ("ln -s expected.png home.png", "bad-report"),
    ):
        assert tree.judge(replace(check, run=run), base).rule == rule, run
    tree.run(Check(run="python draw.py expected.png 3"))
    cannot_yet = tree.run(replace(check, run="no-such-program"))
    assert tree.judge(check, cannot_yet).state == "passed", (
        "what is expected is known from a base that takes no picture"
    )
    tree.run(Check(run="python draw.py expected.png 9"))
    renewed = replace(check, run="python draw.py home.png 9")
    assert "may_renew" in tree.judge(renewed, base).what
    assert tree.judge(replace(renewed, may_renew=True), base).state == "passed"


def test_without_the_library_pictures_are_refused_with_the_fix(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    verdict = tree.judge(Check(run="touch ran", kind="browser", pictures=(Picture(image="home.png"),)))
    assert (verdict.rule, "interlock[visual]" in verdict.what) == ("picture", True)
    assert not (tree.path / "ran").exists()


# ---------------------------------------------------------------- honest runs
HONEST = {
    "slow": "sleep 0.4; printf '1..1\\nok 1 - a\\n' > out/r",
    "noisy": "seq 200000; printf 'ok\\n1..x\\nnot ok then\\n'; printf '1..1\\nok 1 - a\\n' > out/r",
    "unicode": "printf '1..1\\nok 1 - zażółć 🌍\\n' > out/r",
    "subtests": "printf '1..1\\n# Subtest: s\\n    1..2\\n    ok 1 - x\\n    ok 2 - y\\nok 1 - s\\n' > out/r",
    "parametrised": "printf '1..3\\nok - a[1]\\nok - a[2]\\nok - a[3]\\n' > out/r",
}


@pytest.mark.parametrize("kind", HONEST)
def test_an_honest_run_is_not_refused(tree: Tree, kind: str) -> None:
    verdict = tree.judge(Check(run=f"mkdir -p out; {HONEST[kind]}", kind="tests", report=Report(tap="out/r")))
    assert verdict.state == "passed", verdict.what


@pytest.mark.long
def test_honest_pytest_runs_with_parameters_and_several_workers_pass(tree: Tree) -> None:
    text = "import pytest, sys\n@pytest.mark.parametrize('w', ['zażółć', 'a b', '🌍'])\ndef test_w(w):\n    print('noise ' * 9000, file=sys.stderr)\n"
    tree.write("test_w.py", text)
    run = tree.run(Check(run="python -m pytest -q -p no:cacheprovider -n 2", kind="tests", report=Report(at_least=3)))
    assert judge_check(Check(run=run.run, kind="tests", report=Report(at_least=3)), run, run).state == "passed", (
        run.tail
    )


def test_a_run_that_an_earlier_version_kept_is_still_read() -> None:
    new = ("argv", "started", "ended", "log_digest", "report_digest", "environment", "surface", "reports")
    run = CheckRun(run="x", exit_code=0, seconds=1.0, log="l", tail="")
    old = {name: value for name, value in plain(run).items() if name not in new}
    assert run_from(json.loads(json.dumps(old))) == run


def test_tests_that_nobody_counts_are_refused(tree: Tree) -> None:
    assert tree.judge(Check(run="echo 12 passed", kind="tests")).rule == "no-report"


# ---------------------------------------------------------------- in a sandbox
@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as made:
        yield made


@pytest.mark.parametrize("layered", [False, True])
def test_behind_walls_the_same_is_read(box: Box, layered: bool) -> None:
    lower = box.root / ("lower" if layered else "tree")
    (lower / "api.json").write_text(json.dumps(API))
    box.own()
    written = box.root / "both" / "up" if layered else box.root / "tree"
    room = Room(path=box.root / "tree", written=written, sandbox=box.layered if layered else box.sandbox)
    log = box.root / "interlock" / "jobs" / "j1" / "checks" / "one.log"

    def judge(check: Check) -> Verdict:
        run = CheckRunner().run(check, room, {"APP_PORT": "3010"}, log)
        return judge_check(check, run, run)

    api = judge(Check(run=given_document("api.json"), kind="api", document="api.json"))
    assert api.state == "passed", api
    found = judge(Check(run="printf '1..1\\nok 1 - /ws/a\\n' > r", report=Report(tap="r")))
    assert found.run.report is not None
    assert dict(found.run.report.cases) == {"a": "passed"}
    counted = Check(run="true", kind="fixtures", state="echo users 3", limits=(Limit(name="users", at_least=3),))
    assert judge(counted).state == "passed"
    up = Check(run="echo listening; sleep 60", kind="smoke", wait=Wait(line="listening", stays=0.1), timeout=30)
    assert judge(up).state == "passed"
