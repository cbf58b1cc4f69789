"""The default branch as the gates read it: policy, caps and cards of one fetched commit; judging them is core's work."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlock.core.counting import count
from interlock.core.problems import BrokenRules, Problem, Refused, refused

if TYPE_CHECKING:  # verbs that must start at once import this
    from interlock.core.contract.policy import Cap, Policy, TaskClass
    from interlock.ports.bundle import Ports
    from interlock.ports.contract import CardFile
    from interlock.ports.repository import Base

POLICY_FILE = "interlock.yaml"
CAPS_FILE = "tasks/caps.txt"
SYNC_TRIES = 5
"""How often a fetch is repeated when another one, which read something else, came in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One commit of the default branch with the rules that stand on it.

    ``policy_digest`` is of the policy file's bytes: evidence is bound to it.
    """

    base: Base
    policy: Policy
    caps: tuple[Cap, ...]
    policy_digest: str

    def cap(self, class_name: str) -> Cap | None:
        return next((cap for cap in self.caps if cap.class_name == class_name), None)

    def task_class(self, name: str) -> TaskClass:
        """The class of that name.  Raises Refused when the policy has none."""
        found = self.policy.find_class(name)
        if found is None:
            known = ", ".join(known.name for known in self.policy.classes)
            raise refused(
                rule="class",
                what=f"The class {name} is not known.",
                why=f"{POLICY_FILE} on {self.base.ref} and the built-in list have: {known}.",
                would_change=f"Use one of these classes, or add {name} under classes in {POLICY_FILE}.",
            )
        return found


def card_file(slug: str) -> str:
    return f"tasks/{slug}.yaml"


def fresh_view(ports: Ports) -> View:
    """Fetch, and read the rules from the default branch; the newest fetch's caps become the ones in force.

    Raises BrokenRules with every problem of the two files, GitFailed, UnknownBase.
    """
    for _ in range(SYNC_TRIES):
        number = ports.store.begin_sync()
        view = view_of(ports, ports.repo.refresh())
        kinds = {known.name: known.kind for known in view.policy.classes}
        if ports.store.sync_caps(number, view.base.oid, view.caps, kinds, view.policy.review_wip):
            break
    return view


def last_view(ports: Ports) -> View:
    """The rules as of the last fetch, without touching the network."""
    return view_of(ports, ports.repo.last_base())


def landed_slugs(ports: Ports, view: View) -> frozenset[str]:
    """Slugs whose work is on the default branch, as its own history says, whoever landed them.

    What this store landed and somebody took back or off the branch since is not among them.
    """
    return ports.repo.landed_slugs(view.base.oid)


def view_of(ports: Ports, base: Base) -> View:
    """The rules as they stand on a given base.  Raises BrokenRules."""
    problems: list[Problem] = []
    blobs = ports.repo.read_many([(base.oid, POLICY_FILE), (base.oid, CAPS_FILE)])
    policy_bytes, caps_bytes = (blob.data if blob else b"" for blob in blobs)
    policy, found = ports.files.policy(policy_bytes, POLICY_FILE)
    problems.extend(found)
    caps, found = ports.files.caps(caps_bytes, CAPS_FILE)
    problems.extend(found)
    if problems:
        raise BrokenRules(tuple(problems))
    digest = hashlib.sha256(policy_bytes).hexdigest()[:16]
    return View(base=base, policy=policy, caps=caps, policy_digest=digest)


def read_card(ports: Ports, view: View, slug: str) -> CardFile:
    """The card of a slug as it stands on the default branch.  Raises Refused (unknown-card)."""
    path = card_file(slug)
    data = ports.repo.read(view.base.oid, path)
    if data is None:
        raise refused(
            rule="unknown-card",
            what=f"There is no card {path} on {view.base.ref} at {view.base.oid[:12]}.",
            why="Cards are read from the remote's default branch, so that a task cannot widen its own card.",
            would_change=f"Commit {path} to {view.base.branch} and push it, then dispatch again.",
        )
    return ports.files.card(data, path, slug, ports.repo.blob_oid(view.base.oid, path) or "")


def ready_card(ports: Ports, view: View, slug: str) -> CardFile:
    """The card, when it can be read at all.  Raises Refused (not-ready) with every problem."""
    found = read_card(ports, view, slug)
    if found.card is None:
        raise not_ready(slug, found.problems)
    return found


def already_landed(slug: str) -> Refused:
    return refused(
        rule="already-landed",
        what=f"{slug} has landed.",
        why="A card is done once; the default branch's own history holds its work.",
        would_change="Write a new card with another slug for what is still to do.",
    )


def not_ready(slug: str, problems: tuple[Problem, ...]) -> Refused:
    return refused(
        rule="not-ready",
        what=f"The card {slug} is not ready: {count(len(problems), 'problem')}.",
        why="A vague card makes an agent guess; it is refused before anything is taken.",
        would_change="Mend each problem on the default branch, then dispatch again.",
        number=len(problems),
        problems=problems,
    )
