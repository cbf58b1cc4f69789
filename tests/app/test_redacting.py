"""What an agent says stays off the record with its secrets, also when the policy broke or a secret's source is gone meanwhile."""

from __future__ import annotations

import json

import pytest

from interlock.app import attempt
from interlock.app.redacting import Redaction
from interlock.host import spool

VALUE = "s3cret-value"
POLICY = "secrets: {{TOKEN: {{variable: {source}}}}}\ntrain: {{checks: ['true']}}\n"
SAYS = 'echo "tail $TOKEN"; mkdir -p a && echo x > a/x'


@pytest.fixture
def begun(world, town, monkeypatch):
    """An attempt that ran, said its secret by every way that there is, and is not settled yet."""
    monkeypatch.setenv("TOKEN_SOURCE", VALUE)
    world.write("interlock.yaml", POLICY.format(source="TOKEN_SOURCE"))
    world.card("a", command=SAYS, extra="needs: {secrets: [TOKEN]}\n")
    world.push()
    made = town()
    made.dispatch("a")
    job = made.job("a")
    attempt.start(made.ports, job.id, 1)
    attempt.follow(made.ports, job.id, 1)
    folder = made.ports.records.spool(job.id)
    spool.write(folder, 1, "note", f"guarded {VALUE}", {"guard": "approval", "approval": VALUE})
    spool.write(folder, 1, "pack", f"pack {VALUE}", {})
    stop = {"reason": f"because {VALUE}", "question": f"is it {VALUE}?", "options": [VALUE]}
    spool.write(folder, 1, "stop", "", stop)
    return made


def break_policy(world, town) -> None:
    world.write("interlock.yaml", "train: [not, a, mapping\n")
    world.push()
    town.ports.repo.refresh()


def recorded(town) -> str:
    """Everything that the history and the kept packs say of the job, as one text; not the spool, which is the agent's own."""
    job = town.job("a")
    attempt.settle(town.ports, job.id, 1)
    packs = [path.read_text() for path in town.ports.records.attempt(job.id, 1).rglob("pack.md")]
    return json.dumps([dict(event.data) for event in town.ports.store.events(job.id)]) + "".join(packs)


def test_with_a_policy_that_broke_meanwhile_the_one_of_the_start_says_what_to_leave_out(world, begun):
    break_policy(world, begun)
    told = recorded(begun)
    assert VALUE not in told
    assert "because [redacted]" in told
    assert "pack [redacted]" in told
    assert begun.rule("a") == "agent-stopped"


@pytest.mark.parametrize("how", ["gone", "moved", "forgotten"])
def test_where_a_secret_cannot_be_read_any_more_the_texts_are_withheld_and_that_is_said(world, begun, how, monkeypatch):
    if how == "moved":  # the policy names another source now, and the one that was handed out is gone
        monkeypatch.setenv("OTHER", "another")
        world.write("interlock.yaml", POLICY.format(source="OTHER"))
        world.push()
        begun.ports.repo.refresh()
    if how == "forgotten":
        world.write("interlock.yaml", "train: {checks: ['true']}\n")
        world.push()
        begun.ports.repo.refresh()
    monkeypatch.delenv("TOKEN_SOURCE")
    told = recorded(begun)
    assert VALUE not in told
    assert "[withheld: it may hold TOKEN" in told
    assert begun.rule("a") == "agent-stopped", "That it stopped is told all the same."
    assert any("kept off the record, since TOKEN cannot be read now" in line for line in begun.said)
    assert not list(begun.ports.records.attempt(begun.job("a").id, 1).rglob("pack.md"))


def test_with_its_secret_at_hand_all_else_is_told(begun):
    told = recorded(begun)
    assert VALUE not in told
    assert "guarded [redacted]" in told
    assert "is it [redacted]?" in told


def test_what_is_withheld_keeps_its_shape_and_only_plain_names():
    withheld = Redaction(texts=("x",), unknown=("A", "B"))
    shape = {"reason": "x y", "n": 3, "Odd key": [True, None, "z", ""], "empty": "  "}
    assert withheld.value(shape) == {
        "reason": withheld.note,
        "n": 3,
        withheld.note: [True, None, withheld.note, ""],
        "empty": "  ",
    }
    assert "A, B" in withheld.note
    assert Redaction(texts=("abc",)).value({"abc": ["xabcx"]}) == {"[redacted]": ["x[redacted]x"]}


@pytest.mark.parametrize("word", ["options", "question", "tail", "redacted", "note"])
def test_a_secret_that_is_a_plain_word_keeps_no_person_from_being_asked(begun, monkeypatch, word):
    """Its word is left out of what was said, and the shape of the record is not touched."""
    monkeypatch.setenv("TOKEN_SOURCE", word)
    stop = {"reason": f"it says {word}", "question": "Which?", "options": ["a", "b"]}
    spool.write(begun.ports.records.spool(begun.job("a").id), 1, "stop", "", stop)
    recorded(begun)
    waiting = begun.job("a").waiting
    assert waiting.rule == "agent-stopped"
    assert {"tail", "exit_code", "question", "options", "denied"} <= waiting.detail.keys()
    assert waiting.detail["options"] == ["a", "b"]
    assert "it says [redacted]" in waiting.what
    assert "[[" not in waiting.what
    assert "[redacted]]" not in waiting.what


def test_the_parts_of_a_shape_keep_their_names_and_what_is_below_them_does_not():
    found = Redaction(texts=("abc", "e")).parts({"abc": "abc", "reached": {"abc": 1}})
    assert found == {"abc": "[redacted]", "reached": {"[redacted]": 1}}
