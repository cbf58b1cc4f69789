"""Whether a required artifact is there, decided from its bytes in the commit; reading them is git's work."""

from __future__ import annotations

from interlock.core.job.evidence import CheckRun, Verdict


def judge_artifact(path: str, data: bytes | None) -> Verdict:
    """Refused (rule ``artifact``) when the commit does not hold the file, or holds an empty one."""
    run = CheckRun(run=f"artifact {path}", exit_code=None, seconds=0.0, log="", tail="")
    if data:
        return Verdict(run=run, state="passed")
    state = "is empty" if data is not None else "is not among the files that the work brought"
    return Verdict(run=run, state="refused", rule="artifact", what=f"The required artifact {path} {state}.")
