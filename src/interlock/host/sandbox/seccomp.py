"""The system calls that a task may not make, as a BPF program of our own; bubblewrap loads it, nothing here runs.

It is a list of what is refused, over namespaces and no capabilities: whatever it lets through still meets those.
Each entry has a reason: it reaches across the walls (keys, other sockets' families, time of other processes'
memory), or it opens a large part of the kernel that building and testing software does not need.

Left open on purpose: ``ptrace``, which reaches nothing but the task's own processes inside its pid namespace and
which debuggers need; Landlock's calls, by which the keeper and any tool only give rights away; ``seccomp`` itself.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Mapping
from typing import Final

# Name → numbers on x86_64 and aarch64 (None: not there).
_REFUSED: Final[Mapping[str, tuple[int | None, int | None]]] = {
    # Keys belong to a user, not to a namespace: another task of the same user would see them.
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Programs inside the kernel, and views of what it does.
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "syslog": (103, 116),
    "lookup_dcookie": (212, 18),
    # A second way to make calls, which this filter would not see; and the usual help of kernel exploits.
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    # Mounts and namespaces: with them a task could lay paths anew or get capabilities over them.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "setns": (308, 268),
    "unshare": (272, 97),
    # Opens files by number, past every path.
    "open_by_handle_at": (304, 265),
    # Other processes' memory without a trace; debuggers fall back to ptrace.
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    # The machine as a whole.
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "iopl": (172, None),
    "ioperm": (173, None),
}
_CLONE: Final = (56, 220)
_CLONE3: Final = (435, 435)
_SOCKET: Final = (41, 198)
_IOCTL: Final = (16, 29)

_NEW_NAMESPACE: Final = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET (NEWTIME needs unshare or clone3)."""

_FAMILIES: Final = (1, 2, 10, 16)
"""UNIX, INET, INET6, NETLINK.  AF_VSOCK (40) is not in it: it does not know network namespaces."""

_TERMINAL: Final = (0x5412, 0x541C)
"""TIOCSTI types into the terminal that started us, TIOCLINUX pastes there."""

_ARCHITECTURES: Final = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32: Final = 0x40000000

_LOAD, _EQUAL, _ATLEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ALLOW, _FAIL = 0x80000000, 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Places in struct seccomp_data: of an argument the low half, which is the whole of a flag word or a request."""


def program(machine: str | None = None) -> bytes | None:
    """The filter for a machine as ``uname`` names it (default: this one); None where its calls are not known here."""
    found = _ARCHITECTURES.get(machine or os.uname().machine)
    if found is None:
        return None
    column, architecture = found
    lines = [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, architecture, 1, 0), _step(_RETURN, _KILL)]
    lines.append(_step(_LOAD, _NUMBER))
    if column == 0:
        lines += [_step(_ATLEAST, _X32, 0, 1), _step(_RETURN, _KILL)]
    for numbers in _REFUSED.values():
        if (number := numbers[column]) is not None:
            lines += _when(number, [_fail(errno.EPERM)])
    # ENOSYS sends libc on to clone, whose flags can be seen; those of clone3 stand in memory.
    lines += _when(_CLONE3[column], [_fail(errno.ENOSYS)])
    allowed = _step(_RETURN, _ALLOW)
    lines += _when(
        _CLONE[column],
        [_step(_LOAD, _FIRST), _step(_AND, _NEW_NAMESPACE, 0, 1), _fail(errno.EPERM), allowed],
    )
    families = [_step(_EQUAL, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)]
    lines += _when(_SOCKET[column], [_step(_LOAD, _FIRST), *families, _fail(errno.EAFNOSUPPORT), allowed])
    requests = [_step(_EQUAL, request, len(_TERMINAL) - at, 0) for at, request in enumerate(_TERMINAL)]
    lines += _when(_IOCTL[column], [_step(_LOAD, _SECOND), *requests, allowed, _fail(errno.EPERM)])
    return b"".join([*lines, allowed])


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """One instruction (struct sock_filter): what to do, and how many to skip when it holds or does not."""
    return struct.pack("=HBBI", code, yes, no, value)


def _fail(number: int) -> bytes:
    return _step(_RETURN, _FAIL | number)


def _when(number: int, steps: list[bytes]) -> list[bytes]:
    return [_step(_EQUAL, number, 0, len(steps)), *steps]
