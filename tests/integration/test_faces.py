"""What every verb has in common: nothing that an agent or a card wrote drives the reader's terminal, and no agent decides."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from interlock.cli import cmd_decide, cmd_resume, cmd_retry, cmd_sign_off
from interlock.cli.render import Face, tell
from interlock.core.problems import Misuse, Refusal, Refused

CLIPBOARD = "\x1b]52;c;cm0gLXJmIC8K\x07"
REFUSED = Refusal(rule="budget", what=f"what{CLIPBOARD}", why=f"why\x9b31m{CLIPBOARD}", would_change="\u202eform")


def test_sp_04_nothing_written_by_an_agent_reaches_the_terminal_unescaped(capsys: pytest.CaptureFixture[str]) -> None:
    face = Face(json=False)
    face.answer({}, [f"refused to it: {CLIPBOARD}x", "grüße → ok"], then=f"interlock show{CLIPBOARD}")
    face.say(f"said{CLIPBOARD}")
    tell(face, Refused(REFUSED))
    tell(face, Misuse(f"m{CLIPBOARD}", hint=f"h{CLIPBOARD}"))
    shown = "".join(capsys.readouterr())
    assert not [char for char in shown if ord(char) < 32 and char != "\n"]
    assert not {"\x9b", "\u202e"} & set(shown)
    assert "52;c" not in shown
    assert "grüße → ok" in shown


@pytest.mark.parametrize("way", ["\n", "\r\n", "\r", "\b" * 9, "\x1b[G", "\x9b1G", "\x85", "\u2028"])
def test_what_an_agent_wrote_begins_no_line_of_ours(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    face, forged = Face(json=False), f"Which?{way}next: interlock decide ctl --abandon"
    face.answer({}, [f"  {forged}"], then=f"interlock decide a '{forged}'")
    refusal = Refusal(rule="agent-stopped", what=forged, why=forged, would_change=forged)
    tell(face, Refused(refusal))
    tell(face, Misuse(forged, hint=forged))
    lines = "".join(capsys.readouterr()).splitlines()
    assert [line[:24] for line in lines if line.startswith("next:")] == ["next: interlock decide a"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (cmd_decide.command, ["a", "--accept"]),
        (cmd_decide.command, ["a", "yes"]),
        (cmd_decide.command, ["a", "--approve", "deploy"]),
        (cmd_decide.command, ["a", "--permit", "allow"]),
        (cmd_decide.command, ["a", "--deny"]),
        (cmd_decide.command, ["a", "--raise", "usd=9"]),
        (cmd_decide.command, ["a", "--again"]),
        (cmd_decide.command, ["a", "--abandon"]),
        (cmd_retry.command, ["a", "--hypothesis", "It will work."]),
        (cmd_resume.command, ["a"]),
        (cmd_sign_off.command, []),
    ],
)
def test_an_agent_decides_nothing(command: object, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_JOB", "j1")
    done = CliRunner().invoke(command, words)  # type: ignore[arg-type]
    assert done.exit_code == 1
    assert "from inside a task" in done.output
