"""What init proposes for a repository, decided from its file list; writing the files is the command's work, and it never commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

POLICY_HEAD: Final = """\
# Interlock's policy, read from the default branch of the remote, never from a task.
# Every key has a default except the full check of the train.  Reference: interlock's docs/reference/policy.md
"""
CAPS: Final = """\
# class cap: how many jobs of a class may be in flight, from dispatch until they land or are abandoned.
vertical-slice 3
tests 2
bug-fix 2
shared-contract 1
migration 1
dependency-upgrade 1
cross-cutting 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the file list says about the repository: the full check, folders that are caches, who installs from where."""

    check: str | None
    caches: tuple[str, ...]
    because: str
    installer: str | None = None
    hosts: tuple[str, ...] = ()


# (a file at the top, the full check it stands for, folders its tools fill)
_KINDS: Final = (
    ("uv.lock", "uv run pytest -q", (".venv/**",)),
    ("pytest.ini", "python -m pytest -q", (".venv/**",)),
    ("pyproject.toml", "python -m pytest -q", (".venv/**",)),
    ("setup.py", "python -m pytest -q", (".venv/**",)),
    ("pnpm-lock.yaml", "pnpm test", ("node_modules/**",)),
    ("package.json", "npm test", ("node_modules/**",)),
    ("Cargo.toml", "cargo test", ("target/**",)),
    ("go.mod", "go test ./...", ()),
    ("Makefile", "make test", ()),
)


# (a lock file at the top, who installs from it, the hosts that it asks)
_INSTALLERS: Final = (
    ("uv.lock", "uv", ("pypi.org", "files.pythonhosted.org")),
    ("pnpm-lock.yaml", "pnpm", ("registry.npmjs.org",)),
    ("package-lock.json", "npm", ("registry.npmjs.org",)),
)


def detect(files: frozenset[str]) -> Found:
    """The first kind of project whose file stands at the top, and the first lock file."""
    installer, hosts = next(((use, hosts) for name, use, hosts in _INSTALLERS if name in files), (None, ()))
    for name, check, caches in _KINDS:
        if name in files:
            return Found(check=check, caches=caches, because=name, installer=installer, hosts=hosts)
    return Found(check=None, caches=(), because="", installer=installer, hosts=hosts)


def proposal(found: Found) -> Mapping[str, str]:
    """The files that init offers: path → text."""
    return {"interlock.yaml": _policy(found), "tasks/caps.txt": CAPS}


def _policy(found: Found) -> str:
    lines = [POLICY_HEAD, "train:"]
    if found.check:
        lines.append(
            f"  checks: [{found.check}]        # the full suite on the combined tree, found by {found.because}"
        )
    else:
        lines.append("  checks: []        # none found: the train refuses to land anything until one is set")
    lines += ["  sign_off: owner       # the integration owners approve the combined result; none to land without"]
    if found.caches:
        lines.append(
            f"caches: [{', '.join(repr(path).replace(chr(39), chr(34)) for path in found.caches)}]   # ignored files that checks may find in a task's own tree"
        )
    if found.installer:
        lines += [
            f"dependencies: [{{use: {found.installer}}}]   # installed once into the base of sealed tasks",
            f"network: [{', '.join(found.hosts)}]   # hosts that the install, and cards that name them, may reach",
        ]
    lines += [
        "# agent: {use: command, command: 'my-agent --prompt-file \"$INTERLOCK_PROMPT_FILE\"'}",
        "# review_wip: 6         # ceiling over all classes together",
        "",
    ]
    return "\n".join(lines)
