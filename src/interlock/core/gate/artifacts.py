"""Whether a required artifact is there and of this work, decided from its bytes; reading and looking at them is the adapters' work."""

from __future__ import annotations

from string import whitespace
from typing import Final

from interlock.core.job.evidence import CheckRun, Verdict

_SPACE: Final = whitespace.encode()


def is_copy(data: bytes, other: bytes) -> bool:
    """Whether two files hold the same, white space apart."""
    return data == other or data.translate(None, _SPACE) == other.translate(None, _SPACE)


def judge_artifact(path: str, data: bytes | None, *, before: bytes | None = None, fault: str = "") -> Verdict:
    """Refused (rule ``artifact``) when the work does not bring the file, brings an empty one, or brings the base's bytes.

    ``before`` are its bytes, or those of the file that it copies, on the base; ``fault`` says why it is not what its kind promises, such as a blank picture.
    """
    run = CheckRun(run=f"artifact {path}", exit_code=None, seconds=0.0, log="", tail="")
    if data is None:
        state = "is not among the files that the work brought"
    elif not data.strip():
        state = "is empty"
    elif before is not None and is_copy(data, before):
        state = "holds only what a file of the base holds, so it does not show this work"
    elif fault:
        state = fault
    else:
        return Verdict(run=run, state="passed")
    return Verdict(run=run, state="refused", rule="artifact", what=f"The required artifact {path} {state}.")
