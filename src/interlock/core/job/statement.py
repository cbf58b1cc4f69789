"""Evidence as an in-toto Statement that can be signed, and what of a signed one disagrees with a row; signing is an adapter's.

The predicate has the fields of ``test-result/v0.1`` and, below ``interlock``, what that has no place for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from interlock.core.job.chain import Filed, canonical, sha256
from interlock.core.job.evidence import CheckRun, Evidence, Verdict

TYPE: Final = "https://in-toto.io/Statement/v1"
TEST_RESULT: Final = "https://in-toto.io/attestation/test-result/v0.1"
CHECKPOINT: Final = "urn:interlock:checkpoint:v1"
"""The predicate of a checkpoint: how far a history went, and its digest there."""

CACHED_RUN: Final = "urn:interlock:cached-run:v1"
"""The predicate of a run of a check that is kept to be taken over: its key and the run's document."""

VERSION: Final = 1
MOST_NAMED: Final = 2000
"""Up to so many tests are named one by one; of more, the counts stand and ``record`` covers the names."""

IDENTITY: Final = ("subject", "interlock.subject", "interlock.number")
"""Fields that say what the evidence is of: where one differs, it is another evidence and not a changed one."""


def statement(evidence: Evidence, *, number: int, at: float, record: str, runner: str = "") -> dict[str, Any]:
    """The statement about one row of evidence.

    ``number`` and ``at`` are the row's, ``record`` the SHA-256 of its document as canonical JSON, ``runner`` names
    the machine that signs.  Times are RFC 3339 in UTC, null where none was taken; digests are hexadecimal, null
    where none was made.
    """
    return {
        "_type": TYPE,
        "subject": [
            {"name": evidence.subject, "digest": {"gitCommit": evidence.commit, "gitTree": evidence.tree}},
        ],
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": _result(evidence),
            "configuration": _configuration(evidence),
            **_tests(evidence.verdicts),
            "interlock": {
                "version": VERSION,
                "number": number,
                "at": rfc3339(at),
                "subject": evidence.subject,
                "attempt": evidence.attempt,
                "runner": runner,
                "base": {"gitCommit": evidence.base or None, "gitTree": evidence.base_tree or None},
                "policy": evidence.policy_digest or None,
                "card": evidence.card_oid or None,
                "place": evidence.place,
                "level": evidence.level,
                "same_user": evidence.same_user,
                "waived": dict(evidence.waived),
                "grafted": list(evidence.grafted),
                "checks": [_check(verdict) for verdict in evidence.verdicts],
                "record": record,
            },
        },
    }


def checkpoint(
    *, history: str, seq: int, digest: str, evidence: int, landings: int, at: float, sealed: int | None = None
) -> dict[str, Any]:
    """The statement that a history has ``seq`` events, the last with this digest, and so many rows of the other kinds.

    ``sealed`` is the event from which on events are signed.
    """
    since = {} if sealed is None else {"sealed": sealed}
    return {
        "_type": TYPE,
        "subject": [{"name": "history", "digest": {"sha256": digest}}],
        "predicateType": CHECKPOINT,
        "predicate": {
            "history": history,
            "seq": seq,
            "evidence": evidence,
            "landings": landings,
            "at": rfc3339(at),
            **since,
        },
    }


def cached_run(key: str, doc: Mapping[str, Any]) -> dict[str, Any]:
    """The statement that the run with this document was kept under a key."""
    digest = {"sha256": sha256(canonical(doc))}
    return {
        "_type": TYPE,
        "subject": [{"name": key, "digest": digest}],
        "predicateType": CACHED_RUN,
        "predicate": {"key": key, "run": doc},
    }


def cached_run_of(signed: Any, key: str) -> Mapping[str, Any] | None:
    """The document of the run that a signed statement keeps under exactly this key; None for any other statement."""
    if not isinstance(signed, Mapping) or not isinstance(predicate := signed.get("predicate"), Mapping):
        return None
    doc = predicate.get("run")
    return doc if isinstance(doc, Mapping) and signed == cached_run(key, doc) else None


def differs(signed: Mapping[str, Any], evidence: Evidence, *, number: int, at: float, record: str) -> tuple[str, ...]:
    """Fields of a signed statement that a row does not agree with, by their path; none where it is what was signed.

    A field that the statement does not have is not asked for: it is younger than the signature, and what the row
    says there is covered by ``record``.
    """
    predicate = signed.get("predicate")
    ours = predicate.get("interlock") if isinstance(predicate, Mapping) else None
    if signed.get("_type") != TYPE or signed.get("predicateType") != TEST_RESULT or not isinstance(ours, Mapping):
        return ("predicateType",)
    runner = ours.get("runner")
    wanted = statement(evidence, number=number, at=at, record=record, runner=runner if isinstance(runner, str) else "")
    return tuple(dict.fromkeys(_unequal(signed, wanted, "")))


