"""What init proposes for a repository, decided from its files and remote; writing is the command's work, and it never commits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from interlock.app.base import CAPS_FILE, POLICY_FILE
from interlock.app.forge_files import to_require, workflow
from interlock.app.init_checkers import checkers, proposed
from interlock.core.contract.policy import Policy
from interlock.core.gate.branch_rules import WORKFLOW
from interlock.core.gate.codeowners import PLACES, entries, is_owner, missing
from interlock.core.problems import BadInput, Misuse
from interlock.ports.contract import ContractFiles
from interlock.ports.repository import Repo

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
    """What the file list says about the repository: the full check, folders that are caches, who installs from where.

    ``absent`` is the program of the check that a task would not find on this machine.
    """

    check: str | None
    caches: tuple[str, ...]
    because: str
    installer: str | None = None
    hosts: tuple[str, ...] = ()
    absent: str | None = None


_PYTEST: Final = "python -m pytest -q"
_PYTHON: Final = ("python", "python3")  # Debian and others have the second alone

# (a file at the top, the full check it stands for, folders its tools fill)
_KINDS: Final = (
    ("uv.lock", "uv run pytest -q", (".venv/**",)),
    ("pytest.ini", _PYTEST, (".venv/**",)),
    ("pyproject.toml", _PYTEST, (".venv/**",)),
    ("setup.py", _PYTEST, (".venv/**",)),
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


def detect(files: frozenset[str], finds: Callable[[str], bool] = lambda _: True) -> Found:
    """The first kind of project whose file stands at the top, and the first lock file.

    ``finds`` tells whether a task finds a program on its PATH; of Python the name is taken that it finds.
    """
    installer, hosts = next(((use, hosts) for name, use, hosts in _INSTALLERS if name in files), (None, ()))
    for name, check, caches in _KINDS:
        if name in files:
            program, _, rest = check.partition(" ")
            if program in _PYTHON:
                program = next(filter(finds, _PYTHON), program)
            return Found(
                check=f"{program} {rest}",
                caches=caches,
                because=name,
                installer=installer,
                hosts=hosts,
                absent=None if finds(program) else program,
            )
    return Found(check=None, caches=(), because="", installer=installer, hosts=hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What init offers: files to write (path → text), lines for a file that stands already, what to set on the forge.

    ``absent`` is the program of the full check that no task would find on this machine.
    """

    top: Path
    files: Mapping[str, str]
    check: str | None
    forge: str = "none"
    add: Mapping[str, Sequence[str]] = field(default_factory=dict)
    require: Sequence[str] = ()
    absent: str | None = None


def propose(
    repo: Repo,
    reader: ContractFiles,
    *,
    finds: Callable[[str], bool],
    forge: str = "auto",
    owners: Sequence[str] = (),
    install: str | None = None,
) -> Proposal:
    """All that is missing in the repository around ``repo``; nothing that is there is touched.

    ``finds`` tells whether a task of this machine finds a program on its PATH.
    Raises Misuse for an owner that no forge would take, BadInput where the rules that stand there cannot be read.
    """
    top = repo.at_hand
    standing = _standing(top, reader)
    found = detect(frozenset(path.name for path in top.iterdir()), finds)
    wanted = {POLICY_FILE: _policy(found, proposed(checkers(top), finds)), CAPS_FILE: CAPS}
    use = _forge(repo, top) if forge == "auto" else forge
    wrong = [owner for owner in owners if not is_owner(owner)]
    if wrong:
        raise Misuse(
            f"{wrong[0] or 'An empty text'} is not an owner that a forge knows.",
            hint="interlock init --owner @ana --owner @team/leads",
        )
    add: dict[str, Sequence[str]] = {}
    if use == "github":
        wanted[WORKFLOW] = workflow(install)
        if owners:
            wanted |= _code_owners(top, standing.protected_paths, owners, add)
    files = {path: text for path, text in wanted.items() if not (top / path).exists()}
    require = to_require(owners, "the default branch") if use == "github" and (files or add or owners) else ()
    absent = found.absent if POLICY_FILE in files else None
    return Proposal(top=top, files=files, check=found.check, forge=use, add=add, require=require, absent=absent)


def _forge(repo: Repo, top: Path) -> str:
    """GitHub where the remote is there, or the folder has its settings."""
    host = (repo.remote_url or "").partition("github.com")
    return "github" if host[1] or (top / ".github").is_dir() else "none"


def _standing(top: Path, reader: ContractFiles) -> Policy:
    """The policy that stands there, or the defaults.  Raises BadInput where it, or the caps beside it, cannot be read."""
    texts = {path: (top / path).read_bytes() for path in (POLICY_FILE, CAPS_FILE) if (top / path).is_file()}
    policy, problems = (
        reader.policy(texts.get(POLICY_FILE, b""), POLICY_FILE) if POLICY_FILE in texts else (Policy(), ())
    )
    if CAPS_FILE in texts:
        problems = (*problems, *reader.caps(texts[CAPS_FILE], CAPS_FILE)[1])
    if problems:
        raise BadInput(problems)
    return policy


def _code_owners(
    top: Path, protected: Sequence[str], owners: Sequence[str], add: dict[str, Sequence[str]]
) -> dict[str, str]:
    """A new file, or the lines that the one that stands lacks: it is never overwritten."""
    there = next((place for place in PLACES if (top / place).is_file()), None)
    wanted = entries(protected, owners, file=there or PLACES[0])
    if there is None:
        return {PLACES[0]: wanted}
    if lacking := missing((top / there).read_text(encoding="utf-8", errors="replace"), wanted):
        add[there] = lacking
    return {}


def _policy(found: Found, diagnostics: Iterable[str]) -> str:
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
        *diagnostics,
        "# agent: {use: command, command: 'my-agent --prompt-file \"$INTERLOCK_PROMPT_FILE\"'}",
        "# review_wip: 6         # ceiling over all classes together",
        "",
    ]
    return "\n".join(lines)
