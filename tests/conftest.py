"""What holds for every test: the level worktree unless a test asks for another, no refusal of root, commands that start at once."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from tests import preloaded
from tests.needs import FULL

from interlock.testing.world import World

os.environ["INTERLOCK_ISOLATION"] = "worktree"
if os.geteuid() == 0:
    os.environ["INTERLOCK_ROOT_AGENTS"] = "allow"
# How fast this machine is at the moment says nothing about what is tested.
settings.register_profile("interlock", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("interlock")
if not FULL:
    World.start = staticmethod(preloaded.interlock)
