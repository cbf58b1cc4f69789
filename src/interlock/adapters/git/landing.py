"""Moving branches of the remote from an expected commit to a tested one, and only forward; deciding to is the train's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.mirror import TRACKED, Mirror
from interlock.adapters.git.plumbing import GitDir
from interlock.core.problems import refused
from interlock.ports.repository import Base, Landing

_NET = 600.0
Follows = Callable[[str, str], bool]
"""Whether the second commit holds the first."""


def push(mirror: Mirror, branch: str, oid: str, expected: str | None, follows: Follows) -> Landing:
    """Move a branch of the remote from ``expected`` (None: it must not exist) to a commit that follows it.

    Asking again after a kill finds the commit on the remote and answers ``landed``.  Raises Refused (no-remote,
    tree-mismatch for a commit that does not follow the expected one) and GitFailed when the remote cannot be asked.
    """
    _must_have_remote(mirror)
    git = mirror.git
    _must_move_forward(mirror, branch, oid, expected, follows)
    ref = f"{BRANCHES}{branch}"
    # The lease is the expected value, checked by the remote in the same step; what it may replace was decided above.
    args = ["push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no"]
    args += [f"--force-with-lease={ref}:{expected or ''}", "origin", f"{oid}:{ref}"]
    try:
        done = git.run(*args, seconds=_NET, ok=(0, 1))
    except GitFailed as fault:
        return _after(mirror, ref, oid, expected, str(fault.text or fault.message), certain=False)
    if done.code == 0:
        _note(git, branch, oid)
        return Landing(state="landed", oid=oid)
    return _after(mirror, ref, oid, expected, _words(done.text, done.error), certain=True)


def land(mirror: Mirror, base: Base, oid: str, follows: Follows) -> Landing:
    """Move the default branch of the remote from base.oid to oid, and only from there; see push.

    What the remote then says that it has is looked at once more: ``otherwise`` when the commit is not part of its branch,
    since a hook or a program behind the remote put something else there.
    """
    answer = push(mirror, base.branch, oid, base.oid, follows)
    if answer.state != "landed":
        return answer
    stands = _stands(mirror, f"{BRANCHES}{base.branch}")
    if stands is None or stands == oid or (stands and _contains(mirror.git, f"{BRANCHES}{base.branch}", oid, stands)):
        return answer
    return Landing(state="otherwise", oid=stands, message=f"{base.branch} stands on {stands[:12] or 'nothing'}.")


def stand(mirror: Mirror, branches: Sequence[str]) -> dict[str, str]:
    """Where branches of the remote stand at this moment; one that is not there is left out.  Raises GitFailed."""
    refs = [f"{BRANCHES}{branch}" for branch in branches]
    lines = mirror.git.text("ls-remote", "origin", *refs, seconds=_NET).splitlines()
    found = {ref: oid for oid, _, ref in (line.partition("\t") for line in lines)}
    return {branch: found[ref] for branch, ref in zip(branches, refs, strict=True) if ref in found}


def _stands(mirror: Mirror, ref: str) -> str | None:
    """The commit of a branch of the remote, empty when there is none; None when the remote cannot be asked now."""
    try:
        return mirror.git.text("ls-remote", "origin", ref, seconds=_NET).split("\t")[0]
    except GitFailed:
        return None


def _must_move_forward(mirror: Mirror, branch: str, oid: str, expected: str | None, follows: Follows) -> None:
    """Refuse to take anything off a branch.

    Only a task's own branch may be replaced, since each attempt is one commit on the base (ADR 0004); what stood
    there stays reachable in the mirror.
    """
    git = mirror.git
    if expected is None or follows(expected, oid):
        return
    if branch.startswith("agent/"):
        ref = f"refs/interlock/replaced/{branch}/{expected}"
        if ref not in git.refs(ref):
            git.move(ref, expected, None, why="replaced by a later attempt")
        return
    raise refused(
        "tree-mismatch",
        f"{oid[:12]} does not follow {expected[:12]}, so {branch} is not moved to it.",
        "The branch only moves forward; nothing that stands on it is taken away.",
        "Build the commit again on the present branch.",
    )


def _after(mirror: Mirror, ref: str, oid: str, expected: str | None, words: str, *, certain: bool) -> Landing:
    """What became of a push that did not simply succeed, decided by looking at the remote and not by its words."""
    git = mirror.git
    listed = git.text("ls-remote", "origin", ref, seconds=_NET)
    stands = listed.split("\t")[0] if listed else ""
    if stands == oid or (stands and _contains(git, ref, oid, stands)):
        _note(git, ref.removeprefix(BRANCHES), stands)
        return Landing(state="landed", oid=oid)
    if stands != (expected or ""):
        return Landing(state="moved", oid=stands, message=words)
    if not certain:
        raise GitFailed(["git", "push"], None, words)
    return Landing(state="rejected", oid=stands, message=words)


def _contains(git: GitDir, ref: str, oid: str, stands: str) -> bool:
    """True when the commit is part of the remote's branch: it landed, and somebody landed on top of it since."""
    git.run("fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "origin", ref, seconds=_NET)
    return git.run("merge-base", "--is-ancestor", oid, stands, ok=(0, 1, 128)).code == 0


def _note(git: GitDir, branch: str, oid: str) -> None:
    """Remember where the remote's branch stands, as a fetch would."""
    git.run("update-ref", "-m", "interlock: pushed", f"{TRACKED}{branch}", oid)


def _words(status: str, error: str) -> str:
    """What the remote said: the reason git gives for the ref, and the remote's own lines."""
    reasons = [line.split("\t")[-1] for line in status.splitlines() if line.startswith("!")]
    remote = [line.removeprefix("remote:").strip() for line in error.splitlines() if line.startswith("remote:")]
    return "\n".join([*reasons, *(line for line in remote if line)]) or error


def _must_have_remote(mirror: Mirror) -> None:
    if mirror.remote().name is None:
        raise refused(
            "no-remote",
            "There is no remote to land on.",
            "The default branch is moved on the remote, never under somebody's checkout.",
            "Add one: git remote add origin URL, then git push origin BRANCH.",
        )
