"""What a person decides about a job: answer, accept, approve, verify again, retry, resume, stop, hold, abandon; gates stay core's.

Permissions of live agents and raised budgets are app.permit's and app.raising's.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from interlock.app import phases, retry_cost
from interlock.app.approvals import give
from interlock.app.asking import NEEDS_AN_ANSWER, WAIVABLE, options_of
from interlock.app.base import fresh_view, last_view
from interlock.app.dispatch import abandon as close_job
from interlock.app.intents import MET
from interlock.app.isolate import environment_of, isolation, place_of, write_environment
from interlock.app.raise_to import detail_of
from interlock.app.rebase import onto_default_branch
from interlock.app.sign_off import let_go
from interlock.app.train_exit import without_departed
from interlock.app.verify import take_over_card
from interlock.core.agent.gateway import reached_from
from interlock.core.contract.card import Card
from interlock.core.contract.defaults import with_defaults
from interlock.core.counting import count
from interlock.core.gate.accepted import BY_NAME, named
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import OPEN, Job, State
from interlock.core.problems import Misuse, Refusal, Refused, Stale, refused
from interlock.ports.bundle import Ports

NEEDS_A_TREE: Final = frozenset({"workspace-missing", "no-agent"})
ATTEMPTS_DEFAULT: Final = 3


def find_open(ports: Ports, slug: str) -> Job:
    """The open job of a slug or id.  Raises Misuse when there is none."""
    job = ports.store.find(slug)
    if job is None or job.state not in OPEN:
        ended = f" Its last job {job.id} is {job.state}." if job else ""
        raise Misuse(f"There is no open job of {slug}.{ended}", hint="interlock status lists the jobs.")
    return job


def answer(ports: Ports, slug: str, text: str, actor: str) -> Job:
    """Answer what the agent asked: the answer goes into the next attempt's prompt, and the job goes on.

    Where the agent asked nothing, an answer is a retry, and has to be as new as its hypothesis.  Raises Refused
    (hypothesis, not-worth, attempts, alive), Misuse.
    """
    job = _waiting(ports, slug)
    question = (job.waiting.detail.get("question") if job.waiting else "") or (job.waiting.what if job.waiting else "")
    rule = job.waiting.rule if job.waiting else ""
    asked = rule in ("agent-stopped", "test-plan")
    if not letters(text):
        raise Misuse(f"An answer to {job.slug} needs words.", hint=f"interlock decide {job.slug} ANSWER")
    if not asked:
        _refuse_tried(ports, job, text)
    said = f"{question} Decided by {actor}: {text}".strip()
    return _again(ports, job, said, actor, judged=not asked, answer=text)


def retry(
    ports: Ports, slug: str, hypothesis: str, actor: str, *, even_so: bool = False, phase: str | None = None
) -> Job:
    """Another attempt, with a hypothesis that no attempt of this job had before, and worth its expected cost.

    ``even_so`` goes on although it is not worth it; that is put on the record.  ``phase`` is what it begins with
    again.  Raises Refused (hypothesis, not-worth, attempts, alive), Misuse.
    """
    job = _waiting(ports, slug)
    _refuse_tried(ports, job, hypothesis)
    return _again(ports, job, hypothesis.strip(), actor, judged=True, even_so=even_so, phase=phase)


def resolve_with(ports: Ports, job: Job, other: Job, actor: str) -> Job:
    """Another attempt, in a fresh context, that brings a job's work together with a change that landed (app.resolve).

    Said again after one that did not hold, it is told what that lacked, and judged beside the change as it was before
    any of them.  Raises as ``retry`` does.
    """
    hypothesis = (
        f"Keep the intent of {job.slug} and of {other.slug}, which landed as {(other.landed_commit or '')[:12]}."
    )
    rule = job.waiting.rule if job.waiting else ""
    before = job.resolving if job.resolving and not (rule in MET and job.resolving["job"] != other.id) else None
    if before and rule not in MET:
        hypothesis += f" The last resolution did not hold: {job.waiting.what if job.waiting else ''}"
    _refuse_tried(ports, job, hypothesis)
    resolving = {"job": other.id, "slug": other.slug, "alone": before["alone"] if before else job.head}
    if before and before["job"] == other.id:
        resolving["clashes"] = list(before["clashes"])
    return _again(ports, job, hypothesis, actor, judged=True, resolving=resolving)


def _refuse_tried(ports: Ports, job: Job, text: str) -> None:
    """Refuse words that an attempt of the job was started with before, as a hypothesis or as an answer."""
    events = ports.store.events(job.id)
    answers = [str(each.data["answer"]) for each in events if each.kind == "job.retry" and each.data.get("answer")]
    said = letters(text)
    if said and said not in {letters(known) for known in (*job.hypotheses, *answers)}:
        return
    raise refused(
        rule="hypothesis",
        what=f"A retry of {job.slug} needs a hypothesis that was not tried yet.",
        why="The same attempt once more spends money and learns nothing.",
        would_change=f"Say what will be different: interlock retry {job.slug} --hypothesis TEXT.",
        holders=job.hypotheses,
    )


def _again(
    ports: Ports,
    job: Job,
    hypothesis: str,
    actor: str,
    *,
    judged: bool,
    even_so: bool = False,
    phase: str | None = None,
    answer: str = "",
    resolving: Mapping[str, Any] | None = None,
) -> Job:
    """Put the job back to its work with one more hypothesis; a retry is ``judged`` by what it costs, an answer is not."""
    refuse_alive(ports, job)
    card = _card_now(ports, job)
    job = ports.store.job(job.id)
    _refuse_more_attempts(ports, job, card)
    data: dict[str, Any] = {"hypothesis": hypothesis, "phases": list(phases.kept(job, start=phase))}
    if answer:
        data["answer"] = answer
    if job.waiting and job.waiting.rule == "agent-stopped" and phase is None and not judged:
        data["resume"] = True  # the agent that asked goes on in its own session, where its client can
    if judged:
        found = retry_cost.expected(ports, job, card) if even_so else retry_cost.refuse_waste(ports, job, card)
        data["expected"] = found.as_json() | ({"even_so": found.fault()} if even_so else {})
    if job.waiting and job.waiting.rule in MET:
        data |= onto_default_branch(ports, job)
    if resolving:
        data["resolving"] = {**resolving, "clashes": data.get("clashes", resolving.get("clashes", []))}
    ports.store.record(NewEvent(subject=job.id, step=f"retry:{job.rev}", kind="job.retry", actor=actor, data=data))
    return ports.store.job(job.id)


def _card_now(ports: Ports, job: Job) -> Card:
    """The card as it stands on the default branch, taken over.  Raises Misuse when it is gone."""
    card = take_over_card(ports, fresh_view(ports), job)
    if card is None:
        raise Misuse(f"The card of {job.slug} is gone from the default branch.", hint="Restore it, or abandon the job.")
    return card


def _refuse_more_attempts(ports: Ports, job: Job, card: Card) -> None:
    """Attempts that persons start are bounded by the card; rounds of a loop have their own limit."""
    allowed = with_defaults(card, last_view(ports).policy).budget.attempts or ATTEMPTS_DEFAULT
    again = [e for e in ports.store.events(job.id) if e.kind == "job.retry" and "waive" not in e.data]
    if not job.attempt or len(again) + 1 < allowed:
        return
    raise refused(
        rule="attempts",
        what=f"{job.slug} has used its {count(allowed, 'attempt')}.",
        why="Attempts are bounded by the card's budget.",
        would_change="Raise budget.attempts of the card on the default branch and say it again, or abandon the job.",
        number=allowed,
    )


def letters(text: str) -> str:
    """A hypothesis without case, space and punctuation: what two of them are compared by."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def accept(ports: Ports, slug: str, actor: str) -> Job:
    """Accept what a gate found, by name and on the record, where a person may.  Raises Refused."""
    job = _waiting(ports, slug)
    rule = job.waiting.rule if job.waiting else ""
    if rule not in WAIVABLE:
        raise refused(
            rule=rule or "approval",
            what=f"What {job.slug} waits for ({rule}) cannot be accepted.",
            why=f"Only these can: {', '.join(sorted(WAIVABLE))}. The others need another card or other work.",
            would_change=job.waiting.ask if job.waiting else "",
        )
    if rule == "test-plan":
        return _accept_test_plan(ports, job, actor)
    checks = job.waiting.detail.get("checks", ()) if job.waiting else ()
    tests = sorted({named(rule, test) for check in checks if check["rule"] == rule for test in check["named"]})
    if rule in BY_NAME and not tests:
        raise Refused(_names_nothing(job, rule))
    return _verify_again(ports, job, actor, waive=rule, tests=tests)


