"""Evidence: what a check did on one exact commit, and the proof token that it sufficed; running checks is adapters' work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from interlock.core.job.surface import Surface

CaseState = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
CheckState = Literal["passed", "refused", "accepted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """A JUnit report, counted by test identity and not from its header; ``note`` names a mismatch, if any."""

    __test__ = False

    cases: Mapping[str, CaseState]
    note: str = ""

    def count(self, *states: CaseState) -> int:
        return sum(1 for state in self.cases.values() if state in states)

    @property
    def ran(self) -> int:
        """Tests that were executed, whatever came out."""
        return self.count("passed", "failed", "error", "xfailed", "xpassed")

    def counts(self) -> dict[str, int]:
        return {
            "run": self.ran,
            "passed": self.count("passed", "xpassed"),
            "failed": self.count("failed", "error"),
            "skipped": self.count("skipped", "xfailed"),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """What happened when one check ran once, before any judgement.

    ``exit_code`` is None when the check did not end by itself; ``report`` is None when none was expected,
    ``report_fault`` says why an expected one could not be used (a rule id, then a sentence); ``leftovers`` are processes that it left behind
    and that were ended; ``log`` is a path relative to the job record.  ``argv`` is what was really started, ``started`` and ``ended``
    are seconds since the epoch, ``log_digest`` and ``report_digest`` SHA-256 of the bytes that were kept, and ``environment``
    a digest of the values and walls around it.  ``owner`` is the job record that the files lie in: a run may be taken over by others.  ``surface`` is what it showed beside tests; ``reports`` are the copies that were
    kept beside the log, with the SHA-256 of each, of which ``report_digest`` is made.
    """

    run: str
    exit_code: int | None
    seconds: float
    log: str
    tail: str
    expected_report: bool = False
    report: TestReport | None = None
    report_fault: tuple[str, str] | None = None
    timed_out: bool = False
    leftovers: tuple[str, ...] = ()
    cached: bool = False
    argv: tuple[str, ...] = ()
    started: float = 0.0
    ended: float = 0.0
    log_digest: str = ""
    report_digest: str = ""
    environment: str = ""
    owner: str = ""
    surface: Surface | None = None
    reports: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One objection to a run: the rule, what was found, and the tests or files that it is about."""

    rule: str
    what: str
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement on one check run; ``rule`` and ``what`` are None and empty when it passed.

    ``tests`` are the tests that the rule is about; ``accepted``: it was refused, and a person let exactly that go.
    ``also`` are further findings, which count once the first is accepted; ``flaky`` are tests that failed and then
    passed on this very tree, ``reruns`` the runs that showed it, and ``notes`` what a reader must know besides.
    """

    run: CheckRun
    state: CheckState
    rule: str | None = None
    what: str = ""
    tests: tuple[str, ...] = ()
    also: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    reruns: tuple[CheckRun, ...] = ()

    def as_json(self) -> dict[str, Any]:
        report = self.run.report
        return {
            "run": self.run.run,
            "state": self.state,
            "rule": self.rule,
            "what": self.what,
            "exit_code": self.run.exit_code,
            "tests": report.counts() if report else None,
            "named": list(self.tests),
            "flaky": list(self.flaky),
            "note": " ".join(filter(None, (report.note if report else "", *self.notes))),
            "seconds": round(self.run.seconds, 3),
            "log": self.run.log,
            "tail": self.run.tail,
            "leftovers": list(self.run.leftovers),
            "cached": self.run.cached,
            "measured": self.run.surface.as_json() if self.run.surface else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Verdicts on one exact commit, bound to the card and policy they were asked by.

    ``place`` says where the checks ran (a fresh tree or the task's own); ``level`` the isolation in force, and
    ``same_user`` that an agent of the same user could have tampered with it.  ``grafted`` are files that the checks found as
    the base has them, although the commit has others: what is protected judges as it stands there.
    """

    subject: str
    attempt: int
    commit: str
    tree: str
    base: str
    card_oid: str
    policy_digest: str
    place: Literal["fresh", "task"]
    level: str
    same_user: bool
    verdicts: tuple[Verdict, ...]
    waived: Mapping[str, str] = field(default_factory=dict)
    base_tree: str = ""
    grafted: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True when there is at least one verdict and each passed, or what it found was accepted by a named person."""
        return bool(self.verdicts) and all(verdict.state != "refused" for verdict in self.verdicts)
