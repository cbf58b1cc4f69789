"""Whether a sandbox can be had here, found out by making one, and in plain words what would have to change; no policy."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from interlock.core.problems import Refused
from interlock.core.sandbox import Layers, Sandbox
from interlock.host.sandbox import bwrap, command, identity, landlock, own_tools, seccomp

_SECONDS: Final = 10.0
_INSIDE: Final = (
    "import os, sys; sys.path.append(sys.argv[1]); import interlock.host.keeper; open('/ws/probe', 'w').close()"
)

_NO_OVERLAY: Final = (
    "Trees are copied instead. For layers use Linux 5.11 or later, with the tasks' folder on ext4, xfs or btrfs."
)
_CLONE: Final = "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1."
_NONE_ALLOWED: Final = "Allow user namespaces: sysctl user.max_user_namespaces=15000."
_APPARMOR: Final = (
    "AppArmor leaves user namespaces to programs with a profile (Ubuntu 24.04). Give bubblewrap one, in a file below "
    "/etc/apparmor.d: abi <abi/4.0>, include <tunables/global> profile interlock-bwrap {} flags=(unconfined) "
    "{{ userns, }}; then apparmor_parser -r that file. Or set sysctl kernel.apparmor_restrict_unprivileged_userns=0."
)
_NOT_MAPPED: Final = (
    f"The user that agents run as is not there in this container: map it, or set {identity.USER} to one that is."
)
_NO_FILTER: Final = "Use an x86_64 or aarch64 machine: without the filter a task reaches keys and sockets outside."
_UNREADABLE: Final = "Let the user that agents run as read Interlock's own files, and the Python that runs it."
_CONTAINER: Final = (
    "This looks like a container that allows no namespaces: start it with --security-opt seccomp=unconfined "
    "--security-opt systempaths=unconfined (Docker), or run Interlock on the machine itself."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What was found: ``ok`` when a sandbox can be made, else ``why`` not, in the program's words, and the ``fix``.

    ``overlay``: a tree may be layers.  ``landlock``: the kernel's version, 0 without.  ``seccomp``: calls are
    filtered.
    """

    ok: bool
    why: str = ""
    fix: str = ""
    bwrap: str = ""
    overlay: bool = False
    landlock: int = 0
    seccomp: bool = False


@lru_cache(maxsize=4)
def probe(user: int | None) -> Probe:
    """Make a sandbox as this user (None: as ourselves), once a process; takes about 30 ms.

    Never raises: what goes wrong is the answer.
    """
    if sys.platform != "linux":
        return Probe(ok=False, why=f"Sandboxes need Linux, and this is {sys.platform}.", fix="Use a Linux machine.")
    with tempfile.TemporaryDirectory(prefix="interlock-") as folder:
        root = Path(folder)
        for name in ("home", "lower", "both/up", "both/work"):
            (root / name).mkdir(parents=True)
        identity.own(root, user)
        whole = _try(_layered(root, user))
        plain = whole if whole is None else _try(Sandbox(home=str(root / "home"), tree=str(root / "lower"), user=user))
    program = bwrap.find(overlay=whole is None) or bwrap.find()
    if plain is None and seccomp.program() is None:
        plain = f"The system calls of {os.uname().machine} are not known, so none can be refused.", _NO_FILTER
    if plain is not None:
        why, fix = plain
        return Probe(ok=False, why=why, fix=fix, bwrap=str(program or ""))
    return Probe(
        ok=True,
        why=whole[0] if whole else "",
        fix=whole[1] if whole else "",
        bwrap=str(program),
        overlay=whole is None,
        landlock=landlock.version(),
        seccomp=True,
    )


def _layered(root: Path, user: int | None) -> Sandbox:
    both = root / "both"
    layers = Layers(lower=(str(root / "lower"),), upper=str(both / "up"), work=str(both / "work"))
    return Sandbox(home=str(root / "home"), layers=layers, user=user)


def _try(sandbox: Sandbox) -> tuple[str, str] | None:
    """None when it works, else why not and the fix."""
    try:
        with command.walls(sandbox) as walls:
            done = subprocess.run(
                [*walls.words, own_tools.python().path, "-I", "-S", "-c", _INSIDE, own_tools.LIB],
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                pass_fds=walls.descriptors,
                timeout=_SECONDS,
                check=False,
            )
    except Refused as refused:
        return f"{refused.refusal.what} {refused.refusal.why}", refused.refusal.would_change
    except (OSError, subprocess.TimeoutExpired) as fault:
        return str(fault), "See to that program."
    if done.returncode == 0:
        return None
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    why = said[-1] if said else f"It ended with {done.returncode}."
    return why, fix_for(why)


def fix_for(why: str, sysctl: Path = Path("/proc/sys")) -> str:
    """What to do about bubblewrap's last words, from what the kernel is set to."""
    said = why.lower()
    fixes = (
        ("overlay" in said, _NO_OVERLAY),
        (_number(sysctl / "kernel/unprivileged_userns_clone") == 0, _CLONE),
        (_number(sysctl / "user/max_user_namespaces") == 0, _NONE_ALLOWED),
        (
            _number(sysctl / "kernel/apparmor_restrict_unprivileged_userns") == 1,
            _APPARMOR.format(bwrap.find() or "PATH"),
        ),
        (said.startswith("setpriv") or ("invalid argument" in said and os.geteuid() == 0), _NOT_MAPPED),
        ("seccomp" in said, "Use a kernel with CONFIG_SECCOMP_FILTER."),
        ("error: " in said and "python" not in said, _UNREADABLE),
        ("namespace" in said or "not permitted" in said or "proc" in said, _CONTAINER),
    )
    return next((fix for holds, fix in fixes if holds), "See to what bubblewrap says; interlock doctor tries it again.")


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
