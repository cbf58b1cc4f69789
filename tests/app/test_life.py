"""The life of jobs from card to landing, and each gate on the way shown refusing."""

import pytest

from interlock.app import decide
from interlock.app.clean import clean
from interlock.core.job.lifecycle import State
from interlock.core.problems import Refused
from interlock.mcp.tools import TOOLS


def write(path: str, text: str = "x") -> str:
    """An agent that writes one file."""
    return f"mkdir -p $(dirname '{path}') && echo {text} > '{path}'"


def test_good_work_lands_as_one_commit_that_says_whose_it_is(world, town):
    world.card("a", command=write("a/new.txt"))
    base = world.push()
    result = town().dispatch("a")
    assert result.refusal is None
    assert base == result.job.base
    town().run()
    job = town().job("a")
    assert State.LANDED == job.state
    assert "a/new.txt" in world.main_files()
    message = world.git("log", "-1", "--format=%B", "HEAD^2", at=world.remote)
    assert "Do a" == message.splitlines()[0]
    assert f"Interlock-Job: {job.id}" in message
    (row,) = town().ports.store.landings()
    assert row.tree == row.tested_tree == world.git("rev-parse", "HEAD^{tree}", at=world.remote)


def test_the_harness_commits_and_the_task_is_clean_afterwards(world, town):
    world.card("a", command=write("a/new.txt"))
    world.push()
    town().dispatch("a")
    town().run()
    assert "" == world.git("status", "--porcelain", at=town().job("a").workspace)


def test_a_change_outside_the_card_is_refused_and_nothing_lands(world, town):
    world.write("b/theirs.txt", "y")
    world.card("a", command=write("b/theirs.txt") + " && " + write("a/mine.txt"))
    world.push()
    town().dispatch("a")
    town().run()
    assert "outside" == town().rule("a")
    assert "b/theirs.txt" in town().job("a").waiting.what
    assert "a/mine.txt" not in world.main_files()


def test_doing_nothing_is_not_done(world, town):
    world.card("a", command="true")
    world.push()
    town().dispatch("a")
    town().run()
    assert "empty-diff" == town().rule("a")


def test_a_failed_check_is_refused_with_its_last_lines(world, town):
    world.card("a", command=write("a/new.txt"), checks=("echo the reason; false",))
    world.push()
    town().dispatch("a")
    town().run()
    assert "base-fails" == town().rule("a"), "It ends so on the base, with the same words."
    assert "the reason" in town().job("a").waiting.detail["tail"]


def test_checks_run_on_the_commit_and_not_on_what_lies_around(world, town):
    world.write(".gitignore", "*.hidden\n")
    world.card("a", command=write("a/new.txt") + " && " + write("a/x.hidden"), checks=("test -f a/x.hidden",))
    world.push()
    town().dispatch("a")
    town().run()
    assert "check-failed" == town().rule("a")


def test_a_dependent_starts_only_when_what_it_needs_has_landed(world, town):
    world.card("a", command=write("a/new.txt"))
    world.card("b", needs="[a]", command="test -f a/new.txt && " + write("b/new.txt"))
    world.push()
    assert "depends-on" == town().dispatch("b").refusal.rule
    town().dispatch("a")
    assert ("depends-on", ("a",)) == (lambda r: (r.rule, r.holders))(town().dispatch("b").refusal)
    town().run()
    town().dispatch("b")
    town().run()
    assert State.LANDED == town().job("b").state


def test_green_alone_and_red_together_names_the_pair_and_lands_the_older(world, town):
    world.write("interlock.yaml", "train: {checks: ['test ! -f a/x || test ! -f b/x'], sign_off: none}\n")
    for slug in ("a", "b", "c"):
        world.card(slug, command=write(f"{slug}/x"))
    world.push()
    town().dispatch("a", "b", "c")
    town().run()
    assert [State.LANDED, State.WAITING, State.LANDED] == [town().job(slug).state for slug in "abc"]
    assert "red-together" == town().rule("b")
    assert ["a"] == list(town().job("b").waiting.detail["partners"])


