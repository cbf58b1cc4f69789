"""Where the reports, pictures and documents of one check stand: removed before the run, read and kept after it; reading their shape is results'."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from interlock.adapters.checks import pictures
from interlock.adapters.checks.faults import MOST_BYTES, BadReport
from interlock.core.contract.card import Check, Report
from interlock.core.gate.recognise import pytest_command, with_report
from interlock.core.gate.surfaces import makes_document
from interlock.core.redact import Redactor
from interlock.core.sandbox import RUN, Sandbox
from interlock.host import files
from interlock.host.sandbox import identity
from interlock.ports.isolation import Room

INSIDE: Final = f"{RUN}/report"
"""Where a sandboxed check finds the folder that it may write reports of ours into."""

INJECTED: Final = "report.xml"
_FORMATS: Final = ("junit", "tap", "sarif", "cobertura", "lcov", "benchmark", "log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A file that the run is to write: what it is, its path below ``root``, the name of its copy, and whether ``root`` is ours."""

    what: str
    path: str
    root: Path
    kept: str
    ours: bool = False


@dataclass(slots=True, kw_only=True)
class Asked:
    """One run being prepared: the command, the files it is to write, and what stood in the tree before it.

    ``folder`` is one of ours that the command may write into, ``inside`` how the command calls it.
    """

    command: str
    wanted: list[Wanted] = field(default_factory=list)
    before: dict[str, bytes] = field(default_factory=dict)
    folder: Path | None = None
    inside: str = ""

    def sandbox(self, room: Room) -> Sandbox | None:
        if room.sandbox is None or self.folder is None:
            return room.sandbox
        return room.sandbox.with_bind(str(self.folder), INSIDE, writable=True)


class Unfit(Exception):
    """A check that is refused before anything runs: a rule id and a sentence."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(what)
        self.rule = rule


def prepare(check: Check, room: Room, log: Path) -> Asked:
    """The command to run, with what stood in the places of its reports removed (case VG-03).

    Raises Unfit for a report that cannot be told from the command's text, or whose place is no plain file's, and for
    pictures where nothing here can read them.
    """
    if check.pictures and (lacking := pictures.missing()):
        raise Unfit("picture", lacking)
    asked = _junit(check, room, log)
    asked.wanted += _declared(check, room)
    for path in _expected(check):
        data = _committed(room, path)
        if data is not None:
            asked.before[path] = data
    if check.state is not None and asked.folder is None:
        _give_folder(asked, room, log)
    for wanted in asked.wanted:
        try:
            files.remove_beneath(wanted.root, wanted.path)
        except OSError as fault:
            raise Unfit("bad-report", f"The report {wanted.path} cannot be made anew: {fault}") from fault
    shutil.rmtree(kept_folder(log), ignore_errors=True)
    return asked


def _declared(check: Check, room: Room) -> Iterator[Wanted]:
    """What the check names beside JUnit: reports of other formats, pictures, a document that it makes."""
    report = check.report or Report()
    for name in _FORMATS[1:]:
        if path := getattr(report, name):
            yield Wanted(what=name, path=path, root=room.written, kept=name)
    for number, picture in enumerate(check.pictures):
        yield Wanted(what="picture", path=picture.image, root=room.written, kept=f"picture-{number}.png")
    if check.document is not None and makes_document(check):
        yield Wanted(what="document", path=check.document, root=room.written, kept="document")


def _junit(check: Check, room: Room, log: Path) -> Asked:
    """The command with a JUnit report put in where it is plain pytest; in a sandbox, into a folder that it may write."""
    if check.report is not None and (check.report.junit or check.report.tap):
        declared = check.report.junit
        wanted = [Wanted(what="junit", path=declared, root=room.written, kept="junit")] if declared else []
        return Asked(command=check.run, wanted=wanted)
    command = pytest_command(check.run)
    if command is None:
        return Asked(command=check.run)
    if command.unclear_report is not None:
        raise Unfit("no-report", _unclear(command.unclear_report))
    if not command.takes_report:
        own = command.own_report
        wanted = [Wanted(what="junit", path=own, root=room.written, kept="junit")] if own else []
        return Asked(command=check.run, wanted=wanted)
    if room.sandbox is None:
        name = f"{log.name}.xml"
        there = shlex.quote(str(log.with_name(name)))
        wanted = [Wanted(what="junit", path=name, root=log.parent, kept="junit", ours=True)]
        return Asked(command=with_report(check.run, there), wanted=wanted)
    asked = Asked(command=with_report(check.run, f"{INSIDE}/{INJECTED}"))
    folder = _give_folder(asked, room, log)
    asked.wanted.append(Wanted(what="junit", path=INJECTED, root=folder, kept="junit", ours=True))
    return asked


def _unclear(name: str) -> str:
    """A report that cannot be told from the command's text is no reason to go without one."""
    fault = f"to {name}, and the command's text does not tell which file that is" if name else "and names no file"
    plain = "write a plain path inside the tree, such as --junitxml=out/report.xml, or no report option"
    return f"The check asks for a report {fault}: {plain}."


