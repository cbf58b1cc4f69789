"""What every sandbox sees of this machine: its programs, the harmless part of /etc, and small files of ours instead of the rest."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from interlock.core.sandbox import HOME
from interlock.host.sandbox.identity import group_of

_ROOTS: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_FOLDERS: Final = ("alternatives", "fonts", "ssl/certs", "pki/ca-trust", "pki/tls/certs")
"""Folders of /etc that are shown: keys beside certificates (ssl/private) stay out, as does all else of services."""

_FOLDERS_OF: Final = ("java-*", "php")
_FILES: Final = (
    "ld.so.cache",
    "localtime",
    "timezone",
    "mime.types",
    "protocols",
    "services",
    "ssl/openssl.cnf",
    "ssl/cert.pem",
    "pki/tls/cert.pem",
)
"""Small files of /etc that are copied, since each mount costs 0.3 ms.  Files that may hold a token (npmrc) are not in it."""

_MOST_BYTES: Final = 1 << 20


@lru_cache(maxsize=1)
def roots() -> tuple[tuple[str, str | None], ...]:
    """The folders that hold this machine's programs, each with the link's text, or None where it is a folder."""
    found: list[tuple[str, str | None]] = [("/usr", None)]
    for name in _ROOTS:
        path = Path(name)
        if path.is_symlink():
            found.append((name, str(path.readlink())))
        elif path.is_dir():
            found.append((name, None))
    return tuple(found)


@lru_cache(maxsize=1)
def etc() -> tuple[str, ...]:
    """The folders of /etc that are shown as they are here."""
    folder = Path("/etc")
    named = [folder / name for name in _FOLDERS] + [path for text in _FOLDERS_OF for path in sorted(folder.glob(text))]
    return tuple(str(path) for path in named if path.is_dir())


@lru_cache(maxsize=1)
def _copied() -> dict[str, bytes]:
    found = {}
    for name in _FILES:
        path = Path("/etc", name)
        try:
            if path.stat().st_size <= _MOST_BYTES:
                found[str(path)] = path.read_bytes()
        except OSError:
            continue
    return found


def written(uid: int) -> dict[str, bytes]:
    """Files by their path inside, for a task that runs as this user: copies of this machine's, and ours."""
    group = group_of(uid)
    return {
        **_copied(),
        "/etc/passwd": (
            "root:x:0:0:root:/root:/usr/sbin/nologin\n"
            f"agent:x:{uid}:{group}:agent:{HOME}:/bin/bash\n"
            "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        ).encode(),
        "/etc/group": f"root:x:0:\nagent:x:{group}:\nnogroup:x:65534:\n".encode(),
        "/etc/hostname": b"interlock\n",
        "/etc/hosts": b"127.0.0.1 localhost interlock\n::1 localhost ip6-localhost\n",
        # There is no resolver inside: names are looked up by the proxy.  So a look-up fails at once, not after a wait.
        "/etc/resolv.conf": b"nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
        "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n",
        # The tree may be of another owner, and it is the one tree that git is used in.
        "/etc/gitconfig": b"[safe]\n\tdirectory = *\n",
    }


def is_shown(path: str) -> bool:
    """Whether a path is among the programs that every sandbox sees."""
    return any(path == root or path.startswith(f"{root}/") for root, _ in roots())
