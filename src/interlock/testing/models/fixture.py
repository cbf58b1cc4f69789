"""A pytest fixture of scripted models for a plug-in's own conftest.py: ``from interlock.testing.models.fixture import scripted_models``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.testing.models.server import ScriptedModels


@pytest.fixture(scope="session")
def scripted_models() -> Iterator[ScriptedModels]:
    """One server for the whole run: give each test a scenario of its own name."""
    with ScriptedModels() as models:
        yield models
