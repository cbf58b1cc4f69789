"""Rules handed to agents: which files, how much of them, when they are too much and when they are stale."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.agent.rules import DAY, gone, handed, stale, too_large, wanted
from interlock.core.contract.agents import Rules

FILES = (
    "AGENTS.md",
    "CLAUDE.md",
    "sub/AGENTS.md",
    ".agents/skills/deploy/SKILL.md",
    ".agents/skills/deploy/run.sh",
    ".claude/skills/review/SKILL.md",
    "docs/rules/style.md",
    "docs/rules/tests.md",
    "src/app/main.py",
)
RULES = Rules(files=("docs/rules/**",))


@pytest.mark.parametrize(
    ("use", "client"),
    [
        ("codex", ["AGENTS.md", ".agents/skills/deploy/SKILL.md"]),
        ("claude", ["CLAUDE.md", "AGENTS.md", ".claude/skills/review/SKILL.md"]),
        ("cursor", ["AGENTS.md"]),
        ("command", []),
        ("acp", []),
        (None, []),
    ],
)
def test_each_agent_is_handed_the_teams_rules_and_what_its_client_reads(use: str | None, client: list[str]) -> None:
    found = wanted(RULES, use, FILES)
    assert found == (
        ("docs/rules/style.md", "prompt"),
        ("docs/rules/tests.md", "prompt"),
        *((path, "client") for path in client),
    )


def test_a_file_is_handed_over_once() -> None:
    assert wanted(Rules(files=("AGENTS.md", "*.md")), "codex", FILES) == (
        ("AGENTS.md", "prompt"),
        ("CLAUDE.md", "prompt"),
        (".agents/skills/deploy/SKILL.md", "client"),
    )


def test_of_a_skill_only_its_head_is_paid_for() -> None:
    skill = b"---\nname: deploy\ndescription: How to deploy.\n---\n" + b"step\n" * 1000
    found = handed(".agents/skills/deploy/SKILL.md", "client", skill)
    assert (found.size, found.loaded) == (len(skill), 48)
    assert handed("docs/deploy/SKILL.md", "prompt", skill).loaded == len(skill)
    assert set(found.as_json()) == {"path", "how", "bytes", "loaded", "digest"}


def test_more_than_the_policy_allows_is_refused_with_the_largest() -> None:
    small, large = handed("a.md", "prompt", b"x" * 10), handed("b.md", "prompt", b"x" * 90)
    assert too_large((small, large), Rules(most_bytes=100)) is None
    refusal = too_large((small, large), Rules(most_bytes=99))
    assert refusal is not None
    assert (refusal.rule, refusal.number, refusal.holders) == ("rules-size", 99, ("b.md", "a.md"))
    assert "100 bytes" in refusal.what


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Run `src/app/main.py`, see `docs/rules/`.", ()),
        ("See `src/app/main.py:12` and `./src/app`.", ()),
        ("See `src/old.py`.", ("src/old.py",)),
        ("See `src/app/other` and `src/app/other`.", ("src/app/other",)),
        ("See `lib/removed.py` of a folder that went.", ("lib/removed.py",)),
        ("Use `and/or`, `application/json`, `origin/main`, `github.com/a/b.git`.", ()),
        ("Globs `src/**/*.ts`, homes `~/x/y.md`, roots `/etc/x.md`, `https://a/b.html`, `$HOME/x.md`.", ()),
        ("Flags `--x/y.md`, blanks `npm run x/y.md`, up `../x.md`, scopes `@org/x.js`.", ()),
        ("no back-quotes: src/old.py", ()),
    ],
)
def test_paths_that_are_not_there_are_found(text: str, missing: tuple[str, ...]) -> None:
    assert gone(text, FILES) == missing


@given(st.text(alphabet="`/ab.:*~\n "))
def test_any_text_can_be_looked_at(text: str) -> None:
    assert all(word not in FILES for word in gone(text, FILES))


def test_what_is_old_while_the_repository_moved_or_names_what_is_gone_is_stale() -> None:
    rules = replace(RULES, stale_days=30)

    def why(text: str, age: float) -> str:
        return stale(text, rules, FILES, changed=1000 * DAY - age * DAY, now=1000 * DAY)

    assert why("See `AGENTS.md`.", 30) == ""
    assert why("", 31.5) == "did not change for 31 days"
    assert why("See `src/old.py`.", 1) == "names src/old.py, which is not there"
    assert why("`src/a.py` `src/b.py` `src/c.py` `src/d.py`", 31) == (
        "names src/a.py, src/b.py, src/c.py and 1 more, which are not there; did not change for 31 days"
    )
    assert stale("", rules, FILES, changed=None, now=0.0) == ""
