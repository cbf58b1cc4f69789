"""What no sandbox shows, whoever asks for it: the folder of the key that evidence is signed with; all else is command's."""

from __future__ import annotations

import os
from collections.abc import Iterable

from interlock.core.problems import refused
from interlock.host.state import keys_folder


def check(sources: Iterable[str]) -> None:
    """Look whether one of these files or folders holds the keys, or is below them, also through links.

    Raises Refused (sandbox): whoever can read the key can sign evidence that no check gave.
    """
    try:
        keys = os.path.realpath(keys_folder())
    except RuntimeError:  # a user without a home has no key
        return
    for source in sources:
        real = os.path.realpath(source)
        if source and os.path.commonpath([real, keys]) in (real, keys):
            raise refused(
                rule="sandbox",
                what=f"{source} cannot be shown in a sandbox.",
                why=f"It holds {keys}, where the key is that evidence is signed with.",
                would_change="Name the file or folder itself that is needed, not one that holds the keys.",
                holders=(keys,),
            )
