"""What a piece of work left running in this process; nothing about processes and files outside of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_thread_left(seconds: float = 5) -> Iterator[None]:
    """Fail when a thread that started inside of the block still runs `seconds` after it.

    Threads are told apart, not counted: one of an earlier test may end at any moment, and would hide or feign one.
    """
    before = set(threading.enumerate())
    yield
    until = time.monotonic() + seconds
    for thread in set(threading.enumerate()) - before:
        thread.join(max(0.0, until - time.monotonic()))
    assert [thread.name for thread in set(threading.enumerate()) - before if thread.is_alive()] == []
