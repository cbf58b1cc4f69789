"""A limit that nothing would keep is told when a card is checked and dispatched, and not only when its attempt is refused."""

from __future__ import annotations

from interlock.app.dispatch import dispatch


def test_a_budget_that_nothing_can_keep_is_told_at_the_check_and_at_dispatch(world, town):
    world.card("a", extra="budget: {tokens: 5k}\nagent: {use: codex}")
    card = world.repo / "tasks/a.yaml"
    lines = [line for line in card.read_text().splitlines() if not line.startswith("agent: {use: command")]
    card.write_text("\n".join(lines) + "\n")
    world.push()
    told = "budget in tokens is one that nothing can keep for codex"
    assert told in world.cli("card", "check", "a").stdout
    (done,) = dispatch(town().ports, ("a",), "ana")
    assert done.job is not None
    (note,) = done.notes
    assert told in note
    assert "models in interlock.yaml (responses)" in note
