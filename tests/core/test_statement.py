"""Evidence as a statement that is signed: what it says, that every change of a row shows, and the chain around it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.job.chain import FIRST, Filed, Linked, breaks, canonical, digest_of, sha256
from interlock.core.job.events import Event
from interlock.core.job.evidence import CheckRun, Evidence, TestReport, Verdict
from interlock.core.job.statement import MOST_NAMED, TEST_RESULT, TYPE, differs, is_of_another, rfc3339, statement
from interlock.core.job.trust import doubt, signed_as
from interlock.core.problems import Refusal, Refused
from interlock.core.rules import RULES

RUN = CheckRun(
    run="pytest -q",
    exit_code=0,
    seconds=1.5,
    log="checks/k.log",
    tail="ok",
    expected_report=True,
    report=TestReport(cases={"t::a": "passed", "t::b": "skipped", "t::c": "xfailed", "t::d": "xpassed"}),
    argv=("bash", "-c", "pytest -q"),
    started=1_700_000_000.25,
    ended=1_700_000_001.75,
    log_digest="1" * 64,
    report_digest="2" * 64,
    environment="3" * 64,
)
ROW = Evidence(
    subject="j-a",
    attempt=2,
    commit="c" * 40,
    tree="d" * 40,
    base="b" * 40,
    card_oid="e" * 40,
    policy_digest="f" * 64,
    place="fresh",
    level="sealed",
    same_user=False,
    verdicts=(Verdict(run=RUN, state="passed"),),
    waived={"tests-removed": "@ana"},
    base_tree="a" * 40,
)
DOC = {"any": ["document", 1]}
RECORD = sha256(canonical(DOC))
AT = 1_700_000_002.5


def said(row: Evidence = ROW, **parts: Any) -> dict[str, Any]:
    """The statement as it is read back: from its bytes."""
    made: dict[str, Any] = json.loads(
        canonical(statement(row, **{"number": 3, "at": AT, "record": RECORD, "runner": "r", **parts}))
    )
    return made


def test_it_is_an_in_toto_statement_of_a_test_result_about_a_tree_and_a_commit() -> None:
    made = said()
    assert made["_type"] == TYPE == "https://in-toto.io/Statement/v1"
    assert made["predicateType"] == TEST_RESULT == "https://in-toto.io/attestation/test-result/v0.1"
    assert made["subject"] == [{"name": "j-a", "digest": {"gitCommit": "c" * 40, "gitTree": "d" * 40}}]
    predicate = made["predicate"]
    assert (predicate["result"], predicate["passedTests"]) == ("PASSED", ["t::a", "t::d"])
    assert (predicate["failedTests"], predicate["warnedTests"]) == ([], [])
    assert {each["name"]: each["digest"] for each in predicate["configuration"]} == {
        "policy": {"sha256": "f" * 64},
        "card": {"gitBlob": "e" * 40},
        "base": {"gitCommit": "b" * 40},
    }


def test_beside_that_it_says_where_how_and_by_whom_it_was_run() -> None:
    ours = said()["predicate"]["interlock"]
    assert (ours["number"], ours["at"], ours["attempt"], ours["runner"]) == (3, "2023-11-14T22:13:22.500000Z", 2, "r")
    assert ours["base"] == {"gitCommit": "b" * 40, "gitTree": "a" * 40}
    assert (ours["policy"], ours["card"]) == ("f" * 64, "e" * 40)
    assert (ours["place"], ours["level"], ours["same_user"]) == ("fresh", "sealed", False)
    assert ours["waived"] == {"tests-removed": "@ana"}
    (check,) = ours["checks"]
    assert check["argv"] == ["bash", "-c", "pytest -q"]
    assert (check["run"], check["exit_code"], check["rule"]) == ("pytest -q", 0, None)
    assert (check["started"], check["ended"]) == ("2023-11-14T22:13:20.250000Z", "2023-11-14T22:13:21.750000Z")
    assert check["counts"] == {"total": 4, "passed": 2, "failed": 0, "errors": 0, "skipped": 2}
    assert (check["log"], check["report"]["sha256"]) == ({"path": "checks/k.log", "sha256": "1" * 64}, "2" * 64)
    assert check["environment"] == "3" * 64


def test_at_level_worktree_it_says_that_an_agent_of_the_same_user_could_have_signed() -> None:
    assert said(replace(ROW, level="worktree", same_user=True))["predicate"]["interlock"]["same_user"] is True


@pytest.mark.parametrize(
    ("verdicts", "result", "failed", "warned"),
    [
        ((), "FAILED", [], []),
        ((Verdict(run=replace(RUN, report=None), state="refused", rule="check-failed"),), "FAILED", ["pytest -q"], []),
        ((Verdict(run=replace(RUN, report=TestReport(cases={"x": "error"})), state="refused"),), "FAILED", ["x"], []),
        ((Verdict(run=RUN, state="accepted", rule="tests-removed", tests=("t::gone",)),), "WARNED", [], ["t::gone"]),
        ((Verdict(run=RUN, state="refused", rule="tests-removed", tests=("t::gone",)),), "FAILED", ["t::gone"], []),
    ],
)
def test_what_did_not_pass_is_never_told_as_passed(
    verdicts: tuple[Verdict, ...], result: str, failed: list[str], warned: list[str]
) -> None:
    predicate = said(replace(ROW, verdicts=verdicts))["predicate"]
    assert (predicate["result"], predicate["failedTests"], predicate["warnedTests"]) == (result, failed, warned)
    assert not set(predicate["passedTests"]) & {*failed, *warned}


def test_what_was_not_taken_down_is_null_and_not_made_up() -> None:
    bare = CheckRun(run="true", exit_code=0, seconds=0.0, log="", tail="")
    made = said(replace(ROW, verdicts=(Verdict(run=bare, state="passed"),), base_tree="", card_oid=""))
    (check,) = made["predicate"]["interlock"]["checks"]
    assert [check[name] for name in ("argv", "started", "ended", "counts", "environment")] == [None] * 5
    assert (check["log"]["sha256"], check["report"]["sha256"]) == (None, None)
    assert made["predicate"]["interlock"]["base"]["gitTree"] is None
    assert made["predicate"]["interlock"]["card"] is None
    assert rfc3339(0.0) is None


def test_of_very_many_tests_the_counts_are_told_and_failures_named() -> None:
    cases: dict[str, Any] = {f"t::{number}": "passed" for number in range(MOST_NAMED + 1)} | {"t::bad": "failed"}
    made = said(replace(ROW, verdicts=(Verdict(run=replace(RUN, report=TestReport(cases=cases)), state="refused"),)))
    assert made["predicate"]["failedTests"] == ["t::bad"]
    assert made["predicate"]["passedTests"] == []
    assert made["predicate"]["interlock"]["checks"][0]["counts"]["total"] == MOST_NAMED + 2


# ---------------------------------------------------------------- against a row
RUNS: dict[str, dict[str, Any]] = {
    "exit code": {"exit_code": None},
    "argv": {"argv": ("true",)},
    "command": {"run": "true"},
    "started": {"started": 0.0},
    "ended": {"ended": 9.0},
    "log": {"log": "other"},
    "log digest": {"log_digest": ""},
    "report digest": {"report_digest": "9"},
    "environment": {"environment": ""},
    "cases": {"report": TestReport(cases={"t::a": "passed"})},
    "no report": {"report": None},
}


def of_run(change: dict[str, Any]) -> Callable[[Evidence], Evidence]:
    return lambda row: replace(row, verdicts=(replace(row.verdicts[0], run=replace(RUN, **change)),))


CHANGES: dict[str, Callable[[Evidence], Evidence]] = {
    "subject": lambda row: replace(row, subject="j-b"),
    "attempt": lambda row: replace(row, attempt=1),
    "commit": lambda row: replace(row, commit="0" * 40),
    "tree": lambda row: replace(row, tree="0" * 40),
    "base": lambda row: replace(row, base="0" * 40),
    "base tree": lambda row: replace(row, base_tree="0" * 40),
    "card": lambda row: replace(row, card_oid="0" * 40),
    "policy": lambda row: replace(row, policy_digest="0"),
    "place": lambda row: replace(row, place="task"),
    "level": lambda row: replace(row, level="worktree"),
    "same user": lambda row: replace(row, same_user=True),
    "waived": lambda row: replace(row, waived={}),
    "no verdicts": lambda row: replace(row, verdicts=()),
    "twice": lambda row: replace(row, verdicts=(*row.verdicts, *row.verdicts)),
    "state": lambda row: replace(row, verdicts=(replace(row.verdicts[0], state="accepted", rule="x"),)),
    **{name: of_run(change) for name, change in RUNS.items()},
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_of_a_row_is_named(name: str) -> None:
    changed = CHANGES[name](ROW)
    found = differs(said(), changed, number=3, at=AT, record=RECORD)
    assert found
    assert is_of_another(found) == (name in ("subject", "commit", "tree"))


def test_the_row_that_was_signed_agrees() -> None:
    assert differs(said(), ROW, number=3, at=AT, record=RECORD) == ()
    assert differs(said(), ROW, number=4, at=AT, record=RECORD) == ("interlock.number",)
    assert is_of_another(differs(said(), ROW, number=4, at=AT, record=RECORD))
    assert differs(said(), ROW, number=3, at=AT + 1, record=RECORD) == ("interlock.at",)
    assert differs(said(), ROW, number=3, at=AT, record="0") == ("interlock.record",)


def test_a_statement_of_an_older_version_is_not_asked_for_what_it_does_not_know() -> None:
    older = said()
    del older["predicate"]["interlock"]["checks"][0]["environment"]
    del older["predicate"]["interlock"]["grafted"]
    assert differs(older, ROW, number=3, at=AT, record=RECORD) == ()


@pytest.mark.parametrize("wrong", [{}, {"_type": TYPE}, {"_type": TYPE, "predicateType": TEST_RESULT, "predicate": []}])
def test_something_else_that_is_signed_agrees_with_nothing(wrong: dict[str, Any]) -> None:
    assert differs(wrong, ROW, number=3, at=AT, record=RECORD) == ("predicateType",)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
        max_leaves=8,
    )
)
def test_the_canonical_bytes_are_of_the_value_and_not_of_its_spelling(value: Any) -> None:
    data = canonical(value)
    assert canonical(json.loads(data)) == data
    assert canonical(json.loads(json.dumps(value, indent=3, ensure_ascii=False))) == data


# ---------------------------------------------------------------- trust
def filed(**parts: Any) -> Filed:
    shape: dict[str, Any] = {"number": 3, "at": AT, "subject": "j-a", "commit": "c" * 40, "tree": "d" * 40, "doc": DOC}
    return Filed(**{**shape, "envelope": "e", **parts})


SIGNED = signed_as(ROW, number=3, at=AT, doc=DOC, runner="r")


def ask(
    row: Filed, row_said: Evidence | None = ROW, *, cited: str | None = sha256(b"e"), payload: bytes | None = None
) -> Refusal | None:
    signed = SIGNED if payload is None else payload
    return doubt(row, row_said, cited=cited, opened=lambda _: signed)


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (ask(filed(envelope=None), cited=None), "stale-evidence"),
        (ask(filed(envelope=None)), "evidence-unsigned"),
        (ask(filed(), cited=None), "evidence-edited"),
        (ask(filed(), cited="0"), "evidence-edited"),
        (ask(filed(), payload=b"no json"), "evidence-edited"),
        (ask(filed(), payload=b"[1]"), "evidence-edited"),
        (ask(filed(), payload=SIGNED.replace(b'{"_type"', b'{"_type":"x","_type"', 1)), "evidence-edited"),
        (ask(filed(), payload=SIGNED.replace(b'"level":', b'"level":"worktree","level":', 1)), "evidence-edited"),
        (ask(filed(), payload=SIGNED + b"\n"), "evidence-edited"),
        (ask(filed(number=4)), "evidence-replayed"),
        (ask(filed(subject="j-b")), "evidence-replayed"),
        (ask(filed(commit="0" * 40)), "evidence-replayed"),
        (ask(filed(commit="0" * 40), None), "evidence-replayed"),
        (ask(filed(doc={})), "evidence-edited"),
        (ask(filed(doc={}), None), "evidence-edited"),
        (ask(filed(at=1.0), None), "evidence-edited"),
        (ask(filed(), replace(ROW, level="worktree")), "evidence-edited"),
        (ask(filed(), replace(ROW, commit="0" * 40)), "evidence-replayed"),
    ],
)
def test_a_row_that_only_looks_like_evidence(answer: Refusal | None, rule: str) -> None:
    assert answer is not None
    assert answer.rule == rule
    assert answer.rule in RULES
    assert "vidence 3" in answer.what or "vidence 4" in answer.what
    assert all(text.endswith(".") for text in (answer.what, answer.why, answer.would_change))


def test_a_row_that_is_what_was_signed_is_not_doubted() -> None:
    assert ask(filed()) is None
    assert ask(filed(), None) is None


def test_what_the_signature_says_is_told_of_the_row() -> None:
    def opened(_: str) -> bytes:
        raise Refused(
            Refusal(rule="evidence-unsigned", what="The envelope holds no signature.", why=".", would_change=".")
        )

    answer = doubt(filed(), ROW, cited="x", opened=opened)
    assert answer is not None
    assert (answer.rule, answer.what) == ("evidence-unsigned", "Evidence 3 of j-a: The envelope holds no signature.")


# ---------------------------------------------------------------- the chain
def history(count: int = 6) -> list[Linked]:
    links, digest = [], FIRST
    for seq in range(1, count + 1):
        event = Event(
            seq=seq, at=float(seq), subject="j", step=f"s{seq}", kind="job.note", attempt=0, actor="a", data={"n": seq}
        )
        digest = digest_of(digest, event)
        links.append(Linked(event=event, digest=digest))
    return links


def test_a_whole_chain_has_no_break() -> None:
    links = history()
    assert breaks(links) == ()
    assert breaks(links[3:], links[2].digest, 3) == ()
    assert breaks([]) == ()


@pytest.mark.parametrize("field", ["at", "subject", "step", "kind", "attempt", "actor", "data", "seq"])
def test_each_field_of_an_event_is_covered(field: str) -> None:
    links = history()
    value: Any = {"at": 9.5, "attempt": 7, "data": {"n": 4, "m": 0}, "seq": 40}.get(field, "other")
    links[3] = replace(links[3], event=replace(links[3].event, **{field: value}))
    assert [each.seq for each in breaks(links)][:1] == [links[3].event.seq]


def test_what_is_gone_is_named() -> None:
    links = history()
    (found,) = breaks([*links[:2], *links[4:]])
    assert (found.kind, found.seq) == ("gone", 5)
    assert "Events 3 to 4" in found.what
    (found,) = breaks(links[1:])
    assert "Event 1 is gone" in found.what
    assert breaks([replace(links[0], digest=None), *links[1:]])[0].seq == 1
    assert [each.seq for each in breaks([links[1], links[0]])] == [2, 1]


@given(st.integers(0, 5), st.integers(0, 5))
def test_no_two_events_can_be_exchanged(one: int, other: int) -> None:
    links = history()
    swapped = links.copy()
    swapped[one], swapped[other] = links[other], links[one]
    assert (breaks(swapped) == ()) == (one == other)
