"""From the files and the output of one run to what it showed; which reader reads which file is decided here, and nothing is judged."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.adapters.checks import coverage, junit, linter_output, migrations, numbers, openapi, pictures, sarif, tap
from interlock.adapters.checks.faults import MOST_BYTES, BadReport, Missing
from interlock.adapters.checks.report_files import Asked
from interlock.core.contract.card import Check
from interlock.core.gate.line_patterns import first_lines
from interlock.core.gate.surfaces import makes_document
from interlock.core.job.evidence import TestReport
from interlock.core.job.surface import Shot, Surface
from interlock.host import files, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a run left: the bytes of each file that it was to write, by its copy's name; its output; whether that was cut."""

    files: Mapping[str, bytes]
    log: bytes
    cut: bool
    up: bool | None
    tree: Path


class Named(BadReport):
    """A fault with the file that it is about."""

    def __init__(self, path: str, fault: BadReport) -> None:
        super().__init__(f"The report {path} cannot be used. {fault}")
        self.fault = fault


def tests_of(asked: Asked, output: Output) -> TestReport | None:
    """The report of tests, in whichever of its formats.  Raises Named."""
    for wanted in asked.wanted:
        reader = {"junit": junit.parse, "tap": tap.parse}.get(wanted.what)
        if reader is not None and wanted.kept in output.files:
            try:
                return reader(output.files[wanted.kept], tree=output.tree)
            except BadReport as fault:
                raise Named(wanted.path, fault) from fault
    return None


def expected_of(check: Check, asked: Asked) -> dict[str, str]:
    """The SHA-256 of each file that something is held against, as it was before the run."""
    named = {check.against, *(picture.against for picture in check.pictures)}
    return {path: hashlib.sha256(data).hexdigest() for path, data in asked.before.items() if path in named}


def surface_of(check: Check, asked: Asked, output: Output) -> Surface | None:
    """All that is asked for beside tests; None where nothing is.  Raises BadReport or OSError."""
    expected = expected_of(check, asked)
    values: dict[str, Any] = {"expected": expected} if expected else {}
    for wanted in asked.wanted:
        if wanted.kept in output.files:
            try:
                values |= _from_file(wanted.what, output.files[wanted.kept], output.tree)
            except BadReport as fault:
                raise Named(wanted.path, fault) from fault
    values |= _lines(check, output)
    if check.kind in ("lint", "types") and "findings" not in values:
        found = linter_output.findings(_text(output.log).splitlines(), tree=output.tree, shown=bool(check.expects))
        values["findings"] = found
    if check.pictures:
        values["shots"] = _shots(check, asked, output)
    if check.document is not None:
        values |= _interfaces(check, asked)
    if output.up is not None:
        values["up"] = output.up
    if check.state is not None and asked.folder is not None:
        values |= _state(check, asked.folder)
    return Surface(**values) if values else None


def _from_file(what: str, data: bytes, tree: Path) -> dict[str, Any]:
    match what:
        case "sarif":
            return {"findings": sarif.parse(data, tree=tree)}
        case "cobertura":
            return {"coverage": coverage.cobertura(data, tree=tree)}
        case "lcov":
            return {"coverage": coverage.lcov(data, tree=tree)}
        case "benchmark":
            return {"numbers": numbers.parse(data)}
        case "document":
            return {"interface": openapi.parse(data)}
        case _:
            return {}


def _lines(check: Check, output: Output) -> dict[str, Any]:
    """The first line that has each pattern.  Raises BadReport where a line could have been cut away."""
    if not check.expects and not check.refuses:
        return {}
    own = output.files.get("log")
    if own is None and output.cut and check.refuses:
        raise BadReport(
            "The output is longer than what is kept of it, so nobody can say which lines it does not have: "
            "let it write a file and name that in report.log."
        )
    lines = _text(output.log if own is None else own).split("\n")
    return {"lines": first_lines((*check.expects, *check.refuses), lines)}


def _text(data: bytes) -> str:
    return text.plain(data)


def _shots(check: Check, asked: Asked, output: Output) -> dict[str, Shot]:
    shots = {}
    for number, picture in enumerate(check.pictures):
        data = output.files.get(f"picture-{number}.png")
        if data is None:
            continue
        expected = asked.before.get(picture.against) if picture.against is not None else None
        try:
            shots[picture.image] = pictures.read(data, expected, picture.mask)
        except BadReport as fault:
            raise Named(picture.image, fault) from fault
    return shots


def _interfaces(check: Check, asked: Asked) -> dict[str, Any]:
    """The documents of the tree; one that the run made was read with the reports."""
    values: dict[str, Any] = {}
    named = [("interface", check.document)] if not makes_document(check) else []
    for key, path in (*named, ("against", check.against)):
        if path is None:
            continue
        data = asked.before.get(path)
        if data is None:
            raise Missing(f"{path} is not in the tree.")
        try:
            values[key] = openapi.parse(data)
        except BadReport as fault:
            raise Named(path, fault) from fault
    return values


def _state(check: Check, folder: Path) -> dict[str, Any]:
    """What the command that prints the state said, after the first run and after the second."""
    first = _printed(folder, "first")
    if first is None:
        return {}
    if check.kind != "migrations":
        return {"numbers": numbers.lines(first.encode())}
    second = _printed(folder, "second")
    if second is None:
        return {}
    wrong = [*migrations.doubled(_listed(folder, "files")), *migrations.heads(_listed(folder, "revisions"))]
    if check.files and not _listed(folder, "files"):
        wrong.append(f"No migration is at {', '.join(check.files)}.")
    if check.heads is not None:
        heads = [line for line in _listed(folder, "heads") if line.strip()]
        if len(heads) != 1:
            wrong.append(f"{check.heads} names {len(heads)} heads, and one is due.")
    return {"schema": (first, second), "migrations": tuple(wrong)}


def _printed(folder: Path, name: str) -> str | None:
    try:
        return text.plain(files.read_plain(folder / name, most=MOST_BYTES))
    except FileNotFoundError:
        return None


def _listed(folder: Path, name: str) -> Sequence[str]:
    return (_printed(folder, name) or "").splitlines()