def _names_nothing(job: Job, rule: str) -> Refusal:
    return Refusal(
        rule=rule,
        what=f"What {job.slug} waits for ({rule}) names no test, so it cannot be accepted.",
        why="An acceptance is bound to the tests that a person was shown; a whole command is let go by nobody.",
        would_change="The command is mended on the default branch, or has a report that names its tests.",
    )


def _accept_test_plan(ports: Ports, job: Job, actor: str) -> Job:
    """Go on with the phase after the review that objected; that is no further attempt."""
    refuse_alive(ports, job)
    _card_now(ports, job)
    job = ports.store.job(job.id)
    data = {
        "hypothesis": f"{job.waiting.what if job.waiting else ''} {actor} accepted the plan as it is.".strip(),
        "phases": [*job.phases, *((job.phase,) if job.phase and job.phase not in job.phases else ())],
        "waive": "test-plan",
    }
    ports.store.record(NewEvent(subject=job.id, step=f"accepted:{job.rev}", kind="job.retry", actor=actor, data=data))
    return ports.store.job(job.id)


def approve(ports: Ports, slug: str, name: str, actor: str) -> Job:
    """Approve something by name for this job alone; one that waited for it goes on.  Raises Misuse for an unknown name."""
    job = find_open(ports, slug)
    give(ports, job, name, actor)
    if job.state is State.WAITING and job.waiting and job.waiting.rule == "approval":
        return resume(ports, slug, actor)
    return ports.store.job(job.id)


