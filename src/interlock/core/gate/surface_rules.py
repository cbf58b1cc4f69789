"""What a run showed beside its tests, held against the demands of its check and the base's run; gate.surfaces puts the rules in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from interlock.core.contract.card import Check
from interlock.core.contract.surfaces import DROP, FACTOR, CoverageLimits, Limit, Picture
from interlock.core.counting import count, some
from interlock.core.gate.api_contract import breaking
from interlock.core.job.evidence import CheckRun
from interlock.core.job.surface import Shot, Surface, ToolFinding, ratio

Found = tuple[str, str, tuple[str, ...]] | None
_LEVELS: Final = ("note", "warning", "error")
_NOTHING: Final = Surface()


def program(check: Check, run: CheckRun, _base: CheckRun | None) -> Found:
    """A program that was started came up."""
    if check.wait is None or _of(run).up is not False:
        return None
    due = " and ".join(filter(None, (_quoted(check.wait.line), check.wait.url)))
    return "service", f"The program ended before it was up, which {due} was to show: {check.run}.", ()


def lines(check: Check, run: CheckRun, _base: CheckRun | None) -> Found:
    """Lines that must stand in the output, and lines that must not."""
    seen = _of(run).lines
    bad = [pattern for pattern in check.refuses if seen.get(pattern)]
    if bad:
        what = ", ".join(f"{_quoted(pattern)} in line {seen[pattern]}" for pattern in bad[:3])
        return "log-line", f"The output has what it must not have: {what}.", tuple(bad)
    gone = [pattern for pattern in check.expects if not seen.get(pattern)]
    if gone:
        return "log-line", f"The output lacks {', '.join(_quoted(pattern) for pattern in gone[:3])}.", tuple(gone)
    return None


def findings(check: Check, run: CheckRun, base: CheckRun | None) -> Found:
    """Findings that the base does not have; what was silenced by this very work is one of them.

    The same finding counts as often as it is there, so that a second one beside a known one is seen.
    """
    present = _of(run).findings
    if present is None:
        return None
    least = _LEVELS.index(check.least_level)
    counted = [finding for finding in present if _LEVELS.index(finding.level) >= least]
    before = _of(base).findings or ()
    open_known = Counter(finding.identity for finding in before if not finding.suppressed)
    known = Counter(finding.identity for finding in before)
    fresh = _beyond([finding for finding in counted if not finding.suppressed], open_known)
    if fresh:
        return "findings", f"{count(len(fresh), 'finding')} that the base does not have: {_some(fresh)}.", _names(fresh)
    if check.report is not None and check.report.allow_suppressed:
        return None
    silent = _beyond([finding for finding in counted if finding.suppressed], known)
    if not silent:
        return None
    return "findings", f"Findings were silenced that the base does not have: {_some(silent)}.", _names(silent)


def _beyond(present: list[ToolFinding], known: Counter[str]) -> list[ToolFinding]:
    left = Counter(known)
    fresh = []
    for finding in present:
        if left[finding.identity] > 0:
            left[finding.identity] -= 1
        else:
            fresh.append(finding)
    return fresh


def coverage(check: Check, run: CheckRun, base: CheckRun | None) -> Found:
    """Line coverage against the limits of the check, and against the base."""
    now = _of(run).coverage
    if now is None:
        return None
    limits = check.coverage or CoverageLimits()
    share = ratio(now)
    if limits.at_least is not None and share < limits.at_least:
        return "too-low", f"{share:.2f} % of the lines are covered, and {limits.at_least:g} % are demanded.", ()
    low = _thin(now, limits.each) if limits.each is not None else ()
    if low:
        shown = ", ".join(f"{file} ({100.0 * now[file][0] / now[file][1]:.1f} %)" for file in low[:3])
        return "too-low", f"Less than {limits.each:g} % of the lines are covered in {shown}.", low
    what = _lost_coverage(limits, share, _of(base).coverage)
    return ("too-low", what, ()) if what else None


def _thin(coverage: Mapping[str, tuple[int, int]], each: float) -> tuple[str, ...]:
    return tuple(sorted(file for file, (hit, of) in coverage.items() if of and 100.0 * hit / of < each))


def _lost_coverage(limits: CoverageLimits, share: float, before: Mapping[str, tuple[int, int]] | None) -> str:
    if before is None:
        alone = limits.at_least is None and limits.each is None
        return "The base has no coverage to compare with, and the check names no at_least." if alone else ""
    drop = limits.drop if limits.drop is not None else DROP
    # Rounded, so that one line more or less of a large file does not decide by the last digit of a float.
    if round(ratio(before) - share, 6) > drop:
        return f"Coverage fell from {ratio(before):.2f} % to {share:.2f} %, and {drop:g} points may be lost."
    return ""


def numbers(check: Check, run: CheckRun, base: CheckRun | None) -> Found:
    """Measured numbers against their limits and against the base; one that is not there any more is one of the worst."""
    now = _of(run).numbers
    if now is None:
        return None
    before = _of(base).numbers or {}
    limits = {limit.name: limit for limit in check.limits}
    gone = sorted((set(limits) | set(before)) - set(now))
    if gone:
        known = count(len(now), "other was", "others were")
        return (
            "too-low",
            f"{', '.join(gone[:3])} {'was' if len(gone) == 1 else 'were'} not measured, and {known}.",
            tuple(gone),
        )
    for name in now:
        what = _number(limits.get(name) or Limit(name=name), now[name].value, now[name].rounds, _base_of(name, base))
        if what:
            return "too-low", f"{name}: {what}", (name,)
    if check.kind in ("benchmark", "fixtures") and not limits and not before:
        what = "The base has no number to compare with, and the check names no limits."
        return "too-low", what, ()
    return None


def _base_of(name: str, base: CheckRun | None) -> float | None:
    found = (_of(base).numbers or {}).get(name)
    return found.value if found else None


def _number(limit: Limit, value: float, rounds: int | None, before: float | None) -> str:
    """What is wrong with one number, as a sentence; empty when nothing is."""
    if rounds is not None and rounds < limit.rounds:
        return f"it was measured {rounds} times, and {limit.rounds} are demanded."
    if limit.at_most is not None and value > limit.at_most:
        return f"{value:g} is above {limit.at_most:g}."
    if limit.at_least is not None and value < limit.at_least:
        return f"{value:g} is below {limit.at_least:g}."
    bounded = limit.at_most is not None or limit.at_least is not None
    if before is None or (bounded and limit.factor is None):
        return ""
    return _worse(limit, value, before)


def _worse(limit: Limit, value: float, before: float) -> str:
    """Whether a number is too much worse than the base's; none of the two can be compared by a factor when one is not above 0."""
    factor = limit.factor if limit.factor is not None else FACTOR
    if limit.better == "lower" and 0 < before * factor < value:
        return f"{value:g} is more than {factor:g} times the base's {before:g}, and lower is better."
    if limit.better == "higher" and before > 0 and value < before / factor:
        return f"{value:g} is less than the base's {before:g} divided by {factor:g}, and higher is better."
    return ""


