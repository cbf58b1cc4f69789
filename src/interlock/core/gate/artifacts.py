"""Whether a required artifact is there and of this work, decided from its bytes; reading and looking at them is the adapters' work."""

from __future__ import annotations

from interlock.core.job.evidence import CheckRun, Verdict


def judge_artifact(path: str, data: bytes | None, *, before: bytes | None = None, fault: str = "") -> Verdict:
    """Refused (rule ``artifact``) when the work does not bring the file, brings an empty one, or brings the base's bytes.

    ``before`` are its bytes on the base; ``fault`` says why it is not what its kind promises, such as a blank picture.
    """
    run = CheckRun(run=f"artifact {path}", exit_code=None, seconds=0.0, log="", tail="")
    if data is None:
        state = "is not among the files that the work brought"
    elif not data:
        state = "is empty"
    elif data == before:
        state = "has the same bytes as on the base, so it does not show this work"
    elif fault:
        state = fault
    else:
        return Verdict(run=run, state="passed")
    return Verdict(run=run, state="refused", rule="artifact", what=f"The required artifact {path} {state}.")
