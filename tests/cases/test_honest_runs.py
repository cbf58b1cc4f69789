"""Honest work of a scripted agent, slow, noisy, moved, split or skipped elsewhere for a reason: none of it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cases.honest import HONEST
from tests.cases.shapes import Shape
from tests.cases.trying import Trial, trial_of


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    yield from trial_of(Path(tmp_path_factory.mktemp("honest")) / "w", HONEST)


@pytest.mark.long
@pytest.mark.parametrize("shape", HONEST, ids=lambda shape: shape.name)
def test_an_honest_run_is_not_refused(trial: Trial, shape: Shape) -> None:
    found = trial.of(shape)
    assert (found.state, found.rules) == ("ready", frozenset()), found.told
    if shape.name == "flaky-of-the-base":
        assert "Flaky, failed and then passed on this tree: tests.unit.test_shaky::test_shaky." in found.notes


def test_there_are_many() -> None:
    assert len({shape.name for shape in HONEST}) == len(HONEST) >= 22
