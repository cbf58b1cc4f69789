"""Where what belongs to this user, and to no repository, is kept on this machine; what stands in it is others' work."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """The user's folder of lasting state: below XDG_STATE_HOME, else below ~/.local/state.  Raises RuntimeError without a home."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "interlock"


def keys_folder() -> Path:
    """Where the key is that evidence is signed with: no task may see this folder, at whatever level."""
    return state_folder() / "keys"
