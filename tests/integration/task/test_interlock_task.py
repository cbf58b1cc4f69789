"""interlock-task as an agent meets it: the wrapper on its PATH, in the tree of a task, with the harness reading after it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from interlock.adapters.agents.command import CommandAgent
from interlock.adapters.agents.known import KnownAgents
from interlock.adapters.records import JobRecords
from interlock.core.contract.card import AgentChoice, Card, Check
from interlock.ports.agents import Assignment, Message
from interlock.ports.isolation import Room

CARD = Card(
    slug="billing-retry",
    class_name="vertical-slice",
    goal="Retry failed charges.",
    owned_paths=("src/billing/**",),
    read_only_paths=("src/client.py",),
    prohibited_paths=("src/billing/secret/**",),
    checks=(Check(run="pytest -q"),),
    stop_when=("a change outside is needed",),
    integration_owner="@ana",
    agent=AgentChoice(use="command", command="true", model="m1", effort="high"),
)


@dataclass
class Task:
    """One task, ready for its agent."""

    records: JobRecords
    tree: Path
    env: dict[str, str]

    def call(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["interlock-task", *words],
            env=self.env,
            cwd=cwd or self.tree,
            capture_output=True,
            text=True,
            timeout=30,
            executable=str(Path(self.env["PATH"].partition(":")[0]) / "interlock-task"),
        )

    def said(self) -> tuple[Message, ...]:
        return self.records.messages("job1", 2)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    records = JobRecords(tmp_path / "interlock")
    tree = tmp_path / "tree"
    (tree / "src" / "billing").mkdir(parents=True)
    shape = {
        "slug": CARD.slug,
        "job": "job1",
        "card": {"slug": CARD.slug, "goal": CARD.goal, "checks": [{"run": "pytest -q"}], "depends_on": []},
        "owned_paths": CARD.owned_paths,
        "read_only_paths": CARD.read_only_paths,
        "prohibited_paths": CARD.prohibited_paths,
        "protected_paths": ("tasks/**", "src/billing/conftest.py"),
    }
    (records.spool("job1") / "card.json").write_text(json.dumps(shape))
    values = {
        "INTERLOCK_JOB": "job1",
        "INTERLOCK_SPOOL": str(records.spool("job1")),
        "INTERLOCK_ATTEMPT_NUMBER": "2",
    }
    room = Room(path=tree, written=tree)
    folder = records.attempt("job1", 2)
    given = Assignment(card=CARD, choice=CARD.agent, prompt="do it", room=room, env=values, folder=folder)
    order = KnownAgents(tmp_path / "locks", {"command": CommandAgent()}).launch(given)
    return Task(records=records, tree=tree, env=dict(order.env))


def test_stop_carries_reason_question_and_options(task: Task) -> None:
    done = task.call(
        "stop", "--reason", "two rules clash", "--question", "Which one?", "--option", "A", "--option", "B"
    )
    assert (done.returncode, done.stderr) == (0, "")
    (message,) = task.said()
    assert (message.verb, message.number, message.text) == ("stop", 1, "two rules clash")
    assert message.data == {"reason": "two rules clash", "question": "Which one?", "options": ["A", "B"]}
    assert abs(message.at - time.time()) < 60


def test_a_stop_in_words_alone_is_a_reason_and_a_question_where_it_asks(task: Task) -> None:
    task.call("stop", "Is", "half", "a", "cent", "up?")
    task.call("stop", "it cannot work")
    task.call("stop", "--question", "Which of the two?")
    assert [message.data["question"] for message in task.said()] == ["Is half a cent up?", "", "Which of the two?"]
    assert [message.data["reason"] for message in task.said()[1:]] == ["it cannot work", "Which of the two?"]


def test_a_stop_without_a_reason_is_misuse(task: Task) -> None:
    for words in ((), ("--reason", "  "), ("--reason", " ", "--question", " ")):
        done = task.call("stop", *words)
        assert done.returncode == 2
        assert "reason is empty" in done.stderr
    assert task.said() == ()


def test_scope_request_names_paths_as_the_repository_does(task: Task) -> None:
    done = task.call(
        "scope-request", "../client.py", "new.py", "--reason", "an import moves", cwd=task.tree / "src" / "billing"
    )
    assert done.returncode == 0
    (message,) = task.said()
    assert message.data == {"paths": ["src/client.py", "src/billing/new.py"], "reason": "an import moves"}
    assert task.call("scope-request", "/etc/passwd", "--reason", "x").returncode == 2
    assert task.call("scope-request", "a").returncode == 2
    assert len(task.said()) == 1


def test_attach_copies_a_file_of_the_task(task: Task) -> None:
    (task.tree / "shot.png").write_bytes(b"\x89PNG" * 1000)
    assert task.call("attach", "shot.png", "--kind", "screenshot").returncode == 0
    (message,) = task.said()
    assert (message.data["path"], message.data["kind"], message.data["size"]) == ("shot.png", "screenshot", 4000)
    copy = task.records.spool("job1") / "2" / message.data["file"]
    assert copy.read_bytes() == (task.tree / "shot.png").read_bytes()


def test_attach_refuses_what_is_no_file_of_the_task(task: Task, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (task.tree / "link").symlink_to(tmp_path / "secret")
    (task.tree / "way").symlink_to(tmp_path)
    (task.tree / "large").touch()
    os.truncate(task.tree / "large", (32 << 20) + 1)
    os.mkfifo(task.tree / "pipe")
    statuses = {
        name: task.call("attach", name).returncode
        for name in ("link", "way/secret", str(tmp_path / "secret"), "../secret", "gone", "src", "pipe", "large")
    }
    assert statuses == {
        "link": 1,
        "way/secret": 1,
        str(tmp_path / "secret"): 2,
        "../secret": 2,
        "gone": 1,
        "src": 1,
        "pipe": 1,
        "large": 1,
    }
    assert task.said() == ()


def test_a_pack_is_handed_in_whole_and_bounded(task: Task, tmp_path: Path) -> None:
    for bad, why in ((b"", "empty"), (b"x" * (1 << 16) + b"x", "more than 65536 bytes")):
        (task.tree / "pack.md").write_bytes(bad)
        refused = task.call("pack", "pack.md")
        assert refused.returncode == 2
        assert why in refused.stderr
    (tmp_path / "outside.md").write_text("x")
    assert task.call("pack", "../outside.md").returncode == 2
    assert task.said() == ()
    text = "verdict: object\n" + "ä€\n" * 9000
    (task.tree / "pack.md").write_text(text)
    assert task.call("pack", "pack.md").returncode == 0
    (message,) = task.said()
    assert (message.verb, message.text) == ("pack", text.strip())


def test_a_pack_is_read_from_standard_input(task: Task) -> None:
    wrapper = str(Path(task.env["PATH"].partition(":")[0]) / "interlock-task")
    done = subprocess.run([wrapper, "pack", "-"], env=task.env, cwd=task.tree, input=b"found it", check=False)
    assert done.returncode == 0
    assert [(each.verb, each.text) for each in task.said()] == [("pack", "found it")]


def test_note_is_a_remark_and_bounded(task: Task) -> None:
    assert task.call("note", "halfway", "there").returncode == 0
    assert task.call("note", "x" * 8001).returncode == 2
    assert [message.text for message in task.said()] == ["halfway there"]


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("src/billing/retry.py", "owned"),
        ("src/billing/a/b.py", "owned"),
        ("src/client.py", "read-only"),
        ("src/billing/secret/key", "prohibited"),
        ("src/billing/conftest.py", "protected"),
        ("tasks/billing-retry.yaml", "protected"),
        ("src/other.py", "outside"),
        ("../elsewhere", "outside"),
    ],
)
def test_may_i_answers_as_the_gate_will(task: Task, path: str, right: str) -> None:
    done = task.call("may-i", path)
    assert done.stdout.split()[0] == right
    assert done.returncode == (0 if right == "owned" else 1)
    (answer,) = json.loads(task.call("may-i", "--json", path).stdout)
    assert answer["right"] == right


def test_may_i_says_yes_only_when_every_path_is_owned(task: Task) -> None:
    assert task.call("may-i", "src/billing/a", "src/billing/b").returncode == 0
    assert task.call("may-i", "src/billing/a", "README.md").returncode == 1


def test_card_shows_the_card(task: Task) -> None:
    shown = task.call("card").stdout
    assert "slug: billing-retry" in shown
    assert "goal: Retry failed charges." in shown
    assert "depends_on" not in shown
    assert json.loads(task.call("card", "--json").stdout)["owned_paths"] == ["src/billing/**"]


@pytest.mark.parametrize("data", [None, "", "{", "[]"])
def test_without_a_readable_card_it_says_so(task: Task, data: str | None) -> None:
    card = task.records.spool("job1") / "card.json"
    card.unlink()
    if data is not None:
        card.write_text(data)
    for words in (("card",), ("may-i", "x")):
        done = task.call(*words)
        assert done.returncode == 1
        assert "card of this job cannot be read" in done.stderr


def test_outside_a_task_it_is_misuse(task: Task, tmp_path: Path) -> None:
    task.env.pop("INTERLOCK_SPOOL")
    done = task.call("note", "x")
    assert done.returncode == 2
    assert "inside a task" in done.stderr
    task.env["INTERLOCK_SPOOL"] = str(tmp_path / "gone")
    assert task.call("note", "x").returncode == 2
    assert task.call("no-such-verb").returncode == 2


def test_it_needs_neither_our_environment_nor_much_time(task: Task) -> None:
    bare = {name: task.env[name] for name in ("INTERLOCK_SPOOL", "PATH")}
    script = Path(task.env["PATH"].partition(":")[0]) / "interlock-task"
    before = os.times()
    done = subprocess.run([script, "note", "x"], env=bare, cwd="/", capture_output=True, text=True)
    after = os.times()
    assert done.returncode == 0, done.stderr
    assert task.records.messages("job1", 0)[0].text == "x"
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert spent < 0.15
