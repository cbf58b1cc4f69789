"""What keeps a landing from being written down keeps it from being pushed: the default branch stands as it did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select, update
from tests.app.conftest import Town
from tests.integration.store import tamper

from interlock.adapters.store import tables
from interlock.app.audit import audit
from interlock.app.sign_off import sign_off
from interlock.testing.world import World
from interlock.wiring import store_url


def row(connection: Connection, job: str, **fields: Any) -> None:
    doc = connection.execute(select(tables.job.c.doc).where(tables.job.c.id == job)).scalar_one()
    connection.execute(update(tables.job).where(tables.job.c.id == job).values(doc=doc | fields))


def another_owner(connection: Connection, job: str) -> None:
    row(connection, job, owner="@eve")


def accepted_by_nobody(connection: Connection, job: str) -> None:
    row(connection, job, waivers={"tests-removed": "@ana"})


def an_event_is_gone(connection: Connection, job: str) -> None:
    connection.execute(
        delete(tables.event).where(tables.event.c.subject == job, tables.event.c.kind == "attempt.started")
    )


def an_event_says_more(connection: Connection, job: str) -> None:
    of = (tables.event.c.subject == job) & (tables.event.c.kind == "job.published")
    data = connection.execute(select(tables.event.c.data).where(of)).scalar_one()
    connection.execute(update(tables.event).where(of).values(data=data | {"more": 1}))


@pytest.mark.parametrize("attack", [another_owner, accepted_by_nobody, an_event_is_gone, an_event_says_more])
def test_what_somebody_changed_in_the_history_is_found_before_anything_leaves_this_machine(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, attack: Callable[[Connection, str], None]
) -> None:
    world = World.make(tmp_path / "w", policy="train: {checks: ['true'], sign_off: owner}\n")
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    world.card("a", command="mkdir -p a; echo x > a/x")
    world.push()
    town = Town(world)
    town.dispatch("a")
    town.run()
    sign_off(town.ports, "@ana")
    before = world.git("rev-parse", "main", at=world.remote)
    with tamper.loose(store_url(town.ports.repo)) as connection:
        attack(connection, town.job("a").id)
    town.run()
    assert world.git("rev-parse", "main", at=world.remote) == before
    assert town.rule("a") == "evidence-edited"
    assert town.ports.store.landings() == ()
    assert [each.rule for each in audit(town.ports).findings]
