"""Blocks of ports on this machine: who gets which, under one lock that all processes and users share; arithmetic is core's."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from interlock.core.job.blocks import Room, Table
from interlock.core.problems import InterlockError, Refused, refused
from interlock.host import sockets
from interlock.host.registry import FOLDER, Claim, Registry, RegistryUnusable, Shelf

OVERRIDE: Final = "INTERLOCK_BLOCK"
_SQLITE: Final = "sqlite:///"


class HostBlocks:
    """Blocks for the jobs of one store (ports.Blocks).

    ``store`` is the store's URL; claims of a SQLite store end with its file.  ``registry`` is the shared folder,
    by default the machine's (INTERLOCK_PORT_REGISTRY names another).
    """

    def __init__(self, *, store: str, registry: Path | None = None) -> None:
        self._store = _name_of(store)
        self._registry = Registry(registry)

    def claim(
        self, owner: str, families: Mapping[str, int], *, wanted: int | None = None
    ) -> tuple[int, dict[str, int]]:
        """The lowest block whose ports are all free, held for owner; the same one when it is asked again.

        ``wanted``, or else INTERLOCK_BLOCK, names the block to have.  Raises Refused (ports) with the valid maximum
        or the holder, InterlockError when the registry cannot be used.
        """
        table = Table(
            families=dict(families), room=Room(ephemeral=sockets.ephemeral_start(), reserved=sockets.reserved())
        )
        with self._shelf() as shelf:
            mine = self._mine(shelf, owner)
            if mine is not None and mine.released is None and mine.families == table.families:
                return mine.block, table.ports(mine.block)
            kept = [claim for claim in shelf.own if claim is not mine and not _is_over(claim)]
            taken = {port: claim for claim in (*shelf.others, *kept) if not claim.is_void() for port in claim.ports}
            block = _pick(table, taken, wanted if wanted is not None else _override())
            shelf.save([*kept, self._claim(owner, table, block)])
        return block, table.ports(block)

    def release(self, owner: str) -> None:
        """Give the block back: at once when its ports are free, else as soon as they are (case PT-02)."""
        with self._shelf() as shelf:
            mine = self._mine(shelf, owner)
            if mine is None:
                return
            marked = replace(mine, released=time.time())
            kept = [marked if claim is mine else claim for claim in shelf.own]
            shelf.save([claim for claim in kept if not _is_over(claim)])

    def _mine(self, shelf: Shelf, owner: str) -> Claim | None:
        return next((claim for claim in shelf.own if (claim.owner, claim.store) == (owner, self._store)), None)

    def _claim(self, owner: str, table: Table, block: int) -> Claim:
        return Claim(
            owner=owner,
            store=self._store,
            uid=os.getuid(),
            block=block,
            families=dict(table.families),
            spans=tuple((span[0], span[-1]) for span in table.ranges(block)),
            at=time.time(),
        )

    @contextmanager
    def _shelf(self) -> Iterator[Shelf]:
        try:
            with self._registry.locked() as shelf:
                yield shelf
        except RegistryUnusable as fault:
            raise InterlockError(str(fault), hint=f"See to that folder, or name another one in {FOLDER}.") from fault


def _name_of(store: str) -> str:
    """The store's file; a digest stands for any other URL, which may hold a password."""
    if store.startswith(_SQLITE):
        return str(Path(unquote(store.removeprefix(_SQLITE).partition("?")[0])).absolute())
    return f"database {hashlib.sha256(store.encode()).hexdigest()[:16]}"


def _override() -> int | None:
    """The block that the user set; inside a task the variable only says which block the task has."""
    text = os.environ.get(OVERRIDE)
    if not text or os.environ.get("INTERLOCK_JOB"):
        return None
    try:
        return int(text)
    except ValueError:
        raise _refused(
            f"{OVERRIDE} is {text!r}.", "A block is a whole number from 1.", "Correct it, or unset it."
        ) from None


def _is_over(claim: Claim) -> bool:
    """Whether a claim holds nothing any more: its store is gone, or it was given back and its ports are free."""
    return claim.is_void() or (claim.released is not None and _busy(claim.ports) is None)


def _busy(ports: Iterator[int]) -> int | None:
    return next((port for port in ports if not sockets.is_free(port)), None)


def _pick(table: Table, taken: Mapping[int, Claim], wanted: int | None) -> int:
    if wanted is not None:
        return _wanted(table, taken, wanted)
    for block in range(1, table.top + 1):
        ports = [port for span in table.ranges(block) for port in span]
        if table.fault(block) is None and taken.keys().isdisjoint(ports) and _busy(iter(ports)) is None:
            return block
    held = len({id(claim) for claim in taken.values()})
    raise _refused(
        f"No block of ports is free up to {table.maximum}.",
        f"{held} claims hold blocks here, and the other blocks' ports are in use or may not be given.",
        "Close or clean tasks, end what listens on their ports, or move the bases under ports in interlock.yaml.",
        number=table.maximum,
    )


def _wanted(table: Table, taken: Mapping[int, Claim], block: int) -> int:
    """The block that was asked for, or the reason why it cannot be had."""
    what = f"Block {block} cannot be had."
    change = f"Choose another block from 1 to {table.maximum}, or let the lowest free one be chosen."
    if table.maximum == 0:
        change = "Move the bases under ports in interlock.yaml: with these no block can be given."
    if (fault := table.fault(block)) is not None:
        raise _refused(what, fault, change, number=table.maximum)
    ports = [port for span in table.ranges(block) for port in span]
    holder = next((taken[port] for port in ports if port in taken), None)
    if holder is not None:
        why = f"{holder.owner} holds block {holder.block} with ports {holder.spans[0][0]} and on, in {holder.store}."
        raise _refused(what, why, change, number=table.maximum, holders=(holder.owner,))
    if (port := _busy(iter(ports))) is not None:
        raise _refused(what, f"Port {port} is in use.", change, number=table.maximum)
    return block


def _refused(
    what: str, why: str, would_change: str, *, number: int | None = None, holders: tuple[str, ...] = ()
) -> Refused:
    return refused(rule="ports", what=what, why=why, would_change=would_change, number=number, holders=holders)
