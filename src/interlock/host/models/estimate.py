"""What a call may come to: tokens set aside for it before it starts, and those it is taken to have cost when nobody said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from interlock.core.agent.usage import Usage

BYTES_PER_TOKEN: Final = 3
"""Tokens of text and code are 3.5 to 4.5 bytes."""

OUTPUT: Final = 16_384
"""Tokens that an answer is taken to have where its request sets no limit: little for a vendor, much for an answer."""


@dataclass(frozen=True, slots=True)
class Need:
    """The most that a call is expected to take, in tokens."""

    input: int = 0
    output: int = 0

    @property
    def usage(self) -> Usage:
        return Usage(uncached_input=self.input, output=self.output)


def need_of(sent: int, output: int | None) -> Need:
    """By the bytes that are sent, and the tokens that a request says may come back."""
    return Need(tokens(sent), OUTPUT if output is None else output)


def estimated(usage: Usage, sent: int, received: int, floor: Need | None = None) -> Usage:
    """What a call is taken to have cost when its vendor's last word never came: from its bytes, and never below ``floor``.

    What the vendor did say stays, but for an output that was not over.
    """
    floor = floor or Need()
    said = usage.uncached_input is not None
    return Usage(
        uncached_input=usage.uncached_input if said else max(tokens(sent), floor.input),
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        output=max(usage.output or 0, tokens(received), floor.output),
    )


def tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)
