"""Runs one check in a tree: its command, environment, log and report; whether that suffices is core's judgement."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from interlock.adapters.checks.junit import MOST_BYTES, BadReport, parse
from interlock.core.contract.card import Check
from interlock.core.gate.recognise import pytest_command, with_report
from interlock.core.job.evidence import CheckRun, TestReport
from interlock.core.sandbox import AT, RUN, Sandbox
from interlock.host import environment, files, processes
from interlock.host.sandbox import identity, toolchains
from interlock.host.text import last_lines
from interlock.ports import Room

_MEBIBYTE: Final = 1 << 20
_CAP: Final = processes.Cap(head=8 * _MEBIBYTE, tail=2 * _MEBIBYTE)
_XPASSED: Final = re.compile(r"^=*\s*(?:\d+ \w+, )*(\d+) xpassed\b.* in [\d.]+s", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """Where the report of one run is looked for: outside the tree (injected), or a path in it."""

    path: str
    root: Path


_REPORT_INSIDE: Final = f"{RUN}/report"
_INJECTED: Final = "report.xml"


class CheckRunner:
    """Checks as ``bash -eo pipefail -c`` under the environment's allow-list (ports.Checks)."""

    def __init__(self, *, contain: bool = True) -> None:
        self._contain = contain

    def run(
        self, check: Check, room: Room, env: Mapping[str, str], log: Path, redact: tuple[str, ...] = ()
    ) -> CheckRun:
        """Run a check once; its raw output goes to ``log`` without the texts of ``redact``, an injected report beside it.

        Raises OSError when the log cannot be written, Refused (root) without a sandbox as root.
        """
        if room.sandbox is None:
            identity.refuse_root()
        log.parent.mkdir(parents=True, exist_ok=True)
        if fault := _unclear(check):
            return _not_run(check, log, fault)
        with _own_home(room, check, log) as at_home:
            return self._run(check, at_home, env, log, redact)

    def _run(self, check: Check, room: Room, env: Mapping[str, str], log: Path, redact: tuple[str, ...]) -> CheckRun:
        command, report = _prepare(check, room, log)
        if report is not None and (fault := _remove_old(report)):
            return _not_run(check, log, fault)
        ended = processes.run(
            ("bash", "-eo", "pipefail", "-c", command),
            env=environment.of_room(env, room),
            cwd=room.path,
            log=log,
            limits=processes.Limits(wall=check.timeout),
            cap=_CAP,
            contain=self._contain,
            sandbox=_with_report_folder(room, report),
            redact=redact,
        )
        return _with_report(_facts(check, ended, log), check, report, room)


@contextmanager
def _own_home(room: Room, check: Check, log: Path) -> Iterator[Room]:
    """In a sandbox each check has a home of its own: what another one left there could make it pass.

    The programs that it names by their whole path are shown to it.
    """
    if room.sandbox is None:
        yield room
        return
    tools = (*room.sandbox.tools, *toolchains.named_in(check.run))
    with tempfile.TemporaryDirectory(prefix="home-", dir=log.parent, ignore_cleanup_errors=True) as home:
        identity.own(Path(home), room.sandbox.user)
        yield replace(room, sandbox=replace(room.sandbox, home=home, tools=tools))


def _prepare(check: Check, room: Room, log: Path) -> tuple[str, _Report | None]:
    """The command to run, and where its report will be: in a sandbox, an injected one in a folder that it may write."""
    if check.report is not None and check.report.junit:
        return check.run, _Report(path=check.report.junit, root=room.written)
    command = pytest_command(check.run)
    if command is None:
        return check.run, None
    if not command.takes_report:
        own = command.own_report
        return check.run, _Report(path=own, root=room.written) if own else None
    if room.sandbox is None:
        name = f"{log.name}.xml"
        return with_report(check.run, shlex.quote(str(log.with_name(name)))), _Report(path=name, root=log.parent)
    folder = log.with_name(f"{log.name}.report")
    folder.mkdir(exist_ok=True)
    identity.own(folder, room.sandbox.user)
    return with_report(check.run, f"{_REPORT_INSIDE}/{_INJECTED}"), _Report(path=_INJECTED, root=folder)