def interface(check: Check, run: CheckRun, base: CheckRun | None) -> Found:
    """An interface keeps what its users rely on: against the named document, else against the base's."""
    here = _of(run)
    if here.interface is None:
        return None
    if check.against is not None:
        if found := _renewed(check, check.against, run, base):
            return "api-broken", found, (check.against,)
        before = here.against
    else:
        before = _of(base).interface
    if before is None:
        return None
    broken = breaking(before, here.interface)
    if not broken:
        return None
    return "api-broken", f"The interface breaks: {some(broken, 3, '; ')}.", broken


def shots(check: Check, run: CheckRun, base: CheckRun | None) -> Found:
    """Pictures are there, show something, and look as expected."""
    taken = _of(run).shots
    if taken is None:
        return None
    for picture in check.pictures:
        shot = taken.get(picture.image)
        if shot is None:
            return "picture", f"The run took no picture {picture.image}.", (picture.image,)
        if shot.blank:
            return "picture", f"{picture.image} has one colour alone.", (picture.image,)
        what = _unlike(check, picture, shot, run, base)
        if what:
            return "picture", what, (picture.image,)
    return None


def _unlike(check: Check, picture: Picture, shot: Shot, run: CheckRun, base: CheckRun | None) -> str:
    """How a picture is not what is expected, as a sentence; empty where nothing is expected."""
    if picture.against is None:
        return ""
    if not shot.expected:
        return f"{picture.image} is to look like {picture.against}, which is not in the tree."
    if found := _renewed(check, picture.against, run, base):
        return found
    if shot.fault or shot.differs is None:
        return f"{picture.image} cannot be compared with {picture.against}. {shot.fault}"
    if shot.differs > picture.tolerance:
        return (
            f"{picture.image}: {shot.differs:.3%} of its pixels differ from {picture.against}, "
            f"and {picture.tolerance:.3%} may."
        )
    return ""


def _renewed(check: Check, path: str, run: CheckRun, base: CheckRun | None) -> str:
    """What is expected may not come from the work that is judged by it, unless the check says so."""
    known = _of(base).expected.get(path)
    if check.may_renew or (known is not None and known == _of(run).expected.get(path)):
        return ""
    was = "is not that of the base" if known else "is not known from the base"
    return f"What is expected, {path}, {was}; a check whose card says may_renew: true allows it."


def migrations(check: Check, run: CheckRun, _base: CheckRun | None) -> Found:
    """Migrations run up, a second time without a change, and in one order."""
    here = _of(run)
    if here.migrations:
        return "migrations", " ".join(here.migrations[:3]), here.migrations
    if check.state is None or here.schema is None or check.kind != "migrations":
        return None
    first, second = here.schema
    if not first.strip():
        return "migrations", f"After the migrations there is nothing: {check.state} printed nothing.", ()
    if first != second:
        return "migrations", f"A second run of the migrations changed something: {_first_difference(first, second)}", ()
    return None


def _first_difference(first: str, second: str) -> str:
    one, other = first.splitlines(), second.splitlines()
    for number, (before, after) in enumerate(zip(one, other, strict=False), start=1):
        if before != after:
            return f"line {number} of the state was {_quoted(before[:100])} and is {_quoted(after[:100])}."
    return f"the state had {len(one)} lines and has {len(other)}."


def _of(run: CheckRun | None) -> Surface:
    return run.surface if run is not None and run.surface is not None else _NOTHING


def _quoted(text: str | None) -> str:
    return f'"{text}"' if text else ""


def _names(found: list[ToolFinding]) -> tuple[str, ...]:
    return tuple(finding.shown for finding in found)


def _some(found: list[ToolFinding]) -> str:
    return some(_names(found), 3, "; ")
