"""A forge's checks: only success on exactly the commit counts, whatever the forge itself makes of it (VG-04, E3)."""

from __future__ import annotations

import pytest

from interlock.core.gate.forge_checks import ForgeRun, judge_checks, runs_of

HEAD, OLD = "a" * 40, "b" * 40


def run(
    conclusion: str = "success",
    *,
    name: str = "ci",
    commit: str = HEAD,
    at: float | None = 1.0,
    status: str = "completed",
) -> ForgeRun:
    return ForgeRun(name=name, commit=commit, status=status, conclusion=conclusion, at=at)


@pytest.mark.parametrize(
    "said", ["skipped", "neutral", "cancelled", "stale", "timed_out", "action_required", "failure", ""]
)
def test_vg_04_anything_but_success_is_refused(said: str) -> None:
    (found,) = judge_checks(["ci"], [run(said)], HEAD)
    assert (found.state, found.rule) == ("refused", "not-success")
    assert "ci" in found.what


def test_vg_04_a_success_on_an_older_head_is_no_success() -> None:
    (found,) = judge_checks(["ci"], [run(commit=OLD)], HEAD)
    assert (found.state, found.rule) == ("waiting", "not-success")
    assert OLD[:12] in found.what


def test_vg_04_a_missing_or_running_check_is_waited_for() -> None:
    assert judge_checks(["ci"], [], HEAD)[0].state == "waiting"
    assert judge_checks(["ci"], [run("", status="in_progress")], HEAD)[0].state == "waiting"


def test_vg_04_of_two_runs_of_one_name_the_newest_decides_both_ways() -> None:
    assert judge_checks(["ci"], [run("failure", at=1.0), run(at=2.0)], HEAD)[0].state == "success"
    assert judge_checks(["ci"], [run(at=2.0), run("failure", at=3.0)], HEAD)[0].state == "refused"
    assert judge_checks(["ci"], [run("failure", at=3.0), run(at=2.0)], HEAD)[0].state == "refused"


def test_vg_04_a_skip_passes_only_by_an_explicit_rule_for_that_check() -> None:
    runs = [run("skipped", name="docs"), run("skipped", name="ci")]
    verdicts = judge_checks(["docs", "ci"], runs, HEAD, allow={"docs": ["skipped"]})
    assert [verdict.state for verdict in verdicts] == ["success", "refused"]


def test_nothing_required_is_nothing_shown() -> None:
    assert judge_checks([], [run()], HEAD)[0].state == "refused"


def test_success_on_the_commit_passes() -> None:
    assert judge_checks(["ci"], [run()], HEAD)[0].state == "success"


def test_a_page_that_is_not_all_there_is_refused() -> None:
    page = {
        "total_count": 3,
        "check_runs": [{"name": "ci", "head_sha": HEAD, "status": "completed", "conclusion": "success"}],
    }
    with pytest.raises(ValueError, match=r"1 of 3"):
        runs_of(page)


def test_check_runs_and_statuses_are_both_read() -> None:
    check = {"name": "ci", "head_sha": HEAD, "status": "completed", "conclusion": "success", "started_at": "2026-01-01"}
    status = {"context": "old", "state": "pending", "updated_at": "2026-01-01"}
    runs = runs_of([{"total_count": 1, "check_runs": [check]}, {"sha": HEAD, "statuses": [status]}])
    assert [(each.name, each.commit, each.status) for each in runs] == [
        ("ci", HEAD, "completed"),
        ("old", HEAD, "pending"),
    ]


@pytest.mark.parametrize(
    "answer", [{}, {"message": "Not Found"}, "x", 3, None, {"check_runs": "x"}, {"check_runs": [1]}]
)
def test_another_answer_shows_nothing(answer: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        runs_of(answer)


def test_a_run_that_was_asked_for_again_and_has_not_begun_is_waited_for() -> None:
    again = run("", status="queued", at=None)
    assert judge_checks(["ci"], [run(at=5.0), again], HEAD)[0].state == "waiting"


def test_two_applications_of_one_name_have_to_succeed_both() -> None:
    red = ForgeRun(name="ci", commit=HEAD, status="completed", conclusion="failure", at=1.0, app="1")
    green = ForgeRun(name="ci", commit=HEAD, status="completed", conclusion="success", at=2.0, app="2")
    assert judge_checks(["ci"], [red, green], HEAD)[0].state == "refused"


def test_pages_together_are_whole_and_times_are_compared_across_offsets() -> None:
    item = {"name": "ci", "head_sha": HEAD, "status": "completed"}
    early = {**item, "conclusion": "success", "started_at": "2026-01-01T12:00:00+05:00"}
    late = {**item, "conclusion": "failure", "started_at": "2026-01-01T09:00:00Z"}
    runs = runs_of([{"total_count": 2, "check_runs": [late]}, {"total_count": 2, "check_runs": [early]}])
    assert judge_checks(["ci"], runs, HEAD)[0].state == "refused"