def again(ports: Ports, slug: str, actor: str) -> Job:
    """Judge the job's work once more, for example after its card changed on the default branch."""
    job = _waiting(ports, slug)
    if not job.worked:
        raise Misuse(f"{job.slug} has no work to judge yet.", hint="Answer, retry or abandon it.")
    return _verify_again(ports, job, actor)


def _verify_again(ports: Ports, job: Job, actor: str, **data: Any) -> Job:
    ports.store.record(
        NewEvent(subject=job.id, step=f"again:{job.rev}", kind="job.verify-again", actor=actor, data=data)
    )
    return ports.store.job(job.id)


def abandon(ports: Ports, slug: str, actor: str, reason: str) -> Job:
    """Close a job without landing it; a train that waits for sign-offs goes on without it.  Raises Refused while its agent runs."""
    job = find_open(ports, slug)
    refuse_alive(ports, job)
    let_go(ports, job.id)
    if job.attempt:
        ports.runs.cancel(ports.records.attempt(job.id, job.attempt))
        ports.agents.forget(ports.records.attempt(job.id, job.attempt))
    close_job(ports, job, actor, reason)
    with suppress(Stale):  # somebody moved the train meanwhile; the next run looks at it again
        without_departed(ports)
    return ports.store.job(job.id)


def stop(ports: Ports, slug: str, actor: str, reason: str, *, expect: int | None = None) -> Job:
    """End the job's agent and make the job wait for a decision.  Raises Stale when it stands at another revision than expected."""
    job = find_open(ports, slug)
    if job.state is State.RUNNING:
        said = NewEvent(
            subject=job.id,
            attempt=job.attempt,
            step="cancel",
            kind="job.note",
            actor=actor,
            data={"text": f"Stop asked for: {reason}"},
        )
        try:
            ports.store.record(said, expect=expect)
        except Refused as barred:
            if barred.code == "evidence-key":  # what may not be written down is stopped all the same
                ports.runs.cancel(ports.records.attempt(job.id, job.attempt))
            raise
        ports.runs.cancel(ports.records.attempt(job.id, job.attempt))
    else:
        data = {
            "rule": "cancelled",
            "what": f"{actor} stopped the job: {reason}",
            "ask": "Resume, retry or abandon it.",
        }
        new = NewEvent(subject=job.id, step=f"stop:{job.rev}", kind="job.waits", actor=actor, data=data)
        ports.store.record(new, expect=expect)
    return ports.store.job(job.id)


