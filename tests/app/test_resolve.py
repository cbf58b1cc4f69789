"""Who may be brought together with whom: each other pair is refused with what is the matter with it, and what would help."""

from __future__ import annotations

import pytest

from interlock.app import decide
from interlock.app.resolve import resolve
from interlock.app.revert import revert
from interlock.core.job.events import NewEvent
from interlock.core.problems import Misuse, Refused


@pytest.fixture
def met(world, town):
    """A town in which old has landed, back was taken back, gone was given up, open is under way, and young waits for the train's reason."""
    for slug in ("old", "back", "gone", "open", "young"):
        world.card(slug, command=f"mkdir {slug}; echo x > {slug}/x")
    world.write("tasks/caps.txt", "vertical-slice 9\n")
    world.push()
    made = town()
    made.dispatch("old", "back")
    made.run()
    revert(made.ports, "back", "ana", "x")
    made.run()
    made.dispatch("gone", "open", "young")
    decide.abandon(made.ports, "gone", "ana", "no")
    job = made.job("young")
    data = {"rule": "red-together", "what": "Red.", "ask": "Resolve.", "detail": {"partners": []}}
    made.ports.store.record(NewEvent(subject=job.id, step="test-waits", kind="job.waits", data=data))
    return made


@pytest.mark.long
def test_each_partner_that_is_none_is_told_as_what_it_is(met):
    for other, what, change in (
        ("young", "young cannot be brought together with itself.", "Name the change that landed"),
        (met.job("young").id, "young cannot be brought together with itself.", "Name the change that landed"),
        ("nobody", 'No change "nobody" is known here.', "Name the change that landed"),
        ("", 'No change "" is known here.', "Name the change that landed"),
        ("open", "open has not landed yet.", "interlock run lands what is ready"),
        ("back", "back is reverted, so nothing of it is on the default branch.", "interlock retry young --hypothesis"),
        ("gone", "gone is abandoned, so nothing of it is on the default branch.", "interlock retry young --hypothesis"),
        (None, "Nothing that landed is known to conflict with young.", "Name the change that landed"),
    ):
        with pytest.raises(Refused) as refused:
            resolve(met.ports, "young", "ana", other)
        refusal = refused.value.refusal
        assert (refusal.rule, refusal.what) == ("resolution", what)
        assert refusal.would_change.startswith(change)
        assert met.rule("young") == "red-together", "Nothing moved."

    for slug, what in (
        ("old", "There is no open job of old. Its last job .* is landed."),
        ("gone", "There is no open job of gone. Its last job .* is abandoned."),
        ("open", "open does not wait for a resolution; it is isolated."),
    ):
        with pytest.raises(Misuse, match=what):
            resolve(met.ports, slug, "ana")


def test_said_twice_it_is_begun_already(world, town):
    world.card("a")
    world.push()
    town().dispatch("a")
    job, data = (
        town().job("a"),
        {"hypothesis": "x", "resolving": {"job": "j", "slug": "old", "alone": "c", "clashes": []}},
    )
    waits = {"rule": "red-together", "what": "Red.", "ask": "Resolve."}
    for kind, told in (("job.waits", waits), ("job.retry", data)):
        town().ports.store.record(NewEvent(subject=job.id, step=f"test-{kind}", kind=kind, data=told))
    with pytest.raises(Misuse, match="a is being brought together with old already") as refused:
        resolve(town().ports, "a", "eve")
    assert refused.value.hint == "interlock run"