def a_manager_cannot_cancel(town, slug: str) -> None:
    """An agent over the protocol neither replaces a question nor takes a change out of the train."""
    before = town.job(slug)
    with pytest.raises(Refused) as refused:
        TOOLS["cancel"].run(town.ports, {"slug": slug, "reason": "another plan"}, "mcp:boss")
    assert ("approval", (before.owner,)) == (refused.value.refusal.rule, refused.value.refusal.holders)
    assert town.job(slug) == before


def test_a_stop_with_a_question_waits_and_its_answer_reaches_the_next_attempt(world, town):
    command = (
        'if grep -q "use euros" "$INTERLOCK_PROMPT_FILE"; then ' + write("a/new.txt") + "; else "
        'interlock-task stop --reason "unclear" --question "Which currency?"; fi'
    )
    world.card("a", command=command)
    world.push()
    town().dispatch("a")
    town().run()
    assert ("agent-stopped", "Which currency?") == (town().rule("a"), town().job("a").waiting.ask)
    a_manager_cannot_cancel(town(), "a")
    decide.answer(town().ports, "a", "use euros", "ana")
    town().run()
    assert State.LANDED == town().job("a").state


def test_a_retry_needs_a_new_hypothesis_and_ends_with_the_budget(world, town):
    world.card("a", command="exit 1", extra="budget: {attempts: 2}\n")
    world.push()
    town().dispatch("a")
    town().run()
    decide.retry(town().ports, "a", "it was the weather", "ana")
    town().run()
    with pytest.raises(Refused) as same:
        decide.retry(town().ports, "a", "it was the weather", "ana")
    assert "hypothesis" == same.value.refusal.rule
    with pytest.raises(Refused) as spent:
        decide.retry(town().ports, "a", "something else", "ana")
    assert ("attempts", 2) == (spent.value.refusal.rule, spent.value.refusal.number)


def test_sign_off_is_waited_for_and_only_owners_give_it(world, town):
    world.write("interlock.yaml", "train: {checks: ['true']}\n")
    world.card("a", command=write("a/new.txt"))
    world.push()
    town().dispatch("a")
    town().run()
    from interlock.app.sign_off import sign_off

    assert State.READY == town().job("a").state
    a_manager_cannot_cancel(town(), "a")
    with pytest.raises(Refused) as refused:
        sign_off(town().ports, "@ben")
    assert ("sign-off", ("@ana",)) == (refused.value.refusal.rule, refused.value.refusal.holders)
    sign_off(town().ports, "@ana")
    town().run()
    assert State.LANDED == town().job("a").state


def test_a_default_branch_that_moves_is_tested_again_and_the_sign_off_kept(world, town):
    world.write("interlock.yaml", "train: {checks: ['true']}\n")
    world.card("a", command=write("a/new.txt"))
    world.push()
    town().dispatch("a")
    town().run()
    from interlock.app.sign_off import sign_off

    sign_off(town().ports, "@ana")
    world.write("elsewhere.txt", "by hand")
    moved = world.push("by hand")
    town().run()
    assert State.LANDED == town().job("a").state
    assert moved == world.git("rev-parse", "HEAD^1", at=world.remote)


def test_without_a_full_check_the_train_refuses(world, town):
    world.write("interlock.yaml", "train: {sign_off: none}\n")
    world.card("a", command=write("a/new.txt"))
    world.push()
    town().dispatch("a")
    town().run()
    assert "no-full-check" == town().rule("a")
    assert "a/new.txt" not in world.main_files()


def test_two_open_changes_of_one_file_wait_for_the_owner(world, town):
    world.write("shared/x.txt", "1\n2\n3\n4\n5\n")
    world.card("a", owns='["shared/x.txt"]', command="sed -i 's/1/one/' shared/x.txt")
    world.push()
    world.git("push", "-q", "origin", "HEAD:refs/heads/agent/foreign")
    other = world.root / "other"
    world.git("clone", "-q", str(world.remote), str(other), at=world.root)
    world.git("checkout", "-q", "agent/foreign", at=other)
    (other / "shared" / "x.txt").write_text("1\n2\n3\n4\nfive\n")
    world.git("commit", "-qam", "theirs", at=other)
    world.git("push", "-q", "origin", "agent/foreign", at=other)
    town().dispatch("a")
    town().run()
    assert "file-overlap" == town().rule("a")
    decide.accept(town().ports, "a", "ana")
    town().run()
    assert State.LANDED == town().job("a").state