def refuse_alive(ports: Ports, job: Job) -> None:
    """A job is neither closed nor started again under a live agent."""
    if not job.attempt or not ports.runs.alive(ports.records.attempt(job.id, job.attempt)):
        return
    raise refused(
        rule="alive",
        what=f"The agent of {job.slug} is running.",
        why="Two agents would work in one tree, or a closed job would go on.",
        would_change=f"interlock stop {job.slug}, interlock run, then say it again.",
        holders=(job.id,),
    )


def resume(ports: Ports, slug: str, actor: str) -> Job:
    """Go on with a job that waits for something other than an answer: a missing folder, a stop, the train.

    Raises Refused by the rule that it waits by, with the answers that there are; Refused (alive), Misuse.
    """
    job = find_open(ports, slug)
    if job.state in (State.ISOLATED, State.VERIFIED, State.READY) and not ports.workspaces.exists(place_of(job)):
        _tree_again(ports, job)
        return job
    job = _waiting(ports, slug)
    refuse_alive(ports, job)
    rule = job.waiting.rule if job.waiting else ""
    if rule in NEEDS_AN_ANSWER or _cut_off(job):
        raise Refused(_needs_an_answer(ports, job, rule))
    return go_on(ports, job, actor)


def _needs_an_answer(ports: Ports, job: Job, rule: str) -> Refusal:
    ways = [each.command for each in options_of(job.slug, rule, detail_of(ports, job))]
    return Refusal(
        rule=rule,
        what=f"{job.slug} waits for an answer: {job.waiting.what if job.waiting else ''}",
        why="Going on without one would be the same again, or more than a person allowed.",
        would_change=f"{', or '.join(way for way in ways if '--abandon' not in way)}; interlock show {job.slug} tells more.",
        holders=(job.owner,),
    )


def _cut_off(job: Job) -> bool:
    """Whether a limit of the job itself ended an attempt: one that kept it from a start, or a day's, needs no answer."""
    waiting = job.waiting
    if waiting is None or waiting.rule != "budget" or "exit_code" not in waiting.detail:
        return False
    reached = reached_from(waiting.detail.get("reached"))
    return reached is not None and reached.priced and reached.scope in ("attempt", "job")


def go_on(ports: Ports, job: Job, actor: str) -> Job:
    """Put a waiting job back to where it was: to its tree, or to be judged again when it has work."""
    rule = job.waiting.rule if job.waiting else ""
    data: dict[str, Any] = {}
    if rule in NEEDS_A_TREE or not job.worked:
        data = _tree_again(ports, job)
        kind = "attempt.resumed" if _unsettled(ports, job) else "job.isolated"
        _card_now(ports, job)
        job = ports.store.job(job.id)
    else:
        kind = "job.verify-again"
    ports.store.record(NewEvent(subject=job.id, step=f"resume:{job.rev}", kind=kind, actor=actor, data=data))
    return ports.store.job(job.id)


def _unsettled(ports: Ports, job: Job) -> bool:
    """Whether the last attempt began and nothing says yet how it came out: it is settled first, and not paid for twice."""
    begun, settled = (ports.store.event(job.id, job.attempt, step) for step in ("start", "settle"))
    return begun is not None and settled is None


def _tree_again(ports: Ports, job: Job) -> dict[str, Any]:
    """The job's folder, recreated from its branch where it is gone; what was not committed there is lost.

    One that never came to have any is isolated now.
    """
    if job.workspace is None:
        return isolation(ports, job, fresh_view(ports))
    place = place_of(job)
    if not ports.workspaces.exists(place):
        values = environment_of(ports, job)
        made = ports.workspaces.create(place, job.slug)
        write_environment(ports, job, made, values)
        ports.narrate(f"{job.slug}: the tree was recreated from its branch; what was not committed is lost.")
    return {}


def hold(ports: Ports, slug: str, actor: str, reason: str | None) -> Job:
    """Keep a ready change out of the train (a reason), or let it in again (None)."""
    job = find_open(ports, slug)
    data = {"held": f"{reason} ({actor})" if reason else None, "text": "held" if reason else "let go"}
    ports.store.record(NewEvent(subject=job.id, step=f"hold:{job.rev}", kind="job.note", actor=actor, data=data))
    return ports.store.job(job.id)


def _waiting(ports: Ports, slug: str) -> Job:
    job = find_open(ports, slug)
    if job.state is not State.WAITING:
        raise Misuse(f"{job.slug} does not wait for a person: it is {job.state}.", hint=f"interlock show {job.slug}")
    return job
