"""What a revert may lose without being asked again: exactly what its change had brought; making the revert is app.revert's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.core.gate.accepted import excuse, named
from interlock.core.job.events import NewEvent
from interlock.core.job.evidence import Finding, Verdict
from interlock.core.job.lifecycle import Job, State
from interlock.core.job.reverting import moved
from interlock.ports.bundle import Ports
from interlock.ports.repository import Author, Inverse

_NOBODY: Final = Author(name="interlock", email="interlock@localhost")
_INHERENT: Final = frozenset({"tests-removed", "tests-skipped", "tests-weakened", "judge-changed", "knows-tests"})
"""What taking a change back does to the tests and judges that came with it."""


def own_losses(ports: Ports, job: Job, verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts on a revert, with those accepted that its change alone accounts for, in the name of who reverted it.

    Only where the work is, byte for byte, the change backwards: a later attempt or a branch that somebody moved is judged
    like any other work.  Each acceptance is on the record, bound to the tests it was about.
    """
    if not job.reverts or not _is_exactly(ports, job):
        return verdicts
    admitted = ports.store.event(job.id, 0, "admitted")
    by = admitted.actor if admitted is not None else job.owner
    lost = [each for verdict in verdicts if verdict.state == "refused" for each in _findings(verdict)]
    tests: dict[str, list[str]] = {}
    for each in lost:
        tests.setdefault(each.rule, []).extend(named(each.rule, test) for test in each.tests)
    for rule, names in tests.items():
        data = {"waive": rule, "tests": names, "text": "It came with the change that is taken back."}
        step = f"lost:{rule}:{job.worked}:{job.base[:12]}"
        ports.store.record(NewEvent(subject=job.id, step=step, kind="job.note", actor=by, data=data))
    return excuse(verdicts, dict.fromkeys(tests, by), {name for names in tests.values() for name in names})


def _findings(verdict: Verdict) -> list[Finding]:
    """What of a verdict is inherent in taking a change back."""
    found = (Finding(rule=verdict.rule or "", what=verdict.what, tests=verdict.tests), *verdict.also)
    return [each for each in found if each.rule in _INHERENT and each.tests]


def _is_exactly(ports: Ports, job: Job) -> bool:
    """Whether the job's tree is what its change backwards makes of its base."""
    of = str((job.reverts or {})["job"])
    found = ports.repo.inverse(job.base, of, message="", author=_NOBODY)
    return isinstance(found, Inverse) and ports.repo.tree_of(found.commit) == job.tree


def taken_off(ports: Ports, of: Job) -> tuple[str, ...]:
    """Slugs that are off the default branch once a change is taken back: its own, and what it had restored itself."""
    return tuple(each.slug for each, off in moved(of, ports.store.job) if off)


def trailers(ports: Ports, of: Job, commit: str) -> tuple[str, ...]:
    """What the commit that takes a change back says of it, and of each change that it moves along with it.

    ``commit`` is where the work of the change stands.
    """
    words = (("Reverts" if off else "Restores", each.slug) for each, off in moved(of, ports.store.job))
    return tuple(f"Interlock-{word}: {slug}@{commit[:12]}" for word, slug in words)


def landed_on(ports: Ports, slugs: Sequence[str]) -> tuple[str, ...]:
    """Slugs that have landed, and whose cards say that they need one of these."""
    landed = [job for job in ports.store.jobs(open_only=False) if job.state is State.LANDED]
    return tuple(sorted({job.slug for job in landed if set(slugs) & set(job.card["depends_on"])}))


def built_on(ports: Ports, job: Job) -> str:
    """What a person does about a revert that does not hold, in a sentence before all else; nothing of other jobs."""
    if not job.reverts:
        return ""
    of = job.reverts["slug"]
    slugs = landed_on(ports, taken_off(ports, ports.store.job(job.reverts["job"])))
    first = f" (interlock revert {slugs[0]} --why TEXT)" if slugs else ""
    named = f"{', '.join(slugs)}, which needs it," if slugs else "What was built on it since"
    anew = (
        f"interlock decide {job.slug} --abandon and interlock revert {of} --why TEXT make this one anew on what is left"
    )
    return f"{named} may not stand without {of}: take that back first{first}; then {anew}. Or: "


def flag_dependants(ports: Ports, landed: Sequence[str]) -> None:
    """After a landing: open work that needs what was taken back waits, with the reason (case YC-08).

    The landing itself put what was taken back on the record as reverted; such work would not land either way.
    """
    for name in landed:
        by = ports.store.job(name)
        if not by.reverts:
            continue
        off = taken_off(ports, ports.store.job(by.reverts["job"]))
        for job in ports.store.jobs():
            needed = ", ".join(slug for slug in off if slug in job.card["depends_on"])
            if needed and job.state is not State.WAITING:
                data = {
                    "rule": "depends-on",
                    "what": f"{needed}, on which this stands, was reverted by {by.slug}.",
                    "ask": f"Resume when {needed} has landed again; or take it off depends_on and decide --again; or abandon.",
                }
                ports.store.record(NewEvent(subject=job.id, step=f"reverted:{by.id}", kind="job.waits", data=data))
