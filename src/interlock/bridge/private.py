"""The bridge kept to itself: no other process of its user, such as the agent, reads its memory or writes into its streams."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

_PR_SET_DUMPABLE: Final = 4


def keep() -> None:
    """Take this process's /proc entries and memory away from others of its user; what it starts later is not concerned.

    Linux alone has it.  Raises OSError where the kernel refuses.
    """
    if not sys.platform.startswith("linux"):
        return
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