@pytest.mark.long
def test_a_card_changed_on_the_default_branch_is_shown_and_judged_again(world, town):
    world.card("a", owns='["a/**"]', command=write("b/new.txt"))
    world.push()
    town().dispatch("a")
    town().run()
    assert "outside" == town().rule("a")
    world.card("a", owns='["a/**", "b/**"]', command=write("b/new.txt"))
    world.push("widen")
    decide.again(town().ports, "a", "ana")
    town().run()
    assert State.LANDED == town().job("a").state
    kinds = [event.data.get("text") for event in town().ports.store.events(town().job("a").id)]
    assert "The card changed since dispatch." in kinds


def test_a_closed_task_is_cleaned_after_a_snapshot_and_its_slot_is_free(world, town):
    world.write("tasks/caps.txt", "vertical-slice 1\n")
    world.card("a", command=write("a/new.txt"))
    world.card("b", command=write("b/new.txt"))
    world.push()
    town().dispatch("a")
    assert ("cap", 1, ("a",)) == (lambda r: (r.rule, r.number, r.holders))(town().dispatch("b").refusal)
    town().run()
    assert town().dispatch("b").refusal is None
    from pathlib import Path

    path = Path(town().job("a").workspace)
    clean(town().ports, "a", "ana")
    assert not path.exists()


def test_a_dispatch_said_twice_is_one_job_and_somebody_elses_is_refused(world, town):
    from interlock.app.dispatch import dispatch

    world.card("a", command=write("a/new.txt"))
    world.push()
    first, second = town().dispatch("a"), town().dispatch("a")
    assert first.job.id == second.job.id
    assert "was dispatched before" in second.notes[0]
    (third,) = dispatch(town().ports, ("a",), "ben")
    assert third.refusal is not None
    assert "in-flight" == third.refusal.rule
    assert first.job.id in third.refusal.what


def test_work_started_elsewhere_is_counted_and_can_be_adopted(world, town):
    world.write("tasks/caps.txt", "vertical-slice 1\n")
    world.card("a", command="false")
    world.card("b", command=write("b/new.txt"))
    world.push()
    world.git("checkout", "-q", "-b", "agent/a")
    world.write("a/new.txt", "theirs")
    world.git("add", "-A")
    world.git("commit", "-qm", "started by hand")
    world.git("push", "-q", "origin", "agent/a")
    world.git("checkout", "-q", "main")
    world.git("branch", "-qD", "agent/a")
    refusal = town().dispatch("b").refusal
    assert ("cap", ("agent/a",)) == (refusal.rule, refusal.holders)
    from interlock.app.dispatch import dispatch

    (adopted,) = dispatch(town().ports, ("a",), "ana", adopt="agent/a")
    assert adopted.refusal is None
    town().run()
    assert State.LANDED == town().job("a").state
    assert "a/new.txt" in world.main_files()


def test_a_serial_class_with_a_cap_of_two_lets_nothing_start(world, town):
    world.write("tasks/caps.txt", "vertical-slice 2\nmigration 2\n")
    world.card("a")
    world.push()
    (problem,) = town().dispatch("a").refusal.problems
    assert ("cap-value", "tasks/caps.txt:2:1") == (problem.kind, str(problem.where))


@pytest.mark.long
def test_red_with_what_landed_meanwhile_names_it(world, town):
    world.write("interlock.yaml", "train: {checks: ['test ! -e a/x || test ! -e b/x'], sign_off: none}\n")
    for slug in "ab":
        world.card(slug, command=write(f"{slug}/x"))
    world.push()
    town().dispatch("a", "b")
    decide.hold(town().ports, "b", "ana", "later")
    town().run()
    decide.hold(town().ports, "b", "ana", None)
    town().run()
    assert "red-together" == town().rule("b")
    assert ["a"] == list(town().job("b").waiting.detail["partners"])


