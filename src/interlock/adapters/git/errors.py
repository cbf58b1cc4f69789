"""What can go wrong with git, in the one vocabulary of errors; raising it is the other modules' work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from interlock.core.problems import InterlockError, Misuse, Refusal, Refused, refused

LINES = 5
_NETWORK = frozenset({"ls-remote", "fetch", "push"})
_LOCKS = ("cannot lock ref", "unable to update local ref", ".lock': File exists", "it did not end within")
_MENDED_BY_A_PERSON = (
    *("Permission denied", "Authentication failed", "could not read Username", "could not read Password"),
    *("Host key verification failed", "SSL certificate problem", "error: 401", "error: 403", "epository not found"),
)
"""What a remote says that was reached, and does not let this user in."""


class GitFailed(InterlockError):
    """A git command failed: the command as a person would type it, its exit code, and its last lines."""

    code = "git"

    def __init__(self, argv: Sequence[str], code: int | None, text: str, *, hint: str = "") -> None:
        said = " ".join(line.strip() for line in text.strip().splitlines()[-LINES:])
        how = said or f"exit code {code}"
        super().__init__(f"{' '.join(argv[:2])} failed: {how.rstrip('.')}.", hint=hint)
        self.argv = tuple(argv)
        self.returncode = code
        self.text = text

    @property
    def passing(self) -> bool:
        """A remote that cannot be reached, a lock, a deadline; not one that turned this user away."""
        if any(sign in self.text for sign in _LOCKS):
            return True
        asked = any(word in _NETWORK for word in self.argv)
        return asked and not any(sign in self.text for sign in _MENDED_BY_A_PERSON)


class SigningTimeout(InterlockError):
    """The signing program did not answer before its deadline; it was ended with its process group."""

    code = "signing"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"Signing did not answer within {seconds:g} s, and no one can be asked for a passphrase here.",
            hint="Unlock the key first (gpg-agent or ssh-agent), or set sign_commits: false in interlock.yaml.",
        )


class UnknownBase(Refused):
    """The default branch cannot be told, so nothing is compared with it and nothing starts from it."""

    def __init__(self, what: str, would_change: str, *, why: str = "") -> None:
        why = why or "A guessed base could be the task's own branch, and then everything would count as merged."
        super().__init__(Refusal(rule="unknown-base", what=what, why=why, would_change=would_change))


class UnknownRef(Misuse):
    """A ref or commit that was named does not exist in this repository."""

    code = "unknown-ref"

    def __init__(self, ref: str) -> None:
        task = f"The branch of a task is agent/{ref}; see" if ref.replace("-", "").isalnum() else "See"
        super().__init__(
            f"{ref!r} names no commit of this repository.", hint=f"{task} git branch --all for the names that exist."
        )


class NoMergeBase(Refused):
    """Base and head have no common ancestor here; there is no verdict, and never a comparison of two trees instead."""

    def __init__(self, base: str, head: str, *, shallow: bool) -> None:
        what = f"{head[:12]} and the base {base[:12]} have no common ancestor in this repository."
        if shallow:
            super().__init__(
                Refusal(
                    rule="shallow",
                    what=f"{what} The clone is shallow.",
                    why="Without the common ancestor the difference would hold changes of others, or miss some.",
                    would_change="Fetch the history: git fetch --unshallow, or fetch-depth: 0 in the checkout step of CI.",
                )
            )
            return
        super().__init__(
            Refusal(
                rule="no-merge-base",
                what=what,
                why="A change is judged against the commit it started from, and there is none.",
                would_change="Make the branch again from the present default branch.",
            )
        )


def locked(what: str, path: Path, holder: str, would_change: str) -> Refused:
    """The refusal for a lock that somebody else holds: the lock's path, its holder, and what would change it."""
    return refused(
        rule="locked",
        what=f"{what}: {path} is held by {holder}.",
        why="Two writers at once would damage the repository, so the lock is never broken.",
        would_change=would_change,
        holders=(holder,),
    )
