"""Runs one check in a tree: its command, environment, log and what it leaves; whether that suffices is core's judgement."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from interlock.adapters.checks import pictures
from interlock.adapters.checks import report_files as asking
from interlock.adapters.checks.agreeing import said_failed
from interlock.adapters.checks.commands import Command, command_of
from interlock.adapters.checks.faults import MOST_BYTES, BadReport, Missing, NothingRan, PlannedOnly
from interlock.adapters.checks.report_files import Asked, Unfit
from interlock.core.contract.card import Check
from interlock.core.job.evidence import CheckRun, TestReport
from interlock.core.job.surface import Surface
from interlock.core.redact import redact_text
from interlock.core.sandbox import AT
from interlock.host import environment, files, processes
from interlock.host.sandbox import identity, toolchains
from interlock.host.text import last_lines
from interlock.ports.isolation import Room

_MEBIBYTE: Final = 1 << 20
_CAP: Final = processes.Cap(head=8 * _MEBIBYTE, tail=2 * _MEBIBYTE)
_XPASSED: Final = re.compile(r"^=*\s*(?:\d+ \w+, )*(\d+) xpassed\b.* in [\d.]+s", re.MULTILINE)


class CheckRunner:
    """Checks as ``bash -eo pipefail -c`` under the environment's allow-list (ports.Checks)."""

    def __init__(self, *, contain: bool = True) -> None:
        self._contain = contain

    def run(
        self,
        check: Check,
        room: Room,
        env: Mapping[str, str],
        log: Path,
        redact: tuple[str, ...] = (),
        *,
        ask: Callable[[], str | None] = lambda: None,
    ) -> CheckRun:
        """Run a check once; its raw output goes to ``log`` without the texts of ``redact``, copies of its reports beside it.

        Where a run left its log there already, a number is put into the name: evidence rests on what earlier runs wrote.

        A word from ``ask`` ends it with all it started, and then it has no exit code.

        Raises OSError when the log cannot be written, Refused (root) without a sandbox as root.
        """
        if room.sandbox is None:
            identity.refuse_root()
        log.parent.mkdir(parents=True, exist_ok=True)
        log = _unused(log)
        try:
            asked = asking.prepare(check, room, log)
            given = environment.of_room(env, room)
            command = command_of(check, asked, given, log)
        except Unfit as unfit:
            return _not_run(check, log, (unfit.rule, str(unfit)))
        with _own_home(room, check, log) as at_home:
            return self._run(check, at_home, asked, command, env, log, redact, ask)

    def picture_fault(self, data: bytes) -> str:
        """Why bytes are no picture that shows something; empty when they are one."""
        if missing := pictures.missing():
            return f"cannot be looked at here. {missing}".rstrip(".")
        try:
            return "is blank" if pictures.read(data).blank else ""
        except BadReport as fault:
            return f"is no picture that can be looked at. {fault}".rstrip(".")

    def _run(
        self,
        check: Check,
        room: Room,
        asked: Asked,
        command: Command,
        env: Mapping[str, str],
        log: Path,
        redact: tuple[str, ...],
        ask: Callable[[], str | None],
    ) -> CheckRun:
        watcher = command.watcher
        given = environment.of_room(env, room)
        if watcher is not None:
            log.unlink(missing_ok=True)  # what an earlier run wrote there is not what this one says
        at_end: dict[str, tuple[int, ...] | None] = {}
        started = time.time()
        ended = processes.run(
            command.argv,
            env=given,
            cwd=room.path,
            log=log,
            limits=processes.Limits(wall=check.timeout),
            cap=_CAP,
            contain=self._contain,
            sandbox=asked.sandbox(room),
            redact=redact,
            ask=ask if watcher is None else lambda: ask() or watcher(),
            exited=lambda: at_end.update(asking.seen(asked)),
        )
        run = _facts(check, command, ended, log)
        run = replace(
            run,
            argv=tuple(redact_text(word, redact) for word in command.argv),
            started=started,
            ended=time.time(),
            environment=_around(given, room, redact),
        )
        if late := asking.written_late(asked, at_end):
            return replace(run, expected_report=True, report_fault=("bad-report", late))
        return _shown(run, check, asked, command, room, log, redact, cut=ended.cut)


