"""Branches judged against the cards of one base, and files that several of them change; the judgement itself is core's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlock.app.base import POLICY_FILE, card_file
from interlock.core.gate.scope import Violation, judge_scope
from interlock.core.job.ids import branch_of
from interlock.core.merge.numbered import SameNumber, counted, same_numbers
from interlock.core.problems import BadInput, InterlockError, Misuse, Refused, refused

if TYPE_CHECKING:  # verbs that must start at once import this
    from interlock.core.contract.policy import Policy
    from interlock.core.gate.changes import Change
    from interlock.ports.contract import ContractFiles
    from interlock.ports.repository import Blob, Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """What branches are compared with: a name that a person knows, and the commit."""

    ref: str
    oid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One branch to judge: whose card, and which commit; ``ref`` is its name as the person knows it."""

    slug: str
    ref: str
    oid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict on one branch.  ``fault`` is why there is none; then it is not in scope either."""

    asked: Asked
    base: Against
    violations: tuple[Violation, ...] = ()
    changed: int = 0
    card_oid: str | None = None
    fault: InterlockError | None = None

    @property
    def ok(self) -> bool:
        return self.fault is None and not self.violations

    def as_json(self) -> dict[str, Any]:
        """The shape of ``scope --json`` (design/formats)."""
        shape: dict[str, Any] = {
            "ok": self.ok,
            "slug": self.asked.slug,
            "head": {"ref": self.asked.ref, "oid": self.asked.oid},
            "base": {"ref": self.base.ref, "oid": self.base.oid},
            "card": {"ref": f"{self.base.ref}:{card_file(self.asked.slug)}", "oid": self.card_oid},
            "changed": self.changed,
            "violations": [violation.as_json() for violation in self.violations],
        }
        if self.fault is not None:
            shape["error"] = {"code": self.fault.code, "message": self.fault.message, "hint": self.fault.hint}
        return shape


def slug_of(ref: str) -> str:
    """The slug whose branch a ref is: what follows agent/ in its name."""
    return ref.rpartition("agent/")[2]


def find_heads(reader: Reader, slugs: Iterable[str], head: str | None) -> tuple[Asked, ...]:
    """The branches of slugs: ``head`` where it is given, else agent/<slug> here, else on origin.  Raises Misuse."""
    return tuple(_find(reader, slug_of(slug), head) for slug in slugs)


def of_change(reader: Reader, against: Against, branch: str, head: str) -> tuple[Asked, ...]:
    """What a change on a forge has to answer for: a card for each way in which it says that an agent made it.

    By its branch's name, by the agent branches that stand at its head, and by its commits' trailers, so that another name
    gets it round nothing.  Empty: nothing says so.  Raises Misuse.
    """
    oid = reader.resolve_many([head])[0]
    named = [branch.removeprefix("agent/")] if branch.startswith("agent/") else []
    standing = [slug_of(ref) for ref, at in reader.branches(against.oid).items() if at == oid]
    slugs = dict.fromkeys((*named, *standing, *reader.cards_named(against.oid, oid)))
    return tuple(Asked(slug=slug, ref=branch or head, oid=oid) for slug in slugs)


def _find(reader: Reader, slug: str, head: str | None) -> Asked:
    if head is not None:
        return Asked(slug=slug, ref=head, oid=reader.resolve_many([head])[0])
    names = (branch_of(slug), f"origin/{branch_of(slug)}")
    for name, ref in zip(names, (f"refs/heads/{names[0]}", f"refs/remotes/{names[1]}"), strict=True):
        try:
            return Asked(slug=slug, ref=name, oid=reader.resolve_many([ref])[0])
        except Misuse:
            continue
    raise Misuse(
        f"There is no branch {names[0]} here or on origin.", hint=f"Name another: interlock scope {slug} --head REF"
    )


def open_heads(reader: Reader, base: Against) -> tuple[Asked, ...]:
    """Every agent branch that is not merged into the base."""
    found = reader.branches(base.oid)
    return tuple(Asked(slug=slug_of(ref), ref=ref, oid=oid) for ref, oid in sorted(found.items()))


def judge(reader: Reader, files: ContractFiles, base: Against, asked: Sequence[Asked]) -> tuple[Judged, ...]:
    """Every branch against its card as it stands on the base, in a handful of git processes whatever their number.

    Raises BadInput when the policy on the base cannot be read: then nothing can be judged.
    """
    paths = [POLICY_FILE, *(card_file(each.slug) for each in asked)]
    policy_blob, *cards = reader.read_many([(base.oid, path) for path in paths])
    policy = read_policy(files, policy_blob)
    changes = reader.changes_many(base.oid, [each.oid for each in asked])
    return tuple(
        _judge(files, policy, base, each, card, changes[each.oid]) for each, card in zip(asked, cards, strict=True)
    )


def read_policy(files: ContractFiles, blob: Blob | None) -> Policy:
    policy, problems = files.policy(blob.data if blob else b"", POLICY_FILE)
    if problems:
        raise BadInput(problems)
    return policy


def _judge(
    files: ContractFiles,
    policy: Policy,
    base: Against,
    asked: Asked,
    blob: Blob | None,
    changes: tuple[Change, ...] | Refused,
) -> Judged:
    oid = blob.oid if blob else None
    try:
        if isinstance(changes, Refused):
            raise changes
        violations = judge_scope(_card(files, base, asked, blob), changes, protected_paths=policy.protected_paths)
    except InterlockError as fault:
        return Judged(asked=asked, base=base, card_oid=oid, fault=fault)
    return Judged(asked=asked, base=base, card_oid=oid, violations=violations, changed=len(changes))


def _card(files: ContractFiles, base: Against, asked: Asked, blob: Blob | None) -> Any:
    path = card_file(asked.slug)
    if blob is None:
        raise refused(
            rule="unknown-card",
            what=f"There is no card {path} on {base.ref} at {base.oid[:12]}.",
            why="A branch without a card has no scope, so nothing in it is inside.",
            would_change=f"Commit {path} to that base, or name the base that has it with --base.",
        )
    found = files.card(blob.data, path, asked.slug, blob.oid)
    if found.card is None:
        raise BadInput(found.problems)
    return found.card


def overlaps(
    changes: Mapping[str, tuple[Change, ...] | Refused], heads: Sequence[tuple[str, str]]
) -> dict[str, tuple[str, ...]]:
    """Files that more than one of the (ref, commit) heads changes against the base: path → refs; ``changes`` are by commit.

    Both names of a renamed file count.  Raises Refused where a difference cannot be told.
    """
    found: dict[str, list[str]] = {}
    for ref, oid in heads:
        for path in sorted(_paths(changes, ref, oid)):
            found.setdefault(path, []).append(ref)
    return {path: tuple(refs) for path, refs in sorted(found.items()) if len(refs) > 1}


def same_number(
    changes: Mapping[str, tuple[Change, ...] | Refused],
    heads: Sequence[tuple[str, str]],
    counted_where: Callable[[], tuple[str, ...]],
) -> tuple[SameNumber, ...]:
    """New files of one number that several heads bring under different names, where numbers count.

    ``counted_where`` gives the policy's patterns; it is asked only when something could clash.
    """
    added = {
        ref: [change.path for change in told if change.status == "A"]
        for ref, oid in heads
        if not isinstance(told := changes[oid], Refused)
    }
    found = same_numbers(added)
    return counted(found, counted_where()) if found else ()


def numbered_in(reader: Reader, files: ContractFiles, base: Against) -> tuple[str, ...]:
    """Where numbers count by the policy on the base; one that cannot be read counts as far as it can."""
    blob = reader.read_many([(base.oid, POLICY_FILE)])[0]
    policy, _ = files.policy(blob.data if blob else b"", POLICY_FILE)
    return policy.numbered


def _paths(changes: Mapping[str, tuple[Change, ...] | Refused], ref: str, oid: str) -> set[str]:
    told = changes[oid]
    if isinstance(told, Refused):
        raise refused(
            rule=told.refusal.rule,
            what=f"{ref}: {told.refusal.what}",
            why=told.refusal.why,
            would_change=told.refusal.would_change,
        )
    return {change.path for change in told}