def columns_differ(signed: Mapping[str, Any], row: Filed, record: str) -> tuple[str, ...]:
    """Fields of a signed statement that the columns of a row do not agree with: what it is of, and its document's digest."""
    try:
        (subject,) = signed["subject"]
        ours = signed["predicate"]["interlock"]
        found = {
            "subject[0].name": subject["name"] == row.subject,
            "subject[0].digest.gitCommit": subject["digest"]["gitCommit"] == row.commit,
            "subject[0].digest.gitTree": subject["digest"]["gitTree"] == row.tree,
            "interlock.number": ours["number"] == row.number,
            "interlock.at": ours["at"] == rfc3339(row.at),
            "interlock.record": ours["record"] == record,
        }
    except (LookupError, TypeError, ValueError):
        return ("predicateType",)
    return tuple(name for name, equal in found.items() if not equal)


def is_of_another(fields: tuple[str, ...]) -> bool:
    """Whether fields that differ say that the statement is about something else than the row it stands in."""
    return any(field.startswith(IDENTITY) for field in fields)


def rfc3339(at: float) -> str | None:
    """Seconds since the epoch as a time of RFC 3339 in UTC, to the microsecond; None for 0, which stands for no time."""
    if not at:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _result(evidence: Evidence) -> str:
    if not evidence.passed:
        return "FAILED"
    return "WARNED" if any(verdict.state == "accepted" for verdict in evidence.verdicts) else "PASSED"


def _configuration(evidence: Evidence) -> list[dict[str, Any]]:
    named = {
        "policy": ("sha256", evidence.policy_digest),
        "card": ("gitBlob", evidence.card_oid),
        "base": ("gitCommit", evidence.base),
    }
    return [{"name": name, "digest": {kind: value}} for name, (kind, value) in named.items() if value]


def _tests(verdicts: tuple[Verdict, ...]) -> dict[str, list[str]]:
    """The tests by outcome; a check without a report stands for itself, by its command."""
    passed: set[str] = set()
    failed: set[str] = set()
    warned: set[str] = set()
    for verdict in verdicts:
        report = verdict.run.report
        if report is None:
            {"passed": passed, "accepted": warned}.get(verdict.state, failed).add(verdict.run.run)
            continue
        for case, state in report.cases.items():
            if state in ("failed", "error"):
                failed.add(case)
            elif state in ("passed", "xpassed"):
                passed.add(case)
        (warned if verdict.state == "accepted" else failed).update(verdict.tests if verdict.rule else ())
    passed -= failed | warned
    named = {"passedTests": passed, "warnedTests": warned - failed, "failedTests": failed}
    if sum(map(len, named.values())) > MOST_NAMED:
        named["passedTests"] = set()
    return {name: sorted(tests) for name, tests in named.items() if len(tests) <= MOST_NAMED}


def _check(verdict: Verdict) -> dict[str, Any]:
    run = verdict.run
    return {
        "run": run.run,
        "argv": list(run.argv) or None,
        "state": verdict.state,
        "rule": verdict.rule,
        "exit_code": run.exit_code,
        "started": rfc3339(run.started),
        "ended": rfc3339(run.ended),
        "counts": _counts(run),
        "log": {"path": run.log, "sha256": run.log_digest or None},
        "report": {"sha256": run.report_digest or None, "files": dict(run.reports)},
        "environment": run.environment or None,
        "cached": run.cached,
        "flaky": list(verdict.flaky),
    }


def _counts(run: CheckRun) -> dict[str, int] | None:
    report = run.report
    if report is None:
        return None
    return {
        "total": len(report.cases),
        "passed": report.count("passed", "xpassed"),
        "failed": report.count("failed"),
        "errors": report.count("error"),
        "skipped": report.count("skipped", "xfailed"),
    }


def _unequal(signed: Any, wanted: Any, path: str) -> Iterator[str]:
    """Paths at which the signed value is not what is wanted; ``predicate.`` is left out of their names."""
    if isinstance(signed, Mapping) and isinstance(wanted, Mapping):
        for name, value in signed.items():
            below = f"{path}.{name}" if path else name
            if name not in wanted:
                yield below.removeprefix("predicate.")
            else:
                yield from _unequal(value, wanted[name], below)
    elif isinstance(signed, list) and isinstance(wanted, list) and len(signed) == len(wanted):
        for at, (one, other) in enumerate(zip(signed, wanted, strict=True)):
            yield from _unequal(one, other, f"{path}[{at}]")
    elif type(signed) is not type(wanted) or signed != wanted:
        yield path.removeprefix("predicate.")
