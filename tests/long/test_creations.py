"""Many trees of one repository, twenty-four at a time: a hundred and sixty, or a thousand with INTERLOCK_TESTS=full."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.git.build import world
from tests.integration.git.test_creations import create_many, sound
from tests.needs import FULL

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_many_creations_twenty_four_at_a_time(tmp_path: Path) -> None:
    team = world(tmp_path, {f"d{number % 5}/f{number}.txt": str(number) for number in range(20)})
    each = 250 if FULL else 40
    assert create_many(team, processes=4, threads=6, each=each) == []
    sound(team, 4 * each, look=50 if FULL else 20)
