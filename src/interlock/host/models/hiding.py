"""A vendor's key taken out of what its server answers, however the answer is cut into parts: some echo what they were sent."""

from __future__ import annotations

from typing import Final

SHORTEST: Final = 8
"""A shorter key is no secret, and its letters come in any text."""


class Hiding:
    """Puts stars in the place of a key; what may be the begin of one is held back until more comes."""

    def __init__(self, key: str) -> None:
        self._key = key.encode() if len(key) >= SHORTEST else b""
        self._held = b""

    def pass_on(self, data: bytes, *, last: bool = False) -> bytes:
        """What may be told now; it is as long, in all, as what came.  After the ``last`` nothing is held."""
        if not self._key:
            return data
        data = self.clean(self._held + data)
        keep = 0 if last else self._begun(data)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def clean(self, data: bytes) -> bytes:
        """Something whole, such as a field's value."""
        return data.replace(self._key, b"*" * len(self._key)) if self._key else data

    def _begun(self, data: bytes) -> int:
        """How many bytes at the end may be the begin of a key."""
        longest = min(len(self._key) - 1, len(data))
        return next((size for size in range(longest, 0, -1) if data.endswith(self._key[:size])), 0)