def _give_folder(asked: Asked, room: Room, log: Path) -> Path:
    folder = log.with_name(f"{log.name}.report")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    if room.sandbox is not None:
        identity.own(folder, room.sandbox.user)
    asked.folder, asked.inside = folder, INSIDE if room.sandbox is not None else str(folder)
    return folder


def _expected(check: Check) -> Iterator[str]:
    """Files of the tree that are read before the run, since it could change them."""
    yield from (picture.against for picture in check.pictures if picture.against is not None)
    if check.against is not None:
        yield check.against
    if check.document is not None and not makes_document(check):
        yield check.document


def _committed(room: Room, path: str) -> bytes | None:
    """A file of the tree as it is before the run, also from the layers below; None when it is not there."""
    layers = room.sandbox.layers if room.sandbox is not None else None
    for root in (room.written, *(map(Path, layers.lower) if layers else ())):
        try:
            with files.open_beneath(root, path) as descriptor:
                return files.read_open(descriptor, MOST_BYTES + 1)
        except FileNotFoundError:
            continue
        except OSError as fault:
            raise Unfit("bad-report", f"{path} is no plain file of the tree: {fault}") from fault
    return None


# ---------------------------------------------------------------- after the run
def taken(wanted: Wanted, redact: tuple[str, ...] = ()) -> bytes:
    """The bytes of a report of this run, without secrets; links are not followed.

    One that was put into our own record is left there without them as well.  Raises FileNotFoundError, BadReport or OSError.
    """
    with files.open_beneath(wanted.root, wanted.path) as descriptor:
        data = files.read_open(descriptor, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise BadReport(f"The report has more than {MOST_BYTES} bytes.")
    if not redact or wanted.what == "picture":
        return data
    redactor = Redactor(secret.encode() for secret in redact)
    clean = redactor.feed(data) + redactor.end()
    if wanted.ours and clean != data:
        files.write_whole(wanted.root / wanted.path, clean)
    return clean


def seen(asked: Asked) -> dict[str, tuple[int, ...] | None]:
    """How each file that is to be read stands now, by its copy's name; None for one that is not there as a plain file."""
    return {wanted.kept: _stand(wanted) for wanted in asked.wanted}


def written_late(asked: Asked, at_end: Mapping[str, tuple[int, ...] | None]) -> str:
    """A sentence on a file that is another one than when the command ended, since something that it left wrote on; else empty."""
    now = seen(asked) if at_end else {}
    late = [wanted for wanted in asked.wanted if now.get(wanted.kept) != at_end.get(wanted.kept)]
    return f"{late[0].path} was written after the command had ended, by something that it left behind." if late else ""


def _stand(wanted: Wanted) -> tuple[int, ...] | None:
    try:
        with files.open_beneath(wanted.root, wanted.path) as descriptor:
            facts = os.fstat(descriptor)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def kept_folder(log: Path) -> Path:
    """Where copies of a run's reports stand, so that an audit finds the very bytes."""
    return log.with_name(f"{log.name}.kept")


def keep(log: Path, name: str, data: bytes) -> str:
    """Keep a copy of a report; gives its SHA-256.  Raises OSError."""
    folder = kept_folder(log)
    folder.mkdir(exist_ok=True)
    files.write_whole(folder / name, data)
    return hashlib.sha256(data).hexdigest()


def digest_of(reports: Mapping[str, str]) -> str:
    """The digest of one report, or of the list of several; empty for none."""
    if len(reports) < 2:
        return next(iter(reports.values()), "")
    listed = "".join(f"{name} {reports[name]}\n" for name in sorted(reports))
    return hashlib.sha256(listed.encode()).hexdigest()
