"""Who signs, and keeps checkpoints, where nobody was named: a store opened so holds no evidence for true and takes none."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NoReturn

from interlock.core.problems import refused
from interlock.ports.history import Anchor, Signer


class _Nobody:
    """Refuses to sign and to believe."""

    runner = ""

    @property
    def key_id(self) -> str:
        _refuse()

    @property
    def public(self) -> str:
        _refuse()

    def sign(self, statement: bytes) -> str:  # noqa: ARG002
        _refuse()

    def open(self, envelope: str, keys: Iterable[str], *, listed: Collection[str] = ()) -> bytes:  # noqa: ARG002
        _refuse()

    def listed(self) -> tuple[str, ...]:
        return ()

    def check(self) -> None:
        _refuse()

    def told(self) -> str:
        return "The store was opened without a key."


def _refuse() -> NoReturn:
    raise refused(
        rule="evidence-unsigned",
        what="The store was opened without a key.",
        why="Evidence is signed when it is written, and looked at with the keys of the history when it is used.",
        would_change="It is opened as the commands do, with the key of this user.",
    )


class _Nowhere:
    """Keeps nothing."""

    def keep(self, history: str, checkpoint: str) -> None: ...

    def kept(self, history: str) -> str | None:  # noqa: ARG002
        return None


NOBODY: Final[Signer] = _Nobody()
NOWHERE: Final[Anchor] = _Nowhere()
