"""The ladder over a clock of its own: limits, steps, and time that this process itself slept through."""

from __future__ import annotations

import pytest

from interlock.host.ladder import Ladder, Limits


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def nobody() -> None:
    return None


def steps(ladder: Ladder, clock: Clock, seconds: float, *, word: str | None = None) -> list[tuple[float, str]]:
    """Every step of so many seconds, looked at ten times a second."""
    found = []
    for _ in range(round(seconds * 10)):
        clock.now += 0.1
        found += [(round(clock.now - 1000.0, 1), step) for step in ladder.due(lambda: word)]
    return found


def test_nothing_is_due_while_nothing_is_wrong() -> None:
    clock = Clock()
    ladder = Ladder(Limits(wall=100.0, idle=10.0), clock)
    assert steps(ladder, clock, 9.0) == []
    assert ladder.word is None


def test_the_steps_follow_each_other_with_their_graces() -> None:
    clock = Clock()
    ladder = Ladder(Limits(wall=2.0, interrupt=1.0, terminate=0.4), clock)
    found = steps(ladder, clock, 5.0)
    assert [step for _, step in found] == ["int", "term", "end"]
    assert [at for at, _ in found] == pytest.approx([2.0, 3.0, 3.4], abs=0.11)
    assert ladder.over
    assert ladder.word == "wall-limit"


def test_output_starts_the_silence_anew_and_not_the_wall() -> None:
    clock = Clock()
    ladder = Ladder(Limits(wall=3.0, idle=1.0), clock)
    for _ in range(35):
        assert ladder.word is None or ladder.word == "wall-limit"
        steps(ladder, clock, 0.1)
        ladder.heard()
    assert ladder.word == "wall-limit"


def test_the_word_of_the_caller_is_the_outcome() -> None:
    clock = Clock()
    ladder = Ladder(Limits(), clock)
    assert steps(ladder, clock, 0.1, word="cancelled") == [(0.1, "int")]
    assert ladder.word == "cancelled"


def test_the_first_byte_has_a_limit_of_its_own_and_no_other_has_it() -> None:
    clock = Clock()
    ladder = Ladder(Limits(startup=1.0, idle=10.0), clock)
    steps(ladder, clock, 2.0)
    assert ladder.word == "startup-limit"
    clock = Clock()
    ladder = Ladder(Limits(startup=1.0, idle=10.0), clock)
    ladder.heard()
    assert steps(ladder, clock, 5.0) == []


def test_after_its_last_word_it_has_a_grace_whatever_it_still_writes() -> None:
    clock = Clock()
    ladder = Ladder(Limits(idle=1.0, startup=1.0, after_end=3.0), clock)
    ladder.heard()
    ladder.said_last()
    assert steps(ladder, clock, 2.5) == [], "silence is no fault any more"
    ladder.heard()
    ladder.said_last()
    assert [step for _, step in steps(ladder, clock, 3.0)] == ["int", "term", "end"]
    assert (ladder.word, ladder.why) == ("ended", "It said its last 3 s ago and did not leave.")


def test_at_the_limit_of_the_whole_run_it_has_said_its_last_all_the_same() -> None:
    clock = Clock()
    ladder = Ladder(Limits(wall=2.0, after_end=30.0), clock)
    ladder.said_last()
    steps(ladder, clock, 4.0)
    assert ladder.word == "ended"


def test_a_person_is_heard_before_the_grace_is_over() -> None:
    clock = Clock()
    ladder = Ladder(Limits(after_end=30.0), clock)
    ladder.said_last()
    steps(ladder, clock, 0.1, word="cancelled")
    assert ladder.word == "cancelled"


def test_a_command_that_ended_is_followed_by_its_leftovers_alone() -> None:
    clock = Clock()
    ladder = Ladder(Limits(wall=1.0, linger=0.2, terminate=0.4), clock)
    ladder.exited()
    assert [step for _, step in steps(ladder, clock, 2.0, word="cancelled")] == ["name", "term", "end"]
    assert ladder.word is None, "what ended by itself is not cancelled afterwards"


def test_nobody_left_ends_it_at_once() -> None:
    clock = Clock()
    ladder = Ladder(Limits(), clock)
    ladder.exited()
    ladder.emptied()
    assert ladder.over
    assert ladder.due(nobody) == []


@pytest.mark.parametrize("jump", [7200.0, -7200.0, 60.0])
def test_a_step_of_the_clock_or_a_sleep_of_ours_is_nobodys_silence(jump: float) -> None:
    """Case JQ-09: after a pause of this process, or a clock that is set, a healthy command is not called silent."""
    clock = Clock()
    ladder = Ladder(Limits(wall=600.0, idle=30.0), clock)
    steps(ladder, clock, 5.0)
    clock.now += jump
    assert ladder.due(nobody) == []
    assert steps(ladder, clock, 20.0) == []
    assert ladder.word is None
    steps(ladder, clock, 10.0)
    assert ladder.word == "idle-limit", "real silence is still seen"
