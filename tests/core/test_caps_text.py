"""caps.txt with one cap changed: the decision stands above it, and everything else stays as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.gate.caps_text import decision, with_cap

NOTE = "# slice (was 3), decided by ana on 2026-11-29: reviews take a day"


def test_the_note_says_who_when_and_why() -> None:
    assert decision("slice", 3, by="ana", on="2026-11-29", why="reviews take a day") == NOTE
    assert decision("slice", None, by="ana", on="d", why="w") == "# slice (new), decided by ana on d: w"


@pytest.mark.parametrize("why", ["one\ntwo 9", "one\r\ntwo 9", "one\x1b[31m\x00two 9", "one\u2028two 9"])
def test_whatever_the_reason_holds_it_stays_one_comment(why: str) -> None:
    note = decision("slice", 3, by="a\nna", on="d", why=why)
    assert note.startswith("# slice (was 3), decided by a na on d: one")
    assert note.isprintable()
    assert with_cap("slice 3\n", "slice", 4, note) == f"{note}\nslice 4\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"{NOTE}\nslice 4\n"),
        ("fix 2\n", f"fix 2\n{NOTE}\nslice 4\n"),
        ("fix 2", f"fix 2\n{NOTE}\nslice 4\n"),
        ("# caps\n\nslice 3\nfix 2\n", f"# caps\n\n{NOTE}\nslice 4\nfix 2\n"),
        ("  slice   3   # ours\n", f"{NOTE}\n  slice 4   # ours\n"),
        ("slice 3\r\nfix 2\r\n", f"{NOTE}\r\nslice 4\r\nfix 2\r\n"),
        ("slice-two 3\nslice 3", f"slice-two 3\n{NOTE}\nslice 4\n"),
        ("# slice 9\nslice 3\n", f"# slice 9\n{NOTE}\nslice 4\n"),
        (f"{NOTE}\nslice 3\n", f"{NOTE}\nslice 4\n"),
        ("# slice (was 1), decided by ben on d: w\nslice 3\n", f"{NOTE}\nslice 4\n"),
        (
            "# fix (was 1), decided by ben on d: w\nslice 3\n",
            f"# fix (was 1), decided by ben on d: w\n{NOTE}\nslice 4\n",
        ),
    ],
)
def test_only_the_line_of_the_class_and_its_note_change(before: str, after: str) -> None:
    assert with_cap(before, "slice", 4, NOTE) == after
    assert with_cap(after, "slice", 4, NOTE) == after, "Done twice it is the same."


lines = st.sampled_from(["fix 2", "# a comment", "", "tests 1  # why", "\tmigration 1"])


@given(st.lists(lines), st.lists(lines))
def test_every_other_line_is_kept(head: list[str], tail: list[str]) -> None:
    before = "".join(f"{line}\n" for line in [*head, "slice 3", *tail])
    after = with_cap(before, "slice", 4, NOTE)
    assert after.splitlines() == [*head, NOTE, "slice 4", *tail]
