"""What a verification tells its owner to look at, as it stands in the evidence; what deserves a look is worth_a_look's."""

from __future__ import annotations

from typing import Final

from interlock.core.job.evidence import Evidence

RUN: Final = "what to look at"
"""The name of this judgement among the checks."""


def to_look_at(evidence: Evidence) -> tuple[str, ...]:
    """What of a job's evidence an owner should look at."""
    return tuple(note for verdict in evidence.verdicts if verdict.run.run == RUN for note in verdict.notes)
