"""A thousand trees of one repository, twenty-four at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.git.build import world
from tests.integration.git.test_creations import create_many, sound

pytest_plugins = ("tests.integration.git.fixtures",)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_thousand_creations_twenty_four_at_a_time(tmp_path: Path) -> None:
    team = world(tmp_path, {f"d{number % 5}/f{number}.txt": str(number) for number in range(20)})
    assert create_many(team, processes=4, threads=6, each=250) == []
    sound(team, 1000, look=50)