def _with_report_folder(room: Room, report: _Report | None) -> Sandbox | None:
    if room.sandbox is None or report is None or report.root == room.written:
        return room.sandbox
    return room.sandbox.with_bind(str(report.root), _REPORT_INSIDE, writable=True)


def _unclear(check: Check) -> tuple[str, str] | None:
    """A report that cannot be told from the command's text is no reason to go without one."""
    command = pytest_command(check.run)
    if command is None or command.unclear_report is None or (check.report is not None and check.report.junit):
        return None
    name = command.unclear_report
    fault = f"to {name}, and the command's text does not tell which file that is" if name else "and names no file"
    plain = "write a plain path inside the tree, such as --junitxml=out/report.xml, or no report option"
    return "no-report", f"The check asks for a report {fault}: {plain}."


def _remove_old(report: _Report) -> tuple[str, str] | None:
    """What stands in the report's place is from another run, wherever it comes from (case VG-03)."""
    try:
        files.remove_beneath(report.root, report.path)
    except OSError as fault:
        return "bad-report", f"The report {report.path} cannot be made anew: {fault}"
    return None


def _not_run(check: Check, log: Path, fault: tuple[str, str]) -> CheckRun:
    log.write_bytes(f"not run: {fault[1]}\n".encode())
    return CheckRun(
        run=check.run,
        exit_code=0,
        seconds=0.0,
        log=_recorded(log),
        tail=fault[1],
        expected_report=True,
        report_fault=fault,
    )


def _facts(check: Check, ended: processes.Ended, log: Path) -> CheckRun:
    tail = last_lines(log)
    return CheckRun(
        run=check.run,
        exit_code=ended.exit_code if ended.how == "exited" else None,
        seconds=ended.seconds,
        log=_recorded(log),
        tail="\n".join(filter(None, (tail, ended.message))),
        timed_out=ended.how == "wall-limit",
        leftovers=ended.leftovers,
    )


def _with_report(run: CheckRun, check: Check, report: _Report | None, room: Room) -> CheckRun:
    if report is None:
        demanded = check.report is not None and bool(check.report.at_least)
        what = "The check demands that tests are counted, and writes no report that could be read."
        return replace(run, expected_report=demanded, report_fault=("no-report", what) if demanded else None)
    try:
        found = _read(report, Path(AT) if room.sandbox else room.path)
    except FileNotFoundError:
        what = f"The check wrote no report to {report.path}."
        return replace(run, expected_report=True, report_fault=("no-report", what))
    except (BadReport, OSError) as fault:
        what = f"The report {report.path} cannot be used. {fault}"
        return replace(run, expected_report=True, report_fault=("bad-report", what))
    return replace(run, expected_report=True, report=_noted(found, run.tail))


def _read(report: _Report, tree: Path) -> TestReport:
    """The report of this run: any earlier one was removed.  Raises BadReport or OSError; links are not followed."""
    with files.open_beneath(report.root, report.path) as descriptor:
        data = files.read_open(descriptor, MOST_BYTES + 1)
    return parse(data, tree=tree)


def _noted(report: TestReport, tail: str) -> TestReport:
    """A test that passes against its xfail mark is a plain pass in pytest's report; its last line counts them apart."""
    found = _XPASSED.search(tail)
    if found is None:
        return report
    more = f"pytest counted {found[1]} xpassed, which its report shows as passed."
    return replace(report, note=" ".join(filter(None, (report.note, more))))


def _recorded(log: Path) -> str:
    """The log's path within its job's record (``jobs/<job>/…``), or its name elsewhere."""
    for folder in log.parents:
        if folder.parent.name == "jobs":
            return log.relative_to(folder).as_posix()
    return log.name
