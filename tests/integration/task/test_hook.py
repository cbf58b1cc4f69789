"""interlock-task hook: what Claude Code and Codex hand to it is refused by the card, early and in words, and nothing else is."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.core.contract.around import ApprovalRule
from interlock.host import guards, spool
from interlock.task import hook, shell

ROOT = Path(__file__).resolve().parents[3] / "src"
CARD = {
    "slug": "billing-retry",
    "owned_paths": ["src/billing/**", "docs/billing.md"],
    "read_only_paths": ["src/client.py"],
    "prohibited_paths": ["src/billing/secret/**"],
    "protected_paths": ["tasks/**"],
}


@dataclass
class Task:
    tree: Path
    spool: Path
    capsys: pytest.CaptureFixture[str]

    def call(self, tool: str, given: Any, *, cwd: Path | None = None) -> tuple[int, str]:
        """The code and the reason of one call."""
        payload = {
            "hook_event_name": "PreToolUse",
            "cwd": str(cwd or self.tree),
            "tool_name": tool,
            "tool_input": given,
        }
        code = hook.main(io.BytesIO(json.dumps(payload).encode()))
        return code, self.capsys.readouterr().err

    def bash(self, command: str) -> tuple[int, str]:
        return self.call("Bash", {"command": command, "description": "run"})


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Task:
    tree, box, home = tmp_path / "tree", tmp_path / "spool", tmp_path / "home"
    (tree / "src" / "billing").mkdir(parents=True)
    (tree / "src" / "client.py").write_text("x")
    (tmp_path / "other").mkdir()
    home.mkdir()
    box.mkdir()
    (box / "card.json").write_text(json.dumps(CARD))
    rules = (ApprovalRule(name="deploy", commands=("terraform apply*",)),)
    guards.write(tmp_path / "bin", tree=str(tree), home=str(home), rules=rules, search="/usr/bin:/bin")
    for name, value in {
        "INTERLOCK_SPOOL": str(box),
        "INTERLOCK_ATTEMPT_NUMBER": "2",
        "INTERLOCK_TREE": str(tree),
        "HOME": str(home),
        "TMPDIR": str(tmp_path / "scratch"),
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tree)
    # The trees of these tests lie below /tmp, which is scratch to an agent.
    monkeypatch.setattr(hook, "_SCRATCH", ("/dev",))
    return Task(tree, box, capsys)


# ---------------------------------------------------------------- the refusals
@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("README.md", "not this task's"),
        ("src/client.py", "to read only"),
        ("src/billing/secret/key.py", "prohibited by the card"),
        ("tasks/billing-retry.yaml", "protected"),
        ("src/billing/../client.py", "to read only"),
        (".git/config", "not this task's"),
        ("../other/x.py", "outside the task's tree"),
        ("/etc/hosts", "outside the task's tree"),
    ],
)
@pytest.mark.parametrize(
    ("tool", "key"), [("Write", "file_path"), ("Edit", "file_path"), ("NotebookEdit", "notebook_path")]
)
def test_an_edit_that_the_card_does_not_give_is_refused(task: Task, tool: str, key: str, path: str, right: str) -> None:
    for said in (path, str(task.tree / path) if not path.startswith(("/", "..")) else path):
        code, reason = task.call(tool, {key: said, "content": "x"})
        assert code == 2
        assert right in reason
        assert f"interlock: {tool} was refused: " in reason


def test_a_refusal_says_what_why_and_what_would_change_it(task: Task) -> None:
    code, reason = task.call("Write", {"file_path": "src/client.py", "content": "x"})
    assert code == 2
    assert reason == (
        "interlock: Write was refused: src/client.py is this task's to read only. By src/client.py under read_only_paths.\n"
        "interlock: Work without it, or ask: interlock-task scope-request src/client.py --reason …; "
        "until the card owns it, the gate refuses it.\n"
    )
    (note,) = spool.read(task.spool, 2)
    assert note["verb"] == "note"
    assert note["data"]["guard"] == "hook"
    assert note["text"] == "Write was refused: src/client.py."


def test_what_no_card_can_give_is_a_question_for_a_person(task: Task) -> None:
    _, reason = task.call("Write", {"file_path": "tasks/x.yaml"})
    assert "interlock-task stop" in reason
    assert "scope-request" not in reason


PATCH = """\
*** Begin Patch
*** Update File: src/billing/retry.py
@@
-old
+new
+*** Delete File: src/client.py
*** Add File: docs/billing.md
+words
{more}*** End Patch
"""


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ("", None),
        ("*** Update File: README.md\n@@\n-a\n+b\n", "README.md"),
        ("*** Delete File: src/client.py\n", "src/client.py"),
        ("*** Update File: src/billing/a.py\n*** Move to: src/a.py\n@@\n-a\n+b\n", "src/a.py"),
        ("*** Update File: src/a.py\n*** Move to: src/billing/a.py\n@@\n-a\n+b\n", "src/a.py"),
        ("*** Add File: src/billing/secret/x\n+x\n*** Add File: tasks/x.yaml\n+x\n", "src/billing/secret/x"),
    ],
)
@pytest.mark.parametrize("shape", ["codex", "input", "text", "words", "shell"])
def test_every_file_of_a_patch_is_looked_at(task: Task, shape: str, more: str, named: str | None) -> None:
    patch = PATCH.format(more=more)
    tool, given = {
        "codex": ("apply_patch", {"command": patch}),
        "input": ("functions.apply_patch", {"input": patch}),
        "text": ("apply_patch", patch),
        "words": ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{patch}EOF\n"]}),
        "shell": ("Bash", {"command": f"cd . && apply_patch <<'EOF'\n{patch}EOF\n"}),
    }[shape]
    code, reason = task.call(tool, given)
    assert code == (2 if named else 0), reason
    assert named is None or f" {named} is " in reason


@pytest.mark.parametrize(
    "command",
    [
        "echo x > ../other/x",
        "echo x >> /etc/profile",
        "cat a b 2>/dev/null | tee ../other/log",
        "printf x >tasks/a.yaml",
        "cd src && echo x >client.py",
        "cd src/billing && cd .. && cat > client.py <<EOF\nhello > src/billing/x\nEOF",
        "bash -lc 'echo x > src/client.py'",
        "true; (echo x &> src/billing/secret/log)",
        "if true; then echo x >| src/client.py; fi",
        "echo $(echo x > src/client.py)",
        'echo "a" > "src/client.py"',
        "/bin/rm -rf ~",
        "sudo rm -rf /etc",
        "cd .. && rm -rf tree",
    ],
)
def test_a_command_that_plainly_does_harm_is_refused(task: Task, command: str) -> None:
    code, reason = task.bash(command)
    assert code == 2, reason
    assert reason.startswith("interlock: ")
    assert task.tree.is_dir()


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q > out.log 2>&1",
        "make test >/dev/null 2>&1 || echo red",
        "echo x > src/billing/new.py",
        "grep '>' src/client.py",
        'grep ">" /etc/hosts',
        "awk '$1 > 5' /etc/hosts",
        "python3 -c 'print(1 > 0)' < /etc/hosts",
        "cat <<'EOF'\necho x > /etc/profile\nEOF",
        "echo x > $OUT/file",
        "echo a # > /etc/profile",
        "echo 'never closed > /etc/profile",
        "cd nowhere && echo x > client.py",
        "rm -rf src/billing/build",
        "git status && git diff",
        "2>&1 >&2 true",
        "echo x > ~/notes",
        "true",
        "",
    ],
)
def test_everything_else_may_run(task: Task, command: str) -> None:
    assert task.bash(command) == (0, "")
    assert spool.read(task.spool, 2) == []


def test_a_command_that_waits_for_an_approval_asks_for_it(task: Task) -> None:
    code, reason = task.bash("cd src && /opt/bin/terraform apply -auto-approve")
    assert code == 2
    assert "the approval deploy" in reason
    (note,) = spool.read(task.spool, 2)
    assert (note["data"]["guard"], note["data"]["approval"]) == ("approval", "deploy")


# ---------------------------------------------------------------- what passes
def test_owned_paths_scratch_and_reading_pass(task: Task) -> None:
    for path in (
        "src/billing/a.py",
        str(task.tree / "docs/billing.md"),
        str(task.tree.parent / "scratch" / "x"),
        "/dev/null",
    ):
        assert task.call("Write", {"file_path": path, "content": ""}) == (0, "")
    assert task.call("Edit", {"file_path": "billing/a.py"}, cwd=task.tree / "src") == (0, "")
    assert task.call("Write", {"file_path": str(Path.home() / ".claude" / "plans" / "a.md")}) == (0, "")
    assert task.call("Read", {"file_path": "/etc/hosts"}) == (0, "")
    assert task.call("mcp__files__write", {"path": "README.md"}) == (0, "")


def test_a_link_is_judged_by_where_it_leads_as_well(task: Task) -> None:
    owned = task.tree / "src" / "billing"
    (owned / "out").symlink_to(task.tree.parent / "other")
    (owned / "client.py").symlink_to("../client.py")
    (owned / "same").symlink_to(owned)
    assert task.call("Write", {"file_path": "src/billing/out/x"})[0] == 2
    assert task.call("Write", {"file_path": "src/billing/client.py"})[0] == 2
    assert task.call("Write", {"file_path": "src/billing/same/x"})[0] == 0
    assert task.bash("echo x > src/billing/client.py")[0] == 2


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"tool_name": 3}'])
def test_what_cannot_be_judged_is_allowed(task: Task, payload: bytes) -> None:
    assert hook.main(io.BytesIO(payload)) == 0
    reason = task.capsys.readouterr().err
    assert not reason or "is allowed; the gates decide" in reason


def test_without_a_card_or_a_task_it_is_allowed_with_a_note(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    (task.spool / "card.json").write_text("[]")
    code, reason = task.call("Write", {"file_path": "README.md"})
    assert (code, "is allowed" in reason) == (0, True)
    monkeypatch.delenv("INTERLOCK_SPOOL")
    code, reason = task.call("Write", {"file_path": "README.md"})
    assert (code, "is allowed" in reason) == (0, True)


def test_the_record_leaves_room_for_a_stop(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "_NOTES", 3)
    for _ in range(5):
        assert task.call("Write", {"file_path": "README.md"})[0] == 2
    assert len(spool.read(task.spool, 2)) == 3


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.text(alphabet="ab ;&|<>()'\"\\$`\n#~/-2", max_size=40))
def test_no_line_is_too_strange_to_be_read(line: str) -> None:
    for command in shell.commands(line):
        assert command.words or command.written or not command.written


def test_the_program_itself_answers_at_once_without_our_environment(task: Task) -> None:
    call = "import sys; sys.path.append(sys.argv.pop(1)); from interlock.task.main import main; sys.exit(main())"
    payload = {"cwd": str(task.tree), "tool_name": "Write", "tool_input": {"file_path": str(task.tree / "README.md")}}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", call, str(ROOT), "hook"],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    # Below /tmp the tree's own folder is still the tree.
    assert (done.returncode, done.stdout) == (2, "")
    assert "README.md is not this task's" in done.stderr