@contextmanager
def _own_home(room: Room, check: Check, log: Path) -> Iterator[Room]:
    """In a sandbox each check has a home of its own: what another one left there could make it pass.

    The programs that it names by their whole path are shown to it.
    """
    if room.sandbox is None:
        yield room
        return
    named = " ".join(filter(None, (check.run, check.state, check.heads)))
    tools = (*room.sandbox.tools, *toolchains.named_in(named))
    with tempfile.TemporaryDirectory(prefix="home-", dir=log.parent, ignore_cleanup_errors=True) as home:
        identity.own(Path(home), room.sandbox.user)
        yield replace(room, sandbox=replace(room.sandbox, home=home, tools=tools))


def _not_run(check: Check, log: Path, fault: tuple[str, str]) -> CheckRun:
    data = f"not run: {fault[1]}\n".encode()
    log.write_bytes(data)
    return CheckRun(
        run=check.run,
        exit_code=None,
        seconds=0.0,
        log=_recorded(log),
        owner=_owner(log),
        tail=fault[1],
        expected_report=True,
        report_fault=fault,
        log_digest=hashlib.sha256(data).hexdigest(),
    )


def _facts(check: Check, command: Command, ended: processes.Ended, log: Path) -> CheckRun:
    """What is known from the end of the process; a program that came up and was ended by us counts as ended with 0."""
    watcher = command.watcher
    if watcher is not None:
        watcher.look(last=True)
    code = ended.exit_code if ended.how == "exited" else None
    message = ended.message
    if ended.how == "up":
        code, message = 0, "It was up, and was ended."
    elif ended.how == "wall-limit" and watcher is not None and not watcher.up:
        message = f"{message} It did not come up."
    elif ended.how == "taken":
        code = 1
    return CheckRun(
        run=check.run,
        exit_code=code,
        seconds=ended.seconds,
        log=_recorded(log),
        owner=_owner(log),
        tail="\n".join(filter(None, (last_lines(log), message))),
        timed_out=ended.how == "wall-limit",
        leftovers=() if ended.how == "up" else ended.leftovers,
        log_digest=_digest(log),
    )


def _shown(
    run: CheckRun,
    check: Check,
    asked: Asked,
    command: Command,
    room: Room,
    log: Path,
    redact: tuple[str, ...],
    *,
    cut: bool,
) -> CheckRun:
    """The run with all that could be read of what it left, or with the fault that hides it."""
    # The readers of reports take longer to load than a quick verb may; so below.
    from interlock.adapters.checks.results import Output, expected_of, surface_of, tests_of

    watcher = command.watcher
    expected = bool(asked.wanted) or check.kind is not None or bool(check.expects or check.refuses)
    known = expected_of(check, asked)
    run = replace(run, expected_report=expected, surface=Surface(expected=known) if known else None)
    if watcher is not None and watcher.taken:
        what = f"{check.wait.url if check.wait else ''} answers before the program was started, so it cannot be told apart."
        return replace(run, report_fault=("service", what))
    found: dict[str, bytes] = {}
    reports: dict[str, str] = {}
    fault = _take(asked, log, redact, found, reports)
    run = replace(run, reports=reports, report_digest=asking.digest_of(reports))
    if fault is None and not any(wanted.what in ("junit", "tap") for wanted in asked.wanted):
        fault = _uncounted(check)
    if fault is not None:
        return replace(run, expected_report=True, report_fault=fault)
    output = Output(
        files=found,
        log=files.read_plain(log, most=MOST_BYTES) if _reads_output(check) else b"",
        cut=cut,
        up=watcher.up if watcher is not None else None,
        tree=Path(AT) if room.sandbox else room.path,
    )
    try:
        tests = tests_of(asked, output)
        surface = surface_of(check, asked, output)
    except (BadReport, OSError) as wrong:
        return replace(run, expected_report=True, report_fault=_fault_of(wrong, run))
    if run.exit_code == 0 and (said := said_failed(check, run.tail, tests)):
        return replace(run, expected_report=True, report_fault=("report-conflict", said))
    return replace(run, report=_noted(tests, run.tail) if tests is not None else None, surface=surface)


