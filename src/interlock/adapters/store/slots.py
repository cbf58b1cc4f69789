"""Classes with their caps and pauses, and the numbered slots that jobs hold; who gets one is decided in core.gate.admission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, RowMapping, insert, select, update

from interlock.adapters.store import events
from interlock.adapters.store.codec import plain
from interlock.adapters.store.engine import lock_history
from interlock.adapters.store.tables import admission, job, slot, task_class
from interlock.core.contract.policy import Kind
from interlock.core.gate.caps import Lane
from interlock.core.gate.request import Admitted, Holder
from interlock.core.job.events import NewEvent
from interlock.core.problems import Refusal, Refused

CAPS: Final = "caps"
"""The subject of the events about caps and the ceiling; a pause is an event of ``class:<name>``."""

# Put together once, since each admission asks them; see events.
_FETCHED: Final = select(admission)
_LOCKED: Final = _FETCHED.with_for_update()
_CLASSES: Final = select(task_class).order_by(task_class.c.name)
_HOLDERS: Final = (
    select(slot, job.c.slug, job.c.state, job.c.doc)
    .join(job, job.c.id == slot.c.job)
    .order_by(slot.c["class"], slot.c.n)
)
_TAKE: Final = insert(slot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What one fetch says: caps and kinds by class, the ceiling, and the base that they stand on."""

    caps: Mapping[str, int]
    kinds: Mapping[str, Kind]
    ceiling: int | None
    base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What is in force: as of the newest fetch, with pauses; ``version`` counts the fetches that changed something."""

    caps: Mapping[str, int | None]
    kinds: Mapping[str, Kind]
    paused_by: Mapping[str, str]
    ceiling: int | None
    base: str
    version: int

    @property
    def with_cap(self) -> dict[str, int]:
        return {name: cap for name, cap in self.caps.items() if cap is not None}


def lock(connection: Connection) -> Row[Any]:
    """Be the only one who admits, or changes what admission looks at, until the transaction ends; gives what ``in_force`` reads."""
    return connection.execute(_LOCKED).one()


def in_force(connection: Connection, locked: Row[Any] | None = None) -> Caps:
    """The caps as they are; who holds the lock hands in what it gave, which saves a question."""
    row = connection.execute(_FETCHED).one() if locked is None else locked
    classes = connection.execute(_CLASSES).all()
    return Caps(
        caps={known.name: known.cap for known in classes},
        kinds={known.name: known.kind for known in classes if known.kind},
        paused_by={known.name: known.paused_by for known in classes if known.paused_by is not None},
        ceiling=row.ceiling,
        base=row.base,
        version=row.version,
    )


def sync(connection: Connection, fetched: Fetched, number: int, at: float) -> bool:
    """Take over what a fetch said, unless another one was taken over since ``number`` was given out.

    Returns whether it is in force: a fetch that says what is in force already changes nothing and is in force.
    """
    old = in_force(connection, lock(connection))
    if fetched == Fetched(caps=old.with_cap, kinds=old.kinds, ceiling=old.ceiling, base=fetched.base):
        return True
    if old.version != number:
        return False
    for name in old.caps.keys() | fetched.caps.keys() | fetched.kinds.keys():
        _put(connection, name, name in old.caps, kind=fetched.kinds.get(name, ""), cap=fetched.caps.get(name))
    values = {"ceiling": fetched.ceiling, "base": fetched.base, "version": number + 1}
    connection.execute(update(admission).values(values))
    lock_history(connection)
    new = NewEvent(subject=CAPS, step=f"synced:{number + 1}", kind="caps.synced", data=plain(fetched))
    events.append(connection, new, at)
    return True


def set_pause(connection: Connection, name: str, by: str | None, *, actor: str, why: str, at: float) -> None:
    """Pause a class, or resume it with ``by`` None; doing it twice is nothing.  Raises Refused for an unknown class."""
    lock(connection)
    row = connection.execute(select(task_class).where(task_class.c.name == name)).one_or_none()
    if row is None:
        raise Refused(_unknown(name, connection))
    if row.paused_by == by:
        return
    number = row.changes + 1
    connection.execute(update(task_class).where(task_class.c.name == name).values(paused_by=by, changes=number))
    lock_history(connection)
    kind = "class.resumed" if by is None else "class.paused"
    new = NewEvent(subject=f"class:{name}", step=f"{kind}:{number}", kind=kind, actor=actor, data={"why": why})
    events.append(connection, new, at)


def holders(connection: Connection) -> tuple[Holder, ...]:
    """Everybody who holds a slot, by class and number."""
    return tuple(_holder(row) for row in connection.execute(_HOLDERS).mappings())


def lanes(connection: Connection) -> tuple[Lane, ...]:
    """Each class that is known or holds something, by name."""
    caps, held = in_force(connection), holders(connection)
    known = caps.with_cap.keys() | caps.kinds.keys() | caps.paused_by.keys()
    names = sorted(known | {holder.class_name for holder in held})
    return tuple(
        Lane(
            name=name,
            kind=caps.kinds.get(name, ""),
            cap=caps.caps.get(name),
            paused_by=caps.paused_by.get(name),
            holders=tuple(holder for holder in held if holder.class_name == name),
        )
        for name in names
    )


def take(connection: Connection, proof: Admitted, kind: Kind, actor: str) -> None:
    """Keep the slot that the proof names; the two unique constraints are a second line behind the decision."""
    values = {"class": proof.class_name, "n": proof.slot, "job": proof.job, "kind": kind, "actor": actor}
    connection.execute(_TAKE, values)


def _put(connection: Connection, name: str, exists: bool, **values: Any) -> None:
    if exists:
        connection.execute(update(task_class).where(task_class.c.name == name).values(values))
    else:
        connection.execute(insert(task_class).values(name=name, changes=0, **values))


def _holder(row: RowMapping) -> Holder:
    card = row["doc"]["card"]
    return Holder(
        job=row["job"],
        slug=row["slug"],
        class_name=row["class"],
        kind=row["kind"],
        slot=row["n"],
        state=row["state"],
        since=row["doc"]["admitted_at"],
        owned_paths=tuple(card.get("owned_paths", ())),
        read_only_paths=tuple(card.get("read_only_paths", ())),
        prohibited_paths=tuple(card.get("prohibited_paths", ())),
        actor=row["actor"],
    )


def _unknown(name: str, connection: Connection) -> Refusal:
    known = tuple(connection.execute(select(task_class.c.name).order_by(task_class.c.name)).scalars())
    return Refusal(
        rule="class",
        what=f"The class {name} is not known.",
        why=f"The known ones are {', '.join(known)}." if known else "No caps were read from the default branch yet.",
        would_change="A known class is named, or the class gets a line in tasks/caps.txt.",
        holders=known,
    )