@pytest.mark.long
def test_a_retry_after_a_clash_works_on_the_present_default_branch(world, town):
    world.write("shared/list.txt", "one\n")
    world.card(
        "a",
        owns='["shared/list.txt"]',
        command="grep -q landed shared/list.txt && sed -i '/^[<=>]/d' shared/list.txt || echo mine > shared/list.txt",
    )
    world.push()
    town().dispatch("a")
    world.write("shared/list.txt", "landed by hand\n")
    world.push("by hand")
    town().run()
    assert "text-conflict" == town().rule("a")
    assert "shared/list.txt" in town().job("a").waiting.what
    decide.retry(town().ports, "a", "take both lines", "ana")
    town().run()
    assert State.LANDED == town().job("a").state
    assert {"landed by hand", "mine"} <= set(world.git("show", "HEAD:shared/list.txt", at=world.remote).split("\n"))


@pytest.mark.long
def test_tests_that_a_person_let_go_may_land(world, town):
    world.write("tests/test_a.py", "def test_one():\n    assert True\n\n\ndef test_two():\n    assert True\n")
    import sys
    from pathlib import Path

    world.write("interlock.yaml", f"train: {{checks: ['{sys.executable} -m pytest -q tests'], sign_off: none}}\n")
    drop = "sed -i '/^def test_two/,$d' tests/test_a.py"
    world.card("a", owns='["tests/**"]', command=drop, checks=(f"{sys.executable} -m pytest -q tests",), klass="tests")
    world.push()
    town().dispatch("a")
    town().run()
    assert "tests-removed" == town().rule("a")
    assert "test_two" in town().job("a").waiting.what
    decide.accept(town().ports, "a", "ana")
    town().run()
    assert State.LANDED == town().job("a").state
    (number, evidence), *_ = reversed(town().ports.store.evidence(town().job("a").id))
    assert {"tests-removed": "ana"} == dict(evidence.waived)
    assert Path(town().job("a").workspace).exists()
    assert number


@pytest.mark.long
def test_a_remote_that_is_gone_makes_the_job_wait_and_resume_goes_on(world, town):
    world.card("a", command=write("a/new.txt"))
    world.push()
    town().dispatch("a")
    away = world.remote.with_suffix(".away")
    world.remote.rename(away)
    town().run()
    assert "git" == town().rule("a")
    assert "remote.git" in town().job("a").waiting.what
    away.rename(world.remote)
    decide.resume(town().ports, "a", "ana")
    town().run()
    assert State.LANDED == town().job("a").state
    assert 1 == town().job("a").attempt


def test_a_slug_whose_closed_tree_stands_is_told_to_be_cleaned(world, town):
    world.card("a", command="exit 1")
    world.push()
    town().dispatch("a")
    town().run()
    decide.abandon(town().ports, "a", "ana", "not worth it")
    refusal = town().dispatch("a").refusal
    assert ("name-taken", True) == (refusal.rule, "interlock clean a" in refusal.would_change)
    clean(town().ports, "a", "ana")
    assert town().dispatch("a").refusal is None


@pytest.mark.long
def test_a_change_that_waited_meets_the_overlap_gate_again_when_it_goes_on(world, town):
    world.write("shared/x.txt", "1\n2\n3\n4\n5\n")
    world.write("interlock.yaml", "train: {sign_off: none}\n")
    world.card("a", owns='["shared/x.txt"]', command="sed -i 's/1/one/' shared/x.txt")
    world.push()
    town().dispatch("a")
    town().run()
    assert "no-full-check" == town().rule("a")
    other = world.root / "other"
    world.git("clone", "-q", str(world.remote), str(other), at=world.root)
    world.git("checkout", "-qb", "agent/foreign", at=other)
    (other / "shared" / "x.txt").write_text("1\n2\n3\n4\nfive\n")
    world.git("commit", "-qam", "theirs", at=other)
    world.git("push", "-q", "origin", "agent/foreign", at=other)
    world.write("interlock.yaml", "train: {checks: ['true'], sign_off: none}\n")
    world.push("a full check")
    decide.resume(town().ports, "a", "ana")
    town().run()
    assert "file-overlap" == town().rule("a")
