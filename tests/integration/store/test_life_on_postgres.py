"""The whole life of two tasks with the history in PostgreSQL: nothing but the address differs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from interlock.adapters.store import SqlStore
from interlock.testing.world import World

pytest_plugins = ("tests.integration.store.fixtures",)
pytestmark = pytest.mark.postgres


@dataclass(frozen=True)
class Elsewhere(World):
    """A world whose history is at a URL."""

    url: str = ""

    @property
    def env(self) -> dict[str, str]:
        return {**World.env.__get__(self), "INTERLOCK_STORE": self.url}


def test_two_tasks_live_and_land(tmp_path: Path, postgres_store_url: str) -> None:
    made = World.make(tmp_path / "w")
    world = Elsewhere(made.root, url=postgres_store_url)
    for slug in ("a", "b"):
        world.card(slug, command=f"mkdir -p {slug} && echo hi > {slug}/x.txt")
    world.push()
    world.cli("dispatch", "a", "b")
    world.cli("run")
    assert {"a/x.txt", "b/x.txt"} <= world.main_files()
    assert not (world.repo / ".git" / "interlock" / "store.sqlite3").exists()
    store = SqlStore.open(postgres_store_url)
    assert store.landed_slugs() == {"a", "b"}
    assert store.jobs() == ()
    store.close()
