"""What holds for every test: the level worktree unless a test asks for another, and no refusal of root, who runs CI."""

from __future__ import annotations

import os

os.environ["INTERLOCK_ISOLATION"] = "worktree"
if os.geteuid() == 0:
    os.environ["INTERLOCK_ROOT_AGENTS"] = "allow"