def _take(
    asked: Asked, log: Path, redact: tuple[str, ...], found: dict[str, bytes], reports: dict[str, str]
) -> tuple[str, str] | None:
    """Read and keep what the run was to write; the first that is not there, or no plain file, is the fault."""
    fault: tuple[str, str] | None = None
    for wanted in asked.wanted:
        noun = "picture" if wanted.what == "picture" else "report"
        try:
            found[wanted.kept] = data = asking.taken(wanted, redact)
            reports[_recorded(asking.kept_folder(log) / wanted.kept)] = asking.keep(log, wanted.kept, data)
        except FileNotFoundError:
            fault = fault or ("no-report", f"The check wrote no {noun} to {wanted.path}.")
        except (BadReport, OSError) as wrong:
            fault = fault or ("bad-report", f"The {noun} {wanted.path} cannot be used. {wrong}")
    return fault


def _uncounted(check: Check) -> tuple[str, str] | None:
    """Tests that are demanded and cannot be counted."""
    if check.kind == "tests" or (check.report is not None and check.report.at_least):
        return "no-report", "The check demands that tests are counted, and writes no report that could be read."
    return None


def _fault_of(wrong: Exception, run: CheckRun) -> tuple[str, str]:
    """The rule for a report that cannot be used; where nothing was done, the exit status says more if it is not 0."""
    from interlock.adapters.checks.results import Named

    inner = wrong.fault if isinstance(wrong, Named) else wrong
    if isinstance(inner, Missing):
        return "no-report", str(wrong)
    if isinstance(inner, NothingRan):
        return ("no-tests" if run.exit_code == 0 else "no-report"), str(wrong)
    return "planned-only" if isinstance(inner, PlannedOnly) else "bad-report", str(wrong)


def _reads_output(check: Check) -> bool:
    return bool(check.expects or check.refuses) or check.kind in ("lint", "types")


def _noted(report: TestReport, tail: str) -> TestReport:
    """A test that passes against its xfail mark is a plain pass in pytest's report; its last line counts them apart."""
    found = _XPASSED.search(tail)
    if found is None:
        return report
    more = f"pytest counted {found[1]} xpassed, which its report shows as passed."
    return replace(report, note=" ".join(filter(None, (report.note, more))))


def _recorded(path: Path) -> str:
    """A path within its job's record (``jobs/<job>/…``), or its name elsewhere."""
    for folder in path.parents:
        if folder.parent.name == "jobs":
            return path.relative_to(folder).as_posix()
    return path.name


def _unused(log: Path) -> Path:
    """The path, or the next one with a number that no run has written to."""
    found, number = log, 1
    while found.exists():
        number += 1
        found = log.with_name(f"{log.stem}-{number}{log.suffix}")
    return found


def _owner(log: Path) -> str:
    """The job record that a log lies in, by its name; empty elsewhere."""
    return next((folder.name for folder in log.parents if folder.parent.name == "jobs"), "")


def _digest(log: Path) -> str:
    """The SHA-256 of the log as it was kept."""
    try:
        with log.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _around(given: Mapping[str, str], room: Room, redact: tuple[str, ...]) -> str:
    """A digest of what was around a run: names and values without secrets, and the walls without folders that are new each time."""
    values = {name: redact_text(value, redact) for name, value in given.items()}
    walls = None
    if room.sandbox is not None:
        shape = asdict(room.sandbox)
        walls = {name: shape[name] for name in ("writable", "tools", "hosts", "user")}
    shape_of_all = json.dumps([values, walls], sort_keys=True, default=str)
    return hashlib.sha256(shape_of_all.encode()).hexdigest()
