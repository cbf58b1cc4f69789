"""What another try of a job is expected to cost, from this store's history of its class; whether that is worth it is core's."""

from __future__ import annotations

from interlock.app.base import last_view
from interlock.app.ceilings import in_force
from interlock.app.costs import spent
from interlock.core.agent.worth import Expected, Past, expect
from interlock.core.contract.card import Card
from interlock.core.contract.defaults import with_defaults
from interlock.core.counting import count
from interlock.core.job.lifecycle import FINAL, Job, State
from interlock.core.problems import refused
from interlock.ports.bundle import Ports

_LOOKED_AT = 50
"""The newest closed jobs of a class that its history is told from."""


def expected(ports: Ports, job: Job, card: Card) -> Expected:
    """What the job's next try is expected to cost, its chance, and what is left; the card is as the default branch has it."""
    budget = with_defaults(card, last_view(ports).policy).budget
    closed = [each for each in ports.store.jobs(open_only=False) if each.state in FINAL and each.attempt]
    of_class = sorted((each for each in closed if each.class_name == job.class_name), key=lambda each: each.since)
    limits = {"usd": budget.usd, "tokens": budget.tokens}
    return expect(
        _past(ports, job),
        [_past(ports, each) for each in of_class[-_LOOKED_AT:]],
        number=tries(job) + 1,
        budget={name: in_force(job, name, limit) for name, limit in limits.items()},
    )


def tries(job: Job) -> int:
    """How many tries a job had: its first, and one for each hypothesis; the runs of one try's phases are one."""
    return len(job.hypotheses) + 1 if job.attempt else 0


def refuse_waste(ports: Ports, job: Job, card: Card) -> Expected:
    """What the next try is expected to cost.  Raises Refused (not-worth) when that is more than it is worth."""
    found = expected(ports, job, card)
    if fault := found.fault():
        raise refused(
            rule="not-worth",
            what=fault,
            why=f"A retry must be worth its expected cost; this one is judged by {_basis(found)}.",
            would_change=f"Raise the job's budget (interlock decide {job.slug} --raise usd=N or tokens=N), retry with "
            "--even-so, which is put on the record, or abandon the job.",
        )
    return found


def _basis(found: Expected) -> str:
    cost = "the cost of the job's own tries" if found.basis == "own" else "what tries of its class cost"
    return f"{cost} and by {count(found.of, 'closed job')} of its class that had a try {found.number}"


def _past(ports: Ports, job: Job) -> Past:
    found = spent(ports, job)
    return Past(tries=tries(job), landed=job.state is State.LANDED, usd=found.usd, tokens=found.usage.total)
