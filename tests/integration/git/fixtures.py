"""Fixtures of the git tests; a plugin, since several folders use it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.git.build import World, world


@pytest.fixture
def no_user_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the person who runs the tests reaches git; asked for by name, since a plugin reaches the whole session."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def team(tmp_path: Path, no_user_settings: None) -> World:
    """A checkout of main with three files, and its bare remote."""
    return world(tmp_path)
