"""A second wall inside the first: writes only below given folders, by the kernel's Landlock; only calls, no policy.

Light and of the standard library alone: it runs inside, in the command's process before it becomes the command.
"""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_FOLDERS = sum(1 << bit for bit in (4, 5, 6, 7, 8, 9, 10, 11, 12))
_SCOPES = 0b11
"""Abstract sockets, and signals: neither reaches a process outside, such as the keeper."""

LEAST = 2
"""Linux 5.19: version 1 (5.13) cannot let a file move from folder to folder, which every build does."""

SCOPING = 6
"""Linux 6.12: from here on signals and abstract sockets stay inside."""


def version() -> int:
    """What this kernel can do; 0 without Landlock."""
    found: int = _libc().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return max(0, found)


def restrict(writable: list[str]) -> bool:
    """From now on this process and its children write only below these paths; those that are not there do not count.

    Gives whether the kernel could.  Raises OSError when it knows Landlock and refuses.
    """
    able = version()
    if able < LEAST:
        return False
    on_file = _WRITE_FILE | (_TRUNCATE if able >= 3 else 0)
    all_writes = on_file | _FOLDERS | _REFER
    shape = struct.pack("=QQQ", all_writes, 0, _SCOPES if able >= SCOPING else 0)
    size = 24 if able >= SCOPING else 16 if able >= 4 else 8
    libc = _libc()
    rules = libc.syscall(_CREATE, shape, ctypes.c_size_t(size), ctypes.c_uint32(0))
    _check(rules)
    for path in writable:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        rule = struct.pack("=Qi", all_writes if os.path.isdir(path) else on_file, place)  # noqa: PTH112 - light
        _check(libc.syscall(_ADD, rules, _BENEATH, rule, ctypes.c_uint32(0)))
        os.close(place)
    _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(libc.syscall(_RESTRICT, rules, ctypes.c_uint32(0)))
    os.close(rules)
    return True


def hide_self() -> None:
    """Keep the rest of the sandbox from looking into this process or tracing it."""
    _libc().prctl(4, 0, 0, 0, 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
